"""What the forward pass of a transformers model takes and gives back, by the names that its class has for it."""

from __future__ import annotations

import inspect
from collections.abc import Set
from functools import lru_cache
from typing import Any

_CACHE_NAMES = ("past_key_values", "cache", "cache_params", "state")
"""What architectures call the cache; from transformers 5.24 on ``cache``."""


def parameters_of(model: Any) -> frozenset[str]:
    """Return the names of what a model is given to read."""
    kind: Any = type(model)
    return _parameters(kind)


def cache_name(parameters: Set[str]) -> str | None:
    """Return the name by which a model is given its cache.

    ``None``: it keeps none.
    """
    return next((name for name in _CACHE_NAMES if name in parameters), None)


def cache_in(output: Any) -> Any:
    """Return the cache that a model gives back, which may have another name there; ``None``: it gives none."""
    return next((output[name] for name in _CACHE_NAMES if name in output), None)


@lru_cache(maxsize=16)
def _parameters(kind: Any) -> frozenset[str]:
    """What the models of a class are given; finding out takes a tenth of the time of a small text."""
    return frozenset(inspect.signature(kind.forward).parameters)
