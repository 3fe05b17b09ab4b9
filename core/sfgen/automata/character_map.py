"""A number for each character, stored as UTF-8 reads it: in blocks of 64, which share all bytes but the last.

Among the 17 408 blocks there are few different ones, so that whatever is asked of all characters is asked of those.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfgen.kernels import Int, Int32Table, Int64sOut, kernel

BLOCK = 64
BLOCKS = 0x110000 // BLOCK


class CharacterMap(NamedTuple):
    """A number for each code point; -1 for none.

    Surrogates must have none.

    Args:
        rows: The different blocks, int32, shape [rows, 64].
        row_of_block: Which of them each block is, shape [17408].
    """

    rows: NDArray[np.int32]
    row_of_block: NDArray[np.intp]

    @classmethod
    def of_numbers(cls, numbers: NDArray[np.int32]) -> CharacterMap:
        """Build the map of a table of numbers by code point.

        The table, int32, may end after any block.
        """
        rows = numbers.reshape(-1, BLOCK)
        chosen, row_of_block = distinct(rows)
        if len(rows) == BLOCKS:
            return cls(rows[chosen], row_of_block)
        others = np.full(BLOCKS - len(rows), len(chosen))
        return cls(np.append(rows[chosen], np.full((1, BLOCK), -1), axis=0), np.append(row_of_block, others))

    def number(self, code: int) -> int:
        """Return the number of a code point.

        >>> letters = CharacterMap.of_numbers(np.arange(0x110000, dtype=np.int32) // 100)
        >>> letters.number(5), letters.number(1234)
        (0, 12)
        """
        return int(self.rows[self.row_of_block[code // BLOCK], code % BLOCK])

    def numbers(self, codes: NDArray[np.uint32]) -> NDArray[np.int32]:
        """Return the number of each of some code points, int32.

        >>> letters = CharacterMap.of_numbers(np.arange(0x110000, dtype=np.int32) // 100)
        >>> letters.numbers(np.array([5, 1234], dtype=np.uint32)).tolist()
        [0, 12]
        """
        found: NDArray[np.int32] = self.rows[self.row_of_block[codes // BLOCK], codes % BLOCK]
        return found

    def renumbered(self, numbers: NDArray[np.int32]) -> CharacterMap:
        """Replace each number by ``numbers[number]``; none stays none."""
        rows = np.append(numbers, np.int32(-1)).astype(np.int32)[self.rows]
        chosen, row_of_row = distinct(rows)
        return CharacterMap(rows[chosen], row_of_row[self.row_of_block])

    def used(self) -> CharacterMap:
        """Drop the rows that no block refers to."""
        used, row_of_block = np.unique(self.row_of_block, return_inverse=True)
        return CharacterMap(self.rows[used], row_of_block.reshape(-1))


def paired(left: CharacterMap, right: CharacterMap) -> tuple[CharacterMap, NDArray[np.int32]]:
    """Refine two maps into one that distinguishes what either does.

    Args:
        left: One map.
        right: The other.

    Returns:
        The map, and for each of its numbers the left and the right one, int32 ``[numbers, 2]``. A character that has no
        number in one of them has none.
    """
    codes = left.row_of_block * len(right.rows) + right.row_of_block
    codes, row_of_block = np.unique(codes, return_inverse=True)
    left_rows, right_rows = left.rows[codes // len(right.rows)], right.rows[codes % len(right.rows)]
    width = int(right.rows.max(initial=0)) + 1
    both = np.where((left_rows < 0) | (right_rows < 0), np.int64(-1), left_rows.astype(np.int64) * width + right_rows)
    numbers, rows = np.unique(both, return_inverse=True)
    none = int(np.count_nonzero(numbers < 0))  # at most the first
    pairs = np.stack(np.divmod(numbers[none:], width), axis=1).astype(np.int32)
    return CharacterMap((rows.reshape(both.shape) - none).astype(np.int32), row_of_block.reshape(-1)), pairs


def distinct(rows: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Find the distinct rows of a table.

    Returns:
        The number of the first row of each, and for each row which of these it equals.

    >>> chosen, which = distinct(np.array([[1, 2], [3, 4], [1, 2]], dtype=np.int32))
    >>> chosen.tolist(), which.tolist()
    ([0, 1], [0, 1, 0])
    """
    rows = np.ascontiguousarray(rows)
    bits = (2 * max(1, len(rows))).bit_length()
    chosen = np.empty(len(rows), dtype=np.int64)
    which = np.empty(len(rows), dtype=np.int64)
    count = _distinct(rows, np.full(1 << bits, -1, dtype=np.int64), 64 - bits, chosen, which)
    return chosen[:count], which


@kernel
def _distinct(rows: Int32Table, slots: Int64sOut, shift: Int, chosen: Int64sOut, which: Int64sOut) -> Int:
    """Fill ``chosen`` and ``which``; how many rows are different.

    ``slots`` is a hash table of the rows that were chosen, with linear probing, at most half full.
    """
    count = 0
    for number in range(len(rows)):
        mixed = np.uint64(0)
        for column in range(rows.shape[1]):
            mixed = (mixed ^ np.uint64(rows[number, column] + 1)) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= mixed >> np.uint64(29)
        slot = np.int64((mixed * np.uint64(0xBF58476D1CE4E5B9)) >> np.uint64(shift))
        found = slots[slot]
        while found >= 0:
            other = chosen[found]
            column = 0
            while column < rows.shape[1] and rows[number, column] == rows[other, column]:
                column += 1
            if column == rows.shape[1]:
                break
            slot = (slot + 1) & (len(slots) - 1)
            found = slots[slot]
        if found < 0:
            found = slots[slot] = count
            chosen[count] = number
            count += 1
        which[number] = found
    return count
