"""The smallest automaton of a finite, sorted list of sequences.

Incremental construction (Daciuk, Mihov, Watson and Watson, 2000): sequences are added in order, so that only the path
of the last one can still change. A state that cannot change any more is replaced by an equal one if there is one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Generic, NamedTuple, TypeVar

Label = TypeVar("Label")


class State(NamedTuple, Generic[Label]):
    """A state: whether a sequence ends here, and its edges.

    Attributes:
        accepting: Whether a sequence ends here.
        edges: Label and number of the next state, in the order of the labels.
    """

    accepting: bool
    edges: tuple[tuple[Label, int], ...]


def minimal_acyclic(sequences: Iterable[Sequence[Label]]) -> list[State[Label]]:
    """Build the minimal acyclic automaton of the sequences (Daciuk et al. 2000).

    Args:
        sequences: Sorted and distinct.

    Returns:
        Its states; the last one is the start.

    >>> minimal_acyclic(["ab", "cb"])[-1]
    State(accepting=False, edges=(('a', 1), ('c', 1)))
    """
    states: list[State[Label]] = []
    numbers: dict[State[Label], int] = {}
    edges: list[list[tuple[Label, int]]] = [[]]  # of the states on the path of the last sequence
    accepting = [False]
    last: Sequence[Label] = ()

    def close(length: int) -> None:
        while len(edges) > length:
            state = State(accepting.pop(), tuple(edges.pop()))
            number = numbers.setdefault(state, len(states))
            if number == len(states):
                states.append(state)
            if edges:
                edges[-1].append((last[len(edges) - 1], number))

    for sequence in sequences:
        common = 0
        while common < min(len(last), len(sequence)) and last[common] == sequence[common]:
            common += 1
        close(common + 1)
        for _ in sequence[common:]:
            edges.append([])
            accepting.append(False)
        accepting[-1] = True
        last = sequence
    close(0)
    return states
