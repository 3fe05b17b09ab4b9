"""The sinks of records: a file that a later run can resume, or the caller.

When ``append`` returns, the operating system has the line, so that it outlives this process. (It may be lost if the
machine loses its power: nothing is forced to the disk.) A line is written in one piece; a run that is killed in the
middle of it leaves its beginning, which the next run cuts away.

A compressed file is a sequence of gzip members (RFC 1952), one for each run. After each line the compressor is flushed
to a whole byte (``Z_SYNC_FLUSH``), and the file can be cut there: then an empty last block, with checksum and length,
ends the member, and the next run appends a member of its own.
"""

from __future__ import annotations

import contextlib
import io
import os
import stat
import struct
import zlib
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from sfgen.errors import ForeignOutput, OutputError, OutputExists
from sfgen.jobs.prompts import is_gzip
from sfgen.parameter_text import ParameterText

try:
    import fcntl
except ImportError:  # a system without locks of this kind
    fcntl = None  # type: ignore[assignment]

_BLOCK = 2**16


class Output(Protocol):
    """A sink for the lines of the records."""

    def append(self, line: str) -> None:
        """Write one line; it has no newline at its end."""


class Kept:
    """A sink for records that stay with the caller."""

    def append(self, line: str) -> None:
        """Drop the line: each record is passed on when it is made."""


class OutputFile:
    """A file of records, locked while it is written; compressed if it ends in ``.gz``."""

    # Opening changes nothing in the file. `begin` cuts it after the lines that `lines` has yielded, and later lines
    # follow.

    def __init__(self, path: Path, *, keep: bool, replace: bool) -> None:
        self.path = path
        self._keep = keep
        self._cut = Cut()  # after the last whole line that is kept
        self._end = 0  # the length of the file in bytes, whole lines only
        self.rest = b""  # the beginning of a line after that
        self._packer = Packer() if is_gzip(path) else None
        self._is_broken = False  # the packer has taken data that is not in the file
        try:
            special = path.exists() and not path.is_file()  # a pipe can be opened for writing only
            self._file = os.open(path, (os.O_WRONLY if special else os.O_RDWR | os.O_CREAT) | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise self._unwritable(error) from error
        try:
            self._is_regular = stat.S_ISREG(os.fstat(self._file).st_mode)
            self._check(replace=replace)
        except BaseException:
            os.close(self._file)
            raise

    def _check(self, *, replace: bool) -> None:
        if not self._is_regular:
            if self._keep:
                raise OutputError(f"cannot read {self.path} again: it is not a regular file", path=self.path)
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

    def lines(self, *, quoted: bool = False) -> Iterator[bytes]:
        """Yield the whole lines without newlines; the attribute ``rest`` has what follows."""
        self._cut, self.rest = Cut(), b""
        behind: deque[bytes] = deque()  # the last line, if the file can be cut only before it
        is_lost = False  # a further line after the last cut
        for piece in self._pieces():
            *whole, self.rest = _divided(self.rest + piece.data, quoted=quoted)
            behind += whole
            if piece.cut is not None and not self.rest:
                self._cut, is_lost = piece.cut, False
                yield from behind
                behind.clear()
            while len(behind) > 1:
                is_lost = True
                yield behind.popleft()
        if behind:  # the line is whole, but the file cannot be cut after it
            self.rest = behind[0] + b"\n" + self.rest
        if is_lost or not is_whole(self._file, self._cut):
            raise ForeignOutput(
                f"{self.path} cannot be resumed: another program has compressed it, and it is cut off",
                hint="Unpack it, and name the unpacked file.",
                path=self.path,
            )

    def _pieces(self) -> Iterator[Piece]:
        """Yield the content of the file, with the offsets at which it can be cut."""
        # Without compression it can be cut after each line.
        if self._packer is None:
            offset = 0
            while block := os.pread(self._file, _BLOCK, offset):
                for line in io.BytesIO(block):
                    offset += len(line)
                    yield Piece(line, Cut(offset, offset))
            return
        try:
            yield from pieces(self._file)
        except zlib.error:
            raise ForeignOutput(
                f"{self.path} is not of this run: it is not compressed by gzip, or damaged",
                hint="Name another file.",
                path=self.path,
            ) from None

    def begin(self, header: str = "") -> None:
        """Cut away the end of the file that is not kept."""
        if self._is_regular:
            try:
                self._cut_back(self._cut.offset)
            except OSError as error:
                raise self._unwritable(error) from error
            self._write(self._cut.end)
        if header and self._end == 0:
            self.append(header)

    def append(self, line: str) -> None:
        """Write one line, whole or not at all."""
        data = f"{storable(line)}\n".encode()
        self._write(data if self._packer is None else self._packer.packed(data))

    def close(self) -> None:
        """Close the file."""
        try:
            if self._packer is not None and not self._is_broken:
                self._write(self._packer.end())
        finally:
            os.close(self._file)

    def _write(self, whole: bytes) -> None:
        """Write some bytes, all or none."""
        data = memoryview(whole)
        try:
            while data:  # the system takes all of it at once, unless the disk is nearly full
                data = data[os.write(self._file, data) :]
        except BrokenPipeError:
            self._is_broken = True
            raise
        except BaseException as error:
            self._is_broken = True
            with contextlib.suppress(OSError):
                self._cut_back(self._end)
            if isinstance(error, OSError):
                raise self._unwritable(error, go_on=self._is_regular) from error
            raise
        self._end += len(whole)

    def _cut_back(self, size: int) -> None:
        """Cut a file after its first bytes, and continue there."""
        if self._is_regular:
            os.ftruncate(self._file, size)
            os.lseek(self._file, size, os.SEEK_SET)
            self._end = size

    def _unwritable(self, error: OSError, *, go_on: bool = False) -> OutputError:
        message = f"cannot write to {self.path}: {error.strerror or error}"
        return OutputError(message, path=self.path, lines_are_whole=go_on)


def storable(line: str) -> str:
    """Make a line of JSON that can be written as UTF-8.

    >>> print(storable('{"id": "\\ud800"}'))
    {"id": "\\ud800"}
    """
    return line.encode("utf-8", "backslashreplace").decode()  # half a surrogate pair becomes JSON's escape for it


def _divided(data: bytes, *, quoted: bool) -> list[bytes]:
    """Split data into whole lines without newlines, and what follows them."""
    *parts, rest = data.split(b"\n")
    if not quoted:
        return [*parts, rest]
    whole, begun = [], b""
    for part in parts:
        line = begun + part
        if line.count(b'"') % 2:
            begun = line + b"\n"
        else:
            whole.append(line)
            begun = b""
    return [*whole, begun + rest]


_FLUSHED = b"\x00\x00\xff\xff"  # the bytes that end a flush
_LAST_BLOCK = b"\x03\x00"  # an empty block
_WITH_HEADER = 16 + zlib.MAX_WBITS


class Packer:
    """A compressor of lines into one gzip member."""

    def __init__(self) -> None:
        self._compressor = zlib.compressobj(wbits=_WITH_HEADER)
        self._has_begun = False

    def packed(self, data: bytes) -> bytes:
        """Compress more data and flush it to the last byte."""
        self._has_begun = True
        return self._compressor.compress(data) + self._compressor.flush(zlib.Z_SYNC_FLUSH)

    def end(self) -> bytes:
        """Return the end of the member; nothing if nothing was written."""
        return self._compressor.flush() if self._has_begun else b""


@dataclass(frozen=True)
class Cut:
    """An offset at which a file of members may be cut.

    Attributes:
        offset: Bytes before it.
        start: The bytes before the member in which it is.
        end: The bytes that complete the member there.
    """

    offset: int = 0
    start: int = 0
    end: bytes = b""


@dataclass(frozen=True)
class Piece:
    """A piece of decompressed data.

    Attributes:
        data: The bytes.
        cut: The offset after it; ``None``: the file cannot be cut there.
    """

    data: bytes
    cut: Cut | None


def pieces(file: int) -> Iterator[Piece]:
    """Decompress a file of members, as far as it is whole."""
    offset = start = size = checksum = 0
    member = zlib.decompressobj(_WITH_HEADER)
    for fed in _split(file):
        while True:
            if member.eof:
                member, start, size, checksum = zlib.decompressobj(_WITH_HEADER), offset, 0, 0
            data = member.decompress(fed)
            left = member.unused_data
            offset += len(fed) - len(left)
            size, checksum = size + len(data), zlib.crc32(data, checksum)
            if member.eof:
                yield Piece(data, Cut(offset, start))
            elif fed.endswith(_FLUSHED):
                end = _LAST_BLOCK + struct.pack("<LL", checksum, size & 0xFFFFFFFF)
                yield Piece(data, Cut(offset, start, end))
            else:
                yield Piece(data, None)
            if not left:
                break
            fed = left


def is_whole(file: int, cut: Cut) -> bool:
    """Return whether a member will be whole once a cut is ended."""
    # Bytes may look like those of a flush without being one.
    member, offset = zlib.decompressobj(_WITH_HEADER), cut.start
    try:
        while offset < cut.offset:
            block = os.pread(file, min(_BLOCK, cut.offset - offset), offset)
            if not block:
                return False
            member.decompress(block)
            offset += len(block)
        if cut.end:
            member.decompress(cut.end)
    except zlib.error:
        return False
    return member.eof or cut.offset == cut.start


def _split(file: int) -> Iterator[bytes]:
    """Yield the bytes of a file, in pieces that end after bytes that look like a flush."""
    kept, offset = b"", 0
    while block := os.pread(file, _BLOCK, offset):
        offset += len(block)
        *whole, kept = _at_flushes(kept + block)
        yield from whole
    if kept:
        yield kept


def _at_flushes(data: bytes) -> list[bytes]:
    parts = data.split(_FLUSHED)
    return [*(part + _FLUSHED for part in parts[:-1]), parts[-1]]
