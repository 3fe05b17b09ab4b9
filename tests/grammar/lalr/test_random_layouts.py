"""Random grammars with indentation: what is written is read by lark with its indenter, and no text is stuck."""

from __future__ import annotations

import random
from typing import Any

import lark
import pytest
from lark.exceptions import LarkError
from lark.indenter import PythonIndenter

from sfgen import Grammar, Vocabulary
from sfgen.errors import GrammarError, LimitTooSmall

PIECES = [*(bytes([byte]) for byte in b"ab \n\t"), b"\n  ", b"\n\n", b"a\n", b"  ", b" a", b"b\n "]
END = len(PIECES)
SOME = Vocabulary([*PIECES, None], end_token_ids=[END])
ALL = Vocabulary([*PIECES, None, *(bytes([byte]) for byte in range(256))], end_token_ids=[END])
INDENTER: Any = type("ByNewlines", (PythonIndenter,), {"NL_type": "_NL"})


def suite(draws: random.Random) -> str:
    """A rule with an indent; a newline may stand right behind it, or must."""
    begin = draws.choice(["", " _NL", " [_NL]", " _NL*"])
    inside = draws.choice(["line+", "line", "A _NL", "line* A _NL", "suite", "A suite"])
    end = draws.choice(["", " _NL", " [_NL]", " _NL*", " A", " B _NL", " _NL A"])
    return f"_NL _INDENT{begin} {inside} _DEDENT{end}"


def random_grammar(draws: random.Random) -> str:
    start = draws.choice(["line+", "line", "_NL? line+", "(_NL | line)*", "suite", "A suite A"])
    kinds = ["A _NL", "B _NL", "A suite", "B suite", "A line", "A _NL _NL", "A suite B _NL", "A suite _NL"]
    lines = " | ".join(draws.choice(kinds) for _ in range(draws.randint(1, 3)))
    suites = " | ".join(suite(draws) for _ in range(draws.randint(1, 2)))
    newline = draws.choice([r"(\n[ \t]*)+", r"(\r?\n[\t ]*)+", r"\n[ \t\n]*"])
    ignored = draws.choice(["", '%ignore " "\n'])
    rules = f"start: {start}\nline: {lines}\nsuite: {suites}\n"
    return f"{rules}A: /a/\nB: /b+/\n_NL: /{newline}/\n%declare _INDENT _DEDENT\n{ignored}"


def reads(parser: lark.Lark, text: bytes) -> bool:
    try:
        parser.parse(text.decode())
    except (LarkError, AssertionError, IndexError):
        return False
    return True


@pytest.mark.parametrize("seed", range(24))
def test_no_dead_end(seed: int) -> None:
    draws = random.Random(seed)
    for _ in range(3):
        text = random_grammar(draws)
        try:
            grammar = Grammar.from_lark(text)
        except GrammarError:
            continue
        parser = lark.Lark(text, parser="lalr", postlex=INDENTER())
        assert reads(parser, grammar.shortest()), text
        for _ in range(3):
            walk(grammar, parser, draws, text)


def walk(grammar: Grammar, parser: lark.Lark, draws: random.Random, text: str) -> None:
    try:
        guide = grammar.guide(draws.choice([SOME, ALL]), draws.choice([None, 12, 20]))
    except LimitTooSmall:
        return
    written = b""
    for _ in range(25):
        token = draws.choice(guide.allowed_tokens().tolist())  # there is one
        if token == END:
            assert reads(parser, written), text
            return
        written += ALL.tokens[token] or b""
        guide.advance(token)


@pytest.mark.parametrize("newline", [" _NL", " _NL _NL"])
def test_a_newline_that_must_stand_behind_an_indent_leaves_no_text(newline: str) -> None:
    text = f"start: A _NL _INDENT{newline} A _NL _DEDENT\nA: /a/\n_NL: /(\\n *)+/\n%declare _INDENT _DEDENT\n"
    with pytest.raises(GrammarError, match="no text at all"):
        Grammar.from_lark(text)
    one = Grammar.from_lark(text.replace(f"_INDENT{newline}", f"_INDENT [{newline}]"))
    assert one.shortest() == b"a\n a\n"
