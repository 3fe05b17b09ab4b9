"""The plot of whole generations, as plain SVG: a panel for each model, a line for each pattern, a mark for each way."""

from __future__ import annotations

import math
import statistics
from html import escape

from .generation_measure import BASELINE, FREE
from .generation_report import Run
from .plot import MARKS, STYLE

WIDTH, LABELS, GAP, ROW, TOP, BOTTOM = 1160, 90, 50, 40, 92, 40
TICKS = (0.1, 0.2, 0.5, 1, 2, 4, 8)
LOOKS = {
    "sfgen": ("sfgen", "sfgen"),
    "sfgen, no jump-forward tokens": ("plain", "sfgen"),
    FREE: ("naive", "naive"),
    "outlines": ("outlines-core", "outlines-core"),
    "outlines-core": ("outlines-core", "outlines-core"),
    "lm-format-enforcer": ("enforcer", "llguidance"),
    "xgrammar": ("xgrammar", "xgrammar"),
    "llguidance": ("llguidance", "llguidance"),
}
"""The style and the mark of each way."""
MORE_STYLE = """
.plain { fill: none; stroke: #1a7f37; stroke-width: 1.5 } .enforcer { fill: #bf3989 }
.spread { stroke: #8c959f; stroke-width: 1.5 } .base { stroke: #57606a; stroke-width: 1.5; stroke-dasharray: 4 3 }
@media (prefers-color-scheme: dark) {
  .plain { stroke: #3fb950 } .enforcer { fill: #f778ba } .spread { stroke: #656c76 } .base { stroke: #9198a1 }
}
"""


def plot(run: Run) -> str:
    """The picture."""
    subjects = run.subjects
    tasks = list(dict.fromkeys(task for subject in subjects for task in run.tasks(subject)))
    ways = [way for way in LOOKS if any(row.way == way and row.speeds for row in run.rows)]
    height = TOP + ROW * len(tasks) + BOTTOM
    heading = "Characters a second, against the same text one token a forward pass (1); to the right is faster"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}">',
        f"<style>{STYLE}{MORE_STYLE}</style>",
        f'<text class="head" x="12" y="24">{escape(heading)}</text>',
    ]
    x = 20.0
    for way in ways:
        parts.append(_mark(way, x, 44) + f'<text x="{x + 11}" y="48">{escape(way)}</text>')
        x += 34 + 6.4 * len(way)
    for number, task in enumerate(tasks):
        y = TOP + ROW * (number + 0.5)
        parts.append(f'<text x="{LABELS}" y="{y + 4:.1f}" text-anchor="end">{escape(task)}</text>')
    width = (WIDTH - LABELS - GAP * len(subjects)) / len(subjects)
    for number, subject in enumerate(subjects):
        parts += _panel(run, subject, tasks, ways, LABELS + 20 + number * (width + GAP), width)
    return "\n".join([*parts, "</svg>\n"])


def _panel(run: Run, subject: str, tasks: list[str], ways: list[str], left: float, width: float) -> list[str]:
    spreads: dict[tuple[str, str], tuple[float, float, float]] = {}
    for task in tasks:
        for way in ways:
            found = run.ratios(subject, task, way, BASELINE)
            if found:
                low, high = (min(found), max(found)) if len(found) < 3 else statistics.quantiles(found, n=4)[::2]
                spreads[task, way] = low, statistics.median(found), high
    parts = [f'<text class="title" x="{left:.1f}" y="{TOP - 24}">{escape(subject)}</text>']
    if not spreads:
        return parts
    least = min(low for low, _, _ in spreads.values())
    most = max(high for _, _, high in spreads.values())
    ticks = [tick for tick in TICKS if least / 2 < tick < most * 2]
    start, end = min(least, ticks[0]) * 0.9, max(most, ticks[-1]) * 1.1

    def place(ratio: float) -> float:
        return left + width * math.log(ratio / start) / math.log(end / start)

    bottom = TOP + ROW * len(tasks)
    for tick in ticks:
        x, style = place(tick), "base" if tick == 1 else "grid"
        parts.append(f'<path class="{style}" d="M{x:.1f},{TOP - 8}V{bottom + 4}"/>')
        parts.append(f'<text class="unit" x="{x:.1f}" y="{bottom + 22}" text-anchor="middle">{tick:g}</text>')
    for number, task in enumerate(tasks):
        present = [way for way in ways if (task, way) in spreads]
        for place_in_row, way in enumerate(present):
            low, middle, high = spreads[task, way]
            y = TOP + ROW * (number + (place_in_row + 1) / (len(present) + 1))  # a little apart, so that none hides
            parts.append(f'<path class="spread" d="M{place(low):.1f},{y:.1f}H{place(high):.1f}"/>')
            parts.append(_mark(way, place(middle), y))
        parts.append(f'<path class="row" d="M{left:.1f},{TOP + ROW * (number + 1)}h{width:.1f}"/>')
    return parts


def _mark(way: str, x: float, y: float) -> str:
    style, mark = LOOKS[way]
    return f'<path class="{style}" transform="translate({x:.1f},{y:.1f}) scale(0.8)" d="{MARKS[mark]}"/>'
