"""Models whose answers are known: scores from a function of the text so far, checked for order and rewinds."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from sfgen import Vocabulary

ScoreOf = Callable[[tuple[int, ...]], NDArray[np.floating]]


class ScriptedModel:
    """Scores are a function of the tokens read; sessions are recorded for the tests to look at."""

    def __init__(self, vocabulary: Vocabulary, score: ScoreOf, prompts: dict[str, list[int]] | None = None) -> None:
        self.vocabulary = vocabulary
        self.score = score
        self.prompts = prompts or {}
        self.sessions: list[ScriptedSession] = []

    def encode(self, text: str) -> list[int]:
        if text in self.prompts:
            return self.prompts[text]
        ids = self.vocabulary.ids
        return [ids[bytes([byte])] for byte in text.encode()]

    def session(self) -> ScriptedSession:
        self.sessions.append(ScriptedSession(self.score))
        return self.sessions[-1]


class ScriptedSession:
    def __init__(self, score: ScoreOf) -> None:
        self.score = score
        self.tokens: list[int] = []
        self.calls: list[tuple[int, ...]] = []
        self.rewinds: list[int] = []
        self.contexts: list[list[int]] = []  # all that was read, at each question

    def extend(self, token_ids: Sequence[int]) -> NDArray[np.floating]:
        self.tokens += token_ids
        self.calls.append(tuple(token_ids))
        self.contexts.append(list(self.tokens))
        return self.score(tuple(self.tokens))

    def rewind(self, length: int) -> None:
        assert length <= len(self.tokens), "rewound to a length that was never read"
        self.rewinds.append(length)
        del self.tokens[length:]


def random_scores(size: int, seed: int) -> ScoreOf:
    """Scores that look random, but are the same for the same tokens: what a model is."""

    def score(tokens: tuple[int, ...]) -> NDArray[np.floating]:
        generator = np.random.default_rng([seed, *tokens])
        return generator.normal(0, 3, size).astype(np.float32)

    return score


def preferring(vocabulary: Vocabulary, wishes: Sequence[bytes | None], prompt_length: int) -> ScoreOf:
    """Scores that want to write ``wishes`` one after the other, and then to end; ``None`` is the end token."""
    ids = vocabulary.ids

    def score(tokens: tuple[int, ...]) -> NDArray[np.floating]:
        scores = np.linspace(1, 0, len(vocabulary), dtype=np.float32)  # lower ids first, when the wish is forbidden
        position = len(tokens) - prompt_length
        wish = wishes[position] if position < len(wishes) else None
        scores[vocabulary.end_token_ids[0] if wish is None else ids[wish]] = 9.0
        return scores

    return score
