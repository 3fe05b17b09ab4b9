"""D(s): the fewest tokens from each state to an accepting one.

What the token limit and dead ends need. It is a breadth-first search against the tokens: from the states of distance k
back to those of distance k + 1. The tokens that lead from one state to another are not listed, of which there can be
millions. From the states of distance k a search against the *bytes* tells how many bytes every state is away from them,
up to the length of the longest token; then each state that has no distance yet is walked through the token trie, where
a subtree is left out if it is not high enough to get there, and the walk ends at the first token that does.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from sfgen.automata import Dfa
from sfgen.kernels import Flag, Flags, Int, Int32s, Int32sOut, Int32Table, UInt8s, UInt32s, kernel
from sfgen.vocabulary import TokenTrie

UNREACHABLE = np.int32(2**31 - 1)
"""The distance of a state from which no sequence of tokens reaches an accepting one."""


def token_distances(dfa: Dfa, trie: TokenTrie) -> NDArray[np.int32]:
    """Compute D(s), the fewest tokens from each state to an end.

    Args:
        dfa: The automaton.
        trie: The tokens.

    Returns:
        Int32 ``[states]``, read-only; ``UNREACHABLE`` where no tokens lead to an accepting state.

    >>> from sfgen.vocabulary import Vocabulary
    >>> token_distances(Dfa.from_regex("a{5}|b"), Vocabulary([b"a", b"aaa"]).trie).tolist()
    [3, 2, 0, 1, 2, 1]
    """
    states = len(dfa)
    distance = np.full(states, UNREACHABLE, dtype=np.int32)
    seen = np.full(states, -1, dtype=np.int32)
    before = np.empty(np.count_nonzero(dfa.transitions >= 0), dtype=np.int32)
    first = np.zeros(states + 2, dtype=np.int32)
    _token_distances(
        distance, seen, first, before, np.empty(states, dtype=np.int32), np.empty(states, dtype=np.int32),
        np.empty(trie.max_depth + 1, dtype=np.int32), dfa.transitions, dfa.byte_classes, dfa.accepting,
        trie.bytes, trie.depths, trie.subtree_ends, trie.heights, trie.first_tokens, trie.roots,
    )  # fmt: skip
    distance.setflags(write=False)
    return distance


def byte_distances(dfa: Dfa) -> NDArray[np.int32]:
    """Compute the fewest bytes from each state to an accepting one.

    Returns:
        Int32 ``[states]``, read-only.

    >>> byte_distances(Dfa.from_regex("a{5}|b")).tolist()
    [1, 4, 0, 3, 2, 1]
    """
    return token_distances(dfa, _trie_of_bytes())


@cache
def _trie_of_bytes() -> TokenTrie:
    return TokenTrie.from_tokens([bytes([byte]) for byte in range(256)])


@kernel
def _token_distances(
    distance: Int32sOut, seen: Int32sOut, first: Int32sOut, before: Int32sOut, queue: Int32sOut, away: Int32sOut,
    stack: Int32sOut, transitions: Int32Table, byte_classes: UInt8s, accepting: Flags,
    labels: UInt8s, depths: Int32s, subtree_ends: Int32s, heights: UInt8s, first_tokens: UInt32s, roots: Int32s,
) -> Int:  # fmt: skip
    """Fill ``distance``, in which there is no way yet; return the number of steps that were needed.

    Args:
        distance: Where the distances go.
        seen: -1 for each state.
        first: Zero, with room for each state and two more: the states before state ``i``, each once, will be
            ``before[first[i] : first[i + 1]]``.
        before: Room for as many states as there are transitions.
        queue: Room for each state: what lies before the states of the last distance, by the number of bytes.
        away: Room for that number of each state; it holds where ``seen`` is the round.
        stack: Room for a state at each depth of the trie, and one more.
        transitions: This and the next two: as in ``Dfa``.
        labels: This and the rest: as in ``TokenTrie``.
    """
    states, classes = transitions.shape
    max_depth = len(stack) - 1
    for turn in range(2):
        for state in range(states):
            for label in range(classes):
                target = transitions[state, label]
                if target >= 0 and seen[target] != state:
                    seen[target] = state
                    if turn == 0:
                        first[target + 2] += 1
                    else:
                        before[first[target + 1]] = state
                        first[target + 1] += 1
        for state in range(states):
            seen[state] = -1
            if turn == 0:
                first[state + 2] += first[state + 1]

    found = np.int64(0)
    for state in range(states):
        if accepting[state]:
            distance[state] = 0
            queue[found] = state
            found += 1
    step = np.int64(0)
    while found > 0:
        for position in range(found):
            away[queue[position]] = 0
            seen[queue[position]] = step
        end = found
        read = np.int64(0)
        while read < end and away[queue[read]] < max_depth:
            state = queue[read]
            for edge in range(first[state], first[state + 1]):
                source = before[edge]
                if seen[source] != step:
                    seen[source] = step
                    away[source] = away[state] + 1
                    queue[end] = source
                    end += 1
            read += 1
        last = found
        found = np.int64(0)
        for position in range(last, end):
            state = queue[position]
            if distance[state] != UNREACHABLE:
                continue
            # Mostly a token of the shortest text there is will do, and it is quickly found.
            for detour in range(2):
                if _has_token(
                    state, detour == 1, step, seen, away, transitions, byte_classes,
                    labels, depths, subtree_ends, heights, first_tokens, roots, stack,
                ):  # fmt: skip
                    queue[found] = state  # the front of the queue is read already
                    found += 1
                    break
        step += 1
        for position in range(found):
            distance[queue[position]] = step
    return step


@kernel(is_part=True)
def _has_token(
    state: Int, detour: Flag, step: Int, seen: Int32s, away: Int32s, transitions: Int32Table, byte_classes: UInt8s,
    labels: UInt8s, depths: Int32s, subtree_ends: Int32s, heights: UInt8s, first_tokens: UInt32s, roots: Int32s,
    stack: Int32sOut,
) -> Flag:  # fmt: skip
    """Whether a token leads from ``state`` to a state that is 0 bytes away, straight or by a detour."""
    stack[0] = state
    for byte in range(256):
        target = transitions[state, byte_classes[byte]]
        if target < 0 or seen[target] != step or (not detour and away[target] >= away[state]):
            continue
        node, end = np.uintp(roots[byte]), np.uintp(roots[byte + 1])
        while node < end:
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
                return True
            stack[depth] = target
            node += np.uintp(1)
    return False
