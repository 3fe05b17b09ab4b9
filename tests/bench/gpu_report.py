"""The report on a GPU, in Markdown."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

FREE = "sfgen, free"
ABSENT = "sfgen, ban of 1 000 phrases that do not occur"
RESAMPLE = "sfgen, ban, `resample`"


@dataclass(frozen=True)
class Figures:
    """What was measured of one way of writing so many texts.

    Args:
        seconds: For a token, in each round.
        ratios: To free generation, in words.
        passes: Forward passes of the model.
        rollbacks: Of all texts together.
    """

    seconds: list[float]
    ratios: str
    passes: int
    rollbacks: int


@dataclass(frozen=True)
class Section:
    """What was measured of so many texts at once.

    Args:
        batch: The number of texts.
        ways: By way.
        parts: Milliseconds of the parts of a step.
    """

    batch: int
    ways: dict[str, Figures]
    parts: dict[str, float]


def report(sections: Sequence[Section], *, machine: str, model: str, tokens: int, rounds: int, minutes: float) -> str:
    """The whole report."""
    from importlib.metadata import version

    versions = ", ".join(f"{name} {version(name)}" for name in ("torch", "transformers", "numpy"))
    lines = [
        "# On a GPU",
        "",
        f"Written by `make gpu` (`python -m tests.bench.gpu`) in {minutes:.0f} minutes on {machine}; {versions}.",
        "",
        f"The model is {model}. Prompts of 16 random tokens, texts of {tokens} tokens (the JSON record: its own "
        f"length), greedy where nothing else is said; {rounds} interleaved rounds after one that warms up. Times are "
        "of a token that stays in a text, medians of the rounds; *ratio*: to free generation by sfgen in the same "
        "round, with the first and third quartile. *Passes*: forward passes that Python launches, each over all texts "
        "that need scores; those of a batch that are recorded and launched as a whole are not among them. The wide "
        "pattern allows all tokens but those with a line feed, the narrow one 26; of neither "
        "is anything forced. The banned words are words that the texts hold when nothing is banned.",
        "",
        "## A token",
        "",
        *_ways(sections),
        "",
        "## What rollbacks take",
        "",
        *_rollbacks(sections),
        "",
        "## Where the time of a step goes, ms",
        "",
        *_parts(sections),
        "",
        "A step is one token of every text. All that is neither in the first line nor in a choice is the loop of each "
        "text. cuDNN makes a plan for each length that it has not seen in this process, and its line has a new length "
        "at each pass; the rounds above have seen all of theirs, and sfgen keeps attention away from cuDNN.",
    ]
    return "\n".join(lines) + "\n"


def _ways(sections: Sequence[Section]) -> list[str]:
    heads = [f"{_texts(each.batch)}: ms | ratio | passes" for each in sections]
    lines = [f"| way | {' | '.join(heads)} |", "| --- |" + " ---: | ---: | ---: |" * len(sections)]
    for way in sections[0].ways:
        found = [each.ways[way] for each in sections]
        cells = [f"{1e3 * statistics.median(each.seconds):.2f} | {each.ratios} | {each.passes}" for each in found]
        lines.append(f"| {way} | {' | '.join(cells)} |")
    return lines


def _rollbacks(sections: Sequence[Section]) -> list[str]:
    lines = ["| texts | rollbacks | share of the passes | share of the time |", "| ---: | ---: | ---: | ---: |"]
    for each in sections:
        found, none = each.ways[RESAMPLE], each.ways[ABSENT]
        share = statistics.median(1 - b / a for a, b in zip(found.seconds, none.seconds, strict=True))
        lines.append(f"| {each.batch} | {found.rollbacks} | {1 - none.passes / found.passes:.1%} | {share:.1%} |")
    return [*lines, "", "Both against the ban that finds nothing, in the same round."]


def _parts(sections: Sequence[Section]) -> list[str]:
    lines = [
        f"| part | {' | '.join(_texts(each.batch) for each in sections)} |",
        "| --- |" + " ---: |" * len(sections),
    ]
    for part in sections[0].parts:
        lines.append(f"| {part} | {' | '.join(f'{each.parts[part]:.2f}' for each in sections)} |")
    return lines


def _texts(count: int) -> str:
    return "1 text" if count == 1 else f"{count} texts"
