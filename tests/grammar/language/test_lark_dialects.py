"""What llguidance writes in grammars of Lark's language in place of lark's own words, or has beside them."""

from __future__ import annotations

import itertools

import pytest

from sfgen import Grammar
from sfgen.compiled_form import compiled_form, of_compiled_form
from sfgen.errors import GrammarError

TEXTS = ["".join(letters) for size in range(6) for letters in itertools.product("ab", repeat=size)]


@pytest.mark.parametrize(
    ("braces", "plain"),
    [
        ("start: x{2}", "start: x~2"),
        ("start: x{2,3}", "start: x~2..3"),
        ("start: x{ 1 , 3 }", "start: x~1..3"),
        ("start: x{,2}", "start: x~0..2"),
        ("start: x{0,}", "start: x*"),
        ("start: x{2,}", "start: x~2 x*"),
        ('start: ("a" | "b" x{2}){1,} "b"', 'start: ("a" | "b" x~2)~1 ("a" | "b" x~2)* "b"'),
        ('start: ("a"{2} | "b"{2,} "a"){2,}', 'start: ("a"~2 | "b"~2 "b"* "a")~2 ("a"~2 | "b"~2 "b"* "a")*'),
        ('start: "a"{2,} x', 'start: "a"~2 "a"* x'),
        ("start: T\nT: /[ab]/{2,3}", "start: T\nT: /[ab]/~2..3"),
        ("start: T\nT: /b{2}/{2,}", "start: T\nT: /b{2}/~2 /b{2}/*"),
        ("%llguidance {}\nstart: x", "start: x"),
        ('%llguidance {\n "no_forcing": true\n}\nstart: x', "start: x"),
        ("_two{y}: y y\nstart: _two{x}{2}", "_two{y}: y y\nstart: _two{x}~2"),
        ("_two{y}: y y\nstart: _two{x}{1,}", "_two{y}: y y\nstart: _two{x}+"),
        ('_in{y, z}: y z\nstart: "a" _in{"b", x}{2,}', '_in{y, z}: y z\nstart: "a" _in{"b", x}~2 _in{"b", x}*'),
    ],
)
def test_the_same_in_lark(braces: str, plain: str) -> None:
    rule = '\nx: "a" | "b"\n'
    one, other = Grammar.from_lark(braces + rule), Grammar.from_lark(plain + rule)
    expected = [text for text in TEXTS if other.accepts(text)]
    assert [text for text in TEXTS if one.accepts(text)] == expected
    assert [text for text in TEXTS if of_compiled_form(compiled_form(one)).accepts(text)] == expected


def test_tokens_are_counted() -> None:
    assert Grammar.from_lark("start: (<[1]> | <a>{3}){2,}").shortest() == b"<[1]><[1]>"
    assert Grammar.from_lark("start: <a>{2,} <b>{,2}").shortest() == b"<a><a>"


@pytest.mark.parametrize(
    ("text", "says", "place"),
    [
        ("start: x{3,2}\nx: /a/", "Bad Range", "3..2"),
        ("start: x{,}\nx: /a/", "Expecting a value", "line 1, column 10"),
        ("start: x{2} x{1,} y\nx: /a/", "Rule 'y' used but not defined", "line 1, column 19"),
        ("start: <a> x{2,} )\nx: /a/", "Unexpected token Token('_RPAR', ')')", "line 1, column 18"),
        ("start: x{2}\n  | x{20,} )\nx: /b/", "Unexpected token Token('_RPAR', ')')", "line 2, column 12"),
        ("start: %lark {}", "%lark, a grammar inside of another, is an extension of llguidance", "line 1, column 8"),
        ("start: @a", "@name, one of several grammars, is an extension of llguidance", "line 1, column 8"),
        ("start: !<think>", "write any other token by its number: <[^1000]>", "line 1, column 8"),
        ("start: A\nA: /a/ & /b/", "intersection and negation of terminals are an extension", "line 2, column 8"),
        ("start: A\nA: ~/b/", "intersection and negation of terminals are an extension", "line 2, column 4"),
        ("start: a\na[lazy]: /b/", "options of a rule in brackets are an extension of llguidance", "line 2, column 2"),
        ("start: a::1\na::_: /b/", "rules with parameters are an extension of llguidance", "line 1, column 9"),
        ('%llguidance {"x": 1}\nstart: "a"', "%llguidance has options that are not supported", "line 1, column 12"),
        ("start: x{" + "9" * 5000 + ",}\nx: /a/", "lark refuses it", "int"),
        ("%llguidance " + "[" * 100_000, "%llguidance has options that are not supported", "line 1, column 12"),
        ("%llguidance " + "1" * 5000, "%llguidance has options that are not supported", "line 1, column 12"),
        ('%llguidance\nstart: "a"', "%llguidance has options that are not supported", "line 1, column 12"),
    ],
)
def test_refusals(text: str, says: str, place: str) -> None:
    with pytest.raises(GrammarError) as refused:
        Grammar.from_lark(text)
    assert says in str(refused.value)
    assert place in str(refused.value)
