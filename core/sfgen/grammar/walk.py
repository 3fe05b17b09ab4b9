"""Walk the token trie through a network: which tokens a set of configurations can read.

It is the walk of ``sfgen.index.masks.one_state``, with a set of configurations at each depth in place of a state. The
stack nodes below are loaded; those that a token pushes are made in scratch memory, and given up when the walk leaves
the token's beginning. Two nodes are special: the bottom, and ``BELOW``, which stands for whatever lies below a rule
while the tokens are sought that do not leave it. Where a rule ends inside a token with ``BELOW`` below it, the trie
node is an *exit*: what comes after it is for the caller to read.
"""

from __future__ import annotations

import numpy as np

from sfgen.grammar.distances import FAR
from sfgen.grammar.member_kernels import NO_STAND, STAND_IS_DOUBTFUL
from sfgen.grammar.step import (
    ACCEPTS,
    FACTS,
    FIRST_FRAME,
    FRAME_BELOW,
    FRAME_FIELDS,
    FRAME_STATE,
    IS_DISTINCT,
    IS_NARROW,
    NODE_DISTANCE,
    NODE_FIELDS,
    OTHERWISE,
    STAND,
    step_all,
    step_plainly,
    to_end_of_rule,
)
from sfgen.kernels import (
    Int,
    Int32s,
    Int32sOut,
    Int64s,
    Int64sOut,
    UInt8s,
    UInt16sOut,
    UInt32s,
    UInt32sOut,
    kernel,
)

BOTTOM, BELOW = 0, 1
"""The stack nodes that have no frames."""

MOST_CONFIGURATIONS = 1 << 13
"""Configurations of all sets on the way to a trie node."""

MOST_MADE = 1 << 12
"""Stack nodes that are made on the way to a trie node."""

EXITS, FARTHEST, PLACES, DOUBTS, DOUBTFUL_EXITS = 0, 1, 2, 3, 4
FIELDS_OF_COUNTS = 5
"""What a walk counts: exits; the farthest that a token leads from the end, in bytes; places that tokens lead to;
doubtful tokens; exits behind a whole text of a distinct call."""

ALONE, FIRST_GROUP = 1, 2
"""The group of a token that leads to no single place, and the group of the first place."""

LEAVES_DISTINCT = 2
"""That a rule may end at a configuration by the end of a text of a distinct call."""

TOO_MANY = -1
"""What a walk returns that was given up: there were too many configurations."""

_NO_TOKEN = 0x80000000


@kernel
def walk(
    first: Int, end: Int, behind: Int32s, starts: Int, loaded: Int,
    mask: UInt32sOut, doubts: UInt32sOut, exits: Int32sOut, group_of: UInt16sOut, positions: Int64sOut,
    counts: Int64sOut,
    table: Int32s, width: Int, classes: UInt8s, facts: Int32s, distances: Int64s, members: Int64s,
    actions: Int32s,
    nodes: Int64sOut, frames: Int64sOut, sets: Int64sOut, marks: Int64sOut,
    labels: UInt8s, depths: Int32s, ends: Int32s, first_tokens: UInt32s, token_starts: Int32s, token_ids: Int32s,
) -> Int:  # fmt: skip
    """Set the tokens that the starts can read; return 0, or ``TOO_MANY``.

    Args:
        first: The first trie node that is walked.
        end: The one after the last.
        behind: Trie nodes that are walked instead, with what is below them, where there are some; ordered by byte.
        starts: The number of configurations with which the walk begins: they are in ``sets``.
        loaded: From which number on stack nodes are made; those below, and their frames, are loaded.
        mask: Where the tokens go, uint32 ``[words]``; those with the same bytes as others are left out.
        doubts: Where tokens go besides that have a whole text of a distinct call in them, uint32 ``[words]``.
        exits: Where exits go.
        group_of: Where the group of each token goes that can be read: ``ALONE``, or the number of its position in
            ``positions`` and ``FIRST_GROUP``. Zero; may have no room at all.
        positions: Where the positions go that tokens lead to: state, register and node of each. A token is alone where
            it leads to several configurations, or to a stack node that was made, or where it has a whole text of a
            distinct call in it.
        counts: What the walk counts; ``FARTHEST`` at least -1.
        table, actions: See ``Network.flat``.
        width: The columns of ``table``.
        classes: ``Network.byte_classes``.
        facts: ``FACTS`` numbers of each state.
        distances: The base and the unit of each state.
        members: See ``flat_members``.
        nodes: ``NODE_FIELDS`` numbers of each stack node.
        frames: ``FRAME_FIELDS`` numbers of each frame; the nodes that are made have the frame of their own number.
        sets: Three numbers of each configuration: state, register, node.
        marks: Four numbers of each depth: where its set begins and ends, the number of nodes, whether a text of a
            distinct call was read.
        labels, depths, ends, first_tokens, token_starts, token_ids: As in ``TokenTrie``.
    """
    spans = np.int64(behind.size)
    if spans == 0:
        spans = np.int64(1)
    refused = np.int64(-1)  # the last byte that none of the starts can read
    for span in range(spans):
        node, stop, base = np.int64(first), np.int64(end), np.int64(0)
        if behind.size > 0:
            node = np.int64(behind[span])
            if np.int64(labels[node]) == refused:
                continue
            stop, base = np.int64(ends[node]), np.int64(depths[node]) - 1
        marks[4 * base] = 0
        marks[4 * base + 1] = starts
        marks[4 * base + 2] = loaded
        marks[4 * base + 3] = 0
        while node < stop:
            depth = np.int64(depths[node])
            before = 4 * (depth - 1)
            label = np.int64(classes[labels[node]])
            top = step_plainly(before, label, marks, table, width, facts, nodes, frames, sets)
            if top == OTHERWISE:
                top = step_all(
                    marks[before], marks[before + 1], marks[before + 2], marks[before + 3], loaded, label,
                    marks, 4 * depth, table, width, facts, distances, members, actions, nodes, frames, sets,
                )  # fmt: skip
            if top < 0:
                return TOO_MANY
            if top == marks[4 * depth]:
                if depth == base + 1:
                    refused = np.int64(labels[node])
                node = np.int64(ends[node])
                continue
            token = first_tokens[node]
            if token < _NO_TOKEN:
                distance = np.int64(FAR)
                doubtful = marks[4 * depth + 3] != 0
                for position in range(marks[4 * depth], top):
                    distance = min(distance, _distance(position, facts, distances, members, nodes, sets))
                    stand = np.int64(facts[FACTS * sets[3 * position] + STAND])
                    doubtful = doubtful or (stand != NO_STAND and members[stand + STAND_IS_DOUBTFUL] != 0)
                    inside = sets[3 * position + 2]
                    if inside >= loaded and nodes[NODE_FIELDS * inside + IS_DISTINCT] != 0:
                        doubtful = doubtful or facts[FACTS * sets[3 * position] + IS_NARROW] != 0
                if group_of.size > 0 and distance < FAR:
                    group = np.int64(ALONE)
                    stand = np.int64(facts[FACTS * sets[3 * marks[4 * depth]] + STAND])
                    is_doubtful = stand != NO_STAND and members[stand + STAND_IS_DOUBTFUL] != 0
                    if marks[4 * depth + 3] == 0 and not is_doubtful:
                        group = _group(marks[4 * depth], top, loaded, positions, counts, sets)
                    for position in range(token_starts[node], token_starts[node + 1]):
                        group_of[token_ids[position]] = group
                if distance < FAR:
                    mask[token >> np.uint32(5)] |= np.uint32(1) << (token & np.uint32(31))
                    counts[FARTHEST] = max(counts[FARTHEST], distance)
                    if doubtful:
                        doubts[token >> np.uint32(5)] |= np.uint32(1) << (token & np.uint32(31))
                        counts[DOUBTS] += 1
            if ends[node] > node + 1 and counts[EXITS] < exits.size:
                for position in range(marks[4 * depth], top):
                    leaves = _leaves(position, facts, nodes, frames, sets)
                    if leaves != 0:
                        exits[counts[EXITS]] = node
                        counts[EXITS] += 1
                        if leaves == LEAVES_DISTINCT or marks[4 * depth + 3] != 0:
                            counts[DOUBTFUL_EXITS] += 1
                        break
            node += 1
    return 0


@kernel(is_part=True)
def _distance(position: Int, facts: Int32s, distances: Int64s, members: Int64s, nodes: Int64s, sets: Int64s) -> Int:
    """The fewest bytes from a configuration to the end of the text."""
    state, register, node = sets[3 * position], sets[3 * position + 1], sets[3 * position + 2]
    return to_end_of_rule(state, register, facts, distances, members) + nodes[NODE_FIELDS * node + NODE_DISTANCE]


@kernel(is_part=True)
def _leaves(position: Int, facts: Int32s, nodes: Int64s, frames: Int64s, sets: Int64s) -> Int:
    """Whether the rule above ``BELOW`` may end at a configuration; ``LEAVES_DISTINCT`` where a distinct call does."""
    state, node = sets[3 * position], sets[3 * position + 2]
    leaves = np.int64(1)
    while facts[FACTS * state + ACCEPTS] != 0:
        if node == BELOW:
            return leaves
        frame = nodes[NODE_FIELDS * node + FIRST_FRAME]
        if frame < 0:
            return np.int64(0)
        if nodes[NODE_FIELDS * node + IS_DISTINCT] != 0:
            leaves = np.int64(LEAVES_DISTINCT)
        state, node = frames[FRAME_FIELDS * frame + FRAME_STATE], frames[FRAME_FIELDS * frame + FRAME_BELOW]
    return np.int64(0)


@kernel(is_part=True)
def _group(begin: Int, top: Int, loaded: Int, positions: Int64sOut, counts: Int64sOut, sets: Int64s) -> Int:
    """The group of a token that leads to a set of configurations; the last ones are compared first."""
    if top != begin + 1 or sets[3 * begin + 2] >= loaded:
        return np.int64(ALONE)
    state, register, below = sets[3 * begin], sets[3 * begin + 1], sets[3 * begin + 2]
    for back in range(counts[PLACES]):
        position = 3 * (counts[PLACES] - 1 - back)
        if positions[position] == state and positions[position + 1] == register and positions[position + 2] == below:
            return position // 3 + FIRST_GROUP
    position = 3 * counts[PLACES]
    if position + 3 > positions.size:
        return np.int64(ALONE)
    positions[position], positions[position + 1], positions[position + 2] = state, register, below
    counts[PLACES] += 1
    return position // 3 + FIRST_GROUP
