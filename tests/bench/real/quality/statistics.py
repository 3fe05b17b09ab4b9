"""Paired comparisons of right and wrong."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

_RESAMPLES = 100_000


@dataclass(frozen=True)
class Comparison:
    """Two that did the same items.

    Attributes:
        items: How many.
        gained: Items that the first alone has right.
        lost: Items that the second alone has right.
    """

    items: int
    gained: int
    lost: int

    @property
    def difference(self) -> float:
        """The share of right items of the first less that of the second."""
        return (self.gained - self.lost) / self.items

    def interval(self, confidence: float) -> tuple[float, float]:
        """A percentile interval of the difference, by the paired bootstrap.

        Each item is +1, -1 or 0, so that drawing items again is drawing how many of each there are.
        """
        shares = np.array([self.gained, self.lost, self.items - self.gained - self.lost]) / self.items
        counts = np.random.default_rng(0).multinomial(self.items, shares, size=_RESAMPLES)
        found = (counts[:, 0] - counts[:, 1]) / self.items
        low, high = np.quantile(found, [(1 - confidence) / 2, (1 + confidence) / 2])
        return float(low), float(high)

    def p_value(self) -> float:
        """McNemar's exact test, two-sided: the items that one alone has right fall to either side by chance."""
        changed = self.gained + self.lost
        tail = sum(math.comb(changed, n) for n in range(min(self.gained, self.lost) + 1))
        return min(1.0, 2 * tail / (1 << changed))


def compared(first: Sequence[bool], second: Sequence[bool]) -> Comparison:
    """Compare what two had right, item by item."""
    pairs = list(zip(first, second, strict=True))
    return Comparison(len(pairs), pairs.count((True, False)), pairs.count((False, True)))
