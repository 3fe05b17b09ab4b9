"""Among few tokens is chosen by scores that were asked for alone, whatever else is asked and whoever looks on.

The models here score a few rows entirely otherwise than all of them together, as if the last bit of each score were the
first: so a choice that is made by the wrong ones does not go unseen.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.support.models.scripted import ScriptedModel, ScriptedSession, random_scores
from tests.support.running.tried import tried

from sfgen import BannedWords, Dfa, Event, Finished, Index, Sampler, TokenChosen, Vocabulary
from sfgen.decoding import forward_passes, mask_prefetch, prepare, stream
from sfgen.decoding.batch import batch_of, drive_batch
from sfgen.errors import DeadEnd, GenerationError, ModelError
from sfgen.protocols import Scores, ScoresRows

PIECES = [b"a", b"b", b" ", b"ab", b"ba", b"aa", b".", b" a", b"bb", b"c", b"ca"]
VOCABULARY = Vocabulary([*PIECES, None], end_token_ids=[len(PIECES)])
INDEX = {pattern: Index(Dfa.from_regex(pattern), VOCABULARY) for pattern in ("[ab]{2,9}c", "(a b ?)+", r"[^c]*")}
SAMPLERS = [Sampler(), Sampler(1.0, 1), Sampler(1.0, 2)]


class TwistedSession(ScriptedSession):
    """Scores a few rows by another function of the text than all rows."""

    def extend_rows(self, token_ids: Sequence[int], rows: NDArray[np.int32]) -> Scores:
        self.extend(token_ids)
        return self.score_again(rows)

    def score_again(self, rows: NDArray[np.int32] | None) -> Scores:
        assert self.tokens, "nothing was scored before"
        return self.score(tuple(self.tokens)) if rows is None else -self.score(tuple(self.tokens))[rows]


class TwistedModel(ScriptedModel):
    def session(self) -> ScriptedSession:
        self.sessions.append(TwistedSession(self.score))
        return self.sessions[-1]


def model_of(seed: int) -> TwistedModel:
    return TwistedModel(VOCABULARY, random_scores(len(VOCABULARY), seed))


@contextmanager
def circumstances(*, few: int, masks_take_time: bool) -> Iterator[None]:
    """How many tokens are few; and that no mask is ready when it is wanted."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(forward_passes, "FEW", few)
        if masks_take_time:
            patch.setattr("sfgen.decoding.sequence.is_worth_it", lambda guide, clean: guide.allows_several() is True)
        yield


def without_outlook(events: Iterator[Event]) -> list[Event | str]:
    """The events, without what only those are told who look on."""
    found: list[Event | str] = []
    try:
        for event in events:
            if isinstance(event, TokenChosen):
                found.append(dataclasses.replace(event, outlook=None, watch=None))
            else:
                found.append(event)
    except (DeadEnd, GenerationError, ModelError) as error:
        found.append(str(error))
    return found


@given(
    seed=st.integers(0, 500),
    pattern=st.sampled_from([*INDEX, None]),
    words=st.sampled_from([(), ("bb",), ("aba", "b b")]),
    strategy=st.sampled_from(["resample", "first-token", "mask"]),
    sampler=st.sampled_from(SAMPLERS),
    few=st.sampled_from([2, 4, 1024]),
    masks_take_time=st.booleans(),
)
def test_who_looks_on_and_when_masks_are_made_changes_nothing(
    seed: int, pattern: str | None, words: tuple[str, ...], strategy: str, sampler: Sampler, few: int, *,
    masks_take_time: bool,
) -> None:  # fmt: skip
    def told(*, observe: bool, take_time: bool) -> list[Event | str]:
        with circumstances(few=few, masks_take_time=take_time):
            return without_outlook(
                stream(
                    model_of(seed), [0], index=INDEX[pattern] if pattern else None,
                    banned=BannedWords(words, match="substring") if words else None,
                    sampler=sampler, max_tokens=12, strategy=strategy, max_rollbacks=50, observe=observe,  # type: ignore[arg-type]
                )
            )  # fmt: skip

    try:
        expected = told(observe=False, take_time=False)
    except GenerationError:  # no such text is possible
        return
    assert told(observe=True, take_time=masks_take_time) == expected
    assert told(observe=False, take_time=masks_take_time) == expected


def test_the_few_are_those_that_decide() -> None:
    """Greedy, a pattern of two letters: the highest of the scores that were asked for alone."""
    model = model_of(3)
    for observe in (False, True):
        chosen = next(
            event
            for event in stream(model, [0], index=Index(Dfa.from_regex("a|b"), VOCABULARY), observe=observe)
            if isinstance(event, TokenChosen)
        )
        scores = model.score((0,))
        assert chosen.token_id == int(np.argmin(scores[:2]))
        if observe:
            assert chosen.outlook is not None
            assert chosen.outlook.before[0].token_id == int(np.argmax(scores)), "told of all tokens"


@tried("some")
@given(seed=st.integers(0, 500), few=st.sampled_from([2, 4, 1024]), rows=st.integers(1, 4), data=st.data())
def test_a_batch_writes_what_each_text_writes_alone(seed: int, few: int, rows: int, data: st.DataObject) -> None:
    model = model_of(seed)
    patterns = data.draw(st.lists(st.sampled_from([*INDEX, None]), min_size=1, max_size=5))
    tasks: list[dict[str, Any]] = [
        {"prompt": [number % 3], "index": INDEX[pattern] if pattern else None, "sampler": Sampler(1.0, number),
         "max_tokens": 8 + number}
        for number, pattern in enumerate(patterns)
    ]  # fmt: skip

    def alone(task: dict[str, Any]) -> tuple[int, ...]:
        return next(e.result.token_ids for e in stream(model, **task) if isinstance(e, Finished))

    with circumstances(few=few, masks_take_time=False):
        expected = dict(enumerate(map(alone, tasks)))
        for observe in (False, True):
            loops = (prepare(model, **task, observe=observe) for task in tasks)
            told = drive_batch(loops, batch_of(model, rows), rows)
            results = {number: event.result.token_ids for number, event in told if isinstance(event, Finished)}
            assert results == expected


def test_a_session_without_the_means_is_asked_for_all() -> None:
    """One that lacks ``score_again`` cannot keep the promise, so its ``extend_rows`` is left alone."""

    class Half(ScriptedSession):
        def extend_rows(self, token_ids: Sequence[int], rows: NDArray[np.int32]) -> Scores:
            raise AssertionError("asked for a few rows")

    assert not isinstance(Half(random_scores(3, 0)), ScoresRows)
    assert isinstance(TwistedSession(random_scores(3, 0)), ScoresRows)
    model = ScriptedModel(VOCABULARY, random_scores(len(VOCABULARY), 1))
    model.session = lambda: Half(model.score)  # type: ignore[method-assign]
    assert list(stream(model, [0], index=INDEX["[ab]{2,9}c"], observe=True))


def test_masks_that_take_time_are_there_to_be_tested() -> None:
    """With the circumstances of the tests above, the model is asked before the mask is there."""
    begun: list[object] = []
    begin = mask_prefetch.begin
    with circumstances(few=1024, masks_take_time=True), pytest.MonkeyPatch.context() as patch:

        def noted(make: Callable[[], Any]) -> Any:
            begun.append(make)
            return begin(make)

        patch.setattr(mask_prefetch, "begin", noted)
        list(stream(model_of(1), [0], index=INDEX["[ab]{2,9}c"]))
    assert begun
