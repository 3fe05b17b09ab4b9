"""How long something took, without what is done once on a machine or in a process."""

from __future__ import annotations

import time

from sfgen.kernels import seconds_of_loading


class Stopwatch:
    """Adds up the time of its ``with`` statements.

    Waiting for kernels does not count: to import numba, and to read or compile the kernels that are called, takes a
    second; what they do, a thousandth.

    Attributes:
        seconds: The sum until now.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self._started = 0.0

    def __enter__(self) -> Stopwatch:
        self._started = _now()
        return self

    def __exit__(self, *exception: object) -> None:
        self.seconds += _now() - self._started


def _now() -> float:
    return time.perf_counter() - seconds_of_loading()
