"""One text inside the embedded model: read tokens, score the next, take tokens back."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from sfgen.errors import ModelError
from sfgen.models.readable import check_readable
from sfgen.models.tiny.blas_threads import one_blas_thread
from sfgen.models.tiny.kv_cache import KvCache
from sfgen.models.tiny.network import Floats, Network, Reading, read, scores
from sfgen.protocols import Int32, Scores

_AT_A_TIME = 128
"""Tokens in one forward pass. Of more, attention computes more for nothing, and the states leave the processor's cache:
a prompt of 2000 tokens takes twice as long at once."""


class TinySession:
    """A text that the network has read.

    Args:
        network: The weights.
        context_length: The most tokens that it can read.
        name: What messages call the model.
    """

    def __init__(self, network: Network, context_length: int, *, name: str) -> None:
        self._network = network
        self._context_length = context_length
        self._name = name
        self.cache = KvCache(len(network.layers), network.kv_heads, network.head_size)
        self.last: Floats | None = None  # the state that the last scores were made of: [1, size]

    def extend(self, token_ids: Sequence[int]) -> Scores:
        """Read tokens and return the scores of the next: float32 ``[tokens]``.

        After an error the session holds what it held before.

        Raises:
            ModelError: No tokens, more than the context holds, one that the model does not know, or not enough memory.
        """
        return self.extend_rows(token_ids, None)

    def extend_rows(self, token_ids: Sequence[int], rows: Int32 | None) -> Scores:
        """As ``extend``, but the scores of the tokens ``rows`` only, float32 ``[rows]``; ``None``: of all."""
        self.check(token_ids)
        read_together(self._network, {self: token_ids})
        return self.score(rows)

    def extend_all(self, token_ids: Sequence[int]) -> Scores:
        """Read tokens; the scores after each: float32 ``[len(token_ids), tokens]``.

        The last ones are those of ``extend`` to the last bit.

        Raises:
            ModelError: As for ``extend``.
        """
        self.check(token_ids)
        with _reading([self], len(token_ids)):
            states = np.concatenate(
                [
                    read(self._network, [Reading(self.cache, token_ids[start : start + _AT_A_TIME])])
                    for start in range(0, len(token_ids), _AT_A_TIME)
                ]
            )
            found = np.empty((len(states), len(self._network.embeddings)), dtype=np.float32)
            found[:-1] = scores(self._network, states[:-1])
            self.last = states[-1:]
            found[-1] = self.score(None)
        return found

    def score_again(self, rows: Int32 | None) -> Scores | None:
        """Other scores of the token that was scored last; see ``sfgen.protocols.ScoresRows``."""
        return None if self.last is None else self.score(rows)

    def rewind(self, length: int) -> None:
        """Forget all but the first ``length`` tokens."""
        self.cache.length = min(length, self.cache.length)

    def check(self, token_ids: Sequence[int]) -> None:
        """Refuse tokens that cannot be read.

        Raises:
            ModelError: As for ``extend``.
        """
        known = len(self._network.embeddings)
        check_readable(token_ids, self.cache.length, known, self._context_length, self._name)

    def score(self, rows: Int32 | None) -> Scores:
        """The scores of the token after the last one read: of the tokens ``rows``, or of all."""
        assert self.last is not None, "something was read"
        with one_blas_thread():
            found: Scores = scores(self._network, self.last, rows)[0]
        return found


def read_together(network: Network, texts: Mapping[TinySession, Sequence[int]]) -> None:
    """Read tokens in several sessions, in as few forward passes as may be. After an error all hold what they held.

    Args:
        network: The weights.
        texts: The tokens that each session reads, which were checked.

    Raises:
        ModelError: Not enough memory.
    """
    with _reading(texts, sum(map(len, texts.values()))):
        last = {}
        for pieces in _passes(texts):
            states = read(network, [Reading(session.cache, token_ids) for session, token_ids in pieces])
            end = 0
            for session, token_ids in pieces:
                end += len(token_ids)
                last[session] = states[end - 1 : end]
        for session, state in last.items():
            session.last = state


def _passes(texts: Mapping[TinySession, Sequence[int]]) -> Iterator[list[tuple[TinySession, Sequence[int]]]]:
    """Cut texts into pieces, so that no forward pass has more than ``_AT_A_TIME`` tokens."""
    pieces: list[tuple[TinySession, Sequence[int]]] = []
    room = _AT_A_TIME
    for session, token_ids in texts.items():
        start = 0
        while start < len(token_ids):
            piece = token_ids[start : start + room]
            pieces.append((session, piece))
            start, room = start + len(piece), room - len(piece)
            if room == 0:
                yield pieces
                pieces, room = [], _AT_A_TIME
    if pieces:
        yield pieces


@contextlib.contextmanager
def _reading(sessions: Sequence[TinySession] | Mapping[TinySession, Sequence[int]], count: int) -> Iterator[None]:
    """Where sessions read ``count`` tokens in all; after an error they hold what they held before."""
    before = {session: (session.cache.length, session.last) for session in sessions}
    try:
        with one_blas_thread():
            yield
    except BaseException as error:
        for session, (length, last) in before.items():
            session.cache.length, session.last = length, last
        if isinstance(error, MemoryError):
            raise ModelError(
                f"not enough memory for {count} tokens", hint="Give a shorter prompt or a smaller --batch-size."
            ) from error
        raise
