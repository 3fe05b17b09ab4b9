"""Lines in a file of gzip members (RFC 1952) that can be gone on with, however the process ended that wrote it.

A run writes one member. Behind each line the compressor is flushed to a whole byte (``Z_SYNC_FLUSH``), so that the line
is in the hands of the system like any other, and the file can be cut there: the member is then given its end, an empty
last block with checksum and length, and the next run appends a member of its own.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

_FLUSHED = b"\x00\x00\xff\xff"  # the bytes that end a flush
_LAST_BLOCK = b"\x03\x00"  # with nothing in it
_WITH_HEADER = 16 + zlib.MAX_WBITS
_BLOCK = 2**16


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
        end: What must be written there, so that the member is whole.
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
    """Decompress a file of members, as far as it is whole.

    Args:
        file: The descriptor of the file; its position does not matter.

    Raises:
        zlib.error: It was not compressed by gzip, or is damaged.
    """
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
    """Tell whether a member will be whole once a cut is ended.

    Bytes may look like those of a flush without being one.

    Args:
        file: The descriptor of the file.
        cut: The cut in the member.
    """
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
    """The bytes of a file, in pieces that end behind what looks like a flush wherever there is one."""
    kept, offset = b"", 0
    while block := os.pread(file, _BLOCK, offset):
        offset += len(block)
        *whole, kept = _divided(kept + block)
        yield from whole
    if kept:
        yield kept


def _divided(data: bytes) -> list[bytes]:
    parts = data.split(_FLUSHED)
    return [*(part + _FLUSHED for part in parts[:-1]), parts[-1]]
