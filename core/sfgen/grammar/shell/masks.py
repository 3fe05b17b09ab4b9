"""The token mask of a configuration, and caches of masks that are bounded in bytes."""

from __future__ import annotations

import threading
from collections.abc import Hashable
from typing import Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from sfgen.errors import DeadEnd
from sfgen.protocols import Int32, Mask
from sfgen.vocabulary import Vocabulary

KEPT = 64 << 20
"""The most bytes of the masks in one cache."""

_ENTRY = 1024
"""The bytes that are counted for each entry besides its mask."""

NO_DOUBTS: Int32 = np.empty(0, dtype=np.int32)


class TooManyWays(Exception):
    """A token has more readings than the scratch memory can hold."""


class TokenMask(NamedTuple):
    """The tokens that a configuration can read.

    Attributes:
        mask: Text and end tokens, uint32 ``[words]``; read-only.
        farthest: The greatest distance from the end after one of the tokens, in bytes; -1 without tokens.
        doubts: The doubtful tokens: tokens of the mask that a position may still refuse, int32.
    """

    mask: Mask
    farthest: int
    doubts: Int32 = NO_DOUBTS

    @property
    def nbytes(self) -> int:
        """The bytes of the mask."""
        return self.mask.nbytes


class HasBytes(Protocol):
    """A mask, alone or together with more data."""

    @property
    def nbytes(self) -> int:
        """The bytes of the mask."""


Key = TypeVar("Key", bound=Hashable)
Made = TypeVar("Made", bound=HasBytes)


class KeptMasks(Generic[Key, Made]):
    """A cache of masks by key, bounded in bytes: the oldest masks are dropped first. Threads may share it.

    Attributes:
        known: The masks by key, the oldest first.

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
        """Store a mask and return it; if another thread was faster, return the mask that it stored."""
        with self._lock:
            found = self.known.setdefault(key, made)
            if found is made:
                self._bytes += _ENTRY + made.nbytes
            while self._bytes > self._most and len(self.known) > 1:
                self._bytes -= _ENTRY + self.known.pop(next(iter(self.known))).nbytes
            return found

    def get(self, key: Key) -> Made | None:
        """Return the mask of a key; ``None`` if it is not cached."""
        return self.known.get(key)

    def __contains__(self, key: Key) -> bool:
        return key in self.known


def allow(mask: Mask, tokens: tuple[int, ...]) -> None:
    """Add some tokens to a mask."""
    for token in tokens:
        mask[token >> 5] |= np.uint32(1 << (token & 31))


def forbid(mask: Mask, tokens: list[int]) -> None:
    """Remove some tokens from a mask."""
    for token in tokens:
        mask[token >> 5] &= ~np.uint32(1 << (token & 31))


def words_of(vocabulary: Vocabulary) -> int:
    """Return the number of 32-bit words in a mask over a vocabulary."""
    return (len(vocabulary) + 31) // 32


def cannot_be_written() -> DeadEnd:
    """Make the error for a grammar of which the vocabulary can write no text."""
    return DeadEnd(
        "no sequence of tokens of this vocabulary writes a text of the grammar",
        hint="Use a model whose tokenizer can write every byte.",
    )
