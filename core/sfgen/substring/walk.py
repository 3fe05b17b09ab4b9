"""Kernels over sorted suffixes: what follows a text of a document, which tokens do, and the fewest to an end.

A position is an interval of the sorted suffixes, ``low`` to ``high``, and how many of their bytes are read, ``depth``.
"""

from __future__ import annotations

import numpy as np

from sfgen.kernels import Flag, Int, Int32s, Int32sOut, Int64s, UInt8s, UInt32sOut, kernel

FAR = 2**31 - 1
"""The tokens to an end where no tokens lead there: ``sfgen.index.distance.UNREACHABLE``."""


@kernel(is_part=True)
def bound(low: Int, high: Int, depth: Int, byte: Int, data: UInt8s, order: Int32s) -> Int:
    """Find the first suffix of an interval that goes on with ``byte`` or a greater one."""
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


@kernel(is_part=True)
def _is_alive(low: Int, high: Int, depth: Int, order: Int32s, stops: Int32s) -> Flag:
    """Tell whether a quotation begins so."""
    number = low
    while number < high and order[number] + depth > stops[number]:
        number += 1
    return number < high


@kernel
def read(low: Int, high: Int, depth: Int, text: UInt8s, data: UInt8s, order: Int32s, stops: Int32s) -> tuple[Int, Int]:
    """Return the interval after some bytes; an empty one where no quotation goes on so.

    Args:
        low, high, depth: The position.
        text: The bytes.
        data, order, stops: See ``Document``.
    """
    for offset in range(text.size):
        byte = np.int64(text[offset])
        low = bound(low, high, depth, byte, data, order)
        high = bound(low, high, depth, byte + 1, data, order)
        depth += 1
    if not _is_alive(low, high, depth, order, stops):
        return np.int64(0), np.int64(0)
    return np.int64(low), np.int64(high)


@kernel(is_part=True)
def is_end(at: Int, counts: Int32s) -> Flag:
    """Tell whether a unit ends at an offset."""
    return at > 0 and counts[at] > counts[at - 1]


@kernel
def accepts(low: Int, high: Int, depth: Int, least: Int, order: Int32s, stops: Int32s, counts: Int32s) -> Flag:
    """Tell whether a quotation may end at a position.

    Args:
        low, high, depth: The position.
        least: The fewest units.
        order, stops, counts: See ``Document``.
    """
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
    """Return the only byte with which a quotation can go on; -1: there are several, -2: there is none.

    Args:
        low, high, depth: The position.
        data, order, stops: See ``Document``.
    """
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
    """Compute the fewest tokens from each offset of a document: a shortest way, from the end to the beginning.

    Args:
        data, counts, ends: See ``Document``.
        fewest: Where the fewest tokens go, at least one, that write the document on to any end of a unit.
        landings: Where those lead.
        to_unit: The fewest to the first end of a unit behind the offset, and no further.
        following: Where the first of the fewest tokens to the end of the document leads; -1: nowhere.
        jumps: An offset farther on that way: the links are as those of Myers (1983), "An applicative random-access
            stack", so that any place on the way is found in logarithmic time.
        steps: How many tokens that way has.
        labels, subtree_ends, token_starts, roots: As in ``TokenTrie``.
    """
    size = np.int64(data.size)
    for start in range(size, -1, -1):
        best, landing, unit, way, after = np.int64(FAR), size, np.int64(FAR), np.int64(FAR), np.int64(-1)
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
                if left < FAR and (left + 1 < best or (left + 1 == best and there < landing)):
                    best, landing = left + 1, there
                if at == first:
                    unit = np.int64(1)
                elif at < first and to_unit[at] < FAR:
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


@kernel(is_part=True)
def _left(
    start: Int, at: Int, stop: Int, least: Int, counts: Int32s, ends: Int32s, fewest: Int32s, landings: Int32s,
    to_unit: Int32s, by_units: Int64s, following: Int32s, jumps: Int32s, steps: Int32s,
) -> Int:  # fmt: skip
    """Bound the tokens that complete one quotation; exact where one unit is enough and any number may be written.

    The bound is the least of three ways: the fewest tokens to any end; unit by unit; and the fewest tokens to the end
    of the document up to where the quotation may end, or to the last place before it and then unit by unit. With the
    first token of the least way it falls by one.
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
    found = min(np.int64(FAR), to_unit[at] + by_units[target] - by_units[done])
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
    """Bound the fewest tokens from a position to an end.

    Args:
        low, high, depth: The position.
        enough: A bound that is good enough: the first one that is no larger is returned.
        least: The fewest units.
        order, stops, counts, ends: See ``Document``.
        fewest, landings, to_unit, following, jumps, steps: See ``spell``.
        by_units: The tokens to each end of a unit if each is written by itself, int64 ``[units]``.
    """
    found = np.int64(FAR)
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
def allow(
    low: Int, high: Int, depth: Int, room: Int, mask: UInt32sOut, lows: Int32sOut, highs: Int32sOut,
    least: Int, data: UInt8s, order: Int32s, stops: Int32s, counts: Int32s, ends: Int32s, fewest: Int32s,
    landings: Int32s, to_unit: Int32s, by_units: Int64s, following: Int32s, jumps: Int32s, steps: Int32s,
    labels: UInt8s, depths: Int32s, subtree_ends: Int32s, token_starts: Int32s, token_ids: Int32s,
) -> Int:  # fmt: skip
    """Set the tokens that a position can read in an empty mask.

    Args:
        low, high, depth: The position.
        room: The most tokens, this one counted, to an end; -1: any number, and none of ``fewest`` and what follows it
            up to ``steps`` is looked at.
        mask: The token mask, uint32 ``[words]``.
        lows, highs: Room for an interval at each depth of the trie, and one more.
        least, data, order, stops, counts, ends: See ``Document``.
        fewest, landings, to_unit, by_units, following, jumps, steps: See ``tokens_left``.
        labels, depths, subtree_ends, token_starts, token_ids: As in ``TokenTrie``.
    """
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
