"""The scores of a few tokens, without those of all others.

The last thing that a language model does is to multiply by one row for each token of its vocabulary. Where a pattern
leaves a few tokens, their rows are enough: with GPT-2 the rows of all tokens are a third of the weights.
"""

from __future__ import annotations

from typing import Any

from sfgen.models.transformers_internals import accelerate_hook, has_hooks
from sfgen.protocols import Int32

KNOWN = frozenset({
    "gemma", "gemma2", "gpt2", "gpt_neox", "llama", "mistral", "olmo", "olmo2", "phi3", "qwen2", "qwen3", "smollm3",
    "stablelm", "starcoder2",
})  # fmt: skip
"""Architectures of which it is known what comes after the last layer: each is in the tests."""


class PartialLmHead:
    """The output layer of one model, row by row.

    Args:
        model: A causal language model of transformers for which ``has_rows`` holds.
    """

    def __init__(self, model: Any) -> None:
        self._body = model.base_model
        self._layer = model.get_output_embeddings()
        self._cap: float | None = getattr(model.config, "final_logit_softcapping", None)

    def read(self, inputs: dict[str, Any]) -> Any:
        """Run the model without its output layer.

        Args:
            inputs: What the model's own ``forward`` takes, by name.

        Returns:
            Its last hidden states, and its cache.
        """
        return self._body(**inputs)

    def scores(self, hidden: Any, rows: Int32 | None) -> Any:
        """Score the next token after some hidden states.

        Args:
            hidden: A tensor ``[..., size]``.
            rows: The tokens to score; ``None``: all, as the model itself does it.

        Returns:
            A tensor ``[..., rows]``.
        """
        import torch

        # `rows` may be read-only, and torch warns of sharing such an array: it is copied.
        places = None if rows is None else torch.tensor(rows, device=hidden.device)
        if places is None:
            scores = self._layer(hidden)
        elif has_hooks(self._layer):  # they may change the scores
            scores = self._layer(hidden)[..., places]
        else:
            bias, weight = self._layer.bias, self._layer.weight.index_select(0, places)
            scores = torch.nn.functional.linear(hidden, weight, None if bias is None else bias.index_select(0, places))
        return scores if self._cap is None else torch.tanh(scores / self._cap) * self._cap


def has_rows(model: Any) -> bool:
    """Tell whether single rows of the output layer may be used.

    It must be a plain layer of a known architecture.
    """
    import torch

    architecture = getattr(model.config, "model_type", None)
    if architecture not in KNOWN or not type(model).__module__.startswith("transformers.models."):
        return False
    layer = model.get_output_embeddings()
    # What was put around a layer (other weights, hooks) works only if the layer itself is called, and the model.
    is_plain = type(layer) is torch.nn.Linear and type(layer.weight) is torch.nn.Parameter
    return is_plain and all(accelerate_hook(each) is None for each in (layer, model)) and not has_hooks(model)
