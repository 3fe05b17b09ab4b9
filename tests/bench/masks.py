"""What the mask of a state costs that is asked for the first time, and what memory all masks of a pattern take.

Usage: ``python -m tests.bench.masks``, for a part of it ``--vocabulary llama3 --pattern sentence``. sfgen keeps the
mask of a state, so what counts is the first visit: at every step of a hundred matching texts where sfgen comes to a
state for the first time, the mask is timed, and the same steps are timed of the engines that make a mask anew at each
step. All of them walk the same tokens, each from compiling the pattern on, so that nothing is left from a walk before.
They take turns in each round. A round is a fork of a process in which the engine and the vocabulary are loaded and
warmed by other patterns, and in it the whole is done three times: after a fork every page of memory costs microseconds
when it is first touched. Of a step the fastest of all times counts: whatever else the machine does only adds. Writes
``masks.md`` into ``tests/docs``. Tokenizers are found through SFGEN_TOKENIZERS, as for the other benchmarks.
"""

from __future__ import annotations

import argparse
import gc
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfgen import Dfa, Index, Vocabulary

from .engines import ENGINES, CannotRead, Compiled, Engine
from .isolation import MemoryGrowth, Send, run
from .measure import warm_up
from .patterns import patterns
from .texts import matching
from .vocabularies import NAMES, Cutter, find

DOCS = Path(__file__).parent.parent / "docs"
PEERS = ("llguidance", "xgrammar", "outlines-core")
TEXTS, TIMES = 100, 3
LARGE = r".{0,2000}"
TARGET, TARGET_BYTES = 300e-6, 50e6

Steps = list[tuple[list[int], list[bool]]]
"""The tokens of each text, and at which places sfgen makes a mask."""


@dataclass
class Visits:
    """What was measured of one engine on one pattern.

    Args:
        rounds: Seconds of each first visit, in each round.
        failure: Why there are none.
    """

    rounds: list[NDArray[np.float64]] = field(default_factory=list)
    failure: str = ""

    @property
    def best(self) -> NDArray[np.float64]:
        """Seconds of each first visit: the fastest of all rounds."""
        best: NDArray[np.float64] = np.minimum.reduce(self.rounds)
        return best

    def quantile(self, percent: float) -> float:
        """So many of a hundred first visits take no longer."""
        return float(np.percentile(self.best, percent))


@dataclass
class Memory:
    """All masks of a pattern; bytes.

    Args:
        states: How many states there are.
        masks: How many different masks.
        rows: What these take.
        growth: By how much the resident memory grew at most, the automaton and all work included.
    """

    states: int
    masks: int
    rows: int
    growth: int


def main() -> None:
    """Measure, print the tables and write them."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.masks", description=__doc__.partition("\n")[0])
    parser.add_argument("--vocabulary", action="append", help="of these only; may be given several times")
    parser.add_argument("--pattern", action="append", help="of patterns.toml; may be given several times")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limit", type=float, default=20, help="seconds that an engine may take for a pattern")
    arguments = parser.parse_args()
    every = patterns()
    chosen = {name: every[name] for name in arguments.pattern or every}
    parts = [
        "# Masks of states that are visited for the first time",
        "",
        f"At every step of {TEXTS} matching texts where sfgen comes to a state for the first time: microseconds, "
        f"p50 / p99 / most; of each step the fastest of {TIMES * arguments.rounds} times in one run. The masks of the "
        "others at the same steps. Written by `python -m tests.bench.masks`.",
        "",
    ]
    for name, folder in find(arguments.vocabulary or NAMES).items():
        cutter = Cutter(name, folder)
        parts += measured(cutter, chosen, arguments.rounds, arguments.limit)
    report = "\n".join(parts)
    print(report)
    if not arguments.vocabulary and not arguments.pattern:
        (DOCS / "masks.md").write_text(report, encoding="utf-8")


def measured(cutter: Cutter, chosen: dict[str, str], rounds: int, limit: float) -> list[str]:
    """The tables of one vocabulary, line by line."""
    vocabulary = cutter.vocabulary
    engines: dict[str, Engine] = {}
    for name in ("sfgen", *PEERS):
        engines[name] = ENGINES[name](vocabulary, cutter.json)
        warm_up(engines[name], vocabulary)
    gc.collect()
    gc.freeze()  # a collection in a fork would copy every page
    found: dict[str, dict[str, Visits]] = {}
    for title, pattern in chosen.items():
        steps = first_visits(pattern, [cutter.cut(text) for text in matching(pattern, TEXTS)], vocabulary)
        found[title] = {name: Visits() for name in engines}
        for _ in range(rounds):
            for name, engine in engines.items():
                take(found[title][name], engine, pattern, steps, limit)
    memory = all_masks(vocabulary)
    gc.unfreeze()
    return table(cutter.name, vocabulary, found, memory)


def first_visits(pattern: str, texts: Sequence[list[int]], vocabulary: Vocabulary) -> Steps:
    """At which steps of the texts, one after the other, an index comes to a new state."""
    index = Index(Dfa.from_regex(pattern), vocabulary)
    seen: set[int] = set()
    steps: Steps = []
    for tokens in texts:
        state, places = 0, []
        for token in [*tokens, None]:
            places.append(state not in seen)
            seen.add(state)
            if token is not None:
                state = index.next_state(state, token)
        steps.append((tokens, places))
    return steps


def take(visits: Visits, engine: Engine, pattern: str, steps: Steps, limit: float) -> None:
    """One round of an engine; none if an earlier one failed."""
    if visits.failure:
        return

    def work(send: Send) -> None:
        for number in range(TIMES):
            try:
                compiled = engine.compile(pattern)
            except CannotRead:
                send("failure", "refused")
                return
            times = first_times(compiled, steps)
            if times is None:
                send("failure", "wrong")
                return
            send(str(number), times)

    outcome = run(work, seconds=limit, memory=4 << 30)
    if outcome.stopped or outcome.failed or "failure" in outcome.results:
        visits.failure = outcome.results.get("failure") or (f"> {limit:.0f} s" if outcome.stopped else "breaks down")
    else:
        visits.rounds += outcome.results.values()


def first_times(compiled: Compiled, steps: Steps) -> NDArray[np.float64] | None:
    """Seconds of each mask that sfgen makes; ``None`` where the engine refuses a text that matches."""
    clock = time.perf_counter_ns
    times = []
    for tokens, places in steps:
        walk = compiled.start()
        for token, is_first in zip([*tokens, None], places, strict=True):
            started = clock()
            walk.mask()
            if is_first:
                times.append(clock() - started)
            if token is not None and walk.advance(token) is False:
                return None
    return np.array(times) / 1e9


def all_masks(vocabulary: Vocabulary) -> Memory:
    """The masks of all states of a large pattern, one after the other, as the guide of a sequence asks for them."""

    def work(send: Send) -> None:
        growth = MemoryGrowth()
        index = Index(Dfa.from_regex(LARGE), vocabulary)
        rows = {id(row): row.nbytes for row in map(index.row, range(len(index.dfa)))}  # equal masks are one object
        send("memory", Memory(len(index.dfa), len(rows), sum(rows.values()), growth.peak()))

    results = run(work, seconds=60, memory=4 << 30)
    memory: Any = results.results["memory"]
    assert isinstance(memory, Memory)
    return memory


def table(name: str, vocabulary: Vocabulary, found: dict[str, dict[str, Visits]], memory: Memory) -> list[str]:
    """The report of one vocabulary, as Markdown."""
    lines = [
        f"## {name}, {len(vocabulary):,} tokens",
        "",
        f"| pattern | first visits | sfgen | {' | '.join(PEERS)} |",
        f"| --- | ---: | ---: |{' ---: |' * len(PEERS)}",
    ]
    for title, visits in found.items():
        cells = [_cell(visits[engine]) for engine in ("sfgen", *PEERS)]
        lines.append(f"| {title} | {len(visits['sfgen'].best):,} | {' | '.join(cells)} |")
    slow = {title: visits["sfgen"].quantile(99) for title, visits in found.items()}
    worst = max(slow, key=slow.__getitem__)
    lines += [
        "",
        f"* p99 under {TARGET * 1e6:.0f} µs: {sum(value < TARGET for value in slow.values())} of {len(slow)} patterns; "
        f"most {slow[worst] * 1e6:.3g} µs, {worst}",
    ]
    for peer in PEERS[:2]:
        ratios = {
            title: visits[peer].quantile(99) / visits["sfgen"].quantile(99)
            for title, visits in found.items()
            if not visits[peer].failure
        }
        if ratios:
            least = min(ratios, key=ratios.__getitem__)
            lines.append(
                f"* p99 below {peer}'s: {sum(ratio > 1 for ratio in ratios.values())} of {len(ratios)} patterns; "
                f"least {ratios[least]:.3g} times, {least}"
            )
    lines += [
        f"* all masks of `{LARGE}`: {memory.states:,} states, {memory.masks} different masks of "
        f"{memory.rows / 1e6:.3g} MB; the resident memory grows by {memory.growth / 1e6:.3g} MB in all, "
        f"{'under' if memory.growth < TARGET_BYTES else 'not under'} {TARGET_BYTES / 1e6:.0f}",
        "",
    ]
    return lines


def _cell(visits: Visits) -> str:
    if visits.failure:
        return visits.failure
    return " / ".join(f"{value * 1e6:,.3g}" for value in (visits.quantile(50), visits.quantile(99), visits.best.max()))


if __name__ == "__main__":
    main()
