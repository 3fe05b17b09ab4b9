"""A batch for any model: a session for each row, asked one after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sfgen.errors import SfgenError
from sfgen.protocols import Answer, Int32, Model, ScoresRows, Session


class SeparateRows:
    """A batch for any model: a session for each row, asked one after the other.

    Args:
        model: Opens a session for a row when it is first asked.
        rows: The number of rows.
    """

    def __init__(self, model: Model, rows: int) -> None:
        self._model = model
        self._sessions: list[Session | None] = [None] * rows

    def extend(self, rows: Mapping[int, Sequence[int]]) -> Mapping[int, Answer]:
        """As ``Batch.extend``; an error is always that of its row alone."""
        return self.extend_rows(rows, {})

    def extend_rows(
        self, rows: Mapping[int, Sequence[int]], wanted: Mapping[int, Int32 | None]
    ) -> Mapping[int, Answer]:
        """As ``BatchScoresRows.extend_rows``."""
        return {row: self._read(row, token_ids, wanted.get(row)) for row, token_ids in rows.items()}

    def score_again(self, row: int, wanted: Int32 | None) -> Answer | None:
        """As ``BatchScoresRows.score_again``."""
        session = self._sessions[row]
        try:
            return session.score_again(wanted) if isinstance(session, ScoresRows) else None
        except SfgenError as error:
            return error

    def rewind(self, row: int, length: int) -> None:
        """As ``Batch.rewind``."""
        session = self._sessions[row]
        if length == 0:
            self._sessions[row] = None
        elif session is not None:
            session.rewind(length)

    def _read(self, row: int, token_ids: Sequence[int], wanted: Int32 | None) -> Answer:
        try:
            session = self._sessions[row] = self._sessions[row] or self._model.session()
            if wanted is None or not isinstance(session, ScoresRows):
                return session.extend(token_ids)
            return session.extend_rows(token_ids, wanted)
        except SfgenError as error:
            return error
