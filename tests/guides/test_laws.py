"""Every kind of guide keeps the laws in ``tests/support/guides/conformance.py``."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.support.guides.conformance import Walk, check_as_new, check_position, check_text, check_walk, take_random
from tests.support.guides.kinds import KINDS, LARK, PATTERNS, case_of, language_of
from tests.support.running.tried import tried

from sfgen import Dfa, Vocabulary
from sfgen.errors import LimitTooSmall, UsageError
from sfgen.index.distance import UNREACHABLE

every_kind = pytest.mark.parametrize("kind", KINDS)
every_kind_that_looks_ahead = pytest.mark.parametrize(
    "kind", sorted(KINDS.keys() - {"fsm", "naive", "by text", "grammar, recogniser"})
)


@every_kind
@tried("some")
@given(st.data())
def test_a_walk(kind: str, data: st.DataObject) -> None:
    case = case_of(kind, data.draw)
    least = case.source.guide().tokens_left()
    more = data.draw(st.none() | st.integers(0, 5))
    check_walk(case, None if more is None else least + more, data.draw)


@every_kind
@tried("few")
@given(st.data())
def test_bytes_are_taken_back_near_the_limit(kind: str, data: st.DataObject) -> None:
    """The limit counts afterwards as it did before."""
    case = case_of(kind, data.draw)
    walk = Walk.begin(case, case.source.guide().tokens_left() + data.draw(st.integers(0, 1)))
    for step in data.draw(st.lists(st.sampled_from(["bytes", "bytes", "token"]), min_size=1, max_size=3)):
        take_random(walk, step, data.draw)
    walk.rollback(data.draw(st.integers(0, len(walk.steps))))
    check_position(walk)
    check_as_new(walk)


@every_kind
@tried("few")
@given(st.data())
def test_limits(kind: str, data: st.DataObject) -> None:
    """Where no text fits, that is said at once; otherwise every walk comes to an end, or is an error that says why."""
    case = case_of(kind, data.draw)
    least = case.fewest(b"") if case.is_exact and case.looks_ahead else case.source.guide().tokens_left()
    assert least is not None
    for max_tokens in range(least + 4):
        if max_tokens < least:
            with pytest.raises(LimitTooSmall) as caught:
                case.source.guide(max_tokens)
            assert str(least) in caught.value.hint
        else:
            check_text(case, max_tokens, data.draw)


@every_kind_that_looks_ahead
@tried("handful")
@given(st.data())
def test_bytes_count_nothing_to_the_limit(kind: str, data: st.DataObject) -> None:
    """With as many tokens as the rest takes, the rest can be written after any bytes."""
    case = case_of(kind, data.draw)
    free = Walk.begin(case, None)
    for _ in range(data.draw(st.integers(1, 4))):
        following = case.language.next_bytes(free.text)[:4]
        if following:
            free.take(data.draw(st.sampled_from(following)))
    least, start = free.guide.tokens_left(), case.source.guide().tokens_left()
    assume(least < UNREACHABLE)
    limited = Walk.begin(case, max(least, start))
    limited.take(free.text)
    while left := limited.guide.tokens_left():
        tokens = limited.guide.allowed_tokens().tolist()
        nearer = [token for token in tokens if limited.fork().guide.validate([token])]
        assert nearer
        before = limited.guide.tokens_left()
        for token in nearer:
            limited.take(token)
            if limited.guide.tokens_left() < before:
                break
            limited.rollback(1)
        assert limited.guide.tokens_left() < left
    assert case.language.accepts(limited.text)


@every_kind
def test_a_limit_is_a_number(kind: str) -> None:
    tokens = [bytes([byte]) for byte in range(256)]
    _, make, _, _ = KINDS[kind](lambda strategy: strategy.example() if kind == "free text" else _first(strategy))
    source = make(Vocabulary([*tokens, None], [256]))
    for odd in (-1, "7", 1.5, True):
        with pytest.raises(UsageError, match="max_tokens"):
            source.guide(odd)  # type: ignore[arg-type]
    assert source.guide(np.int64(50)).allowed_tokens().size  # type: ignore[arg-type]
    guide = source.guide(50)
    guide.advance(np.int32(guide.allowed_tokens()[0]))  # type: ignore[arg-type]


def _first(strategy: Any) -> Any:
    return strategy.elements[0]


@pytest.mark.parametrize(("pattern", "alphabet", "longest"), [*PATTERNS, *(known for _, _, known in LARK)])
def test_the_oracle_tells_as_many_texts_apart_as_there_are_states(pattern: str, alphabet: str, longest: int) -> None:
    language = language_of(pattern, alphabet, longest)
    seen: set[Hashable] = {language.residual(b"")}
    waiting = [b""]
    while waiting:
        text = waiting.pop()
        for byte in language.next_bytes(text):
            residual = language.residual(text + byte)
            if residual not in seen:
                seen.add(residual)
                waiting.append(text + byte)
    assert len(seen) == len(Dfa.from_regex(pattern))
