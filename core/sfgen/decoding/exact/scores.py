"""The model's scores by prefix: cached within a bound of memory, and computed again where they were dropped."""

from __future__ import annotations

from collections import OrderedDict

from sfgen.protocols import Scores

MAX_MEMORY = 512_000_000
"""Bytes of scores that are kept, if nothing else is said."""


class ScoreStore:
    """A cache of next-token scores by prefix, least recently used out.

    Texts of one job share a store. What is in it changes the number of forward passes, and never what is drawn.

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
        """Return the scores after a prefix, or ``None``.

        Args:
            token_ids: All tokens of the prefix, those of the prompt included.
        """
        scores = self._scores.get(token_ids)
        if scores is not None:
            self._scores.move_to_end(token_ids)
        return scores

    def keep(self, token_ids: tuple[int, ...], scores: Scores) -> None:
        """Store scores, dropping others where the bound is passed.

        Args:
            token_ids: All tokens before, those of the prompt included.
            scores: Float ``[vocabulary]``; copied.
        """
        before = self._scores.pop(token_ids, None)
        self.size += scores.nbytes - (0 if before is None else before.nbytes)
        self._scores[token_ids] = scores.copy()  # it may be a part of a larger array
        while self.size > self.max_memory:
            self.size -= self._scores.popitem(last=False)[1].nbytes
