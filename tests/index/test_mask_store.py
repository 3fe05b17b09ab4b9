"""Token masks against brute force: made by walks and by shapes, kept and forgotten, asked for by many threads."""

from __future__ import annotations

import os
import random
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.patterns.automata import allowed, automata, token_distances, vocabularies
from tests.support.running.tried import tried

from sfgen import Dfa, Index, Vocabulary
from sfgen.errors import DeadEnd, UsageError
from sfgen.index import DfaIndex, mask_ids, mask_store, tokens_of_row
from sfgen.index.mask_store import MaskCache
from sfgen.index.masks import shapes

BYTES = [bytes([byte]) for byte in range(256)]


@contextmanager
def limits(
    *, quick: int = mask_store.QUICK, corrected: int = shapes.CORRECTED, room: int = mask_store.LIMIT
) -> Iterator[MaskCache]:
    """Other limits of when a state is walked or made by shapes, and of the masks that are kept; a cache of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mask_store, "QUICK", quick)
        patch.setattr(shapes, "CORRECTED", corrected)
        patch.setattr(mask_store, "CACHE", cache := MaskCache(room))
        yield cache


LIMITS = st.sampled_from(
    [
        {},
        {"quick": 0},
        {"quick": 0, "corrected": 0},
        {"quick": 3, "corrected": 8},
        {"room": 0},
        {"quick": 3, "room": 4},
        {"quick": 0, "room": 16},
        {"room": 40},
    ]
)


def made(index: DfaIndex) -> list[set[int]]:
    """The rows of all states as sets, after a look at what must hold of them."""
    states = range(len(index.dfa))
    found = [index.row(state) for state in states]
    sets = [set(tokens_of_row(row).tolist()) for row in found]
    assert [index.allowed_count(state) for state in states] == [len(tokens) for tokens in sets]
    assert not any(row.flags.writeable for row in found)
    return sets


def assert_equal_ones_are_one(index: DfaIndex) -> None:
    """Where none was forgotten, equal rows are one object."""
    found = [index.row(state) for state in range(len(index.dfa))]
    assert len({id(row) for row in found}) == len({row.tobytes() for row in found})


@tried("many")
@given(dfa=automata(), vocabulary=vocabularies(), limit=LIMITS, data=st.data())
def test_rows_equal_brute_force(dfa: Dfa, vocabulary: Vocabulary, limit: dict[str, int], data: st.DataObject) -> None:
    if not dfa.accepting.any():
        with pytest.raises(UsageError, match="no text at all"):
            Index(dfa, vocabulary)
        return
    if token_distances(dfa, vocabulary)[0] is None:
        with pytest.raises(DeadEnd):
            Index(dfa, vocabulary)
        return
    expected = allowed(dfa, vocabulary)
    with limits(**limit) as cache:
        one_by_one = Index(dfa, vocabulary)
        for state in data.draw(st.permutations(range(len(dfa)))):
            assert set(one_by_one.allowed_tokens(state).tolist()) == expected[state]
        assert made(one_by_one) == expected
        at_once = Index(dfa, vocabulary)
        if data.draw(st.booleans()):
            at_once.row(len(dfa) - 1)
        at_once.build()
        assert made(at_once) == expected
        if "room" not in limit:
            assert_equal_ones_are_one(at_once)
            assert [id(row) for row in at_once.masks] == [id(row) for row in one_by_one.masks]
        assert cache.nbytes <= max(cache.limit, 2 * 4 * ((len(vocabulary) + 31) // 32))


# ---- what is kept ----------------------------------------------------------------------------------------------------


def kept(cache: MaskCache, index: DfaIndex) -> set[int]:
    """The states of an index whose masks are kept; all of them are masks of the cache."""
    store = index._store
    held = {id(each[0]) for each in [*cache._young.values(), *cache._old.values()]}
    young = {state for state, mask in enumerate(store.masks) if mask is not None}
    assert young == set(store._young)
    assert all(store.masks[state] is each[0] for state, each in store._young.items())
    assert {id(each[0]) for each in [*store._young.values(), *store._old.values()]} <= held
    return young | set(store._old)


@given(
    patterns=st.lists(st.sampled_from(["[ab]{1,9}c", "(hot|hotel|cold)+", "a|b", ".{0,4}x", "[^a]*a"]), min_size=1),
    room=st.integers(0, 12),
    steps=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 30), st.booleans()), max_size=80),
)
def test_masks_are_right_and_bounded_whatever_is_forgotten(
    patterns: list[str], room: int, steps: list[tuple[int, int, bool]]
) -> None:
    """Several indexes share the cache; one of them may go at any time."""
    vocabulary = Vocabulary([*BYTES, b"ab", b"hot", b"otel", b"aab", None], [260])
    size = 4 * ((len(vocabulary) + 31) // 32)
    right = {pattern: allowed(Dfa.from_regex(pattern), vocabulary) for pattern in patterns}
    with limits(room=room * size) as cache:
        indexes = [Index(Dfa.from_regex(pattern), vocabulary) for pattern in patterns]
        for which, state, is_replaced in steps:
            index = indexes[which % len(indexes)]
            pattern = patterns[which % len(indexes)]
            state %= len(index.dfa)
            assert set(tokens_of_row(index.row(state)).tolist()) == right[pattern][state]
            assert index.row(state) is index.row(state) is index.masks[state]
            assert index.allowed_count(state) == len(right[pattern][state])
            assert cache.nbytes <= max(room, 2) * size
            assert cache.nbytes >= size * len({id(each) for each in [*cache._young.values(), *cache._old.values()]})
            for each in indexes:
                kept(cache, each)
            if is_replaced:
                indexes[which % len(indexes)] = Index(Dfa.from_regex(pattern), vocabulary)


def test_a_mask_that_is_used_now_and_then_stays() -> None:
    vocabulary = Vocabulary([*BYTES, None], [256])
    size = 4 * ((len(vocabulary) + 31) // 32)
    choices = Index(Dfa.from_choices([chr(first) + chr(first + 1) for first in range(65, 100)]), vocabulary)
    with limits(room=8 * size) as cache:
        first = choices.row(0)
        for state in range(1, len(choices.dfa)):
            choices.row(state)
            if state % 3 == 0:
                assert choices.row(0) is first
        assert len(kept(cache, choices)) <= 8
        assert cache.nbytes <= 8 * size


def test_equal_masks_of_two_indexes_are_one_object() -> None:
    vocabulary = Vocabulary([*BYTES, None], [256])
    with limits():
        one, other = (Index(Dfa.from_regex(pattern), vocabulary) for pattern in ("[ab]c", "d[ab]c"))
        assert one.row(0) is other.row(other.next_state(0, ord("d")))


def test_masks_with_the_same_digest_are_told_apart() -> None:
    cache = MaskCache(1 << 20)
    masks = [np.array([number], dtype=np.uint32) for number in (3, 5, 3, 6, 5, 3)]
    found = [cache.enter((mask, 2, 7))[0] for mask in masks]
    assert [mask.tolist() for mask in found] == [mask.tolist() for mask in masks]
    assert [id(mask) for mask in found] == [id(masks[number]) for number in (0, 1, 0, 3, 1, 0)]
    assert cache.nbytes == 12


def test_many_constraints_take_no_more_memory_than_a_few() -> None:
    vocabulary = Vocabulary([*BYTES, *(bytes([a, b]) for a in range(97, 123) for b in range(97, 123)), None], [932])
    size = 4 * ((len(vocabulary) + 31) // 32)
    with limits(room=64 * size) as cache:
        texts = [chr(97 + number % 26) + chr(97 + number // 26) for number in range(512)]
        alive = [Index(Dfa.from_choices([text]), vocabulary) for text in texts]
        for index in alive:
            index.build()
        assert cache.nbytes <= 64 * size
        assert sum(mask is not None for index in alive for mask in index.masks[:1]) <= 64
        for text, index in zip(texts, alive, strict=True):
            assert index.guide().allowed_tokens().tolist() == sorted(
                [ord(text[0]), vocabulary.tokens.index(text.encode())]
            )


def test_an_old_mask_that_another_thread_forgets_while_it_is_asked_for() -> None:
    index = Index(Dfa.from_regex("[ab]c"), Vocabulary(BYTES))

    class Replaced(dict[int, Any]):
        def __contains__(self, state: object) -> bool:
            index._store._old = {}
            return super().__contains__(state)

    with limits():
        index.row(0)
        index._store.age()
        index._store._old = Replaced(index._store._old)
        assert index.allowed_count(0) == 2


def test_a_child_process_can_ask_whatever_its_parent_was_doing() -> None:
    index = Index(Dfa.from_regex("[ab]c"), Vocabulary(BYTES))
    with mask_store.CACHE.lock, mask_ids.TOKEN_IDS._lock:
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            os._exit(0 if index.allowed_tokens(0).tolist() == [97, 98] else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


# ---- all states ------------------------------------------------------------------------------------------------------


def test_progress_of_build_comes_to_all_states() -> None:
    index = Index(Dfa.from_regex("[ab]{100}"), Vocabulary(BYTES))
    seen: list[tuple[int, int]] = []

    def progress(done: int, total: int) -> None:
        seen.append((done, total))
        index.row(0)  # who is told may ask

    index.build(progress)
    index.build(progress)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert seen[-1] == (101, 101)


def test_a_state_that_there_is_not() -> None:
    index = Index(Dfa.from_regex("ab"), Vocabulary(BYTES))
    index.build()
    for ask in (index.row, index.allowed_count, index.transitions):
        with pytest.raises(UsageError, match="no state -1"):
            ask(-1)


def test_a_vocabulary_without_text() -> None:
    index = Index(Dfa.from_regex("a*"), Vocabulary([None, None], end_token_ids=[1]))
    assert index.allowed_tokens(0).tolist() == [1]
    with pytest.raises(DeadEnd, match="in no token: a"):
        Index(Dfa.from_regex("a+"), Vocabulary([None, None], end_token_ids=[1]))


@pytest.mark.parametrize(
    ("quick", "corrected", "room"), [(3, 0, 1 << 20), (0, 10**6, 1 << 20), (4096, 0, 1 << 20), (3, 10**6, 600)]
)
def test_many_threads_get_the_rows_of_one(quick: int, corrected: int, room: int) -> None:
    vocabulary = Vocabulary([*BYTES, *(bytes([a, b]) for a in b"abcdef" for b in b"abc. ")])
    dfa = Dfa.from_regex(r"([a-f]{1,20}[ .]){1,4}|é{9}")
    expected = Index(dfa, vocabulary)
    right = [expected.row(state).tolist() for state in range(len(dfa))]
    with limits(quick=quick, corrected=corrected, room=room) as cache:
        for attempt in range(4):
            index = Index(dfa, vocabulary)
            wrong: list[int] = []
            start = threading.Barrier(8)

            def ask(
                seed: int, index: DfaIndex = index, wrong: list[int] = wrong, start: threading.Barrier = start
            ) -> None:
                states = list(range(len(dfa)))
                random.Random(seed).shuffle(states)
                start.wait()
                for number, state in enumerate(states):
                    if seed % 4 == 3 and number == 40:
                        index.build()
                    if seed % 2:
                        index.is_ready(state)
                    if index.row(state).tolist() != right[state]:
                        wrong.append(state)

            threads = [threading.Thread(target=ask, args=(8 * attempt + number,)) for number in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert not wrong
            kept(cache, index)
            assert cache.nbytes <= room
            if room > 600:
                assert_equal_ones_are_one(index)
