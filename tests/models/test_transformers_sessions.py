"""The session of a transformers model against a loop that reads everything again, for each kind of cache."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.support.models.random_models import ARCHITECTURES, random_model
from tests.support.models.sessions import ForgetfulSession
from tests.support.running.tried import tried

from sfgen.errors import ModelError
from sfgen.models import kv_cache_rewind
from sfgen.models.transformers_forward import has_rows
from sfgen.models.transformers_session import TransformersSession
from sfgen.protocols import Scores

# They give nothing back that could be given to them again, or something that cannot be taken back in part.
READS_ALL_AFTER_A_REWIND = {"openai-gpt", "recurrent-gemma", "rwkv", "minimax"}
RECURRENT = {"mamba", "mamba2", "falcon-mamba", "jamba", "bamba", "falcon-h1", "lfm2", "qwen3-next"}
Steps = list[tuple[int, int]]


def assert_same(scores: Scores, expected: Scores) -> None:
    assert scores.dtype == np.float32
    np.testing.assert_allclose(scores, expected, rtol=1e-3, atol=1e-3 * float(np.abs(expected).max()))
    best, second = np.sort(expected)[::-1][:2]
    assert scores.argmax() == expected.argmax() or best - second < 1e-4


def assert_equals_reading_everything_again(model: Any, steps: Steps, seed: int) -> None:
    """Go through steps of (tokens to read, tokens to take back) with a session and with the oracle."""
    cached, oracle, length = TransformersSession(model), ForgetfulSession(model), 0
    generator = np.random.default_rng(seed)
    for count, back in steps:
        tokens = generator.integers(3, 64, count).tolist()
        assert_same(cached.extend(tokens), oracle.extend(tokens))
        length = max(0, length + count - back)
        cached.rewind(length)
        oracle.rewind(length)


@contextmanager
def reads(model: Any) -> Iterator[list[int]]:
    """The number of tokens in each call of the model, as they come."""
    counts: list[int] = []
    read = model.base_model if has_rows(model) else model  # the output layer is called by itself where it may be
    hook = read.register_forward_pre_hook(
        lambda _module, _arguments, options: counts.append(options["input_ids"].shape[1]), with_kwargs=True
    )
    try:
        yield counts
    finally:
        hook.remove()


@pytest.fixture(scope="module", params=ARCHITECTURES)
def architecture(request: pytest.FixtureRequest) -> str:
    return str(request.param)


class TestEveryKindOfCache:
    @tried("handful")
    @given(
        steps=st.lists(st.tuples(st.integers(1, 9), st.integers(0, 12)), min_size=2, max_size=7),
        seed=st.integers(0, 99),
        margin=st.sampled_from([0, 3, 256]),
    )
    @example(steps=[(12, 0), (1, 0), (1, 2), (3, 1), (1, 9), (2, 6), (5, 99), (4, 1)], seed=1, margin=256)
    @example(steps=[(12, 0), (1, 0), (1, 0), (1, 1), (1, 2), (1, 4), (2, 0)], seed=2, margin=2)
    @example(steps=[(12, 0), (1, 1), (2, 2), (1, 1), (3, 0)], seed=3, margin=256)  # to the same place three times
    def test_equals_reading_everything_again(self, architecture: str, steps: Steps, seed: int, margin: int) -> None:
        model = random_model(architecture)
        with patch.object(kv_cache_rewind, "MARGIN", margin):
            assert_equals_reading_everything_again(model, steps, seed)

    def test_two_sessions_do_not_see_each_other(self, architecture: str) -> None:
        model = random_model(architecture)
        pairs = [(TransformersSession(model), ForgetfulSession(model)) for _ in range(2)]
        generator = np.random.default_rng(5)
        for step in range(8):
            for number, (cached, oracle) in enumerate(pairs):
                tokens = generator.integers(3, 64, 1 + (step + number) % 3).tolist()
                assert_same(cached.extend(tokens), oracle.extend(tokens))
                if step % 4 == 3 - number:
                    cached.rewind(len(oracle.tokens) - 2)
                    oracle.rewind(len(oracle.tokens) - 2)

    def test_what_is_read_again_after_a_rewind(self, architecture: str) -> None:
        model, prompt = random_model(architecture), [3 + number % 60 for number in range(40)]
        session = TransformersSession(model)
        session.extend(prompt)
        for token in (7, 8, 9):
            session.extend([token])
        with reads(model) as counts:
            session.rewind(41)
            session.extend([10, 11])
            session.rewind(40)
            session.extend([12])
        if architecture in READS_ALL_AFTER_A_REWIND:
            assert sum(counts) == 43 + 41
        elif architecture in RECURRENT:
            assert counts == [1, 1, 1, 1]  # the one token between the prompt and the first rewind is read again
        else:
            assert counts == [2, 1]

    def test_a_rewind_to_nothing_forgets_all(self, architecture: str) -> None:
        model = random_model(architecture)
        session = TransformersSession(model)
        first = session.extend([5, 6, 7])
        session.rewind(0)
        session.extend([9, 10])
        session.rewind(0)
        np.testing.assert_array_equal(session.extend([5, 6, 7]), first)

    def test_half_precision_gives_float32_scores(self, architecture: str) -> None:
        import copy

        import torch

        model = copy.deepcopy(random_model(architecture)).to(torch.bfloat16)
        scores = TransformersSession(model).extend([5, 6, 7])
        assert scores.dtype == np.float32
        assert np.isfinite(scores).all()


class TestSlidingWindows:
    @pytest.mark.parametrize("prompt", [3, 12])
    def test_a_margin_is_kept_beyond_the_window(self, prompt: int) -> None:
        model = random_model("mistral")
        with patch.object(kv_cache_rewind, "MARGIN", 4):
            session = TransformersSession(model)
            session.extend([3 + number for number in range(prompt)])
            for token in range(20, 30):
                session.extend([token])
            held = session._past.value.layers[0].keys.shape[-2]
            assert held == 4 + 4  # the window but for the token itself, and the margin
            with reads(model) as counts:
                session.rewind(prompt + 6)  # as far as the margin goes
                session.extend([40])
                session.rewind(prompt + 2)
                session.extend([41])
        assert counts == [1, prompt + 3]

    def test_before_the_window_is_full_nothing_is_read_again(self) -> None:
        model = random_model("mistral", sliding_window=32)
        session = TransformersSession(model)
        with reads(model) as counts:
            for length in (9, 5, 1):
                session.extend([6] * 10)
                session.rewind(length)
        assert counts == [10, 10, 10]


class TestRecurrentStates:
    def test_from_the_first_rewind_on_the_last_states_are_kept(self) -> None:
        model = random_model("mamba")
        session = TransformersSession(model)
        session.extend([5] * 20)
        for token in range(3, 33):
            session.extend([token])
        assert len(session._past._snapshots) == 1
        with reads(model) as counts:
            session.rewind(22)
            session.extend([40])
            assert counts == [1, 1, 1]  # read again from the prompt's end
        for token in range(3, 33):
            session.extend([token])
        assert len(session._past._snapshots) == 1 + kv_cache_rewind.SNAPSHOTS
        with reads(model) as counts:
            session.rewind(48)
            session.extend([41])
            assert counts == [1]
            session.rewind(22)  # before all that is kept but the prompt's
            session.extend([42])
            assert counts == [1, 1, 1, 1]


def longrope(original: int) -> Any:
    return random_model(
        "phi3",
        sliding_window=None,
        original_max_position_embeddings=original,
        rope_parameters={
            "rope_type": "longrope",
            "rope_theta": 10000.0,
            "short_factor": [1.0, 1.1, 1.2, 1.3],
            "long_factor": [2.0, 3.0, 4.0, 5.0],
            "original_max_position_embeddings": original,
        },
    )


def dynamic(architecture: str = "llama") -> Any:
    return random_model(
        architecture,
        max_position_embeddings=8,
        rope_parameters={"rope_type": "dynamic", "rope_theta": 10000.0, "factor": 4.0},
    )


class TestRotaryPositionsThatDependOnTheLength:
    @tried("handful")
    @given(steps=st.lists(st.tuples(st.integers(1, 5), st.integers(0, 6)), min_size=4, max_size=10))
    @example(steps=[(8, 0), (1, 0), (1, 0), (1, 3), (1, 0), (4, 4), (1, 0)])
    def test_longrope_is_exact_across_the_border(self, steps: Steps) -> None:
        model = longrope(10)
        assert_equals_reading_everything_again(model, steps, seed=3)

    @pytest.mark.parametrize("prompt", [4, 12])
    @pytest.mark.parametrize("kind", ["longrope", "dynamic"])
    def test_scores_are_those_of_generate(self, kind: str, prompt: int) -> None:
        import copy

        import torch

        model = longrope(10) if kind == "longrope" else dynamic()
        prompt_ids = [5 + number for number in range(prompt)]
        written = copy.deepcopy(model).generate(
            torch.tensor([prompt_ids]), attention_mask=torch.ones((1, prompt), dtype=torch.long), max_new_tokens=10,
            do_sample=False, eos_token_id=None, output_logits=True, return_dict_in_generate=True, pad_token_id=0,
        )  # fmt: skip
        for _ in range(2):  # the second text does not see how long the first one was
            session = TransformersSession(model)
            scores = [session.extend(prompt_ids)]
            scores += [session.extend([int(token)]) for token in written.sequences[0, prompt:-1]]
            for mine, theirs in zip(scores, written.logits, strict=True):
                assert_same(mine, theirs[0].numpy())

    def test_a_longer_text_leaves_nothing_in_the_model(self) -> None:
        model = dynamic()
        before = TransformersSession(model).extend([5] * 14)
        TransformersSession(model).extend([6] * 40)
        np.testing.assert_array_equal(TransformersSession(model).extend([5] * 14), before)


class TestWhatCanGoWrong:
    def test_a_text_longer_than_the_context(self) -> None:
        session = TransformersSession(random_model("gpt2"), 20, name="small")
        first = session.extend([5] * 20)
        with pytest.raises(ModelError, match="than small can read: 21 tokens, its context holds 20"):
            session.extend([6])
        session.rewind(19)  # as if nothing had been asked
        np.testing.assert_allclose(session.extend([5]), first, rtol=1e-4, atol=1e-4)

    @pytest.mark.parametrize("token", [64, 1000, -1])
    def test_a_token_without_a_row(self, token: int) -> None:
        session = TransformersSession(random_model("gpt2"), name="small")
        with pytest.raises(ModelError, match=f"no token {token}: small knows 64"):
            session.extend([5, token])

    @pytest.mark.parametrize(
        ("error", "message"),
        [
            ("OutOfMemoryError", "CUDA out of memory. Tried to allocate 2.00 GiB.\nGPU 0 has a total"),
            (
                "RuntimeError",
                "[enforce fail at alloc_cpu.cpp:118] DefaultCPUAllocator: can't allocate memory: you tried",
            ),
            ("RuntimeError", "MPS backend out of memory (MPS allocated: 9 GB)"),
            ("RuntimeError", "\"addmm_impl_cpu_\" not implemented for 'Half'"),
        ],
    )
    def test_what_torch_raises_becomes_one_line(self, error: str, message: str) -> None:
        import torch

        model = random_model("gpt2")
        session, oracle = TransformersSession(model, name="small"), ForgetfulSession(model)
        session.extend([5, 6])
        raised = getattr(torch, error, RuntimeError)(message)
        with (
            patch.object(type(model.base_model), "forward", side_effect=raised),
            pytest.raises(
                ModelError, match=r"memory on cpu for 4 tokens|small cannot score on cpu in float32"
            ) as caught,
        ):
            session.extend([7, 8])
        assert ("memory" in message) == ("memory" in caught.value.message)
        assert "\n" not in caught.value.message
        assert caught.value.hint
        assert_same(session.extend([9]), oracle.extend([5, 6, 9]))  # the session is as it was before

    def test_a_configuration_that_turns_the_cache_off(self) -> None:
        model = random_model("llama", use_cache=False)
        session = TransformersSession(model)
        with reads(model) as counts:
            session.extend([5, 6, 7])
            session.extend([8])
        assert counts == [3, 1]

    def test_pad_tokens_in_the_text_are_tokens(self, capfd: pytest.CaptureFixture[str]) -> None:
        model = random_model("opt", pad_token_id=2)
        cached, oracle = TransformersSession(model), ForgetfulSession(model)
        for tokens in ([2, 2, 5], [2], [6, 2]):
            assert_same(cached.extend(tokens), oracle.extend(tokens))
        assert capfd.readouterr() == ("", "")
