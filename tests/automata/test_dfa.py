from __future__ import annotations

import json
import random
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.running.tried import tried

from sfgen.automata import Dfa
from sfgen.errors import PatternError, UsageError

TOY = json.loads((Path(__file__).parents[1] / "data" / "toys.json").read_text(encoding="utf-8"))["coalescence"]


@pytest.mark.parametrize("pattern", TOY["equivalent_regexes"])
def test_the_numbering_is_that_of_the_printed_index(pattern: str) -> None:
    dfa = Dfa.from_regex(pattern)
    steps = {
        str(state): {chr(byte): dfa.step(state, byte) for byte in range(256) if dfa.step(state, byte) >= 0}
        for state in range(len(dfa))
    }
    assert steps == TOY["char_transitions"]
    assert np.flatnonzero(dfa.accepting).tolist() == TOY["finals"]
    assert len(dfa) == TOY["n_states"]
    for state, row in TOY["index"].items():
        for token, target in row.items():
            assert dfa.walk(token.encode(), int(state)) == target


def test_the_arrays_are_as_promised_and_cannot_be_written() -> None:
    dfa = Dfa.from_regex("(?u)\\w+|-")
    for array, kind in ((dfa.transitions, np.int32), (dfa.byte_classes, np.uint8), (dfa.accepting, np.bool_)):
        assert array.dtype == kind
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    assert dfa.transitions.shape == (len(dfa), int(dfa.byte_classes.max()) + 1)
    assert dfa.byte_classes.shape == (256,)
    assert dfa.pattern == "(?u)\\w+|-"


def test_the_callers_arrays_stay_writable() -> None:
    transitions = np.full((1, 1), -1, dtype=np.int32)
    Dfa(transitions, np.zeros(256, dtype=np.uint8), np.ones(1, dtype=np.bool_))
    transitions[0, 0] = 0


def test_step_walk_and_accepts() -> None:
    dfa = Dfa.from_regex("é+x")
    half = dfa.walk("é".encode()[:1])
    assert half > 0
    assert dfa.walk("é".encode()[1:] + b"x", half) == dfa.walk("éx".encode())
    assert dfa.walk(b"", 1) == 1
    assert dfa.walk(b"xx") == -1
    assert dfa.step(0, 0xFF) == -1
    assert dfa.accepts("ééx".encode())
    assert not dfa.accepts("é".encode()[:1])
    assert not dfa.accepts("\ud800")


@tried("some")
@given(st.lists(st.text("abcé\n😀\\.", max_size=4), min_size=1, max_size=12))
def test_choices_are_the_escaped_alternation(choices: list[str]) -> None:
    dfa = Dfa.from_choices(choices)
    same = Dfa.from_regex("|".join(map(re.escape, choices)))
    assert dfa.equivalent(same)
    assert len(dfa) == len(same)
    assert dfa.pattern is None
    for choice in choices:
        assert dfa.accepts(choice)
        assert dfa.accepts(choice + "a") == (choice + "a" in choices)
    assert dfa.shortest() == min((choice.encode() for choice in choices), key=lambda data: (len(data), data))


@given(st.lists(st.text("abé", max_size=4), min_size=1, max_size=8))
def test_the_states_of_choices_are_numbered_as_they_are_first_visited(choices: list[str]) -> None:
    dfa = Dfa.from_choices(choices)
    visited = [dfa.walk(choice.encode()[:end]) for choice in choices for end in range(len(choice.encode()) + 1)]
    assert list(dict.fromkeys(visited)) == list(range(len(dfa)))


def test_many_choices() -> None:
    generator = random.Random(0)
    choices = ["".join(generator.choices("abcdefghij é", k=generator.randrange(3, 12))) for _ in range(5000)]
    dfa = Dfa.from_choices(choices)
    assert all(dfa.accepts(choice) for choice in choices)
    known = set(choices)
    for choice in choices[:500]:
        assert dfa.accepts(choice[:-1]) == (choice[:-1] in known)


def test_choices_over_all_bytes_but_those_that_text_has_not() -> None:
    dfa = Dfa.from_choices([chr(code) for code in range(0x800)] + ["\U0010ffff", "\uffff"])
    assert all(dfa.accepts(chr(code)) for code in range(0x800))
    assert not dfa.accepts("\u0800")


@pytest.mark.parametrize(
    ("choices", "message"),
    [([], "at least one"), ("abc", "list"), (["a", "b\udc80"], r"'b\\udc80' contains a surrogate")],
)
def test_choices_that_mean_nothing(choices: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Dfa.from_choices(choices)


@pytest.mark.parametrize("pattern", ["[^\\s\\S]", "a^b", "\ud800", "a\\Zb", "(a$bc)+"])
def test_the_empty_language_is_refused(pattern: str) -> None:
    assert not re.fullmatch(pattern, "ab", re.ASCII)
    with pytest.raises(PatternError, match="no text at all"):
        Dfa.from_regex(pattern)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("", ""),
        ("a*", ""),
        ("b|a|cc", "a"),
        ("[^a]{2}", "\0\0"),
        ("é|ab|bb", "ab"),
        ("(?:aa|b)c|xyz", "bc"),
        ("é", "é"),
    ],
)
def test_shortest(pattern: str, text: str) -> None:
    assert Dfa.from_regex(pattern).shortest() == text.encode()


def test_equivalent() -> None:
    assert Dfa.from_regex("(a|b)*").equivalent(Dfa.from_regex("(a*b*)*"))
    assert not Dfa.from_regex("a+").equivalent(Dfa.from_regex("a*"))
    assert not Dfa.from_regex("a").equivalent(Dfa.from_regex("b"))
    # Arrays that are neither minimal nor numbered as usual.
    transitions = np.array([[2], [1], [1]], dtype=np.int32)
    large = Dfa(transitions, np.zeros(256, dtype=np.uint8), np.ones(3, dtype=np.bool_))
    small = Dfa(np.zeros((1, 1), dtype=np.int32), np.zeros(256, dtype=np.uint8), np.ones(1, dtype=np.bool_))
    assert large.equivalent(small)
