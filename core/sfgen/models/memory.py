"""Telling that memory ran out: each device says it in its own way."""

from __future__ import annotations

_SIGNS = ("out of memory", "can't allocate memory", "not enough memory")


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error of torch means that there is no memory left on a GPU, an Apple GPU or the CPU.

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
