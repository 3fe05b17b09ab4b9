"""Several sequences inside a GGUF model, read in one forward pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sfgen.errors import ModelError
from sfgen.models.gguf.sequences import Sequences
from sfgen.models.readable import check_readable, without_unreadable
from sfgen.protocols import Answer


class GgufBatch:
    """The sequences of a GGUF model that share one context.

    Args:
        sequences: The rows, empty.
        width: The number of tokens that the model knows.
        context_length: The most tokens of a row.
        name: What messages call the model.
    """

    def __init__(self, sequences: Sequences, width: int, context_length: int, name: str) -> None:
        self._sequences = sequences
        self._width, self._context_length, self._name = width, context_length, name

    def extend(self, rows: Mapping[int, Sequence[int]]) -> Mapping[int, Answer]:
        """Read tokens for some rows and return their next scores.

        A row with tokens that it cannot read has a ``ModelError`` in place of scores.

        Returns:
            By row: float32 ``[len(vocabulary)]``, or an error.

        Raises:
            ModelError: Not enough memory, or llama.cpp fails. All rows hold what they held before.
        """
        readable, errors = without_unreadable(rows, self._check)
        found = self._sequences.read(readable)
        return errors | {row: scores[0] for row, scores in found.items()}

    def extend_all(self, row: int, token_ids: Sequence[int]) -> Answer:
        """Read tokens for one row and return all their scores.

        Returns:
            Float32 ``[len(token_ids), len(vocabulary)]``, or an error.
        """
        try:
            self._check(row, token_ids)
            return self._sequences.read({row: token_ids}, everywhere=True)[row]
        except ModelError as error:
            return error

    def rewind(self, row: int, length: int) -> None:
        """Forget all but the first ``length`` tokens of a row."""
        self._sequences.rewind(row, length)

    def _check(self, row: int, token_ids: Sequence[int]) -> None:
        check_readable(token_ids, self._sequences.length(row), self._width, self._context_length, self._name)
