"""Many states at once: rows of states that allow many tokens, for the price of about one walk.

The states of a counted repeat or of free text each allow tens of thousands of tokens, mostly the same ones. Instead of
walking the trie once for each, a *family* of up to 64 states is walked together. What a text does to the family is a
function: it leads each member to some state. To go on by a byte changes the function, and texts that differ can have
the same one: three letters are three letters to ``[a-z]{1,40}``. So the functions that occur are the states of an
automaton of their own, made while it is walked, like a DFA from an NFA. They are few, where members behave alike.

At the end every token that some member can read is listed under its function, and the function's *signature* tells
which members it may be written in. The row of a member is that of the one before it, with the tokens changed whose
signatures tell the two apart.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from sfgen.index.table import NO_END, OFFSET
from sfgen.index.walker import digest, fill, finish

MEMBERS = 64
"""The states of a family at most; a signature has a bit for each."""

FUNCTIONS = 1024
"""The functions of a family at most: with more of them, to make them takes longer than to walk for each member."""


@njit(cache=True, nogil=True)
def make_family(  # type: ignore[no-untyped-def]
    members, used, most, rows, counts, digests, slots, row_of, table, width, byte_classes, accepting, end_tokens,
    labels, depths, subtree_ends, first_tokens, repeated_tokens, roots, max_depth,
):  # fmt: skip
    """Make the rows of all members; return how many of ``rows`` are used, or -1 where there are too many functions.

    Equal rows are made once.

    Args:
        members: The states, at most ``MEMBERS``, int32.
        used: How many of ``rows`` are made; there must be room for one more for each member.
        most: ``FUNCTIONS``.
        rows: Where the rows go, uint32 ``[rows, words]``.
        counts: The number of tokens of each row.
        digests: The digest of each row.
        slots: A hash table of the rows, by digest; its size is a power of two; -1 is free.
        row_of: Where the number of each member's row goes.
        table: This and the rest: see ``walker.make_row``.
    """
    signatures = np.empty(most, dtype=np.uint64)
    tokens = np.empty(labels.size + 1, dtype=np.uint32)
    functions = np.empty(labels.size + 1, dtype=np.uint16)
    known, listed = 0, 0
    if members.size > 1:
        known, listed = _walk_family(
            members, most, table, width, byte_classes, labels, depths, subtree_ends, first_tokens, roots, max_depth,
            signatures, tokens, functions,
        )  # fmt: skip
    if known < 0:
        return -1
    # The tokens in the order of their functions: those of function f are from starts[f] to starts[f + 1].
    starts = np.zeros(known + 2, dtype=np.int64)
    for place in range(listed):
        starts[functions[place] + 2] += 1
    for function in range(known):
        starts[function + 2] += starts[function + 1]
    ordered = np.empty(listed, dtype=np.uint32)
    for place in range(listed):
        ordered[starts[functions[place] + 1]] = tokens[place]
        starts[functions[place] + 1] += 1
    # Members by rising number of tokens, which puts a smaller set right before the one that it is part of.
    amounts = np.zeros(members.size, dtype=np.int64)
    order = np.empty(members.size, dtype=np.int64)
    for member in range(members.size):
        for function in range(2, known):
            if signatures[function] >> np.uint64(member) & np.uint64(1):
                amounts[member] += starts[function + 1] - starts[function]
        place = member
        while place > 0 and amounts[order[place - 1]] > amounts[member]:
            order[place] = order[place - 1]
            place -= 1
        order[place] = member

    text = np.zeros(rows.shape[1], dtype=np.uint32)  # the row without end tokens, and the first of equal tokens only
    before = np.int64(-1)
    for place in range(members.size):
        member = order[place]
        accepts = accepting[members[member]]
        if members.size == 1:
            amounts[0] = fill(
                np.int64(members[0]), labels.size, table, width, byte_classes,
                labels, depths, subtree_ends, first_tokens, roots, max_depth, text,
            )  # fmt: skip
        differs = before < 0 or accepts != accepting[members[before]]
        for function in range(2, known):
            now = signatures[function] >> np.uint64(member) & np.uint64(1)
            was = signatures[function] >> np.uint64(before) & np.uint64(1) if before >= 0 else np.uint64(0)
            if now != was and starts[function] < starts[function + 1]:
                differs = True
                for entry in range(starts[function], starts[function + 1]):
                    token = ordered[entry]
                    text[np.uintp(token >> np.uint32(5))] ^= np.uint32(np.uint32(1) << (token & np.uint32(31)))
        if differs:
            row = rows[used]
            for word in range(text.size):
                row[word] = text[word]
            count = amounts[member] + finish(accepts, end_tokens, repeated_tokens, row)
            number = _number(count, rows, used, counts, digests, slots)
            used += number == used
        row_of[member] = number
        before = member
    return used


@njit(cache=True, nogil=True)
def _walk_family(  # type: ignore[no-untyped-def]
    members, most, table, width, byte_classes, labels, depths, subtree_ends, first_tokens, roots, max_depth,
    signatures, tokens, functions,
):  # fmt: skip
    """List the tokens that some member can read, each with its function: (functions known, tokens listed).

    Function 0 leads every member to the dead state, function 1 is the empty text's. There are -1 functions where there
    are more than ``most``.

    Args:
        members: These up to ``max_depth``: see ``make_family``.
        signatures: Bit ``m`` of a function's: a token may lead member ``m`` there.
        tokens: Where the tokens go.
        functions: Where their functions go.
    """
    stack = np.empty(max_depth + 1, dtype=np.int32)
    vectors = np.empty((most, members.size), dtype=np.uint32)  # where a function leads each member, as an offset
    after = np.empty((most, width), dtype=np.int32)  # the function after a function and a byte class; -1: not known yet
    slots = np.empty(2 * most, dtype=np.int32)  # a hash table of the functions
    for slot in range(slots.size):
        slots[slot] = -1
    for following in range(width):
        after[1, following] = -1
    for member in range(members.size):
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
            function = after[before, label]
            if function <= 0:
                if function < 0:
                    function = _go_on(before, label, known, table, width, vectors, after, signatures, slots)
                    if function == known:
                        known += 1
                        if known == most:
                            return -1, 0
                if function == 0:
                    node = np.uintp(subtree_ends[node])
                    continue
            stack[depth] = function
            token = first_tokens[node]
            tokens[listed] = token
            functions[listed] = function
            listed += np.int64(token < NO_END)
            node += np.uintp(1)
    return known, listed


@njit(cache=True, nogil=True)
def _go_on(before, label, known, table, width, vectors, after, signatures, slots):  # type: ignore[no-untyped-def]
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
        return np.int32(0)
    slot = np.int64(mixed >> np.uint64(40)) % slots.size
    while slots[slot] >= 0:
        other = slots[slot]
        member = 0
        while member < vectors.shape[1] and vectors[other, member] == vectors[known, member]:
            member += 1
        if member == vectors.shape[1]:
            after[before, label] = other
            return other
        slot = (slot + 1) % slots.size
    slots[slot] = known
    signatures[known] = signature
    for following in range(width):
        after[known, following] = -1
    after[before, label] = known
    return np.int32(known)


@njit(cache=True, nogil=True)
def _number(count, rows, used, counts, digests, slots):  # type: ignore[no-untyped-def]
    """The number of the row that is equal to ``rows[used]``; ``used`` where it is a new one, which is entered."""
    mixed = digest(rows[used])
    slot = np.int64(mixed & np.uint64(slots.size - 1))
    while slots[slot] >= 0:
        other = slots[slot]
        if digests[other] == mixed and counts[other] == count:
            word = 0
            while word < rows.shape[1] and rows[other, word] == rows[used, word]:
                word += 1
            if word == rows.shape[1]:
                return np.int64(other)
        slot = (slot + 1) & (slots.size - 1)
    slots[slot] = used
    digests[used] = mixed
    counts[used] = count
    return np.int64(used)
