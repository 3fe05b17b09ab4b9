"""A forward pass over one token of each text, recorded once and launched as a whole: a CUDA graph.

A GPU is done with the operations of such a pass sooner than Python has launched them: of a model of a billion weights,
9 ms are spent on launching and 2 on computing. A graph has fixed shapes and places: the keys and values of all lanes
with all of their slots, of which a mask hides those that no text has yet. It is recorded anew where lanes come or go or
the slots grow, so only after some passes of one shape.

To be imported where a model is there already.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from sfgen.models.batched_kv_cache import BatchedKvCache

STEADY = 4
"""Passes of one shape before the next one is recorded."""

SLOTS = 128
"""Slots are made in such steps, so that a graph lasts for some tokens."""

MOST_SLOTS = 1 << 18
"""Of all texts together: attention reads all of them, also those that no text has yet."""


class RecordedPass:
    """The pass over one token of each text, for one number of texts.

    Args:
        read: Runs the model: inputs by name to scores ``[texts, vocabulary]``.
        cache: Of as many texts as lanes.
        texts: Their number.
        mask_dtype: The dtype of the attention mask that the model takes.
        device: Where the model is.
    """

    def __init__(
        self,
        read: Callable[[dict[str, Any]], Any],
        cache: BatchedKvCache,
        texts: int,
        mask_dtype: Any,
        device: Any,
    ) -> None:
        self._read = read
        self._cache = cache
        self._mask_dtype = mask_dtype
        self._inputs = torch.zeros((2, texts, 1), dtype=torch.int64, device=device)  # tokens and positions
        self._lanes = torch.arange(texts, device=device)
        self._place = cache.place
        self._replay: Callable[[], Any] | None = None

    def fits(self, texts: int, slots: int) -> bool:
        """Tell whether the pass can be launched again: all is where it was, and there are slots enough."""
        return texts == self._inputs.shape[1] and slots <= self._cache.slots and self._cache.place == self._place

    def scores(self, token_ids: Sequence[int], positions: Sequence[int]) -> Any:
        """Read a token of each text; return the scores of the next ones, a tensor ``[texts, vocabulary]``."""
        self._inputs.copy_(torch.tensor([token_ids, positions])[:, :, None])
        if self._replay is None:
            self._replay = recorded(self._forward)
        return self._replay().clone()

    def _forward(self) -> Any:
        token_ids, positions = self._inputs
        self._cache.begin_fixed(self._lanes, positions)
        mask = self._cache.mask(self._mask_dtype)
        return self._read({"input_ids": token_ids, "position_ids": positions, "attention_mask": mask})


def recorded(forward: Callable[[], Any]) -> Callable[[], Any]:
    """Record what a function launches on the GPU; return a function that launches it again.

    Raises:
        RuntimeError: It cannot be recorded, or does something else then.
    """
    stream: Any = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    stream.wait_stream(torch.cuda.current_stream())
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.stream(stream):
        forward()  # what is made once is made now
        expected = forward()
        graph.capture_begin(capture_error_mode="thread_local")
        try:
            found = forward()
        finally:
            graph.capture_end()
    torch.cuda.current_stream().wait_stream(stream)

    def replay() -> Any:
        graph.replay()
        return found

    if not torch.allclose(replay().float(), expected.float(), rtol=1e-2, atol=1e-2, equal_nan=True):
        raise RuntimeError("a recorded pass gives other scores")
    return replay
