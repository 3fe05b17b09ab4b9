"""Interegular's machine as the source document prints it, and Algorithms 3 and 4 over it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from random import Random
from typing import Any

import interegular
import numpy as np
import pytest
from interegular.fsm import FSM, Alphabet, anything_else
from tests.support.patterns.random_patterns import PlainPattern
from tests.support.patterns.texts import TreeSampler, mutated, short_texts

from sfgen import Vocabulary
from sfgen.errors import PatternError, PatternTooLarge, UsageError
from sfgen.reference import FsmIndex, Machine, find_sub_sequences, fsm_table, map_states_to_vocab, reference_fsm
from sfgen.reference.interegular_machine import written_size
from sfgen.regex import parse

# The prints of the source document, character for character.
TABLE = """\
  name final? . 0 1 2 3 4 5 6 7 8 9 anything_else 
--------------------------------------------------
* 0    False  2 1 1 1 1 1 1 1 1 1 1               
  1    False  2 3 3 3 3 3 3 3 3 3 3               
  2    False    4 4 4 4 4 4 4 4 4 4               
  3    False  2 3 3 3 3 3 3 3 3 3 3               
  4    True     5 5 5 5 5 5 5 5 5 5               
  5    True     5 5 5 5 5 5 5 5 5 5               
"""  # noqa: W291
FINALS = "frozenset({4, 5})\n"
ALPHABET = """\
0-9           | 0
anything_else | 1
.             | 2
"""
MAP = "{0: {0: 1, 2: 2}, 1: {0: 3, 2: 2}, 2: {0: 4}, 3: {0: 3, 2: 2}, 4: {0: 5}, 5: {0: 5}}\n"
NUMBER = r"([0-9]+)?\.[0-9]+"


def test_the_machine_of_the_document() -> None:
    fsm = reference_fsm(NUMBER)
    assert str(fsm) == TABLE
    assert f"{fsm.finals}\n" == FINALS
    assert f"{fsm.alphabet}\n" == ALPHABET
    assert f"{fsm.map}\n" == MAP
    assert fsm_table(fsm) == f"{TABLE}\nfinals\n{FINALS}\nalphabet\n{ALPHABET}\nmap\n{MAP}"


def test_every_run_gives_the_same_machine() -> None:
    """interegular's own numbers follow the order of a set, which is another one in every process."""
    patterns = [NUMBER, "([a-c]x|é)+[^b]{2}", "(?i)ab|(?s:.)b"]
    code = f"from sfgen.reference.fsm import *\nfor p in {patterns!r}: print(fsm_table(reference_fsm(p)))"
    printed = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            check=True,
            capture_output=True,
        ).stdout
        for seed in range(1, 5)
    }
    assert len(printed) == 1


def test_it_is_interegulars_machine() -> None:
    """The same up to the numbers: as many states, and the same language."""
    for pattern in (NUMBER, "(hot|cold|hotel)", "[^a-c]{2,4}|b*", "(a|ab)(c|bcd)d*"):
        ours: Any = reference_fsm(pattern)
        theirs = interegular.parse_pattern(pattern).to_fsm()
        assert len(ours.states) == len(theirs.states)
        assert ours.equivalent(theirs)


# ---- Algorithms 3 and 4 ----------------------------------------------------------------------------------------------


def test_sub_sequences_of_the_document() -> None:
    machine = Machine(reference_fsm(NUMBER))
    assert find_sub_sequences(machine, "2") == [(0, 1), (1, 3), (2, 4), (3, 3), (4, 5), (5, 5)]
    assert find_sub_sequences(machine, ".2") == [(0, 2, 4), (1, 2, 4), (3, 2, 4)]
    assert find_sub_sequences(machine, "2.") == [(0, 1, 2), (1, 3, 2), (3, 3, 2)]
    assert find_sub_sequences(machine, ".2a") == []
    assert find_sub_sequences(machine, "é") == []


def test_the_map_is_that_of_partial_matches() -> None:
    """By definition: a token belongs to a state if the text that leads to the state, and the token, begin a match."""
    vocabulary = ["a", ".", ".2", "1", "12", "1.", ".2.", "1a", "é", "3.4"]
    sigma = map_states_to_vocab(Machine(reference_fsm(NUMBER)), vocabulary)
    texts = {0: "", 1: "7", 2: "7.", 3: "77", 4: ".7", 5: ".77"}
    import regex

    for state, text in texts.items():
        expected = {v for v in vocabulary if regex.fullmatch(NUMBER, text + v, partial=True)}
        assert sigma[state] == expected


def test_states_that_lead_nowhere_are_not_states() -> None:
    rows = {0: {0: 1, 1: 2}, 1: {0: 1, 1: 3}, 2: {0: 2, 1: 4}, 4: {0: 2}}
    symbols: Any = {"a": 0, "b": 1, anything_else: 2}
    machine = Machine(FSM(Alphabet(symbols), {0, 1, 2, 3, 4}, 0, {3}, rows))
    assert machine.states == [0, 1, 3]
    assert find_sub_sequences(machine, "b") == [(1, 3)]
    assert find_sub_sequences(machine, "ab") == [(0, 1, 3), (1, 1, 3)]
    assert map_states_to_vocab(machine, ["a", "b", "ab", "ba"]) == {0: {"a", "ab"}, 1: {"a", "b", "ab"}, 3: set()}
    nothing = Machine(FSM(Alphabet(symbols), {0}, 0, set(), {0: {0: 0}}))
    assert nothing.states == []
    assert nothing.start is None


# ---- the index -------------------------------------------------------------------------------------------------------


def test_transitions_have_the_numbers_of_the_machine() -> None:
    vocabulary = Vocabulary([b".2", b"x", b"1", b"1", None, b"", b"3."], end_token_ids=[4])
    index = FsmIndex(NUMBER, vocabulary)
    assert len(index) == len(index.fsm.states) == 6
    assert index.accepting == {4, 5}
    rows = [[array.tolist() for array in index.transitions(state)] for state in range(6)]
    assert rows[0] == [[0, 2, 3, 6], [4, 1, 1, 2]]
    assert rows[4] == rows[5] == [[2, 3], [5, 5]]
    assert index.transitions(0)[0].dtype == index.transitions(0)[1].dtype == np.int32


def test_tokens_that_end_within_a_character() -> None:
    pieces = ["aé".encode()[:2], b"\xa9", b"\xa8b", b"a", b"\xc3", b"\xe2\x82", b"\xed\xa0"]
    index = FsmIndex("a(é|è)b?|[^x]x", Vocabulary(pieces))
    end = len(index)
    tokens, targets = index.transitions(0)
    assert tokens.tolist() == [0, 3, 4, 5]
    assert index.position(int(targets[0])) == (index.next_state(0, 3), b"\xc3")
    assert index.position(int(targets[2])) == (0, b"\xc3")
    assert sorted(index.position(state)[1] for state in range(end, end + 3)) == [b"\xc3", b"\xc3", b"\xe2\x82"]
    assert index.allowed_tokens(int(targets[0])).tolist() == [1, 2]
    assert not index.is_accepting(int(targets[0]))
    assert index.accepts("aéb".encode())
    assert not index.accepts(pieces[0])


# ---- what is refused -------------------------------------------------------------------------------------------------

REFUSED = {
    "^a$": "no anchors",
    r"\bword\b": "no anchors",
    "(?=a)[ab]": "lookarounds",
    "(?!ab)[ab]+": "lookarounds",
    "a*+b": "possessive",
    "(?>a|ab)b": "atomic",
    r"\u0061": "unicode properties",
    r"\N{BULLET}": "unicode properties",
    r"\p{Greek}": "unicode properties",
    "(?u)a": "Flag u",
    "(?a)\\w": "Flag a",
    "(?x)a b": "Flag x",
    "(?m)a": "MULTILINE",
    "a(?#comment)b": "cannot read the pattern",
    "a{2": "cannot read the pattern",
    "[]a]": "otherwise than re",
    "[^]a]": "otherwise than re",
    "x{}": "otherwise than re",
    r"[\W\D]": "otherwise than re",
    "(?i)é": "otherwise than re: for 'É'",
    "(?i)x(?-i:(a))": "otherwise than re",
    "(?i)ß": "a character as several",
}


@pytest.mark.parametrize("pattern", REFUSED)
def test_what_interegular_cannot_read(pattern: str) -> None:
    with pytest.raises(PatternError, match=re.escape(REFUSED[pattern])) as caught:
        reference_fsm(pattern)
    assert "default engine" in caught.value.hint
    with pytest.raises(PatternError):
        FsmIndex(pattern, Vocabulary([b"a"]))


@pytest.mark.parametrize(
    ("pattern", "says"),
    [("a(", "unterminated"), ("a**", "multiple repeat"), (r"(a)\1", "not regular"), (r"[^\s\S]", "no text at all")],
)
def test_what_no_engine_reads(pattern: str, says: str) -> None:
    with pytest.raises(PatternError, match=says):
        reference_fsm(pattern)


@pytest.mark.parametrize("pattern", ["(a{1000}){1000}", "(?:ab?){3000}", "[\U00010000-\U0010ffff]"])
def test_what_would_take_too_long(pattern: str) -> None:
    with pytest.raises(PatternTooLarge, match="the limit of the engine fsm"):
        reference_fsm(pattern)


def test_what_is_read_is_read_as_re_reads_it() -> None:
    read = texts = wrong = 0
    for seed in range(300):
        random = Random(seed)
        drawn = PlainPattern(random)
        if len(drawn.text) > 60 or re.search("[日\U0010ffff\uffff\ue000😀]", drawn.text):
            continue  # interegular lists every character of a range
        try:
            oracle = re.compile(drawn.text, re.ASCII)
            fsm = reference_fsm(drawn.text)
        except re.error:
            continue
        except PatternError as error:
            if "otherwise than re" in error.reason:  # the text that is named tells them apart
                text = eval(error.reason.split(": for ")[1])
                machine = interegular.parse_pattern(drawn.text).to_fsm()
                assert machine.accepts(text) != (oracle.fullmatch(text) is not None)
                wrong += 1
            continue
        read += 1
        tree = TreeSampler(drawn.text, drawn.letters)
        likely = [tree.text(random) for _ in range(8)]
        for text in {*short_texts(drawn.letters), *likely, *(mutated(text, drawn.letters, random) for text in likely)}:
            if len(text) < 20 and not any("\ud800" <= character <= "\udfff" for character in text):
                assert fsm.accepts(text) == (oracle.fullmatch(text) is not None), (drawn.text, text)
                texts += 1
    print(f"{read} patterns, {texts} texts; interegular reads {wrong} otherwise")
    assert read > 150
    assert texts > 5_000
    assert wrong > 3


def test_guides_of_machines_say_what_is_wrong() -> None:
    index = FsmIndex("[ab]x", Vocabulary([b"a", b"bx", None], end_token_ids=[2]))
    guide = index.guide(max_tokens=1)
    with pytest.raises(UsageError, match="token 2 is not allowed"):
        guide.advance(2)
    guide.advance(1)
    assert guide.is_accepting
    assert guide.allowed_tokens().tolist() == [2]
    with pytest.raises(UsageError, match="token 0 is not allowed"):
        guide.advance(0)
    guide.advance(2)
    assert guide.is_finished
    assert guide.allowed_tokens().tolist() == []
    with pytest.raises(UsageError, match="has ended"):
        guide.advance(0)
    with pytest.raises(UsageError, match="cannot take back 3"):
        guide.rollback(3)
    guide.rollback(2)
    assert guide.allowed_tokens().tolist() == [0, 1]
    full = FsmIndex("a+", index.vocabulary).guide(max_tokens=1)
    full.advance(0)
    with pytest.raises(UsageError, match="token 0 is not allowed"):
        full.advance(0)


def test_the_size_of_a_pattern() -> None:
    assert [written_size(parse(pattern)) for pattern in ("abc", "(ab){3}", "[ab]{2,5}c*", "a|bc", "")] == [
        3, 6 + 2, 5 + 1, 3, 1,
    ]  # fmt: skip
