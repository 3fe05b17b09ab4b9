"""Patterns and words that cannot be read, and texts that cannot be written."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.errors.case import Case, both, files, patched

_UNIFORM = "gen -m uniform"
_MARKS = "\u0334\u0316\u0300\u05b0\u05b1\u05b2\u05b3\u05b4\u05b5\u05b6\u05b7\u05b8\u05b9"
"""Marks that may stand in any order: no two of them have the same combining class."""


def _tokens(*tokens: str) -> Any:
    return files(v__json=json.dumps(tokens))


def small_tokenizer(_: pytest.MonkeyPatch) -> None:
    """A tokenizer of two letters in the folder ``tok``."""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers

    tokenizer = Tokenizer(models.WordLevel({"<unk>": 0, "x": 1, "y": 2}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex("."), "isolated")
    tokenizer.decoder = decoders.Fuse()
    Path("tok").mkdir()
    tokenizer.save("tok/tokenizer.json")


def _scores(value: Any) -> Any:
    """A model whose scores are these."""

    class Session:
        def extend(self, token_ids: Any) -> Any:
            return value

        def rewind(self, length: int) -> None:
            pass

    return patched("sfgen.models.uniform.UniformModel.session", lambda self: Session())


KNOWS_T = sys.version_info < (3, 13)
"""Whether ``re`` knows the flag of templates."""

PATTERNS = [
    # --- the syntax
    Case(f"{_UNIFORM} -r 'a(b'", 1, "unterminated"),
    Case(f"{_UNIFORM} -r '(?P<a'", 1, "missing >"),
    Case(rf"{_UNIFORM} -r '\p{{L'", 1, "missing }"),
    Case(rf"{_UNIFORM} -r '(a)\1'", 1, "backreference"),
    Case(f"{_UNIFORM} -r '(a)(?(1)b|c)'", 1, "conditional"),
    Case(f"{_UNIFORM} -r '(?<=(?=a)b)c'", 1, "lookahead"),
    Case(f"{_UNIFORM} -r '(?<=a+)b'", 1, "look-behind"),
    Case(f"{_UNIFORM} -r '(?>(a?b?)+)c'", 1, "can be empty is not supported in a possessive repeat"),
    Case(f"{_UNIFORM} -r 'a{{99999999999999999999}}'", 1, "repetition number is too large"),
    Case(f"{_UNIFORM} -r '(?a)(?u)a'", 1, "incompatible"),
    Case(rf"{_UNIFORM} -r '\p{{Nope}}'", 1, r"unknown property"),
    Case(rf"{_UNIFORM} -r '\p1'", 1, "needs the name of a Unicode property"),
    Case(rf"{_UNIFORM} -r '[a-\p{{L}}]'", 1, "a property is not the end of a range"),
    Case(f"{_UNIFORM} -r '(?t)a'", 1, "the flag (?t) has no meaning" if KNOWS_T else "unknown extension ?t"),
    Case([*_UNIFORM.split(), "-r", "(" * 5000 + ")" * 5000], 1, "nested deeper than the limit"),
    # --- nothing matches, or too much does
    Case(f"{_UNIFORM} -r 'a(?!.*)b'", 1, "matches no text"),
    Case(rf"{_UNIFORM} -r 'a\bb'", 1, "matches no text"),
    Case(rf"{_UNIFORM} -r '[^\s\S]'", 1, "matches no text"),
    Case(f"{_UNIFORM} -r '(a{{1000}}){{1000}}'", 1, "1,800,000"),
    Case(f"{_UNIFORM} -r '(a|b)*a(a|b){{40}}'", 1, "limit"),
    Case(
        rf"{_UNIFORM} -r '\bab\b'", 1, "limit of 9 steps", patched("sfgen.automata.lookaround.MAX_LOOKAROUND_WORK", 9)
    ),
    Case("index -r '(a{499})*' --against '(a{401})*'", 1, "the combined automaton passes the limit"),
    # --- the engines for comparison
    Case(f"{_UNIFORM} --engine fsm -r '^a'", 1, "the engine fsm reads no anchors"),
    Case(rf"{_UNIFORM} --engine fsm -r '\u0061'", 1, "cannot read the pattern"),
    Case(f"{_UNIFORM} --engine fsm -r '(?:ab?){{3000}}'", 1, "the limit of the engine fsm"),
    Case(f"{_UNIFORM} --engine fsm -r '(?i)ß'", 1, "reads a character as several"),
    Case(rf"{_UNIFORM} --engine fsm -r '[^\s\S]'", 1, "matches no text"),
    Case(rf"{_UNIFORM} --engine naive -r '[^\s\S]'", 1, "matches no text"),
    Case(f"{_UNIFORM} --engine fsm -r '[]a]'", 1, "interegular"),
    Case(f"{_UNIFORM} --engine naive -r 'a{{9}}' --max-tokens 3", 1, "the limit of 3 tokens is reached"),
    Case("gen -m uniform --tokenizer tok --engine naive -r xa x", 1, "no token of the vocabulary", small_tokenizer),
    # --- what the tokens cannot write
    Case("index -r é --vocabulary v.json", 1, "no sequence of tokens of this vocabulary", _tokens("a", "b")),
    Case(f"{_UNIFORM} -r '[a-z]{{9}}' --max-tokens 8", 1, "the shortest match takes 9"),
    Case("gen -m uniform --tokenizer tok a", 1, "the vocabulary has no token for byte 0x61", small_tokenizer),
    # --- words
    Case("ban --words , x", 2, "--words names no word"),
    Case("ban --words '*' x", 1, "a star alone"),
    Case("ban --words a --allow '*' x", 1, "a star alone"),
    Case(["ban", "--words", "a\udcff", "x"], 1, "is not valid text"),
    Case(["ban", "--words", "\u200b", "--normalize", "x"], 1, "nothing is left when it is normalized"),
    Case(["ban", "--words", f"a{_MARKS}", "x"], 1, "too many combining marks on one letter"),
    Case("ban --words-file /no/such/file x", 1, "/no/such/file"),
    Case("ban --words-file f x", 2, "f has no banned word", files(f="# nothing\n")),
    Case("ban --words-file f x", 1, "f, line 2: not UTF-8", files(f=b"a\n\xff\n")),
    Case(r"ban --pattern 'a\bb' x", 1, "the banned pattern matches no text at all"),
    Case("ban --pattern 'a*' x", 1, "matches the empty text and would ban"),
    Case("ban --pattern 'a(b' x", 1, "unterminated"),
    Case("gen --choices hot --ban-words hot 'It is '", 1, "every text that matches"),
    Case(["gen", "--grammar", 'root ::= "(" root ")" | [a-z]+ " yes"', "--ban-words", "yes", "x"], 1, "'a yes' has"),
    # --- while a text is written
    Case("gen -m uniform -r '[ab]{9}' --strategy exact --max-passes 2 x", 1, "gave up after 2 forward passes"),
    Case("gen -m uniform -r '[xy]' --strategy exact --top-k 1 x", 1, "within the limit of tokens has any probability"),
    Case("gen -m uniform -r a --strategy exact --ban-pattern a --max-tokens 1 x", 1, "every text that matches"),
    Case("ban --words talk,listen --max-rollbacks 0 'Can we talk?'", 1, "gave up after 0 rollbacks", writes=True),
    Case(
        "gen -m uniform -r '[ab]' --ban-pattern '[ab]' x",
        1,
        "only banned text could follow",
        both(
            patched("sfgen.ban.difference.without_banned", lambda *_: None),
            patched("sfgen.ban.difference.without", lambda *_: None),
        ),
    ),
    Case("gen -m uniform x", 1, "scores that are not numbers (NaN)", _scores(np.full(65537, np.nan))),
    Case("gen -m uniform x", 1, "scores every allowed token -inf", _scores(np.full(65537, -np.inf))),
    Case("gen -m uniform x", 1, "scores of shape (3,)", _scores(np.zeros(3))),
]
