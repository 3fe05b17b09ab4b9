"""Calls inside free text: what is written, what is read of it, bans, limits, and batches."""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.support.models.scripted import ScriptedModel, random_scores
from tests.support.running.tried import tried

import sfgen
from sfgen import BannedWords, Finished, GenerationConfig, Sampler, TextReleased, Vocabulary
from sfgen.ban import scan
from sfgen.decoding import batch_of, drive_batch, prepare
from sfgen.decoding.rollback_decision import StrategyName
from sfgen.errors import BannedWordsError, DeadEnd, GenerationError, LimitTooSmall, UsageError

LETTERS = [bytes([byte]) for byte in b'ab!1 {}":']
PATTERNS = ["1{1,2}", "ab?", "(1|a!)b"]
WORDS = ["ab", "a b", "11"]


class Model(ScriptedModel):
    """Random scores over letters and some longer tokens; may have a special token."""

    def __init__(self, pieces: list[bytes], seed: int, special: str | None = None) -> None:
        tokens = [*dict.fromkeys([*LETTERS, *pieces]), None, None]
        super().__init__(Vocabulary(tokens, [len(tokens) - 1]), random_scores(len(tokens), seed))
        self.special = special

    def encode_inside(self, text: str) -> list[int]:
        return [len(self.vocabulary) - 2] if text == self.special else self.encode(text)


@st.composite
def models(draw: st.DrawFn) -> Model:
    pieces = draw(st.lists(st.text("ab!1 ", min_size=2, max_size=4).map(str.encode), max_size=8))
    return Model(pieces, draw(st.integers(0, 2**16)), draw(st.sampled_from([None, "!"])))


@st.composite
def configs(draw: st.DrawFn) -> GenerationConfig:
    strategy: Any = draw(st.sampled_from(get_args(StrategyName)))
    words = draw(st.lists(st.sampled_from(WORDS), max_size=1))
    return GenerationConfig(
        index=draw(st.sampled_from(PATTERNS)),
        banned=BannedWords(words, match=draw(st.sampled_from(["word", "substring"]))) if words else None,
        sampler=Sampler(draw(st.sampled_from([0.0, 1.0])), seed=draw(st.integers(0, 99))),
        max_tokens=draw(st.integers(0, 12)),
        when=draw(st.sampled_from(["!", "b!"])),
        after=draw(st.sampled_from([None, None, "a"])),
        after_tokens=3,
        strategy=strategy,
        fast_forward=draw(st.booleans()),
        hold=draw(st.booleans()),
        max_rollbacks=300,
    )


def calls_of(text: str, when: str, pattern: str) -> list[str]:
    """The calls of a text, by the definition: each is the longest text that stands behind a marker."""
    dfa, found = sfgen.Dfa.from_regex(pattern), []
    while when in text:
        text = text[text.index(when) + len(when) :]
        ends = [end for end in range(len(text) + 1) if dfa.accepts(text[:end])]
        assert ends, f"no call at {text!r}"
        found.append(text[: ends[-1]])
        text = text[ends[-1] :]
    return found


@tried("many")
@given(models(), configs(), st.sampled_from(["a", "b "]))
def test_every_marker_begins_a_call(model: Model, config: GenerationConfig, prompt: str) -> None:
    try:
        events: list[Any] = list(sfgen.stream(model, prompt, config))
    except (DeadEnd, GenerationError, BannedWordsError, LimitTooSmall):
        assume(False)
        raise
    result = events[-1].result
    assert config.when is not None
    assert list(result.calls) == calls_of(result.text, config.when, str(config.index))
    assert "".join(event.text for event in events if isinstance(event, TextReleased)) == result.text
    if config.banned is not None:
        assert not scan(result.text.encode(), BannedWords.of(config.banned))
    if config.after is None:
        assert len(result.token_ids) <= config.max_tokens + len(result.healed or "")
    assert result.finish_reason in ("limit", "end_token")


@tried("few")
@given(models(), configs(), st.lists(st.sampled_from(["a", "b ", "1"]), min_size=1, max_size=4))
def test_batches_write_the_same(model: Model, config: GenerationConfig, prompts: list[str]) -> None:
    expected: list[Any] = []
    for prompt in prompts:
        try:
            expected.append(sfgen.generate(model, prompt, config))
        except sfgen.SfgenError as error:
            assume(not isinstance(error, BannedWordsError | UsageError | LimitTooSmall))
            expected.append(type(error))
    found: list[Any] = [None] * len(prompts)
    loops = [prepare(model, prompt, config, hold=True) for prompt in prompts]
    for number, event in drive_batch(loops, batch_of(model, 2), 2):
        if isinstance(event, Finished | sfgen.SfgenError):
            found[number] = event.result if isinstance(event, Finished) else type(event)
    assert found == expected


def test_calls_of_tools_are_parsed() -> None:
    tools = [{"name": "weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}]
    schema = sfgen.JsonSchema(sfgen.tools_schema(tools))
    for seed in range(4):
        result = sfgen.generate(
            "tiny", "Can we talk?", index=schema, when=". ", max_tokens=80, sampler=Sampler(1.0, seed=seed)
        )
        assert result.calls is not None
        for call in result.calls:
            assert call["name"] == "weather"
            assert json.dumps(call["name"]) in result.text
        assert result.text.count(". ") >= len(result.calls)
        assert result.value is None


def test_banned_words_are_taken_out_of_calls() -> None:
    """Also those that only a reader of the JSON finds."""
    schema = sfgen.JsonSchema({"enum": ["talk", "walk"]})
    for seed in range(3):
        result = sfgen.generate(
            "tiny", "Can we ", index=schema, when=" ", banned=["talk"], max_tokens=30, sampler=Sampler(1.0, seed=seed)
        )
        assert result.calls
        assert set(result.calls) == {"walk"}
    grammar = sfgen.Grammar.from_gbnf('root ::= "b" | "c"')
    with pytest.raises(UsageError, match="cannot be taken out of the calls"):
        sfgen.generate("tiny", "a", index=grammar, when="x", banned=["c"])


def test_what_has_no_meaning_is_refused() -> None:
    for named, says in (
        ({"when": "", "index": "a"}, "when is empty"),
        ({"when": "x", "index": "a", "strategy": "exact"}, "when and the exact strategy"),
        ({"when": 7, "index": "a"}, "when must be a text"),
    ):
        with pytest.raises(UsageError, match=says):
            GenerationConfig(**named)
    with pytest.raises(UsageError, match="when needs a constraint"):
        sfgen.generate("uniform", "a", when="x")


def test_a_call_does_not_end_before_what_is_banned() -> None:
    """Who reads ``!ab`` takes ``ab`` for the call, so no ``b`` follows ``!a``."""
    for seed in range(20):
        config = GenerationConfig(
            index="ab?", when="!", banned=BannedWords(["ab"]), sampler=Sampler(1.0, seed=seed), max_tokens=12
        )
        result = sfgen.generate(Model([b"!a", b"ab1", b"b1"], seed), "a", config)
        assert set(result.calls or ()) <= {"a"}
        assert "!ab" not in result.text
        assert list(result.calls or ()) == calls_of(result.text, "!", "ab?")
