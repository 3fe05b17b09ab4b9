"""The scanner against Python's ``re``, where a regular expression says the same."""

import importlib
import re
import threading
from collections.abc import Iterator
from functools import cache
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfgen.ban import BannedWords, Match, scan

_MODULE = importlib.import_module("sfgen.ban.independent_scan")  # whose name in the package is the function's

word = st.text("abc1", min_size=1, max_size=3)
phrases = st.lists(word, min_size=1, max_size=3).map(" ".join)
modes: list[Literal["word", "prefix", "substring"]] = ["word", "prefix", "substring"]


@given(
    st.lists(phrases, min_size=1, max_size=4, unique=True), st.text("abcAB1_ .-", max_size=40), st.sampled_from(modes)
)
def test_scan_is_a_regular_expression(
    words: list[str], text: str, mode: Literal["word", "prefix", "substring"]
) -> None:
    letter = "[a-zA-Z0-9]"
    left = "" if mode == "substring" else f"(?<!{letter})"
    right = f"(?!{letter})" if mode == "word" else ""
    expected = set()
    for phrase in words:
        pattern = re.compile(left + "[^a-zA-Z0-9]+".join(phrase.split()) + right, re.IGNORECASE | re.ASCII)
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
    assert scan("talk", words, prompt="small") == [Match("talk", 0, 4)]  # a word for who has the text alone
    assert scan("ing", words, prompt="talk") == []
    assert scan("lk", BannedWords(["talk", "lk"]), prompt="ta") == [Match("talk", -2, 2), Match("lk", 0, 2)]
    assert scan(b"lk\xa9", words, prompt=b"ta\xc3") == []
    assert scan(b"\xa9talk", words, prompt=b"\xc3") == [Match("talk", 3, 7)]
    assert scan("我talk", words, prompt="我") == [Match("talk", 3, 7)]


def test_order_is_that_of_completion() -> None:
    words = BannedWords(["a", "a*", "b a", "(a", ". a"], ignore_case=False)
    assert [match.word for match in scan("b. .(a", words)] == ["a*", "b a", ". a", ". a", "(a", "a"]


PATTERNS = [
    "a", "a+", "a|ab", "ab|a", "a*?b", r"\ba", r"b\b", "(?i)AB+", "(?x) a  b # c", "a(?=b)", "(?<!b)a", "b$", r"\Ab",
    "^b", "(?s)a.b", "a.b", "(?>a|ab)b", r"\p{L}b", "[^a]a", "é\\b", r"\w\s", "a(?!b).*", "b{2,}?",
]  # fmt: skip


def spans(pattern: str, text: str) -> Iterator[tuple[int, int]]:
    """All matches of a pattern, each place asked for by itself."""
    flags, body = re.fullmatch(r"(?s)((?:\(\?[a-z]\))?)(.*)", pattern).groups()  # type: ignore[union-attr]
    body = body.replace(r"\p{L}", "(?:[a-zé])")
    for start in range(len(text)):
        for end in range(start + 1, len(text) + 1):
            exact = (
                f"{flags}(?:{body}\n)(?=(?s:.{{{len(text) - end}}})\\Z)"
                if "x" in flags
                else (f"{flags}(?:{body})(?=(?s:.{{{len(text) - end}}})\\Z)")
            )
            match = re.compile(exact).match(text, start)
            if match and match.end() == end:
                yield start, end


@cache
def banning(pattern: str, allow: tuple[str, ...]) -> BannedWords:
    return BannedWords(patterns=[pattern], match="substring", allow=allow)


def check(pattern: str, prompt: str, text: str, allow: list[str]) -> None:
    """Compare what is found with all matches there are."""
    banned = banning(pattern, tuple(allow))
    expected = set()
    for before in ("", prompt):
        whole, seam = before + text, len(before.encode())
        allowed = scan(whole, BannedWords(allow, match="substring")) if allow else []
        for start, end in spans(pattern, whole):
            span = [len(whole[:place].encode()) for place in (start, end)]
            if end > len(before) and not any(one.start <= span[0] and span[1] <= one.end for one in allowed):
                expected.add(Match(pattern, span[0] - seam, span[1] - seam))
    result = scan(text, banned, prompt=prompt)
    assert set(result) <= expected
    assert bool(result) == bool(expected)
    matcher = banned.matcher(prompt.encode())
    reported = matcher.advance(text.encode()) or matcher.finish()
    assert reported in expected if expected else reported is None


short = st.text("aabbé \n", max_size=5)
allowed: st.SearchStrategy[list[str]] = st.one_of(
    st.just([]), st.lists(st.sampled_from(["ab", "b a", "aa", "a"]), max_size=2)
)


@given(st.sampled_from(PATTERNS), short, short, allowed)
def test_patterns_are_found_with_any_of_their_ends(pattern: str, prompt: str, text: str, allow: list[str]) -> None:
    check(pattern, prompt, text, allow)


@pytest.mark.parametrize("trusted", [False, True])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_the_end_that_re_prefers_is_not_the_only_one(
    pattern: str, trusted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if trusted:
        monkeypatch.setattr(_MODULE, "_by_re", lambda *arguments: None)
    for whole in ("aabb", "abé b", "baab", "a\nb", "ab ab"):
        for seam in range(len(whole)):
            for allow in ([], ["a"], ["ab", "b a"]):
                check(pattern, whole[:seam], whole[seam:], allow)


def test_patterns_are_reported_once_where_they_match() -> None:
    banned = BannedWords(["see"], [r"\d+", "s.*e"])
    assert scan("123 see 45", banned) == [
        Match(r"\d+", 0, 3), Match("s.*e", 4, 7), Match("see", 4, 7), Match(r"\d+", 8, 10),
    ]  # fmt: skip
    assert scan("34", banned, prompt="12") == [Match(r"\d+", -2, 2), Match(r"\d+", 0, 2)]


SLOW = "(a+)+b|a+c"


def test_where_re_does_not_come_to_an_end_the_automaton_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_MODULE, "_SECONDS", 0.01)
    banned = BannedWords(["x"], [SLOW, r"\bd"])
    assert scan("a" * 40 + "c d dx", banned) == [Match(SLOW, 0, 41), Match(r"\bd", 42, 43), Match(r"\bd", 44, 45)]
    assert scan("a" * 40 + "c", banned, prompt="a") == [Match(SLOW, -1, 41), Match(SLOW, 0, 41)]
    assert scan("c", banned, prompt="a" * 40) == [Match(SLOW, -40, 1)]
    assert scan("a" * 41, banned) == []


def test_patterns_are_found_in_any_thread() -> None:
    results = []
    for text in ("12 see", "no " * 2000 + "45"):
        thread = threading.Thread(target=lambda text=text: results.append(scan(text, BannedWords(patterns=[r"\d+"]))))
        thread.start()
        thread.join()
    assert results == [[Match(r"\d+", 0, 2)], [Match(r"\d+", 6000, 6002)]]
