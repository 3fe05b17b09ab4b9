"""The graph of an automaton, to be drawn: its states and edges with their labels, cut where it is too large.

:mod:`~sfgen.automata.pictures` writes it down. :func:`character_graph` has edges over characters;
:mod:`sfgen.index.export` has those over the tokens of a vocabulary.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from sfgen import arguments
from sfgen.automata.edges import Automaton, WholeCharacters
from sfgen.automata.label import CUT, label, visible
from sfgen.errors import UsageError
from sfgen.printable import counted

STATES_DRAWN = 100
"""The default number of states that are drawn: more of them cannot be read."""

_TITLE_WIDTH = 80


class GraphState(NamedTuple):
    """A state that is drawn.

    Attributes:
        number: The state.
        accepting: Whether the text may end in it.
    """

    number: int
    accepting: bool


class GraphEdge(NamedTuple):
    """An edge between two states that are drawn, with its label."""

    source: int
    target: int
    label: str


@dataclass(frozen=True)
class Graph:
    """The part of an automaton that is drawn, and the size of the rest.

    All texts are on one line, and everything in them can be seen.

    Attributes:
        title: The pattern; empty if there is none.
        states: In the order in which the start reaches them, breadth-first; the first one is the start.
        edges: By their sources in this order.
        continuing: The states that are drawn with edges that are not, since these lead to states left out.
        states_left_out: The number of states that are not drawn.
        labels: The text in each state in place of its number; empty: the numbers.
    """

    title: str
    states: tuple[GraphState, ...]
    edges: tuple[GraphEdge, ...]
    continuing: tuple[int, ...] = ()
    states_left_out: int = 0
    labels: tuple[str, ...] = ()

    @property
    def labelled(self) -> list[tuple[GraphState, str]]:
        """The states with their labels; where a label is empty: the number."""
        return list(zip(self.states, self.labels or [""] * len(self.states), strict=True))

    @property
    def size(self) -> str:
        """The number of all states, and of all edges where none is left out: the others are not counted.

        >>> from sfgen.automata import Dfa
        >>> automaton = Dfa.from_regex("a{1,2000}")
        >>> character_graph(automaton, max_states=3000).size, character_graph(automaton, max_states=10).size
        ('2,001 states and 2,000 edges', '2,001 states')
        """
        states = counted(len(self.states) + self.states_left_out, "state")
        return states if self.states_left_out else f"{states} and {counted(len(self.edges), 'edge')}"

    @property
    def note(self) -> str:
        """A note of the states that are left out; empty if there are none.

        >>> from sfgen.automata import Dfa
        >>> character_graph(Dfa.from_regex("[a-z]{1,2000}"), max_states=10).note
        '1,991 of 2,001 states are left out'
        """
        if not self.states_left_out:
            return ""
        are = "is" if self.states_left_out == 1 else "are"
        return f"{self.states_left_out:,} of {self.states_left_out + len(self.states):,} states {are} left out"


def character_graph(automaton: Automaton, *, max_states: int = STATES_DRAWN) -> Graph:
    """Build the graph over whole characters, the states inside them folded.

    >>> from sfgen.automata import Dfa
    >>> for edge in character_graph(Dfa.from_regex("[a-zé]+!")).edges:
    ...     print(*edge)
    0 1 [a-zé]
    1 3 !
    1 1 [a-zé]
    """
    reader = WholeCharacters(automaton)

    def leaving(state: int) -> list[tuple[int, str]]:
        return [(edge.target, label(edge.characters)) for edge in reader.edges(state)]

    return drawn(automaton, leaving, lambda: len(reader.reached()), max_states)


def drawn(
    automaton: Automaton,
    leaving: Callable[[int], Iterable[tuple[int, str]]],
    states: Callable[[], int],
    max_states: int,
) -> Graph:
    """Build the graph of the states nearest to the start."""
    if arguments.whole_number("max_states", max_states) < 1:
        raise UsageError(f"a graph of {max_states} states has no start", hint="Draw at least one state.")
    queue = [0]
    seen = {0}
    edges: list[GraphEdge] = []
    for state in queue:
        for target, text in leaving(state):
            edges.append(GraphEdge(state, target, text))
            if target not in seen and len(queue) < max_states:
                seen.add(target)
                queue.append(target)
    shown = tuple(edge for edge in edges if edge.target in seen)
    return Graph(
        title=title_of(automaton.pattern),
        states=tuple(GraphState(state, bool(automaton.accepting[state])) for state in queue),
        edges=shown,
        continuing=tuple(dict.fromkeys(edge.source for edge in edges if edge.target not in seen)),
        states_left_out=states() - len(queue) if len(shown) < len(edges) else 0,
    )


def title_of(pattern: str | None) -> str:
    """Write a pattern on one line, cut if it is long."""
    text = visible(pattern or "")
    return text if len(text) <= _TITLE_WIDTH else text[: _TITLE_WIDTH - 1] + CUT


def to_dict(automaton: Automaton) -> dict[str, Any]:
    """Return the automaton over whole characters as plain data.

    See :meth:`sfgen.automata.dfa.Dfa.to_dict`.
    """
    reader = WholeCharacters(automaton)
    transitions = {
        str(state): {label(edge.characters, width=sys.maxsize): edge.target for edge in reader.edges(state)}
        for state in sorted(reader.reached())
    }
    return {
        "pattern": automaton.pattern,
        "initial": 0,
        "final": [state for state in map(int, transitions) if automaton.accepting[state]],
        "states": len(automaton.accepting),
        "transitions": transitions,
    }
