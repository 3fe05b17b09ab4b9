"""Count the forward passes of exact draws, beside other strategies and plain rejection.

Usage: ``python -m tests.bench.exact``. Two models: the embedded one, and one of the size of GPT-2 with random weights
and the embedded model's tokenizer. Forward passes are counted and no time is taken, so it does not matter what else the
machine does. Writes ``exact.md`` into ``tests/docs``.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from sfgen import BannedWords, GenerationConfig, Index, JsonSchema, Sampler, generate, load_model
from sfgen.errors import GenerationError
from sfgen.models.tiny import DIRECTORY

from .bans import gpt2_sized
from .nearness import nearness, table

DOCS = Path(__file__).parent.parent / "docs"

COMMON = (
    "a an the and or but in on at to of for with from by as is was are were be been has have had do did not no it "
    "its he she they them his her their we you I my your this that these those there here what when where who which "
    "how why all some one two three many more most other new old good little big long small great time day way man "
    "woman child world life hand part place case week work night water word house name home year thing people said "
    "went made came took saw found gave told"
)
"""A hundred words and some more that any English text has."""


@dataclass(frozen=True)
class Task:
    """What is written.

    Attributes:
        name: What the table calls it.
        prompt: The text before.
        index: What it must match, for ``Index``; ``None``: free text.
        words: What is banned.
        max_tokens: The most tokens.
    """

    name: str
    prompt: str
    index: Any = None
    words: tuple[str, ...] = ()
    max_tokens: int = 32


@dataclass
class Count:
    """Forward passes of some texts.

    Attributes:
        passes: Of each text; the limit where it gave up.
        gave_up: How many did.
        unknown: The probability that was unknown when a text was given up, as the error said it.
    """

    passes: list[int] = field(default_factory=list)
    gave_up: int = 0
    unknown: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        if not self.passes:
            return ""
        mean = float(np.mean(self.passes))
        if not self.gave_up:
            return f"{mean:,.0f} ({min(self.passes):,} to {max(self.passes):,})"
        unknown = f", {sorted(self.unknown, key=_number)[len(self.unknown) // 2]} unknown" if self.unknown else ""
        return f"above {mean:,.0f}: {self.gave_up} of {len(self.passes)} gave up{unknown}"


def _number(unknown: str) -> float:
    """The number of a figure such as "less than 1e-12"."""
    return float(unknown.split()[-1])


def tasks() -> Iterator[Task]:
    """What is measured."""
    yield Task("a pattern: `[A-Z][a-z]{2,8}`", "A person: ", "[A-Z][a-z]{2,8}", max_tokens=12)
    yield Task("a date: `20[0-9]{2}-(0[1-9]\\|1[0-2])`", "Date: ", "20[0-9]{2}-(0[1-9]|1[0-2])", max_tokens=12)
    record = JsonSchema("name, age int", spacing="compact")  # as the model writes it by itself
    yield Task("a record: name and age", "A person as JSON: ", record, max_tokens=32)
    yield Task("3 words banned", "Once upon a time", None, ("there", "little", "old"))
    yield Task("100 words banned", "Once upon a time", None, tuple(COMMON.split()[:100]))


def main() -> None:
    """Measure, print the report and write it."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.exact", description=__doc__.partition("\n")[0])
    parser.add_argument("--texts", type=int, default=20, metavar="N", help="texts of each kind (default: 20)")
    parser.add_argument("--passes", type=int, default=3000, metavar="N", help="of tiny, before a text is given up")
    parser.add_argument("--large-passes", type=int, default=200, metavar="N", help="of the larger model")
    parser.add_argument("--large-texts", type=int, default=3, metavar="N", help="texts of the larger model")
    parser.add_argument("--seeds", type=int, default=35, metavar="N", help="small models of each kind (default: 35)")
    parser.add_argument("--output", type=Path, default=DOCS, metavar="FOLDER", help="write exact.md there")
    options = parser.parse_args()
    lines = [
        "# What an exact draw costs",
        "",
        "Written by `python -m tests.bench.exact`: forward passes a text, mean (least to most), temperature 1. *Plain "
        "rejection* writes free text token by token and begins anew at the first token after which nothing that is "
        "allowed can follow; what it accepts is an exact draw, too. Each text is drawn by itself: nothing is kept from "
        "one to the next.",
        "",
        "The search looks at about 1/Z beginnings of texts, each up to where it goes wrong, with Z the probability of "
        "all that is allowed. So it stops being practical where a cell says *above*: there the model would hardly ever "
        "write by itself what is allowed. *Unknown* is the probability of the texts that had not been looked at yet.",
        "",
    ]
    lines += section("tiny", load_model(DIRECTORY), options.texts, options.passes)
    with tempfile.TemporaryDirectory() as folder:
        model = gpt2_sized(Path(folder))
        lines += section("random GPT-2", model, options.large_texts, options.large_passes)
    lines += [
        "## How near the others come",
        "",
        "Total variation to the model on condition that the whole text is clean; small random models on which every "
        "text is counted (`tests/bench/nearness.py`). An exact draw has 0.",
        "",
        *table(list(nearness(options.seeds))),
    ]
    report = "\n".join(lines) + "\n"
    print(report)
    (options.output / "exact.md").write_text(report, encoding="utf-8")


def section(name: str, model: Any, texts: int, most: int) -> list[str]:
    """The report on one model."""
    lines = [
        f"## {name}",
        "",
        f"{texts} texts; given up after {most:,} forward passes.",
        "",
        "| | mask | resample | exact | plain rejection |",
        "|---|---|---|---|---|",
    ]
    for task in tasks():
        print(f"{name}: {task.name}", file=sys.stderr)
        index = None if task.index is None else Index(_constraint(task.index), model.vocabulary)
        banned = BannedWords(task.words) if task.words else None
        config = GenerationConfig(index=index, banned=banned, max_tokens=task.max_tokens, max_passes=most)
        cells = [str(_count(partial(way, model, task.prompt, config), texts)) for way in WAYS]
        if banned is None:
            cells[1] = ""  # it says how to go on after a banned word
        lines.append(f"| {task.name} | {' | '.join(cells)} |")
    return [*lines, ""]


def _constraint(index: Any) -> Any:
    from sfgen import Dfa

    return Dfa.from_regex(index) if isinstance(index, str) else index


def _count(write: Callable[[int], int], texts: int) -> Count:
    count = Count()
    for seed in range(texts):
        try:
            count.passes.append(write(seed))
        except _GaveUpError as error:
            count.gave_up += 1
            count.passes.append(error.passes)
            if error.unknown is not None:
                count.unknown.append(error.unknown)
    return count


class _GaveUpError(Exception):
    """Too many forward passes."""

    def __init__(self, passes: int, unknown: str | None = None) -> None:
        super().__init__()
        self.passes = passes
        self.unknown = unknown


# ---- ways of writing a text: each returns its forward passes ---------------------------------------------------------


def _by_strategy(name: Any) -> Callable[[Any, str, GenerationConfig, int], int]:
    def write(model: Any, prompt: str, config: GenerationConfig, seed: int) -> int:
        try:
            result = generate(model, prompt, config, strategy=name, sampler=Sampler(1.0, seed))
        except GenerationError as error:
            unknown = error.message.split(": ")[1].split(" of ")[0]
            raise _GaveUpError(config.max_passes, unknown) from None
        return result.forward_passes

    return write


def by_rejection(model: Any, prompt: str, config: GenerationConfig, seed: int) -> int:
    """Write free text until one is allowed."""
    draws, passes = Sampler(1.0, seed).start(), 0
    while True:
        allowed, asked = _free_text(model, prompt, config, draws)
        passes += asked
        if allowed:
            return passes
        if passes >= config.max_passes:
            raise _GaveUpError(passes)


def _free_text(model: Any, prompt: str, config: GenerationConfig, draws: Any) -> tuple[bool, int]:
    """Write one text; whether it is allowed, and how often the model was asked."""
    index: Any = config.index
    guide = None if index is None else index.guide(config.max_tokens)
    banned: Any = config.banned
    matcher = None if banned is None else banned.matcher(prompt.encode())
    session, read, ends = model.session(), model.encode(prompt), model.vocabulary.end_token_ids
    for passes in range(1, config.max_tokens + 1):
        token, _ = draws.choose(session.extend(read))
        if token in ends:
            whole = guide is None or guide.is_accepting
            return whole and (matcher is None or matcher.finish() is None), passes
        data = model.vocabulary.tokens[token]
        if data is None or (guide is not None and token not in guide.allowed_tokens()):
            return False, passes
        if guide is not None:
            guide.advance(token)
            if guide.is_finished:
                return True, passes
        if matcher is not None and matcher.advance(data) is not None:
            return False, passes
        read = [token]
    whole = guide is None or guide.is_accepting
    return whole and (matcher is None or matcher.finish() is None), config.max_tokens


WAYS = (_by_strategy("mask"), _by_strategy("resample"), _by_strategy("exact"), by_rejection)

if __name__ == "__main__":
    main()
