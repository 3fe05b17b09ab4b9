"""Measure whole generations side by side with other engines, in one run.

Usage: ``python -m tests.bench.generation``; ``python -m tests.bench.schema_generation`` is the same for schemas.
Two models: the embedded one, and one of the size of GPT-2 with random weights and GPT-2's tokenizer (found through
SFGEN_TOKENIZERS, as for the other benchmarks; else the embedded model's).
Every engine that is installed writes each pattern, and so do transformers without a guide and a baseline that is told
sfgen's text and reads it token by token. A whole run takes about 20 minutes on two idle cores and writes
``generation.md`` and ``generation.svg`` into ``tests/docs``; a run of chosen items prints its report only, unless it is
told where to write it.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from .generation_engines import ENGINES, GenerationEngine, Task
from .generation_measure import (
    BASELINE,
    FREE,
    Row,
    count_valid,
    measure_rounds,
    reason,
    rows_of,
    try_out,
    warm_up,
)
from .generation_models import PROMPT, Subject, random_gpt2, tiny
from .generation_plot import plot
from .generation_report import Run, report
from .machine import machine
from .patterns import patterns

DOCS = Path(__file__).parent.parent / "docs"
LIMITS = {"names": 32, "url": 32, "pink_floyd": 48, "customer": 96, "contact": 112, "prose": 96}
"""The patterns, in the order of the report, and the most tokens of each."""
ON_TINY_ONLY = ("contact",)
"""What would take too long on the large model."""
THREADS = {"tiny": 1, "random GPT-2": 2}
"""Threads of torch: one is what sfgen uses for a small model anyway."""
SKETCH = "a model of one small layer with random weights and the same vocabulary"
PATIENCE = 8
"""An engine whose first text takes so many times as long as sfgen's, and a second, is not measured again."""
TRIED = (
    "guidance 0.3.1",
    "tried by hand and not measured: it needs an older llguidance than the one that is measured, and with transformers "
    "5.23 its first text comes and its second stops (ValueError: calling `crop` with a positive value)",
)


@dataclass(frozen=True)
class Suite:
    """What is written, and by what.

    Args:
        title: The headline of the report.
        module: The name of the program, and of the files that it writes.
        oracle: What a valid text is.
        tasks: In the order of the report.
        engines: In the order of the report.
        notes: What is no matter of this run: engine, note.
    """

    title: str
    module: str
    oracle: str
    tasks: Sequence[Task]
    engines: Mapping[str, type[GenerationEngine]]
    notes: Sequence[tuple[str, str]] = ()


@dataclass
class Bench:
    """A model with its engines.

    Args:
        rows: By pattern, by way.
        excluded: Engine and pattern that take no part in the rounds.
    """

    subject: Subject
    tasks: list[Task]
    engines: dict[str, GenerationEngine] = field(default_factory=dict)
    rows: dict[str, dict[str, Row]] = field(default_factory=dict)
    excluded: set[tuple[str, str]] = field(default_factory=set)


def main(suite: Suite) -> None:
    """Measure, print the report, and write it where asked to."""
    options = _options(suite)
    if options.redraw:
        data = json.loads(options.redraw.read_text(encoding="utf-8"))
        data["rows"] = [Row(**fields) for fields in data["rows"]]
        _write(Run(**data), suite.module, options.output or DOCS)
        return
    whole = not (options.model or options.pattern or options.engine or options.quick)
    run = _measure(suite, options)
    print(report(run))
    if options.output or whole:
        _write(run, suite.module, options.output or DOCS)


def _options(suite: Suite) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=f"python -m tests.bench.{suite.module}", description=suite.title)
    add = parser.add_argument
    add("--model", action="append", choices=["tiny", "gpt2"], help="only this one; may be repeated")
    add("--pattern", action="append", choices=[task.name for task in suite.tasks], metavar="NAME",
        help="only this one; may be repeated")  # fmt: skip
    add("--engine", action="append", choices=list(suite.engines), metavar="NAME",
        help="only sfgen and this; may be repeated")  # fmt: skip
    add("--rounds", type=int, default=15, metavar="N", help="interleaved rounds (default: 15)")
    add("--samples", type=int, default=100, metavar="N", help="texts that are checked besides (default: 100)")
    add("--threads", type=int, metavar="N", help="threads of torch (default: 1 for tiny, 2 for the other)")
    add("--quick", action="store_true", help="tiny only, 3 rounds, 10 samples")
    add("--output", type=Path, metavar="FOLDER", help=f"write {suite.module}.md, .svg and .json there")
    add("--redraw", type=Path, metavar="FILE", help="measure nothing; write the report of a file .json anew")
    options = parser.parse_args()
    if options.quick:
        options.model = options.model or ["tiny"]
        options.rounds, options.samples = min(options.rounds, 3), min(options.samples, 10)
    return options


def generation_patterns() -> dict[str, str]:
    """The patterns of whole generations."""
    every = patterns() | patterns("generation")
    return {name: every[name] for name in LIMITS}


def _measure(suite: Suite, options: argparse.Namespace) -> Run:
    import torch
    from transformers.utils import logging

    begun = time.monotonic()
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # its threads would not outlive a fork
    logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    torch.set_num_threads(1)  # until the last fork: more would not outlive it
    chosen = [task for task in suite.tasks if not options.pattern or task.name in options.pattern]
    versions, missing = _versions(suite, options.engine)
    notes = [(name, "not installed") for name in missing] + list(suite.notes)
    benches = []
    for key, make in (("tiny", tiny), ("gpt2", random_gpt2)):
        if options.model and key not in options.model:
            continue
        subject = make()
        left_out = () if options.pattern or key == "tiny" else ON_TINY_ONLY
        tasks = [task for task in chosen if task.name not in left_out]
        engines = {name: engine for name, engine in suite.engines.items() if name in versions}
        benches.append(_load(subject, tasks, engines))
    for bench in benches:
        _try_all(bench)
    samples_by = {}
    for bench in benches:
        subject = bench.subject
        threads = options.threads or THREADS[subject.name]
        torch.set_num_threads(threads)
        by_sketch = subject.name != "tiny"
        samples_by[subject.name] = (
            f"by {SKETCH if by_sketch else 'the model itself'}, sfgen's one by one with seeds of their own, the "
            "others' in batches of 20; fewer where an engine takes long"
        )
        for engine in bench.engines.values():
            with contextlib.suppress(Exception):  # its rows have the reason
                warm_up(engine, subject)
        for task in bench.tasks:
            _say(f"{subject.name} {task.name}: rounds")
            rows = bench.rows[task.name]
            taking_part = {
                name: engine for name, engine in bench.engines.items() if (name, task.name) not in bench.excluded
            }
            writers = measure_rounds(subject, task, taking_part, rows, options.rounds)
            _say(f"{subject.name} {task.name}: samples")
            count_valid(subject.sketch if by_sketch else subject.model, task, writers, rows, options.samples)
    notes += dict.fromkeys((name, e.note) for bench in benches for name, e in bench.engines.items() if e.note)
    return Run(
        rows=[row for bench in benches for rows in bench.rows.values() for row in rows.values()],
        patterns={task.name: task.pattern for task in chosen},
        limits={task.name: task.limit for task in chosen},
        prompt=PROMPT,
        rounds=options.rounds,
        threads={bench.subject.name: options.threads or THREADS[bench.subject.name] for bench in benches},
        seconds=time.monotonic() - begun,
        machine=machine(),
        versions={**{name: version(name) for name in ("torch", "transformers")}, **versions},
        interfaces={name: engine.interface for name, engine in suite.engines.items() if name in versions},
        notes=notes,
        samples_by=samples_by,
        title=suite.title,
        module=suite.module,
        oracle=suite.oracle,
    )


def _versions(suite: Suite, engines: Sequence[str] | None) -> tuple[dict[str, str], list[str]]:
    """The version of each engine that is installed, and those that are not."""
    found, missing = {}, []
    for name, engine in suite.engines.items():
        if engines and name not in (*engines, "sfgen"):
            continue
        try:
            found[name] = version(engine.package)
        except PackageNotFoundError:
            missing.append(name)
            _say(f"{name} is not installed and left out")
    if "outlines" in found:  # which is the same guide in its own processor
        found.pop("outlines-core", None)
    return found, missing


def _load(subject: Subject, tasks: list[Task], engines: Mapping[str, type[GenerationEngine]]) -> Bench:
    """Load the engines; one that fails has rows with the reason."""
    bench = Bench(subject, tasks)
    bench.rows = {task.name: rows_of([FREE, BASELINE, *engines], subject, task) for task in tasks}
    for name, engine in engines.items():
        _say(f"{subject.name}: loading {name}")
        try:
            bench.engines[name] = engine(subject)
        except Exception as error:
            for rows in bench.rows.values():
                rows[name].failure = reason(error)
    return bench


def _try_all(bench: Bench) -> None:
    """The first texts, before this process has threads that a fork would not have."""
    for task in bench.tasks:
        patience = math.inf
        for name, engine in bench.engines.items():
            row = bench.rows[task.name][name]
            if not try_out(engine, bench.subject, task, row, patience):
                bench.excluded.add((name, task.name))
            if name == "sfgen" and row.trial is not None:
                patience = PATIENCE * row.trial + 1
            trial = "" if row.trial is None else f"{row.trial:.2f} s"
            _say(f"{bench.subject.name} {task.name} {name}: first text {trial} {row.failure}"[:200])


def _say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def _write(run: Run, name: str, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.md").write_text(report(run), encoding="utf-8")
    (folder / f"{name}.svg").write_text(plot(run), encoding="utf-8")
    if folder.resolve() != DOCS.resolve():
        (folder / f"{name}.json").write_text(json.dumps(asdict(run), indent=1), encoding="utf-8")


if __name__ == "__main__":
    main(
        Suite(
            "Whole generations",
            "generation",
            "`re.fullmatch(pattern, text, re.ASCII)`",
            [Task(name, text, LIMITS[name]) for name, text in generation_patterns().items()],
            ENGINES,
            [TRIED],
        )
    )
