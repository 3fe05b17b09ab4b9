"""Kernels that walk the token trie through a network, to find the tokens that a set of configurations can read.

The walk is that of ``sfgen.index.masks.mask_of_state``, with a set of configurations at each depth instead of a state.
The nodes of the stacks at the start are *loaded* into arrays. Nodes that a token pushes are *made* in scratch memory,
and dropped when the walk leaves the prefix of the token. Two nodes have no frames: ``BOTTOM``, and ``BELOW``. ``BELOW``
represents any stack below a rule while the tokens inside that rule are found, and any text after a whole text. A trie
node at which a rule ends above ``BELOW`` is an *exit*; the caller continues to read there.

``_step_plainly`` and ``_step_all`` read one byte, as ``NetworkReader.read`` does, over plain numbers. A configuration
is three numbers in ``sets``: state, register, stack node.
"""

from __future__ import annotations

import numpy as np

from sfgen.grammar.network.registers.register import ACCEPTS, FACTS, FAR, IS_END, REFUSED
from sfgen.grammar.network.registers.registers import (
    after_step,
    bytes_left,
    changes_unseen,
    is_unsure,
    keeps_register,
    may_be_used_up,
    must_be_open,
)
from sfgen.grammar.network.table import IS_DISTINCT, KEEPS_REGISTER
from sfgen.kernels import (
    Flag,
    Int,
    Int32s,
    Int32sOut,
    Int64s,
    Int64sOut,
    UInt8s,
    UInt16sOut,
    UInt32sOut,
    kernel,
    part,
)
from sfgen.vocabulary.trie import NO_TOKEN

NODE_FIELDS = 3
FIRST_FRAME, NODE_DISTANCE, NODE_IS_DISTINCT = 0, 1, 2
"""The fields of a stack node: its first frame or -1, its distance, whether a distinct call entered the rule above."""

FRAME_FIELDS = 4
FRAME_STATE, FRAME_REGISTER, FRAME_BELOW, NEXT_FRAME = 0, 1, 2, 3
"""The fields of a frame: return state, register, the node below, the next frame of its own node or -1."""

BOTTOM, BELOW = 0, 1
"""The stack nodes without frames."""

EXITS, FARTHEST, GROUPS, DOUBTS, DOUBTFUL_EXITS = 0, 1, 2, 3, 4
FIELDS_OF_COUNTS = 5
"""The counts of a walk: exits; the greatest distance from the end after a token, in bytes; different configurations
after tokens; doubtful tokens; exits after a whole text of a distinct call.
"""

ALONE, FIRST_GROUP = 1, 2
"""The group of tokens that must be checked one by one, and the group of the first configuration after tokens."""

MOST_CONFIGURATIONS = 1 << 13
"""The most configurations of all sets on the path to a trie node."""

MOST_MADE = 1 << 12
"""The most stack nodes made on the path to a trie node."""

TOO_MANY = -1
"""Returned by a walk with too many configurations."""

NOT_PLAIN = -2
"""Returned by ``_step_plainly`` for any step that is not plain."""

LEAVES_DISTINCT = 2
"""Returned by ``_leaves``: the rule may end here, together with the text of a distinct call."""

BYTE, DEPTH, SUBTREE_END, FIRST_TOKEN = range(4)
TRIE_FIELDS = 4
"""The fields of a trie node that a walk reads, stored side by side: byte, depth, end of the subtree, first token."""


@kernel
def walk(
    start_nodes: Int32s, byte_ends: Int64s, starts: Int, loaded: Int,
    mask: UInt32sOut, doubts: UInt32sOut, exits: Int32sOut, group_of: UInt16sOut, after: Int64sOut,
    counts: Int64sOut,
    table: Int32s, width: Int, classes: UInt8s, facts: Int32s, distances: Int64s, members: Int64s,
    actions: Int32s,
    nodes: Int64sOut, frames: Int64sOut, sets: Int64sOut, marks: Int64sOut,
    trie: Int32s, token_starts: Int32s, token_ids: Int32s,
) -> Int:  # fmt: skip
    """Add the tokens that the start configurations can read to ``mask``; return 0, or ``TOO_MANY``."""
    # start_nodes: The trie nodes whose subtrees are walked, ordered by byte.
    # byte_ends: The end of the nodes of each byte in ``start_nodes``, int64 ``[256]``.
    # starts: The number of configurations in ``sets`` at the beginning.
    # loaded: The number of the first made stack node; nodes and frames with smaller numbers are loaded.
    # mask: out; the tokens, uint32 ``[words]``; of tokens with equal bytes only one.
    # doubts: out; the doubtful tokens, such as those that contain a whole text of a distinct call, uint32 ``[words]``.
    # exits: out; the exits.
    # group_of: out; the group of each readable token: ``ALONE``, or ``FIRST_GROUP`` plus the number in ``after`` of
    #   the configuration after it. All zero at the beginning; empty if not wanted.
    # after: out; the configurations after tokens: state, register and node. A token is ``ALONE`` if it leads to
    #   several configurations or to a made stack node, or contains a whole text of a distinct call.
    # counts: out; ``FIELDS_OF_COUNTS`` numbers; ``FARTHEST`` is -1 without tokens.
    # table, actions: See ``Network.flat``.
    # width: The columns of ``table``.
    # classes: ``Network.byte_classes``.
    # facts, distances, members: See ``ForKernels``.
    # nodes: ``NODE_FIELDS`` numbers of each stack node.
    # frames: ``FRAME_FIELDS`` numbers of each frame; a made node has the frame of its own number.
    # sets: Three numbers of each configuration: state, register, node.
    # marks: Four numbers of each depth below the start: start and end of its set, the number of nodes, whether a token
    #   through here is doubtful, since a whole text of a distinct call was read.
    # trie: ``TRIE_FIELDS`` numbers of each trie node.
    # token_starts, token_ids: As in ``TokenTrie``.
    for field in range(FIELDS_OF_COUNTS):
        counts[field] = 0
    counts[FARTHEST] = -1
    marks[0], marks[1], marks[2], marks[3] = 0, starts, loaded, 0
    refused = np.int64(-1)  # the last byte class that no start configuration can read
    end = np.int64(0)
    for byte in range(256):
        span, end = end, byte_ends[byte]
        if np.int64(classes[byte]) == refused:
            continue
        is_read = False  # whether the set after this byte is known
        while span < end:
            node = np.int64(start_nodes[span])
            span += 1
            stop, base = np.int64(trie[TRIE_FIELDS * node + SUBTREE_END]), trie[TRIE_FIELDS * node + DEPTH] - 1
            while node < stop:
                at = TRIE_FIELDS * node
                depth = np.int64(trie[at + DEPTH] - base)
                if depth > 1 or not is_read:
                    before = 4 * (depth - 1)
                    byte_class = np.int64(classes[trie[at + BYTE]])
                    top = _step_plainly(before, byte_class, marks, table, width, facts, nodes, frames, sets)
                    if top == NOT_PLAIN:
                        top = _step_all(
                            marks[before], marks[before + 1], marks[before + 2], marks[before + 3], loaded, byte_class,
                            marks, 4 * depth, table, width, facts, distances, members, actions, nodes, frames, sets,
                        )  # fmt: skip
                    if top < 0:
                        return TOO_MANY
                    if top == marks[4 * depth]:
                        if depth == 1:
                            refused = byte_class
                            span = end
                            break
                        node = np.int64(trie[at + SUBTREE_END])
                        continue
                    is_read = True
                top = marks[4 * depth + 1]
                token = np.uint32(trie[at + FIRST_TOKEN])
                if token < NO_TOKEN:
                    distance = np.int64(FAR)
                    doubtful = marks[4 * depth + 3] != 0
                    for position in range(marks[4 * depth], top):
                        distance = min(distance, _distance(position, facts, distances, members, nodes, sets))
                        doubtful = doubtful or is_unsure(sets[3 * position], facts, members)
                        inside = sets[3 * position + 2]
                        if inside >= loaded and nodes[NODE_FIELDS * inside + NODE_IS_DISTINCT] != 0:
                            doubtful = doubtful or may_be_used_up(sets[3 * position], facts)
                    if group_of.size > 0 and distance < FAR:
                        group = np.int64(ALONE)
                        if marks[4 * depth + 3] == 0 and not is_unsure(sets[3 * marks[4 * depth]], facts, members):
                            group = _group(marks[4 * depth], top, loaded, after, counts, sets)
                        for position in range(token_starts[node], token_starts[node + 1]):
                            group_of[token_ids[position]] = group
                    if distance < FAR:
                        mask[token >> np.uint32(5)] |= np.uint32(1) << (token & np.uint32(31))
                        counts[FARTHEST] = max(counts[FARTHEST], distance)
                        if doubtful:
                            doubts[token >> np.uint32(5)] |= np.uint32(1) << (token & np.uint32(31))
                            counts[DOUBTS] += 1
                if trie[at + SUBTREE_END] > node + 1 and counts[EXITS] < exits.size:
                    for position in range(marks[4 * depth], top):
                        leaves = _leaves(position, top, facts, nodes, frames, sets)
                        if leaves == TOO_MANY:
                            return TOO_MANY
                        if leaves != 0:
                            exits[counts[EXITS]] = node
                            counts[EXITS] += 1
                            if leaves == LEAVES_DISTINCT or marks[4 * depth + 3] != 0:
                                counts[DOUBTFUL_EXITS] += 1
                            break
                node += 1
    return 0


@part
def _distance(position: Int, facts: Int32s, distances: Int64s, members: Int64s, nodes: Int64s, sets: Int64s) -> Int:
    """Return the fewest bytes from a configuration to the end of the text."""
    state, register, node = sets[3 * position], sets[3 * position + 1], sets[3 * position + 2]
    return bytes_left(state, register, facts, distances, members) + nodes[NODE_FIELDS * node + NODE_DISTANCE]


@part
def _leaves(position: Int, top: Int, facts: Int32s, nodes: Int64s, frames: Int64s, sets: Int64sOut) -> Int:
    """Return whether the rule above ``BELOW`` may end here; ``LEAVES_DISTINCT`` if a distinct call ends with it.

    Further frames to return to are kept in ``sets`` from ``top`` on; ``TOO_MANY`` if there is no room for them.
    """
    state, node, leaves = sets[3 * position], sets[3 * position + 2], np.int64(1)
    waiting = top
    while True:
        frame = np.int64(-1)
        if facts[FACTS * state + ACCEPTS] != 0:
            if node == BELOW:
                return leaves
            frame = nodes[NODE_FIELDS * node + FIRST_FRAME]
            if frame >= 0 and nodes[NODE_FIELDS * node + NODE_IS_DISTINCT] != 0:
                leaves = np.int64(LEAVES_DISTINCT)
        if frame < 0:
            if waiting == top:
                return np.int64(0)
            waiting -= 1
            frame, leaves = sets[3 * waiting], sets[3 * waiting + 1]
        further = frames[FRAME_FIELDS * frame + NEXT_FRAME]
        if further >= 0:
            if 3 * waiting + 3 > sets.size:
                return np.int64(TOO_MANY)
            sets[3 * waiting], sets[3 * waiting + 1] = further, leaves
            waiting += 1
        state, node = frames[FRAME_FIELDS * frame + FRAME_STATE], frames[FRAME_FIELDS * frame + FRAME_BELOW]


@part
def _group(begin: Int, top: Int, loaded: Int, after: Int64sOut, counts: Int64sOut, sets: Int64s) -> Int:
    """Return the group of a token by its set of configurations; recent configurations are compared first."""
    if top != begin + 1 or sets[3 * begin + 2] >= loaded:
        return np.int64(ALONE)
    state, register, below = sets[3 * begin], sets[3 * begin + 1], sets[3 * begin + 2]
    for back in range(counts[GROUPS]):
        position = 3 * (counts[GROUPS] - 1 - back)
        if after[position] == state and after[position + 1] == register and after[position + 2] == below:
            return position // 3 + FIRST_GROUP
    position = 3 * counts[GROUPS]
    if position + 3 > after.size:
        return np.int64(ALONE)
    after[position], after[position + 1], after[position + 2] = state, register, below
    counts[GROUPS] += 1
    return position // 3 + FIRST_GROUP


@part
def _step_plainly(
    before: Int, byte_class: Int, marks: Int64sOut, table: Int32s, width: Int, facts: Int32s, nodes: Int64s,
    frames: Int64s, sets: Int64sOut,
) -> Int:  # fmt: skip
    """Read one byte if there is one configuration, and it keeps its register and stack, as in most steps."""
    # before: The offset in ``marks`` of the depth before the byte.
    # byte_class: The class of the byte.
    # marks, table, width, facts, nodes, frames, sets: See ``walk``.
    # Returns as ``_step_all`` does, or ``NOT_PLAIN``.
    begin, end = marks[before], marks[before + 1]
    if end != begin + 1:
        return np.int64(NOT_PLAIN)
    state, node = sets[3 * begin], sets[3 * begin + 2]
    frame = nodes[NODE_FIELDS * node + FIRST_FRAME]
    has_frames = frame >= 0
    if has_frames and facts[FACTS * state + ACCEPTS] != 0:  # the byte must not be read after the rule
        if nodes[NODE_FIELDS * node + NODE_IS_DISTINCT] != 0 or frames[FRAME_FIELDS * frame + NEXT_FRAME] >= 0:
            return np.int64(NOT_PLAIN)
        back = frames[FRAME_FIELDS * frame + FRAME_STATE]
        if table[back * width + byte_class] != -1 or facts[FACTS * back + ACCEPTS] != 0:
            return np.int64(NOT_PLAIN)
    top, entry = np.int64(end), np.int64(table[state * width + byte_class])
    if entry >= 0:
        if not keeps_register(entry, facts):
            return np.int64(NOT_PLAIN)
        if has_frames and facts[FACTS * entry + IS_END] != 0:
            return np.int64(NOT_PLAIN)
        if 3 * top + 3 > sets.size:
            return np.int64(NOT_PLAIN)
        sets[3 * top] = entry
        sets[3 * top + 1] = sets[3 * begin + 1]
        sets[3 * top + 2] = node
        top += 1
    elif entry != -1:
        return np.int64(NOT_PLAIN)
    for number in range(4):
        marks[before + 4 + number] = marks[before + number]
    marks[before + 4] = end
    marks[before + 5] = top
    return top


@part
def _step_all(
    begin: Int, end: Int, made: Int, doubt: Int, loaded: Int, byte_class: Int, marks: Int64sOut, mark: Int,
    table: Int32s, width: Int, facts: Int32s, distances: Int64s, members: Int64s, actions: Int32s,
    nodes: Int64sOut, frames: Int64sOut, sets: Int64sOut,
) -> Int:  # fmt: skip
    """Read one byte with several configurations; return the end of the new set, -1 if there is no room.

    Configurations to which rules return before the byte are gathered at the other end of ``sets``; each is read once,
    though a graph-structured stack may lead to it several times.
    """
    # begin, end: The configurations in ``sets``; the new set begins at ``end``.
    # made: The number of stack nodes.
    # doubt: Whether a whole text of a distinct call was read.
    # loaded: The number of the first made stack node.
    # byte_class: The class of the byte.
    # mark: The offset in ``marks`` for the new set.
    # marks, table, width, facts, distances, members, actions, nodes, frames, sets: See ``walk``.
    top = np.int64(end)
    room = np.int64(sets.size // 3)
    waiting = room
    for position in range(begin, end):
        state, register, node = sets[3 * position], sets[3 * position + 1], sets[3 * position + 2]
        looked_at = waiting
        while True:
            entry = np.int64(table[state * width + byte_class])
            if entry >= 0:
                top, doubt = _enter(
                    entry, register, node, end, top, waiting, loaded, doubt, facts, members, nodes, frames, sets
                )
            elif entry != -1:
                at = -2 - entry
                ways = np.int64(actions[at])
                at += 1
                for _ in range(ways):
                    target, is_fresh, pushes = np.int64(actions[at]), actions[at + 1], np.int64(actions[at + 2])
                    at += 3
                    below = node
                    has_room = True
                    for _push in range(pushes):
                        flags = actions[at + 1]
                        if (made + 1) * NODE_FIELDS > nodes.size or (made + 1) * FRAME_FIELDS > frames.size:
                            return -1
                        kept = register if flags & KEEPS_REGISTER != 0 else np.int64(0)
                        frames[FRAME_FIELDS * made + FRAME_STATE] = actions[at]
                        frames[FRAME_FIELDS * made + FRAME_REGISTER] = kept
                        frames[FRAME_FIELDS * made + FRAME_BELOW] = below
                        frames[FRAME_FIELDS * made + NEXT_FRAME] = -1
                        nodes[NODE_FIELDS * made + FIRST_FRAME] = made
                        nodes[NODE_FIELDS * made + NODE_IS_DISTINCT] = 1 if flags & IS_DISTINCT != 0 else 0
                        length = bytes_left(np.int64(actions[at]), kept, facts, distances, members)
                        has_room = has_room and (length < FAR or not must_be_open(np.int64(actions[at]), facts))
                        nodes[NODE_FIELDS * made + NODE_DISTANCE] = nodes[NODE_FIELDS * below + NODE_DISTANCE] + length
                        below = made
                        made += 1
                        at += 2
                    if has_room:
                        top, doubt = _enter(
                            target, np.int64(0) if is_fresh != 0 else register, below, end, top, waiting, loaded, doubt,
                            facts, members, nodes, frames, sets,
                        )  # fmt: skip
            if top < 0:
                return -1
            if facts[FACTS * state + ACCEPTS] != 0:
                frame = nodes[NODE_FIELDS * node + FIRST_FRAME]
                if frame >= 0 and node >= loaded and nodes[NODE_FIELDS * node + NODE_IS_DISTINCT] != 0:
                    doubt = np.int64(1)
                while frame >= 0:
                    back, kept = (
                        frames[FRAME_FIELDS * frame + FRAME_STATE],
                        frames[FRAME_FIELDS * frame + FRAME_REGISTER],
                    )
                    below = frames[FRAME_FIELDS * frame + FRAME_BELOW]
                    frame = frames[FRAME_FIELDS * frame + NEXT_FRAME]
                    if _is_among(back, kept, below, waiting, room, loaded, nodes, frames, sets):
                        continue
                    waiting -= 1
                    if waiting <= top:
                        return -1
                    sets[3 * waiting] = back
                    sets[3 * waiting + 1] = kept
                    sets[3 * waiting + 2] = below
            if looked_at == waiting:
                break
            looked_at -= 1
            state, register, node = sets[3 * looked_at], sets[3 * looked_at + 1], sets[3 * looked_at + 2]
    marks[mark] = end
    marks[mark + 1] = top
    marks[mark + 2] = made
    marks[mark + 3] = doubt
    return top


@part
def _enter(
    state: Int, register: Int, node: Int, begin: Int, top: Int, waiting: Int, loaded: Int, doubt: Int,
    facts: Int32s, members: Int64s, nodes: Int64s, frames: Int64s, sets: Int64sOut,
) -> tuple[Int, Int]:  # fmt: skip
    """Add the configurations after a step into a state to a set, with returns from rules that end there.

    Return the end of the set (-1 if there is no room) and the doubt.
    """
    register = after_step(state, register, facts, members)
    if register == REFUSED:
        return top, doubt
    if changes_unseen(state, facts, members):
        doubt = np.int64(1)
    stop = waiting
    while True:
        if facts[FACTS * state + IS_END] != 0 and nodes[NODE_FIELDS * node + FIRST_FRAME] >= 0:
            if node >= loaded and nodes[NODE_FIELDS * node + NODE_IS_DISTINCT] != 0:
                doubt = np.int64(1)
            frame = nodes[NODE_FIELDS * node + FIRST_FRAME]
            while frame >= 0:
                waiting -= 1
                if waiting <= top:
                    return np.int64(-1), doubt
                sets[3 * waiting] = frames[FRAME_FIELDS * frame + FRAME_STATE]
                sets[3 * waiting + 1] = frames[FRAME_FIELDS * frame + FRAME_REGISTER]
                sets[3 * waiting + 2] = frames[FRAME_FIELDS * frame + FRAME_BELOW]
                frame = frames[FRAME_FIELDS * frame + NEXT_FRAME]
        else:
            if not _is_among(state, register, node, begin, top, loaded, nodes, frames, sets):
                if top + 1 >= waiting:
                    return np.int64(-1), doubt
                sets[3 * top] = state
                sets[3 * top + 1] = register
                sets[3 * top + 2] = node
                top += 1
        if waiting == stop:
            break
        state, register, node = sets[3 * waiting], sets[3 * waiting + 1], sets[3 * waiting + 2]
        waiting += 1
    return top, doubt


@part
def _is_among(
    state: Int, register: Int, node: Int, begin: Int, end: Int, loaded: Int, nodes: Int64s, frames: Int64s, sets: Int64s
) -> Flag:
    """Return whether a configuration is in ``sets`` from ``begin`` to ``end``."""
    for position in range(begin, end):
        if (
            sets[3 * position] == state
            and sets[3 * position + 1] == register
            and _are_equal(sets[3 * position + 2], node, loaded, nodes, frames)
        ):
            return True
    return False


@part
def _are_equal(left: Int, right: Int, loaded: Int, nodes: Int64s, frames: Int64s) -> Flag:
    """Return whether two stack nodes have the same frames; loaded nodes are unique, made nodes have one frame."""
    while left != right:
        if left < loaded or right < loaded:
            return False
        if nodes[NODE_FIELDS * left + NODE_IS_DISTINCT] != nodes[NODE_FIELDS * right + NODE_IS_DISTINCT]:
            return False
        one, other = FRAME_FIELDS * nodes[NODE_FIELDS * left], FRAME_FIELDS * nodes[NODE_FIELDS * right]
        if frames[one] != frames[other] or frames[one + FRAME_REGISTER] != frames[other + FRAME_REGISTER]:
            return False
        left, right = frames[one + FRAME_BELOW], frames[other + FRAME_BELOW]
    return True
