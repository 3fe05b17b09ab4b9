"""Masks on the device of the scores, and what they leave of the scores."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Sequence

import numpy as np
import torch
from torch import Tensor

from sfgen.integrations.state import Mask

_BYTES_KEPT = 64 << 20


class Masks:
    """Makes tensors of masks, each once, and keeps the last few: 64 MiB of them.

    A mask is a *cap* of the scores: plus infinity where a token is allowed and minus infinity where not. The minimum of
    both is the masked score, and takes a tenth of the time of a choice by truth values.

    Args:
        scores: What they are for, ``[rows, width]``.
    """

    def __init__(self, scores: Tensor) -> None:
        self.width = scores.shape[1]
        self.device = scores.device
        self._dtype = scores.dtype
        self._most = max(8, _BYTES_KEPT // max(1, self.width * scores.element_size()))
        self._kept: OrderedDict[Hashable, tuple[Tensor, object]] = OrderedDict()

    def fit(self, scores: Tensor) -> bool:
        """Whether they are for such scores."""
        return (self.width, self.device, self._dtype) == (scores.shape[1], scores.device, scores.dtype)

    def cap(self, mask: Mask) -> Tensor:
        """The cap of a mask: ``[width]``, of the type of the scores, on their device."""
        kept = self._kept.get(mask.key)
        if kept is None:
            values = np.where(mask.allowed(self.width), np.float32(np.inf), np.float32(-np.inf))
            kept = self._kept[mask.key] = torch.from_numpy(values).to(self.device, self._dtype), mask.held
            if len(self._kept) > self._most:
                self._kept.popitem(last=False)
        else:
            self._kept.move_to_end(mask.key)
        return kept[0]


def masked(scores: Tensor, caps: Sequence[Tensor | None]) -> Tensor:
    """The scores with minus infinity for what is not allowed.

    They are a new tensor: ``generate(..., output_logits=True)`` returns the old one.

    Args:
        scores: float ``[rows, width]``.
        caps: For each row a cap ``[width]``; ``None``: everything is allowed.
    """
    first = caps[0]
    if all(cap is first for cap in caps):
        return scores.clone() if first is None else torch.minimum(scores, first)
    everything = scores.new_full((scores.shape[1],), torch.inf)
    return torch.minimum(scores, torch.stack([everything if cap is None else cap for cap in caps]))


def dead_rows(scores: Tensor) -> list[int]:
    """The rows in which every score is minus infinity."""
    best = scores.amax(dim=1) == -torch.inf
    return best.nonzero()[:, 0].tolist() if bool(best.any()) else []
