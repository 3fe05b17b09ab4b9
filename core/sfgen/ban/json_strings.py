"""The strings of a JSON text, each read by itself, while the text is written.

A reader undoes the escapes of a string, and it begins and ends with its quotes. So a string may have a banned word that
the text around it hides: ``"\\ntalk"`` has the letter n before the word. A match that is complete when its string ends
is found at the closing quote, before anything of it is released.
"""

from __future__ import annotations

import json
import re
from typing import NamedTuple

from sfgen.ban.matcher import Mark, Match, Matcher
from sfgen.ban.seam import SeamMark, SeamMatcher

_PIECES = re.compile(
    # An escape that the bytes cut, or half of a pair of which the other half may follow.
    rb"(?P<cut>\\(?:u(?:[0-9a-f]{0,3}|d[89ab][0-9a-f]{2}(?:\\(?:u[0-9a-f]{0,3})?)?))?\Z)"
    rb'|\\u(?:d[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}|[0-9a-f]{4})|\\.|"|[^"\\]+',
    re.DOTALL | re.IGNORECASE,
)


class StringsMark(NamedTuple):
    """The state of a strings matcher at one moment.

    Args:
        banned: That of the matcher of the text.
        string: That of the matcher of the string that is open; ``None``: there is none.
        cut: An escape in it that is not whole.
        has_begun: Whether the text has begun.
    """

    banned: SeamMark
    string: Mark | None
    cut: bytes
    has_begun: bool


class StringsMatcher:
    r"""A matcher of one text of JSON, with a matcher of each of its strings beside it.

    A match in a string has the offsets of what is written for it.

    Args:
        banned: The matcher of the text.
        has_begun: Whether the text begins at once, and not after a thought.

    >>> from sfgen.ban import BannedWords
    >>> matcher = StringsMatcher(BannedWords(["talk"]).matcher())
    >>> matcher.advance(b'["\\nta'), matcher.open_from(), matcher.advance(b'lk"')
    (None, 4, Match(word='talk', start=4, end=8))
    """

    def __init__(self, banned: SeamMatcher, *, has_begun: bool = True) -> None:
        self.banned = banned
        self._has_begun = has_begun
        self._string: Matcher | None = None
        self._cut = b""

    def advance(self, data: bytes) -> Match | None:
        """Read the bytes of one token and return the first match completed, of the text before that of a string."""
        start = self.banned.length - len(self._cut)
        found = self.banned.advance(data)
        in_string = self._read(self._cut + data, start) if self._has_begun else None
        return in_string if found is None else found

    def _read(self, data: bytes, start: int) -> Match | None:
        """Read whole pieces of the text from the byte ``start`` on; keep an escape that is cut."""
        first, self._cut = None, b""
        for piece in _PIECES.finditer(data):
            found, written = None, piece[0]
            if self._string is None:
                if written == b'"':
                    self._string = Matcher(self.banned.automata, start=start + piece.end())
            elif piece["cut"] is not None:
                self._cut = written
            elif written == b'"':
                found, self._string = self._string.finish(), None
            elif written.startswith(b"\\"):
                # Half of a pair alone is read as by whom checks the finished text.
                said = str(json.loads(b'"%s"' % written)).encode("utf-8", "replace").decode()
                found = self._string.read(said, len(written))
            else:
                found = self._string.advance(written)
            first = found if first is None else first
        return first

    def begin_text(self) -> None:
        """Begin a text, after a thought, that is also read by itself."""
        self.banned.begin_text()
        self._has_begun = True

    def finish(self) -> Match | None:
        """Return the banned match that the end of the text, or of the string, would complete."""
        found = self.banned.finish()
        return self._string.finish() if found is None and self._string is not None else found

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
        return StringsMark(self.banned.mark(), string, self._cut, self._has_begun)

    def reset(self, mark: StringsMark) -> None:
        """Return to an earlier mark."""
        self.banned.reset(mark.banned)
        self._string = None if mark.string is None else self._string or Matcher(self.banned.automata)
        if self._string is not None and mark.string is not None:
            self._string.reset(mark.string)
        self._cut, self._has_begun = mark.cut, mark.has_begun
