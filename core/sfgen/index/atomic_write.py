"""Files: written whole or not at all, and read from one open file even if another file takes its place meanwhile."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
import weakref
from collections.abc import Iterable
from pathlib import Path

from sfgen.errors import IndexFileError, IndexNotFound, UnusableIndex
from sfgen.parameter_text import ParameterText

_BUFFER = 1 << 20  # bytes


def destination_of(path: Path) -> Path:
    """Return where a file would be written, following links."""
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
    there before keeps its permissions. If anything fails meanwhile (Ctrl-C, too), everything stays as it was.
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


class OpenFile:
    """A file that stays open while it is in use.

    Threads and a forked process may share it. If another file takes its place, as when ``save`` writes one, the old
    content is still read here.

    Attributes:
        path: The file, for messages.
        size: Its bytes when it was opened.
        own_path: A path to the open file itself, to open it once more: ``path`` may name another file by then.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            # Without waiting: a pipe would not open before somebody writes to it.
            self._descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        except FileNotFoundError:
            raise IndexNotFound(path) from None
        except (OSError, ValueError) as error:  # a name with a zero byte
            raise _unreadable(path, error) from None
        weakref.finalize(self, os.close, self._descriptor).atexit = False
        status = os.fstat(self._descriptor)
        if not stat.S_ISREG(status.st_mode):
            kind = "a folder" if stat.S_ISDIR(status.st_mode) else "not a regular file"
            raise IndexFileError(f"cannot read {path}: it is {kind}")
        self.size = status.st_size
        own = f"/dev/fd/{self._descriptor}"
        self.own_path = own if os.path.exists(own) else str(path)

    def read(self, offset: int, length: int) -> bytes:
        """Read bytes at an offset."""
        pieces = []
        while length:
            try:
                piece = os.pread(self._descriptor, length, offset)
            except OSError as error:
                raise _unreadable(self.path, error) from None
            if not piece:
                raise UnusableIndex(self.path, "was cut short while it was in use")
            pieces.append(piece)
            offset += len(piece)
            length -= len(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def _unreadable(path: Path, error: OSError | ValueError) -> IndexFileError:
    reason = error.strerror if isinstance(error, OSError) else None
    return IndexFileError(f"cannot read {path}: {reason or error}")
