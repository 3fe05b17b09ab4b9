"""Example texts of an automaton: the shortest first, then texts that together take every transition, then all others.

First comes a shortest text. Each text after it, by length, takes a transition that no text before it took, until all
transitions have been taken. The others follow by length; those of one length alternate between the paths of states that
they take. Where a transition reads one of several characters, each text takes another one, familiar characters first:
letters and digits, then other visible ones. ``relation`` compares two languages by such texts.
"""

from __future__ import annotations

import heapq
import itertools
from bisect import bisect
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Literal, TypeAlias

from sfgen.automata.dfa import Dfa
from sfgen.automata.edges import Edge, WholeCharacters, character_edges
from sfgen.regex.characters import Ranges, complement, intersection, union

_Path: TypeAlias = list[Edge]


_Taken: TypeAlias = "tuple[_Taken, Edge] | None"
"""The edges of the beginning of a path, the last one first."""


def examples(dfa: Dfa, count: int) -> list[str]:
    """List different texts of the language.

    A higher ``count`` gives the same texts and others after them.

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
        """Return the characters of an edge, in their order."""
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

    It is a best-first search, and the distance to an end is known exactly. So it visits only parts of whole paths, and
    of two beginnings of the same total length it continues the one that is nearer to its end.
    """
    order = itertools.count()
    waiting: list[tuple[int, int, int, int, int, _Taken]] = []

    def wait(depth: int, state: int, choice: int, taken: _Taken) -> None:
        """Put one continuation into the queue: the end first, where the text may end, then the edges."""
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
    paths: list[_Path] = []
    length = 0
    while waiting and count > 0:
        longer, depth, _, state, choice, taken = heapq.heappop(waiting)
        if longer > length:
            if paths:
                yield paths
            paths, length = [], longer
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
        paths.append(path[::-1])
        if len(paths) == count:
            break
    if paths:
        yield paths


def _spellings(ways: _Ways, path: _Path) -> Iterator[str]:
    """Every text of a path. The first ones differ in each character, as far as there are different ones."""
    sets = [ways.characters(edge) for edge in path]
    for number in itertools.count():
        # The digits of the number, in a system where each place has as many as there are characters. Each also moves
        # all places after it, so that every text still comes once.
        moved = 0
        text = []
        for characters in sets:
            number, digit = divmod(number, len(characters))
            moved += digit
            text.append(characters[moved % len(characters)])
        if number:
            return
        yield "".join(text)


@dataclass(frozen=True, slots=True)
class Relation:
    """The relation of two languages, the left and the right one.

    Attributes:
        kind: ``"same"``; ``"contained"``: each text of the left one is one of the right one, which has more;
            ``"contains"``: the other way round; ``"overlapping"``: some texts are in both, and each has others;
            ``"disjoint"``: each has texts, and none is in both.
        only_left: A shortest text that is in the left one only; ``None`` if there is none.
        only_right: A shortest text that is in the right one only.
        both: A shortest text that is in both.
    """

    kind: Literal["same", "contained", "contains", "overlapping", "disjoint"]
    only_left: str | None
    only_right: str | None
    both: str | None


def relation(left: Dfa, right: Dfa) -> Relation:
    """Compare two languages, with shortest texts as evidence.

    Of several shortest texts the one with the more familiar characters is taken.

    >>> relation(Dfa.from_regex("[a-z]+"), Dfa.from_regex("[^0-9]{2,}"))
    Relation(kind='overlapping', only_left='a', only_right='aA', both='aa')
    >>> relation(Dfa.from_choices(["hot"]), Dfa.from_regex("[a-z]+"))
    Relation(kind='contained', only_left=None, only_right='a', both='hot')
    """
    only_left, only_right, both = _shortest(left - right), _shortest(right - left), _shortest(left & right)
    kind: Literal["same", "contained", "contains", "overlapping", "disjoint"]
    if only_left is None:
        kind = "same" if only_right is None else "contained"
    elif only_right is None:
        kind = "contains"
    else:
        kind = "disjoint" if both is None else "overlapping"
    return Relation(kind, only_left, only_right, both)


def _shortest(dfa: Dfa) -> str | None:
    """A shortest text, in characters; ``None`` if there is none."""
    # Breadth-first in the order of the characters, so that each state is first reached by the first of its shortest
    # texts in that order.
    reader = WholeCharacters(dfa)
    came_by: dict[int, Edge | None] = {0: None}
    queue = [0]
    for state in queue:
        if dfa.accepting[state]:
            text = []
            while (edge := came_by[state]) is not None:
                text.append(chr(rank(edge.characters)[1]))
                state = edge.source
            return "".join(reversed(text))
        for edge in sorted(reader.edges(state), key=lambda edge: rank(edge.characters)):
            if edge.target not in came_by:
                came_by[edge.target] = edge
                queue.append(edge.target)
    return None


_ASCII: tuple[Ranges, ...] = (
    ((0x61, 0x7A),),
    ((0x41, 0x5A),),
    ((0x30, 0x39),),
    ((0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E)),
    ((0x20, 0x20),),
    ((0x0A, 0x0A),),
    ((0x09, 0x09),),
)


def rank(characters: Ranges) -> tuple[int, int]:
    """Rank the most familiar character of a set that is not empty.

    >>> [chr(rank(ranges)[1]) for ranges in (((0, 0x10FFFF),), ((0, 0x60),), ((0, 0x20),), ((0x80, 0xFF),))]
    ['a', 'A', ' ', 'ª']
    """
    return next(_in_order(characters))[:2]


class Familiar:
    """The characters of a set in the order of :func:`rank`, as a sequence.

    >>> shown = Familiar(((0, 0x10FFFF),))
    >>> [shown[number] for number in (0, 25, 26, 62, 94, 97)]
    ['a', 'z', 'A', '!', ' ', 'ª']
    >>> len(Familiar(((0x61, 0x63), (0xE9, 0xE9))))
    4
    """

    def __init__(self, characters: Ranges) -> None:
        self._size = sum(last - first + 1 for first, last in characters)
        self._left = _in_order(characters)
        # The ranges that were asked for until now: the number after their last character, and what makes it its code.
        self._ends: list[int] = []
        self._offsets: list[int] = []

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, number: int) -> str:
        if not 0 <= number < self._size:
            raise IndexError(number)
        while not self._ends or number >= self._ends[-1]:
            _, first, last = next(self._left)
            start = self._ends[-1] if self._ends else 0
            self._ends.append(start + last - first + 1)
            self._offsets.append(first - start)
        return chr(number + self._offsets[bisect(self._ends, number)])


def _in_order(characters: Ranges) -> Iterator[tuple[int, int, int]]:
    """The set as ranges in that order: (tier, first, last)."""
    for order, tier in enumerate(_tiers()):
        for first, last in intersection(tier, characters):
            yield order, first, last


def _tiers() -> Iterator[Ranges]:
    yield from _ASCII
    yield from _others()  # found only if it is needed


@cache
def _others() -> tuple[Ranges, Ranges, Ranges]:
    """The letters beyond ASCII, the other visible characters, and the rest."""
    letters: list[tuple[int, int]] = []
    seen: list[tuple[int, int]] = []
    for code in range(0x80, 0x110000):
        character = chr(code)
        if character.isprintable():
            (letters if character.isalpha() else seen).append((code, code))
    tiers = union(letters), union(seen)
    return *tiers, complement(union(*tiers, *_ASCII))
