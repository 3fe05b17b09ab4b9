"""The index on published vocabularies, where states are wide and tokens many."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.support.models.vocabularies import loaded
from tests.support.running.tried import some_of

from sfgen import Dfa, Index, Vocabulary
from sfgen.errors import LimitTooSmall

NAMES = ["gpt2", "llama3", "gemma2"]
WIDE = [r".*", r"[^\n]{1,200}\.", r'"([^"\\\x00-\x1f]|\\["\\/bfnrt]){0,40}"', r"([a-z]{1,12} ){1,5}[a-z]{1,12}\."]
RECORD = r'\{"description": "[a-z]{5,12}( [a-z]{5,12}){3,4}", "category": "[a-z]{7,12}", "available": (true|false)\}'


@pytest.fixture(params=NAMES)
def vocabulary(request: pytest.FixtureRequest, real_tokenizer_directory: Callable[[str], Path]) -> Vocabulary:
    return loaded(real_tokenizer_directory(request.param))[1]


@pytest.mark.parametrize("pattern", some_of(WIDE, 2))
def test_rows_equal_a_walk_of_every_token(pattern: str, vocabulary: Vocabulary) -> None:
    dfa = Dfa.from_regex(pattern)
    lazy, built = Index(dfa, vocabulary), Index(dfa, vocabulary)
    built.build()
    chance = random.Random(pattern)
    states = [0, *chance.sample(range(len(dfa)), min(len(dfa), 200))]
    for state in states:
        assert lazy.row(state).tolist() == built.row(state).tolist()
        assert lazy.allowed_count(state) == built.allowed_count(state)
    for state in states[:2]:
        read = [
            token
            for token, data in enumerate(vocabulary.tokens)
            if data and token not in vocabulary.end_token_ids and dfa.walk(data, state) >= 0
        ]
        ends = vocabulary.end_token_ids if dfa.accepting[state] else ()
        assert lazy.allowed_tokens(state).tolist() == sorted([*read, *ends])


def test_a_limit_at_its_exact_edge(vocabulary: Vocabulary) -> None:
    for pattern in (RECORD, r"[0-9a-f]{8}-[0-9a-f]{4}", r"https://[a-z]{2,20}\.(com|org)", *WIDE):
        index = Index(Dfa.from_regex(pattern), vocabulary)
        fewest = len(index.shortest_tokens())
        if fewest:
            with pytest.raises(LimitTooSmall, match=rf"takes {fewest}\b"):
                Index(index.dfa, vocabulary).guide(fewest - 1)
        guide = Index(index.dfa, vocabulary).guide(fewest)
        for _ in range(fewest):
            text = np.setdiff1d(guide.allowed_tokens(), vocabulary.end_token_ids)
            guide.advance(int(text[-1]))
        assert guide.is_accepting
        assert set(guide.allowed_tokens().tolist()) <= set(vocabulary.end_token_ids)


def test_a_record_of_84_bytes_fits_in_30_tokens(vocabulary: Vocabulary) -> None:
    dfa = Dfa.from_regex(RECORD)
    assert len(dfa.shortest()) >= 84
    guide = Index(dfa, vocabulary).guide(30)
    chance = random.Random(0)
    written, taken = b"", 0
    while not guide.is_accepting:
        token = int(chance.choice(guide.allowed_tokens()))
        guide.advance(token)
        written += vocabulary.tokens[token] or b""
        taken += 1
    assert dfa.accepts(written)
    assert len(written) >= 84
    assert taken <= 30


def test_rows_take_little_memory(vocabulary: Vocabulary) -> None:
    index = Index(Dfa.from_regex(".{0,2000}"), vocabulary)
    index.build()
    different = {id(index.row(state)): index.row(state).nbytes for state in range(len(index.dfa))}
    assert sum(different.values()) < 5_000_000
