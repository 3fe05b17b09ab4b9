"""Characters that look alike, as one: what ``normalize=True`` compares.

Every character of a text and of a banned word is rewritten by itself:

* compatibility forms are decomposed (Unicode's NFKD, annex 15): ``ｔ``, ``𝓽``, ``ⓣ`` and ``ᵗ`` are ``t``, ``ﬁ`` is
  ``fi``;
* what cannot be seen is dropped: format characters (zero-width space and joiners, soft hyphen, bidirectional controls,
  tags), variation selectors, fillers, control characters that are no white space;
* combining marks are dropped: ``tálk``, ``t̶a̶l̶k̶``. The marks that spell (vowels and tones of Thai, Devanagari and the
  other scripts of Indian descent, the voicing of kana) stay where they stand on a letter of such a script;
* letters with the shape of a Latin letter become that letter (the idea of the confusables in Unicode's report 39; the
  table is our own): the ``а`` of Cyrillic, the ``ο`` of Greek. Where case is ignored, two letters that differ in case
  alone must become one, so a pair is alike if its small or else its capital letter is: ``н``, as ``Н`` is an ``H``.

Nothing is ever composed, since text arrives character by character: ``é`` becomes ``e`` as ``e`` and its accent do, and
a Hangul syllable its letters (so that under ``substring`` the syllable 가 also lies in 각). Nor are marks reordered.
Words are rewritten in the same way, so a Russian word is found in Russian text as before. Digits are no look-alikes of
letters. Traditional and simplified Chinese characters are not folded into each other: ban both.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from functools import cache
from typing import Final

# Rows of look-alikes. Small letters, then capitals: a row of small letters wins where case is ignored.
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
_PUNCTUATION: Final = {"'": "‘’‛ʼʹ′ꞌ`", "-": "‐‒–−⁃"}

# Letters in circles and squares that Unicode does not decompose, and those in brackets, which it decomposes with them.
# Regional indicators are flags and stay. A lunate sigma would be decomposed to one that looks different.
_ENCLOSED: Final = ((0x249C, "a"), (0x1F110, "A"), (0x1F150, "A"), (0x1F170, "A"))

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
    """The family of scripts that spell with marks, of a letter or mark; ``NO_SPELLING`` for all others.

    >>> [spelling(character) for character in "aกが\\u0301\\u0e31\\u3099"]
    [0, 2, 1, 0, 2, 1]
    """
    block = bisect_right(_SPELLING_STARTS, ord(character)) - 1
    return SPELLING_BLOCKS[block][2] if block >= 0 and ord(character) <= SPELLING_BLOCKS[block][1] else NO_SPELLING


def is_stray(mark: str, before: str) -> bool:
    """Whether a combining mark that spells stands where it cannot: then it is dropped, too.

    Args:
        mark: A combining mark that :func:`normalized` has kept.
        before: What it has kept before; empty at the start of the text.

    >>> is_stray("\\u0e31", "ก"), is_stray("\\u0e31", "a")
    (False, True)
    """
    return spelling(mark) != (spelling(before) if before else NO_SPELLING)


@cache
def normalized(character: str, ignore_case: bool) -> str:
    """What one character is compared as: nothing, one character or several. Stray marks are still in it.

    >>> [normalized(character, True) for character in "Ｔа\\u200b\\u0301ﬁßİН"]
    ['t', 'a', '', '', 'fi', 'ss', 'i', 'h']
    >>> [normalized(character, False) for character in "ТтАа"]
    ['T', 'т', 'A', 'a']
    """
    seen = _seen(unicodedata.normalize("NFKD", letter_symbols().get(character, character)))
    alike = look_alikes()
    if not ignore_case:
        return "".join(alike.get(piece, piece) for piece in seen)
    # All depends on the folded letter alone, so that what differs in case comes out the same.
    return "".join(
        (alike.get(piece) or alike.get(piece.upper(), piece)).casefold()
        for piece in _seen(unicodedata.normalize("NFKD", seen.casefold()))
    )


def _seen(text: str) -> str:
    """The text without what is dropped."""
    return "".join(character for character in text if not _is_dropped(character))


def _is_dropped(character: str) -> bool:
    category = unicodedata.category(character)
    if category == "Cf" or (category == "Cc" and not character.isspace()):
        return True
    if category[0] == "M" and spelling(character) == NO_SPELLING:
        return True
    return category in ("Lo", "Mn", "Cn") and any(low <= ord(character) <= high for low, high in INVISIBLE)


@cache
def look_alikes() -> dict[str, str]:
    """Letters and punctuation of other scripts, and the Latin ones that they look like."""
    return {
        letter: latin for rows in (_SMALL, _CAPITAL, _PUNCTUATION) for latin, letters in rows.items()
        for letter in letters
    }  # fmt: skip


@cache
def letter_symbols() -> dict[str, str]:
    """Symbols that are letters in a frame or of another shape, and the plain letters."""
    letters = {chr(first + number): chr(ord(a) + number) for first, a in _ENCLOSED for number in range(26)}
    return letters | {"ϲ": "c", "Ϲ": "C"}
