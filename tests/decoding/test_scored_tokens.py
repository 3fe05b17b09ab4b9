"""The tokens that are never taken back, each with the likeliest at its position: what a server tells of a text."""

from __future__ import annotations

import math
import tracemalloc
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, get_args
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.guides.brackets import INDEX, VOCABULARY, BracketModel
from tests.support.models.scripted import ScriptedModel, random_scores
from tests.support.running.tried import tried

from sfgen import BannedWords, Dfa, Finished, GenerationConfig, Index, Result, Sampler, Vocabulary, generate, load_model
from sfgen.decoding import prepare
from sfgen.decoding.batch import batch_of, drive, drive_batch
from sfgen.decoding.events import Event, RolledBack, TextReleased, TokenChosen
from sfgen.decoding.forward_passes import ScoredToken
from sfgen.decoding.rollback_decision import StrategyName
from sfgen.errors import SfgenError, UsageError
from sfgen.protocols import Scores

FORCED = Index(Dfa.from_choices(["old> ab", "old>b", "old> ab ab ab"]), VOCABULARY)

configs = st.builds(
    GenerationConfig,
    index=st.sampled_from([None, None, INDEX, FORCED]),
    banned=st.sampled_from([(), ("ab",), ("a", "<b"), ("old> a",), ("b]", "(a"), ("zzzzzz", "( a", "é")]).map(
        lambda words: BannedWords(words, match="substring") if words else None
    ),
    strategy=st.sampled_from(get_args(StrategyName)),
    sampler=st.builds(Sampler, st.sampled_from([0.0, 0.5, 1.0]), st.integers(0, 10**6)),
    fast_forward=st.booleans(),
    hold=st.booleans(),
    heal=st.booleans(),
    max_tokens=st.integers(8, 25),
    max_rollbacks=st.just(200),
    max_block=st.sampled_from([1, 3, 32]),
    logprobs=st.booleans(),
)


def expected(model: Any, before: list[int], token: int, count: int) -> tuple[float, list[int], list[float]]:
    """The log-probability of a token after others, and the likeliest tokens with theirs."""
    scores = model.score(tuple(before)).astype(np.float64)
    logprobs = scores - (scores.max() + math.log(math.fsum(np.exp(scores - scores.max()).tolist())))
    best = np.argsort(-logprobs, kind="stable")[:count].tolist()
    return float(logprobs[token]), best, logprobs[best].tolist()


def check(model: Any, before: list[int], result: Result, scored: list[ScoredToken], count: int) -> None:
    """Compare all entries of a text with a computation from scratch."""
    token_ids, offset = list(result.token_ids), 0
    assert [one.token_id for one in scored] == token_ids[: len(scored)]
    assert len(scored) == len(token_ids) or result.finish_reason == "stop"
    for index, one in enumerate(scored):
        logprob, best, logprobs = expected(model, before + token_ids[:index], one.token_id, count)
        assert one.logprob == pytest.approx(logprob, abs=1e-5)
        assert list(one.likeliest.best) == best
        assert one.likeliest.log_probabilities == pytest.approx(logprobs, abs=1e-5)
        assert one.offset >= offset
        offset = one.offset


@tried("many")
@given(
    st.integers(0, 10**6),
    st.lists(st.tuples(st.sampled_from(["a", "b a", "b ", "<bo", ""]), configs), min_size=1, max_size=3),
    st.integers(1, 2),
    st.sampled_from([0, 1, 4]),
    st.sampled_from([2**24, 200, 1]),
    st.sampled_from([(), ("a", "ab"), ("b b b", "((((")]),
)
def test_what_is_told_at_each_event_is_final(
    seed: int, wanted: list[tuple[str, GenerationConfig]], rows: int, count: int, most: int, stop: tuple[str, ...]
) -> None:
    model = BracketModel(seed)
    loops, lists, prompts = [], [], []
    for prompt, config in wanted:
        config = replace(config, stop=stop if config.index is None else ())
        try:
            loop = prepare(model, prompt, config)
            lists.append(loop.scored_tokens(count))
        except SfgenError:  # everything is banned, or nothing can be healed
            continue
        loops.append(loop)
        prompts.append(list(loop.prompt_ids))
    told: list[list[ScoredToken]] = [[] for _ in loops]
    with patch("sfgen.decoding.forward_passes.MOST_SCORES", most):
        events: Iterator[tuple[int, Event | SfgenError]] = drive_batch(loops, batch_of(model, rows), rows)
        for number, event in events:
            now = list(lists[number])
            assert now[: len(told[number])] == told[number]
            told[number] = now
            if isinstance(event, RolledBack):
                assert event.position >= len(now)
            if isinstance(event, Finished):
                check(model, prompts[number], event.result, now, count)


@pytest.mark.parametrize("strategy", ["resample", "first-token"])
def test_tokens_that_are_chosen_again_without_a_forward_pass(strategy: StrategyName) -> None:
    """What was read last at their positions is another text, until the next forward pass."""
    rolled_back = 0
    for seed in range(12):
        model = BracketModel(seed)
        banned = BannedWords(("b]", "(a"), match="substring")
        config = GenerationConfig(
            index=INDEX, banned=banned, strategy=strategy, sampler=Sampler(1.0, seed), max_tokens=20
        )
        loop = prepare(model, "b a", config)
        scored = loop.scored_tokens(2)
        last = list(drive(loop, model))[-1]
        assert isinstance(last, Finished)
        check(model, list(loop.prompt_ids), last.result, list(scored), 2)
        rolled_back += len(last.result.rollbacks)
    assert rolled_back


def test_a_token_is_told_with_its_text() -> None:
    model = BracketModel(5)
    loop = prepare(model, "a", GenerationConfig(max_tokens=20, sampler=Sampler(1.0, 1)))
    scored, ends, released = loop.scored_tokens(2), list[int](), 0
    for event in drive(loop, model):
        if isinstance(event, TokenChosen):
            ends.append(sum(ends[-1:]) + len(event.data))
        elif isinstance(event, TextReleased):
            released += len(event.text.encode())
            assert len(scored) >= sum(end <= released for end in ends)


def test_no_scores_of_all_tokens_are_kept_while_text_is_held_back() -> None:
    size, length = 4000, 150
    vocabulary = Vocabulary([*(f"{number:05}".encode() for number in range(size - 1)), None], end_token_ids=[size - 1])
    model = ScriptedModel(vocabulary, random_scores(size, 4), {"x": [0]})
    for hold in (False, True):
        config = GenerationConfig(
            stop=() if hold else ("0" * 5 * length, "1" * 5 * length, "2" * 5 * length), hold=hold, max_tokens=length
        )
        loop = prepare(model, "x", config)
        scored, most = loop.scored_tokens(5), 0
        tracemalloc.start()
        for _ in drive(loop, model):
            most = max(most, tracemalloc.get_traced_memory()[0])
        tracemalloc.stop()
        assert len(scored) == length
        assert most < size * length, "the scores of all tokens have 4 bytes each"


@pytest.mark.parametrize("prompt", ["The cat is  ", "I have 3 "])
def test_the_healed_end_of_a_prompt_has_the_model_s_logprobs(prompt: str) -> None:
    """Its tokens are chosen by scores that were weighed."""
    model = load_model("tiny")
    config = GenerationConfig(index="[a-z ]{3,9}\\.", max_tokens=9, logprobs=True)
    loop = prepare(model, prompt, config)
    scored = loop.scored_tokens(3)
    last = list(drive(loop, model))[-1]
    assert isinstance(last, Finished)
    assert last.result.healed
    assert last.result.logprobs is not None
    session = model.session()
    scores = session.extend(list(loop.prompt_ids))
    for one, logprob in zip(scored, last.result.logprobs, strict=True):
        exact = scores.astype(np.float64)
        under_model = exact[one.token_id] - exact.max() - math.log(np.exp(exact - exact.max()).sum())
        assert logprob.model == pytest.approx(under_model, abs=1e-3)
        assert one.logprob == pytest.approx(under_model, abs=1e-3)
        scores = session.extend([one.token_id])
    assert generate(model, prompt, replace(config, logprobs=False)).text == last.result.text


def test_infinite_scores() -> None:
    def score(tokens: tuple[int, ...]) -> Scores:
        return np.array([math.inf, -math.inf, 0.0])

    vocabulary = Vocabulary([b"a", b"b", None], end_token_ids=[2])
    model = ScriptedModel(vocabulary, score)
    loop = prepare(model, "a", GenerationConfig(index="b"))
    scored = loop.scored_tokens(2)
    list(drive(loop, model))
    assert [(one.likeliest.best[0], one.likeliest.log_probabilities[0]) for one in scored] == [(0, 0.0)]
    assert scored[0].logprob == -math.inf


def test_texts_that_are_drawn_as_a_whole_have_none() -> None:
    with pytest.raises(UsageError, match="cannot be observed"):
        prepare(BracketModel(1), "a", GenerationConfig(index=INDEX, strategy="exact")).scored_tokens(1)
