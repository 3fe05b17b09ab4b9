"""One sequence inside a transformers model, with a key-value cache and an exact rewind.

What can be taken back depends on the kind of cache. Full attention keeps every key and value, so cutting the end off
is exact. Sliding windows have dropped what a rewind would need, and recurrent states hold the whole past in one: there
the cache is thrown away and the text is read again. Models without a usable cache read everything at each question.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from sfgen.decoding.protocols import Scores
from sfgen.errors import ModelError


class TransformersSession:
    """A sequence of tokens that a transformers model has read.

    Args:
        model: A causal language model in evaluation mode.
        context_length: The most tokens that it can read; ``None``: unknown.
    """

    def __init__(self, model: Any, context_length: int | None = None) -> None:
        self._model = model
        self._context_length = context_length
        self._tokens: list[int] = []
        self._cached = 0  # how many of the tokens the cache holds
        self._cache: Any = None
        parameters = inspect.signature(model.forward).parameters
        self._cache_name = next((name for name in ("past_key_values", "cache_params") if name in parameters), None)
        self._last_row_only = {"logits_to_keep": 1} if "logits_to_keep" in parameters else {}

    def extend(self, token_ids: Sequence[int]) -> Scores:
        """Read tokens and return the scores of the next: float32 ``[rows of the output layer]``.

        Raises:
            ModelError: More tokens than the model's context holds, or not enough memory.
        """
        self._tokens += token_ids
        if self._context_length is not None and len(self._tokens) > self._context_length:
            raise ModelError(
                f"the text is longer than the model can read: {len(self._tokens)} tokens, its context holds "
                f"{self._context_length}",
                hint="Give a shorter prompt or a lower --max-tokens.",
            )
        scores: Scores = self._forward().float().cpu().numpy()
        return scores

    def rewind(self, length: int) -> None:
        """Forget all but the first ``length`` tokens."""
        del self._tokens[length:]
        surplus = self._cached - length
        if surplus <= 0:
            return
        if length > 0 and self._can_crop():
            self._cache.crop(-surplus)
            self._cached = length
        else:
            self._cache, self._cached = None, 0

    def _forward(self) -> Any:
        import torch

        if self._cache is not None and self._is_recurrent():
            # Recurrent states are continued exactly only one token at a time.
            pieces = [[token] for token in self._tokens[self._cached :]]
        else:
            pieces = [self._tokens[self._cached :]]
        with torch.inference_mode():
            for piece in pieces:
                inputs: dict[str, Any] = {"input_ids": torch.tensor([piece], device=self._model.device)}
                if self._cache_name:
                    inputs |= {"use_cache": True, self._cache_name: self._cache}
                try:
                    output = self._model(**inputs, **self._last_row_only)
                except torch.OutOfMemoryError as error:
                    raise ModelError(
                        f"not enough memory on {self._model.device} for {len(self._tokens)} tokens",
                        hint="Give a shorter prompt, or try --device cpu or --dtype bfloat16.",
                    ) from error
                self._cache = output.get(self._cache_name) if self._cache_name else None
                self._cached = self._cached + len(piece) if self._cache is not None else 0
        return output.logits[0, -1]

    def _can_crop(self) -> bool:
        from transformers.cache_utils import DynamicLayer

        return all(type(layer) is DynamicLayer for layer in getattr(self._cache, "layers", [None]))

    def _is_recurrent(self) -> bool:
        from transformers.cache_utils import LinearAttentionCacheLayerMixin

        return any(isinstance(layer, LinearAttentionCacheLayerMixin) for layer in getattr(self._cache, "layers", []))
