"""Token masks of states that allow many tokens, made by a walk of the shapes of tokens.

Such a state is in the middle of some text, and treats most characters of a kind alike. So a walk of the small trie of
shapes (see ``sfgen.vocabulary.shapes``) decides most tokens. Where a state tells the characters of a kind apart, the
mask is made as if all of them led to the state to which most of them lead. Walks of the token trie correct it: they
take out the tokens whose characters lead elsewhere, and put back those that are allowed nevertheless. Or, where the
states that the characters lead to read nearly the same, the walk of the shapes continues with the set of these states
(see ``sfgen.index.masks.state_sets``).

The tokens of the shapes are not written one by one either. The last state mostly allowed nearly the same shapes, so its
mask is copied, and changed at the shapes in which the two differ; or the mask begins with no token, or with all of
them, whichever is nearest. The result is always, to the bit, the mask of a walk of all tokens.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfgen.automata import Dfa
from sfgen.index.masks.mask_of_state import JOINED, MIXED, NO_END, OFFSET, UNKNOWN, TrieWalk, digest, fill_span, finish
from sfgen.index.masks.state_sets import (
    ROOM,
    UNSURE,
    image,
    is_member,
    is_worth_joining,
    room_for_sets,
    set_of_one,
    state_before,
    target_of_kind,
)
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
    part,
)
from sfgen.protocols import Mask
from sfgen.vocabulary.shapes import BYTE_KINDS, COLUMNS, KINDS, LABELS, RULES, shapes_of

CORRECTED = 1 << 16
"""Trie nodes that may be walked to correct a mask made by shapes; a state that takes more is walked alone."""

_UNUSUAL = 4
"""The most letters that may lead elsewhere for a walk to follow the other letters first, and these afterwards."""

_SEVERAL = np.array([byte for byte in range(256) if byte >= 0x80 or chr(byte).isalnum()])
"""The bytes of characters that are of a kind with others."""


class Last(NamedTuple):
    """The shapes that the last state allowed, and their mask.

    Attributes:
        allows: Which shapes it allowed, uint8 ``[shapes]``.
        text: The mask of their tokens, uint32 ``[words]``.
    """

    allows: NDArray[np.uint8]
    text: NDArray[np.uint32]


class ShapeWalk:
    """A walk of the shapes of tokens through one automaton.

    Threads may share it.
    """

    def __init__(self, walk: TrieWalk) -> None:
        dfa, trie = walk.dfa, walk.vocabulary.trie
        shapes = shapes_of(trie)
        columns = dfa.byte_classes.copy()
        classes = dfa.transitions.shape[1]
        columns[KINDS] = np.arange(classes, classes + LABELS)
        self._walk = walk
        self._depth = trie.max_depth + 1
        self._arguments: tuple[Any, ...] = (
            walk.table, walk.width, dfa.byte_classes, dfa.accepting, walk.end_tokens, RULES, columns,
            shapes.labels, shapes.depths, shapes.subtree_ends, shapes.token_starts, shapes.tokens,
            shapes.node_starts, shapes.nodes, shapes.dense, shapes.rows,
            trie.bytes, trie.depths, trie.subtree_ends, trie.token_starts, trie.token_ids, trie.first_tokens,
            trie.repeated_tokens, trie.roots, _shared(dfa),
        )  # fmt: skip
        self._sets = room_for_sets(walk.width)
        self._last = Last(shapes.no_shapes, shapes.no_tokens)

    def mask(self, state: int) -> tuple[Mask, int, int]:
        """Make the token mask of a state.

        Where there would be too many corrections, a walk of the token trie makes it.
        """
        return self.try_mask(state, CORRECTED) or self._walk.mask(state)

    def try_mask(self, state: int, budget: int) -> tuple[Mask, int, int] | None:
        """Make the token mask of a state by shapes, within a budget."""
        last = self._last
        mask: Mask = np.empty(self._walk.words, dtype=np.uint32)
        made = Last(np.zeros(len(last.allows), dtype=np.uint8), np.empty(len(mask), dtype=np.uint32))
        count, mixed = make_by_shapes(
            state, budget, mask, *made, *last, np.empty(self._depth, dtype=np.uint32),
            np.empty(2 * len(last.allows), dtype=np.int32), np.empty(ROOM, dtype=np.int64),
            np.empty(self._sets, dtype=np.uint32), *self._arguments,
        )  # fmt: skip
        self._last = made
        return None if count < 0 else (mask, count, mixed)


def _shared(dfa: Dfa) -> NDArray[np.bool_]:
    """The classes of an automaton with a letter, a digit, or a byte of a longer character; bool ``[classes]``."""
    found = np.zeros(dfa.transitions.shape[1], dtype=np.bool_)
    found[dfa.byte_classes[_SEVERAL]] = True
    return found


@kernel
def make_by_shapes(
    state: Int, budget: Int, mask: UInt32sOut, allows: UInt8sOut, text: UInt32sOut, last_allows: UInt8s,
    last_text: UInt32s, stack: UInt32sOut, mixed: Int32sOut, room: Int64sOut,
    sets: UInt32sOut, table: UInt32sOut, width: Int, byte_classes: UInt8s, accepting: Flags, end_tokens: Int32s,
    rules: Int32Table, columns: UInt8s, kinds: UInt8s, shape_depths: Int32s, shape_ends: Int32s, shape_starts: Int32s,
    shape_tokens: UInt32s, node_starts: Int32s, nodes: Int32s, dense: Int32s, rows: UInt32Table,
    labels: UInt8s, depths: Int32s, subtree_ends: Int32s, token_starts: Int32s, token_ids: Int32s,
    first_tokens: UInt32s, repeated_tokens: Int32Table, roots: Int32s, shared: Flags,
) -> tuple[Int, Int]:  # fmt: skip
    """Make the token mask of a state by the shapes of tokens; return its number of tokens and its digest."""
    # budget: the nodes of the token trie that may be visited; where they do not suffice the number is -1
    # allows: uint8 [shapes], zero: which shapes are allowed; text: uint32 [words], the mask that these make
    # last_allows, last_text: the same of another state
    # stack: a state at each depth of the token trie, and one more; mixed: two numbers for each shape
    # room: ROOM numbers; sets: see state_sets; table: with the columns of the kinds; rules: shapes.RULES
    # columns: the column of each label of a shape, [256]; shared: the classes by which states must be alike to be near
    # kinds to rows: as in vocabulary.shapes.Shapes; labels to roots: as in TokenTrie; the others: see make_mask
    sets[sets.size - 1] = 0
    apart = _walk_shapes(
        state, allows, stack, mixed, room, sets,
        table, width, byte_classes, rules, columns, kinds, shape_depths, shape_ends, shared,
    )  # fmt: skip
    count = _write_shapes(allows, text, last_allows, last_text, shape_starts, shape_tokens, dense, rows)
    for number in range(mask.size):
        mask[number] = text[number]
    left = budget
    for position in range(apart - 1, -1, -1):  # corrections below come first, so that those above are final
        shape, before = np.int64(mixed[2 * position]), np.uintp(mixed[2 * position + 1])
        if before < np.uintp(table.size):
            more, left = correct_state(
                shape, before, left, mask, stack, table, width, byte_classes, columns, kinds, node_starts, nodes,
                labels, depths, subtree_ends, token_starts, token_ids, first_tokens,
            )  # fmt: skip
        else:
            more, left = correct_set(
                shape, before, left, mask, stack, sets, np.uintp(state * width),
                table, width, byte_classes, columns, kinds, node_starts, nodes,
                labels, depths, subtree_ends, token_starts, token_ids, first_tokens, roots,
            )  # fmt: skip
        count += more
        if left < 0:
            return -1, np.uint64(0)
    count += finish(accepting[state], end_tokens, repeated_tokens, mask)
    return count, digest(mask)


@part
def _walk_shapes(
    state: Int, allows: UInt8sOut, stack: UInt32sOut, mixed: Int32sOut, room: Int64sOut,
    sets: UInt32sOut, table: UInt32sOut, width: Int,
    byte_classes: UInt8s, rules: Int32Table, columns: UInt8s, kinds: UInt8s, depths: Int32s, subtree_ends: Int32s,
    shared: Flags,
) -> Int:  # fmt: skip
    """Find the shapes that ``state`` allows; return how many pairs there are in ``mixed``.

    Each pair is a shape whose last kind may lead elsewhere than was assumed for all its characters, and the state, or
    set of states, before that kind.
    """
    dead = np.uint32(np.uint32(table.size - width) | NO_END)
    apart, size = np.int64(0), np.uintp(table.size)
    stack[0] = np.uint32(state * width)
    node, end = np.uintp(0), np.uintp(kinds.size)
    while node < end:
        depth = np.uintp(depths[node])
        before = np.uintp(stack[depth - np.uintp(1)])
        column = np.uintp(columns[np.uintp(kinds[node])])
        target = table[before + column] if before < size else JOINED
        if target >= JOINED:
            if target == UNKNOWN:
                target = target_of_kind(before, kinds[node], room, table, byte_classes, rules)
                if target == MIXED and is_worth_joining(
                    before, kinds[node], room, table, width, byte_classes, rules, shared
                ):
                    target = JOINED
                table[before + column] = target
            if target == JOINED and before < size:
                whole = set_of_one(before, sets, room, table.size, width)
                if whole < 0:
                    target = MIXED
                else:
                    before = np.uintp(whole)
                    stack[depth - np.uintp(1)] = before
            if target == JOINED:
                position = before - size + column
                target = sets[position]
                if target == UNKNOWN:
                    target = image(
                        before, np.int64(column), kinds[node], sets, room, table, width, byte_classes, rules, shared
                    )
                    sets[position] = target
                if target & UNSURE:
                    mixed[2 * apart] = node
                    mixed[2 * apart + 1] = before
                    apart += 1
                    target &= ~UNSURE
            elif target == MIXED:
                position = before + column
                mixed[2 * apart] = node
                mixed[2 * apart + 1] = before
                apart += 1
                rule = np.int64(columns[kinds[node]]) - (width - COLUMNS)
                target = dead
                if rule < BYTE_KINDS:
                    target = table[position + np.uintp(LABELS)]
                    if target == UNKNOWN:
                        target = _usual_target(before, rules[rule, 2], rules[rule, 3], dead, table, byte_classes)
                        table[position + np.uintp(LABELS)] = target
        if target == dead:
            node = np.uintp(subtree_ends[node])
            continue
        stack[depth] = target & OFFSET
        allows[node] = (target >> np.uint32(31)) ^ np.uint32(1)
        node += np.uintp(1)
    return apart


@part
def _usual_target(before: Place, low: Int, high: Int, dead: UInt, table: UInt32s, byte_classes: UInt8s) -> Any:
    """Return the target of nearly all bytes from ``low`` to ``high``; ``dead``: there is none.

    They are read in the state at ``before``.
    """
    for byte in range(low, high + 1):
        target, alike = table[before + np.uintp(byte_classes[byte])], np.int64(0)
        for other in range(low, high + 1):
            alike += np.int64(table[before + np.uintp(byte_classes[other])] == target)
        if alike > high - low - _UNUSUAL:
            return target
    return np.uint32(dead)


@part
def _write_shapes(
    allows: UInt8s, text: UInt32sOut, last_allows: UInt8s, last_text: UInt32s,
    starts: Int32s, tokens: UInt32s, dense: Int32s, rows: UInt32Table,
) -> Int:  # fmt: skip
    """Write the mask of the tokens of the shapes that are allowed; return their number."""
    count = np.int64(0)
    of_all, of_these, of_others = np.int64(0), np.int64(0), np.int64(0)  # the cost of writing the tokens of shapes
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


# ---- corrections -----------------------------------------------------------------------------------------------------

_ANEW = 4
"""The cost of beginning a walk somewhere in the token trie, in nodes."""

_DOWN = 64
"""The cost of finding the state before a node, in nodes."""


@part
def correct_state(
    shape: Int, before: Place, left: Int, mask: UInt32sOut, stack: UInt32sOut,
    table: UInt32s, width: Int, byte_classes: UInt8s, columns: UInt8s, kinds: UInt8s,
    node_starts: Int32s, nodes: Int32s, labels: UInt8s, depths: Int32s, subtree_ends: Int32s,
    token_starts: Int32s, token_ids: Int32s, first_tokens: UInt32s,
) -> tuple[Int, Int]:  # fmt: skip
    """Correct a mask after a character that leads elsewhere than its kind.

    The tokens under the shape were set as after most characters of one byte, and left unset after longer ones.
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


@part
def correct_set(
    shape: Int, before: Place, left: Int, mask: UInt32sOut, stack: UInt32sOut,
    sets: UInt32s, start: Place,
    table: UInt32s, width: Int, byte_classes: UInt8s, columns: UInt8s, kinds: UInt8s,
    node_starts: Int32s, nodes: Int32s, labels: UInt8s, depths: Int32s, subtree_ends: Int32s,
    token_starts: Int32s, token_ids: Int32s, first_tokens: UInt32s, roots: Int32s,
) -> tuple[Int, Int]:  # fmt: skip
    """Correct a mask where the states of a set differ."""
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


@part
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


@part
def _first_from(byte: Int, entry: Int, last: Int, nodes: Int32s, labels: UInt8s) -> Int:
    """The first of the entries of ``nodes``, which lie by rising byte, whose byte is not less than ``byte``."""
    while entry < last:
        middle = (entry + last) >> 1
        if labels[nodes[middle]] < byte:
            entry = middle + 1
        else:
            last = middle
    return entry
