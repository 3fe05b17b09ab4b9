"""Choices scored by real sessions, each as if its text were read anew; in batches, in GGUF files, after a chat."""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.oracles.scored_choices import logprob_of
from tests.support.models.gguf import Pair
from tests.support.running.installed import needs_package

import sfgen
from sfgen import ChoiceScore, Job
from sfgen.models.gguf.model import GgufModel
from sfgen.models.transformers_model import TransformersModel
from sfgen.protocols import Model

CHOICES = ["hot", "hotel", " cold", "colder than that", "é", ""]
PROMPTS = ["It is ", "It is", "the weather and the"]
ARCHITECTURES = ["gpt2", "llama", "gemma2", "mamba", "openai-gpt"]
TEMPLATE = "{% for m in messages %}[{{ m['role'] }}] {{ m['content'] }}\n{% endfor %}[assistant]"
FLOAT32 = 2e-4


def assert_by_definition(model: Model, prompt: str | list[int], found: list[ChoiceScore]) -> None:
    """Each is what its tokens are worth, read from the start."""
    known = model.encode(prompt) if isinstance(prompt, str) else prompt
    before = b"".join(model.vocabulary.tokens[token] or b"" for token in known)
    assert sorted(one.text for one in found) == sorted(CHOICES)
    assert abs(math.fsum(one.probability for one in found) - 1) < 1e-12
    for one in found:
        written = b"".join(model.vocabulary.tokens[token] or b"" for token in one.tokens)
        end = before + one.text.encode()
        assert end.endswith(written)
        root = known
        while b"".join(model.vocabulary.tokens[token] or b"" for token in root) + written != end:
            root = root[:-1]
        assert math.isclose(one.logprob, logprob_of(model, root, one.tokens), rel_tol=FLOAT32, abs_tol=FLOAT32)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_transformers(model_directory: Callable[..., Path], architecture: str) -> None:
    model = TransformersModel.from_pretrained(model_directory(architecture), device="cpu")
    for prompt in PROMPTS:
        assert_by_definition(model, prompt, sfgen.score(model, prompt, CHOICES))


@pytest.mark.parametrize("architecture", ["gpt2", "llama", "mamba"])
def test_many_prompts_together(model_directory: Callable[..., Path], architecture: str) -> None:
    """A batch of its own, or a session for each prompt."""
    model = TransformersModel.from_pretrained(model_directory(architecture), device="cpu")
    job = Job(model, choices=CHOICES)
    for record in sfgen.job_records(job, PROMPTS, batch_size=3):
        alone = {one.text: one for one in sfgen.score(model, record["prompt"], CHOICES)}
        for one in record["scores"]:
            assert tuple(one["tokens"]) == alone[one["text"]].tokens
            assert math.isclose(one["logprob"], alone[one["text"]].logprob, rel_tol=FLOAT32, abs_tol=FLOAT32)


def test_after_a_chat(model_directory: Callable[..., Path], tmp_path: Path) -> None:
    directory = shutil.copytree(model_directory("llama"), tmp_path / "chat")
    (directory / "chat_template.jinja").write_text(TEMPLATE, encoding="utf-8")
    model = TransformersModel.from_pretrained(directory, device="cpu")
    prompt = model.chat("Is it hot?")
    found = sfgen.score(model, prompt, CHOICES)
    assert_by_definition(model, prompt, found)
    (record,) = sfgen.job_records(Job(model, choices=CHOICES, chat=True), ["Is it hot?"])
    assert [one["logprob"] for one in record["scores"]] == [one.logprob for one in found]
    assert record["prompt_tokens"] == len(prompt)


@needs_package("llama_cpp")
@pytest.mark.parametrize("kind", ["llama-bpe", "llama-spm", "mamba"])
def test_gguf(gguf_pair: Callable[[str], Pair], kind: str) -> None:
    made = gguf_pair(kind)
    ours, theirs = (
        GgufModel(made.file),
        TransformersModel.from_pretrained(made.directory, device="cpu", dtype="float32"),
    )
    for prompt in PROMPTS:
        found = sfgen.score(ours, prompt, CHOICES)
        assert_by_definition(ours, prompt, found)
        expected = {one.text: one for one in sfgen.score(theirs, prompt, CHOICES)}
        for one in found:
            assert one.tokens == expected[one.text].tokens
            assert math.isclose(one.logprob, expected[one.text].logprob, rel_tol=1e-2, abs_tol=1e-2)


@needs_package("llama_cpp")
def test_gguf_together(gguf_pair: Callable[[str], Pair]) -> None:
    model = GgufModel(gguf_pair("llama-bpe").file)
    for record in sfgen.job_records(Job(model, choices=CHOICES), PROMPTS, batch_size=2):
        alone = {one.text: one.logprob for one in sfgen.score(model, record["prompt"], CHOICES)}
        for one in record["scores"]:
            assert math.isclose(one["logprob"], alone[one["text"]], rel_tol=1e-3, abs_tol=1e-3)


@pytest.mark.parametrize("name", ["tiny", "uniform"])
def test_small_models(name: str) -> None:
    model = sfgen.load_model(name)
    choices = [choice for choice in CHOICES if name == "tiny" or choice.isascii()]
    for prompt in PROMPTS:
        found = sfgen.score(model, prompt, choices)
        for one in found:
            root = model.encode(prompt + one.text)[: -len(one.tokens)] if one.tokens else model.encode(prompt)
            assert math.isclose(one.logprob, logprob_of(model, root, one.tokens), rel_tol=FLOAT32, abs_tol=FLOAT32)


def test_a_compressor(tmp_path: Path) -> None:
    (tmp_path / "log.txt").write_text("ishmael went to sea with a captain who wanted vengeance against moby dick.")
    model = sfgen.load_model(f"zip:{tmp_path / 'log.txt'}")
    found = sfgen.score(model, "Ahab is seeking vengeance against", ["ishmael", "moby dick"])
    root = model.encode("Ahab is seeking vengeance against")
    for one in found:
        assert math.isclose(one.logprob, logprob_of(model, root, one.tokens), rel_tol=1e-6)
