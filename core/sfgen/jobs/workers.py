"""Several processes that make the texts of one job, each with its own model.

This process reads the prompts and writes the records; the others do the rest (``sfgen.jobs.worker``). If a process
dies, nothing is lost: its slots are made again, each alone in a process, so that a record that kills its process is
found. After the second death that record becomes an error.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import subprocess
import sys
import threading
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import IO

from sfgen.errors import GenerationError, ModelError, SfgenError
from sfgen.jobs.job import Job
from sfgen.jobs.record import Lines, Slot
from sfgen.jobs.texts import InOrder, Outcome


@dataclass(frozen=True)
class Assignment:
    """The first message to a worker: its work.

    Attributes:
        job: The job for each prompt.
        lines: The lines of the run.
        batch_size: The number of texts that are generated at once.
    """

    job: Job
    lines: Lines
    batch_size: int


@dataclass(frozen=True)
class Ready:
    """The message of a worker that has loaded its model."""


MOST_DEATHS = 2
"""The number of processes that may die over a slot's text before it is given up."""

MOST_FAILED_STARTS = 3
"""The number of processes in a row that may die before they have loaded the model; then the job ends."""


def give_up(slot: Slot, lines: Lines, how: str = "") -> Outcome:
    """Make the record of a slot that has killed its processes: an error."""
    died = f" ({how})" if how else ""
    error = GenerationError(f"the process that made it has died, and a second one, too{died}")
    return Outcome(slot, lines.failed(slot, error.message), error)


COMMAND = (sys.executable, "-m", "sfgen.jobs.worker")
"""The command that starts a worker."""


@dataclass(eq=False)
class _Worker:
    """A process, with the slots that it was given and has not answered."""

    process: subprocess.Popen[bytes]
    is_ready: bool = False
    given: dict[tuple[int, int], Slot] = field(default_factory=dict)

    def send(self, what: Assignment | Slot) -> None:
        """Send a pickle. If the process has died, another event reports that."""
        stdin = self.process.stdin
        assert stdin is not None, "it is a pipe"
        with contextlib.suppress(OSError):
            pickle.dump(what, stdin, pickle.HIGHEST_PROTOCOL)
            stdin.flush()


@dataclass(frozen=True)
class _Told:
    """The answer of a worker; ``None``: it has died."""

    worker: _Worker
    answer: Outcome | Ready | SfgenError | None


@dataclass(frozen=True)
class _Read:
    """The next slot, or the end of the slots, or the error that has ended the reading."""

    slot: Slot | None
    error: BaseException | None = None


class Workers:
    """The processes that make the texts of some slots.

    Attributes:
        deaths: How many processes have died and were replaced.
    """

    def __init__(self, assignment: Assignment, count: int, order: InOrder, command: Sequence[str] = COMMAND) -> None:
        self._assignment = assignment
        self._count = count
        self._order = order
        self._command = command
        self._events: SimpleQueue[_Told | _Read] = SimpleQueue()
        self._workers: list[_Worker] = []
        self._waiting: deque[Slot] = deque()
        self._again: deque[Slot] = deque()  # slots whose process has died
        self._deaths: Counter[tuple[int, int]] = Counter()
        self._failed_starts = 0
        self._is_read = False
        self.deaths = 0
        per_worker = assignment.batch_size + max(1, assignment.batch_size // 2)
        self._per_worker = per_worker  # slots that a worker is given at once, so that it never waits for the next
        # Slots that are read and not passed on are kept in memory: their number is limited, as one text may take long.
        self._room = threading.Semaphore(max(64, 4 * count * per_worker))
        self._noted = 0  # slots that were read
        self._handed_on = 0  # slots of these that were passed on

    def steps(self, slots: Iterable[Slot]) -> Iterator[None]:
        """Fill all slots; yield whenever an outcome has come."""
        threading.Thread(target=self._read, args=(iter(slots),), daemon=True).start()
        try:
            for _ in range(self._count):
                self._start()
            while not (self._is_read and not self._waiting and not self._again and not self._unanswered()):
                self._take(self._events.get())
                self._make_room()
                yield
        finally:
            for worker in self._workers:
                _end(worker.process)

    def _read(self, slots: Iterator[Slot]) -> None:
        """Read the slots, not too far ahead."""
        try:
            while True:
                self._room.acquire()
                slot = next(slots, None)
                self._events.put(_Read(slot))
                if slot is None:
                    return
        except BaseException as error:
            self._events.put(_Read(None, error))

    def _make_room(self) -> None:
        """Let as many slots be read as were passed on."""
        handed_on = self._noted - len(self._order)
        if handed_on > self._handed_on:
            self._room.release(handed_on - self._handed_on)
            self._handed_on = handed_on

    def _unanswered(self) -> bool:
        return any(worker.given for worker in self._workers)

    def _start(self) -> None:
        """Start a process; it is not waited for."""
        process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=_environment(self._count),
            start_new_session=True,  # Ctrl-C is for this process, which ends the others
        )
        worker = _Worker(process)
        self._workers.append(worker)
        threading.Thread(target=self._listen, args=(worker, process.stdout), daemon=True).start()
        worker.send(self._assignment)

    def _listen(self, worker: _Worker, stdout: IO[bytes]) -> None:
        try:
            while True:
                self._events.put(_Told(worker, pickle.load(stdout)))
        except Exception:  # the end, also in the middle of an answer
            self._events.put(_Told(worker, None))

    # ---- events -----------------------------------------------------------------------------------------------------

    def _take(self, event: _Told | _Read) -> None:
        if isinstance(event, _Read):
            if event.error is not None:
                raise event.error
            if event.slot is None:
                self._is_read = True
            else:
                self._noted += 1
                self._order.note(event.slot)
                self._waiting.append(event.slot)
        elif isinstance(event.answer, SfgenError):
            raise event.answer
        elif event.answer is None:
            self._bury(event.worker)
        elif isinstance(event.answer, Ready):
            event.worker.is_ready = True
            self._failed_starts = 0
        else:
            del event.worker.given[event.answer.slot.key]
            self._order.add(event.answer)
        self._give()

    def _bury(self, worker: _Worker) -> None:
        """Put another process in the place of a dead one."""
        self._workers.remove(worker)
        _end(worker.process)
        self.deaths += 1
        if not worker.is_ready:
            self._failed_starts += 1
            if self._failed_starts >= MOST_FAILED_STARTS:
                raise ModelError(
                    f"a process that was to load the model has died ({_how(worker.process)}), and others after it",
                    hint="Use fewer processes: perhaps the memory does not suffice for several models.",
                )
        for slot in worker.given.values():
            self._deaths[slot.key] += 1
            if self._deaths[slot.key] < MOST_DEATHS:
                self._again.append(slot)
            else:
                self._order.add(give_up(slot, self._assignment.lines, _how(worker.process)))
        self._start()

    def _give(self) -> None:
        """Give each ready worker slots."""
        # A slot that has killed a worker is given alone, to a worker that has no other.
        ready = [worker for worker in self._workers if worker.is_ready]
        for worker in ready:
            if self._again and not worker.given:
                self._hand(worker, self._again.popleft())
        if self._again:  # busy workers finish first
            return
        for worker in sorted(ready, key=lambda each: len(each.given)):
            if any(key in self._deaths for key in worker.given):
                continue
            while self._waiting and len(worker.given) < self._per_worker:
                self._hand(worker, self._waiting.popleft())

    def _hand(self, worker: _Worker, slot: Slot) -> None:
        worker.given[slot.key] = slot
        worker.send(slot)


def _environment(count: int) -> dict[str, str]:
    """Make the environment of a worker."""
    # Each worker has its share of the processors, unless a number of threads was given.
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    share = str(max(1, processors // count))
    return {"OMP_NUM_THREADS": share, **os.environ, "TQDM_DISABLE": "1"}


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill a process: all that it holds is here, too."""
    process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout):
        assert stream is not None, "they are pipes"
        with contextlib.suppress(OSError):
            stream.close()


def _how(process: subprocess.Popen[bytes]) -> str:
    code = process.returncode
    return f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"
