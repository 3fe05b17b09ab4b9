"""How the cost of a step, and of an index, grows with the vocabulary: why the index exists.

Usage: ``python -m tests.bench.growth``. The first algorithm tries every token of the vocabulary with a partial match at
every step. An index does that work once for each state and then looks it up. Three engines read the same text over
parts of one vocabulary: the first algorithm and the index of the paper, as ``sfgen.reference`` writes them down, and
sfgen's own. All of them take turns in each round, and figures are medians. Writes ``growth.md`` and ``growth.svg`` into
``tests/docs``. Tokenizers are found through SFGEN_TOKENIZERS, as for the other benchmarks.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

from sfgen import Dfa, Index, Vocabulary
from sfgen.reference.fsm import FsmIndex
from sfgen.reference.naive import NaiveIndex

from .plot import STYLE, UNITS
from .vocabularies import Cutter, find

DOCS = Path(__file__).parent.parent / "docs"
PATTERN, TEXT = r"([0-9]+)?\.[0-9]+", "23.37"
STEPS = 6  # the five characters, and what may follow the last
SIZES = tuple(1000 * 2**power for power in range(9))
ENGINES = ("naive", "fsm", "fast")
TITLES = {
    "naive": "first algorithm: a partial match for every token",
    "fsm": "Algorithms 3 and 4 over interegular's FSM",
    "fast": "sfgen",
}


@dataclass
class Row:
    """What was measured of one engine on one vocabulary.

    Args:
        size: Tokens of the vocabulary.
        steps: Seconds of a step, mean over a text, one of each round.
        indexes: Seconds from the pattern to the tokens of every state; empty for an engine without an index.
    """

    engine: str
    size: int
    steps: list[float] = field(default_factory=list)
    indexes: list[float] = field(default_factory=list)


def main() -> None:
    """Measure, print the table and write it."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.growth", description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--largest", type=int, default=SIZES[-1], help="tokens of the largest vocabulary")
    arguments = parser.parse_args()
    name, folder = list(find(("gemma2",)).items())[-1]
    whole = Cutter(name, folder).vocabulary
    sizes = [size for size in (*SIZES, len(whole)) if size <= min(len(whole), arguments.largest)]
    rows = measure({size: part_of(whole, size) for size in sizes}, arguments.rounds)
    report = table(rows, name, arguments.rounds)
    print(report)
    (DOCS / "growth.md").write_text(report, encoding="utf-8")
    (DOCS / "growth.svg").write_text(plot(rows), encoding="utf-8")


def part_of(vocabulary: Vocabulary, size: int) -> Vocabulary:
    """So many tokens, spread over the vocabulary; every single byte and every character of the text is among them."""
    if size >= len(vocabulary):
        return vocabulary
    needed = [token for token in vocabulary.tokens if token is not None and len(token) == 1]
    others = [token for token in vocabulary.tokens if token is not None and len(token) > 1]
    count = size - len(needed)
    chosen = [others[number * len(others) // count] for number in range(count)]
    return Vocabulary([*needed, *chosen])


def measure(vocabularies: dict[int, Vocabulary], rounds: int) -> list[Row]:
    """A row for each engine and vocabulary."""
    makers: dict[str, Callable[[Vocabulary], Any]] = {"naive": _naive, "fsm": _fsm, "fast": _fast}
    rows = [Row(engine, size) for size in vocabularies for engine in ENGINES]
    for vocabulary in vocabularies.values():
        _fast(vocabulary)  # compiles the kernels, and makes the trie
    for _ in range(rounds):
        for row in rows:
            vocabulary = vocabularies[row.size]
            started = time.perf_counter()
            index = makers[row.engine](vocabulary)
            if row.engine != "naive":
                row.indexes.append(time.perf_counter() - started)
            row.steps.append(_step(index, row.engine, vocabulary))
    return rows


def _naive(vocabulary: Vocabulary) -> NaiveIndex:
    return NaiveIndex(PATTERN, vocabulary)


def _fsm(vocabulary: Vocabulary) -> FsmIndex:
    index = FsmIndex(PATTERN, vocabulary)
    for state in range(len(index)):
        index.transitions(state)
    return index


def _fast(vocabulary: Vocabulary) -> Index:
    index = Index(Dfa.from_regex(PATTERN), vocabulary)
    index.build()
    return index


def _step(index: Any, engine: str, vocabulary: Vocabulary) -> float:
    """Seconds of one step: what may follow, and to take a token; the mean over the text."""
    tokens = [vocabulary.tokens.index(character.encode()) for character in TEXT]
    repeats = 1 if engine == "naive" else 200
    started = time.perf_counter()
    for _ in range(repeats):
        guide = index.guide()
        following = guide.mask if engine == "fast" else guide.allowed_tokens
        for token in tokens:
            following()
            guide.advance(token)
        following()
    return (time.perf_counter() - started) / (STEPS * repeats)


def table(rows: Sequence[Row], vocabulary: str, rounds: int) -> str:
    """The report, as Markdown."""
    sizes = list(dict.fromkeys(row.size for row in rows))
    smallest, largest = sizes[0], sizes[-1]
    lines = [
        "# How the cost grows with the vocabulary",
        "",
        f"Pattern `{PATTERN}`, text `{TEXT}`, parts of the vocabulary {vocabulary}; medians of {rounds} rounds in one "
        "run. A step is to ask what may follow and to take a token; the index is everything from the pattern to the "
        "tokens of all states. Written by `python -m tests.bench.growth`.",
        "",
        "| tokens | step: naive | step: fsm | step: sfgen | index: fsm | index: sfgen |",
        "| ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    found = {(row.engine, row.size): row for row in rows}
    for size in sizes:
        steps = [_shown(statistics.median(found[engine, size].steps)) for engine in ENGINES]
        indexes = [_shown(statistics.median(found[engine, size].indexes)) for engine in ENGINES[1:]]
        lines.append(f"| {size:,} | {' | '.join([*steps, *indexes])} |")
    grown = {engine: _median_ratio(found[engine, largest].steps, found[engine, smallest].steps) for engine in ENGINES}
    lines += [
        "",
        f"From {smallest:,} to {largest:,} tokens ({largest / smallest:.0f} times) a step takes "
        + ", ".join(f"{grown[engine]:.3g} times ({engine})" for engine in ENGINES)
        + " as long.",
        "",
    ]
    return "\n".join(lines)


def _median_ratio(one: Sequence[float], other: Sequence[float]) -> float:
    return statistics.median(one) / statistics.median(other)


def _shown(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


# ---- the picture -----------------------------------------------------------------------------------------------------

WIDTH, HEIGHT, LEFT, TOP, BOTTOM, GAP = 960, 360, 70, 84, 44, 90


def plot(rows: Sequence[Row]) -> str:
    """Two panels, logarithmic both ways: a step, and an index, against the size of the vocabulary."""
    import math

    width = (WIDTH - 2 * LEFT - GAP) / 2
    sizes = sorted({row.size for row in rows})
    low, high = math.log10(sizes[0]), math.log10(sizes[-1])
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}">',
        f"<style>{STYLE}{LINES}</style>",
    ]
    x = 20.0
    for engine in ENGINES:
        parts.append(f'<path class="line {engine}-line" d="M{x},24h22"/>')
        parts.append(f'<text x="{x + 28}" y="28">{escape(TITLES[engine])}</text>')
        x += 60 + 6.4 * len(TITLES[engine])
    for number, (title, name) in enumerate((("one step", "steps"), ("pattern to the tokens of all states", "indexes"))):
        left = LEFT + number * (width + GAP)
        points = {
            engine: [(row.size, statistics.median(values)) for row in rows if row.engine == engine
                     and (values := getattr(row, name))]
            for engine in ENGINES
        }  # fmt: skip
        values = [seconds for line in points.values() for _, seconds in line]
        bottom, top = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
        parts.append(f'<text class="title" x="{left:.1f}" y="{TOP - 20}">{escape(title)}</text>')
        for exponent in range(bottom, top + 1):
            y = HEIGHT - BOTTOM - (exponent - bottom) / (top - bottom) * (HEIGHT - BOTTOM - TOP)
            parts.append(f'<path class="grid" d="M{left:.1f},{y:.1f}h{width:.1f}"/>')
            parts.append(
                f'<text class="unit" x="{left - 8:.1f}" y="{y + 4:.1f}" text-anchor="end">{UNITS[exponent]}</text>'
            )
        for size in (1000, 10_000, 100_000):
            if low <= math.log10(size) <= high:
                at = left + (math.log10(size) - low) / (high - low) * width
                parts.append(
                    f'<text class="unit" x="{at:.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{size:,}</text>'
                )
        parts.append(
            f'<text class="unit" x="{left + width / 2:.1f}" y="{HEIGHT - 8}" text-anchor="middle">'
            "tokens of the vocabulary</text>"
        )
        for engine, line in points.items():
            way = "L".join(
                f"{left + (math.log10(size) - low) / (high - low) * width:.1f},"
                f"{HEIGHT - BOTTOM - (math.log10(seconds) - bottom) / (top - bottom) * (HEIGHT - BOTTOM - TOP):.1f}"
                for size, seconds in line
            )
            if way:
                parts.append(f'<path class="line {engine}-line" d="M{way}"/>')
    return "\n".join([*parts, "</svg>\n"])


LINES = """
.line { fill: none; stroke-width: 2.5; stroke-linejoin: round }
.naive-line { stroke: #6e7781; stroke-dasharray: 2 4 } .fsm-line { stroke: #bc4c00; stroke-dasharray: 8 4 }
.fast-line { stroke: #1a7f37 }
@media (prefers-color-scheme: dark) {
  .naive-line { stroke: #9198a1 } .fsm-line { stroke: #f0883e } .fast-line { stroke: #3fb950 }
}
"""


if __name__ == "__main__":
    main()
