"""Lookarounds, anchors and word boundaries against ``re`` on every short text."""

from __future__ import annotations

import itertools
import random
import re

import pytest
from tests.support.running.tried import rounds

from sfgen import Dfa
from sfgen.automata import lookaround
from sfgen.automata.compile import compile_bordered
from sfgen.automata.nfa import BORDER
from sfgen.errors import PatternError, PatternTooLarge

ROUNDS = rounds(400)
TEXTS = [
    "".join(text) for length in range(5) for text in itertools.product("ab \né"[: 5 - length // 4 * 2], repeat=length)
]
ANCHORS = ["^", "$", r"\A", r"\Z", r"\b", r"\B", "(?m:^)", "(?m:$)", r"(?u:\b)"]


class Patterns:
    """A random grammar of patterns in which most atoms look around themselves."""

    def __init__(self, seed: int) -> None:
        self.choice = random.Random(seed).choice
        self.random = random.Random(seed + 1).random

    def atom(self) -> str:
        return self.choice(["a", "b", "a", "b", " ", r"\n", ".", "é", "[ab]", "[^a]", r"\w", r"\W", r"\s", r"(?u:\w)"])

    def fixed(self, depth: int) -> str:
        """A pattern of one width, which may stand in a lookbehind."""
        kind = self.random()
        if kind < 0.5 or depth <= 0:
            return self.atom()
        if kind < 0.7:
            return self.choice([self.choice(ANCHORS) + self.atom(), self.atom() + self.choice(ANCHORS)])
        if kind < 0.8:
            return self.atom() + self.atom()
        if kind < 0.9:
            return f"(?<{self.choice('=!')}{self.fixed(depth - 1)}){self.atom()}"
        return f"(?:{self.atom()}|{self.atom()})"

    def pattern(self, depth: int) -> str:
        kind = self.random()
        if depth <= 0 or kind < 0.2:
            return self.atom()
        if kind < 0.45:
            return self.pattern(depth - 1) + self.pattern(depth - 1)
        if kind < 0.55:
            return f"(?:{self.pattern(depth - 1)}|{self.choice([self.pattern(depth - 1), ''])})"
        if kind < 0.67:
            return f"(?:{self.pattern(depth - 1)}){self.choice(['*', '+', '?', '{2}', '{1,2}', '*?', '{2,}'])}"
        if kind < 0.75:
            return self.choice(ANCHORS)
        if kind < 0.85:
            return f"(?{self.choice('=!')}{self.pattern(depth - 1)})"
        if kind < 0.93:
            return f"(?<{self.choice('=!')}{self.fixed(2)})"
        if kind < 0.97:
            return f"(?>{self.pattern(depth - 1)})"
        return f"(?:{self.pattern(depth - 2)}){self.choice(['*+', '++', '?+', '{1,2}+'])}"


@pytest.mark.parametrize("seed", range(4))
def test_random_patterns_on_every_short_text(seed: int) -> None:
    patterns = Patterns(seed)
    looked = refused = 0
    for _ in range(ROUNDS):
        pattern = patterns.pattern(4)
        expected = [text for text in TEXTS if re.fullmatch(pattern, text, re.ASCII)]
        found: list[str] | None
        reason = ""
        try:
            dfa = Dfa.from_regex(pattern)
        except PatternError as error:
            reason = error.reason
            refused += "atomic" in reason
            found = [] if "no text at all" in reason else None
        else:
            found = [text for text in TEXTS if dfa.accepts(text)]
            looked += "(?" in pattern
        assert found == expected or (found is None and "atomic" in reason), (pattern, found, expected)
    assert looked > 0.35 * ROUNDS
    assert refused < 1 + 0.05 * ROUNDS


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        (r"\bfoo\b", ["foo"], ["foo ", "foos"]),
        (r"(?:(?!END).)*END", ["END", "a END", "ENEND"], ["ENDEND", "a"]),
        (r"(?=.*\d)(?=.*[a-z])(?!.*(?:ab|ba)).{4,8}", ["12cd", "a111b"], ["12ab", "abcd", "123a5678b"]),
        (r"(?:\w+\b\W*)+", ["ab, cd", "a"], [" a", ""]),
        (r"(?:^|,)x(?:,x)*$", ["x", ",x", "x,x"], ["x,", ",,x", "x\n"]),
        (r"(?m)(?:^\w+$\n?)+", ["a\nb", "a\n"], ["a\n\n", ""]),
        (r"(?:(?<=a)b|(?<!a)c|a)+", ["abca"[:2], "ccab", "cc"], ["b", "ac", "cb"]),
        (r"(?:(?<=\bfoo) bar|foo)+", ["foo bar", "foo"], ["foofoo bar", " bar"]),
        (r"[a-z]+(?<!ing)(?<!\bbe)", ["run", "maybe"], ["running", "be"]),
        (r"(?i)(?!con$|nul$)[a-z]+", ["cons", "x"], ["CON", "nul"]),
        (r"(?=é+$)(?<!é)..", ["éé"], ["é", "éa"]),
        (r"(?!(?=a)(?!ab))a\w", ["ab"], ["aa", "ac"]),
    ],
)
def test_cases(pattern: str, yes: list[str], no: list[str]) -> None:
    dfa = Dfa.from_regex(pattern)
    for text in yes + no:
        assert (re.fullmatch(pattern, text, re.ASCII) is not None) == (text in yes), text
        assert dfa.accepts(text) == (text in yes), text


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("a", ["|a|", "ba|a|", "é|a|é"], ["a", "|a", "a||", "|a|b|", "||a"]),
        (r"\ba\b", ["|a|", "b |a|,a"], ["b|a|", "|a|b", "a|a|", "é|a|"]),
        (r"(?a)\ba\b", ["|a|", "é|a|é"], ["b|a|", "|a|b"]),
        ("^a$", ["|a|", "|a|\n"], ["\n|a|", "|a|\na", " |a|"]),
        ("(?m)^a$", ["|a|", "b\n|a|\nb"], ["b|a|", "|a|b"]),
        ("(?<=ab)c(?=de)", ["ab|c|de", "aab|c|def"], ["b|c|de", "ab|c|d", "a|bc|de"]),
        ("(?<=a)(?<!ba)c(?!d.*e)", ["a|c|d", "aa|c|"], ["ba|c|", "a|c|dee"]),
        ("b(?<=ab)", ["a|b|"], ["|b|", "b|b|"]),
        ("a(?=b)b", ["|ab|"], ["|a|b"]),
        ("a++b?", ["|aa|", "|aab|", "a|a|"], ["|a|a"]),
        (r"\B", ["a||b", " ||"], ["||a", "a||"]),
        ("a^b", [], ["|ab|", "a|b|"]),
    ],
)
def test_matches_between_borders_see_the_whole_text(pattern: str, yes: list[str], no: list[str]) -> None:
    automaton, _, symbols = compile_bordered(pattern)
    dfa = Dfa(*automaton)
    for text in yes + no:
        parts = ["".join(chr(symbols.number(letter)) for letter in part) for part in text.split("|")]
        assert dfa.accepts(bytes([BORDER]).join(part.encode() for part in parts)) == (text in yes), text


@pytest.mark.parametrize("pattern", ["a(?!.*)b", "a^b", r"a\bb", "(?=a)b", "(?<=a)b", r"\w\B \w"])
def test_an_empty_language_is_an_error(pattern: str) -> None:
    with pytest.raises(PatternError, match="no text at all"):
        Dfa.from_regex(pattern)


def test_the_limit_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lookaround, "MAX_LOOKAROUND_WORK", 2000)
    Dfa.from_regex(r"(?:\b[ab]{1,9}(?!.{7}d) ?){1,2}")
    with pytest.raises(
        PatternTooLarge, match="limit of 2,000 steps of construction for patterns with lookarounds"
    ) as no:
        Dfa.from_regex(r"(?:\b[ab]{1,9}(?!.{7}d) ?){1,30}")
    assert no.value.hint
