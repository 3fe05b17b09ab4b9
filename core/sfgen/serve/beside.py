"""The work on requests beside the event loop: a text is encoded, a constraint is taken, the tokens of a ban are found.

All of it is Python, of which one thread runs at a time: whoever wants to go on waits for a turn of each of the others.
So there are few of these threads, else the engine, which writes texts, would wait for every request that comes.
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
"""They are two, so that the request of a book does not hold up all others."""


async def beside(make: Callable[Given, Made], *args: Given.args, **kwargs: Given.kwargs) -> Made:
    """Make something in one of the threads, those of all servers."""
    return await asyncio.get_running_loop().run_in_executor(_threads(), partial(make, *args, **kwargs))


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(THREADS, "sfgen-requests")
