"""The one smallest automaton of a language, with a fixed numbering, so that equal languages have equal arrays.

First every state is dropped that the start does not reach or that reaches no accepting state. Then equal states are
joined by partition refinement (Hopcroft, 1971), which takes O(edges · log states). The transition function is partial,
so both first blocks are splitters at the start, and the smaller half of a split block from then on. At last classes of
bytes that lead everywhere to the same states are joined, and the states are numbered.
"""

from __future__ import annotations

import numba
import numpy as np

from sfgen.automata.determinize import Deterministic


def minimize(automaton: Deterministic) -> Deterministic:
    """The smallest deterministic automaton of the same language, in its canonical form.

    The start is number 0. The others are numbered by a walk with a stack that holds the start: the state pushed last is
    popped, its bytes are visited in ascending order, and each target seen for the first time gets the next number and
    is pushed. Classes of bytes are numbered by their smallest byte. The empty language is one state without
    transitions.

    Args:
        automaton: Any deterministic automaton with the start 0 and -1 for no transition.
    """
    classes = automaton.byte_classes.astype(np.uint8).tobytes()
    used = list(dict.fromkeys(classes))  # by their smallest byte
    transitions = np.ascontiguousarray(automaton.transitions[:, used], dtype=np.int32)
    accepting = np.array(automaton.accepting, dtype=np.bool_)  # a copy: read-only arrays would be compiled for anew
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


@numba.njit(cache=True, nogil=True)
def equal_states(transitions, accepting):  # type: ignore[no-untyped-def]
    """Number of blocks, and the block of each state (-1: dropped)."""
    states, classes = transitions.shape
    block_of = np.full(states, -1, dtype=np.int32)
    if states == 0:
        return 0, block_of

    # What the start reaches.
    reached = np.zeros(states, dtype=np.bool_)
    stack = np.empty(states, dtype=np.int32)
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
    edge_first = np.zeros(states + 2, dtype=np.int32)
    for state in range(states):
        if reached[state]:
            for label in range(classes):
                if transitions[state, label] >= 0:
                    edge_first[transitions[state, label] + 2] += 1
    for state in range(states):
        edge_first[state + 2] += edge_first[state + 1]
    edge_source = np.empty(edge_first[states + 1], dtype=np.int32)
    edge_label = np.empty(edge_first[states + 1], dtype=np.int32)
    for state in range(states):
        if reached[state]:
            for label in range(classes):
                target = transitions[state, label]
                if target >= 0:
                    edge = edge_first[target + 1]
                    edge_first[target + 1] += 1
                    edge_source[edge] = state
                    edge_label[edge] = label

    # What reaches an accepting state.
    alive = np.zeros(states, dtype=np.bool_)
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
        return 0, block_of

    # The partition: block b is order[first[b] : end[b]], of which the first marked[b] are marked.
    order = np.empty(states, dtype=np.int32)
    place = np.empty(states, dtype=np.int32)
    first = np.zeros(states + 1, dtype=np.int32)
    end = np.zeros(states + 1, dtype=np.int32)
    marked = np.zeros(states + 1, dtype=np.int32)
    is_waiting = np.zeros(states + 1, dtype=np.bool_)
    waiting = np.empty(states + 1, dtype=np.int32)
    waiting_count = 0
    blocks = 0
    filled = 0
    for wanted in (True, False):
        begin = filled
        for state in range(states):
            if alive[state] and accepting[state] == wanted:
                order[filled] = state
                place[state] = filled
                block_of[state] = blocks
                filled += 1
        if filled > begin:
            first[blocks], end[blocks] = begin, filled
            is_waiting[blocks] = True
            waiting[waiting_count] = blocks
            waiting_count += 1
            blocks += 1

    # The edges into the splitter as one linked list for each label.
    head = np.full(classes, -1, dtype=np.int32)
    next_edge = np.empty(len(edge_source), dtype=np.int32)
    labels = np.empty(classes, dtype=np.int32)
    touched = np.empty(states + 1, dtype=np.int32)
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
                order[place[state]] = other
                place[other] = place[state]
                order[boundary] = state
                place[state] = boundary
                marked[block] += 1
            for j in range(touched_count):
                block = touched[j]
                boundary = first[block] + marked[block]
                marked[block] = 0
                if boundary == end[block]:
                    continue
                # The smaller part becomes the new block. It must be a splitter in any case: if the old block waits
                # then both parts have to, and if not then one of them is enough.
                if boundary - first[block] <= end[block] - boundary:
                    first[blocks], end[blocks] = first[block], boundary
                    first[block] = boundary
                else:
                    first[blocks], end[blocks] = boundary, end[block]
                    end[block] = boundary
                for k in range(first[blocks], end[blocks]):
                    block_of[order[k]] = blocks
                is_waiting[blocks] = True
                waiting[waiting_count] = blocks
                waiting_count += 1
                blocks += 1
    return blocks, block_of


@numba.njit(cache=True, nogil=True)
def numbered(transitions, accepting, blocks, block_of):  # type: ignore[no-untyped-def]
    """The table over blocks and joined classes, the joined class of each class, and the accepting blocks; numbered."""
    states, classes = transitions.shape
    member = np.empty(blocks, dtype=np.int32)
    for state in range(states):
        if block_of[state] >= 0:
            member[block_of[state]] = state

    # Join classes with equal columns. The hash only saves comparisons.
    hashes = np.zeros(classes, dtype=np.int64)
    for block in range(blocks):
        for label in range(classes):
            target = transitions[member[block], label]
            joined = np.int64(block_of[target]) if target >= 0 else np.int64(-1)
            hashes[label] = hashes[label] * np.int64(1000003) + joined
    class_of = np.empty(classes, dtype=np.int32)
    columns = np.empty(classes, dtype=np.int32)
    count = 0
    for label in range(classes):
        equal = -1
        for column in range(count):
            if hashes[columns[column]] == hashes[label]:
                equal = column
                for block in range(blocks):
                    one = transitions[member[block], label]
                    two = transitions[member[block], columns[column]]
                    one = block_of[one] if one >= 0 else -1
                    two = block_of[two] if two >= 0 else -1
                    if one != two:
                        equal = -1
                        break
                if equal >= 0:
                    break
        if equal < 0:
            columns[count] = label
            equal = count
            count += 1
        class_of[label] = equal

    number = np.full(blocks, -1, dtype=np.int32)
    stack = np.empty(blocks, dtype=np.int32)
    table = np.full((blocks, count), -1, dtype=np.int32)
    final = np.zeros(blocks, dtype=np.bool_)
    number[block_of[0]] = 0
    stack[0] = block_of[0]
    depth = 1
    numbered = 1
    while depth > 0:
        depth -= 1
        block = stack[depth]
        final[number[block]] = accepting[member[block]]
        for column in range(count):
            target = transitions[member[block], columns[column]]
            if target >= 0 and block_of[target] >= 0:
                target = block_of[target]
                if number[target] < 0:
                    number[target] = numbered
                    numbered += 1
                    stack[depth] = target
                    depth += 1
                table[number[block], column] = number[target]
    return table, class_of, final
