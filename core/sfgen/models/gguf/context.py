"""A context of llama.cpp: the cells that hold what several texts have read, each text a row."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from sfgen.errors import ModelError
from sfgen.models.gguf.library import library, log
from sfgen.models.gguf.loaded import LoadedModel
from sfgen.parameter_text import ParameterText
from sfgen.protocols import Scores

MOST_TOKENS = 512
"""The most tokens that are read in one forward pass."""
MOST_SCORES = 1 << 25
"""The most scores that are made at a time, unless one token has more: 128 MiB in float32."""
_F32 = 0
"""The type float32 of ggml."""
_NO_FLASH = 0
"""Keys, values and attention one after the other."""


class Context:
    """The KV cache of llama.cpp for several rows of tokens.

    Args:
        model: The model, with its weights.
        rows: The number of rows.
        cells: How many tokens all rows can hold together.
        threads: How many threads read.
        is_float32: Whether attention is computed in float32, keys and values kept in it; else they are float16.

    Attributes:
        rows: The number of rows.
        size: How many cells were wanted.
        cells: How many tokens all rows can hold together: ``size`` or a few more.
        most_tokens: The most tokens of one ``read``.
        most_outputs: The most tokens of one ``read`` that may be scored.

    Raises:
        ModelError: There is not enough memory, or the model continues no text.
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
        options.swa_full = True  # what lies before a sliding window is kept, for tokens that are taken back
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
                "this GGUF model keeps nothing of what it has read: it is an encoder, and continues no text",
                hint="Use a model that was trained to continue text.",
            )
        self._row_ids = np.arange(rows, dtype=np.int32)

    def read(
        self, tokens: Sequence[int], positions: Sequence[int], rows: Sequence[int], outputs: Sequence[int]
    ) -> Scores:
        """Read tokens in one call and score after some of them.

        Args:
            tokens: At most ``most_tokens`` token ids.
            positions: For each token, how many of its row stand before it.
            rows: For each token, its row.
            outputs: The indices of the tokens that are scored, ascending: at most ``most_outputs``.

        Returns:
            Float32 ``[len(outputs), width]``.

        Raises:
            ModelError: There are too few cells, or llama.cpp fails; what the cells hold is then not known.
        """
        lib, count = self._lib, len(tokens)
        ids, places = np.array(tokens, dtype=np.int32), np.array(positions, dtype=np.int32)
        ones, flags = np.ones(count, dtype=np.int32), np.zeros(count, dtype=np.int8)
        flags[list(outputs)] = 1
        # Each token has a list of the rows that it belongs to: a pointer to its only row.
        lists = self._row_ids.ctypes.data + np.array(rows, dtype=np.uintp) * self._row_ids.itemsize
        int32 = ctypes.POINTER(ctypes.c_int32)
        batch = lib.llama_batch(
            n_tokens=count,
            token=ids.ctypes.data_as(int32),
            pos=places.ctypes.data_as(int32),
            n_seq_id=ones.ctypes.data_as(int32),
            seq_id=lists.ctypes.data_as(ctypes.POINTER(int32)),
            logits=flags.ctypes.data_as(ctypes.POINTER(ctypes.c_int8)),
        )
        log.clear()
        code = lib.llama_decode(self._pointer, batch)
        if code:
            raise ModelError(
                f"llama.cpp cannot read {count} tokens: {log.reason() or f'error {code}'}",
                hint=ParameterText(
                    "If it is a matter of memory, give a shorter prompt or a smaller batch_size.", "batch_size"
                ),
            )
        scores = np.empty((len(outputs), self._model.width), dtype=np.float32)
        for number, output in enumerate(outputs):
            found = lib.llama_get_logits_ith(self._pointer, output)
            scores[number] = np.ctypeslib.as_array(found, (self._model.width,))
        return scores

    def cut(self, row: int, length: int) -> int:
        """Forget all but the first ``length`` tokens of a row.

        It forgets all of them where less cannot be forgotten: a recurrent state has no cell for each token and cannot
        be cut, nor can a sliding window that has moved on over cells that are in use again.

        Args:
            row: The number of the row.
            length: The tokens to keep.

        Returns:
            How many tokens it holds now: ``length``, or 0.
        """
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
        """Copy the content of a row into another context.

        Args:
            row: The number of the row in both contexts.
            other: The context to copy to, in which the row is empty.

        Returns:
            Whether it was copied; not every model's state can be.
        """
        lib = self._lib
        size = lib.llama_state_seq_get_size(self._pointer, row)
        state = (ctypes.c_uint8 * size)()
        if not size or lib.llama_state_seq_get_data(self._pointer, state, size, row) != size:
            return False
        return bool(lib.llama_state_seq_set_data(other._pointer, state, size, row) == size)
