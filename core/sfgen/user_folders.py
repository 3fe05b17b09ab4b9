"""Folders of the user for what can be made again: the first of these that can be written to.

1. ``sfgen`` in the user's cache folder.
2. ``sfgen-USER`` in the folder for temporary files, if it belongs to the user alone: where there is no home.
"""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import sfgen


def user_folders() -> Iterator[Path]:
    """Yield the candidate folders, the preferred one first.

    They may turn out not to be writable.
    """
    with contextlib.suppress(RuntimeError):  # nobody knows the home
        named = os.environ.get("XDG_CACHE_HOME", "")
        home = Path(named) if os.path.isabs(named) else Path.home() / ".cache"
        yield home / "sfgen" / sfgen.__version__
    if hasattr(os, "getuid"):
        with contextlib.suppress(OSError):  # there is none that can be written to
            yield _of_one_user(Path(tempfile.gettempdir()) / f"sfgen-{os.getuid()}")


def is_usable(folder: Path) -> bool:
    """Tell whether files can be created in a folder.

    It is made if it is missing.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    return True


def _of_one_user(folder: Path) -> Path:
    """The folder, if nobody else can put anything there: what is read from it is run, or believed.

    Raises:
        OSError: Somebody can.
    """
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise PermissionError(f"{folder} is not the user's own")
    return folder
