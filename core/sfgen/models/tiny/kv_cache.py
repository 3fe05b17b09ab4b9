"""The keys and values of one text, or of several side by side; to cut them is to set a smaller length.

A token lies at the slot of its position. Entries beyond the length of a text are masked, and will be written over. In
the cache of several texts they must be finite numbers all the same: they are multiplied by zero.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import DTypeLike, NDArray

LEAST_SLOTS = 64
"""The number of slots of the first arrays."""


class KvCache:
    """A key-value cache of one text, in every layer.

    Entries beyond ``length`` are masked, and will be written over.

    Attributes:
        length: The number of tokens in it. To decrease it is to forget the last ones.
    """

    def __init__(self, layers: int, heads: int, size: int, dtype: DTypeLike = np.float32) -> None:
        self.length = 0
        self._held = np.empty((layers, 2, heads, 0, size), dtype)

    def make_room(self, count: int) -> None:
        """Grow the arrays for more tokens, if needed."""
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
        """Write the new tokens of one layer; return all: ``[heads, length + tokens, size]``."""
        # keys, values: float32 [tokens, heads, size]. The length stays the same until all layers have theirs.
        held = self._held[layer, :, :, : self.length + len(keys)]
        held[0, :, self.length :] = keys.transpose(1, 0, 2)
        held[1, :, self.length :] = values.transpose(1, 0, 2)
        return held[0], held[1]


class RowsKvCache:
    """A key-value cache of several texts, in every layer: a row for each.

    Attributes:
        lengths: The number of tokens of each text. To decrease one is to forget the last tokens.
    """

    def __init__(self, rows: int, layers: int, heads: int, size: int, dtype: DTypeLike = np.float32) -> None:
        self.lengths = [0] * rows
        self._held = np.zeros((layers, 2, 0, heads, 0, size), dtype)

    def make_room(self, counts: Mapping[int, int]) -> None:
        """Grow the arrays for more tokens, if needed."""
        layers, both, rows, heads, slots, size = self._held.shape
        last, longest = max(counts), max(self.lengths[row] + count for row, count in counts.items())
        needed_rows = rows if last < rows else min(max(last + 1, 2 * rows), len(self.lengths))
        needed_slots = slots if longest <= slots else max(longest, 2 * slots, LEAST_SLOTS)
        if (needed_rows, needed_slots) == (rows, slots):
            return
        # Zeros that were never written over take no memory, so a text takes what it needs, not what the longest does.
        larger = np.zeros((layers, both, needed_rows, heads, needed_slots, size), self._held.dtype)
        for row, length in enumerate(self.lengths[:rows]):
            larger[:, :, row, :, :length] = self._held[:, :, row, :, :length]
        self._held = larger

    def write(
        self,
        layer: int,
        rows: NDArray[np.intp],
        positions: NDArray[np.intp],
        keys: NDArray[np.float32],
        values: NDArray[np.float32],
    ) -> None:
        """Write the keys and values of new tokens in one layer."""
        # rows, positions: of each token, [tokens]. keys, values: float32 [tokens, heads, size]. The lengths stay the
        # same until all layers have theirs.
        held = self._held[layer]
        held[0][rows, :, positions] = keys
        held[1][rows, :, positions] = values

    def held(self, layer: int, rows: slice, slots: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return keys and values of some rows, float32 ``[rows, heads, slots, size]``."""
        held = self._held[layer, :, rows, :, :slots]
        return held[0], held[1]
