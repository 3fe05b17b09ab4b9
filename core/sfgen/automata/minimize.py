"""The minimal automaton of a language, with a fixed numbering, so that equal languages have equal arrays.

First every state is dropped that the start does not reach or that reaches no accepting state. Then equal states are
joined by partition refinement (Hopcroft, 1971), which takes O(edges · log states). The transition function is partial,
so both first blocks are splitters at the start, and the smaller half of a split block from then on. At last, byte
classes with equal columns are joined, and the states are numbered.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfgen.automata.determinize import Deterministic
from sfgen.kernels import Flags, FlagsOut, Int, Int32s, Int32sOut, Int32Table, Int32TableOut, kernel


def minimize(automaton: Deterministic) -> Deterministic:
    """Minimize an automaton (Hopcroft 1971) and number its states canonically.

    The start is number 0. The others are numbered by a walk with a stack that holds the start: the state pushed last is
    popped, its bytes are visited in ascending order, and each target seen for the first time gets the next number and
    is pushed. Classes of bytes are numbered by their smallest byte. The empty language is one state without
    transitions.
    """
    classes = automaton.byte_classes.astype(np.uint8).tobytes()
    used = list(dict.fromkeys(classes))  # by their smallest byte
    transitions = automaton.transitions
    if used != list(range(transitions.shape[1])):
        transitions = np.take(transitions, used, axis=1)
    transitions = np.ascontiguousarray(transitions, dtype=np.int32)
    accepting = np.ascontiguousarray(automaton.accepting, dtype=np.bool_)
    blocks, block_of = equal_states(transitions, accepting)
    if blocks == 0:
        return Deterministic(
            np.full((1, 1), -1, dtype=np.int32), np.zeros(256, dtype=np.uint8), np.zeros(1, dtype=np.bool_)
        )
    table, class_of, final = numbered(transitions, accepting, blocks, block_of)
    joined = bytearray(256)
    for number, label in enumerate(used):
        joined[label] = class_of[number]
    return Deterministic(table, np.frombuffer(classes.translate(joined), dtype=np.uint8), final)


def equal_states(transitions: NDArray[np.int32], accepting: NDArray[np.bool_]) -> tuple[int, NDArray[np.int32]]:
    """Partition the states by equivalence (Hopcroft 1971).

    Takes transitions, int32 ``[states, classes]`` with -1 for none, and bool ``[states]``. Returns the number of
    blocks, and the block of each state, int32 ``[states]``; -1: dropped.
    """
    states, classes = transitions.shape
    block_of = np.full(states, -1, dtype=np.int32)
    if states == 0:
        return 0, block_of
    edges = int(np.count_nonzero(transitions >= 0))
    reached, alive, is_waiting = np.zeros((3, states + 1), dtype=np.bool_)
    edge_first, stack, order, position, first, end, marked, waiting, touched = np.zeros((9, states + 2), dtype=np.int32)
    edge_source, edge_label, next_edge = np.empty((3, edges), dtype=np.int32)
    head, labels = np.full((2, classes), -1, dtype=np.int32)
    blocks = _equal_states(
        transitions, accepting, block_of, edge_first, reached, alive, is_waiting, stack, order, position,
        first, end, marked, waiting, touched, edge_source, edge_label, next_edge, head, labels,
    )  # fmt: skip
    return blocks, block_of


@kernel
def _equal_states(
    transitions: Int32Table,
    accepting: Flags,
    block_of: Int32sOut,
    edge_first: Int32sOut,
    reached: FlagsOut,
    alive: FlagsOut,
    is_waiting: FlagsOut,
    stack: Int32sOut,
    order: Int32sOut,
    position: Int32sOut,
    first: Int32sOut,
    end: Int32sOut,
    marked: Int32sOut,
    waiting: Int32sOut,
    touched: Int32sOut,
    edge_source: Int32sOut,
    edge_label: Int32sOut,
    next_edge: Int32sOut,
    head: Int32sOut,
    labels: Int32sOut,
) -> Int:
    """Fill ``block_of``; the number of blocks.

    The sources of the edges into state ``i`` are ``edge_source[edge_first[i] : edge_first[i + 1]]``. Block ``b`` is
    ``order[first[b] : end[b]]``, of which the first ``marked[b]`` are marked; ``position`` tells where a state lies.
    """
    states, classes = len(block_of), len(head)

    # The states that the start reaches.
    reached[0] = True
    stack[0] = 0
    depth = 1
    while depth > 0:
        depth -= 1
        state = stack[depth]
        for label in range(classes):
            target = transitions[state, label]
            if target >= 0 and not reached[target]:
                reached[target] = True
                stack[depth] = target
                depth += 1

    # Edges by target.
    for state in range(states):
        if reached[state]:
            for label in range(classes):
                if transitions[state, label] >= 0:
                    edge_first[transitions[state, label] + 2] += 1
    for state in range(states):
        edge_first[state + 2] += edge_first[state + 1]
    for state in range(states):
        if reached[state]:
            for label in range(classes):
                target = transitions[state, label]
                if target >= 0:
                    edge = edge_first[target + 1]
                    edge_first[target + 1] += 1
                    edge_source[edge] = state
                    edge_label[edge] = label

    # The states that reach an accepting state.
    for state in range(states):
        if reached[state] and accepting[state]:
            alive[state] = True
            stack[depth] = state
            depth += 1
    while depth > 0:
        depth -= 1
        state = stack[depth]
        for edge in range(edge_first[state], edge_first[state + 1]):
            if not alive[edge_source[edge]]:
                alive[edge_source[edge]] = True
                stack[depth] = edge_source[edge]
                depth += 1
    if not alive[0]:
        return 0

    # The partition: first those that accept, then the others. Both are waiting to split.
    waiting_count = 0
    blocks = 0
    filled = 0
    for kind in range(2):
        begin = filled
        for state in range(states):
            if alive[state] and accepting[state] != (kind == 1):
                order[filled] = state
                position[state] = filled
                block_of[state] = blocks
                filled += 1
        if filled > begin:
            first[blocks] = begin
            end[blocks] = filled
            is_waiting[blocks] = True
            waiting[waiting_count] = blocks
            waiting_count += 1
            blocks += 1

    # The edges into the splitter as one linked list for each label.
    while waiting_count > 0:
        waiting_count -= 1
        splitter = waiting[waiting_count]
        is_waiting[splitter] = False
        label_count = 0
        for i in range(first[splitter], end[splitter]):
            for edge in range(edge_first[order[i]], edge_first[order[i] + 1]):
                # Every source is alive, since it reaches a state that is.
                label = edge_label[edge]
                if head[label] < 0:
                    labels[label_count] = label
                    label_count += 1
                next_edge[edge] = head[label]
                head[label] = edge
        for i in range(label_count):
            touched_count = 0
            edge = head[labels[i]]
            head[labels[i]] = -1
            while edge >= 0:
                # Move the source to the marked part of its block. No source comes twice: the edges are deterministic.
                state = edge_source[edge]
                edge = next_edge[edge]
                block = block_of[state]
                if marked[block] == 0:
                    touched[touched_count] = block
                    touched_count += 1
                boundary = first[block] + marked[block]
                other = order[boundary]
                order[position[state]] = other
                position[other] = position[state]
                order[boundary] = state
                position[state] = boundary
                marked[block] += 1
            for j in range(touched_count):
                block = touched[j]
                boundary = first[block] + marked[block]
                marked[block] = 0
                if boundary == end[block]:
                    continue
                # The smaller part becomes the new block. It must be a splitter in any case: if the old block waits
                # then both parts have to, and if not then one of them is enough.
                begin, filled = boundary, end[block]
                if boundary - first[block] <= end[block] - boundary:
                    begin, filled = first[block], boundary
                    first[block] = boundary
                else:
                    end[block] = boundary
                first[blocks] = begin
                end[blocks] = filled
                for k in range(begin, filled):
                    block_of[order[k]] = blocks
                is_waiting[blocks] = True
                waiting[waiting_count] = blocks
                waiting_count += 1
                blocks += 1
    return blocks


def numbered(
    transitions: NDArray[np.int32], accepting: NDArray[np.bool_], blocks: int, block_of: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.bool_]]:
    """Number the blocks of :func:`equal_states` canonically, and join equal classes.

    Returns transitions, int32 ``[blocks, joined classes]``; the joined class of each class; whether each block accepts.
    """
    transitions = np.ascontiguousarray(transitions)
    member = np.empty(blocks + 1, dtype=np.int32)
    member[block_of] = np.arange(len(block_of))  # the last is for -1
    member = member[:-1]
    first_alike, before, line, opened = np.zeros((4, transitions.shape[1]), dtype=np.int32)
    _equal_columns(transitions, member, block_of, first_alike, before, line, opened)
    columns, class_of = np.unique(first_alike, return_inverse=True)
    number = np.full(blocks, -1, dtype=np.int32)
    order, stack = np.empty((2, blocks), dtype=np.int32)
    table = np.full((blocks, len(columns)), -1, dtype=np.int32)
    _number(transitions, member, block_of, columns, number, order, stack, table)
    return table, class_of.astype(np.int32), accepting[member[order]]


@kernel
def _equal_columns(
    transitions: Int32Table, member: Int32s, block_of: Int32s, first_alike: Int32sOut, before: Int32sOut,
    line: Int32sOut, opened: Int32sOut,
) -> Int:  # fmt: skip
    """Refine ``first_alike``, for each class the first one that leads to the same blocks everywhere, row by row.

    Mostly nearly all classes differ after few rows: only the others, which are ``opened``, are looked at in the next.
    The other arrays are zero: they are scratch space. Returns the number of rows.
    """
    classes, count, row = len(first_alike), len(first_alike), 0
    for label in range(classes):
        opened[label] = label
    while row < len(member) and count > 0:
        for number in range(count):
            target = transitions[member[row], opened[number]]
            line[opened[number]] = block_of[target] if target >= 0 else -1
        is_split = False
        for number in range(count):
            label = opened[number]
            other = before[label]
            while line[other] != line[label] or before[other] != before[label]:
                other += 1  # to the class itself at last
            first_alike[label] = other
            is_split = is_split or other != before[label]
        if is_split:
            for label in range(classes):
                line[label] = 0
            for label in range(classes):
                before[label] = first_alike[label]
                line[before[label]] += 1
            count = 0
            for label in range(classes):
                if line[before[label]] > 1:
                    opened[count] = label
                    count += 1
        row += 1
    return row


@kernel
def _number(
    transitions: Int32Table, member: Int32s, block_of: Int32s, columns: Int32s, number: Int32sOut, order: Int32sOut,
    stack: Int32sOut, table: Int32TableOut,
) -> Int:  # fmt: skip
    """Fill ``number``, its inverse ``order`` and ``table`` by the walk with a stack; return the number of blocks.

    ``number`` and ``table`` must be -1 everywhere before.
    """
    number[block_of[0]] = 0
    order[0] = block_of[0]
    stack[0] = block_of[0]
    depth = np.int64(1)
    count = np.int64(1)
    while depth > 0:
        depth -= 1
        block = stack[depth]
        row, own = np.uintp(member[block]), np.uintp(number[block])
        for column in range(len(columns)):
            target = transitions[row, np.uintp(columns[column])]
            if target >= 0:
                target = block_of[target]
                if target >= 0:
                    if number[target] < 0:
                        number[target] = count
                        order[count] = target
                        stack[depth] = target
                        count += 1
                        depth += 1
                    table[own, np.uintp(column)] = number[target]
    return count
