"""Sets of characters as code-point ranges, with the meaning that Python's ``re`` gives to its classes.

The members of a class come from the module that defines it: ``re`` for ``\\w`` and for case-insensitive classes, with
all their special cases, and the ``regex`` package for Unicode properties. The answers are cached, and only code points
that can make a difference are asked for.

Surrogates (U+D800 to U+DFFF) are not text: no set contains them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from typing import Any, TypeAlias

import numpy as np

import regex
from sfgen.regex.python_re import sre

Ranges: TypeAlias = tuple[tuple[int, int], ...]
"""First and last code point of each range: sorted, neither overlapping nor touching, without surrogates."""

Item: TypeAlias = tuple[Any, Any]
"""A member of a class as ``re``'s parser gives it: (LITERAL, code), (RANGE, (first, last)), (CATEGORY, name)."""

TEXT: Ranges = ((0, 0xD7FF), (0xE000, 0x10FFFF))

_ESCAPES = {
    sre.CATEGORY_DIGIT: r"\d",
    sre.CATEGORY_NOT_DIGIT: r"\D",
    sre.CATEGORY_SPACE: r"\s",
    sre.CATEGORY_NOT_SPACE: r"\S",
    sre.CATEGORY_WORD: r"\w",
    sre.CATEGORY_NOT_WORD: r"\W",
}


def union(*sets: Iterable[tuple[int, int]]) -> Ranges:
    """Unite sets of characters; their ranges may overlap, in any order.

    >>> union(((5, 9),), ((0, 4), (12, 12)))
    ((0, 9), (12, 12))
    """
    joined: list[tuple[int, int]] = []
    for first, last in sorted(pair for ranges in sets for pair in ranges):
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(joined[-1][1], last))
        else:
            joined.append((first, last))
    if joined and joined[0][0] <= 0xDFFF and joined[-1][1] >= 0xD800:
        return tuple(_without_surrogates(joined))
    return tuple(joined)


def _without_surrogates(ranges: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    for first, last in ranges:
        if first < 0xD800:
            yield first, min(last, 0xD7FF)
        if last > 0xDFFF:
            yield max(first, 0xE000), last


def complement(ranges: Ranges) -> Ranges:
    """Return all characters that are not in the set.

    >>> complement(((0, 96), (98, 0x10FFFF)))
    ((97, 97),)
    """
    gaps = []
    start = 0
    for first, last in ranges:
        gaps.append((start, first - 1))
        start = last + 1
    gaps.append((start, 0x10FFFF))
    return union((first, last) for first, last in gaps if first <= last)


def intersection(left: Iterable[tuple[int, int]], right: Iterable[tuple[int, int]]) -> Ranges:
    """Return the characters that are in both sets.

    >>> intersection(((97, 99), (101, 103)), ((99, 101),))
    ((99, 99), (101, 101))
    """
    common = []
    lefts, rights = iter(left), iter(right)
    mine, other = next(lefts, None), next(rights, None)
    while mine is not None and other is not None:
        first, last = max(mine[0], other[0]), min(mine[1], other[1])
        if first <= last:
            common.append((first, last))
        if mine[1] < other[1]:
            mine = next(lefts, None)
        else:
            other = next(rights, None)
    return tuple(common)


def difference(left: Ranges, right: Ranges) -> Ranges:
    """Return the characters of ``left`` that are not in ``right``."""
    return complement(union(complement(left), right))


def disjoint(left: Ranges, right: Ranges) -> bool:
    """Return whether the two sets have no character in common.

    >>> disjoint(((97, 99),), ((99, 120),))
    False
    """
    i = j = 0
    while i < len(left) and j < len(right):
        if left[i][1] < right[j][0]:
            i += 1
        elif right[j][1] < left[i][0]:
            j += 1
        else:
            return False
    return True


def class_ranges(items: Iterable[Item], *, ignore_case: bool, ascii_only: bool) -> Ranges:
    """Return the characters that a class with these members matches in ``re``.

    A negated class is its complement, which is taken by the caller.
    """
    return _class_ranges(tuple(items), ignore_case, ascii_only)


@lru_cache(maxsize=4096)
def _class_ranges(items: tuple[Item, ...], ignore_case: bool, ascii_only: bool) -> Ranges:
    exact = union(*(_item_ranges(item, ascii_only) for item in items))
    if not ignore_case:
        return exact
    # Only a code point that has a case can be matched otherwise than the plain class matches it. With (?a) these are
    # the ASCII letters, except that `re` of Python 3.11 treats what is beyond U+FFFF as Unicode; `re` is asked there.
    if ascii_only and all(last <= 0xFFFF for _, last in exact):
        small, large = ((97, 122),), ((65, 90),)
        both = (*_moved(intersection(exact, small), -32), *_moved(intersection(exact, large), 32))
        return union(exact, both)
    doubtful, doubtful_ranges = cased()
    flags = re.IGNORECASE | (re.ASCII if ascii_only else re.UNICODE)
    members = re.findall(f"[{''.join(map(_item_text, items))}]", doubtful, flags)
    return union(difference(exact, doubtful_ranges), ((ord(member), ord(member)) for member in members))


def _moved(ranges: Ranges, distance: int) -> Ranges:
    return tuple((first + distance, last + distance) for first, last in ranges)


def _item_ranges(item: Item, ascii_only: bool) -> Ranges:
    kind, value = item
    if kind is sre.LITERAL:
        return ((value, value),)
    if kind is sre.RANGE:
        return (value,)
    return _category_ranges(_ESCAPES[value], ascii_only)


def _item_text(item: Item) -> str:
    kind, value = item
    if kind is sre.LITERAL:
        return f"\\U{value:08x}"
    if kind is sre.RANGE:
        return f"\\U{value[0]:08x}-\\U{value[1]:08x}"
    return _ESCAPES[value]


@cache
def _category_ranges(escape: str, ascii_only: bool) -> Ranges:
    if escape[1].isupper():
        return complement(_category_ranges(escape.lower(), ascii_only))
    if ascii_only:
        return _spans(re.finditer(f"{escape}+", "".join(map(chr, range(128))), re.ASCII))
    return _spans(re.finditer(f"{escape}+", _every_character()))


@cache
def property_ranges(text: str, *, ignore_case: bool) -> Ranges:
    """Return the characters of a Unicode property, as the package ``regex`` does.

    ``(?a)`` makes no difference.
    """
    compiled = regex.compile(f"{text}+", regex.V0 | (regex.IGNORECASE if ignore_case else 0))
    return _spans(compiled.finditer(_every_character()))


def _spans(matches: Iterable[Any]) -> Ranges:
    """Return matches in :func:`_every_character` as ranges; its offsets are the code points."""
    return union((match.start(), match.end() - 1) for match in matches)


@cache
def _every_character() -> str:
    """Every code point in order, surrogates too, so that offsets are code points."""
    return np.arange(0x110000, dtype="<u4").tobytes().decode("utf-32-le", "surrogatepass")


@cache
def cased() -> tuple[str, Ranges]:
    """Find the code points that some change of case makes, or changes: as a text in order, and as ranges."""
    cased: set[str] = set()
    everything = _every_character()
    for start in range(0, len(everything), 256):
        block = everything[start : start + 256]
        if block == block.lower() == block.upper() == block.casefold():
            continue
        for character in block:
            for changed in (character.lower(), character.upper(), character.title(), character.casefold()):
                if changed != character:
                    cased.update(character, changed)
    text = "".join(sorted(cased))
    return text, union((ord(character), ord(character)) for character in text)
