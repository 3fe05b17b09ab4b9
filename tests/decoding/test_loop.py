from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.models.scripted import ScriptedModel, preferring, random_scores
from tests.support.running.tried import tried

from sfgen import Dfa, Index, Sampler, TextReleased, TokenChosen, Vocabulary, generate, stream
from sfgen.decoding import Finished
from sfgen.errors import LimitTooSmall, ModelError, UsageError
from sfgen.index import DfaIndex

PIECES = [b"a", b"b", b"c", b" ", b"1", b"2", b"ab", b"abc", b" a", b"12", b"\xc3", b"\xa9", "é".encode(), b"."]
VOCABULARY = Vocabulary([*PIECES, None, None], end_token_ids=[len(PIECES)])
END = len(PIECES)


def index(pattern: str) -> DfaIndex:
    return Index(Dfa.from_regex(pattern), VOCABULARY)


def wishing(*wishes: bytes | None) -> ScriptedModel:
    return ScriptedModel(VOCABULARY, preferring(VOCABULARY, wishes, prompt_length=1))


def test_free_text_ends_with_the_end_token() -> None:
    model = wishing(b"ab", b" a", b"12")
    result = generate(model, "a")
    assert result.text == "ab a12"
    assert [VOCABULARY.tokens[token] for token in result.token_ids] == [b"ab", b" a", b"12"]
    assert (result.finish_reason, result.prompt_tokens, result.forward_passes) == ("end_token", 1, 4)
    assert model.sessions[0].calls == [(0,), (6,), (8,), (9,)]


def test_free_text_is_cut_by_the_limit() -> None:
    result = generate(wishing(b"ab", b"ab", b"ab"), "a", max_tokens=2)
    assert (result.text, result.finish_reason) == ("abab", "limit")


def test_special_tokens_that_do_not_end_are_never_chosen() -> None:
    def score(tokens: tuple[int, ...]) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
        scores = np.zeros(len(VOCABULARY), dtype=np.float32)
        scores[END + 1] = 9
        scores[0] = 1
        return scores

    assert generate(ScriptedModel(VOCABULARY, score), "a", max_tokens=3).text == "aaa"


def test_a_pattern_decides_against_the_model() -> None:
    model = wishing(b"abc", None, b"2")
    result = generate(model, "a", index=index("(ab|abc)[12]{2}"), fast_forward=False)
    assert (result.text, result.finish_reason) == ("abc12", "complete")


def test_forced_tokens_are_not_asked_for() -> None:
    model = wishing(b"b", b"b", b"b", b"b")
    result = generate(model, "a", index=index(r"a1\.(a|b)\."))
    assert result.text == "a1.b."
    # What is forced is read together with the next question.
    assert model.sessions[0].calls == [(0, 0, 4, 13)]
    assert (result.forward_passes, result.forced_tokens) == (1, 4)


def test_a_text_that_is_all_forced_needs_no_model() -> None:
    model = wishing()
    assert generate(model, "a", index=index("1.1".replace(".", r"\."))).forward_passes == 0
    assert not model.sessions


def test_a_match_may_go_on_until_the_model_ends_it() -> None:
    assert generate(wishing(b"a", b"a", None), "a", index=index("a+")).text == "aa"


def test_a_limit_below_the_shortest_match_is_refused_before_the_model_is_asked() -> None:
    model = wishing()
    with pytest.raises(LimitTooSmall, match="the shortest match takes 4"):
        generate(model, "a", index=index("(a1){2}"), max_tokens=3)
    assert not model.sessions


def test_an_index_of_another_vocabulary_is_refused() -> None:
    other = Index(Dfa.from_regex("a"), Vocabulary([b"a"]))
    with pytest.raises(UsageError, match="another vocabulary"):
        generate(wishing(), "a", index=other)


def test_a_negative_limit_is_refused() -> None:
    with pytest.raises(UsageError, match="max_tokens"):
        generate(wishing(), "a", max_tokens=-1)


@pytest.mark.parametrize("bad", [np.zeros(3), np.zeros((1, len(VOCABULARY))), np.full(len(VOCABULARY), np.nan)])
def test_unusable_scores(bad: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> None:
    with pytest.raises(ModelError):
        generate(ScriptedModel(VOCABULARY, lambda _: bad), "a")


def test_a_prompt_of_token_ids() -> None:
    model = wishing(b"ab")
    assert generate(model, [3]).prompt_tokens == 1
    assert model.sessions[0].calls[0] == (3,)


def test_the_stream_never_cuts_a_character() -> None:
    events = list(stream(wishing(b"a", b"\xc3", b"\xa9", b"b"), "a"))
    assert [event.text for event in events if isinstance(event, TextReleased)] == ["a", "é", "b"]


def test_half_a_character_at_the_end_is_replaced() -> None:
    events = list(stream(wishing(b"a", b"\xc3"), "a"))
    texts = [event.text for event in events if isinstance(event, TextReleased)]
    assert texts == ["a", "\ufffd"]
    assert isinstance(events[-1], Finished)
    assert events[-1].result.text == "a\ufffd"


def test_events_tell_the_states() -> None:
    steps = stream(wishing(b"ab", b"1"), "a", index=index("ab[12]"), fast_forward=False)
    events = [event for event in steps if isinstance(event, TokenChosen)]
    assert [(event.state, event.next_state, event.allowed, event.forced) for event in events] == [
        (0, 2, 2, False),
        (2, 3, 2, False),
    ]


PATTERNS = ["a+b?", "(ab|abc| a)*", "[12]{3,5}", "é{2}|a", "(a|b|c){4}12", r"([12]+\.)?[12]+", "(?:ab c?)+", ".{0,4}"]


@tried("many")
@given(
    pattern=st.sampled_from(PATTERNS),
    seed=st.integers(0, 10**6),
    limit=st.integers(0, 12),
    temperature=st.sampled_from([0.0, 1.0, 4.0]),
)
def test_every_text_matches_and_none_exceeds_the_limit(pattern: str, seed: int, limit: int, temperature: float) -> None:
    model = ScriptedModel(VOCABULARY, random_scores(len(VOCABULARY), seed))
    sampler = Sampler(temperature, seed if temperature else None)
    shortest = len(index(pattern).shortest_tokens())
    if limit < shortest:
        with pytest.raises(LimitTooSmall, match=f"takes {shortest}"):
            generate(model, "a", index=index(pattern), sampler=sampler, max_tokens=limit)
        return
    result = generate(model, "a", index=index(pattern), sampler=sampler, max_tokens=limit)
    assert re.fullmatch(pattern, result.text, re.ASCII)
    assert len(result.token_ids) <= limit
    assert result.finish_reason in ("complete", "end_token")
    assert result == generate(model, "a", index=index(pattern), sampler=sampler, max_tokens=limit)
    for session in model.sessions:
        assert tuple(session.tokens) == (0, *result.token_ids)[: len(session.tokens)]
