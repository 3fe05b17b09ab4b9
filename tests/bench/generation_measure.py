"""What is measured of whole generations: first texts, each in a process of its own, then rounds with turns for all."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from .generation_engines import GenerationEngine, Task, Write, WriteMany, Written, freely, one_by_one
from .generation_models import Subject
from .isolation import MemoryGrowth, Send, run

FREE = "transformers, free"
BASELINE = "baseline: the same text, a token a pass"
_MEMORY = 16 * 2**30  # bytes that an engine may have
_LONGEST = 120  # seconds that a step of a first text may take
_PORTION = 20  # so many of the many texts are asked for together
_SAMPLING = 15  # seconds after which no more of them are asked for


@dataclass
class Row:
    """What was measured of one way of writing one pattern with one model; seconds and bytes.

    Args:
        way: The engine, free generation or the baseline.
        subject: The model.
        task: The name of the pattern.
        failure: Why there are no figures, or no more of them.
        prepare: From the pattern to the engine's object, in a new process.
        memory: Peak of the resident memory above what was loaded before, for that and one text.
        trial: How long that first text took.
        speeds: Characters a second, in each round.
        firsts: Seconds to the first character.
        passes: Forward passes for each character.
        token_seconds: Seconds for each token.
        valid: How many of the rounds' texts match.
        samples: How many more texts were asked for.
        samples_valid: How many of them match.
    """

    way: str
    subject: str
    task: str
    failure: str = ""
    prepare: float | None = None
    memory: int | None = None
    trial: float | None = None
    speeds: list[float] = field(default_factory=list)
    firsts: list[float] = field(default_factory=list)
    passes: list[float] = field(default_factory=list)
    token_seconds: list[float] = field(default_factory=list)
    valid: int = 0
    samples: int = 0
    samples_valid: int = 0

    def add(self, written: Written, task: Task) -> None:
        """Take a text of a round."""
        length = max(1, len(written.text))
        self.speeds.append(written.speed)
        self.firsts.append(written.first)
        self.passes.append(written.passes / length)
        self.token_seconds.append(written.seconds / max(1, written.tokens))
        self.valid += task.is_met_by(written.text)


def try_out(engine: GenerationEngine, subject: Subject, task: Task, row: Row, patience: float) -> bool:
    """The first text, in a process of its own; whether the engine may take part in the rounds.

    Args:
        engine: The engine.
        subject: The model; nothing of torch may have run on several threads before, or the process hangs.
        task: The pattern.
        row: Where to put what was measured.
        patience: Seconds for a text; if it takes longer, it is the only one.
    """
    outcome = run(partial(_try_out, engine, subject, task), seconds=_LONGEST, memory=_MEMORY)
    row.prepare = outcome.results.get("prepare")
    row.memory = outcome.results.get("memory")
    row.failure = outcome.failed or (outcome.stopped and f"stopped: {outcome.stopped} for one step")
    written: Written | None = outcome.results.get("written")
    if row.failure or written is None:
        return False
    row.trial = written.seconds
    if written.seconds > patience:
        row.add(written, task)
        row.failure = f"slow, so measured only once: {written.seconds:.1f} s a text"
        return False
    return True


def _try_out(engine: GenerationEngine, subject: Subject, task: Task, send: Send) -> None:
    warm_up(engine, subject)
    send("warm", True)
    growth = MemoryGrowth() if sys.platform == "linux" else None
    started = time.perf_counter()
    write, _ = engine.prepare(task)
    send("prepare", time.perf_counter() - started)
    send("written", write(subject.model, 0))
    if growth is not None:
        send("memory", growth.peak())


def warm_up(engine: GenerationEngine, subject: Subject) -> None:
    """Load and compile what is loaded and compiled at the first use."""
    write, _ = engine.prepare(engine.warm_up)
    for model in (subject.sketch, subject.model):
        write(model, 0)


def measure_rounds(
    subject: Subject,
    task: Task,
    engines: dict[str, GenerationEngine],
    rows: dict[str, Row],
    rounds: int,
) -> dict[str, WriteMany]:
    """Let all write in each round, in an order that goes round too; the writers of many texts, for what comes next.

    Free generation and the baseline come right after sfgen: they write as many tokens as it did, and its text.
    """
    prepared: dict[str, tuple[Write, WriteMany]] = {}
    for name, engine in engines.items():
        prepared_one = _guarded(rows[name], partial(engine.prepare, task))
        if prepared_one is not None:
            prepared[name] = prepared_one
    for seed in range(rounds):
        names = [name for name in prepared if not rows[name].failure]
        shift = seed % max(1, len(names))
        gc.collect()
        for name in names[shift:] + names[:shift]:
            written = _guarded(rows[name], partial(prepared[name][0], subject.model, seed))
            if written is None:
                continue
            rows[name].add(written, task)
            if name == "sfgen":
                for other, write in (
                    (FREE, partial(freely, subject, written.tokens, seed)),
                    (BASELINE, partial(one_by_one, subject, written.text)),
                ):
                    text = _guarded(rows[other], write)
                    if text is not None:
                        rows[other].add(text, task)
    return {name: many for name, (_, many) in prepared.items() if not rows[name].failure}


def count_valid(model: Any, task: Task, writers: dict[str, WriteMany], rows: dict[str, Row], samples: int) -> None:
    """How many of so many texts match; fewer texts of an engine that takes long."""
    for name, write in writers.items():
        row, started = rows[name], time.monotonic()
        for seed, start in enumerate(range(0, samples, _PORTION)):
            if time.monotonic() - started > _SAMPLING:
                break
            texts = _guarded(row, partial(write, model, min(_PORTION, samples - start), seed))
            if texts is None:
                break
            row.samples += len(texts)
            row.samples_valid += sum(map(task.is_met_by, texts))


def _guarded(row: Row, work: Callable[[], Any]) -> Any:
    """What came of it; an error becomes the row's reason."""
    try:
        return work()
    except Exception as error:
        row.failure = reason(error)
        return None


def reason(error: BaseException) -> str:
    """An error in one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:240]


def rows_of(ways: Sequence[str], subject: Subject, task: Task) -> dict[str, Row]:
    """A row for each way."""
    return {way: Row(way, subject.name, task.name) for way in ways}
