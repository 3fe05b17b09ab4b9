"""Characters that look alike, folded to one: the form in which ``normalize=True`` compares texts.

Every character of a text and of a banned word is rewritten by itself:

* compatibility forms are decomposed (Unicode's NFKD, annex 15): ``ｔ``, ``𝓽``, ``ⓣ`` and ``ᵗ`` are ``t``, ``ﬁ`` is
  ``fi``;
* invisible characters are dropped: format characters (zero-width space and joiners, soft hyphen, bidirectional
  controls, tags), variation selectors, fillers, control characters that are not white space;
* combining marks are dropped: ``tálk``, ``t̶a̶l̶k̶``. The marks that spell (vowels and tones of Thai, Devanagari and the
  other scripts of Indian descent, the voicing of kana) stay where they stand on a letter of such a script;
* letters with the shape of a Latin letter become that letter: the ``а`` of Cyrillic, the ``ο`` of Greek. Unicode's own
  confusables (report 39, as the package confusable-homoglyphs has them) are joined with a table of sfgen's, which takes
  precedence and has letters that Unicode tells apart, such as ``ħ`` and ``ɛ``. Where case is ignored, two letters that
  differ in case alone must become one, so both are folded if the small or else the capital one looks Latin: ``н``
  becomes ``h``, since ``Н`` looks like ``H``.

Some characters are read in several ways (see :func:`~sfgen.ban.characters.other_readings`): a bar (``|``) is itself, l
and i; a capital I is i and l, but after another capital letter i alone; a symbol that is rewritten to letters or digits
(``²``, ``ⓣ``) stays a symbol as well; and texts that Unicode takes for equal (NFKC_Casefold) match, such as ``ᾳ`` and
``αι``. If i and l were folded to one letter, 289 of 73 419 English words would equal other words (``fail``, ``fall``).
With two readings of I, only ``Iamb`` and ``Iambs`` do, of the words with more than three letters.

Of Unicode's table these are left out: digits, marks, characters that become several letters (``m`` is not ``rn``),
letters of scripts that are written without spaces or spell with marks, and letters that would become equal to another
letter of their script, as Greek ``σ`` to ``ο``.

Nothing is ever composed, since text arrives character by character: ``é`` becomes ``e`` as ``e`` and its accent do, and
a Hangul syllable its letters. Words are rewritten in the same way, so a Russian word is found in Russian text as
before. The dotless i of Turkish becomes i, so that ``DIŞ`` is found for ``dış`` and ``İstanbul`` for ``istanbul``;
without normalizing they are other letters. Traditional and simplified Chinese characters are not folded into each
other: ban both.
"""

from __future__ import annotations

import json
import string
import unicodedata
from bisect import bisect_right
from functools import cache
from importlib.resources import files
from typing import Final, NamedTuple

# Rows of confusables. Small letters, then capitals: a row of small letters wins where case is ignored.
_SMALL: Final = {
    "a": "аαɑᴀⱥ⍺",
    "b": "ƅʙƀɓ",
    "c": "сᴄƈȼ",
    "d": "ԁᴅɖɗđ",
    "e": "еҽ℮ᴇɛɇ",
    "f": "ϝƒꜰ",
    "g": "ցɡɢǥɠᶃ",
    "h": "һհʜħɦⱨ",
    "i": "іιıɪɩɨ",
    "j": "јϳȷᴊɉʝ",
    "k": "кκᴋƙĸⱪ",
    "l": "ӏʟłɭƚɫ",
    "m": "ᴍɱ",
    "n": "ոɴɲƞŋɳ",
    "o": "оοօჿᴏøɵө",
    "p": "рρ⍴ᴘƥᵽ",
    "q": "ԛզʠ",
    "r": "ʀɍɼɽɾ",
    "s": "ѕꜱʂƽ",
    "t": "τᴛƭʈŧ",
    "u": "υսᴜʉ",
    "v": "νѵᴠʋⱱ",
    "w": "ѡԝաωᴡɯⱳ",
    "x": "хχ",
    "y": "уγүყʏƴɏɣỿ",
    "z": "ᴢʐƶȥⱬ",
}
_CAPITAL: Final = {
    "A": "АΑⲀᎪꓮᗅȺ",
    "B": "ВΒⲂᏴꓐᗷɃƁ",
    "C": "СⲤᏟꓚƇȻ",
    "D": "ᎠꓓᗪĐƉƊ",
    "E": "ЕΕⲈᎬꓰⴹɆ",
    "F": "Ϝꓝᖴ",
    "G": "ԌᏀꓖǤƓ",
    "H": "НΗⲎᎻꓧᕼĦⱧ",
    "I": "ІΙⲒӀꓲƗ",
    "J": "ЈͿᎫꓙᒍɈ",
    "K": "КΚⲔᏦꓗƘⱩ",
    "L": "ԼᏞꓡᒪŁȽ",
    "M": "МΜⲘᎷꓟᗰϺ",
    "N": "ΝⲚꓠ",
    "O": "ОΟՕⲞꓳⵔØƟ",
    "P": "РΡⲢᏢꓑᑭƤ",
    "Q": "Ԛⵕ",
    "R": "ᎡᏒꓣᖇƦɌ",
    "S": "ЅՏᏚꓢ",
    "T": "ТΤⲦᎢꓔŦƬ",
    "U": "ՍꓴᑌɄ",
    "V": "ѴᏙꓦⴸᐯ",
    "W": "ԜᏔᎳꓪⱲ",
    "X": "ХΧⲬꓫⵝ",
    "Y": "УΥҮⲨᎩꓬƳɎ",
    "Z": "ΖᏃꓜƵȤⱫ",
}
_OWN_BARS: Final = "│❘"
_PUNCTUATION: Final = {"'": "‘’‛ʼʹ′ꞌ`", "-": "‐‒–−⁃"}

# Letters in circles and squares that Unicode does not decompose, and those in brackets, which it decomposes with them.
# Regional indicators are flags and stay.
_ENCLOSED: Final = ((0x249C, "a"), (0x1F110, "A"), (0x1F150, "A"), (0x1F170, "A"))

_LUNATE_SIGMAS: Final = {"ϲ": "c", "Ϲ": "C"}  # each is a sigma, and looks like another letter

# Ignorable by default, though of no category that says so: grapheme joiner, fillers, variation selectors, unassigned.
INVISIBLE: Final = (
    (0x034F, 0x034F), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x2065, 0x2065), (0x3164, 0x3164),
    (0xFE00, 0xFE0F), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8), (0xE0000, 0xE0FFF),
)  # fmt: skip

NO_SPELLING: Final = 0
_KANA: Final = 1
_INDIC: Final = 2

# Blocks of the scripts that spell with marks. Thaana is no descendant of the Indian scripts, but writes like them.
SPELLING_BLOCKS: Final = (
    (0x0780, 0x07BF, _INDIC),  # Thaana
    (0x0900, 0x109F, _INDIC),  # Devanagari to Myanmar, with Thai, Lao and Tibetan
    (0x1700, 0x17FF, _INDIC),  # Philippine scripts, Khmer
    (0x1900, 0x1AAF, _INDIC),  # Limbu to Tai Tham
    (0x1B00, 0x1CFF, _INDIC),  # Balinese to Vedic
    (0x3040, 0x30FF, _KANA),
    (0x31F0, 0x31FF, _KANA),
    (0xA800, 0xA82F, _INDIC),
    (0xA880, 0xA95F, _INDIC),
    (0xA980, 0xAAFF, _INDIC),
    (0xABC0, 0xABFF, _INDIC),
    (0x11000, 0x11FFF, _INDIC),
)
_SPELLING_STARTS: Final = tuple(first for first, *_ in SPELLING_BLOCKS)


@cache
def spelling(character: str) -> int:
    """Return the family of scripts in which a character's marks spell; ``NO_SPELLING`` for all others.

    >>> [spelling(character) for character in "aกが\\u0301\\u0e31\\u3099"]
    [0, 2, 1, 0, 2, 1]
    """
    block = bisect_right(_SPELLING_STARTS, ord(character)) - 1
    return SPELLING_BLOCKS[block][2] if block >= 0 and ord(character) <= SPELLING_BLOCKS[block][1] else NO_SPELLING


def is_stray(mark: str, before: str) -> bool:
    """Return whether a combining mark that spells stands after a letter of other scripts; it is dropped, too.

    >>> is_stray("\\u0e31", "ก"), is_stray("\\u0e31", "a")
    (False, True)
    """
    return spelling(mark) != (spelling(before) if before else NO_SPELLING)


@cache
def normalized(character: str, ignore_case: bool) -> str:
    """Fold confusables in one character to none, one or several; stray marks stay.

    >>> [normalized(character, True) for character in "Ｔа\\u200b\\u0301ﬁßİН"]
    ['t', 'a', '', '', 'fi', 'ss', 'i', 'h']
    >>> [normalized(character, False) for character in "ТтАа"]
    ['T', 'т', 'A', 'a']
    """
    seen = _seen(unicodedata.normalize("NFKD", letter_symbols().get(character, character)))
    alike = confusable_letters()
    if not ignore_case:
        return "".join(alike.get(piece, piece) for piece in seen)
    # All depends on the folded letter alone, so that letters that differ in case have the same result.
    return "".join(
        (alike.get(piece) or alike.get(piece.upper(), piece)).casefold()
        for piece in _seen(unicodedata.normalize("NFKD", seen.casefold()))
    )


def _seen(text: str) -> str:
    """Return the text without dropped characters."""
    return "".join(character for character in text if not _is_dropped(character))


def _is_dropped(character: str) -> bool:
    category = unicodedata.category(character)
    if category == "Cf" or (category == "Cc" and not character.isspace()):
        return True
    if category[0] == "M" and spelling(character) == NO_SPELLING:
        return True
    return category in ("Lo", "Mn", "Cn") and any(low <= ord(character) <= high for low, high in INVISIBLE)


def is_capital_i(character: str) -> bool:
    """Return whether a character looks like a capital I, and so like a small l."""
    piece = unicodedata.normalize("NFKD", character)
    return piece == "I" or confusable_letters().get(piece) == "I"


def compatible(character: str, ignore_case: bool) -> str:
    """Apply NFKC, or NFKC_Casefold, to a character until nothing changes any more.

    Folding and compatibility do not commute: the capital of a lunate sigma folds to a small one, of which NFKC makes a
    final sigma, which folds again.

    >>> [compatible(character, True) for character in "Ϲᾳ⒜ﬁ"], compatible("Ϲ", False)
    (['σ', 'αι', '(a)', 'fi'], 'Σ')
    """
    while True:
        folded = unicodedata.normalize("NFD", character).casefold() if ignore_case else character
        folded = unicodedata.normalize("NFKC", folded)
        if folded == character:
            return folded
        character = folded


def other_letters(character: str, ignore_case: bool) -> tuple[str, ...]:
    """Return the letters that a character looks like, besides its folding.

    >>> other_letters("Ｉ", True), other_letters("ǀ", True), other_letters("∪", False), other_letters("l", True)
    (('l',), ('i',), ('U',), ())
    """
    piece = unicodedata.normalize("NFKD", character)
    if is_capital_i(character):
        return ("i",) if normalized(character, ignore_case) == "l" else ("l",)
    if piece in bars():
        return ("i",) if normalized(character, ignore_case) == "l" else ("l", "i")
    letter = _LUNATE_SIGMAS.get(character) or _from_unicode().symbols.get(piece)
    return () if letter is None else (letter.casefold() if ignore_case else letter,)


@cache
def confusable_letters() -> dict[str, str]:
    """Map letters and punctuation to their Latin confusables."""
    return {**_from_unicode().letters, **_ours()}


@cache
def bars() -> frozenset[str]:
    """List letters and symbols that are only an upright line."""
    theirs = _from_unicode()
    ours = _ours()
    return frozenset(
        [
            "|", *_OWN_BARS,
            *(symbol for symbol, letter in theirs.symbols.items() if letter == "l"),
            *(sign for sign, letter in theirs.letters.items() if letter == "l" and sign not in ours),
        ]
    )  # fmt: skip


@cache
def symbols() -> frozenset[str]:
    """List symbols that look like a letter."""
    return frozenset(_from_unicode().symbols)


@cache
def _ours() -> dict[str, str]:
    return {
        letter: latin for rows in (_SMALL, _CAPITAL, _PUNCTUATION) for latin, letters in rows.items()
        for letter in letters
    }  # fmt: skip


class _Confusables(NamedTuple):
    """The Latin letters that other characters look like, taken from Unicode's table."""

    letters: dict[str, str]
    symbols: dict[str, str]


@cache
def _from_unicode() -> _Confusables:
    # Only the data: the package's own modules import urllib.
    table = json.loads(files("confusable_homoglyphs").joinpath("confusables.json").read_text(encoding="utf-8"))
    ours = _ours()
    taken: dict[tuple[str, str], str] = {}  # a script and a Latin letter → the letter of the script
    for character, latin in ours.items():
        taken.setdefault((_script(character), latin.lower()), character.casefold())
    result = _Confusables({}, {})
    for latin in string.ascii_lowercase + string.ascii_uppercase:
        for row in table.get(latin, ()):
            character = row["c"]
            if len(character) > 1 or character in ours or unicodedata.normalize("NFKD", character) != character:
                continue
            category = unicodedata.category(character)[0]
            if category in "SP":
                result.symbols.setdefault(character, latin)
            elif category == "L" and not character.isascii() and spelling(character) == NO_SPELLING:
                script = _script(character)
                if (
                    script == "LATIN"
                    or taken.setdefault((script, latin.lower()), character.casefold()) == character.casefold()
                ):
                    result.letters.setdefault(character, latin)
    return result


def _script(character: str) -> str:
    """Return the first word of a character's name, which is that of its script."""
    return unicodedata.name(character, "").partition(" ")[0]


@cache
def letter_symbols() -> dict[str, str]:
    """Map letters in a frame to plain letters."""
    return {chr(first + number): chr(ord(a) + number) for first, a in _ENCLOSED for number in range(26)}
