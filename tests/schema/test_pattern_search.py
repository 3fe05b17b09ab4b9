from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfgen.schema.telling.exact_validator import PatternUnreadableError, search_of


@pytest.mark.parametrize(
    ("pattern", "found", "not_found"),
    [
        (r"^\p{L}+$", ["äb", "я"], ["ä1", ""]),
        (r"^\P{L}$", ["1"], ["a"]),
        (r"[^\p{Lu}\d]", ["a"], ["A1"]),
        (r"^\p{Script=Greek}$", ["α"], ["a"]),
        (r"^(?<first>a|b)\k<first>$", ["aa", "bb"], ["ab"]),
        (r"^(?<a$b>x)[^]\k<a$b>$", ["x\nx"], ["xx"]),
        ("^[^]$", ["\n", "a"], ["", "ab"]),
        ("a[]|b", ["b"], ["a"]),
        (r"^\u{1F600}$", ["😀"], ["😁"]),
        (r"^[\u{61}-\u{63}]$", ["b"], ["d"]),
        (r"^\ud83d\ude00\p{L}$", ["😀a"], ["😀"]),
        (r"^\cA\p{L}$", ["\x01a"], ["Aa"]),
        (r"(?<=a+)b", ["aab"], ["cb"]),
        (r"(?<!a+)b", ["cb"], ["aab"]),
        (r"^\i\p{L}[(?<x>[]$", ["ia(", "ia[", "ia<"], ["ia)"]),
        (r"^[\p{L}\]\[]$", ["]", "["], ["\\"]),
        # What `re` can read is what `re` says, as in jsonschema.
        (r"^\d$", ["٣"], ["a"]),
        (r"^a$", ["a\n"], ["a\nb"]),
        (r"\/\-", ["/-"], ["/"]),
        ("[[a]", ["["], ["b"]),
    ],
)
def test_what_a_pattern_finds(pattern: str, found: list[str], not_found: list[str]) -> None:
    search = search_of(pattern)
    assert [bool(search(text)) for text in found] == [True] * len(found)
    assert [bool(search(text)) for text in not_found] == [False] * len(not_found)


@pytest.mark.parametrize(
    "pattern", ["a(", "*a", "[b-a]", r"\p{Nope}", r"\u{ffffff}", "a{2,1}", r"\k<a>", "(?<a>x)(?<a>y", "\\", "(" * 5000]
)
def test_a_pattern_that_nobody_can_read(pattern: str) -> None:
    with pytest.raises(PatternUnreadableError) as caught:
        search_of(pattern)
    assert str(caught.value)


@given(st.text(r"ab\[]^$(?<>:)*+{},1.-|upPLkdw/", max_size=12), st.text("ab1]\n", max_size=5))
def test_never_anything_but_an_answer(pattern: str, text: str) -> None:
    """And the answer of ``re`` where it has one."""
    try:
        found = bool(search_of(pattern)(text))
    except PatternUnreadableError:
        with pytest.raises(re.error):
            re.compile(pattern)
        return
    try:
        assert found == bool(re.search(pattern, text))
    except re.error:
        assert found in (True, False)
