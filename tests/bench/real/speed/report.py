"""The section of the report: ratios first, then what they are made of."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence

from ...machine import machine
from ...tables import markdown_table
from .engine import Engine, Measured
from .rounds import Found, Row
from .tasks import FREE_LIMIT, KINDS

HEAD = """## Speed

On {machine}; one thread runs the model. Texts: {counts}.
Prompts have an example or more of what is wanted, end in a line break and are the same for all (about 100 to 260
tokens; 10 to 20 before free text). Free texts have at most {limit} tokens, drawn ones a temperature of 0.8 and the
whole vocabulary; all else is greedy. Every engine begins each text with nothing read, and all take turns, task by task.
Seconds are those of the processor, of all threads of a process.

*Writing* is the time from the compiled constraint to the text without the first forward pass, which reads the prompt;
*with the prompt* includes that. *First token*: from the constraint, seen for the first time, to the second forward
pass. *Own*: without the forward passes. A ratio is sfgen's characters a second by those of another library (tokens,
where texts are drawn; seconds to the first token, inverted), of the same task and round: the median, and in brackets
the least of a task. More than 1 means that sfgen is ahead. A library that keeps what it finds out about a constraint,
as sfgen does, is faster in the second round: both count.
"""


def report(platforms: Sequence[Found]) -> str:
    """The whole section."""
    tasks = {row.task.name: row.task for found in platforms for row in found.rows.values()}
    counts = "; ".join(f"{kind}: {sum(task.kind == kind for task in tasks.values())}" for kind in KINDS)
    lines = [HEAD.format(machine=machine(), counts=counts, limit=FREE_LIMIT)]
    for found in platforms:
        lines += _platform(found)
    return "\n".join(lines) + "\n"


def _platform(found: Found) -> list[str]:
    """All figures of one platform."""
    platform = found.platform
    file = "`gemma-3-270m-q4_k_m.gguf`" if platform.name == "llama.cpp" else "the same weights in float32"
    lines = [f"### On {platform.name}", "", f"Gemma 3 270M, {file}; rounds: {found.rounds}.", ""]
    seconds: list[tuple[str, Callable[[Measured], float]]] = [
        ("Writing", lambda run: run.writing), ("With the prompt", lambda run: run.whole)
    ]  # fmt: skip
    for title, figure in seconds:
        lines += _table(["sfgen ÷ others", *KINDS], _ratios(found, figure), title)
    lines += _table(["others ÷ sfgen", *KINDS[:3]], _first_ratios(found), "First token, the constraint compiled for it")
    for kind in KINDS:
        lines += _table(_COLUMNS, [_figures(found, engine, kind) for engine in platform.engines], kind.capitalize())
    lines += _table(["task, writing", *_peer_names(found)], _by_task(found), "Each task")
    lines += _notes(found)
    return lines


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], title: str) -> list[str]:
    """A table under its title; nothing without rows."""
    filled = [row for row in rows if any(row[1:])]
    if not filled:
        return []
    return [f"**{title}**", "", markdown_table(head, filled), ""]


# ---- ratios --------------------------------------------------------------------------------------------------------


def _pairs(found: Found) -> list[tuple[type[Engine], type[Engine]]]:
    """sfgen's engines with those that they are compared with."""
    subjects = found.platform.subjects
    others = [engine for engine in found.platform.engines if engine not in subjects]
    return [(subject, other) for subject in subjects for other in others]


def _pair_name(found: Found, subject: type[Engine], other: type[Engine]) -> str:
    return other.name if len(found.platform.subjects) == 1 else f"{subject.name} ÷ {other.name}"


def _peer_names(found: Found) -> list[str]:
    return [_pair_name(found, *pair) for pair in _pairs(found)]


def _ratios(found: Found, seconds: Callable[[Measured], float]) -> Iterable[list[str]]:
    """For each pair: how much more it wrote in these seconds, by kind."""
    for subject, other in _pairs(found):
        matched = [_matched(found, subject, other, kind) for kind in KINDS]
        cells = [_spread([_ratio(mine, row, seconds) for mine, row in rows]) for rows in matched]
        yield [_pair_name(found, subject, other), *cells]


def _ratio(mine: Row, other: Row, seconds: Callable[[Measured], float]) -> float:
    """The median over the rounds that both took part in."""
    length: Callable[[Measured], float] = _length if mine.task.temperature == 0 else lambda run: run.tokens

    def speed(run: Measured) -> float:
        return length(run) / seconds(run)

    return statistics.median(speed(ours) / speed(theirs) for ours, theirs in zip(mine.runs, other.runs, strict=False))


def _first_ratios(found: Found) -> Iterable[list[str]]:
    """For each pair: by how much sooner sfgen's first token comes."""
    for subject, other in _pairs(found):
        cells = []
        for kind in KINDS[:3]:
            both = [(mine.cold, row.cold) for mine, row in _matched(found, subject, other, kind)]
            cells.append(_spread([theirs / ours for ours, theirs in both if ours and theirs]))
        yield [_pair_name(found, subject, other), *cells]


def _matched(found: Found, subject: type[Engine], other: type[Engine], kind: str) -> list[tuple[Row, Row]]:
    """The rows of two engines that both wrote the same tasks."""
    theirs = {row.task.name: row for row in found.of(other, kind)}
    return [(mine, theirs[mine.task.name]) for mine in found.of(subject, kind) if mine.task.name in theirs]


def _by_task(found: Found) -> Iterable[list[str]]:
    """The ratios of writing of each task."""
    for kind in KINDS:
        for name in dict.fromkeys(row.task.name for row in found.rows.values() if row.task.kind == kind):
            cells = []
            for subject, other in _pairs(found):
                both = [(mine, row) for mine, row in _matched(found, subject, other, kind) if mine.task.name == name]
                cells.append("".join(f"{_ratio(mine, row, lambda run: run.writing):.2f}" for mine, row in both))
            yield [name, *cells]


def _spread(ratios: Sequence[float]) -> str:
    """The median and the least."""
    return f"{statistics.median(ratios):.2f} ({min(ratios):.2f})" if ratios else ""


# ---- figures -------------------------------------------------------------------------------------------------------

_COLUMNS = [
    "", "characters a second", "tokens a second", "passes a token", "own time a token", "compile", "first token",
    "valid", "characters", "same text",
]  # fmt: skip


def _length(run: Measured) -> float:
    """The characters of a text, without white space around it, which some write around JSON."""
    return float(len(run.text.strip()))


def _speed(run: Measured) -> float:
    """Characters a second."""
    return _length(run) / run.writing


def _figures(found: Found, engine: type[Engine], kind: str) -> list[str]:
    """One engine's medians over the tasks of a kind."""
    rows = found.of(engine, kind)
    if not rows:
        return [engine.name, *[""] * (len(_COLUMNS) - 1)]

    def middle(figure: Callable[[Measured], float]) -> float:
        return statistics.median(row.median(figure) for row in rows)

    compiled = [row.compile for row in rows if row.compile is not None]
    cold = [row.cold for row in rows if row.cold is not None]
    subject = found.platform.subjects[0]
    ours = {row.task.name: row.runs[0].text.strip() for row in found.of(subject, kind)}
    same = sum(row.runs[0].text.strip() == ours.get(row.task.name) for row in rows)
    return [
        engine.name,
        f"{middle(_speed):.0f}",
        f"{middle(lambda run: run.tokens / run.writing):.0f}",
        f"{middle(lambda run: run.passes / run.tokens):.2f}",
        f"{middle(lambda run: run.own / run.tokens) * 1e3:.2f} ms",
        f"{statistics.median(compiled):.2f} s" if compiled else "",
        f"{statistics.median(cold):.2f} s" if cold else "",
        f"{sum(row.valid for row in rows)} of {sum(len(row.runs) for row in rows)}",
        f"{middle(_length):.0f}",
        "" if engine is subject else f"{same} of {len(rows)}",
    ]


def _notes(found: Found) -> list[str]:
    """The interfaces that were called, their versions, and all failures."""
    lines = ["Calls:", ""]
    for engine in found.platform.engines:
        if engine.name in found.absent:
            lines.append(f"* {engine.name}: not measured: {found.absent[engine.name]}")
            continue
        version = found.versions.get(engine.name, {}).get(engine.package, "")
        once = f"; in {engine.rounds} of {found.rounds} rounds" * (engine.rounds < found.rounds)
        lines.append(f"* {engine.name} {version}: {engine.interface}{once}")
    failures = [row for row in found.rows.values() if row.failure]
    if failures:
        lines += ["", "Refused or stopped:", ""]
        lines += [f"* {row.engine}, {row.task.name}: {row.failure}" for row in failures]
    waits = [run.wall / run.whole for row in found.rows.values() for run in row.runs]
    return [*lines, "", f"By the clock a text took {statistics.median(waits):.2f} times its processor time.", ""]
