"""Measure grammars side by side with other engines, in one run.

Usage: ``python -m tests.bench.grammars``, for a part of it ``--vocabulary gpt2 --case json --engine sfgen --quick``.
Grammars of JSON, of sums, of a part of SQL and of Python without indentation, for each engine in a form that it reads;
all engines walk the same tokens: those of texts that are right, and those of random walks on which all of them agree.
They take turns in each round, and of a step the fastest round counts: whatever else the machine does only adds. A
whole run takes about 15 minutes and writes ``grammars.md`` into ``tests/docs``. Tokenizers are found through
SFGEN_TOKENIZERS, as for the other benchmarks.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import tempfile
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from .engines import Engine
from .grammar_cases import CASES, WARM_UP, Case
from .grammar_engines import ENGINES
from .grammar_report import Run, report
from .machine import machine
from .vocabularies import EMBEDDED, NAMES, Cutter, find
from .walk_measure import Measurement, Walks, measure, walk_together, warm_up

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "tests" / "docs"
WARM = [WARM_UP.file]
FEW = 3
"""Texts for an engine that does not finish all of them in time."""


def main() -> None:
    """Measure, print the report and write it."""
    options = _options()
    whole = not (options.vocabulary or options.case or options.engine or options.quick)
    found = report(_measure(options))
    print(found)
    if options.output or whole:
        folder = options.output or DOCS
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "grammars.md").write_text(found, encoding="utf-8")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.grammars", description=__doc__.partition("\n")[0])
    add = parser.add_argument
    add("--vocabulary", action="append", choices=[*NAMES, EMBEDDED], help="only this one; may be repeated")
    add("--case", action="append", choices=[case.file for case in CASES], metavar="NAME", help="only this grammar")
    add("--engine", action="append", choices=list(ENGINES), help="only this one; may be repeated")
    add("--texts", type=int, default=30, metavar="N", help="texts of each grammar (default: 30)")
    add("--walks", type=int, default=30, metavar="N", help="random walks through each (default: 30)")
    add("--rounds", type=int, default=5, metavar="N", help="interleaved rounds (default: 5)")
    add("--limit", type=float, default=60, metavar="SECONDS", help="how long a phase may take (default: 60)")
    add("--quick", action="store_true", help="GPT-2, 8 texts, 8 walks, one round")
    add("--output", type=Path, metavar="FOLDER", help="write grammars.md there")
    options = parser.parse_args()
    if options.quick:
        options.vocabulary = options.vocabulary or ["gpt2"]
        options.texts, options.walks, options.rounds = 8, 8, 1
    return options


def _measure(options: argparse.Namespace) -> Run:
    begun = time.monotonic()
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # its threads would not outlive a fork
    cases = [case for case in CASES if not options.case or case.file in options.case]
    engines = _installed([name for name in ENGINES if not options.engine or name in options.engine])
    run = Run({}, FEW, options.texts, options.walks, options.rounds, options.limit, machine(), engines)
    for name, folder in find(options.vocabulary or NAMES).items():
        cutter = Cutter(name, folder)
        run.sizes[name] = len(cutter.vocabulary)
        with tempfile.TemporaryDirectory() as cache:
            os.environ["XDG_CACHE_HOME"] = cache  # nothing is ready from another run
            loaded = {engine: ENGINES[engine](cutter.vocabulary, cutter.json) for engine in engines}
            for engine in loaded.values():
                warm_up(engine, cutter.vocabulary, WARM)
            gc.collect()
            gc.freeze()  # a collection in a fork would copy every page
            for case in cases:
                _measure_case(run, cutter, loaded, case, options)
            gc.unfreeze()
    run.seconds = time.monotonic() - begun
    return run


def _measure_case(
    run: Run, cutter: Cutter, engines: dict[str, Engine], case: Case, options: argparse.Namespace
) -> None:
    """One grammar on one vocabulary."""
    vocabulary = cutter.vocabulary
    end = vocabulary.end_token_ids[0]
    walks = Walks([[*cutter.cut(text), end] for text in case.texts(options.texts)])
    found = {name: Measurement(name, cutter.name, case.name) for name in engines}
    # Once without the random walks: who reads the grammar at all, and how long it takes where nothing was kept on disk.
    for name, engine in engines.items():
        trial = Measurement(name, cutter.name, case.name)
        measure(engine, vocabulary, case.file, WARM, walks, trial, options.limit)
        if trial.failure.startswith("> "):
            measure(engine, vocabulary, case.file, WARM, Walks(walks.texts[:FEW]), found[name], options.limit)
            run.slow.append((cutter.name, case.name, name))
            continue
        found[name].failure = trial.failure
        run.new[cutter.name, case.name, name] = trial
    quick = [name for name in engines if (cutter.name, case.name, name) not in run.slow]
    able = [engines[name] for name in quick if not found[name].failure]
    together, agreement = walk_together(
        able, vocabulary, cutter.name, case.name, case.file, options.walks, steps=150, limit=options.limit
    )
    walks = Walks(walks.texts, together)
    for _ in range(options.rounds):
        for name in quick:
            measure(engines[name], vocabulary, case.file, WARM, walks, found[name], options.limit)
    for name, measurement in found.items():
        first = f"{1e3 * min(measurement.firsts):.2f} ms to the first mask" if measurement.firsts else ""
        _say(f"{cutter.name} {case.name} {name}: {first}{measurement.failure}"[:160])
    run.measurements += found.values()
    run.agreements.append(agreement)


def _installed(engines: list[str]) -> dict[str, str]:
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
