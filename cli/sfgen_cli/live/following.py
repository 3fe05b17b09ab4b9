"""The mark that moves through the pattern while the text is written."""

from __future__ import annotations

import codecs
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from sfgen.automata.label import CUT
from sfgen.errors import SfgenError
from sfgen_cli.live.expected import next_of_choices, one_of
from sfgen_cli.live.marked import marked_pieces
from sfgen_cli.live.moment import Moment, Token
from sfgen_cli.live.rows import Row, visible, wrapped

if TYPE_CHECKING:
    from sfgen.regex.position_automaton import PatternPositions, Position, Span
    from sfgen.trace.lines import Scene

_AT_FIRST = 0.1  # seconds that the steps through the pattern may take,
_SHARE = 0.02  # and the share of all time that they may take from then on


class Marks(NamedTuple):
    """Where in a pattern a text stands.

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
    """How far the pattern was followed: after a token.

    Attributes:
        token: The token; ``None`` before the first.
        place: The place in the pattern.
        half: Bytes of a character that the next token completes.
    """

    token: Token | None
    place: Position
    half: bytes


def following_of(scene: Scene, *, patient: bool) -> Following | None:
    """Follow the pattern of a run.

    ``None`` if it has none, or if the pattern is only a part of the text's.

    Args:
        scene: What is known of the run.
        patient: As ``Following`` takes it.
    """
    if scene.pattern is None or scene.when is not None:
        return None
    return Following(scene.pattern, patient=patient)


def expected_at(moment: Moment, following: Following | None) -> str:
    """Say what can be read next; empty if that is not known.

    Args:
        moment: The run at one moment.
        following: Of its pattern.
    """
    if moment.start is None:
        return ""
    return next_of_choices(moment) if following is None else following.expected(moment.text_tokens)


class Following:
    """A pattern with the pieces marked that the text has come to.

    Args:
        pattern: The pattern.
        patient: Follow the whole text, however long it takes. Otherwise there is no mark where a pattern has too many
            possibilities to count them without holding up the text.
    """

    def __init__(self, pattern: str, *, patient: bool) -> None:
        self._pattern, self._patient = pattern, patient
        self._places: PatternPositions | None = None
        self._way: list[_Reached] = []
        self._began = time.perf_counter()
        self._spent = 0.0

    def rows(self, tokens: list[Token], width: int, most: int) -> list[Row]:
        """Write the pattern; of a long one what is around the mark.

        Args:
            tokens: The text so far.
            width: Columns of a row.
            most: The most rows.
        """
        pieces = self._pieces(tokens)
        rows = wrapped(_on_one_line(pieces), width)
        if len(rows) <= most:
            return rows
        rows = wrapped(_on_one_line(_around_the_mark(pieces, width * most)), width)
        return rows[:most]

    def marks(self, tokens: list[Token]) -> Marks | None:
        """Find the pieces of the pattern that the text has come to.

        ``None`` if it cannot be followed, or not in time.

        Args:
            tokens: The text so far.
        """
        reached = self._reached(tokens)
        if reached is None or self._places is None:
            return None
        place = reached.place
        return Marks(self._places.last_read(place), self._places.next(place), self._places.may_end(place))

    def expected(self, tokens: list[Token]) -> str:
        """Say what can be read next, as the pattern writes it.

        Empty if that is not known.

        Args:
            tokens: The text so far.
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
        """How far the text has come; ``None`` if the pattern cannot be followed, or not in time."""
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
