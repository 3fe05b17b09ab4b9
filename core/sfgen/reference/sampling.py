"""Algorithms 1 and 2 of Willard and Louf 2023: tokens from a language model, freely and with a mask.

Both stop after L tokens, whether or not the text is complete, as theirs do; the decode loop of sfgen never cuts a
match.
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
    """Sample tokens freely (Algorithm 1).

    Args:
        lm: The language model.
        length: The most tokens.
        eos: The end token, which is not returned.
        random: The source of chance.

    Returns:
        The tokens before the end token, at most ``length``.

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
    """Sample tokens under a mask (Algorithm 2).

    Args:
        lm: The language model.
        mask: Multiplied with the probabilities.
        length: The most tokens.
        eos: The end token, which is not returned.
        random: The source of chance.

    Returns:
        The tokens before the end token, at most ``length``.

    Raises:
        DeadEnd: No token is left.

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
    """Draw one token in proportion to weights.

    It takes one random number.

    Args:
        weights: Float ``[vocabulary]``; they need not sum to 1.
        random: The source of chance.

    Raises:
        DeadEnd: No token has any weight.
    """
    total = weights.sum()
    if not total > 0:
        raise DeadEnd("no token has any probability")
    return int(random.choice(weights.size, p=weights / total))
