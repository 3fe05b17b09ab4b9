"""Build the automaton of all quotations of a document, for quotations inside of a larger constraint.

A state is the set of positions in the document after a text, as in a suffix automaton (Blumer et al. 1985): texts with
the same positions have the same continuations. States are found from the sorted suffixes, so that quotations of any
units can be built.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from sfgen.automata import Dfa
from sfgen.errors import PatternTooLarge
from sfgen.kernels import Flag, Int, Int32s, Int32sOut, UInt8s, UInt8sOut, UInt64sOut, kernel, part
from sfgen.substring.document import bound, is_end
from sfgen.substring.substring import Substring

MAX_STATES = 400_000
"""The most states of an automaton; a document has about two for each byte."""

MAX_CELLS = 32_000_000
"""The most transitions, in a table of 128 MB: three of these are in use at once."""

MAX_WORK = 100_000_000
"""The most suffixes that are visited while states are found: a second's work."""

_TOO_MUCH_WORK, _TOO_MANY_STATES = -1, -2
_SLOTS = 1 << 20  # of the hash table of states: a power of two, above twice their number
_KEPT = 8


@lru_cache(maxsize=_KEPT)
def automaton_of(substring: Substring) -> Dfa:
    """Build an automaton of the texts of a document; it is nearly minimal, and is minimised when it is used.

    >>> automaton_of(Substring("to be or not to be", "word")).accepts("be or")
    True
    """
    document = substring.document
    caps = substring.least if substring.most is None else substring.most + 1
    room = MAX_STATES + 1
    lows, highs, depths = np.empty((3, room), dtype=np.int32)
    edges = np.empty((3, 3 * room), dtype=np.int32)
    accepting = np.zeros(room, dtype=np.uint8)
    states, edge_count = _find_states(
        min(caps, len(document.ends)), document.least, MAX_WORK, lows, highs, depths, edges[0], edges[1], edges[2],
        accepting, np.empty(_SLOTS, dtype=np.uint64), np.full(_SLOTS, -1, dtype=np.int32),
        document.data, document.order, document.stops, document.counts,
    )  # fmt: skip
    if states < 0:
        limit = f"{MAX_STATES:,} states" if states == _TOO_MANY_STATES else f"{MAX_WORK:,} steps of construction"
        raise _too_large(substring, limit)
    sources, labels, targets = edges[:, :edge_count]
    bytes_ = np.unique(labels)
    if states * (len(bytes_) + 1) > MAX_CELLS:
        raise _too_large(substring, f"{MAX_CELLS:,} transitions")
    classes = np.zeros(256, dtype=np.uint8)  # no state reads class 0
    classes[bytes_] = np.arange(1, len(bytes_) + 1)
    table = np.full((states, len(bytes_) + 1), -1, dtype=np.int32)
    table[sources, classes[labels]] = targets
    return Dfa(table, classes, accepting[:states].astype(np.bool_))


def _too_large(substring: Substring, limit: str) -> PatternTooLarge:
    return PatternTooLarge(f"the automaton of a document of {len(substring.text):,} characters passes {limit}", "")


@part
def _digest(
    low: Int, high: Int, depth: Int, caps: Int, order: Int32s, stops: Int32s, counts: Int32s
) -> tuple[Int, Int]:  # fmt: skip
    """Return a digest of the positions after a text, with the units that end there, and their number."""
    total, number = np.uint64(0), np.int64(0)
    for position in range(low, high):
        at = np.int64(order[position]) + depth
        if at <= stops[position]:
            units = min(np.int64(counts[at]) - counts[order[position]], caps)
            mixed = np.uint64(at * (caps + 1) + units + 1) * np.uint64(0x9E3779B97F4A7C15)
            mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            total += mixed ^ (mixed >> np.uint64(31))
            number += 1
    return total, number


@part
def _ends(low: Int, high: Int, depth: Int, least: Int, order: Int32s, stops: Int32s, counts: Int32s) -> Flag:
    for position in range(low, high):
        at = np.int64(order[position]) + depth
        if at <= stops[position] and is_end(at, counts) and counts[at] - counts[order[position]] >= least:
            return True
    return False


@kernel
def _find_states(
    caps: Int, least: Int, work: Int, lows: Int32sOut, highs: Int32sOut, depths: Int32sOut, sources: Int32sOut,
    labels: Int32sOut, targets: Int32sOut, accepting: UInt8sOut, digests: UInt64sOut, slots: Int32sOut,
    data: UInt8s, order: Int32s, stops: Int32s, counts: Int32s,
) -> tuple[Int, Int]:  # fmt: skip
    """Find the states and their transitions, breadth first; return their numbers, negative if a limit is passed."""
    # caps: the number of units from which on more make no difference; work: the most suffixes that are visited. Filled:
    # a position of each state (lows, highs, depths), transitions (sources, labels, targets), and accepting, 0 before.
    # digests and slots are a hash table of states; -1 in slots is no state.
    lows[0], highs[0], depths[0] = 0, order.size, 0
    accepting[0] = 1 if least == 0 else 0
    states, found, state = np.int64(1), np.int64(0), np.int64(0)
    mask = np.uint64(slots.size - 1)
    while state < states:
        low, high, depth = np.int64(lows[state]), np.int64(highs[state]), np.int64(depths[state])
        while low < high:
            at = np.int64(order[low]) + depth
            if at >= stops[low]:
                low += 1
                work -= 1
                continue
            byte = np.int64(data[at])
            behind = bound(low, high, depth, byte + 1, data, order)
            work -= behind - low
            if work < 0:
                return _TOO_MUCH_WORK, found
            digest, number = _digest(low, behind, depth + 1, caps, order, stops, counts)
            if number > 0:
                digest = digest + np.uint64(number)
                slot = np.int64(digest & mask)
                while slots[slot] >= 0 and digests[slot] != digest:
                    slot = np.int64(np.uint64(slot + 1) & mask)
                if slots[slot] < 0:
                    if states == lows.size - 1 or found == labels.size:
                        return _TOO_MANY_STATES, found
                    slots[slot], digests[slot] = states, digest
                    lows[states], highs[states], depths[states] = low, behind, depth + 1
                    accepting[states] = _ends(low, behind, depth + 1, max(least, 1), order, stops, counts)
                    states += 1
                if found == labels.size:
                    return _TOO_MANY_STATES, found
                sources[found], labels[found], targets[found] = state, byte, slots[slot]
                found += 1
            low = behind
        state += 1
    return states, found
