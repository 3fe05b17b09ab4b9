"""What a model must be able to do, and what it may be able to do besides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from sfgen.protocols.tokens import Answer, Int32, Scores, Tokens


class Session(Protocol):
    """One sequence inside a model, with what it has read."""

    def extend(self, token_ids: Sequence[int]) -> Scores:
        """Read tokens and return the scores of the next token.

        Args:
            token_ids: At least one.

        Returns:
            Float ``[len(vocabulary)]``: the scores (logits) of the token after ``token_ids``.
        """

    def rewind(self, length: int) -> None:
        """Forget all but the first ``length`` tokens."""


@runtime_checkable
class ScoresEverywhere(Protocol):
    """A session that can return the scores at every position."""

    def extend_all(self, token_ids: Sequence[int]) -> Scores:
        """Read tokens as ``extend`` does and return all their scores.

        Args:
            token_ids: At least one.

        Returns:
            Float ``[len(token_ids), len(vocabulary)]``; position ``i`` scores the token after ``token_ids[i]``.
        """


@runtime_checkable
class ScoresRows(Protocol):
    """A session that can score some tokens without the others."""

    def extend_rows(self, token_ids: Sequence[int], rows: Int32) -> Scores:
        """Read tokens and score only some of the vocabulary.

        Args:
            token_ids: At least one.
            rows: The tokens to score, int32 ``[k]``.

        Returns:
            Float ``[k]``, or ``[len(vocabulary)]`` from a session that scored all tokens.
        """

    def score_again(self, rows: Int32 | None) -> Scores | None:
        """Score other tokens at the last position, reading nothing.

        Scores of the same tokens are the same to the last bit, whichever way they were computed.

        Args:
            rows: The tokens to score, int32 ``[k]``; ``None``: the whole vocabulary.

        Returns:
            Float ``[k]`` or ``[len(vocabulary)]``; ``None`` if the last scores were already those of the whole
            vocabulary.
        """


class Model(Protocol):
    """A language model: a vocabulary, an encoder of prompts, and sessions."""

    @property
    def vocabulary(self) -> Tokens:
        """The bytes of each token id that the model scores: a ``sfgen.Vocabulary``."""

    def encode(self, text: str) -> list[int]:
        """Return a prompt's token ids, with the begin token if any."""

    def session(self) -> Session:
        """Return a new, empty session."""


class Batch(Protocol):
    """Several sequences inside a model, numbered by row from 0."""

    def extend(self, rows: Mapping[int, Sequence[int]]) -> Mapping[int, Answer]:
        """Read tokens for some rows and return their next scores.

        A row that cannot be read has an error in place of scores. An exception is the error of every row named, and
        none of them has read anything then.

        Args:
            rows: The token ids to read by row, at least one for each.

        Returns:
            By row: float ``[len(vocabulary)]``, or an error.
        """

    def rewind(self, row: int, length: int) -> None:
        """Forget all but the first ``length`` tokens of a row.

        Args:
            row: The number of the row.
            length: In tokens. With 0 the row is over or begins anew, and what is kept for it may be freed.
        """


@runtime_checkable
class BatchScoresRows(Protocol):
    """A batch that can score some tokens without the others."""

    def extend_rows(
        self, rows: Mapping[int, Sequence[int]], wanted: Mapping[int, Int32 | None]
    ) -> Mapping[int, Answer]:
        """Read tokens for some rows and score only some of the vocabulary.

        Args:
            rows: The token ids to read by row, at least one for each.
            wanted: The tokens to score by row, int32 ``[k]``; ``None``: the whole vocabulary.

        Returns:
            By row: float ``[k]`` or ``[len(vocabulary)]``, or an error.
        """

    def score_again(self, row: int, wanted: Int32 | None) -> Answer | None:
        """Score other tokens at a row's last position, reading nothing.

        Args:
            row: The number of the row.
            wanted: The tokens to score, int32 ``[k]``; ``None``: the whole vocabulary.

        Returns:
            As ``ScoresRows.score_again``, or an error.
        """


@runtime_checkable
class BatchScoresEverywhere(Protocol):
    """A batch that can return the scores at every position."""

    def extend_all(self, row: int, token_ids: Sequence[int]) -> Answer:
        """Read tokens for one row and return all their scores.

        Args:
            row: The number of the row.
            token_ids: At least one.

        Returns:
            Float ``[len(token_ids), len(vocabulary)]``, or an error.
        """


@runtime_checkable
class HasBatch(Protocol):
    """A model that reads several sequences in one forward pass."""

    def batch(self, rows: int) -> Batch:
        """Return a new batch.

        Args:
            rows: How many sequences it has, all empty.
        """
