"""Grammars by the real model: llama.cpp reads each text of a GBNF grammar, the package lark each of a Lark grammar."""

from __future__ import annotations

import ctypes
import functools
import json
import os
import re
from functools import cache
from pathlib import Path
from typing import Any

import lark
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.grammars.lark import EXAMPLES, Example
from tests.support.real.circumstances import CIRCUMSTANCES, Circumstances, drawn, fewest_tokens, is_refused, written
from tests.support.real.model import FILE, gguf_model, needs_file

from sfgen import Grammar, Index, SfgenError, generate
from sfgen.models.gguf.library import library


@functools.cache
def _tokens() -> tuple[Any, Any]:
    """llama.cpp's functions, and the vocabulary of the real model; its weights are not loaded."""
    lib = library()
    options = lib.llama_model_default_params()
    options.vocab_only = True
    model = lib.llama_model_load_from_file(os.fsencode(FILE), options)
    return lib, lib.llama_model_get_vocab(model)


def is_text_of(grammar: str, tokens: list[int]) -> bool:
    """Return whether llama.cpp's grammar lets these tokens be written one by one, and the text end behind them."""
    lib, vocabulary = _tokens()
    sampler = lib.llama_sampler_init_grammar(vocabulary, grammar.encode(), b"root")
    assert sampler, "llama.cpp reads the grammar"
    try:
        for token in [*tokens, lib.llama_vocab_eos(vocabulary)]:
            candidate = (lib.llama_token_data * 1)(lib.llama_token_data(token, 0.0, 0.0))
            candidates = lib.llama_token_data_array(candidate, 1, -1, False)
            lib.llama_sampler_apply(sampler, ctypes.byref(candidates))
            if candidate[0].logit < 0:
                return False
            lib.llama_sampler_accept(sampler, token)
    finally:
        lib.llama_sampler_free(sampler)
    return True


pytestmark = needs_file()
GBNF = Path(__file__).parents[1] / "data" / "gbnf"

BESIDE: dict[str, str] = {
    "brackets": r'root ::= "(" root* ")"',
    "twice": 'root ::= "a" root "a" | "b" root "b" | [^ab\\n]{1,4}',
    "call": r"""root ::= name "(" (value (", " value)*)? ")"
name ::= [a-z] [a-z_]{0,11}
value ::= "\"" [^"\\\n]{0,20} "\"" | "-"? [0-9]{1,6} | root""",
    "table": r'root ::= ("| " cell " | " cell " |\n"){2,4}' + "\ncell ::= [a-z]{1,9}",
    "scripts": 'root ::= [Ѐ-ӿ]{2,9} ("、" | " – ") [一-鿿]+ "。"',
}
"""Grammars beside those of the files."""

WITHOUT_LEFT_RECURSION = {
    "arithmetic": [("sum [-+] ws product | product", "product ([-+] ws product)*")],
    "c": [
        ('expression ("+" | "-") ws term | term', 'term (("+" | "-") ws term)*'),
        ("term [*/] ws factor | factor", "factor ([*/] ws factor)*"),
    ],
}
"""Rules that llama.cpp reads in place of those that it refuses."""


@cache
def gbnf(name: str) -> tuple[str, Index]:
    """A grammar as llama.cpp reads it, and the index of it as it is."""
    text = BESIDE[name] if name in BESIDE else (GBNF / f"{name}.gbnf").read_text(encoding="utf-8")
    index = Index(Grammar.from_gbnf(text), gguf_model().vocabulary)
    for ours, theirs in WITHOUT_LEFT_RECURSION.get(name, []):
        assert ours in text
        text = text.replace(ours, theirs)
    return text, index


def tokens_of(text: str) -> list[int]:
    """The tokens that the tokenizer writes a text with."""
    tokens: list[int] = gguf_model().encode(text)[1:]
    assert b"".join(gguf_model().vocabulary.tokens[token] for token in tokens) == text.encode()
    return tokens


@drawn("few")
@given(at=CIRCUMSTANCES)
@pytest.mark.parametrize("name", [*BESIDE, *(path.stem for path in sorted(GBNF.glob("*.gbnf")))])
def test_llama_reads_each_text(name: str, at: Circumstances) -> None:
    text, index = gbnf(name)
    short = index.constraint.shortest().decode()
    assert is_text_of(text, tokens_of(short.replace("\x00", "x")))
    result = written(at, [short], index=index)
    if "\x00" not in result.text:  # which ends a text of llama.cpp
        assert is_text_of(text, tokens_of(result.text))
    if name == "json":
        json.loads(result.text)


def test_llama_refuses_what_is_no_text() -> None:
    for text, expected in (("(()())", True), ("(()", False), ("())", False), ("", False), ("(x)", False)):
        assert is_text_of(BESIDE["brackets"], tokens_of(text)) == expected


@cache
def lark_index(example: Example) -> Index:
    """The index of a grammar for Lark."""
    return Index(example.ours, gguf_model().vocabulary)


@cache
def parser(example: Example) -> lark.Lark:
    """The package's own parser."""
    return lark.Lark(example.grammar, parser="lalr", start=example.start)


@drawn("few")
@given(at=CIRCUMSTANCES)
@pytest.mark.parametrize("example", EXAMPLES, ids=str)
def test_lark_parses_each_text(example: Example, at: Circumstances) -> None:
    index = lark_index(example)
    short = index.constraint.shortest().decode()
    parser(example).parse(short)
    result = written(at, [short], index=index)
    parser(example).parse(result.text)


@drawn("few")
@given(at=CIRCUMSTANCES, blanks=st.integers(0, 3))
def test_ignored_characters_are_few(at: Circumstances, blanks: int) -> None:
    grammar = 'start: WORD ("," WORD)*\nWORD: /[a-z]+/\n%ignore /\\s/\n%ignore /#[^\\n]*/'
    result = written(at, ["a"], grammar=Grammar.from_lark(grammar, max_blanks=blanks))
    lark.Lark(grammar, parser="lalr").parse(result.text)
    assert "#" not in result.text
    assert max(map(len, re.findall(r"\s+", result.text)), default=0) <= blanks


@pytest.mark.parametrize(
    ("grammar", "shortest"),
    [
        ('root ::= "(" root ")" | "Tegucigalpa"', "Tegucigalpa"),
        ('start: "[" start ("," start)+ "]" | "Ouagadougou"', "Ouagadougou"),
    ],
    ids=["GBNF", "Lark"],
)
def test_a_limit_is_refused_where_the_shortest_text_does_not_fit(grammar: str, shortest: str) -> None:
    fewest = fewest_tokens([shortest])
    assert fewest > 2
    for limit in range(1, fewest + 2):
        assert is_refused(limit, grammar=grammar) == (limit < fewest)


def test_grammars_are_read_from_text_and_files(tmp_path: Path) -> None:
    (tmp_path / "sum.gbnf").write_text('root ::= [0-9] ("+" [0-9])+')
    (tmp_path / "sum.lark").write_text('start: /[0-9]/ ("+" /[0-9]/)+')
    for grammar in (tmp_path / "sum.gbnf", tmp_path / "sum.lark", (tmp_path / "sum.gbnf").read_text()):
        text = generate(gguf_model(), "A sum: ", grammar=grammar, max_tokens=9).text
        assert re.fullmatch(r"[0-9](\+[0-9])+", text)


@pytest.mark.parametrize(
    "grammar", ['root ::= "a" root', "root ::= name", 'root ::= "a', "start: start", 'start: "a" other', "start: /a("]
)
def test_a_grammar_without_texts_or_with_faults_is_refused(grammar: str) -> None:
    with pytest.raises(SfgenError):
        generate(gguf_model(), "A sum: ", grammar=grammar, max_tokens=9)
