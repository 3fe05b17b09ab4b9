"""One sequence inside a GGUF model."""

from __future__ import annotations

from collections.abc import Sequence

from sfgen.models.gguf.sequences import Sequences
from sfgen.models.readable import check_readable
from sfgen.protocols import Scores


class GgufSession:
    """One sequence that a GGUF model has read.

    llama.cpp computes the scores of all tokens each time: there is no faster way to those of a few.

    Args:
        sequences: A single row, empty.
        width: The number of tokens that the model knows.
        context_length: The most tokens that it can read.
        name: What messages call the model.
    """

    def __init__(self, sequences: Sequences, width: int, context_length: int, name: str) -> None:
        self._sequences = sequences
        self._width, self._context_length, self._name = width, context_length, name

    def extend(self, token_ids: Sequence[int]) -> Scores:
        """Read tokens and return the scores of the next token.

        After an error the session holds what it held before.

        Returns:
            Float32 ``[len(vocabulary)]``.

        Raises:
            ModelError: More tokens than the model's context holds, a token that it does not know, or not enough memory.
        """
        self._check(token_ids)
        scores: Scores = self._sequences.read({0: token_ids})[0][0]
        return scores

    def extend_all(self, token_ids: Sequence[int]) -> Scores:
        """Read tokens and return all their scores.

        Returns:
            Float32 ``[len(token_ids), len(vocabulary)]``.

        Raises:
            ModelError: As for ``extend``.
        """
        self._check(token_ids)
        return self._sequences.read({0: token_ids}, everywhere=True)[0]

    def rewind(self, length: int) -> None:
        """Forget all but the first ``length`` tokens."""
        self._sequences.rewind(0, length)

    def _check(self, token_ids: Sequence[int]) -> None:
        check_readable(token_ids, self._sequences.length(0), self._width, self._context_length, self._name)
