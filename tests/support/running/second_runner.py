"""vLLM's second model runner on a CPU: its kernels are Triton's, which interprets them there.

To be imported before vLLM. That looks whether Triton has a backend for CPUs, as builds from its sources may have, and
takes the first runner otherwise. The backend here has a name alone: nothing is compiled.
"""

from __future__ import annotations

import os
from types import SimpleNamespace

ASKED_FOR = os.environ.get("VLLM_USE_V2_MODEL_RUNNER") == "1"
"""``make vllm`` sets it for one of its runs, beside ``TRITON_INTERPRET=1``."""

if ASKED_FOR:
    assert os.environ.get("TRITON_INTERPRET") == "1"
    from triton.backends import backends

    backends["cpu"] = SimpleNamespace(driver=None)
