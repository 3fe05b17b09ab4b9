"""The report on grammars: each engine's figures, ratios in the same run, and the targets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from .grammar_engines import ENGINES
from .walk_measure import Agreement, Measurement

OURS = "sfgen"
SLOWEST, READY = 5e-3, 0.3
"""Seconds that the slowest mask, and the way from the text of a grammar to the first mask, may take."""
_PYTHON = "Python"
_STATISTICS: dict[str, Callable[[NDArray[np.float64]], float]] = {
    "p50": lambda times: float(np.percentile(times, 50)),
    "p99": lambda times: float(np.percentile(times, 99)),
    "most": lambda times: float(times.max()),
    "mean": lambda times: float(times.mean()),
}


@dataclass
class Run:
    """Everything that one run measured.

    Args:
        sizes: Tokens of each vocabulary.
        few: Texts for an engine that does not finish all of them within the limit.
        texts: Texts of each grammar.
        walks: Random walks through each.
        rounds: Interleaved rounds.
        limit: Seconds that a phase might take.
        machine: What it ran on.
        versions: Of each engine.
        seconds: How long the run took.
        measurements: One of each engine, vocabulary and grammar.
        agreements: One of each vocabulary and grammar.
        slow: Vocabulary, grammar and engine where there are figures of few texts only.
        new: By vocabulary, grammar and engine, where nothing was kept on disk: the texts alone, once.
    """

    sizes: dict[str, int]
    few: int
    texts: int
    walks: int
    rounds: int
    limit: float
    machine: str
    versions: dict[str, str]
    seconds: float = 0.0
    measurements: list[Measurement] = field(default_factory=list)
    agreements: list[Agreement] = field(default_factory=list)
    slow: list[tuple[str, str, str]] = field(default_factory=list)
    new: dict[tuple[str, str, str], Measurement] = field(default_factory=dict)

    @property
    def peers(self) -> list[str]:
        """The engines of others."""
        return [name for name in self.versions if ENGINES[name].package != OURS]

    def cases(self, vocabulary: str) -> dict[str, dict[str, Measurement]]:
        """What succeeded on a vocabulary, by grammar and engine."""
        found: dict[str, dict[str, Measurement]] = {}
        for one in self.measurements:
            if one.vocabulary == vocabulary:
                engines = found.setdefault(one.case, {})
                if not one.failure:
                    engines[one.engine] = one
        return found


def report(run: Run) -> str:
    """The report, as Markdown."""
    versions = ", ".join(f"{ENGINES[name].package} {version}" for name, version in run.versions.items())
    versions = ", ".join(dict.fromkeys(versions.split(", ")))
    lines = [
        "# Grammars",
        "",
        f"Written by `python -m tests.bench.grammars` in {run.seconds / 60:.0f} minutes on {run.machine}; {versions}.",
        "",
        "Each engine reads each grammar in its own form: Lark, llguidance's dialect of Lark, EBNF (GBNF); they are in "
        "`tests/data/lark` and `tests/bench/grammars`. All engines have the same bytes for the same token ids and walk "
        f"the same tokens: those of {run.texts} texts of each grammar that lark parses, half of them as people write "
        f"them, and those of {run.walks} random walks, drawn beforehand among the tokens that all engines allow, a "
        "quarter of them among tokens that begin with a quote, bracket or comma. Each round is a fork of a process "
        f"that has met another grammar only; in {run.rounds} rounds the engines take turns, and of each step and each "
        "compilation the fastest round counts. A mask is timed at every step, whether the engine makes it or has kept "
        "it.",
        "",
        "*Ratio*: the other engine's time over sfgen's; above 1, sfgen takes less. *Compile*: from the text to the "
        "engine's object. *First mask*: from the text to it; libraries and vocabulary are loaded. *New*: the same "
        "where nothing is kept on disk yet. *Memory*: peak above what was loaded before, to the end of the walks.",
        "",
        *(f"* {name}: {ENGINES[name].interface}" for name in run.versions),
        "",
        *_targets(run),
    ]
    for vocabulary, size in run.sizes.items():
        lines += [f"## {vocabulary}, {size:,} tokens", "", *_figures(run, vocabulary), *_ratios(run, vocabulary)]
        lines += [*_failures(run, vocabulary), *_agreement(run, vocabulary)]
    return "\n".join(lines)


def _targets(run: Run) -> list[str]:
    lines = ["## Targets", "", "| target | wanted | measured | |", "| --- | ---: | ---: | ---: |"]
    for vocabulary in run.sizes:
        for case, found in run.cases(vocabulary).items():
            ours = found.get(OURS)
            if ours is None:
                continue
            for peer in run.peers:
                if peer not in found:
                    continue
                for name in ("p50", "p99"):
                    ratio = _STATISTICS[name](found[peer].masks) / _STATISTICS[name](ours.masks)
                    lines.append(_target(f"{vocabulary}, {case}: masks {name}, {peer} over sfgen", "above 1", ratio, "",
                                         ratio > 1))  # fmt: skip
            slowest = ours.masks.max()
            lines.append(_target(f"{vocabulary}, {case}: slowest mask", f"under {SLOWEST * 1e3:g} ms", slowest * 1e3,
                                 " ms", slowest < SLOWEST))  # fmt: skip
            if case.startswith(_PYTHON):
                first = min(ours.firsts)
                lines.append(_target(f"{vocabulary}, {case}: text to first mask, tables kept on disk",
                                     f"under {READY * 1e3:g} ms", first * 1e3, " ms", first < READY))  # fmt: skip
    return [*lines, ""]


def _target(name: str, wanted: str, value: float, unit: str, is_met: bool) -> str:
    return f"| {name} | {wanted} | {value:.3g}{unit} | {'met' if is_met else '**missed**'} |"


def _figures(run: Run, vocabulary: str) -> list[str]:
    """Each engine's own figures for each grammar."""
    masks = " | ".join(f"{name}, µs" for name in _STATISTICS)
    lines = [
        f"| grammar | engine | masks | {masks} | compile, ms | first mask, ms | new, ms | memory, MB |",
        f"| --- | --- | ---: |{' ---: |' * (len(_STATISTICS) + 4)}",
    ]
    for case, found in run.cases(vocabulary).items():
        for name in run.versions:
            if name not in found:
                lines.append(f"| {case} | {name} | none |{' |' * (len(_STATISTICS) + 4)}")
                continue
            one, new = found[name], run.new.get((vocabulary, case, name))
            cells = [f"{statistic(one.masks) * 1e6:,.3g}" for statistic in _STATISTICS.values()]
            firsts = new.firsts if new else []
            cells += [f"{min(times) * 1e3:,.3g}" if times else "" for times in (one.compiles, one.firsts, firsts)]
            lines.append(
                f"| {case} | {name} | {len(one.masks):,} | {' | '.join(cells)} | {min(one.memory) / 1e6:,.3g} |"
            )
    return [*lines, ""]


def _ratios(run: Run, vocabulary: str) -> list[str]:
    """The other engines' times over those of sfgen's Lark grammars."""
    others = [name for name in run.versions if name != OURS]
    rows = list(_ratio_rows(run, vocabulary, others))
    if not rows:
        return []
    head = " / ".join(_STATISTICS)
    return [
        f"| ratio | {' | '.join(f'{name}: {head} | first mask | memory' for name in others)} |",
        f"| --- |{' ---: |' * 3 * len(others)}",
        *rows,
        "",
    ]


def _ratio_rows(run: Run, vocabulary: str, others: list[str]) -> Iterator[str]:
    for case, found in run.cases(vocabulary).items():
        ours = found.get(OURS)
        if ours is None:
            continue
        cells = []
        for name in others:
            theirs = found.get(name)
            if theirs is None:
                cells += ["none", "", ""]
                continue
            ratios = [statistic(theirs.masks) / statistic(ours.masks) for statistic in _STATISTICS.values()]
            cells.append(" / ".join(f"{ratio:.2f}" for ratio in ratios))
            cells.append(f"{min(theirs.firsts) / min(ours.firsts):.2f}")
            cells.append(f"{min(theirs.memory) / max(1, min(ours.memory)):.2f}")
        yield f"| {case} | {' | '.join(cells)} |"


def _failures(run: Run, vocabulary: str) -> list[str]:
    lines = [
        f"* {name}, {case}: not done in {run.limit:.0f} s; its figures are those of {run.few} texts, walked once"
        for of, case, name in run.slow
        if of == vocabulary
    ]
    for found in run.measurements:
        if found.vocabulary == vocabulary and found.failure:
            lines.append(f"* {found.engine}, {found.case}: {found.failure}")
        elif found.vocabulary == vocabulary and found.refused:
            lines.append(f"* {found.engine}, {found.case}: refuses {found.refused} of the walks; its own end there")
    return [*lines, ""] if lines else []


def _agreement(run: Run, vocabulary: str) -> list[str]:
    """How often the others' masks are those of the first engine."""
    agreements = [found for found in run.agreements if found.vocabulary == vocabulary and found.same]
    if not agreements:
        return []
    first, *others = run.versions
    lines = [
        f"Masks compared with {first} at each step of the random walks: equal ones, and tokens that only one of both "
        "allows. The forms differ where a word of the grammar may be a name, and llguidance allows less where the text "
        "is forced: only the tokens that its tokenizer would cut out of it.",
        "",
        f"| grammar | steps | {' | '.join(f'{name}: equal | only {name} | only {first}' for name in others)} |",
        f"| --- | ---: |{' ---: | ---: | ---: |' * len(others)}",
    ]
    for found in agreements:
        cells = []
        for name in others:
            if name in found.same:
                cells += [f"{counts[name]:,}" for counts in (found.same, found.more, found.less)]
            else:
                cells += ["none", "", ""]
        lines.append(f"| {found.case} | {found.steps:,} | {' | '.join(cells)} |")
    lines.append("")
    for found in agreements:
        for name, example in found.example.items():
            lines.append(f"* {found.case}: only {name} allows, behind {example}")
    return [*lines, ""]
