"""Write the trained model as a transformers directory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from .tokenizer import BEGIN, END, save_tokenizer

if TYPE_CHECKING:
    import torch

    from .transformer import Shape

LENGTH = 2048
"""The most tokens that the model reads; it is trained on shorter texts."""


def configuration(tokenizer: Any, shape: Shape) -> Any:
    """Return the transformers configuration of the model."""
    from transformers import LlamaConfig

    return LlamaConfig(
        vocab_size=shape.tokens,
        hidden_size=shape.size,
        intermediate_size=shape.inner,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.heads,
        max_position_embeddings=LENGTH,
        tie_word_embeddings=True,
        bos_token_id=tokenizer.token_to_id(BEGIN),
        eos_token_id=tokenizer.token_to_id(END),
        pad_token_id=tokenizer.token_to_id(END),
    )


def save(weights: dict[str, torch.Tensor], shape: Shape, tokenizer: Any, directory: Path) -> None:
    """Write weights and tokenizer as a transformers directory."""
    import torch
    from transformers import GenerationConfig, LlamaForCausalLM

    model: Any = LlamaForCausalLM(configuration(tokenizer, shape))
    model.load_state_dict(weights, strict=False)  # the output layer is the embedding, and named twice
    model.to(torch.float16)
    ids = {f"{name}_token_id": getattr(model.config, f"{name}_token_id") for name in ("bos", "eos", "pad")}
    model.generation_config = GenerationConfig(**ids)  # type: ignore[no-untyped-call]
    model.save_pretrained(directory)
    (directory / "model.safetensors").chmod(0o644)  # written readable for the owner only
    save_tokenizer(tokenizer, directory, length=LENGTH)


def divide_scores(directory: Path, temperature: float) -> None:
    """Divide a model's scores by a temperature, in its weights (Guo et al. 2017).

    A model that is trained to the end is surer of its own templates than new sentences bear out.
    """
    from safetensors.torch import load_file, save_file

    # The scores are the last norm times the embedding: a norm divided by the temperature divides them all.
    path = directory / "model.safetensors"
    weights = load_file(path)
    norm = weights["model.norm.weight"]
    weights["model.norm.weight"] = (norm.float() / temperature).to(norm.dtype)
    save_file(weights, path, metadata={"format": "pt"})
