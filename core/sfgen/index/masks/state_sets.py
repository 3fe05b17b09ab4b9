"""Sets of states that are walked as one: where a kind of characters leads to several states that read nearly the same.

After ``.*`` in ``.*e.*`` the letter ``e`` leads elsewhere than the others, but to a state that reads the same
characters, so the mask need not know which tokens have an ``e``. Then the shapes of tokens are walked with the set of
both states, as in a subset construction. A set reads a character if one of its states does. Where only some of them do,
the place is noted, and the tokens there are checked one by one. That is rare, since only states are put into one set
that are *near*: they read the same letters, digits and characters of several bytes.

Like a state, a set is an offset, past the end of the table, and has the same columns. They are filled at their first
use, and followed by the number of its states and their offsets, ascending. After the room for all sets comes the number
of sets. Sets are made for one mask, and then forgotten.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sfgen.index.masks.mask_of_state import MIXED, NO_END, OFFSET, UNKNOWN
from sfgen.kernels import Flags, Int, Int32s, Int32Table, Int64sOut, Place, UInt, UInt8s, UInt32s, UInt32sOut, part

SETS = 64
"""The most sets of a mask; where more would be needed, tokens are checked one by one."""

MEMBERS = 8
"""The most states of a set."""

UNSURE = np.uint32(0x40000000)
"""The bit of an entry of a set that is set where not all of its states go on to what the entry says."""

_TARGETS = 16
"""The most different states that a kind of characters may lead to for a set to be made."""

ROOM = 64
"""The numbers that these kernels need room for: 16 for the bytes of a character, and the targets."""


def room_for_sets(width: int) -> int:
    """Return the size of the array for the sets of a mask.

    Its last number is to be 0 at first.
    """
    return SETS * (width + 1 + MEMBERS) + 1


@part
def target_of_kind(
    before: Place, kind: Int, room: Int64sOut, table: UInt32s, byte_classes: UInt8s, rules: Int32Table
) -> Any:
    """Find the one target of all characters of a kind."""
    if _targets_of_kind(before, kind, np.int64(0), np.int64(1), room, table, byte_classes, rules) < 0:
        return MIXED
    return np.uint32(room[16])


@part
def is_worth_joining(
    before: Place, kind: Int, room: Int64sOut, table: UInt32s, width: Int, byte_classes: UInt8s, rules: Int32Table,
    shared: Flags,
) -> Any:  # fmt: skip
    """Return whether a kind leads to different states that are near.

    It is not worth it where one of the characters leads nowhere: then following the others alone is best.
    """
    found = _targets_of_kind(before, kind, np.int64(0), np.int64(_TARGETS), room, table, byte_classes, rules)
    if found < 0:
        return False
    dead = np.uint32(np.uint32(table.size - width) | NO_END)
    usual = _usual(found, room, dead)
    joins = False
    for number in range(found):
        target = np.uint32(room[16 + number])
        if target == dead:
            return False
        joins |= target != usual and is_near(target, usual, table, width, shared)
    return joins


@part
def is_near(one: UInt, other: UInt, table: UInt32s, width: Int, shared: Flags) -> Any:
    """Return whether two entries lead to states that are near.

    Such states read the same classes among the shared ones, and a token may end in both or in neither.
    """
    dead = np.uint32(np.uint32(table.size - width) | NO_END)
    if (np.uint32(one) ^ np.uint32(other)) & NO_END:
        return False
    first, second = np.uintp(np.uint32(one) & OFFSET), np.uintp(np.uint32(other) & OFFSET)
    for column in range(shared.size):
        if shared[column] and (table[first + np.uintp(column)] == dead) != (table[second + np.uintp(column)] == dead):
            return False
    return True


@part
def set_of_one(before: Place, sets: UInt32sOut, room: Int64sOut, size: Int, width: Int) -> Int:
    """Return the offset of the set of one state."""
    room[48] = before
    return _set_of(np.int64(1), sets, room, size, width)


@part
def _set_of(count: Int, sets: UInt32sOut, room: Int64sOut, size: Int, width: Int) -> Int:
    """The offset of the set of the ``count`` states in ``room[48:]``, ascending; -1 if there is no room for it."""
    step = np.int64(width + 1 + MEMBERS)
    last = SETS * step
    for begin in range(0, np.int64(sets[last]) * step, step):
        if sets[begin + width] == count:
            position = 0
            while position < count and np.int64(sets[begin + width + 1 + position]) == room[48 + position]:
                position += 1
            if position == count:
                return np.int64(size + begin)
    new = np.int64(sets[last]) * step
    if new == last:
        return np.int64(-1)
    sets[last] += np.uint32(1)
    for column in range(width):
        sets[new + column] = UNKNOWN
    sets[new + width] = count
    for slot in range(count):
        sets[new + width + 1 + slot] = np.uint32(room[48 + slot])
    return np.int64(size + new)


@part
def image(
    before: Place, column: Int, kind: Int, sets: UInt32sOut, room: Int64sOut,
    table: UInt32s, width: Int, byte_classes: UInt8s, rules: Int32Table, shared: Flags,
) -> Any:  # fmt: skip
    """Compute the entry of a set of states for a kind.

    It stands for the states that the kind leads to, as far as they are near each other.
    """
    dead = np.uint32(np.uint32(table.size - width) | NO_END)
    begin = np.int64(before) - table.size + width
    found = np.int64(0)
    for position in range(np.int64(sets[begin])):
        member = np.uintp(sets[begin + 1 + position])
        if column < shared.size:
            found = _note(table[member + np.uintp(column)], found, np.int64(_TARGETS), room)
        else:
            found = _targets_of_kind(member, kind, found, np.int64(_TARGETS), room, table, byte_classes, rules)
        if found < 0:
            return dead | UNSURE
    usual = _usual(found, room, dead)
    if usual == dead:
        return dead
    count, sure = np.int64(0), np.uint32(0)
    for other in range(found):
        target = np.uint32(room[16 + other])
        if target == dead or not is_near(target, usual, table, width, shared):
            sure = UNSURE
            continue
        if count == MEMBERS:
            return dead | UNSURE
        slot = count  # ascending
        while slot > 0 and room[48 + slot - 1] > np.int64(target & OFFSET):
            room[48 + slot] = room[48 + slot - 1]
            slot -= 1
        room[48 + slot] = np.int64(target & OFFSET)
        count += 1
    ends = usual & NO_END
    if count == 1:
        return np.uint32(room[48]) | ends | sure
    offset = _set_of(count, sets, room, np.int64(table.size), width)
    return dead | UNSURE if offset < 0 else np.uint32(offset) | ends | sure


@part
def _note(target: UInt, found: Int, most: Int, room: Int64sOut) -> Int:
    """Note a target in ``room[16:]``, and how often; return how many there are, -1 for more than ``most``."""
    for position in range(found):
        if room[16 + position] == np.int64(target):
            room[32 + position] += 1
            return found
    if found == most:
        return np.int64(-1)
    room[16 + found] = np.int64(target)
    room[32 + found] = 1
    return found + 1


@part
def _usual(found: Int, room: Int64sOut, dead: UInt) -> Any:
    """Return the state to which most characters lead, of those that lead anywhere; ``dead`` if none does."""
    usual, most = np.uint32(dead), np.int64(0)
    for position in range(found):
        if np.uint32(room[16 + position]) != np.uint32(dead) and room[32 + position] > most:
            usual, most = np.uint32(room[16 + position]), room[32 + position]
    return usual


@part
def _targets_of_kind(
    before: Place, kind: Int, found: Int, most: Int, room: Int64sOut,
    table: UInt32s, byte_classes: UInt8s, rules: Int32Table,
) -> Int:  # fmt: skip
    """Note where the characters of a kind lead from the state at ``before``; see ``_note`` and ``RULES``.

    For each byte of a character, ``room`` has the next value to try, the state before it, and the state that the last
    value led to: the characters through that state were followed already.
    """
    for rule in range(rules.shape[0]):
        if rules[rule, 0] != kind:
            continue
        length = rules[rule, 1]
        position = 0
        room[0] = rules[rule, 2]
        room[1] = before
        room[2] = -1
        while position >= 0:
            byte = room[4 * position]
            if byte > rules[rule, 3 + 2 * position]:
                position -= 1
                continue
            room[4 * position] = byte + 1
            target = table[np.uintp(room[4 * position + 1]) + np.uintp(byte_classes[byte])]
            if position + 1 == length:
                found = _note(target, found, most, room)
                if found < 0:
                    return found
            elif np.int64(target & OFFSET) != room[4 * position + 2]:
                room[4 * position + 2] = np.int64(target & OFFSET)
                position += 1
                room[4 * position] = rules[rule, 2 + 2 * position]
                room[4 * position + 1] = np.int64(target & OFFSET)
                room[4 * position + 2] = -1
    return found


@part
def state_before(
    node: Place, start: Place, table: UInt32s, byte_classes: UInt8s, labels: UInt8s, subtree_ends: Int32s, roots: Int32s
) -> Any:
    """Return the offset of the state before a trie node."""
    low, high = np.int64(0), np.int64(256)
    while high - low > 1:  # the byte with which the tokens of the node begin
        middle = (low + high) >> 1
        if np.uintp(roots[middle]) <= node:
            low = middle
        else:
            high = middle
    here, state = np.uintp(roots[low]), start
    while here < node:
        state = np.uintp(table[state + np.uintp(byte_classes[labels[here]])] & OFFSET)
        here += np.uintp(1)
        while np.uintp(subtree_ends[here]) <= node:
            here = np.uintp(subtree_ends[here])
    return state


@part
def is_member(target: UInt, entry: UInt, sets: UInt32s, size: Int, width: Int) -> Any:
    """Return whether an entry leads to a state, alone or among others."""
    state, whole = np.uint32(target) & OFFSET, np.int64(np.uint32(entry) & OFFSET & ~UNSURE)
    if whole < size:
        return np.int64(state) == whole
    begin = whole - size + width
    found = False
    for position in range(np.int64(sets[begin])):
        found |= sets[begin + 1 + position] == state
    return found
