"""The targets, as ratios between measurements of the same run."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .measure import Measurement

MEMORY_PATTERN = "sentence"


@dataclass(frozen=True)
class Ratio:
    """How many times better sfgen is than another engine on one item.

    Args:
        item: Vocabulary and pattern.
        value: The ratio; more than 1 is better.
        at_least: Whether the other engine was stopped, so that the true ratio is larger.
    """

    item: str
    value: float
    at_least: bool = False

    def __str__(self) -> str:
        figure = f"{self.value:,.0f}" if self.value >= 10 else f"{self.value:.2f}"
        return f"{'> ' if self.at_least else ''}{figure}"


@dataclass(frozen=True)
class Judged:
    """A target and what came of it.

    Args:
        target: What was asked for.
        result: "met", "not met", "not shown" (only lower bounds stand against it) or "not measured".
        measured: The figure that decides, with the worst item.
    """

    target: str
    result: str
    measured: str


def ratios(measurements: Sequence[Measurement], other: str, field: str, other_field: str = "") -> list[Ratio]:
    """``other_field`` of the other engine over ``field`` of sfgen, for each item where both have one."""
    ours = {(m.vocabulary, m.pattern): m for m in measurements if m.engine == "sfgen"}
    found = []
    for theirs in measurements:
        mine = ours.get((theirs.vocabulary, theirs.pattern))
        if theirs.engine != other or mine is None:
            continue
        numerator, denominator = getattr(theirs, other_field or field), getattr(mine, field)
        if numerator and denominator:
            found.append(
                Ratio(f"{theirs.pattern} on {theirs.vocabulary}", numerator / denominator, bool(theirs.stopped))
            )
    return found


def geometric_mean(values: Iterable[float]) -> float:
    """The geometric mean; ``nan`` of nothing."""
    logarithms = [math.log(value) for value in values]
    return math.exp(sum(logarithms) / len(logarithms)) if logarithms else math.nan


def mean(found: Sequence[Ratio]) -> Ratio:
    """The geometric mean of ratios, a lower bound if one of them is."""
    return Ratio("", geometric_mean(ratio.value for ratio in found), any(ratio.at_least for ratio in found))


def judge(measurements: Sequence[Measurement]) -> list[Judged]:
    """Every target of the index."""
    rows = ratios(measurements, "outlines-core", "rows")
    alone = ratios(measurements, "outlines-core", "rows_alone", "rows")
    first = ratios(measurements, "llguidance", "first")
    memory = [
        ratio
        for ratio in ratios(measurements, "outlines-core", "memory")
        if ratio.item.startswith(f"{MEMORY_PATTERN} on ")
    ]
    return [
        _each("all masks: 20 times faster than outlines-core's index, each pattern", alone, 20),
        _mean("all masks: 100 times faster, geometric mean", alone, 100),
        _each("compile and all masks: 20 times faster than outlines-core's index, each pattern", rows, 20),
        _mean("compile and all masks: 100 times faster, geometric mean", rows, 100),
        _mean("compile and first mask: no slower than llguidance, geometric mean", first, 1),
        _each("mask p50: below llguidance's, each pattern", ratios(measurements, "llguidance", "mask_p50"), 1),
        _each("mask p50: below xgrammar's, each pattern", ratios(measurements, "xgrammar", "mask_p50"), 1),
        _each(r"peak memory for `[^\n]{1,200}\.`: a twentieth of outlines-core's", memory, 20),
    ]


def _each(target: str, found: Sequence[Ratio], wanted: float) -> Judged:
    if not found:
        return Judged(target, "not measured", "")
    failed = [ratio for ratio in found if ratio.value < wanted]
    result = "met" if not failed else "not shown" if all(ratio.at_least for ratio in failed) else "not met"
    # The worst is a true ratio, if a true one fails: a bound may be as low as it likes.
    worst = min(found, key=lambda ratio: (result == "not met" and ratio.at_least, ratio.value))
    return Judged(target, result, f"{len(found) - len(failed)} of {len(found)}; worst {worst} times, {worst.item}")


def _mean(target: str, found: Sequence[Ratio], wanted: float) -> Judged:
    if not found:
        return Judged(target, "not measured", "")
    middle = mean(found)
    worst = min(found, key=lambda ratio: ratio.value)
    result = "met" if middle.value >= wanted else "not shown" if middle.at_least else "not met"
    return Judged(target, result, f"{middle} times; worst {worst} times, {worst.item}")
