"""Which pieces of a random pattern's text read what: against the automaton, against ``re``, and piece by piece."""

from __future__ import annotations

import re
from random import Random

import pytest
from tests.support.patterns.places import compare, is_exact, pieces, read
from tests.support.patterns.random_patterns import RandomPattern, compiled, language
from tests.support.patterns.texts import LanguageSampler, TreeSampler, mutated, short_texts
from tests.support.running.tried import rounds

import sfgen.regex.position_automaton as places_module
from sfgen.automata import Dfa
from sfgen.errors import PatternError
from sfgen.regex import parse
from sfgen.regex.position_automaton import PatternPositions, read_pieces


def is_text(characters: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in characters)


def random_pattern(seed: int, *, looks: bool = False, atomic: float = 0) -> tuple[str, str] | None:
    """A random pattern that ``re`` takes, and its letters."""
    drawn = RandomPattern(Random(seed), atomic=atomic, looks=looks)
    try:
        compiled(drawn.text)
    except re.error:
        return None
    return drawn.text, drawn.letters


def test_random_patterns_agree_with_the_automaton() -> None:
    patterns = pairs = 0
    count = rounds(1500)
    for seed in range(count):
        drawn = random_pattern(seed)
        if drawn is None or not is_exact(drawn[0]):
            continue
        pattern, letters = drawn
        patterns += 1
        pairs += compare(pattern, "".join(filter(is_text, letters)), most=100)
    print(f"{patterns} patterns, {pairs} pairs of a place and a state")
    assert patterns >= 0.8 * count
    assert pairs >= 5 * count


def test_without_counts_nothing_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places_module, "MAX_CONFIGURATIONS", -1_000_000)  # they are forgotten at every step
    pairs, count = 0, rounds(600)
    for seed in range(500, 500 + count):
        drawn = random_pattern(seed)
        if drawn is not None and is_exact(drawn[0]):
            is_counted = re.search(r"\{\d*,?\d*\}", drawn[0])
            pairs += compare(drawn[0], "".join(filter(is_text, drawn[1])), most=60, exact=not is_counted)
    assert pairs >= 4 * count


def test_random_patterns_agree_with_re() -> None:
    # Where something looks around or gives up ways to match, nothing of a match is missed.
    patterns = exact_pairs = matches_of_others = 0
    count = rounds(1200)
    for seed in range(count):
        random = Random(seed)
        drawn = random_pattern(seed, looks=seed % 2 == 0, atomic=0.1 if seed % 4 == 0 else 0)
        if drawn is None:
            continue
        pattern, letters = drawn
        try:
            exact = is_exact(pattern)
        except PatternError:
            continue
        patterns += 1
        oracle = compiled(pattern)
        places = PatternPositions(pattern)
        tree = TreeSampler(pattern, letters)
        likely = [tree.text(random) for _ in range(10)]
        for text in {*short_texts(letters), *likely, *(mutated(text, letters, random) for text in likely)}:
            if len(text) > 20 or not is_text(text):
                continue
            matches = oracle.fullmatch(text) is not None
            found = places.may_end(read(places, text))
            if exact:
                assert found == matches, (seed, pattern, text)
                exact_pairs += 1
            elif matches:
                assert found, (seed, pattern, text)
                matches_of_others += 1
    print(f"{patterns} patterns; {exact_pairs} exact pairs, {matches_of_others} matches of other patterns")
    assert patterns >= 0.8 * count
    assert exact_pairs >= 20 * count
    assert matches_of_others >= count


def test_no_pattern_that_is_read_makes_it_raise() -> None:
    taken, count = 0, rounds(2000)
    for seed in range(count):
        random = Random(seed)
        drawn = RandomPattern(random)
        pattern = mutated(drawn.text, "()[]{}*+?|\\^-,:<=!#P1pLxui", random)
        try:
            parse(pattern)
        except PatternError:
            continue
        taken += 1
        places = PatternPositions(pattern)
        last = 0
        for start, end in sorted({(piece.start, piece.end) for piece in pieces(read_pieces(pattern))}):
            assert last <= start < end <= len(pattern), (seed, pattern)
            last = end
        for _ in range(3):
            text = "".join(random.choices([*drawn.letters, "\ud800", "\0"], k=6))
            place = read(places, text)
            places.next(place)
            places.may_end(place)
    assert taken >= 0.4 * count


MARK = "\uf8ff"


def with_mark(pattern: str, spans: list[tuple[int, int]], chosen: tuple[int, int]) -> str:
    """The pattern, where one piece reads a character more, which no other piece reads any longer."""
    written = []
    done = 0
    for start, end in spans:
        alternative = f"|{MARK}" if (start, end) == chosen else ""
        written.append(f"{pattern[done:start]}(?:(?!{MARK}){pattern[start:end]}{alternative})")
        done = end
    return "".join(written) + pattern[done:]


def test_each_piece_is_offered_exactly_where_it_can_read() -> None:
    # A mark that only this piece reads is tried behind every start of some matches.
    tried = offered = 0
    count = rounds(400)
    for seed in range(count):
        drawn = random_pattern(seed)
        if drawn is None or not is_exact(drawn[0]) or (dfa := language(drawn[0])) is None:
            continue
        pattern = drawn[0]
        random = Random(seed)
        places = PatternPositions(pattern)
        sampler = LanguageSampler(dfa)
        texts = [sampler.text(random) for _ in range(4)]
        starts = sorted({text[:end] for text in texts for end in range(len(text) + 1)})
        found = list(pieces(read_pieces(pattern)))
        spans = [(piece.start, piece.end) for piece in found]
        for piece, span in zip(found, spans, strict=True):
            marked = Dfa.from_regex(with_mark(pattern, spans, span))
            for text in starts:
                can_read = marked.walk((text + MARK).encode()) >= 0
                place = read(places, text)
                assert (span in places.next(place)) == can_read, (seed, pattern, text, span)
                tried += 1
                offered += can_read
                for character in drawn[1]:
                    reads = can_read and any(first <= ord(character) <= last for first, last in piece.characters)
                    assert (span in places.last_read(places.step(place, character))) == reads, (seed, pattern, text)
    print(f"{tried} pieces tried, {offered} of them could read")
    assert tried >= 15 * count
    assert offered >= 4 * count
