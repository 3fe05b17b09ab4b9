"""Meet random, mutated and wrong schemas: a right answer, or one clear message, within a second and 500 MB.

Usage: ``python -m tests.bench.schema_fuzz [--count 5000] [--seed 0]``. Each schema (``tests/support/schemas/odd.py``)
is read by a process that is watched; what is written by it is asked of jsonschema. Prints what each kind came to, the
slowest and the largest, and every fault; ends with 1 where there is one. Time is processor time, memory what the peak
is above what the process had before.
"""

from __future__ import annotations

import argparse
import gc
import multiprocessing
import os
import sys
import time
from collections import Counter
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import TYPE_CHECKING

from .isolation import MemoryGrowth, end_with_parent, resident

if TYPE_CHECKING:
    from tests.support.schemas.odd import OddSchema

SECONDS, MEGABYTES = 1.0, 500.0
"""What an answer may take."""
_PATIENCE = 20.0  # seconds of processor time, after which a process is stopped
_MOST = 3 * 2**30  # resident bytes, likewise
_RESTARTED = 400  # schemas after which a process is started anew
_FORK = multiprocessing.get_context("fork")


@dataclass
class Outcome:
    """What became of a schema.

    Args:
        odd: The schema.
        verdict: ``right``, ``refused``, ``not judged`` or ``fault``.
        words: The message, or what is wrong.
        seconds: The processor time of the answer.
        megabytes: The memory of the answer.
    """

    odd: OddSchema
    verdict: str
    words: str
    seconds: float
    megabytes: float


def main() -> int:
    """Meet them all, print the report; 1 if there is a fault."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.schema_fuzz", description=__doc__.partition("\n")[0])
    add = parser.add_argument
    add("--count", type=int, default=5000, metavar="N", help="how many schemas (default: 5000)")
    add("--seed", type=int, default=0, metavar="N", help="other schemas for other numbers (default: 0)")
    add("--kind", help="only this kind")
    add("--only", metavar="TEXT", help="only those with this in their name")
    add("--processes", type=int, default=2, metavar="N", help="default: 2")
    add("--shown", type=int, default=12, metavar="N", help="of the slowest and the largest (default: 12)")
    options = parser.parse_args()
    from tests.support.schemas.odd import OddSchema, odd_schemas
    from tests.support.schemas.verdicts import answer

    found = odd_schemas(options.count, options.seed)
    # Before the forks, so that none of them pays for it.
    answer(OddSchema("", "warm", '{"type": "object", "properties": {"a": {"pattern": "^a"}, "b": {"enum": [1, "b"]}}}'))
    gc.collect()
    gc.freeze()
    chosen = [odd for odd in found if options.kind in (None, odd.kind) and (options.only or "") in odd.name]
    began = time.monotonic()
    outcomes = _met(chosen, options.processes)
    print(_report(outcomes, time.monotonic() - began, options.seed, options.shown))
    return int(any(outcome.verdict == "fault" for outcome in outcomes))


class _Worker:
    """A process that answers one schema after the other."""

    def __init__(self) -> None:
        self.connection, other = _FORK.Pipe()
        self.process = _FORK.Process(target=_serve, args=(other,))
        self.process.start()
        other.close()
        self.number = -1
        self.met = 0
        self.since = 0.0
        self.measured: tuple[float, float] | None = None

    def begin(self, number: int, odd: OddSchema) -> None:
        self.number, self.since, self.measured = number, _processor_time(self.process.pid), None
        self.met += 1
        self.connection.send(odd)

    def stop(self) -> None:
        self.process.kill()
        self.process.join()
        self.connection.close()


def _met(found: list[OddSchema], processes: int) -> list[Outcome]:
    """All schemas met by some processes."""
    outcomes: dict[int, Outcome] = {}
    todo = list(range(len(found)))[::-1]
    workers = [_Worker() for _ in range(processes)]
    while todo or any(worker.number >= 0 for worker in workers):
        for place, worker in enumerate(workers):
            if worker.number < 0 and todo:
                if worker.met >= _RESTARTED:
                    worker.stop()
                    workers[place] = worker = _Worker()
                number = todo.pop()
                worker.begin(number, found[number])
        ready = wait([worker.connection for worker in workers], timeout=0.2)
        for place, worker in enumerate(workers):
            if worker.number < 0:
                continue
            outcome = _heard(worker, found[worker.number]) if worker.connection in ready else _watched(worker, found)
            if outcome is None:
                continue
            outcomes[worker.number] = outcome
            worker.number = -1
            if outcome.words.startswith("stopped"):
                worker.stop()
                workers[place] = _Worker()
            if len(outcomes) % 100 == 0:
                print(f"{len(outcomes)} of {len(found)}", file=sys.stderr, flush=True)
    for worker in workers:
        worker.stop()
    return [outcomes[number] for number in sorted(outcomes)]


def _heard(worker: _Worker, odd: OddSchema) -> Outcome | None:
    """What a process says; ``None`` while it is not done."""
    try:
        said = worker.connection.recv()
    except (EOFError, ConnectionResetError):
        worker.process.join()
        return Outcome(odd, "fault", f"stopped: the process ended with code {worker.process.exitcode}", 0, 0)
    if isinstance(said[0], float):
        worker.measured = said
        worker.since = _processor_time(worker.process.pid)
        return None
    verdict, words = said
    return Outcome(odd, verdict, words, *(worker.measured or (0.0, 0.0)))


def _watched(worker: _Worker, found: list[OddSchema]) -> Outcome | None:
    """A fault where a process takes too long, or too much; once the answer is there, it is only not judged."""
    seconds, memory = _processor_time(worker.process.pid) - worker.since, resident(worker.process.pid)
    if seconds < _PATIENCE and memory < _MOST:
        return None
    words = f"stopped after {seconds:.0f} s with {memory / 1e6:,.0f} MB"
    if worker.measured is not None:
        return Outcome(found[worker.number], "not judged", words, *worker.measured)
    return Outcome(found[worker.number], "fault", words, seconds, memory / 1e6)


def _processor_time(pid: int | None) -> float:
    """The processor time of a process, in seconds; 0 where it has ended. Linux only."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _serve(connection: Connection) -> None:
    """Answer schemas: first what the answer took, then the verdict."""
    end_with_parent()
    from tests.support.schemas.verdicts import answer, fault_of_texts, more_texts

    while True:
        odd = connection.recv()
        growth, began = MemoryGrowth(), time.process_time()
        try:
            found = answer(odd)
            connection.send((time.process_time() - began, growth.peak() / 1e6))
            if found.message:
                connection.send(("fault" if found.fault else "refused", found.fault or found.message))
                continue
            fault = fault_of_texts(odd, [*found.texts, *more_texts(odd)])
            connection.send(("not judged" if fault is None else "fault" if fault else "right", fault or ""))
        except Exception as error:
            where = error.__traceback__
            while where is not None and where.tb_next is not None:
                where = where.tb_next
            code = "" if where is None else f" in {where.tb_frame.f_code.co_filename}:{where.tb_lineno}"
            connection.send(("fault", f"{type(error).__name__}: {error}"[:300] + code))


def _report(outcomes: list[Outcome], seconds: float, seed: int, shown: int) -> str:
    lines = [f"{len(outcomes)} schemas of seed {seed} in {seconds:.0f} s", ""]
    counts = Counter((outcome.odd.kind, outcome.verdict) for outcome in outcomes)
    verdicts = ("right", "refused", "not judged", "fault")
    lines += [f"| kind | {' | '.join(verdicts)} |", "| --- |" + " ---: |" * len(verdicts)]
    for kind in dict.fromkeys(outcome.odd.kind for outcome in outcomes):
        lines.append(f"| {kind} | {' | '.join(str(counts[kind, verdict]) for verdict in verdicts)} |")
    slow = [outcome for outcome in outcomes if outcome.seconds > SECONDS]
    large = [outcome for outcome in outcomes if outcome.megabytes > MEGABYTES]
    lines += ["", f"above {SECONDS:g} s: {len(slow)}; above {MEGABYTES:g} MB: {len(large)}", ""]
    lines += ["The slowest:", ""]
    for outcome in sorted(outcomes, key=lambda outcome: -outcome.seconds)[:shown]:
        lines.append(_line(outcome))
    lines += ["", "The largest:", ""]
    for outcome in sorted(outcomes, key=lambda outcome: -outcome.megabytes)[:shown]:
        lines.append(_line(outcome))
    faults = [outcome for outcome in outcomes if outcome.verdict == "fault"]
    lines += ["", f"Faults: {len(faults)}", ""]
    for outcome in faults:
        source = outcome.odd.source[:400]
        lines += [_line(outcome), f"  {source!r} {outcome.odd.options or ''}"]
    return "\n".join(lines)


def _line(outcome: Outcome) -> str:
    words = " ".join(outcome.words.split())[:240]
    return f"* {outcome.seconds:.2f} s, {outcome.megabytes:.0f} MB, {outcome.odd.name[:80]}: {outcome.verdict} {words}"


if __name__ == "__main__":
    sys.exit(main())
