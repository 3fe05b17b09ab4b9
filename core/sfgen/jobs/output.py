"""Where records go: into a file that a later run can go on with, or to whoever asked for them.

What is written to a file is in the hands of the system when ``append`` returns, so that it outlives this process,
however that ends. (A machine that loses its power may still lose it: nothing is forced to the disk.) A line is written
in one piece; a run that is killed in the middle of it leaves its beginning, which the next run cuts away.
"""

from __future__ import annotations

import contextlib
import io
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from sfgen.errors import OutputError, OutputExists
from sfgen.parameter_text import ParameterText

try:
    import fcntl
except ImportError:  # a system without locks of this kind
    fcntl = None  # type: ignore[assignment]


class Output(Protocol):
    """Takes the lines of the records."""

    def append(self, line: str) -> None:
        """Write one line; ``line`` has no newline."""


class Kept:
    """Records that stay with whoever asked for them."""

    def append(self, line: str) -> None:
        """Keep nothing: each record is handed on when it is made."""


class OutputFile:
    """Records in a file; nobody else can write to it meanwhile.

    Opening changes nothing in the file. ``begin`` does, and goes on after the lines that ``lines`` has passed.

    Args:
        path: The file.
        keep: Whether what it holds is to stay.
        replace: Whether what it holds may go.

    Raises:
        OutputError: It cannot be opened, is being written by another run, or holds something that may not go.
    """

    def __init__(self, path: Path, *, keep: bool, replace: bool) -> None:
        self.path = path
        self._keep = keep
        self._end = 0  # of the last whole line that is to stay
        self.rest = b""  # the beginning of a line after it
        try:
            special = path.exists() and not path.is_file()  # a pipe can be opened for writing only
            self._file = os.open(path, (os.O_WRONLY if special else os.O_RDWR | os.O_CREAT) | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise self._unwritable(error) from error
        try:
            self._is_regular = stat.S_ISREG(os.fstat(self._file).st_mode)
            self._check(replace=replace)
        except BaseException:
            self.close()
            raise

    def _check(self, *, replace: bool) -> None:
        if not self._is_regular:
            if self._keep:
                raise OutputError(f"cannot read {self.path} again: it is no regular file", path=self.path)
            return
        self._lock()
        size = os.fstat(self._file).st_size
        if size and not self._keep and not replace:
            raise OutputExists(
                f"{self.path} holds something already ({size:,} bytes)",
                hint=ParameterText(
                    "Go on with resume=True, replace it with replace=True, or name another file.", "resume", "replace="
                ),
                path=self.path,
            )

    def _lock(self) -> None:
        if fcntl is None:
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OutputError(
                f"another run is writing to {self.path}", hint="Wait for it, or name another file.", path=self.path
            ) from None
        except OSError:  # a file system without locks
            pass

    def lines(self) -> Iterator[bytes]:
        """The whole lines that are there, without their newlines; what follows the last one is in ``rest``."""
        self._end, self.rest = 0, b""
        with io.FileIO(self._file, "r", closefd=False) as raw, io.BufferedReader(raw) as stream:
            stream.seek(0)
            for line in stream:
                if not line.endswith(b"\n"):
                    self.rest = line
                    return
                self._end += len(line)
                yield line[:-1]

    def begin(self) -> None:
        """Cut away what does not stay."""
        if not self._is_regular:
            return
        try:
            os.ftruncate(self._file, self._end)
            os.lseek(self._file, self._end, os.SEEK_SET)
        except OSError as error:
            raise self._unwritable(error) from error

    def append(self, line: str) -> None:
        """Write one line, whole or not at all.

        Raises:
            OutputError: The disk is full, or the like.
            BrokenPipeError: The reader has gone.
        """
        data = memoryview(f"{storable(line)}\n".encode())
        size = len(data)
        try:
            while data:  # the system takes all of it at once, but where the disk is nearly full
                data = data[os.write(self._file, data) :]
        except BrokenPipeError:
            raise
        except BaseException as error:
            with contextlib.suppress(OSError):
                self.begin()
            if isinstance(error, OSError):
                raise self._unwritable(error, go_on=self._is_regular) from error
            raise
        self._end += size

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._file)

    def _unwritable(self, error: OSError, *, go_on: bool = False) -> OutputError:
        message = f"cannot write to {self.path}: {error.strerror or error}"
        return OutputError(message, path=self.path, lines_are_whole=go_on)


def storable(line: str) -> str:
    """A line of JSON that can be written as UTF-8.

    >>> print(storable('{"id": "\\ud800"}'))
    {"id": "\\ud800"}
    """
    return line.encode("utf-8", "backslashreplace").decode()  # for half a surrogate pair that is JSON's way to say it
