"""Banned words on models of every kind of cache: the same text as from a model that reads everything again."""

from __future__ import annotations

from itertools import product
from typing import Any, get_args

import pytest
from tests.oracles.banned_text import BannedText
from tests.support.models.random_models import random_model
from tests.support.models.sessions import ForgetfulSession
from tests.support.running.tried import rounds, some_of

from sfgen import BannedWords, Sampler, Vocabulary, generate
from sfgen.decoding.rollback_decision import StrategyName
from sfgen.models.transformers_session import TransformersSession

STRATEGIES: tuple[StrategyName, ...] = get_args(StrategyName)
# Windows of 5 tokens (mistral, gemma2), recurrent states (mamba), both kinds of layers (jamba, falcon-h1).
ARCHITECTURES = ["gpt2", "llama", "qwen3", "mistral", "gemma2", "mamba", "jamba", "falcon-h1"]
LETTERS = "abcdefgh"
# 64 tokens: a letter, or two; those that end a text, and those that are none, are the model's own.
PIECES = [*LETTERS, *(one + other for one in LETTERS for other in LETTERS)][:61]
VOCABULARY = Vocabulary([None, None, None, *(piece.encode() for piece in PIECES)], end_token_ids=[2])
WORDS = ["aa", "cafe", "bad", "dab", "head", "ee", "hag", "deaf", "egg"]
PATTERNS = ["[abc][a-h]{4}[def]"]  # long enough for several tokens to be taken back at once
PROMPT = [10, 20, 30, 40, 50, 60, 11, 21, 31, 41]


class Small:
    """A model with the sessions of one class."""

    vocabulary = VOCABULARY

    def __init__(self, model: Any, session_class: type) -> None:
        self.model, self.session_class = model, session_class
        self.rewinds: list[int] = []

    def encode(self, text: str) -> list[int]:
        return [3 + PIECES.index(letter) for letter in text]

    def session(self) -> Any:
        session, length = self.session_class(self.model), 0
        extend, rewind = session.extend, session.rewind

        def read(tokens: Any) -> Any:
            nonlocal length
            length += len(tokens)
            return extend(tokens)

        def forget(to: int) -> None:
            nonlocal length
            self.rewinds.append(length - to)
            length = to
            rewind(to)

        session.extend, session.rewind = read, forget
        return session


@pytest.mark.parametrize(("architecture", "strategy"), some_of(product(ARCHITECTURES, STRATEGIES), 12))
def test_rollbacks_leave_no_trace_in_the_model(architecture: str, strategy: StrategyName) -> None:
    model = random_model(architecture)
    banned = BannedWords(WORDS, PATTERNS, match="substring")
    prompt = b"".join(VOCABULARY.tokens[token] or b"" for token in PROMPT)
    depths: set[int] = set()
    for seed in range(4)[-rounds(12) :]:  # two of them, mostly
        cached, oracle = Small(model, TransformersSession), Small(model, ForgetfulSession)
        written, expected = (
            generate(
                each,
                PROMPT,
                banned=banned,
                sampler=Sampler([0.0, 1.0, 1.0, 2.0][seed], seed),
                max_tokens=30,
                strategy=strategy,
            )
            for each in (cached, oracle)
        )
        assert written.token_ids == expected.token_ids
        assert [event.token_ids for event in written.rollbacks] == [event.token_ids for event in expected.rollbacks]
        assert not BannedText(WORDS, "substring", prompt, PATTERNS).is_in(written.text.encode())
        depths |= set(cached.rewinds)
    if strategy != "mask":
        assert len(depths) >= 2, depths
