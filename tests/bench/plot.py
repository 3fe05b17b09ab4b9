"""The plot, as plain SVG: a panel for each quantity, a line for each pattern, a mark for each engine; logarithmic."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from .measure import Measurement
from .report import TITLES, Run

WIDTH, LABELS, GAP, ROW = 1160, 100, 40, 22
TOP, BOTTOM = 92, 34
STYLE = """
text { font: 12px system-ui, sans-serif; fill: #24292f }
.title { font-weight: 600 } .head { font-size: 15px; font-weight: 600 } .unit { fill: #57606a }
.grid { stroke: #d0d7de; stroke-width: 1 } .row { stroke: #eaeef2; stroke-width: 1 }
.sfgen { fill: #1a7f37 } .outlines-core { fill: #bc4c00 } .llguidance { fill: #0969da } .xgrammar { fill: #8250df }
.naive { fill: #6e7781 } .arrow { fill: none; stroke: #57606a; stroke-width: 1.5 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .unit { fill: #9198a1 } .grid { stroke: #3d444d } .row { stroke: #262c34 }
  .sfgen { fill: #3fb950 } .outlines-core { fill: #f0883e } .llguidance { fill: #58a6ff } .xgrammar { fill: #bc8cff }
  .naive { fill: #9198a1 } .arrow { stroke: #9198a1 }
}
"""
MARKS = {
    "sfgen": "M-5.5,0a5.5,5.5 0 1,0 11,0a5.5,5.5 0 1,0 -11,0z",
    "outlines-core": "M-4.5,-4.5h9v9h-9z",
    "llguidance": "M0,-5.5L5.5,4.5H-5.5z",
    "xgrammar": "M0,-6L5,0L0,6L-5,0z",
    "naive": "M-5,-1.5h3.5v-3.5h3v3.5h3.5v3h-3.5v3.5h-3v-3.5h-3.5z",
}
UNITS = {-9: "1 ns", -8: "10 ns", -7: "0.1 µs", -6: "1 µs", -5: "10 µs", -4: "0.1 ms", -3: "1 ms", -2: "10 ms",
         -1: "0.1 s", 0: "1 s", 1: "10 s", 2: "100 s", 3: "1000 s"}  # fmt: skip


class Panel(NamedTuple):
    """One quantity: what it is called, its field, and after which stopped phase it is only a lower bound."""

    title: str
    field: str
    bounded_by: str


PANELS = (
    Panel("pattern to first mask", "first", "compile"),
    Panel("one mask, median over walks", "mask_p50", ""),
    Panel("pattern to the masks of all states", "rows", "compile rows"),
)


def plot(run: Run) -> str:
    """The picture, of the Llama-3 vocabulary where it was measured and else of the first."""
    vocabulary = "llama3" if "llama3" in run.sizes else next(iter(run.sizes))
    measurements = [m for m in run.measurements if m.vocabulary == vocabulary]
    height = TOP + ROW * len(run.patterns) + BOTTOM
    width = (WIDTH - LABELS - GAP * len(PANELS)) / len(PANELS)
    heading = f"{TITLES.get(vocabulary, vocabulary)}, {run.sizes[vocabulary]:,} tokens; to the left is faster"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}">',
        f"<style>{STYLE}</style>",
        f'<text class="head" x="12" y="24">{escape(heading)}</text>',
        *_legend(run.engines),
    ]
    for number, pattern in enumerate(run.patterns):
        y = TOP + ROW * (number + 0.5)
        parts.append(f'<text x="{LABELS}" y="{y + 4:.1f}" text-anchor="end">{escape(pattern)}</text>')
        parts.append(f'<path class="row" d="M{LABELS + 8},{y:.1f}H{WIDTH - 10}"/>')
    for number, panel in enumerate(PANELS):
        left = LABELS + GAP + number * (width + GAP)
        parts += _panel(panel, measurements, list(run.patterns), run.engines, left, width - 20)
    return "\n".join([*parts, "</svg>\n"])


def _legend(engines: Sequence[str]) -> list[str]:
    parts, x = [], 20.0
    for engine in engines:
        parts.append(_mark(engine, x, 44))
        parts.append(f'<text x="{x + 11}" y="48">{escape(engine)}</text>')
        x += 34 + 7 * len(engine)
    parts.append(_arrow(x, 44) + f'<text class="unit" x="{x + 14}" y="48">stopped there</text>')
    return parts


def _panel(
    panel: Panel,
    measurements: Sequence[Measurement],
    patterns: Sequence[str],
    engines: Sequence[str],
    left: float,
    width: float,
) -> list[str]:
    points = []
    for m in measurements:
        seconds = getattr(m, panel.field)
        if seconds and not m.failure:
            points.append((m, seconds, bool(m.stopped) and m.stopped.split()[0] in panel.bounded_by.split()))
    parts = [f'<text class="title" x="{left:.1f}" y="{TOP - 24}">{escape(panel.title)}</text>']
    if not points:
        return parts
    low = math.floor(math.log10(min(seconds for _, seconds, _ in points)))
    high = max(low + 1, math.ceil(math.log10(max(seconds for _, seconds, _ in points))))
    bottom = TOP + ROW * len(patterns)
    for exponent in range(low, high + 1):
        x = left + width * (exponent - low) / (high - low)
        parts.append(f'<path class="grid" d="M{x:.1f},{TOP - 8}V{bottom + 4}"/>')
        if high - low <= 5 or (exponent - low) % 2 == 0:
            parts.append(
                f'<text class="unit" x="{x:.1f}" y="{bottom + 20}" text-anchor="middle">{UNITS[exponent]}</text>'
            )
    # The first engine is drawn last, on top.
    for m, seconds, stopped in sorted(points, key=lambda point: -engines.index(point[0].engine)):
        x = left + width * (math.log10(seconds) - low) / (high - low)
        y = TOP + ROW * (patterns.index(m.pattern) + 0.5)
        parts.append(_mark(m.engine, x, y))
        if stopped:
            parts.append(_arrow(x, y))
    return parts


def _mark(engine: str, x: float, y: float) -> str:
    return f'<path class="{engine}" transform="translate({x:.1f},{y:.1f})" d="{MARKS[engine]}"/>'


def _arrow(x: float, y: float) -> str:
    return f'<path class="arrow" transform="translate({x:.1f},{y:.1f})" d="M-4,0H9M5,-4L9,0L5,4"/>'
