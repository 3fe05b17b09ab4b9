"""Banned words at the beginning of an answer: whoever reads it does not see the prompt of the chat.

The model is asked freely first. The first word of what it writes is then banned, and never stands in the answer again.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest
import torch

import regex
from sfgen import BannedWords, Dfa, Finished, Index, Sampler, generate
from sfgen.decoding import batch_of, drive_batch, prepare
from sfgen.decoding.rollback_decision import StrategyName
from sfgen.integrations.transformers import BannedWordsLogitsProcessor, GuidedLogitsProcessor
from sfgen.models.transformers_model import TransformersModel

STRATEGIES: tuple[StrategyName, ...] = get_args(StrategyName)
QUESTIONS = ["Tell me a story", "We ta", "Hello", "Say yes or no"]
LENGTH = 6

# In the manner of well-known chat templates; none of them has a newline or a space before the answer.
TEMPLATES = {
    "llama": "{% for m in messages %}<|start_header_id|>{{ m.role }}<|end_header_id|>{{ m.content }}<|eot_id|>"
    "{% endfor %}<|start_header_id|>assistant<|end_header_id|>",
    "qwen2": "<|im_start|>system\nYou are kind.<|im_end|>{% for m in messages %}<|im_start|>{{ m.content }}<|im_end|>"
    "{% endfor %}<|im_start|>",
    "gpt2": "{% for m in messages %}{{ m.content }}<|endoftext|>{% endfor %}",
    "mistral": "{{ bos_token }}{% for m in messages %}[INST]{{ m.content }}[/INST]{% endfor %}",
}


@pytest.fixture(params=TEMPLATES)
def model(request: pytest.FixtureRequest, model_directory: Callable[..., Path], tmp_path: Path) -> TransformersModel:
    directory = shutil.copytree(model_directory(request.param), tmp_path / "model")
    (directory / "chat_template.jinja").write_text(TEMPLATES[request.param])
    return TransformersModel.from_pretrained(directory)


def first_words(texts: list[str]) -> list[str]:
    """The first word of each text, of letters only: what else is a word is not to be decided here."""
    found = [regex.search(r"\p{L}+", text) for text in texts]
    return [match[0] for match in found if match]


def has_word(text: str, word: str) -> bool:
    around = r"[\w\p{M}\p{N}]"  # what makes another word of it; a mark belongs to the letter before it
    return regex.search(rf"(?<!{around}){regex.escape(word)}(?!{around})", text, regex.IGNORECASE) is not None


def test_one_answer(model: TransformersModel) -> None:
    seen = 0
    for number, question in enumerate(QUESTIONS):
        prompt = model.chat(question)
        sampler = Sampler(1.0, number)
        for word in first_words([generate(model, prompt, sampler=sampler, max_tokens=LENGTH).text]):
            seen += 1
            for strategy in STRATEGIES:
                result = generate(
                    model,
                    prompt,
                    banned=BannedWords([word]),
                    strategy=strategy,
                    sampler=sampler,
                    max_tokens=LENGTH,
                )
                assert not has_word(result.text, word)
    assert seen


def test_a_match_of_a_pattern(model: TransformersModel) -> None:
    """The words are taken out of its automaton, behind each prompt."""
    index = Index(Dfa.from_regex("[A-Za-z]{1,9}( [a-z]{1,9})?"), model.vocabulary)
    for question in QUESTIONS:
        prompt = model.chat(question)
        (word,) = first_words([generate(model, prompt, index=index, max_tokens=LENGTH).text])
        for strategy in STRATEGIES:
            result = generate(
                model, prompt, index=index, banned=BannedWords([word]), strategy=strategy, max_tokens=LENGTH
            )
            assert index.accepts(result.text.encode())
            assert not has_word(result.text, word)


def test_a_batch(model: TransformersModel) -> None:
    prompts = [model.chat(question) for question in QUESTIONS]

    def write(banned: BannedWords | None) -> list[str]:
        loops = [prepare(model, prompt, banned=banned, max_tokens=LENGTH) for prompt in prompts]
        texts = dict[int, str]()
        for number, event in drive_batch(loops, batch_of(model, len(loops))):
            if isinstance(event, Finished):
                texts[number] = event.result.text
        return [texts[number] for number in range(len(prompts))]

    words = first_words(write(None))
    assert words
    for text in write(BannedWords(words)):
        assert not any(has_word(text, word) for word in words)


@pytest.mark.parametrize("options", [{"do_sample": False}, {"num_beams": 3, "num_return_sequences": 3}])
def test_generate_of_transformers(model: TransformersModel, options: dict[str, Any]) -> None:
    prompts = [model.chat(question) for question in QUESTIONS]
    vocabulary = model.vocabulary
    pad = vocabulary.end_token_ids[0]
    width = max(map(len, prompts))
    ids = torch.tensor([[pad] * (width - len(prompt)) + list(prompt) for prompt in prompts])
    mask = torch.tensor([[0] * (width - len(prompt)) + [1] * len(prompt) for prompt in prompts])

    def write(*processors: Any) -> list[str]:
        rows = model.model.generate(
            input_ids=ids,
            attention_mask=mask,
            max_new_tokens=LENGTH,
            pad_token_id=pad,
            logits_processor=list(processors),
            **options,
        )
        return [
            b"".join(vocabulary.tokens[token] or b"" for token in row[width:]).decode("utf-8", "replace")
            for row in rows.tolist()
        ]

    words = first_words(write())
    assert words
    banned = BannedWords(words)
    index = Index(Dfa.from_regex("[A-Za-z]{1,9}( [a-z]{1,9})?"), vocabulary)
    for processor in (
        BannedWordsLogitsProcessor(banned, vocabulary, max_tokens=LENGTH),
        GuidedLogitsProcessor(index, banned=banned, max_tokens=LENGTH),
    ):
        texts = write(processor)
        assert not [(text, word, processor) for text in texts for word in words if has_word(text, word)], words
