"""Rows of a picture: pieces of text, each with a style, cut to columns.

A piece never holds anything that moves a cursor, is not seen, or changes the direction of what stands beside it: such
characters are written by their numbers. Columns are counted high where terminals differ, so that no row gets too long.
"""

from __future__ import annotations

import codecs
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice
from typing import TypeAlias

from rich.cells import get_character_cell_size

from sfgen.automata.label import CUT, seen

Piece: TypeAlias = tuple[str, str]
"""A text and its style."""

Row: TypeAlias = list[Piece]

NEWLINE = "↵"

STRUCK = "strike red"
"""The style of what was taken back, or may not be written."""

_LEFT_TO_RIGHT = "\u200e"
"""Takes no room. Beside text that is written from right to left it keeps what follows from joining in."""

_FLAG_LETTERS = frozenset(map(chr, range(0x1F1E6, 0x1F200)))  # two make a flag, in two columns or in four
_BETWEEN = " · "
_MOST_MARKS = 4  # on one letter: more would paint over the rows around


def columns(text: str) -> int:
    """Count the columns that a text takes, at most."""
    return len(text) if text.isascii() else _columns_of(text)


@lru_cache(maxsize=4096)
def _columns_of(text: str) -> int:
    return sum(map(_columns, text))


def decoded(parts: Iterable[tuple[bytes, str]]) -> list[Piece]:
    """Bytes with styles as text with styles.

    A character that is spread over several parts is in the last of them; bytes that are no UTF-8 become escapes.
    """
    decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")
    pieces = [(decoder.decode(data), style) for data, style in parts]
    rest = decoder.decode(b"", final=True)
    return [*pieces, (rest, pieces[-1][1])] if rest else pieces


def visible(pieces: list[Piece]) -> list[Piece]:
    r"""Escape all that cannot be seen; a newline becomes ``↵`` and a newline.

    >>> visible([("a\x1b", "red"), ("\n", "")])
    [('a\\x1b', 'red'), ('↵\n', '')]
    """
    if not any(_has_marks(text) for text, _ in pieces):
        return [(_alone(text), style) for text, style in pieces]
    # A mark may stand on the last letter of the piece before.
    written = _written("".join(text for text, _ in pieces))
    return [("".join(islice(written, len(text))), style) for text, style in pieces]


@lru_cache(maxsize=4096)
def _has_marks(text: str) -> bool:
    return not text.isascii() and any(unicodedata.category(character).startswith("M") for character in text)


@lru_cache(maxsize=4096)
def _alone(text: str) -> str:
    return text if text.isascii() and text.isprintable() else "".join(_written(text))


def _written(text: str) -> Iterator[str]:
    marks = 0
    for character, written in zip(text, seen(text), strict=True):
        if character == "\n":
            written = f"{NEWLINE}\n"
        is_mark = written == character and unicodedata.category(character).startswith("M")
        marks = marks + 1 if is_mark else 0
        yield written if marks <= _MOST_MARKS else f"\\u{ord(character):04x}"


def on_one_line(text: str) -> str:
    """Escape as ``visible`` does, on one line."""
    return visible([(text, "")])[0][0].replace(f"{NEWLINE}\n", NEWLINE) if text else ""


def quoted(data: bytes) -> str:
    """Put a token's bytes in quotes, so that spaces are seen."""
    text = decoded([(data, "")])
    shown = "".join(piece for piece, _ in text).replace("\n", "\\n")
    shown = on_one_line(shown)
    quote = '"' if "'" in shown and '"' not in shown else "'"
    if is_right_to_left(shown):
        shown = f"{_LEFT_TO_RIGHT}{shown}{_LEFT_TO_RIGHT}"
    return f"{quote}{shown}{quote}"


def fitted(text: str, width: int) -> str:
    """Cut a text with ``…`` if it takes more columns."""
    if columns(text) <= width:
        return text
    closing = text[-1] if text[0] in "'\"" and text[-1] == text[0] and width > 2 else ""
    left = width - len(CUT) - len(closing)
    if left < 0:
        return ""
    taken = _beginning(text, left)
    end = _LEFT_TO_RIGHT if _LEFT_TO_RIGHT in taken else ""
    return f"{taken}{CUT}{end}{closing}"


def _beginning(text: str, width: int) -> str:
    """As much of the text as fits."""
    for place, character in enumerate(text):
        width -= _columns(character)
        if width < 0:
            return text[:place]
    return text


def fitted_row(row: Row, width: int) -> Row:
    """Cut a row with ``…`` if it takes more columns."""
    if sum(columns(text) for text, _ in row) <= width:
        return row
    left = width - len(CUT)
    shown: Row = []
    for text, style in row:
        taken = _beginning(text, left)
        if taken != text:
            shown.append((taken + CUT, style))
            break
        shown.append((text, style))
        left -= columns(text)
    return _guarded(shown)


def flowed(parts: Iterable[Row], width: int) -> list[Row]:
    """Put parts one after the other, with dots between them."""
    rows: list[Row] = []
    left = 0
    for part in parts:
        part = fitted_row(part, width)
        needed = sum(columns(text) for text, _ in part)
        if rows and left >= needed + len(_BETWEEN):
            rows[-1] += [(_BETWEEN, "dim"), *part]
            left -= needed + len(_BETWEEN)
        else:
            rows.append([*part])
            left = width - needed
    return [_guarded(row) for row in rows]


def wrapped(pieces: Iterable[Piece], width: int) -> list[Row]:
    """Break pieces into rows, at newlines and where one is full."""
    rows: list[Row] = [[]]
    left = width
    for text, style in pieces:
        if columns(text) <= left and "\n" not in text:
            if text:
                rows[-1].append((text, style))
            left -= columns(text)
            continue
        start = 0
        for place, character in enumerate(text):
            needed = 0 if character == "\n" else _columns(character)
            if needed > left or character == "\n":
                if place > start:
                    rows[-1].append((text[start:place], style))
                rows.append([])
                left = width
                start = place + (character == "\n")
            left -= needed
        if start < len(text):
            rows[-1].append((text[start:], style))
    return [_guarded(row) for row in rows]


def is_right_to_left(text: str) -> bool:
    """Return whether some of the text is written from right to left."""
    return not text.isascii() and _is_right_to_left(text)


@lru_cache(maxsize=4096)
def _is_right_to_left(text: str) -> bool:
    return any(unicodedata.bidirectional(character) in ("R", "AL", "AN") for character in text)


def _guarded(row: Row) -> Row:
    """The row so that what is written from right to left in it moves nothing that stands beside it."""
    if not any(is_right_to_left(text) for text, _ in row):
        return row
    return [(_LEFT_TO_RIGHT, ""), *row, (_LEFT_TO_RIGHT, "")]


@lru_cache(maxsize=4096)
def _columns(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    is_wide = unicodedata.east_asian_width(character) in "WF" or character in _FLAG_LETTERS
    return 2 if is_wide else max(1, get_character_cell_size(character))
