"""The keys and values that an attention model keeps of several texts at once, a lane for each text.

The key and the value of a token lie at the slot of its position, in every lane. So a rewind needs no work (slots after
the end of a text are masked, and will be written over), no slot is lost to padding, and texts of any length lie side by
side; all lanes together are as large as the longest text that was in them, times their number. The caches of
transformers can only append the same number of tokens to every text, so this one has layers that write to given slots.

Import this module only when a model is loaded: it imports torch and transformers, which takes seconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from transformers import DynamicCache, DynamicLayer

_GROWTH = 4
"""Lanes that are too short grow to the length that is needed and a fourth more, so that they seldom grow."""
_LEAST_GROWTH = 32


class BatchedKvCache:
    """A key-value cache of several texts, a lane for each.

    Attributes:
        value: The cache that the model is given.
        positions: The positions of the tokens of the current pass, int64 ``[texts, tokens]``.
    """

    def __init__(self, layers: int) -> None:
        self._layers = [_Layer(self) for _ in range(layers)]
        cache: Any = DynamicCache()
        cache.layers, cache.layer_class_to_replicate = self._layers, None
        self.value = cache

    def begin(
        self, lanes: Sequence[int], starts: Sequence[int], counts: Sequence[int], width: int, device: Any
    ) -> None:
        """Set where the next forward pass writes."""
        self.before = starts[0]
        self.slots_seen = max(start + count for start, count in zip(starts, counts, strict=True))
        self.lanes_used = 1 + lanes[-1]
        start, count = torch.tensor(starts)[:, None], torch.tensor(counts)[:, None]
        step = torch.arange(width)
        # Padding is the last token once more: it stands in the same place, sees the same, and so writes the same.
        self.positions = (start + torch.minimum(step, count - 1)).to(device)
        self.index = torch.tensor(lanes, device=device)
        is_run = lanes[-1] - lanes[0] == len(lanes) - 1
        self.view: Any = slice(lanes[0], self.lanes_used) if is_run else self.index  # a slice copies nothing
        # Texts of one length read a token each: each sees all slots, so that no mask is needed.
        self.is_even = width == 1 and min(starts) == max(starts)

    def begin_fixed(self, lanes: Any, positions: Any) -> None:
        """Set where a recorded pass writes: one token ``[lanes, 1]`` in each lane, among all slots."""
        self.before, self.slots_seen, self.lanes_used = 0, self.slots, len(lanes)
        self.positions, self.index, self.view, self.is_even = positions, lanes, slice(0, len(lanes)), False

    @property
    def slots(self) -> int:
        """The slots of each lane; 0 before the first pass."""
        held = self._layers[0].held
        return int(held[0].shape[2]) if held else 0

    @property
    def place(self) -> tuple[int, ...]:
        """The arrays of keys and values; others after lanes or slots were added."""
        return tuple(held.data_ptr() for layer in self._layers for held in layer.held)

    def make_room(self, lanes: int, slots: int) -> None:
        """Add lanes and slots, if there are too few."""
        for layer in self._layers:
            layer.held = [_with_room(each, lanes, slots) for each in layer.held]

    def mask(self, dtype: Any) -> Any:
        """Return the attention mask of the pass, ``[texts, 1, tokens, slots]``."""
        # Each token sees its own text, up to itself. Booleans, or numbers that are added to the scores.
        seen = torch.arange(self.slots_seen, device=self.positions.device) <= self.positions[:, None, :, None]
        if dtype == torch.bool:
            return seen
        return torch.zeros(seen.shape, dtype=dtype, device=seen.device).masked_fill_(~seen, torch.finfo(dtype).min)

    def clear(self, lane: int) -> None:
        """Clear a lane for another text."""
        # Slots that are not seen have weight zero, but zero times NaN is NaN.
        for layer in self._layers:
            for held in layer.held:
                held[lane : lane + 1] = 0  # none, if the lane is new

    def move(self, source: int, target: int) -> None:
        """Move the text of one lane into another."""
        for layer in self._layers:
            for held in layer.held:
                held[target] = held[source]


class _Layer(DynamicLayer):  # type: ignore[no-untyped-call]
    """One layer: keys and values, ``[lanes, heads, slots, size]``."""

    def __init__(self, cache: BatchedKvCache) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._cache = cache
        self.held: list[Any] = []

    def update(self, key_states: Any, value_states: Any, *_: Any, **__: Any) -> tuple[Any, Any]:
        """Write keys and values; return all of these texts, to the length of the longest."""
        cache = self._cache
        both = key_states, value_states
        held = self.held or [states[:0, :, :0] for states in both]
        self.held = [_with_room(each, cache.lanes_used, cache.slots_seen) for each in held]
        for each, states in zip(self.held, both, strict=True):
            if cache.is_even:
                each[cache.view, :, cache.before] = states[:, :, 0]
            else:
                each[cache.index[:, None], :, cache.positions] = states.transpose(1, 2)
        keys, values = (each[cache.view, :, : cache.slots_seen] for each in self.held)
        return keys, values

    def get_seq_length(self) -> int:
        """Count the tokens that the model has read."""
        # The model uses it only where one text is read, or all are of one length.
        return self._cache.before

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        """Return the number of keys, and the position of the first."""
        # The model uses them only where one text is read, or all are of one length.
        return self._cache.before + query_length, 0


def _with_room(held: Any, lanes: int, slots: int) -> Any:
    """Copy the content into a larger array if there are too few lanes or slots."""
    has_lanes, has_slots = held.shape[0], held.shape[2]
    if lanes <= has_lanes and slots <= has_slots:
        return held
    if slots > has_slots:
        slots += max(slots // _GROWTH, _LEAST_GROWTH)
    larger = held.new_zeros((max(lanes, has_lanes), held.shape[1], max(slots, has_slots), held.shape[3]))
    larger[:has_lanes, :, :has_slots] = held
    return larger
