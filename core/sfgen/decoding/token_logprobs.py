"""How likely each token of a text was: under the model, and under the mask.

Under the model: what observes the scores of all tokens (``Loop.observe_scores``) comes here. Those of a token that is
still to be chosen come before it, those of forced tokens after them, with the next forward pass. So of each position
the logarithm of the sum of all exponentials is kept, and the score of its token when both are known, and never the
scores of all tokens. What is taken back is overwritten.
"""

from __future__ import annotations

import math

import numpy as np

from sfgen.decoding.events import TokenLogprob
from sfgen.decoding.sampler import log_sum
from sfgen.decoding.search_tree import Node, Path
from sfgen.protocols import Scores


class TokenLogprobs:
    """The log-probabilities of the tokens of one text.

    Args:
        path: The tokens, as they are chosen and rolled back.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._log_totals: dict[int, float] = {}
        self._scores: dict[int, float] = {}
        self._masked: dict[int, float] = {}

    def observe(self, index: int, scores: Scores) -> None:
        """Note the scores of all tokens at a position.

        Args:
            index: The index of the token.
            scores: Float ``[len(vocabulary)]``.
        """
        self._log_totals[index] = _log_total(scores)
        if index < len(self._path):
            self._scores[index] = float(scores[self._path.token_ids[index]])

    def take(self, node: Node, chosen: int, probability: float | None) -> None:
        """Note the choice of the next token.

        Args:
            node: Its node.
            chosen: Its index among the allowed tokens.
            probability: The probability with which it was drawn; ``None``: nothing was drawn.
        """
        index = len(self._path)
        if node.scores is not None:
            self._scores[index] = float(node.scores[chosen])
        self._masked[index] = _log_share(node, chosen) if probability is None else math.log(probability)

    def of_path(self) -> tuple[TokenLogprob, ...]:
        """Return the log-probabilities of all tokens.

        The scores of all must have come.
        """
        return tuple(
            TokenLogprob(_finite(self._scores[index] - self._log_totals[index]), self._masked[index])
            for index in range(len(self._path))
        )


def _log_total(scores: Scores) -> float:
    """The logarithm of the sum of all exponentials, in float64."""
    highest = float(scores.max())
    return log_sum(scores.astype(np.float64)) if math.isfinite(highest) else highest


def _log_share(node: Node, chosen: int) -> float:
    """The log-probability of a token among those that may stand at a node, at temperature 1."""
    if node.chosen_by is None:
        return 0.0
    scores = node.chosen_by.astype(np.float64)
    if node.ruled_out is not None:
        scores = np.where(node.ruled_out, -np.inf, scores)
    return float(scores[chosen]) - log_sum(scores)


def _finite(logprob: float) -> float | None:
    return logprob if math.isfinite(logprob) else None
