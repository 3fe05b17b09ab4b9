"""The sampler: one choice among the allowed tokens, repeatable from a seed."""

from __future__ import annotations

import math
import secrets
from dataclasses import dataclass

import numpy as np

from sfgen.decoding.protocols import Scores
from sfgen.errors import ModelError, UsageError


@dataclass(frozen=True)
class Sampler:
    """How a token is chosen from the scores of the allowed ones.

    Args:
        temperature: 0 is greedy (the highest score, the lowest id among equals); else the scores are divided by it.
        seed: Start of the random generator; drawn when absent, and then to be read here. Ignored by greedy choice.

    Raises:
        UsageError: A temperature below 0 or not finite, or a negative seed.

    >>> Sampler(temperature=0).start().choose(np.array([0.5, 2.0, 2.0]))
    (1, None)
    """

    temperature: float = 0.0
    seed: int | None = None

    def __post_init__(self) -> None:
        if not (math.isfinite(self.temperature) and self.temperature >= 0):
            raise UsageError(f"temperature must be a number of at least 0, not {self.temperature}")
        if self.seed is not None and self.seed < 0:
            raise UsageError(f"seed must be at least 0, not {self.seed}")
        if self.seed is None and self.temperature > 0:
            object.__setattr__(self, "seed", secrets.randbits(32))

    def start(self) -> Draws:
        """A fresh series of choices from the seed."""
        return Draws(self)


class Draws:
    """The choices of one sequence, in order. One random number is drawn for each sampled token."""

    def __init__(self, sampler: Sampler) -> None:
        self._temperature = sampler.temperature
        self._random = np.random.default_rng(sampler.seed)

    def choose(self, scores: Scores) -> tuple[int, float | None]:
        """Choose one of the scores (float ``[allowed]``).

        Returns:
            Its index, and its probability (``None`` for a greedy choice).

        Raises:
            ModelError: A score is not a number, or no score is above minus infinity.
        """
        best = int(np.argmax(scores))  # argmax points at the first NaN if there is one
        highest = float(scores[best])
        if math.isnan(highest):
            raise ModelError("the model gives scores that are not numbers (NaN)", hint="Try --dtype float32.")
        if math.isinf(highest):
            raise ModelError(f"the model scores every allowed token {highest}", hint="Try --dtype float32.")
        if self._temperature == 0:
            return best, None
        with np.errstate(over="ignore"):  # near temperature 0 the rest is rightly minus infinity
            weights = np.exp((scores.astype(np.float64) - highest) / self._temperature)
        cumulative = np.cumsum(weights)
        chosen = int(np.searchsorted(cumulative, self._random.random() * cumulative[-1], side="right"))
        chosen = min(chosen, scores.size - 1)
        return chosen, float(weights[chosen] / cumulative[-1])
