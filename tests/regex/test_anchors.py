from __future__ import annotations

import re

import pytest

from sfgen.automata import Dfa
from sfgen.errors import PatternError
from sfgen.regex import Anchor, parse, settle
from sfgen.regex.ast import contains


@pytest.mark.parametrize(
    ("pattern", "plain"),
    [
        ("^a$", "a"),
        (r"\Aa\Z", "a"),
        ("(?m)^a$", "a"),
        ("^(^a|b$)$", "a|b"),
        ("(^a)?b", "(a)?b"),
        ("(?:^)*a", "a"),
        ("(^|,)x", "(|,)x"),
        ("a^b|c", "c"),
        (r"a|b\Zc", "a"),
        ("a|b$cd", "a"),
        ("(?:(?:ab)+^c|d)e", "de"),
        # Where an anchor is not certain, it says what must not stand beside it.
        ("a?^b", r"a?(?<![\s\S])b"),
        ("(?m)a^b", r"a(?<![^\n])b"),
        ("(?m)a$b", r"a(?![^\n])b"),
        (r"a$\n", r"a(?![^\n]|\n[\s\S])\n"),
        (r"a\Zb?", r"a(?![\s\S])b?"),
        ("(^a)+", r"((?<![\s\S])a)+"),
        # Whether the rest matches is not known yet inside a lookahead, and makes no difference to an atomic group.
        ("(?=a$)ab", r"(?=a(?![^\n]|\n[\s\S]))ab"),
        ("(?>$|b)", r"(?>(?![^\n]|\n[\s\S])|b)"),
        ("(?=^a)b", "(?=a)b"),
        ("b(?=^a)", "[^\\s\\S]"),
        ("(?<=^a)b", r"(?<=(?<![\s\S])a)b"),
        ("(?<=a$)", "(?<=a)"),
        (r"(?!b^)(?<!b\Zb)", "(?:)"),
    ],
)
def test_the_same_language_without_anchors(pattern: str, plain: str) -> None:
    settled = settle(parse(pattern))
    assert not contains(settled, Anchor)
    assert without_positions(settled) == without_positions(parse(plain))


@pytest.mark.parametrize("pattern", [r"a\z", r"(?x)a\z | b", r"a(?=\z)|b\z", r"a\zb?"])
def test_the_other_name_of_the_end_is_read_where_this_python_reads_it(pattern: str) -> None:
    r"""Python knows ``\z`` from 3.14 on; before it is an escape without a meaning."""
    try:
        compiled = re.compile(pattern)
    except re.error:
        with pytest.raises(PatternError, match="bad escape"):
            parse(pattern)
        return
    dfa = Dfa.from_regex(pattern)
    for text in ("a", "b", "a\n", "az", "ab"):
        assert dfa.accepts(text) == (compiled.fullmatch(text) is not None), text


def without_positions(tree: object) -> str:
    return re.sub(r", position=\d+", "", repr(tree))
