"""The names by which models take their cache and give it back."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from tests.support.models.random_models import random_model

from sfgen.models.transformers_forward import cache_in, cache_name, parameters_of
from sfgen.models.transformers_session import TransformersSession

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


def test_a_model_without_a_cache() -> None:
    class Model:
        def forward(self, input_ids: Any) -> Any: ...

    assert parameters_of(Model()) == {"self", "input_ids"}
    assert cache_name(parameters_of(Model())) is None
    assert cache_in({"logits": 1}) is None
