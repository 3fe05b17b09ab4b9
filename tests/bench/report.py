"""The report in Markdown: targets, means, cold start, and a table for each quantity and vocabulary."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .cold import ColdStart
from .engines import ENGINES
from .measure import Measurement, Settings
from .tables import markdown_table
from .targets import judge, mean, ratios

TITLES = {"gpt2": "GPT-2", "llama3": "Llama-3", "gemma2": "Gemma-2", "tiny": "The embedded model"}


@dataclass(frozen=True)
class Run:
    """Everything that one run found out.

    Args:
        measurements: In the order of vocabularies, engines and patterns.
        cold: Cold starts.
        cold_vocabulary: The vocabulary of the cold starts.
        patterns: Name and text of each pattern.
        sizes: Vocabularies and the number of their tokens.
        settings: How much was measured.
        walks: Walks for each pattern.
        seconds: How long it took.
        machine: Where it ran.
        versions: The version of the library behind each engine.
    """

    measurements: Sequence[Measurement]
    cold: Sequence[ColdStart]
    cold_vocabulary: str
    patterns: dict[str, str]
    sizes: dict[str, int]
    settings: Settings
    walks: int
    seconds: float
    machine: str
    versions: dict[str, str]

    @property
    def engines(self) -> list[str]:
        return list(dict.fromkeys(m.engine for m in self.measurements))


def report(run: Run) -> str:
    """The whole report."""
    parts = ["<!-- Written by `make bench`. -->", _how(run), _targets(run), _means(run), _cold(run)]
    for name, size in run.sizes.items():
        parts.append(f"### {TITLES.get(name, name)}, {size:,} tokens")
        of_vocabulary = [m for m in run.measurements if m.vocabulary == name]
        parts += [_first(run, of_vocabulary), _masks(run, of_vocabulary), _rows(run, of_vocabulary)]
        parts.append(_memory(run, of_vocabulary))
    parts += [_notes(run), _patterns(run)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _how(run: Run) -> str:
    settings = run.settings
    lines = [f"One run of {run.seconds / 60:.0f} minutes on {run.machine}.", ""]
    lines += [
        f"* {name}: {ENGINES[name].package} {run.versions[name]}. {ENGINES[name].interface}" for name in run.engines
    ]
    lines += [
        "",
        f"Every engine has the same bytes for the same token ids. Each pattern is measured in a fork of a process in "
        f"which the engine and the vocabulary are loaded and warmed by other patterns, so nothing is left from a run "
        f"before. Compile, first mask and all masks: the fastest of {settings.repeats} such processes, of fewer where "
        f"it takes long. Masks: {run.walks} texts that match, cut by the vocabulary's own "
        f"tokenizer, the same tokens for every engine; first visits are included; taking the token is timed apart. "
        f"Walking ends after {settings.walking:.0f} s. A phase is stopped after {settings.limit:.0f} s; ratios against "
        f"it are lower bounds, marked >. Memory: growth of the peak resident memory from before compiling, over "
        f"compile, all masks and the walks. An engine's times count only if it allows every token of the matching "
        f"texts and refuses texts that `re` refuses.",
    ]
    return "\n".join(lines)


def _targets(run: Run) -> str:
    rows = [[judged.target, f"**{judged.result}**", judged.measured] for judged in judge(run.measurements)]
    return "### Targets\n\n" + markdown_table(["target", "", "measured"], rows, numbers=False)


def _means(run: Run) -> str:
    quantities = [
        ("pattern to first mask", "first", "first"),
        ("mask p50", "mask_p50", "mask_p50"),
        ("mask p99", "mask_p99", "mask_p99"),
        ("pattern to all masks", "rows", "rows"),
        ("masks alone, against the whole index", "rows_alone", "rows"),
        ("peak memory", "memory", "memory"),
    ]
    rows = []
    for other in run.engines:
        for title, field, other_field in quantities if other != "sfgen" else ():
            if "rows" in field and other != "outlines-core":
                continue
            cells = []
            for name in run.sizes:
                found = ratios([m for m in run.measurements if m.vocabulary == name], other, field, other_field)
                cells.append(f"{mean(found)} ({len(found)})" if found else "–")
            rows.append([f"{other}: {title}", *cells])
    if not rows:
        return ""
    head = ["against", *(TITLES.get(name, name) for name in run.sizes)]
    title = "### How many times sfgen is faster or smaller: geometric means (number of patterns)"
    return f"{title}\n\n{markdown_table(head, rows)}"


def _cold(run: Run) -> str:
    if not run.cold:
        return ""
    rows = [[c.title, *(_milliseconds(value) for value in (c.load, c.first, c.second))] for c in run.cold]
    head = ["ms", "import, load vocabulary", "first pattern to mask", "second pattern to mask"]
    title = TITLES.get(run.cold_vocabulary, run.cold_vocabulary)
    return f"### Cold start: a new process, {title}\n\n{markdown_table(head, rows)}"


def _first(run: Run, measurements: Sequence[Measurement]) -> str:
    def cell(m: Measurement) -> str:
        if m.stopped.startswith("compile"):
            return _over(m)
        return f"{_milliseconds(m.first)} ({_milliseconds(m.compile)})"

    return _by_engine(run, measurements, "pattern to first mask (of which compile), ms", cell)


def _masks(run: Run, measurements: Sequence[Measurement]) -> str:
    def cell(m: Measurement) -> str:
        return "–" if m.mask_p50 is None else f"{_microseconds(m.mask_p50)} / {_microseconds(m.mask_p99)}"

    table = _by_engine(run, measurements, "mask, p50 / p99, µs", cell)
    advance = []
    for engine in run.engines:
        found = [m.advance_p50 for m in measurements if m.engine == engine and m.advance_p50]
        advance.append(_microseconds(statistics.median(found)) if found else "–")
    return f"{table}\n| *take a token, p50, median of patterns* | " + " | ".join(advance) + " |"


def _rows(run: Run, measurements: Sequence[Measurement]) -> str:
    found = {(m.engine, m.pattern): m for m in measurements}
    rows = []
    for pattern in run.patterns:
        mine, theirs = found.get(("sfgen", pattern)), found.get(("outlines-core", pattern))
        if mine is None:
            return ""
        pair = [m for m in (mine, theirs) if m]
        whole, alone = ratios(pair, "outlines-core", "rows"), ratios(pair, "outlines-core", "rows_alone", "rows")
        rows.append(
            [
                pattern,
                f"{mine.states:,}" if mine.states else "–",
                _over(mine) if mine.stopped.startswith("rows") else _failed(mine) or _milliseconds(mine.rows),
                _milliseconds(mine.rows_alone),
                "–" if theirs is None else _failed(theirs) or (_over(theirs) or _milliseconds(theirs.rows)),
                str(whole[0]) if whole else "–",
                str(alone[0]) if alone else "–",
            ]
        )
    head = ["masks of all states, ms", "states", "sfgen: compile + masks", "masks alone", "outlines-core: Index",
            "ratio", "ratio, masks alone"]  # fmt: skip
    return markdown_table(head, rows)


def _memory(run: Run, measurements: Sequence[Measurement]) -> str:
    def cell(m: Measurement) -> str:
        if m.memory is None:
            return "–"
        return f"{'> ' if m.stopped else ''}{_figure(m.memory / 1e6)}"

    return _by_engine(run, measurements, "peak memory, MB", cell)


def _by_engine(run: Run, measurements: Sequence[Measurement], title: str, cell: Callable[[Measurement], str]) -> str:
    found = {(m.pattern, m.engine): m for m in measurements}
    rows = []
    for pattern in run.patterns:
        cells = [found.get((pattern, engine)) for engine in run.engines]
        rows.append([pattern, *("–" if m is None else _failed(m) or cell(m) for m in cells)])
    return markdown_table([title, *run.engines], rows)


def _failed(m: Measurement) -> str:
    if not m.failure:
        return ""
    return {"CannotRead": "refused", "reads it wrongly": "wrong"}.get(m.failure.split(":")[0], "failed")


def _over(m: Measurement) -> str:
    return f"> {m.stopped.split('over ')[1]}" if m.stopped else ""


def _notes(run: Run) -> str:
    """What was stopped, refused, read wrongly or broke down; once for vocabularies that agree."""
    notes: dict[tuple[str, str, str], list[str]] = {}
    for m in run.measurements:
        if m.failure or m.stopped:
            key = (m.engine, m.pattern, " ".join((m.failure or f"stopped: {m.stopped}").split())[:200])
            notes.setdefault(key, []).append(TITLES.get(m.vocabulary, m.vocabulary))
    lines = [f"* {engine}, {pattern} ({', '.join(names)}): {note}" for (engine, pattern, note), names in notes.items()]
    return "### Stopped, refused, read wrongly\n\n" + "\n".join(lines) if lines else ""


def _patterns(run: Run) -> str:
    return "### Patterns\n\n" + "\n".join(f"* {name}: `` {pattern} ``" for name, pattern in run.patterns.items())


def _milliseconds(seconds: float | None) -> str:
    return "–" if seconds is None else _figure(1e3 * seconds)


def _microseconds(seconds: float | None) -> str:
    return "–" if seconds is None else _figure(1e6 * seconds)


def _figure(value: float) -> str:
    """Two or three digits that mean something."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"
