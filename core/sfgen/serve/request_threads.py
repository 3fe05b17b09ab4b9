"""Run work on requests in threads beside the event loop: tokenizing texts, taking compiled constraints, finding the
tokens of a ban.

This work is Python code, which runs in one thread at a time, in turns. So there are few of these threads: with many,
the engine, which writes texts, would wait for a turn of every new request.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from typing import ParamSpec, TypeVar

Given = ParamSpec("Given")
Made = TypeVar("Made")

THREADS = 2
"""Two, so that a request with a very long prompt does not delay all others."""


async def in_request_thread(make: Callable[Given, Made], *args: Given.args, **kwargs: Given.kwargs) -> Made:
    """Call a function in one of the threads, which all servers share."""
    return await asyncio.get_running_loop().run_in_executor(_threads(), partial(make, *args, **kwargs))


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(THREADS, "sfgen-requests")
