"""The shortest way to complete a text, and its fewest tokens.

The shortest text from a position is the shortest of its configurations' texts; among equally short ones it is the first
in byte order. Therefore the rest after some of its tokens is again the shortest text from there, and the fewest tokens
that write it fall by one with each token: a limit of that number of tokens can always be kept.

An engine finds the text of a configuration. A network joins the shortest rests of the rules on the stack, each of which
is found once. A parser's costs do not add up, so its text is found byte by byte. See the ``completion`` module of each
engine.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from sfgen.errors import InternalError, TextTooLong
from sfgen.index.distance import LONGEST_TEXT, UNREACHABLE, fewest_tokens
from sfgen.vocabulary import Vocabulary

_KEPT = 1 << 14
"""The most configurations whose fewest tokens are cached."""

Configuration = TypeVar("Configuration", bound=Hashable)


class Shortest(NamedTuple):
    """A shortest text to the end, and its fewest tokens.

    Attributes:
        text: The bytes.
        tokens: The fewest tokens that write ``text[i:]``, int32 ``[len(text) + 1]``.
    """

    text: bytes
    tokens: NDArray[np.int32]


AT_END = Shortest(b"", np.zeros(1, dtype=np.int32))
"""The shortest text from an accepting configuration: the empty text."""

NO_WAY = Shortest(b"", np.full(1, UNREACHABLE, dtype=np.int32))
"""Returned in place of a text where the engine finds none."""


class Completion(ABC, Generic[Configuration]):
    """Finds shortest completions. Safe to share between threads.

    Args:
        vocabulary: The tokens; ``None`` where only texts are needed.
        far: The distance where there is no way to the end.
        is_exact: Whether the length of a shortest text equals the distance; else it may be longer.
    """

    def __init__(self, vocabulary: Vocabulary | None, far: int, *, is_exact: bool = True) -> None:
        self._vocabulary = vocabulary
        self._far = far
        self._is_exact = is_exact
        self._fewest: dict[Configuration, int] = {}

    @abstractmethod
    def distance(self, configuration: Configuration) -> int:
        """Return the fewest bytes from a configuration to an end; ``far`` or more if there is no way."""

    @abstractmethod
    def _text_of(self, configuration: Configuration) -> bytes:
        """Return the shortest text from a configuration to an end, which must exist."""

    def _of(self, configuration: Configuration) -> Shortest:
        """Return the shortest text from a configuration to an end, and its tokens."""
        return self._before(self._text_of(configuration), AT_END)

    def text(self, position: tuple[Configuration, ...]) -> bytes:
        """Return the shortest text from a position to an end, which must exist."""
        distances = list(map(self.distance, position))
        least = min(distances)
        if least > LONGEST_TEXT:
            raise TextTooLong(min(least, self._far), LONGEST_TEXT, is_exact=least < self._far)
        most = least if self._is_exact else LONGEST_TEXT
        best = shortest_of(
            self._of(configuration)
            for configuration, distance in zip(position, distances, strict=True)
            if distance <= most
        )
        if best is NO_WAY:
            raise InternalError("there is no way to complete a text")
        return best.text

    def tokens_left(self, position: tuple[Configuration, ...]) -> int:
        """Return the fewest tokens of the shortest text to an end; ``UNREACHABLE`` if it cannot be written.

        Beyond ``LONGEST_TEXT`` bytes the result is an upper bound: the number of bytes, or the highest number where the
        text may be longer than the distance.
        """
        return min(map(self._tokens_of, position))

    def _tokens_of(self, configuration: Configuration) -> int:
        distance = self.distance(configuration)
        if distance >= self._far:
            return int(UNREACHABLE)
        if distance > LONGEST_TEXT:
            return min(distance, int(UNREACHABLE) - 1) if self._is_exact else int(UNREACHABLE) - 1
        fewest = self._fewest.get(configuration)
        if fewest is None:
            fewest = int(self._of(configuration).tokens[0])
            if len(self._fewest) > _KEPT:
                self._fewest.clear()
            self._fewest[configuration] = fewest
        return fewest

    def _before(self, rest: bytes, below: Shortest) -> Shortest:
        """Prepend a text to a known shortest text, and count its tokens."""
        if below is NO_WAY:
            return NO_WAY
        text = rest + below.text
        tokens = np.concatenate([np.full(len(rest), UNREACHABLE, dtype=np.int32), below.tokens])
        if self._vocabulary is not None and rest:
            trie = self._vocabulary.trie
            fewest_tokens(
                np.frombuffer(text, dtype=np.uint8), len(rest), tokens,
                trie.bytes, trie.subtree_ends, trie.token_starts, trie.roots,
            )  # fmt: skip
        return Shortest(text, tokens)


def shortest_of(completions: Iterable[Shortest]) -> Shortest:
    """Return the shortest of some texts, the first in byte order; ``NO_WAY`` if there is none."""
    return min(
        (each for each in completions if each is not NO_WAY),
        key=lambda each: (len(each.text), each.text),
        default=NO_WAY,
    )
