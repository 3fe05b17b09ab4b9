"""Around a forward pass: attention without plans, restored afterwards (needs no GPU), and the names of the cache."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from tests.support.models.attention_models import batch_for, model_of
from tests.support.models.random_models import random_model
from tests.support.models.sessions import ForgetfulSession

from sfgen.models.transformers_forward import cache_in, cache_name, is_misread, parameters_of, without_plans
from sfgen.models.transformers_session import TransformersSession

KERNELS: Any = torch.backends.cuda  # untyped


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    before = KERNELS.cudnn_sdp_enabled()
    yield
    KERNELS.enable_cudnn_sdp(before)


@pytest.mark.parametrize("is_allowed", [True, False])
@pytest.mark.parametrize("device", ["cuda", "cuda:1", "cpu", "mps"])
def test_plans_are_allowed_afterwards_as_before(device: str, is_allowed: bool) -> None:
    KERNELS.enable_cudnn_sdp(is_allowed)
    with without_plans(torch.device(device)):
        assert KERNELS.cudnn_sdp_enabled() == (is_allowed and not device.startswith("cuda"))
    assert KERNELS.cudnn_sdp_enabled() == is_allowed


def test_after_an_error_too() -> None:
    KERNELS.enable_cudnn_sdp(True)
    with pytest.raises(RuntimeError, match="broken"), without_plans(torch.device("cuda")):
        raise RuntimeError("broken")
    assert KERNELS.cudnn_sdp_enabled()


class TestPassesThatMayBeMisread:
    @pytest.fixture
    def early(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """As on a GPU, but from 3 tokens on."""
        for module in ("transformers_session", "transformers_batch"):
            monkeypatch.setattr(f"sfgen.models.{module}.is_misread", lambda count, _: count > 2 and count % 2 == 1)

    def test_which_they_are(self) -> None:
        assert [count for count in range(200) if is_misread(count, torch.device("cuda", 1))] == [65, 129, 193]
        assert not any(is_misread(count, torch.device("cpu")) for count in range(200))

    @pytest.mark.parametrize("name", ["gemma", "llama", "falcon", "mistral"])
    def test_are_two_in_a_session(self, name: str, early: None) -> None:
        model = model_of(name)
        session, oracle = TransformersSession(model), ForgetfulSession(model)
        with passes(model) as read:
            found = [session.extend(tokens) for tokens in ([5, 6, 7, 8, 9, 10, 11], [12], [13, 14, 15])]
            everywhere = session.extend_all([16, 17, 18])
        assert read == [6, 1, 1, 2, 1, 2, 1]
        for scores, tokens in zip(found, ([5, 6, 7, 8, 9, 10, 11], [12], [13, 14, 15]), strict=True):
            np.testing.assert_allclose(scores, oracle.extend(tokens), atol=1e-4)
        np.testing.assert_allclose(everywhere, [oracle.extend([token]) for token in (16, 17, 18)], atol=1e-4)

    @pytest.mark.parametrize("name", ["gemma", "llama", "falcon", "mistral"])
    def test_are_padded_or_two_in_a_batch(self, name: str, early: None) -> None:
        model = model_of(name)
        batch, oracles = batch_for(model, 3), [ForgetfulSession(model) for _ in range(3)]
        steps: list[dict[int, list[int]]] = [
            {0: [5, 6, 7], 1: [8, 9], 2: [10]},
            {0: [11], 1: [12], 2: [13]},
            {1: [14, 15, 16, 17, 18]},
            {0: [19, 20], 1: [21, 22, 23]},
        ]
        with passes(model) as read:
            found = [batch.extend(rows) for rows in steps]
            everywhere = batch.extend_all(2, [24, 25, 26])
        assert read == [4, 1, 4, 1, 4, 2, 1]
        for answers, rows in zip(found, steps, strict=True):
            for row, tokens in rows.items():
                scores = answers[row]
                assert isinstance(scores, np.ndarray)
                np.testing.assert_allclose(scores, oracles[row].extend(tokens), atol=1e-4)
        assert isinstance(everywhere, np.ndarray)
        np.testing.assert_allclose(everywhere, [oracles[2].extend([token]) for token in (24, 25, 26)], atol=1e-4)


@contextlib.contextmanager
def passes(model: Any) -> Iterator[list[int]]:
    """How many tokens each forward pass reads."""
    read: list[int] = []
    hook = model.base_model.register_forward_pre_hook(
        lambda _, given, named: read.append((given[0] if given else named["input_ids"]).shape[1]), with_kwargs=True
    )
    try:
        yield read
    finally:
        hook.remove()


NAMES = ["past_key_values", "cache", "cache_params", "state"]


def renamed(taken: str, given: str) -> Any:
    """A model of somebody's own class that notes how many tokens each pass reads.

    Args:
        taken: What its cache is called that it is given.
        given: What it is called that it gives back.
    """
    llama = copy.deepcopy(random_model("llama"))
    kind: Any = type(llama)
    name = cache_name(parameters_of(llama))
    assert name is not None
    passes: list[int] = []

    def read(self: Any, input_ids: Any, use_cache: bool, position_ids: Any, cache: Any) -> dict[str, Any]:
        passes.append(input_ids.shape[1])
        inputs = {"input_ids": input_ids, "use_cache": use_cache, "position_ids": position_ids, name: cache}
        output = kind.forward(self, **inputs)
        return Output(logits=output.logits, **{given: cache_in(output)})

    class Output(dict[str, Any]):
        def __getattr__(self, name: str) -> Any:
            return self[name]

    written = {"read": read}
    parameters = f"self, input_ids=None, use_cache=None, position_ids=None, {taken}=None"
    exec(f"def forward({parameters}): return read(self, input_ids, use_cache, position_ids, {taken})", written)
    llama.__class__ = type("Renamed", (kind,), {"forward": written["forward"], "passes": passes})
    return llama


@pytest.mark.parametrize("taken", NAMES)
@pytest.mark.parametrize("given", NAMES)
def test_what_was_read_is_not_read_again(taken: str, given: str) -> None:
    """Whatever the names are, also where a version of transformers renames what a model of somebody gives back."""
    model = renamed(taken, given)
    session, whole = TransformersSession(model), TransformersSession(random_model("llama"))
    session.extend([5, 6, 7])
    assert session.extend([8]) == pytest.approx(whole.extend([5, 6, 7, 8]), abs=1e-5)
    assert model.passes == [3, 1]


def test_an_output_is_asked_for_the_new_name_first() -> None:
    """From transformers 5.24 on, one that is asked for ``past_key_values`` logs that the name is deprecated."""

    class Output(dict[str, Any]):
        def __contains__(self, name: object) -> bool:
            assert name == "cache"
            return True

    assert cache_in(Output(cache=1)) == 1


def test_a_model_without_a_cache() -> None:
    class Model:
        def forward(self, input_ids: Any) -> Any: ...

    assert parameters_of(Model()) == {"self", "input_ids"}
    assert cache_name(parameters_of(Model())) is None
    assert cache_in({"logits": 1}) is None
