from __future__ import annotations

import re
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.patterns.automata import automata

from sfgen import Dfa, Index, Vocabulary
from sfgen.errors import LimitTooSmall, UsageError
from sfgen.index import UnconstrainedGuide

BYTES = Vocabulary([*(bytes([byte]) for byte in range(256)), b"ab", b"ho", b"tel", None], end_token_ids=[259])


def tokens(text: str) -> list[int]:
    return list(text.encode())


PATTERNS = ["(ab|c)*d?", "a{2,5}", "(hot|cold|hotel)+", "[a-c]{1,4}é|x*"]


@given(data=st.data(), pattern=st.sampled_from(PATTERNS), limit=st.none() | st.integers(5, 12))
def test_any_going_back_and_forth_equals_a_fresh_walk(data: st.DataObject, pattern: str, limit: int | None) -> None:
    index = Index(Dfa.from_regex(pattern), BYTES)
    guide, taken = index.guide(limit), list[int]()
    for _ in range(data.draw(st.integers(1, 14))):
        allowed = guide.allowed_tokens().tolist()
        if guide.is_finished or (taken and data.draw(st.booleans())):
            back = data.draw(st.integers(0, len(taken)))
            guide.rollback(back)
            del taken[len(taken) - back :]
        else:
            taken.append(data.draw(st.sampled_from(allowed)))
            guide.advance(taken[-1])
        with pytest.raises(UsageError, match="cannot take back"):
            guide.rollback(len(taken) + 1)
        fresh = Index(Dfa.from_regex(pattern), BYTES).guide(limit)
        for token in taken:
            fresh.advance(token)
        assert (guide.state, guide.is_accepting, guide.is_finished, guide.forced_bytes()) == (
            fresh.state,
            fresh.is_accepting,
            fresh.is_finished,
            fresh.forced_bytes(),
        )
        assert guide.allowed_tokens().tolist() == fresh.allowed_tokens().tolist()


@given(dfa=automata())
def test_forced_bytes_equal_brute_force(dfa: Dfa) -> None:
    if not dfa.accepting.any():
        return
    index = Index(dfa, BYTES)
    for state in range(len(dfa)):
        expected, here = b"", state
        while not dfa.accepting[here] and len(read := [byte for byte in range(256) if dfa.step(here, byte) >= 0]) == 1:
            expected += bytes(read)
            here = dfa.step(here, read[0])
        guide = index.guide()
        guide._positions.append(state)
        assert guide.forced_bytes() == expected
        assert guide.is_finished == (bool(dfa.accepting[state]) and bool((dfa.transitions[state] < 0).all()))


def test_a_guide_that_nothing_continues_is_finished() -> None:
    guide = Index(Dfa.from_regex("(hot|hotel)"), BYTES).guide()
    for token in tokens("hot"):
        assert not guide.is_finished
        guide.advance(token)
    assert guide.is_accepting
    assert not guide.is_finished
    for token in tokens("el"):
        guide.advance(token)
    assert guide.is_finished
    assert guide.allowed_tokens().tolist() == [259]


def test_the_end_token_finishes_and_can_be_taken_back() -> None:
    guide = Index(Dfa.from_regex("a*"), BYTES).guide()
    guide.advance(259)
    assert guide.is_finished
    with pytest.raises(UsageError, match="ended"):
        guide.advance(ord("a"))
    guide.rollback(1)
    guide.advance(ord("a"))
    assert not guide.is_finished


def test_a_token_that_is_not_allowed_is_refused() -> None:
    guide = Index(Dfa.from_regex("a"), BYTES).guide()
    for token in (ord("b"), 259, 260, -3):
        with pytest.raises(UsageError, match="not allowed"):
            guide.advance(token)
    with pytest.raises(UsageError, match="cannot take back 1"):
        guide.rollback(1)


@pytest.mark.parametrize(
    ("pattern", "before", "forced"),
    [
        ("abc", "", "abc"),
        ("abc", "ab", "c"),
        ("ab|ac", "", "a"),
        ("ab*", "", "a"),
        ("[ab]c", "", ""),
        ("é|è", "", "\xc3"),
    ],
)
def test_forced_bytes(pattern: str, before: str, forced: str) -> None:
    guide = Index(Dfa.from_regex(pattern), BYTES).guide()
    for token in tokens(before):
        guide.advance(token)
    assert guide.forced_bytes() == forced.encode("latin-1")


def test_one_index_serves_many_threads() -> None:
    pattern = "(ab|[a-z]{1,8} )*"
    index, expected = Index(Dfa.from_regex(pattern), BYTES), Index(Dfa.from_regex(pattern), BYTES)
    failures: list[str] = []

    def walk(start: int) -> None:
        guide = index.guide()
        for step in range(40):
            allowed = guide.allowed_tokens()
            # The end token has the highest id and is left out.
            token = int(allowed[(start * 7 + step * 3) % max(1, allowed.size - 1)])
            if allowed.tolist() != expected.allowed_tokens(guide.state).tolist():
                failures.append(f"state {guide.state}")
            guide.advance(token)

    walk(0)
    assert not failures
    threads = [threading.Thread(target=walk, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_free_text_allows_every_text_token_and_the_end() -> None:
    guide = UnconstrainedGuide(Vocabulary([b"a", None, b"b", None], end_token_ids=[3]), max_tokens=1)
    assert guide.allowed_tokens().tolist() == [0, 2, 3]
    guide.advance(2)
    assert guide.allowed_tokens().tolist() == [3]
    guide.rollback(1)
    assert guide.allowed_tokens().tolist() == [0, 2, 3]


def test_walks_end_in_matches() -> None:
    pattern = r"(hot|cold|hotel)+ [0-9]{2}"
    guide = Index(Dfa.from_regex(pattern), BYTES).guide(12)
    text = b""
    while not guide.is_finished:
        token = int(guide.allowed_tokens()[-1])
        guide.advance(token)
        text += BYTES.tokens[token] or b""
    assert re.fullmatch(pattern, text.decode())


def test_a_long_shortest_match_is_cut_in_the_message() -> None:
    vocabulary = Vocabulary([b"a", None], end_token_ids=[1])
    with pytest.raises(LimitTooSmall, match="the shortest match takes 500") as caught:
        Index(Dfa.from_regex("a{500}"), vocabulary).guide(3)
    assert caught.value.details == (f"  for example '{'a' * 60}'…",)
