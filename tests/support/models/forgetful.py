"""The oracle of a session inside a transformers model: everything is read again at each question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sfgen.models.transformers_model import TransformersModel
from sfgen.protocols import Scores


class ForgetfulSession:
    """A session that keeps tokens only."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.tokens: list[int] = []

    def extend(self, token_ids: Sequence[int]) -> Scores:
        """The scores after all tokens so far, without a cache."""
        import torch

        self.tokens += token_ids
        with torch.inference_mode():
            ids = torch.tensor([self.tokens], device=self.model.device)
            logits = self.model(input_ids=ids, use_cache=False).logits[0, -1]
        scores: Scores = logits.float().cpu().numpy()
        return scores

    def rewind(self, length: int) -> None:
        """Forget all but the first tokens."""
        del self.tokens[length:]


class Forgetful:
    """A model with forgetful sessions."""

    def __init__(self, model: TransformersModel) -> None:
        self.inner, self.vocabulary, self.encode = model, model.vocabulary, model.encode

    def session(self) -> ForgetfulSession:
        """A new, empty session."""
        return ForgetfulSession(self.inner.model)
