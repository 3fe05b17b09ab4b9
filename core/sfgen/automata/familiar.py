"""Which character of a set is shown when any would do: letters and digits first, then what else can be seen.

It is the one order in which characters are chosen for texts that people look at.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterator
from functools import cache

from sfgen.regex.characters import Ranges, complement, intersection, union

_ASCII: tuple[Ranges, ...] = (
    ((0x61, 0x7A),),
    ((0x41, 0x5A),),
    ((0x30, 0x39),),
    ((0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E)),
    ((0x20, 0x20),),
    ((0x0A, 0x0A),),
    ((0x09, 0x09),),
)


def rank(characters: Ranges) -> tuple[int, int]:
    """Rank the most familiar character of a set that is not empty.

    Returns:
        Its place in the order, and its code point.

    >>> [chr(rank(ranges)[1]) for ranges in (((0, 0x10FFFF),), ((0, 0x60),), ((0, 0x20),), ((0x80, 0xFF),))]
    ['a', 'A', ' ', 'ª']
    """
    return next(_in_order(characters))[:2]


class Familiar:
    """The characters of a set in that order.

    >>> shown = Familiar(((0, 0x10FFFF),))
    >>> [shown[number] for number in (0, 25, 26, 62, 94, 97)]
    ['a', 'z', 'A', '!', ' ', 'ª']
    >>> len(Familiar(((0x61, 0x63), (0xE9, 0xE9))))
    4
    """

    def __init__(self, characters: Ranges) -> None:
        self._size = sum(last - first + 1 for first, last in characters)
        self._left = _in_order(characters)
        # The ranges that were asked for until now: the number after their last character, and what makes it its code.
        self._ends: list[int] = []
        self._offsets: list[int] = []

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, number: int) -> str:
        if not 0 <= number < self._size:
            raise IndexError(number)
        while not self._ends or number >= self._ends[-1]:
            _, first, last = next(self._left)
            start = self._ends[-1] if self._ends else 0
            self._ends.append(start + last - first + 1)
            self._offsets.append(first - start)
        return chr(number + self._offsets[bisect(self._ends, number)])


def _in_order(characters: Ranges) -> Iterator[tuple[int, int, int]]:
    """The set as ranges in that order: (tier, first, last)."""
    for order, tier in enumerate(_tiers()):
        for first, last in intersection(tier, characters):
            yield order, first, last


def _tiers() -> Iterator[Ranges]:
    yield from _ASCII
    yield from _others()  # found only if it is needed


@cache
def _others() -> tuple[Ranges, Ranges, Ranges]:
    """The letters beyond ASCII, what else can be seen, and the rest."""
    letters: list[tuple[int, int]] = []
    seen: list[tuple[int, int]] = []
    for code in range(0x80, 0x110000):
        character = chr(code)
        if character.isprintable():
            (letters if character.isalpha() else seen).append((code, code))
    tiers = union(letters), union(seen)
    return *tiers, complement(union(*tiers, *_ASCII))
