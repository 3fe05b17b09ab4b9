"""Writing a file whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Iterable
from pathlib import Path

from sfgen.errors import IndexFileError
from sfgen.parameter_text import ParameterText

_BUFFER = 1 << 20  # bytes


def destination_of(path: Path) -> Path:
    """Return where a file would be written, following links.

    Raises:
        IndexFileError: There is a folder, a device or the like, which must not be replaced.
    """
    try:
        destination = Path(os.path.realpath(path))
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return destination
    except (OSError, ValueError) as error:  # links in a circle, a name with a zero byte
        raise _unwritable(path, error) from None
    if not stat.S_ISREG(mode):
        kind = "a folder" if stat.S_ISDIR(mode) else "not a regular file"
        raise IndexFileError(f"cannot write {path}: it is {kind}", hint="Name another file.")
    return destination


def write_whole(path: Path, pieces: Iterable[bytes | memoryview]) -> None:
    """Write a file atomically.

    The bytes go to a temporary file beside it, which takes its place when all of them are on the disk. A file that was
    there before keeps its permissions. Whatever goes wrong meanwhile, Ctrl-C too, leaves everything as it was.

    Args:
        path: The file.
        pieces: Its content, one piece after the other.

    Raises:
        IndexFileError: It cannot be written.
    """
    destination = destination_of(path)
    temporary = destination.with_name(f".sfgen-{secrets.token_hex(8)}.part")
    try:
        with open(temporary, "xb", buffering=_BUFFER) as file:
            with contextlib.suppress(OSError):  # no file yet, or a file system without permissions
                os.chmod(temporary, stat.S_IMODE(os.stat(destination).st_mode))
            for piece in pieces:
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, destination)
    except BaseException as error:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise _unwritable(path, error) from None
        raise


def in_the_way(path: Path) -> IndexFileError:
    """Return the error for a file with other content."""
    hint = ParameterText("Name another file, or replace it with force=True.", "force")
    return IndexFileError(f"{path} exists and holds something else", hint=hint)


def _unwritable(path: Path, error: OSError | ValueError) -> IndexFileError:
    reason = error.strerror if isinstance(error, OSError) else None
    return IndexFileError(f"cannot write {path}: {reason or error}", hint="Name a place that can be written.")
