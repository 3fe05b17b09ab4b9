"""The report on schemas that other people wrote: who reads them, compile times, and masks as ratios."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .walk_measure import Measurement

OURS, PEER = "sfgen", "llguidance"

_REMEDIES = {
    r"uniqueItems is not supported for items that are arrays or objects": "A register over the written forms of "
    "finite items, or items told apart by a required property; with open objects in them a memory of whole items.",
    r"branches together": "`oneOf` told apart by a property's constant before its branches are multiplied, or a "
    "lazy product of branches.",
    r"reference to another document": "The file itself: `--schema-dir`.",
    r"\"type\" must be": "Draft 03, in which a type may be a schema: a table of its keywords.",
}
"""What it would take to read a schema, by a part of the reason."""


@dataclass(frozen=True)
class Refusal:
    """A schema that sfgen does not read.

    Args:
        name: The schema.
        pointer: The part that is refused.
        reason: Why.
    """

    name: str
    pointer: str
    reason: str


@dataclass(frozen=True)
class Run:
    """Everything that one run measured.

    Args:
        measurements: One of each engine and schema.
        lenient: Why llguidance refuses a schema that it reads only when it is told to be lenient.
        refusals: All real schemas that sfgen does not read, measured or not.
        count: How many real schemas there are.
        left_out: Those that were to be measured when time was up.
        vocabulary: Its name.
        size: Its tokens.
        texts: Written texts of each schema.
        walks: Random walks through each.
        rounds: Interleaved rounds.
        seconds: How long the run took.
        processor: Seconds of processor time.
        machine: What it ran on.
        versions: Of each engine.
    """

    measurements: list[Measurement]
    lenient: dict[str, str]
    refusals: list[Refusal]
    count: int
    left_out: list[str]
    vocabulary: str
    size: int
    texts: int
    walks: int
    rounds: int
    seconds: float
    processor: float
    machine: str
    versions: dict[str, str]

    def of(self, engine: str) -> dict[str, Measurement]:
        """By schema, what succeeded."""
        return {found.case: found for found in self.measurements if found.engine == engine and not found.failure}


def report(run: Run) -> str:
    """The report, as Markdown."""
    versions = ", ".join(f"{name} {version}" for name, version in run.versions.items())
    schemas = len({found.case for found in run.measurements})
    ours, theirs = run.of(OURS), run.of(PEER)
    common = [case for case in ours if case in theirs and len(ours[case].masks) and len(theirs[case].masks)]
    lines = [
        "# Schemas that other people wrote",
        "",
        f"Written by `python -m tests.bench.real_schemas` in {run.seconds / 60:.0f} minutes "
        f"({run.processor / 60:.0f} of processor time) on {run.machine}; {versions}; vocabulary {run.vocabulary}, "
        f"{run.size:,} tokens.",
        "",
        f"{schemas} of the {run.count} schemas that installed packages ship: whole files, and definitions with what "
        f"they refer to, drawn once for all. Both engines walk the same tokens: those of at most {run.texts} texts "
        f"that jsonschema finds valid and both accept, cut at 400 tokens, and those of {run.walks} random walks of at "
        f"most 150 tokens, drawn beforehand among the tokens that both allow. In {run.rounds} rounds they take turns, "
        "each time in a fork that has not met the schema; of each step and each compilation the fastest round counts.",
        "",
        f"*Leniently*: what {PEER} refuses it is asked to read with `coerce_one_of` and `lenient`, by which it takes "
        "`oneOf` for `anyOf` and leaves out what it does not know; its masks are then those of another schema.",
        "",
    ]
    if run.left_out:
        lines += [
            f"When time was up {len(run.left_out)} were not measured: {', '.join(map(_short, run.left_out))}.",
            "",
        ]
    if common:
        lines += [*_whole(run, common), *_slower(run, common), *_each(run, common)]
    return "\n".join([*lines, *_failures(run), *_refusals(run)])


def _percentile(times: Sequence[float] | NDArray[np.float64], percent: float) -> float:
    return float(np.percentile(times, percent))


def _row(name: str, cells: Sequence[object]) -> str:
    return f"| {name} | {' | '.join(map(str, cells))} |"


def _three(times: Sequence[float] | NDArray[np.float64], unit: float) -> str:
    return " / ".join(f"{_percentile(times, percent) * unit:,.3g}" for percent in (50, 99, 100))


def _whole(run: Run, common: Sequence[str]) -> list[str]:
    """All schemas together."""
    found = {engine: run.of(engine) for engine in (OURS, PEER)}
    worse = [case for _, case in _slower_cases(run, common)]
    strictly = [case for case in common if case not in run.lenient]
    heads = [*found, f"{PEER} over {OURS}"]
    lines = ["## All together", "", _row("p50 / p99 / most", heads), f"| --- |{' ---: |' * len(heads)}"]
    strict = len(found[PEER].keys() - run.lenient.keys())
    lines.append(
        _row("read, of those measured", [len(found[OURS]), f"{strict}, and {len(run.lenient)} leniently", len(common)])
    )
    masks = {engine: np.concatenate([read[case].masks for case in common]) for engine, read in found.items()}
    lines.append(_row("masks, µs", [*(_three(times, 1e6) for times in masks.values()), _ratios(*masks.values())]))
    tails = {engine: [_percentile(read[case].masks, 99) for case in common] for engine, read in found.items()}
    lines.append(
        _row("each schema's p99, µs", [*(_three(times, 1e6) for times in tails.values()), _ratios(*tails.values())])
    )
    for what in ("compiles", "firsts"):
        times = {engine: [min(getattr(read[case], what)) for case in common] for engine, read in found.items()}
        title = "to compile, ms" if what == "compiles" else "to the first mask, ms"
        lines.append(_row(title, [*(_three(one, 1e3) for one in times.values()), _ratios(*times.values())]))
    own = [min(one.compiles) for one in found[OURS].values()]
    lines.append(_row(f"to compile, ms, all that {OURS} reads", [_three(own, 1e3), "", ""]))
    return [
        *lines,
        "",
        f"{OURS}'s p99 is above {PEER}'s on {len(worse)} of the {len(common)} schemas that both read; on "
        f"{len(set(worse) & set(strictly))} of the {len(strictly)} that {PEER} reads as they are.",
        "",
    ]


def _ratios(own: Sequence[float] | NDArray[np.float64], other: Sequence[float] | NDArray[np.float64]) -> str:
    return " / ".join(f"{_percentile(other, each) / _percentile(own, each):.2f}" for each in (50, 99, 100))


def _slower_cases(run: Run, common: Sequence[str]) -> list[tuple[float, str]]:
    """The schemas on which sfgen's p99 is above the other engine's, and how many times, the worst first."""
    ours, theirs = run.of(OURS), run.of(PEER)
    factors = [(_percentile(ours[case].masks, 99) / _percentile(theirs[case].masks, 99), case) for case in common]
    return sorted(((factor, case) for factor, case in factors if factor > 1), reverse=True)


def _slower(run: Run, common: Sequence[str]) -> list[str]:
    ours, theirs = run.of(OURS), run.of(PEER)
    lines = [f"## Where {OURS}'s p99 is above", "", _row("schema", ["times", "p99, µs", f"{PEER}'s", "masks", "read"])]
    lines.append("| --- | ---: | ---: | ---: | ---: | --- |")
    for factor, case in _slower_cases(run, common):
        both = (f"{_percentile(one[case].masks, 99) * 1e6:,.0f}" for one in (ours, theirs))
        how = "leniently" if case in run.lenient else ""
        lines.append(_row(_short(case), [f"{factor:.2f}", *both, len(ours[case].masks), how]))
    return [*lines, ""]


def _each(run: Run, common: Sequence[str]) -> list[str]:
    ours, theirs = run.of(OURS), run.of(PEER)
    heads = ["masks", f"{OURS}: p50 / p99 / most, µs", "compile, ms", f"{PEER}, ratios: p50 / p99 / most", "compile"]
    lines = ["## Each schema that both read", "", _row("schema", heads), "| --- | ---: | ---: | ---: | ---: | ---: |"]
    for case in common:
        own, other = ours[case], theirs[case]
        compile_ratio = min(other.compiles) / min(own.compiles)
        lines.append(
            _row(
                _short(case),
                [len(own.masks), _three(own.masks, 1e6), f"{min(own.compiles) * 1e3:,.3g}",
                 _ratios(own.masks, other.masks), f"{compile_ratio:.2f}"],
            )
        )  # fmt: skip
    return [*lines, ""]


def _failures(run: Run) -> list[str]:
    """What one engine does not read, of the schemas that were measured."""
    lines = ["## Not read, of those measured", ""]
    for found in run.measurements:
        if found.failure:
            lines.append(f"* {found.engine}, {_short(found.case)}: {_cell(found.failure)}")
        elif found.engine == PEER and found.case in run.lenient:
            lines.append(f"* {PEER}, leniently only, {_short(found.case)}: {_cell(run.lenient[found.case])}")
    return [*lines, ""]


def _refusals(run: Run) -> list[str]:
    if not run.refusals:
        return []
    read = run.count - len(run.refusals)
    lines = [
        f"## What {OURS} does not read, of all {run.count}",
        "",
        f"{read} are read ({read / run.count:.1%}).",
        "",
        _row("schema", ["where", "reason", "what it would take"]),
        "| --- | --- | --- | --- |",
    ]
    for refusal in run.refusals:
        remedy = next((words for part, words in _REMEDIES.items() if re.search(part, refusal.reason)), "")
        lines.append(_row(_short(refusal.name), [f"`{_cell(refusal.pointer)}`", _cell(refusal.reason), remedy]))
    return [*lines, ""]


def _short(name: str) -> str:
    """The name of a schema without the folders before the file."""
    file, mark, part = name.partition("#")
    return re.sub(r"^.*/(?=[^/]+/[^/]+$)", "", file) + mark + part


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")[:160]
