"""How attention is computed on a GPU of NVIDIA.

On newer GPUs torch hands attention in half precision to cuDNN, which makes a plan for every shape that is new to it. A
text that is written is longer at each token, so most of the time would go into plans: measured on an H100, 43 ms for a
token instead of 9. The kernels that torch has itself need none.

One of them is wrong about the last of 65 tokens, of 129, of 193, …, that are read in one pass with a mask by a model
whose heads share one key (seen with torch 2.11 on an H100, in float32 and bfloat16): such passes are avoided.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

_BLOCK = 64
"""Tokens of a pass that the kernel takes at a time."""


def is_misread(count: int, device: Any) -> bool:
    """Tell whether attention may misread the last token of a pass.

    Args:
        count: The tokens read in the pass.
        device: The torch device that it runs on.
    """
    return bool(device.type == "cuda" and count > _BLOCK and count % _BLOCK == 1)


@contextlib.contextmanager
def without_plans(device: Any) -> Iterator[None]:
    """Disable cuDNN attention on a CUDA device, restoring it afterwards."""
    import torch

    kernels: Any = torch.backends.cuda  # untyped
    if device.type != "cuda" or not kernels.cudnn_sdp_enabled():
        yield
        return
    kernels.enable_cudnn_sdp(False)
    try:
        yield
    finally:
        kernels.enable_cudnn_sdp(True)
