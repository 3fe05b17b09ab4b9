"""Whole texts of a GGUF model in float32: those of the transformers model that it was made of."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest
from tests.oracles.banned_text import BannedText
from tests.support.models.gguf import Pair, write_gguf
from tests.support.running.installed import needs_package

import sfgen
from sfgen import BannedWords, Dfa, Finished, Index, JsonSchema, Result, Sampler, generate
from sfgen.decoding import batch_of, drive_batch, prepare
from sfgen.decoding.rollback_decision import StrategyName
from sfgen.models.gguf.model import GgufModel
from sfgen.models.gguf.session import GgufBatch
from sfgen.models.tiny import DIRECTORY
from sfgen.models.transformers_model import TransformersModel

pytestmark = needs_package("llama_cpp")

STRATEGIES: tuple[StrategyName, ...] = get_args(StrategyName)
WORDS = ["the", "and", "a", "time", "she"]
RECORD = r'\{"name":"[A-Z][a-z]{2,9}","age":[1-9][0-9]\}'
PROMPTS = ["A person: ", "Once upon a time", "The weather is", "Il était", "1, 2, 3,"]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> tuple[GgufModel, TransformersModel]:
    """The embedded model, in llama.cpp and in transformers."""
    file = write_gguf(DIRECTORY, tmp_path_factory.mktemp("tiny") / "tiny-f32")
    return GgufModel(file), TransformersModel.from_pretrained(DIRECTORY, device="cpu")


@pytest.fixture(scope="module")
def quantised(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_gguf(DIRECTORY, tmp_path_factory.mktemp("tiny") / "tiny-q8", numbers="q8_0")


def assert_same(tiny: tuple[GgufModel, TransformersModel], prompt: str, **options: Any) -> Result:
    ours, theirs = (generate(model, prompt, **options) for model in tiny)
    assert ours.token_ids == theirs.token_ids
    assert ours.finish_reason == theirs.finish_reason
    assert [event.token_ids for event in ours.rollbacks] == [event.token_ids for event in theirs.rollbacks]
    return ours


class TestSameTexts:
    @pytest.mark.parametrize("prompt", PROMPTS)
    def test_free(self, tiny: tuple[GgufModel, TransformersModel], prompt: str) -> None:
        assert_same(tiny, prompt, max_tokens=40, sampler=Sampler(0.0))

    @pytest.mark.parametrize("prompt", PROMPTS)
    @pytest.mark.parametrize("temperature", [0.0, 1.0])
    def test_guided(self, tiny: tuple[GgufModel, TransformersModel], prompt: str, temperature: float) -> None:
        index = Index(Dfa.from_regex(RECORD), tiny[0].vocabulary)
        assert_same(tiny, prompt, index=index, sampler=Sampler(temperature, 5))

    def test_by_a_schema(self, tiny: tuple[GgufModel, TransformersModel]) -> None:
        schema = JsonSchema({
            "type": "object",
            "properties": {"name": {"type": "string", "maxLength": 12}, "tags": {"type": "array", "maxItems": 3}},
            "required": ["name", "tags"],
        })  # fmt: skip
        index = Index(schema, tiny[0].vocabulary)
        assert_same(tiny, "A record: ", index=index, sampler=Sampler(0.0), max_tokens=120)
        json.loads(generate(tiny[0], "A record: ", index=index, sampler=Sampler(1.0, 3), max_tokens=200).text)

    @pytest.mark.parametrize("strategy", STRATEGIES)
    @pytest.mark.parametrize("prompt", ["Once upon a time", "One day, a girl"])
    def test_without_banned_words(
        self, tiny: tuple[GgufModel, TransformersModel], prompt: str, strategy: StrategyName
    ) -> None:
        banned, rollbacks = BannedWords(WORDS), 0
        for seed in range(3):
            sampler = Sampler([0.0, 1.0, 1.5][seed], seed)
            written = assert_same(tiny, prompt, banned=banned, strategy=strategy, sampler=sampler, max_tokens=28)
            assert not BannedText(WORDS, "word", prompt.encode()).is_in(written.text.encode())
            rollbacks += len(written.rollbacks)
        assert (rollbacks == 0) == (strategy == "mask")

    def test_together(self, tiny: tuple[GgufModel, TransformersModel]) -> None:
        model = tiny[0]
        banned, index = BannedWords(WORDS), Index(Dfa.from_regex(RECORD), model.vocabulary)
        tasks: list[dict[str, Any]] = [
            {"prompt": prompt, "sampler": Sampler(0.0), "max_tokens": 30} for prompt in PROMPTS
        ]
        tasks[1] |= {"banned": banned}
        tasks[2] |= {"banned": banned, "sampler": Sampler(1.0, 4)}
        tasks[3] |= {"index": index}
        batch = batch_of(model, 3)
        assert isinstance(batch, GgufBatch)
        found = {
            number: event.result.token_ids
            for number, event in drive_batch((prepare(model, **task) for task in tasks), batch, 3)
            if isinstance(event, Finished)
        }
        assert found == {number: generate(model, **task).token_ids for number, task in enumerate(tasks)}


@pytest.mark.parametrize("kind", ["llama-spm", "gemma2", "mamba"])
def test_texts_of_other_kinds(kind: str, gguf_pair: Callable[[str], Pair]) -> None:
    """SentencePiece's tokens, sliding windows, recurrent states: greedy texts with rollbacks."""
    made = gguf_pair(kind)
    ours, theirs = GgufModel(made.file), TransformersModel.from_pretrained(made.directory, device="cpu")
    banned = BannedWords(["e", "th", "in"], match="substring")
    rollbacks = 0
    for prompt in ("She talked", "The river"):
        found, expected = (
            generate(model, prompt, banned=banned, sampler=Sampler(1.0, 3), max_tokens=20, strategy="resample")
            for model in (ours, theirs)
        )
        assert found.token_ids == expected.token_ids
        rollbacks += len(found.rollbacks)
    assert rollbacks


class TestQuantised:
    """Eight bits: other texts than in float32, and just as right."""

    def test_is_close_to_what_it_was(self, tiny: tuple[GgufModel, TransformersModel], quantised: Path) -> None:
        import numpy as np

        model = sfgen.load_model(quantised)
        assert model.vocabulary == tiny[0].vocabulary
        ids = model.encode("The weather is nice today, and")
        found, exact = model.session().extend(ids), tiny[0].session().extend(ids)
        assert np.abs(found - exact).max() < 1
        assert np.abs(found - exact).max() > 1e-3
        assert found.argmax() == exact.argmax()

    def test_writes_what_a_pattern_allows(self, quantised: Path) -> None:
        text = sfgen.generate(sfgen.load_model(quantised), "A person: ", index=RECORD).text
        assert Dfa.from_regex(RECORD).accepts(text)

    def test_a_name_is_enough(self, quantised: Path) -> None:
        assert Dfa.from_regex(RECORD).accepts(sfgen.generate(str(quantised), "A person: ", index=RECORD).text)
