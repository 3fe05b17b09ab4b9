"""The texts that a GGUF model reads: one in a session, several in a batch, all of them rows of one context.

``Sequences`` reads tokens, takes tokens back, and reads a text again if it could not be cut.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from sfgen.errors import ModelError
from sfgen.models.gguf.context import Context, Pool
from sfgen.models.sessions import check_readable, without_unreadable
from sfgen.protocols import Answer, Scores


class GgufSession:
    """One sequence that a GGUF model has read."""

    # llama.cpp computes the scores of all tokens each time: there is no faster way to those of a few.

    def __init__(self, sequences: Sequences, width: int, context_length: int, name: str) -> None:
        self._sequences = sequences
        self._width, self._context_length, self._name = width, context_length, name

    def extend(self, token_ids: Sequence[int]) -> Scores:
        """Read tokens and return the next scores, float32 ``[len(vocabulary)]``."""
        # After an error the session holds what it held before.
        self._check(token_ids)
        scores: Scores = self._sequences.read({0: token_ids})[0][0]
        return scores

    def extend_all(self, token_ids: Sequence[int]) -> Scores:
        """Read tokens and return all scores, float32 ``[len(token_ids), len(vocabulary)]``."""
        return self.extend_last(token_ids, len(token_ids))

    def extend_last(self, token_ids: Sequence[int], positions: int) -> Scores:
        """Read tokens and return the scores after the last of them, float32 ``[positions, len(vocabulary)]``."""
        self._check(token_ids)
        return self._sequences.read({0: token_ids}, positions)[0]

    def rewind(self, length: int) -> None:
        """Forget all but the first ``length`` tokens."""
        self._sequences.rewind(0, length)

    def _check(self, token_ids: Sequence[int]) -> None:
        check_readable(token_ids, self._sequences.length(0), self._width, self._context_length, self._name)


class GgufBatch:
    """The sequences of a GGUF model that share one context."""

    def __init__(self, sequences: Sequences, width: int, context_length: int, name: str) -> None:
        self._sequences = sequences
        self._width, self._context_length, self._name = width, context_length, name

    def extend(self, rows: Mapping[int, Sequence[int]]) -> Mapping[int, Answer]:
        """Read tokens for some rows and return the next scores of each, or its ``ModelError``."""
        readable, errors = without_unreadable(rows, self._check)
        found = self._sequences.read(readable)
        return errors | {row: scores[0] for row, scores in found.items()}

    def extend_all(self, row: int, token_ids: Sequence[int]) -> Answer:
        """Read tokens for one row and return all their scores, or a ``ModelError``."""
        return self.extend_last(row, token_ids, len(token_ids))

    def extend_last(self, row: int, token_ids: Sequence[int], positions: int) -> Answer:
        """Read tokens for one row and return the scores after the last of them, or a ``ModelError``."""
        try:
            self._check(row, token_ids)
            return self._sequences.read({row: token_ids}, positions)[row]
        except ModelError as error:
            return error

    def rewind(self, row: int, length: int) -> None:
        """Forget all but the first ``length`` tokens of a row."""
        self._sequences.rewind(row, length)

    def _check(self, row: int, token_ids: Sequence[int]) -> None:
        check_readable(token_ids, self._sequences.length(row), self._width, self._context_length, self._name)


class _Pending(NamedTuple):
    """A token that is to be read."""

    token: int
    position: int
    row: int
    is_scored: bool


class Sequences:
    """The rows of tokens that a model has read, in one context."""

    # The context is taken at the first forward pass, and grows with the texts: its content is copied into a larger one.

    def __init__(self, pool: Pool, rows: int) -> None:
        self._pool = pool
        self._tokens: list[list[int]] = [[] for _ in range(rows)]
        self._held = [0] * rows  # the number of them in the context: fewer after a rewind that it could not do
        self._context: Context | None = None
        self._giving_back: weakref.finalize[..., Sequences] | None = None

    def length(self, row: int) -> int:
        """Return the number of tokens that a row has read."""
        return len(self._tokens[row])

    def read(self, rows: Mapping[int, Sequence[int]], positions: int = 1) -> dict[int, Scores]:
        """Read tokens; return the last scores of each row, ``[positions, width]``."""
        # After an error all rows hold what they held before.
        context = self._with_room(sum(map(len, self._tokens)) + sum(map(len, rows.values())))
        pending: list[_Pending] = []
        for row, token_ids in rows.items():
            whole = [*self._tokens[row], *token_ids]
            scored = len(whole) - positions
            pending += [_Pending(whole[at], at, row, at >= scored) for at in range(self._held[row], len(whole))]
        try:
            found = _read_pending(context, pending)
        except BaseException:  # of a signal, too: the context may hold some of the tokens
            context.clear()
            self._held = [0] * len(self._held)
            raise
        for row, token_ids in rows.items():
            self._tokens[row] += token_ids
            self._held[row] = len(self._tokens[row])
        return {row: _as_table(found[row]) for row in rows}

    def rewind(self, row: int, length: int) -> None:
        """Forget all but the first tokens of a row."""
        del self._tokens[row][length:]
        if self._context is not None and self._held[row] > length:
            self._held[row] = self._context.cut(row, length)

    def _with_room(self, cells: int) -> Context:
        """Return the context, or a larger one that holds the same."""
        before = self._context
        if before is not None and self._pool.fits(before, cells):
            return before
        context = self._pool.take(len(self._tokens), cells)
        if before is not None:
            self._held = [
                held if held and self._pool.copies and before.copy_row(row, context) else 0
                for row, held in enumerate(self._held)
            ]
            self._pool.give_back(before)
        self._hold(context)
        return context

    def _hold(self, context: Context) -> None:
        """Keep a context until the rows are forgotten; then the pool has it back."""
        # Not by `__del__`: where the rows are part of a cycle, their context would be freed before it is called, and
        # the pool would hand it out again.
        if self._giving_back is not None:
            self._giving_back.detach()
        self._context = context
        self._giving_back = weakref.finalize(self, self._pool.give_back, context)
        self._giving_back.atexit = False


def _read_pending(context: Context, pending: list[_Pending]) -> dict[int, list[Scores]]:
    """Read tokens in as few passes as the context allows; return the scores of each row."""
    found: dict[int, list[Scores]] = {}
    start = 0
    while start < len(pending):
        stop = _end_of_part(context, pending, start)
        tokens, positions, rows, are_scored = zip(*pending[start:stop], strict=True)
        context.read(tokens, positions, rows, are_scored)
        for index, is_scored in enumerate(are_scored):
            if is_scored:
                found.setdefault(rows[index], []).append(context.scores(index).copy())
        start = stop
    return found


def _as_table(scores: list[Scores]) -> Scores:
    """Stack the scores at some positions, float32 ``[positions, width]``."""
    # Those of a single one are not copied.
    return scores[0][None] if len(scores) == 1 else np.stack(scores)


def _end_of_part(context: Context, pending: list[_Pending], start: int) -> int:
    """Return the end of the tokens that one pass reads and scores from ``start`` on."""
    outputs = 0
    for stop in range(start, min(len(pending), start + context.most_tokens)):
        outputs += pending[stop].is_scored
        if outputs > context.most_outputs:
            return stop
    return min(len(pending), start + context.most_tokens)
