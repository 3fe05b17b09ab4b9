"""How likely each token was, under the model and under the mask, against what the definitions say."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, get_args
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.guides.brackets import INDEX, VOCABULARY, BracketModel
from tests.support.models.scripted import ScoreOf, ScriptedModel, ScriptedSession, random_scores
from tests.support.running.tried import tried

from sfgen import BannedWords, Dfa, Finished, GenerationConfig, Index, Result, Sampler, TokenChosen, Vocabulary
from sfgen.decoding import prepare
from sfgen.decoding.batch import batch_of, drive, drive_batch
from sfgen.decoding.rollback_decision import StrategyName
from sfgen.errors import SfgenError
from sfgen.models.sessions import last_in_parts
from sfgen.protocols import Scores

STRATEGIES: tuple[StrategyName, ...] = get_args(StrategyName)
FORCED = Index(Dfa.from_choices(["old> ab", "old>b"]), VOCABULARY)

configs = st.builds(
    GenerationConfig,
    index=st.sampled_from([None, INDEX, INDEX, FORCED]),
    banned=st.sampled_from([(), ("ab",), ("a", "<b"), ("old> a",), ("b]", "(a")]).map(
        lambda words: BannedWords(words, match="substring") if words else None
    ),
    strategy=st.sampled_from(STRATEGIES),
    sampler=st.builds(Sampler, st.sampled_from([0.0, 0.5, 1.0]), st.integers(0, 10**6)),
    fast_forward=st.booleans(),
    hold=st.booleans(),
    max_tokens=st.integers(8, 25),
    max_rollbacks=st.just(200),
    max_block=st.sampled_from([1, 3, 32]),
    logprobs=st.just(True),
)


def finished(model: Any, prompt: str, config: GenerationConfig) -> tuple[Result, list[TokenChosen]] | None:
    """The result, and the event of each of its tokens; ``None`` for an error."""
    try:
        events = list(drive(prepare(model, prompt, config), model))
    except SfgenError:
        return None
    assert isinstance(events[-1], Finished)
    chosen: dict[int, TokenChosen] = {}
    for event in events:
        if isinstance(event, TokenChosen):
            chosen[event.position] = event
    result = events[-1].result
    return result, [chosen[position] for position in range(len(result.token_ids))]


def under_the_model(scores: Scores, token: int) -> float:
    exact = scores.astype(np.float64)
    highest = exact.max()
    return float(exact[token] - highest - math.log(math.fsum(np.exp(exact - highest).tolist())))


@tried("many")
@given(st.integers(0, 10**6), st.sampled_from(["a", "b a", ""]), configs)
def test_each_token(seed: int, prompt: str, config: GenerationConfig) -> None:
    model = BracketModel(seed)
    plain = finished(model, prompt, replace(config, logprobs=False))
    found = finished(model, prompt, config)
    if plain is None or found is None:
        assert plain is None
        assert found is None
        return
    result, chosen = found
    assert plain[0].logprobs is None
    assert (result.token_ids, result.text) == (plain[0].token_ids, plain[0].text)
    assert result.rollbacks == plain[0].rollbacks
    assert result.logprobs is not None
    assert len(result.logprobs) == len(result.token_ids)
    before = model.encode(prompt)
    for position, (token, logprob, event) in enumerate(zip(result.token_ids, result.logprobs, chosen, strict=True)):
        scores = model.score((*before, *result.token_ids[:position]))
        assert logprob.model is not None
        assert math.isclose(logprob.model, under_the_model(scores, token), rel_tol=1e-9, abs_tol=1e-9)
        if event.probability is not None:
            assert math.isclose(logprob.mask, math.log(event.probability), rel_tol=1e-9, abs_tol=1e-9)
        elif event.forced:
            assert logprob.mask == 0
        else:
            assert logprob.mask <= 1e-9


@tried("some")
@given(st.integers(0, 10**6), configs.filter(lambda config: config.index is not None and config.banned is None))
def test_greedy_choices_have_the_share_of_what_may_stand_there(seed: int, config: GenerationConfig) -> None:
    model, config = BracketModel(seed), replace(config, sampler=None, fast_forward=False)
    found = finished(model, "a", config)
    if found is None:
        return
    result, chosen = found
    assert config.index is not None
    assert result.logprobs is not None
    guide = config.index.guide(config.max_tokens)  # type: ignore[union-attr]
    before = model.encode("a")
    for position, (token, logprob, event) in enumerate(zip(result.token_ids, result.logprobs, chosen, strict=True)):
        allowed = guide.allowed_tokens()
        scores = model.score((*before, *result.token_ids[:position]))[allowed]
        expected = under_the_model(scores, int(np.searchsorted(allowed, token)))
        assert event.forced == (allowed.size == 1)
        assert math.isclose(logprob.mask, expected, rel_tol=1e-9, abs_tol=1e-9)
        guide.advance(token)


@tried("some")
@given(st.lists(st.tuples(st.integers(0, 10**6), configs), min_size=2, max_size=4), st.integers(1, 3))
def test_in_a_batch(wanted: list[tuple[int, GenerationConfig]], rows: int) -> None:
    model = BracketModel(7)
    loops, alone = [], []
    for _, config in wanted:
        try:
            loops.append(prepare(model, "a", config))
        except SfgenError:
            continue
        found = finished(model, "a", config)
        alone.append(None if found is None else found[0].logprobs)
    last: dict[int, Any] = {}
    for number, event in drive_batch(loops, batch_of(model, rows), rows):
        last[number] = event.result.logprobs if isinstance(event, Finished) else None
    assert [last[number] for number in range(len(alone))] == alone


def test_an_observer_beside_it_sees_what_it_would_see() -> None:
    model, seen, plain = BracketModel(3), dict[int, Scores](), dict[int, Scores]()
    config = GenerationConfig(index=INDEX, max_tokens=12)
    list(drive(prepare(model, "a", config).observe_scores(plain.__setitem__), model))
    loop = prepare(model, "a", replace(config, logprobs=True)).observe_scores(seen.__setitem__)
    last = list(drive(loop, model))[-1]
    assert isinstance(last, Finished)
    assert last.result.logprobs
    assert seen.keys() == plain.keys()
    assert all(np.array_equal(seen[index], plain[index]) for index in seen)


class Counting(ScriptedSession):
    """A session that notes how many tokens each pass reads, and how many positions it scores."""

    def __init__(self, score: ScoreOf) -> None:
        super().__init__(score)
        self.passes: list[tuple[int, int]] = []

    def extend(self, token_ids: Sequence[int]) -> Scores:
        scores: Scores = self.extend_last(token_ids, 1)[0]
        return scores

    def extend_last(self, token_ids: Sequence[int], positions: int) -> Scores:
        self.passes.append((len(token_ids), positions))
        return np.stack([super(Counting, self).extend(part) for part in last_in_parts(token_ids, positions)])


@pytest.mark.parametrize(
    ("regex", "passes"),
    [
        ("abc[ab]cc", [(303, 4), (2, 2)]),  # the prompt and forced tokens, each of which is told; behind the choice too
        ("[abc]{3}", [(300, 1), (1, 1), (1, 1)]),
    ],
)
def test_no_position_inside_the_prompt_is_scored(regex: str, passes: list[tuple[int, int]]) -> None:
    vocabulary = Vocabulary([b"a", b"b", b"c", None], end_token_ids=[3])
    model = ScriptedModel(vocabulary, random_scores(4, 2))
    session = Counting(model.score)
    prompt = "abc" * 100
    config = GenerationConfig(index=regex, logprobs=True)
    with patch.object(model, "session", return_value=session):
        found = finished(model, prompt, config)
    assert found is not None
    result, _ = found
    assert session.passes == passes
    assert result.forward_passes == len(passes)
    assert result.logprobs is not None
    before = model.encode(prompt)
    for position, (token, logprob) in enumerate(zip(result.token_ids, result.logprobs, strict=True)):
        scores = model.score((*before, *result.token_ids[:position]))
        assert logprob.model == pytest.approx(under_the_model(scores, token), abs=1e-9)


@pytest.mark.parametrize("logprobs", [False, True])
@pytest.mark.parametrize("prompt", ["abc" * 10, ""])
def test_many_forced_tokens_are_read_in_parts(prompt: str, logprobs: bool) -> None:
    """They are the same parts whether somebody observes or not, and no forward passes of their own."""
    vocabulary = Vocabulary([b"a", b"b", b"c", None], end_token_ids=[3])
    model = ScriptedModel(vocabulary, random_scores(4, 2))
    session = Counting(model.score)
    config = GenerationConfig(index="abcabcabcabc[ab]c{11}[ab]ab", logprobs=logprobs)
    with patch.object(model, "session", return_value=session), patch("sfgen.decoding.forward_passes.MOST_SCORES", 23):
        found = finished(model, prompt, config)  # five positions of four scores
    assert found is not None
    result, _ = found
    read = [(34, 5), (5, 5), (3, 3), (5, 5), (5, 5), (2, 2), (2, 2)]
    if not prompt:
        read = [(0, 1), (5, 5), (5, 5), (2, 2), (5, 5), (5, 5), (2, 2), (2, 2)]
    if not logprobs:  # nor are the last tokens read
        read = [(count, 1) for count, _ in read[:-1] if count]
    assert session.passes == read
    assert result.forward_passes == (2 if not logprobs else 3 if prompt else 4)
    if result.logprobs is None:
        return
    before = model.encode(prompt)
    for position, (token, logprob) in enumerate(zip(result.token_ids, result.logprobs, strict=True)):
        scores = model.score((*before, *result.token_ids[:position]))
        assert logprob.model == pytest.approx(under_the_model(scores, token), abs=1e-9)


@pytest.mark.parametrize("highest", [math.inf, 0.0])
def test_what_no_number_can_say(highest: float) -> None:
    """A forced token of the probability 0, and scores that are infinite."""

    def score(tokens: tuple[int, ...]) -> Scores:
        return np.array([highest, -math.inf, 0.0])

    vocabulary = Vocabulary([b"a", b"b", None], end_token_ids=[2])
    model = ScriptedModel(vocabulary, score)
    result = finished(model, "a", GenerationConfig(index="b", logprobs=True))
    assert result is not None
    assert result[0].logprobs is not None
    assert [(one.model, one.mask) for one in result[0].logprobs] == [(None, 0.0)]
