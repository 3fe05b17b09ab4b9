"""Whole texts of transformers models, of which few rows are scored in a way of their own: nobody changes them.

A product over a few rows of the output layer differs from the product over all rows in the last bit. Here the
difference is made large, so that a text in which one of them stands for the other becomes another text.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from tests.support.models.attention_models import batch_for, model_of

from sfgen import Dfa, Finished, Index, Sampler, Vocabulary
from sfgen.decoding import prepare, stream
from sfgen.decoding.batch import batch_of, drive_batch
from sfgen.models.transformers_batch import TransformersBatch
from sfgen.models.transformers_forward import PartialLmHead
from sfgen.models.transformers_session import TransformersSession

LETTERS = "abcdefgh"
PIECES = [*LETTERS, *(one + other for one in LETTERS for other in LETTERS)][:61]
VOCABULARY = Vocabulary([None, None, None, *(piece.encode() for piece in PIECES)], end_token_ids=[2])
INDEX = Index(Dfa.from_regex("(ab|cd|[e-h]{2,3}){6,9}c?"), VOCABULARY)
FEW = np.array([3, 0, 7], dtype=np.int32)


class Small:
    """A random model with letters for tokens."""

    vocabulary = VOCABULARY

    def __init__(self, model: Any) -> None:
        self.model = model

    def encode(self, text: str) -> list[int]:
        return [3 + PIECES.index(letter) for letter in text]

    def session(self) -> TransformersSession:
        return TransformersSession(self.model)

    def batch(self, rows: int) -> TransformersBatch:
        return batch_for(self.model, rows)


@pytest.fixture
def twisted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Few rows are scored otherwise; how many were asked for is listed."""
    plain, asked = PartialLmHead.scores, list[int]()

    def scores(self: PartialLmHead, hidden: Any, rows: Any) -> Any:
        found = plain(self, hidden, rows)
        if rows is None:
            return found
        asked.append(len(rows))
        return -3 * found

    monkeypatch.setattr(PartialLmHead, "scores", scores)
    return asked


@pytest.mark.parametrize("name", ["gpt2", "llama", "gemma", "mistral"])
def test_with_or_without_an_observer_alone_or_together(name: str, twisted: list[int]) -> None:
    model = Small(model_of(name))
    generator = np.random.default_rng(7)
    tasks: list[dict[str, Any]] = [
        {
            "prompt": generator.integers(3, 64, 1 + 4 * number % 9).tolist(),
            "sampler": Sampler([0.0, 1.0][number % 2], number),
            "max_tokens": 14,
            "index": INDEX if number % 3 else None,
        }
        for number in range(7)
    ]

    def alone(task: dict[str, Any], *, observe: bool) -> tuple[int, ...]:
        return next(e.result.token_ids for e in stream(model, **task, observe=observe) if isinstance(e, Finished))

    expected = dict(enumerate(alone(task, observe=False) for task in tasks))
    assert twisted
    assert dict(enumerate(alone(task, observe=True) for task in tasks)) == expected
    for rows, observe in product((1, 2, 3), (False, True)):
        twisted.clear()
        told = drive_batch((prepare(model, **task, observe=observe) for task in tasks), batch_of(model, rows), rows)
        found = {number: event.result.token_ids for number, event in told if isinstance(event, Finished)}
        assert found == expected
        assert twisted, "the batch was never asked for few rows"


@pytest.mark.parametrize("name", ["gpt2", "llama", "stablelm", "starcoder2"])
def test_rows_of_a_batch_are_those_of_a_session(name: str) -> None:
    model = model_of(name)
    prompts = {0: [5, 6, 7], 1: [9], 2: [10, 11]}
    for rows in (1, 3):
        batch = batch_for(model, rows)
        asked = {row: prompts[row] for row in range(rows)}
        answers = batch.extend_rows(asked, {0: FEW})
        for row, prompt in asked.items():
            session = TransformersSession(model)
            wanted = FEW if row == 0 else None
            expected = session.extend(prompt) if wanted is None else session.extend_rows(prompt, wanted)
            again = batch.score_again(row, wanted), session.score_again(wanted)
            for found in (answers[row], *again):
                assert isinstance(found, np.ndarray)
                np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
            if rows == 1 or row == 0:
                np.testing.assert_array_equal(answers[row], again[0], strict=True)
            whole = batch.score_again(row, None)
            assert isinstance(whole, np.ndarray)
            assert whole.shape == (64,)
        batch.rewind(0, 0)
        assert batch.score_again(0, None) is None, "the text is over"


def test_a_session_says_again_to_the_bit() -> None:
    session = TransformersSession(model_of("llama"))
    assert session.score_again(None) is None, "nothing was read"
    whole = session.extend([5, 6, 7])
    few = session.score_again(FEW)
    np.testing.assert_array_equal(session.score_again(None), whole)
    np.testing.assert_array_equal(TransformersSession(model_of("llama")).extend_rows([5, 6, 7], FEW), few)
    other = TransformersSession(model_of("phi"))  # of which nothing is known
    other.extend([5])
    assert other.score_again(None) is None
