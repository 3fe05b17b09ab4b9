"""A model without a preference: every token is equally likely. What remains is the constraint alone."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from sfgen import arguments
from sfgen.errors import InputError
from sfgen.protocols import Scores
from sfgen.vocabulary import Vocabulary


class UniformModel:
    """A model with equal scores over a vocabulary.

    Every character of the Basic Multilingual Plane is equally likely where it is allowed, unassigned and control
    characters too: a pattern says what is wanted. Characters beyond the plane (emoji) share the chance of their first
    byte.

    Args:
        vocabulary: The tokens; ``None``: single characters, see ``character_vocabulary``.

    >>> from sfgen import Dfa, Index, generate
    >>> model = UniformModel()
    >>> generate(model, "It is ", index=Index(Dfa.from_choices(["cold"]), model.vocabulary)).text
    'cold'
    """

    name = "uniform"
    context_length: int | None = None

    def __init__(self, vocabulary: Vocabulary | None = None) -> None:
        if vocabulary is None:
            from sfgen.models.characters import character_vocabulary

            vocabulary = character_vocabulary()
        self.vocabulary = arguments.instance("vocabulary", vocabulary, Vocabulary)

    def __repr__(self) -> str:
        return f"UniformModel({self.vocabulary!r})"

    def encode(self, text: str) -> list[int]:
        """Tokenize a prompt by longest match.

        How it is cut makes no difference to this model.

        Raises:
            InputError: The vocabulary cannot write the prompt.
        """
        data, ids = arguments.text("text", text).encode("utf-8", "replace"), []
        known, longest = self.vocabulary.ids, self._longest
        start = 0
        while start < len(data):
            for length in range(min(longest, len(data) - start), 0, -1):
                token = known.get(data[start : start + length])
                if token is not None:
                    ids.append(token)
                    start += length
                    break
            else:
                raise InputError(
                    f"the vocabulary has no token for byte 0x{data[start]:02X} of the prompt",
                    hint="Give another prompt, or a tokenizer that can write every byte.",
                )
        return ids

    @cached_property
    def _longest(self) -> int:
        """The bytes of the longest token. All tokens are looked at for it, so it is kept."""
        return max(map(len, self.vocabulary.ids), default=0)

    def session(self) -> UniformSession:
        """Return a new session."""
        return UniformSession(len(self.vocabulary))


class UniformSession:
    """A session that forgets what it reads."""

    def __init__(self, size: int) -> None:
        self._scores: Scores = np.zeros(size, dtype=np.float32)
        self._scores.setflags(write=False)

    def extend(self, token_ids: Sequence[int]) -> Scores:
        """Return equal scores, float32 ``[len(vocabulary)]``."""
        return self._scores

    def extend_all(self, token_ids: Sequence[int]) -> Scores:
        """Return equal scores at every position, without taking memory for each.

        Returns:
            Float32 ``[len(token_ids), len(vocabulary)]``.
        """
        scores: Scores = np.broadcast_to(self._scores, (len(token_ids), len(self._scores)))
        return scores

    def rewind(self, length: int) -> None:
        """Do nothing, since nothing was kept."""
