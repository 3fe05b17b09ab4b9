"""Groups of states walked together: the token masks of states that allow many tokens, for the price of about one walk.

The states of a counted repeat or of free text each allow tens of thousands of tokens, mostly the same ones. Instead of
walking the trie once for each, a *group* of up to 64 states is walked together. What a text does to the group is a
function: it leads each member to some state. To go on by a byte changes the function, and texts that differ can have
the same one: three letters are three letters to ``[a-z]{1,40}``. So the functions that occur are the states of an
automaton of their own, made while it is walked, like a DFA from an NFA: a part of the automaton's transition monoid.
They are few, where members behave alike.

At the end every token that some member can read is listed under its function, and the function's *signature* tells
which members allow it. The mask of a member is that of the one before it, with the tokens changed whose signatures tell
the two apart.
"""

from __future__ import annotations

import numpy as np

from sfgen.index.masks.one_state import digest, finish
from sfgen.index.masks.table import NO_END, OFFSET
from sfgen.kernels import (
    Flags,
    FlagTable,
    Int,
    Int32s,
    Int32sOut,
    Int32Table,
    Int32TableOut,
    Int64s,
    Int64sOut,
    Place,
    UInt,
    UInt8s,
    UInt16sOut,
    UInt32s,
    UInt32sOut,
    UInt32Table,
    UInt32TableOut,
    UInt64sOut,
    kernel,
)

GROUP = 64
"""The states of a group at most; a signature has a bit for each."""

FUNCTIONS = 1024
"""The functions of a group at most: with more of them, to make them takes longer than to walk for each member."""


@kernel
def write_masks(
    members: Int32s, amounts: Int64s, allows: FlagTable, starts: Int64s, ordered: UInt32s, text: UInt32sOut,
    used: Int, masks: UInt32TableOut, counts: Int64sOut, digests: UInt64sOut, slots: Int32sOut, mask_of: Int32sOut,
    accepting: Flags, end_tokens: Int32s, repeated_tokens: Int32Table,
) -> Int:  # fmt: skip
    """Write the token masks of a group's members, equal ones once.

    Args:
        members: The states; best in such an order that the masks of neighbours differ in few tokens.
        amounts: How many tokens there are whose functions each allows.
        allows: Which functions allow a member their tokens, ``[members, functions]``, from function 2 on.
        starts, ordered: See ``walk_group``.
        text: Zero, with room for a mask: the mask without end tokens, and with the first of equal tokens only.
        used: How many of ``masks`` are made; there must be room for one more for each member.
        masks: Where the masks go, uint32 ``[masks, words]``.
        counts: The number of tokens of each mask.
        digests: The digest of each mask.
        slots: A hash table of the masks, by digest; its size is a power of two; -1 is free.
        mask_of: Where the number of each member's mask goes.
        accepting, end_tokens: See ``one_state.make_mask``.
        repeated_tokens: As in ``TokenTrie``.

    Returns:
        How many of ``masks`` are used.
    """
    number = np.int64(-1)
    for member in range(len(members)):
        accepts = accepting[members[member]]
        differs = member == 0 or accepts != accepting[members[member - 1]]
        for function in range(allows.shape[1]):
            begin, end = starts[function + 2], starts[function + 3]
            was = member > 0 and allows[member - 1, function]
            if was != allows[member, function] and begin < end:
                differs = True
                for entry in range(begin, end):
                    token = ordered[entry]
                    text[np.uintp(token >> np.uint32(5))] ^= np.uint32(np.uint32(1) << (token & np.uint32(31)))
        if differs:
            mask = masks[used]
            for word in range(len(text)):
                mask[word] = text[word]
            count = amounts[member] + finish(accepts, end_tokens, repeated_tokens, mask)
            number = enter(count, digest(mask), masks, used, counts, digests, slots)
            used += number == used
        mask_of[member] = number
    return used


@kernel
def walk_group(
    members: Int32s, most: Int, signatures: UInt64sOut, starts: Int64sOut, ordered: UInt32sOut,
    tokens: UInt32sOut, functions: UInt16sOut, stack: Int32sOut, vectors: UInt32TableOut, after: Int32TableOut,
    slots: Int32sOut, table: UInt32s, width: Int, byte_classes: UInt8s,
    labels: UInt8s, depths: Int32s, subtree_ends: Int32s, first_tokens: UInt32s, roots: Int32s,
) -> Int:  # fmt: skip
    """List the tokens that some member can read by their functions.

    Function 0 leads every member to the dead state, function 1 is the empty text's.

    Args:
        members: The states, at most ``GROUP``.
        most: ``FUNCTIONS``.
        signatures: Bit ``m`` of a function's: a token may lead member ``m`` there.
        starts: Zero, with room for a number for each function and two more: the tokens of function ``f`` will be
            ``ordered[starts[f] : starts[f + 1]]``.
        ordered: Where the tokens go.
        tokens: Room for one more than there are nodes: the tokens as they come.
        functions: Likewise: their functions.
        stack: Room for a function at each depth of the trie, and one more.
        vectors: Room for where each function leads each member, as an offset.
        after: Room for the function after a function and a byte class; -1: not known yet.
        slots: A hash table of the functions, twice as large as there can be; -1 is free.
        table, width, byte_classes: See ``one_state.make_mask``.
        labels, depths, subtree_ends, first_tokens, roots: As in ``TokenTrie``.

    Returns:
        The number of functions; -1 for more than ``most``.
    """
    for following in range(width):
        after[1, following] = -1
    for member in range(len(members)):
        vectors[1, member] = members[member] * width
    known = np.int64(2)
    listed = np.int64(0)
    stack[0] = 1
    for byte in range(256):
        node, end = np.uintp(roots[byte]), np.uintp(roots[byte + 1])
        while node < end:
            depth = np.uintp(depths[node])
            before = np.uintp(stack[depth - np.uintp(1)])
            label = np.uintp(byte_classes[np.uintp(labels[node])])
            function = np.int64(after[before, label])
            if function <= 0:
                if function < 0:
                    function = _go_on(before, label, known, table, width, vectors, after, signatures, slots)
                    if function == known:
                        known += 1
                        if known == most:
                            return -1
                if function == 0:
                    node = np.uintp(subtree_ends[node])
                    continue
            stack[depth] = function
            token = first_tokens[node]
            tokens[listed] = token
            functions[listed] = function
            listed += np.int64(token < NO_END)
            node += np.uintp(1)
    for position in range(listed):
        starts[functions[position] + 2] += 1
    for number in range(known):
        starts[number + 2] += starts[number + 1]
    for position in range(listed):
        ordered[starts[functions[position] + 1]] = tokens[position]
        starts[functions[position] + 1] += 1
    return known


@kernel
def _go_on(
    before: Place, label: Place, known: Int, table: UInt32s, width: Int,
    vectors: UInt32TableOut, after: Int32TableOut, signatures: UInt64sOut, slots: Int32sOut,
) -> Int:  # fmt: skip
    """The function ``before`` followed by a byte; ``known`` where it is a new one."""
    dead = np.uint32(table.size - width)
    alive = False
    signature = np.uint64(0)
    mixed = np.uint64(0)
    for member in range(vectors.shape[1]):
        target = table[np.uintp(vectors[before, member]) + label]
        vectors[known, member] = target & OFFSET
        alive |= (target & OFFSET) != dead
        signature |= np.uint64((target >> np.uint32(31)) ^ np.uint32(1)) << np.uint64(member)
        mixed = (mixed ^ np.uint64(target)) * np.uint64(0x9E3779B97F4A7C15)
    if not alive:
        after[before, label] = 0
        return np.int64(0)
    slot = np.int64(mixed >> np.uint64(40)) % slots.size
    while slots[slot] >= 0:
        other = slots[slot]
        position = np.int64(0)
        while position < vectors.shape[1] and vectors[other, position] == vectors[known, position]:
            position += 1
        if position == vectors.shape[1]:
            after[before, label] = other
            return np.int64(other)
        slot = (slot + 1) % slots.size
    slots[slot] = known
    signatures[known] = signature
    for following in range(width):
        after[known, following] = -1
    after[before, label] = known
    return known


@kernel
def enter(
    count: Int, mixed: UInt, masks: UInt32Table, used: Int, counts: Int64sOut, digests: UInt64sOut, slots: Int32sOut
) -> Int:
    """Find the mask equal to ``masks[used]``, or enter that one.

    Args:
        count: The number of its tokens.
        mixed: Its digest.
        masks, used, counts, digests, slots: See ``write_masks``.

    Returns:
        The number of the mask; ``used`` if it is new.
    """
    slot = np.int64(mixed & np.uint64(len(slots) - 1))
    while slots[slot] >= 0:
        other = slots[slot]
        if digests[other] == mixed and counts[other] == count:
            word = np.int64(0)
            while word < masks.shape[1] and masks[other, word] == masks[used, word]:
                word += 1
            if word == masks.shape[1]:
                return np.int64(other)
        slot = (slot + 1) & (len(slots) - 1)
    slots[slot] = used
    digests[used] = mixed
    counts[used] = count
    return used
