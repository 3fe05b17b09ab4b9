"""How attention is computed on a GPU of NVIDIA.

On newer GPUs torch hands attention in half precision to cuDNN, which makes a plan for every shape that is new to it. A
text that is written is longer at each token, so most of the time would go into plans: measured on an H100, 43 ms for a
token instead of 9. The kernels that torch has itself need none.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any


@contextlib.contextmanager
def without_plans(device: Any) -> Iterator[None]:
    """Keep cuDNN out of attention on a CUDA device; it is allowed again afterwards if it was before."""
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
