"""Several texts inside the embedded model, read in one forward pass: its weights come from memory once for all."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from sfgen.errors import ModelError
from sfgen.models.readable import check_readable, without_unreadable
from sfgen.models.tiny.blas_threads import one_blas_thread
from sfgen.models.tiny.network import Floats, Network, forward, scores
from sfgen.models.tiny.rows_attention import RowsAttention
from sfgen.models.tiny.rows_kv_cache import RowsKvCache
from sfgen.parameter_text import ParameterText
from sfgen.protocols import Answer

AT_A_TIME = 512
"""Tokens in one forward pass, of all texts: of more, the states leave the processor's cache."""


class TinyBatch:
    """The rows of the embedded model that share forward passes.

    All tokens are scored, whoever asks for a few: at once they cost less than a few for each row.

    Args:
        load: Returns the weights; called at the first forward pass.
        rows: The number of rows.
        context_length: The most tokens of a row.
        name: What messages call the model.
    """

    def __init__(self, load: Callable[[], Network], rows: int, context_length: int, *, name: str) -> None:
        self._load = load
        self._rows = rows
        self._context_length = context_length
        self._name = name
        self._kept: RowsKvCache | None = None

    def extend(self, rows: Mapping[int, Sequence[int]]) -> Mapping[int, Answer]:
        """Read tokens for some rows and return their next scores.

        A row with tokens that it cannot read has a ``ModelError`` in place of scores.

        Returns:
            By row: float32 ``[tokens]``, or an error.

        Raises:
            ModelError: Not enough memory. All rows hold what they held before.
        """
        rows, answers = without_unreadable(rows, self._check)
        last: dict[int, Floats] = {}
        with self._reading(rows):
            for part in _passes(rows):
                last |= {row: states[-1] for row, states in self._read(part).items()}
            if last:
                answers |= zip(last, scores(self._network, np.stack(list(last.values()))), strict=True)
        return answers

    def extend_all(self, row: int, token_ids: Sequence[int]) -> Answer:
        """Read tokens for one row and return all their scores.

        Returns:
            Float32 ``[len(token_ids), tokens]``; a ``ModelError`` if they cannot be read, and then the row holds what
            it held before.
        """
        try:
            self._check(row, token_ids)
            with self._reading({row: token_ids}):
                states = [self._read(part)[row] for part in _passes({row: token_ids})]
                return scores(self._network, np.concatenate(states))
        except ModelError as error:
            return error

    def rewind(self, row: int, length: int) -> None:
        """Forget all but the first ``length`` tokens of a row."""
        if self._kept is None:
            return
        self._kept.lengths[row] = min(length, self._kept.lengths[row])
        if not any(self._kept.lengths):
            self._kept = None

    @property
    def _network(self) -> Network:
        return self._load()

    @property
    def _cache(self) -> RowsKvCache:
        """What the rows have read."""
        if self._kept is None:
            network = self._network
            self._kept = RowsKvCache(
                self._rows, len(network.layers), network.kv_heads, network.head_size, network.embeddings.dtype
            )
        return self._kept

    def _check(self, row: int, token_ids: Sequence[int]) -> None:
        known = len(self._network.embeddings)
        check_readable(token_ids, self._cache.lengths[row], known, self._context_length, self._name)

    @contextlib.contextmanager
    def _reading(self, rows: Mapping[int, Sequence[int]]) -> Iterator[None]:
        """Where tokens are read; after an error all rows hold what they held before."""
        cache = self._cache
        before = list(cache.lengths)
        try:
            with one_blas_thread():
                yield
        except BaseException as error:
            cache.lengths = before
            if isinstance(error, MemoryError):
                count = sum(before) + sum(map(len, rows.values()))
                raise ModelError(
                    f"not enough memory for {count} tokens in {self._rows} texts",
                    hint=ParameterText("Give a smaller batch_size or shorter prompts.", "batch_size"),
                ) from error
            raise

    def _read(self, rows: Mapping[int, Sequence[int]]) -> dict[int, Floats]:
        """Read the tokens of some rows in one forward pass; their last states by row, float32 ``[tokens, size]``."""
        network, cache = self._network, self._cache
        counts = {row: len(token_ids) for row, token_ids in rows.items()}
        cache.make_room(counts)
        attention = RowsAttention(network, cache, counts)
        token_ids = [token for row in attention.order for token in rows[row]]
        states = forward(network, token_ids, attention.positions, attention)
        for row, count in counts.items():
            cache.lengths[row] += count
        ends = np.cumsum([counts[row] for row in attention.order])[:-1]
        return dict(zip(attention.order, np.split(states, ends), strict=True))


def _passes(rows: Mapping[int, Sequence[int]]) -> Iterator[dict[int, Sequence[int]]]:
    """Divide tokens among forward passes: some rows read one after the other, if all would be too many.

    Args:
        rows: The tokens to read, by row.
    """
    left = dict(rows)
    while left:
        part: dict[int, Sequence[int]] = {}
        room = AT_A_TIME
        for row, token_ids in left.items():
            if room:
                part[row] = token_ids[:room]
                room -= len(part[row])
        yield part
        left = {row: rest for row, ids in left.items() if (rest := ids[len(part.get(row, ())) :])}
