"""The scanner against Python's ``re``, where a regular expression says the same."""

import re
from typing import Literal

from hypothesis import given
from hypothesis import strategies as st

from sfgen.ban import BannedWords, Match, scan

word = st.text("abc1_", min_size=1, max_size=3)
phrases = st.lists(word, min_size=1, max_size=3).map(" ".join)
modes: list[Literal["word", "prefix", "substring"]] = ["word", "prefix", "substring"]


@given(
    st.lists(phrases, min_size=1, max_size=4, unique=True), st.text("abcAB1_ .-", max_size=40), st.sampled_from(modes)
)
def test_scan_is_a_regular_expression(
    words: list[str], text: str, mode: Literal["word", "prefix", "substring"]
) -> None:
    left = "" if mode == "substring" else r"(?<!\w)"
    right = r"(?!\w)" if mode == "word" else ""
    expected = set()
    for phrase in words:
        pattern = re.compile(left + r"\W+".join(phrase.split()) + right, re.IGNORECASE | re.ASCII)
        for start in range(len(text)):
            found = pattern.match(text, start)
            if found:
                expected.add(Match(phrase, start, found.end()))
    result = scan(text, BannedWords(words, match=mode))
    assert set(result) == expected
    assert len(result) == len(expected)


def test_the_prompt_bounds_and_begins_words() -> None:
    words = BannedWords(["talk"])
    assert scan("k?", words, prompt="we tal") == [Match("talk", -3, 1)]
    assert scan("?", words, prompt="Can we talk") == []
    assert scan("talk", words, prompt="small") == []
    assert scan("我talk", words, prompt="我") == [Match("talk", 3, 7)]


def test_order_is_that_of_completion() -> None:
    words = BannedWords(["a", "a*", "b a", "(a", ". a"], ignore_case=False)
    assert [match.word for match in scan("b. .(a", words)] == ["a*", "b a", ". a", ". a", "(a", "a"]
