"""Pearson's chi-square test: whether frequencies are those of a distribution."""

from __future__ import annotations

import math
from collections import Counter

from tests.support.models.toy_models import Distribution, Leaf


def fits(counts: Counter[Leaf], expected: Distribution) -> float:
    """Pearson's chi-square test: how likely the counts are to lie so far off, or farther, if they are drawn from it.

    Rare texts are counted as one.
    """
    total = sum(counts.values())
    rare = {leaf for leaf in counts.keys() | expected.keys() if expected.get(leaf, 0.0) * total < 5}
    cells = [(counts[leaf], share * total) for leaf, share in expected.items() if leaf not in rare]
    cells.append((sum(counts[leaf] for leaf in rare), sum(expected.get(leaf, 1e-9) for leaf in rare) * total))
    cells = [(seen, wanted) for seen, wanted in cells if wanted or seen]
    return beyond(sum((seen - wanted) ** 2 / wanted for seen, wanted in cells), len(cells) - 1)


def beyond(statistic: float, degrees: int) -> float:
    """How likely a chi-square variable is to be larger, nearly (Wilson and Hilferty 1931)."""
    if degrees == 0:
        return float(statistic < 1e-9)
    spread = 2 / (9 * degrees)
    return 0.5 * math.erfc(((statistic / degrees) ** (1 / 3) - 1 + spread) / math.sqrt(2 * spread))
