"""A file that is read here and there while it is in use.

It is read, not mapped into memory. A mask of a mapped file takes as long as one that is read (some 15 µs for 32 KB),
but where somebody cuts a mapped file short, the next look at it kills the process; and what was checked of a map can
change.
"""

from __future__ import annotations

import os
import stat
import weakref
from pathlib import Path

from sfgen.errors import IndexFileError, IndexNotFound, UnusableIndex


class OpenFile:
    """A file that stays open while it is in use.

    Threads and a forked process may share it. Another file that takes its place, as ``save`` writes one, does not
    change what is read here.

    Args:
        path: The file.

    Attributes:
        path: The file, for messages.
        size: Its bytes when it was opened.
        own_path: The opened file, for who opens it once more: another one may have taken its place by then.

    Raises:
        IndexFileError: It does not exist, is a folder or the like, or cannot be opened.
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
        """Read bytes at an offset.

        Args:
            offset: Of the first byte.
            length: The number of bytes.

        Raises:
            UnusableIndex: The file was cut short while it was in use.
            IndexFileError: It cannot be read.
        """
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
