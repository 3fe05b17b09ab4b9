"""The embedded model as a whole: what it is given and what it writes is what transformers makes of its directory."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.support.models.sessions import Float64Tiny
from tests.support.running.tried import some_of

from sfgen import BannedWords, Dfa, Finished, Index, Result, Sampler, generate, load_model
from sfgen.decoding import prepare
from sfgen.decoding.batch import batch_of, drive_batch
from sfgen.errors import UsageError
from sfgen.models.tiny import DIRECTORY
from sfgen.models.tiny.model import TinyModel
from sfgen.models.transformers_model import TransformersModel
from training.corpus import DEMONSTRATION_PROMPTS


@pytest.fixture(scope="module")
def model() -> TinyModel:
    return TinyModel()


@pytest.fixture(scope="module")
def oracle() -> TransformersModel:
    return TransformersModel.from_pretrained(DIRECTORY, device="cpu", dtype="float32", title="tiny")


TEXTS = st.one_of(
    st.text(st.characters()),  # half characters, too
    st.lists(st.sampled_from(["<|begin|>", "<|end|>", " ", "a", "12", "\n", "Can we", "é"])).map("".join),
)


@given(text=TEXTS)
@example(text="")
@example(text="<|begin|>")
@example(text="<|begin|><|begin|>a")
@example(text="<|end|>")
@example(text="\ud800a")
def test_prompts(model: TinyModel, oracle: TransformersModel, text: str) -> None:
    assert model.encode(text) == oracle.encode(text)
    assert model.encode_inside(text) == oracle.encode_inside(text)


def test_what_is_known_of_it(model: TinyModel, oracle: TransformersModel) -> None:
    assert model.vocabulary == oracle.vocabulary
    assert model.vocabulary.fingerprint == oracle.vocabulary.fingerprint
    assert model.vocabulary.names == oracle.vocabulary.names
    assert model.context_length == oracle.context_length
    assert model.name == oracle.name
    assert repr(model) == "TinyModel()"


def test_it_has_no_chat_template(model: TinyModel, oracle: TransformersModel) -> None:
    for each in (model, oracle):
        with pytest.raises(UsageError) as caught:
            each.chat("Hello")
        assert caught.value.message == "tiny has no chat template"
        assert "Leave chat out" in caught.value.hint


OPTIONS: dict[str, dict[str, Any]] = {
    "free": {},
    "banned": {"banned": BannedWords(["the", "a", "talk", "and"])},
    "record": {"index": r'\{"name":"[A-Z][a-z]{2,9}","age":[1-9][0-9]\}'},
    "prose": {"index": r"[A-Za-z ,.]{40,80}\."},
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_texts_are_those_of_transformers(model: TinyModel, oracle: TransformersModel, options: dict[str, Any]) -> None:
    options = {"max_tokens": 40, **options}
    if "index" in options:
        options["index"] = Index(Dfa.from_regex(options["index"]), model.vocabulary)
    for prompt in some_of(DEMONSTRATION_PROMPTS, 4):
        found, expected = generate(model, prompt, **options), generate(oracle, prompt, **options)
        assert (found.text, found.token_ids) == (expected.text, expected.token_ids)
        assert [event.token_ids for event in found.rollbacks] == [event.token_ids for event in expected.rollbacks]


def test_texts_of_a_batch_are_those_of_each_alone() -> None:
    model = Float64Tiny()
    index = Index(Dfa.from_regex("[a-z]{1,12}( [a-z]{1,12}){2}"), model.vocabulary)
    tasks: list[dict[str, Any]] = [
        {"prompt": prompt, "sampler": Sampler(temperature=1.0, seed=number), "max_tokens": 30, **more}
        for number, prompt in enumerate(some_of(DEMONSTRATION_PROMPTS, 5))
        for more in ({}, {"index": index}, {"banned": BannedWords(["the", "e*"])})
    ]
    alone = [generate(model, **task) for task in tasks]
    found = {
        number: event.result
        for number, event in drive_batch((prepare(model, **task) for task in tasks), batch_of(model, 7), 7)
        if isinstance(event, Finished)
    }
    assert [_without_last_digits(found[number]) for number in range(len(tasks))] == list(
        map(_without_last_digits, alone)
    )


def _without_last_digits(result: Result) -> Result:
    """Two forward passes add up in another order, so that probabilities differ by rounding."""
    rollbacks = tuple(replace(one, probability=round(one.probability or 0, 9)) for one in result.rollbacks)
    return replace(result, rollbacks=rollbacks)


class TestLoading:
    @pytest.mark.parametrize("options", [{}, {"device": "cpu"}, {"dtype": "float32"}, {"offline": True}])
    def test_without_torch(self, options: dict[str, Any]) -> None:
        assert isinstance(load_model("tiny", **options), TinyModel)

    def test_in_another_precision_with_transformers(self) -> None:
        import torch

        found = load_model("tiny", dtype="bfloat16", device="cpu")
        assert isinstance(found, TransformersModel)
        assert found.name == "tiny"
        assert found.model.dtype == torch.bfloat16

    def test_by_its_directory_with_transformers(self) -> None:
        assert isinstance(load_model(DIRECTORY), TransformersModel)
