"""The one real model of the tests, Gemma 3 270M (base): where it lies, and how tests that need it are skipped.

`make real-model` puts the GGUF file there, `make real` the same weights for transformers besides. SFGEN_REAL names
another folder. Benchmarks take the paths from here in environments that have no pytest.
"""

from __future__ import annotations

import functools
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest

FOLDER = Path(os.environ.get("SFGEN_REAL") or Path(__file__).parents[3] / ".real").absolute()
FILE = FOLDER / "gemma-3-270m-q4_k_m.gguf"
DIRECTORY = FOLDER / "gemma-3-270m"


def needs_file() -> list[pytest.MarkDecorator]:
    """Marks for tests that read the GGUF file, which CI has."""
    import pytest
    from tests.support.running.installed import ALL, needs_package

    absent = not FILE.is_file() and not os.environ.get(ALL)
    return [
        needs_package("llama_cpp"),
        pytest.mark.skipif(absent, reason="no real model (make real-model; set SFGEN_REAL)"),
    ]


def needs_directory() -> list[pytest.MarkDecorator]:
    """Marks for tests that read the copy for transformers, or take long: `make real` alone runs them."""
    import pytest

    return [*needs_file(), pytest.mark.skipif(not DIRECTORY.is_dir(), reason="no copy of the real model (make real)")]


@functools.cache
def gguf_model(threads: int = 1) -> Any:
    """The model as llama.cpp runs it; one for all tests of a process."""
    from sfgen import load_model

    return load_model(FILE, device="cpu", threads=threads)


@functools.cache
def transformers_model() -> Any:
    """The same weights as transformers runs them, in float32."""
    from sfgen import load_model

    return load_model(DIRECTORY, device="cpu", dtype="float32")
