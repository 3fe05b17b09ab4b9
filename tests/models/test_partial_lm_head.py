"""Scores of a few tokens are those that the whole output layer gives, and nothing else about a text changes."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from tests.support.models.attention_models import model_of
from tests.support.models.random_models import ARCHITECTURES

from sfgen import Dfa, Index, Sampler, generate
from sfgen.models.tiny import DIRECTORY
from sfgen.models.transformers_forward import KNOWN_LM_HEADS, PartialLmHead, has_rows
from sfgen.models.transformers_model import TransformersModel
from sfgen.models.transformers_session import TransformersSession
from sfgen.protocols import Model

NAMES = {"gpt_neox": "gpt-neox"}
FEW = np.array([3, 0, 7], dtype=np.int32)


@pytest.mark.parametrize("name", sorted(KNOWN_LM_HEADS))
def test_a_few_rows_are_rows_of_the_whole(name: str) -> None:
    model = model_of(NAMES.get(name, name))
    assert model.config.model_type == name
    assert has_rows(model)
    whole, few = TransformersSession(model), TransformersSession(model)
    for token_ids in ([1, 2, 3], [4], [5, 6]):
        expected = whole.extend(token_ids)
        found = few.extend_rows(token_ids, FEW)
        assert found.shape == (3,)
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, expected[FEW], rtol=1e-5, atol=1e-6)
    for session in (whole, few):
        session.rewind(4)
    np.testing.assert_allclose(few.extend_rows([8], FEW), whole.extend([8])[FEW], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(few.extend([9]), whole.extend([9]), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", sorted(set(ARCHITECTURES) - {NAMES.get(name, name) for name in KNOWN_LM_HEADS}))
def test_others_give_all_scores(name: str) -> None:
    model = model_of(name)
    assert not has_rows(model)
    np.testing.assert_array_equal(
        TransformersSession(model).extend_rows([1, 2], FEW), TransformersSession(model).extend([1, 2])
    )


def test_a_layer_of_another_sort_is_called_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    class Other(torch.nn.Linear):
        pass

    model = model_of("llama")
    monkeypatch.setattr(type(model), "get_output_embeddings", lambda self: Other(8, 8))
    assert not has_rows(model)
    monkeypatch.undo()
    monkeypatch.setattr(model.get_output_embeddings(), "_hf_hook", object(), raising=False)
    assert not has_rows(model)


def test_read_only_rows_are_read_without_a_warning() -> None:
    import torch

    model = model_of("llama")
    rows = FEW.copy()
    rows.flags.writeable = False  # as those are that a mask cache keeps
    always = torch.is_warn_always_enabled()
    torch.set_warn_always(True)  # else torch warns once in a process
    try:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            PartialLmHead(model).scores(torch.zeros(1, model.config.hidden_size), rows)
    finally:
        torch.set_warn_always(always)
    assert [str(each.message) for each in said] == []


def test_texts_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the embedded model, where hardly any question is about many tokens."""
    model: Model = TransformersModel.from_pretrained(DIRECTORY, device="cpu")
    pattern = r'\{"name":"(John|Paul|Ann)","age":[1-9][0-9],"on":"20[0-9]{2}-(0[1-9]|1[0-2])"\}'
    index = Index(Dfa.from_regex(pattern), model.vocabulary)
    asked: list[int] = []
    rows = TransformersSession.extend_rows

    def counted(self: TransformersSession, token_ids: Any, few: Any) -> Any:
        asked.append(len(few))
        scores = rows(self, token_ids, few)
        assert scores.shape == few.shape
        return scores

    monkeypatch.setattr(TransformersSession, "extend_rows", counted)
    samplers = [Sampler(), *(Sampler(1, seed) for seed in range(6))]
    found = [generate(model, "A person: ", index=index, sampler=sampler) for sampler in samplers]
    assert len(asked) == sum(result.forward_passes for result in found)
    assert max(asked) <= 1024
    monkeypatch.setattr(TransformersSession, "extend_rows", lambda self, token_ids, few: self.extend(token_ids))
    assert found == [generate(model, "A person: ", index=index, sampler=sampler) for sampler in samplers]
