"""Copy token masks to the device of the scores, and mask scores by them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from sfgen.index.mask_ids import bits_of_row
from sfgen.protocols import Mask

_BYTES_KEPT = 64 << 20

_MOST_ROWS_OVER = 4096  # output layers are padded to a round number of rows, by hundreds or a few thousand


def widest(size: int) -> int:
    """Return the most output rows that may belong to a vocabulary."""
    return size + max(_MOST_ROWS_OVER, size // 8)


class Caps:
    """A cache of token masks as tensors, up to 64 MiB.

    A *cap* is plus infinity where a token is allowed and minus infinity where not. The minimum of cap and scores is the
    masked scores, and takes a tenth of the time of a selection by booleans.
    """

    def __init__(self, scores: Tensor) -> None:
        self.width = scores.shape[1]
        self.device = scores.device
        self._dtype = scores.dtype
        self._most = max(8, _BYTES_KEPT // max(1, self.width * scores.element_size()))
        self._kept: OrderedDict[int, tuple[Tensor, Mask]] = OrderedDict()  # the mask is held, so its id stays its own

    def fit(self, scores: Tensor) -> bool:
        """Return whether the caps fit the width, type and device."""
        return (self.width, self.device, self._dtype) == (scores.shape[1], scores.device, scores.dtype)

    def cap(self, mask: Mask) -> Tensor:
        """Return the cap, ``[width]``, of a mask that is never changed.

        Scores beyond the bits of the mask are not allowed. Masks are compared by identity.
        """
        kept = self._kept.get(id(mask))
        if kept is None:
            kept = self._kept[id(mask)] = self._made(mask), mask
            if len(self._kept) > self._most:
                self._kept.popitem(last=False)
        else:
            self._kept.move_to_end(id(mask))
        return kept[0]

    def _made(self, mask: Mask) -> Tensor:
        values = np.full(self.width, -np.inf, dtype=np.float32)
        allowed = bits_of_row(mask)[: self.width]
        values[: len(allowed)][allowed] = np.inf
        return torch.from_numpy(values).to(self.device, self._dtype)


def masked(scores: Tensor, caps: Sequence[Tensor | None]) -> Tensor:
    """Replace the scores, float ``[rows, width]``, of tokens that are not allowed by minus infinity.

    They are a new tensor: ``generate(..., output_logits=True)`` returns the old one.
    """
    first = caps[0]
    if all(cap is first for cap in caps):
        return scores.clone() if first is None else torch.minimum(scores, first)
    everything = scores.new_full((scores.shape[1],), torch.inf)
    return torch.minimum(scores, torch.stack([everything if cap is None else cap for cap in caps]))


def dead_rows(scores: Tensor) -> list[int]:
    """List the rows in which every score is minus infinity."""
    best = scores.amax(dim=1) == -torch.inf
    return best.nonzero()[:, 0].tolist() if bool(best.any()) else []
