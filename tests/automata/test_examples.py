from __future__ import annotations

import itertools
import random
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.patterns.automata import automata
from tests.support.running.tried import tried

from sfgen.automata import Dfa
from sfgen.automata.edges import character_edges
from sfgen.automata.examples import Familiar, examples, rank, relation
from sfgen.regex.characters import Ranges

patterns = st.recursive(
    st.sampled_from(["a", "b", "ab", "[ab]", "[^a]", ".", r"\s", "\u00e9", "[\u00e9-\u0416]", "[\u0800-\U0001f600]"]),
    lambda parts: st.one_of(
        st.lists(parts, max_size=3).map("".join),
        st.lists(parts, min_size=1, max_size=3).map(lambda branches: f"(?:{'|'.join(branches)})"),
        st.builds(lambda part, count: f"(?:{part}){count}", parts, st.sampled_from(["*", "+", "?", "{2}", "{1,3}"])),
    ),
    max_leaves=6,
)


def transitions(dfa: Dfa) -> dict[tuple[int, int], Ranges]:
    """What is read from state to state."""
    return {(edge.source, edge.target): edge.characters for edge in character_edges(dfa)}


def taken(dfa: Dfa, text: str) -> set[tuple[int, int]]:
    """The transitions that a text takes."""
    states = [dfa.walk(text[:size].encode()) for size in range(len(text) + 1)]
    return set(itertools.pairwise(states))


# --- what they are -------------------------------------------------------------------------------------------------


@given(patterns, st.integers(0, 60))
def test_each_matches_and_comes_once(pattern: str, count: int) -> None:
    dfa = Dfa.from_regex(pattern)
    texts = examples(dfa, count)
    assert all(re.fullmatch(pattern, text, re.ASCII) for text in texts)
    assert len(set(texts)) == len(texts) <= count
    if count:
        assert len(texts[0]) <= min(map(len, texts))
        assert len(texts[0].encode()) >= len(dfa.shortest())
    assert texts == examples(dfa, 80)[:count]


@given(patterns)
def test_everything_new_comes_first(pattern: str) -> None:
    dfa = Dfa.from_regex(pattern)
    every = set(transitions(dfa))
    texts = examples(dfa, len(every) + 20)
    left = set(every)
    for number, text in enumerate(texts):
        new = left & taken(dfa, text)
        # A way on from where the first text ends need not be there.
        assert new or not left or number == 0
        left -= new
        if not left and number:
            rest = texts[number + 1 :]
            assert [len(text) for text in rest] == sorted(map(len, rest))
            break
    assert not left


@tried("many")
@given(automata(most_states=5))
def test_a_finite_language_is_told_completely(dfa: Dfa) -> None:
    texts = examples(dfa, 130)
    assert len(set(texts)) == len(texts)
    assert all(dfa.accepts(text) for text in texts)
    # Every state can reach an end, so a text that is as long as there are states has gone round, and may again.
    is_finite = all(dfa.walk(bytes(letters)) < 0 for letters in itertools.product(b"abc", repeat=len(dfa)))
    short = ("".join(letters) for length in range(len(dfa)) for letters in itertools.product("abc", repeat=length))
    if is_finite:  # at most 121 texts
        assert set(texts) == {text for text in short if dfa.accepts(text)}
    else:
        assert len(texts) == 130


@tried("some")
@given(st.lists(st.text("ab\u00e9\u00ea\U0001f600\n", max_size=5), min_size=1, max_size=30, unique=True))
def test_choices_are_told_completely(choices: list[str]) -> None:
    texts = examples(Dfa.from_choices(choices), len(choices) + 1)
    assert sorted(texts) == sorted(choices)
    assert len(texts[0]) == min(map(len, choices))


def test_every_spelling_of_every_way() -> None:
    texts = examples(Dfa.from_regex("[ab]-[xyz][01]?|[c-e]{2}"), 1000)
    assert sorted(texts) == sorted(
        [
            *("-".join(pair) for pair in itertools.product("ab", "xyz")),
            *(f"{a}-{x}{digit}" for a, x, digit in itertools.product("ab", "xyz", "01")),
            *("".join(pair) for pair in itertools.product("cde", repeat=2)),
        ]
    )


def test_the_empty_language_and_no_text() -> None:
    a = Dfa.from_choices(["a"])
    assert examples(a - a, 5) == []
    assert examples(a, 0) == []
    assert examples(Dfa.from_regex(""), 5) == [""]


def test_bytes_that_are_no_text_are_passed_over() -> None:
    classes = np.zeros(256, dtype=np.uint8)
    classes[[ord("a"), ord("b"), 0xFF]] = [1, 2, 3]
    transitions = np.array([[-1, 1, 2, -1], [-1, -1, -1, -1], [-1, -1, -1, 1]], dtype=np.int32)
    dfa = Dfa(transitions, classes, np.array([False, True, False]))
    assert dfa.accepts(b"b\xff")
    assert examples(dfa, 5) == ["a"]
    assert relation(dfa, Dfa.from_choices(["a"])).kind == "same"


# --- how they look -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "texts"),
    [
        (r"[^\n]{1,5}", ["a", "bb", "ccc", "dddd", "eeeee", "b", "c"]),
        ("[a-z]{3}[0-9]", ["aaa0", "bbb1", "ccc2"]),
        ("[0-9]{4}-[0-9]{2}", ["0000-00", "1111-11", "2222-22"]),
        ("cat|bat|rat", ["bat", "cat", "rat"]),
        ("(?:hot|cold)+", ["hot", "cold", "hothot", "hotcold", "coldhot"]),
        ("(?:ax|by)(?:cz|dw)", ["axcz", "bydw", "axdw", "bycz"]),  # two are enough to show everything
        ("[a-z]+@[a-z]+\\.(com|org)", ["a@a.com", "b@b.org", "cc@c.com", "d@dd.com", "b@b.com", "a@a.org"]),
        (r"[^a-z]", ["A", "B"]),
        (r"\s", [" ", "\n", "\t", "\x0b", "\x0c", "\r"]),
        ("[\x00-\x1f\u0300\u00e9]", ["\n", "\t", "\u00e9", "\u0300", "\x00"]),
    ],
)
def test_familiar_texts(pattern: str, texts: list[str]) -> None:
    assert examples(Dfa.from_regex(pattern), len(texts)) == texts


def test_long_and_large_languages() -> None:
    texts = examples(Dfa.from_regex(".{0,2000}"), 20)
    assert [len(text) for text in texts] == list(range(20))
    assert examples(Dfa.from_regex("[a-z]{5000}"), 3) == [letter * 5000 for letter in "abc"]
    generator = random.Random(0)
    choices = {"".join(generator.choices("abcdefghij é", k=generator.randrange(3, 12))) for _ in range(5000)}
    dfa = Dfa.from_choices(sorted(choices))
    assert set(examples(dfa, 20)) < choices
    assert set(examples(dfa, 6000)) == choices


# --- which character stands for a set ------------------------------------------------------------------------------

ranges = st.lists(
    st.sampled_from([0, 9, 10, 32, 33, 48, 65, 97, 122, 127, 0xAA, 0xE9, 0x300, 0x4E00, 0xE000, 0x1F600, 0x10FFFE]),
    min_size=1,
    max_size=6,
    unique=True,
).map(lambda starts: tuple((start, start + 1) for start in sorted(starts) if start + 1 not in starts))


def place(character: str) -> tuple[int, int]:
    """The order, told by what ``str`` knows."""
    if character.isascii():
        kinds = [character.islower(), character.isupper(), character.isdigit(), "!" <= character <= "~"]
        kinds += [character == " ", character == "\n", character == "\t"]
    else:
        kinds = [*[False] * 7, character.isprintable() and character.isalpha(), character.isprintable()]
    return kinds.index(True) if True in kinds else 9, ord(character)


@given(ranges)
def test_the_order_of_characters(characters: Ranges) -> None:
    every = [chr(code) for first, last in characters for code in range(first, last + 1)]
    shown = Familiar(characters)
    assert len(shown) == len(every)
    assert [shown[number] for number in range(len(shown))] == sorted(every, key=place)
    assert rank(characters) == min(map(place, every))
    with pytest.raises(IndexError):
        shown[len(shown)]


def test_all_characters_are_in_the_order() -> None:
    shown = Familiar(((0, 0xD7FF), (0xE000, 0x10FFFF)))
    assert len({shown[number] for number in range(len(shown))}) == len(shown) == 0x110000 - 0x800
