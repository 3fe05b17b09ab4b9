from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import given
from tests.support.patterns.automata import automata
from tests.support.patterns.random_patterns import small_patterns
from tests.support.running.tried import tried

from sfgen.automata import Dfa
from sfgen.automata.examples import relation

SHORT = ["".join(letters) for length in range(7) for letters in itertools.product("abc", repeat=length)]

ALPHABET = "ab\n\u00e9\u00ea\U0001f600"
TEXTS = ["".join(letters) for length in range(4) for letters in itertools.product(ALPHABET, repeat=length)]

patterns = small_patterns("a", "b", "ab", "[ab]", "[^a]", ".", "\u00e9", "[\u00e9-\u00ff]", "[^\n]", "\U0001f600")


def kind(left: Dfa, right: Dfa) -> str:
    """As the algebra says it."""
    if left.equivalent(right):
        return "same"
    if left <= right:
        return "contained"
    if right <= left:
        return "contains"
    return "disjoint" if (left & right).is_empty else "overlapping"


@tried("many")
@given(automata(), automata())
def test_the_texts_are_the_first_of_the_shortest(left: Dfa, right: Dfa) -> None:
    found = relation(left, right)
    assert found.kind == kind(left, right)
    for text, in_left, in_right in (
        (found.only_left, True, False),
        (found.only_right, False, True),
        (found.both, True, True),
    ):
        # They come by length, and those of one length in the order of their letters.
        first = next((text for text in SHORT if (left.accepts(text), right.accepts(text)) == (in_left, in_right)), None)
        if text is None or first is not None:
            assert text == first
        else:
            assert len(text) > 6
            assert (left.accepts(text), right.accepts(text)) == (in_left, in_right)


@given(patterns, patterns)
def test_patterns_against_re(left: str, right: str) -> None:
    a, b = Dfa.from_regex(left), Dfa.from_regex(right)
    found = relation(a, b)
    assert found.kind == kind(a, b)
    first, second = re.compile(left), re.compile(right)
    for text, kept in ((found.only_left, (True, False)), (found.only_right, (False, True)), (found.both, (True, True))):
        known = [len(text) for text in TEXTS if (bool(first.fullmatch(text)), bool(second.fullmatch(text))) == kept]
        if text is None:
            assert not known
        else:
            assert (bool(first.fullmatch(text)), bool(second.fullmatch(text))) == kept
            # There may be a shorter one, of other characters; not a longer one, even if it has fewer bytes.
            assert len(text) <= min(known, default=len(text))


@pytest.mark.parametrize(
    ("left", "right", "kind", "only_left", "only_right", "both"),
    [
        ("[0-9]+", r"\d\d*", "same", None, None, "0"),
        ("[0-9]{4}", "[0-9]+", "contained", None, "0", "0000"),
        ("[0-9]+", "[0-9]{4}", "contains", "0", None, "0000"),
        ("[a-z]+", ".*x.*", "overlapping", "a", "xA", "x"),
        ("a", "b", "disjoint", "a", "b", None),
        ("\U0001f600\u804a|aaa", "aaa", "contains", "\U0001f600\u804a", None, "aaa"),  # by characters, not by bytes
        (r"[\s\S]", r"\w", "contains", "!", None, "a"),
        (r"[\s\S]", r"[!-~]", "contains", " ", None, "a"),
    ],
)
def test_each_kind(
    left: str, right: str, kind: str, only_left: str | None, only_right: str | None, both: str | None
) -> None:
    found = relation(Dfa.from_regex(left), Dfa.from_regex(right))
    assert (found.kind, found.only_left, found.only_right, found.both) == (kind, only_left, only_right, both)


def test_the_empty_language() -> None:
    a = Dfa.from_choices(["a"])
    empty = a - a
    assert relation(empty, empty).kind == "same"
    assert relation(empty, a).kind == "contained"
    assert relation(a, empty).kind == "contains"
    assert relation(empty, a).only_right == "a"


def test_long_languages() -> None:
    found = relation(Dfa.from_regex(".{0,1000}"), Dfa.from_regex("[a-z]{990,1010}"))
    assert (found.kind, found.only_left, found.only_right) == ("overlapping", "", "a" * 1001)
    assert found.both == "a" * 990
