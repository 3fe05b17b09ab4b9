"""Types of numbers with the range that each allows.

The events of a run, and the scene that a trace begins with, are checked against them when a trace is read.
"""

from __future__ import annotations

from dataclasses import dataclass
from sys import float_info
from typing import Annotated, TypeAlias

LARGEST = 2**63 - 1
"""The largest whole number of 64 bits, as in numpy and in most readers of JSON."""

LONGEST_RUN = 1e9
"""Seconds, 30 years: no run takes longer."""

ROUNDING = 1e-6
"""The most that rounding adds to a probability."""


@dataclass(frozen=True, slots=True)
class Range:
    """The range of numbers that a type allows, with both ends.

    Attributes:
        least: The smallest number.
        most: The largest number; ``None``: there is none.
        words: The range in words: ``a whole number of at least 0``.
    """

    least: float
    most: float | None
    words: str


Count: TypeAlias = Annotated[int, Range(0, LARGEST, "a whole number of at least 0")]
"""A count, an index or an id."""

PositiveCount: TypeAlias = Annotated[int, Range(1, LARGEST, "a whole number of at least 1")]
"""A count of at least 1."""

Unbounded: TypeAlias = Annotated[int, Range(0, None, "a whole number of at least 0")]
"""A whole number of any size, such as a seed."""

Signed: TypeAlias = Annotated[int, Range(-LARGEST, LARGEST, "a whole number of 64 bits")]
"""A number that may be negative: a guide's state, or an offset that may lie in the prompt."""

Probability: TypeAlias = Annotated[float, Range(0, 1 + ROUNDING, "a number from 0 to 1")]
"""A probability, up to rounding."""

LogProbability: TypeAlias = Annotated[float, Range(-float_info.max, ROUNDING, "a number of at most 0")]
"""The natural logarithm of a probability, up to rounding."""

Seconds: TypeAlias = Annotated[float, Range(0, LONGEST_RUN, "a number of seconds")]
"""A time, since something began."""
