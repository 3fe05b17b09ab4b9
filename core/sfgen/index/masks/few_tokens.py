"""Sparse states, which allow few tokens: each is walked alone, and its tokens are listed before a mask is written.

Most states of most patterns are such: they are in the middle of some fixed text, or of a character. The tokens of equal
masks are the same, so a mask that is known already is found by its tokens, and costs neither the time to write it nor
to compare it word by word.
"""

from __future__ import annotations

import numpy as np

from sfgen.index.masks.one_state import key, list_transitions
from sfgen.kernels import (
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

SPARSE = 1024
"""A state is sparse if its walk visits no more trie nodes than this."""


@kernel
def make_sparse(
    state: Int, stop: Int, used: Int, budget: Int,
    masks: UInt32TableOut, counts: Int64sOut, digests: UInt64sOut, slots: Int32sOut, mask_of: Int32sOut,
    stack: UInt32sOut, tokens: Int32sOut, targets: UInt32sOut,
    table: UInt32s, width: Int, byte_classes: UInt8s, accepting: Flags, end_tokens: Int32s,
    labels: UInt8s, depths: Int32s, subtree_ends: Int32s, token_starts: Int32s, token_ids: Int32s, roots: Int32s,
) -> tuple[Int, Int]:  # fmt: skip
    """Make the token masks of sparse states, equal ones once.

    It ends early where all of ``masks`` are used.

    Args:
        state: The first state.
        stop: The state after the last one.
        used: How many of ``masks`` are made.
        budget: ``SPARSE``.
        masks: Where the token masks go, uint32 ``[masks, words]``.
        counts: The number of tokens of each mask.
        digests: The digest of each mask.
        slots: A hash table of the masks, by digest; its size is a power of two; -1 is free.
        mask_of: For each state the number of its mask; -1 for a state that is not sparse.
        stack: Room for a state at each depth of the trie, and one more.
        tokens: Room for all tokens.
        targets: Room for a state of each.
        table, width, byte_classes, accepting, end_tokens: See ``one_state.make_mask``.
        labels, depths, subtree_ends, token_starts, token_ids, roots: As in ``TokenTrie``.

    Returns:
        The state reached, and how many of ``masks`` are used.
    """
    while state < stop and used < len(masks):
        count = list_transitions(
            state, budget, tokens.size, stack, tokens, targets,
            table, width, byte_classes, labels, depths, subtree_ends, token_starts, token_ids, roots,
        )  # fmt: skip
        mask_of[state] = -1
        if count >= 0:
            if accepting[state]:
                for number in range(end_tokens.size):
                    tokens[count] = end_tokens[number]
                    count += 1
            number = _number(tokens, count, masks, used, counts, digests, slots)
            mask_of[state] = number
            used += number == used
        state += 1
    return state, used


@kernel(is_part=True)
def _number(
    tokens: Int32s, count: Int, masks: UInt32TableOut, used: Int,
    counts: Int64sOut, digests: UInt64sOut, slots: Int32sOut,
) -> Int:  # fmt: skip
    """The number of the mask of these tokens; ``used`` where it is a new one, which is written and entered."""
    mixed = np.uint64(0)
    for position in range(count):
        mixed += key(tokens[position] >> 5) << np.uint64(tokens[position] & 31)
    slot = np.int64(mixed & np.uint64(slots.size - 1))
    while slots[slot] >= 0:
        other = slots[slot]
        if digests[other] == mixed and counts[other] == count:
            # As many tokens are in the other mask: it is equal, if all of these are in it.
            position = 0
            while position < count and masks[other, tokens[position] >> 5] >> np.uint32(
                tokens[position] & 31
            ) & np.uint32(1):
                position += 1
            if position == count:
                return np.int64(other)
        slot = (slot + 1) & (slots.size - 1)
    for word in range(masks.shape[1]):
        masks[used, word] = 0
    for position in range(count):
        masks[used, tokens[position] >> 5] |= np.uint32(np.uint32(1) << np.uint32(tokens[position] & 31))
    slots[slot] = used
    digests[used] = mixed
    counts[used] = count
    return np.int64(used)
