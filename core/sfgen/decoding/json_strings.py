"""The strings of a JSON text, each read by itself, while the text is written.

A reader undoes the escapes of a string, and it begins and ends with its quotes. So a string may have a banned word that
the text around it hides: ``"\\ntalk"`` has the letter n before the word. A match that the end of its string completes
is reported at the closing quote, before any of it is released.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple, Protocol

from sfgen.ban.detection import Mark, Match, Matcher
from sfgen.ban.seam import SeamMark, SeamMatcher

_PIECES = re.compile(
    # An escape that the bytes cut, or half of a pair of which the other half may follow.
    rb"(?P<cut>\\(?:u(?:[0-9a-f]{0,3}|d[89ab][0-9a-f]{2}(?:\\(?:u[0-9a-f]{0,3})?)?))?\Z)"
    rb'|\\u(?:d[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}|[0-9a-f]{4})|\\.|"|[^"\\]+',
    re.DOTALL | re.IGNORECASE,
)


class SchemaHoles(Protocol):
    """A reader of a template that tells which parts of it are JSON."""

    @property
    def start(self) -> Any:
        """The position before the text."""

    def read(self, position: Any, data: bytes) -> Any:
        """Return the position after some bytes of the text."""

    def schema_hole(self, position: Any) -> int | None:
        """Return the number of the part that is open if it is a hole with a schema, else ``None``."""


class _String(Matcher):
    """A matcher of one string."""

    def undo(self, escape: bytes) -> Match | None:
        """Read the character for which an escape is written; return the match that is certain then."""
        # Half of a pair alone is read as by the check of the finished text.
        character = str(json.loads(b'"%s"' % escape)).encode("utf-8", "replace").decode()
        matches = self._read(character, len(escape))
        return self.named(min(matches)) if matches else None


class StringsMark(NamedTuple):
    """The state of a strings matcher at one moment."""

    banned: SeamMark  # of the matcher of the text
    string: Mark | None  # of the matcher of the open string, if there is one
    cut: bytes  # an escape in it that is not whole
    has_begun: bool  # whether the text has begun, after a thought
    position: Any  # in the template
    hole: int | None  # in which the last byte was read


class StringsMatcher:
    r"""A matcher of one text of JSON, with a matcher of each of its strings beside it.

    A match in a string has the offsets of its text as written.

    >>> from sfgen.ban import BannedWords
    >>> matcher = StringsMatcher(BannedWords(["talk"]).matcher())
    >>> matcher.advance(b'["\\nta'), matcher.open_from(), matcher.advance(b'lk"')
    (None, 4, Match(word='talk', start=4, end=8))
    """

    def __init__(self, banned: SeamMatcher, *, has_begun: bool = True, holes: SchemaHoles | None = None) -> None:
        self.banned = banned
        self._holes = holes
        self._position = None if holes is None else holes.start
        self._hole: int | None = None
        self._has_begun = has_begun
        self._string: _String | None = None
        self._cut = b""

    def advance(self, data: bytes) -> Match | None:
        """Read the bytes of one token; return the first match completed, in the text before a string."""
        start = self.banned.length
        match = self.banned.advance(data)
        for hole, part in self._parts(data) if self._has_begun else ():
            if hole != self._hole:
                self._hole, self._string, self._cut = hole, None, b""
            if hole is not None:
                in_string = self._read(self._cut + part, start - len(self._cut))
                match = in_string if match is None else match
            start += len(part)
        return match

    def _parts(self, data: bytes) -> Iterator[tuple[int | None, bytes]]:
        """Divide bytes of the text by the schema holes that they stand in; ``None``: in none."""
        if self._holes is None:
            yield 0, data
            return
        numbered = []
        for byte in data:
            numbered.append((self._holes.schema_hole(self._position), byte))
            self._position = self._holes.read(self._position, bytes([byte]))
        for hole, group in groupby(numbered, itemgetter(0)):
            yield hole, bytes(byte for _, byte in group)

    def _read(self, data: bytes, start: int) -> Match | None:
        """Read whole pieces of the text from the byte ``start`` on; keep an escape that is cut."""
        first, self._cut = None, b""
        for piece in _PIECES.finditer(data):
            match, written = None, piece[0]
            if self._string is None:
                if written == b'"':
                    self._string = _String(self.banned.automata, start=start + piece.end())
            elif piece["cut"] is not None:
                self._cut = written
            elif written == b'"':
                match, self._string = self._string.finish(), None
            elif written.startswith(b"\\"):
                match = self._string.undo(written)
            else:
                match = self._string.advance(written)
            first = match if first is None else first
        return first

    def begin_text(self) -> None:
        """Begin a text, after a thought, that is also read by itself."""
        self.banned.begin_text()
        self._has_begun = True

    def finish(self) -> Match | None:
        """Return the banned match that the end of the text, or of the string, would complete."""
        match = self.banned.finish()
        return self._string.finish() if match is None and self._string is not None else match

    def open_from(self) -> int | None:
        """Return the start of the earliest partial match, or ``None``."""
        starts = [self.banned.open_from()]
        if self._string is not None:
            starts += [self._string.open_from(), self._string.length if self._cut else None]
        return min((start for start in starts if start is not None), default=None)

    def under_way(self) -> tuple[str, ...]:
        """Return some of the partially matched words, for observers."""
        inside = () if self._string is None else self._string.under_way()
        return tuple(dict.fromkeys((*self.banned.under_way(), *inside)))

    def mark(self) -> StringsMark:
        """Return the present position, for ``reset``."""
        string = None if self._string is None else self._string.mark()
        return StringsMark(self.banned.mark(), string, self._cut, self._has_begun, self._position, self._hole)

    def reset(self, mark: StringsMark) -> None:
        """Return to an earlier mark."""
        self.banned.reset(mark.banned)
        self._string = None if mark.string is None else self._string or _String(self.banned.automata)
        if self._string is not None and mark.string is not None:
            self._string.reset(mark.string)
        self._cut, self._has_begun, self._position, self._hole = mark[2:]
