"""The command in a process that is forked from that of the tests: all that it needs is loaded, so it begins at once.

A command takes half a second when Python starts for it, most of it to load numba and the compiled kernels, and a
fifth of that here. It is a process as any other: with its own streams, signals and exit code. What is tested of the
start itself starts Python.
"""

from __future__ import annotations

import atexit
import io
import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any


def forked(
    arguments: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    preexec_fn: Callable[[], object] | None = None,
    **options: Any,
) -> subprocess.Popen[Any]:
    """Begin a command.

    Args:
        arguments: What is typed behind ``sfgen``.
        env: Its environment; ``None``: that of the tests.
        preexec_fn: This and the options: as of ``subprocess.Popen``.
    """
    _load()

    def become() -> None:  # where Popen would be about to execute another program
        code = 1
        try:
            if preexec_fn is not None:
                preexec_fn()
            become_a_command(dict(os.environ if env is None else env))
            code = run_command(arguments)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)

    return subprocess.Popen(["sfgen"], preexec_fn=become, **options)


def run_forked(
    arguments: Sequence[str], *, input: bytes | None = None, timeout: float = 120, **options: Any
) -> subprocess.CompletedProcess[bytes]:
    """Run a command to its end: its output, messages and exit code."""
    options.setdefault("stdin", subprocess.DEVNULL if input is None else subprocess.PIPE)
    with forked(arguments, **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}) as process:
        try:
            out, err = process.communicate(input, timeout)
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(["sfgen", *arguments], process.returncode, out, err)


@cache
def _load() -> None:
    """Import what commands need: this process keeps it for the next ones."""
    import sfgen_cli.app  # noqa: F401
    from sfgen import generate
    from sfgen.models.uniform import UniformModel

    assert generate(UniformModel(), "x", index="[ab]").text


def become_a_command(environment: dict[str, str]) -> None:
    """Have nothing of the tests but what is loaded: no open files, exit handlers, or streams."""
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))  # also that by which Popen waits for the other program
    atexit._clear()
    os.environ.clear()
    os.environ.update(environment)
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # these as Python begins
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.stdin = sys.__stdin__ = _stream(0, "rb", "strict")  # type: ignore[misc]
    sys.stdout = sys.__stdout__ = _stream(1, "wb", "strict")  # type: ignore[misc]
    sys.stderr = sys.__stderr__ = _stream(2, "wb", "backslashreplace")  # type: ignore[misc]


def _stream(descriptor: int, mode: str, errors: str) -> io.TextIOWrapper:
    is_direct = os.isatty(descriptor) or descriptor == 2
    return io.TextIOWrapper(open(descriptor, mode), encoding="utf-8", errors=errors, line_buffering=is_direct)


def run_command(arguments: Sequence[str]) -> int:
    """Run a command; its exit code is for ``os._exit``: to take Python apart takes longer than most commands."""
    from sfgen_cli.shell import ending, process

    process.prepare()
    code = ending.run(arguments)
    ending.flush_streams()
    return code


def workers_of(parent: int) -> list[int]:
    """The processes that a process has begun as workers, the oldest first."""
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            if int(fields[1]) == parent and b"sfgen.jobs.worker" in (folder / "cmdline").read_bytes():
                found.append((int(fields[19]), int(folder.name)))  # when it began, and its number
        except OSError:  # it has ended
            continue
    return [process for _, process in sorted(found)]


def gone(processes: list[int], *, seconds: float = 10.0) -> bool:
    """Whether processes end within some seconds."""
    deadline = time.monotonic() + seconds
    while any(_runs(process) for process in processes):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def _runs(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
