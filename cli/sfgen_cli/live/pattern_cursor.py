"""The cursor that moves through the pattern with the text: what read the last character, and what may read the next."""

from __future__ import annotations

import codecs
import time
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from sfgen.automata.label import CUT
from sfgen.errors import SfgenError
from sfgen.printable import on_one_line
from sfgen_cli.live import rows
from sfgen_cli.live.moment import Moment, Token
from sfgen_cli.live.rows import Row, visible, wrapped

if TYPE_CHECKING:
    from rich.text import Text

    from sfgen.regex.position_automaton import PatternPositions, Position, Span
    from sfgen.trace.lines import Scene

_AT_FIRST = 0.1  # seconds that the steps through the pattern may take,
_SHARE = 0.02  # and the share of all time that they may take from then on


class Marks(NamedTuple):
    """The place of a text in a pattern.

    Attributes:
        last_read: The pieces that may have read the last character: first character, and the one past the end.
        next: The pieces that may read the next one.
        may_end: Whether the text may end.
    """

    last_read: tuple[Span, ...]
    next: tuple[Span, ...]
    may_end: bool


@dataclass(frozen=True, slots=True)
class _Reached:
    """The place in the pattern after a token.

    Attributes:
        token: The token; ``None`` before the first.
        place: The place in the pattern.
        half: Bytes of a character that the next token completes.
    """

    token: Token | None
    place: Position
    half: bytes


def pattern_cursor_of(scene: Scene, *, patient: bool) -> PatternCursor | None:
    """Return a cursor through the pattern of a run.

    ``None`` if it has none, or if the pattern is only a part of the text's.
    """
    if scene.pattern is None or scene.when is not None:
        return None
    return PatternCursor(scene.pattern, patient=patient)


def expected_at(moment: Moment, cursor: PatternCursor | None) -> str:
    """Say what can be read next; empty if that is not known."""
    if moment.start is None:
        return ""
    return next_of_choices(moment) if cursor is None else cursor.expected(moment.text_tokens)


class PatternCursor:
    """A pattern with the pieces marked that the text has come to."""

    def __init__(self, pattern: str, *, patient: bool) -> None:
        self._pattern, self._patient = pattern, patient
        self._places: PatternPositions | None = None
        self._way: list[_Reached] = []
        self._began = time.perf_counter()
        self._spent = 0.0

    def rows(self, tokens: list[Token], width: int, most: int) -> list[Row]:
        """Write the pattern; of a long one what is around the mark."""
        pieces = self._pieces(tokens)
        rows = wrapped(_on_one_line(pieces), width)
        if len(rows) <= most:
            return rows
        rows = wrapped(_on_one_line(_around_the_mark(pieces, width * most)), width)
        return rows[:most]

    def marks(self, tokens: list[Token]) -> Marks | None:
        """Find the pieces of the pattern that the text has come to.

        ``None`` if it cannot be followed, or not in time.
        """
        reached = self._reached(tokens)
        if reached is None or self._places is None:
            return None
        place = reached.place
        return Marks(self._places.last_read(place), self._places.next(place), self._places.may_end(place))

    def expected(self, tokens: list[Token]) -> str:
        """Say what can be read next, as the pattern writes it.

        Empty if that is not known.
        """
        marks = self.marks(tokens)
        if marks is None:
            return ""
        return one_of([self._pattern[start:end] for start, end in marks.next], may_end=marks.may_end)

    def _pieces(self, tokens: list[Token]) -> Row:
        marks = self.marks(tokens)
        if marks is None:
            return [(self._pattern, "")]
        return marked_pieces(self._pattern, marks.last_read, marks.next)

    def _reached(self, tokens: list[Token]) -> _Reached | None:
        """Follow the text as far as it is; ``None`` if the pattern cannot be followed, or not in time."""
        from sfgen.regex.position_automaton import PatternPositions

        if not self._way:
            try:
                self._places = PatternPositions(self._pattern)
            except SfgenError:  # another engine may read patterns that this one refuses
                return None
            self._way = [_Reached(None, self._places.start, b"")]
        if self._places is None:
            return None
        del self._way[len(tokens) + 1 :]
        while len(self._way) > 1 and self._way[-1].token is not tokens[len(self._way) - 2]:
            self._way.pop()
        now = time.perf_counter()
        until = now + _AT_FIRST + _SHARE * (now - self._began) - self._spent
        for token in tokens[len(self._way) - 1 :]:
            if not self._patient and time.perf_counter() > until:
                break
            self._way.append(_after(self._places, self._way[-1], token))
        self._spent += time.perf_counter() - now
        return self._way[-1] if len(self._way) > len(tokens) else None


def _after(places: PatternPositions, reached: _Reached, token: Token) -> _Reached:
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    place = reached.place
    for character in decoder.decode(reached.half + token.data):
        place = places.step(place, character)
    return _Reached(token, place, decoder.getstate()[0])


def _on_one_line(pieces: Row) -> Row:
    """Newlines and all that cannot be seen as escapes. Each piece for itself: a mark does not join what is before."""
    return [visible([(text.replace("\n", "\\n"), style)])[0] for text, style in pieces]


def _around_the_mark(pieces: Row, size: int) -> Row:
    """About ``size`` characters of a long pattern. They change only when the mark comes near their end."""
    size = max(8, size * 3 // 4)  # escapes take more room than what they stand for
    mark = 0
    for text, style in pieces:
        if style:
            break
        mark += len(text)
    else:
        mark = 0
    start = max(0, (mark // (size // 2)) * (size // 2) - size // 4)
    shown: Row = [(CUT, "dim")] if start else []
    place = 0
    for text, style in pieces:
        piece = text[max(0, start - place) : max(0, start + size - place)]
        if piece:
            shown.append((piece, style))
        place += len(text)
    return [*shown, (CUT, "dim")] if place > start + size else shown


_SHOWN = 4
_MOST_CHOICES = 1000
_END = "the end"


def one_of(pieces: Iterable[str], *, may_end: bool) -> str:
    """List what can come next.

    >>> one_of(["[0-9]", "-", "[0-9]"], may_end=True), one_of([" "], may_end=False), one_of("abcdef", may_end=False)
    ('[0-9] or - or the end', '[ ]', 'a or b or c or d or …')
    """
    named = ["[ ]" if piece == " " else rows.on_one_line(piece) for piece in dict.fromkeys(pieces)]
    shown = named[:_SHOWN] + [CUT] * (len(named) > _SHOWN)
    return " or ".join([*shown, *[_END] * may_end])


def next_of_choices(moment: Moment) -> str:
    """List what can come next in the choices still possible.

    Empty if there are none, or too many.
    """
    choices = moment.scene.choices
    if choices is None or len(choices) > _MOST_CHOICES or moment.scene.when is not None:
        return ""
    written = b"".join(token.data for token in moment.text_tokens)
    rest = [
        data[len(written) :] for choice in choices if (data := choice.encode("utf-8", "replace")).startswith(written)
    ]
    following = [text[0] for data in rest if (text := data.decode("utf-8", "ignore"))]
    return one_of(following, may_end=b"" in rest)


READ = "reverse"
NEXT = "underline"
_Spans = Iterable[tuple[int, int]]


def marked_pieces(pattern: str, last_read: _Spans, following: _Spans) -> list[tuple[str, str]]:
    """Cut a pattern into pieces, each with its style.

    What was last read is in reverse, what follows underlined.
    """
    styles = [""] * len(pattern)
    for spans, style in ((following, NEXT), (last_read, READ)):
        for start, end in spans:
            styles[start:end] = [f"{shown} {style}".strip() for shown in styles[start:end]]
    together = groupby(zip(pattern, styles, strict=True), key=lambda one: one[1])
    return [("".join(character for character, _ in characters), style) for style, characters in together]


def marked_pattern(pattern: str, last_read: _Spans, following: _Spans) -> Text:
    """Draw what ``marked_pieces`` returns, on one line."""
    from rich.text import Text

    text = Text()
    for piece, style in marked_pieces(pattern, last_read, following):
        text.append(on_one_line(piece), style)
    return text
