"""Whole transformers models from directories: guided text, rollbacks, and the vocabulary that goes with them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.models.random_models import random_model
from tests.support.models.sessions import Forgetful

from sfgen import BannedWords, Dfa, Index, Sampler, Vocabulary, generate, load_model
from sfgen.errors import ModelError
from sfgen.models import configuration
from sfgen.models.transformers_model import TransformersModel

ARCHITECTURES = [
    "gpt2", "llama", "mistral", "gemma2", "gemma3", "qwen3", "phi", "phi3", "mamba", "mamba2", "jamba", "openai-gpt",
]  # fmt: skip
ModelDirectory = Callable[..., Path]


@pytest.fixture(scope="module", params=ARCHITECTURES)
def model(request: pytest.FixtureRequest, model_directory: ModelDirectory) -> TransformersModel:
    return TransformersModel.from_pretrained(model_directory(request.param))


class TestGuidedText:
    @pytest.mark.parametrize("pattern", [r"[a-z]{2,6}( [a-z]{1,4}){3}\.", r'\{"n":(\d{1,3}|"[A-Z]+")\}'])
    @pytest.mark.parametrize("sampler", [Sampler(), Sampler(temperature=1.0, seed=4)], ids=["greedy", "sampled"])
    def test_equals_that_of_the_oracle(self, model: TransformersModel, pattern: str, sampler: Sampler) -> None:
        index = Index(Dfa.from_regex(pattern), model.vocabulary)
        result = generate(model, "It is", index=index, sampler=sampler, max_tokens=40)
        expected = generate(Forgetful(model), "It is", index=index, sampler=sampler, max_tokens=40)
        assert re.fullmatch(pattern, result.text, re.ASCII)
        assert (result.text, result.token_ids, result.finish_reason) == (
            expected.text,
            expected.token_ids,
            expected.finish_reason,
        )

    def test_rollbacks_are_those_of_the_oracle(self, model: TransformersModel) -> None:
        free = generate(model, "It is", max_tokens=12)
        words = sorted(set(re.findall(r"\w+", free.text)), key=free.text.index)[:3]
        if not words:
            pytest.skip(f"the random model writes no words: {free.text!r}")
        banned = BannedWords(words, match="substring")
        result, expected = (generate(each, "It is", banned=banned, max_tokens=12) for each in (model, Forgetful(model)))
        assert result.rollbacks
        assert (result.text, result.token_ids) == (expected.text, expected.token_ids)
        assert [event.token_ids for event in result.rollbacks] == [event.token_ids for event in expected.rollbacks]

    @pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
    def test_in_every_type(self, model_directory: ModelDirectory, dtype: str) -> None:
        import torch

        model = load_model(model_directory("llama"), dtype=dtype, device="cpu")
        assert isinstance(model, TransformersModel)
        index = Index(Dfa.from_regex("[a-c]{5}"), model.vocabulary)
        assert re.fullmatch("[a-c]{5}", generate(model, "It is", index=index).text)
        assert {weight.dtype for weight in model.model.parameters()} == {getattr(torch, dtype)}

    def test_a_checkpoint_in_half_precision_is_float32_on_a_cpu(
        self, model_directory: ModelDirectory, tmp_path: Path
    ) -> None:
        import torch

        TransformersModel.from_pretrained(
            model_directory("llama"), dtype="bfloat16", device="cpu"
        ).model.save_pretrained(tmp_path)
        for name in ("tokenizer.json", "tokenizer_config.json"):
            shutil.copy(model_directory("llama") / name, tmp_path)
        assert TransformersModel.from_pretrained(tmp_path, device="cpu").model.dtype == torch.float32

    def test_scores_that_are_no_numbers(self, model_directory: ModelDirectory, tmp_path: Path) -> None:
        from safetensors.torch import load_file, save_file

        directory = shutil.copytree(model_directory("llama"), tmp_path / "model")
        weights = load_file(directory / "model.safetensors")
        weights["model.norm.weight"] *= float("nan")
        save_file(weights, directory / "model.safetensors", metadata={"format": "pt"})
        model = load_model(directory)
        for index in (None, Index(Dfa.from_regex("[a-c]{5}"), model.vocabulary)):
            with pytest.raises(ModelError, match="NaN") as caught:
                generate(model, "It is", index=index)
            assert caught.value.hint
            assert "\n" not in caught.value.message


class TestVocabulary:
    def test_rows_beyond_the_tokenizer_are_never_chosen(self, model_directory: ModelDirectory) -> None:
        padded, plain = (TransformersModel.from_pretrained(model_directory("llama", rows=rows)) for rows in (1500, 0))
        assert len(padded.vocabulary) == 1500
        assert set(padded.vocabulary.tokens[len(plain.vocabulary) :]) == {None}
        # The output layer likes nothing better than a row without a token.
        rows = padded.model.get_output_embeddings().weight
        rows.data[len(plain.vocabulary) :] *= 40
        index = Index(Dfa.from_regex("(?s).{0,60}"), padded.vocabulary)
        for seed in range(3):
            assert padded.session().extend([seed + 5]).argmax() >= len(plain.vocabulary)
            for guide in (index, None):
                result = generate(padded, [seed + 5], index=guide, max_tokens=60)
                assert all(padded.vocabulary.tokens[token] for token in result.token_ids)
                sampled = generate(padded, [seed + 5], index=guide, sampler=Sampler(1.0, seed), max_tokens=60)
                assert all(padded.vocabulary.tokens[token] for token in sampled.token_ids)

    def test_fewer_rows_than_tokens(self, model_directory: ModelDirectory) -> None:
        small = TransformersModel.from_pretrained(model_directory("gpt2", rows=300))
        index = Index(Dfa.from_regex("[a-z]{3,9}"), small.vocabulary)
        assert re.fullmatch("[a-z]{3,9}", generate(small, [5], index=index).text)

    def test_all_end_tokens_of_all_files_count(self, model_directory: ModelDirectory, tmp_path: Path) -> None:
        directory = shutil.copytree(model_directory("llama"), tmp_path / "model")
        configuration = json.loads((directory / "generation_config.json").read_text())
        (directory / "generation_config.json").write_text(json.dumps(configuration | {"eos_token_id": [3, 1, -1]}))
        model = TransformersModel.from_pretrained(directory)
        assert model.vocabulary.end_token_ids == (
            1,
            3,
            json.loads((directory / "config.json").read_text())["eos_token_id"],
        )

    @pytest.mark.parametrize(("name", "rows"), [*((name, 0) for name in ARCHITECTURES), ("llama", 1500), ("gpt2", 300)])
    @pytest.mark.parametrize("generation", [None, {}, {"eos_token_id": [3, 5]}], ids=str)
    def test_a_directory_and_its_model_have_one_vocabulary(
        self, model_directory: ModelDirectory, tmp_path: Path, name: str, rows: int, generation: dict[str, Any] | None
    ) -> None:
        directory = shutil.copytree(model_directory(name, rows=rows), tmp_path / "model")
        (directory / "generation_config.json").unlink(missing_ok=True)
        if generation is not None:
            (directory / "generation_config.json").write_text(json.dumps(generation))
        vocabulary, model = Vocabulary.from_pretrained(directory), TransformersModel.from_pretrained(directory)
        assert vocabulary.fingerprint == model.vocabulary.fingerprint
        assert vocabulary == model.vocabulary

    def test_an_index_over_the_vocabulary_of_a_directory_fits_its_model(
        self, model_directory: ModelDirectory, tmp_path: Path
    ) -> None:
        directory = shutil.copytree(model_directory("llama", rows=1500), tmp_path / "model")
        (directory / "generation_config.json").write_text(json.dumps({"eos_token_id": [801, 804]}))
        index = Index(Dfa.from_regex("[a-c]{5}"), Vocabulary.from_pretrained(directory))
        assert re.fullmatch("[a-c]{5}", generate(load_model(directory), "It is", index=index).text)

    def test_a_vocabulary_needs_no_weights(self, model_directory: ModelDirectory, tmp_path: Path) -> None:
        directory = shutil.copytree(model_directory("gpt2"), tmp_path / "model")
        size = TransformersModel.from_pretrained(directory).weights_size
        assert size == (directory / "model.safetensors").stat().st_size
        (directory / "model.safetensors").unlink()
        model = TransformersModel.from_pretrained(directory)
        assert isinstance(model.vocabulary, Vocabulary)
        assert model.weights_size is None


def test_a_model_that_also_sees_pictures(model_directory: ModelDirectory, tmp_path: Path) -> None:
    import transformers

    plain = TransformersModel.from_pretrained(model_directory("llama"))
    vision: dict[str, Any] = {"num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    config = transformers.LlavaConfig(
        text_config=plain.model.config,
        vision_config=transformers.CLIPVisionConfig(**vision, hidden_size=16, image_size=28, patch_size=14),
        image_token_index=3,
    )
    shutil.copytree(model_directory("llama"), tmp_path / "model")
    auto: Any = transformers.AutoModelForImageTextToText  # untyped
    auto.from_config(config).save_pretrained(tmp_path / "model")
    model = TransformersModel.from_pretrained(tmp_path / "model")
    assert model.context_length == 128
    assert model.vocabulary.tokens == plain.vocabulary.tokens
    index = Index(Dfa.from_regex("[a-z]{3,9}( [0-9]{1,3})?"), model.vocabulary)
    assert re.fullmatch("[a-z]{3,9}( [0-9]{1,3})?", generate(model, "It is", index=index).text)
    session, oracle = model.session(), Forgetful(model).session()
    for each in (session, oracle):
        each.extend([5, 6, 7, 8])
        each.rewind(2)
    np.testing.assert_allclose(session.extend([9, 10]), oracle.extend([9, 10]), rtol=1e-3, atol=1e-5)


class TestContextLength:
    @pytest.mark.parametrize(
        ("name", "changes", "expected"),
        [
            ("gpt2", {}, 128),  # n_positions
            ("openai-gpt", {}, 128),
            ("gptj", {}, 128),
            ("llama", {}, 128),
            ("mistral", {}, 128),  # not its window
            ("gemma3", {}, 128),
            ("opt", {}, 128),
            ("mpt", {}, 128),  # max_seq_len
            ("bloom", {}, None),
            ("bloom", {"seq_length": 64}, 64),
            ("mamba", {}, None),
            ("mamba2", {}, None),
            ("rwkv", {}, None),
            ("recurrent-gemma", {}, None),
            ("llama", {"rope_parameters": {"rope_type": "dynamic", "factor": 4.0, "rope_theta": 1e4}}, 512),
            ("llama", {"rope_parameters": {"rope_type": "yarn", "factor": 4.0, "rope_theta": 1e4}}, 512),
            (
                "llama",
                {"rope_parameters": {"rope_type": "yarn", "factor": 4.0, "rope_theta": 1e4,
                                     "original_max_position_embeddings": 32}},
                128,
            ),
            ("llama", {"rope_parameters": {"rope_type": "linear", "factor": 4.0, "rope_theta": 1e4}}, 128),
            (
                "llama",
                {"rope_parameters": {"rope_type": "llama3", "factor": 8.0, "rope_theta": 1e4, "low_freq_factor": 1.0,
                                     "high_freq_factor": 4.0, "original_max_position_embeddings": 16}},
                128,
            ),
        ],
        ids=str,
    )  # fmt: skip
    def test_of_each_architecture(self, name: str, changes: dict[str, Any], expected: int | None) -> None:
        assert configuration.context_length(random_model(name, **changes).config) == expected

    def test_of_a_model_within_a_model(self) -> None:
        from transformers import Gemma3Config

        assert configuration.context_length(Gemma3Config(text_config={"max_position_embeddings": 77})) == 77

    def test_of_a_configuration_that_complains(self) -> None:
        from transformers import XLNetConfig

        assert configuration.context_length(XLNetConfig()) is None


def test_nothing_is_said_and_nothing_is_written(model_directory: ModelDirectory, tmp_path: Path) -> None:
    """In a process of its own: transformers says many things only once, and not under pytest.

    The place where it keeps its files cannot be written: a model in a directory does not need it.
    """
    program = (
        "import sys; from sfgen import load_model\n"
        "for name in sys.argv[1:]:\n"
        "    model = load_model(name)\n"
        "    model.session().extend(model.encode('It is'))\n"
    )
    (tmp_path / "home").write_text("a file where a directory should be")
    environment = {**os.environ, "HF_HOME": str(tmp_path / "home"), "HOME": str(tmp_path / "home")}
    directories = [str(model_directory(name)) for name in ("gpt2", "mamba2", "jamba", "mistral")]
    run = subprocess.run(
        [sys.executable, "-c", program, *directories], env=environment, capture_output=True, text=True, check=False
    )
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")
