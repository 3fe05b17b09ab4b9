"""A document, with the places at which a quotation may begin and end.

A quotation is some *units* of the document in a row: characters, words or lines. The suffixes of the document that
begin with a unit are sorted (a sparse suffix array: Manber and Myers 1993), so that all places where a text stands are
side by side. An array of 4 bytes for each unit takes the place of an automaton, whose table would have two states for
each byte of the document.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sfgen import arguments
from sfgen.errors import UsageError
from sfgen.protocols import Int32

Unit: TypeAlias = Literal["character", "word", "line"]
"""What a quotation is made of."""

UNITS: tuple[Unit, ...] = ("character", "word", "line")
"""Every unit."""

MAX_BYTES = 1 << 24
"""The most bytes of a document: each takes some 50 bytes of memory while suffixes are sorted."""

SUBSTRING_OF = "x-substring-of"
"""The keyword of a JSON Schema by which a string stands in the document of this name, given beside the schema."""

_WHITE_SPACE = np.array([code for code in range(0x3001) if chr(code).isspace()], dtype=np.uint32)
_LINE_ENDS = np.array([ord("\n"), ord("\r")], dtype=np.uint32)
_FIRST = 7  # bytes by which suffixes are sorted first: nine bits for each fill a number of 64


@dataclass(frozen=True, eq=False)
class Document:
    """The quotations of a document; immutable.

    Made by :meth:`of`. Texts of the same bytes are told by the suffixes that begin with them: those at ``order[low :
    high]``.

    Attributes:
        data: Its UTF-8, uint8 ``[bytes]``.
        order: Where quotations may begin, in the order of the suffixes, int32 ``[starts]``.
        stops: Of each of these the last byte offset at which one may end, int32 ``[starts]``.
        ends: The byte offsets behind all units, ascending, int32 ``[units]``.
        counts: How many units end at or before each byte offset, int32 ``[bytes + 1]``.
        least: The fewest units of a quotation; 0 allows the empty text.
    """

    data: NDArray[np.uint8]
    order: Int32
    stops: Int32
    ends: Int32
    counts: Int32
    least: int

    @classmethod
    def of(cls, text: str, unit: Unit, least: int, most: int | None) -> Document:
        """Read a document.

        Raises:
            UsageError: It has no unit, or fewer than ``least``, is too large, or is not text.

        >>> document = Document.of("to be or", "word", 1, None)
        >>> document.order.tolist(), document.ends.tolist()
        ([3, 6, 0], [2, 5, 8])
        """
        data = arguments.utf8("text", text)
        if data is None:
            raise UsageError("a surrogate code point in the document is not text", hint="Give the text as it was read.")
        if len(data) > MAX_BYTES:
            raise UsageError(
                f"the document has {len(data):,} bytes, and the limit is {MAX_BYTES:,}", hint="Give a part of it."
            )
        starts, ends = _units(text, unit)
        if len(ends) < max(least, 1):
            found = f"only {len(ends):,}" if len(ends) else "no"
            raise UsageError(
                f"the document has {found} {unit}{'' if len(ends) == 1 else 's'}: nothing can be quoted from it",
                hint=f"Ask for fewer: least is {least:,}." if len(ends) else "Give a document with text in it.",
            )
        content = np.frombuffer(data, dtype=np.uint8)
        is_end = np.zeros(len(content) + 1, dtype=np.int32)
        is_end[ends] = 1
        # A start from which there are too few units to the end of the document is none.
        unit_of = np.full(len(content), -1, dtype=np.int32)
        unit_of[starts[: len(starts) - max(least, 1) + 1]] = np.arange(len(starts) - max(least, 1) + 1)
        order = _sorted_suffixes(content)
        order = np.ascontiguousarray(order[unit_of[order] >= 0])
        most = len(ends) if most is None else min(most, len(ends))
        stops = order if most == 0 else ends[np.minimum(unit_of[order] + most, len(ends)) - 1]
        made = cls(content, order, stops.astype(np.int32), ends, np.cumsum(is_end, dtype=np.int32), least)
        for array in (made.order, made.stops, made.ends, made.counts):
            array.setflags(write=False)
        return made


def _units(text: str, unit: Unit) -> tuple[Int32, Int32]:
    """The byte offsets at which units begin, and those behind them."""
    codes = np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32)
    sizes = np.ones(len(codes) + 1, dtype=np.int8)
    sizes[0] = 0
    for longer in (0x80, 0x800, 0x10000):
        sizes[1:] += codes >= longer
    offsets = np.cumsum(sizes, dtype=np.int32)
    if unit == "character":
        return offsets[:-1], offsets[1:]
    outside = np.concatenate([[True], np.isin(codes, _WHITE_SPACE if unit == "word" else _LINE_ENDS), [True]])
    starts = np.flatnonzero(outside[:-2] & ~outside[1:-1])
    lasts = np.flatnonzero(~outside[1:-1] & outside[2:])
    return offsets[starts], offsets[lasts + 1]


def _sorted_suffixes(data: NDArray[np.uint8]) -> Int32:
    """Sort the suffixes of some bytes: by the first bytes, then by twice as many again and again.

    Suffixes that no other one begins like keep their place; only the others are sorted on (Larsson and Sadakane 2007).

    >>> _sorted_suffixes(np.frombuffer(b"banana", dtype=np.uint8)).tolist()
    [5, 3, 1, 0, 4, 2]
    """
    size = len(data)
    keys = np.zeros(size, dtype=np.int64)
    for offset in range(_FIRST):
        keys <<= 9
        keys[: max(size - offset, 0)] |= data[offset:].astype(np.int16) + np.int16(1)  # 0 is the end
    order = np.argsort(keys, kind="stable").astype(np.int32)
    keys = keys[order]
    rank = np.full(size + 1, -1, dtype=np.int32)  # the last is the end's
    places, length = np.arange(size, dtype=np.int32), _FIRST
    while places.size:
        is_first = np.concatenate([[True], keys[1:] != keys[:-1]])
        rank[order[places]] = np.maximum.accumulate(np.where(is_first, places, np.int32(0)))
        places = places[~(is_first & np.append(is_first[1:], True))]
        suffixes = order[places]
        behind = np.minimum(suffixes.astype(np.int64) + length, size)
        keys = rank[suffixes] * np.int64(size + 1) + rank[behind] + 1
        again = np.argsort(keys, kind="stable")
        order[places], keys = suffixes[again], keys[again]
        length *= 2
    return order
