"""Logits processors for engines that have a mask, but no processor of their own that could be used."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .engines import Walk


class MaskProcessor:
    """Lets a mask have its say in transformers' loop; for one generation of one or more rows.

    Args:
        walks: A walk for each row.
        buffer: Where each walk writes its mask, packed.
        ends: The end tokens: after one, nothing is asked of a row any more.
    """

    def __init__(self, walks: Sequence[Walk], buffer: Any, ends: Sequence[int]) -> None:
        self.walks: list[Walk | None] = list(walks)
        self.buffer = buffer
        self.ends = frozenset(ends)
        self.has_begun = False

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        import torch

        last = input_ids[:, -1].tolist()
        for row, walk in enumerate(self.walks):
            if walk is not None and self.has_begun:
                if last[row] in self.ends:
                    walk = self.walks[row] = None
                else:
                    walk.advance(last[row])
            if walk is not None:
                walk.mask()
                allowed = np.unpackbits(self.buffer.view(np.uint8), count=scores.shape[-1], bitorder="little")
                scores[row].masked_fill_(torch.from_numpy(allowed == 0), -torch.inf)
        self.has_begun = True
        return scores


class AllowedTokens:
    """lm-format-enforcer's answer, for ``prefix_allowed_tokens_fn``; nothing but the end follows an end.

    Args:
        allowed: The tokens that may follow others; the enforcer is asked about what was generated, not the prompt.
        prompt: How many tokens the prompt has.
        ends: The end tokens.
    """

    def __init__(self, allowed: Callable[[list[int]], list[int]], prompt: int, ends: Sequence[int]) -> None:
        self.allowed = allowed
        self.prompt = prompt
        self.ends = list(ends)

    def __call__(self, row: int, input_ids: Any) -> list[int]:
        tokens: list[int] = input_ids.tolist()
        if len(tokens) > self.prompt and tokens[-1] in self.ends:
            return self.ends
        return self.allowed(tokens)
