"""One thread for numpy's matrix products: the embedded model's are over before a second thread has been woken up.

numpy includes OpenBLAS, which divides a product of a few thousand numbers among all processors, and whose threads wait
for each other in busy loops. On two processors that others used, a prompt of 600 tokens was measured to take 20 times
as long with two threads as with one.
"""

from __future__ import annotations

import contextlib
import ctypes
import threading
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

_NAMES = ("scipy_openblas_{}_num_threads64_", "openblas_{}_num_threads64_", "openblas_{}_num_threads")
"""The names of the functions in the builds of OpenBLAS: numpy's own wheels, older ones, those of distributions."""


class _Users:
    """A count of users: the first sets one thread, the last restores the number before."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._count = 0
        self._before = 1

    def enter(self, get: Any, put: Any) -> None:
        with self._lock:
            if self._count == 0:
                self._before = get()
                put(1)
            self._count += 1

    def leave(self, put: Any) -> None:
        with self._lock:
            self._count -= 1
            if self._count == 0:
                put(self._before)


_users = _Users()


@contextlib.contextmanager
def one_blas_thread() -> Iterator[None]:
    """Multiply matrices in one thread inside the ``with`` statement."""
    # Where numpy's BLAS is not OpenBLAS, nothing changes.
    functions = _functions()
    if functions is None:
        yield
        return
    get, put = functions
    _users.enter(get, put)
    try:
        yield
    finally:
        _users.leave(put)


@cache
def _functions() -> tuple[Any, Any] | None:
    """Find the functions that get and set the threads of numpy's OpenBLAS."""
    numpy: Any = np
    try:  # numpy does not document where its compiled part lies
        # It also has the functions of the libraries that it depends on.
        library = ctypes.CDLL(numpy._core._multiarray_umath.__file__)
    except (AttributeError, OSError):
        return None
    for name in _NAMES:
        with contextlib.suppress(AttributeError):
            return library[name.format("get")], library[name.format("set")]
    return None
