"""One model for all who write: what it has scored once behind a prompt, it need not score again.

Greedy texts of one prompt share most of their prefixes, whoever chooses the tokens. All of them are given the very same
scores, so that they differ by the constraint alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import Any

from sfgen.protocols import Scores


class RememberedModel:
    """A model whose sessions share scores.

    Args:
        model: The model that scores.
    """

    def __init__(self, model: Any) -> None:
        self.vocabulary = model.vocabulary
        self.encode, self.encode_inside = model.encode, model.encode_inside
        self.context_length: int = model.context_length
        self._session = model.session()
        self._read: list[int] = []
        self._known: dict[tuple[int, ...], Scores] = {}

    def forget(self) -> None:
        """Keep no scores: another prompt comes."""
        self._known.clear()

    def session(self) -> RememberedSession:
        """Return a new, empty session."""
        return RememberedSession(self)

    def scores(self, tokens: Sequence[int]) -> Scores:
        """The scores of what follows some tokens."""
        key = tuple(tokens)
        if key not in self._known:
            same = takewhile(lambda pair: pair[0] == pair[1], zip(self._read, tokens, strict=False))
            shared = min(sum(1 for _ in same), len(tokens) - 1)
            self._session.rewind(shared)
            del self._read[shared:]
            self._known[key] = self._session.extend(tokens[shared:]).copy()
            self._read += tokens[shared:]
        return self._known[key].copy()  # who asks may write into them


class RememberedSession:
    """One sequence.

    Args:
        model: What scores it.
    """

    def __init__(self, model: RememberedModel) -> None:
        self._model = model
        self._tokens: list[int] = []

    def extend(self, token_ids: Sequence[int]) -> Scores:
        """Read tokens and return the scores of the next token."""
        self._tokens += token_ids
        return self._model.scores(self._tokens)

    def rewind(self, length: int) -> None:
        """Forget all but the first ``length`` tokens."""
        del self._tokens[length:]
