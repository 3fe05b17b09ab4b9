"""Masks of configurations, and the caches of masks."""

from __future__ import annotations

import threading
from collections.abc import Hashable
from typing import Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from sfgen.errors import DeadEnd
from sfgen.protocols import Int32, Mask
from sfgen.vocabulary import Vocabulary

KEPT = 64 << 20
"""The bytes of the masks in one cache."""

_ENTRY = 1024
"""The bytes that are counted for what is cached beside a mask."""

NO_DOUBTS: Int32 = np.empty(0, dtype=np.int32)


class TooManyWays(Exception):
    """A token is read in too many ways for the scratch memory."""


class TokenMask(NamedTuple):
    """The tokens that a configuration can read.

    Attributes:
        mask: Text and end tokens, uint32 ``[words]``; read-only.
        farthest: No token leads farther from the end than this, in bytes; -1 without tokens.
        doubts: Tokens that the mask has, and that a position may refuse all the same, int32.
    """

    mask: Mask
    farthest: int
    doubts: Int32 = NO_DOUBTS

    @property
    def nbytes(self) -> int:
        """The bytes of the mask."""
        return self.mask.nbytes


class HasBytes(Protocol):
    """A mask, alone or with facts about it."""

    @property
    def nbytes(self) -> int:
        """Its bytes."""


Key = TypeVar("Key", bound=Hashable)
Made = TypeVar("Made", bound=HasBytes)


class KeptMasks(Generic[Key, Made]):
    """Masks by a key, of which the oldest are forgotten; threads may share it.

    Attributes:
        known: The masks, the oldest first.

    >>> cache = KeptMasks[str, Mask](most=4096)
    >>> for name in "abcd":
    ...     _ = cache.keep(name, np.zeros(256, dtype=np.uint32))
    >>> list(cache.known)
    ['c', 'd']
    """

    def __init__(self, most: int | None = None) -> None:
        self.known: dict[Key, Made] = {}  # Python looks things up faster in a plain dictionary
        self._most = KEPT if most is None else most
        self._bytes = 0
        self._lock = threading.Lock()

    def keep(self, key: Key, made: Made) -> Made:
        """Keep a mask, or return that of a faster thread."""
        with self._lock:
            found = self.known.setdefault(key, made)
            if found is made:
                self._bytes += _ENTRY + made.nbytes
            while self._bytes > self._most and len(self.known) > 1:
                self._bytes -= _ENTRY + self.known.pop(next(iter(self.known))).nbytes
            return found

    def get(self, key: Key) -> Made | None:
        """Return a mask, if it is known."""
        return self.known.get(key)

    def __contains__(self, key: Key) -> bool:
        return key in self.known


def allow(mask: Mask, tokens: tuple[int, ...]) -> None:
    """Add some tokens to a mask."""
    for token in tokens:
        mask[token >> 5] |= np.uint32(1 << (token & 31))


def forbid(mask: Mask, tokens: list[int]) -> None:
    """Take some tokens out of a mask."""
    for token in tokens:
        mask[token >> 5] &= ~np.uint32(1 << (token & 31))


def words_of(vocabulary: Vocabulary) -> int:
    """Return the words of a mask over a vocabulary."""
    return (len(vocabulary) + 31) // 32


def cannot_be_written() -> DeadEnd:
    """Make the error of a grammar that a vocabulary cannot write."""
    return DeadEnd(
        "no sequence of tokens of this vocabulary writes a text of the grammar",
        hint="Use a model whose tokenizer can write every byte.",
    )
