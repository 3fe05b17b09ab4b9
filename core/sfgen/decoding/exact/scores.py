"""The model's scores by prefix: kept within a bound of memory, and asked for again where they went."""

from __future__ import annotations

from collections import OrderedDict

from sfgen.protocols import Scores

MAX_MEMORY = 512_000_000
"""Bytes of scores that are kept, if nothing else is said."""


class ScoreStore:
    """Scores of the next token, by all tokens before it; the least recently used go first.

    Texts of one job share a store. What is in it changes how often the model is asked, and never what is drawn.

    Args:
        max_memory: The bytes that the scores may take; 0 keeps none.

    >>> import numpy as np
    >>> store = ScoreStore(max_memory=16)
    >>> for token in range(3):
    ...     store.keep((token,), np.zeros(2, dtype=np.float32))
    >>> store.find((0,)) is None, store.find((2,)).tolist(), store.size
    (True, [0.0, 0.0], 16)
    """

    def __init__(self, max_memory: int) -> None:
        self.max_memory = max_memory
        self.size = 0
        """The bytes that the scores take."""
        self._scores: OrderedDict[tuple[int, ...], Scores] = OrderedDict()

    def find(self, token_ids: tuple[int, ...]) -> Scores | None:
        """The scores after some tokens, those of the prompt included; ``None`` if they are not kept."""
        scores = self._scores.get(token_ids)
        if scores is not None:
            self._scores.move_to_end(token_ids)
        return scores

    def keep(self, token_ids: tuple[int, ...], scores: Scores) -> None:
        """Keep scores, and let others go where the bound is passed."""
        before = self._scores.pop(token_ids, None)
        self.size += scores.nbytes - (0 if before is None else before.nbytes)
        self._scores[token_ids] = scores.copy()  # it may be a part of a larger array
        while self.size > self.max_memory:
            self.size -= self._scores.popitem(last=False)[1].nbytes
