"""What a benchmark ran on, for its report."""

from __future__ import annotations

import os
import platform
import subprocess
from pathlib import Path


def machine() -> str:
    """Processor, cores, system and Python, in words."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    processor = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        processor = next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    return f"{processor}, {cores} cores, {platform.system()}, Python {platform.python_version()}"


def gpu() -> str:
    """The first CUDA device, its driver and the version of CUDA, in words."""
    import torch

    if not torch.cuda.is_available():
        return "no GPU"
    query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    driver = subprocess.run(query, capture_output=True, text=True, check=True).stdout.split()[0]
    return f"{torch.cuda.get_device_name()}, driver {driver}, CUDA {torch.version.cuda}"
