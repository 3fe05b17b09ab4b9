"""Kernels that find the tokens of a configuration, by a walk of the token trie with the lexer and the parser.

* ``walk_lexeme`` finds the tokens that hand no terminal to the parser, and the trie nodes after which a terminal ends
  inside a token. Both depend on the lexer state alone. If all bytes below a node lead from a lexer state to itself,
  like letters in a name, the node's tokens are added without reading them.
* ``read_tokens`` adds the tokens of the first kind that lead to a terminal which the parser takes, and continues at
  these nodes with the parser's stack.

The stack before the token is loaded. Nodes that a token pushes are made in scratch memory, and dropped when the walk
leaves the token's prefix.
"""

from __future__ import annotations

import string

import numpy as np
from numpy.typing import NDArray

from sfgen.kernels import (
    Flags,
    FlagsOut,
    Int,
    Int32s,
    Int32sOut,
    Int64sOut,
    UInt,
    UInt8s,
    UInt32s,
    UInt32sOut,
    UInt64s,
    UInt64sOut,
    kernel,
    part,
)
from sfgen.vocabulary.trie import NO_TOKEN

REFUSED = -1
"""Returned instead of a stack node if the parser does not take the terminal."""

TOO_MANY = -2
"""Returned by a kernel that ran out of room."""

STATE, BELOW, DEPTH, HEIGHT = 0, 1, 2, 3
FIELDS = 4
"""The number of fields of a stack node; its height is the number of made nodes up to it."""

MOST_MADE = 1 << 14
"""The most stack nodes made on the way to a trie node."""

MOST_CONFIGURATIONS = 1 << 13
"""The most configurations of all sets on the way to a trie node."""

WIDTH, GOTO_WIDTH, END_TERMINAL, END_STATE, CLASSES, OBLIGATIONS = 0, 1, 2, 3, 4, 5
"""The entries of ``sizes``: columns of the tables, and the terminal and state of the end."""

PUSHED, ENDS, DOUBTS = 0, 1, 2
"""The counts of ``read_tokens``."""

EXITS, ROWS = 0, 1
"""The counts of ``walk_lexeme``."""

MADE, LOWEST = 0, 1
"""The entries of ``top``: the number of made nodes, and the least depth of a node whose state was read."""

_DEAD, _ALIVE, _DOUBTFUL = 0, 1, 2


# ---- the lexer -------------------------------------------------------------------------------------------------------


def group_of_byte() -> NDArray[np.uint64]:
    """Return the bit of each byte's group, uint64 ``[256]``; letters of a kind are a group, a punctuation mark is one.

    Usually either all bytes of a group lead from a lexer state to itself, or none.
    """
    kinds = [b"0123456789", b"abcdef", bytes(range(0x67, 0x7B)), b"ABCDEF", bytes(range(0x47, 0x5B))]
    kinds += [bytes([byte]) for byte in b"\t\n\r " + string.punctuation.encode()]
    kinds += [bytes(range(0x80, 0xC0)), bytes(range(0xC2, 0xE0)), bytes(range(0xE0, 0xF0)), bytes(range(0xF0, 0xF5))]
    groups = np.full(256, len(kinds), dtype=np.uint64)  # the rest is a group, too
    for number, kind in enumerate(kinds):
        groups[list(kind)] = number
    return np.uint64(1) << groups


@kernel
def groups_below(
    below: UInt64sOut, above: UInt64sOut, trie_bytes: UInt8s, depths: Int32s, group_of: UInt64s
) -> Int:  # fmt: skip
    """Find the groups of the bytes below each trie node."""
    # below: out; the bits of the groups, uint64 ``[nodes]``.
    # above: Zeros for each depth, and two more.
    # trie_bytes, depths: As in ``TokenTrie``.
    # group_of: See ``group_of_byte``.
    for back in range(trie_bytes.size):
        node = trie_bytes.size - 1 - back
        depth = np.int64(depths[node])
        below[node] = above[depth + 1]
        above[depth + 1] = 0
        above[depth] |= below[node] | group_of[np.int64(trie_bytes[node])]
    return 0


@part
def _groups_that_stay(
    state: Int, step: Int32s, width: Int, byte_classes: UInt8s, commit_starts: Int32s, commit_labels: Int32s,
    is_open: Flags, group_of: UInt64s,
) -> UInt:  # fmt: skip
    """Return the groups whose bytes lead from a lexer state to itself and end no terminal; never 0."""
    leave = np.uint64(0)
    for byte in range(256):
        byte_class = np.int64(byte_classes[byte])
        stays = step[state * width + byte_class] == state
        for position in range(commit_starts[state], commit_starts[state + 1]):
            if is_open[np.int64(commit_labels[position]) * width + byte_class]:
                stays = False
        if not stays:
            leave |= group_of[byte]
    return ~leave


@kernel
def walk_lexeme(
    lexer_state: Int, node: Int, end: Int, counts: Int64sOut, found: UInt32sOut, words: Int, row_of: Int32sOut,
    row_classes: Int32sOut, exits: Int32sOut, exit_labels: Int32sOut, stack: Int32sOut, class_of: Int32s,
    is_open: Flags, staying: UInt64sOut, is_reached: FlagsOut, lexer_state_of: Int32sOut, groups: UInt64s,
    group_of: UInt64s, step: Int32s, sizes: Int32s, byte_classes: UInt8s, commit_starts: Int32s, commit_labels: Int32s,
    trie_bytes: UInt8s, depths: Int32s, ends: Int32s, token_starts: Int32s, token_ids: Int32s,
) -> Int:  # fmt: skip
    """Find the tokens that are read without ending a terminal."""
    # node, end: The first trie node of the walk, and the node after the last.
    # counts: in and out; the number of exits, and of classes with tokens.
    # found: in and out; the mask of each class of lexer states, uint32 ``[rows * words]``, zeros at first.
    # words: The words of a mask.
    # row_of: in and out; the row of each class in ``found``, int32 ``[classes]``; -1 for none.
    # row_classes: in and out; the class of each row.
    # exits: out; the trie nodes right after the end of a terminal.
    # exit_labels: out; the label that ends before each.
    # stack: Room for a lexer state at each depth.
    # class_of: The class of each lexer state.
    # is_open: Whether a byte class can follow a label at all, bool ``[labels * byte classes]``.
    # staying: in and out; the groups that stay in each lexer state; 0 if not yet known.
    # is_reached: out; the lexer states that tokens lead to, bool ``[lexer_states]``.
    # lexer_state_of: out; the lexer state after each token, int32 ``[tokens]``; empty if not needed.
    # groups: See ``groups_below``.
    # group_of: See ``group_of_byte``.
    # step, sizes, byte_classes, commit_starts: See ``Lexer``, flat.
    # commit_labels: The label of each commit.
    # trie_bytes, depths, ends, token_starts, token_ids: As in ``TokenTrie``.
    # Returns 0, or ``TOO_MANY`` without room for the exits or classes.
    width = np.int64(sizes[CLASSES])
    stack[0] = lexer_state
    exit_count = counts[EXITS]
    while node < end:
        depth = np.int64(depths[node])
        before = np.int64(stack[depth - 1])
        byte = np.int64(byte_classes[trie_bytes[node]])
        if depth > 1:
            for position in range(commit_starts[before], commit_starts[before + 1]):
                commit = np.int64(commit_labels[position])
                if is_open[commit * width + byte]:
                    if exit_count == exits.size:
                        return TOO_MANY
                    exits[exit_count] = node
                    exit_labels[exit_count] = commit
                    exit_count += 1
        after = np.int64(step[before * width + byte])
        if after < 0:
            node = np.int64(ends[node])
            continue
        stack[depth] = after
        stays = False
        if ends[node] > node + 1:
            if staying[after] == 0:
                staying[after] = _groups_that_stay(
                    after, step, width, byte_classes, commit_starts, commit_labels, is_open, group_of
                )
            stays = groups[node] & ~staying[after] == 0
        first = np.int64(token_starts[node])
        node = np.int64(ends[node]) if stays else np.int64(node + 1)
        last = np.int64(token_starts[node])
        if first == last:
            continue
        is_reached[after] = True
        group = np.int64(class_of[after])
        row = np.int64(row_of[group])
        if row < 0:
            row = counts[ROWS]
            if (row + 1) * words > found.size:
                return TOO_MANY
            row_of[group], row_classes[row] = row, group
            counts[ROWS] += 1
        for position in range(first, last):
            token = np.int64(token_ids[np.uintp(position)])
            found[np.uintp(row * words + (token >> 5))] |= np.uint32(1) << np.uint32(token & 31)
            if lexer_state_of.size > 0:
                lexer_state_of[token] = after
    counts[EXITS] = exit_count
    return 0


@kernel
def order_exits(
    count: Int, exits: Int32sOut, exit_labels: Int32sOut, room: Int32sOut, room_labels: Int32sOut, starts: Int32sOut,
    kinds: Int32sOut, kind_starts: Int32sOut, trie_bytes: UInt8s,
) -> Int:  # fmt: skip
    """Sort exits by their labels, those of a label by their bytes; return the number of different labels."""
    # count: The exits.
    # exits, exit_labels: in and out; see ``walk_lexeme``.
    # room, room_labels: As long.
    # starts: Zeros, as many as there are labels, and 257 at least; out, zeros.
    # kinds, kind_starts: out; the different labels, and the first exit of each, with the end of all.
    # trie_bytes: As in ``TokenTrie``.
    for position in range(count):
        starts[np.int64(trie_bytes[exits[position]]) + 1] += 1
    for byte in range(256):
        starts[byte + 1] += starts[byte]
    for position in range(count):
        group = np.int64(trie_bytes[exits[position]])
        room[starts[group]], room_labels[starts[group]] = exits[position], exit_labels[position]
        starts[group] += 1
    for number in range(starts.size):
        starts[number] = 0
    for position in range(count):
        starts[room_labels[position]] += 1
    kind_count, before = np.int64(0), np.int64(0)
    for number in range(starts.size):
        if starts[number] > 0:
            kinds[kind_count], kind_starts[kind_count] = number, before
            kind_count += 1
            before += starts[number]
            starts[number] = before - starts[number]
    kind_starts[kind_count] = before
    for position in range(count):
        label = np.int64(room_labels[position])
        exits[starts[label]] = room[position]
        starts[label] += 1
    for number in range(starts.size):
        starts[number] = 0
    return kind_count


# ---- the parser ------------------------------------------------------------------------------------------------------


@part
def _of_node(node: Int, field: Int, nodes: Int32s, made: Int64sOut) -> Int:
    """Return a field of a stack node; loaded nodes come before made ones."""
    at = FIELDS * node + field
    if at < nodes.size:
        return np.int64(nodes[at])
    return made[at - nodes.size]


@part
def _push(state: Int, below: Int, nodes: Int32s, made: Int64sOut, top: Int64sOut) -> Int:
    """Make the node of a state on top of another node."""
    at = FIELDS * top[MADE]
    made[at + STATE], made[at + BELOW] = state, below
    made[at + DEPTH] = _of_node(below, DEPTH, nodes, made) + 1
    made[at + HEIGHT] = _of_node(below, HEIGHT, nodes, made) + 1
    top[MADE] += 1
    return (nodes.size + at) // FIELDS


@part
def after_terminal(
    node: Int, terminal: Int, is_shifted: Int, nodes: Int32s, made: Int64sOut, top: Int64sOut,
    actions: Int32s, gotos: Int32s, rules: Int32s, sizes: Int32s,
) -> Int:  # fmt: skip
    """Return the node after a terminal, ``REFUSED`` or ``TOO_MANY``; the node may be a made one."""
    # is_shifted: 0 to return only whether the terminal is taken; the node is undefined then.
    # nodes: ``FIELDS`` numbers of each node that is loaded.
    # made: ``FIELDS`` numbers of each node that is made.
    # top: in and out; ``MADE`` and ``LOWEST``.
    # actions, gotos: See ``ParseTables``, flat.
    # rules: The nonterminal and the length of each rule.
    # sizes: ``WIDTH`` to ``OBLIGATIONS``.
    state, under = _of_node(node, STATE, nodes, made), _of_node(node, BELOW, nodes, made)
    is_new = False  # whether no node is made yet for the state on top
    while True:
        action = np.int64(actions[state * sizes[WIDTH] + terminal])
        if action == 0:
            return REFUSED
        if FIELDS * (top[MADE] + 2) > made.size:
            return TOO_MANY
        if action > 0:
            if is_shifted == 0:
                return 0
            if is_new:
                node = _push(state, under, nodes, made, top)
            return _push(action - 1, node, nodes, made, top)
        nonterminal, length = np.int64(rules[-2 - 2 * action]), np.int64(rules[-1 - 2 * action])
        if length == 0:
            under = _push(state, under, nodes, made, top) if is_new else node
        for _ in range(length - 1):
            under = _of_node(under, BELOW, nodes, made)
        top[LOWEST] = min(top[LOWEST], _of_node(under, DEPTH, nodes, made))
        state = np.int64(gotos[_of_node(under, STATE, nodes, made) * sizes[GOTO_WIDTH] + nonterminal])
        is_new = True
        if terminal == sizes[END_TERMINAL] and state == sizes[END_STATE]:
            return 0


@part
def _is_alive(
    lexer_state: Int, node: Int, reach_starts: Int32s, reach: Int32s, nodes: Int32s, made: Int64sOut, top: Int64sOut,
    actions: Int32s, gotos: Int32s, rules: Int32s, sizes: Int32s,
) -> Int:  # fmt: skip
    """Return whether the parser takes a safe terminal that the lexer can reach, only another one, or none."""
    kept = top[MADE]
    others = reach_starts[2 * lexer_state + 1]
    for position in range(reach_starts[2 * lexer_state], reach_starts[2 * lexer_state + 2]):
        terminal = np.int64(reach[position])
        taken = after_terminal(node, terminal, 0, nodes, made, top, actions, gotos, rules, sizes)
        top[MADE] = kept
        if taken == TOO_MANY:
            return TOO_MANY
        if taken != REFUSED:
            return _ALIVE if position < others else _DOUBTFUL
    return _DEAD


@part
def _join_classes(
    node: Int, classes: Int32s, found: UInt32s, words: Int, mask: UInt32sOut, reach_starts: Int32s, reach: Int32s,
    nodes: Int32s, made: Int64sOut, top: Int64sOut, actions: Int32s, gotos: Int32s, rules: Int32s, sizes: Int32s,
) -> Int:  # fmt: skip
    """Add the tokens of the classes that are alive; return the number of doubtful ones, or ``TOO_MANY``."""
    doubtful = np.int64(0)
    for position in range(classes.size):
        lexer_state = np.int64(classes[position])
        alive = _is_alive(lexer_state, node, reach_starts, reach, nodes, made, top, actions, gotos, rules, sizes)
        if alive == _ALIVE:
            for word in range(words):
                mask[word] |= found[position * words + word]
        elif alive == _DOUBTFUL:
            doubtful += 1
        elif alive == TOO_MANY:
            return TOO_MANY
    return doubtful


# ---- both ------------------------------------------------------------------------------------------------------------


@part
def _commit(
    lexer_state: Int, node: Int, label: Int, byte: Int, sets: Int64sOut, last: Int, labels: Int32s, starts: Int32s,
    context_of: Int32s, step: Int32s, nodes: Int32s, made: Int64sOut, top: Int64sOut, actions: Int32s, gotos: Int32s,
    rules: Int32s, sizes: Int32s,
) -> Int:  # fmt: skip
    """Hand a terminal to the parser, read a byte, add the configuration; return the set's end or ``TOO_MANY``."""
    kept = top[MADE]
    pushed = after_terminal(node, np.int64(labels[2 * label]), 1, nodes, made, top, actions, gotos, rules, sizes)
    if pushed == TOO_MANY:
        return TOO_MANY
    if pushed != REFUSED:
        context = np.int64(context_of[_of_node(pushed, STATE, nodes, made)])
        lexer_state = np.int64(starts[context * sizes[OBLIGATIONS] + labels[2 * label + 1]])
        if lexer_state >= 0:
            after = np.int64(step[lexer_state * sizes[CLASSES] + byte])
            if after >= 0:
                sets[2 * last], sets[2 * last + 1] = after, pushed
                return last + 1
    top[MADE] = kept
    return last


@kernel
def read_tokens(
    node: Int, classes: Int32s, found: UInt32s, words: Int, label_starts: Int32s, children: Int32s,
    exit_labels: Int32s, mask: UInt32sOut, counts: Int64sOut, ends_of: Int64sOut, is_open: Flags, sets: Int64sOut,
    marks: Int64sOut, reach_starts: Int32s, reach: Int32s, labels: Int32s, starts: Int32s, context_of: Int32s,
    step: Int32s, byte_classes: UInt8s, commit_starts: Int32s, commit_labels: Int32s, trie_bytes: UInt8s,
    depths: Int32s, ends: Int32s, first_tokens: UInt32s, nodes: Int32s, made: Int64sOut, top: Int64sOut,
    actions: Int32s, gotos: Int32s, rules: Int32s, sizes: Int32s,
) -> Int:  # fmt: skip
    """Add the tokens that end no terminal, and those in which one ends, reading with the parser's new stack."""
    # classes: A lexer state of each class of the former.
    # found: The mask of each class, uint32 ``[len(classes) * words]``.
    # words: The words of a mask.
    # label_starts: The first entry in ``children`` of each exit label, int32 ``[exit labels + 1]``.
    # children: The trie nodes right after the end of a terminal.
    # exit_labels: The labels that end inside tokens, int32 ``[exit labels]``.
    # mask: out; the tokens are added.
    # counts: in and out; the most nodes pushed by a token that are left after it, and the number of ends; out, that of
    #   doubtful classes.
    # ends_of: out; the doubtful ends: a trie node with a token, its lexer state and its stack node. All made nodes are
    #   kept then. Empty to only count them.
    # is_open: See ``walk_lexeme``.
    # sets: Two numbers of each configuration: lexer state, node.
    # marks: Three numbers of each depth: the begin and end of its set, the number of made nodes.
    # reach_starts, reach: See ``Reach``.
    # labels: The terminal and the obligation of each label.
    # starts: See ``Lexer``, flat.
    # context_of: See ``ParseTables``.
    # step, byte_classes, commit_starts, commit_labels: See ``walk_lexeme``.
    # trie_bytes, depths, ends, first_tokens: As in ``TokenTrie``.
    # nodes, made, top, actions, gotos, rules, sizes: See ``after_terminal``.
    # Returns 0, or ``TOO_MANY``.
    doubtful = _join_classes(
        node, classes, found, words, mask, reach_starts, reach, nodes, made, top, actions, gotos, rules, sizes
    )
    if doubtful == TOO_MANY:
        return TOO_MANY
    counts[DOUBTS] = doubtful
    width = np.int64(sizes[CLASSES])
    for number in range(exit_labels.size):
        label = np.int64(exit_labels[number])
        if ends_of.size == 0:
            top[MADE] = 0
        first = after_terminal(node, np.int64(labels[2 * label]), 1, nodes, made, top, actions, gotos, rules, sizes)
        if first == TOO_MANY:
            return TOO_MANY
        if first == REFUSED:
            continue
        context = np.int64(context_of[_of_node(first, STATE, nodes, made)])
        lexer_state = np.int64(starts[context * sizes[OBLIGATIONS] + labels[2 * label + 1]])
        if lexer_state < 0:
            continue
        at_gap = top[MADE]
        # Neighbouring tokens usually lead to the same configuration. Nodes above this one are made anew for each.
        lasting = nodes.size // FIELDS + at_gap
        tested_state, tested_node, alive = np.int64(-1), np.int64(-1), np.int64(0)
        for position in range(label_starts[number], label_starts[number + 1]):
            at = np.int64(children[position])
            stop, base = np.int64(ends[at]), 3 * np.int64(depths[at]) - 3
            sets[0], sets[1] = lexer_state, first
            marks[base], marks[base + 1], marks[base + 2] = 0, 1, at_gap
            while at < stop:
                before = 3 * np.int64(depths[at]) - 3
                byte = np.int64(byte_classes[trie_bytes[at]])
                end = marks[before + 1]
                last = end
                if ends_of.size == 0:
                    top[MADE] = marks[before + 2]
                for each in range(marks[before], end):
                    if 2 * last + 4 > sets.size:
                        return TOO_MANY
                    after = np.int64(step[sets[2 * each] * width + byte])
                    if after >= 0:
                        sets[2 * last], sets[2 * last + 1] = after, sets[2 * each + 1]
                        last += 1
                    for commit in range(commit_starts[sets[2 * each]], commit_starts[sets[2 * each] + 1]):
                        if not is_open[np.int64(commit_labels[commit]) * width + byte]:
                            continue
                        if 2 * last + 4 > sets.size:
                            return TOO_MANY
                        last = _commit(
                            sets[2 * each], sets[2 * each + 1], np.int64(commit_labels[commit]), byte, sets, last,
                            labels, starts, context_of, step, nodes, made, top, actions, gotos, rules, sizes,
                        )  # fmt: skip
                        if last == TOO_MANY:
                            return TOO_MANY
                if last == end:
                    at = np.int64(ends[at])
                    continue
                marks[before + 3], marks[before + 4], marks[before + 5] = end, last, top[MADE]
                token = first_tokens[at]
                if token < NO_TOKEN:
                    for each in range(end, last):
                        is_tested = sets[2 * each] == tested_state and sets[2 * each + 1] == tested_node
                        if not is_tested or tested_node >= lasting:
                            tested_state, tested_node = sets[2 * each], sets[2 * each + 1]
                            alive = _is_alive(
                                tested_state, tested_node, reach_starts, reach, nodes, made, top, actions, gotos, rules,
                                sizes,
                            )  # fmt: skip
                        if alive == TOO_MANY:
                            return TOO_MANY
                        if alive == _ALIVE:
                            mask[token >> np.uint32(5)] |= np.uint32(1) << (token & np.uint32(31))
                            counts[PUSHED] = max(counts[PUSHED], _of_node(sets[2 * each + 1], HEIGHT, nodes, made))
                        elif alive == _DOUBTFUL:
                            if ends_of.size > 0:
                                if 3 * counts[ENDS] + 3 > ends_of.size:
                                    return TOO_MANY
                                ends_of[3 * counts[ENDS]], ends_of[3 * counts[ENDS] + 1] = at, sets[2 * each]
                                ends_of[3 * counts[ENDS] + 2] = sets[2 * each + 1]
                            counts[ENDS] += 1
                at += 1
    return 0
