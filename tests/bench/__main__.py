"""Measure the index side by side with other engines, in one run.

Usage: ``make bench``, or ``python -m tests.bench`` with options. Tokenizers are found through SFGEN_TOKENIZERS (default
``../shared/tokenizers``); without them the embedded model's vocabulary is measured. A whole run takes
about 20 minutes and writes ``bench.md`` and ``bench.svg`` into ``tests/docs``; a run of chosen items prints its report
only, unless it is told where to write it.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from .cold import ColdStart, cold_starts
from .engines import ENGINES
from .machine import machine
from .measure import Job, Measurement, Settings
from .patterns import patterns
from .plot import plot
from .report import Run, report
from .rounds import Server, measure_all
from .texts import matching, refused
from .vocabularies import EMBEDDED, NAMES, Cutter, find

PICTURES = Path(__file__).parent.parent / "docs"


def main() -> None:
    """Measure, print the report, and write it where asked to."""
    options = _options()
    if options.redraw:
        _write(_from_json(json.loads(options.redraw.read_text(encoding="utf-8"))), options.output or PICTURES)
        return
    whole = not (options.vocabulary or options.pattern or options.engine or options.quick)
    found = _measure(options)
    print(report(found))
    if options.output or whole:
        _write(found, options.output or PICTURES)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__.partition("\n")[0])
    add = parser.add_argument
    add("--vocabulary", action="append", choices=[*NAMES, EMBEDDED], help="only this one; may be repeated")
    add("--pattern", action="append", choices=list(patterns()), metavar="NAME", help="only this one; may be repeated")
    add("--engine", action="append", choices=list(ENGINES), help="only this one; may be repeated")
    add("--limit", type=float, default=60, metavar="SECONDS", help="how long a phase may take (default: 60)")
    add("--walks", type=int, default=100, metavar="N", help="walks through each pattern (default: 100)")
    add("--quick", action="store_true", help="GPT-2, 20 walks, no repeats, phases of at most 5 seconds")
    add("--output", type=Path, metavar="FOLDER", help="write bench.md, bench.svg and bench.json there")
    add("--redraw", type=Path, metavar="FILE", help="measure nothing; write the report of a bench.json anew")
    options = parser.parse_args()
    if options.quick:
        options.vocabulary = options.vocabulary or ["gpt2"]
        options.walks, options.limit = 20, 5
    return options


def _measure(options: argparse.Namespace) -> Run:
    begun = time.monotonic()
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # its threads would not outlive a fork
    chosen = {name: text for name, text in patterns().items() if not options.pattern or name in options.pattern}
    versions = _versions([name for name in ENGINES if not options.engine or name in options.engine])
    engines = list(versions)
    settings = Settings(
        limit=options.limit,
        walking=options.limit / 6,
        repeats=1 if options.quick else 7,
        memory=os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2,
    )
    texts = {name: (matching(text, options.walks), refused(text, 30)) for name, text in chosen.items()}
    measurements: list[Measurement] = []
    sizes: dict[str, int] = {}
    cold: list[ColdStart] = []
    for name, directory in find(options.vocabulary or NAMES).items():
        cutter = Cutter(name, directory)
        sizes[name] = len(cutter.vocabulary)
        if not cold:
            _say(f"cold start on {name}")
            cold = cold_starts(cutter.vocabulary, cutter.json, engines)
        jobs = [
            Job(title, chosen[title], name, list(map(cutter.cut, walks)), list(map(cutter.cut, others)))
            for title, (walks, others) in texts.items()
        ]
        servers = [Server(engine, cutter.vocabulary, cutter.json, settings) for engine in engines]
        try:
            measurements += measure_all(servers, jobs, settings, _show)
        finally:
            for server in servers:
                server.stop()
    seconds = time.monotonic() - begun
    first = next(iter(sizes))
    return Run(measurements, cold, first, chosen, sizes, settings, options.walks, seconds, machine(), versions)


def _show(found: Measurement) -> None:
    first = "" if found.first is None else f" {1e3 * found.first:.2f} ms to the first mask"
    _say(f"{found.vocabulary} {found.pattern} {found.engine}:{first} {found.failure or found.stopped}"[:160])


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


def _write(found: Run, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "bench.md").write_text(report(found), encoding="utf-8")
    (folder / "bench.svg").write_text(plot(found), encoding="utf-8")
    if folder.resolve() != PICTURES.resolve():
        (folder / "bench.json").write_text(json.dumps(asdict(found), indent=1), encoding="utf-8")


def _from_json(data: dict[str, Any]) -> Run:
    data["measurements"] = [Measurement(**fields) for fields in data["measurements"]]
    data["cold"] = [ColdStart(**fields) for fields in data["cold"]]
    data["settings"] = Settings(**data["settings"])
    return Run(**data)


if __name__ == "__main__":
    main()
