"""Several texts inside the embedded model, read in one forward pass: the weights are multiplied once for all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sfgen.errors import ModelError
from sfgen.models.tiny.network import Network
from sfgen.models.tiny.session import TinySession, read_together
from sfgen.protocols import Answer, Int32


class TinyBatch:
    """Texts that the network has read, a session each.

    Args:
        network: The weights.
        open_session: Makes a new, empty session.
        rows: The number of texts.
    """

    def __init__(self, network: Network, open_session: Callable[[], TinySession], rows: int) -> None:
        self._network = network
        self._open_session = open_session
        self._sessions = [open_session() for _ in range(rows)]

    def extend(self, rows: Mapping[int, Sequence[int]]) -> Mapping[int, Answer]:
        """Read tokens and return the scores of the next for each row: float32 ``[tokens]``.

        A row with tokens that it cannot read has a ``ModelError`` in place of scores.

        Raises:
            ModelError: See ``extend_rows``.
        """
        return self.extend_rows(rows, {})

    def extend_rows(
        self, rows: Mapping[int, Sequence[int]], wanted: Mapping[int, Int32 | None]
    ) -> Mapping[int, Answer]:
        """As ``extend``, but of each row the scores of the tokens ``wanted`` only: float32 ``[wanted]``; or of all.

        Raises:
            ModelError: Not enough memory. All rows hold what they held before.
        """
        answers: dict[int, Answer] = {}
        for row, token_ids in rows.items():
            try:
                self._sessions[row].check(token_ids)
            except ModelError as error:
                answers[row] = error
        readable = {row: token_ids for row, token_ids in rows.items() if row not in answers}
        read_together(self._network, {self._sessions[row]: token_ids for row, token_ids in readable.items()})
        # Each by itself, so that scores of the same tokens are the same to the last bit when they are asked for again.
        return answers | {row: self._sessions[row].score(wanted.get(row)) for row in readable}

    def extend_all(self, row: int, token_ids: Sequence[int]) -> Answer:
        """As ``TinySession.extend_all``, for one row; what cannot be read has a ``ModelError`` in place of scores."""
        try:
            return self._sessions[row].extend_all(token_ids)
        except ModelError as error:
            return error

    def score_again(self, row: int, wanted: Int32 | None) -> Answer | None:
        """Other scores of the token of a row that was scored last; see ``sfgen.protocols.ScoresRows``."""
        return self._sessions[row].score_again(wanted)

    def rewind(self, row: int, length: int) -> None:
        """Forget all but the first ``length`` tokens of a row."""
        if length:
            self._sessions[row].rewind(length)
        else:
            self._sessions[row] = self._open_session()
