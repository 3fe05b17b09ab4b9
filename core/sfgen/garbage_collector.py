"""Put off Python's cyclic garbage collector, which walks every object of the process, while many objects are made."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_waiting = 0
_collected = False


@contextmanager
def not_collecting() -> Iterator[None]:
    """Put collections off, in all threads, until the last block of this kind ends.

    >>> import gc
    >>> with not_collecting():
    ...     gc.isenabled()
    False
    """
    global _waiting, _collected
    with _lock:
        if _waiting == 0:
            _collected = gc.isenabled()
            gc.disable()
        _waiting += 1
    try:
        yield
    finally:
        with _lock:
            _waiting -= 1
            if _waiting == 0 and _collected:
                gc.enable()
