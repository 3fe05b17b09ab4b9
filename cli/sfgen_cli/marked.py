"""A pattern with the pieces marked that read the last character, and those that can read the next."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from sfgen_cli.output import on_one_line

if TYPE_CHECKING:
    from rich.text import Text

READ = "reverse"
NEXT = "underline"
_Spans = Iterable[tuple[int, int]]


def marked_pattern(pattern: str, last_read: _Spans, following: _Spans) -> Text:
    """The pattern's text with the spans ``last_read`` in reverse and the spans ``following`` underlined.

    Args:
        pattern: The pattern.
        last_read: Spans of the pattern, in characters: first, and past the end.
        following: The same for what comes next.
    """
    from rich.text import Text

    styles = [""] * len(pattern)
    for spans, style in ((following, NEXT), (last_read, READ)):
        for start, end in spans:
            styles[start:end] = [f"{shown} {style}".strip() for shown in styles[start:end]]
    text = Text()
    for character, style in zip(pattern, styles, strict=True):
        text.append(on_one_line(character), style)
    return text
