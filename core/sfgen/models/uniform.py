"""A model without a preference: every token is equally likely, so that the constraint alone shapes the text.

Without a tokenizer its tokens are single characters. The id of a character of the Basic Multilingual Plane is its code
point; the id after the last is the end token. Characters beyond that plane, emoji among them, are written in four
tokens of one byte each. The ids of these bytes are the surrogates that stand for them in Python (PEP 383); the other
surrogates are never text. None of the bytes begins a character of the plane, so every text has one tokenization only.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, cached_property

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
            vocabulary = character_vocabulary()
        self.vocabulary = arguments.instance("vocabulary", vocabulary, Vocabulary)

    def __repr__(self) -> str:
        return f"UniformModel({self.vocabulary!r})"

    def encode(self, text: str) -> list[int]:
        """Tokenize a prompt by longest match.

        This model gives equal scores however the prompt is cut.

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
        """The bytes of the longest token; kept, since finding it reads all tokens."""
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
        """Return equal scores at every position, float32 ``[tokens, len(vocabulary)]``."""
        return self.extend_last(token_ids, len(token_ids))

    def extend_last(self, token_ids: Sequence[int], positions: int) -> Scores:
        """Return equal scores at the last positions, float32 ``[positions, len(vocabulary)]``."""
        # All positions share the memory of one number.
        scores: Scores = np.broadcast_to(self._scores, (positions, len(self._scores)))
        return scores

    def rewind(self, length: int) -> None:
        """Do nothing, since nothing was kept."""


END = 0x10000
"""The id of the end token."""

_SURROGATES = range(0xD800, 0xE000)
_LEADS_AND_CONTINUATIONS = (*range(0xF0, 0xF5), *range(0x80, 0xC0))


@cache
def character_vocabulary() -> Vocabulary:
    r"""Return the vocabulary of all characters of the Basic Multilingual Plane.

    >>> vocabulary = character_vocabulary()
    >>> vocabulary.text(0xE4), vocabulary.tokens[ord("€")], vocabulary.tokens[0xDCF0], vocabulary.tokens[0xD800]
    ('ä', b'\xe2\x82\xac', b'\xf0', None)
    """
    tokens: list[bytes | None] = [None if code in _SURROGATES else chr(code).encode() for code in range(END)]
    for byte in _LEADS_AND_CONTINUATIONS:
        tokens[ord(bytes([byte]).decode(errors="surrogateescape"))] = bytes([byte])
    return Vocabulary([*tokens, None], end_token_ids=[END], names={END: "<end>"})
