"""Questions that are answered without making a row, and ids that are not unpacked anew."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.patterns.automata import allowed, automata, token_distances, vocabularies

from sfgen import Dfa, Index, Vocabulary
from sfgen.index import mask_ids, mask_store, tokens_of_row
from sfgen.index.mask_ids import TokenIds

BYTES = [bytes([byte]) for byte in range(256)]


@given(dfa=automata(), vocabulary=vocabularies(), few=st.integers(0, 12))
def test_whether_several_tokens_are_allowed_equals_brute_force(dfa: Dfa, vocabulary: Vocabulary, few: int) -> None:
    if not dfa.accepting.any() or token_distances(dfa, vocabulary)[0] is None:
        return
    ends = set(vocabulary.end_token_ids)
    expected = [len(tokens - ends) + bool(tokens & ends) > 1 for tokens in allowed(dfa, vocabulary)]
    states = range(len(dfa))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mask_store, "_FEW", few)
        index = Index(dfa, vocabulary)
        found = [index.allows_several(state) for state in states]
        assert index.masks == [None] * len(dfa)
    assert all(answer in (None, right) for answer, right in zip(found, expected, strict=True))
    assert [Index(dfa, vocabulary).allows_several(state) for state in states] == expected
    for state in states:
        index.row(state)
        assert index.masks[state] is not None
    assert [index.allows_several(state) for state in states] == expected


def test_the_second_token_is_found_at_once_among_many() -> None:
    index = Index(
        Dfa.from_regex(r"(?s:.){9}a"), Vocabulary([*BYTES, *(bytes([a, b]) for a in range(99) for b in b"abc")])
    )
    assert index.allows_several(0) is True
    assert index.masks[0] is None


def test_ids_are_unpacked_once_and_cannot_be_changed() -> None:
    index = Index(Dfa.from_regex("[ab]{10}c"), Vocabulary(BYTES))
    ids = index.allowed_tokens(0)
    assert ids.tolist() == [97, 98]
    assert not ids.flags.writeable
    guide = index.guide()
    guide.advance(97)
    assert guide.allowed_tokens() is ids  # the rows are equal


@given(st.lists(st.integers(0, 9), max_size=60), st.integers(0, 4000))
def test_kept_ids_are_bounded_and_right(asked: list[int], kept: int) -> None:
    made = [np.array([number + 1] * (number + 1), dtype=np.uint32) for number in range(10)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mask_ids, "KEPT", kept)
        found = TokenIds()
        for number in asked:
            assert found.of(made[number]).tolist() == tokens_of_row(made[number]).tolist()
            held = sum(row.nbytes + ids.nbytes + mask_ids._ENTRY for row, ids in found._found.values())
            assert held == found._bytes
            assert held <= kept or len(found._found) == 1


def test_threads_are_given_the_same_ids() -> None:
    row = np.full(1000, 0xFFFFFFFF, dtype=np.uint32)
    found, start, results = TokenIds(), threading.Barrier(6), list[int]()

    def ask() -> None:
        start.wait()
        results.append(id(found.of(row)))

    threads = [threading.Thread(target=ask) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(results)) == 1
    assert found._bytes == 4 * 1000 + 4 * 32_000 + mask_ids._ENTRY
