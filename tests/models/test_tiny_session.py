"""Sessions and batches of the embedded model, against transformers on the same weights, token by token."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.support.running.tried import tried

from sfgen.errors import ModelError
from sfgen.models.sessions import SeparateRows
from sfgen.models.tiny import DIRECTORY, network, session
from sfgen.models.tiny.model import TinyModel
from sfgen.models.transformers_model import TransformersModel
from sfgen.protocols import (
    Answer,
    Scores,
    ScoresEverywhere,
    ScoresLast,
    ScoresRows,
    Session,
)

FEW = np.array([391, 0, 2047, 15], dtype=np.int32)
PIECES = st.sampled_from([session.AT_A_TIME, 5, 1])
Steps = list[tuple[int, str, int]]
"""How many tokens are read, how they are asked for, how many are taken back then."""
STEPS = st.lists(
    st.tuples(
        st.integers(1, 12), st.sampled_from(["all", "rows", "everywhere", "last"]), st.sampled_from([0, 0, 1, 3, 7, 40])
    ),
    min_size=1,
    max_size=6,
)  # fmt: skip


@pytest.fixture(scope="module")
def model() -> TinyModel:
    return TinyModel()


@pytest.fixture(scope="module")
def oracle() -> TransformersModel:
    return TransformersModel.from_pretrained(DIRECTORY, device="cpu", dtype="float32")


def one_by_one(oracle: Session, token_ids: Sequence[int]) -> Scores:
    return np.stack([oracle.extend([token]) for token in token_ids])


def assert_close(found: Answer | None, expected: Scores, atol: float = 1e-4) -> None:
    assert isinstance(found, np.ndarray), found
    assert found.dtype == np.float32
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=0, atol=atol)


def assert_same(found: Answer | None, expected: Scores) -> None:
    """To the last bit."""
    assert isinstance(found, np.ndarray), found
    np.testing.assert_array_equal(found, expected, strict=True)


def drawn(seed: int, count: int) -> list[int]:
    tokens: list[int] = np.random.default_rng(seed).integers(0, 2048, count).tolist()
    return tokens


class TestSession:
    @tried("few")
    @given(steps=STEPS, seed=st.integers(0, 99), at_a_time=PIECES)
    @example(steps=[(12, "all", 5), (1, "rows", 0), (9, "everywhere", 9), (3, "all", 40)], seed=1, at_a_time=5)
    def test_scores_are_those_of_transformers(
        self, model: TinyModel, oracle: TransformersModel, steps: Steps, seed: int, at_a_time: int
    ) -> None:
        found, expected, length = model.session(), oracle.session(), 0
        with patch.object(session, "AT_A_TIME", at_a_time):
            for number, (count, kind, back) in enumerate(steps):
                tokens = drawn(1000 * seed + number, count)
                wanted = one_by_one(expected, tokens)
                if kind == "all":
                    assert_close(found.extend(tokens), wanted[-1])
                elif kind == "rows":
                    assert_close(found.extend_rows(tokens, FEW), wanted[-1][FEW])
                elif kind == "last":
                    positions = 1 + number % count
                    assert_close(found.extend_last(tokens, positions), wanted[-positions:])
                else:
                    assert_close(found.extend_all(tokens), wanted)
                assert_close(found.score_again(None), wanted[-1])
                assert_close(found.score_again(FEW), wanted[-1][FEW])
                length = max(0, length + count - back)
                found.rewind(length)
                expected.rewind(length)

    def test_back_to_every_position(self, model: TinyModel, oracle: TransformersModel) -> None:
        """Scores after a way back are those of a text that was never longer."""
        tokens, other = drawn(1, 20), drawn(2, 3)
        for length in range(len(tokens) + 1):
            found, expected = model.session(), oracle.session()
            found.extend(tokens)
            found.rewind(length)
            assert_close(found.extend_all(other), one_by_one(expected, [*tokens[:length], *other])[length:])

    def test_sessions_beside_each_other(self, model: TinyModel, oracle: TransformersModel) -> None:
        found, expected = [model.session() for _ in range(3)], [oracle.session() for _ in range(3)]
        for step in range(12):
            for number in (step % 3, (step + 1) % 3):
                tokens = drawn(100 * step + number, 1 + (step + number) % 4)
                assert_close(found[number].extend(tokens), expected[number].extend(tokens))
            back = 2 * step % 5
            found[step % 3].rewind(back)
            expected[step % 3].rewind(back)

    def test_the_whole_context(self, model: TinyModel, oracle: TransformersModel) -> None:
        tokens, (found, expected) = drawn(3, model.context_length), (model.session(), oracle.session())
        # Sums over 2048 tokens: torch with one thread and with two differ by 1e-4 themselves.
        assert_close(found.extend(tokens[:-1]), expected.extend(tokens[:-1]), 5e-4)
        assert_close(found.extend(tokens[-1:]), expected.extend(tokens[-1:]), 5e-4)
        with pytest.raises(ModelError, match="longer than tiny can read: 2049 tokens, its context holds 2048"):
            found.extend([5])
        found.rewind(2040)
        expected.rewind(2040)
        assert_close(found.extend_all(drawn(4, 8)), one_by_one(expected, drawn(4, 8)), 5e-4)

    @pytest.mark.parametrize("count", [1, 2, 127, 128, 129, 300])
    def test_to_the_last_bit(self, model: TinyModel, count: int) -> None:
        """The same tokens in the same passes score the same, however that is asked for."""
        tokens, sessions = drawn(5, count), [model.session() for _ in range(4)]
        whole, everywhere, few = (
            sessions[0].extend(tokens), sessions[1].extend_all(tokens), sessions[2].extend_rows(tokens, FEW),
        )  # fmt: skip
        np.testing.assert_array_equal(everywhere[-1], whole)
        np.testing.assert_array_equal(sessions[3].extend_last(tokens, min(3, count))[-1], whole)
        for each in sessions:
            assert_same(each.score_again(None), whole)
            assert_same(each.score_again(FEW), few)

    def test_what_was_scored_is_given_away(self, model: TinyModel) -> None:
        """Who changes the scores changes nobody else's."""
        reader = model.session()
        first = reader.extend([5, 6])
        kept = first.copy()
        first[:] = 0
        assert_same(reader.score_again(None), kept)

    def test_nothing_to_score_again_before_the_first_question(self, model: TinyModel) -> None:
        assert model.session().score_again(None) is None
        assert SeparateRows(model, 2).score_again(1, FEW) is None

    def test_is_what_the_protocols_say(self, model: TinyModel) -> None:
        assert isinstance(model.session(), ScoresRows)
        assert isinstance(model.session(), ScoresEverywhere)
        assert isinstance(model.session(), ScoresLast)


Rounds = list[tuple[list[tuple[int, int, bool]], tuple[int, int]]]
"""Rows that read together, with how many tokens and whether few are scored; a row that goes back, and how far."""


class TestBatch:
    @tried("few")
    @given(
        rounds=st.lists(
            st.tuples(
                st.lists(
                    st.tuples(st.integers(0, 3), st.integers(1, 9), st.booleans()),
                    max_size=4,
                    unique_by=lambda each: each[0],
                ),
                st.tuples(st.integers(0, 3), st.sampled_from([0, 1, 4, 99])),
            ),
            min_size=1,
            max_size=5,
        ),
        seed=st.integers(0, 99),
        at_a_time=PIECES,
    )
    @example(
        rounds=[
            ([(0, 9, False), (1, 1, True), (3, 6, False)], (1, 99)),
            ([(3, 2, True), (0, 5, True)], (0, 4)),
            ([(0, 1, False), (1, 1, False), (2, 1, False), (3, 1, False)], (3, 1)),
        ],
        seed=1,
        at_a_time=5,
    )
    def test_scores_are_those_of_transformers(
        self, model: TinyModel, oracle: TransformersModel, rounds: Rounds, seed: int, at_a_time: int
    ) -> None:
        batch, expected, lengths = SeparateRows(model, 4), [oracle.session() for _ in range(4)], [0] * 4
        with patch.object(session, "AT_A_TIME", at_a_time):
            for number, (together, (back_row, back)) in enumerate(rounds):
                asked = {row: drawn(1000 * seed + 10 * number + row, count) for row, count, _ in together}
                wanted = {row: FEW if is_few else None for row, _, is_few in together}
                answers = batch.extend_rows(asked, wanted)
                assert answers.keys() == asked.keys()
                for row, tokens in asked.items():
                    scores = expected[row].extend(tokens)
                    few = wanted[row]
                    assert_close(answers[row], scores if few is None else scores[few])
                    assert_close(batch.score_again(row, None), scores)
                    lengths[row] += len(tokens)
                lengths[back_row] = max(0, lengths[back_row] - back)
                batch.rewind(back_row, lengths[back_row])
                expected[back_row].rewind(lengths[back_row])
                tokens = drawn(number, 3)
                assert_close(batch.extend_all(back_row, tokens), one_by_one(expected[back_row], tokens))
                lengths[back_row] += 3

    def test_scores_asked_for_again_are_the_same_to_the_last_bit(self, model: TinyModel) -> None:
        batch = SeparateRows(model, 5)
        first = batch.extend_rows({row: drawn(row, 4 + row) for row in range(5)}, {2: FEW})
        for row, scores in first.items():
            assert isinstance(scores, np.ndarray)
            assert_same(batch.score_again(row, FEW if row == 2 else None), scores)

    def test_what_stands_beside_changes_nothing(self, model: TinyModel) -> None:
        """To the last bit: the same seed writes the same text, alone and in a batch of any size."""
        alone, batch = [model.session() for _ in range(5)], SeparateRows(model, 5)
        for step in range(4):
            asked = {row: drawn(10 * step + row, 1 + (step + row) % 3) for row in range(5) if (row + step) % 4}
            for row, scores in batch.extend(asked).items():
                assert_same(scores, alone[row].extend(asked[row]))


UNREADABLE = [
    ([5, 2048], "no token 2048: tiny knows 2048"),
    ([-1], "no token -1: tiny knows 2048"),
    ([5] * 2045, "than tiny can read: 2049 tokens, its context holds 2048"),
    ([], "tiny has nothing to read"),
]


@contextmanager
def failing(at: int, error: BaseException) -> Iterator[None]:
    """The forward pass of that number raises when it is over."""
    plain, calls = network.read, 0

    def fails(weights: Any, cache: Any, token_ids: Any) -> Any:
        nonlocal calls
        calls += 1
        states = plain(weights, cache, token_ids)
        if calls == at:
            raise error
        return states

    with patch.object(session, "read", fails):
        yield
    assert calls == at


class TestWhatCanGoWrong:
    """The session, or the row, is as it was before."""

    @pytest.mark.parametrize(("token_ids", "message"), UNREADABLE)
    @pytest.mark.parametrize("method", ["extend", "extend_all"])
    def test_what_cannot_be_read(self, model: TinyModel, token_ids: list[int], message: str, method: str) -> None:
        reader, fresh = model.session(), model.session()
        before, expected = reader.extend([5, 6, 7, 8]), fresh.extend([5, 6, 7, 8])
        with pytest.raises(ModelError, match=message):
            getattr(reader, method)(token_ids)
        np.testing.assert_array_equal(before, expected)
        assert_same(reader.score_again(None), before)
        assert_same(reader.extend([9]), fresh.extend([9]))

    @pytest.mark.parametrize(("token_ids", "message"), UNREADABLE)
    def test_a_row_that_cannot_be_read(self, model: TinyModel, token_ids: list[int], message: str) -> None:
        batch, alone = SeparateRows(model, 2), model.session()
        batch.extend({0: [5, 6, 7, 8], 1: [5, 6, 7, 8]})
        alone.extend([5, 6, 7, 8])
        answers = batch.extend({0: token_ids, 1: [9]})
        assert isinstance(answers[0], ModelError)
        assert message in answers[0].message
        expected = alone.extend([9])
        assert_same(answers[1], expected)
        assert_same(batch.extend({0: [9]})[0], expected)

    @pytest.mark.parametrize(
        ("error", "raised"), [(MemoryError(), ModelError), (KeyboardInterrupt(), KeyboardInterrupt)]
    )
    @pytest.mark.parametrize("at", [1, 2, 3])
    @pytest.mark.parametrize("method", ["extend", "extend_all"])
    def test_what_is_raised_while_it_reads(
        self, model: TinyModel, method: str, at: int, error: BaseException, raised: type[BaseException]
    ) -> None:
        reader, fresh = model.session(), model.session()
        before = reader.extend([5, 6])
        fresh.extend([5, 6])
        with failing(at, error), pytest.raises(raised):
            getattr(reader, method)(drawn(1, 300))
        assert_same(reader.score_again(None), before)
        assert_same(reader.extend([9]), fresh.extend([9]))

    def test_the_message(self, model: TinyModel) -> None:
        reader = model.session()
        reader.extend([4])
        with failing(1, MemoryError()), pytest.raises(ModelError) as caught:
            reader.extend([5, 6])
        assert caught.value.message == "not enough memory for 3 tokens"
        assert caught.value.hint
