"""Gumbel noise for the children of a prefix, made of the seed and the prefix alone."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

Float64 = NDArray[np.float64]

_TINY = float(np.finfo(np.float64).tiny)


def gumbel_noise(seed: int, prefix: Sequence[int], size: int) -> Float64:
    """Draw standard Gumbel noise for each token after a prefix.

    Equal seeds and prefixes have equal noise, whatever was drawn before.

    Args:
        seed: Any whole number of at least 0.
        prefix: The tokens of the text so far.
        size: The number of tokens of the vocabulary.

    Returns:
        Float64 ``[size]``.

    >>> bool((gumbel_noise(1, [5, 7], 3) == gumbel_noise(1, (5, 7), 3)).all())
    True
    """
    digest = blake2b(digest_size=16)
    digest.update(b"%d:" % seed)
    digest.update(np.asarray(prefix, dtype="<i8").tobytes())
    generator = np.random.Generator(np.random.Philox(key=int.from_bytes(digest.digest(), "little")))
    # The logarithm of an exponential variable is exact in the upper tail, where that of a uniform one is cut off.
    noise: Float64 = -np.log(np.maximum(generator.standard_exponential(size), _TINY))
    return noise


def with_maximum(perturbed: Float64, largest: float, maximum: float) -> Float64:
    """Condition Gumbel variables on their maximum (Kool et al. 2019, B.3).

    Args:
        perturbed: Log-probabilities plus standard Gumbel noise, float64 ``[n]``; some of all variables.
        largest: The largest of all of them.
        maximum: What that is to be.

    Returns:
        float64 ``[n]``, in the same order as ``perturbed``; the largest of all is exactly ``maximum``.

    >>> with_maximum(np.array([-1.0, 2.0, -np.inf]), 2.0, -3.0).round(4).tolist()
    [-3.121, -3.0, -inf]
    """
    with np.errstate(divide="ignore"):
        gaps = maximum - perturbed + _log1mexp(perturbed - largest)
        conditioned: Float64 = maximum - np.maximum(gaps, 0.0) - np.log1p(np.exp(-np.abs(gaps)))
    return conditioned


def _log1mexp(values: Float64) -> Float64:
    """``log(1 - exp(x))`` for x of at most 0, without cancellation (Mächler 2012)."""
    near: Float64 = np.log(-np.expm1(np.maximum(values, -1.0)))
    return np.where(values > -np.log(2), near, np.log1p(-np.exp(values)))
