"""The parts that all models share: scores at several positions, a batch of sessions, and the common refusals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from sfgen.errors import ModelError, SfgenError
from sfgen.parameter_text import ParameterText
from sfgen.protocols import Answer, Int32, Model, Scores, ScoresEverywhere, ScoresLast, ScoresRows, Session


def last_scores(session: Session, token_ids: Sequence[int], positions: int) -> Scores:
    """Read tokens in any session and return the scores after the last of them, ``[positions, len(vocabulary)]``."""
    # A session that has only `extend_all` computes the other scores as well: so it reads all tokens at once, as without
    # an observer. A session that reads in parts may have read some of them before an error, and must be rewound.
    if isinstance(session, ScoresLast):
        return session.extend_last(token_ids, positions)
    if isinstance(session, ScoresEverywhere):
        return last_of_all(session.extend_all(token_ids), len(token_ids), positions)
    return np.stack([session.extend(part) for part in last_in_parts(token_ids, positions)])


def last_of_all(scores: Scores, count: int, positions: int) -> Scores:
    """Copy the scores of the last ``count`` positions, so that the others can be freed."""
    return scores if positions == count else np.array(scores[count - positions :])


def last_in_parts(token_ids: Sequence[int], positions: int) -> list[Sequence[int]]:
    """Divide tokens into as many parts as there are positions to score, each at the end of its part.

    >>> last_in_parts([1, 2, 3, 4, 5], 3)
    [[1, 2, 3], [4], [5]]
    """
    first = len(token_ids) - positions + 1
    return [token_ids[:first], *([token] for token in token_ids[first:])]


class SeparateRows:
    """A batch for any model: one session for each row."""

    def __init__(self, model: Model, rows: int) -> None:
        self._model = model
        self._sessions: list[Session | None] = [None] * rows
        self._scoring_rows: list[ScoresRows | None] = [None] * rows  # the same sessions, if they can score rows
        self._lengths = [0] * rows

    def extend(self, rows: Mapping[int, Sequence[int]]) -> Mapping[int, Answer]:
        """Read as ``Batch.extend``; an error concerns its row alone."""
        return self.extend_rows(rows, {})

    def extend_rows(
        self, rows: Mapping[int, Sequence[int]], wanted: Mapping[int, Int32 | None]
    ) -> Mapping[int, Answer]:
        """Read and score as ``BatchScoresRows.extend_rows``."""
        return {row: self._read(row, token_ids, wanted.get(row)) for row, token_ids in rows.items()}

    def extend_all(self, row: int, token_ids: Sequence[int]) -> Answer:
        """Read and score as ``BatchScoresEverywhere.extend_all``, for any session."""
        return self.extend_last(row, token_ids, len(token_ids))

    def extend_last(self, row: int, token_ids: Sequence[int], positions: int) -> Answer:
        """Read and score as ``BatchScoresLast.extend_last``, for any session."""
        before = self._lengths[row]
        try:
            scores = last_scores(self._session(row), token_ids, positions)
        except SfgenError as error:
            self.rewind(row, before)  # some of the tokens may have been read
            return error
        self._lengths[row] += len(token_ids)
        return scores

    def score_again(self, row: int, wanted: Int32 | None) -> Answer | None:
        """Score as ``BatchScoresRows.score_again``."""
        session = self._scoring_rows[row]
        try:
            return None if session is None else session.score_again(wanted)
        except SfgenError as error:
            return error

    def rewind(self, row: int, length: int) -> None:
        """Rewind as ``Batch.rewind``."""
        self._lengths[row] = min(length, self._lengths[row])
        session = self._sessions[row]
        if length == 0:
            self._sessions[row] = self._scoring_rows[row] = None
        elif session is not None:
            session.rewind(length)

    def _session(self, row: int) -> Session:
        session = self._sessions[row]
        if session is None:
            session = self._sessions[row] = self._model.session()
            self._scoring_rows[row] = session if isinstance(session, ScoresRows) else None
        return session

    def _read(self, row: int, token_ids: Sequence[int], wanted: Int32 | None) -> Answer:
        try:
            session = self._session(row)
            scoring = self._scoring_rows[row]
            if wanted is None or scoring is None:
                scores = session.extend(token_ids)
            else:
                scores = scoring.extend_rows(token_ids, wanted)
        except SfgenError as error:
            return error
        self._lengths[row] += len(token_ids)
        return scores


def check_readable(token_ids: Sequence[int], before: int, known: int, context_length: int | None, name: str) -> None:
    """Refuse tokens that a model cannot read."""
    if not token_ids:
        raise ModelError(f"{name} has nothing to read", hint="Give a prompt of at least one token.")
    count = before + len(token_ids)
    if context_length is not None and count > context_length:
        raise ModelError(
            f"the text is longer than {name} can read: {count} tokens, its context holds {context_length}",
            hint=ParameterText("Give a shorter prompt or a lower max_tokens.", "max_tokens"),
        )
    unknown = next((token for token in token_ids if not 0 <= token < known), None)
    if unknown is not None:  # on a GPU such a look-up breaks everything that follows
        raise ModelError(f"there is no token {unknown}: {name} knows {known}, from 0 on")


def without_unreadable(
    rows: Mapping[int, Sequence[int]], check: Callable[[int, Sequence[int]], None]
) -> tuple[dict[int, Sequence[int]], dict[int, Answer]]:
    """Divide the rows of a batch into those that can be read and errors."""
    readable: dict[int, Sequence[int]] = {}
    errors: dict[int, Answer] = {}
    for row, token_ids in rows.items():
        try:
            check(row, token_ids)
        except ModelError as error:
            errors[row] = error
        else:
            readable[row] = token_ids
    return readable, errors


def not_pickled(name: str) -> ModelError:
    """Return the error for pickling or copying a model."""
    return ModelError(
        f"the model {name} cannot be pickled or copied",
        hint="Send its name, and load it in the other process: sfgen.load_model(name).",
    )
