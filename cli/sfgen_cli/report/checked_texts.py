"""Texts that ``check`` reads, as one text or line by line, and the banned words in them, each with its place.

The matcher reads a byte in a microsecond or two. Most of a long text need not be read by it: words repeat, and one that
has led from between two words to between two words, without a match, does so again.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import TYPE_CHECKING, BinaryIO

from sfgen.errors import InputError, UsageError
from sfgen.printable import shown_name
from sfgen_cli.shell.usage import quoted

if TYPE_CHECKING:
    from sfgen.ban import BannedWords, Match

_STDIN = "-"
_JSON_LINES = ".jsonl"

LONGEST_TEXT = 64 * 2**20
"""Bytes of a text that is compared as a whole, and of a line: a device may have no end."""


@dataclass(frozen=True)
class Source:
    """Something that holds texts.

    Attributes:
        file: The file as the user named it, ``-`` for stdin; ``None``: the text was on the command line.
        text: That text.
    """

    file: str | None
    text: str = ""

    @property
    def name(self) -> str:
        """The file, for people; empty for a text."""
        return "stdin" if self.file == _STDIN else shown_name(self.file or "")

    def is_read_by_line(self, *, asked_for: bool) -> bool:
        """Return whether each of its lines is a text.

        ``asked_for`` says that lines are to be, where there are any.
        """
        return self.file is not None and (asked_for or self.is_json_lines)

    @property
    def is_json_lines(self) -> bool:
        """Whether the name says that each line is JSON."""
        return PurePath(self.file or "").suffix == _JSON_LINES

    @contextlib.contextmanager
    def opened(self) -> Iterator[Iterable[bytes]]:
        """Open it, and yield its bytes, cut after their newlines.

        Of a pipe each line comes as soon as it is there.
        """
        if self.file is None:
            # The locale may have told Python of another encoding.
            yield io.BytesIO(os.fsencode(self.text))
            return
        if self.file == _STDIN:
            yield self._lines(_stdin())
            return
        try:
            stream = open(self.file, "rb")  # noqa: SIM115
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.ENAMETOOLONG):
                raise InputError(f"cannot read {self.name}: {error.strerror}") from error
            hint = f"If it is the text itself: sfgen check … --text {quoted(self.file, instead='TEXT')}"
            raise InputError(f"no such file: {self.name or quoted('')}", hint=hint) from error
        with stream:
            yield self._lines(stream)

    def whole(self, lines: Iterable[bytes]) -> bytes:
        """Join the lines of a text."""
        pieces: list[bytes] = []
        size = 0
        for line in lines:
            size += len(line)
            if size > LONGEST_TEXT:
                raise InputError(
                    f"{self.name} is longer than {LONGEST_TEXT:,} bytes", hint="Does --lines make texts of its lines?"
                )
            pieces.append(line)
        return b"".join(pieces)

    def _lines(self, stream: BinaryIO) -> Iterator[bytes]:
        number = 0
        try:
            while line := stream.readline(LONGEST_TEXT + 1):
                number += 1
                if len(line) > LONGEST_TEXT:
                    raise InputError(f"{self.name}, line {number} is longer than {LONGEST_TEXT:,} bytes")
                yield line
        except OSError as error:
            raise InputError(f"cannot read {self.name}: {error.strerror}") from error


def sources(files: Sequence[str], texts: Sequence[str], *, reader: str) -> list[Source]:
    """List what there is to read: the files, then the texts.

    Without either it is stdin.
    """
    if not files and not texts:
        if not reader and sys.stdin is not None and sys.stdin.isatty():
            raise UsageError(
                "no text to look at: no file, no --text and nothing piped in",
                hint="For example: sfgen check --words talk,listen --text 'Can we talk?'",
            )
        files = [_STDIN]
    if list(files).count(_STDIN) + bool(reader) > 1:
        raise UsageError(
            f"stdin can be read once only{f', and {reader} reads it' if reader else ''}",
            hint="Name a file, or give the text itself with --text.",
        )
    return [*(Source(name) for name in files), *(Source(None, text) for text in texts)]


def _stdin() -> BinaryIO:
    if sys.stdin is None:
        return io.BytesIO()
    stream: BinaryIO | None = getattr(sys.stdin, "buffer", None)
    return io.BytesIO(sys.stdin.read().encode()) if stream is None else stream


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
        """The beginning of the earliest match that may still become complete."""
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
        """Return a match as data for the report."""
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
