"""The section about quality."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from statistics import mean

from tests.support.real.model import FILE

from ...machine import machine
from .measured import Part, Record, parts, records
from .statistics import Comparison, compared
from .tasks import LAYOUTS, TASKS
from .writers import MOST_TOKENS, PEERS

_ENOUGH = 500
"""Items that a default needs before it is changed."""
_EXAMPLES = 4
_SHOWN = 110  # characters of a text


@dataclass(frozen=True)
class Writing:
    """Which texts: a writer in a part of the measurement."""

    part: str
    writer: str


SETTINGS = (
    ("`spacing`", Writing("spaced", "sfgen compact"), Writing("spaced", "sfgen")),
    ("`spacing`", Writing("spaced", "sfgen any spacing"), Writing("spaced", "sfgen")),
    ("`spacing`", Writing("compact", "sfgen compact"), Writing("compact", "sfgen")),
    ("`spacing`", Writing("compact", "sfgen any spacing"), Writing("compact", "sfgen")),
    ("`order`", Writing("spaced", "sfgen any order"), Writing("spaced", "sfgen")),
    ("`order`", Writing("backwards", "sfgen any order"), Writing("backwards", "sfgen")),
    ("`heal`", Writing("spaced", "sfgen not healed"), Writing("spaced", "sfgen")),
    ("`after`", Writing("thought", "sfgen after"), Writing("spaced", "sfgen")),
    ("a thought, no constraint", Writing("thought", "free"), Writing("spaced", "free")),
)
"""The parameter, a setting of it that is not the default, and the default."""


class Results:
    """All records.

    Args:
        found: The records.
    """

    def __init__(self, found: Iterable[Record]) -> None:
        self._of: dict[Writing, dict[tuple[str, int], Record]] = {}
        for record in found:
            self._of.setdefault(Writing(record.part, record.writer), {})[record.task, record.item] = record

    def of(self, writing: Writing, task: str | None = None) -> list[Record]:
        """The texts of a writer, of one task or all."""
        return [record for record in self._of.get(writing, {}).values() if task in (None, record.task)]

    def pairs(self, first: Writing, second: Writing) -> list[tuple[Record, Record]]:
        """The texts of two for the same items."""
        others = self._of.get(second, {})
        return [(record, others[key]) for key, record in self._of.get(first, {}).items() if key in others]

    def comparison(self, first: Writing, second: Writing) -> Comparison:
        """The items that two have right, of the same ones."""
        pairs = self.pairs(first, second)
        return compared([one.judged.right for one, _ in pairs], [other.judged.right for _, other in pairs])


def section(sketch: bool) -> str:
    """Measure, and tell what came out."""
    results = Results(records(sketch=sketch))
    measured = [part for part in parts(FILE) if results.of(Writing(part.name, part.writers[-1].name))]
    return "\n".join(_lines(results, measured)) + "\n"


def _lines(results: Results, measured: list[Part]) -> Iterator[str]:
    packages = sorted({"llama-cpp-python", *(peer.package for peer in PEERS)})
    versions = ", ".join(f"{package} {importlib.metadata.version(package)}" for package in packages)
    yield from (
        "## Quality",
        "",
        f"Answers with and without a constraint. Run on {machine()}, one thread, with {versions}. Tasks: "
        + "; ".join(f"{task.title} ({len(task.examples)} examples)" for task in TASKS.values())
        + ". Items come from a generator (`tests/bench/real/quality/generator.py`, `tests/data/real`), so that the "
        "right answer is known; the model reads a few examples, `Text: …` and `JSON:`, and writes greedily. All who "
        "write behind one prompt choose from the same scores. Each library has the schema, and no option. Taken is the "
        "first JSON object of a text. *Valid*: by the schema. *Right*: all fields. *Fields*: the share of fields that "
        "are right. *Constraint tax*: how many points more or fewer are right than without a constraint, on the same "
        "items, with a 95 % interval (paired bootstrap); *gained* and *lost*: the items that only the text with the "
        "constraint has right, and only that without; *p*: McNemar's exact test. Without a constraint nothing stands "
        "behind `JSON:`, since the blank belongs to the first token of the answer; all others write behind `JSON: ` "
        "where nothing else is said.",
        "",
    )
    for part in measured:
        yield from _part(results, part)
    yield from _beside_peers(results, measured[0])
    yield from _settings(results)
    yield from _examples(results, measured)


def _part(results: Results, part: Part) -> Iterator[str]:
    """The table of a part; what is without a constraint is that of the same layout."""
    behind = "" if part.layout.thinks else f", behind `{'JSON:' + part.seam}`"
    free = Writing(next(p for p in ("thought", "compact", "backwards", "spaced") if LAYOUTS[p] == part.layout), "free")
    yield from (f"### {part.layout.title[0].upper()}{part.layout.title[1:]}{behind}", "")
    yield (
        "| written by | items | valid | right | "
        + " | ".join(task.title.partition(":")[0] for task in TASKS.values())
        + " | fields | constraint tax | gained, lost | p |"
    )
    yield "| --- |" + " ---: |" * (7 + len(TASKS))
    for writer in part.writers:
        writing = Writing(part.name, writer.name)
        found = results.of(writing)
        cells = [writer.title, f"{len(found)}", _share(one.judged.valid for one in found)]
        cells.append(_share(one.judged.right for one in found))
        cells += [_share(one.judged.right for one in results.of(writing, task)) for task in TASKS]
        cells.append(f"{mean(one.judged.fields for one in found):.1%}")
        cells += ["", "", ""] if writing == free else _tax(results.comparison(writing, free))
        yield f"| {' | '.join(cells)} |"
    yield ""


def _tax(comparison: Comparison) -> list[str]:
    return [_points(comparison, 0.95), f"{comparison.gained}, {comparison.lost}", f"{comparison.p_value():.2g}"]


def _beside_peers(results: Results, part: Part) -> Iterator[str]:
    yield from (
        "### sfgen beside the others", "", "The same prompts, the same items, sfgen as it is without options.", "",
        "| beside | items | more right | gained, lost | p |", "| --- | ---: | ---: | ---: | ---: |",
    )  # fmt: skip
    for behind, name in ((part.seam, part.name), ("", "no blank")):
        for peer in PEERS:
            comparison = results.comparison(Writing(name, "sfgen"), Writing(name, peer.name))
            if comparison.items:
                cells = [f"{peer.name}, behind `JSON:{behind}`", f"{comparison.items}", *_tax(comparison)]
                yield f"| {' | '.join(cells)} |"
    yield ""


def _settings(results: Results) -> Iterator[str]:
    yield from (
        "### Settings", "",
        f"A default is changed where the setting is better on at least {_ENOUGH} items, and the 99 % interval of the "
        "difference lies above 0.",
        "",
        "| setting | examples | instead of the default | items | more right, 99 % interval | gained, lost | verdict |",
        "| --- | --- | --- | ---: | ---: | ---: | --- |",
    )  # fmt: skip
    for what, first, second in SETTINGS:
        comparison = results.comparison(first, second)
        if comparison.items:
            cells = [what, first.part, first.writer, f"{comparison.items}", _points(comparison, 0.99)]
            cells += [f"{comparison.gained}, {comparison.lost}", verdict(comparison)]
            yield f"| {' | '.join(cells)} |"
    yield ""


def verdict(comparison: Comparison) -> str:
    """The verdict on a default, from a setting beside it."""
    low, high = comparison.interval(0.99)
    found = "better" if low > 0 else "worse" if high < 0 else "no difference shown"
    return found if comparison.items >= _ENOUGH or found != "better" else f"{found}, on too few items"


def _examples(results: Results, measured: list[Part]) -> Iterator[str]:
    """Items that a constraint has spoilt, and texts of constraints that are not valid."""
    yield from ("### Right without a constraint, wrong with sfgen", "")
    yield from ("| examples | items | one of them without a constraint | with sfgen |", "| --- | ---: | --- | --- |")
    for part in measured:
        pairs = results.pairs(Writing(part.name, "sfgen"), Writing(part.name, "free"))
        lost = [(ours, free) for ours, free in pairs if free.judged.right and not ours.judged.right]
        if pairs:
            yield f"| {part.name} | {len(lost)} of {len(pairs)} | | |"
        for ours, free in lost[:: max(1, len(lost) // _EXAMPLES)][:_EXAMPLES]:
            yield f"| | | {_code(free.text)} | {_code(ours.text)} |"
    yield from ("", "### Not valid in spite of a constraint", "")
    constrained = [(part, writer) for part in measured for writer in part.writers if writer.name != "free"]
    found = [
        (part, writer, record)
        for part, writer in constrained
        for record in results.of(Writing(part.name, writer.name))
        if not record.judged.valid
    ]
    if not found:
        yield "No text."
        return
    yield from (f"All such texts; a text has {MOST_TOKENS} tokens at most.", "")
    yield from ("| written by | behind | item | text |", "| --- | --- | --- | --- |")
    for part, writer, record in found:
        yield f"| {writer.name} | `JSON:{part.seam}` | {record.task} {record.item + 1} | {_code(record.text)} |"


def _points(comparison: Comparison, confidence: float) -> str:
    low, high = comparison.interval(confidence)
    return f"{100 * comparison.difference:+.1f} ({100 * low:+.1f} to {100 * high:+.1f})"


def _share(found: Iterable[bool]) -> str:
    values = list(found)
    return f"{mean(values):.1%}" if values else ""


def _code(text: str) -> str:
    shown = text.removesuffix("\n\n").lstrip().replace("\n", "⏎").replace("|", "\\|")
    return f"`{shown if len(shown) <= _SHOWN else shown[:_SHOWN] + '…'}`"
