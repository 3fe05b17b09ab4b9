"""Many texts read from one position: each byte is read once at each position that they lead to.

Tokens are alike in their first bytes, and most bytes of a text lead where others led: tens of thousands of tokens pass
few positions.
"""

from __future__ import annotations

from sfgen.grammar.read import Reader
from sfgen.grammar.stack import Position

REFUSED = -1
"""In place of the number of a position: the bytes are refused."""


class ReadByBytes:
    """The positions that texts lead to, numbered as they are met.

    Args:
        reader: The reader.
        position: Where the texts begin; its number is 0.

    Attributes:
        positions: The positions by their numbers.
    """

    def __init__(self, reader: Reader, position: Position) -> None:
        self._reader = reader
        self.positions = [position]
        self._numbers = {position: 0}
        self._steps: list[dict[int, int]] = [{}]

    def after(self, data: bytes) -> int:
        """Return the number of the position after some bytes, or ``REFUSED``."""
        number = 0
        for byte in data:
            steps = self._steps[number]
            number = steps[byte] if byte in steps else self._step(number, byte)
            if number == REFUSED:
                break
        return number

    def _step(self, number: int, byte: int) -> int:
        """Read a byte at a position for the first time."""
        position = self._reader.read(self.positions[number], bytes([byte]))
        found = REFUSED if position is None else self._numbers.setdefault(position, len(self.positions))
        if position is not None and found == len(self.positions):
            self.positions.append(position)
            self._steps.append({})
        self._steps[number][byte] = found
        return found
