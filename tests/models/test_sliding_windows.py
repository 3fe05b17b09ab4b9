"""Tokens are taken back exactly from models that see a window of them, before and beyond its edge, on each device."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.support.models.random_models import random_model
from tests.support.models.sessions import ForgetfulSession
from tests.support.running.tried import tried

from sfgen.models import kv_cache_rewind
from sfgen.models.transformers_session import TransformersSession

MODELS = ["mistral", "gemma2", "gemma3", "phi3", "gpt-oss"]
MARGIN = kv_cache_rewind.MARGIN
CONTEXT = 700
Steps = Sequence[tuple[int, int]]


@pytest.fixture(params=["cpu", "cuda"])
def device(request: pytest.FixtureRequest) -> str:
    if request.param == "cuda" and not torch.cuda.is_available():
        pytest.skip("no CUDA device here")
    return str(request.param)


def model_on(device: str, name: str, window: int) -> Any:
    return copy.deepcopy(random_model(name, sliding_window=window, max_position_embeddings=CONTEXT)).to(device)


def compare(model: Any, steps: Steps, seed: int = 0) -> None:
    """Read, then take back: ``steps`` has the number of tokens of each. The oracle is on the CPU."""
    session, source = TransformersSession(model, CONTEXT), np.random.default_rng(seed)
    oracle = ForgetfulSession(model if model.device.type == "cpu" else copy.deepcopy(model).cpu())
    for count, back in steps:
        token_ids = source.integers(3, 64, min(count, CONTEXT - len(oracle.tokens))).tolist()
        if token_ids:
            found, expected = session.extend(token_ids), oracle.extend(token_ids)
            np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3 * float(np.abs(expected).max()))
        length = max(0, len(oracle.tokens) - back)
        session.rewind(length)
        oracle.rewind(length)


@pytest.mark.parametrize("window", [5, 32])
@pytest.mark.parametrize("name", MODELS)
def test_a_long_text(device: str, name: str, window: int) -> None:
    """Back inside the window, to its edge, to the edge of what is kept beyond it, further, and to the beginning."""
    backs = [1, window - 1, window, window + 1, MARGIN - 1, MARGIN, MARGIN + 1, MARGIN + window, 10_000]
    compare(model_on(device, name, window), [step for back in backs for step in [(window + MARGIN + 40, back), (3, 0)]])


@pytest.mark.parametrize("count", [64, 65, 66, 129, 257])
@pytest.mark.parametrize("before", [0, 1, 40])
@pytest.mark.parametrize("name", ["mistral", "gemma3"])
def test_any_number_of_tokens_at_once(device: str, name: str, before: int, count: int) -> None:
    """There is a kernel of attention that is wrong about the last of 65 or 129 tokens."""
    compare(model_on(device, name, 5), [(before, 0), (count, 3), (count, 0)] if before else [(count, 3), (count, 0)])


@pytest.mark.parametrize("name", ["mistral", "gemma3"])
def test_short_ways_back_many_times(device: str, name: str) -> None:
    """As a ban takes them back: the window slides on under them."""
    compare(model_on(device, name, 5), [(20, 0), *[(back + 1, back) for back in (1, 2, 7, 4, 11, 3)] * 12])


@pytest.mark.parametrize("name", MODELS)
def test_any_way(device: str, name: str) -> None:
    models = {window: model_on(device, name, window) for window in (4, 9)}

    @tried("handful")
    @given(
        st.sampled_from(sorted(models)),
        st.lists(st.tuples(st.integers(1, 60), st.integers(0, 40)), min_size=2, max_size=9),
        st.integers(0, 99),
    )
    def runs(window: int, steps: Steps, seed: int) -> None:
        compare(models[window], [(MARGIN, 0), *steps], seed)

    runs()
