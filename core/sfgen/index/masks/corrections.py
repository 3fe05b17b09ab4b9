"""Corrections of a mask made by shapes: where a state tells the characters of a kind apart, the token trie is walked.

The mask was made as if all characters of a kind led where most of them lead. Here the tokens whose characters lead
elsewhere are taken out of it, and those that may be written all the same are put back.
"""

from __future__ import annotations

import numpy as np

from sfgen.index.masks.one_state import fill_span
from sfgen.index.masks.state_sets import UNSURE, is_member, state_before
from sfgen.index.masks.table import NO_END
from sfgen.kernels import Int, Int32s, Place, UInt8s, UInt32s, UInt32sOut, kernel
from sfgen.vocabulary.shapes import BYTE_KINDS, COLUMNS, LABELS

_ANEW = 4
"""What it takes to begin a walk somewhere in the token trie, in nodes."""

_DOWN = 64
"""What it takes to find the state before a node, in nodes."""


@kernel(is_part=True)
def correct_state(
    shape: Int, before: Place, left: Int, mask: UInt32sOut, stack: UInt32sOut,
    table: UInt32s, width: Int, byte_classes: UInt8s, columns: UInt8s, kinds: UInt8s,
    node_starts: Int32s, nodes: Int32s, labels: UInt8s, depths: Int32s, subtree_ends: Int32s,
    token_starts: Int32s, token_ids: Int32s, first_tokens: UInt32s,
) -> tuple[Int, Int]:  # fmt: skip
    """Correct a mask after a character that leads elsewhere than its kind.

    The tokens under the shape were set as after most characters of one byte, and left unset after longer ones.

    Args:
        shape: The shape whose last character that is.
        before: The offset of the state before the character.
        left: The trie nodes that may still be visited.
        mask: The mask, corrected in place.
        stack: Room for a state at each depth of the token trie, and one more.
        table, width, byte_classes, columns, kinds, node_starts, nodes: See ``shapes.make_by_shapes``.
        labels, depths, subtree_ends, token_starts, token_ids, first_tokens: As in ``TokenTrie``.

    Returns:
        By how many tokens the mask has grown, and the trie nodes that are left; negative if they did not suffice.
    """
    dead = np.uint32(np.uint32(table.size - width) | NO_END)
    column, count = np.int64(columns[kinds[shape]]), np.int64(0)
    usual = table[before + np.uintp(column + LABELS)] if column - width + COLUMNS < BYTE_KINDS else dead
    entry, last = np.int64(node_starts[shape]), np.int64(node_starts[shape + 1])
    while entry < last:
        node = np.uintp(nodes[entry])
        if table[before + np.uintp(byte_classes[labels[node]])] != usual:
            stack[depths[node] - 1] = before
            end = np.uintp(subtree_ends[node])
            left -= _ANEW + 1
            if usual != dead:  # written out: to call a kernel with many arrays takes as long as to clear ten tokens
                left -= np.int64(token_starts[end] - token_starts[node]) >> 1
                for position in range(token_starts[node], token_starts[end]):
                    token = np.uint32(token_ids[position])
                    word, low = np.uintp(token >> np.uint32(5)), np.uint32(token & np.uint32(31))
                    count -= np.int64(mask[word] >> low & np.uint32(1))
                    mask[word] &= ~(np.uint32(1) << low)
            if table[before + np.uintp(byte_classes[labels[node]])] != dead:
                more, left = fill_span(
                    node, end, left, mask, stack,
                    table, width, byte_classes, labels, depths, subtree_ends, first_tokens,
                )  # fmt: skip
                count += more
            if left < 0:
                break
            entry += 1
        else:
            # On to the next byte that leads elsewhere.
            byte = np.int64(labels[node]) + 1
            while byte < 256 and table[before + np.uintp(byte_classes[byte])] == usual:
                byte += 1
            entry = _first_from(byte, entry, last, nodes, labels)
    return count, left


@kernel(is_part=True)
def correct_set(
    shape: Int, before: Place, left: Int, mask: UInt32sOut, stack: UInt32sOut,
    sets: UInt32s, start: Place,
    table: UInt32s, width: Int, byte_classes: UInt8s, columns: UInt8s, kinds: UInt8s,
    node_starts: Int32s, nodes: Int32s, labels: UInt8s, depths: Int32s, subtree_ends: Int32s,
    token_starts: Int32s, token_ids: Int32s, first_tokens: UInt32s, roots: Int32s,
) -> tuple[Int, Int]:  # fmt: skip
    """Correct a mask where the states of a set differ.

    Args:
        shape: The shape whose last character leads to the set.
        before: The offset of the set.
        left: The trie nodes that may still be visited.
        mask: The mask, corrected in place.
        stack: Room for a state at each depth of the token trie, and one more.
        sets: See ``state_sets``.
        start: The offset of the state whose mask is made.
        table, width, byte_classes, columns, kinds, node_starts, nodes: See ``shapes.make_by_shapes``.
        labels, depths, subtree_ends, token_starts, token_ids, first_tokens, roots: As in ``TokenTrie``.

    Returns:
        As ``correct_state``.
    """
    dead = np.uint32(np.uint32(table.size - width) | NO_END)
    kind, count = np.int64(kinds[shape]), np.int64(0)
    column, classes = np.int64(columns[kind]), np.int64(width - COLUMNS)
    if column < classes and kind >= 0x80:
        return count, np.int64(-1)  # the nodes of such a byte are not listed
    offset = before - np.uintp(table.size)
    states, first = np.int64(sets[offset + np.uintp(width)]), offset + np.uintp(width + 1)
    taken = sets[offset + np.uintp(column)] & ~UNSURE
    entry, last = np.int64(node_starts[shape]), np.int64(node_starts[shape + 1])
    while entry < last and left >= 0:
        node = np.uintp(nodes[entry])
        label = np.uintp(byte_classes[labels[node]])
        dies, differs = np.int64(0), states  # how many states of the set that is so for
        if column < classes + BYTE_KINDS:
            differs = np.int64(0)
            for member in range(states):
                target = table[np.uintp(sets[first + np.uintp(member)]) + label]
                dies += np.int64(target == dead)
                differs += np.int64(target == dead or not is_member(target, taken, sets, table.size, width))
        if differs == 0:
            entry = _first_from(np.int64(labels[node]) + 1, entry, last, nodes, labels)
            continue
        entry += 1
        left -= _ANEW
        end = np.uintp(subtree_ends[node])
        state = before
        if dies < states:
            state = state_before(node, start, table, byte_classes, labels, subtree_ends, roots)
            left -= _DOWN
            target = table[state + label]
            if differs < states and target != dead and is_member(target, taken, sets, table.size, width):
                continue
        if taken != dead:
            more, left = _clear(node, end, left, mask, token_starts, token_ids)
            count += more
        if dies < states:
            stack[depths[node] - 1] = np.uint32(state)
            more, left = fill_span(
                node, end, left, mask, stack,
                table, width, byte_classes, labels, depths, subtree_ends, first_tokens,
            )  # fmt: skip
            count += more
    return count, left


@kernel(is_part=True)
def _clear(
    node: Place, end: Place, left: Int, mask: UInt32sOut, token_starts: Int32s, token_ids: Int32s
) -> tuple[Int, Int]:
    """Take the tokens of some nodes out of a mask; return by how many it has grown, and what is left of the budget."""
    count = np.int64(0)
    for position in range(token_starts[node], token_starts[end]):
        token = np.uint32(token_ids[position])
        word, low = np.uintp(token >> np.uint32(5)), np.uint32(token & np.uint32(31))
        count -= np.int64(mask[word] >> low & np.uint32(1))
        mask[word] &= ~(np.uint32(1) << low)
    return count, left - (np.int64(token_starts[end] - token_starts[node]) >> 1)


@kernel(is_part=True)
def _first_from(byte: Int, entry: Int, last: Int, nodes: Int32s, labels: UInt8s) -> Int:
    """The first of the entries of ``nodes``, which lie by rising byte, whose byte is not less than ``byte``."""
    while entry < last:
        middle = (entry + last) >> 1
        if labels[nodes[middle]] < byte:
            entry = middle + 1
        else:
            last = middle
    return entry
