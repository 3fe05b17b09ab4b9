"""In how many ways texts can be completed, where they are few."""

from __future__ import annotations

import numpy as np

from sfgen.automata.dfa import Dfa

MOST = 1 << 16
"""More ways than these are many."""


def completions(dfa: Dfa) -> dict[int, int]:
    """The number of texts that lead from a state to an end, for the states that have at most :data:`MOST` such texts.

    States are taken up when all that follow them are known, so those from which a circle is reached never are.

    >>> completions(Dfa.from_regex("a|b[01]|c+"))
    {1: 1, 2: 2}
    """
    weights = np.bincount(dfa.byte_classes, minlength=dfa.transitions.shape[1]).tolist()
    following = [
        [(target, weights[label]) for label, target in enumerate(row) if target >= 0]
        for row in dfa.transitions.tolist()
    ]
    before: list[list[int]] = [[] for _ in following]
    missing = [0] * len(following)
    for state, steps in enumerate(following):
        targets = {target for target, _ in steps}
        missing[state] = len(targets)
        for target in targets:
            before[target].append(state)
    found: dict[int, int] = {}
    ready = [state for state, count in enumerate(missing) if not count]
    while ready:
        state = ready.pop()
        ways = bool(dfa.accepting[state]) + sum(found[target] * weight for target, weight in following[state])
        if ways > MOST:
            continue
        found[state] = ways
        for source in before[state]:
            missing[source] -= 1
            if not missing[source]:
                ready.append(source)
    return dict(sorted(found.items()))
