"""The tiny random models whose texts can be read together: plain attention over the whole text, positions given."""

from __future__ import annotations

import functools
from typing import Any
from unittest.mock import patch

from tests.support.models.random_models import ARCHITECTURES, random_model

from sfgen.models.transformers_batch import TransformersBatch, reads_rows_at_once

CONTEXT = 128
NO_WINDOW = {"mistral", "phi3"}  # of which there are some with a sliding window and some without
_SMALL = ARCHITECTURES["llama"][2] | {"head_dim": 8}
_EXPERTS = {
    "num_experts": 4, "num_local_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16,
    "shared_expert_intermediate_size": 16,
}  # fmt: skip
_GPT2 = ARCHITECTURES["gpt2"][2]
MORE: dict[str, tuple[str, dict[str, Any]]] = {
    "codegen": ("CodeGenConfig", {**_GPT2, "n_head": 4, "rotary_dim": 4}),
    "cohere": ("CohereConfig", _SMALL),
    "gemma": ("GemmaConfig", _SMALL),
    "glm": ("GlmConfig", _SMALL),
    "gpt-bigcode": ("GPTBigCodeConfig", _GPT2),
    "granite": ("GraniteConfig", _SMALL),
    "mixtral": ("MixtralConfig", {**_SMALL, **_EXPERTS}),
    "olmo": ("OlmoConfig", _SMALL),
    "olmoe": ("OlmoeConfig", {**_SMALL, **_EXPERTS}),
    "qwen2-moe": ("Qwen2MoeConfig", {**_SMALL, **_EXPERTS}),
    "qwen3-moe": ("Qwen3MoeConfig", {**_SMALL, **_EXPERTS}),
    "smollm3": ("SmolLM3Config", _SMALL),
    "starcoder2": ("Starcoder2Config", {**_SMALL, "sliding_window": None}),
}
"""Architectures whose sessions are like others': only here."""
TOGETHER = [
    "gpt2", "llama", "mistral", "qwen2", "qwen3", "phi", "phi3", "falcon", "opt", "gpt-neox", "gptj", "stablelm",
    "olmo2", "deepseek-v3", *MORE,
]  # fmt: skip


@functools.cache
def model_of(name: str) -> Any:
    if name in MORE:
        with patch.dict(ARCHITECTURES, {name: (MORE[name][0], "", MORE[name][1])}):
            return random_model(name)
    return random_model(name, sliding_window=None) if name in NO_WINDOW else random_model(name)


def batch_for(model: Any, rows: int) -> TransformersBatch:
    assert reads_rows_at_once(model.config)
    return TransformersBatch(lambda: model, rows, CONTEXT, name="small")
