"""Several texts inside the embedded model, read in one forward pass: its weights come from memory once for all.

Texts that read few tokens attend at once, the others one by one. At once means padded: each text has as many queries as
the text that reads most, over as many slots as the longest. If texts are alike, that takes much less time than a
product for each of them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from sfgen.errors import ModelError
from sfgen.models.sessions import check_readable, without_unreadable
from sfgen.models.tiny.blas_threads import one_blas_thread
from sfgen.models.tiny.kv_cache import RowsKvCache
from sfgen.models.tiny.network import Floats, Network, attention, causal_mask, forward, scores
from sfgen.parameter_text import ParameterText
from sfgen.protocols import Answer, Int32

Ints: TypeAlias = NDArray[np.intp]

AT_A_TIME = 512
"""The most tokens of all texts in one forward pass: the states of more do not fit into the processor's cache."""

MOST_AT_ONCE = 8
"""A text that reads more tokens attends by itself."""
LONGEST_AT_ONCE = 2
"""So does one that is longer than the typical text by more than this factor."""


class TinyBatch:
    """The rows of the embedded model that share forward passes."""

    # All tokens are scored, even if few are asked for: one product for all rows costs less than a small one for each.

    def __init__(self, load: Callable[[], Network], rows: int, context_length: int, *, name: str) -> None:
        self._load = load
        self._rows = rows
        self._context_length = context_length
        self._name = name
        self._kept: RowsKvCache | None = None

    def extend(self, rows: Mapping[int, Sequence[int]]) -> Mapping[int, Answer]:
        """Read tokens for some rows and return the next scores of each, or its ``ModelError``."""
        read, table, errors = self.extend_together(rows, {})
        return {**errors, **dict(zip(read, table, strict=True))}

    def extend_together(
        self, rows: Mapping[int, Sequence[int]], wanted: Mapping[int, Int32 | None]
    ) -> tuple[Sequence[int], Floats, Mapping[int, Answer]]:
        """Read tokens for some rows; return rows, their next scores in one table, and the errors of others."""
        rows, errors = without_unreadable(rows, self._check)
        last: dict[int, Floats] = {}
        with self._reading(rows):
            for part in _passes(rows):
                last |= {row: states[-1] for row, states in self._read(part).items()}
            states = (
                np.stack(list(last.values())) if last else np.empty((0, len(self._network.embeddings[0])), np.float32)
            )
            return list(last), scores(self._network, states), errors

    def extend_all(self, row: int, token_ids: Sequence[int]) -> Answer:
        """Read tokens for one row and return all their scores, or a ``ModelError``."""
        return self.extend_last(row, token_ids, len(token_ids))

    def extend_last(self, row: int, token_ids: Sequence[int], positions: int) -> Answer:
        """Read tokens for one row and return the scores after the last of them, or a ``ModelError``."""
        try:
            self._check(row, token_ids)
            with self._reading({row: token_ids}):
                states = [self._read(part)[row] for part in _passes({row: token_ids})]
                return scores(self._network, np.concatenate(states)[-positions:])
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
        """The keys and values of the rows."""
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
        """Run a forward pass; after an error all rows hold what they held before."""
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
        """Run one forward pass; return the last states by row, float32 ``[tokens, size]``."""
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
    """Divide tokens among forward passes of at most ``AT_A_TIME``."""
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


class RowsAttention:
    """The attention of one forward pass, in all layers.

    Attributes:
        order: The rows in the order in which the pass reads their tokens.
        positions: Where each token stands in its text, ``[T]``.
    """

    def __init__(self, network: Network, cache: RowsKvCache, counts: Mapping[int, int]) -> None:
        self._cache = cache
        self._width = network.heads * network.head_size
        together = _together(cache, counts)
        alone = [row for row in counts if row not in together]
        self.order = [*together, *alone]
        numbers = [counts[row] for row in self.order]
        starts = np.repeat([cache.lengths[row] for row in self.order], numbers)
        ends = np.cumsum(numbers)
        places = np.arange(ends[-1]) - np.repeat(ends - numbers, numbers)
        self._rows = np.repeat(self.order, numbers)
        self.positions = starts + places
        self._alone = [
            (slice(end - counts[row], end), row, causal_mask(cache.lengths[row], counts[row]))
            for row, end in zip(alone, ends[len(together) :].tolist(), strict=True)
        ]
        self._at_once: _AtOnce | None = None
        if together:
            tokens = slice(0, int(ends[len(together) - 1]))
            self._at_once = _AtOnce(self._rows[tokens], places[tokens], self.positions[tokens])

    def __call__(self, layer: int, queries: Floats, keys: Floats, values: Floats) -> Floats:
        """Attend in one layer; see ``sfgen.models.tiny.network.forward``."""
        self._cache.write(layer, self._rows, self.positions, keys, values)
        found = np.empty((len(queries), self._width), queries.dtype)
        if self._at_once is not None:
            some = slice(0, self._at_once.count)
            found[some] = self._at_once.attend(layer, queries[some], self._cache)
        for tokens, row, mask in self._alone:
            held = self._cache.held(layer, slice(row, row + 1), int(self.positions[tokens][-1]) + 1)
            found[tokens] = attention(queries[tokens][None], *held, mask)[0]
        return found


class _AtOnce:
    """The texts that attend at once, with padding."""

    # Rows between them take part without need: leaving them out would mean copying the others.

    def __init__(self, rows: Ints, places: Ints, positions: Ints) -> None:
        # Of each token [tokens]: its row, its number among the tokens that its row reads, its position in the text.
        first = int(rows.min())
        self.count = len(rows)
        self._held = slice(first, int(rows.max()) + 1)
        self._at = rows - first, places
        self._slots = int(positions.max()) + 1
        self._shape = self._held.stop - first, int(places.max()) + 1
        last_seen = np.zeros(self._shape, dtype=np.intp)  # padding attends to the first slot
        last_seen[self._at] = positions
        unseen = np.arange(self._slots) > last_seen[..., None]
        self._mask = np.where(unseen, np.float32(-np.inf), np.float32(0))

    def attend(self, layer: int, queries: Floats, cache: RowsKvCache) -> Floats:
        padded = np.zeros((*self._shape, *queries.shape[1:]), queries.dtype)
        padded[self._at] = queries
        found: Floats = attention(padded, *cache.held(layer, self._held, self._slots), self._mask)[self._at]
        return found


def _together(cache: RowsKvCache, counts: Mapping[int, int]) -> list[int]:
    """Return the rows that attend at once: they read few tokens, and are not much longer than the others."""
    slots = {row: cache.lengths[row] + count for row, count in counts.items() if count <= MOST_AT_ONCE}
    if len(slots) < 2:
        return []
    typical = sorted(slots.values())[len(slots) // 2]
    return [row for row, needed in slots.items() if needed <= LONGEST_AT_ONCE * typical]
