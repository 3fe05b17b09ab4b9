from __future__ import annotations

import re

import pytest

from sfgen.errors import PatternError
from sfgen.regex import parse, settle


@pytest.mark.parametrize(
    ("pattern", "plain"),
    [
        ("^a$", "a"),
        (r"\Aa\Z", "a"),
        ("(?m)^a$", "a"),
        ("^(^a|b$)$", "a|b"),
        ("(^a)?b", "(a)?b"),
        ("(?:^)*a", "a"),
        ("a^b|c", "c"),
        (r"a|b\Zc", "a"),
        ("a|b$cd", "a"),
        ("(?:(?:ab)+^c|d)e", "de"),
        ("x*+y", "x*y"),
        ("x*+", "x*"),
        ("x{2}+x", "x{2}x"),
        ("(?:x?+y)*", "(?:x?y)*"),
        ("x*+y*z", "x*y*z"),
        ("(?>abc)a", "abca"),
        ("(?>a|b)a", "[ab]a"),
        ("(?>a*)b", "a*b"),
        ("(?>a*?)", None),
        ("x*+x", None),
        ("x*+y*x", None),
        ("(?:x?+)*", None),
        ("(?>a|ab)c", None),
        ("(?:ab)*+", None),
    ],
)
def test_the_same_language_without_them(pattern: str, plain: str | None) -> None:
    if plain is None:
        with pytest.raises(PatternError, match="possessive repeat or atomic group"):
            settle(parse(pattern), pattern)
    else:
        assert str(without_positions(settle(parse(pattern), pattern))) == str(without_positions(parse(plain)))


def without_positions(tree: object) -> str:
    return re.sub(r", position=\d+", "", repr(tree))


@pytest.mark.parametrize(
    ("pattern", "position"),
    [
        ("a?^b", 2),
        ("(?m)a^b", 5),
        ("(?m)a$b", 5),
        ("a$\\n", 1),
        ("a$.?", 1),
        ("(a$|b)+", 2),
        ("(^a)+", 1),
        ("(^|,)x", None),
        ("(,|^)x", None),
        (r"^a|b\Zc?", 4),
        ("^a(x$|y)z?", 4),
        ("x*+^y", 3),
        ("^^a*+b*$a", 7),
        ("^^a*+b*a", 3),
        ("\\p{L}?^", 6),
    ],
)
def test_what_is_not_certain_is_refused_at_its_place(pattern: str, position: int | None) -> None:
    if position is None:
        settle(parse(pattern), pattern)
        return
    with pytest.raises(PatternError, match="not supported") as caught:
        settle(parse(pattern), pattern)
    assert caught.value.position == position
    assert caught.value.hint
