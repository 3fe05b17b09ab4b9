"""The DFA walker: which tokens can follow a state, told in one walk over the token trie.

The trie lists its nodes in pre-order, so a walk from left to right with one DFA state per depth visits every token
that the automaton can read, and a byte that the automaton refuses skips the whole subtree below it. This is
Algorithm 3 and 4 of Willard and Louf (2023) for all tokens at once: shared beginnings are read once.

The kernels take bare arrays, release the GIL, and allocate only their stack. ``room`` is the one filter: a token is
taken only if its end state ``s`` has ``distance[s] <= room``, where ``distance`` counts the tokens that still have to
follow. With all distances zero and ``room`` zero the filter lets everything pass.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Int32 = NDArray[np.int32]

UNREACHABLE = np.int32(2**31 - 1)
"""The distance of a state from which no sequence of tokens reaches an accepting one."""


@njit(cache=True, nogil=True)
def fill_row(
    state: int,
    transitions: Int32,
    byte_classes: NDArray[np.uint8],
    labels: NDArray[np.uint8],
    depths: Int32,
    subtree_ends: Int32,
    token_starts: Int32,
    token_ids: Int32,
    max_depth: int,
    distance: Int32,
    room: int,
    row: NDArray[np.uint32],
) -> int:
    """Set in ``row`` (uint32 ``[ceil(V / 32)]``) the bit of each token that ``state`` can read; return their number."""
    stack = np.empty(max_depth + 1, dtype=np.int32)
    stack[0] = state
    count = 0
    node = 0
    while node < labels.size:
        depth = depths[node]
        target = transitions[stack[depth - 1], byte_classes[labels[node]]]
        if target < 0:
            node = subtree_ends[node]
            continue
        stack[depth] = target
        if distance[target] <= room:
            for position in range(token_starts[node], token_starts[node + 1]):
                token = token_ids[position]
                row[token >> 5] |= np.uint32(1) << np.uint32(token & 31)
                count += 1
        node += 1
    return count


@njit(cache=True, nogil=True)
def list_transitions(
    state: int,
    transitions: Int32,
    byte_classes: NDArray[np.uint8],
    labels: NDArray[np.uint8],
    depths: Int32,
    subtree_ends: Int32,
    token_starts: Int32,
    token_ids: Int32,
    max_depth: int,
    distance: Int32,
    room: int,
    tokens: Int32,
    targets: Int32,
) -> int:
    """Write the tokens that ``state`` can read, and the states they lead to, in trie order; return their number.

    ``tokens`` and ``targets`` are int32 buffers with room for every token.
    """
    stack = np.empty(max_depth + 1, dtype=np.int32)
    stack[0] = state
    count = 0
    node = 0
    while node < labels.size:
        depth = depths[node]
        target = transitions[stack[depth - 1], byte_classes[labels[node]]]
        if target < 0:
            node = subtree_ends[node]
            continue
        stack[depth] = target
        if distance[target] <= room:
            for position in range(token_starts[node], token_starts[node + 1]):
                tokens[count] = token_ids[position]
                targets[count] = target
                count += 1
        node += 1
    return count


def distances_to_accepting(sources: Int32, targets: Int32, accepting: NDArray[np.bool_]) -> Int32:
    """Fewest edges from each state to an accepting one, by one breadth-first search against the edges.

    Args:
        sources: Start state of each edge, int32 ``[edges]``.
        targets: End state of each edge, int32 ``[edges]``.
        accepting: Which states accept, bool ``[states]``.

    Returns:
        int32 ``[states]``; ``UNREACHABLE`` where there is no way.
    """
    order = np.argsort(targets, kind="stable")
    sources = sources[order]
    starts = np.searchsorted(targets[order], np.arange(accepting.size + 1))
    distance = np.where(accepting, np.int32(0), UNREACHABLE).astype(np.int32)
    frontier = np.flatnonzero(accepting)
    step = 0
    while frontier.size:
        step += 1
        before = np.concatenate([sources[starts[state] : starts[state + 1]] for state in frontier])
        frontier = np.unique(before[distance[before] == UNREACHABLE])
        distance[frontier] = step
    return distance
