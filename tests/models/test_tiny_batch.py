"""The batch of the embedded model against reading each text again from its beginning, by itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.oracles.banned_text import BannedText
from tests.support.models.sessions import Float64Tiny, Round, assert_equals_reading_each_again, rounds_among
from tests.support.running.tried import tried

from sfgen import BannedWords, Dfa, Finished, Index, Result, Sampler, generate
from sfgen.decoding import prepare
from sfgen.decoding.batch import batch_of, drive_batch
from sfgen.errors import ModelError, SfgenError, UsageError
from sfgen.models.sessions import SeparateRows
from sfgen.models.tiny import batch as batch_module
from sfgen.models.tiny import network
from sfgen.models.tiny.batch import TinyBatch
from sfgen.models.tiny.kv_cache import KvCache
from sfgen.models.tiny.model import TinyModel
from sfgen.models.tiny.network import Floats, Layer, Network
from sfgen.protocols import Answer, BatchScoresEverywhere, BatchScoresLast, HasBatch

CONTEXT = 90
TOKENS = 40
HEADS = [(4, 4), (4, 2), (4, 1)]
"""Heads, and those of keys and values: one for each query, for two, for all."""


def made(heads: int, kv_heads: int, *, seed: int = 0) -> Network:
    """A small network with random weights."""
    generator = np.random.default_rng(seed)
    size, head_size, inner = 12, 6, 10

    def weights(*shape: int) -> Floats:
        return generator.normal(0, 0.5, shape).astype(np.float32)

    layers = tuple(
        Layer(
            attention_norm=weights(size),
            qkv=weights(size, (heads + 2 * kv_heads) * head_size),
            output=weights(heads * head_size, size),
            feed_forward_norm=weights(size),
            gate_up=weights(size, 2 * inner),
            down=weights(inner, size),
        )
        for _ in range(2)
    )
    frequencies = np.array([1, 0.3, 0.02], dtype=np.float32)
    return Network(
        heads, kv_heads, head_size, np.float32(1e-6), frequencies, weights(TOKENS, size), layers, weights(size)
    )


def batch_for(weights: Network, rows: int) -> TinyBatch:
    return TinyBatch(lambda: weights, rows, CONTEXT, name="small")


def read_again(weights: Network, token_ids: Sequence[int]) -> Floats:
    """The scores after each token, with nothing kept from before."""
    cache = KvCache(len(weights.layers), weights.kv_heads, weights.head_size)
    return network.scores(weights, network.read(weights, cache, token_ids))


def assert_close(found: Answer, wanted: Floats, atol: float = 1e-4) -> None:
    assert isinstance(found, np.ndarray), found
    assert found.dtype == np.float32
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=0, atol=atol)


def drawn(seed: int, count: int, known: int = TOKENS) -> list[int]:
    tokens: list[int] = np.random.default_rng(seed).integers(0, known, count).tolist()
    return tokens


def assert_equals(weights: Network, rows: int, rounds: Sequence[Round], seed: int) -> None:
    assert_equals_reading_each_again(
        batch_for(weights, rows),
        rounds,
        lambda text: read_again(weights, text)[-1],
        assert_close,
        rows=rows,
        context=CONTEXT,
        tokens=range(TOKENS),
        seed=seed,
    )


class TestScores:
    @pytest.mark.parametrize("heads", HEADS)
    @given(
        rounds=rounds_among(5, longest=30),
        seed=st.integers(0, 99),
        at_a_time=st.sampled_from([batch_module.AT_A_TIME, 7, 1]),
    )
    # Prompts of several lengths; all go on; one goes back while others do not; one is over, and one takes its place.
    @example(
        rounds=[
            [(0, 0, 12), (1, 0, 3), (2, 0, 7)],
            [(0, 0, 1), (1, 0, 1), (2, 0, 1)],
            [(0, 4, 2), (1, 0, 1), (2, 1, 3)],
            [(0, 99, 0), (1, 0, 2), (2, 0, 1)],
            [(1, 0, 1), (2, 5, 1)],
            [(0, 0, 9), (1, 0, 1), (2, 0, 1), (4, 0, 30)],
            [(1, 99, 0), (2, 99, 0), (0, 0, 1), (4, 0, 1)],
            [(0, 3, 1), (4, 19, 2)],
        ],
        seed=1,
        at_a_time=batch_module.AT_A_TIME,
    )
    # One is much longer than the others, between them.
    @example(
        rounds=[[(0, 0, 2), (1, 0, 80), (2, 0, 3), (3, 0, 1)], *([[(row, 0, 1) for row in range(4)]] * 3)],
        seed=2,
        at_a_time=batch_module.AT_A_TIME,
    )
    # All are over, and begin again.
    @example(rounds=[[(0, 0, 3), (1, 0, 5)], [(0, 9, 0), (1, 9, 0)], [(1, 0, 2), (0, 0, 1)]], seed=3, at_a_time=7)
    def test_are_those_of_each_text_alone(
        self, heads: tuple[int, int], rounds: list[Round], seed: int, at_a_time: int
    ) -> None:
        with patch.object(batch_module, "AT_A_TIME", at_a_time):
            assert_equals(made(*heads), 5, rounds, seed)

    @tried("few")
    @given(lengths=st.lists(st.integers(1, 60), min_size=1, max_size=20), seed=st.integers(0, 99))
    def test_as_many_rows_as_there_are(self, lengths: list[int], seed: int) -> None:
        """Also a single one."""
        rounds: list[Round] = [[(row, 0, count) for row, count in enumerate(lengths)]]
        rounds += [[(row, step % 3 * (row % 4), 1 + row % step) for row in range(len(lengths))] for step in (1, 2, 3)]
        assert_equals(made(4, 2), len(lengths), rounds, seed)

    @tried("few")
    @given(
        counts=st.lists(st.integers(1, 30), min_size=1, max_size=4),
        beside=st.integers(1, 20),
        at_a_time=st.sampled_from([batch_module.AT_A_TIME, 5]),
    )
    def test_after_every_token(self, counts: list[int], beside: int, at_a_time: int) -> None:
        weights = made(4, 2)
        batch, text = batch_for(weights, 3), list[int]()
        with patch.object(batch_module, "AT_A_TIME", at_a_time):
            batch.extend({0: drawn(1, beside), 2: drawn(2, beside)})
            for number, count in enumerate(counts):
                if len(text) + count <= CONTEXT:
                    tokens = drawn(number, count)
                    text += tokens
                    positions = 1 + beside % count
                    found = batch.extend_last(1, tokens, positions) if beside % 2 else batch.extend_all(1, tokens)
                    assert_close(found, read_again(weights, text)[-(positions if beside % 2 else count) :])
            assert_close(batch.extend({0: [5], 2: [6]})[2], read_again(weights, [*drawn(2, beside), 6])[-1])

    def test_up_to_the_end_of_the_context(self) -> None:
        rounds: list[Round] = [[(0, 0, CONTEXT - 2), (1, 0, 5)], [(0, 0, 1), (1, 0, 9)], [(0, 0, 1), (1, 0, 3)]]
        assert_equals(made(4, 4), 2, rounds, seed=3)

    def test_a_way_back_to_beyond_the_end_forgets_nothing(self) -> None:
        weights = made(4, 2)
        batch = batch_for(weights, 2)
        batch.rewind(0, 5)
        batch.extend({0: [5, 6], 1: [7]})
        batch.rewind(0, 9)
        answers = batch.extend({0: [8], 1: [9]})
        assert_close(answers[0], read_again(weights, [5, 6, 8])[-1])
        assert_close(answers[1], read_again(weights, [7, 9])[-1])

    def test_of_the_embedded_model(self) -> None:
        """They differ by rounding alone: as far as the guide says."""
        model = TinyModel()
        batch, sessions = model.batch(16), [model.session() for _ in range(16)]
        for step in range(6):
            asked = {
                row: drawn(100 * step + row, 1 + (row + step) % 5 + 20 * (step == row % 6), 2048) for row in range(16)
            }
            answers = batch.extend(asked)
            for row, tokens in asked.items():
                wanted = sessions[row].extend(tokens)
                assert_close(answers[row], wanted, 1e-5 * float(np.abs(wanted).max()))

    def test_what_was_scored_is_given_away(self) -> None:
        """Who changes the scores of a row changes nobody else's."""
        weights = made(4, 4)
        batch = batch_for(weights, 2)
        answers = batch.extend({0: [5], 1: [6]})
        first, second = answers[0], answers[1]
        assert isinstance(first, np.ndarray)
        first[:] = 0
        assert_close(second, read_again(weights, [6])[-1])
        assert_close(batch.extend({0: [7]})[0], read_again(weights, [5, 7])[-1])


class TestWhatCanGoWrong:
    @pytest.mark.parametrize(
        ("token_ids", "message"),
        [
            ([5, TOKENS], f"no token {TOKENS}: small knows {TOKENS}"),
            ([-1], "no token -1"),
            ([5] * (CONTEXT - 3), f"longer than small can read: {CONTEXT + 1} tokens, its context holds {CONTEXT}"),
            ([], "small has nothing to read"),
        ],
    )
    def test_a_row_that_cannot_be_read_leaves_the_others_alone(self, token_ids: list[int], message: str) -> None:
        weights = made(4, 2)
        batch = batch_for(weights, 3)
        batch.extend({0: [5, 6, 7, 8], 1: [9]})
        answers = batch.extend({0: token_ids, 1: [9], 2: [3]})
        assert isinstance(answers[0], ModelError)
        assert message in answers[0].message
        assert_close(answers[1], read_again(weights, [9, 9])[-1])
        assert isinstance(batch.extend_all(0, token_ids), ModelError)
        assert_close(batch.extend({0: [9]})[0], read_again(weights, [5, 6, 7, 8, 9])[-1])

    @pytest.mark.parametrize(
        ("error", "raised"), [(MemoryError(), ModelError), (KeyboardInterrupt(), KeyboardInterrupt)]
    )
    @pytest.mark.parametrize("at", [1, 2])
    def test_what_is_raised_leaves_all_as_they_were(
        self, at: int, error: BaseException, raised: type[BaseException]
    ) -> None:
        weights = made(4, 2)
        batch = batch_for(weights, 2)
        batch.extend({0: [5, 6], 1: [7]})
        with patch.object(batch_module, "AT_A_TIME", 3), failing(at, error), pytest.raises(raised) as caught:
            batch.extend({0: [1, 2], 1: [3, 4]})
        if isinstance(caught.value, ModelError):
            assert caught.value.message == "not enough memory for 7 tokens in 2 texts"
            assert caught.value.hint
        answers = batch.extend({0: [8], 1: [9]})
        assert_close(answers[0], read_again(weights, [5, 6, 8])[-1])
        assert_close(answers[1], read_again(weights, [7, 9])[-1])

    @pytest.mark.parametrize("rows", [0, -1, True, "2"])
    def test_the_number_of_rows(self, rows: Any) -> None:
        with pytest.raises(UsageError, match="rows"):
            TinyModel().batch(rows)


@contextmanager
def failing(at: int, error: BaseException) -> Iterator[None]:
    """The forward pass of that number raises when it is over."""
    plain, calls = network.forward, 0

    def fails(*given: Any) -> Floats:
        nonlocal calls
        calls += 1
        states = plain(*given)
        if calls == at:
            raise error
        return states

    with patch.object(batch_module, "forward", fails):
        yield
    assert calls == at


WORDS = ["the", "is", "in"]


Alone: TypeAlias = tuple[Float64Tiny, list[dict[str, Any]], list[Result]]
"""A model, what it is asked for, and what it writes text by text."""


@pytest.fixture(scope="module")
def alone() -> Alone:
    model = Float64Tiny()
    banned = BannedWords(WORDS, match="substring")
    index = Index(Dfa.from_regex(r"[A-Z][a-z]{2,9} is [1-9][0-9] years old\."), model.vocabulary)
    options: list[dict[str, Any]] = [{"index": index}, {"banned": banned}, {}]
    tasks: list[dict[str, Any]] = [
        {
            "prompt": f"A sentence about a person. Number {number}: ",
            "sampler": Sampler([1.0, 0.0, 0.7][number % 3], None if number % 3 == 1 else number),
            "max_tokens": 12 + number % 7,
            **options[number // 3 % 3],
        }
        for number in range(27)
    ]
    return model, tasks, [generate(model, **task) for task in tasks]


class TestTexts:
    """In a batch, with places that are taken by the next text, against each alone."""

    @pytest.mark.parametrize("rows", [2, 5, 16])
    def test_are_those_of_each_alone(self, rows: int, alone: Alone) -> None:
        model, tasks, expected = alone
        loops = (prepare(model, **task) for task in tasks)
        results = {
            number: event.result
            for number, event in drive_batch(loops, batch_of(model, rows), rows)
            if isinstance(event, Finished)
        }
        assert [results[number].token_ids for number in range(27)] == [each.token_ids for each in expected]
        assert [results[number].forward_passes for number in range(27)] == [each.forward_passes for each in expected]
        assert any(results[number].rollbacks for number in range(27)), "no text went back"
        for number in range(27):
            if "banned" in tasks[number]:
                assert not BannedText(WORDS, "substring").is_in(results[number].text.encode())

    def test_a_beginning_that_prompts_share_is_read_once_in_a_row(self) -> None:
        model = TinyModel()
        loops = [prepare(model, f"A sentence about a person. Number {number}: ", max_tokens=3) for number in range(12)]
        whole = sum(len(loop.text.prompt_ids) for loop in loops)
        batch, read = model.batch(2), 0
        plain = batch.extend

        def counted(rows: Mapping[int, Sequence[int]]) -> Mapping[int, Answer]:
            nonlocal read
            read += sum(map(len, rows.values()))
            return plain(rows)

        with patch.object(batch, "extend", counted):
            told = list(drive_batch(loops, batch, 2))
        assert not [step for _, step in told if isinstance(step, SfgenError)]
        assert sum(isinstance(step, Finished) for _, step in told) == 12
        shared = len(model.encode("A sentence about a person."))
        assert read <= whole + 12 * 2 - 10 * shared


class TestWhichBatch:
    def test_a_single_row_is_read_as_a_session(self) -> None:
        """To the last bit: what is generated one by one depends on nothing else."""
        model = TinyModel()
        batch, session = model.batch(1), model.session()
        assert isinstance(batch, SeparateRows)
        for tokens in ([5, 6, 7], [8], [9] * 20):
            np.testing.assert_array_equal(batch.extend({0: tokens})[0], session.extend(tokens))

    def test_is_what_the_protocols_say(self) -> None:
        model = TinyModel()
        assert isinstance(model, HasBatch)
        assert isinstance(batch_of(model, 2), TinyBatch)
        assert isinstance(model.batch(2), BatchScoresEverywhere)
        assert isinstance(model.batch(2), BatchScoresLast)
