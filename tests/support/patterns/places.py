"""The places of a pattern (:mod:`sfgen.regex.position_automaton`) and the automaton, gone through side by side."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce

from tests.support.patterns.random_patterns import language

from sfgen.automata.edges import WholeCharacters
from sfgen.regex import Anchor, Atomic, Look, parse
from sfgen.regex.ast import contains
from sfgen.regex.characters import union
from sfgen.regex.position_automaton import (
    Alternation,
    PatternNode,
    PatternPositions,
    Piece,
    Position,
    Repeat,
    Sequence,
    read_pieces,
)
from sfgen.regex.scan import scan


def read(places: PatternPositions, text: str) -> Position:
    return reduce(places.step, text, places.start)


def is_exact(pattern: str) -> bool:
    """Whether the places are exactly those of the language: nothing looks around, no way to match is given up."""
    # The tree alone does not tell: (?!) is an empty set there.
    return not contains(parse(pattern), (Look, Anchor, Atomic)) and not scan(pattern).assertions


def pieces(tree: PatternNode) -> Iterator[Piece]:
    match tree:
        case Piece():
            yield tree
        case Sequence(parts) | Alternation(parts):
            for part in parts:
                yield from pieces(part)
        case Repeat(child):
            yield from pieces(child)


def compare(pattern: str, letters: str, most: int, *, exact: bool = True) -> int:
    """Go through the automaton and the places side by side, all ways of some letters; how many pairs were met.

    Args:
        pattern: The pattern.
        letters: Characters that are tried everywhere, besides those that the automaton can read.
        most: How many pairs of a place and a state are gone on from.
        exact: Whether both must say the same; else nothing may be missing from the places.
    """
    places = PatternPositions(pattern)
    dfa = language(pattern)
    if dfa is None:
        if exact:
            assert not places.next(places.start), pattern
            assert not places.may_end(places.start), pattern
        return 0
    reader = WholeCharacters(dfa)
    sets = {(piece.start, piece.end): piece.characters for piece in pieces(read_pieces(pattern))}
    waiting = [(places.start, 0, "")]
    seen = {(places.start, 0)}
    for place, state, text in waiting:
        expected = union(*(edge.characters for edge in reader.edges(state)))
        offered = union(*(sets[span] for span in places.next(place)))
        said = (offered, places.may_end(place))
        if exact:
            assert said == (expected, dfa.accepting[state]), (pattern, text)
        else:
            assert said == (union(offered, expected), said[1] or dfa.accepting[state]), (pattern, text)
        for character in sorted({*letters, *(chr(code) for pair in expected[:6] for code in pair)}):
            target = dfa.walk(character.encode(), state)
            after = places.step(place, character)
            if exact or target >= 0:
                assert bool(places.last_read(after)) == (target >= 0), (pattern, text, character)
            if target >= 0 and len(seen) < most and (after, target) not in seen:
                seen.add((after, target))
                waiting.append((after, target, text + character))
    return len(seen)
