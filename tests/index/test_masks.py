"""Masks against brute force: a token is allowed exactly if some sequence of tokens completes a match."""

from __future__ import annotations

import itertools
import re
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.running.tried import tried

from sfgen import Dfa, Index, Vocabulary
from sfgen.errors import DeadEnd, LimitTooSmall
from sfgen.index import tokens_of_row

MOST_TOKENS = 6  # of the finite languages below, no match is longer in bytes

FINITE_PATTERNS = [
    "a",
    "(a|b)(a|b)",
    "a{0,3}b?",
    "(ab|a)(c|bc)?",
    "(ab|ba|aab)",
    "é|è|ab",
    "[éa]{1,2}",
    "(?i)ab?",
    "()|a",
    "a(b|c)a|b(a|c)",
]
PIECES = [b"a", b"b", b"c", b"ab", b"ba", b"aa", b"bc", b"aab", "é".encode(), "è".encode()[:1], "é".encode()[1:], b"aa"]
VOCABULARIES = st.lists(st.sampled_from([*PIECES, None]), min_size=2, max_size=6).map(
    lambda tokens: Vocabulary([*tokens, None], end_token_ids=[len(tokens)])
)


@cache
def is_match(pattern: str, data: bytes) -> bool:
    try:
        return re.fullmatch(pattern, data.decode(), re.ASCII) is not None
    except UnicodeDecodeError:
        return False


def matches_in_tokens(pattern: str, vocabulary: Vocabulary) -> set[tuple[int, ...]]:
    """All token sequences that spell a match, by trying every sequence."""
    text_tokens = [token for token, data in enumerate(vocabulary.tokens) if data]
    found = set()
    for length in range(MOST_TOKENS + 1):
        for sequence in itertools.product(text_tokens, repeat=length):
            data = b"".join(vocabulary.tokens[token] or b"" for token in sequence)
            if len(data) <= MOST_TOKENS and is_match(pattern, data):
                found.add(sequence)
    return found


@tried("some")
@given(pattern=st.sampled_from(FINITE_PATTERNS), vocabulary=VOCABULARIES, limit=st.none() | st.integers(0, 5))
def test_masks_equal_brute_force(pattern: str, vocabulary: Vocabulary, limit: int | None) -> None:
    matches = matches_in_tokens(pattern, vocabulary)
    dfa = Dfa.from_regex(pattern)
    if not matches:
        with pytest.raises(DeadEnd):
            Index(dfa, vocabulary)
        return
    index = Index(dfa, vocabulary)
    if limit is not None:
        shortest = min(map(len, matches))
        matches = {match for match in matches if len(match) <= limit}
        if not matches:
            with pytest.raises(LimitTooSmall, match=f"takes {shortest}"):
                index.guide(limit)
            return
    end = vocabulary.end_token_ids[0]
    for match in matches:
        guide = index.guide(limit)
        for place in range(len(match) + 1):
            before = match[:place]
            expected = {other[place] for other in matches if len(other) > place and other[:place] == before}
            if before in matches:
                expected.add(end)
            assert guide.allowed_tokens().tolist() == sorted(expected)
            assert guide.is_accepting == (before in matches)
            if place < len(match):
                guide.advance(match[place])


def test_dead_end_names_the_missing_bytes() -> None:
    with pytest.raises(DeadEnd, match="z"):
        Index(Dfa.from_regex("ax*z"), Vocabulary([b"a", b"x", b"b", None], [3]))


def test_a_branch_without_tokens_is_never_entered() -> None:
    index = Index(Dfa.from_regex("ax*z|b"), Vocabulary([b"a", b"x", b"b", None], [3]))
    assert index.allowed_tokens(0).tolist() == [2]


def test_all_ids_with_the_same_bytes_are_allowed() -> None:
    index = Index(Dfa.from_regex("ab"), Vocabulary([b"a", b"a", b"b", b"ab", b"a", None], [5]))
    assert index.allowed_tokens(0).tolist() == [0, 1, 3, 4]


def test_end_tokens_are_never_text() -> None:
    index = Index(Dfa.from_regex("a+"), Vocabulary([b"a", b"aa", None], end_token_ids=[1, 2]))
    assert index.allowed_tokens(0).tolist() == [0]
    assert index.allowed_tokens(index.next_state(0, 0)).tolist() == [0, 1, 2]
    assert index.next_state(0, 1) == -1


def test_equal_rows_are_stored_once() -> None:
    vocabulary = Vocabulary([bytes([byte]) for byte in range(256)])
    index = Index(Dfa.from_regex("[ab]{10}"), vocabulary)
    rows = [index.row(state) for state in range(10)]
    assert all(row is rows[0] for row in rows)
    assert not rows[0].flags.writeable


@given(st.lists(st.booleans(), min_size=1, max_size=200))
def test_rows_are_unpacked_as_they_were_packed(bits: list[bool]) -> None:
    row = np.zeros((len(bits) + 31) // 32, dtype=np.uint32)
    for token, bit in enumerate(bits):
        row[token // 32] |= np.uint32(bit) << np.uint32(token % 32)
    assert tokens_of_row(row).tolist() == [token for token, bit in enumerate(bits) if bit]


@tried("some")
@given(pattern=st.sampled_from(["a*b", "(ab)*", "a+|b", "[ab]*c", "é*a"]), vocabulary=VOCABULARIES)
def test_distance_is_the_length_of_a_shortest_path(pattern: str, vocabulary: Vocabulary) -> None:
    dfa = Dfa.from_regex(pattern)
    try:
        index = Index(dfa, vocabulary)
    except DeadEnd:
        return
    for state in range(len(dfa)):
        reached, steps = {state}, 0
        seen = set(reached)
        while reached and not any(dfa.accepting[target] for target in reached):
            following = {dfa.walk(data, source) for source in reached for data in vocabulary.tokens if data}
            reached = following - seen - {-1}
            seen |= reached
            steps += 1
        assert index.distance[state] == (steps if reached else 2**31 - 1)
    sequence = index.shortest_tokens()
    assert len(sequence) == index.distance[0]
    assert dfa.accepts(b"".join(vocabulary.tokens[token] or b"" for token in sequence))
