"""How near each strategy of a ban comes to the model on condition that the whole text is clean, on many small models.

Everything is counted, and nothing drawn: the models are so small that all texts can be listed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

SPREADS = (1.0, 3.0, 6.0)
"""Of the scores: with 1 all tokens are likely, with 6 hardly more than one is."""

LISTS: list[tuple[str, list[bytes], list[str], int]] = [
    ("substring", [b"a", b"b", b"ab"], ["ab"], 4),
    ("substring", [b"a", b"b", b"ab"], ["aab", "bba"], 4),
    ("substring", [b"a", b"b", b"ab"], ["aba"], 4),
    ("substring", [b"a", b"b", b"ab"], ["abb", "ba"], 4),
    ("word", [b" ", b"a", b"b"], ["ab"], 4),
    ("word", [b" ", b"a", b"b"], ["ab", "ba"], 4),
    ("word", [b" ", b"a", b"b"], ["b a"], 4),
    ("word", [b" ", b"a", b"b"], ["bab", "a"], 5),
]


@dataclass(frozen=True)
class Nearness:
    """Total variation to the exact distribution.

    Attributes:
        spread: How peaked the models are; ``None``: all of them.
        models: How many there were.
        distances: Of each strategy, float64 ``[models]``.
    """

    spread: float | None
    models: int
    distances: dict[str, Any]


def nearness(seeds: int) -> Iterator[Nearness]:
    """Measure models of each spread, and then all of them together.

    Args:
        seeds: Models for each list of words and each spread.
    """
    from tests.support.models.scripted import ScoreOf, random_scores
    from tests.support.models.toy_models import Toy, total_variation

    def model(size: int, seed: int, spread: float) -> ScoreOf:
        score = random_scores(size, seed)
        return lambda tokens: score(tokens) / 3 * spread

    found: dict[str, list[float]] = {"resample": [], "first-token": [], "mask": []}
    for spread in SPREADS:
        start = len(found["mask"])
        for match, tokens, words, most in LISTS:
            for seed in range(seeds):
                toy = Toy(tokens, model(len(tokens) + 1, seed, spread), words, most, match=match)
                exact = toy.clean_texts()
                written = toy.by_blocks(), toy.by_first_token(), toy.by_masking()
                for distances, distribution in zip(found.values(), written, strict=True):
                    distances.append(total_variation(exact, distribution))
        print(f"nearness: spread {spread:g}", file=sys.stderr)
        yield _of(spread, {name: distances[start:] for name, distances in found.items()})
    yield _of(None, found)


def _of(spread: float | None, found: dict[str, list[float]]) -> Nearness:
    return Nearness(spread, len(found["mask"]), {name: np.array(values) for name, values in found.items()})


def table(rows: list[Nearness]) -> list[str]:
    """The report."""
    lines = ["| models | strategy | mean | median | 95 of 100 are below | worst |", "|---|---|---|---|---|---|"]
    for row in rows:
        name = "all" if row.spread is None else f"scores spread by {row.spread:g}"
        for strategy, of_one in row.distances.items():
            mean, median, most, worst = of_one.mean(), np.median(of_one), np.quantile(of_one, 0.95), of_one.max()
            lines.append(
                f"| {row.models}, {name} | {strategy} | {mean:.3f} | {median:.3f} | {most:.3f} | {worst:.3f} |"
            )
    return lines
