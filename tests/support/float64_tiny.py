"""The embedded model in float64: in a batch its texts are those of each alone, since rounding decides no draw."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, TypeVar

import numpy as np

from sfgen.models.separate_rows import SeparateRows
from sfgen.models.tiny import DIRECTORY
from sfgen.models.tiny.batch import TinyBatch
from sfgen.models.tiny.model import TinyModel
from sfgen.models.tiny.network import Layer, Network
from sfgen.models.tiny.session import TinySession
from sfgen.protocols import Batch

Weights = TypeVar("Weights", Layer, Network)


class Float64Tiny(TinyModel):
    """The embedded model with its weights in float64."""

    def __init__(self) -> None:
        super().__init__()
        network = Network.from_directory(DIRECTORY)
        self.network = replace(_in_float64(network), layers=tuple(map(_in_float64, network.layers)))

    def session(self) -> TinySession:
        return TinySession(self.network, self.context_length, name=self.name)

    def batch(self, rows: int) -> Batch:
        if rows == 1:
            return SeparateRows(self, rows)
        return TinyBatch(lambda: self.network, rows, self.context_length, name=self.name)


def _in_float64(weights: Weights) -> Weights:
    values = {field.name: getattr(weights, field.name) for field in fields(weights)}
    arrays: dict[str, Any] = {name: value for name, value in values.items() if isinstance(value, np.ndarray)}
    return replace(weights, **{name: array.astype(np.float64) for name, array in arrays.items()})
