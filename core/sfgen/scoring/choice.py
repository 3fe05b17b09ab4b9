"""The score of a choice, and the shares of all."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfgen.decoding.sampler import log_sum
from sfgen.errors import ModelError


@dataclass(frozen=True, slots=True)
class ChoiceScore:
    """How likely one of some choices is.

    Attributes:
        text: The choice.
        probability: Its share: its own probability divided by the sum of those of all choices.
        logprob: The natural logarithm of its own probability: of its tokens, and of an end token behind them where
            the model has one. Minus infinity for the probability 0.
        tokens: Its token ids, the end token not among them. Where the tokenizer joins the end of the prompt with what
            follows, they begin with that end (see ``sfgen.scoring.spelling``).
    """

    text: str
    probability: float
    logprob: float
    tokens: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Scored:
    """All choices after one prompt.

    Attributes:
        scores: One for each choice, the likeliest first, equals in the order of the choices.
        prompt_tokens: The number of tokens of the prompt.
        forward_passes: How often the model was asked.
    """

    scores: tuple[ChoiceScore, ...]
    prompt_tokens: int
    forward_passes: int

    @property
    def total_probability(self) -> float:
        """The sum of the choices' own probabilities.

        The rest is what the model leaves for other texts.
        """
        return math.fsum(math.exp(score.logprob) for score in self.scores)


def normalized(
    texts: Sequence[str], logprobs: Sequence[float], tokens: Sequence[tuple[int, ...]]
) -> tuple[ChoiceScore, ...]:
    """Score some choices by their shares, the likeliest first.

    Args:
        texts: The choices.
        logprobs: The logarithms of their probabilities.
        tokens: Their tokens.

    Raises:
        ModelError: None of them has any probability.

    >>> scores = normalized(["a", "b"], [-2000.0, -2000.0 + math.log(3)], [(1,), (2,)])
    >>> [(score.text, round(score.probability, 9)) for score in scores]
    [('b', 0.75), ('a', 0.25)]
    """
    total = log_sum(np.array(logprobs))
    if total == -math.inf:
        raise ModelError("the model gives none of the choices any probability")
    found = [
        ChoiceScore(text, math.exp(logprob - total), logprob, ids)
        for text, logprob, ids in zip(texts, logprobs, tokens, strict=True)
    ]
    return tuple(sorted(found, key=lambda score: -score.logprob))
