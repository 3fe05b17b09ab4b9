"""Rounds in a batch, where rows take tokens back and read others, against reading each text again by itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from hypothesis import strategies as st

from sfgen.protocols import Answer, Batch

Round: TypeAlias = list[tuple[int, int, int]]
"""Who takes part: the row, the tokens to take back before, the tokens to read."""


def rounds_among(rows: int, *, longest: int) -> st.SearchStrategy[list[Round]]:
    """Rounds of a batch of so many rows, with most texts far from the longest."""
    return st.lists(
        st.lists(
            st.tuples(
                st.integers(0, rows - 1),
                st.sampled_from([0, 0, 0, 1, 2, 7, 200]),
                st.sampled_from([0, 1, 1, 1, 2, 3, 9, longest]),
            ),
            min_size=1,
            max_size=rows,
            unique_by=lambda each: each[0],
        ),
        min_size=1,
        max_size=8,
    )


def assert_equals_reading_each_again(
    batch: Batch,
    rounds: Sequence[Round],
    read_again: Callable[[list[int]], Any],
    assert_close: Callable[[Answer, Any], None],
    *,
    rows: int,
    context: int,
    tokens: range,
    seed: int,
) -> None:
    """After each round the rows that read have the scores that ``read_again`` gives for their whole texts."""
    texts = [list[int]() for _ in range(rows)]
    generator = np.random.default_rng(seed)
    for each in rounds:
        asked: dict[int, list[int]] = {}
        for row, back, count in each:
            length = max(0, len(texts[row]) - back)
            batch.rewind(row, length)
            del texts[row][length:]
            if count and length + count <= context:
                asked[row] = generator.integers(tokens.start, tokens.stop, count).tolist()
                texts[row] += asked[row]
        answers = batch.extend(asked)
        assert answers.keys() == asked.keys()
        for row in asked:
            assert_close(answers[row], read_again(texts[row]))
