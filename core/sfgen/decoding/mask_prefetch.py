"""Make masks while the model reads.

The tokens that may stand at a position depend on the guide's state alone, not on the scores. So if a mask is not made
yet and takes its time, a thread makes it during the forward pass; the kernels that make masks let other threads run.
One thread serves all texts.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from typing import TypeVar

from sfgen.protocols import Guide

Made = TypeVar("Made")


def is_worth_it(guide: Guide, clean: Guide | None) -> bool:
    """Return whether the next mask takes long, and a forward pass there is certain."""
    is_ready = guide.is_ready() and (clean is None or clean.is_ready())
    return not is_ready and guide.allows_several() is True


def begin(make: Callable[[], Made]) -> Future[Made]:
    """Call a function in the prefetch thread; until its result is there, it alone may use what it uses."""
    return _executor().submit(make)


@cache
def _executor() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=1, thread_name_prefix="sfgen-masks")


# A child process has none of its parent's threads.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_executor.cache_clear)
