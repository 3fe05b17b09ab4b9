"""Folders for data that can be made again, such as compiled kernels: the first that can be written to.

1. For kernels: the folder that NUMBA_CACHE_DIR names, then ``__pycache__`` beside this file, where Python keeps what it
   compiled itself.
2. ``sfgen`` in the user's cache folder: where the package was installed by somebody else.
3. ``sfgen-USER`` in the folder for temporary files, if it belongs to the user alone: for users without a home folder.

Where no folder is writable, kernels are compiled in each process. A file that is damaged, or cannot be read or written,
counts as missing: no message is given, since all of it can be made again.
"""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import sfgen


def user_folders() -> Iterator[Path]:
    """Yield the candidate folders, the preferred one first.

    They may turn out not to be writable.
    """
    with contextlib.suppress(RuntimeError):  # no home folder is known
        named = os.environ.get("XDG_CACHE_HOME", "")
        home = Path(named) if os.path.isabs(named) else Path.home() / ".cache"
        yield home / "sfgen" / sfgen.__version__
    if hasattr(os, "getuid"):
        with contextlib.suppress(OSError):  # there is no temporary folder that can be written to
            yield _of_one_user(Path(tempfile.gettempdir()) / f"sfgen-{os.getuid()}")


def is_usable(folder: Path) -> bool:
    """Return whether files can be created in a folder.

    It is made if it is missing.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    return True


def _of_one_user(folder: Path) -> Path:
    """The folder, if nobody else can write to it: code that is read from it is run."""
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & 0o077:
        raise PermissionError(f"{folder} is not the user's own")
    return folder


@cache
def cache_folder(chosen: str) -> Path | None:
    """Return the folder of the compiled kernels; ``None`` if none is writable."""
    return next((folder for folder in _candidates(chosen) if is_usable(folder)), None)


def _candidates(chosen: str) -> Iterator[Path]:
    if chosen:
        yield Path(chosen) / "sfgen"
    yield Path(__file__).parent / "__pycache__"
    yield from user_folders()
