"""Oracles of sessions: one that reads everything again for each answer, rounds in a batch, and tiny in float64."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from functools import cached_property
from typing import Any, TypeAlias, TypeVar

import numpy as np
from hypothesis import strategies as st

from sfgen.models.tiny import DIRECTORY
from sfgen.models.tiny.model import TinyModel
from sfgen.models.tiny.network import Layer, Network
from sfgen.models.transformers_model import TransformersModel
from sfgen.protocols import Answer, Batch, Scores


class ForgetfulSession:
    """A session that keeps tokens only."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.tokens: list[int] = []

    def extend(self, token_ids: Sequence[int]) -> Scores:
        """The scores after all tokens so far, without a cache."""
        import torch

        self.tokens += token_ids
        with torch.inference_mode():
            ids = torch.tensor([self.tokens], device=self.model.device)
            logits = self.model(input_ids=ids, use_cache=False).logits[0, -1]
        scores: Scores = logits.float().cpu().numpy()
        return scores

    def rewind(self, length: int) -> None:
        """Forget all but the first tokens."""
        del self.tokens[length:]


class Forgetful:
    """A model with forgetful sessions."""

    def __init__(self, model: TransformersModel) -> None:
        self.inner, self.vocabulary, self.encode = model, model.vocabulary, model.encode

    def session(self) -> ForgetfulSession:
        """A new, empty session."""
        return ForgetfulSession(self.inner.model)


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


Weights = TypeVar("Weights", Layer, Network)


class Float64Tiny(TinyModel):
    """The embedded model with its weights in float64."""

    @cached_property
    def network(self) -> Network:
        network = Network.from_directory(DIRECTORY)
        return replace(_in_float64(network), layers=tuple(map(_in_float64, network.layers)))


def _in_float64(weights: Weights) -> Weights:
    values = {field.name: getattr(weights, field.name) for field in fields(weights)}
    arrays: dict[str, Any] = {name: value for name, value in values.items() if isinstance(value, np.ndarray)}
    return replace(weights, **{name: array.astype(np.float64) for name, array in arrays.items()})
