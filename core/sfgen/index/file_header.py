"""The header of a saved index: what is in the file, and where.

A safetensors file is the length of its header in 8 bytes, the header as JSON, and the arrays one after the other. The
header's string map says what the index belongs to:

    format                   the version of what is written here
    sfgen                    the version of sfgen that wrote it
    pattern, flags           the pattern, where the index has one, and the flags that ``re`` must read it with
    vocabulary_fingerprint   the digest of all tokens' bytes and of the end tokens
    states, tokens, rows     how many there are
    checksum                 SHA-256 of the header, with zeros in this place, and of all arrays but the rows

A header has one form only: what is read must be, byte for byte, what would be written. So every changed byte is
noticed, those too that mean nothing in JSON, and the arrays lie where they must.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from itertools import accumulate, pairwise
from math import prod
from typing import Any, NamedTuple

import numpy as np

from sfgen.errors import IndexFileError, UnusableIndex
from sfgen.index.open_file import OpenFile

FORMAT = "sfgen-index-2"

DTYPES = {  # in the order of the file: those of four bytes first, so that all are aligned
    "transitions": "I32",  # [states, classes]
    "row_of_state": "I32",  # [states]
    "counts": "I32",  # [rows]
    "row_checksums": "U32",  # [rows], CRC-32
    "rows": "U32",  # [rows, words]
    "byte_classes": "U8",  # [256]
    "accepting": "BOOL",  # [states]
}
NUMPY_DTYPES: dict[str, np.dtype[Any]] = {
    "I32": np.dtype("<i4"),
    "U32": np.dtype("<u4"),
    "U8": np.dtype("u1"),
    "BOOL": np.dtype("?"),
}
SMALL = tuple(name for name in DTYPES if name != "rows")  # what is read when the index is loaded

_LONGEST = 100_000_000  # bytes of a header: the limit of safetensors
_BEGINNING = b'{"__metadata__":{"format":"sfgen-index-'
_MOST = 2**31 - 1  # states, tokens, rows
_NO_CHECKSUM = "0" * 64
_CHECKSUM = b'"checksum":"%s"'  # nowhere else: in a string of JSON the quotes would be escaped


class Sizes(NamedTuple):
    """How large the arrays are.

    >>> Sizes(states=3, classes=2, tokens=33, rows=1).shapes["rows"]
    (1, 2)
    """

    states: int
    classes: int
    tokens: int
    rows: int

    @property
    def words(self) -> int:
        """The number of 32-bit words of a row."""
        return (self.tokens + 31) // 32

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of each array."""
        states, classes, rows = self.states, self.classes, self.rows
        per_state = dict.fromkeys(("row_of_state", "accepting"), (states,))
        per_row = dict.fromkeys(("counts", "row_checksums"), (rows,))
        others = {"transitions": (states, classes), "rows": (rows, self.words), "byte_classes": (256,)}
        return per_state | per_row | others

    @property
    def places(self) -> dict[str, tuple[int, int]]:
        """Where each array begins and ends, in bytes after the header."""
        lengths = [prod(self.shapes[name]) * NUMPY_DTYPES[dtype].itemsize for name, dtype in DTYPES.items()]
        return dict(zip(DTYPES, pairwise(accumulate(lengths, initial=0)), strict=True))


class Header(NamedTuple):
    """A header that was read.

    Attributes:
        metadata: The string map.
        sizes: How large the arrays are.
        encoded: Its bytes, the length before it included.
    """

    metadata: dict[str, str]
    sizes: Sizes
    encoded: bytes


def encode(metadata: Mapping[str, str], sizes: Sizes) -> bytes:
    """The bytes of a header, the length before it included."""
    tensors = {
        name: {"dtype": dtype, "shape": sizes.shapes[name], "data_offsets": sizes.places[name]}
        for name, dtype in DTYPES.items()
    }
    text = json.dumps({"__metadata__": dict(metadata), **tensors}, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text


def sealed(metadata: Mapping[str, str], sizes: Sizes, arrays: Iterable[bytes | memoryview]) -> bytes:
    """The bytes of a header with the checksum over it and the small arrays (in the order of the file)."""
    open_header = encode({**metadata, "checksum": _NO_CHECKSUM}, sizes)
    checksum = _digest(open_header, arrays)
    return open_header.replace(_CHECKSUM % _NO_CHECKSUM.encode(), _CHECKSUM % checksum.encode())


def is_sealed(header: Header, arrays: Iterable[bytes | memoryview]) -> bool:
    """Whether the checksum is that of the header and the small arrays."""
    checksum = header.metadata["checksum"]
    open_header = header.encoded.replace(_CHECKSUM % checksum.encode(), _CHECKSUM % _NO_CHECKSUM.encode())
    return checksum == _digest(open_header, arrays)


def read_header(file: OpenFile) -> Header:
    """The header of an index file, if it has one and the file is as long as that says.

    Raises:
        IndexFileError: It is no index, of another format version, cut off, or damaged.
    """
    foreign = IndexFileError(f"{file.path} is not an index that sfgen saved")
    if file.size < 8:
        raise foreign
    length = int.from_bytes(file.read(0, 8), "little")
    if length > min(file.size - 8, _LONGEST):
        if file.read(8, min(len(_BEGINNING), file.size - 8)) == _BEGINNING:
            raise _cut_off(file, "its header is not whole")
        raise foreign
    encoded = file.read(0, 8 + length)
    try:
        content = json.loads(encoded[8:].decode())
        metadata = content["__metadata__"]
        format_ = metadata["format"]
        is_index = re.fullmatch(r"sfgen-index-[0-9]{1,9}", format_) is not None
    except (ValueError, LookupError, TypeError, RecursionError):
        is_index = False
    if not is_index:
        raise foreign
    if format_ != FORMAT:
        raise UnusableIndex(file.path, f"has the format {format_}; this sfgen reads {FORMAT}")
    sizes = _sizes(content)
    if sizes is None or encode(metadata, sizes) != encoded:
        raise UnusableIndex(file.path, "is damaged: its header is not in order")
    end = len(encoded) + max(stop for _, stop in sizes.places.values())
    if file.size < end:
        raise _cut_off(file, f"it has {file.size:,} of {end:,} bytes")
    if file.size > end:
        raise UnusableIndex(file.path, f"is damaged: {file.size - end:,} bytes follow its end")
    return Header(metadata, sizes, encoded)


def _sizes(content: Any) -> Sizes | None:
    """The sizes that a header tells, if it has all that it must have, and they can be."""
    metadata = content["__metadata__"]
    if not all(isinstance(text, str) for text in metadata.values()):
        return None
    if not all(re.fullmatch("[0-9a-f]{64}", metadata.get(name, "")) for name in ("vocabulary_fingerprint", "checksum")):
        return None
    try:
        _, classes = content["transitions"]["shape"]
        sizes = Sizes(int(metadata["states"]), int(classes), int(metadata["tokens"]), int(metadata["rows"]))
    except (ValueError, LookupError, TypeError, OverflowError):
        return None
    fewest, most = Sizes(1, 1, 0, 1), Sizes(_MOST, 256, _MOST, _MOST)
    return sizes if all(low <= size <= high for low, size, high in zip(fewest, sizes, most, strict=True)) else None


def _digest(header: bytes, arrays: Iterable[bytes | memoryview]) -> str:
    digest = hashlib.sha256(header)
    for array in arrays:
        digest.update(array)
    return digest.hexdigest()


def _cut_off(file: OpenFile, reason: str) -> IndexFileError:
    return UnusableIndex(file.path, f"is cut off: {reason}")
