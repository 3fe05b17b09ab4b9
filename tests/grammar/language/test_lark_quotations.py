"""Quotations in grammars of Lark's language, ``%regex { … }``: lark with all quotations written out is the oracle."""

from __future__ import annotations

import json
import pickle
import re
from functools import cache
from typing import Any

import lark
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lark.exceptions import LarkError

import sfgen
from sfgen import Grammar, Vocabulary
from sfgen.compiled_form import compiled_form, of_compiled_form
from sfgen.errors import GrammarError
from sfgen.grammar.lalr.lark_quotations import quoting_automaton
from sfgen.models.uniform import UniformModel

WORDS = Vocabulary(
    [*(bytes([byte]) for byte in range(256)), b"to be", b" or", b" not", b"be or", b'"', b"<b>", b"bee", None],
    end_token_ids=[263],
)
GRAMMARS = {
    "alone": "start: @",
    "between": 'start: "<" @ ">"',
    "inside": 'start: (QUOTE | WORD)+\nQUOTE: "<" @ ">"\nWORD: /[a-c ]+/',
    "beside names": 'start: @ ("=" NAME)*\nNAME: /[a-z]+/\n%ignore " "',
    "keywords": 'start: ("a" | "bc" | "abca" | @ "!")+',
    "followed": "start: @ REST\nREST: /[ab]+;/",
    "twice": 'start: @ "," @ | "-" @ "b"',
    "looked at": 'start: X "b"*\nX: /(?!ab)/ @ "c" /(?=b|d)/ "b"?',
}
DOCUMENTS: list[tuple[str, Any]] = [
    ("chars", "abca bc"),
    ("chars", "aaaa"),
    ("words", "ab a abc"),
    ("words", "a..b a.b"),
    ("chunks", ["a", "", "ab", "abc", "c"]),
    ("chunks", ["é", "a<", "b"]),
]


def written(name: str, document: tuple[str, Any]) -> str:
    kind, value = document
    return GRAMMARS[name].replace("@", f"%regex {json.dumps({'substring_' + kind: value})}")


@cache
def grammar(name: str, number: int) -> Grammar:
    return Grammar.from_lark(written(name, DOCUMENTS[number]))


def quotations(number: int) -> set[str]:
    """All quotations but the empty one, by their definition."""
    kind, value = DOCUMENTS[number]
    pieces = list(value) if kind != "words" else re.findall(r"\s+|\w+|[^\s\w]+", value)
    found = {"".join(pieces[start:end]) for end in range(len(pieces) + 1) for start in range(end)}
    return found - {""}


@cache
def parser(name: str, number: int) -> lark.Lark:
    longest_first = sorted(map(re.escape, quotations(number)), key=len, reverse=True)
    # A quotation has no greatest length for lark.
    pattern = "|".join([*longest_first, r"(?!)x+"])
    text = GRAMMARS[name].replace("@", "QUOTED?") + f"\nQUOTED: /(?:{pattern})/\n"
    return lark.Lark(text, parser="lalr", lexer="contextual")


def reads(name: str, number: int, text: str) -> bool:
    try:
        parser(name, number).parse(text)
    except LarkError:
        return False
    return True


CASES = [(name, number) for name in GRAMMARS for number in range(len(DOCUMENTS))]


@settings(max_examples=300)
@given(st.sampled_from(CASES), st.text(alphabet="abc<>.!=,; é", max_size=12))
def test_texts(case: tuple[str, int], text: str) -> None:
    assert grammar(*case).accepts(text) == reads(*case, text)


@settings(max_examples=200)
@given(st.sampled_from(CASES), st.data())
def test_texts_with_quotations(case: tuple[str, int], data: st.DataObject) -> None:
    texts = st.sampled_from(sorted(quotations(case[1])))
    parts = data.draw(st.lists(st.one_of(st.sampled_from("<>=,;!-b "), texts), max_size=6))
    text = "".join(parts)
    assert grammar(*case).accepts(text) == reads(*case, text)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_guided_texts_are_texts(case: tuple[str, int]) -> None:
    for seed in range(8):
        text = sfgen.generate(UniformModel(WORDS), "x", grammar=grammar(*case), seed=seed, max_tokens=12).text
        assert reads(*case, text)
    for text in grammar(*case).examples(6):
        assert reads(*case, text)


def test_masks() -> None:
    guide = Grammar.from_lark('start: "<" %regex {"substring_words": "to be or not"} ">"').guide(WORDS)
    guide.advance(ord("<"))
    assert {int(token) for token in guide.allowed_tokens()} == {*b"tobn >", 256, 257, 258, 259}
    guide.advance(256)
    assert {int(token) for token in guide.allowed_tokens()} == {*b" >", 257}
    assert guide.describe() == 'start: %regex {"substring_words": "to be or no…'


def test_in_short() -> None:
    text = 'start: %regex {\n  "substring_chunks": ["a long piece", "another piece",\n "a third"]\n} "end"'
    made = Grammar.from_lark(text)
    assert [rule.name for rule in made.rules()][1:] == ['"end"', '%regex { "substring_chunks": ["a long…']
    assert made.accepts("another piecea thirdend")
    assert not made.accepts("anotherend")
    assert [made.accepts("end"), pickle.loads(pickle.dumps(made)).accepts("a thirdend")] == [True, True]
    assert of_compiled_form(compiled_form(made)).accepts("a thirdend")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("start: %regex", "%regex is not followed by JSON: Expecting value at line 1, column 8"),
        ("start: %regex {1}", "not followed by JSON: Expecting property name enclosed in double quotes"),
        ("start: %regex " + "[" * 100_000, "not followed by JSON: it is nested too deep"),
        ("start: %regex " + "1" * 5000, "not followed by JSON: a number in it has too many digits"),
        ("start: %regex []", "%regex is not followed by a JSON object at line 1, column 15"),
        ("start: %regex {}", "%regex must have exactly one field at line 1, column 15"),
        ('start: %regex {"type": "number"}', "%regex has no field 'type' at line 1, column 15"),
        ('start: %regex {"substring_words": "a", "substring_chars": "b"}', "%regex must have exactly one field"),
        ('start: %regex {"substring_words": ["a"]}', "substring_words must be a text and not empty"),
        ('start: %regex {"substring_chunks": [""]}', "substring_chunks must be a list of texts and not empty"),
        ('start: %regex {"substring_chars": "\\ud800"}', "substring_chars must be a text"),
        (
            'start: A\nA: %regex {"substring_chars": "ab"}',
            "the terminal A can match the empty text, which lark does not allow: '(?:%regex{…})?'",
        ),
        ('start: A\nA: /b$/ %regex {"substring_chars": "ab"}', "an anchor or an atomic group beside %regex"),
        ('start: %regex {"substring_chars": "ab"} x', "Rule 'x' used but not defined"),
    ],
)
def test_refusals(text: str, says: str) -> None:
    with pytest.raises(GrammarError) as refused:
        Grammar.from_lark(text)
    assert says in str(refused.value)
    assert not any(code in str(refused.value) for code in ("\ud800", r"\ud801"))


def test_what_is_null_is_not_given() -> None:
    assert Grammar.from_lark('start: %regex {"substring_words": null, "substring_chars": "ab"}').accepts("b")


def test_no_directive_inside_of_texts_and_comments() -> None:
    made = Grammar.from_lark('start: "%regex" /%regex/ // %regex {}\n# %regex\n')
    assert made.accepts("%regex%regex")


def test_the_automaton_has_a_state_for_each_set_of_positions() -> None:
    assert len(quoting_automaton(tuple("abab"))) == 5
    assert len(quoting_automaton(("ab", "ab"))) == 5
