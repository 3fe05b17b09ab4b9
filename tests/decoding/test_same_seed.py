"""The same seed writes the same text, on every kind of model, and another seed another."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sfgen import BannedWords, Dfa, Index, Sampler, generate, load_model
from sfgen.decoding import Model

TOKENIZERS = Path(__file__).resolve().parent.parent / "data" / "tokenizers"
CLASSES: dict[str, tuple[str, dict[str, Any]]] = {
    "gpt2": ("GPT2Config", {"n_layer": 1, "n_head": 2, "n_embd": 16}),
    "mamba": ("MambaConfig", {"hidden_size": 16, "num_hidden_layers": 1, "state_size": 4}),
}


@pytest.fixture(scope="module", params=["tiny", "uniform", "zip", *CLASSES])
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Model:
    if request.param == "zip":
        file = tmp_path_factory.mktemp("zip") / "text"
        file.write_text("the whale is white. the sea is wide. " * 3)
        return load_model(f"zip:{file}")
    if request.param in CLASSES:
        return load_model(random_model(request.param, tmp_path_factory.mktemp(request.param)), device="cpu")
    return load_model(request.param)


def random_model(kind: str, directory: Path) -> Path:
    import torch
    import transformers

    from sfgen.vocabulary.pretrained import quiet_transformers

    name, settings = CLASSES[kind]
    with quiet_transformers():
        tokenizer: Any = transformers.AutoTokenizer.from_pretrained(TOKENIZERS / "gpt2")
        config = getattr(transformers, name)(
            vocab_size=len(tokenizer), eos_token_id=tokenizer.eos_token_id, initializer_range=0.4, **settings
        )
        torch.manual_seed(7)
        auto: Any = transformers.AutoModelForCausalLM
        auto.from_config(config).save_pretrained(directory)
        tokenizer.save_pretrained(directory)
    return directory


SAMPLERS: list[dict[str, Any]] = [{}, {"temperature": 2.0, "top_k": 40}, {"top_p": 0.95, "min_p": 1e-4}]


@pytest.mark.parametrize("options", SAMPLERS, ids=str)
def test_the_same_seed_writes_the_same_text(model: Model, options: dict[str, Any]) -> None:
    index = Index(Dfa.from_regex("[a-z]{1,12}( [a-z]{1,12}){2}"), model.vocabulary)
    for more in ({}, {"index": index}, {"banned": BannedWords(["the", "e*"])}, {"stop": ["e", " "]}):

        def text(seed: int, more: dict[str, Any] = more) -> str:
            sampler = Sampler(**{"temperature": 1.0, "seed": seed, **options})
            return generate(model, "the ", sampler=sampler, max_tokens=20, **more).text

        first = text(1)
        assert text(1) == first
        assert any(text(seed) != first for seed in range(2, 20))
