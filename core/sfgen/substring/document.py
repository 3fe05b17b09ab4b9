"""A document to quote from: its sorted suffixes, and kernels over them.

A quotation is a sequence of consecutive *units* of the document: characters, words or lines. The suffixes of the
document that begin with a unit are sorted (a sparse suffix array: Manber and Myers 1993), so that all occurrences of a
text are adjacent. An array of 4 bytes for each unit replaces an automaton, whose table would have two states for each
byte of the document.

The kernels compute the continuations of a text, the allowed tokens, and the fewest tokens to an end. A position is an
interval of the sorted suffixes, ``low`` to ``high``, and the number of their bytes that were read, ``depth``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sfgen import arguments
from sfgen.errors import UsageError
from sfgen.kernels import Flag, Int, Int32s, Int32sOut, Int64s, UInt8s, UInt32sOut, kernel, part
from sfgen.protocols import Int32

Unit: TypeAlias = Literal["character", "word", "line"]
"""The unit of a quotation."""

UNITS: tuple[Unit, ...] = ("character", "word", "line")
"""Every unit."""

MAX_BYTES = 1 << 24
"""The most bytes of a document: each takes some 50 bytes of memory while suffixes are sorted."""

SUBSTRING_OF = "x-substring-of"
"""The keyword of a JSON Schema for quotations of a named document, which is given beside the schema."""

_WHITE_SPACE = np.array([code for code in range(0x3001) if chr(code).isspace()], dtype=np.uint32)
_LINE_ENDS = np.array([ord("\n"), ord("\r")], dtype=np.uint32)
_FIRST = 7  # bytes by which suffixes are sorted first: nine bits for each fill 64 bits


@dataclass(frozen=True, eq=False)
class Document:
    """The quotations of a document; immutable.

    Made by :meth:`of`. The occurrences of a text are the suffixes that begin with it: those at ``order[low : high]``.

    Attributes:
        data: Its UTF-8, uint8 ``[bytes]``.
        order: The byte offsets at which quotations may begin, in the order of the suffixes, int32 ``[starts]``.
        stops: For each of these the last byte offset at which a quotation may end, int32 ``[starts]``.
        ends: The byte offsets after all units, ascending, int32 ``[units]``.
        counts: The number of units that end at or before each byte offset, int32 ``[bytes + 1]``.
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
            how_many = f"only {len(ends):,}" if len(ends) else "no"
            raise UsageError(
                f"the document has {how_many} {unit}{'' if len(ends) == 1 else 's'}: nothing can be quoted from it",
                hint=f"Ask for fewer: least is {least:,}." if len(ends) else "Give a document with text in it.",
            )
        content = np.frombuffer(data, dtype=np.uint8)
        is_end = np.zeros(len(content) + 1, dtype=np.int32)
        is_end[ends] = 1
        # Starts with too few units up to the end of the document are dropped.
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
    """The byte offsets at which units begin, and those after them."""
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

    Suffixes with a unique beginning keep their place; only the others are sorted further (Larsson and Sadakane 2007).

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
    rank = np.full(size + 1, -1, dtype=np.int32)  # the last rank is that of the end
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


_FAR = 2**31 - 1
"""The number for an end that no tokens reach: ``sfgen.index.distance.UNREACHABLE``."""


@part
def bound(low: Int, high: Int, depth: Int, byte: Int, data: UInt8s, order: Int32s) -> Int:
    """Find the first suffix of an interval that continues with ``byte`` or a greater one."""
    while low < high:
        middle = (low + high) >> 1
        at = np.int64(order[middle]) + depth
        following = np.int64(-1)
        if at < data.size:
            following = np.int64(data[at])
        if following < byte:
            low = middle + 1
        else:
            high = middle
    return low


@part
def _is_alive(low: Int, high: Int, depth: Int, order: Int32s, stops: Int32s) -> Flag:
    """Return whether a quotation begins with this text."""
    number = low
    while number < high and order[number] + depth > stops[number]:
        number += 1
    return number < high


@kernel
def interval_after(
    low: Int, high: Int, depth: Int, text: UInt8s, data: UInt8s, order: Int32s, stops: Int32s
) -> tuple[Int, Int]:
    """Return the interval after some bytes; an empty one if no quotation continues with them."""
    for offset in range(text.size):
        byte = np.int64(text[offset])
        low = bound(low, high, depth, byte, data, order)
        high = bound(low, high, depth, byte + 1, data, order)
        depth += 1
    if not _is_alive(low, high, depth, order, stops):
        return np.int64(0), np.int64(0)
    return np.int64(low), np.int64(high)


@part
def is_end(at: Int, counts: Int32s) -> Flag:
    """Return whether a unit ends at an offset."""
    return at > 0 and counts[at] > counts[at - 1]


@kernel
def may_end(low: Int, high: Int, depth: Int, least: Int, order: Int32s, stops: Int32s, counts: Int32s) -> Flag:
    """Return whether a quotation may end at a position."""
    if depth == 0:
        return least == 0
    for number in range(low, high):
        start = np.int64(order[number])
        at = start + depth
        if at <= stops[number] and is_end(at, counts) and counts[at] - counts[start] >= least:
            return True
    return False


@kernel
def only_byte(low: Int, high: Int, depth: Int, data: UInt8s, order: Int32s, stops: Int32s) -> Int:
    """Return the only byte that can follow; -1: there are several, -2: there is none."""
    while low < high and order[low] + depth >= stops[low]:
        low += 1
    if low == high:
        return -2
    while order[high - 1] + depth >= stops[high - 1]:
        high -= 1
    byte = np.int64(data[order[low] + depth])
    return byte if byte == data[order[high - 1] + depth] else -1


@kernel
def spell(
    data: UInt8s, counts: Int32s, ends: Int32s, fewest: Int32sOut, landings: Int32sOut, to_unit: Int32sOut,
    following: Int32sOut, jumps: Int32sOut, steps: Int32sOut,
    labels: UInt8s, subtree_ends: Int32s, token_starts: Int32s, roots: Int32s,
) -> Int:  # fmt: skip
    """Compute the fewest tokens from each offset of a document: shortest paths, from the end to the beginning."""
    # Filled, each by offset:
    # - fewest: the fewest tokens, at least one, that write the document on to any end of a unit; landings: that end.
    # - to_unit: the fewest to the first end of a unit behind the offset, and no further.
    # - following: where the first of the fewest tokens to the end of the document leads; -1: nowhere.
    # - steps: the number of tokens of that way; jumps: an offset farther on it. The links are as those of Myers (1983),
    #   "An applicative random-access stack", so that any offset on the way is found in logarithmic time.
    size = np.int64(data.size)
    for start in range(size, -1, -1):
        best, landing, unit, way, after = np.int64(_FAR), size, np.int64(_FAR), np.int64(_FAR), np.int64(-1)
        first = size + 1
        if counts[start] < ends.size:
            first = np.int64(ends[counts[start]])
        node, stop, at = np.int64(0), np.int64(0), np.int64(start)
        if start < size:
            node, stop = np.int64(roots[data[start]]), np.int64(roots[np.int64(data[start]) + 1])
        while node < stop:
            if labels[node] != data[at]:
                node = np.int64(subtree_ends[node])
                continue
            at += 1
            if token_starts[node] < token_starts[node + 1]:
                ends_here = is_end(at, counts)
                left, there = np.int64(fewest[at]), np.int64(landings[at])
                if ends_here:
                    left, there = np.int64(0), at
                if left < _FAR and (left + 1 < best or (left + 1 == best and there < landing)):
                    best, landing = left + 1, there
                if at == first:
                    unit = np.int64(1)
                elif at < first and to_unit[at] < _FAR:
                    unit = min(unit, np.int64(to_unit[at]) + 1)
                if (at == size or following[at] >= 0) and steps[at] + 1 < way:
                    way, after = np.int64(steps[at]) + 1, at
            if at == size:
                break
            stop = np.int64(subtree_ends[node])
            node += 1
        fewest[start], landings[start], to_unit[start], following[start] = best, landing, unit, after
        steps[start], jumps[start] = 0, start
        if after >= 0:
            steps[start], jumps[start] = way, after
            far = np.int64(jumps[after])
            farther = np.int64(jumps[far])
            if steps[after] - steps[far] == steps[far] - steps[farther]:
                jumps[start] = farther
    return 0


@part
def _left(
    start: Int, at: Int, stop: Int, least: Int, counts: Int32s, ends: Int32s, fewest: Int32s, landings: Int32s,
    to_unit: Int32s, by_units: Int64s, following: Int32s, jumps: Int32s, steps: Int32s,
) -> Int:  # fmt: skip
    """Bound the tokens that complete one quotation; exact if one unit is enough and there is no maximum.

    The bound is the least of three: the fewest tokens to any end; unit by unit; and the path of fewest tokens to the
    end of the document, up to an offset where the quotation may end, or to the last offset before it and then unit by
    unit. The first token of the least one decreases the bound by one.
    """
    if at == start and least == 0:
        return 0
    target = np.int64(counts[start]) + max(np.int64(least), np.int64(1)) - 1  # the unit that must be written
    if at > start and is_end(at, counts) and counts[at] > target:
        return 0
    done = np.int64(counts[at])
    if done >= target:
        found = np.int64(to_unit[at])
        return np.int64(fewest[at]) if landings[at] <= stop else found
    needed = np.int64(ends[target])
    found = min(np.int64(_FAR), to_unit[at] + by_units[target] - by_units[done])
    last = np.int64(at)
    while True:
        if jumps[last] > last and jumps[last] < needed:
            last = np.int64(jumps[last])
        elif following[last] >= 0 and following[last] < needed:
            last = np.int64(following[last])
        else:
            break
    taken = np.int64(steps[at]) - steps[last]
    found = min(found, taken + to_unit[last] + by_units[target] - by_units[counts[last]])
    reached = np.int64(following[last])
    if reached >= 0:
        if is_end(reached, counts):
            if reached <= stop:
                found = min(found, taken + 1)
        elif landings[reached] <= stop:
            found = min(found, taken + 1 + fewest[reached])
    return found


@kernel
def tokens_left(
    low: Int, high: Int, depth: Int, enough: Int, least: Int, order: Int32s, stops: Int32s, counts: Int32s,
    ends: Int32s, fewest: Int32s, landings: Int32s, to_unit: Int32s, by_units: Int64s, following: Int32s,
    jumps: Int32s, steps: Int32s,
) -> Int:  # fmt: skip
    """Bound the fewest tokens from a position to an end; return the first bound that is at most ``enough``."""
    # by_units: the tokens to each end of a unit if each unit is written by itself, int64 [units]; others: see `spell`.
    found = np.int64(_FAR)
    for number in range(low, high):
        start, stop = np.int64(order[number]), np.int64(stops[number])
        if start + depth <= stop:
            found = min(
                found,
                _left(
                    start, start + depth, stop, least, counts, ends, fewest, landings, to_unit, by_units, following,
                    jumps, steps,
                ),
            )  # fmt: skip
            if found <= enough:
                break
    return found


@kernel
def allow_tokens(
    low: Int, high: Int, depth: Int, room: Int, mask: UInt32sOut, lows: Int32sOut, highs: Int32sOut,
    least: Int, data: UInt8s, order: Int32s, stops: Int32s, counts: Int32s, ends: Int32s, fewest: Int32s,
    landings: Int32s, to_unit: Int32s, by_units: Int64s, following: Int32s, jumps: Int32s, steps: Int32s,
    labels: UInt8s, depths: Int32s, subtree_ends: Int32s, token_starts: Int32s, token_ids: Int32s,
) -> Int:  # fmt: skip
    """Set the tokens that a position can read in an empty mask, uint32 ``[words]``."""
    # room: the most tokens, this one counted, to an end; -1: any number, and the arrays of `spell` are not read.
    # lows, highs: room for an interval at each depth of the trie, and one more.
    node, end = np.int64(0), np.int64(labels.size)
    lows[0], highs[0] = low, high
    while node < end:
        level = np.int64(depths[node])
        byte, read_ = np.int64(labels[node]), depth + level
        first = bound(np.int64(lows[level - 1]), np.int64(highs[level - 1]), read_ - 1, byte, data, order)
        last = bound(first, np.int64(highs[level - 1]), read_ - 1, byte + 1, data, order)
        if not _is_alive(first, last, read_, order, stops):
            node = np.int64(subtree_ends[node])
            continue
        lows[level], highs[level] = first, last
        if token_starts[node] < token_starts[node + 1] and (
            room < 0
            or tokens_left(
                first, last, read_, room - 1, least, order, stops, counts, ends, fewest, landings, to_unit, by_units,
                following, jumps, steps,
            )
            <= room - 1
        ):  # fmt: skip
            for position in range(token_starts[node], token_starts[node + 1]):
                token = np.uint32(token_ids[position])
                mask[np.int64(token >> np.uint32(5))] |= np.uint32(1) << (token & np.uint32(31))
        node += 1
    return 0
