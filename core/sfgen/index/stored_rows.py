"""The masks of a saved index, each read from the file, and checked, when it is first needed."""

from __future__ import annotations

import zlib

import numpy as np

from sfgen.errors import IndexFileError, UnusableIndex
from sfgen.index.open_file import OpenFile
from sfgen.protocols import Int32, Mask


class StoredRows:
    """The different masks of a saved index; threads may share it.

    Args:
        file: The file.
        offset: Where in it the rows begin.
        tokens: The number of tokens.
        row_of_state: The number of each state's row.
        counts: How many tokens each row allows.
        checksums: The CRC-32 of each row. It finds every damage of up to four bytes in a row, and of others all but
            one in four thousand million.
    """

    def __init__(
        self, file: OpenFile, offset: int, tokens: int, row_of_state: Int32, counts: Int32, checksums: Mask
    ) -> None:
        self.row_of_state = row_of_state
        self.counts = counts
        self.checksums = checksums
        self._file = file
        self._offset = offset
        self._tokens = tokens

    def __len__(self) -> int:
        """The number of different rows."""
        return len(self.counts)

    def read(self, number: int) -> Mask:
        """Read a mask from the file, read-only.

        It is read anew each time.

        Raises:
            IndexFileError: It is not the mask that was saved, or is no longer there.
        """
        width = (self._tokens + 31) // 32 * 4
        data = self._file.read(self._offset + number * width, width)
        if zlib.crc32(data) != self.checksums[number]:
            raise self._damaged(f"row {number} does not agree with its checksum")
        row: Mask = np.frombuffer(data, dtype="<u4").astype(np.uint32, copy=False)
        beyond = self._tokens % 32 and row[-1] >> (self._tokens % 32)
        if beyond or np.bitwise_count(row).sum(dtype=np.int64) != self.counts[number]:
            raise self._damaged(f"row {number} does not allow as many tokens as it should")
        return row

    def contradiction(self, state: int) -> IndexFileError:
        """Return the error for a mask that contradicts the automaton.

        It is undamaged, but sfgen writes no such mask.
        """
        return self._damaged(f"the row of state {state} contradicts the automaton")

    def _damaged(self, reason: str) -> IndexFileError:
        return UnusableIndex(self._file.path, f"is damaged: {reason}")
