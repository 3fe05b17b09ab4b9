"""The nodes of the search tree, against numpy's own functions over all tokens."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.running.tried import tried

from sfgen.decoding.search_tree import Node


@tried("usual")
@given(seed=st.integers(0, 2**32), size=st.integers(0, 2000), counts=st.lists(st.integers(0, 200), max_size=4))
def test_tokens_are_ruled_out_and_lowered_where_they_stand(seed: int, size: int, counts: list[int]) -> None:
    """Few tokens and many, some of them twice, some not allowed."""
    generator = np.random.default_rng(seed)
    allowed = np.sort(generator.choice(3000, size, replace=False)).astype(np.int32)
    node = Node(0, allowed=allowed)
    ruled_out, log_bias = np.zeros(size, dtype=np.bool_), np.zeros(size)
    for number, count in enumerate(counts):
        tokens = generator.integers(0, 4000, count).astype(np.int32)
        added = np.isin(allowed, tokens) & ~ruled_out
        assert node.rule_out(tokens, by_rule=number % 2 == 1) == np.count_nonzero(added)
        node.lower(tokens, -1.0 - number)
        ruled_out |= added
        log_bias[np.isin(allowed, tokens)] = -1.0 - number
        np.testing.assert_array_equal(node.ruled_out, ruled_out)
        np.testing.assert_array_equal(node.log_bias, log_bias)
        assert node.has_nothing_left() == ruled_out.all()


@tried("few")
@given(seed=st.integers(0, 2**32), size=st.integers(1, 500))
def test_scores_of_all_tokens_are_those_of_the_allowed_ones(seed: int, size: int) -> None:
    generator = np.random.default_rng(seed)
    every = generator.normal(0, 5, size).astype(np.float32)
    allowed = np.flatnonzero(generator.random(size) < 0.7).astype(np.int32)
    node, same = Node(0, allowed=allowed, all_scores=every), Node(0, allowed=allowed, allowed_scores=every[allowed])
    assert node.is_scored
    assert Node(0, allowed=allowed).scores is None
    for token in allowed.tolist():
        expected = every[token] - np.logaddexp.reduce(every[allowed].astype(np.float64))
        assert node.probability(token) == pytest.approx(math.exp(expected))
    np.testing.assert_array_equal(node.scores, same.scores)
    assert node.all_scores is None, "the scores of the others are let go of"
