"""Several processes write one file: the one that a single process writes, whatever is killed."""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.command.many_prompts import timeless
from tests.support.command.processes import workers_of
from tests.support.running.tried import rounds

from sfgen import GenerationConfig, Job, Sampler, load_model, run_job
from sfgen.errors import ModelError, SfgenError, UsageError
from sfgen.jobs.prompts import PromptList
from sfgen.jobs.record import Lines, Slot
from sfgen.jobs.texts import InOrder, Outcome
from sfgen.jobs.workers import Assignment, Workers

pytestmark = pytest.mark.process  # the library starts them

CONFIG = GenerationConfig(index="[a-z]{30}", sampler=Sampler(temperature=1.0, seed=7))
JOB = Job("uniform", CONFIG, samples=2)
PROMPTS: list[Any] = [{"prompt": f"Prompt {number} ", "id": number} for number in range(90)]
PROMPTS[7] = {"text": "no prompt"}


def lines_of(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in timeless(file.read_bytes()).splitlines()]


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    file = tmp_path_factory.mktemp("one") / "one.jsonl"
    run_job(JOB, PROMPTS, file)
    return lines_of(file)


@pytest.mark.parametrize(("workers", "batch_size"), [(2, 1), (3, 4)])
def test_the_file_is_that_of_one_process(
    workers: int, batch_size: int, expected: list[dict[str, Any]], tmp_path: Path
) -> None:
    summary = run_job(JOB, PROMPTS, tmp_path / "some.jsonl", workers=workers, batch_size=batch_size)
    assert lines_of(tmp_path / "some.jsonl") == expected
    assert (summary.written, summary.failed) == (178, 1)


def test_another_number_goes_on(expected: list[dict[str, Any]], tmp_path: Path) -> None:
    file = tmp_path / "some.jsonl"
    run_job(JOB, PROMPTS, file)
    whole = file.read_bytes()
    for part, workers in ((0.3, 2), (0.6, 3), (0.9, 1)):
        file.write_bytes(whole[: int(len(whole) * part)])
        run_job(JOB, PROMPTS, file, resume=True, workers=workers)
        assert lines_of(file) == expected


def test_killed_workers_are_replaced(expected: list[dict[str, Any]], tmp_path: Path) -> None:
    """While they load and while they write, now and then two at once; never the same text twice."""
    draw, over, killed = random.Random(time.time_ns()), threading.Event(), list[int]()
    file = tmp_path / "some.jsonl"

    def kill_some() -> None:
        size, most, is_young = 0, rounds(40), False
        while not over.wait(0.01) and len(killed) < most:
            # The file has grown by a dozen lines: no text is killed two times.
            if file.exists() and file.stat().st_size > size + 5000 and (found := workers_of(os.getpid())):
                size = file.stat().st_size
                victims = draw.sample(found, min(len(found), draw.choice([1, 1, 2])))
                oldest = found[0]
                # Three starts in a row that fail end a run: after one that may have been killed so, that which writes.
                if is_young:
                    victims = [oldest]
                is_young = oldest not in victims
                for process in victims:
                    os.kill(process, signal.SIGKILL)
                    killed.append(process)

    killer = threading.Thread(target=kill_some)
    killer.start()
    try:
        run_job(JOB, PROMPTS, file, workers=2)
    finally:
        over.set()
        killer.join()
    assert killed
    # A text far ahead is killed two times where its second process is hit, too, while the other writes earlier lines.
    lost = 0
    for line, whole in zip(lines_of(file), expected, strict=True):
        if line != whole:
            error = line.pop("error")
            assert "a second one, too" in error
            assert line == {key: value for key, value in whole.items() if key not in {"text", "finish_reason"}}
            lost += 1
    assert lost <= len(killed) // 2


DEADLY = """
import os, sys
from sfgen.jobs import loaded_job, worker
real = loaded_job.LoadedJob.loop
def loop(self, prompt, *rest, **named):
    if "deadly" in prompt:
        os.kill(os.getpid(), 9)
    return real(self, prompt, *rest, **named)
loaded_job.LoadedJob.loop = loop
worker.main()
"""


def test_what_kills_its_process_twice_is_an_error_and_nothing_else_is() -> None:
    job = Job("uniform", CONFIG)
    prompts = [f"Prompt {number}" for number in range(40)]
    prompts[11] = prompts[30] = "deadly"
    order, outcomes = _ordered()
    lines = Lines.of(job)
    workers = Workers(Assignment(job, lines, 4), 2, order, [sys.executable, "-c", DEADLY])
    for _ in workers.steps(lines.slots(PromptList(prompts).records())):
        pass
    failed = [outcome for outcome in outcomes if outcome.error]
    assert [outcome.slot.prompt.line for outcome in outcomes] == list(range(1, 41))
    assert [outcome.slot.prompt.line for outcome in failed] == [12, 31]
    assert all("signal 9" in outcome.record["error"] for outcome in failed)
    # Two each; one less where both had been given to the same process when the first killed it.
    assert workers.deaths in (3, 4)


def _ordered() -> tuple[InOrder, list[Outcome]]:
    outcomes: list[Outcome] = []
    return InOrder(outcomes.append), outcomes


def test_processes_that_never_begin_are_an_error() -> None:
    job = Job("uniform", CONFIG)
    order, outcomes = _ordered()
    workers = Workers(Assignment(job, Lines.of(job), 1), 2, order, [sys.executable, "-c", "import sys; sys.exit(3)"])
    with pytest.raises(ModelError, match="exit code 3"):
        list(workers.steps(Lines.of(job).slots(PromptList(["a"]).records())))
    assert not outcomes


def test_a_model_that_cannot_be_loaded_is_told_once(tmp_path: Path) -> None:
    job = Job(str(tmp_path / "nothing"), CONFIG)
    order, outcomes = _ordered()
    lines = Lines.of(job)
    with pytest.raises(SfgenError, match="nothing"):
        list(Workers(Assignment(job, lines, 1), 2, order).steps(lines.slots(PromptList(["a"]).records())))
    assert not outcomes


def test_a_text_that_takes_long_lets_no_more_be_read() -> None:
    """While the first place is open, some of those behind it are read, and no more."""
    job, read = Job("uniform", CONFIG), list[int]()
    slow = """
import time
from sfgen.jobs import loaded_job, worker
real = loaded_job.LoadedJob.loop
def loop(self, prompt, *rest, **named):
    if prompt == "slow":
        time.sleep(2)
    return real(self, prompt, *rest, **named)
loaded_job.LoadedJob.loop = loop
worker.main()
"""

    def prompts() -> Iterator[str]:
        yield "slow"
        for number in range(400):
            read.append(number)
            yield "quick"

    written: list[int] = []
    order = InOrder(lambda outcome: written.append(len(read) if not written else 0))
    lines = Lines.of(job)
    workers = Workers(Assignment(job, lines, 1), 2, order, [sys.executable, "-c", slow])
    for _ in workers.steps(lines.slots(PromptList(prompts()).records())):
        pass
    assert len(written) == 401
    assert written[0] <= 64


def test_an_error_of_the_reading_ends_all() -> None:
    job = Job("uniform", CONFIG)
    lines = Lines.of(job)

    def broken() -> Iterator[Slot]:
        yield from lines.slots(PromptList(["a"]).records())
        raise OSError("the disk")

    order, _ = _ordered()
    with pytest.raises(OSError, match="the disk"):
        list(Workers(Assignment(job, lines, 1), 2, order).steps(broken()))
    assert not workers_of(os.getpid())


def test_what_cannot_be_shared_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="workers cannot be sent a model"):
        run_job(Job(load_model("uniform"), CONFIG), ["a"], tmp_path / "a.jsonl", workers=2)
    with pytest.raises(UsageError, match="workers and trace"):
        run_job(JOB, ["a"], tmp_path / "b.jsonl", workers=2, trace=tmp_path / "trace.jsonl")
    with pytest.raises(UsageError, match="at most"):
        run_job(JOB, ["a"], tmp_path / "c.jsonl", workers=2000)
    with pytest.raises(UsageError, match="workers"):
        run_job(JOB, ["a"], tmp_path / "d.jsonl", workers=0)
