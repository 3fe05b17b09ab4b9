"""The likeliest tokens at a position, before and after the mask: only when somebody observes.

This takes a softmax over all tokens, which the loop never needs otherwise. It is taken once for each forward pass; the
allowed tokens of a position can change after that, when banned words rule tokens out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfgen.decoding.events import Candidate, Outlook
from sfgen.decoding.sampler import reached_by
from sfgen.protocols import Int32, Scores
from sfgen.vocabulary import Vocabulary

CANDIDATES = 5
"""The number of likeliest tokens that events have."""


@dataclass(frozen=True, slots=True)
class TopLogprobs:
    """The part of the scores of all tokens that is kept for observers.

    >>> kept = TopLogprobs.of(np.log(np.array([0.25, 0.5, 0.25])), 2)
    >>> kept.best, [round(each, 3) for each in kept.log_probabilities]
    ((1, 0), [-0.693, -1.386])
    """

    size: int  # of the vocabulary
    log_total: float  # the logarithm of the sum of all exponentials of the scores
    best: tuple[int, ...]  # the likeliest tokens, the lowest id first among equals
    log_probabilities: tuple[float, ...]  # of ``best``

    @classmethod
    def of(cls, scores: Scores, count: int = CANDIDATES) -> TopLogprobs:
        """Summarize the scores of all tokens, with the ``count`` likeliest."""
        best, log_total = _highest(scores, count), _log_total(scores)
        with np.errstate(invalid="ignore"):  # the loop refuses a model without a finite score
            of_best = scores[best].astype(np.float64) - log_total
        if np.isposinf(log_total):
            infinite = np.isposinf(scores)
            of_best = np.where(infinite[best], -np.log(np.count_nonzero(infinite)), -np.inf)
        return cls(scores.size, log_total, tuple(best.tolist()), tuple(of_best.tolist()))


def outlook(kept: TopLogprobs, allowed: Int32, scores: Scores, vocabulary: Vocabulary) -> Outlook:
    """Return the likeliest tokens before and after the mask.

    >>> from sfgen import Vocabulary
    >>> scores = np.log(np.array([0.5, 0.25, 0.25]))
    >>> allowed = np.array([1, 2], dtype=np.int32)
    >>> seen = outlook(TopLogprobs.of(scores), allowed, scores[1:], Vocabulary([b"a", b"b", b"c"]))
    >>> round(seen.removed, 6), [(one.data, round(one.before, 6), round(one.after, 6)) for one in seen.before]
    (0.5, [(b'a', 0.5, 0.0), (b'b', 0.25, 0.5), (b'c', 0.25, 0.5)])
    """
    log_kept = kept.log_total if allowed.size == kept.size else _log_total(scores)

    def candidate(token: int, log_before: float, place: int) -> Candidate:
        """``place``: where the token is among those that may stand there, if it is."""
        may_stand = place < allowed.size and allowed[place] == token
        after = float(np.exp(float(scores[place]) - log_kept)) if may_stand else 0.0
        is_end = token in vocabulary.end_token_ids
        return Candidate(token, vocabulary.tokens[token], is_end, float(np.exp(log_before)), after)

    before = tuple(map(candidate, kept.best, kept.log_probabilities, np.searchsorted(allowed, kept.best)))
    after = before
    if not all(seen.after for seen in before):
        after = tuple(
            candidate(int(allowed[place]), float(scores[place]) - kept.log_total, int(place))
            for place in _highest(scores, CANDIDATES)
        )
    return Outlook(before, after, removed=max(0.0, 1.0 - float(np.exp(log_kept - kept.log_total))))


def _highest(scores: Scores, count: int) -> NDArray[np.intp]:
    """Return the indices of the highest scores, in falling order, the first of equals first."""
    border = reached_by(scores, max(1, count))
    places = np.arange(scores.size) if border is None else np.flatnonzero(scores >= border)
    ordered: NDArray[np.intp] = places[np.argsort(-scores[places], kind="stable")]
    return ordered[:count]


def _log_total(scores: Scores) -> float:
    """Return the logarithm of the sum of all exponentials."""
    highest = float(scores.max())
    if not np.isfinite(highest):
        return highest
    return highest + float(np.log(np.exp(scores - scores.dtype.type(highest)).sum(dtype=np.float64)))
