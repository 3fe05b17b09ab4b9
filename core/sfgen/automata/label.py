r"""Sets of characters as a person writes them in a pattern: ``[a-z]``, ``[^\n"]``, ``é``, ``\.``; texts on one line.

Invisible characters, and those that look like others, are written by number; a space alone is put in brackets.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache

from sfgen.regex.characters import TEXT, Ranges, complement, intersection

CUT = "…"
"""The mark in a label of characters that are left out."""

_NAMED = {9: r"\t", 10: r"\n", 11: r"\v", 12: r"\f", 13: r"\r"}
_WHOLE: dict[Ranges, str] = {
    (): "(?!)",
    TEXT: r"[\s\S]",
    complement(((10, 10),)): ".",
    ((9, 13), (32, 32)): r"\s",
    complement(((9, 13), (32, 32))): r"\S",
}
# Where one kind of character ends and another begins. A range over such a place is cut if only a few characters stand
# on its other side: [0-9:] and not [0-:].
_KINDS = (
    *((0x00, 0x1F), (0x20, 0x2F), (0x30, 0x39), (0x3A, 0x40), (0x41, 0x5A)),
    *((0x5B, 0x60), (0x61, 0x7A), (0x7B, 0x7E), (0x7F, 0x9F), (0xA0, 0x10FFFF)),
)
_FEW = 3
_ASCII = 0x80
# Letters and symbols that show nothing, or join what stands before them.
_UNSEEN = frozenset([0x2800, 0x3164, 0xFFA0, *range(0x115F, 0x1200), *range(0xD7B0, 0xD800)])


@lru_cache(maxsize=4096)
def label(characters: Ranges, *, width: int = 24) -> str:
    r"""Write a set of characters as a pattern that reads one.

    A set that is too long is cut, and ends with ``…`` then; without it, the label is a pattern whose characters are
    exactly the set.

    >>> from sfgen.regex.characters import union
    >>> print(label(((46, 46),)), label(((32, 32),)), label(((48, 57), (65, 70))), label(complement(((10, 10),))))
    \. [ ] [0-9A-F] .
    >>> print(label(complement(union([(34, 34), (92, 92), (0, 31)]))), label(((0x4E00, 0x9FA5),)))
    [^"\\\x00-\x1f] [一-龥]
    >>> print(label(tuple((code, code) for code in range(0xE0, 0x200, 2)), width=10))
    [àâäæèêì…]
    """
    whole = _WHOLE.get(characters)
    if whole is not None and (len(whole) <= width or not characters):
        return whole
    if len(characters) == 1 and characters[0][0] == characters[0][1]:
        return _alone(characters[0][0])
    opening, items = "[", _items(characters)
    if characters[-1][1] == TEXT[-1][1] and characters != TEXT:
        others = _items(complement(characters))
        if 1 + sum(map(len, others)) < sum(map(len, items)):
            opening, items = "[^", others
    if opening == "[" and items[0].startswith("^"):
        items[0] = "\\" + items[0]
    left = width - len(opening) - len("]")
    if sum(map(columns, items)) <= left:
        return opening + "".join(items) + "]"
    shown = opening
    for item in items:
        left -= columns(item)
        if left < len(CUT):
            break
        shown += item
    return f"{shown}{CUT}]"


def visible(text: str) -> str:
    r"""Write a text on one line; escape what cannot be seen.

    Spaces stay.

    >>> print(visible("né\n\u200b 日"), visible("\u0301"))
    né\n\u200b 日 \u0301
    """
    return "".join(seen(text))


def seen(text: str) -> Iterator[str]:
    """Yield what :func:`visible` writes for each character.

    A combining character stays if it follows a letter.
    """
    joins = False  # whether a combining character would stand on a letter
    for character in text:
        is_mark = unicodedata.category(character).startswith("M")
        written = character if character in (" ", CUT) or (is_mark and joins) else _character(ord(character))
        joins = written == character and (is_mark or character.isalpha())
        yield written


def _alone(code: int) -> str:
    """A single character outside of brackets."""
    if code == 0x20:
        return "[ ]"
    return "\\" + chr(code) if chr(code) in r".^$*+?{}[]\|()" else _character(code)


def _items(characters: Ranges) -> list[str]:
    """The items between the brackets: letters and digits, other ASCII, characters that are not seen, the rest."""
    pieces = [piece for first, last in characters for piece in _pieces(first, last)]
    pieces.sort(key=_order)
    items = [item for piece in pieces for item in _range(*piece)]
    if "-" in items:  # stands for itself at the end
        items.remove("-")
        items.append("-")
    return items


def _order(piece: tuple[int, int]) -> tuple[int, int]:
    first = piece[0]
    if first >= 0x80:
        return 3, first
    return 0 if chr(first).isalnum() else 1 if chr(first).isprintable() else 2, first


def _pieces(first: int, last: int) -> list[tuple[int, int]]:
    """A range as one, or cut where the kind of character changes."""
    cut = intersection(((first, last),), _KINDS)
    return list(cut) if sum(high - low >= _FEW for low, high in cut) <= 1 else [(first, last)]


def _range(first: int, last: int) -> list[str]:
    if last - first < 2:
        return [_inside(code) for code in range(first, last + 1)]
    one, other = _inside(first), _inside(last)
    if _is_number(one) or (_is_number(other) and not 0x20 < first < 0x80):
        one, other = number(first), number(last)
    if "-" in (one, other):
        one, other = one.replace("-", r"\-"), other.replace("-", r"\-")
    return [f"{one}-{other}"]


def _inside(code: int) -> str:
    """A character inside of brackets."""
    if chr(code) in "[]\\":
        return "\\" + chr(code)
    # Two letters that are written from right to left would seem to change places.
    return number(code) if unicodedata.bidirectional(chr(code)) in ("R", "AL", "AN") else _character(code)


def _character(code: int) -> str:
    """The character itself if one can see which it is, else its escape."""
    if code in _NAMED:
        return _NAMED[code]
    character = chr(code)
    is_clear = (
        character.isprintable()
        and not unicodedata.category(character).startswith("M")
        and unicodedata.is_normalized("NFC", character)
        and code not in _UNSEEN
        and character != CUT
    )
    return character if is_clear else number(code)


def number(code: int) -> str:
    """Write a character by its number, as a pattern does."""
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def _is_number(item: str) -> bool:
    return item[0] == "\\" and item[1:2] in ("x", "u", "U") and len(item) > 2


def columns(text: str) -> int:
    """Count a text's columns in a font of fixed width."""
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)


def characters_from(first_bytes: Iterable[int], width: int = 60) -> str:
    r"""Describe the characters that may begin with some bytes.

    Characters beyond ASCII are shown together: all of them or none.

    >>> print(characters_from([45, 48, 49, 50]), characters_from([48, *range(0x80, 0x100)]))
    [0-2-] [0\x80-\U0010ffff]
    """
    ranges: list[tuple[int, int]] = []
    for byte in first_bytes:
        if byte >= _ASCII:
            ranges.append((_ASCII, 0x10FFFF))
            break
        if ranges and ranges[-1][1] == byte - 1:
            ranges[-1] = ranges[-1][0], byte
        else:
            ranges.append((byte, byte))
    return label(tuple(ranges), width=width) if ranges else ""
