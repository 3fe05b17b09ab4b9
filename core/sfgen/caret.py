"""Where something stands in a text: line and column, and a caret under it."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable

_LINE_END = re.compile(r"\r\n|\r|\n")


def caret_lines(text: str, position: int | None, *, width: int = 100) -> tuple[str, ...]:
    """Show a text on one line with a caret under a position.

    Control characters are shown as escapes, and a long text is cut to a window around the caret.

    Args:
        text: The whole text.
        position: In characters; ``None``: no caret.
        width: Of the window, in terminal columns.

    Returns:
        The text's line, and the caret's.

    >>> print("\\n".join(caret_lines("a(?!b)", 1)))
      a(?!b)
       ^
    >>> print("\\n".join(caret_lines("a\\nb(", 3)))
      a\\nb(
          ^
    """
    from rich.cells import cell_len  # here, since a program without mistakes needs no table of widths

    shown = [
        character if character.isprintable() else character.encode("unicode_escape").decode() for character in text
    ]
    sizes = [cell_len(piece) for piece in shown]
    # The window begins at most half its width before the caret, and ends where it is full.
    start, before = 0, sum(sizes[:position]) if position is not None else 0
    is_long = sum(sizes) > width
    while is_long and before > width // 2:
        before -= sizes[start]
        start += 1
    end, taken = start, 0
    while end < len(shown) and taken + sizes[end] <= width:
        taken += sizes[end]
        end += 1
    left, right = "…" if start else "", "…" if end < len(shown) else ""
    line = f"  {left}{''.join(shown[start:end])}{right}"
    return (line,) if position is None else (line, " " * (2 + len(left) + before) + "^")


def line_with_caret(text: str, position: int) -> tuple[int, int, tuple[str, ...]]:
    """Return line number, column and the line with a caret under it.

    Args:
        text: The whole text.
        position: In characters.

    Returns:
        Line and column, both from 1, and two lines to show.

    >>> line_with_caret("a\\nbc", 3)
    (2, 2, ('  bc', '   ^'))
    """
    number, column = line_and_column(text, position)
    line = _LINE_END.split(text[position - column + 1 :], maxsplit=1)[0]
    return number, column, caret_lines(line, column - 1)


def line_and_column(text: str, position: int) -> tuple[int, int]:
    """Return the line and the column of a position, both from 1.

    Args:
        text: The whole text.
        position: In characters.

    >>> line_and_column("a\\nbc", 3)
    (2, 2)
    """
    before = _LINE_END.split(text[:position])
    return len(before), len(before[-1]) + 1


def line_numbers(text: str) -> Callable[[int], int]:
    """Return a function from positions in a text to lines from 1.

    Use it instead of ``line_and_column`` for many positions of one text.

    >>> line_of = line_numbers("a\\nbc\\r\\nd")
    >>> [line_of(position) for position in (0, 2, 3, 6)]
    [1, 2, 2, 3]
    """
    ends = [found.end() for found in _LINE_END.finditer(text)]
    return lambda position: bisect_right(ends, position) + 1
