"""Which characters a pattern tells apart: from each class of those that it cannot, one stands for all."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

from sfgen.regex.characters import Ranges


class CharacterClasses:
    """The partition of all characters by some sets of characters.

    Two characters are in one class if each of the sets has both of them or neither.

    Args:
        sets: The sets.

    >>> classes = CharacterClasses([((97, 122),), ((48, 57), (97, 102))])
    >>> classes.representatives(ord("0"), ord("z"))
    ['0', ':', 'a', 'g']
    """

    def __init__(self, sets: Iterable[Ranges]) -> None:
        changes: dict[int, int] = {0: 0}  # where → which sets begin or end there, as bits
        for number, ranges in enumerate(dict.fromkeys(sets)):
            for first, last in ranges:
                for position in (first, last + 1):
                    changes[position] = changes.get(position, 0) ^ 1 << number
        self._starts = sorted(changes)
        self._members = []  # the sets, as bits, that have the characters from this start to the next
        members = 0
        for start in self._starts:
            members ^= changes[start]
            self._members.append(members)

    def representatives(self, first: int = 0, last: int = 0x10FFFF) -> list[str]:
        """Return the first character of each class within a range.

        Surrogates are not characters.

        Args:
            first: The first code point of the range.
            last: The last one.
        """
        return [least for least, _ in self.extents(first, last)]

    def extents(self, first: int = 0, last: int = 0x10FFFF) -> list[tuple[str, str]]:
        """Return the first and last character of each class within a range.

        Surrogates are not characters.

        Args:
            first: The first code point of the range.
            last: The last one.

        >>> CharacterClasses([((97, 122),), ((48, 57), (97, 102))]).extents(ord("0"), ord("z"))
        [('0', '9'), (':', '`'), ('a', 'f'), ('g', 'z')]
        """
        if first < 0xD800 <= last:
            parts = [(first, 0xD7FF), (0xE000, last)] if last >= 0xE000 else [(first, 0xD7FF)]
        else:
            parts = [(first, last)]
        found: dict[int, tuple[str, str]] = {}
        for low, high in parts:
            position = bisect_right(self._starts, low) - 1
            while position < len(self._starts) and self._starts[position] <= high:
                end = self._starts[position + 1] - 1 if position + 1 < len(self._starts) else high
                members, here = self._members[position], (chr(max(self._starts[position], low)), chr(min(end, high)))
                found[members] = (found[members][0] if members in found else here[0], here[1])
                position += 1
        return list(found.values())
