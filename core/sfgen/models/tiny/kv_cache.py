"""The keys and values that attention has made of a text. A text is cut by its length alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike, NDArray

LEAST_SLOTS = 64
"""Of the first arrays."""


class KvCache:
    """A key-value cache of one text, in every layer.

    What lies beyond ``length`` is not seen, and is written over.

    Args:
        layers: The number of layers.
        heads: The number of key and value heads.
        size: The size of a head.
        dtype: Of the numbers, as the weights have it.

    Attributes:
        length: How many tokens it holds. To make it less is to forget the last ones.
    """

    def __init__(self, layers: int, heads: int, size: int, dtype: DTypeLike = np.float32) -> None:
        self.length = 0
        self._held = np.empty((layers, 2, heads, 0, size), dtype)

    def make_room(self, count: int) -> None:
        """Grow the arrays for more tokens, if needed.

        Args:
            count: The tokens to be written.
        """
        layers, both, heads, slots, size = self._held.shape
        needed = self.length + count
        if needed <= slots:
            return
        larger = np.empty((layers, both, heads, max(needed, 2 * slots, LEAST_SLOTS), size), self._held.dtype)
        larger[:, :, :, : self.length] = self._held[:, :, :, : self.length]
        self._held = larger

    def write(
        self, layer: int, keys: NDArray[np.float32], values: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Write the keys and values of new tokens in one layer.

        The length stays the same until all layers have theirs.

        Args:
            layer: The number of the layer.
            keys: Float32 ``[tokens, heads, size]``.
            values: Float32 ``[tokens, heads, size]``.

        Returns:
            Keys and values of all tokens, float32 ``[heads, length + tokens, size]``.
        """
        held = self._held[layer, :, :, : self.length + len(keys)]
        held[0, :, self.length :] = keys.transpose(1, 0, 2)
        held[1, :, self.length :] = values.transpose(1, 0, 2)
        return held[0], held[1]
