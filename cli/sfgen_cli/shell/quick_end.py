"""End a process without taking apart what Python has loaded."""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import threading
from typing import NoReturn


def end(code: int) -> NoReturn:
    """End this process.

    Python would free first what it has loaded, which takes a fifth of the time of a short command. What is registered
    for the exit is done. Python ends in its own way where a profiler or a debugger looks on, and where a thread still
    has work.

    Args:
        code: The exit code.
    """
    handlers = getattr(atexit, "_run_exitfuncs", None)  # what Python's own multiprocessing calls in forked processes
    if handlers is None or sys.flags.inspect or _is_watched() or _has_work():
        sys.exit(code)
    handlers()
    flush_streams()
    os._exit(code)


def flush_streams() -> None:
    """Write what the standard streams still hold, as far as it can be written."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):  # what was to be told of that is told
            if stream is not None:
                stream.flush()


def _has_work() -> bool:
    """Whether a thread is to be waited for."""
    return any(not thread.daemon for thread in threading.enumerate() if thread is not threading.main_thread())


def _is_watched() -> bool:
    """Whether somebody wants to go on after the end of the command."""
    monitoring = getattr(sys, "monitoring", None)  # of Python 3.12
    tools = [monitoring.get_tool(number) for number in range(6)] if monitoring else []
    return bool(sys.gettrace() or sys.getprofile() or any(tools))
