"""Work in a process of its own: its memory can be measured, and it can be stopped.

The process is a fork, so what is loaded stays loaded and what a pattern leaves in caches is gone after it.
"""

from __future__ import annotations

import ctypes
import gc
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

Send = Callable[[str, Any], None]
"""Report one finished phase: its name and what came of it."""

_FORK = multiprocessing.get_context("fork")
_POLL = 0.1  # seconds
_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass
class Outcome:
    """What a process reported, and how it ended.

    Args:
        results: What was sent under each name.
        stopped: Why it was stopped, such as "over 60 s"; empty when it came to its end.
        failed: The error it ended with; empty when there was none.
        resident: The resident memory, in bytes, when it was stopped.
        seconds: How long the phase took that was stopped.
    """

    results: dict[str, Any] = field(default_factory=dict)
    stopped: str = ""
    failed: str = ""
    resident: int = 0
    seconds: float = 0.0


def run(
    work: Callable[[Send], None],
    *,
    seconds: float,
    memory: int,
) -> Outcome:
    """Run ``work`` in a fork.

    Args:
        work: What to do; it is given a function that sends results.
        seconds: How long it may take from one result to the next.
        memory: The resident bytes that it may have.
    """
    receiver, sender = _FORK.Pipe(duplex=False)
    process = _FORK.Process(target=_child, args=(work, sender))
    process.start()
    sender.close()
    outcome = Outcome()
    since = time.monotonic()
    try:
        while True:
            if receiver.poll(_POLL):
                try:
                    name, value = receiver.recv()
                except EOFError:
                    process.join()
                    outcome.failed = f"the process ended with code {process.exitcode}"
                    return outcome
                if name == "":
                    outcome.failed = value
                    return outcome
                outcome.results[name] = value
                since = time.monotonic()
                continue
            outcome.seconds = time.monotonic() - since
            outcome.resident = resident(process.pid)
            if outcome.seconds > seconds:
                outcome.stopped = f"over {seconds:.0f} s"
                return outcome
            if outcome.resident > memory:
                outcome.stopped = f"over {memory / 2**30:.0f} GB"
                return outcome
    finally:
        process.kill()
        process.join()
        receiver.close()


def end_with_parent() -> None:
    """Let this process be killed when the one that made it ends, however it ends; Linux only."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def _child(work: Callable[[Send], None], sender: Connection) -> None:
    end_with_parent()
    try:
        work(lambda name, value: sender.send((name, value)))
        sender.send(("", ""))
    except BaseException as error:  # panics of other languages too
        sender.send(("", f"{type(error).__name__}: {error}"))
    sender.close()


def resident(pid: int | None) -> int:
    """The resident memory of a process, in bytes; 0 where it has ended. Linux only."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE
    except (OSError, IndexError):  # it has just ended
        return 0


class MemoryGrowth:
    """The peak of this process's resident memory above what it was when this was made; Linux only."""

    def __init__(self) -> None:
        gc.collect()
        ctypes.CDLL(None).malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5")  # the peak so far is forgotten
        self.start = resident(os.getpid())

    def peak(self) -> int:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return max(0, int(line.split()[1]) * 1024 - self.start)
        raise OSError("no VmHWM in /proc/self/status")
