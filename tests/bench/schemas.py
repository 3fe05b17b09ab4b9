"""Measure JSON schemas side by side with other engines, in one run.

Usage: ``python -m tests.bench.schemas``, for a part of it ``--vocabulary gpt2 --case person --engine sfgen --quick``.
Twenty schemas and the grammar of JSON; all engines walk the same tokens: those of written values, and those of random
walks on which all of them agree. They take turns in each round, and of a step the fastest round counts: whatever else
the machine does only adds. A whole run takes about 25 minutes and writes ``schemas.md`` into ``tests/docs``.
Tokenizers are found through SFGEN_TOKENIZERS, as for the other benchmarks.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import sys
import time
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from .cold import ColdStart, cold_starts
from .engines import Engine
from .machine import machine
from .schema_cases import CASES, WARM_UP, Case
from .schema_engines import ENGINES
from .schema_report import Run, report
from .schema_values import texts
from .vocabularies import EMBEDDED, NAMES, Cutter, find
from .walk_measure import Agreement, Measurement, Walks, measure, walk_together, warm_up

DOCS = Path(__file__).parent.parent / "docs"


def main() -> None:
    """Measure, print the report and write it."""
    options = _options()
    whole = not (options.vocabulary or options.case or options.engine or options.quick)
    found = report(_measure(options))
    print(found)
    if options.output or whole:
        folder = options.output or DOCS
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "schemas.md").write_text(found, encoding="utf-8")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.schemas", description=__doc__.partition("\n")[0])
    add = parser.add_argument
    add("--vocabulary", action="append", choices=[*NAMES, EMBEDDED], help="only this one; may be repeated")
    add("--case", action="append", choices=[case.name for case in CASES], metavar="NAME", help="only this schema")
    add("--engine", action="append", choices=list(ENGINES), help="only this one; may be repeated")
    add("--texts", type=int, default=30, metavar="N", help="written values of each schema (default: 30)")
    add("--walks", type=int, default=30, metavar="N", help="random walks through each (default: 30)")
    add("--rounds", type=int, default=5, metavar="N", help="interleaved rounds (default: 5)")
    add("--limit", type=float, default=30, metavar="SECONDS", help="how long a phase may take (default: 30)")
    add("--quick", action="store_true", help="GPT-2, 5 values, 5 walks, one round")
    add("--output", type=Path, metavar="FOLDER", help="write schemas.md there")
    options = parser.parse_args()
    if options.quick:
        options.vocabulary = options.vocabulary or ["gpt2"]
        options.texts, options.walks, options.rounds, options.limit = 5, 5, 1, 10
    return options


def _measure(options: argparse.Namespace) -> Run:
    begun = time.monotonic()
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # its threads would not outlive a fork
    cases = [case for case in CASES if not options.case or case.name in options.case]
    versions = _versions([name for name in ENGINES if not options.engine or name in options.engine])
    measurements: list[Measurement] = []
    agreements: list[Agreement] = []
    cold: list[ColdStart] = []
    sizes: dict[str, int] = {}
    for name, folder in find(options.vocabulary or NAMES).items():
        cutter = Cutter(name, folder)
        sizes[name] = len(cutter.vocabulary)
        if not cold:
            _say(f"cold start on {name}")
            cold = cold_starts(cutter.vocabulary, cutter.json, list(versions), schemas=True)
        engines = {engine: ENGINES[engine](cutter.vocabulary, cutter.json) for engine in versions}
        for engine in engines.values():
            warm_up(engine, cutter.vocabulary, WARM_UP)
        gc.collect()
        gc.freeze()  # a collection in a fork would copy every page
        for case in cases:
            found, agreement = _measure_case(cutter, engines, case, options)
            measurements += found
            agreements.append(agreement)
        gc.unfreeze()
    first = next(iter(sizes))
    seconds = time.monotonic() - begun
    return Run(
        measurements, agreements, cold, first, sizes, options.texts, options.walks, options.rounds, options.limit,
        seconds, machine(), versions,
    )  # fmt: skip


def _measure_case(
    cutter: Cutter, engines: dict[str, Engine], case: Case, options: argparse.Namespace
) -> tuple[list[Measurement], Agreement]:
    """One schema on one vocabulary."""
    vocabulary, schema = cutter.vocabulary, json.dumps(case.schema)
    end = vocabulary.end_token_ids[0]
    walks = Walks([[*cutter.cut(text), end] for text in texts(case.schema, options.texts)])
    found = {name: Measurement(name, cutter.name, case.name) for name in engines}
    # Once without the random walks, to learn who reads the schema at all, and in time.
    for name, engine in engines.items():
        trial = Measurement(name, cutter.name, case.name)
        measure(engine, vocabulary, schema, WARM_UP, walks, trial, options.limit)
        found[name].failure = trial.failure
    able = [engine for name, engine in engines.items() if not found[name].failure]
    together, agreement = walk_together(
        able, vocabulary, cutter.name, case.name, schema, options.walks, steps=150, limit=options.limit
    )
    walks = Walks(walks.texts, together)
    for _ in range(options.rounds):
        for name, engine in engines.items():
            measure(engine, vocabulary, schema, WARM_UP, walks, found[name], options.limit)
    for name, measurement in found.items():
        first = f"{1e3 * min(measurement.firsts):.2f} ms to the first mask" if measurement.firsts else ""
        _say(f"{cutter.name} {case.name} {name}: {first}{measurement.failure}"[:160])
    return list(found.values()), agreement


def _versions(engines: Sequence[str]) -> dict[str, str]:
    """The version of each engine that is installed."""
    found = {}
    for engine in engines:
        try:
            found[engine] = version(ENGINES[engine].package)
        except PackageNotFoundError:
            _say(f"{engine} is not installed and left out")
    return found


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
