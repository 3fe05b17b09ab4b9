"""The report on JSON schemas: ratios between engines in the same run, and the targets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .cold import ColdStart
from .schema_cases import CASES
from .schema_engines import ENGINES
from .walk_measure import Agreement, Measurement

OURS = "sfgen"
SLOWEST, READY = 2e-3, 5e-3
"""Seconds that the slowest mask, and the way to the first mask at the median, may take."""
_STATISTICS: dict[str, Callable[[NDArray[np.float64]], float]] = {
    "p50": lambda times: float(np.percentile(times, 50)),
    "p99": lambda times: float(np.percentile(times, 99)),
    "most": lambda times: float(times.max()),
    "mean": lambda times: float(times.mean()),
}


@dataclass(frozen=True)
class Run:
    """Everything that one run measured.

    Args:
        measurements: One of each engine, vocabulary and schema.
        agreements: One of each vocabulary and schema.
        cold: New processes, on the first vocabulary.
        cold_on: Its name.
        sizes: Tokens of each vocabulary.
        texts: Written values of each schema.
        walks: Random walks through each.
        rounds: Interleaved rounds.
        limit: Seconds that a phase might take.
        seconds: How long the run took.
        machine: What it ran on.
        versions: Of each engine.
    """

    measurements: list[Measurement]
    agreements: list[Agreement]
    cold: list[ColdStart]
    cold_on: str
    sizes: dict[str, int]
    texts: int
    walks: int
    rounds: int
    limit: float
    seconds: float
    machine: str
    versions: dict[str, str]

    @property
    def peers(self) -> list[str]:
        """The other engines."""
        return [name for name in self.versions if name != OURS]

    def of(self, vocabulary: str, engine: str) -> dict[str, Measurement]:
        """By schema, what succeeded."""
        return {
            found.case: found
            for found in self.measurements
            if (found.vocabulary, found.engine) == (vocabulary, engine) and not found.failure
        }


def report(run: Run) -> str:
    """The report, as Markdown."""
    versions = ", ".join(f"{name} {version}" for name, version in run.versions.items())
    lines = [
        "# JSON schemas",
        "",
        f"Written by `python -m tests.bench.schemas` in {run.seconds / 60:.0f} minutes on {run.machine}; {versions}.",
        "",
        f"{len(CASES) - 1} schemas and the grammar of JSON (`any JSON`). All engines have the same bytes for the same "
        "token ids, write the same layout (`json.dumps`'s) and walk the same tokens: those of "
        f"{run.texts} written values of each schema, and those of {run.walks} random walks, drawn beforehand among the "
        "tokens that all engines allow, a quarter of them among tokens that begin with a quote, bracket or comma. Each "
        f"round is a fork of a process that has met other schemas only; in {run.rounds} rounds the engines take turns, "
        "and of each step and each compilation the fastest round counts. A mask is timed at every step, whether the "
        "engine makes it or has kept it.",
        "",
        "*Ratio*: the other engine's time over sfgen's; above 1, sfgen takes less. *First mask*: from the schema to "
        "it, libraries and vocabulary loaded. *Memory*: peak above what was loaded before, from the schema to the end "
        "of the walks.",
        "",
        *(f"* {name}: {ENGINES[name].interface}" for name in run.versions),
        "",
        *_targets(run),
    ]
    for vocabulary, size in run.sizes.items():
        lines += [f"## {vocabulary}, {size:,} tokens", "", *_whole(run, vocabulary), *_each(run, vocabulary)]
        lines += _failures(run, vocabulary) + _agreement(run, vocabulary)
    return "\n".join([*lines, *_cold(run)])


def pooled(measurements: dict[str, Measurement], cases: Sequence[str]) -> NDArray[np.float64]:
    """All masks of some schemas, seconds."""
    return np.concatenate([measurements[case].masks for case in cases])


def ready(measurements: dict[str, Measurement], cases: Sequence[str]) -> NDArray[np.float64]:
    """Of each schema the seconds to the first mask."""
    return np.array([min(measurements[case].firsts) for case in cases])


def _targets(run: Run) -> list[str]:
    lines = ["## Targets", "", "| target | wanted | measured | |", "| --- | ---: | ---: | ---: |"]
    for vocabulary in run.sizes:
        ours = run.of(vocabulary, OURS)
        if not ours:
            continue
        slowest = max(ours.values(), key=lambda found: found.masks.max())
        lines.append(
            _target(f"{vocabulary}: slowest mask", f"under {SLOWEST * 1e3:g} ms", slowest.masks.max() * 1e3,
                    f" ms, {slowest.case}", slowest.masks.max() < SLOWEST)
        )  # fmt: skip
        middle = float(np.median(ready(ours, list(ours))))
        lines.append(
            _target(f"{vocabulary}: schema to first mask, median", f"under {READY * 1e3:g} ms", middle * 1e3, " ms",
                    middle < READY)
        )  # fmt: skip
        for peer in run.peers:
            theirs = run.of(vocabulary, peer)
            common = [case for case in ours if case in theirs]
            if not common:
                continue
            for name in ("p50", "p99"):
                ratio = _ratio(_STATISTICS[name], pooled(theirs, common), pooled(ours, common))
                target = f"{vocabulary}: masks {name}, {peer} over sfgen"
                lines.append(_target(target, "above 1", ratio, "", ratio > 1))
            if peer == "xgrammar":
                ratio = _ratio(_STATISTICS["p99"], ready(theirs, common), ready(ours, common))
                target = f"{vocabulary}: schema to first mask, p99, {peer} over sfgen"
                lines.append(_target(target, "above 1", ratio, "", ratio > 1))
    return [*lines, ""]


def _target(name: str, wanted: str, value: float, unit: str, is_met: bool) -> str:
    return f"| {name} | {wanted} | {value:.3g}{unit} | {'met' if is_met else '**missed**'} |"


def _whole(run: Run, vocabulary: str) -> list[str]:
    """All schemas together: sfgen's figures, and the others' as ratios on the schemas that both read."""
    ours = run.of(vocabulary, OURS)
    base = {OURS: ours} if ours else {name: run.of(vocabulary, name) for name in run.peers}
    head = "| all schemas | masks | " + " | ".join(f"mask {name}" for name in _STATISTICS)
    lines = [f"{head} | first mask p50 | first mask p99 |", f"| --- | ---: |{' ---: |' * (len(_STATISTICS) + 2)}"]
    for name, found in base.items():
        if found:
            masks, firsts = pooled(found, list(found)), ready(found, list(found))
            cells = [f"{statistic(masks) * 1e6:,.3g} µs" for statistic in _STATISTICS.values()]
            cells += [f"{_STATISTICS[which](firsts) * 1e3:.3g} ms" for which in ("p50", "p99")]
            lines.append(f"| {name} | {len(masks):,} | {' | '.join(cells)} |")
    for peer in run.peers if ours else ():
        theirs = run.of(vocabulary, peer)
        common = [case for case in ours if case in theirs]
        if common:
            masks, own = pooled(theirs, common), pooled(ours, common)
            cells = [f"{_ratio(statistic, masks, own):.2f}" for statistic in _STATISTICS.values()]
            for which in ("p50", "p99"):
                cells.append(f"{_ratio(_STATISTICS[which], ready(theirs, common), ready(ours, common)):.2f}")
            lines.append(f"| {peer}, ratio | {len(masks):,} | {' | '.join(cells)} |")
    return [*lines, ""]


def _each(run: Run, vocabulary: str) -> list[str]:
    """Each schema: sfgen's figures, and the others' as ratios; their own figures where sfgen has none."""
    names = " / ".join(_STATISTICS)
    heads = [f"{OURS}: {names}, µs", "first mask, ms", "memory, MB"]
    for peer in run.peers:
        heads += [f"{peer}: {names}", "first mask", "memory"]
    lines = [f"| schema | {' | '.join(heads)} |", f"| --- |{' ---: |' * len(heads)}"]
    cases = dict.fromkeys(found.case for found in run.measurements)
    for case in cases:
        ours = run.of(vocabulary, OURS).get(case)
        cells = _own(ours)
        for peer in run.peers:
            theirs = run.of(vocabulary, peer).get(case)
            cells += _ratios(theirs, ours) if theirs and ours else _own(theirs)
        lines.append(f"| {case} | {' | '.join(cells)} |")
    return [*lines, ""]


def _own(found: Measurement | None) -> list[str]:
    if found is None:
        return ["none", "", ""]
    masks = " / ".join(f"{statistic(found.masks) * 1e6:,.3g}" for statistic in _STATISTICS.values())
    return [masks, f"{min(found.firsts) * 1e3:.3g}", f"{min(found.memory) / 1e6:.3g}"]


def _ratios(theirs: Measurement, ours: Measurement) -> list[str]:
    masks = " / ".join(f"{_ratio(statistic, theirs.masks, ours.masks):.2f}" for statistic in _STATISTICS.values())
    memory = min(theirs.memory) / max(1, min(ours.memory))
    return [masks, f"{min(theirs.firsts) / min(ours.firsts):.2f}", f"{memory:.2f}"]


def _ratio(
    statistic: Callable[[NDArray[np.float64]], float], theirs: NDArray[np.float64], ours: NDArray[np.float64]
) -> float:
    return statistic(theirs) / statistic(ours)


def _failures(run: Run, vocabulary: str) -> list[str]:
    lines = []
    for found in run.measurements:
        if found.vocabulary == vocabulary and found.failure:
            lines.append(f"* {found.engine}, {found.case}: {found.failure}")
        elif found.vocabulary == vocabulary and found.refused:
            lines.append(f"* {found.engine}, {found.case}: refuses {found.refused} of the walks; its own end there")
    return [*lines, ""] if lines else []


def _agreement(run: Run, vocabulary: str) -> list[str]:
    """How often the others' masks are sfgen's; llguidance narrows where the text is forced, see the note."""
    agreements = [found for found in run.agreements if found.vocabulary == vocabulary and found.same]
    if not agreements:
        return []
    lines = [
        "Masks compared at each step of the random walks: equal ones, and tokens that only one of both allows. "
        "llguidance allows less where the text is forced: only the tokens that its tokenizer would cut out of it.",
        "",
        f"| schema | steps | {' | '.join(f'{peer}: equal | only {peer} | only sfgen' for peer in run.peers)} |",
        f"| --- | ---: |{' ---: | ---: | ---: |' * len(run.peers)}",
    ]
    for found in agreements:
        cells = []
        for peer in run.peers:
            if peer in found.same:
                cells += [f"{counts[peer]:,}" for counts in (found.same, found.more, found.less)]
            else:
                cells += ["none", "", ""]
        lines.append(f"| {found.case} | {found.steps:,} | {' | '.join(cells)} |")
    lines.append("")
    for found in agreements:
        for peer, example in found.example.items():
            lines.append(f"* {found.case}: only {peer} allows, behind {example}")
    return [*lines, ""]


def _cold(run: Run) -> list[str]:
    lines = [
        f"## New processes, on {run.cold_on}",
        "",
        "| engine | import and vocabulary, ms | first schema to first mask, ms | second, ms |",
        "| --- | ---: | ---: | ---: |",
    ]
    for start in run.cold:
        cells = " | ".join(f"{seconds * 1e3:,.0f}" for seconds in (start.load, start.first))
        lines.append(f"| {start.title} | {cells} | {start.second * 1e3:,.3g} |")
    return [*lines, ""]
