"""Algorithms 1 and 2 of the source document: tokens from a language model, freely and with a mask.

Both stop after L tokens, whether or not the text is complete. That is what the token limit of the document does; the
decode loop of sfgen never cuts a match.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sfgen import arguments
from sfgen.errors import DeadEnd

Probabilities: TypeAlias = NDArray[np.floating]
LanguageModel: TypeAlias = Callable[[Sequence[int]], Probabilities]
"""The tokens so far → the probability of each token of the vocabulary to be the next."""

MaskOfText: TypeAlias = Callable[[Sequence[int]], NDArray[Any]]
"""The tokens so far → 1 for each token that may be the next, else 0."""


def sample_tokens(lm: LanguageModel, length: int, eos: int, random: np.random.Generator) -> list[int]:
    """Algorithm 1: at most ``length`` tokens, up to the end token.

    >>> sample_tokens(lambda s: np.array([0.0, 1.0, 0.0]), 3, 2, np.random.default_rng(0))
    [1, 1, 1]
    """
    _check(lm, length, eos, random)
    s: list[int] = []
    for _ in range(length):
        alpha = lm(s)
        token = categorical(alpha, random)
        if token == eos:
            break
        s.append(token)
    return s


def sample_masked_tokens(
    lm: LanguageModel, mask: MaskOfText, length: int, eos: int, random: np.random.Generator
) -> list[int]:
    """Algorithm 2: the same, where the mask takes the probability of what may not follow.

    >>> uniform = lambda s: np.full(3, 1 / 3)
    >>> sample_masked_tokens(uniform, lambda s: [len(s) < 2, 0, len(s) == 2], 9, 2, np.random.default_rng(0))
    [0, 0]
    """
    _check(lm, length, eos, random)
    arguments.function("mask", mask)
    s: list[int] = []
    for _ in range(length):
        alpha = lm(s)
        m = np.asarray(mask(s))
        alpha_masked = m * alpha
        token = categorical(alpha_masked, random)
        if token == eos:
            break
        s.append(token)
    return s


def _check(lm: LanguageModel, length: int, eos: int, random: np.random.Generator) -> None:
    arguments.function("lm", lm)
    arguments.whole_number("length", length, least=0)
    arguments.whole_number("eos", eos)
    arguments.instance("random", random, np.random.Generator, hint="Give numpy.random.default_rng(seed).")


def categorical(weights: Probabilities, random: np.random.Generator) -> int:
    """One token, drawn in proportion to the weights, which need not sum to 1. Takes one random number.

    Raises:
        DeadEnd: No token has any weight.
    """
    total = weights.sum()
    if not total > 0:
        raise DeadEnd("no token has any probability")
    return int(random.choice(weights.size, p=weights / total))
