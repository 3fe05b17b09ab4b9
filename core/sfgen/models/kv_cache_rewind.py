"""The KV cache of one text inside a transformers model, and how the last tokens are removed from it.

A cache is a list of layers. Tokens are removed from each kind of layer in its own way, always exactly:

=====================  =========================================================================================
full attention         keys and values of every token: the end is cut off
sliding window         the same, while the window before the cut is still in the cache, which keeps some more tokens
                       for this purpose
recurrent states       summarize all tokens, so copies are kept: of the states after the first pass (the prompt),
                       and from the first rewind on of those after the last passes; the tokens between a copy and
                       the cut are read again
without a cache layer  nothing to do
=====================  =========================================================================================

A layer may have both attention and recurrent states. Any other cache is thrown away, and the text is read again.
"""

from __future__ import annotations

import copy
from typing import Any

MARGIN = 256
"""Tokens kept beyond a sliding window: the furthest that a rewind goes without reading the text again."""
SNAPSHOTS = 8
"""The number of last passes whose recurrent states are kept, besides those of the first."""

_FULL = {"DynamicLayer", "DynamicIndexedLayer", "LinearAttentionAndFullAttentionLayer"}
_SLIDING = {"DynamicSlidingWindowLayer", "LinearAttentionAndSlidingWindowAttentionLayer"}
_RECURRENT = {
    "LinearAttentionLayer", "LinearAttentionAndFullAttentionLayer", "LinearAttentionAndSlidingWindowAttentionLayer",
}  # fmt: skip
_KNOWN = _FULL | _SLIDING | _RECURRENT | {"DummyLayer"}
_STATES = ("conv_states", "recurrent_states", "has_previous_state")


class Past:
    """The cache of one sequence.

    Attributes:
        value: The cache object of the model; ``None`` before the first forward pass.
        length: The number of tokens in it.
    """

    def __init__(self) -> None:
        self._goes_back = False  # whether it has been rewound: until then copies are not worth their time
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self.value: Any = None
        self.length = 0
        self._snapshots: dict[int, list[dict[str, Any]]] = {}  # by length, rising

    @property
    def reads_at_once(self) -> bool:
        """Whether one forward pass may read several tokens after others."""
        # The recurrences of Mamba, Falcon-Mamba and Jamba are continued exactly only one token at a time. The behaviour
        # of other caches is not known, but every model can read one token at a time.
        return self.value is None or (bool(self._layers()) and not self._snapshots)

    def keep(self, value: Any, count: int) -> None:
        """Take the cache that the model returned after a forward pass."""
        if value is None:
            self.clear()
            return
        self.value = value
        self.length += count
        layers = self._layers()
        for layer in layers:
            if _name(layer) in _SLIDING:
                _keep_margin(layer)
        is_recurrent = any(_name(layer) in _RECURRENT for layer in layers)
        if is_recurrent and (self._goes_back or not self._snapshots):
            self._snapshots[self.length] = [_states(layer) for layer in layers]
            if len(self._snapshots) > 1 + SNAPSHOTS:
                del self._snapshots[list(self._snapshots)[1]]

    def rewind(self, length: int) -> None:
        """Forget all but the first ``length`` tokens, or all back to a length that can be restored."""
        if length >= self.length:
            return
        self._goes_back = True
        layers = self._layers()
        start = max((mark for mark in self._snapshots if mark <= length), default=0) if self._snapshots else length
        surplus = self.length - start
        if start == 0 or not layers or not all(_can_cut(layer, surplus) for layer in layers):
            self.clear()
            return
        for number, layer in enumerate(layers):
            _cut(layer, surplus)
            if self._snapshots:
                vars(layer).update(copy.deepcopy(self._snapshots[start][number]))
        self._snapshots = {mark: states for mark, states in self._snapshots.items() if mark <= start}
        self.length = start

    def _layers(self) -> list[Any]:
        """Return the layers if each is of a known kind; else none."""
        if type(self.value).__name__ != "DynamicCache":
            return []
        layers: list[Any] = self.value.layers
        return layers if all(_name(layer) in _KNOWN for layer in layers) else []


def _name(layer: Any) -> str:
    """Return the name of a layer's class, if it is one of transformers' own; else nothing."""
    kind = type(layer)
    return kind.__name__ if kind.__module__ == "transformers.cache_utils" else ""


def _keep_margin(layer: Any) -> None:
    """Let the layer keep tokens that leave its window, up to the margin."""
    # By itself it drops them at once.
    layer.record_past = True
    if layer.keys is not None and layer.keys.shape[-2] > layer.sliding_window - 1 + MARGIN:
        kept = layer.sliding_window - 1 + MARGIN
        layer.keys, layer.values = layer.keys[..., -kept:, :], layer.values[..., -kept:, :]


def _can_cut(layer: Any, count: int) -> bool:
    if _name(layer) not in _SLIDING or not layer.is_initialized:
        return True
    left = layer.cumulative_length - count
    return bool(layer.keys.shape[-2] - count >= min(layer.sliding_window - 1, left))


def _cut(layer: Any, count: int) -> None:
    """Remove the keys and values of the last ``count`` tokens."""
    if count == 0 or _name(layer) not in _FULL | _SLIDING or not layer.is_initialized:
        return
    if _name(layer) == "DynamicIndexedLayer":
        layer.crop(-count)
        return
    layer.keys, layer.values = layer.keys[..., :-count, :], layer.values[..., :-count, :]
    if _name(layer) in _SLIDING:
        layer.cumulative_length -= count


def _states(layer: Any) -> dict[str, Any]:
    return {name: copy.deepcopy(vars(layer)[name]) for name in _STATES if name in vars(layer)}
