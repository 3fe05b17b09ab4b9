"""Long texts for the real model, and how far two of its scores lie apart."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from real_model import gguf_model

_DOCUMENTS = ("core/README.md", "cli/README.md", "README.md")


@functools.cache
def long_text() -> str:
    """The documents of this repository: prose, code and tables."""
    root = Path(__file__).parents[2]
    return "\n".join((root / document).read_text(encoding="utf-8") for document in _DOCUMENTS)


@functools.cache
def long_tokens() -> tuple[int, ...]:
    """Its tokens, the begin token first."""
    return tuple(gguf_model().encode(long_text()))


def distance(scores: Any, expected: Any) -> float:
    """The root of the mean squared difference; scores of one position spread by about 4."""
    return float(np.sqrt(np.mean((scores.astype(np.float64) - expected) ** 2)))


def log_probabilities(scores: Any) -> NDArray[np.float64]:
    """Logarithms of probabilities: float64 of the shape of the scores."""
    shifted = scores.astype(np.float64) - scores.max(axis=-1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True)))
