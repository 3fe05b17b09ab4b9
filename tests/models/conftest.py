"""Tiny transformers models with random weights, saved as directories, each with a tokenizer of its family."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.models.gguf import Pair, pair
from tests.support.models.random_models import save

ModelDirectory = Callable[..., Path]
GgufPair = Callable[[str], Pair]

GGUF_KINDS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "llama-bpe": ("llama", "llama3", {}),
    "llama-spm": ("llama", "llama2", {}),
    "qwen2": ("qwen2", "qwen", {}),
    "gemma2": ("gemma2", "gemma2", {"query_pre_attn_scalar": 8}),  # sliding windows of five tokens in every other layer
    "mamba": ("mamba", "gpt2", {"time_step_rank": 2}),  # a recurrent state
}
"""By name: architecture, tokenizer, changes to the configuration."""


@pytest.fixture(scope="session")
def model_directory(tmp_path_factory: pytest.TempPathFactory) -> ModelDirectory:
    """``model_directory("gpt2")``: a directory with a random model; ``rows`` sets the rows of its output layer."""
    made: dict[tuple[str, int], Path] = {}

    def make(architecture: str, *, rows: int = 0) -> Path:
        if (architecture, rows) not in made:
            made[architecture, rows] = save(architecture, tmp_path_factory.mktemp(architecture), rows=rows)
        return made[architecture, rows]

    return make


@pytest.fixture(scope="session")
def gguf_pair(tmp_path_factory: pytest.TempPathFactory) -> GgufPair:
    """``gguf_pair("llama-bpe")``: one random model, as a directory of transformers and as a GGUF file in float32."""
    made: dict[str, Pair] = {}

    def make(kind: str) -> Pair:
        if kind not in made:
            architecture, tokenizer, changes = GGUF_KINDS[kind]
            made[kind] = pair(architecture, tokenizer, tmp_path_factory.mktemp(kind), **changes)
        return made[kind]

    return make
