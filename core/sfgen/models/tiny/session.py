"""One text inside the embedded model: read tokens, score the next, take tokens back."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

import numpy as np

from sfgen.errors import ModelError
from sfgen.models.sessions import check_readable
from sfgen.models.tiny.blas_threads import one_blas_thread
from sfgen.models.tiny.kv_cache import KvCache
from sfgen.models.tiny.network import Floats, Network, read, scores
from sfgen.protocols import Int32, Scores

AT_A_TIME = 128
"""The most tokens in one forward pass. With more, attention computes more masked scores, and the states do not fit into
the processor's cache: a prompt of 2000 tokens read at once takes twice as long."""


class TinySession:
    """One text that the network has read."""

    def __init__(self, network: Network, context_length: int, *, name: str) -> None:
        self._network = network
        self._context_length = context_length
        self._name = name
        self._cache = KvCache(len(network.layers), network.kv_heads, network.head_size, network.embeddings.dtype)
        self._last: Floats | None = None  # the hidden state of the last scores: [1, size]

    def extend(self, token_ids: Sequence[int]) -> Scores:
        """Read tokens and return the next scores, float32 ``[tokens]``."""
        # After an error the session holds what it held before.
        return self.extend_rows(token_ids, None)

    def extend_rows(self, token_ids: Sequence[int], rows: Int32 | None) -> Scores:
        """Read tokens and score only some of the vocabulary, float32 ``[k]``; ``None``: all."""
        with self._reading(token_ids):
            for states in self._passes(token_ids):
                self._last = states[-1:]
            return self._score(rows)

    def extend_all(self, token_ids: Sequence[int]) -> Scores:
        """Read tokens and return all scores, float32 ``[len(token_ids), tokens]``."""
        return self.extend_last(token_ids, len(token_ids))

    def extend_last(self, token_ids: Sequence[int], positions: int) -> Scores:
        """Read tokens and return the scores after the last of them, float32 ``[positions, tokens]``."""
        # The last scores equal those of `extend` to the last bit.
        with self._reading(token_ids):
            states = np.concatenate(list(self._passes(token_ids)))[-positions:]
            self._last = states[-1:]
            return np.concatenate([scores(self._network, states[:-1]), self._score(None)[None]])

    def score_again(self, rows: Int32 | None) -> Scores | None:
        """Score other tokens at the last position, reading nothing."""
        if self._last is None:
            return None
        with one_blas_thread():
            return self._score(rows)

    def rewind(self, length: int) -> None:
        """Forget all but the first ``length`` tokens."""
        self._cache.length = min(length, self._cache.length)

    @contextlib.contextmanager
    def _reading(self, token_ids: Sequence[int]) -> Iterator[None]:
        """Read tokens; after an error the session holds what it held before."""
        before, last = self._cache.length, self._last
        check_readable(token_ids, before, len(self._network.embeddings), self._context_length, self._name)
        try:
            with one_blas_thread():
                yield
        except BaseException as error:
            self._cache.length, self._last = before, last
            if isinstance(error, MemoryError):
                raise ModelError(
                    f"not enough memory for {before + len(token_ids)} tokens", hint="Give a shorter prompt."
                ) from error
            raise

    def _passes(self, token_ids: Sequence[int]) -> Iterator[Floats]:
        """Read tokens in forward passes; yield their last states, float32 ``[tokens, size]``."""
        for start in range(0, len(token_ids), AT_A_TIME):
            yield read(self._network, self._cache, token_ids[start : start + AT_A_TIME])

    def _score(self, rows: Int32 | None) -> Scores:
        """Score the token after the last one read."""
        assert self._last is not None, "something was read"
        found: Scores = scores(self._network, self._last, rows)[0]
        return found
