"""Any transformers model: the cached session against reading everything again, and what can go wrong."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sfgen import BannedWords, Dfa, Index, Vocabulary, generate, load_model
from sfgen.decoding.protocols import Scores
from sfgen.errors import ModelError, SfgenError, VocabularyError
from sfgen.models.transformers_model import TransformersModel

ARCHITECTURES = ["gpt2", "llama", "mistral", "gemma2", "qwen3", "mamba", "openai-gpt"]
ModelDirectory = Callable[..., Path]


@pytest.fixture(scope="module", params=ARCHITECTURES)
def model(request: pytest.FixtureRequest, model_directory: ModelDirectory) -> TransformersModel:
    return TransformersModel(model_directory(request.param))


class Forgetful:
    """The oracle: reads everything again at each question."""

    def __init__(self, model: TransformersModel) -> None:
        self.inner, self.vocabulary, self.encode = model, model.vocabulary, model.encode

    def session(self) -> ForgetfulSession:
        return ForgetfulSession(self.inner.model)


class ForgetfulSession:
    def __init__(self, model: Any) -> None:
        self.model = model
        self.tokens: list[int] = []

    def extend(self, token_ids: Sequence[int]) -> Scores:
        import torch

        self.tokens += token_ids
        with torch.inference_mode():
            logits = self.model(input_ids=torch.tensor([self.tokens]), use_cache=False).logits[0, -1]
        scores: Scores = logits.float().numpy()
        return scores

    def rewind(self, length: int) -> None:
        del self.tokens[length:]


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(st.tuples(st.integers(1, 4), st.integers(0, 6)), min_size=1, max_size=8), seed=st.integers(0, 99))
def test_a_session_equals_reading_everything_again(
    model: TransformersModel, steps: list[tuple[int, int]], seed: int
) -> None:
    cached, oracle, length = model.session(), ForgetfulSession(model.model), 0
    generator = np.random.default_rng(seed)
    for count, back in steps:
        tokens = generator.integers(0, len(model.vocabulary), count).tolist()
        np.testing.assert_allclose(cached.extend(tokens), oracle.extend(tokens), rtol=1e-3, atol=1e-3)
        length = max(0, length + count - back)
        cached.rewind(length)
        oracle.rewind(length)


@pytest.mark.parametrize("pattern", [r"[a-z]{2,6}( [a-z]{1,4}){3}\.", r'\{"n":(\d{1,3}|"[A-Z]+")\}'])
def test_guided_text_equals_that_of_the_oracle(model: TransformersModel, pattern: str) -> None:
    index = Index(Dfa.from_regex(pattern), model.vocabulary)
    result = generate(model, "It is", index=index, max_tokens=40)
    assert re.fullmatch(pattern, result.text, re.ASCII)
    assert result == generate(Forgetful(model), "It is", index=index, max_tokens=40)


def test_rollback_gives_what_the_oracle_gives(model: TransformersModel) -> None:
    free = generate(model, "It is", max_tokens=12)
    words = sorted(set(re.findall(r"\w+", free.text)), key=free.text.index)[:3]
    if not words:
        pytest.skip(f"the random model writes no words: {free.text!r}")
    banned = BannedWords(words, match="substring")
    result, expected = (generate(each, "It is", banned=banned, max_tokens=12) for each in (model, Forgetful(model)))
    assert result.rollbacks
    assert (result.text, result.token_ids) == (expected.text, expected.token_ids)
    assert [event.token_ids for event in result.rollbacks] == [event.token_ids for event in expected.rollbacks]


def test_rows_beyond_the_tokenizer_are_never_chosen(model_directory: ModelDirectory) -> None:
    padded = TransformersModel(model_directory("llama", rows=1500))
    assert len(padded.vocabulary) == 1500
    assert set(padded.vocabulary.tokens[len(padded._tokenizer) :]) == {None}
    for seed in range(3):
        result = generate(padded, [seed + 5], max_tokens=20)
        assert all(padded.vocabulary.tokens[token] for token in result.token_ids)


def test_a_model_with_fewer_rows_than_tokens(model_directory: ModelDirectory) -> None:
    small = TransformersModel(model_directory("gpt2", rows=300))
    assert len(small.vocabulary) == 300
    with pytest.raises(ModelError, match="knows only 300"):
        small.encode("It is the morning of a wonderful day, they said.")


def test_all_end_tokens_of_the_generation_configuration_count(model_directory: ModelDirectory, tmp_path: Path) -> None:
    directory = shutil.copytree(model_directory("llama"), tmp_path / "model")
    configuration = json.loads((directory / "generation_config.json").read_text())
    (directory / "generation_config.json").write_text(json.dumps(configuration | {"eos_token_id": [3, 1]}))
    assert TransformersModel(directory).vocabulary.end_token_ids == (1, 3)


@pytest.mark.parametrize(
    ("architecture", "rows"), [*((name, 0) for name in ARCHITECTURES), ("llama", 1500), ("gpt2", 300)]
)
def test_a_directory_and_its_model_have_one_vocabulary(
    model_directory: ModelDirectory, architecture: str, rows: int
) -> None:
    directory = model_directory(architecture, rows=rows)
    assert Vocabulary.from_pretrained(directory) == TransformersModel(directory).vocabulary


def test_an_index_over_the_vocabulary_of_a_directory_fits_its_model(
    model_directory: ModelDirectory, tmp_path: Path
) -> None:
    directory = shutil.copytree(model_directory("llama", rows=1500), tmp_path / "model")
    (directory / "generation_config.json").write_text(json.dumps({"eos_token_id": [801, 804]}))
    index = Index(Dfa.from_regex("[a-c]{5}"), Vocabulary.from_pretrained(directory))
    assert re.fullmatch("[a-c]{5}", generate(load_model(directory), "It is", index=index).text)


def test_the_begin_token_is_not_doubled(model_directory: ModelDirectory) -> None:
    llama = TransformersModel(model_directory("llama"))
    begin = llama._tokenizer.bos_token
    ids = llama.encode("It is")
    assert ids[0] == llama._tokenizer.bos_token_id
    assert llama.encode(begin + "It is") == ids
    assert llama.encode("") == ids[:1]


def test_the_empty_prompt_starts_from_the_end_token_where_there_is_no_begin_token(
    model_directory: ModelDirectory,
) -> None:
    gpt2 = TransformersModel(model_directory("gpt2"))
    assert gpt2.encode("") == [gpt2._tokenizer.bos_token_id or gpt2._tokenizer.eos_token_id]


def test_a_text_longer_than_the_context(model_directory: ModelDirectory) -> None:
    gpt2 = TransformersModel(model_directory("gpt2"))
    with pytest.raises(ModelError, match="129 tokens, its context holds 128"):
        gpt2.session().extend([5] * 129)


def test_index_and_model_have_the_same_vocabulary(model_directory: ModelDirectory) -> None:
    first, second = (load_model(model_directory("gemma2")).vocabulary for _ in range(2))
    assert first.fingerprint == second.fingerprint


@pytest.mark.parametrize(
    ("missing", "error", "message"),
    [
        ("config.json", ModelError, "has no config.json"),
        ("model.safetensors", ModelError, "cannot load the weights"),
        ("tokenizer.json", VocabularyError, "no tokenizer"),
    ],
)
def test_an_incomplete_directory(
    model_directory: ModelDirectory, tmp_path: Path, missing: str, error: type[SfgenError], message: str
) -> None:
    directory = shutil.copytree(model_directory("gpt2"), tmp_path / "model")
    (directory / missing).unlink()
    if missing == "tokenizer.json":
        (directory / "tokenizer_config.json").unlink()
    with pytest.raises(error, match=message) as caught:
        load_model(directory).session()
    assert caught.value.hint
    assert "\n" not in caught.value.message


@pytest.mark.parametrize("file", ["config.json", "model.safetensors"])
def test_a_damaged_directory(model_directory: ModelDirectory, tmp_path: Path, file: str) -> None:
    directory = shutil.copytree(model_directory("gpt2"), tmp_path / "model")
    (directory / file).write_bytes((directory / file).read_bytes()[:100])
    with pytest.raises(ModelError) as caught:
        load_model(directory).session()
    assert "\n" not in caught.value.message


@pytest.mark.parametrize("name", ["/no/such/directory", "no-such-model", "nobody/no-such-model", "./missing", ""])
def test_no_such_model(name: str) -> None:
    with pytest.raises(ModelError, match="no model"):
        load_model(name)


@pytest.mark.parametrize(("option", "value"), [("device", "toaster"), ("dtype", "float7"), ("device", "cuda:99")])
def test_impossible_devices_and_types(model_directory: ModelDirectory, option: str, value: str) -> None:
    with pytest.raises(ModelError):
        load_model(model_directory("gpt2"), **{option: value}).session()  # type: ignore[arg-type]


def test_half_precision_gives_scores_too(model_directory: ModelDirectory) -> None:
    model = load_model(model_directory("llama"), dtype="bfloat16")
    index = Index(Dfa.from_regex("[a-c]{5}"), model.vocabulary)
    assert re.fullmatch("[a-c]{5}", generate(model, "It is", index=index).text)


def test_a_vocabulary_is_enough_for_an_index(model_directory: ModelDirectory, tmp_path: Path) -> None:
    directory = shutil.copytree(model_directory("gpt2"), tmp_path / "model")
    (directory / "model.safetensors").unlink()
    assert isinstance(load_model(directory).vocabulary, Vocabulary)
