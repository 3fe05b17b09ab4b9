"""The size of an index in numbers, for people."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sfgen.index.token_automaton import TokenAutomaton


@dataclass(frozen=True)
class Statistics:
    """The size of an index.

    Attributes:
        states: States of the automaton.
        reached: How many of them tokens lead to; a state inside a token that cannot be cut is passed over.
        transitions: Text tokens that may follow, summed over the states that are reached.
        accepting: The states in which the text may end.
        forced_runs: The texts that must follow once they have begun, each once; of at least one whole character.
        nbytes: Memory that the automaton and the masks of all states would take, in bytes.
    """

    states: int
    reached: int
    transitions: int
    accepting: tuple[int, ...]
    forced_runs: tuple[str, ...]
    nbytes: int


_STEP = 256  # states between two calls of `progress`


def statistics(index: TokenAutomaton, progress: Callable[[int, int], None] | None = None) -> Statistics:
    """Measure an index, making the masks of all its states.

    Args:
        index: The index.
        progress: Called with (states done, states in all).

    >>> from sfgen import Dfa, Index, Vocabulary
    >>> vocabulary = Vocabulary([b"h", b"ot", b"hot", b"el", None], end_token_ids=[4])
    >>> found = statistics(Index(Dfa.from_regex("(hot|hotel)"), vocabulary))
    >>> found.states, found.reached, found.transitions, found.accepting, found.forced_runs
    (6, 4, 4, (3, 5), ('hot', 'l'))
    """
    dfa, total = index.dfa, len(index.dfa)
    counts = []  # the tokens that each state allows
    sizes: dict[tuple[int, int], int] = {}  # the bytes of each different mask, which may not all be kept
    for state in range(total):
        mask, count, digest = index.made(state)
        counts.append(count)
        sizes[count, digest] = mask.nbytes
        if progress is not None and (state + 1 == total or state % _STEP == _STEP - 1):
            progress(state + 1, total)
    met = reached(index)
    ends = len(index.vocabulary.end_token_ids)
    transitions = sum(counts[state] - (ends if dfa.accepting[state] else 0) for state in met)
    return Statistics(
        states=len(dfa),
        reached=len(met),
        transitions=transitions,
        accepting=tuple(np.flatnonzero(dfa.accepting).tolist()),
        forced_runs=_forced_runs(index),
        nbytes=sum(sizes.values()) + dfa.transitions.nbytes + dfa.byte_classes.nbytes + dfa.accepting.nbytes,
    )


def reached(index: TokenAutomaton) -> list[int]:
    """Return the states that tokens lead to, the start included."""
    if index.steps_byte_by_byte:
        return list(range(len(index.dfa)))
    seen = {0}
    queue = [0]
    for state in queue:
        new = set(np.unique(index.transitions(state)[1]).tolist()) - seen
        seen |= new
        queue += new
    return sorted(seen)


def _forced_runs(index: TokenAutomaton) -> tuple[str, ...]:
    """The texts between two choices, in the order of the states where they begin."""
    dfa = index.dfa
    steps = [index.only_step(state) for state in range(len(dfa))]
    # A run begins where one comes from a choice, or from a place where the text may end.
    begins = np.zeros(len(dfa), dtype=np.bool_)
    begins[0] = True
    free = np.array([step is None for step in steps])
    targets = np.unique(dfa.transitions[free])
    begins[targets[targets >= 0]] = True
    runs: dict[str, None] = {}
    for first in np.flatnonzero(begins & ~free).tolist():
        runs.setdefault(_whole_characters(index.forced_bytes(first)))
    runs.pop("", None)
    return tuple(runs)


def _whole_characters(data: bytes) -> str:
    r"""What is left without halves of characters at the ends.

    >>> _whole_characters("né".encode()[:2]), _whole_characters("én".encode()[1:])
    ('n', 'n')
    """
    return data.decode("utf-8", "ignore")
