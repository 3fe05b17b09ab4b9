"""The model of the measurements on a GPU: the shape of a small Llama, random weights, and Llama-3's tokenizer."""

from __future__ import annotations

from typing import Any

from sfgen import from_transformers
from sfgen.vocabulary.pretrained import load_tokenizer

from .vocabularies import find

SHAPE = {
    "hidden_size": 2048, "num_hidden_layers": 16, "num_attention_heads": 32, "num_key_value_heads": 8,
    "intermediate_size": 8192,
}  # fmt: skip
"""1.24 billion parameters, as Llama 3.2 1B."""
SKETCH = {**SHAPE, "hidden_size": 64, "num_hidden_layers": 2, "intermediate_size": 64}
"""The same code on a machine without a GPU."""
_SPREAD = 0.1  # of the weights: so that the next token depends on the text, and is not always the same


def random_llama(device: str, *, sketch: bool) -> Any:
    """A model of sfgen in bfloat16.

    Args:
        device: Where to put it.
        sketch: Make it small.
    """
    import torch
    from transformers import AutoModelForCausalLM, LlamaConfig

    source = next(iter(find(("llama3",)).values()))
    tokenizer = load_tokenizer(source)
    end = tokenizer.eos_token_id
    shape: dict[str, Any] = SKETCH if sketch else SHAPE
    config = LlamaConfig(
        **shape, vocab_size=len(tokenizer), max_position_embeddings=8192, tie_word_embeddings=True,
        eos_token_id=end, bos_token_id=end, initializer_range=_SPREAD,
    )  # fmt: skip
    torch.manual_seed(0)
    automatic: Any = AutoModelForCausalLM  # untyped
    with torch.device(device):
        network = automatic.from_config(config, dtype=torch.bfloat16).eval()
    model = from_transformers(network, tokenizer)
    network.generation_config.eos_token_id = None  # every text has as many tokens as it may
    return model


def described(model: Any) -> str:
    """The model, in words."""
    config, network = model.model.config, model.model
    count = sum(each.numel() for each in network.parameters())
    return (
        f"a Llama with random weights in {str(network.dtype).removeprefix('torch.')}: {count / 1e9:.2f} billion "
        f"parameters, {config.num_hidden_layers} layers, {len(model.vocabulary):,} tokens"
    )
