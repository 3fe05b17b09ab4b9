"""Oracle of Lark grammars: lark itself parses all short texts.

Independent of all of sfgen; only lark and ``regex`` are used. A text is *accepted* if lark parses it. It is *written*
if it is accepted and each gap (before the first terminal, between two, behind the last) is at most a few blanks.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import lark

import regex

BLANKS = frozenset(" \t\n\r\f\v")
"""The white space of ASCII: the only ignored text that is written."""

_LOOKS_AROUND = re.compile(r"\(\?[=!]|\$|\\[bBZzAG]")
"""In the pattern of a terminal: what it matches may depend on the text behind. It finds some patterns too many."""


class Reading(NamedTuple):
    """A text as far as lark reads it.

    Attributes:
        spans: Where each terminal begins and ends, in characters.
        error: Where the text is wrong; ``None`` where it is whole, or only too short.
        is_whole: Whether it is accepted.
    """

    spans: Sequence[tuple[int, int]]
    error: int | None
    is_whole: bool


class LarkLanguage:
    """The language of a Lark grammar, by lark's contextual LALR parser.

    >>> language = LarkLanguage('start: "if" NAME | NAME\\nNAME: /[a-z]+/\\n%ignore " "')
    >>> language.accepts("ifx"), language.accepts("if   x"), language.accepts("if")
    (True, True, False)
    >>> language.is_written("if x"), language.is_written("if  x")
    (True, False)
    >>> language.texts("xi ", 2)
    ['x', 'i', 'xx', 'xi', 'x ', 'ix', 'ii', 'i ', ' x', ' i']
    """

    def __init__(
        self, grammar: str, start: str = "start", *, max_blanks: int = 1, directory: str | Path | None = None
    ) -> None:
        paths = [] if directory is None else [str(directory)]
        self._lark = lark.Lark(grammar, parser="lalr", lexer="contextual", start=start, import_paths=paths)
        self.max_blanks = max_blanks
        patterns = [terminal.pattern.to_regexp() for terminal in self._lark.terminals]
        self.looks_around = any(map(_LOOKS_AROUND.search, patterns))
        self._patterns: list[Any] = [regex.compile(pattern) for pattern in patterns]

    def accepts(self, text: str) -> bool:
        """Return whether lark parses a text."""
        try:
            self._lark.parse(text)
        except lark.UnexpectedInput:
            return False
        return True

    def is_written(self, text: str) -> bool:
        """Return whether lark parses a text whose gaps are few blanks."""
        reading = self.read(text)
        return reading.is_whole and self._gaps_fit(text, reading.spans, len(text))

    def read(self, text: str) -> Reading:
        """Read a text with lark, as far as that goes."""
        parser: Any = self._lark.parse_interactive(text)
        spans = list[tuple[int, int]]()
        token: Any = None
        try:
            for token in parser.iter_parse():
                spans.append((token.start_pos, token.end_pos))
        except lark.UnexpectedCharacters as error:
            return Reading(spans, error.pos_in_stream, False)
        except lark.UnexpectedToken as error:
            start = error.token.start_pos
            return Reading([span for span in spans if span[0] < start], start, False)
        try:
            parser.feed_eof(token)
        except lark.UnexpectedToken:
            return Reading(spans, None, False)
        return Reading(spans, None, True)

    def is_dead(self, text: str) -> bool:
        """Return whether no written text provably begins with this one.

        A lexeme that lark found is settled if no terminal could be read from its beginning beyond the end of the text:
        no text behind it changes it. Neither then is the parser's verdict changed. Where terminals look around, nothing
        is proved.
        """
        if self.looks_around:
            return False
        reading, end = self.read(text), 0
        for number, (start, after) in enumerate(reading.spans):
            if any(self._is_open(text, position) for position in range(end, start + 1)):
                return False
            if not self._gaps_fit(text, reading.spans[: number + 1], start):
                return True
            end = after
        return reading.error is not None and not any(
            self._is_open(text, position) for position in range(end, reading.error + 1)
        )

    def _is_open(self, text: str, position: int) -> bool:
        """Whether all that stands behind a position may be the beginning of a terminal."""
        return any(pattern.fullmatch(text, position, partial=True) for pattern in self._patterns)

    def _gaps_fit(self, text: str, spans: Sequence[tuple[int, int]], end: int) -> bool:
        """Whether the gaps up to some position are written as they are."""
        starts = [start for start, _ in spans if start < end] + [end]
        ends = [0, *(after for start, after in spans if start < end)]
        gaps = [text[after:start] for after, start in zip(ends, starts, strict=True)]
        return all(len(gap) <= self.max_blanks and set(gap) <= BLANKS for gap in gaps)

    def texts(self, alphabet: str, length: int) -> list[str]:
        """List all written texts up to a length, the shortest first."""
        found, waiting = list[str](), [""]
        for size in range(length + 1):
            found += filter(self.is_written, waiting)
            if size < length:
                waiting = [text + letter for text in waiting if not self.is_dead(text) for letter in alphabet]
        return found
