"""The guides in somebody else's loop: logits processors of transformers and of llama-cpp-python, on the real model."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.oracles.banned_text import banned_words_in
from tests.support.real.circumstances import TALK, TAPESTRY
from tests.support.real.model import DIRECTORY, FILE, gguf_model, needs_directory, needs_file, transformers_model
from tests.support.running.tried import some_of

from sfgen import BannedWords, Dfa, Index, JsonSchema, generate

pytestmark = needs_file()

WORDS = ["talk", "listen", "tapestry"]
LIMIT = 12


# ---- llama-cpp-python ----------------------------------------------------------------------------------------------


class Guided:
    """A processor as somebody would write it around a guide: for one text."""

    def __init__(self, index: Index, prompt_length: int, max_tokens: int) -> None:
        self.guide: Any = index.guide(max_tokens)
        self.prompt_length, self.seen = prompt_length, 0

    def __call__(self, ids: NDArray[np.intc], scores: NDArray[np.single]) -> NDArray[np.single]:
        for token in ids[self.prompt_length + self.seen :].tolist():
            self.guide.advance(token)
            self.seen += 1
        allowed = self.guide.allowed_tokens()
        masked = np.full_like(scores, -np.inf)
        masked[allowed] = scores[allowed]
        return masked


@pytest.fixture(scope="module")
def llama() -> Any:
    """The model as llama-cpp-python runs it by itself."""
    import llama_cpp

    return llama_cpp.Llama(str(FILE), n_ctx=256, n_threads=1, n_threads_batch=1, verbose=False, logits_all=False)


def completed(llama: Any, prompt: str, processor: Any, max_tokens: int) -> str:
    from llama_cpp import LogitsProcessorList

    done = llama.create_completion(
        prompt, max_tokens=max_tokens, temperature=0.0, logits_processor=LogitsProcessorList([processor])
    )
    return str(done["choices"][0]["text"])


@pytest.mark.parametrize(
    ("prompt", "constraint"),
    [
        ("The capital of France is", Dfa.from_regex(" (a|the) [a-z]{4,9} city")),
        ("The first Moon landing was in", Dfa.from_regex(" (19|20)[0-9]{2}")),
        (
            "A city as JSON:",
            JsonSchema(
                {"type": "object", "properties": {"name": {"type": "string", "maxLength": 9}}, "required": ["name"]}
            ),
        ),
    ],
    ids=["words", "year", "schema"],
)
def test_a_guide_in_llama_cpps_own_loop(llama: Any, prompt: str, constraint: Any) -> None:
    """The text matches, and is what sfgen writes if it skips nothing."""
    model = gguf_model()
    index = Index(constraint, model.vocabulary)
    prompt_length = len(llama.tokenize(prompt.encode(), add_bos=True, special=True))
    text = completed(llama, prompt, Guided(index, prompt_length, LIMIT), LIMIT)
    assert index.accepts(text.encode())
    assert text == generate(model, prompt, index=index, max_tokens=LIMIT, fast_forward=False).text


@pytest.mark.parametrize("prompt", [TALK, TAPESTRY])
def test_a_ban_in_llama_cpps_own_loop(llama: Any, prompt: str) -> None:
    """The processor of transformers, handed numpy arrays of one row."""
    import torch

    from sfgen.integrations.transformers import BannedWordsLogitsProcessor

    model = gguf_model()
    processor = BannedWordsLogitsProcessor(WORDS, model.vocabulary, max_tokens=LIMIT)

    def one_row(ids: NDArray[np.intc], scores: NDArray[np.single]) -> NDArray[np.single]:
        masked = processor(torch.from_numpy(np.array(ids, np.int64))[None], torch.from_numpy(scores.copy())[None])
        return np.asarray(masked[0].numpy())

    free = completed(llama, prompt, lambda ids, scores: scores, LIMIT)
    assert banned_words_in(free, WORDS)
    assert free == generate(model, prompt, max_tokens=LIMIT).text
    text = completed(llama, prompt, one_row, LIMIT)
    assert not banned_words_in(text, WORDS, prompt=prompt)
    assert text == generate(model, prompt, banned=WORDS, strategy="mask", max_tokens=LIMIT).text


# ---- transformers --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def theirs() -> tuple[Any, Any]:
    """The model of transformers, and its tokenizer."""
    from transformers import AutoTokenizer

    loaded: Any = AutoTokenizer.from_pretrained(DIRECTORY, padding_side="left")
    return transformers_model().model, loaded


def written(theirs: tuple[Any, Any], prompts: Sequence[str], processor: Any, **options: Any) -> list[str]:
    model, tokenizer = theirs
    inputs = tokenizer(list(prompts), return_tensors="pt", padding=True)
    options = {"do_sample": False, "max_new_tokens": LIMIT, **options}
    ids = model.generate(**inputs, logits_processor=[processor] if processor else [], **options)
    texts: list[str] = tokenizer.batch_decode(ids[:, inputs["input_ids"].shape[1] :], skip_special_tokens=True)
    return texts


class TestTransformers:
    """The processors in ``generate``: batches, beams, sampling."""

    pytestmark = needs_directory()

    OPTIONS: tuple[dict[str, Any], ...] = (
        {},
        {"num_beams": 3, "num_return_sequences": 3},
        {"do_sample": True, "temperature": 1.3},
    )

    @pytest.mark.parametrize("options", OPTIONS, ids=str)
    def test_no_banned_word_comes_out(self, theirs: tuple[Any, Any], options: dict[str, Any]) -> None:
        import torch

        from sfgen.integrations.transformers import BannedWordsLogitsProcessor

        torch.manual_seed(0)
        prompts = [TALK, TAPESTRY]
        free = written(theirs, prompts, None)
        assert all(banned_words_in(text, WORDS) for text in free)
        vocabulary = transformers_model().vocabulary
        processor = BannedWordsLogitsProcessor(BannedWords(WORDS), vocabulary, max_tokens=LIMIT)
        texts = written(theirs, prompts, processor, **options)
        each = len(texts) // len(prompts)
        for number, text in enumerate(texts):
            assert not banned_words_in(text, WORDS, prompt=prompts[number // each])
        if not options:
            for prompt, text in zip(prompts, texts, strict=True):
                ours = generate(transformers_model(), prompt, banned=WORDS, strategy="mask", max_tokens=LIMIT)
                assert ours.text == text

    @pytest.mark.parametrize("options", OPTIONS, ids=str)
    def test_texts_match(self, theirs: tuple[Any, Any], options: dict[str, Any]) -> None:
        import torch

        from sfgen.integrations.transformers import GuidedLogitsProcessor

        torch.manual_seed(0)
        vocabulary = transformers_model().vocabulary
        regex = r" (a|the) [a-z]{3,9} (city|place|planet)"
        processor = GuidedLogitsProcessor(Index(Dfa.from_regex(regex), vocabulary), banned=["city"], max_tokens=LIMIT)
        prompts = ["The capital of France is", "Jupiter is"]
        for text in written(theirs, prompts, processor, **options):
            assert re.fullmatch(regex, text)
            assert "city" not in text

    def test_a_schema(self, theirs: tuple[Any, Any]) -> None:
        from sfgen.integrations.transformers import GuidedLogitsProcessor

        index = Index(JsonSchema("name, age int"), transformers_model().vocabulary)
        processor = GuidedLogitsProcessor(index, max_tokens=40)
        for text in written(theirs, ["A person as JSON:", "Ada Lovelace, 36:"], processor, max_new_tokens=40):
            assert set(json.loads(text)) == {"name", "age"}

    def test_both_engines_ban_alike(self) -> None:
        """The float32 copy and the quantised file keep the same promise by each strategy."""
        for strategy in some_of(["resample", "mask", "first-token", "exact"], 4):
            for prompt in (TALK, TAPESTRY):
                named: dict[str, Any] = {"banned": WORDS, "strategy": strategy, "max_tokens": 8, "temperature": 0.7}
                result = generate(transformers_model(), prompt, seed=2, **named)
                assert not banned_words_in(result.text, WORDS, prompt=prompt)
