"""Small models with random weights, each as a transformers model and as a GGUF file."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.models.gguf_files import write_gguf
from tests.support.models.gguf_tokenizers import SPLITS
from tests.support.models.random_models import TOKENIZERS, random_model

END_TOKENS = {
    "gpt2": ["<|endoftext|>"], "llama3": ["<|end_of_text|>", "<|eot_id|>"], "qwen": ["<|endoftext|>", "<|im_end|>"],
    "llama2": ["</s>"], "gemma2": ["<eos>"],
}  # fmt: skip
"""The tokens that llama.cpp takes for end tokens, by their names: those that models of the family name, too."""


@dataclass(frozen=True)
class Pair:
    """One model, twice.

    Attributes:
        directory: As transformers reads it.
        file: As llama.cpp does.
    """

    directory: Path
    file: Path


def pair(architecture: str, tokenizer: str, folder: Path, *, template: str = "", **changes: Any) -> Pair:
    """Write a model twice.

    Args:
        architecture: One of ``random_models.ARCHITECTURES`` that ``gguf_files`` knows.
        tokenizer: One of ``END_TOKENS``.
        folder: Where to.
        template: A chat template.
        changes: Of the model's configuration.
    """
    import transformers

    from sfgen.vocabulary.pretrained import quiet_transformers

    directory = folder / f"{architecture}-{tokenizer}"
    with quiet_transformers():
        loaded: Any = transformers.AutoTokenizer.from_pretrained(TOKENIZERS / tokenizer)
        ends = [loaded.convert_tokens_to_ids(token) for token in END_TOKENS[tokenizer]]
        settings = {"vocab_size": len(loaded) + 3, "bos_token_id": loaded.bos_token_id, "eos_token_id": ends, **changes}
        random_model(architecture, **settings).save_pretrained(directory)
    for file in (TOKENIZERS / tokenizer).iterdir():
        shutil.copy(file, directory)
    if template:
        (directory / "chat_template.jinja").write_text(template, encoding="utf-8")
    file = directory.with_suffix(".gguf")
    return Pair(directory, write_gguf(directory, file, split=SPLITS.get(tokenizer, "")))
