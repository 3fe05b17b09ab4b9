"""How much memory there is, and telling that it ran out: each device says that in its own way."""

from __future__ import annotations

import os

_SIGNS = ("out of memory", "can't allocate memory", "not enough memory")


def physical_memory() -> int | None:
    """Return the memory that this process may use, in bytes.

    ``None`` if it is unknown.
    """
    try:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # not on every system
        return None
    return min(memory, _limit_of_group() or memory) if memory > 0 else None


def _limit_of_group() -> int | None:
    """What Linux grants the group of processes that a container is; ``None``: no limit."""
    try:
        with open("/sys/fs/cgroup/memory.max", encoding="ascii") as file:
            return int(file.read())
    except (OSError, ValueError):  # another system, or the word "max"
        return None


def is_out_of_memory(error: BaseException) -> bool:
    """Tell whether an error of torch means out of memory.

    >>> is_out_of_memory(RuntimeError("[enforce fail at alloc_cpu.cpp] DefaultCPUAllocator: can't allocate memory"))
    True
    >>> is_out_of_memory(RuntimeError("size mismatch"))
    False
    """
    import torch

    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    message = str(error).lower()
    return any(sign in message for sign in _SIGNS)
