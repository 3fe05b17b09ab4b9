"""A forward pass over one token of each text, recorded once and launched as a whole: a CUDA graph.

A GPU computes the operations of such a pass faster than Python launches them: for a model of a billion weights,
launching takes 9 ms and computing 2. A graph has fixed shapes and addresses: it reads the keys and values of all lanes
and all slots, and a mask hides the slots that no text has reached. When a lane or a slot is added or removed, it must
be recorded again, which is done only after some passes of one shape.

Import this module only when a model is loaded, as it imports torch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from sfgen.models.batched_kv_cache import BatchedKvCache

STEADY = 4
"""The number of passes of one shape before one is recorded."""

SLOTS = 128
"""The number of slots is a multiple of this, so that a graph lasts for some tokens."""

MOST_SLOTS = 1 << 18
"""The most slots of all texts together: attention reads them all, also those that no text has reached."""


class RecordedPass:
    """The pass over one token of each text, for one number of texts.

    Args:
        read: Runs the model: takes inputs by name, returns scores ``[texts, vocabulary]``.
        cache: The cache, with a lane for each text.
        texts: The number of texts.
        mask_dtype: The dtype of the attention mask that the model takes.
        device: The device of the model.
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
        """Return whether the pass can be launched again: the arrays are the same, and have enough slots."""
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
        RuntimeError: It cannot be recorded, or the recording gives other scores.
    """
    stream: Any = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    stream.wait_stream(torch.cuda.current_stream())
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.stream(stream):
        forward()  # makes all that is made only once
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
