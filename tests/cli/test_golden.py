"""The patterns of the documents that sfgen was made from, with their prompts, on the embedded model.

What is tested is what a constraint promises, whatever the model has learned: the texts are whole, `re` agrees, and what
should be JSON is JSON.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.support.patterns.texts import LanguageSampler

from sfgen import Dfa

Sfgen = Callable[..., Any]
PATTERNS = Path(__file__).resolve().parent.parent / "data" / "patterns"


def printed(file: str, name: str) -> str:
    pattern = tomllib.loads((PATTERNS / file).read_text(encoding="utf-8"))[name]["pattern"]
    assert isinstance(pattern, str)
    return pattern


URL = printed("network.toml", "url-of-the-float-blog")
MAIL = "(?i)" + printed("network.toml", "mail-rfc5322")  # printed as /…/i
SINGLES = printed("markup.toml", "pink-floyd-albums")

WHERE = "Where can I listen to pink floyd songs"
WHICH = """What were Pink Floyd's two most popular singles. Format the output like
[
  {
    "title": "Get Back",
    "album": "Let It Be",
    "year": 1970,
    "us-chart-max": 1,
    "uk-chart-max": 1
  },
  {
    "title": "Octopus's Garden",
    "year": 1969,
    "us-chart-max": 16,
    "uk-chart-max": 7
  }
]"""

# The printed pattern also allows what is no JSON: `(` in a year, line breaks and lone backslashes in a string, numbers
# that begin with 0, form feeds as white space. This one does not.
STRING = r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})){1,40}"'
CHART = "(?:[1-9][0-9]{0,2})"
SINGLE = (
    rf'  \{{\n    "title": {STRING}(?:,\n    "album": {STRING})?,\n    "year": [12][0-9]{{3}}'
    rf'(?:,\n    "us-chart-max": {CHART})?(?:,\n    "uk-chart-max": {CHART})?\n  \}}'
)
CORRECTED = rf"\[\n{SINGLE}(?:,\n{SINGLE}){{0,3}}\n\]"


def texts(sfgen: Sfgen, pattern: str, prompt: str, *more: str) -> list[str]:
    done = sfgen("gen", "--regex", pattern, "--json", *more, prompt)
    assert (done.code, done.err) == (0, "")
    for record in done.records:
        assert (record["model"], record["pattern"], record["prompt"]) == ("tiny", pattern, prompt)
        assert record["finish_reason"] in ("complete", "end_token")
        assert re.fullmatch(pattern, record["text"], re.ASCII)
    return [record["text"] for record in done.records]


def greedy_and_sampled(sfgen: Sfgen, pattern: str, prompt: str, max_tokens: int) -> list[str]:
    limit = ("--max-tokens", str(max_tokens))
    greedy = texts(sfgen, pattern, prompt, *limit)
    sampled = texts(sfgen, pattern, prompt, *limit, "--seed", "42", "-n", "3")
    assert (len(greedy), len(sampled)) == (1, 3)
    assert texts(sfgen, pattern, prompt, *limit) == greedy
    assert texts(sfgen, pattern, prompt, *limit, "--seed", "44") == sampled[2:]
    assert len(set(sampled)) > 1
    return greedy + sampled


def test_where_to_listen(sfgen: Sfgen) -> None:
    for text in greedy_and_sampled(sfgen, URL, WHERE, 30):
        assert re.match(r"https?://(www\.)?[a-zA-Z]+\.(com|ai|org|edu)\Z", text)


def test_singles_under_the_printed_pattern(sfgen: Sfgen) -> None:
    greedy_and_sampled(sfgen, SINGLES, WHICH, 150)


def test_singles_under_the_corrected_pattern(sfgen: Sfgen) -> None:
    for text in greedy_and_sampled(sfgen, CORRECTED, WHICH, 150):
        singles = json.loads(text)
        assert 1 <= len(singles) <= 4
        for single in singles:
            assert {"title", "year"} <= set(single) <= {"title", "album", "year", "us-chart-max", "uk-chart-max"}
            assert 1000 <= single["year"] <= 2999
            assert all(1 <= single.get(chart, 1) <= 999 for chart in ("us-chart-max", "uk-chart-max"))


def test_an_address_whatever_the_case(sfgen: Sfgen) -> None:
    found = greedy_and_sampled(sfgen, MAIL, "Write to me at ", 40)
    assert all("@" in text for text in found)
    # The flag counts: capital letters belong to the language, in every part of it.
    assert Dfa.from_regex(MAIL).accepts("Ada.LOVELACE@Example.ORG")
    assert not Dfa.from_regex(MAIL.removeprefix("(?i)")).accepts("Ada.LOVELACE@Example.ORG")


@pytest.mark.parametrize(("pattern", "always"), [(SINGLES, False), (CORRECTED, True)])
def test_which_pattern_means_json(pattern: str, always: bool) -> None:
    """Texts that the automaton itself accepts, far from what a model would write."""
    sampler, random = LanguageSampler(Dfa.from_regex(pattern)), Random(3)
    failures = 0
    for _ in range(300):
        text = sampler.text(random, longest=200)
        assert re.fullmatch(pattern, text, re.ASCII)
        try:
            json.loads(text)
        except json.JSONDecodeError:
            failures += 1
    assert (failures == 0) == always
    for text in ('[\n  {\n    "title": "a\\n\\u00e9",\n    "year": 1973\n  }\n]',):
        assert re.fullmatch(pattern, text, re.ASCII)
