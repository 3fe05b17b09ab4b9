"""The sampler: one choice among the allowed tokens, repeatable from a seed.

It sees the scores of the allowed tokens only; the mask comes before everything here. Then, in this order (biases and
penalties in that of vLLM, the rest in that of transformers):

1. **logit bias**: a number for each of some tokens, added to its score.
2. **repetition penalty** (Keskar and others 2019, "CTRL"): the score of a token that stands in the prompt or in what is
   written is divided by it where it is positive, else multiplied.
3. **frequency penalty**, for each time that a token was written, and **presence penalty**, once: subtracted from its
   score. The prompt does not count.
4. **temperature**: the scores are divided by it; the weights are their exponentials. 0 is greedy, and ends it here.
5. **top-k** (Fan, Lewis and Dauphin 2018, "Hierarchical Neural Story Generation"): the k most likely tokens stay.
6. **top-p**, or nucleus (Holtzman and others 2020, "The Curious Case of Neural Text Degeneration"): of what stayed, the
   smallest set of most likely tokens whose share of its weight is at least p; at least one token.
7. **min-p** (Nguyen and others 2024, "Turning Up the Heat"): tokens with at least p times the probability of the most
   likely one.
8. One of those that stayed is drawn, with its share of their weight.

All tokens before the position count as written: jump-forward tokens and those of a thought, too, but not tokens that
were rolled back. The tokens that write the healed end of a prompt are the prompt's.

Where equally likely tokens stand at the border of top-k or top-p, those with the lower ids stay, so that the number is
exact and the result does not depend on a sorting routine. (transformers keeps all of them in top-k.) Top-k compares the
scores, top-p their weights, in which a difference that float64 cannot tell is gone. Under min-p all or none of them
stay.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from sfgen import arguments
from sfgen.decoding.choice_kernels import uniform
from sfgen.errors import ModelError, UsageError
from sfgen.parameter_text import ParameterText
from sfgen.protocols import Int32, Scores

_FLOAT32 = ParameterText("Try dtype='float32' for the model.", "dtype")

_ROWS = 64
"""The rows of the table in which the highest of many scores are looked for."""

_WORD = 2**64 - 1
"""The numbers of which a random number is made have so many bits."""

CHOICE, ACCEPTANCE = range(2)
"""The purposes of a random number: it chooses a token, or decides whether a word with a bias stays."""

DRAWS = 2
"""The version of the draws from a seed: 1 was a generator whose numbers came one after the other."""


@arguments.class_with_known_names
@dataclass(frozen=True)
class Sampler:
    """The choice of a token from the scores of the allowed ones.

    The module says in which order and by which rules.

    Args:
        temperature: 0 is greedy (the highest score, the lowest id among equals), and truncation has no effect; else the
            scores are divided by it.
        seed: The seed of the random numbers; drawn by chance if absent (see ``seeded``). Greedy choice ignores it.
        top_k: The most tokens to choose from.
        top_p: The probability that the tokens to choose from must reach, from 0 to 1; 1 keeps all.
        min_p: The least probability of a token, as a share of the most likely one's, from 0 to 1; 0 keeps all.
        logit_bias: Numbers to add to the scores of some tokens, from -100 to 100 each, by their ids.
        frequency_penalty: The number to subtract from the score of a token for each time that it was written, -2 to 2.
            The prompt does not count; jump-forward tokens do.
        presence_penalty: The number to subtract, once, from the score of a token that was written, from -2 to 2. The
            prompt does not count.
        repetition_penalty: The divisor of the positive scores, and the factor of the negative ones, of tokens that were
            written or stand in the prompt, from 0.01 to 100; 1 leaves them.

    Raises:
        UsageError: A value outside its range; the message names the option.
        UnknownParameter: A keyword is none of these.

    >>> Sampler(temperature=0).start().choose(np.array([0.5, 2.0, 2.0]))
    (1, None)
    >>> Sampler(temperature=1, top_k=2).probabilities(np.log([0.5, 0.3, 0.2])).round(3).tolist()
    [0.625, 0.375, 0.0]
    """

    temperature: float = 0.0
    seed: int | None = None
    _: KW_ONLY
    top_k: int | None = None
    top_p: float | None = None
    min_p: float | None = None
    logit_bias: Mapping[int, float] | None = field(default=None, hash=False)
    frequency_penalty: float = 0.0
    presence_penalty: float = 0.0
    repetition_penalty: float = 1.0

    def __post_init__(self) -> None:
        def keep(name: str, value: float | None) -> None:
            object.__setattr__(self, name, value)

        keep("temperature", arguments.number("temperature", self.temperature, "a number of at least 0"))
        if self.seed is not None:
            keep("seed", arguments.whole_number("seed", self.seed, least=0))
        if self.top_k is not None:
            hint = "Leave it out to keep all tokens."
            keep("top_k", arguments.whole_number("top-k", self.top_k, least=1, hint=hint))
        if self.top_p is not None:
            keep("top_p", arguments.number("top-p", self.top_p, "a number from 0 to 1", most=1))
        if self.min_p is not None:
            keep("min_p", arguments.number("min-p", self.min_p, "a number from 0 to 1", most=1))
        if self.logit_bias is not None:
            object.__setattr__(self, "logit_bias", _checked_bias(self.logit_bias) or None)
        for name in ("frequency_penalty", "presence_penalty"):
            value = arguments.number(name.replace("_", "-"), getattr(self, name), "a number from -2 to 2", -2, 2)
            keep(name, value)
        wanted = "a number from 0.01 to 100, where 1 leaves all scores as they are"
        keep("repetition_penalty", arguments.number("repetition-penalty", self.repetition_penalty, wanted, 0.01, 100))
        if self.seed is None and self.temperature > 0:
            keep("seed", secrets.randbits(32))

    def seeded(self) -> Sampler:
        """Return the same sampler with a seed, drawn if there is none.

        A sampler that chooses greedily may have to draw in parts of a text.
        """
        return self if self.seed is not None else replace(self, seed=secrets.randbits(32))

    def at(self, temperature: float | None) -> Sampler:
        """Return the same sampler at another temperature.

        Args:
            temperature: ``None``: its own.

        Raises:
            UsageError: It is not a number of at least 0.
        """
        if temperature is None:
            return self
        temperature = arguments.number("temperature", temperature, "a number of at least 0")
        return self if temperature == self.temperature else replace(self, temperature=temperature)

    def start(self) -> Draws:
        """Return the choices of one sequence, drawn from the seed on."""
        return Draws(self)

    def probabilities(self, scores: Scores) -> NDArray[np.float64]:
        """Compute the probability with which each token is drawn.

        It is that after temperature and truncation.

        Args:
            scores: The scores of the allowed tokens, float ``[allowed]``, at least one.

        Returns:
            Float64 ``[allowed]``; its sum is 1. At temperature 0 the chosen token has all of it.

        Raises:
            ModelError: A score is not a number, or no score is above minus infinity.
        """
        best = best_of(scores)
        if self.temperature == 0:
            weights = np.zeros(scores.size)
            weights[best] = 1.0
            return weights
        weights = self._weights(scores, best)
        weights /= weights.sum()
        return weights

    def weights(self, scores: Scores, best: int) -> NDArray[np.float64]:
        """Compute weights in proportion to the probabilities; not at temperature 0.

        Args:
            scores: The scores of the allowed tokens, float ``[allowed]``.
            best: The index of the highest; its weight is 1.

        Returns:
            Float64 ``[allowed]``.
        """
        _check_scores(scores, best)
        return self._weights(scores, best)

    def _weights(self, scores: Scores, best: int) -> NDArray[np.float64]:
        weights = self._scaled(scores, best)
        np.exp(weights, out=weights)
        self._truncate(scores, weights)
        return weights

    def log_probabilities(self, scores: Scores) -> NDArray[np.float64]:
        """Compute the logarithms of ``probabilities``; not at temperature 0.

        They are exact also for probabilities that are too small for a float.

        Args:
            scores: The scores of the allowed tokens, float ``[allowed]``, at least one.

        Returns:
            Float64 ``[allowed]``; minus infinity for tokens that are never drawn.

        Raises:
            ModelError: A score is not a number, or no score is above minus infinity.

        >>> Sampler(temperature=1).log_probabilities(np.array([0.0, -2000.0])).tolist()
        [0.0, -2000.0]
        """
        scaled = self._scaled(scores, best_of(scores))
        if self.truncates:
            weights = np.exp(scaled)
            self._truncate(scores, weights)
            scaled[weights == 0] = -np.inf
        return scaled - log_sum(scaled)

    @property
    def adjusts(self) -> bool:
        """Whether a bias or a penalty changes scores before the choice."""
        return bool(self.logit_bias or self.frequency_penalty or self.presence_penalty or self.repetition_penalty != 1)

    @property
    def truncates(self) -> bool:
        """Whether unlikely tokens are left out (top-k, top-p, min-p)."""
        return any(value is not None for value in (self.top_k, self.top_p, self.min_p))

    def _scaled(self, scores: Scores, best: int) -> NDArray[np.float64]:
        """Return the logarithms of the weights before truncation, float64 ``[allowed]``; the highest is 0."""
        with np.errstate(over="ignore"):  # near temperature 0 the rest is rightly minus infinity
            scaled = scores.astype(np.float64)
            scaled -= scaled[best]
            if self.temperature != 1:
                scaled /= self.temperature
        return scaled

    def _truncate(self, scores: Scores, weights: NDArray[np.float64]) -> None:
        """Set the weights of all tokens to 0 that top-k, top-p and min-p leave out."""
        if self.top_k is not None and self.top_k < weights.size:
            # By the scores: far apart, they may all have the weight 0.
            border = np.partition(scores, -self.top_k)[-self.top_k]
            weights *= _most_likely(scores, border, self.top_k)
        if self.top_p is not None and self.top_p < 1:
            border, count = _nucleus(weights, self.top_p)
            weights *= _most_likely(weights, border, count)
        if self.min_p is not None:
            weights *= weights >= self.min_p  # the highest weight is 1


class Draws:
    """The random numbers of one sequence.

    A number depends on the seed, on the position of its token, and on how often one was drawn there before: on nothing
    that was drawn elsewhere.

    Args:
        sampler: How tokens are chosen.
    """

    def __init__(self, sampler: Sampler) -> None:
        self.sampler = arguments.instance("sampler", sampler, Sampler)
        key = blake2b(b"%d" % (sampler.seed or 0), digest_size=16).digest()
        self._key = int.from_bytes(key[:8], "little"), int.from_bytes(key[8:], "little")
        self._visits: dict[tuple[int, int], int] = {}
        self._chosen = 0

    def share(self, position: int, purpose: int = CHOICE) -> float:
        """Draw a number from 0 up to, but not, 1.

        Args:
            position: Of the token that it is for.
            purpose: What it decides there, a number.

        Returns:
            Another number at each call.

        Raises:
            UsageError: They are not whole numbers of at least 0.
        """
        if position.__class__ is not int or position < 0:
            position = arguments.whole_number("position", position, least=0)
        if purpose.__class__ is not int or purpose < 0:
            purpose = arguments.whole_number("purpose", purpose, least=0)
        visit = self._visits[position, purpose] = 1 + self._visits.get((position, purpose), -1)
        number: float = uniform(*self._key, position & _WORD, visit, purpose & _WORD)
        return number

    def accepts(self, position: int, probability: float) -> bool:
        """Accept by chance a word with a bias.

        Args:
            position: Of its last token.
            probability: That it is accepted.

        Returns:
            Whether it is.

        Raises:
            UsageError: ``position`` is not a whole number of at least 0, or ``probability`` none from 0 to 1.
        """
        probability = arguments.number("probability", probability, "a number from 0 to 1", most=1)
        return self.share(position, ACCEPTANCE) < probability

    def choose(self, scores: Scores, temperature: float | None = None) -> tuple[int, float | None]:
        """Choose the next token among the allowed ones.

        Args:
            scores: Float ``[allowed]``.
            temperature: Another one than the sampler's; ``None``: the sampler's.

        Returns:
            Its index, and the probability with which it was drawn, after truncation (``None`` for a greedy choice).

        Raises:
            ModelError: A score is not a number, or no score is above minus infinity.
        """
        best, sampler = best_of(scores), self.sampler.at(temperature)
        if sampler.temperature == 0:
            return best, None
        weights = sampler._weights(scores, best)
        self._chosen += 1
        chosen = _at(weights, self.share(self._chosen - 1))
        return chosen, float(weights[chosen] / weights.sum())


def _checked_bias(biases: object) -> dict[int, float]:
    """Return the biases by token id, ascending, after checking them."""
    wanted = "a number from -100 to 100"
    checked = {}
    for token, bias in arguments.mapping("logit-bias", biases).items():
        token_id = arguments.whole_number("logit-bias: each token id", token, least=0)
        checked[token_id] = arguments.number(f"logit-bias of token {token_id}", bias, wanted, -100, 100)
    return dict(sorted(checked.items()))


def check_tokens(sampler: Sampler, size: int) -> None:
    """Refuse a logit bias of a token that is not there."""
    for token in sampler.logit_bias or ():
        if token >= size:
            raise UsageError(
                ParameterText(f"logit_bias names the token {token}, and the model has {size} tokens", "logit_bias"),
                hint=f"Ids are from 0 to {size - 1}.",
            )


def place_of(token: int, allowed: Int32) -> int:
    """Return where a token stands among ascending ones, or would stand."""
    # Of one type with them: for an integer of Python all of them would be converted.
    return int(allowed.searchsorted(allowed.dtype.type(token)))


def _at(weights: NDArray[np.float64], share: float) -> int:
    """Return the index at which the sum of the weights passes a share of their total.

    It is never one without weight.

    >>> [_at(np.array([0.0, 1.0, 0.0, 3.0, 0.0]), share) for share in (0, 0.24, 0.25, 1)]
    [1, 1, 3, 3]
    """
    cumulative = np.cumsum(weights)
    total = cumulative[-1]
    # Even a share below 1, times the total, can be rounded up to the total, and nothing lies beyond that.
    point = min(share * total, np.nextafter(total, 0))
    return int(np.searchsorted(cumulative, point, side="right"))


def best_of(scores: Scores) -> int:
    """Return the index of the highest score, the first of equals."""
    _check_scores(scores)
    best = int(np.argmax(scores))  # points at the first NaN if there is one
    check_highest(float(scores[best]))
    return best


def check_highest(highest: float) -> None:
    """Refuse scores of which none can be chosen: that of the best token is not a number, or infinite."""
    if math.isnan(highest):
        raise ModelError("the model gives scores that are not numbers (NaN)", hint=_FLOAT32)
    if math.isinf(highest):
        raise ModelError(f"the model scores every allowed token {highest}", hint=_FLOAT32)


def _check_scores(scores: Scores, best: int = 0) -> None:
    """Refuse anything but an array of scores, and an index beyond it."""
    if not isinstance(scores, np.ndarray) or scores.dtype.kind not in "fiu" or scores.ndim != 1 or not scores.size:
        raise arguments.refusal("scores", "an array of numbers, [allowed], with at least one", scores)
    if best.__class__ is not int or not 0 <= best < scores.size:
        raise arguments.refusal("best", f"an index into {scores.size} scores", best)


def log_sum(logarithms: NDArray[np.float64]) -> float:
    """Compute the logarithm of a sum from logarithms of its terms.

    >>> log_sum(np.array([-2000.0, -2000.0])) == -2000 + math.log(2), log_sum(np.array([-np.inf]))
    (True, -inf)
    """
    highest = float(logarithms.max())
    return highest if highest == -math.inf else highest + math.log(float(np.exp(logarithms - highest).sum()))


def reached_by(scores: Scores, count: int) -> float | None:
    """Return a number that at least ``count`` scores reach, and not many more.

    ``None`` where it is not found quickly.

    >>> reached_by(np.arange(640.0), 3)
    637.0
    """
    # The scores in a table: what so many columns reach, so many scores do.
    columns = scores.size // _ROWS
    if columns < 2 * count:
        return None
    of_columns = scores[: columns * _ROWS].reshape(_ROWS, columns).max(axis=0)
    return float(np.partition(of_columns, -count)[-count])


def _nucleus(weights: NDArray[np.float64], share: float) -> tuple[float, int]:
    """Return the least weight of the nucleus, and its number of tokens."""
    total = float(weights.sum())
    wanted = share * total
    # All tokens lighter than this have less than the rest of the weight together, so none of them is needed. Usually
    # that leaves few to sort.
    heavy = weights[weights >= (total - wanted) / weights.size]
    heavy = np.sort(heavy)[::-1]
    last = min(int(np.searchsorted(np.cumsum(heavy), wanted)), heavy.size - 1)
    return float(heavy[last]), last + 1


def _most_likely(values: NDArray[np.floating], border: float, count: int) -> NDArray[np.bool_]:
    """Mark the ``count`` highest values, of which ``border`` is the lowest; among equals the first."""
    marked: NDArray[np.bool_] = values > border
    at_border = np.flatnonzero(values == border)
    marked[at_border[: count - np.count_nonzero(marked)]] = True
    return marked
