"""The processes that write texts for another one, as the system lists them."""

from __future__ import annotations

import time
from pathlib import Path


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
