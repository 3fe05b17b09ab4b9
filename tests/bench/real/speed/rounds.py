"""The engines take turns, task by task, so that what else the machine does meets all of them."""

from __future__ import annotations

import contextlib
import statistics
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from . import on_llama_cpp, on_transformers
from .engine import Engine, Measured
from .server import TRANSFORMERS as SHARED
from .server import Failed, Server
from .tasks import Task, all_tasks, oracle

_PATIENCE = 90  # seconds for a constraint, or a text


@dataclass(frozen=True)
class Platform:
    """The library that runs the model, and those that use it.

    Attributes:
        name: Of the report.
        engines: What is compared.
        subjects: Those of sfgen, which others are compared with.
        rounds: How often each task is done at most.
        seconds: After which no further round begins.
        tasks: The tasks, in order.
    """

    name: str
    engines: tuple[type[Engine], ...]
    subjects: tuple[type[Engine], ...]
    rounds: int
    seconds: float
    tasks: tuple[str, ...]


def _some(names: Iterable[str]) -> tuple[str, ...]:
    """Fewer of them, for where the model is slow: every third schema, all grammars, one each of the other kinds."""
    kept, schemas = [], 0
    for name in names:
        kind = all_tasks()[name].kind
        schemas += kind == "schemas"
        if schemas % 3 == 1 if kind == "schemas" else name[-1] not in "2345":
            kept.append(name)
    return tuple(kept)


LLAMA_CPP = Platform("llama.cpp", on_llama_cpp.ENGINES, (on_llama_cpp.Sfgen,), 2, 240, tuple(all_tasks()))
TRANSFORMERS = Platform(
    "transformers",
    on_transformers.ENGINES,
    (on_transformers.SfgenOnTransformers, on_transformers.SfgenProcessor),
    2,
    120,
    _some(all_tasks()),
)


@dataclass
class Row:
    """The texts of one engine for one task.

    Attributes:
        engine: Its name.
        task: The task.
        compile: Seconds of the processor; ``None``: another task had the same constraint, or it failed.
        runs: The texts, one for each round.
        valid: How many of them are valid.
        failure: Why there are no more of them.
    """

    engine: str
    task: Task
    compile: float | None = None
    runs: list[Measured] = field(default_factory=list)
    valid: int = 0
    failure: str = ""

    def median(self, figure: Callable[[Measured], float]) -> float:
        """Of a figure, over the rounds."""
        return statistics.median(map(figure, self.runs))

    @property
    def cold(self) -> float | None:
        """Seconds from the constraint to the first token, where it was the first time."""
        return self.compile + self.runs[0].first if self.compile is not None and self.runs else None


@dataclass
class Found:
    """All measurements on a platform.

    Attributes:
        platform: The platform.
        rows: By engine and task.
        versions: Of packages, by engine and package.
        absent: Why engines are missing.
        rounds: How many were made.
    """

    platform: Platform
    rows: dict[tuple[str, str], Row] = field(default_factory=dict)
    versions: dict[str, dict[str, str]] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)
    rounds: int = 0

    def of(self, engine: type[Engine], kind: str) -> list[Row]:
        """The rows of an engine that have texts of a kind."""
        return [
            row for (name, _), row in self.rows.items() if name == engine.name and row.task.kind == kind and row.runs
        ]


def measured(platform: Platform, *, sketch: bool) -> Found:
    """Start all engines of a platform and let them write in turns.

    Args:
        platform: The platform.
        sketch: Whether only one text of each kind is written, once.
    """
    found = Found(platform)
    names, rounds = list(platform.tasks), platform.rounds
    if sketch:
        by_kind = {all_tasks()[name].kind: name for name in reversed(names)}
        names, rounds = sorted(by_kind.values(), key=names.index), 1
    with contextlib.ExitStack() as stack:
        servers = _started(platform, found, stack)
        started = time.monotonic()
        for number in range(rounds):
            if number and time.monotonic() - started > platform.seconds:
                break
            for turn, name in enumerate(names):
                present = [engine for engine in platform.engines if engine.name in servers]
                shift = (turn + number) % len(present)
                for engine in present[shift:] + present[:shift]:
                    _take_turn(servers[engine.name], engine, all_tasks()[name], number, found)
                print(f"{platform.name}: round {number + 1}, {name}", file=sys.stderr, flush=True)
            found.rounds = number + 1
    return found


def _started(platform: Platform, found: Found, stack: contextlib.ExitStack) -> dict[str, Server]:
    """The process of each engine that can be started, by the engine's name."""
    by_group: dict[str, Server] = {}
    groups = {engine: SHARED if platform.name == SHARED else engine.name for engine in platform.engines}
    for engine, group in groups.items():
        if group not in by_group:
            try:
                by_group[group] = Server(group)
            except Failed as error:
                found.absent[engine.name] = str(error)
                continue
            stack.callback(by_group[group].stop)
    for group, server in list(by_group.items()):
        try:
            versions = server.loaded()
        except Failed as error:
            found.absent[group] = str(error)
            del by_group[group]
            continue
        found.versions |= {engine.name: versions for engine, other in groups.items() if other == group}
    return {engine.name: by_group[group] for engine, group in groups.items() if group in by_group}


def _take_turn(server: Server, engine: type[Engine], task: Task, number: int, found: Found) -> None:
    """One text of one engine; after a failure it writes no more of this task."""
    if task.kind not in engine.kinds or number >= engine.rounds:
        return
    row = found.rows.setdefault((engine.name, task.name), Row(engine.name, task))
    if row.failure:
        return
    try:
        if number == 0:
            row.compile = server.compile(engine.name, task.name, _PATIENCE)
        run = server.write(engine.name, task.name, number, _PATIENCE)
    except Failed as error:
        row.failure = str(error)
        return
    row.runs.append(run)
    row.valid += oracle(task)(run.text)
