"""Counts and lengths of the texts that complete each state of an automaton, where they are few."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfgen.automata.dfa import Dfa
from sfgen.weak_cache import kept_while_it_lives

MOST = 1 << 16
"""The most completing texts that are counted for a state."""

_ROUNDS = 4
"""The most bytes of texts that are counted state by state before all pairs of states are looked at."""

_LONGEST = 4096
"""The bytes of the longest texts that are counted."""


def completions(dfa: Dfa, usable: NDArray[np.bool_] | None = None) -> dict[int, int]:
    """Count the texts from each state to an end, where they are few.

    States with more than :data:`MOST` such texts are left out. A state is counted when all that follow it are known, so
    those from which a cycle is reached never are. ``usable``: the bytes that texts may have, bool ``[256]``.

    >>> completions(Dfa.from_regex("a|b[01]|c+"))
    {1: 1, 2: 2}
    """
    return _by_all_bytes(dfa) if usable is None else _completions(dfa, usable)


@kept_while_it_lives
def _by_all_bytes(dfa: Dfa) -> dict[int, int]:
    return _completions(dfa, None)


def _completions(dfa: Dfa, usable: NDArray[np.bool_] | None) -> dict[int, int]:
    classes = dfa.byte_classes if usable is None else dfa.byte_classes[usable]
    weights = np.bincount(classes, minlength=dfa.transitions.shape[1])
    counts = _of_few_states(dfa, weights)
    if counts is not None:
        return counts
    sources, labels = np.nonzero((dfa.transitions >= 0) & (weights > 0))
    # Pairs of states between which there are steps, by the first state, and by how many bytes.
    pairs, pair_of = np.unique(sources * len(dfa) + dfa.transitions[sources, labels], return_inverse=True)
    bytes_of = np.bincount(pair_of, weights[labels], len(pairs)).astype(np.int64)
    source_of, target_of = np.divmod(pairs, len(dfa))
    states = np.arange(len(dfa) + 1)
    first_to = np.searchsorted(source_of, states).tolist()
    by_target = np.argsort(target_of, kind="stable")
    first_from = np.searchsorted(target_of[by_target], states).tolist()
    missing = np.diff(first_to)
    ready = np.flatnonzero(missing == 0).tolist()
    counts = {}
    while ready:
        state = ready.pop()
        after = slice(first_to[state], first_to[state + 1])
        steps = zip(target_of[after].tolist(), bytes_of[after].tolist(), strict=True)
        ways = bool(dfa.accepting[state]) + sum(counts[target] * count for target, count in steps)
        if ways > MOST:
            continue
        counts[state] = ways
        before = source_of[by_target[first_from[state] : first_from[state + 1]]]
        missing[before] -= 1
        ready += before[missing[before] == 0].tolist()
    return dict(sorted(counts.items()))


def _of_few_states(dfa: Dfa, weights: NDArray[np.int64]) -> dict[int, int] | None:
    """Count where few states are counted, as in the automata of strings; ``None`` where they may be many."""
    table = np.where(weights > 0, dfa.transitions, -1)
    is_known = np.zeros(len(dfa) + 1, dtype=np.bool_)
    is_known[-1] = True  # no transition
    counts: dict[int, int] = {}
    for _ in range(_ROUNDS):
        new = np.flatnonzero(is_known[table].all(axis=1) & ~is_known[:-1]).tolist()
        if not new:
            return dict(sorted(counts.items()))
        for state in new:
            steps = [(target, label) for label, target in enumerate(table[state].tolist()) if target >= 0]
            ways = int(dfa.accepting[state]) + sum(counts[target] * int(weights[label]) for target, label in steps)
            if ways > MOST:
                return None
            counts[state] = ways
        is_known[new] = True
    return None


def least_costs(
    dfa: Dfa, costs: NDArray[np.int64], known: NDArray[np.int64], most_work: int | None = None
) -> NDArray[np.int64] | None:
    """Find the least cost of a way from each state, int64 ``[states]`` (Bellman 1958, Ford 1956), for all at once.

    ``costs`` has the cost of entering each state, ``known`` an upper bound of the cost of a way from it, such as 0 at
    an end and a large number elsewhere; both int64 ``[states]``. ``None``: more than ``most_work`` transitions were
    needed.

    >>> dfa = Dfa.from_regex("ab|c")
    >>> least_costs(dfa, np.ones(len(dfa), dtype=np.int64), np.where(dfa.accepting, 0, 99)).tolist()
    [1, 1, 0]
    """
    sources, labels = np.nonzero(dfa.transitions >= 0)
    targets = dfa.transitions[sources, labels]
    firsts = np.flatnonzero(np.diff(sources, prepend=-1))
    leading = sources[firsts]
    least, work = known.astype(np.int64), 0
    while len(targets):
        work += len(targets)
        if most_work is not None and work > most_work:
            return None
        further = np.minimum(np.minimum.reduceat((least + costs)[targets], firsts), least[leading])
        if np.array_equal(further, least[leading]):
            break
        least[leading] = further
    return least


def spread(dfa: Dfa, number: int) -> int | None:
    """Bound the lengths of the first ``number`` texts that complete a state.

    For one state it is the difference in bytes between the shortest such text and the number-th shortest, or the
    longest where there are fewer. The result is the maximum over all states: each of the ``number`` shortest ways to
    complete a text takes at most that many bytes more than the shortest.

    >>> spread(Dfa.from_regex("[ab]+"), 3), spread(Dfa.from_regex("a|b{20}"), 5)
    (1, 19)
    """
    rows = np.where(dfa.transitions >= 0, dfa.transitions, len(dfa))  # the last state has no text
    weights = np.bincount(dfa.byte_classes, minlength=rows.shape[1]).astype(np.float64)
    few = completions(dfa)
    wanted = np.array([min(number, few.get(state, number)) for state in range(len(dfa))], dtype=np.float64)
    layer = np.append(dfa.accepting.astype(np.float64), 0.0)
    total = layer[:-1].copy()
    first = np.where(dfa.accepting, 0, _LONGEST)
    last = np.zeros(len(dfa), dtype=np.int64)
    for length in range(1, _LONGEST):
        missing = total < wanted
        if not missing.any():
            return int(np.maximum(last - first, 0).max())
        layer[:-1] = np.minimum(layer[rows] @ weights, number)
        has_text = layer[:-1] > 0
        first = np.where(has_text, np.minimum(first, length), first)
        last = np.where(has_text & missing, length, last)
        total += layer[:-1]
    return None
