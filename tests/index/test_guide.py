from __future__ import annotations

import re
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfgen import Dfa, Index, Vocabulary
from sfgen.errors import UsageError
from sfgen.index import FreeGuide

BYTES = Vocabulary([*(bytes([byte]) for byte in range(256)), b"ab", b"ho", b"tel", None], end_token_ids=[259])


def tokens(text: str) -> list[int]:
    return list(text.encode())


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 3), max_size=12), st.sampled_from(["(ab|c)*d?", "a{2,5}", "(hot|cold|hotel)+"]))
def test_rollback_equals_a_fresh_walk(choices: list[int], pattern: str) -> None:
    index = Index(Dfa.from_regex(pattern), BYTES)
    guide, taken = index.guide(20), list[int]()
    for choice in choices:
        allowed = [int(token) for token in guide.allowed_tokens()]
        if choice == 3 or guide.is_finished:
            guide.rollback(len(taken[-2:]))
            del taken[-2:]
        else:
            taken.append(allowed[choice % len(allowed)])
            guide.advance(taken[-1])
        fresh = index.guide(20)
        for token in taken:
            fresh.advance(token)
        assert (guide.state, guide.is_accepting, guide.is_finished) == (
            fresh.state,
            fresh.is_accepting,
            fresh.is_finished,
        )
        assert guide.is_finished or guide.allowed_tokens().tolist() == fresh.allowed_tokens().tolist()


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
    for token in (ord("b"), 259):
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
    guide = FreeGuide(Vocabulary([b"a", None, b"b", None], end_token_ids=[3]), max_tokens=1)
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
