"""What another process runs: a file of its own, so that nothing is loaded there but what it needs."""

from __future__ import annotations

import pickle
import sys
from typing import Any

import sfgen


def run_pickled(job: bytes, prompts: list[Any], path: str) -> list[str]:
    """Run a job that has come as bytes; the modules of the command line that were loaded for it."""
    sfgen.run_job(pickle.loads(job), prompts, path)
    return [name for name in sys.modules if name.split(".")[0] in ("sfgen_cli", "typer")]
