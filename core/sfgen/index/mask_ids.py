"""The token ids of token masks; those of the masks that were used last are cached."""

from __future__ import annotations

import os
import threading

import numpy as np
from numpy.typing import NDArray

from sfgen import arguments
from sfgen.protocols import Int32, Mask

KEPT = 32 << 20
"""Bytes of ids and their masks that are cached: of thirty masks of all tokens in the largest vocabularies, or a
thousand others."""

_ENTRY = 512  # bytes of what is kept beside the ids and their mask


def tokens_of_row(row: Mask) -> Int32:
    """Return the token ids of a mask, ascending, int32.

    Args:
        row: The mask, uint32 ``[words]``.

    Raises:
        UsageError: It is not a mask.

    >>> tokens_of_row(np.array([0b1001, 1], dtype=np.uint32)).tolist()
    [0, 3, 32]
    """
    if not isinstance(row, np.ndarray) or row.dtype != np.uint32 or row.ndim != 1:
        raise arguments.refusal("row", "a packed row, an array of uint32, [words]", row)
    words = np.flatnonzero(row != 0)
    if 4 * words.size > row.size:
        return np.flatnonzero(bits_of_row(row)).astype(np.int32)
    # Few tokens: look at their words only.
    bits = np.flatnonzero(bits_of_row(row[words]))
    tokens: Int32 = (words[bits >> 5] << 5 | bits & 31).astype(np.int32)
    return tokens


def bits_of_row(words: Mask) -> NDArray[np.bool_]:
    """Return the bits of a mask, or of some of its words."""
    return np.unpackbits(words.astype("<u4", copy=False).view(np.uint8), bitorder="little").view(np.bool_)


def packed(token_ids: Int32, size: int) -> Mask:
    """Pack token ids into a mask.

    >>> packed(np.array([0, 3, 32], dtype=np.int32), 40).tolist()
    [9, 1]
    """
    bits = np.zeros((size + 31) // 32 * 32, dtype=np.bool_)
    bits[token_ids] = True
    mask = mask_of_bits(bits)
    mask.setflags(write=False)
    return mask


def mask_of_bits(bits: NDArray[np.bool_]) -> Mask:
    """Pack a bit for each token into a mask that may be written to."""
    if missing := -len(bits) % 32:
        bits = np.append(bits, np.zeros(missing, dtype=np.bool_))
    return np.packbits(bits, bitorder="little").view("<u4").astype(np.uint32)


def repeat_tokens(mask: Mask, pairs: NDArray[np.int32]) -> None:
    """Set the tokens whose bytes equal those of set tokens."""
    if len(pairs):
        has = (mask[pairs[:, 0] >> 5] >> (pairs[:, 0] & 31).astype(np.uint32)) & np.uint32(1)
        np.bitwise_or.at(mask, pairs[:, 1] >> 5, (has << (pairs[:, 1] & 31).astype(np.uint32)).astype(np.uint32))


class TokenIds:
    """A cache of the token ids of masks, the oldest of which go first; threads may share it.

    Masks are compared by identity: equal ones are mostly one object, and are never changed.
    """

    def __init__(self) -> None:
        self._found: dict[int, tuple[Mask, Int32]] = {}  # the oldest first; the row is held, so its id stays its own
        self._bytes = 0
        self.renew_lock()

    def renew_lock(self) -> None:
        """Make a new lock: in a child process, whose parent may have held the old one."""
        self._lock = threading.Lock()

    def of(self, row: Mask) -> Int32:
        """Return the token ids of a mask, ascending, int32.

        They are read-only and shared.

        >>> row = np.array([0b1001, 1], dtype=np.uint32)
        >>> found = TokenIds()
        >>> found.of(row).tolist(), found.of(row) is found.of(row)
        ([0, 3, 32], True)
        """
        known = self._found.get(id(row))
        if known is not None:
            return known[1]
        ids = tokens_of_row(row)
        ids.setflags(write=False)
        with self._lock:
            if id(row) in self._found:  # another thread was faster
                return self._found[id(row)][1]
            self._found[id(row)] = row, ids
            self._bytes += row.nbytes + ids.nbytes + _ENTRY
            while self._bytes > KEPT and len(self._found) > 1:
                held, oldest = self._found.pop(next(iter(self._found)))
                self._bytes -= held.nbytes + oldest.nbytes + _ENTRY
        return ids


TOKEN_IDS = TokenIds()
"""The token ids of the masks that were used last, of all constraints and vocabularies."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=TOKEN_IDS.renew_lock)
