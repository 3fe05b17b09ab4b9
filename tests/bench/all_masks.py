"""What masks cost that are made when they are asked for: the first, each, all of them, and after loading a saved index.

Usage: ``python -m tests.bench.all_masks``; for a part of it ``--vocabulary llama3 --pattern sentence``. Every state of
an automaton is asked for its mask once, by rising number, from a new index; then a new index makes the masks of all
states; then the index is saved, loaded, and asked for the mask of its first state. With ``--before FOLDER``, another
checkout of sfgen, both are measured: their processes take turns, and both figures stand in the table. Of everything
the fastest of all times counts, in processor time, so that whatever else the machine does matters least. The section
of ``masks.md`` in ``tests/docs`` is replaced where everything is measured.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from sfgen import BannedWords, Dfa, Index, Vocabulary
from sfgen.ban.difference import without

from .isolation import Send, run
from .patterns import patterns
from .vocabularies import NAMES, Cutter, find

DOCS = Path(__file__).parent.parent / "docs"
ROOT = Path(__file__).parent.parent.parent
BEGIN = "# Masks of all states"
TIMES = 3
UNITS = {
    "first": 1e3,
    "p50": 1e6,
    "p99": 1e6,
    "slowest": 1e6,
    "all": 1e3,
    "bytes": 1e-3,
    "load": 1e3,
}
COLUMNS = {
    "states": "states",
    "first": "pattern to first mask, ms",
    "p50": "a mask p50, µs",
    "p99": "p99, µs",
    "slowest": "slowest, µs",
    "all": "all masks, ms",
    "bytes": "file, KB",
    "load": "load to first mask, ms",
}
CHOSEN = ("date", "url", "email", "pink_floyd", "identifier", "sentence", "json_string", "json_counted", "anything")
CHOSEN_LETTERS = ("an-e", "error", "a-then-b", "until", "no-vowels")


def cases() -> dict[str, Callable[[], Dfa]]:
    """Automata by name; each is made when it is its turn."""
    every = patterns()
    texts = {name: every[name] for name in CHOSEN}
    texts |= {f"letters {name}": patterns("letters")[name] for name in CHOSEN_LETTERS}
    texts |= {
        '`"[^"]{0,100}"`': '"[^"]{0,100}"',
        "`.{0,2000}`": ".{0,2000}",
        "`([a-z]{1,12} ){1,600}`": "([a-z]{1,12} ){1,600}",
    }
    made: dict[str, Callable[[], Dfa]] = {name: partial(Dfa.from_regex, pattern) for name, pattern in texts.items()}
    made["5000 choices"] = choices
    made["50 characters without 2 words"] = clean
    return made


def choices() -> Dfa:
    """Words of random letters."""
    letters_of = np.random.default_rng(5).integers(97, 123, (5000, 8), dtype=np.uint8)
    return Dfa.from_choices(sorted({row.tobytes().decode() for row in letters_of}))


def clean() -> Dfa:
    """The product of a pattern with a ban."""
    dfa = without(Dfa.from_regex(r"[^\n]{1,50}"), BannedWords(["talk", "listen"]))
    assert dfa is not None
    return dfa


def main() -> None:
    """Measure, print the table and write it."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.all_masks", description=__doc__.partition("\n")[0])
    parser.add_argument("--vocabulary", action="append", help="of these only; may be given several times")
    parser.add_argument("--pattern", action="append", help="of these only; may be given several times")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--before", type=Path, help="another checkout, measured in turns")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    names = arguments.pattern or [*cases()]
    if arguments.child:
        measure(arguments.vocabulary[0], names)
        return
    sides = {"after": ROOT} if arguments.before is None else {"before": arguments.before, "after": ROOT}
    lines = [
        BEGIN,
        "",
        "Each mask is made when it is asked for. Every state is asked once, by rising number; processor time, each the "
        f"fastest of {TIMES * arguments.rounds} in one run"
        + (", before / after masks were no longer stored" if len(sides) > 1 else "")
        + ". Written by `python -m tests.bench.all_masks`.",
        "",
    ]
    for vocabulary in find(arguments.vocabulary or NAMES):
        best: dict[str, dict[str, dict[str, Any]]] = {side: {} for side in sides}
        for _ in range(arguments.rounds):
            for side, folder in sides.items():
                merge(best[side], child(folder, vocabulary, names))
        lines += table(vocabulary, names, best)
        print("\n".join(lines), flush=True)
    if not arguments.vocabulary and not arguments.pattern:
        document = DOCS / "masks.md"
        rest = document.read_text(encoding="utf-8").partition(f"\n{BEGIN}\n")[0].rstrip("\n")
        document.write_text(f"{rest}\n\n" + "\n".join(lines), encoding="utf-8")


def child(folder: Path, vocabulary: str, names: list[str]) -> dict[str, dict[str, Any]]:
    """One round in a process of its own, with the library of a checkout."""
    command = [sys.executable, "-m", "tests.bench.all_masks", "--child", "--vocabulary", vocabulary]
    for name in names:
        command += ["--pattern", name]
    environment = {**os.environ, "PYTHONPATH": str(folder.resolve() / "core")}
    done = subprocess.run(command, env=environment, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, dict[str, Any]] = json.loads(done.stdout)
    return found


def merge(best: dict[str, dict[str, Any]], found: dict[str, dict[str, Any]]) -> None:
    """Keep the least of each figure, and of each state's mask."""
    for name, figures in found.items():
        kept = best.setdefault(name, figures)
        for key, value in figures.items():
            kept[key] = np.minimum(kept[key], value).tolist()


def table(vocabulary: str, names: list[str], best: dict[str, dict[str, dict[str, Any]]]) -> list[str]:
    """The report of one vocabulary, as Markdown."""
    lines = [
        f"## {vocabulary}: all states",
        "",
        f"| pattern | {' | '.join(COLUMNS.values())} |",
        f"| --- |{' ---: |' * len(COLUMNS)}",
    ]
    for name in names:
        cells = []
        for column in COLUMNS:
            values = [_figure(side[name], column) for side in best.values()]
            cells.append(" / ".join(dict.fromkeys(values) if column == "states" else values))
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return [*lines, ""]


def _figure(figures: dict[str, Any], column: str) -> str:
    if column == "states":
        return f"{len(figures['each']):,}"
    if column in ("p50", "p99", "slowest"):
        value = float(np.percentile(figures["each"], {"p50": 50, "p99": 99, "slowest": 100}[column]))
    else:
        value = figures[column]
    return f"{value * UNITS[column]:,.3g}"


# ---- the measuring process -------------------------------------------------------------------------------------------


def measure(name: str, names: list[str]) -> None:
    """Measure the cases over one vocabulary; print the figures as JSON."""
    vocabulary = Cutter(name, find([name])[name]).vocabulary
    made = cases()
    for warm in (r".*e.*", r"[a-z]{1,30}é|x", r'"[^"]*"'):
        index = Index(Dfa.from_regex(warm), vocabulary)
        index.build()
        for state in range(len(index.dfa)):
            Index(index.dfa, vocabulary).row(state)
        with tempfile.TemporaryDirectory() as folder:
            index.save(Path(folder) / "index")
            Index.load(Path(folder) / "index", vocabulary).row(0)
    gc.collect()
    gc.freeze()  # a collection in a fork would copy every page
    found = {}
    for case in names:

        def work(send: Send, make: Callable[[], Dfa] = made[case]) -> None:
            send("figures", figures(make, vocabulary))

        outcome = run(work, seconds=120, memory=4 << 30)
        if "figures" not in outcome.results:
            sys.exit(f"{case}: {outcome.failed or outcome.stopped}")
        found[case] = outcome.results["figures"]
    json.dump(found, sys.stdout)


def figures(make: Callable[[], Dfa], vocabulary: Vocabulary) -> dict[str, Any]:
    """Seconds and bytes of one automaton."""
    clock = time.process_time
    best: dict[str, Any] = {}

    def note(key: str, value: Any) -> None:
        best[key] = value if key not in best else np.minimum(best[key], value)

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "index"
        for _ in range(TIMES):
            started = clock()
            index = Index(make(), vocabulary)
            index.row(0)
            note("first", clock() - started)
            index = Index(index.dfa, vocabulary)
            each = []
            for state in range(len(index.dfa)):
                started = clock()
                index.row(state)
                each.append(clock() - started)
            note("each", np.array(each))
            index = Index(index.dfa, vocabulary)
            started = clock()
            index.build()
            note("all", clock() - started)
            index.save(path, force=True)
            note("bytes", path.stat().st_size)
            for _ in range(TIMES):
                started = clock()
                Index.load(path, vocabulary).row(0)
                note("load", clock() - started)
    return {key: np.asarray(value).tolist() for key, value in best.items()}


if __name__ == "__main__":
    main()
