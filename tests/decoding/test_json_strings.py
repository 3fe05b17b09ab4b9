"""The strings of JSON while they are written: what is read in them is banned, however it is written."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.models.generated import json_vocabulary
from tests.support.models.scripted import ScriptedModel, random_scores
from tests.support.running.tried import tried

from sfgen import BannedWords, Finished, Index, JsonSchema, Template, TextReleased, generate, stream
from sfgen.ban import scan
from sfgen.decoding.json_strings import StringsMatcher
from sfgen.decoding.rollback_decision import StrategyName

CHARACTERS = st.sampled_from('ab1 n}"\\\n\té🙂')
STRINGS = st.lists(st.text(CHARACTERS, max_size=5), min_size=1, max_size=3)


@st.composite
def written(draw: st.DrawFn) -> tuple[bytes, list[str]]:
    """A list of strings as JSON, with escapes of any sort, and the strings."""
    strings = draw(STRINGS)
    texts = [
        "".join(
            json.dumps(character, ensure_ascii=draw(st.booleans()))[1:-1]
            if draw(st.booleans()) or character in '"\\\n\t'
            else "".join(f"\\u{int.from_bytes(pair, 'big'):04X}" for pair in pairs(character))
            for character in string
        )
        for string in strings
    ]
    return ("[" + ", ".join(f'"{text}"' for text in texts) + "]").encode(), strings


def pairs(character: str) -> Iterable[bytes]:
    """The units of UTF-16 of a character."""
    units = character.encode("utf-16-be")
    return (units[at : at + 2] for at in range(0, len(units), 2))


@tried("many")
@given(
    text=written(),
    words=st.lists(st.text("ab1n ", min_size=1, max_size=3).filter(str.strip), min_size=1, max_size=2),
    patterns=st.lists(st.sampled_from([r"\}$", "^a", r"\n", r'"$', "é🙂", r"b(?!.)"]), max_size=2),
    match=st.sampled_from(["word", "prefix", "substring"]),
    cuts=st.lists(st.integers(0, 60), max_size=5),
)
def test_a_match_is_found_where_its_string_ends_and_before_it_is_settled(
    text: tuple[bytes, list[str]], words: list[str], patterns: list[str], match: Any, cuts: list[int]
) -> None:
    data, strings = text
    banned = BannedWords(words, patterns, match)
    matcher = StringsMatcher(banned.matcher())
    found, settled = False, 0
    edges = sorted({0, len(data), *(place for place in cuts if place < len(data))})
    for start, end in itertools.pairwise(edges):
        mark = matcher.mark()
        matcher.advance(data[start:])
        matcher.reset(mark)
        one = matcher.advance(data[start:end])
        if one is not None:
            assert settled <= one.start <= one.end <= end
            found = True
            break
        opened = matcher.open_from()
        settled = end if opened is None else opened
    in_text = bool(scan(data, banned))
    assert (found or matcher.finish() is not None) == (in_text or any(scan(string, banned) for string in strings))


def test_half_of_a_pair_alone_is_read_as_the_check_of_the_text_reads_it() -> None:
    banned = BannedWords(["ab"], [r"\?$"])
    for written, word in ((b'"\\ud83d"', r"\?$"), (b'"\\ud83d\\nab"', "ab"), (b'"\\ud83d\\ude00"', None)):
        for size in (1, 3, 20):
            matcher = StringsMatcher(banned.matcher())
            found = [matcher.advance(written[at : at + size]) for at in range(0, len(written), size)]
            assert next((match.word for match in found if match), None) == word


LIST = {"type": "array", "items": {"type": "string", "maxLength": 5}, "minItems": 2, "maxItems": 3}


@pytest.mark.parametrize("strategy", [name for name in get_args(StrategyName) if name != "exact"])
def test_what_is_read_in_a_string_is_taken_back_where_the_automaton_would_be_too_large(strategy: StrategyName) -> None:
    vocabulary, schema = json_vocabulary(), JsonSchema(LIST)
    banned = BannedWords(["1 b"], [r"[}0-9a-g]$", "^b", r"\n"], normalize=True, allow=["na name", "ab 1"])
    assert schema.without_banned(banned) is None, "the matcher must watch"
    index = Index(schema, vocabulary)
    for seed in range(24):
        model = ScriptedModel(vocabulary, random_scores(len(vocabulary), seed))
        options: dict[str, Any] = {"banned": banned, "strategy": strategy, "temperature": 1, "seed": seed}
        events = list(stream(model, index=index, max_tokens=40, **options))
        assert isinstance(events[-1], Finished)
        text = events[-1].result.text
        assert text == "".join(event.text for event in events if isinstance(event, TextReleased))
        assert [string for string in json.loads(text) if scan(string, banned)] == []


def test_behind_a_thought_strings_are_read_too() -> None:
    vocabulary, index = json_vocabulary(), Index(JsonSchema(LIST), json_vocabulary())
    banned = BannedWords(["1 b"], [r"[}0-9a-g]$", "^b", r"\n"], normalize=True, allow=["na name", "ab 1"])
    for seed in range(24):
        model = ScriptedModel(vocabulary, random_scores(len(vocabulary), seed))
        options: dict[str, Any] = {"banned": banned, "temperature": 1, "seed": seed, "word_bias": {"a": -1.0}}
        result = generate(model, index=index, max_tokens=40, after='"', after_tokens=6, **options)
        assert [string for string in json.loads(result.text) if scan(string, banned)] == []


def test_strings_are_read_in_the_holes_of_a_template() -> None:
    # Quotes around the hole are no string; a number that may go on is followed by one.
    text = '"a}" {{n: schema {"type": "integer"}}}"g" "{{a: schema LIST}}" {{b: regex [a-z]}}'.replace(
        "LIST", json.dumps(LIST)
    )
    vocabulary = json_vocabulary()
    index = Index(Template(text), vocabulary)
    banned = BannedWords(["1 b"], [r"[}0-9a-g]$", "^b", r"\n"], normalize=True, allow=["na name", "ab 1"])
    rollbacks = 0
    for seed in range(24):
        model = ScriptedModel(vocabulary, random_scores(len(vocabulary), seed))
        events = list(stream(model, index=index, max_tokens=60, banned=banned, temperature=1, seed=seed))
        assert isinstance(events[-1], Finished)
        result = events[-1].result
        assert result.text == "".join(event.text for event in events if isinstance(event, TextReleased))
        assert [string for string in result.value["a"] if scan(string, banned)] == []
        rollbacks += len(result.rollbacks)
    assert rollbacks > 0
