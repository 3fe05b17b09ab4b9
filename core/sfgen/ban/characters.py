"""Characters as banned words see them: folded, and sorted into kinds.

Every character of a text or of a banned word is folded: it is decomposed (Unicode's NFD, annex 15), and its case is
folded where case is ignored. So spellings that Unicode calls canonically equal are the same word: ``é`` in one
character or as ``e`` and its accent, a Hangul syllable or its letters. Marks may come in any equivalent order; see
:mod:`sfgen.ban.entries`. One case is missed: an iota subscript (U+0345) before another accent, where case is ignored,
since it folds to a letter.

Every folded character has one of three kinds:

* ``SPACED``: a letter or decimal digit of a script that puts spaces between words,
* ``UNSPACED``: a letter or digit of a script written without spaces (Chinese, kana, Thai, Lao, Khmer, Myanmar),
* ``NON_WORD``: everything else: white space, punctuation, symbols, emoji, format characters.

Connectors and raised or lowered characters are not part of a word: the low line and other connector punctuation,
superscript and subscript letters and digits, and the numbers that are not decimal digits (circled ones, fractions).
Roman numerals and the like are letters (general category Nl). So ``_talk_`` and ``talk²`` hold the word talk, and
``talk2`` does not.

A combining mark belongs to the character before it (the rule of Unicode's annex 29) and takes over its kind; without a
character before it, it is ``NON_WORD``. So the variation selector of an emoji is not a letter, and the accent of a
decomposed ``é`` is not the end of a word.

There is a *boundary* between two neighbours unless both are ``SPACED``. The start and the end of a text are
boundaries. That one rule gives whole words in English, needs no spaces in Chinese, and lets ``talk`` be a word of its
own in ``我們talk吧``.

A match ends with a whole character: ``가`` is not in ``각``, although its letters are. Where a match needs no boundary,
it does not wait for a mark that may follow: ``cafe`` as a substring is found before U+0301, but not in ``café`` with
the character ``é``.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from collections.abc import Hashable, Iterable
from functools import cache
from typing import Final, NamedTuple, TypeAlias

from sfgen.ban.confusables import (
    NO_SPELLING,
    compatible,
    is_capital_i,
    is_stray,
    normalized,
    other_letters,
    spelling,
)

NON_WORD: Final = 0
SPACED: Final = 1
UNSPACED: Final = 2
MARK: Final = 3
"""Only in :class:`Unit`: the kind is that of the character before."""

# Blocks of the scripts written without spaces. Which of their code points are letters, marks or punctuation is left to
# the general category.
UNSPACED_BLOCKS: Final = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Myanmar
    (0x1780, 0x17FF),  # Khmer
    (0x3005, 0x3007),  # Chinese: the iteration mark, the closing mark and zero
    (0x3021, 0x312F),  # Hangzhou numerals, repeat marks, kana, bopomofo
    (0x3190, 0x31FF),  # reading marks, bopomofo, kana
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
_RAISED: Final = ("<super>", "<sub>")
_UNSPACED_STARTS: Final = tuple(first for first, _ in UNSPACED_BLOCKS)


@cache
def kind_of(character: str) -> int:
    """Return the kind of one character; ``MARK`` for a combining mark.

    >>> [kind_of(character) for character in "a7_²éª我ก .🙂\\u0301"]
    [1, 1, 0, 0, 1, 0, 2, 2, 0, 0, 0, 3]
    """
    category = unicodedata.category(character)
    if category[0] == "M":
        return MARK
    if category[0] != "L" and category not in ("Nd", "Nl"):
        return NON_WORD
    if unicodedata.decomposition(character).startswith(_RAISED):
        return NON_WORD
    block = bisect_right(_UNSPACED_STARTS, ord(character)) - 1
    return UNSPACED if block >= 0 and ord(character) <= UNSPACED_BLOCKS[block][1] else SPACED


def kinds_of(characters: Iterable[str]) -> list[int]:
    """Return the kinds of a text's characters, with marks resolved.

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


@cache
def pieces_of(character: str, ignore_case: bool, normalize: bool) -> tuple[tuple[str, bool], ...]:
    """Fold one character to none, one or several; with each, say whether a match may end with it.

    Full case folding, or :func:`~sfgen.ban.confusables.normalized`, of each character of its decomposition. Where the
    character is canonically several, and something of the next one is kept, a match may not end with it.

    >>> pieces_of("ß", True, False), pieces_of("É", True, False), pieces_of("É", True, True)
    ((('s', True), ('s', True)), (('e', False), ('\u0301', True)), (('e', True),))
    """
    folded_pieces = [
        normalized(piece, ignore_case)
        if normalize
        else unicodedata.normalize("NFD", piece.casefold() if ignore_case else piece)
        for piece in unicodedata.normalize("NFD", character)
    ]
    last = max((number for number, piece in enumerate(folded_pieces) if piece), default=0)
    return tuple([(folded, number == last) for number, piece in enumerate(folded_pieces) for folded in piece])


def other_readings(character: str, ignore_case: bool) -> tuple[str, ...]:
    """Return the other readings of a character among confusables.

    A symbol that is folded to letters or digits stays a symbol, too: normalizing finds more, and loses nothing. So
    texts that are equal for Unicode (NFKC_Casefold) match, whatever they look like: ``ᾳ`` for ``αι``, ``⒜`` for
    ``(a)``.

    >>> other_readings("²", True), other_readings("|", True), other_readings("I", True), other_readings("ᾳ", True)
    (('²',), ('l', 'i'), ('l',), ('ai',))
    """
    folded = "".join([piece for piece, _ in pieces_of(character, ignore_case, True)])
    others = other_letters(character, ignore_case)
    if kind_of(character) == NON_WORD and any(kind_of(piece) != NON_WORD for piece in folded):
        others = (character, *others)
    equal = "".join(
        [piece for letter in compatible(character, ignore_case) for piece, _ in pieces_of(letter, ignore_case, True)]
    )
    return others if equal in (folded, *others) else (*others, equal)


def fold(text: str, ignore_case: bool, normalize: bool = False) -> str:
    """Fold a text, with its marks in canonical order.

    >>> fold("Straße", True), fold("ＳＴＲА\u200bSSE", True, True)
    ('strasse', 'strasse')
    """
    if not normalize:
        if text.isascii():
            return text.lower() if ignore_case else text
        decomposed = unicodedata.normalize("NFD", text)
        return unicodedata.normalize("NFD", decomposed.casefold() if ignore_case else decomposed)
    kept = ""
    for character in text:
        for piece, _ in pieces_of(character, ignore_case, True):
            if kind_of(piece) != MARK or not is_stray(piece, kept[-1:]):
                kept += piece
    return unicodedata.normalize("NFD", kept)


class Unit(NamedTuple):
    """One folded character with its kind."""

    character: str
    kind: int  # ``MARK`` is not resolved
    utf8: bytes  # its UTF-8
    spelling: int  # the family of scripts whose marks spell; 0 where nothing is normalized
    may_end: bool  # whether a match may end with it

    @classmethod
    def of(cls, piece: str, may_end: bool, normalize: bool) -> Unit:
        """Make the unit of a folded character."""
        return cls(
            piece,
            kind_of(piece),
            piece.encode("utf-8", "surrogatepass"),
            spelling(piece) if normalize else NO_SPELLING,
            may_end,
        )


class Reading(NamedTuple):
    """The ways to read one character."""

    units: tuple[Unit, ...]  # its folded characters
    # further readings, each of one folded character or several; none where it is dropped
    others: tuple[tuple[Unit, ...], ...]
    is_capital_i: bool  # whether ``others`` count only where it does not follow a capital letter: see ``CAPITAL``
    case: int  # ``START``, ``SMALL``, ``CAPITAL`` or ``NO_CASE``

    @property
    def every_unit(self) -> set[Unit]:
        """The folded characters of all ways to read it."""
        return {*self.units, *(unit for other in self.others for unit in other)}


# The case of the text before a character, which decides how a capital I is read.
START: Final = 0
"""The start of the text, or a character that is part of no word."""
SMALL: Final = 1
"""A letter that is not a capital, or a digit."""
CAPITAL: Final = 2
"""A capital letter, also an I that begins a word. An I after it is never read as l: ``FAIL`` is not ``fall``."""
NO_CASE: Final = 3
"""The case before stays: an I after a small letter, marks, dropped characters."""


def case_after(before: int, reading: Reading) -> int:
    """Return the case after one more character."""
    if reading.is_capital_i:
        return CAPITAL if before == START else before
    return before if reading.case == NO_CASE else reading.case


class ReadingTable(dict[str, Reading]):
    """A lazy table from original characters to their readings.

    >>> [unit.character for unit in ReadingTable(True, False)["ß"].units]
    ['s', 's']
    """

    def __init__(self, ignore_case: bool, normalize: bool) -> None:
        super().__init__()
        self.ignore_case = ignore_case
        self.normalize = normalize

    def __missing__(self, character: str) -> Reading:
        pieces = pieces_of(character, self.ignore_case, self.normalize)
        units = tuple([Unit.of(*piece, self.normalize) for piece in pieces])
        reading = Reading(units, (), False, START)
        if self.normalize:
            others = other_readings(character, self.ignore_case) if units else ()
            is_i = is_capital_i(character)
            readings = tuple([tuple([Unit.of(piece, True, True) for piece in other]) for other in others])
            reading = Reading(units, readings, is_i, _case_of(character, is_i))
        self[character] = reading
        return reading


def _case_of(character: str, is_i: bool) -> int:
    category = unicodedata.category(character)
    if is_i or category[0] == "M" or category in ("Cf", "Cc"):
        return NO_CASE
    if category in ("Lu", "Lt"):
        return CAPITAL
    return START if kind_of(character) == NON_WORD else SMALL


@cache
def reading_table(ignore_case: bool, normalize: bool) -> ReadingTable:
    """Return the table that all matchers share; it depends on no text."""
    return ReadingTable(ignore_case, normalize)


_SeenUnit: TypeAlias = int | tuple[str, bool]
"""A folded character and whether a match may end with it; or the extended kind of a character that is in no word."""


class Seen(dict[str, Hashable]):
    """A lazy table from characters to their readings, as far as the banned words see them.

    A character that is in no word, and is folded to one such character, has a number as its reading: its extended kind.

    Attributes:
        alphabet: The folded characters of which the words are made.
    """

    def __init__(self, words: Iterable[str], ignore_case: bool, normalize: bool) -> None:
        super().__init__()
        # More than the folded characters of the words: a star that says how a word matches counts, too.
        letters = set("".join(words))
        self.alphabet: Final = {piece for letter in letters for piece, _ in pieces_of(letter, ignore_case, normalize)}
        self.ignore_case: Final = ignore_case
        self.normalize: Final = normalize
        self._table = reading_table(ignore_case, normalize)

    def __missing__(self, character: str) -> Hashable:
        reading = self._table[character]
        # Of several in a row that are in no word, each does what the first does.
        units: list[_SeenUnit] = []
        for unit in map(self._unit, reading.units):
            if not (units and isinstance(unit, int) and unit == units[-1]):
                units.append(unit)
        others = frozenset([tuple(map(self._unit, other)) for other in reading.others])
        self[character] = key = (
            units[0] + CASES * reading.case
            if not others and not reading.is_capital_i and len(units) == 1 and isinstance(units[0], int)
            else (tuple(units), others, reading.is_capital_i, reading.case)
        )
        return key

    def _unit(self, unit: Unit) -> _SeenUnit:
        if unit.character in self.alphabet:
            return unit.character, unit.may_end
        # Whether a match may end with a character that is in no word makes no difference.
        return extended_kind(unit.character, self._table.normalize)


CASES = 16
"""More than there are extended kinds; the case of a letter is counted in it, where it matters."""
KINDS = 4 * CASES


def extended_kind(character: str, normalize: bool) -> int:
    """Return the kind, and where marks are dropped, the family of scripts that decides which."""
    return kind_of(character) + 4 * (spelling(character) if normalize else NO_SPELLING)
