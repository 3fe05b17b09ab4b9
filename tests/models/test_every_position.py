"""Scores at every position of what is read, or at the last ones, against reading one token after the other."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.support.models.attention_models import CONTEXT, TOGETHER, batch_for, model_of
from tests.support.models.random_models import ARCHITECTURES, random_model
from tests.support.models.sessions import ForgetfulSession
from tests.support.running.tried import tried

from sfgen.errors import ModelError
from sfgen.models import transformers_forward
from sfgen.models.transformers_batch import TransformersBatch
from sfgen.models.transformers_forward import KNOWN_LM_HEADS, PartialLmHead, Rotary, has_rows
from sfgen.models.transformers_session import TransformersSession
from sfgen.protocols import (
    Answer,
    BatchScoresEverywhere,
    BatchScoresLast,
    Scores,
    ScoresEverywhere,
    ScoresLast,
    Session,
)

FEW = np.array([3, 0, 7], dtype=np.int32)
HALF = 64 * 5  # scores of five positions
Steps = list[tuple[int, int, int]]
"""How many tokens are read, how many positions are wanted (0: the next scores), how many tokens are taken back then."""

STEPS = st.lists(
    st.tuples(st.integers(1, 9), st.sampled_from([0, 0, 1, 2, 4, 99, 99]), st.sampled_from([0, 0, 1, 2, 5, 12])),
    min_size=2,
    max_size=6,
)


def one_by_one(session: Session, token_ids: Sequence[int]) -> Scores:
    return np.stack([session.extend([token]) for token in token_ids])


def assert_close(found: Answer | None, expected: Scores, tolerance: float = 1e-3) -> None:
    assert isinstance(found, np.ndarray), found
    assert found.dtype == np.float32
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * float(np.abs(expected).max()))


def assert_equals_one_by_one(model: Any, oracle: Session, steps: Steps, seed: int) -> None:
    session, length = TransformersSession(model), 0
    generator = np.random.default_rng(seed)
    for count, positions, back in steps:
        tokens = generator.integers(3, 64, count).tolist()
        expected = one_by_one(oracle, tokens)
        if positions >= count:
            assert_close(session.extend_all(tokens), expected)
        elif positions:
            assert_close(session.extend_last(tokens, positions), expected[-positions:])
        else:
            assert_close(session.extend(tokens), expected[-1])
        if has_rows(model):
            assert_close(session.score_again(None), expected[-1])
            assert_close(session.score_again(FEW), expected[-1][FEW])
        length = max(0, length + count - back)
        session.rewind(length)
        oracle.rewind(length)


@contextmanager
def scored(model: Any) -> Iterator[list[int]]:
    """The number of positions in each call of the output layer, as they come."""
    counts: list[int] = []
    layer = model.get_output_embeddings()
    hook = layer.register_forward_hook(lambda _m, _i, output: counts.append(output.shape[1]))
    try:
        yield counts
    finally:
        hook.remove()


@pytest.fixture(params=[transformers_forward.MOST_SCORES, HALF, 1], ids=["many", "five", "one"])
def most(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """The most scores that are made at a time."""
    monkeypatch.setattr(transformers_forward, "MOST_SCORES", request.param)
    return int(request.param)


class TestSession:
    @pytest.mark.parametrize("architecture", ARCHITECTURES)
    @tried("handful")
    @given(steps=STEPS, seed=st.integers(0, 99), most=st.sampled_from([transformers_forward.MOST_SCORES, HALF, 1]))
    @example(steps=[(12, 99, 0), (1, 99, 0), (3, 99, 2), (4, 99, 9), (9, 99, 1)], seed=1, most=1 << 25)
    @example(steps=[(12, 99, 0), (1, 99, 0), (3, 99, 2), (4, 99, 9), (9, 99, 1)], seed=1, most=HALF)
    @example(steps=[(9, 0, 0), (4, 99, 3), (1, 0, 0), (7, 99, 99), (6, 99, 0)], seed=2, most=HALF)
    @example(steps=[(9, 7, 3), (8, 2, 2), (9, 6, 0), (3, 1, 5), (9, 8, 0)], seed=3, most=HALF)
    def test_equals_one_token_after_the_other(self, architecture: str, steps: Steps, seed: int, most: int) -> None:
        model = random_model(architecture)
        with patch.object(transformers_forward, "MOST_SCORES", most):
            assert_equals_one_by_one(model, ForgetfulSession(model), steps, seed)

    @pytest.mark.parametrize("name", sorted(KNOWN_LM_HEADS))
    def test_the_last_position_has_the_scores_of_extend(self, name: str, most: int) -> None:
        """To the last bit."""
        model = model_of(name.replace("_", "-"))
        few, all_, last = (TransformersSession(model) for _ in range(3))
        for tokens in ([5, 6, 7, 8, 9, 10, 11, 12, 13], [14], [15, 16, 17, 18, 19, 20, 21]):
            expected = few.extend(tokens)
            np.testing.assert_array_equal(all_.extend_all(tokens)[-1], expected)
            np.testing.assert_array_equal(last.extend_last(tokens, min(3, len(tokens)))[-1], expected)
            for each in (all_, last):
                np.testing.assert_array_equal(each.score_again(None), few.score_again(None), strict=True)
                np.testing.assert_array_equal(each.score_again(FEW), few.score_again(FEW), strict=True)

    @pytest.mark.parametrize("name", ["llama", "phi", "falcon"])
    def test_so_many_scores_at_a_time(self, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(transformers_forward, "MOST_SCORES", HALF)
        model, tokens = model_of(name), [5 + number for number in range(17)]
        with scored(model) as counts:
            found = TransformersSession(model).extend_all(tokens)
        assert counts == ([5, 5, 5, 1, 1] if has_rows(model) else [5, 5, 5, 2])
        assert_close(found, one_by_one(ForgetfulSession(model), tokens))

    @pytest.mark.parametrize("positions", [1, 3, 7])
    @pytest.mark.parametrize("name", ["llama", "phi", "falcon"])
    def test_only_the_last_positions_are_scored(
        self, name: str, positions: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(transformers_forward, "MOST_SCORES", HALF)
        model, tokens = model_of(name), [5 + number for number in range(17)]
        expected = one_by_one(ForgetfulSession(model), tokens)[-positions:]
        with scored(model) as counts:
            assert_close(TransformersSession(model).extend_last(tokens, positions), expected)
        assert sum(counts) == positions
        with scored(model) as counts:
            assert_close(batch_for(model, 2).extend_last(1, tokens, positions), expected)
        assert sum(counts) == positions

    @pytest.mark.parametrize("name", ["llama", "phi", "mamba", "openai-gpt"])
    def test_is_one_forward_pass(self, name: str) -> None:
        model = model_of(name)
        with patch.object(
            type(model.base_model), "forward", autospec=True, side_effect=type(model.base_model).forward
        ) as read:
            TransformersSession(model).extend_all([5, 6, 7, 8])
        assert read.call_count == 1

    @pytest.mark.parametrize("name", ["llama", "phi", "mamba"])
    def test_half_precision_gives_float32(self, name: str) -> None:
        import torch

        model = copy.deepcopy(model_of(name)).to(torch.bfloat16)
        session = TransformersSession(model)
        found = session.extend_all([5, 6, 7])
        assert found.shape == (3, 64)
        assert found.dtype == np.float32
        expected = one_by_one(TransformersSession(model), [5, 6, 7])
        np.testing.assert_allclose(found, expected, atol=0.05 * float(np.abs(expected).max()))

    def test_is_what_the_protocol_says(self) -> None:
        assert isinstance(TransformersSession(model_of("llama")), ScoresEverywhere)
        assert isinstance(TransformersSession(model_of("llama")), ScoresLast)
        assert isinstance(batch_for(model_of("llama"), 2), BatchScoresEverywhere)
        assert isinstance(batch_for(model_of("llama"), 2), BatchScoresLast)


def scaled(kind: str, border: int) -> Any:
    """A model whose rotary positions are turned otherwise beyond a length."""
    if kind == "dynamic":
        rope = {"rope_type": "dynamic", "rope_theta": 10000.0, "factor": 4.0}
        return random_model("llama", max_position_embeddings=border, rope_parameters=rope)
    rope = {"rope_type": "longrope", "rope_theta": 10000.0, "original_max_position_embeddings": border,
            "short_factor": [1.0, 1.1, 1.2, 1.3], "long_factor": [2.0, 3.0, 4.0, 5.0]}  # fmt: skip
    return random_model("phi3", sliding_window=None, original_max_position_embeddings=border, rope_parameters=rope)


class TestRotaryPositionsThatDependOnTheLength:
    """What follows a token in what is read does not count for its scores."""

    @tried("handful")
    @given(steps=STEPS, most=st.sampled_from([transformers_forward.MOST_SCORES, HALF]))
    @example(steps=[(15, 99, 0), (1, 99, 9), (9, 99, 2), (3, 99, 0)], most=HALF)
    @example(steps=[(8, 0, 0), (2, 99, 0), (2, 99, 3), (4, 99, 0)], most=1 << 25)
    def test_longrope(self, steps: Steps, most: int) -> None:
        model = scaled("longrope", 10)
        with patch.object(transformers_forward, "MOST_SCORES", most):
            assert_equals_one_by_one(model, ForgetfulSession(model), steps, seed=3)

    @tried("handful")
    @given(steps=STEPS)
    @example(steps=[(15, 99, 0), (1, 99, 9), (9, 99, 2), (3, 99, 0)])
    @example(steps=[(8, 99, 0), (2, 99, 0), (2, 99, 3), (4, 99, 0)])
    def test_dynamic(self, steps: Steps) -> None:
        """Keys stay as they were turned when they were read, so the oracle has a cache, too."""
        model = scaled("dynamic", 8)
        everywhere: Steps = [(count, 99, back) for count, _, back in steps]
        assert_equals_one_by_one(model, TransformersSession(model), everywhere, seed=4)

    @pytest.mark.parametrize("kind", ["longrope", "dynamic"])
    def test_what_comes_before_the_last_positions(self, kind: str) -> None:
        """It is read at once, as where no scores but the next ones are wanted; then as if nothing followed."""
        model, tokens = scaled(kind, 10), list(range(5, 21))
        session, oracle = TransformersSession(model), TransformersSession(model)
        expected = [oracle.extend(tokens[:14]), oracle.extend(tokens[14:15]), oracle.extend(tokens[15:])]
        assert_close(session.extend_last(tokens, 3), np.stack(expected))

    @given(border=st.integers(1, 9), start=st.integers(0, 12), count=st.integers(1, 9))
    def test_where_reading_pauses(self, border: int, start: int, count: int) -> None:
        stop = start + count
        lengths = range(start + 1, stop)
        long, dynamic = Rotary(scaled("longrope", 8)), Rotary(scaled("dynamic", 8))
        long._border = border
        dynamic._growing = [SimpleNamespace(original_max_seq_len=border)]
        assert long.ends(start, stop) == [*(length for length in lengths if length == border), stop]
        assert dynamic.ends(start, stop) == [*(length for length in lengths if length >= border), stop]
        assert Rotary(model_of("llama")).ends(start, stop) == [stop]


Rounds = list[tuple[list[tuple[int, int]], tuple[int, int], tuple[int, int]]]
"""Rows that read together, with their counts; a row of which all positions are wanted; a row that goes back."""


class TestBatch:
    @pytest.mark.parametrize("name", TOGETHER)
    @tried("handful")
    @given(
        rounds=st.lists(
            st.tuples(
                st.lists(st.tuples(st.integers(0, 2), st.integers(1, 6)), max_size=3, unique_by=lambda each: each[0]),
                st.tuples(st.integers(0, 2), st.integers(1, 9)),
                st.tuples(st.integers(0, 2), st.sampled_from([0, 1, 4, 99])),
            ),
            min_size=1,
            max_size=5,
        ),
        most=st.sampled_from([transformers_forward.MOST_SCORES, HALF, 1]),
        seed=st.integers(0, 99),
    )
    @example(
        rounds=[
            ([(0, 4), (1, 2), (2, 6)], (1, 7), (1, 3)),
            ([(0, 1), (1, 1)], (2, 9), (0, 99)),
            ([(1, 1)], (0, 6), (1, 99)),
            ([], (1, 3), (0, 2)),
            ([(0, 1), (1, 1), (2, 1)], (0, 1), (0, 0)),
        ],
        most=HALF,
        seed=1,
    )
    def test_equals_one_token_after_the_other(self, name: str, rounds: Rounds, most: int, seed: int) -> None:
        model = model_of(name)
        batch, oracles = batch_for(model, 3), [ForgetfulSession(model) for _ in range(3)]
        generator = np.random.default_rng(seed)
        with patch.object(transformers_forward, "MOST_SCORES", most):
            for together, (row, count), (back_row, back) in rounds:
                questions = {each: generator.integers(3, 64, tokens).tolist() for each, tokens in together}
                if questions:
                    for each, answer in batch.extend(questions).items():
                        assert_close(answer, one_by_one(oracles[each], questions[each])[-1])
                tokens = generator.integers(3, 64, count).tolist()
                expected = one_by_one(oracles[row], tokens)
                positions = int(generator.integers(1, 2 * count))
                if positions < count:
                    assert_close(batch.extend_last(row, tokens, positions), expected[-positions:])
                else:
                    assert_close(batch.extend_all(row, tokens), expected)
                if has_rows(model):
                    assert_close(batch.score_again(row, None), expected[-1])
                    assert_close(batch.score_again(row, FEW), expected[-1][FEW])
                length = max(0, len(oracles[back_row].tokens) - back)
                batch.rewind(back_row, length)
                oracles[back_row].rewind(length)

    @pytest.mark.parametrize("name", ["llama", "phi"])
    def test_other_rows_are_left_alone(self, name: str) -> None:
        model = model_of(name)
        batch = batch_for(model, 3)
        batch.extend({0: [5, 6], 1: [7], 2: [8, 9, 10]})
        before = [batch.score_again(row, None) for row in (0, 2)]
        assert_close(batch.extend_all(1, [11, 12, 13]), one_by_one(ForgetfulSession(model), [7, 11, 12, 13])[1:])
        assert batch._lengths == [2, 4, 3]
        for row, scores in zip((0, 2), before, strict=True):
            np.testing.assert_array_equal(batch.score_again(row, None), scores)
        answers = batch.extend({0: [20], 2: [21]})
        assert_close(answers[0], one_by_one(ForgetfulSession(model), [5, 6, 20])[-1])
        assert_close(answers[2], one_by_one(ForgetfulSession(model), [8, 9, 10, 21])[-1])


UNREADABLE = [
    ([5, 64], "no token 64: small knows 64"),
    ([-1], "no token -1: small knows 64"),
    ([5] * (CONTEXT - 3), "than small can read: 129 tokens, its context holds 128"),
    ([], "small has nothing to read"),
]
RAISED = [
    ("CUDA out of memory. Tried to allocate 2.00 GiB.\nGPU 0 has a total", "not enough memory on cpu for"),
    ("MPS backend out of memory (MPS allocated: 9 GB)", "not enough memory on cpu for"),
    ("\"addmm_impl_cpu_\" not implemented for 'Half'", 'small cannot score on cpu in float32: "addmm'),
]
FAILURES = [
    *(("gpt2", where, at) for where, at in [("forward", 1), ("scores", 1), ("scores", 2), ("scores", 4)]),
    *(("phi", "forward", at) for at in (1, 2, 3)),  # five positions in each pass
    *(("mamba", "forward", at) for at in (1, 2, 14)),  # a token in each pass
]
"""Which call fails where 14 tokens are read after others: of the layers (forward), or of the output layer (scores)."""


@contextmanager
def failing(model: Any, where: str, message: str, at: int) -> Iterator[None]:
    """The layers (``forward``) or the output layer (``scores``) raise when they are called for the ``at``-th time."""
    kind, name = (type(model.base_model), "forward") if where == "forward" else (PartialLmHead, "scores")
    plain, calls = getattr(kind, name), 0

    def fails(self: Any, *arguments: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == at:
            raise RuntimeError(message)
        return plain(self, *arguments, **options)

    with patch.object(kind, name, fails):
        yield
    assert calls == at


def rows_of_four(model: Any) -> tuple[TransformersBatch, list[ForgetfulSession], list[Scores]]:
    """A batch of two rows with four tokens each, their oracles, and their scores."""
    batch, oracles = batch_for(model, 2), [ForgetfulSession(model) for _ in range(2)]
    batch.extend({row: [5 + row] * 4 for row in range(2)})
    return batch, oracles, [oracle.extend([5 + row] * 4) for row, oracle in enumerate(oracles)]


def assert_as_before(
    model: Any, batch: TransformersBatch, oracles: Sequence[ForgetfulSession], expected: Sequence[Scores]
) -> None:
    if has_rows(model):
        for row in range(2):
            assert_close(batch.score_again(row, None), expected[row])
    assert_close(batch.extend_all(1, [9, 10]), one_by_one(oracles[1], [9, 10]))
    assert_close(batch.extend({0: [11]})[0], oracles[0].extend([11]))


class TestWhatCanGoWrong:
    """The session, or the row, is as it was before."""

    @pytest.mark.parametrize(("token_ids", "message"), UNREADABLE)
    @pytest.mark.parametrize("name", ["gpt2", "phi", "mamba"])
    def test_what_cannot_be_read(self, name: str, token_ids: list[int], message: str) -> None:
        model = random_model(name)
        session, oracle = TransformersSession(model, CONTEXT, name="small"), ForgetfulSession(model)
        expected = one_by_one(oracle, [5, 6, 7, 8])
        session.extend([5, 6, 7, 8])
        with pytest.raises(ModelError, match=message):
            session.extend_all(token_ids)
        if has_rows(model):
            assert_close(session.score_again(None), expected[-1])
        assert_close(session.extend_all([9, 10]), one_by_one(oracle, [9, 10]))

    @pytest.mark.parametrize(("raised", "message"), RAISED)
    @pytest.mark.parametrize(("name", "where", "at"), FAILURES)
    def test_what_torch_raises(
        self, name: str, where: str, at: int, raised: str, message: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(transformers_forward, "MOST_SCORES", HALF)
        model = random_model(name)
        session, oracle = TransformersSession(model, CONTEXT, name="small"), ForgetfulSession(model)
        session.extend([5, 6])
        expected = oracle.extend([5, 6])
        with failing(model, where, raised, at), pytest.raises(ModelError) as caught:
            session.extend_all([7] * 14)
        assert message in caught.value.message
        assert "memory" not in message or "for 16 tokens" in caught.value.message
        assert "\n" not in caught.value.message
        assert caught.value.hint
        if has_rows(model):
            assert_close(session.score_again(None), expected)
        assert_close(session.extend_all([9, 10]), one_by_one(oracle, [9, 10]))
        session.rewind(1)
        oracle.rewind(1)
        assert_close(session.extend([11]), oracle.extend([11]))

    def test_what_is_scored_again_after_an_error_is_what_was_scored_before(self) -> None:
        model = random_model("gpt2")
        session = TransformersSession(model)
        expected = session.extend([5, 6])
        with failing(model, "scores", "broken", 1), pytest.raises(ModelError, match="broken"):
            session.extend([7])
        np.testing.assert_array_equal(session.score_again(None), expected, strict=True)

    @pytest.mark.parametrize(("raised", "message"), RAISED)
    @pytest.mark.parametrize(("name", "where", "at"), [case for case in FAILURES if case[0] in TOGETHER])
    def test_a_row_that_torch_does_not_read(
        self, name: str, where: str, at: int, raised: str, message: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(transformers_forward, "MOST_SCORES", HALF)
        model = random_model(name)
        batch, oracles, expected = rows_of_four(model)
        with failing(model, where, raised, at):
            answer = batch.extend_all(1, [7] * 14)
        assert isinstance(answer, ModelError)
        assert message in answer.message
        assert_as_before(model, batch, oracles, expected)

    @pytest.mark.parametrize(("token_ids", "message"), UNREADABLE)
    @pytest.mark.parametrize("name", ["gpt2", "phi"])
    def test_a_row_that_cannot_be_read(self, name: str, token_ids: list[int], message: str) -> None:
        model = random_model(name)
        batch, oracles, expected = rows_of_four(model)
        answer = batch.extend_all(1, token_ids)
        assert isinstance(answer, ModelError)
        assert message in answer.message
        assert_as_before(model, batch, oracles, expected)

    def test_a_model_that_gives_the_last_scores_only(self) -> None:
        model = random_model("phi")
        plain = type(model).forward
        session = TransformersSession(model, name="small")

        def forward(self: Any, logits_to_keep: int, **options: Any) -> Any:
            return plain(self, logits_to_keep=1, **options)

        with patch.object(type(model), "forward", forward), pytest.raises(ModelError, match="scores 1 of 3 positions"):
            TransformersSession(model, name="small").extend_all([5, 6, 7])
        assert_close(session.extend_all([5, 6]), one_by_one(ForgetfulSession(model), [5, 6]))
