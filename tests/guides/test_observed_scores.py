"""Who observes the scores sees those of the model at every token of the text, and changes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, get_args
from unittest.mock import patch

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.support.guides.brackets import INDEX, VOCABULARY, BracketModel
from tests.support.models.scripted import ScriptedSession
from tests.support.running.tried import tried

from sfgen import BannedWords, Dfa, Event, Finished, Index, Sampler
from sfgen.decoding import prepare
from sfgen.decoding.batch import batch_of, drive, drive_batch
from sfgen.decoding.forward_passes import MOST_SCORES
from sfgen.decoding.rollback_decision import StrategyName
from sfgen.errors import GenerationError, SfgenError
from sfgen.models.sessions import last_in_parts
from sfgen.protocols import GuideSource, Scores

STRATEGIES: tuple[StrategyName, ...] = get_args(StrategyName)
FORCED = Index(Dfa.from_choices(["old> ab", "old>b"]), VOCABULARY)
ONE = Index(Dfa.from_choices(["old>old>"]), VOCABULARY)


class AtOnce(ScriptedSession):
    """A session that scores every position in one pass."""

    def extend_all(self, token_ids: Sequence[int]) -> Scores:
        return np.stack([self.extend([token]) for token in token_ids])


class AtOnceModel(BracketModel):
    def session(self) -> ScriptedSession:
        return AtOnce(self.score)


class Last(ScriptedSession):
    """A session that scores its last positions in one pass."""

    first_scored = 10**6  # the fewest tokens after which it scored

    def extend(self, token_ids: Sequence[int]) -> Scores:
        scores: Scores = self.extend_last(token_ids, 1)[0]
        return scores

    def extend_last(self, token_ids: Sequence[int], positions: int) -> Scores:
        assert 1 <= positions <= max(1, len(token_ids))
        scores = [super(Last, self).extend(part) for part in last_in_parts(token_ids, positions)]
        self.first_scored = min(self.first_scored, len(self.tokens) - positions + 1)
        return np.stack(scores)


class LastModel(BracketModel):
    def session(self) -> ScriptedSession:
        self.sessions.append(Last(self.score))
        return self.sessions[-1]


@dataclass(frozen=True)
class Text:
    """What one loop is made of."""

    source: GuideSource | None
    words: tuple[str, ...]
    strategy: StrategyName
    sampler: Sampler
    prompt: str
    fast_forward: bool
    max_tokens: int

    def options(self) -> dict[str, Any]:
        return {
            "index": self.source, "banned": BannedWords(self.words, match="substring") if self.words else None,
            "strategy": self.strategy, "sampler": self.sampler, "fast_forward": self.fast_forward,
            "max_tokens": self.max_tokens, "max_rollbacks": 200,
        }  # fmt: skip


texts = st.builds(
    Text,
    st.sampled_from([None, INDEX, INDEX, FORCED, ONE]),
    st.sampled_from([(), ("ab",), ("a", "<b"), ("old> a",), ("b]", "(a")]),
    st.sampled_from(STRATEGIES),
    st.builds(Sampler, st.sampled_from([0.0, 1.0]), st.integers(0, 10**6)),
    st.sampled_from(["a", "b a", ""]),
    st.booleans(),
    st.integers(8, 25),
)


@tried("some")
@given(
    st.integers(0, 10**6),
    st.lists(texts, min_size=1, max_size=3),
    st.sampled_from([BracketModel, AtOnceModel, LastModel]),
    st.integers(1, 3),
    st.sampled_from([MOST_SCORES, 2 * len(VOCABULARY)]),
)
def test_the_last_scores_of_each_token(
    seed: int, wanted: list[Text], kind: type[BracketModel], rows: int, most: int
) -> None:
    with patch("sfgen.decoding.forward_passes.MOST_SCORES", most):
        _check_the_last_scores(kind(seed), wanted, rows)


def _check_the_last_scores(model: BracketModel, wanted: list[Text], rows: int) -> None:
    found: list[tuple[Text, dict[int, Scores]]] = []
    loops = []
    for text in wanted:
        seen: dict[int, Scores] = {}
        try:
            loop = prepare(model, text.prompt, **text.options()).observe_scores(seen.__setitem__)
        except SfgenError:  # everything is banned
            continue
        loops.append(loop)
        found.append((text, seen))
    together: dict[int, Event | SfgenError] = {}
    events: Iterator[tuple[int, Event | SfgenError]] = drive_batch(loops, batch_of(model, rows), rows)
    for number, event in events:
        together[number] = event
    for number, (text, seen) in enumerate(found):
        plain = _last(model, text)
        event = together[number]
        if not isinstance(event, Finished):
            assert repr(event) == repr(plain)
            assert isinstance(event, GenerationError)
            continue
        assert isinstance(plain, Finished)
        assert event.result.token_ids == plain.result.token_ids
        assert event.result.rollbacks == plain.result.rollbacks
        prompt = model.encode(text.prompt)
        for index in range(len(event.result.token_ids)):
            assert np.array_equal(seen[index], model.score((*prompt, *event.result.token_ids[:index])))
        alone: dict[int, Scores] = {}
        loop = prepare(model, text.prompt, **text.options()).observe_scores(alone.__setitem__)
        assert list(drive(loop, model))[-1] == event
        assert alone.keys() == seen.keys()
        assert all(np.array_equal(alone[index], seen[index]) for index in seen)
        session = model.sessions[-1] if isinstance(model, LastModel) else None
        if isinstance(session, Last):
            assert session.first_scored >= len(prompt), "no score inside the prompt is made"


def _last(model: BracketModel, text: Text) -> Event | SfgenError:
    try:
        return list(drive(prepare(model, text.prompt, **text.options()), model))[-1]
    except SfgenError as error:
        return error
