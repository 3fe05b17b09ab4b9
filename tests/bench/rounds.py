"""The engines take turns, pattern by pattern and run by run, so that what else the machine does hits all of them."""

from __future__ import annotations

import gc
import multiprocessing
from collections.abc import Callable, Sequence
from dataclasses import replace
from multiprocessing.connection import Connection
from typing import Any

from sfgen import Vocabulary

from .engines import ENGINES
from .isolation import end_with_parent
from .measure import Job, Measurement, Settings, measure, measure_again, warm_up

_ENOUGH = 2.0  # seconds in all, after which a time is not taken once more
_FORK = multiprocessing.get_context("fork")


class Server:
    """A process that has one engine and one vocabulary loaded, and measures one thing when asked to.

    Args:
        engine: The name of the engine.
        vocabulary: The vocabulary.
        tokenizer: Its tokenizer as JSON.
        settings: How much to measure.
    """

    def __init__(self, engine: str, vocabulary: Vocabulary, tokenizer: str, settings: Settings) -> None:
        self.engine = engine
        self._connection, other = _FORK.Pipe()
        self._process = _FORK.Process(target=_serve, args=(engine, vocabulary, tokenizer, settings, other))
        self._process.start()
        other.close()
        self._failure: str = self._answer()

    def measure(self, job: Job) -> Measurement:
        """Everything about a pattern, once."""
        if not self._failure:
            self._connection.send((job, None))
            answer = self._answer()
            if isinstance(answer, Measurement):
                return answer
            self._failure = answer
        return Measurement(self.engine, job.vocabulary, job.name, self._failure)

    def measure_again(self, job: Job, rows: bool) -> dict[str, float]:
        """The single times once more."""
        self._connection.send((job, rows))
        answer = self._answer()
        return answer if isinstance(answer, dict) else {}

    def stop(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.join()
        self._connection.close()

    def _answer(self) -> Any:
        try:
            return self._connection.recv()
        except EOFError:
            self._process.join()
            return f"the process ended with code {self._process.exitcode}"


def _serve(engine_name: str, vocabulary: Vocabulary, tokenizer: str, settings: Settings, asked: Connection) -> None:
    end_with_parent()
    try:
        engine = ENGINES[engine_name](vocabulary, tokenizer)
        warm_up(engine, vocabulary)
    except Exception as error:
        asked.send(f"cannot load the vocabulary: {type(error).__name__}: {error}")
        return
    if engine.is_slow:
        settings = replace(settings, walking=settings.walking / 8)
    gc.collect()
    gc.freeze()  # a collection in a fork would copy every page
    asked.send("")
    while True:
        job, rows = asked.recv()
        if rows is None:
            asked.send(measure(engine, vocabulary, job, settings))
        else:
            asked.send(measure_again(engine, vocabulary, job, settings, rows))


def measure_all(
    servers: Sequence[Server], jobs: Sequence[Job], settings: Settings, progress: Callable[[Measurement], None]
) -> list[Measurement]:
    """Every job on every server; in the order of the servers, then of the jobs."""
    measurements: dict[tuple[str, str], Measurement] = {}
    for job in jobs:
        for server in servers:
            found = server.measure(job)
            measurements[server.engine, job.name] = found
            progress(found)
        runs: dict[str, list[dict[str, float]]] = {server.engine: [] for server in servers}
        for _ in range(settings.repeats - 1):
            for server in servers:
                found, earlier = measurements[server.engine, job.name], runs[server.engine]
                if not found.failure and not found.stopped and _spent("first", found, earlier) < _ENOUGH:
                    rows = found.states is not None and _spent("rows", found, earlier) < _ENOUGH
                    earlier.append(server.measure_again(job, rows))
        for server in servers:
            _take_fastest(measurements[server.engine, job.name], runs[server.engine])
    return [measurements[server.engine, job.name] for server in servers for job in jobs]


def _spent(name: str, found: Measurement, runs: Sequence[dict[str, float]]) -> float:
    return (getattr(found, name) or 0.0) + sum(times.get(name, 0.0) for times in runs)


def _take_fastest(found: Measurement, runs: Sequence[dict[str, float]]) -> None:
    for times in runs:
        for name, seconds in times.items():
            setattr(found, name, min(seconds, getattr(found, name)))
