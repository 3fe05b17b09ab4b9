"""Scores at every position of a text: many numbers, of which a device holds only some at a time.

A text of 4096 tokens with a vocabulary of 256 000 has a thousand million scores: 4 GiB in float32, more than the
weights of many models. They are computed for some positions after the other, and each part is moved to the host.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from sfgen.models.architecture import tokens_known
from sfgen.models.partial_lm_head import PartialLmHead
from sfgen.protocols import Scores

MOST_SCORES = 1 << 25
"""The most scores computed at a time, unless one position has more: 128 MiB in float32."""


def positions_at_a_time(model: Any) -> int:
    """Return how many positions are scored at a time: at least 1."""
    return max(1, MOST_SCORES // tokens_known(model))


def parts(hidden: Any, lm_head: PartialLmHead, at_a_time: int) -> Iterator[Scores]:
    """Score hidden states, N positions at a time.

    The last position is scored by itself, as where no other is wanted, so that its scores are those to the last bit.

    Args:
        hidden: A tensor ``[1, positions, size]``.
        lm_head: The output layer.
        at_a_time: The most positions that are scored at a time.

    Yields:
        Scores on the host, float32 ``[some positions, rows of the output layer]``.
    """
    last = hidden.shape[1] - 1
    for start in range(0, last, at_a_time):
        yield on_host(lm_head.scores(hidden[:, start : min(start + at_a_time, last)], None)[0])
    yield on_host(lm_head.scores(hidden[:, last:], None)[0])


def joined(parts: Iterable[Scores], count: int) -> Scores:
    """Concatenate parts; at most one is held beside the whole.

    Args:
        parts: Float32 ``[some positions, tokens]``.
        count: The number of positions in all.

    Returns:
        Float32 ``[count, tokens]``.
    """
    whole: Scores | None = None
    start = 0
    for part in parts:
        if whole is None:
            whole = np.empty((count, part.shape[1]), dtype=np.float32)
        whole[start : start + len(part)] = part
        start += len(part)
    assert whole is not None
    assert start == count
    return whole


def on_host(scores: Any) -> Scores:
    """Copy a tensor of scores into a float32 array."""
    found: Scores = scores.float().cpu().numpy()
    return found
