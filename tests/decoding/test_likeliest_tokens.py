"""What somebody who looks on is told: against probabilities and matches worked out anew from the text."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import get_args

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st
from tests.support.models.scripted import ScriptedModel, random_scores
from tests.support.models.toy_models import Toy
from tests.support.running.tried import tried

from sfgen import BannedWords, Dfa, Event, Finished, Index, RolledBack, Sampler, TokenChosen, Vocabulary, stream
from sfgen.ban import SeamMatcher
from sfgen.decoding import BlockClosed, Outlook
from sfgen.decoding.likeliest_tokens import CANDIDATES, TopLogprobs
from sfgen.decoding.rollback_decision import StrategyName

STRATEGIES: tuple[StrategyName, ...] = get_args(StrategyName)
SAMPLERS = [Sampler(), Sampler(1.0, 3), Sampler(2.0, 4, top_k=2)]
TOYS = st.builds(
    lambda words, seed, match: Toy([b" ", b"a", b"b", b"ab", b"ba"], random_scores(6, seed), words, 8, match=match),
    words=st.lists(st.text("ab", min_size=1, max_size=4), min_size=1, max_size=3),
    seed=st.integers(0, 10**6),
    match=st.sampled_from(["word", "prefix", "substring"]),
)
PIECES = [b"a", b"b", b"ab", b"0", b"1", b"01", b"b1", b" "]
VOCABULARY = Vocabulary([*PIECES, None, None], end_token_ids=[8])
PATTERNS = ["[ab]{1,3}[01]", "(ab|b)* ?0", "a+|b+|[01]{2}", "[ab01 ]{0,6}"]


def softmax(scores: Sequence[float]) -> list[float]:
    highest = max(scores)
    weights = [math.exp(score - highest) for score in scores]
    return [weight / sum(weights) for weight in weights]


def agree(seen: Outlook, scores: Sequence[float], may_stand: Sequence[int], vocabulary: Vocabulary) -> None:
    """An outlook against the textbook: a softmax of all scores, and one of those that may stand there."""
    before = dict(enumerate(softmax(scores)))
    after = dict(zip(may_stand, softmax([scores[token] for token in may_stand]), strict=True))
    for told, known in ((seen.before, before), (seen.after, after)):
        likeliest = sorted(known, key=lambda token: (-scores[token], token))[:CANDIDATES]
        assert [candidate.token_id for candidate in told] == likeliest
        for candidate in told:
            assert math.isclose(candidate.before, before[candidate.token_id], rel_tol=1e-6)
            assert math.isclose(candidate.after, after.get(candidate.token_id, 0.0), rel_tol=1e-6)
            assert candidate.data == vocabulary.tokens[candidate.token_id]
            assert candidate.is_end == (candidate.token_id in vocabulary.end_token_ids)
    assert math.isclose(seen.removed, 1 - sum(before[token] for token in may_stand), abs_tol=1e-6)


@given(
    pattern=st.sampled_from(PATTERNS),
    seed=st.integers(0, 10**6),
    ties=st.booleans(),
    sampler=st.sampled_from(SAMPLERS),
)
@example(pattern="[ab]{1,3}[01]", seed=887, ties=True, sampler=Sampler(0.0))  # float32 was not enough
def test_likeliest_tokens_before_and_after_the_mask(pattern: str, seed: int, ties: bool, sampler: Sampler) -> None:
    score = random_scores(len(VOCABULARY), seed)
    model = ScriptedModel(VOCABULARY, (lambda tokens: np.round(score(tokens))) if ties else score)
    index = Index(Dfa.from_regex(pattern), VOCABULARY)
    guide = index.guide(8)
    told: list[int] = []
    asked = 0
    for event in stream(model, [0], index=index, sampler=sampler, max_tokens=8, observe=True):
        if not isinstance(event, TokenChosen):
            continue
        allowed = guide.allowed_tokens().tolist()
        assert (event.outlook is None) == event.forced
        if event.outlook is not None:
            agree(event.outlook, model.score((0, *told)).tolist(), allowed, VOCABULARY)
        assert event.watch is None
        asked += not event.forced
        assert event.forward_passes == asked
        guide.advance(event.token_id)
        told.append(event.token_id)


@given(size=st.integers(1, 2000), seed=st.integers(0, 10**6), ties=st.booleans(), excess=st.sampled_from([0, 1, 400]))
def test_the_likeliest_of_many_tokens(size: int, seed: int, ties: bool, excess: int) -> None:
    """More tokens than the tables of the other tests have, with a few that stand out or none."""
    generator = np.random.default_rng(seed)
    scores = generator.normal(0, 3, size).astype(np.float32)
    scores[generator.integers(0, size, 3)] += excess
    scores = np.round(scores) if ties else scores
    row = TopLogprobs.of(scores)
    likeliest = sorted(range(size), key=lambda token: (-scores[token], token))[:CANDIDATES]
    assert list(row.best) == likeliest
    probabilities = softmax(scores.tolist())
    for token, told in zip(row.best, row.log_probabilities, strict=True):
        assert math.isclose(math.exp(told), probabilities[token], rel_tol=1e-5, abs_tol=1e-12)


def test_infinite_scores_share_all_probability() -> None:
    model = ScriptedModel(VOCABULARY, lambda tokens: np.array([0, 0, 0, np.inf, 0, np.inf, 0, -np.inf, 0, 0.0]))
    index = Index(Dfa.from_regex("(a|b)b"), VOCABULARY)
    first = next(event for event in stream(model, [0], index=index, observe=True) if isinstance(event, TokenChosen))
    assert first.outlook is not None
    assert [(seen.token_id, seen.before) for seen in first.outlook.before[:3]] == [(3, 0.5), (5, 0.5), (0, 0.0)]
    assert first.outlook.removed == 1.0


@given(toy=TOYS, strategy=st.sampled_from(STRATEGIES), sampler=st.sampled_from(SAMPLERS), hold=st.booleans())
def test_a_ban_is_followed(toy: Toy, strategy: StrategyName, sampler: Sampler, hold: bool) -> None:
    tokens: list[int] = []
    ruled_out: dict[tuple[int, ...], set[int]] = {}
    assert toy.banned is not None
    matcher = toy.banned.matcher(toy.tokens[toy.prompt])
    start = matcher.mark()
    for event in stream(
        toy.model, [0], banned=toy.banned, sampler=sampler, max_tokens=8, strategy=strategy, hold=hold, observe=True
    ):
        if isinstance(event, RolledBack):
            before = (*tokens[: event.position], *event.token_ids)
            if event.forbidden is not None:
                ruled_out.setdefault(before[: event.place], set()).add(event.forbidden)
            del tokens[event.position :]
        if not isinstance(event, TokenChosen):
            continue
        if event.outlook is not None:
            scores = toy.model.score((0, *tokens)).tolist()
            for candidate in (*event.outlook.before, *event.outlook.after):
                assert math.isclose(candidate.before, softmax(scores)[candidate.token_id], rel_tol=1e-6)
            after = {candidate.token_id: candidate.after for candidate in event.outlook.after}
            assert len(after) == min(event.allowed, CANDIDATES)
            if strategy != "first-token":  # whose rule may be loosened again
                assert not ruled_out.get(tuple(tokens), set()) & after.keys()
            if event.allowed <= CANDIDATES:  # all that may stand there are told
                assert event.token_id in after
                agree(event.outlook, scores, sorted(after), toy.vocabulary)
        tokens.append(event.token_id)
        matcher.reset(start)
        matcher.advance(toy.data(tuple(tokens)))
        assert event.watch is not None
        assert event.watch.open_from == matcher.open_from()
        assert event.watch.words == matcher.under_way()


@given(toy=TOYS, strategy=st.sampled_from(STRATEGIES), sampler=st.sampled_from(SAMPLERS), hold=st.booleans())
def test_to_look_on_changes_nothing(toy: Toy, strategy: StrategyName, sampler: Sampler, hold: bool) -> None:
    def events(*, observe: bool) -> list[Event]:
        told = stream(
            toy.model,
            [0],
            banned=toy.banned,
            sampler=sampler,
            max_tokens=8,
            strategy=strategy,
            hold=hold,
            observe=observe,
        )
        return [
            dataclasses.replace(event, outlook=None, watch=None) if isinstance(event, TokenChosen) else event
            for event in told
        ]

    assert events(observe=True) == events(observe=False)


@given(toy=TOYS, strategy=st.sampled_from(STRATEGIES), sampler=st.sampled_from(SAMPLERS))
def test_a_closed_block_stays(toy: Toy, strategy: StrategyName, sampler: Sampler) -> None:
    """Nothing before the end of a closed block is taken back, and the questions that were asked are counted."""
    closed, passes = 0, 0
    for event in stream(toy.model, [0], banned=toy.banned, sampler=sampler, max_tokens=8, strategy=strategy):
        if isinstance(event, BlockClosed):
            assert event.position > closed
            closed = event.position
        elif isinstance(event, RolledBack):
            assert event.position >= closed
        elif isinstance(event, TokenChosen):
            assert event.position >= closed
            assert event.forward_passes >= passes
            passes = event.forward_passes
        elif isinstance(event, Finished):
            assert event.result.forward_passes >= passes


@tried("many")
@given(
    words=st.lists(st.text("abc ", min_size=1, max_size=5).filter(str.strip), min_size=1, max_size=4, unique=True),
    patterns=st.lists(st.sampled_from(["ab+c", r"\bca", "a.c", r"ca\b"]), max_size=1),
    literal=st.booleans(),
    match=st.sampled_from(["word", "prefix", "substring"]),
    text=st.text("abc +", max_size=12),
    cut=st.sampled_from([0, 0, 3]),
)
@example(words=["b"], patterns=[r"ca\b"], literal=False, match="word", text="bca", cut=0)
def test_the_words_under_way_are_those_that_are_alone(
    words: list[str], patterns: list[str], literal: bool, match: str, text: str, cut: int
) -> None:
    """A word is under way among others exactly if it is with nobody beside it."""

    def read(banned: BannedWords) -> SeamMatcher:
        matcher = banned.matcher(text[:cut].encode())
        matcher.advance(text[cut:].encode())
        return matcher

    words = [*words, "a+b"] if literal else words
    listed = BannedWords(words, patterns, match=match)  # type: ignore[arg-type]
    alone = [
        *(BannedWords([word], match=match) for word in words),  # type: ignore[arg-type]
        *(BannedWords([], [pattern]) for pattern in patterns),
    ]
    expected = {
        name for name, banned in zip([*words, *patterns], alone, strict=True) if read(banned).open_from() is not None
    }
    if len(expected) <= 5:
        under_way = read(listed).under_way()
        assert len(set(under_way)) == len(under_way)
        # Phrases that differ in their spaces are one.
        assert {" ".join(name.split()) for name in under_way} == {" ".join(name.split()) for name in expected}
