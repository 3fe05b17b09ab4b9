"""Patterns and choices by the real model: each text is one that ``re`` matches, whole, within its limit."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.real.circumstances import (
    CIRCUMSTANCES,
    Circumstances,
    drawn,
    fewest_tokens,
    is_refused,
    log_shares,
    written,
)
from tests.support.real.model import gguf_model, needs_file

from sfgen import Dfa, Index, SfgenError, generate, score
from sfgen.errors import GenerationError
from sfgen.index import DfaIndex

pytestmark = needs_file()

PATTERNS = {
    "email": (r"[a-z0-9._%+-]{1,20}@[a-z0-9-]{1,15}\.(com|org|de)", "a@b.com"),
    "date": (r"(19|20)\d\d-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])", "2020-02-02"),
    "url": (r"https?://(www\.)?[a-z0-9-]{2,20}\.(org|com)(/[\w.~-]{0,12}){0,3}(\?q=\w+)?", "http://ab.com"),
    "address": (r"((25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(25[0-5]|2[0-4]\d|1?\d?\d)", "1.1.1.1"),
    "uuid": (r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "0" * 8 + "-0000-0000-0000-" + "0" * 12),
    "number": (r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?", "0"),
    "letters of all scripts": (r"(?u)[^\W\d_]{2,12}( [^\W\d_]{2,12}){0,3}", "ab"),
    "words of all scripts": (r"(?u)\w+(\s\w+)*[.!?。]", "a."),
    "no letter of ASCII": (r"[^\x00-\x7f]{3,9}", "東京は"),
    "Greek": (r"[Α-ω]{2,8}", "αα"),
    "smileys": (r"(🙂|🎉|é|👩‍👩‍👧){2,6}", "éé"),
    "either case": (r"(?i)straße|grüße, (welt|erde)", "straße"),
    "look-ahead": (r"(?=.*\d)(?=.*[A-Z])(?!.*00)[A-Za-z\d]{4,10}", "1AAA"),
    "look-behind": (r"[a-z ]{3,30}(?<!the)(?<! )\.", "abc."),
    "word boundaries": (r"(\bcat\b|\bdog\b|\W){3,9}", "cat,dog"),
    "no end in it": (r"(?:(?!end)[a-z ]){3,12} end", "aaa end"),
    "anything": (r".*", ""),
    "a bounded line": (r".{5,40}", "The capital"),
    "exactly so many": (r"(?s).{17}", "The capital of a "),
    "spaces alone": (r"\s{2,9}", "  "),
    "lazy": (r"<(.+?)>.*?</b>", "<b></b>"),
    "atomic": (r"(?>a+|b)[a-c]{2,6}", "bab"),
    "possessive": (r"[0-9]++[a-f]?+", "1"),
    "sentence": (r"[A-Z][a-z]+( [a-z]+){2,7}(, [a-z]+( [a-z]+)*)?[.?!]", "The capital of it."),
    "list": (r"(- [^\n]{1,30}\n){2,4}", "- a\n- a\n"),
    "call": (r"[a-z_]+\((\"[^\"\n]{0,20}\"|-?\d+)(, (\"[^\"\n]{0,20}\"|-?\d+))*\)", "a(1)"),
    "groups": (r"(?P<name>[A-Z][a-z]+) is (?P<age>[1-9]\d?)( years old)?(?P<end>\.|!)", "It is 1."),
}
CASES = [pytest.param(*case, id=name) for name, case in PATTERNS.items()]


@cache
def index(pattern: str) -> DfaIndex:
    """The index of a pattern; its token masks are made once."""
    return Index(Dfa.from_regex(pattern), gguf_model().vocabulary)


@drawn("few")
@given(at=CIRCUMSTANCES)
@pytest.mark.parametrize(("pattern", "example"), CASES)
def test_each_text_is_a_whole_match(pattern: str, example: str, at: Circumstances) -> None:
    assert re.fullmatch(pattern, example, re.ASCII if "(?u)" not in pattern else 0)
    result = written(at, [example], index=index(pattern))
    match = re.fullmatch(pattern, result.text, re.ASCII if "(?u)" not in pattern else 0)
    assert match
    assert result.groups == match.groupdict()
    assert result.spans == {name: match.span(name) for name in match.groupdict() if match[name] is not None}


DRAWN_WHOLE = ["date", "number", "letters of all scripts", "smileys", "groups", "either case"]


@drawn("few")
@given(at=CIRCUMSTANCES, name=st.sampled_from(DRAWN_WHOLE))
def test_a_text_that_is_drawn_as_a_whole_is_a_match(at: Circumstances, name: str) -> None:
    pattern, example = PATTERNS[name]
    at = replace(at, heal=None if at.heal else at.heal)  # prompts are taken as they are
    try:
        text = written(at, [example], index=index(pattern), strategy="exact", max_passes=150).text
    except GenerationError:  # after so many passes it is refused; nothing else is written in its place
        return
    assert re.fullmatch(pattern, text, re.ASCII if "(?u)" not in pattern else 0)


# Texts of which the shortest are all written out, so that the fewest tokens are known.
SHORTEST = {
    r"[ab]{3}c": [f"{a}{b}{c}c" for a in "ab" for b in "ab" for c in "ab"],
    r"(Constantinople|Tegucigalpa)(, no)?": ["Constantinople", "Tegucigalpa"],
    r"(?s)(\u2060.){3}": [f"\u2060{a}\u2060{b}\u2060{c}" for a in "ae" for b in "ae" for c in "ae"],
    r"qzxj(kvw)+|xq{9}": ["qzxjkvw", "xqqqqqqqqq"],
    r"👩\u200d👩\u200d👧!*": ["👩\u200d👩\u200d👧"],
}


@pytest.mark.parametrize("pattern", SHORTEST)
def test_a_limit_is_refused_where_no_text_fits(pattern: str) -> None:
    fewest = fewest_tokens(SHORTEST[pattern])
    for limit in range(1, fewest + 2):
        assert is_refused(limit, index=index(pattern)) == (limit < fewest)


COUNTRIES = ["France", "French Guiana", "Germany", "Great Britain", "Greece", "Côte d'Ivoire", "日本", "U.S.", "U.S.A."]
FEWEST_OF = ["Antigua and Barbuda", "Saint Vincent and the Grenadines", "Bosnia and Herzegovina"]


@drawn("some")
@given(at=CIRCUMSTANCES, choices=st.lists(st.sampled_from(COUNTRIES), min_size=1, unique=True))
def test_each_text_is_one_of_the_choices(at: Circumstances, choices: list[str]) -> None:
    assert written(at, choices, choices=choices).text in choices


@drawn("few")
@given(at=CIRCUMSTANCES, choices=st.lists(st.text(min_size=1, max_size=6), min_size=1, max_size=5, unique=True))
def test_each_text_is_one_of_random_choices(at: Circumstances, choices: list[str]) -> None:
    assert written(at, choices, choices=choices).text in choices


def test_choices_are_refused_where_none_fits() -> None:
    fewest = fewest_tokens(FEWEST_OF)
    for limit in range(1, fewest + 1):
        assert is_refused(limit, choices=FEWEST_OF) == (limit < fewest)


def test_choices_are_scored_as_whole_texts() -> None:
    """A score counts the end; of an exact text, behind which nothing can follow, the tokens alone count."""
    prompt = "The weather was fine. The movie was not. It was a"
    choices = [" waste of time.", " pity", " film", " bad one"]
    alone, ended = zip(*(log_shares(prompt, text) for text in choices), strict=True)
    scores = {choice.text: choice.logprob for choice in score(gguf_model(), prompt, choices)}
    assert [scores[text] for text in choices] == pytest.approx(list(ended), abs=0.05)
    best = generate(gguf_model(), prompt, choices=choices, strategy="exact", temperature=0)
    assert best.text == choices[alone.index(max(alone))]


def test_patterns_without_texts_are_refused() -> None:
    for pattern in (r"a(?!a)a", r"[^\s\S]", r"(?=x)y"):
        with pytest.raises(SfgenError):
            generate(gguf_model(), "A person: ", regex=pattern)
