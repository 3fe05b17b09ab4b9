"""Oracle of scores: the likelihood of some choices after a prompt, by the definitions, without tree, rewind or batch.

Independent of sfgen's scoring; the model's own scores are shared.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from tests.support.models.scripted import ScoreOf, ScriptedSession, random_scores
from tests.support.models.spellers import Merges

from sfgen import Vocabulary
from sfgen.protocols import Model

MERGES = ("h|o", "ho|t", " |hot", "e|l", "hot|el", "c|o", "co|l", "col|d", "a|b", "ab|c", " | ")


class ScoredMerges(Merges):
    """Byte-pair encoding, and scores that look random."""

    def __init__(self, seed: int, *merges: str, score: ScoreOf | None = None) -> None:
        super().__init__(*merges)
        self.score = score or random_scores(len(self.vocabulary), seed)
        self.sessions: list[ScriptedSession] = []

    def session(self) -> ScriptedSession:
        self.sessions.append(ScriptedSession(self.score))
        return self.sessions[-1]


def log_shares(model: Model, token_ids: Sequence[int]) -> list[float]:
    """The log-probability of every token after some tokens, read by a session of its own."""
    scores = np.asarray(model.session().extend(token_ids), dtype=np.float64)
    highest = float(scores.max())
    total = highest + math.log(math.fsum(np.exp(scores - highest).tolist()))
    return [score - total for score in scores.tolist()]


def logprob_of(model: Model, root: Sequence[int], tokens: Sequence[int]) -> float:
    """The log-probability of some tokens and an end token, behind others."""
    known, parts = list(root), list[float]()
    for token in tokens:
        parts.append(log_shares(model, known)[token])
        known.append(token)
    ends = model.vocabulary.end_token_ids
    if ends:
        after = log_shares(model, known)
        parts.append(math.log(math.fsum(math.exp(after[token]) for token in ends)))
    return math.fsum(parts)


def spellings(vocabulary: Vocabulary, data: bytes) -> Iterator[tuple[int, ...]]:
    """Every sequence of tokens that writes some bytes."""
    if not data:
        yield ()
    for token, text in enumerate(vocabulary.tokens):
        if text and data.startswith(text):
            for rest in spellings(vocabulary, data[len(text) :]):
                yield (token, *rest)
