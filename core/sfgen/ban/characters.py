"""Characters as banned words see them: folded, and sorted into kinds.

Every character of a text or of a banned word is folded (or not, when case matters) and then has one of three kinds:

* ``SPACED``: a word character of a script that puts spaces between words (letters, numbers, ``_``),
* ``UNSPACED``: a word character of a script written without spaces (Chinese, kana, Thai, Lao, Khmer, Myanmar),
* ``NON_WORD``: everything else: white space, punctuation, symbols, emoji, format characters.

A combining mark belongs to the character before it (the rule of Unicode's annex 29) and takes over its kind; without
a character before it, it is ``NON_WORD``. So the variation selector of an emoji is no letter, and the accent of a
decomposed ``é`` is not the end of a word.

There is a *boundary* between two neighbours unless both are ``SPACED``. The start and the end of a text are
boundaries. That one rule gives whole words in English, needs no spaces in Chinese, and lets ``talk`` be a word of its
own in ``我們talk吧``.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from collections.abc import Iterable
from functools import cache
from typing import Final, NamedTuple

from sfgen.ban.normalize import NO_SPELLING, is_stray, normalized, spelling

NON_WORD: Final = 0
SPACED: Final = 1
UNSPACED: Final = 2
MARK: Final = 3
"""Only in :class:`Unit`: the kind is that of the character before."""

SEPARATOR: Final = 0xFF
"""Never a byte of UTF-8. One between the characters of a text is a boundary, two are a run of non-word characters."""

# Blocks of the scripts written without spaces. Which of their code points are letters, marks or punctuation is left to
# the general category.
UNSPACED_BLOCKS: Final = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Myanmar
    (0x1780, 0x17FF),  # Khmer
    (0x3005, 0x3007),  # Chinese: the iteration mark, the closing mark and zero
    (0x3021, 0x312F),  # Hangzhou numerals, repeat marks, kana, bopomofo
    (0x3190, 0x31FF),  # reading marks, bopomofo, kana
    (0x3220, 0x3229),  # Chinese numerals in brackets
    (0x3280, 0x3289),  # Chinese numerals in circles
    (0x3400, 0x4DBF),  # Chinese
    (0x4E00, 0x9FFF),  # Chinese
    (0xA9E0, 0xA9FF),  # Myanmar
    (0xAA60, 0xAA7F),  # Myanmar
    (0xF900, 0xFAFF),  # Chinese, compatibility
    (0xFF66, 0xFF9F),  # kana of half width
    (0x116D0, 0x116FF),  # Myanmar
    (0x16FE3, 0x16FE3),  # the old iteration mark
    (0x1AFF0, 0x1B16F),  # kana
    (0x20000, 0x3FFFD),  # Chinese
)
_UNSPACED_STARTS: Final = tuple(first for first, _ in UNSPACED_BLOCKS)


@cache
def kind_of(character: str) -> int:
    """The kind of one character by itself; ``MARK`` for a combining mark.

    >>> [kind_of(character) for character in "a7_é我ก .🙂\\u0301"]
    [1, 1, 1, 1, 2, 2, 0, 0, 0, 3]
    """
    category = unicodedata.category(character)
    if category[0] == "M":
        return MARK
    if category[0] not in "LN" and character != "_":
        return NON_WORD
    block = bisect_right(_UNSPACED_STARTS, ord(character)) - 1
    return UNSPACED if block >= 0 and ord(character) <= UNSPACED_BLOCKS[block][1] else SPACED


def kinds_of(characters: Iterable[str]) -> list[int]:
    """The kinds of the characters of a whole text, with marks resolved.

    >>> kinds_of("e\\u0301 \\u0301")
    [1, 1, 0, 0]
    """
    kinds: list[int] = []
    for character in characters:
        kind = kind_of(character)
        if kind == MARK:
            kind = kinds[-1] if kinds else NON_WORD
        kinds.append(kind)
    return kinds


def folded(character: str, ignore_case: bool, normalize: bool) -> str:
    """One character as it is compared: nothing, one character or several.

    Full case folding, or :func:`~sfgen.ban.normalize.normalized`, or the character itself.
    """
    if normalize:
        return normalized(character, ignore_case)
    return character.casefold() if ignore_case else character


def fold(text: str, ignore_case: bool, normalize: bool = False) -> str:
    """A text as it is compared.

    >>> fold("Straße", True), fold("ＳＴＲА\\u200bSSE", True, True)
    ('strasse', 'strasse')
    """
    if not normalize:
        return text.casefold() if ignore_case else text
    kept = ""
    for character in text:
        for piece in normalized(character, ignore_case):
            if kind_of(piece) != MARK or not is_stray(piece, kept[-1:]):
                kept += piece
    return kept


class Unit(NamedTuple):
    """One folded character."""

    character: str
    kind: int  # MARK is not resolved
    utf8: bytes
    spelling: int  # see sfgen.ban.normalize; 0 where nothing is normalized


class UnitTable(dict[str, tuple[Unit, ...]]):
    """Original character → its folded characters, filled as characters are met.

    >>> [unit.character for unit in UnitTable(True, False)["ß"]]
    ['s', 's']
    """

    def __init__(self, ignore_case: bool, normalize: bool) -> None:
        super().__init__()
        self.ignore_case = ignore_case
        self.normalize = normalize

    def __missing__(self, character: str) -> tuple[Unit, ...]:
        units = tuple(
            Unit(
                piece,
                kind_of(piece),
                piece.encode("utf-8", "surrogatepass"),
                spelling(piece) if self.normalize else NO_SPELLING,
            )
            for piece in folded(character, self.ignore_case, self.normalize)
        )
        self[character] = units
        return units


@cache
def unit_table(ignore_case: bool, normalize: bool) -> UnitTable:
    """The table that all matchers share: it holds facts about characters, nothing about any text."""
    return UnitTable(ignore_case, normalize)
