"""What the first mask costs where a common letter is singled out, against that of any text, ``.+``.

Usage: ``python -m tests.bench.letters``; ``--before FOLDER`` measures another checkout of sfgen as well, in turns with
this one. Each round is a new process for each of them, in which the kernels are loaded and warmed by other patterns;
in it every state of each pattern is asked for once in a new index, several times over, the patterns taking turns. Of a
state the fastest of all times counts, in processor time, so that whatever else the machine does matters least. Writes
``letters.md`` into ``tests/docs``. Tokenizers are found through SFGEN_TOKENIZERS, as for the other benchmarks.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

from sfgen import Dfa, Index

from .machine import machine
from .patterns import patterns
from .vocabularies import NAMES, Cutter, find

DOCS = Path(__file__).parent.parent / "docs"
ROOT = Path(__file__).resolve().parents[2]
BASE = "anything"
WARM_UP = ("aa[^\n]*", r"[^\n]{1,3}a\.?", ".*x[^z]*")
TIMES = 7
TARGET = 3.0

Costs = dict[str, list[float]]
"""Microseconds of the first mask of each state of each pattern, by the pattern's name; the start is the first state."""


def main() -> None:
    """Measure, print the tables and write them."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.letters", description=__doc__.partition("\n")[0])
    parser.add_argument("--vocabulary", action="append", help="of these only; may be given several times")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--before", type=Path, metavar="FOLDER", help="another checkout, to compare with")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        print(json.dumps(costs(Cutter(arguments.child, find([arguments.child])[arguments.child]))))
        return
    parts = [
        "# First masks where a common letter is singled out",
        "",
        "Microseconds of processor time for the mask of the start, and of the state where it takes longest, each asked "
        f"for the first time; the fastest of {TIMES * arguments.rounds}. In brackets how many times that of the start "
        f"of `{patterns('letters')[BASE]}`. Written by `python -m tests.bench.letters` on {machine()}.",
        "",
    ]
    for name in find(arguments.vocabulary or NAMES):
        trees = {"now": ROOT} | ({"before": arguments.before} if arguments.before else {})
        found: dict[str, list[Costs]] = {tree: [] for tree in trees}
        for _ in range(arguments.rounds):
            for tree, folder in trees.items():
                found[tree].append(measured(name, folder))
        parts += table(name, {tree: fastest(rounds) for tree, rounds in found.items()})
    report = "\n".join(parts)
    print(report)
    if not arguments.vocabulary:
        (DOCS / "letters.md").write_text(report, encoding="utf-8")


def measured(name: str, folder: Path) -> Costs:
    """One round in a process of its own, with the library in ``folder``."""
    result = subprocess.run(
        [sys.executable, "-m", "tests.bench.letters", "--child", name],
        cwd=ROOT, env=os.environ | {"PYTHONPATH": str(folder / "core")}, stdout=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    found: Costs = json.loads(result.stdout)
    return found


def costs(cutter: Cutter) -> Costs:
    """One round in this process."""
    vocabulary = cutter.vocabulary
    for pattern in WARM_UP:
        index = Index(Dfa.from_regex(pattern), vocabulary)
        for state in range(len(index.dfa)):
            index.row(state)
    automata = {name: Dfa.from_regex(pattern) for name, pattern in patterns("letters").items()}
    found = {name: [float("inf")] * len(dfa) for name, dfa in automata.items()}
    clock = time.process_time_ns
    for _ in range(TIMES):
        for name, dfa in automata.items():
            index = Index(dfa, vocabulary)
            for state in range(len(dfa)):
                started = clock()
                index.row(state)
                found[name][state] = min(found[name][state], (clock() - started) / 1000)
    return found


def fastest(rounds: list[Costs]) -> Costs:
    """The fastest of all rounds, state by state."""
    return {name: [min(times) for times in zip(*(each[name] for each in rounds), strict=True)] for name in rounds[0]}


def table(name: str, found: dict[str, Costs]) -> list[str]:
    """The table of one vocabulary, line by line."""
    head = [f"{what}{'' if tree == 'now' else ', before'}" for tree in found for what in ("start", "slowest state")]
    lines = [f"## {name}", "", f"| pattern | {' | '.join(head)} |", f"| --- |{' ---: |' * len(head)}"]
    ratios = []
    for title, pattern in patterns("letters").items():
        cells = []
        for tree, each in found.items():
            base = each[BASE][0]
            shown = each[title][0], max(each[title])
            cells += [f"{cost:,.0f} ({cost / base:.1f})" for cost in shown]
            if tree == "now" and title != BASE:
                ratios.append(max(shown) / base)
        shown_pattern = pattern.replace("|", "\\|")
        lines.append(f"| `{shown_pattern}` | {' | '.join(cells)} |")
    lines += ["", f"* under {TARGET:g} times: {sum(ratio < TARGET for ratio in ratios)} of {len(ratios)} patterns", ""]
    return lines


if __name__ == "__main__":
    main()
