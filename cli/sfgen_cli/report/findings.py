"""Banned words in texts that are already there, each with its place.

The matcher reads a byte in a microsecond or two. Most of a long text need not be read by it: words repeat, and one that
has led from between two words to between two words, without a match, does so again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sfgen.ban import BannedWords, Match

_PIECE = re.compile(rb"[^ \n]*[ \n]+|[^ \n]+")
_BETWEEN_WORDS = b" "
_HARMLESS_KEPT = 1 << 20
_CONTEXT = 400  # bytes on either side, more than a line on a screen shows


@dataclass(frozen=True, slots=True)
class Finding:
    """A banned word in a text.

    Attributes:
        word: The word or the pattern, as the user gave it.
        line: The number of the line in which it begins, from 1 on.
        column: The number of its first character in that line, from 1 on.
        start: The offset of its first byte in the text.
        end: The offset after its last byte.
        found: What stands there.
        context: The line, or if it is long what stands around the match in it; where the match goes on in another line,
            only what stands in the first.
        position: The offset of the match in ``context``, in characters.
    """

    word: str
    line: int
    column: int
    start: int
    end: int
    found: str
    context: str
    position: int


def findings(lines: Iterable[bytes], banned: BannedWords) -> Iterator[Finding]:
    r"""Yield the banned matches in one text.

    Of several that are complete at the same character only one is told: what ends first, then what begins first.

    Args:
        lines: The text, cut after its newlines. What is not UTF-8 counts as U+FFFD.
        banned: The words and patterns.

    >>> from sfgen.ban import BannedWords
    >>> for finding in findings([b"We\n", b"can talk,\n", b"you can listen"], BannedWords(["talk", "listen"])):
    ...     print(finding.line, finding.column, finding.start, finding.found, "in", repr(finding.context))
    2 5 7 talk in 'can talk,'
    3 9 21 listen in 'you can listen'
    """
    reader, places = _Reader(banned), _Places()
    for line in lines:
        places.add(line)
        for match in reader.read(line):
            yield places.finding(match)
        places.forget_before(reader.open_from())
    for match in reader.finish():
        yield places.finding(match)


class _Reader:
    """Reads one text and finds every match in it."""

    def __init__(self, banned: BannedWords) -> None:
        self._matcher = matcher = banned.matcher()
        start = matcher.mark()
        matcher.advance(_BETWEEN_WORDS)
        self._between_words = matcher.mark(), matcher.state
        # A pattern that may begin with the space would have to know where it was.
        self._may_skip = matcher.open_from() is None
        matcher.reset(start)
        self._is_between_words = False
        self._harmless: set[bytes] = set()
        self._given = 0  # how many bytes the matcher has read, as far as it knows
        self._skipped = 0  # how many more there were

    def read(self, data: bytes) -> Iterator[Match]:
        """The matches that are complete with these bytes."""
        mark, state = self._between_words
        matcher = self._matcher
        for piece in _PIECE.findall(data):
            was_between_words = self._is_between_words
            if was_between_words:
                if piece in self._harmless:
                    self._skipped += len(piece)
                    continue
                matcher.reset(mark)
                self._skipped += self._given - len(_BETWEEN_WORDS)
                self._given = len(_BETWEEN_WORDS)
            is_clean = True
            for match in self._every(piece):
                is_clean = False
                yield self._placed(match)
            self._given += len(piece)
            self._is_between_words = self._may_skip and matcher.state == state
            if was_between_words and self._is_between_words and is_clean and len(self._harmless) < _HARMLESS_KEPT:
                self._harmless.add(piece)

    def finish(self) -> Iterator[Match]:
        """The match that the end of the text completes, if there is one."""
        match = None if self._is_between_words else self._matcher.finish()
        if match is not None:
            yield self._placed(match)

    def open_from(self) -> int | None:
        """Where the earliest match that may still become complete begins."""
        start = None if self._is_between_words else self._matcher.open_from()
        return None if start is None else start + self._skipped

    def _every(self, data: bytes) -> Iterator[Match]:
        """Every match, where ``advance`` tells the first: halves are read again until each match is alone."""
        mark = self._matcher.mark()
        match = self._matcher.advance(data)
        if match is None:
            return
        if len(data) == 1:
            yield match
            return
        self._matcher.reset(mark)
        yield from self._every(data[: len(data) // 2])
        yield from self._every(data[len(data) // 2 :])

    def _placed(self, match: Match) -> Match:
        return replace(match, start=match.start + self._skipped, end=match.end + self._skipped)


class _Places:
    """The lines in which a match may lie that is not complete yet, and where they are in the text."""

    def __init__(self) -> None:
        self._kept = bytearray()
        self._offset = 0  # of the first byte that is kept, which begins a line
        self._line = 1
        # Characters are counted from the last place in the same line on: a line can be long, with many matches.
        self._counted = (0, 0, 1)  # (start of the line, offset, column)

    def add(self, line: bytes) -> None:
        """Keep one more line."""
        self._kept += line

    def forget_before(self, start: int | None) -> None:
        """Let go of the lines before the one that holds an offset; of all if it is ``None``."""
        size = len(self._kept) if start is None else self._kept.rfind(b"\n", 0, start - self._offset) + 1
        self._line += self._kept.count(b"\n", 0, size)
        self._offset += size
        del self._kept[:size]

    def finding(self, match: Match) -> Finding:
        """What is to be told of a match."""
        start, end = match.start - self._offset, match.end - self._offset
        begin = self._kept.rfind(b"\n", 0, start) + 1
        stop = self._kept.find(b"\n", start)
        stop = len(self._kept) if stop < 0 else stop
        before = _text(self._kept[max(begin, start - _CONTEXT) : start])
        after = _text(self._kept[start : min(stop, end + _CONTEXT)])
        return Finding(
            word=match.word,
            line=self._line + self._kept.count(b"\n", 0, start),
            column=self._column(begin, start),
            start=match.start,
            end=match.end,
            found=_text(self._kept[start:end]),
            context=(before + after).removesuffix("\r"),
            position=len(before),
        )

    def _column(self, begin: int, start: int) -> int:
        line, offset, column = self._counted
        if line != begin + self._offset or offset > start + self._offset:
            line, offset, column = begin + self._offset, begin + self._offset, 1
        column += len(_text(self._kept[offset - self._offset : start]))
        self._counted = line, start + self._offset, column
        return column


def _text(data: bytearray) -> str:
    return data.decode("utf-8", "replace")
