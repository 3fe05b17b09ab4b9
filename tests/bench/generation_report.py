"""The report on whole generations, as Markdown."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field

from .generation_measure import BASELINE, FREE, Row
from .tables import markdown_table

SFGEN = "sfgen"
OWN = (SFGEN, "sfgen, no jump-forward tokens", FREE, BASELINE)
"""The ways that are no peer."""
NAMES_TARGET, CUSTOMER_TARGET, PROSE_TARGET = 4.0, 2.5, 1.02


@dataclass
class Run:
    """A whole run.

    Args:
        rows: What was measured.
        threads: How many threads torch had, for each model.
        versions: The version of each library.
        interfaces: What is called of each engine.
        notes: What went otherwise than documented: engine, note.
        samples_by: How the many texts were asked for, for each model.
        title: The headline.
        module: What wrote it.
        oracle: What a valid text is.
    """

    rows: list[Row]
    patterns: dict[str, str]
    limits: dict[str, int]
    prompt: str
    rounds: int
    threads: dict[str, int]
    seconds: float
    machine: str
    versions: dict[str, str]
    interfaces: dict[str, str]
    notes: list[tuple[str, str]] = field(default_factory=list)
    samples_by: dict[str, str] = field(default_factory=dict)
    title: str = ""
    module: str = ""
    oracle: str = ""

    @property
    def subjects(self) -> list[str]:
        """The models, in the order of measuring."""
        return list(dict.fromkeys(row.subject for row in self.rows))

    def tasks(self, subject: str) -> list[str]:
        """The patterns that a model was measured with."""
        return list(dict.fromkeys(row.task for row in self.rows if row.subject == subject))

    def row(self, subject: str, task: str, way: str) -> Row | None:
        """One row."""
        found = (row for row in self.rows if (row.subject, row.task, row.way) == (subject, task, way))
        return next(found, None)

    def ratios(self, subject: str, task: str, way: str, other: str, quantity: str = "speeds") -> list[float]:
        """One way against another, round by round; a way that was measured once against the other's median."""
        mine, theirs = self.row(subject, task, way), self.row(subject, task, other)
        if mine is None or theirs is None:
            return []
        values, base = getattr(mine, quantity), getattr(theirs, quantity)
        if not values or not base:
            return []
        if len(values) == len(base):
            return [a / b for a, b in zip(values, base, strict=True)]
        middle, base_middle = statistics.median(values), statistics.median(base)
        return [middle / base_middle]

    def fastest_peer(self, subject: str, task: str) -> str | None:
        """The peer with the most characters a second."""
        rows = [row for row in self.rows if (row.subject, row.task) == (subject, task) and row.way not in OWN]
        measured = [row for row in rows if row.speeds]
        return max(measured, key=lambda row: statistics.median(row.speeds)).way if measured else None


def report(run: Run) -> str:
    """The whole report."""
    sections = [
        f"# {run.title}",
        _settings(run),
        "## Targets",
        _targets(run),
        *(part for subject in run.subjects for part in _subject(run, subject)),
        "## Failures and notes",
        _notes(run),
        "## Engines",
        "\n".join(f"* {name} {run.versions.get(name, '')}: {text}" for name, text in run.interfaces.items()),
        "## Patterns",
        "\n".join(f"* {name}, at most {run.limits[name]} tokens: `` {text} ``" for name, text in run.patterns.items()),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def _settings(run: Run) -> str:
    threads = ", ".join(f"{count} for {subject}" for subject, count in run.threads.items())
    versions = ", ".join(f"{name} {version}" for name, version in run.versions.items() if "," not in name)
    minutes = f"{run.seconds / 60:.0f} minutes"
    samples = " ".join(f"{subject}: {how}." for subject, how in run.samples_by.items())
    first = (
        f"Written by `python -m tests.bench.{run.module}` in {minutes} on {run.machine}; {versions}. "
        f"Threads of torch: {threads} (one for the first texts). Prompt: `{run.prompt!r}`."
    )
    compared = (
        f"All ways get the same model, prompt, seed and limit in each of {run.rounds} rounds and take turns; the seed "
        "is the number of the round, at temperature 1. The random draws of two ways differ, and with them the "
        "tokens, so speeds are compared by the character. Everything from the call to the text counts; what is made "
        "of a pattern once does not, and stands in a column of its own. Free generation writes as many tokens as "
        "sfgen did in the same round. The baseline is handed sfgen's text and reads it, one canonical token a "
        "forward pass, in the session that sfgen uses; it has no masks and chooses nothing. Figures are medians "
        "with the first and third quartile."
    )
    columns = (
        "*Ratio*: characters a second, divided by those of the baseline in the same round. *Valid*: "
        f"{run.oracle}; a text that the limit cut off is not valid. *Memory*: peak above "
        "what was loaded before (model, library, vocabulary), from the pattern to the end of the first text, in a "
        "process of its own; there, too, the time from the pattern to the engine's object (*prepare*) was taken."
    )
    return "\n\n".join([first, compared, columns, *([f"The many texts for *valid*: {samples}"] if samples else [])])


def _targets(run: Run) -> str:
    rows = []
    for subject in run.subjects:
        for task, target in (("names", NAMES_TARGET), ("customer", CUSTOMER_TARGET)):
            found = run.ratios(subject, task, SFGEN, BASELINE)
            if found:
                rows.append(_target(f"{subject}, {task}: times the baseline", f"at least {target:g}", found,
                                    statistics.median(found) >= target))  # fmt: skip
        found = run.ratios(subject, "prose", SFGEN, FREE, "token_seconds")
        if found:
            title = f"{subject}, prose: time for a token, against free generation by transformers"
            rows.append(_target(title, f"at most {PROSE_TARGET:g}", found, statistics.median(found) <= PROSE_TARGET))
        for task in run.tasks(subject):
            peer = run.fastest_peer(subject, task)
            found = run.ratios(subject, task, SFGEN, peer) if peer else []
            if found:
                title = f"{subject}, {task}: characters a second, against the fastest peer ({peer})"
                rows.append(_target(title, "above 1", found, statistics.median(found) > 1))
            if peer and found and task == "prose":  # all ask for each token, and the draws decide how long it is
                found = run.ratios(subject, task, SFGEN, peer, "token_seconds")
                title = f"{subject}, {task}: time for a token, against the same peer"
                rows.append(_target(title, "below 1", found, statistics.median(found) < 1))
    return markdown_table(["target", "wanted", "measured", ""], rows)


def _target(title: str, wanted: str, found: Sequence[float], is_met: bool) -> list[str]:
    return [title, wanted, spread(found), "met" if is_met else "**missed**"]


def _subject(run: Run, subject: str) -> list[str]:
    parts = [f"## {subject}"]
    for task in run.tasks(subject):
        rows = [row for row in run.rows if (row.subject, row.task) == (subject, task)]
        parts += [f"### {task}", markdown_table(_HEAD, [_cells(run, row) for row in rows])]
    return parts


_HEAD = ["way", "first character, ms", "characters a second", "passes a character", "ratio", "valid, rounds",
         "valid, many", "memory, MB", "prepare, ms"]  # fmt: skip


def _cells(run: Run, row: Row) -> list[str]:
    if not row.speeds:
        return [row.way, "failed" if row.failure else "–", *["–"] * (len(_HEAD) - 2)]
    is_guided = row.way not in (FREE, BASELINE)
    return [
        row.way,
        spread([1e3 * seconds for seconds in row.firsts]),
        spread(row.speeds),
        f"{statistics.median(row.passes):.3f}",
        spread(run.ratios(row.subject, row.task, row.way, BASELINE)),
        f"{row.valid} of {len(row.speeds)}" if is_guided else "",
        f"{row.samples_valid} of {row.samples}" if is_guided and row.samples else "",
        "" if row.memory is None else figure(row.memory / 1e6),
        "" if row.prepare is None else figure(1e3 * row.prepare),
    ]


def _notes(run: Run) -> str:
    lines = [f"* {engine}: {note}" for engine, note in run.notes]
    reasons: dict[tuple[str, str], list[str]] = {}
    for row in run.rows:
        if row.failure:
            reasons.setdefault((row.way, row.failure), []).append(f"{row.subject} {row.task}")
    lines += [f"* {way} ({', '.join(where)}): {reason}" for (way, reason), where in reasons.items()]
    return "\n".join(lines)


def spread(values: Sequence[float]) -> str:
    """Median and quartiles; one value alone where there is no more."""
    if not values:
        return "–"
    if len(values) < 3:
        return figure(statistics.median(values))
    low, middle, high = statistics.quantiles(values, n=4)
    return f"{figure(middle)} ({figure(low)} to {figure(high)})"


def figure(value: float) -> str:
    """Two or three digits that mean something."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"
