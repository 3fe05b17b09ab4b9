"""Rows of states that allow many tokens, for the price of walking the shapes of tokens.

Such a state is in the middle of some text, and treats most characters of a kind alike. So the trie of shapes (see
``sfgen.vocabulary.shapes``) is walked, which is small, and tells of most tokens whether they are allowed. Where a state
tells the characters of a kind apart, the token trie is walked from there.

The tokens of the shapes are not written one by one either. The state before mostly allowed nearly the same shapes, so
its row is taken, and changed by the shapes that tell the two apart; or no token at all, or all of them, whatever is
nearest. What a row is made of is never seen in it: it is the row that a walk of all tokens makes, to the bit.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfgen.automata import Dfa
from sfgen.index.table import MIXED, NO_END, OFFSET, UNKNOWN
from sfgen.index.walker import digest, fill_span, finish
from sfgen.kernels import (
    Flags,
    Int,
    Int32s,
    Int32sOut,
    Int32Table,
    Int64sOut,
    Place,
    UInt,
    UInt8s,
    UInt8sOut,
    UInt32s,
    UInt32sOut,
    UInt32Table,
    kernel,
)
from sfgen.vocabulary import Vocabulary
from sfgen.vocabulary.shapes import BYTE_KINDS, COLUMNS, KINDS, LABELS, RULES, shapes_of

Int32Array = NDArray[np.int32]

_UNUSUAL = 4
"""How many letters may lead elsewhere than the others for a walk to follow the others first, and then those."""

_ANEW = 4
"""What it takes to begin a walk somewhere in the token trie, in nodes."""


@kernel
def make_shaped(
    state: Int, budget: Int, row: UInt32sOut, allows: UInt8sOut, text: UInt32sOut, last_allows: UInt8s,
    last_text: UInt32s, stack: UInt32sOut, mixed: Int32sOut, room: Int64sOut,
    table: UInt32sOut, width: Int, byte_classes: UInt8s, accepting: Flags, end_tokens: Int32s, rules: Int32Table,
    columns: UInt8s, kinds: UInt8s, shape_depths: Int32s, shape_ends: Int32s, shape_starts: Int32s,
    shape_tokens: UInt32s, node_starts: Int32s, nodes: Int32s, dense: Int32s, rows: UInt32Table,
    labels: UInt8s, depths: Int32s, subtree_ends: Int32s, token_starts: Int32s, token_ids: Int32s,
    first_tokens: UInt32s, repeated_tokens: Int32Table,
) -> tuple[Int, Int]:  # fmt: skip
    """Make the row of ``state``; its number of tokens, -1 where the budget did not suffice, and its digest.

    Args:
        state: The state.
        budget: How many nodes of the token trie may be visited.
        row: Where the row goes, ``[words]``.
        allows: Zero; where it goes which shapes are allowed.
        text: Where the row goes that these make.
        last_allows: The same of another state.
        last_text: Likewise.
        stack: Room for a state at each depth of the token trie, and one more.
        mixed: Room for two numbers for each shape.
        room: Room for 16 numbers.
        table: The automaton, flat, with the columns of the kinds; see ``sfgen.index.table``.
        width: This and the next three: see ``walker.make_row``.
        rules: ``shapes.RULES``.
        columns: The column of each label of a shape, ``[256]``.
        kinds: This and the next eight: as in ``Shapes``.
        labels: This and the rest: as in ``TokenTrie``.
    """
    apart = _walk_shapes(
        state, allows, stack, mixed, room, table, width, byte_classes, rules, columns, kinds, shape_depths, shape_ends
    )
    count = _write_shapes(allows, text, last_allows, last_text, shape_starts, shape_tokens, dense, rows)
    for number in range(row.size):
        row[number] = text[number]
    left = budget
    dead = np.uint32(np.uint32(table.size - width) | NO_END)
    for place in range(apart - 1, -1, -1):  # what is below comes first, so that what is above has the last word
        shape, before = np.int64(mixed[2 * place]), np.uintp(mixed[2 * place + 1])
        # The shapes below were taken as those after most characters of one byte, and left out after longer ones.
        column = np.int64(columns[kinds[shape]])
        usual = table[before + np.uintp(column + LABELS)] if column - width + COLUMNS < BYTE_KINDS else dead
        entry, last = np.int64(node_starts[shape]), np.int64(node_starts[shape + 1])
        while entry < last:
            node = np.uintp(nodes[entry])
            if table[before + np.uintp(byte_classes[labels[node]])] != usual:
                stack[depths[node] - 1] = before
                end = np.uintp(subtree_ends[node])
                if usual != dead:
                    left -= np.int64(token_starts[end] - token_starts[node]) >> 1
                    for position in range(token_starts[node], token_starts[end]):
                        token = np.uint32(token_ids[position])
                        word, low = np.uintp(token >> np.uint32(5)), np.uint32(token & np.uint32(31))
                        count -= np.int64(row[word] >> low & np.uint32(1))
                        row[word] &= ~(np.uint32(1) << low)
                more, left = fill_span(
                    node, end, left - _ANEW, row, stack,
                    table, width, byte_classes, labels, depths, subtree_ends, first_tokens,
                )  # fmt: skip
                count += more
                if left < 0:
                    return -1, np.uint64(0)
                entry += 1
                continue
            # On to the next byte that leads elsewhere.
            byte = np.int64(labels[node]) + 1
            while byte < 256 and table[before + np.uintp(byte_classes[byte])] == usual:
                byte += 1
            stop = last
            while entry < stop:
                middle = (entry + stop) >> 1
                if labels[nodes[middle]] < byte:
                    entry = middle + 1
                else:
                    stop = middle
    count += finish(accepting[state], end_tokens, repeated_tokens, row)
    return count, digest(row)


@kernel(is_part=True)
def _walk_shapes(
    state: Int, allows: UInt8sOut, stack: UInt32sOut, mixed: Int32sOut, room: Int64sOut, table: UInt32sOut, width: Int,
    byte_classes: UInt8s, rules: Int32Table, columns: UInt8s, kinds: UInt8s, depths: Int32s, subtree_ends: Int32s,
) -> Int:  # fmt: skip
    """Find the shapes that ``state`` allows; return how many pairs there are in ``mixed``.

    Each is a shape by whose last kind the state before it may go on to different states, and that state.
    """
    dead = np.uint32(np.uint32(table.size - width) | NO_END)
    apart = np.int64(0)
    stack[0] = np.uint32(state * width)
    node, end = np.uintp(0), np.uintp(kinds.size)
    while node < end:
        depth = np.uintp(depths[node])
        before = np.uintp(stack[depth - np.uintp(1)])
        place = before + np.uintp(columns[np.uintp(kinds[node])])
        target = table[place]
        if target >= MIXED:
            if target == UNKNOWN:
                target = _target_of_kind(before, kinds[node], room, table, byte_classes, rules)
                table[place] = target
            if target == MIXED:
                mixed[2 * apart] = node
                mixed[2 * apart + 1] = before
                apart += 1
                rule = np.int64(columns[kinds[node]]) - (width - COLUMNS)
                target = dead
                if rule < BYTE_KINDS:
                    target = table[place + np.uintp(LABELS)]
                    if target == UNKNOWN:
                        target = _usual_target(before, rules[rule, 2], rules[rule, 3], dead, table, byte_classes)
                        table[place + np.uintp(LABELS)] = target
        if target == dead:
            node = np.uintp(subtree_ends[node])
            continue
        stack[depth] = target & OFFSET
        allows[node] = (target >> np.uint32(31)) ^ np.uint32(1)
        node += np.uintp(1)
    return apart


@kernel(is_part=True)
def _target_of_kind(
    before: Place, kind: Int, room: Int64sOut, table: UInt32s, byte_classes: UInt8s, rules: Int32Table
) -> Any:
    """Where every character of a kind leads from the state at ``before``; ``MIXED`` if not all to the same state.

    Of the bytes at each place of a character, ``room`` has the next one to try, and the state before it, and the state
    that the last one led to: from there, the characters were followed already.
    """
    found = UNKNOWN
    for rule in range(rules.shape[0]):
        if rules[rule, 0] != kind:
            continue
        length = rules[rule, 1]
        place = 0
        room[0] = rules[rule, 2]
        room[1] = before
        room[2] = -1
        while place >= 0:
            byte = room[4 * place]
            if byte > rules[rule, 3 + 2 * place]:
                place -= 1
                continue
            room[4 * place] = byte + 1
            target = table[np.uintp(room[4 * place + 1]) + np.uintp(byte_classes[byte])]
            if place + 1 == length:
                if found != UNKNOWN and found != target:
                    return MIXED
                found = target
            elif np.int64(target & OFFSET) != room[4 * place + 2]:
                room[4 * place + 2] = np.int64(target & OFFSET)
                place += 1
                room[4 * place] = rules[rule, 2 + 2 * place]
                room[4 * place + 1] = np.int64(target & OFFSET)
                room[4 * place + 2] = -1
    return found


@kernel(is_part=True)
def _usual_target(before: Place, low: Int, high: Int, dead: UInt, table: UInt32s, byte_classes: UInt8s) -> Any:
    """Where nearly all bytes from ``low`` to ``high`` lead from the state at ``before``; else ``dead``."""
    for byte in range(low, high + 1):
        target, alike = table[before + np.uintp(byte_classes[byte])], np.int64(0)
        for other in range(low, high + 1):
            alike += np.int64(table[before + np.uintp(byte_classes[other])] == target)
        if alike > high - low - _UNUSUAL:
            return target
    return np.uint32(dead)


@kernel(is_part=True)
def _write_shapes(
    allows: UInt8s, text: UInt32sOut, last_allows: UInt8s, last_text: UInt32s,
    starts: Int32s, tokens: UInt32s, dense: Int32s, rows: UInt32Table,
) -> Int:  # fmt: skip
    """Write the row of the tokens of the shapes that are allowed; return their number."""
    count = np.int64(0)
    of_all, of_these, of_others = np.int64(0), np.int64(0), np.int64(0)  # what it takes to write the tokens of shapes
    most = np.int64(text.size >> 3)
    for shape in range(allows.size):
        amount = np.int64(starts[shape + 1] - starts[shape])
        count += amount * allows[shape]
        cost = min(amount, most)
        of_all += cost
        of_these += cost * allows[shape]
        of_others += cost * (allows[shape] ^ last_allows[shape])
    near = of_others <= min(of_these, of_all - of_these)
    full = np.uint8(2 * of_these > of_all)
    for word in range(text.size):
        text[word] = last_text[word] if near else rows[rows.shape[0] - 1, word] if full else np.uint32(0)
    for shape in range(allows.size):
        if allows[shape] != (last_allows[shape] if near else full):
            row = dense[shape]
            if row >= 0:
                for word in range(text.size):
                    text[word] ^= rows[row, word]
            else:
                for entry in range(starts[shape], starts[shape + 1]):
                    token = tokens[entry]
                    text[np.uintp(token >> np.uint32(5))] ^= np.uint32(1) << (token & np.uint32(31))
    return count


class Last(NamedTuple):
    """Which shapes the last state allowed, and the row that they make."""

    allows: NDArray[np.uint8]
    text: NDArray[np.uint32]


class ShapedRows:
    """Makes rows of one automaton over one vocabulary by the shapes of tokens. Safe to share between threads.

    Args:
        table: The automaton, with the columns of the kinds.
        dfa: The automaton.
        vocabulary: The tokens.
        end_tokens: The ids of its end tokens.
    """

    def __init__(self, table: NDArray[np.uint32], dfa: Dfa, vocabulary: Vocabulary, end_tokens: Int32Array) -> None:
        trie = vocabulary.trie
        shapes = shapes_of(trie)
        columns = dfa.byte_classes.copy()
        classes = dfa.transitions.shape[1]
        columns[KINDS] = np.arange(classes, classes + LABELS)
        self._depth = trie.max_depth + 1
        self._arguments: tuple[Any, ...] = (
            table, classes + COLUMNS, dfa.byte_classes, dfa.accepting, end_tokens, RULES, columns,
            shapes.labels, shapes.depths, shapes.subtree_ends, shapes.token_starts, shapes.tokens,
            shapes.node_starts, shapes.nodes, shapes.dense, shapes.rows,
            trie.bytes, trie.depths, trie.subtree_ends, trie.token_starts, trie.token_ids, trie.first_tokens,
            trie.repeated_tokens,
        )  # fmt: skip
        self._last = Last(shapes.no_shapes, shapes.no_tokens)

    def make(self, state: int, budget: int, row: NDArray[np.uint32]) -> tuple[int, int]:
        """Write a row, whatever is in ``row``; return the number of its tokens, and its digest; see ``make_shaped``."""
        last = self._last
        made = Last(np.zeros(len(last.allows), dtype=np.uint8), np.empty(len(row), dtype=np.uint32))
        count, mixed = make_shaped(
            state, budget, row, *made, *last, np.empty(self._depth, dtype=np.uint32),
            np.empty(2 * len(last.allows), dtype=np.int32), np.empty(16, dtype=np.int64), *self._arguments,
        )  # fmt: skip
        self._last = made
        return count, mixed
