"""D(s): the fewest tokens from each state to an accepting one.

The token limit and dead ends need it. It is a breadth-first search backwards over the tokens: from the states of
distance k to those of distance k + 1. The tokens between two states are not listed, since there can be millions. A
backward search over the *bytes* from the states of distance k counts the bytes from every state to them, up to the
length of the longest token. Then each state without a distance walks the token trie: a subtree that is not high enough
to get there is skipped, and the walk ends at the first token that gets there.

A walk that finds nothing may visit the whole trie. Where many walks do, walks from the states of distance k through the
trie of the reversed tokens take place at the same time, and the direction that is done first has the result (compare
the direction-optimizing search of Beamer, Asanović and Patterson, 2012).
"""

from __future__ import annotations

import threading
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from sfgen.automata import Dfa
from sfgen.kernels import (
    Flag,
    Flags,
    FlagsOut,
    Int,
    Int32s,
    Int32sOut,
    Int32Table,
    Int64sOut,
    UInt8s,
    UInt8sOut,
    UInt32s,
    kernel,
    part,
)
from sfgen.vocabulary import TokenTrie

UNREACHABLE = np.int32(2**31 - 1)
"""The distance of a state from which no sequence of tokens reaches an accepting one."""

PATIENCE = 1 << 17
"""Trie nodes, half a millisecond: a distance that takes more is searched from both ends."""

_QUICK = 256
"""Trie nodes that are visited for a state in any case, unless ``patience`` is less."""

_ANY = 1 << 62

_ROOM = 1 << 20
"""The fewest states that a backward search over the tokens may hold; a search that needs more room is given up."""


def token_distances(dfa: Dfa, trie: TokenTrie, patience: int = PATIENCE) -> NDArray[np.int32]:
    """Compute D(s), the fewest tokens from each state to an end.

    >>> from sfgen.vocabulary import Vocabulary
    >>> token_distances(Dfa.from_regex("a{5}|b"), Vocabulary([b"a", b"aaa"]).trie).tolist()
    [3, 2, 0, 1, 2, 1]
    """
    states = len(dfa)
    into = _edges_into(dfa)
    distance = np.full(states, UNREACHABLE, dtype=np.int32)
    seen, away, queue = np.full(states, -1, dtype=np.int32), *np.empty((2, states), dtype=np.int32)
    hard, stack = np.empty(states, dtype=np.int32), np.empty(trie.max_depth + 1, dtype=np.int32)
    frontier = np.zeros(states, dtype=np.int32)
    ends = np.flatnonzero(dfa.accepting)
    frontier[: len(ends)] = ends
    at = np.array([0, len(ends), 0, 0], dtype=np.int64)
    behind = np.zeros(dfa.transitions.shape[1], dtype=np.int32)
    np.maximum.at(behind, dfa.byte_classes[trie.bytes], np.where(trie.heights < 255, trie.heights, UNREACHABLE))
    walked: tuple[Any, ...] = (
        seen, away, dfa.transitions, dfa.byte_classes,
        trie.bytes, trie.depths, trie.subtree_ends, trie.heights, trie.first_tokens, trie.roots, stack,
    )  # fmt: skip
    both: tuple[Any, ...] | None = None
    while _rounds(at, patience, distance, frontier, hard, queue, behind, *into, *walked):
        if both is None:
            back = _reversed(trie)
            both = (
                np.zeros(states, dtype=np.bool_), np.full(states, UNREACHABLE, dtype=np.int32),
                np.empty(states, dtype=np.int32), np.empty(max(_ROOM, 2 * states), dtype=np.int32),
                np.empty(trie.max_depth + 2, dtype=np.int32), *into, *walked,
                back.bytes, back.depths, back.subtree_ends, back.heights, back.first_tokens,
            )  # fmt: skip
        _from_both_ends(at, frontier, hard, queue, *both)
    distance.setflags(write=False)
    return distance


def byte_distances(dfa: Dfa) -> NDArray[np.int32]:
    """Compute the fewest bytes from each state to an accepting one.

    >>> byte_distances(Dfa.from_regex("a{5}|b")).tolist()
    [1, 4, 0, 3, 2, 1]
    """
    distance = np.full(len(dfa), UNREACHABLE, dtype=np.int32)
    first, sources, _ = _edges_into(dfa)
    _byte_distances(distance, np.empty(len(dfa), dtype=np.int32), dfa.accepting, first, sources)
    distance.setflags(write=False)
    return distance


def _edges_into(dfa: Dfa) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.uint8]]:
    """List the transitions by their targets."""
    first = np.zeros(len(dfa) + 2, dtype=np.int32)
    number = np.count_nonzero(dfa.transitions >= 0)
    sources, labels = np.empty(number, dtype=np.int32), np.empty(number, dtype=np.uint8)
    _list_edges(first, sources, labels, dfa.transitions)
    return first, sources, labels


_known: WeakKeyDictionary[TokenTrie, TokenTrie] = WeakKeyDictionary()
_lock = threading.Lock()


def _reversed(trie: TokenTrie) -> TokenTrie:
    """Build the trie of the reversed tokens, made once; the ids are others."""
    with _lock:
        made = _known.get(trie)
        if made is None:
            path, tokens = bytearray(trie.max_depth), []
            ends = np.diff(trie.token_starts) > 0
            for depth, label, is_end in zip(trie.depths.tolist(), trie.bytes.tolist(), ends.tolist(), strict=True):
                path[depth - 1] = label
                if is_end:
                    tokens.append(bytes(path[depth - 1 :: -1]))
            made = _known[trie] = TokenTrie.from_tokens(tokens)
        return made


@kernel
def _list_edges(first: Int32sOut, sources: Int32sOut, labels: UInt8sOut, transitions: Int32Table) -> Int:
    """See ``_edges_into``; ``first`` is zero."""
    states, classes = transitions.shape
    for state in range(states):
        for label in range(classes):
            target = transitions[state, label]
            if target >= 0:
                first[target + 2] += 1
    for state in range(states):
        first[state + 2] += first[state + 1]
    for label in range(classes):
        for state in range(states):
            target = transitions[state, label]
            if target >= 0:
                edge = first[target + 1]
                sources[edge] = state
                labels[edge] = label
                first[target + 1] = edge + 1
    return 0


@kernel
def _byte_distances(distance: Int32sOut, queue: Int32sOut, accepting: Flags, first: Int32s, sources: Int32s) -> Int:
    """Fill ``distance``, in which no state has a way yet."""
    end = np.int64(0)
    for state in range(accepting.size):
        if accepting[state]:
            distance[state] = 0
            queue[end] = state
            end += 1
    read = np.int64(0)
    while read < end:
        state = queue[read]
        for edge in range(first[state], first[state + 1]):
            source = sources[edge]
            if distance[source] == UNREACHABLE:
                distance[source] = distance[state] + 1
                queue[end] = source
                end += 1
        read += 1
    return 0


@kernel
def _rounds(
    at: Int64sOut, patience: Int, distance: Int32sOut, frontier: Int32sOut, hard: Int32sOut, queue: Int32sOut,
    behind: Int32s, first: Int32s, sources: Int32s, edge_labels: UInt8s,
    seen: Int32sOut, away: Int32sOut, transitions: Int32Table, byte_classes: UInt8s,
    labels: UInt8s, depths: Int32s, subtree_ends: Int32s, heights: UInt8s, first_tokens: UInt32s, roots: Int32s,
    stack: Int32sOut,
) -> Flag:  # fmt: skip
    """Find the states of each distance; tell whether there are some that take long."""
    max_depth = len(stack) - 1
    step, found = at[0], at[1]
    while found > 0:
        for position in range(found):
            state = frontier[position]
            distance[state] = step
            queue[position] = state
            away[state] = 0
            seen[state] = step
        last, end, read = found, found, np.int64(0)
        while read < end and away[queue[read]] < max_depth:
            state = queue[read]
            for edge in range(first[state], first[state + 1]):
                source = sources[edge]
                if seen[source] != step and behind[edge_labels[edge]] >= away[state]:
                    seen[source] = step
                    away[source] = away[state] + 1
                    queue[end] = source
                    end += 1
            read += 1
        found, left, waiting = np.int64(0), patience, np.int64(0)
        for position in range(last, end):
            state = queue[position]
            if distance[state] != UNREACHABLE:
                continue
            # Mostly a token of the shortest text leads there, and it is quickly found.
            for detour in range(2):
                budget = max(left, min(_QUICK, patience)) if detour else _ANY
                has_token, visited = _has_token(
                    state, detour == 1, budget, step, seen, away, transitions, byte_classes,
                    labels, depths, subtree_ends, heights, first_tokens, roots, stack,
                )  # fmt: skip
                left -= visited
                if has_token:
                    frontier[found] = state
                    found += 1
                    break
                if visited > budget:
                    hard[waiting] = state
                    waiting += 1
        step += 1
        if waiting > 0:
            at[0], at[1], at[2], at[3] = step, found, waiting, last
            return True
    return False


@part
def _has_token(
    state: Int, detour: Flag, budget: Int, step: Int, seen: Int32s, away: Int32s, transitions: Int32Table,
    byte_classes: UInt8s,
    labels: UInt8s, depths: Int32s, subtree_ends: Int32s, heights: UInt8s, first_tokens: UInt32s, roots: Int32s,
    stack: Int32sOut,
) -> tuple[Flag, Int]:  # fmt: skip
    """Return whether a token leads from ``state`` to a state 0 bytes away, straight or by a detour.

    The second number is that of visited trie nodes: more than ``budget`` if the budget did not suffice.
    """
    stack[0] = state
    visited = np.int64(0)
    for byte in range(256):
        target = transitions[state, byte_classes[byte]]
        if target < 0 or seen[target] != step or (not detour and away[target] >= away[state]):
            continue
        node, end = np.uintp(roots[byte]), np.uintp(roots[byte + 1])
        while node < end:
            visited += 1
            if visited > budget:
                return False, visited
            depth = np.uintp(depths[node])
            before = np.uintp(stack[depth - np.uintp(1)])
            target = transitions[before, np.uintp(byte_classes[np.uintp(labels[node])])]
            if target < 0:
                node = np.uintp(subtree_ends[node])
                continue
            after = np.uintp(target)
            height = heights[node]
            if (
                seen[after] != step
                or (away[after] > height and height < 255)
                or (not detour and away[after] + np.int64(depth) > away[state])
            ):
                node = np.uintp(subtree_ends[node])
                continue
            if away[after] == 0 and first_tokens[node] < 0x80000000:
                return True, visited
            stack[depth] = target
            node += np.uintp(1)
    return False, visited


@kernel
def _from_both_ends(
    at: Int64sOut, frontier: Int32sOut, hard: Int32s, queue: Int32s,
    waiting: FlagsOut, ahead: Int32sOut, order: Int32sOut, held: Int32sOut, starts: Int32sOut,
    first: Int32s, sources: Int32s, edge_labels: UInt8s,
    seen: Int32s, away: Int32s, transitions: Int32Table, byte_classes: UInt8s,
    labels: UInt8s, depths: Int32s, subtree_ends: Int32s, heights: UInt8s, first_tokens: UInt32s, roots: Int32s,
    stack: Int32sOut,
    back_labels: UInt8s, back_depths: Int32s, back_ends: Int32s, back_heights: UInt8s, back_tokens: UInt32s,
) -> Int:  # fmt: skip
    """Tell which states of ``hard`` are of the next distance: these are added to ``frontier``."""
    step, found, number, last = at[0] - 1, at[1], at[2], at[3]
    max_depth, classes = len(stack) - 1, transitions.shape[1]
    for position in range(number):
        state = hard[position]
        waiting[state] = True
        ahead[state] = 0
        order[position] = state
    end, read = number, np.int64(0)
    while read < end and ahead[order[read]] < max_depth:
        state = order[read]
        for label in range(classes):
            target = transitions[state, label]
            if target >= 0 and seen[target] == step and ahead[target] == UNREACHABLE:
                ahead[target] = ahead[state] + 1
                order[end] = target
                end += 1
        read += 1

    forth, back = np.int64(0), np.int64(0)  # the nodes that were visited in either direction
    near, far, is_open = np.int64(0), np.int64(0), True
    while near < number and far < last:
        if forth <= back or not is_open:
            state = hard[near]
            near += 1
            if waiting[state]:
                has_token, visited = _has_token(
                    state, True, _ANY, step, seen, away, transitions, byte_classes,
                    labels, depths, subtree_ends, heights, first_tokens, roots, stack,
                )  # fmt: skip
                forth += visited
                if has_token:
                    waiting[state] = False
                    frontier[found] = state
                    found += 1
        else:
            budget = (forth // near + 1) * (number - near)  # what is left in the other direction
            visited, found = _search_back(
                queue[far], budget, frontier, found, waiting, ahead, held, starts, first, sources, edge_labels,
                byte_classes, back_labels, back_depths, back_ends, back_heights, back_tokens,
            )  # fmt: skip
            back += visited
            is_open = visited <= budget
            far += is_open
    for position in range(number):
        waiting[hard[position]] = False
    for position in range(end):
        ahead[order[position]] = UNREACHABLE
    at[1] = found
    return 0


@part
def _search_back(
    target: Int, budget: Int, frontier: Int32sOut, found: Int, waiting: FlagsOut, ahead: Int32s,
    held: Int32sOut, starts: Int32sOut, first: Int32s, sources: Int32s, edge_labels: UInt8s, byte_classes: UInt8s,
    labels: UInt8s, depths: Int32s, subtree_ends: Int32s, heights: UInt8s, first_tokens: UInt32s,
) -> tuple[Int, Int]:  # fmt: skip
    """Find the waiting states from which a token leads to ``target``; see ``_from_both_ends``."""
    held[0] = target
    starts[0], starts[1] = 0, 1
    visited = np.int64(0)
    node, end = np.int64(0), len(labels)
    while node < end:
        depth = depths[node]
        fill = begin = np.int64(starts[depth])
        label, height = byte_classes[labels[node]], heights[node]
        for position in range(starts[depth - 1], begin):
            state = held[position]
            edge, stop = np.int64(first[state]), np.int64(first[state + 1])
            while edge < stop:  # the first edge of this class
                middle = (edge + stop) >> 1
                if edge_labels[middle] < label:
                    edge = middle + 1
                else:
                    stop = middle
            stop = np.int64(first[state + 1])
            while edge < stop and edge_labels[edge] == label:
                source = sources[edge]
                if ahead[source] <= height or (height == 255 and ahead[source] != UNREACHABLE):
                    if fill == held.size:
                        return budget + 1, found
                    held[fill] = source
                    fill += 1
                edge += 1
        visited += fill - starts[depth - 1] + 1
        if visited > budget:
            return visited, found
        if fill == begin:
            node = np.int64(subtree_ends[node])
            continue
        if first_tokens[node] < 0x80000000:
            for position in range(begin, fill):
                source = held[position]
                if waiting[source]:
                    waiting[source] = False
                    frontier[found] = source
                    found += 1
        starts[depth + 1] = fill
        node += 1
    return visited, found


LONGEST_TEXT = 1 << 16
"""The most bytes of a shortest text that is written out; for longer texts the number of bytes bounds that of tokens."""


@kernel
def fewest_tokens(
    text: UInt8s, offsets: Int, tokens: Int32sOut, labels: UInt8s, ends: Int32s, token_starts: Int32s, roots: Int32s
) -> Int:
    """Compute the fewest tokens that write each suffix of a text."""
    for start in range(offsets - 1, -1, -1):
        best = np.int64(tokens[start])
        node, stop = np.int64(roots[text[start]]), np.int64(roots[text[start] + 1])
        offset = start
        while node < stop:
            if labels[node] == text[offset]:
                offset += 1
                if token_starts[node] < token_starts[node + 1]:
                    best = min(best, np.int64(tokens[offset]) + 1)
                if offset == text.size:
                    break
                stop = np.int64(ends[node])
                node += 1
            else:
                node = np.int64(ends[node])
        tokens[start] = best
    return 0
