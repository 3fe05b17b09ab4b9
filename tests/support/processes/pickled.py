"""What is compared of a thing and its pickle: what it does, as plain data, which another process can send back."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np

import sfgen
from sfgen.errors import LimitTooSmall

Told = list[tuple[object, ...]]


def masks_along(index: sfgen.Index, seed: int, steps: int = 12) -> Told:
    """What a walk by an index's guide meets: at each step the mask, and the token that is drawn with a seed."""
    generator = np.random.default_rng(seed)
    met: Told = []
    try:
        guide = index.guide(steps + seed)
    except LimitTooSmall as error:
        return [("no text", str(error))]
    for _ in range(steps):
        allowed = guide.allowed_tokens().tolist()
        met.append((guide.mask().tobytes(), guide.is_accepting, guide.is_finished, guide.forced_bytes()))
        if not allowed:
            break
        guide.advance(int(generator.choice(allowed)))
    return met


def told(pickles: list[bytes], vocabulary: bytes) -> tuple[list[Told], int]:
    """Run in another process: walks by indexes that come in pickles of their own.

    Args:
        pickles: A ``sfgen.Index`` each.
        vocabulary: The pickle of the one that all have.

    Returns:
        What walks by each index meet, and how many different vocabularies there were.
    """
    kept = pickle.loads(vocabulary)
    indexes: list[sfgen.Index] = [pickle.loads(data) for data in pickles]
    met = [[step for seed in range(6) for step in masks_along(index, seed)] for index in indexes]
    return met, len({id(kept), *(id(index.vocabulary) for index in indexes)})


def fields(error: sfgen.SfgenError) -> tuple[object, ...]:
    """All that an error says."""
    state: dict[str, Any] = dict(vars(error))
    return type(error), error.args, str(error), state
