"""States that allow few tokens: each is walked alone, and its tokens are listed before any row is written.

Most states of most patterns are such: they are in the middle of some fixed text, or of a character. The tokens of equal
rows are the same, so a row that is known already is found by its tokens, and costs neither the time to write it nor to
compare it word by word.
"""

from __future__ import annotations

import numpy as np

from sfgen.index.masks.one_state import key, list_transitions
from sfgen.kernels import (
    Flag,
    Flags,
    Int,
    Int32s,
    Int32sOut,
    Int64sOut,
    UInt8s,
    UInt32s,
    UInt32sOut,
    UInt32TableOut,
    UInt64sOut,
    kernel,
)  # fmt: skip

NARROW = 1024
"""A state is narrow if its walk visits no more trie nodes than this."""


@kernel
def make_narrow(
    states: Int32s, place: Int, stop: Int, used: Int, keep: Flag, budget: Int,
    rows: UInt32TableOut, counts: Int64sOut, digests: UInt64sOut, slots: Int32sOut, row_of: Int32sOut,
    stack: UInt32sOut, tokens: Int32sOut, targets: UInt32sOut,
    table: UInt32s, width: Int, byte_classes: UInt8s, accepting: Flags, end_tokens: Int32s,
    labels: UInt8s, depths: Int32s, subtree_ends: Int32s, token_starts: Int32s, token_ids: Int32s, roots: Int32s,
) -> tuple[Int, Int]:  # fmt: skip
    """Make the rows of the narrow ones of the states from ``place`` to ``stop``: (place reached, rows used).

    It comes to an end early where all of ``rows`` are used. Equal rows are made once.

    Args:
        states: The states.
        place: Where in ``states`` to begin.
        stop: Where in ``states`` to end.
        used: How many of ``rows`` are made.
        keep: Whether rows are made at all; else this only tells which states are narrow.
        budget: ``NARROW``.
        rows: Where the rows go, ``[rows, words]``.
        counts: The number of tokens of each row.
        digests: The digest of each row.
        slots: A hash table of the rows, by digest; its size is a power of two; -1 is free.
        row_of: For each of ``states`` the number of its row, or 0 if none is kept; -1 for a state that is not narrow.
        stack: Room for a state at each depth of the trie, and one more.
        tokens: Room for all tokens.
        targets: Room for a state of each.
        table: This and the rest: see ``walker.make_row``.
    """
    while place < stop and used < len(rows):
        state = np.int64(states[place])
        count = list_transitions(
            state, budget, tokens.size, stack, tokens, targets,
            table, width, byte_classes, labels, depths, subtree_ends, token_starts, token_ids, roots,
        )  # fmt: skip
        row_of[place] = -1 if count < 0 else 0
        if keep and count >= 0:
            if accepting[state]:
                for number in range(end_tokens.size):
                    tokens[count] = end_tokens[number]
                    count += 1
            number = _number(tokens, count, rows, used, counts, digests, slots)
            row_of[place] = number
            used += number == used
        place += 1
    return place, used


@kernel(is_part=True)
def _number(
    tokens: Int32s, count: Int, rows: UInt32TableOut, used: Int,
    counts: Int64sOut, digests: UInt64sOut, slots: Int32sOut,
) -> Int:  # fmt: skip
    """The number of the row of these tokens; ``used`` where it is a new one, which is written and entered."""
    mixed = np.uint64(0)
    for place in range(count):
        mixed += key(tokens[place] >> 5) << np.uint64(tokens[place] & 31)
    slot = np.int64(mixed & np.uint64(slots.size - 1))
    while slots[slot] >= 0:
        other = slots[slot]
        if digests[other] == mixed and counts[other] == count:
            # As many tokens are in the other row: it is equal, if all of these are in it.
            place = 0
            while place < count and rows[other, tokens[place] >> 5] >> np.uint32(tokens[place] & 31) & np.uint32(1):
                place += 1
            if place == count:
                return np.int64(other)
        slot = (slot + 1) & (slots.size - 1)
    for word in range(rows.shape[1]):
        rows[used, word] = 0
    for place in range(count):
        rows[used, tokens[place] >> 5] |= np.uint32(np.uint32(1) << np.uint32(tokens[place] & 31))
    slots[slot] = used
    digests[used] = mixed
    counts[used] = count
    return np.int64(used)
