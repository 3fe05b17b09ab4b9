"""Measure by MaskBench's protocol: many real schemas, from the schema to the first mask, then token by token.

Usage: ``python -m tests.bench.maskbench``, for a part of it ``--engine default --engine llguidance --limit 50``; with
``--worst 15`` it names the worst schemas. In one process the engines take turns on each schema. An engine that compiles
it walks each value's JSON text (``", "`` and ``": "``): make the mask, look whether it has the token, take the token;
behind the last one, look whether the text may end there. A schema passes if all its valid values are accepted and all
its invalid ones are not.

TTFM is the processor time from the schema to its first mask; TBM is the time between two masks: a mask, and the step to
the next. The collector of Python runs as it does for users, unless ``--no-gc``: what it takes counts where it happens.

The schemas are those of guidance-ai/jsonschemabench, a row of JSON a line: ``{"id", "schema", "tests": [{"data",
"valid"}]}``. They have no licence, so they lie outside: ``SFGEN_MASKBENCH`` names the file, by default
``../shared/maskbench/dev.jsonl`` beside the repository. Without it, only the schemas of ``maskbench_cases`` are walked.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .machine import machine
from .maskbench_cases import SHAPES, Row
from .maskbench_engines import ENGINES, OURS, PEER, MaskEngine, Refused
from .tables import markdown_table
from .vocabularies import EMBEDDED, NAMES, Cutter, find

DOCS = Path(__file__).parent.parent / "docs"

WARM_UP: tuple[Any, ...] = (
    {"type": "object", "properties": {"a": {"type": "string", "maxLength": 4}, "b": {"type": "number"}}},
    {"enum": ["x", [1]]},
    {"type": "array", "items": {"pattern": "^a+$", "type": "string"}},
)
"""Schemas that each engine meets before the first is measured: libraries are loaded, kernels compiled."""


class Collector:
    """Notes the pauses of Python's garbage collector."""

    def __init__(self) -> None:
        self._begun = 0
        self.longest = 0.0
        """The longest pause since it was last set to 0, seconds."""

    def __call__(self, phase: str, info: Mapping[str, int]) -> None:
        """Be told by the collector."""
        if phase == "start":
            self._begun = time.perf_counter_ns()
        else:
            self.longest = max(self.longest, (time.perf_counter_ns() - self._begun) / 1e9)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Watch the collector."""
        gc.callbacks.append(self)
        try:
            yield
        finally:
            gc.callbacks.remove(self)


@dataclass
class Tally:
    """What became of the schemas with one engine."""

    first: dict[str, float] = field(default_factory=dict)  # seconds to the first mask, by schema
    masks: dict[str, list[float]] = field(default_factory=dict)  # seconds, by schema
    steps: dict[str, list[float]] = field(default_factory=dict)  # seconds, by schema
    passing: set[str] = field(default_factory=set)
    refused: dict[str, str] = field(default_factory=dict)
    late: list[str] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)  # of which a valid value is not accepted
    wrong: list[str] = field(default_factory=list)  # of which an invalid value is accepted
    pauses: dict[str, float] = field(default_factory=dict)  # the collector's longest, seconds, by schema

    @property
    def between(self) -> dict[str, float]:
        """The mean between two masks, seconds, by schema."""
        return {case: (sum(masks) + sum(self.steps[case])) / len(masks) for case, masks in self.masks.items()}


class _Late(Exception):
    """Raised where an engine takes too long."""


def main() -> None:
    """Measure, print the report and write it."""
    options = _options()
    rows = list(_rows(options))
    name, folder = next(iter(find([options.vocabulary]).items()))
    cutter = Cutter(name, folder)
    names = [engine for engine in ENGINES if not options.engine or engine in options.engine]
    begun = time.monotonic()
    collector = "off" if options.no_gc else "frozen" if options.freeze else "on"
    tallies, idle = measured(rows, cutter, names, seconds=options.seconds, collector=collector)
    whole = not (options.engine or options.limit or options.case or options.freeze or options.no_gc)
    found = report(rows, tallies, idle, name, time.monotonic() - begun, worst=options.worst)
    print(found)
    if options.output or (whole and options.data is not None):
        target = options.output or DOCS
        target.mkdir(parents=True, exist_ok=True)
        (target / "maskbench.md").write_text(found, encoding="utf-8")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.maskbench", description=__doc__.partition("\n")[0])
    add = parser.add_argument
    add("data", type=Path, nargs="?", default=_data(), help="the schemas, a row a line (default: SFGEN_MASKBENCH)")
    add("--vocabulary", choices=[*NAMES, EMBEDDED], default="llama3", help="default: llama3")
    add("--engine", action="append", choices=list(ENGINES), help="only this one; may be repeated")
    add("--case", action="append", choices=["none", *SHAPES], help="of the schemas made here only this one; or none")
    add("--limit", type=int, metavar="N", help="only the first N schemas of the data")
    add("--seconds", type=int, default=15, metavar="N", help="how long a schema may take an engine (default: 15)")
    add("--worst", type=int, default=0, metavar="N", help="name the N worst of each kind")
    add("--freeze", action="store_true", help="what is loaded is not collected, as in sfgen's commands")
    add("--no-gc", action="store_true", help="without Python's garbage collector")
    add("--output", type=Path, metavar="FOLDER", help="write maskbench.md there")
    return parser.parse_args()


def _data() -> Path | None:
    """Where the schemas are; ``None`` where they are not."""
    here = Path(__file__).resolve()
    path = Path(os.environ.get("SFGEN_MASKBENCH") or here.parents[3] / "shared" / "maskbench" / "dev.jsonl")
    return path if path.is_file() else None


def _rows(options: argparse.Namespace) -> Iterator[Row]:
    if options.data is None:
        _say("MaskBench's schemas are not here (SFGEN_MASKBENCH): only those that are made here are walked")
    else:
        with options.data.open(encoding="utf-8") as lines:
            for line in list(lines)[: options.limit]:
                found = json.loads(line)
                tests = tuple((test["data"], test["valid"]) for test in found["tests"])
                yield Row(found["id"], found["schema"], tests)
    for name, made in SHAPES.items():
        if options.case is None or name in options.case:
            yield made()


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


# ---- the protocol ----------------------------------------------------------------------------------------------------


def measured(
    rows: Sequence[Row], cutter: Cutter, names: Sequence[str], *, seconds: int, collector: str = "on"
) -> tuple[dict[str, Tally], float]:
    """Walk all rows with the engines in turns; return what became of them, and an idle process's pause, seconds."""
    engines: dict[str, MaskEngine] = {}
    for name in names:
        try:
            engines[name] = ENGINES[name](cutter)
        except ImportError:
            _say(f"{name} is not installed and left out")
    for engine in engines.values():
        for schema in WARM_UP:
            engine.compile(schema)
            engine.begin()
            engine.mask()
    tallies = {name: Tally() for name in engines}
    noted = Collector()
    signal.signal(signal.SIGALRM, _raise_late)
    with noted.watching():
        gc.collect()
        idle, noted.longest = noted.longest, 0.0
        if collector in ("frozen", "off"):
            gc.freeze()
        if collector == "off":
            gc.disable()
        for number, row in enumerate(rows):
            tests = [(cutter.cut(json.dumps(data, ensure_ascii=False)), valid) for data, valid in row.tests]
            turn = number % len(engines)
            for name in [*engines][turn:] + [*engines][:turn]:
                noted.longest = 0.0
                if name in row.unasked:
                    tallies[name].refused[row.id] = f"not asked: {row.unasked[name]}"
                    continue
                signal.alarm(seconds)
                try:
                    _walk(engines[name], row, tests, tallies[name])
                except Refused as error:
                    tallies[name].refused[row.id] = str(error)
                except _Late:
                    tallies[name].late.append(row.id)
                finally:
                    signal.alarm(0)
                tallies[name].pauses[row.id] = noted.longest
    return tallies, idle


def _raise_late(*_: object) -> None:
    raise _Late


def _walk(engine: MaskEngine, row: Row, tests: Sequence[tuple[Sequence[int], bool]], tally: Tally) -> None:
    """Compile one schema and walk its values."""
    begun = time.thread_time_ns()
    engine.compile(row.schema)
    engine.begin()
    engine.mask()
    tally.first[row.id] = (time.thread_time_ns() - begun) / 1e9
    clock, masks, steps, passes = time.perf_counter_ns, list[int](), list[int](), True
    for tokens, valid in tests:
        engine.begin()
        is_read = True
        for token in tokens:
            before = clock()
            engine.mask()
            between = clock()
            is_read = engine.take(token)
            steps.append(clock() - between)
            masks.append(between - before)
            if not is_read:
                break
        accepts = is_read and engine.may_end()
        if accepts != valid:
            passes = False
            (tally.missed if valid else tally.wrong).append(row.id)
    if passes:
        tally.passing.add(row.id)
    if masks:
        tally.masks[row.id] = [taken / 1e9 for taken in masks]
        tally.steps[row.id] = [taken / 1e9 for taken in steps]


# ---- the report ------------------------------------------------------------------------------------------------------

_HEAD = (
    "engine", "compiled", "passing", "refused", "late", "valid missed", "invalid accepted", "TTFM p50, ms", "p90",
    "p99", "most", "TBM mean, µs", "p50", "p99", "mask p50, µs", "mask p99", "slowest mask, ms", "take p50, µs",
    "take p99", "pause of the collector, ms",
)  # fmt: skip


def report(
    rows: Sequence[Row], tallies: Mapping[str, Tally], idle: float, vocabulary: str, seconds: float, *, worst: int = 0
) -> str:
    """The report, as Markdown."""
    made = {shape().id for shape in SHAPES.values()}
    real = [row.id for row in rows if row.id not in made]
    lines = [
        "# MaskBench",
        "",
        f"Written by `python -m tests.bench.maskbench` in {seconds / 60:.0f} minutes on {machine()}; {vocabulary}. "
        f"{len(real)} schemas of jsonschemabench, engines in turns in one process. TTFM: processor time from the "
        "schema to its first mask. TBM: a mask, and the step to the next. Python's collector runs, and its longest "
        f"pause in an engine's turns is told; before the first schema a collection took {idle * 1e3:.0f} ms.",
        "",
        *(f"* {name}: {ENGINES[name].told}" for name in tallies),
        "",
    ]
    if real:
        lines += [markdown_table(_HEAD, [_figures(name, tally, real) for name, tally in tallies.items()]), ""]
        lines += _ratios(tallies, real)
    lines += _shapes(tallies, [row.id for row in rows if row.id in made])
    if worst:
        lines += _worst(tallies, worst)
    return "\n".join(lines)


def _percentile(values: Sequence[float] | NDArray[np.float64], percent: float) -> float:
    return float(np.percentile(values, percent)) if len(values) else float("nan")


def _figures(name: str, tally: Tally, real: Sequence[str]) -> list[str]:
    """A line of the table: all of one engine on the schemas of the data."""
    first = [1e3 * tally.first[case] for case in real if case in tally.first]
    masks, steps = (
        1e6 * np.array([taken for case in real for taken in by.get(case, ())]) for by in (tally.masks, tally.steps)
    )
    both, known = masks + steps, set(real)
    counts = [sum(case in known for case in each) for each in
              (tally.first, tally.passing, tally.refused, tally.late, tally.missed, tally.wrong)]  # fmt: skip
    times = [_percentile(first, 50), _percentile(first, 90), _percentile(first, 99), max(first, default=0)]
    times += [float(both.mean()) if len(both) else float("nan"), _percentile(both, 50), _percentile(both, 99)]
    times += [_percentile(masks, 50), _percentile(masks, 99), 1e-3 * masks.max(initial=0)]
    times += [_percentile(steps, 50), _percentile(steps, 99)]
    times.append(1e3 * max(tally.pauses[case] for case in real if case in tally.pauses))
    return [name, *map(str, counts), *(f"{taken:,.3g}" for taken in times)]


def _ratios(tallies: Mapping[str, Tally], real: Sequence[str]) -> list[str]:
    """How many times as long as the peer sfgen takes, on the schemas that both compile."""
    if PEER not in tallies:
        return []
    peer, table = tallies[PEER], []
    for name in tallies:
        if name not in OURS:
            continue
        cells, kinds = [name], ((tallies[name].first, peer.first), (tallies[name].between, peer.between))
        for own, theirs in kinds:
            ratios = [own[case] / theirs[case] for case in real if case in own and case in theirs]
            lower = sum(ratio < 1 for ratio in ratios)
            cells += [f"{_percentile(ratios, 50):.2f}", f"{lower} of {len(ratios)} ({lower / max(1, len(ratios)):.0%})"]
        table.append(cells)
    head = [f"over {PEER}", "TTFM, median ratio", "TTFM lower", "TBM mean, median ratio", "TBM mean lower"]
    return [markdown_table(head, table), ""]


def _shapes(tallies: Mapping[str, Tally], cases: Sequence[str]) -> list[str]:
    """The schemas that were made here, one by one."""
    if not cases:
        return []

    def cell(tally: Tally, case: str) -> str:
        if case in tally.refused:
            why = tally.refused[case]
            return why if why.startswith("not asked") else "refused"
        if case in tally.late:
            return "late"
        return f"{1e3 * tally.first[case]:,.0f}{'' if case in tally.passing else ', not passing'}"

    rows = [[case, *(cell(tally, case) for tally in tallies.values())] for case in cases]
    return ["Schemas that strain a compiler, TTFM in ms:", "", markdown_table(["schema", *tallies], rows), ""]


def _worst(tallies: Mapping[str, Tally], count: int) -> list[str]:
    """The worst schemas of each engine by name."""
    lines = ["## The worst", ""]

    def ranking(title: str, of: Mapping[str, float], told: Callable[[str], str]) -> None:
        if of:
            lines.append(f"* {title}:")
            lines.extend(f"    * {case}: {told(case)}" for case in sorted(of, key=lambda case: -of[case])[:count])

    peer = tallies.get(PEER)
    for name, tally in tallies.items():
        lines.append(f"### {name}\n")
        if peer is not None and name in OURS:
            for title, own, theirs, unit in (
                ("TTFM, ms", tally.first, peer.first, 1e3),
                ("TBM mean, µs", tally.between, peer.between, 1e6),
            ):
                ratios = {case: own[case] / theirs[case] for case in own if case in theirs}
                ranking(
                    f"{title}, over {PEER}",
                    ratios,
                    lambda case, own=own, theirs=theirs, unit=unit, ratios=ratios: (  # type: ignore[misc]
                        f"{own[case] * unit:,.1f} / {theirs[case] * unit:,.1f} = {ratios[case]:.1f}"
                    ),
                )
        slowest = {case: max(masks) for case, masks in tally.masks.items()}
        ranking("slowest mask, ms", slowest, lambda case, of=slowest: f"{1e3 * of[case]:,.2f}")  # type: ignore[misc]
        lines.extend(f"* refused: {case}: {why[:120]}" for case, why in list(tally.refused.items())[:count])
        for title, cases in (("late", tally.late), ("valid missed", tally.missed), ("invalid accepted", tally.wrong)):
            if cases:
                lines.append(f"* {title}: {', '.join(list(dict.fromkeys(cases))[:count])}")
        lines.append("")
    return lines


if __name__ == "__main__":
    main()
