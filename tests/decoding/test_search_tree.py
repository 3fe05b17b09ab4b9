"""The nodes of the search tree, against numpy's own functions over all tokens."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.support.running.tried import tried

from sfgen.decoding.choice import HostRow
from sfgen.decoding.search_tree import Node
from sfgen.index.mask_ids import CountedMask, bits_of_row, packed

SIZE = 4000


def counted(allowed: NDArray[np.int32]) -> CountedMask:
    found = CountedMask.of(packed(allowed, SIZE))
    assert (found.count, found.first) == (allowed.size, allowed[0] if allowed.size else 0)
    return found


@tried("usual")
@given(seed=st.integers(0, 2**32), size=st.integers(0, 2000), counts=st.lists(st.integers(0, 200), max_size=4))
def test_tokens_are_ruled_out_and_lowered_where_they_stand(seed: int, size: int, counts: list[int]) -> None:
    """Few tokens and many, some of them twice, some not allowed."""
    generator = np.random.default_rng(seed)
    allowed = np.sort(generator.choice(3000, size, replace=False)).astype(np.int32)
    node = Node(0, allowed=counted(allowed))
    ruled_out, log_bias = np.zeros(SIZE, dtype=np.bool_), np.zeros(SIZE)
    is_allowed = np.isin(np.arange(SIZE), allowed)
    for number, count in enumerate(counts):
        tokens = generator.integers(0, SIZE, count).astype(np.int32)
        new = np.isin(np.arange(SIZE), tokens) & is_allowed
        assert node.rule_out(tokens, by_rule=number % 2 == 1) == np.count_nonzero(new & ~ruled_out)
        node.lower(tokens, -1.0 - number)
        ruled_out |= new
        log_bias[new] = -1.0 - number
        assert node.ruled_out is not None
        np.testing.assert_array_equal(bits_of_row(node.ruled_out), ruled_out)
        assert [node.bias_of(token) for token in range(SIZE)] == log_bias.tolist()
        assert node.has_nothing_left() == (not (is_allowed & ~ruled_out).any())


@tried("few")
@given(seed=st.integers(0, 2**32), size=st.integers(1, 500))
def test_scores_of_all_tokens_are_those_of_the_allowed_ones(seed: int, size: int) -> None:
    generator = np.random.default_rng(seed)
    every = generator.normal(0, 5, SIZE).astype(np.float32)
    allowed = np.flatnonzero(generator.random(size) < 0.7).astype(np.int32)
    node = Node(0, allowed=counted(allowed), row=HostRow(every))
    same = Node(0, allowed=counted(allowed), row=HostRow(every[allowed], allowed))
    assert node.is_scored
    assert Node(0, allowed=counted(allowed)).model_score(0) is None
    for token in allowed.tolist():
        expected = every[token] - np.logaddexp.reduce(every[allowed].astype(np.float64))
        assert node.probability(token) == same.probability(token) == pytest.approx(math.exp(expected))
        assert node.model_score(token) == same.model_score(token) == every[token]
    before = every.copy()
    node.keep_own()
    every[:] = 0
    assert node.row is not None
    np.testing.assert_array_equal(node.row.among(allowed), before[allowed])
