"""The fewest bytes to the end of a rule whose members have any order, by the names that were read.

What is missing is written in any order, so its bytes add up: each member that is needed and missing costs its name, its
value and a separator. If the rule counts its members, the cheapest of the others fill up what lacks. Before a name is
complete, the least of all names that are still free is taken.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfgen.grammar.member_stands import FAR, MemberStands, Stand

_KEPT = 1 << 14
"""Distances that are kept of one rule."""


class Prices(NamedTuple):
    """What members cost, where one has ended and more follow.

    Args:
        names: Of each name the bytes of its member, the separator before it included.
        by_price: The names that need not be there, the cheapest first.
        other: The fewest bytes of another member.
        close: The bytes behind the last member.
    """

    names: tuple[int, ...]
    by_price: tuple[int, ...]
    other: int
    close: int


class MemberDistances:
    """The distances of one rule.

    Args:
        found: What its states have before them.
    """

    def __init__(self, found: MemberStands) -> None:
        self.names, self.stands, self._values, self.openings = found
        self.lengths: Mapping[int, int] = {}
        self.prices = Prices((), (), FAR, FAR)
        self._known: dict[tuple[int, int], int] = {}

    @property
    def called(self) -> set[int]:
        """The first states of all rules that are called."""
        found = set(self._values)
        for stand in self.stands.values():
            found.update(*([name, value] for _, name, value in stand.others))
            if stand.tail is not None:
                found.add(stand.tail[1])
        return found - {-1}

    def update(self, whole: NDArray[np.int64]) -> None:
        """Update the bytes of called rules from their first states' distances.

        They are int64 ``[states]``.
        """
        self.lengths = {-1: 0} | {state: whole.item(state) for state in self.called}
        self._known.clear()
        ended = [stand for stand in self.stands.values() if stand.tail is not None and stand.tail[1] < 0]
        names = [FAR] * self.names.size
        for stand in ended:
            for name, length in stand.choices:
                names[name] = min(names[name], length + self.lengths[self._values[name]])
        others = [self.of_other(other) for stand in ended for other in stand.others]
        optional = [name for name in range(self.names.size) if not self.names.needed >> name & 1]
        self.prices = Prices(
            tuple(names),
            tuple(sorted(optional, key=names.__getitem__)),
            min(others, default=FAR),
            min((stand.close for stand in ended), default=FAR),
        )

    def of(self, state: int, taken: int) -> int:
        """Return D of a state, the fewest bytes to its rule's end.

        It is ``FAR`` or more where there is no way.

        Args:
            state: Where the text stands in the rule.
            taken: The names that were read, a bit for each.
        """
        key = state, taken
        found = self._known.get(key)
        if found is None:
            if len(self._known) > _KEPT:
                self._known.clear()
            found = self._known[key] = self._of(self.stands[state], taken)
        return found

    def of_choice(self, name: int, length: int) -> int:
        """Return the bytes of a member with its value.

        Args:
            name: The number of its name.
            length: The bytes of the member without its value.
        """
        return length + self.lengths[self._values[name]]

    def of_other(self, other: tuple[int, int, int]) -> int:
        """Return the bytes of a member whose name is not listed."""
        length, name, value = other
        return length + self.lengths[name] + self.lengths[value]

    def _of(self, stand: Stand, taken: int) -> int:
        if stand.tail is not None:
            length, value = stand.tail
            return length + self.lengths[value] + self._behind(taken, stand.lacks, stand.room)
        least = FAR
        if not stand.lacks and not self.names.needed & ~taken:
            least = stand.close
        lacks, room = max(0, stand.lacks - 1), stand.room - 1
        for name, length in stand.choices:
            if not taken >> name & 1:
                least = min(least, self.of_choice(name, length) + self._behind(taken | 1 << name, lacks, room))
        for other in stand.others:
            least = min(least, self.of_other(other) + self._behind(taken, lacks, room))
        return least

    def _behind(self, taken: int, lacks: int, room: int) -> int:
        """D where a member has ended."""
        missing = self.names.needed & ~taken
        count = missing.bit_count()
        if count > room:
            return FAR
        found = self.prices.close
        for name, price in enumerate(self.prices.names):
            if missing >> name & 1:
                found += price
        lacks -= count
        for name in self.prices.by_price:
            if lacks <= 0 or self.prices.names[name] >= self.prices.other:
                break
            if not taken >> name & 1:
                found += self.prices.names[name]
                lacks -= 1
        return found + max(0, lacks) * self.prices.other
