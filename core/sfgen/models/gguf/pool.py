"""Contexts that are not in use are kept for the next text: a new one takes a tenth of a second."""

from __future__ import annotations

import contextlib
from collections import deque

from sfgen.models.gguf.context import Context
from sfgen.models.gguf.loaded import LoadedModel

FIRST_CELLS = 1024
"""The fewest cells of a context for one row, where the model can read that much."""
_KEPT = 2
"""The number of contexts that are kept."""


class Pool:
    """The idle contexts of one model.

    Args:
        model: The model, with its weights.
        context_length: The most tokens of a row.
        threads: How many threads read.
        is_float32: Whether attention is computed in float32, keys and values kept in it; else they are float16.
        copies: Whether what one context holds may be copied into a larger one, and a large one may hold a short text:
            not if rotary positions depend on the size.

    Attributes:
        model: The model.
        copies: As given.
    """

    def __init__(
        self, model: LoadedModel, context_length: int, *, threads: int, is_float32: bool, copies: bool = True
    ) -> None:
        self.model = model
        self.copies = copies
        self._context_length = context_length
        self._threads = threads
        self._is_float32 = is_float32
        self._idle: deque[Context] = deque(maxlen=_KEPT)

    def take(self, rows: int, cells: int) -> Context:
        """Return an empty context, an idle one if any fits.

        Args:
            rows: The number of its rows.
            cells: The fewest tokens that it must hold.

        Raises:
            ModelError: There is not enough memory.
        """
        for context in list(self._idle):
            if context.rows == rows and self.fits(context, cells):
                with contextlib.suppress(ValueError):  # another thread may have taken it
                    self._idle.remove(context)
                    context.clear()
                    return context
        size = self._size(rows, cells)
        return Context(self.model, rows, size, threads=self._threads, is_float32=self._is_float32)

    def fits(self, context: Context, cells: int) -> bool:
        """Tell whether a context has the right size.

        Args:
            context: The context.
            cells: The tokens that it must hold.
        """
        return context.cells >= cells if self.copies else context.size == self._size(context.rows, cells)

    def _size(self, rows: int, cells: int) -> int:
        """How many cells a new context has: a power of two, but no more than the rows can use."""
        return min(max(FIRST_CELLS, 1 << (cells - 1).bit_length()), max(rows * self._context_length, cells))

    def give_back(self, context: Context) -> None:
        """Keep a context for other texts."""
        self._idle.append(context)
