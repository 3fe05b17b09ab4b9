"""Sequences of constraints: their texts by the definition of each part alone, groups, copies, limits, whole runs."""

from __future__ import annotations

import itertools
import pickle
import re
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.running.tried import tried

import sfgen
from sfgen import (
    Backreference,
    BannedWords,
    Dfa,
    GenerationConfig,
    Grammar,
    Index,
    JsonSchema,
    Sampler,
    Sequence,
    SequencePart,
    Substring,
    Template,
    Vocabulary,
)
from sfgen.errors import LimitTooSmall, UsageError
from sfgen.index import thread_tokens
from sfgen.index.sequence_parts import Ending
from sfgen.protocols import Guide

PATTERNS = ["a{0,2}", "ab?", "(a|bb)b?", "b|ab", "(ab){0,2}", "a|b|ab"]
TOKENS = ["a", "b", "ab", "bb", "aab"]
VOCABULARY = Vocabulary([*(token.encode() for token in TOKENS), None], [len(TOKENS)])
LONGEST = 6  # characters of a text that is tried


@cache
def texts_of(pattern: str, ends: str) -> list[str]:
    """All texts of a pattern that end so, by the pattern alone."""
    every = ("".join(letters) for size in range(5) for letters in itertools.product("ab", repeat=size))
    texts = [text for text in every if re.fullmatch(pattern, text)]
    if ends == "earliest":
        texts = [text for text in texts if not any(text[:size] in texts for size in range(len(text)))]
    return texts


@st.composite
def sequences(draw: st.DrawFn) -> tuple[list[Any], set[str]]:
    """Parts, and all texts of them."""
    parts, named = list[Any](), list[str]()
    ways: list[tuple[str, dict[str, str]]] = [("", {})]
    for number in range(draw(st.integers(1, 3))):
        kind = draw(st.sampled_from(["literal", "anywhere", "anywhere", "earliest", "again"]))
        ends: Ending = "earliest" if kind == "earliest" else "anywhere"
        if kind == "literal":
            text = draw(st.sampled_from(["a", "b", "ab"]))
            parts.append(text)
            ways = [(way + text, known) for way, known in ways]
        elif kind == "again" and named:
            name = draw(st.sampled_from(named))
            parts.append(Backreference(name))
            ways = [(way + known[name], known) for way, known in ways]
        else:
            pattern, name = draw(st.sampled_from(PATTERNS)), f"p{number}"
            parts.append(SequencePart(Dfa.from_regex(pattern), name, ends))
            named.append(name)
            texts = texts_of(pattern, ends)
            ways = [(way + text, {**known, name: text}) for way, known in ways for text in texts]
    if not named:
        parts.append(SequencePart(Dfa.from_regex("b?"), "last"))
        ways = [(way + text, known) for way, known in ways for text in ("", "b")]
    return parts, {way for way, _ in ways}


def written(guide: Guide, text: str = "") -> Iterator[str]:
    """All texts that a guide with a limit can write."""
    for token in guide.allowed_tokens().tolist():
        if token == len(TOKENS):
            yield text
            continue
        guide.advance(token)
        yield from written(guide, text + TOKENS[token])
        guide.rollback(1)


@tried("many")
@given(sequences(), st.integers(0, 4))
def test_its_texts_are_those_of_its_parts_one_after_the_other(drawn: tuple[list[Any], set[str]], limit: int) -> None:
    parts, texts = drawn
    sequence = Sequence(parts)
    every = ("".join(letters) for size in range(LONGEST + 1) for letters in itertools.product("ab", repeat=size))
    for text in every:
        assert sequence.accepts(text) is (text in texts)
        groups = sequence.groups(text)
        assert (groups is not None) is (text in texts)
        assert (sequence.refusal(text.encode()) is None) is (text in texts)
        if groups is not None:
            named = [part for part in parts if isinstance(part, SequencePart)]
            assert [group.name for group in groups] == [part.name for part in named]
            for part, group in zip(named, groups, strict=True):
                start, end = group.span or (0, 0)
                assert isinstance(part.constraint, Dfa)
                assert text[start:end] in texts_of(part.constraint.pattern or "", part.ends)
    shortest = sequence.shortest().decode()
    assert shortest in texts
    assert len(shortest) == min(map(len, texts)) or sequence.dfa is None
    within = {"".join(way) for size in range(limit + 1) for way in itertools.product(TOKENS, repeat=size)}
    try:
        found = set(written(Index(sequence, VOCABULARY).guide(limit)))
    except LimitTooSmall:
        found = set()
    assert found <= texts & within
    assert found == texts & within or sequence.dfa is None


def test_an_ending_is_the_longest_only_where_nothing_else_could_follow() -> None:
    word = SequencePart(Dfa.from_regex("[a-z]+"), "word", "longest")
    assert Sequence([word, "."]).accepts("abc.")
    assert Sequence([".", word]).accepts(".abc")
    assert Sequence([SequencePart(JsonSchema({"type": "integer"}), ends="longest")]).accepts("12")
    for behind in (["a"], [Dfa.from_regex("[.]?"), "b"], [Dfa.from_regex("x?")], [Backreference("word")]):
        for first in (word, Sequence([word])):
            with pytest.raises(UsageError, match="longest"):
                Sequence([first, *behind])
    number = SequencePart(JsonSchema({"type": "integer"}), ends="longest")
    assert Sequence([word, number]).to_dict()["sequence"][0]["ends"] == "longest"
    for first in (
        number,
        SequencePart(Substring("12"), ends="longest"),
        SequencePart(Grammar.from_lark('start: "a"'), ends="longest"),
    ):
        with pytest.raises(UsageError, match="longest"):
            Sequence([first, "."])


def test_a_schema_ends_where_it_is_whole_for_the_first_time() -> None:
    number = SequencePart(JsonSchema({"enum": [1, 11, 2]}), "n", "earliest")
    sequence = Sequence([number, Dfa.from_regex("[12]*")])
    assert sequence.accepts("1112")
    groups = sequence.groups("1112")
    assert groups is not None
    assert groups[0].span == (0, 1)
    assert sequence.value("1112") == {"n": 1}
    guide = Index(sequence, Vocabulary([b"1", b"11", b"2", b"3", None], [4])).guide()
    assert guide.allowed_tokens().tolist() == [0, 1, 2]


def test_what_is_refused() -> None:
    dfa = Dfa.from_regex("a")
    for parts, says in (
        ([], "there is nothing to write"),
        (["a"], "there is nothing to write"),
        ([7], "constraint must be"),
        ([SequencePart(dfa, "x"), SequencePart(dfa, "x")], "two parts are named 'x'"),
        ([Template("{{x: regex a}}"), SequencePart(dfa, "x")], "two parts are named 'x'"),
        ([Backreference("x"), dfa], "no earlier part named 'x'"),
        ([dfa, "\ud800"], "surrogate"),
        (7, "parts must be"),
    ):
        with pytest.raises(UsageError, match=says):
            Sequence(parts)  # type: ignore[arg-type]
    for wrong in ({"ends": "never"}, {"name": ""}, {"name": 7}, {"temperature": -1}):
        with pytest.raises(UsageError):
            SequencePart(dfa, **wrong)
    with pytest.raises(UsageError, match="surrogate"):
        SequencePart(dfa, "\ud800")
    with pytest.raises(UsageError, match=r"has the token <\[10\]>"):
        Sequence([Grammar.from_gbnf('root ::= "a" <[10]>')])
    with pytest.raises(UsageError, match="name"):
        Backreference(7)  # type: ignore[arg-type]


def test_sequences_and_templates_are_parts_of_others() -> None:
    inner = Sequence(["<", SequencePart(Dfa.from_regex("[a-z]"), "x"), Backreference("x"), ">"])
    both = Sequence([SequencePart("!", "mark"), inner, Template("{{y: regex [0-9]}}{{y}}"), Backreference("mark")])
    assert both.accepts("!<aa>11!")
    assert not both.accepts("!<ab>11!")
    assert [group.name for group in both.groups("!<aa>11!") or ()] == ["mark", "x", "y"]
    clean = inner.without_banned(BannedWords(["aa"], match="substring"))
    assert clean is not None
    assert not Sequence([clean, "."]).accepts("<aa>.")
    assert Sequence([clean, "."]).accepts("<bb>.")


def test_equal_pickled_and_as_data() -> None:
    def make(name: str = "x") -> Sequence:
        grammar, dfa = Grammar.from_lark('start: "b"+'), Dfa.from_regex("c?")
        return Sequence(["a", SequencePart(grammar, name, temperature=0.5), Backreference(name), dfa])

    one = make()
    assert one == make()
    assert hash(one) == hash(make())
    assert one != make("y")
    assert one != Template("a{{x: regex b+}}{{x}}")
    twin = pickle.loads(pickle.dumps(one))
    assert twin == one
    assert twin.accepts("abbbb")
    assert repr(one) == "Sequence of 4 parts, with x"
    assert Sequence([Dfa.from_regex("a")]) != Sequence([Dfa.from_regex("b")])
    assert one.temperatures == {0.5}
    told = one.to_dict()["sequence"]
    assert told[0] == "a"
    assert told[2] == {"again": "x"}


def test_no_way_is_looked_for_where_the_vocabulary_writes_none() -> None:
    """Behind the one it cannot write the text of any schema."""
    grammar = Grammar.from_lark('start: "1" %json {"enum": [1, 12]} | "2"')
    guide = Index(
        Sequence([SequencePart(grammar, "x"), Backreference("x")]), Vocabulary([b"11", b"2", b"12", None], [3])
    ).guide()
    assert 2 not in guide.allowed_tokens()


@pytest.mark.parametrize("pattern", [*PATTERNS, "[ab]+", "a+", "(ab|b)+"])
def test_tokens_that_cross_are_the_same_among_few_and_among_many(pattern: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Among few they are found by a plain walk of all tokens."""
    letters = [
        *(text.encode() for size in (1, 2, 3, 4) for text in map("".join, itertools.product("ab.", repeat=size)))
    ]
    vocabulary, masks = Vocabulary([*letters, None], [len(letters)]), list[list[list[int]]]()
    for few in (0, 3, len(letters)):
        monkeypatch.setattr(thread_tokens, "_FEW", few)
        again = Sequence(
            [
                Dfa.from_regex("b?"),
                SequencePart(Dfa.from_regex(pattern), "x"),
                Backreference("x"),
                Dfa.from_regex("[.]?"),
            ]
        )
        guides = [Index(again, vocabulary).guide()]
        for byte in (b"a", b"b"):
            for guide in guides.copy():
                twin = guide.fork()
                with suppress(UsageError):
                    twin.advance_bytes(byte)
                    guides.append(twin)
        masks.append([guide.allowed_tokens().tolist() for guide in guides])
    assert masks[0] == masks[1] == masks[2]


PARTS: dict[str, list[Any]] = {
    "an automaton": ["<", SequencePart(Dfa.from_regex("[a-z]{1,9}"), "word"), ">"],
    "a grammar": [
        "<",
        SequencePart(JsonSchema({"type": "integer"}), "n"),
        ">",
        SequencePart(Dfa.from_regex("[a-z]{1,4}"), "word"),
    ],
    "threads": [
        SequencePart(Dfa.from_regex("[a-z]{1,9}"), "word"),
        " ",
        Backreference("word"),
        SequencePart(Grammar.from_lark('start: "!"+'), ends="earliest"),
    ],
    "schemas in a grammar": [
        SequencePart(Grammar.from_lark('start: "<" %json {"type": "integer"} ">"'), "n"),
        SequencePart(Dfa.from_regex("[a-z]{1,4}"), "word"),
        Backreference("n"),
    ],
    "a document": [
        SequencePart(Substring("ab cd ef", "word"), "quoted"),
        ".",
        SequencePart(Dfa.from_regex("[a-z]{1,9}"), "word"),
    ],
}


@pytest.mark.parametrize("name", PARTS)
def test_whole_runs(name: str) -> None:
    sequence = Sequence(PARTS[name])
    model = sfgen.load_model("tiny")
    for seed in range(3):
        config = GenerationConfig(index=sequence, sampler=Sampler(1.0, seed), max_tokens=40)
        result = sfgen.generate(model, "A word: ", config)
        assert sequence.accepts(result.text)
        assert result.groups is not None
        assert set(result.groups) == {part.name for part in PARTS[name] if isinstance(part, SequencePart) and part.name}
