"""The embedded model in float64: in a batch its texts are those of each alone, since rounding decides no draw."""

from __future__ import annotations

from dataclasses import fields, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from sfgen.models.tiny import DIRECTORY
from sfgen.models.tiny.model import TinyModel
from sfgen.models.tiny.network import Layer, Network

Weights = TypeVar("Weights", Layer, Network)


class Float64Tiny(TinyModel):
    """The embedded model with its weights in float64."""

    @cached_property
    def network(self) -> Network:
        network = Network.from_directory(DIRECTORY)
        return replace(_in_float64(network), layers=tuple(map(_in_float64, network.layers)))


def _in_float64(weights: Weights) -> Weights:
    values = {field.name: getattr(weights, field.name) for field in fields(weights)}
    arrays: dict[str, Any] = {name: value for name, value in values.items() if isinstance(value, np.ndarray)}
    return replace(weights, **{name: array.astype(np.float64) for name, array in arrays.items()})
