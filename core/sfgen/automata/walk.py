"""A text read by an automaton, character by character: how far it goes, and what could have followed there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sfgen.automata.dfa import Dfa
from sfgen.automata.edges import WholeCharacters
from sfgen.regex.characters import Ranges, union


@dataclass(frozen=True, slots=True)
class Walk:
    """What happened to a text.

    Attributes:
        text: The text.
        states: The state before the first character, after it, after the second, as far as the text was read.
        stopped: The offset of the first character that was refused; ``None`` if all were read.
        verdict: ``"match"``; ``"start"``: not a match, but something can follow that makes it one; ``"no"``: neither.
        expected: The characters that could have come where it stopped, or that can follow where it ends.
        may_end: Whether the text might have ended there.
    """

    text: str
    states: tuple[int, ...]
    stopped: int | None
    verdict: Literal["match", "start", "no"]
    expected: Ranges
    may_end: bool

    @property
    def state(self) -> int:
        """The last state that was reached."""
        return self.states[-1]


class Walker:
    """Reads texts with one automaton, and caches what can follow.

    Args:
        dfa: The automaton; what it accepts is text.
    """

    def __init__(self, dfa: Dfa) -> None:
        self._dfa = dfa
        self._edges = WholeCharacters(dfa)
        self._following: dict[int, Ranges] = {}

    def walk(self, text: str) -> Walk:
        """Read a text from the start.

        A lone surrogate in it is refused.
        """
        classes, transitions = self._dfa.byte_classes.item, self._dfa.transitions.item
        state, states = 0, [0]
        stopped = None
        for position, character in enumerate(text):
            for byte in character.encode("utf-8", "surrogatepass"):
                state = transitions(state, classes(byte))
                if state < 0:
                    break
            if state < 0:
                stopped = position
                break
            states.append(state)
        may_end = bool(self._dfa.accepting[states[-1]])
        expected = self.following(states[-1])
        verdict: Literal["match", "start", "no"] = "no"
        if stopped is None and (may_end or expected):
            verdict = "match" if may_end else "start"
        return Walk(text, tuple(states), stopped, verdict, expected, may_end)

    def following(self, state: int) -> Ranges:
        """Return the characters that can follow in a state between two characters."""
        if state not in self._following:
            self._following[state] = union(*(edge.characters for edge in self._edges.edges(state)))
        return self._following[state]


def walk(dfa: Dfa, text: str) -> Walk:
    """Read one text from the start; for many there is :class:`Walker`.

    Args:
        dfa: The automaton.
        text: The text.

    >>> dfa = Dfa.from_regex("[a-z]{3}[0-9]?")
    >>> [walk(dfa, text).verdict for text in ("abc", "ab", "0")]
    ['match', 'start', 'no']
    >>> found = walk(dfa, "ab-")
    >>> found.states, found.stopped, found.expected, found.may_end
    ((0, 1, 2), 2, ((97, 122),), False)
    """
    return Walker(dfa).walk(text)
