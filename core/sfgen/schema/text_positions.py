"""Lines and columns of a text, and the line that a message shows with a caret."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import NamedTuple

from sfgen.printable import caret_lines

_CONTEXT = 400  # characters on either side of a caret, more than a line on a screen shows


class Position(NamedTuple):
    """A line and a column of a text.

    Both count code points from 1.
    """

    line: int
    column: int


class Lines:
    """The lines of a text, to turn offsets into positions.

    Args:
        text: The text.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def position(self, offset: int) -> Position:
        """Return the line and column of an offset.

        The offset counts code points from 0.
        """
        line = bisect_right(self._starts, offset)
        return Position(line, offset - self._starts[line - 1] + 1)

    def caret(self, offset: int) -> tuple[str, ...]:
        """Show the line of an offset with a caret under it.

        The line is cut to what a screen shows.
        """
        start = self._starts[bisect_right(self._starts, offset) - 1]
        end = self._text.find("\n", offset)
        line = self._text[start : len(self._text) if end < 0 else end].removesuffix("\r")
        cut = max(0, offset - start - _CONTEXT)
        return caret_lines(line[cut : offset - start + _CONTEXT], offset - start - cut)
