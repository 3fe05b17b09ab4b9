"""Token masks against brute force, made in every way: alone, in groups, by shapes, all at once, from many threads."""

from __future__ import annotations

import random
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
from sfgen.index import DfaIndex, mask_store, tokens_of_row
from sfgen.index.masks import all_states, few_tokens, many_states, shapes
from sfgen.index.masks.table import walking_table

BYTES = [bytes([byte]) for byte in range(256)]


@contextmanager
def limits(
    *,
    sparse: int = few_tokens.SPARSE,
    functions: int = many_states.FUNCTIONS,
    quick: int = mask_store.QUICK,
    corrected: int = shapes.CORRECTED,
    nodes: int = all_states.NODES,
) -> Iterator[None]:
    """Other limits of when a state is walked alone, in a group, or by shapes, and of a group's functions."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(few_tokens, "SPARSE", sparse)
        patch.setattr(many_states, "FUNCTIONS", functions)
        patch.setattr(mask_store, "QUICK", quick)
        patch.setattr(shapes, "CORRECTED", corrected)
        patch.setattr(all_states, "NODES", nodes)
        yield


LIMITS = st.sampled_from(
    [
        {},
        {"sparse": 0, "quick": 0},
        {"sparse": 0, "quick": 0, "corrected": 0},
        {"sparse": 3, "quick": 3, "corrected": 8},
        {"sparse": 3, "quick": 3, "nodes": 0},
        {"sparse": 0, "quick": 0, "corrected": 0, "nodes": 20},
        {"sparse": 0, "quick": 0, "corrected": 0, "functions": 4},
        {"sparse": 0, "quick": 0, "corrected": 0, "functions": 8},
    ]
)


def made(index: DfaIndex) -> list[set[int]]:
    """The rows of all states as sets, after a look at what must hold of them."""
    states = range(len(index.dfa))
    found = [index.row(state) for state in states]
    sets = [set(tokens_of_row(row).tolist()) for row in found]
    assert [index.allowed_count(state) for state in states] == [len(tokens) for tokens in sets]
    assert not any(row.flags.writeable for row in found)
    # Equal rows are one object.
    assert len({id(row) for row in found}) == len({frozenset(tokens) for tokens in sets})
    return sets


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
    with limits(**limit):
        one_by_one = Index(dfa, vocabulary)
        for state in data.draw(st.permutations(range(len(dfa)))):
            assert set(one_by_one.allowed_tokens(state).tolist()) == expected[state]
        assert made(one_by_one) == expected
        at_once = Index(dfa, vocabulary)
        if data.draw(st.booleans()):
            at_once.row(len(dfa) - 1)
        at_once.build()
        assert made(at_once) == expected


@given(dfa=automata(most_states=3), vocabulary=vocabularies(whole=True), functions=st.integers(3, 12))
def test_a_full_table_of_functions_is_right_or_given_up(dfa: Dfa, vocabulary: Vocabulary, functions: int) -> None:
    if token_distances(dfa, vocabulary)[0] is None:
        return
    with limits(sparse=0, functions=functions):
        index = Index(dfa, vocabulary)
        index.build()
        assert made(index) == allowed(dfa, vocabulary)


def test_functions_that_differ_for_one_member_are_told_apart() -> None:
    """Many of them in a hash table that is nearly full, where they cannot but meet."""
    letters, members = 20, 3
    transitions = np.zeros((letters + 1, letters), dtype=np.int32)
    transitions[1] = range(1, letters + 1)  # only the last member, in state 1, can tell the letters apart
    table = walking_table(transitions, None).reshape(-1)
    vectors = np.zeros((letters + 3, members), dtype=np.uint32)
    vectors[1] = [0, 0, letters]
    after = np.full((letters + 3, letters), -1, dtype=np.int32)
    signatures = np.zeros(letters + 3, dtype=np.uint64)
    slots = np.full(letters + 1, -1, dtype=np.int32)
    go_on: Any = many_states._go_on
    for again in (False, True):
        for letter in range(letters):
            known = letters + 2 if again else letter + 2
            assert go_on(1, np.uintp(letter), known, table, letters, vectors, after, signatures, slots) == letter + 2
            assert vectors[letter + 2].tolist() == [0, 0, (letter + 1) * letters]
            assert signatures[letter + 2] == 0b111


def test_rows_with_the_same_digest_are_told_apart() -> None:
    contents = [[1, 5], [2, 6], [1, 5], [1, 6], [40], [2, 6], [], [40], [1, 40]]
    distinct = [0, 1, 0, 2, 3, 1, 4, 3, 5]
    by_tokens: Any = few_tokens._number.py_func
    by_row: Any = many_states.enter.py_func
    for listed in (False, True):
        block = all_states.MaskBlock(len(contents), len(contents), 2)
        kept = (block.counts, block.digests, block.slots)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(few_tokens, "key", lambda word: np.uint64(0))
            numbers, used = list[int](), 0
            for tokens in contents:
                if listed:
                    number = by_tokens(np.array(tokens), len(tokens), block.masks, used, *kept)
                else:
                    block.masks[used] = [
                        sum(1 << token for token in tokens if token < 32),
                        sum(256 for token in tokens if token == 40),
                    ]
                    number = by_row(len(tokens), np.uint64(0), block.masks, used, *kept)
                numbers.append(int(number))
                used += number == used
        assert numbers == distinct
        assert [tokens_of_row(row).tolist() for row in block.masks[:used]] == [
            [1, 5],
            [2, 6],
            [1, 6],
            [40],
            [],
            [1, 40],
        ]


@pytest.mark.parametrize("limit", [{}, {"sparse": 0}, {"sparse": 0, "functions": 20}], ids=str)
def test_more_states_than_a_group_has(limit: dict[str, int]) -> None:
    vocabulary = Vocabulary([*BYTES, b"ab", b"aab", b"abab", b"ab", b"a" * 30, b"ba." * 3, None], [262])
    dfa = Dfa.from_regex(r"([ab]{1,70}\.){2}|[a-c]{100}")
    expected = allowed(dfa, vocabulary)
    with limits(**limit):
        index = Index(dfa, vocabulary)
        index.build()
        assert made(index) == expected


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


@pytest.mark.parametrize(("quick", "corrected"), [(3, 0), (0, 10**6), (4096, 0)])
def test_many_threads_get_the_rows_of_one(quick: int, corrected: int) -> None:
    vocabulary = Vocabulary([*BYTES, *(bytes([a, b]) for a in b"abcdef" for b in b"abc. ")])
    dfa = Dfa.from_regex(r"([a-f]{1,20}[ .]){1,4}|é{9}")
    expected = Index(dfa, vocabulary)
    expected.build()
    with limits(sparse=1, quick=quick, corrected=corrected):
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
                    if index.row(state).tolist() != expected.row(state).tolist():
                        wrong.append(state)

            threads = [threading.Thread(target=ask, args=(8 * attempt + number,)) for number in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert not wrong
            assert len({id(index.row(state)) for state in range(len(dfa))}) == len(
                {id(expected.row(state)) for state in range(len(dfa))}
            )
