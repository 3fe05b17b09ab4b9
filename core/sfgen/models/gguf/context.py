"""The contexts of llama.cpp, KV caches of several texts, each text a row; and a pool of idle ones.

A new context takes a tenth of a second, so idle ones are kept for the next text.
"""

from __future__ import annotations

import contextlib
import ctypes
import weakref
from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from sfgen.errors import ModelError
from sfgen.models.gguf.library import library, log
from sfgen.models.gguf.loaded_model import LoadedModel
from sfgen.parameter_text import ParameterText
from sfgen.protocols import Scores

MOST_TOKENS = 512
"""The most tokens that are read in one forward pass."""
MOST_SCORES = 1 << 25
"""The most scores that are made at a time, unless one token has more: 128 MiB in float32."""

FIRST_CELLS = 1024
"""The fewest cells of a context for one row, where the model can read that much."""
_KEPT = 2
"""The number of contexts that are kept."""


_F32 = 0
"""The type float32 of ggml."""
_NO_FLASH = 0
"""Keys, values and attention one after the other."""


class _Batch:
    """The arrays in which llama.cpp is given tokens, made once."""

    def __init__(self, lib: Any, rows: int, most_tokens: int) -> None:
        self._row_ids = (ctypes.c_int32 * rows)(*range(rows))
        first, size = ctypes.addressof(self._row_ids), ctypes.sizeof(ctypes.c_int32)
        self._rows = [first + size * row for row in range(rows)]  # pointers to lists of one row
        self._token_ids: Any = (ctypes.c_int32 * most_tokens)()
        self._positions: Any = (ctypes.c_int32 * most_tokens)()
        self._lengths = (ctypes.c_int32 * most_tokens)(*[1] * most_tokens)  # each token is in one row
        self._lists: Any = (ctypes.c_size_t * most_tokens)()
        self._is_scored: Any = (ctypes.c_int8 * most_tokens)()
        int32 = ctypes.POINTER(ctypes.c_int32)
        self._struct = lib.llama_batch(
            n_tokens=0,
            token=ctypes.cast(self._token_ids, int32),
            pos=ctypes.cast(self._positions, int32),
            n_seq_id=ctypes.cast(self._lengths, int32),
            seq_id=ctypes.cast(self._lists, ctypes.POINTER(int32)),
            logits=ctypes.cast(self._is_scored, ctypes.POINTER(ctypes.c_int8)),
        )

    def filled(
        self, tokens: Sequence[int], positions: Sequence[int], rows: Sequence[int], is_scored: Sequence[bool]
    ) -> Any:
        """Return llama.cpp's batch of some tokens; see ``Context.read``."""
        count = len(tokens)
        self._token_ids[:count] = tokens
        self._positions[:count] = positions
        self._lists[:count] = [self._rows[row] for row in rows]
        self._is_scored[:count] = is_scored
        self._struct.n_tokens = count
        return self._struct


class Context:
    """The KV cache of llama.cpp for several rows of tokens.

    Attributes:
        rows: The number of rows.
        size: The number of cells that were asked for.
        cells: The number of tokens that fit into all rows together: ``size`` or a few more.
        most_tokens: The most tokens of one ``read``.
        most_outputs: The most tokens of one ``read`` that may be scored.
    """

    def __init__(self, model: LoadedModel, rows: int, cells: int, *, threads: int, is_float32: bool) -> None:
        lib = self._lib = library()
        self._model = model  # it must not be freed before its contexts
        self.rows, self.size = rows, cells
        self.most_tokens = min(MOST_TOKENS, cells)
        self.most_outputs = max(rows, min(self.most_tokens, MOST_SCORES // model.width), 1)
        options = lib.llama_context_default_params()
        options.n_ctx, options.n_seq_max, options.kv_unified = cells, rows, True
        options.n_batch = options.n_ubatch = self.most_tokens
        if hasattr(options, "n_outputs_max"):
            options.n_outputs_max = self.most_outputs
        options.n_threads = options.n_threads_batch = threads
        options.swa_full = True  # tokens before a sliding window are kept, for rewinds
        if is_float32:  # flash attention rounds to float16
            options.type_k = options.type_v = _F32
            options.flash_attn_type = _NO_FLASH
        log.clear()
        self._pointer: Any = lib.llama_init_from_model(model.pointer, options)
        if not self._pointer:
            raise ModelError(
                f"llama.cpp has no room for {cells} tokens: {log.reason() or 'not enough memory'}",
                hint=ParameterText(
                    "Give a shorter prompt, a lower max_tokens or a smaller batch_size.", "max_tokens", "batch_size"
                ),
            )
        weakref.finalize(self, lib.llama_free, self._pointer)
        self.cells = int(lib.llama_n_ctx(self._pointer))
        self._memory: Any = lib.llama_get_memory(self._pointer)
        if not self._memory:
            raise ModelError(
                "this GGUF model has no memory of what it has read: it is an encoder, and does not continue text",
                hint="Use a model that was trained to continue text.",
            )
        self._batch = _Batch(lib, rows, self.most_tokens)
        self._row_of_scores = ctypes.c_float * model.width

    def read(
        self, tokens: Sequence[int], positions: Sequence[int], rows: Sequence[int], is_scored: Sequence[bool]
    ) -> None:
        """Read tokens in one call and score after some of them."""
        count = len(tokens)
        batch = self._batch.filled(tokens, positions, rows, is_scored)
        log.clear()
        code = self._lib.llama_decode(self._pointer, batch)
        if code:
            raise ModelError(
                f"llama.cpp cannot read {count} tokens: {log.reason() or f'error {code}'}",
                hint=ParameterText("If memory is short, give a shorter prompt or a smaller batch_size.", "batch_size"),
            )

    def scores(self, index: int) -> Scores:
        """Return the scores after a token of the last ``read``, float32 ``[width]``."""
        first = self._lib.llama_get_logits_ith(self._pointer, index)
        row: Any = self._row_of_scores.from_address(ctypes.addressof(first.contents))
        scores: Scores = np.frombuffer(row, dtype=np.float32)
        return scores

    def cut(self, row: int, length: int) -> int:
        """Forget all but the first ``length`` tokens of a row, or all; return how many it holds."""
        # All are forgotten if a part cannot be: a recurrent state has no cell for each token and cannot be cut, nor can
        # a sliding window whose old cells are in use again.
        lib, window = self._lib, self._model.window
        if length > 0:
            first = lib.llama_memory_seq_pos_min(self._memory, row) if window else 0
            if first <= max(0, length - window) and lib.llama_memory_seq_rm(self._memory, row, length, -1):
                return length
        lib.llama_memory_seq_rm(self._memory, row, -1, -1)
        return 0

    def clear(self) -> None:
        """Forget all rows."""
        self._lib.llama_memory_clear(self._memory, False)

    def copy_row(self, row: int, other: Context) -> bool:
        """Copy the content of a row into another context."""
        lib = self._lib
        size = lib.llama_state_seq_get_size(self._pointer, row)
        state = (ctypes.c_uint8 * size)()
        if not size or lib.llama_state_seq_get_data(self._pointer, state, size, row) != size:
            return False
        return bool(lib.llama_state_seq_set_data(other._pointer, state, size, row) == size)


class Pool:
    """The idle contexts of one model.

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
        """Return an empty context, an idle one if any fits."""
        for context in list(self._idle):
            if context.rows == rows and self.fits(context, cells):
                with contextlib.suppress(ValueError):  # another thread may have taken it
                    self._idle.remove(context)
                    context.clear()
                    return context
        size = self._size(rows, cells)
        return Context(self.model, rows, size, threads=self._threads, is_float32=self._is_float32)

    def fits(self, context: Context, cells: int) -> bool:
        """Return whether a context has the right size."""
        return context.cells >= cells if self.copies else context.size == self._size(context.rows, cells)

    def _size(self, rows: int, cells: int) -> int:
        """Return the number of cells of a new context: a power of two, but no more than the rows can use."""
        return min(max(FIRST_CELLS, 1 << (cells - 1).bit_length()), max(rows * self._context_length, cells))

    def give_back(self, context: Context) -> None:
        """Keep a context for other texts."""
        self._idle.append(context)
