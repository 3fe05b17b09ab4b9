"""Texts that an automaton accepts, to show what it means: the shortest first, then one for each thing it can do.

First comes a shortest text; then, the shortest of them first, texts of which each takes a transition that none before
it took, until all have been taken; then the others by length, and those of one length in turn over the ways through the
states that they take. Where a transition reads one of several characters, each text takes another, in the order of
:mod:`~sfgen.automata.familiar`.
"""

from __future__ import annotations

import heapq
import itertools
from collections import Counter
from collections.abc import Iterator
from typing import TypeAlias

from sfgen.automata.dfa import Dfa
from sfgen.automata.edges import Edge, character_edges
from sfgen.automata.familiar import Familiar, rank

_Path: TypeAlias = list[Edge]
_Taken: TypeAlias = "tuple[_Taken, Edge] | None"
"""The edges of the beginning of a path, the last one first."""


def examples(dfa: Dfa, count: int) -> list[str]:
    """List different texts of the language.

    A higher ``count`` gives the same texts and others after them.

    Args:
        dfa: The automaton.
        count: The most texts; fewer where the language has no more.

    >>> examples(Dfa.from_regex("hot|cold|[0-9]{4}(-[0-9]{2})?"), 5)
    ['hot', 'cold', '0000', '1111-11', '1111']
    >>> examples(Dfa.from_regex("[^a]?"), 3), examples(Dfa.from_choices(["a", "ä"]), 3)
    (['', 'b', 'c'], ['a', 'ä'])
    """
    return list(itertools.islice(_every_text(dfa, count), count))


def _every_text(dfa: Dfa, count: int) -> Iterator[str]:
    """The texts in their order, at least ``count`` of them if there are that many."""
    ways = _Ways(dfa)
    seen = set()
    for text in _covering(ways):
        seen.add(text)
        yield text
    for paths in _by_length(ways, count):
        turns = [(text for text in _spellings(ways, path) if text not in seen) for path in paths]
        while turns:
            told = [next(turn, None) for turn in turns]
            yield from (text for text in told if text is not None)
            turns = [turn for turn, text in zip(turns, told, strict=True) if text is not None]


class _Ways:
    """The edges that lead on to an end.

    Attributes:
        distance: The fewest characters to an end, of each state that can reach one.
        edges: Of each such state the edges to such states: first those to the nearest end, then by their characters.
    """

    def __init__(self, dfa: Dfa) -> None:
        self._accepting = dfa.accepting
        self._characters: dict[tuple[int, int], Familiar] = {}
        edges = character_edges(dfa)
        before: dict[int, list[int]] = {}
        for edge in edges:
            before.setdefault(edge.target, []).append(edge.source)
        ends = [state for state in {0, *before} if dfa.accepting[state]]
        self.distance = dict.fromkeys(ends, 0)
        for state in ends:
            for source in before.get(state, ()):
                if source not in self.distance:
                    self.distance[source] = self.distance[state] + 1
                    ends.append(source)
        self.edges: dict[int, list[Edge]] = {state: [] for state in self.distance}
        for edge in edges:
            if edge.source in self.distance and edge.target in self.distance:
                self.edges[edge.source].append(edge)
        for leaving in self.edges.values():
            leaving.sort(key=lambda edge: (self.distance[edge.target], rank(edge.characters)))

    def may_end(self, state: int) -> bool:
        """Whether the text may end in a state."""
        return bool(self._accepting[state])

    def characters(self, edge: Edge) -> Familiar:
        """What an edge reads."""
        pair = edge.source, edge.target
        if pair not in self._characters:
            self._characters[pair] = Familiar(edge.characters)
        return self._characters[pair]


def _covering(ways: _Ways) -> Iterator[str]:
    """A shortest text, and then texts that each take an edge for the first time, until all are taken."""
    if 0 not in ways.distance:
        return
    # A shortest way to each state, as the edge that comes last.
    came_by: dict[int, Edge | None] = {0: None}
    depth = {0: 0}
    every: list[Edge] = []
    for state in (queue := [0]):
        for edge in ways.edges[state]:
            every.append(edge)
            if edge.target not in came_by:
                came_by[edge.target] = edge
                depth[edge.target] = depth[state] + 1
                queue.append(edge.target)
    taken: Counter[tuple[int, int]] = Counter()

    def text(path: _Path) -> str:
        """The path in characters that no text before had on any of its edges, as long as there are such."""
        number = max((taken[edge[:2]] for edge in path), default=0)
        taken.update(edge[:2] for edge in path)
        sets = [ways.characters(edge) for edge in path]
        return "".join(characters[number % len(characters)] for characters in sets)

    def to_the_end(state: int) -> Iterator[Edge]:
        while ways.distance[state]:
            near = itertools.takewhile(
                lambda edge: ways.distance[edge.target] < ways.distance[edge.source], ways.edges[state]
            )
            edge = min(near, key=lambda edge: taken[edge[:2]] > 0)
            yield edge
            state = edge.target

    yield text(list(to_the_end(0)))
    every.sort(key=lambda edge: depth[edge.source] + ways.distance[edge.target])
    for edge in every:
        if not taken[edge[:2]]:
            path: _Path = []
            last: Edge | None = edge
            while last is not None:
                path.append(last)
                last = came_by[last.source]
            yield text([*path[::-1], *to_the_end(edge.target)])


def _by_length(ways: _Ways, count: int) -> Iterator[list[_Path]]:
    """The paths from the start to an end, those of one length together, and at most ``count`` of them.

    It is a search for the best first, and what remains to an end is known exactly: so nothing is looked at that is no
    part of a path, and of two beginnings with the same length the one that is nearer to its end goes on.
    """
    order = itertools.count()
    waiting: list[tuple[int, int, int, int, int, _Taken]] = []

    def wait(depth: int, state: int, choice: int, taken: _Taken) -> None:
        """Put a way to go on into the queue: the first is to end there, if the text may, and then come the edges."""
        number = choice - ways.may_end(state)
        if number < 0:
            length = depth
        elif number < len(ways.edges[state]):
            length = depth + 1 + ways.distance[ways.edges[state][number].target]
        else:
            return
        heapq.heappush(waiting, (length, -depth, next(order), state, choice, taken))

    if 0 in ways.distance:
        wait(0, 0, 0, None)
    found: list[_Path] = []
    length = 0
    while waiting and count > 0:
        longer, depth, _, state, choice, taken = heapq.heappop(waiting)
        if longer > length:
            if found:
                yield found
            found, length = [], longer
        wait(-depth, state, choice + 1, taken)
        number = choice - ways.may_end(state)
        if number >= 0:
            edge = ways.edges[state][number]
            wait(1 - depth, edge.target, 0, (taken, edge))
            continue
        path: _Path = []
        while taken is not None:
            taken, edge = taken
            path.append(edge)
        found.append(path[::-1])
        if len(found) == count:
            break
    if found:
        yield found


def _spellings(ways: _Ways, path: _Path) -> Iterator[str]:
    """Every text of a path. The first ones differ in each character, as far as there are different ones."""
    sets = [ways.characters(edge) for edge in path]
    for number in itertools.count():
        # The digits of the number, in a system where each place has as many as there are characters. Each also moves
        # all places behind it, so that every text still comes once.
        moved = 0
        text = []
        for characters in sets:
            number, digit = divmod(number, len(characters))
            moved += digit
            text.append(characters[moved % len(characters)])
        if number:
            return
        yield "".join(text)
