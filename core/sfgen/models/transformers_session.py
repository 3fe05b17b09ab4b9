"""One sequence inside a transformers model: read tokens, score the next, take tokens back."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from sfgen.models.attention import without_plans
from sfgen.models.cpu_threads import CpuThreads
from sfgen.models.partial_lm_head import PartialLmHead, has_rows
from sfgen.models.rotary import Rotary
from sfgen.models.transformers_cache import Past
from sfgen.models.transformers_failures import check_readable, not_read
from sfgen.protocols import Int32, Scores
from sfgen.vocabulary.pretrained import without_warnings

_CACHE_NAMES = ("past_key_values", "cache_params", "state")
"""What architectures call the cache that they give back and are given again."""


class TransformersSession:
    """A sequence of tokens that a transformers model has read.

    Nothing of it is kept in the model: several sessions of one model do not see each other.

    Args:
        model: A causal language model in evaluation mode.
        context_length: The most tokens that it can read; ``None``: unknown.
        name: What messages call the model.
    """

    def __init__(self, model: Any, context_length: int | None = None, *, name: str = "the model") -> None:
        self._model = model
        self._name = name
        self._context_length = context_length
        self._tokens: list[int] = []
        self._past = Past()
        self._rotary = Rotary(model)
        self._cpu_threads = CpuThreads(model)
        self._device = model.device
        self._lm_head = PartialLmHead(model) if has_rows(model) else None
        self._hidden: Any = None  # what the last scores were made of
        kind: Any = type(model)
        parameters = _parameters(kind)
        self._cache_name = next((name for name in _CACHE_NAMES if name in parameters), None)
        # Said each time, since a configuration may say use_cache: false.
        self._options: dict[str, Any] = {"use_cache": True} if self._cache_name else {}
        if "logits_to_keep" in parameters:
            self._options["logits_to_keep"] = 1
        self._takes_positions = "position_ids" in parameters

    def extend(self, token_ids: Sequence[int]) -> Scores:
        """Read tokens and return the scores of the next: float32 ``[rows of the output layer]``.

        After an error the session holds what it held before.

        Raises:
            ModelError: More tokens than the model's context holds, a token that it does not know, not enough memory,
                or something that this model cannot do on its device.
        """
        return self._extend(token_ids, None)

    def extend_rows(self, token_ids: Sequence[int], rows: Int32) -> Scores:
        """As ``extend``, but the scores of the tokens ``rows`` only: float32 ``[rows]``; or all, as ``extend`` does."""
        return self._extend(token_ids, rows)

    def score_again(self, rows: Int32 | None) -> Scores | None:
        """Other scores of the token that was scored last; see ``sfgen.protocols.ScoresRows``.

        Raises:
            ModelError: Not enough memory.
        """
        import torch

        if self._lm_head is None or self._hidden is None:
            return None
        try:
            with torch.inference_mode(), self._cpu_threads.bounded():
                scores: Scores = self._lm_head.scores(self._hidden, rows)[0, -1].float().cpu().numpy()
        except (RuntimeError, MemoryError) as error:
            raise not_read(error, self._model, self._name, "scores", "Give a shorter prompt") from error
        return scores

    def _extend(self, token_ids: Sequence[int], rows: Int32 | None) -> Scores:
        import torch

        check_readable(token_ids, len(self._tokens), self._model, self._context_length, self._name)
        before = len(self._tokens)
        self._tokens += token_ids
        try:
            with torch.inference_mode(), without_warnings(), without_plans(self._device), self._cpu_threads.bounded():
                scores: Scores = self._read(rows).float().cpu().numpy()
        except (RuntimeError, MemoryError) as error:  # torch raises hardly anything else
            count = len(self._tokens)
            del self._tokens[before:]
            self._past.clear()  # it may be half written
            raise not_read(error, self._model, self._name, f"{count} tokens", "Give a shorter prompt") from error
        return scores

    def rewind(self, length: int) -> None:
        """Forget all but the first ``length`` tokens."""
        del self._tokens[length:]
        self._past.rewind(length)

    def _read(self, rows: Int32 | None) -> Any:
        """Read what the cache does not hold yet; the scores after it."""
        import torch

        if self._rotary.prepare(len(self._tokens)):
            self._past.clear()
        new = self._tokens[self._past.length :]
        for piece in [new] if self._past.reads_at_once else [[token] for token in new]:
            inputs = {"input_ids": torch.tensor([piece], device=self._device), **self._options}
            if self._takes_positions:  # not every model counts the tokens in its cache (Bamba does not)
                start = self._past.length
                inputs["position_ids"] = torch.arange(start, start + len(piece), device=self._device)[None]
            if self._cache_name:
                inputs[self._cache_name] = self._past.value
            output = self._model(**inputs) if self._lm_head is None else self._lm_head.read(inputs)
            if self._cache_name:
                self._past.keep(output.get(self._cache_name), len(piece))
        if self._lm_head is None:
            return output.logits[0, -1]
        self._hidden = output.last_hidden_state[:, -1:]
        return self._lm_head.scores(self._hidden, rows)[0, -1]


@lru_cache(maxsize=16)
def _parameters(kind: Any) -> frozenset[str]:
    """What the models of a class are given to read; finding out takes a tenth of the time of a small text."""
    return frozenset(inspect.signature(kind.forward).parameters)
