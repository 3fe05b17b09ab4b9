"""An automaton over bytes read by whole characters: its edges, and the path of a text.

States inside a character are folded away. For each state with one, two or three bytes of the character still to come,
the characters that lead to each target are computed once, and reused for every character that passes through it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from sfgen.regex.characters import Ranges, intersection, union

# First bytes, with the number of bytes that follow and the characters that such a sequence may encode: the same
# character may not be written longer than it must be, nor is a surrogate a character.
_LEADS = (
    (0xC2, 0xDF, 1, ((0x80, 0x7FF),)),
    (0xE0, 0xEF, 2, ((0x800, 0xD7FF), (0xE000, 0xFFFF))),
    (0xF0, 0xF4, 3, ((0x10000, 0x10FFFF),)),
)


_BITS_OF_LEAD = (0, 0x1F, 0x0F, 0x07)


_Found = list[tuple[int, int]]


class Automaton(Protocol):
    """A deterministic automaton to be read; state 0 is the start.

    :class:`sfgen.automata.dfa.Dfa` is one.
    """

    @property
    def transitions(self) -> NDArray[np.int32]:
        """The next states, int32 ``[states, classes]``; -1 is no transition."""

    @property
    def byte_classes(self) -> NDArray[np.uint8]:
        """Class of each byte, uint8, shape [256]."""

    @property
    def accepting(self) -> NDArray[np.bool_]:
        """Whether the text may end in each state, bool, shape [states]."""

    @property
    def pattern(self) -> str | None:
        """The pattern that it was made from; ``None`` if there is none."""


class Edge(NamedTuple):
    """An edge over whole characters, between two states that stand between characters."""

    source: int
    target: int
    characters: Ranges


def character_edges(automaton: Automaton) -> tuple[Edge, ...]:
    """List the edges over whole characters between states that the start reaches.

    There is one for each pair of states, sorted by source and then by its first character. Bytes that are part of no
    character, which only an automaton made by hand can read, have no edge.

    >>> from sfgen.automata import Dfa
    >>> for edge in character_edges(Dfa.from_regex("[a-zé]+!")):
    ...     print(edge)
    Edge(source=0, target=1, characters=((97, 122), (233, 233)))
    Edge(source=1, target=3, characters=((33, 33),))
    Edge(source=1, target=1, characters=((97, 122), (233, 233)))
    """
    reader = WholeCharacters(automaton)
    seen = {0}
    waiting = [0]
    for state in waiting:
        new = {edge.target for edge in reader.edges(state)} - seen
        seen |= new
        waiting += new
    return tuple(edge for state in sorted(seen) for edge in reader.edges(state))


def following(automaton: Automaton, state: int) -> Ranges:
    """Return the characters that can follow in one state.

    >>> from sfgen.automata import Dfa
    >>> following(Dfa.from_regex("[a-z]+!"), 1)
    ((33, 33), (97, 122))
    """
    return union(*(edge.characters for edge in WholeCharacters(automaton).edges(state)))


class WholeCharacters:
    """The edges of an automaton over whole characters, each found on demand."""

    def __init__(self, automaton: Automaton) -> None:
        self._automaton = automaton
        classes = automaton.byte_classes.tolist()
        self._one_byte = _runs(classes, 0, 0x7F)
        self._continuation = [(first - 0x80, last - 0x80, label) for first, last, label in _runs(classes, 0x80, 0xBF)]
        self._leads = [(following, allowed, _runs(classes, first, last)) for first, last, following, allowed in _LEADS]
        self._edges: dict[int, tuple[Edge, ...]] = {}
        self._inside: dict[tuple[int, int], dict[int, _Found]] = {}

    def edges(self, state: int) -> tuple[Edge, ...]:
        """List the edges from a state between two characters, by first character."""
        edges = self._edges.get(state)
        if edges is None:
            edges = self._edges[state] = self._read(state)
        return edges

    def reached(self) -> set[int]:
        """Find the states that the start reaches by whole characters.

        The characters themselves are not worked out, which takes less time.
        """
        rows = self._automaton.transitions
        every = [(0, self._one_byte)] + [(count, runs) for count, _, runs in self._leads]
        inside = [(0, self._continuation)]
        seen = {(0, 0)}
        waiting = [(0, 0)]
        for state, remaining in waiting:
            row = rows[state].tolist()
            for count, runs in inside if remaining else every:
                left = remaining - 1 if remaining else count
                for _, _, label in runs:
                    pair = (row[label], left)
                    if pair[0] >= 0 and pair not in seen:
                        seen.add(pair)
                        waiting.append(pair)
        return {state for state, remaining in seen if not remaining}

    def _read(self, state: int) -> tuple[Edge, ...]:
        row = self._automaton.transitions[state].tolist()
        ranges_to: dict[int, _Found] = {}
        for first, last, label in self._one_byte:
            if row[label] >= 0:
                _add(ranges_to, row[label], first, last)
        for count, allowed, runs in self._leads:
            longer: dict[int, _Found] = {}
            for first, last, label in runs:
                if row[label] >= 0:
                    mask = _BITS_OF_LEAD[count]
                    self._add_inside(longer, row[label], count, first & mask, last & mask)
            for target, ranges in longer.items():
                for first, last in intersection(ranges, allowed):
                    _add(ranges_to, target, first, last)
        edges = [Edge(state, target, tuple(ranges)) for target, ranges in ranges_to.items()]
        return tuple(sorted(edges, key=lambda edge: edge.characters))

    def _rest(self, state: int, count: int) -> dict[int, _Found]:
        """The targets of the last ``count`` bytes of a character, with ranges of the numbers in their bits."""
        ranges_to = self._inside.get((state, count))
        if ranges_to is None:
            ranges_to = self._inside[state, count] = {}
            row = self._automaton.transitions[state].tolist()
            for first, last, label in self._continuation:
                target = row[label]
                if target < 0:
                    continue
                if count == 1:
                    _add(ranges_to, target, first, last)
                else:
                    self._add_inside(ranges_to, target, count - 1, first, last)
        return ranges_to

    def _add_inside(self, ranges_to: dict[int, _Found], state: int, count: int, first: int, last: int) -> None:
        """Add what the last ``count`` bytes read in ``state``, after each of the bits from ``first`` to ``last``."""
        size = 1 << 6 * count
        rest = self._rest(state, count)
        for target, ranges in rest.items():
            if ranges == [(0, size - 1)]:
                _add(ranges_to, target, first * size, (last + 1) * size - 1)
                continue
            for bits in range(first, last + 1):
                for low, high in ranges:
                    _add(ranges_to, target, bits * size + low, bits * size + high)


def _runs(classes: list[int], first: int, last: int) -> list[tuple[int, int, int]]:
    """The bytes from ``first`` to ``last`` as runs of one class: (first, last, class)."""
    runs: list[tuple[int, int, int]] = []
    for byte in range(first, last + 1):
        if runs and runs[-1][2] == classes[byte]:
            runs[-1] = (runs[-1][0], byte, classes[byte])
        else:
            runs.append((byte, byte, classes[byte]))
    return runs


def _add(ranges_to: dict[int, _Found], target: int, first: int, last: int) -> None:
    """Put a range after those that already lead to the target."""
    ranges = ranges_to.setdefault(target, [])
    if ranges and ranges[-1][1] == first - 1:
        ranges[-1] = (ranges[-1][0], last)
    else:
        ranges.append((first, last))


@dataclass(frozen=True, slots=True)
class Walk:
    """The path of a text through an automaton.

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
    """Reads texts with one automaton, and caches what can follow."""

    def __init__(self, dfa: Automaton) -> None:
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


def walk(dfa: Automaton, text: str) -> Walk:
    """Read one text from the start; for many there is :class:`Walker`.

    >>> from sfgen.automata import Dfa
    >>> dfa = Dfa.from_regex("[a-z]{3}[0-9]?")
    >>> [walk(dfa, text).verdict for text in ("abc", "ab", "0")]
    ['match', 'start', 'no']
    >>> found = walk(dfa, "ab-")
    >>> found.states, found.stopped, found.expected, found.may_end
    ((0, 1, 2), 2, ((97, 122),), False)
    """
    return Walker(dfa).walk(text)
