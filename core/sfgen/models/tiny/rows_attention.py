"""Attention in a forward pass over several texts: those that read little attend at once, the others one by one.

At once means padded: as many queries of each text as the one has that reads most, over as many slots as the longest
has. That is cheap where texts are alike, and then much cheaper than a product for each of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from sfgen.models.tiny.network import Floats, Network, attention, causal_mask
from sfgen.models.tiny.rows_kv_cache import RowsKvCache

Ints: TypeAlias = NDArray[np.intp]

MOST_AT_ONCE = 8
"""A text that reads more tokens attends by itself."""
LONGEST_AT_ONCE = 2
"""So does one that is longer than the typical text by more than this factor."""


class RowsAttention:
    """The attention of one forward pass, in all layers.

    Args:
        network: For its numbers of heads.
        cache: Has room for the tokens.
        counts: How many tokens each row reads, by row.

    Attributes:
        order: The rows in the order in which the pass reads their tokens.
        positions: Where each token stands in its text, ``[T]``.
    """

    def __init__(self, network: Network, cache: RowsKvCache, counts: Mapping[int, int]) -> None:
        self._cache = cache
        self._width = network.heads * network.head_size
        together = _together(cache, counts)
        alone = [row for row in counts if row not in together]
        self.order = [*together, *alone]
        numbers = [counts[row] for row in self.order]
        starts = np.repeat([cache.lengths[row] for row in self.order], numbers)
        ends = np.cumsum(numbers)
        places = np.arange(ends[-1]) - np.repeat(ends - numbers, numbers)
        self._rows = np.repeat(self.order, numbers)
        self.positions = starts + places
        self._alone = [
            (slice(end - counts[row], end), row, causal_mask(cache.lengths[row], counts[row]))
            for row, end in zip(alone, ends[len(together) :].tolist(), strict=True)
        ]
        self._at_once: _AtOnce | None = None
        if together:
            tokens = slice(0, int(ends[len(together) - 1]))
            self._at_once = _AtOnce(self._rows[tokens], places[tokens], self.positions[tokens])

    def __call__(self, layer: int, queries: Floats, keys: Floats, values: Floats) -> Floats:
        """Attend in one layer; see ``sfgen.models.tiny.network.forward``."""
        self._cache.write(layer, self._rows, self.positions, keys, values)
        found = np.empty((len(queries), self._width), queries.dtype)
        if self._at_once is not None:
            some = slice(0, self._at_once.count)
            found[some] = self._at_once.attend(layer, queries[some], self._cache)
        for tokens, row, mask in self._alone:
            held = self._cache.held(layer, slice(row, row + 1), int(self.positions[tokens][-1]) + 1)
            found[tokens] = attention(queries[tokens][None], *held, mask)[0]
        return found


class _AtOnce:
    """The texts that attend at once, with padding.

    Rows between them take part as well, for nothing: to leave them out would be to copy the others.

    Args:
        rows: The row of each token, ``[tokens]``.
        places: Its number among the tokens that its row reads, ``[tokens]``.
        positions: Its position in the text, ``[tokens]``.
    """

    def __init__(self, rows: Ints, places: Ints, positions: Ints) -> None:
        first = int(rows.min())
        self.count = len(rows)
        self._held = slice(first, int(rows.max()) + 1)
        self._at = rows - first, places
        self._slots = int(positions.max()) + 1
        self._shape = self._held.stop - first, int(places.max()) + 1
        last_seen = np.zeros(self._shape, dtype=np.intp)  # padding sees the first slot
        last_seen[self._at] = positions
        unseen = np.arange(self._slots) > last_seen[..., None]
        self._mask = np.where(unseen, np.float32(-np.inf), np.float32(0))

    def attend(self, layer: int, queries: Floats, cache: RowsKvCache) -> Floats:
        padded = np.zeros((*self._shape, *queries.shape[1:]), queries.dtype)
        padded[self._at] = queries
        found: Floats = attention(padded, *cache.held(layer, self._held, self._slots), self._mask)[self._at]
        return found


def _together(cache: RowsKvCache, counts: Mapping[int, int]) -> list[int]:
    """The rows that attend at once: those that read little, and are not much longer than most of them."""
    slots = {row: cache.lengths[row] + count for row, count in counts.items() if count <= MOST_AT_ONCE}
    if len(slots) < 2:
        return []
    typical = sorted(slots.values())[len(slots) // 2]
    return [row for row, needed in slots.items() if needed <= LONGEST_AT_ONCE * typical]
