"""The token ids of token masks; those of the masks that were used last are cached."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfgen import arguments
from sfgen.kernels import Int, Int32sOut, UInt32s, kernel
from sfgen.protocols import Int32, Mask

KEPT = 32 << 20
"""Bytes of ids and their masks that are cached: of thirty masks of all tokens in the largest vocabularies, or a
thousand others."""

_ENTRY = 512  # bytes of an entry besides the ids and their mask


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
    return CountedMask.of(np.ascontiguousarray(row)).tokens()


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


def one_token(token: int, size: int) -> Mask:
    """Return the mask of a single token."""
    mask: Mask = np.zeros((size + 31) // 32, dtype=np.uint32)
    mask[token >> 5] = 1 << (token & 31)
    mask.setflags(write=False)
    return mask


def has(mask: Mask, token: int) -> bool:
    """Return whether a mask has a token."""
    return bool(int(mask[token >> 5]) >> (token & 31) & 1)


@dataclass(frozen=True, slots=True)
class CountedMask:
    """A mask, the number of its tokens, and the first of them."""

    mask: Mask
    count: int
    first: int  # 0 where it has none

    @classmethod
    def of(cls, mask: Mask) -> CountedMask:
        """Count the tokens of a mask."""
        both = counted(mask)
        return cls(mask, both >> 32, both & 0xFFFFFFFF)

    def tokens(self) -> Int32:
        """List the tokens, ascending."""
        tokens: Int32 = np.empty(self.count, dtype=np.int32)
        listed(self.mask, tokens)
        return tokens


@kernel
def listed(mask: UInt32s, tokens: Int32sOut) -> Int:
    """List the tokens of a mask, ascending."""
    count = np.int64(0)
    for word in range(len(mask)):
        bits = mask[word]
        if bits == 0:
            continue
        for offset in range(32):
            if bits >> np.uint32(offset) & np.uint32(1):
                tokens[count] = word * 32 + offset
                count += 1
    return count


@kernel
def counted(mask: UInt32s) -> Int:
    """Return the number of tokens of a mask, and the first of them: ``number << 32 | token``."""
    count, first = np.int64(0), np.int64(0)
    for word in range(len(mask)):
        bits = mask[word]
        if bits == 0:
            continue
        if count == 0:
            while not bits >> np.uint32(first) & np.uint32(1):
                first += 1
            first += word * 32
        bits -= bits >> np.uint32(1) & np.uint32(0x55555555)
        bits = (bits & np.uint32(0x33333333)) + (bits >> np.uint32(2) & np.uint32(0x33333333))
        bits = (bits + (bits >> np.uint32(4))) & np.uint32(0x0F0F0F0F)
        count += np.int64((bits * np.uint32(0x01010101) & np.uint32(0xFFFFFFFF)) >> np.uint32(24))
    return count << np.int64(32) | first


def repeat_tokens(mask: Mask, pairs: NDArray[np.int32]) -> None:
    """Set the tokens whose bytes equal those of set tokens."""
    if len(pairs):
        has = (mask[pairs[:, 0] >> 5] >> (pairs[:, 0] & 31).astype(np.uint32)) & np.uint32(1)
        np.bitwise_or.at(mask, pairs[:, 1] >> 5, (has << (pairs[:, 1] & 31).astype(np.uint32)).astype(np.uint32))


class TokenIds:
    """A cache of the token ids of masks, from which the oldest are dropped first; threads may share it.

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
