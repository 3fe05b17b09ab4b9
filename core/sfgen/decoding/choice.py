"""The choice of a token, for all rows of a batch at once.

A row asks with a ``Choice``: the allowed tokens, the options of the sampler, and a random number between 0 and 1. The
choices of all rows whose scores lie in one table are made in one call, where the scores are: by kernels on the host
(``sfgen.decoding.choice_kernels``), by torch on a GPU (``sfgen.decoding.choice_device``). A row keeps its scores as a
``ScoreRow`` and chooses again among them after a rollback, in the same way.

The order is that of ``sfgen.decoding.sampler``: biases and penalties, temperature, top-k, top-p, min-p. After
truncation the weights are multiplied by factors from the search tree, or set to 0 (``Choice.factors``,
``Choice.barred``). Sums are those of float64 on the host and on the device; they are added in another order there, so
that a draw within 1e-13 of the border between two tokens may fall on its other side.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from sfgen.decoding import choice_kernels as kernels
from sfgen.decoding.choice_kernels import ALL_MINUS_INFINITE, INFINITE, NOT_A_NUMBER, NOTHING_LEFT
from sfgen.decoding.sampler import Sampler, check_highest, log_sum, place_of
from sfgen.index.mask_ids import CountedMask, bits_of_row, mask_of_bits, packed, tokens_of_row
from sfgen.protocols import Int32, Mask, Scores

Float64 = NDArray[np.float64]

_HIGHEST = {NOT_A_NUMBER: math.nan, INFINITE: math.inf, ALL_MINUS_INFINITE: -math.inf}
"""The highest score where none can be chosen."""


class Chosen(NamedTuple):
    """A token that was chosen, or the reason why none was."""

    token: int  # below 0: see ``sfgen.decoding.choice_kernels``
    probability: float | None = None  # with which it was drawn; ``None``: nothing was drawn
    log_left: float = 0.0  # the logarithm of the share of the weight that factors and barred tokens leave

    def checked(self) -> Chosen:
        """Refuse unusable scores."""
        if self.token < NOTHING_LEFT:
            check_highest(_HIGHEST[self.token])
        return self


@dataclass(frozen=True, slots=True)
class Changes:
    """Biases and penalties of some tokens; all arrays are ``[tokens]``, float64 but the first."""

    tokens: Int32  # ascending
    bias: Float64  # added
    divisor: Float64  # of positive scores, and the factor of negative ones
    frequency: Float64  # subtracted
    presence: Float64  # subtracted as well

    @classmethod
    def of(cls, sampler: Sampler, prompt: Sequence[int], written: Sequence[int]) -> Changes:
        """Return the biases and penalties of a sampler after a text.

        >>> changes = Changes.of(Sampler(repetition_penalty=2), [1], [0])
        >>> changes.changed(np.array([3.0, -1.0, 1.0])).tolist()
        [1.5, -2.0, 1.0]
        """
        bias = sampler.logit_bias or {}
        counted: NDArray[np.int64] = np.array(written, dtype=np.int64)
        repeated: NDArray[np.int64] = np.array([*prompt, *written], dtype=np.int64)
        tokens = np.unique(np.concatenate([np.array(list(bias), dtype=np.int64), repeated]))
        size = tokens.size
        changes = cls(tokens.astype(np.int32), np.zeros(size), np.ones(size), np.zeros(size), np.zeros(size))
        changes.bias[np.searchsorted(tokens, list(bias))] = list(bias.values())
        if sampler.repetition_penalty != 1:
            changes.divisor[np.searchsorted(tokens, repeated)] = sampler.repetition_penalty
        if counted.size:
            ids, counts = np.unique(counted, return_counts=True)
            places = np.searchsorted(tokens, ids)
            changes.frequency[places] = sampler.frequency_penalty * counts
            changes.presence[places] = sampler.presence_penalty
        return changes

    def on(self, place: Callable[[NDArray[Any]], Any]) -> Changes:
        """Return the same with each array as ``place`` gives it, such as on a device."""
        arrays = self.tokens, self.bias, self.divisor, self.frequency, self.presence
        return Changes(*[place(array) for array in arrays])

    def apply(self, before: Any, where: Any) -> Any:
        """Return the scores of ``tokens`` after biases and penalties; ``where`` is numpy's or torch's."""
        after = before + self.bias
        after = where(after > 0, after / self.divisor, after * self.divisor)
        return after - self.frequency - self.presence

    def changed(self, scores: Scores, tokens: Int32 | None = None) -> Float64:
        """Return changed scores: of all tokens, or of some, ascending."""
        result: Float64 = scores.astype(np.float64)
        places: NDArray[np.integer] = self.tokens
        if tokens is None:
            result[places] = self.apply(result[places], np.where)
            return result
        places = np.searchsorted(tokens, self.tokens)
        which = np.flatnonzero(places < tokens.size)
        which = which[tokens[places[which]] == self.tokens[which]]
        few = self.on(lambda array: array[which])
        result[places[which]] = few.apply(result[places[which]], np.where)
        return result


@dataclass(slots=True)
class Choice:
    """The choice of a row's next token, not made yet."""

    mask: Mask  # the tokens that may stand there, uint32 [words]
    count: int  # their number
    sampler: Sampler
    temperature: float  # 0: the likeliest token is taken
    share: float = 0.0  # from 0 up to, but not, 1: where in the sum of the weights the token is drawn
    changes: Changes | None = None
    barred: Mask | None = None  # tokens that have no weight, uint32 [words]
    factors: tuple[Int32, Float64] | None = None  # tokens, and the logarithms of what their weights are multiplied by
    takes_best: bool = False  # whether the token with the largest weight is taken, at a temperature above 0

    def tokens(self) -> Int32:
        """List the tokens that may stand there, ascending."""
        return CountedMask(self.mask, self.count, 0).tokens()

    @property
    def is_weighed(self) -> bool:
        """Whether tokens are barred or have factors."""
        return self.takes_best or self.barred is not None or self.factors is not None

    @property
    def is_drawn(self) -> bool:
        """Whether a token is drawn."""
        return self.temperature > 0 and not self.takes_best

    @property
    def options(self) -> tuple[float, ...]:
        """The options as numbers, in the columns of the kernels."""
        sampler, top_k = self.sampler, self.sampler.top_k
        return (
            self.temperature,
            0 if top_k is None or top_k >= self.count else top_k,
            1.0 if sampler.top_p is None else sampler.top_p,
            sampler.min_p or 0.0,
            self.share,
            self.takes_best,
        )


class ScoreRow(Protocol):
    """The scores of one row at one position, on the host or on a device."""

    @property
    def size(self) -> int:
        """The number of scores."""

    def choose(self, choice: Choice) -> Chosen:
        """Choose a token."""

    def score(self, token: int) -> float:
        """Return the score of a token."""

    def log_share(self, token: int, choice: Choice) -> float:
        """Return the log-probability of a token among those allowed and not barred, at temperature 1."""

    def on_host(self) -> Scores | None:
        """Return the scores of all tokens, float ``[vocabulary]``; ``None``: few tokens are scored."""

    def among(self, tokens: Int32) -> Scores:
        """Return the scores of some tokens, float ``[tokens]``."""

    def own(self, choice: Choice) -> ScoreRow:
        """Return the row in memory of its own, with the tokens that may stand there at least."""


_KEPT_WHOLE = 4
"""If fewer than one in N tokens are allowed at a position, the scores of the others are not kept."""


class HostRow:
    """Scores on the host, of all tokens or of some."""

    __slots__ = ("scores", "tokens")

    def __init__(self, scores: Scores, tokens: Int32 | None = None) -> None:
        self.scores = scores
        self.tokens = tokens  # ascending; ``None``: all

    @property
    def size(self) -> int:
        """The number of scores."""
        return self.scores.size

    def choose(self, choice: Choice) -> Chosen:
        """Choose a token."""
        if self.tokens is not None:
            return self._choose_few(choice, self.tokens)
        if choice.is_weighed:
            scores = self.scores if choice.changes is None else choice.changes.changed(self.scores)
            found = _choose_weighed(scores, choice)
        else:
            (found,) = choose_in_table(self.scores[None], [0], [choice])
        return found.checked()

    def _choose_few(self, choice: Choice, tokens: Int32) -> Chosen:
        """Choose among scored tokens by their indices."""
        scores = self.scores if choice.changes is None else choice.changes.changed(self.scores, tokens)
        among = Choice(
            packed(np.arange(tokens.size, dtype=np.int32), tokens.size),
            tokens.size,
            choice.sampler,
            choice.temperature,
            choice.share,
            barred=None if choice.barred is None else mask_of_bits(bits_of_row(choice.barred)[tokens]),
            takes_best=choice.takes_best,
        )
        if choice.factors is not None:
            places = np.searchsorted(tokens, choice.factors[0]).astype(np.int32)
            among.factors = places, choice.factors[1]
        found = HostRow(scores).choose(among)
        return found if found.token < 0 else found._replace(token=int(tokens[found.token]))

    def score(self, token: int) -> float:
        """Return the score of a token."""
        return float(self.scores[token if self.tokens is None else place_of(token, self.tokens)])

    def log_share(self, token: int, choice: Choice) -> float:
        """Return the log-probability of a token among those allowed and not barred, at temperature 1."""
        allowed = tokens_of_row(choice.mask if choice.barred is None else choice.mask & ~choice.barred)
        scores = self.among(allowed).astype(np.float64)
        if choice.changes is not None:
            scores = choice.changes.changed(scores, allowed)
        here = self.among(np.array([token], dtype=np.int32))
        if choice.changes is not None:
            here = choice.changes.changed(here, np.array([token], dtype=np.int32))
        return float(here[0]) - log_sum(scores)

    def on_host(self) -> Scores | None:
        """Return the scores of all tokens, float ``[vocabulary]``; ``None``: few tokens are scored."""
        return self.scores if self.tokens is None else None

    def among(self, tokens: Int32) -> Scores:
        """Return the scores of some tokens, float ``[tokens]``."""
        return self.scores.take(tokens if self.tokens is None else np.searchsorted(self.tokens, tokens))

    def own(self, choice: Choice) -> HostRow:
        """Return the row in memory of its own, with the tokens that may stand there at least."""
        if self.tokens is not None:
            return HostRow(self.scores.copy(), self.tokens)
        if _KEPT_WHOLE * choice.count < self.scores.size:
            tokens = choice.tokens()
            return HostRow(self.scores.take(tokens), tokens)
        return HostRow(self.scores.copy())


class RowAnswer(NamedTuple):
    """The answer to a request that has a choice."""

    row: ScoreRow
    chosen: Chosen | None = None  # ``None``: nothing was chosen yet
    choice: Choice | None = None  # how it was chosen


# ---- on the host -----------------------------------------------------------------------------------------------------


class _Room(threading.local):
    """The scratch arrays of the kernels for one row, which a thread uses for all rows."""

    size = -1

    def of(self, size: int) -> tuple[NDArray[Any], ...]:
        """Return it for rows of so many tokens: the arrays that the kernels name."""
        if size > self.size:
            self.size = size + kernels.GROUPS
            tokens: Int32 = np.empty(self.size, dtype=np.int32)
            logs, weights, powers = (np.empty(self.size) for _ in range(3))
            sums = np.empty(kernels.GROUPS)
            self.arrays = tokens, logs, weights, weights.view(np.int64), powers.view(np.int64), powers, sums
        return self.arrays


_ROOM = _Room()
_NO_SINGLES: NDArray[np.float32] = np.empty((0, 0), dtype=np.float32)
_NO_DOUBLES: Float64 = np.empty((0, 0))
_NO_MASK: Mask = np.empty(0, dtype=np.uint32)
_NO_FACTORS: tuple[Int32, Float64] = np.empty(0, dtype=np.int32), np.empty(0)


def choose_in_table(table: Scores, rows: Sequence[int], choices: Sequence[Choice]) -> list[Chosen]:
    """Choose a token for some rows of a table on the host, float ``[rows, vocabulary]``."""
    if not rows:
        return []
    if any(choice.changes is not None for choice in choices):
        pairs = zip(rows, choices, strict=True)
        table = np.stack([
            table[row].astype(np.float64) if choice.changes is None else choice.changes.changed(table[row])
            for row, choice in pairs
        ])  # fmt: skip
        rows = range(len(rows))
    singles, doubles = _tables(table)
    numbers: NDArray[np.int64] = np.array(rows, dtype=np.int64)
    masks = np.stack([choice.mask for choice in choices]) if len(choices) > 1 else choices[0].mask[None]
    options = np.array([choice.options for choice in choices], dtype=np.float64)
    chosen: NDArray[np.int64] = table.argmax(axis=1)[numbers].astype(np.int64, copy=False)
    shares = np.empty(len(choices))
    tokens, *room = _ROOM.of(max(choice.count for choice in choices) if options[:, 0].any() else 0)
    logs, weights, bits, powers, as_numbers, sums = room
    kernels.choose_rows(
        singles, doubles, singles.size == 0, numbers, masks, options,
        tokens, logs, weights, bits, powers, as_numbers, sums, chosen, shares,
    )  # fmt: skip
    return [
        Chosen(token, share if choice.is_drawn else None)
        for token, share, choice in zip(chosen.tolist(), shares.tolist(), choices, strict=True)
    ]


def _choose_weighed(scores: Scores, choice: Choice) -> Chosen:
    """Choose a token of one row with barred tokens or factors."""
    singles, doubles = _tables(scores[None])
    tokens, factors = _NO_FACTORS if choice.factors is None else choice.factors
    barred = _NO_MASK if choice.barred is None else choice.barred
    options, shares = np.array([choice.options], dtype=np.float64), np.empty(2)
    among, logs, weights, bits, powers, as_numbers, sums = _ROOM.of(choice.count)
    token = kernels.choose_weighed(
        singles, doubles, singles.size == 0, choice.mask[None], barred, tokens, factors, options,
        among, logs, weights, bits, powers, as_numbers, sums, shares,
    )  # fmt: skip
    return Chosen(int(token), None if choice.takes_best else float(shares[0]), float(shares[1]))


def _tables(table: Scores) -> tuple[NDArray[np.float32], Float64]:
    """Return a table as one of two types, and an empty one of the other."""
    if table.dtype == np.float32:
        return np.ascontiguousarray(table), _NO_DOUBLES
    return _NO_SINGLES, np.ascontiguousarray(table, dtype=np.float64)
