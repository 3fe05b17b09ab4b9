"""Tiny transformers models with random weights, saved as directories, each with a small tokenizer of its family."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

TOKENIZERS = Path(__file__).resolve().parent.parent / "data" / "tokenizers"

_SMALL = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "intermediate_size": 24,
    "max_position_embeddings": 128,
}

ARCHITECTURES: dict[str, tuple[str, str, dict[str, Any]]] = {
    # name: (configuration class, tokenizer, settings)
    "gpt2": ("GPT2Config", "gpt2", {"n_layer": 2, "n_head": 2, "n_embd": 16, "n_positions": 128}),
    "llama": ("LlamaConfig", "llama3", _SMALL),
    "mistral": ("MistralConfig", "llama2", {**_SMALL, "sliding_window": 5}),
    "gemma2": ("Gemma2Config", "gemma2", {**_SMALL, "head_dim": 8, "sliding_window": 5}),
    "qwen3": ("Qwen3Config", "qwen", {**_SMALL, "head_dim": 8}),
    "mamba": ("MambaConfig", "gpt2", {"hidden_size": 16, "num_hidden_layers": 2, "state_size": 4}),
    # Without a cache that can be passed on.
    "openai-gpt": ("OpenAIGPTConfig", "gpt2", {"n_layer": 2, "n_head": 2, "n_embd": 16, "n_positions": 128}),
}

ModelDirectory = Callable[..., Path]


@pytest.fixture(scope="session")
def model_directory(tmp_path_factory: pytest.TempPathFactory) -> ModelDirectory:
    """``model_directory("gpt2")``: a directory with a random model; ``rows`` sets the rows of its output layer."""
    made: dict[tuple[str, int], Path] = {}

    def make(architecture: str, *, rows: int = 0) -> Path:
        if (architecture, rows) not in made:
            made[architecture, rows] = _make(architecture, rows, tmp_path_factory.mktemp(architecture))
        return made[architecture, rows]

    return make


def _make(architecture: str, rows: int, directory: Path) -> Path:
    import torch
    import transformers

    from sfgen.vocabulary.pretrained import quiet_transformers

    class_name, tokenizer_name, settings = ARCHITECTURES[architecture]
    with quiet_transformers():
        tokenizer: Any = transformers.AutoTokenizer.from_pretrained(TOKENIZERS / tokenizer_name)
        config = getattr(transformers, class_name)(
            vocab_size=rows or len(tokenizer),
            bos_token_id=tokenizer.bos_token_id,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=None,
            initializer_range=0.4,  # large enough for the scores to differ
            **settings,
        )
        torch.manual_seed(7)
        auto: Any = transformers.AutoModelForCausalLM  # untyped
        model: Any = auto.from_config(config)
        model.save_pretrained(directory)
        tokenizer.save_pretrained(directory)
    return directory
