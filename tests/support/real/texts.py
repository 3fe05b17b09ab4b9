"""Texts for the real model, and its scores: how likely it finds a text, and how far two scores lie apart."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tests.support.real.model import gguf_model

TALK = "We talk and listen, and then we talk and listen, and then we"
TAPESTRY = "A rich tapestry of colours. A rich tapestry of sounds. A rich"
"""Behind these prompts the model writes the same words again."""

_DOCUMENTS = ("core/README.md", "cli/README.md", "README.md")


@functools.cache
def long_text() -> str:
    """The documents of this repository: prose, code and tables."""
    root = Path(__file__).parents[3]
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


def scores_along(prompt: Sequence[int], tokens: Sequence[int]) -> Iterator[NDArray[np.float64]]:
    """The log-probabilities behind a prompt, and behind each of the tokens that follow it, read one by one."""
    session = gguf_model().session()
    yield log_probabilities(session.extend(list(prompt)))
    for token in tokens:
        yield log_probabilities(session.extend([token]))


def log_shares(prompt: str, text: str) -> tuple[float, float]:
    """The logarithm of the probability of a text as the tokenizer spells it, and of that with an end behind it."""
    model = gguf_model()
    known = model.encode(prompt)
    tokens = model.encode(prompt + text)[len(known) :]
    *rows, behind = scores_along(known, tokens)
    alone = sum(float(row[token]) for row, token in zip(rows, tokens, strict=True))
    return alone, alone + float(np.logaddexp.reduce(behind[list(model.vocabulary.end_token_ids)]))
