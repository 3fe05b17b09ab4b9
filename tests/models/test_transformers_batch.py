"""A batch of a transformers model against reading each text again by itself."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.support.models.attention_models import CONTEXT, TOGETHER, batch_for, model_of
from tests.support.models.random_models import random_model
from tests.support.models.sessions import ForgetfulSession, Round, assert_equals_reading_each_again, rounds_among
from tests.support.running.tried import tried

from sfgen.errors import ModelError, SfgenError
from sfgen.models import transformers_batch
from sfgen.models.transformers_forward import has_rows
from sfgen.models.transformers_session import TransformersSession
from sfgen.protocols import Answer


def assert_close(answer: Answer, expected: Any) -> None:
    assert not isinstance(answer, SfgenError), answer
    assert answer.dtype == np.float32
    np.testing.assert_allclose(answer, expected, rtol=1e-4, atol=1e-4 * float(np.abs(expected).max()))


def assert_equals(model: Any, rows: int, rounds: Sequence[Round], seed: int) -> None:
    assert_equals_reading_each_again(
        batch_for(model, rows),
        rounds,
        lambda text: ForgetfulSession(model).extend(text),
        assert_close,
        rows=rows,
        context=CONTEXT,
        tokens=range(3, 64),
        seed=seed,
    )


@contextmanager
def passes(model: Any) -> Iterator[list[tuple[int, int]]]:
    """The texts and the tokens of each, padding included, in each call of the model, as they come."""
    shapes: list[tuple[int, int]] = []
    read = model.base_model if has_rows(model) else model  # the output layer is called by itself where it may be
    hook = read.register_forward_pre_hook(
        lambda _module, _arguments, options: shapes.append(tuple(options["input_ids"].shape)), with_kwargs=True
    )
    try:
        yield shapes
    finally:
        hook.remove()


class TestScores:
    @pytest.mark.parametrize("name", TOGETHER)
    @tried("handful")
    @given(rounds=rounds_among(4, longest=20), seed=st.integers(0, 99))
    # Prompts of several lengths; all go on; one goes back while others do not; one is over, and one takes its place.
    @example(
        rounds=[
            [(0, 0, 12), (1, 0, 3), (2, 0, 7)],
            [(0, 0, 1), (1, 0, 1), (2, 0, 1)],
            [(0, 4, 2), (1, 0, 1), (2, 1, 3)],
            [(0, 99, 0), (1, 0, 2), (2, 0, 1)],
            [(1, 0, 1), (2, 5, 1)],
            [(0, 0, 9), (1, 0, 1), (2, 0, 1), (3, 0, 20)],
            [(1, 99, 0), (2, 99, 0), (0, 0, 1), (3, 0, 1)],
            [(0, 3, 1), (3, 19, 2)],
        ],
        seed=1,
    )
    # Some have nothing to read for a while, and lie between others that do.
    @example(
        rounds=[[(row, 0, 3) for row in range(4)], [(0, 0, 1), (2, 1, 1)], [(1, 0, 2), (3, 2, 2)], [(3, 0, 1)]], seed=2
    )
    def test_are_those_of_each_text_alone(self, name: str, rounds: list[Round], seed: int) -> None:
        assert_equals(model_of(name), 4, rounds, seed)

    def test_up_to_the_end_of_the_context(self) -> None:
        """Padding has a position, too, and positions end there."""
        rounds: list[Round] = [[(0, 0, CONTEXT - 2), (1, 0, 5)], [(0, 0, 1), (1, 0, 9)], [(0, 0, 1), (1, 0, 3)]]
        for name in ("gpt2", "opt", "llama"):
            assert_equals(model_of(name), 2, rounds, seed=3)

    def test_long_texts_beside_short_ones(self) -> None:
        rounds: list[Round] = [[(0, 0, 100), (1, 0, 2)], *([[(0, 0, 1), (1, 0, 1)]] * 20), [(0, 110, 30), (1, 0, 1)]]
        assert_equals(model_of("llama"), 2, rounds, seed=4)

    @pytest.mark.parametrize("name", ["llama", "gptj"])
    def test_half_precision(self, name: str) -> None:
        import torch

        model = copy.deepcopy(model_of(name)).to(torch.bfloat16)
        prompts = [[5, 6, 7, 8], [9], [10, 11]]
        answers = batch_for(model, 3).extend(dict(enumerate(prompts)))
        for row, prompt in enumerate(prompts):
            expected = TransformersSession(model).extend(prompt)
            answer = answers[row]
            assert not isinstance(answer, SfgenError)
            assert answer.dtype == np.float32
            np.testing.assert_allclose(answer, expected, atol=0.05 * float(np.abs(expected).max()))

    def test_attention_that_adds_its_mask(self) -> None:
        model = copy.deepcopy(model_of("llama"))
        model.set_attn_implementation("eager")
        rounds: list[Round] = [[(0, 0, 5), (1, 0, 2)], [(0, 1, 1), (1, 0, 1)], [(0, 0, 2), (1, 0, 1)]]
        assert_equals(model, 2, rounds, seed=5)

    def test_pad_tokens_in_the_text_are_tokens(self) -> None:
        model = random_model("opt", pad_token_id=2)
        batch, oracles = batch_for(model, 2), [ForgetfulSession(model) for _ in range(2)]
        for question in ({0: [2, 2, 5], 1: [2]}, {0: [2], 1: [2, 6, 2]}):
            answers = batch.extend(question)
            for row, tokens in question.items():
                assert_close(answers[row], oracles[row].extend(tokens))

    def test_two_batches_do_not_see_each_other(self) -> None:
        model = model_of("llama")
        batches = [batch_for(model, 2), batch_for(model, 2)]
        oracles = [[ForgetfulSession(model) for _ in range(2)] for _ in range(2)]
        for step in range(6):
            for number, batch in enumerate(batches):
                question = {row: [3 + step, 7 + row + number, 20][: 1 + (step + row) % 3] for row in range(2)}
                answers = batch.extend(question)
                for row, tokens in question.items():
                    assert_close(answers[row], oracles[number][row].extend(tokens))


class TestPasses:
    def test_all_texts_share_one(self) -> None:
        model = model_of("gpt2")
        batch = batch_for(model, 4)
        with passes(model) as shapes:
            batch.extend({row: [5 + row] * (1 + row) for row in range(4)})
            batch.extend({row: [9] for row in range(4)})
        assert shapes == [(4, 4), (4, 1)]

    def test_texts_that_are_over_or_do_not_ask_take_no_part(self) -> None:
        model = model_of("gpt2")
        batch = batch_for(model, 4)
        batch.extend({row: [5] for row in range(4)})
        batch.rewind(1, 0)
        with passes(model) as shapes:
            batch.extend({row: [9] for row in (3, 2, 0)})
            batch.extend({row: [9] for row in (0, 3)})
            batch.extend({2: [9, 9]})
        assert shapes == [(3, 1), (2, 1), (1, 2)]
        assert sorted(batch._rows) == [0, 2, 3]

    def test_a_long_question_is_not_padded_for(self) -> None:
        model = model_of("gpt2")
        batch = batch_for(model, 4)
        with passes(model) as shapes:
            batch.extend({0: [5] * 60, 1: [6] * 50, 2: [7], 3: [8, 9]})
        assert shapes == [(2, 60), (2, 2)]

    @given(
        counts=st.lists(st.sampled_from([1, 1, 1, 2, 5, 12, 40, 70, 100, 300]), min_size=1, max_size=6),
        one_pass=st.sampled_from([transformers_batch._PASS, transformers_batch._PASS_ON_GPU]),
    )
    def test_rows_are_grouped_as_cheaply_as_can_be(self, counts: list[int], one_pass: int) -> None:
        def cost(groups: Iterable[Sequence[int]]) -> float:
            sizes = [len(group) * max(counts[row] for row in group) for group in groups]
            return sum(one_pass + size for size in sizes)

        def partitions(rows: list[int]) -> Iterator[list[list[int]]]:
            if not rows:
                yield []
                return
            for rest in partitions(rows[1:]):
                yield [[rows[0]], *rest]
                for number, group in enumerate(rest):
                    yield [*rest[:number], [rows[0], *group], *rest[number + 1 :]]

        with patch.object(transformers_batch, "MANY", 400):
            groups = transformers_batch._groups(dict(enumerate(counts)), one_pass)
        assert sorted(row for group in groups for row in group) == list(range(len(counts)))
        possible = [
            each
            for each in partitions(list(range(len(counts))))
            if all(len(group) == 1 or len(group) * max(counts[row] for row in group) <= 400 for group in each)
        ]
        assert cost(groups) == min(map(cost, possible))

    def test_a_pass_has_so_many_tokens_at_most(self) -> None:
        model = model_of("gpt2")
        batch = batch_for(model, 4)
        with passes(model) as shapes, patch.object(transformers_batch, "MANY", 150):
            batch.extend({row: [5 + row] * (60 - row) for row in range(4)})
        assert shapes == [(2, 60), (2, 58)]

    def test_nothing_is_read_again_after_a_rewind(self) -> None:
        model = model_of("llama")
        batch = batch_for(model, 2)
        batch.extend({0: [5] * 40, 1: [6] * 30})
        batch.rewind(0, 20)
        batch.rewind(1, 29)
        with passes(model) as shapes:
            batch.extend({0: [7, 8], 1: [9]})
        assert shapes == [(2, 2)]

    def test_only_the_last_scores_of_each_text_are_made(self) -> None:
        model = model_of("llama")
        made: list[tuple[int, ...]] = []
        hook = model.lm_head.register_forward_hook(lambda _m, _i, output: made.append(tuple(output.shape)))
        try:
            batch_for(model, 3).extend({0: [5] * 30, 1: [6] * 30, 2: [7] * 20})
        finally:
            hook.remove()
        assert made == [(3, 1, 64)]


class TestMemory:
    def test_grows_with_the_longest_text_and_not_with_what_was_tried(self) -> None:
        model = model_of("llama")
        batch = batch_for(model, 3)
        batch.extend({row: [5] * 10 for row in range(3)})
        for _ in range(60):
            for row in range(3):
                batch.rewind(row, 10)
            batch.extend({0: [6] * 12, 1: [7], 2: [8] * 3})
        assert batch._cache is not None
        shapes = {tuple(held.shape) for layer in batch._cache._layers for held in layer.held}
        assert shapes == {(3, 1, 10 + 32, 8)}

    def test_is_given_back_when_all_are_over(self) -> None:
        batch = batch_for(model_of("llama"), 2)
        batch.extend({0: [5], 1: [6]})
        for row in range(2):
            batch.rewind(row, 0)
        assert batch._cache is None

    @pytest.mark.parametrize("row", [0, 2])
    def test_what_is_no_number_stays_with_its_text(self, row: int) -> None:
        """In half precision a text may come to infinity: the next one in its lane does not see it."""
        import torch

        model = model_of("llama")
        batch = batch_for(model, 3)
        batch.extend({each: [5 + each] * 20 for each in range(3)})
        assert batch._cache is not None
        with torch.inference_mode():
            for layer in batch._cache._layers:
                for held in layer.held:
                    held[batch._rows.index(row)] = np.nan
        batch.rewind(row, 0)
        answers = batch.extend({0: [9], 1: [9], 2: [9]})
        assert all(np.isfinite(answer).all() for answer in answers.values() if not isinstance(answer, SfgenError))
        assert_close(answers[row], ForgetfulSession(model).extend([9]))


class TestWhatCanGoWrong:
    def test_a_row_that_cannot_be_read_leaves_the_others_alone(self) -> None:
        model = model_of("gpt2")
        batch, oracles = batch_for(model, 4), [ForgetfulSession(model) for _ in range(4)]
        batch.extend({row: [5] * 20 for row in range(4)})
        answers = batch.extend({0: [7], 1: [64], 2: [7] * (CONTEXT - 19), 3: []})
        for row, message in {
            1: "no token 64: small knows 64",
            2: "than small can read: 129 tokens, its context holds 128",
            3: "nothing to read",
        }.items():
            answer = answers[row]
            assert isinstance(answer, ModelError)
            assert message in answer.message
        assert_close(answers[0], oracles[0].extend([5] * 20 + [7]))
        assert_close(batch.extend({1: [8]})[1], oracles[1].extend([5] * 20 + [8]))  # as if nothing had been asked

    def test_rows_none_of_which_can_be_read(self) -> None:
        answers = batch_for(model_of("gpt2"), 2).extend({0: [64], 1: [-1]})
        assert all(isinstance(answer, ModelError) for answer in answers.values())

    @pytest.mark.parametrize("fails_at", [1, 2])
    @pytest.mark.parametrize(
        ("raised", "message", "hint"),
        [
            ("CUDA out of memory. Tried to allocate 2.00 GiB.\nGPU 0 has", "not enough memory on cpu for 121 tokens in "
             "2 texts", "batch_size"),
            ("\"addmm_impl_cpu_\" not implemented for 'Half'", "small cannot score on cpu in float32", "dtype='"),
        ],
    )  # fmt: skip
    def test_what_torch_raises_is_the_error_of_all(self, raised: str, message: str, hint: str, fails_at: int) -> None:
        model = model_of("gpt2")
        batch, oracles = batch_for(model, 2), [ForgetfulSession(model) for _ in range(2)]
        batch.extend({0: [5] * 40, 1: [6] * 40})
        read, calls = model.transformer.forward, 0

        def forward(*arguments: Any, **options: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls == fails_at:
                raise RuntimeError(raised)
            return read(*arguments, **options)

        with patch.object(model.transformer, "forward", forward), pytest.raises(ModelError) as caught:
            batch.extend({0: [7] * 40, 1: [8]})  # two passes
        assert calls == fails_at
        assert message in caught.value.message
        assert hint in caught.value.hint
        answers = batch.extend({0: [9], 1: [10, 11]})  # as if nothing had been asked
        assert_close(answers[0], oracles[0].extend([5] * 40 + [9]))
        assert_close(answers[1], oracles[1].extend([6] * 40 + [10, 11]))

    def test_a_row_that_was_never_read_has_nothing_to_move(self) -> None:
        model = model_of("gpt2")
        batch, oracle = batch_for(model, 4), ForgetfulSession(model)
        batch.extend({0: [5], 1: [6]})
        with (
            patch.object(model.transformer, "forward", side_effect=RuntimeError("broken")),
            pytest.raises(ModelError, match="broken"),
        ):
            batch.extend({0: [5], 1: [6], 2: [7], 3: [8]})
        batch.rewind(0, 0)
        assert_close(batch.extend({1: [9], 3: [8]})[3], oracle.extend([8]))
