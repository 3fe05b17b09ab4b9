"""A model without a preference: every token is equally likely. What remains is the constraint alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfgen.decoding.protocols import Scores
from sfgen.errors import InputError
from sfgen.vocabulary import Vocabulary


class UniformModel:
    """Equal scores over a vocabulary; with none given, over the 256 single bytes and one end token.

    >>> from sfgen import Dfa, Index, generate
    >>> model = UniformModel()
    >>> generate(model, "It is ", index=Index(Dfa.from_choices(["cold"]), model.vocabulary)).text
    'cold'
    """

    name = "uniform"

    def __init__(self, vocabulary: Vocabulary | None = None) -> None:
        if vocabulary is None:
            vocabulary = Vocabulary([*(bytes([byte]) for byte in range(256)), None], end_token_ids=[256])
        self.vocabulary = vocabulary
        self._ids = {data: token for token, data in reversed(list(enumerate(vocabulary.tokens))) if data}
        self._longest = max(map(len, self._ids))

    def encode(self, text: str) -> list[int]:
        """The token ids of a prompt, by longest match; how it is cut makes no difference to this model.

        Raises:
            InputError: The vocabulary cannot write the prompt.
        """
        data, ids = text.encode("utf-8", "replace"), []
        start = 0
        while start < len(data):
            for length in range(min(self._longest, len(data) - start), 0, -1):
                token = self._ids.get(data[start : start + length])
                if token is not None:
                    ids.append(token)
                    start += length
                    break
            else:
                raise InputError(f"the vocabulary has no token for byte 0x{data[start]:02X} of the prompt")
        return ids

    def session(self) -> UniformSession:
        """A new session."""
        return UniformSession(len(self.vocabulary))


class UniformSession:
    """Forgets what it reads."""

    def __init__(self, size: int) -> None:
        self._scores: Scores = np.zeros(size, dtype=np.float32)
        self._scores.setflags(write=False)

    def extend(self, token_ids: Sequence[int]) -> Scores:
        """Equal scores, float32 ``[len(vocabulary)]``."""
        return self._scores

    def rewind(self, length: int) -> None:
        """Nothing to forget."""
