"""Edges over whole characters against the walk over their bytes."""

from __future__ import annotations

import re
from random import Random
from typing import Any

import interegular
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.patterns.random_patterns import RandomPattern, small_patterns
from tests.support.running.tried import tried

from sfgen.automata import Dfa
from sfgen.automata.determinize import Deterministic
from sfgen.automata.edges import Edge, WholeCharacters, character_edges, following, walk
from sfgen.automata.minimize import minimize
from sfgen.errors import SfgenError
from sfgen.regex.characters import TEXT, union

PATTERNS = [
    "[a-z]+!",
    ".{0,5}",
    r"(?s:.)*",
    r"\p{L}+",
    r"\P{L}x?",
    r"[\u07f0-\u0810]",
    r"[\ud000-\uffff]+",
    r"(?:[\uf000-\U00010010]|[\U000ffff0-\U0010ffff])*é",
    r"[à-öø-ÿ]|[一-龥]{2}",
    r"[^\x00-\x7f]",
    "",
]
LIMITS = [0, 0x7F, 0x80, 0x7FF, 0x800, 0xFFF, 0x1000, 0xD7FF, 0xE000, 0xFFFF, 0x10000, 0x3FFFF, 0x40000, 0x10FFFF]


def random_dfa(seed: int) -> Dfa | None:
    try:
        return Dfa.from_regex(RandomPattern(Random(seed)).text)
    except SfgenError:
        return None


def check(dfa: Dfa, codes: list[int]) -> None:
    """The edges of each state against a walk over the bytes, for these characters and those at the edges' limits."""
    edges = character_edges(dfa)
    assert list(edges) == sorted(edges, key=lambda edge: (edge.source, edge.characters))
    assert len({(edge.source, edge.target) for edge in edges}) == len(edges)
    sources = {0} | {edge.source for edge in edges} | {edge.target for edge in edges}
    assert sources == WholeCharacters(dfa).reached()
    of = {source: [edge for edge in edges if edge.source == source] for source in sources}
    assert {0} | {edge.target for edge in edges} == sources
    random = Random(0)
    for source, leaving in of.items():
        assert following(dfa, source) == union(*(edge.characters for edge in leaving))
        for edge in leaving:
            assert edge.characters == union(edge.characters) != ()
        pairs = [pair for edge in leaving for pair in edge.characters]
        some = random.sample(pairs, min(len(pairs), 20))
        for code in {*codes, *(code for first, last in some for code in (first - 1, first, last, last + 1))}:
            if 0 <= code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF:
                read = [e.target for e in leaving if any(first <= code <= last for first, last in e.characters)]
                target = dfa.walk(chr(code).encode(), source)
                assert read == ([target] if target >= 0 else [])


@given(st.integers(0, 2**32), st.lists(st.integers(0, 0x10FFFF), max_size=10))
def test_random_patterns(seed: int, codes: list[int]) -> None:
    dfa = random_dfa(seed)
    if dfa is not None:
        check(dfa, [*codes, *LIMITS])


@pytest.mark.parametrize("pattern", PATTERNS)
def test_patterns_beyond_ascii(pattern: str) -> None:
    check(Dfa.from_regex(pattern), LIMITS)


@pytest.mark.parametrize("choices", [["né", "naïve", "日本", "日本語", "😀"], ["", "a"]])
def test_choices(choices: list[str]) -> None:
    check(Dfa.from_choices(choices), LIMITS)


@given(st.integers(0, 2**32))
@tried("few")
def test_automata_over_any_bytes(seed: int) -> None:
    """What is no UTF-8 has no edge, and a state may be between characters and inside of one."""
    random = np.random.default_rng(seed)
    states, classes = int(random.integers(1, 7)), int(random.integers(1, 8))
    transitions = random.integers(-2, states, (states, classes)).clip(-1).astype(np.int32)
    starts = random.choice(np.arange(1, 256), classes - 1, replace=False)
    byte_classes = np.isin(np.arange(256), starts).cumsum().astype(np.uint8)
    accepting = random.random(states) < 0.5
    check(Dfa(*minimize(Deterministic(transitions, byte_classes, accepting))), LIMITS)


def test_an_automaton_over_every_byte_reads_every_character_and_no_more() -> None:
    dfa = Dfa(np.zeros((1, 1), dtype=np.int32), np.zeros(256, dtype=np.uint8), np.ones(1, dtype=np.bool_))
    assert character_edges(dfa) == (Edge(0, 0, TEXT),)


def test_bytes_of_no_character_have_no_edge() -> None:
    table = np.array([[-1, 1], [-1, -1]], dtype=np.int32)
    classes = np.zeros(256, dtype=np.uint8)
    classes[0xFF] = 1
    dfa = Dfa(table, classes, np.array([False, True]))
    assert character_edges(dfa) == ()
    assert following(dfa, 0) == ()
    assert WholeCharacters(dfa).reached() == {0}


# Characters of every length in UTF-8; two share their first byte.
ALPHABET = "ab0\n\u00e9\u00ea\u0416\u804a\U0001f600"

patterns = small_patterns(
    "a", "b", "ab", "[ab]", "[^a]", ".", r"\w", "\u00e9", "[\u00e9-\u0416]", r"[^\n]", "\U0001f600"
)


class Partial:
    """Which texts a match can begin with, as interegular knows it."""

    def __init__(self, pattern: str) -> None:
        self.fsm: Any = interegular.parse_pattern(pattern).to_fsm()

    def starts(self, text: str) -> bool:
        state = self.fsm.initial
        for character in text:
            state = self.fsm.map[state].get(self.fsm.alphabet[character])
            if state is None:
                return False
        return bool(self.fsm.islive(state))


@tried("many")
@given(patterns, st.text(ALPHABET, max_size=6))
def test_a_walk_against_partial_matches(pattern: str, text: str) -> None:
    dfa, partial = Dfa.from_regex(pattern), Partial(pattern)
    found = walk(dfa, text)
    read = max(size for size in range(len(text) + 1) if partial.starts(text[:size]))
    assert found.text == text
    assert found.stopped == (read if read < len(text) else None)
    assert found.states == tuple(dfa.walk(text[:size].encode()) for size in range(read + 1))
    assert found.state == found.states[-1]
    if re.fullmatch(pattern, text, re.ASCII):
        assert found.verdict == "match"
    else:
        assert found.verdict == ("start" if read == len(text) else "no")
    assert found.may_end == bool(re.fullmatch(pattern, text[:read], re.ASCII))
    for character in ALPHABET:
        is_expected = any(first <= ord(character) <= last for first, last in found.expected)
        assert is_expected == partial.starts(text[:read] + character), character


@pytest.mark.parametrize(
    ("pattern", "text", "verdict", "stopped", "expected"),
    [
        ("[a-z]{3}[0-9]", "ab", "start", None, ((97, 122),)),
        ("[a-z]{3}[0-9]", "0", "no", 0, ((97, 122),)),
        ("[a-z]{3}[0-9]", "", "start", None, ((97, 122),)),
        ("[a-z]{3}[0-9]", "abc0", "match", None, ()),
        ("[a-z]{3}[0-9]", "abc0x", "no", 4, ()),
        ("(?:ab)*", "abab", "match", None, ((97, 97),)),
        ("\u00e9x", "\u00eax", "no", 0, ((0xE9, 0xE9),)),  # refused within the character
        (".*", "a\ud800", "no", 1, ((0, 9), (11, 0xD7FF), (0xE000, 0x10FFFF))),
    ],
)
def test_the_verdict(
    pattern: str, text: str, verdict: str, stopped: int | None, expected: tuple[tuple[int, int], ...]
) -> None:
    found = walk(Dfa.from_regex(pattern), text)
    assert (found.verdict, found.stopped, found.expected) == (verdict, stopped, expected)


def test_the_empty_language_has_no_start_of_a_match() -> None:
    a = Dfa.from_choices(["a"])
    found = walk(a - a, "")
    assert (found.verdict, found.stopped, found.expected, found.may_end) == ("no", None, (), False)
