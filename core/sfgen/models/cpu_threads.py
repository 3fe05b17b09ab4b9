"""How many threads of the processor a model is worth.

Several threads wait for each other after every operation. In a small model an operation is over before another thread
has been woken up, so they bring next to nothing there; and where something else runs on one of the processors, all wait
for the thread that has lost its own: with two threads beside another busy process, the embedded model was measured to
take 150 times as long as with one.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Any
from weakref import WeakKeyDictionary

_SMALL = 10_000_000
"""Parameters; up to here one thread is enough."""


def threads_for(parameters: int) -> int:
    """Return the number of threads that a model is worth.

    One if it is small, else one for each processor that this process may use.

    Args:
        parameters: The number of its weights.
    """
    if parameters <= _SMALL:
        return 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class CpuThreads:
    """A bound on torch's threads during forward passes.

    Args:
        model: A model of torch.
        threads: How many it may use; ``None``: one for a small model on a CPU, for others as many as torch likes.
    """

    def __init__(self, model: Any, threads: int | None = None) -> None:
        self._threads = 1 if threads is None and model.device.type == "cpu" and _is_small(model) else threads

    @contextlib.contextmanager
    def bounded(self) -> Iterator[None]:
        """Bound torch's threads inside the ``with`` statement.

        The number that was set before is set again afterwards.
        """
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
    """Whether one thread is enough; each text asks again, and counting the parameters takes half a millisecond."""
    known = _small.get(model)
    if known is None:
        known = _small[model] = sum(each.numel() for each in model.parameters()) <= _SMALL
    return known
