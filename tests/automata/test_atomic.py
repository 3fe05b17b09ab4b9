from __future__ import annotations

import re

import pytest
from tests.support.patterns.random_patterns import language

from sfgen import Dfa
from sfgen.automata.atomic import without_atomics
from sfgen.errors import PatternError
from sfgen.regex import Atomic, parse, settle
from sfgen.regex.ast import contains


@pytest.mark.parametrize(
    ("pattern", "plain"),
    [
        ("x*+y", "x*y"),
        ("x{2}+x", "x{2}x"),
        ("(?:x?+y)*", "(?:x?y)*"),
        ("x*+y*z", "x*y*z"),
        ("(?:ab)*+c", "(?:ab)*c"),
        ("(?>abc)a", "abca"),
        ("(?>a|b)a", "[ab]a"),
        ("(?>[a-z]*;)b", "[a-z]*;b"),
        ("(?>foo|bar)b", "(?:foo|bar)b"),
        ("(?>a*?)b", "b"),
        ("(?>a*)b", "a*b"),
        ("x*+x", "x*(?!x)x"),
        ("x{1,3}+x", "(?:x{3}|x{1,2}(?!x))x"),
        ("(?:ab)++a", "(?:ab)+(?!ab)a"),
        ("(?>a|ab)c", "(?:a|(?!a)ab)c"),
        ("b(?>a*(?=a))a", "ba*(?=a)(?!a*(?=a)a)a"),
        ("(?:a?b?)++c", "(?:ab?|b)*c"),
        ("x(?:a|ab)*+", "x(?:a(?!b))*(?!a)|xa"),
        (r"(?>\d+\.?)5", r"\d+(?!\d)(?:\.|(?!\.))5"),
    ],
)
def test_the_same_language_without_them(pattern: str, plain: str) -> None:
    tree = without_atomics(settle(parse(pattern)), pattern)
    assert not contains(tree, Atomic)
    atomic, other = language(pattern), language(plain)
    if atomic and other:
        assert atomic.equivalent(other)
    for text in ("", "x", "xx", "xxxx", "aab", "aba", "abaab", "ac", "abc", "5", "55", "5.5", "55.5", "a;b", "foob"):
        expected = re.fullmatch(pattern, text, re.ASCII) is not None
        assert (atomic is not None and atomic.accepts(text)) == expected, text
        assert (other is not None and other.accepts(text)) == expected, text


@pytest.mark.parametrize(
    ("pattern", "position"),
    [("b(?>(?:a?b?)*(?=a))a", 1), ("x(?>a(?:b|c?)+)d", 1), ("(?:(?>(?:a|(?=b))*c?))+", 3)],
)
def test_what_is_not_expressed_is_refused_at_its_place(pattern: str, position: int) -> None:
    with pytest.raises(PatternError, match="can be empty is not supported in a possessive") as caught:
        Dfa.from_regex(pattern)
    assert caught.value.position == position
    assert caught.value.hint
