"""A pattern with the pieces marked that read the last character, and those that can read the next."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import TYPE_CHECKING

from sfgen.printable import on_one_line

if TYPE_CHECKING:
    from rich.text import Text

READ = "reverse"
NEXT = "underline"
_Spans = Iterable[tuple[int, int]]


def marked_pieces(pattern: str, last_read: _Spans, following: _Spans) -> list[tuple[str, str]]:
    """Cut a pattern into pieces, each with its style.

    What was last read is in reverse, what follows underlined.

    Args:
        pattern: The pattern.
        last_read: Spans of the pattern, in characters: first, and past the end.
        following: The same for what comes next.
    """
    styles = [""] * len(pattern)
    for spans, style in ((following, NEXT), (last_read, READ)):
        for start, end in spans:
            styles[start:end] = [f"{shown} {style}".strip() for shown in styles[start:end]]
    together = groupby(zip(pattern, styles, strict=True), key=lambda one: one[1])
    return [("".join(character for character, _ in characters), style) for style, characters in together]


def marked_pattern(pattern: str, last_read: _Spans, following: _Spans) -> Text:
    """Draw what ``marked_pieces`` returns, on one line.

    Args:
        pattern: The pattern.
        last_read: Spans of the pattern, in characters: first, and past the end.
        following: The same for what comes next.
    """
    from rich.text import Text

    text = Text()
    for piece, style in marked_pieces(pattern, last_read, following):
        text.append(on_one_line(piece), style)
    return text
