"""Choose the number of processor threads for a model.

Several threads wait for each other after every operation. In a small model an operation is over before another thread
has been woken up, so more threads bring next to nothing; and while another process uses one of the processors, all
threads wait for the one that has lost its processor: with two threads beside another busy process, the embedded model
was measured to take 150 times as long as with one.

So there is never more than one thread for a core: the hyper-threads of a core share its arithmetic units, and a second
one only waits longer. llama.cpp's threads wait for each other in OpenMP, where they keep their processors busy unless
GOMP_SPINCOUNT is low when llama.cpp is loaded. Nothing in its interface changes that (a thread pool's ``poll`` is for
builds without OpenMP). The library does not change the environment; the command ``sfgen`` sets the variable. Its value
is not 0 (``OMP_WAIT_POLICY=passive``): waking a thread takes longer than most waits, and a token would take twice as
long.
"""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Collection, Iterator
from pathlib import Path, PurePosixPath
from typing import Any
from weakref import WeakKeyDictionary

from sfgen import arguments
from sfgen.errors import UsageError

_SMALL = 10_000_000
"""The most parameters of a model for which one thread is enough."""

_MOST_THREADS = 1024
"""The most threads that may be asked for: OpenMP and llama.cpp end the process where the system cannot make their
threads."""


def checked_threads(threads: int | None) -> int | None:
    """Check how many threads somebody wants a model to use."""
    if threads is None:
        return None
    number = arguments.whole_number("threads", threads, least=1)
    if number > _MOST_THREADS:
        raise UsageError(
            f"threads must be at most {_MOST_THREADS}, not {number}",
            hint="More threads than processor cores only wait for each other.",
        )
    return number


def threads_for(parameters: int, root: Path = Path("/")) -> int:
    """Return the number of threads for a model: one if it is small, else the cores."""
    if parameters <= _SMALL:
        return 1
    every = range(os.cpu_count() or 1)
    processors = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else every
    return max(1, min(_cores(processors, root), _quota(root)))


def _cores(processors: Collection[int], root: Path) -> int:
    """Count the cores of some processors."""
    # Linux has a file for each processor that names its core; without it each processor counts as a core.
    cores = set()
    for processor in processors:
        siblings = root / f"sys/devices/system/cpu/cpu{processor}/topology/thread_siblings_list"
        try:
            cores.add(siblings.read_text(encoding="ascii"))
        except (OSError, ValueError):
            cores.add(f"{processor}")
    return len(cores)


def _quota(root: Path) -> int:
    """Return the processors that a container may keep busy, rounded up; many without a bound."""
    try:
        lines = (root / "proc/self/cgroup").read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        lines = []
    most = math.inf
    for line in lines:  # NUMBER:CONTROLLERS:PATH, without controllers in version 2
        controllers, _, path = line.partition(":")[2].partition(":")
        if controllers and "cpu" not in controllers.split(","):
            continue
        group = PurePosixPath(path.lstrip("/"))
        for each in (group, *group.parents):  # a container may see its own group as the root, whatever its path
            most = min(most, _bound(root / "sys/fs/cgroup" / ("cpu" if controllers else "") / each))
    return math.ceil(min(most, 1 << 20))


def _bound(group: Path) -> float:
    """Return the share of processor time of a control group, in either version of its files."""
    for names in (("cpu.max",), ("cpu.cfs_quota_us", "cpu.cfs_period_us")):
        with contextlib.suppress(OSError, ValueError):  # "max" is no number
            quota, period = map(int, " ".join((group / name).read_text() for name in names).split())
            if quota > 0 and period > 0:
                return quota / period
    return math.inf


class CpuThreads:
    """A bound on torch's threads during forward passes."""

    def __init__(self, model: Any, threads: int | None = None) -> None:
        self._threads = 1 if threads is None and model.device.type == "cpu" and _is_small(model) else threads

    @contextlib.contextmanager
    def bounded(self) -> Iterator[None]:
        """Bound torch's threads inside the ``with`` statement."""
        import torch

        before = torch.get_num_threads()
        if self._threads in (None, before):
            yield
            return
        torch.set_num_threads(self._threads)
        try:
            yield
        finally:
            torch.set_num_threads(before)


_small: WeakKeyDictionary[Any, bool] = WeakKeyDictionary()


def _is_small(model: Any) -> bool:
    """Return whether one thread is enough."""
    # Cached: each text asks again, and counting the parameters takes half a millisecond.
    known = _small.get(model)
    if known is None:
        known = _small[model] = sum(each.numel() for each in model.parameters()) <= _SMALL
    return known
