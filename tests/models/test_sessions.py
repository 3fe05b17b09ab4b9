"""Scores at several positions from sessions that tell the next ones only, alone and as rows of a batch."""

from __future__ import annotations

from collections.abc import Sequence
from unittest.mock import patch

import numpy as np
from tests.support.models.scripted import ScriptedModel, random_scores

from sfgen import Vocabulary
from sfgen.errors import ModelError, SfgenError
from sfgen.models.sessions import SeparateRows, last_scores
from sfgen.models.uniform import UniformModel
from sfgen.protocols import BatchScoresEverywhere, BatchScoresLast, Scores, ScoresEverywhere

VOCABULARY = Vocabulary([b"a", b"b", b"c", None], end_token_ids=[3])


class Unwilling:
    """A session without ``extend_all``; it refuses one token."""

    def __init__(self) -> None:
        self.inner = ScriptedModel(VOCABULARY, random_scores(4, 1)).session()

    def extend(self, token_ids: Sequence[int]) -> Scores:
        if 2 in token_ids:
            raise ModelError("not this one")
        return self.inner.extend(token_ids)

    def rewind(self, length: int) -> None:
        self.inner.rewind(length)


class Everywhere:
    """A session with ``extend_all`` and no ``extend_last``: the scores are the numbers of the positions."""

    def __init__(self) -> None:
        self.read: list[Sequence[int]] = []

    def extend(self, token_ids: Sequence[int]) -> Scores:
        raise AssertionError

    def extend_all(self, token_ids: Sequence[int]) -> Scores:
        self.read.append(token_ids)
        return np.arange(len(token_ids), dtype=np.float32)[:, None]

    def rewind(self, length: int) -> None:
        raise AssertionError


class UnwillingModel:
    vocabulary = VOCABULARY

    def __init__(self) -> None:
        self.sessions: list[Unwilling] = []

    def encode(self, text: str) -> list[int]:
        return [VOCABULARY.tokens.index(character.encode()) for character in text]

    def session(self) -> Unwilling:
        self.sessions.append(Unwilling())
        return self.sessions[-1]


class TestLastScores:
    def test_one_that_reads_token_by_token(self) -> None:
        score = random_scores(4, 1)
        session = ScriptedModel(VOCABULARY, score).session()
        assert not isinstance(session, ScoresEverywhere)
        session.extend([1, 1])
        found = last_scores(session, [0, 2, 1], 3)
        np.testing.assert_array_equal(found, [score((1, 1, 0)), score((1, 1, 0, 2)), score((1, 1, 0, 2, 1))])
        assert session.calls == [(1, 1), (0,), (2,), (1,)]

    def test_what_comes_before_the_last_positions_is_read_at_once(self) -> None:
        score = random_scores(4, 1)
        session = ScriptedModel(VOCABULARY, score).session()
        found = last_scores(session, [0, 2, 1, 1], 2)
        np.testing.assert_array_equal(found, [score((0, 2, 1)), score((0, 2, 1, 1))])
        assert session.calls == [(0, 2, 1), (1,)]

    def test_one_that_only_scores_every_position_reads_all_at_once(self) -> None:
        """So what is read in one pass does not depend on how many of its scores are wanted."""
        session = Everywhere()
        found = last_scores(session, [0, 2, 1, 1], 2)
        np.testing.assert_array_equal(found, [[2], [3]])
        assert found.base is None, "the others are not held"
        assert session.read == [[0, 2, 1, 1]]

    def test_one_that_knows_better(self) -> None:
        session = UniformModel(VOCABULARY).session()
        with patch.object(type(session), "extend", side_effect=AssertionError):
            assert last_scores(session, [0, 1], 2).shape == (2, 4)

    def test_rows_of_a_batch(self) -> None:
        model = UnwillingModel()
        batch = SeparateRows(model, 2)
        assert isinstance(batch, BatchScoresEverywhere)
        assert isinstance(batch, BatchScoresLast)
        score = random_scores(4, 1)
        batch.extend({0: [1, 0], 1: [0]})
        np.testing.assert_array_equal(batch.extend_all(0, [1, 1]), [score((1, 0, 1)), score((1, 0, 1, 1))])
        refused = batch.extend_all(0, [0, 0, 2, 1])
        assert isinstance(refused, SfgenError)
        assert refused.message == "not this one"
        assert model.sessions[0].inner.tokens == [1, 0, 1, 1]  # as before
        batch.rewind(0, 3)
        assert isinstance(batch.extend_all(0, [0, 2]), SfgenError)
        assert [session.inner.tokens for session in model.sessions] == [[1, 0, 1], [0]]
        assert isinstance(batch.extend({0: [2]})[0], SfgenError)
        assert isinstance(batch.extend_all(0, [2]), SfgenError)
        assert model.sessions[0].inner.tokens == [1, 0, 1]
        batch.rewind(0, 0)
        np.testing.assert_array_equal(batch.extend_all(0, [1]), [score((1,))])
        assert isinstance(batch.extend_all(0, [0, 2]), SfgenError)
        assert [session.inner.tokens for session in model.sessions] == [[1, 0, 1], [0], [1]]
        assert isinstance(SeparateRows(model, 1).extend_all(0, [2]), SfgenError)  # nothing was read before
