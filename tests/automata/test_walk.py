from __future__ import annotations

import re
from typing import Any

import interegular
import pytest
from hypothesis import given
from hypothesis import strategies as st
from patterns import small_patterns
from tried import tried

from sfgen.automata import Dfa
from sfgen.automata.edges import walk

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
