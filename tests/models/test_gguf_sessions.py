"""Sessions and batches of a GGUF model in float32 against the transformers model that it was made of."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from tests.support.models.gguf import Pair, pair
from tests.support.models.sessions import ForgetfulSession, Round, assert_equals_reading_each_again, rounds_among
from tests.support.running.installed import needs_package
from tests.support.running.tried import tried

from sfgen.errors import ModelError, SfgenError
from sfgen.models.gguf import context
from sfgen.models.gguf import session as gguf_session
from sfgen.models.gguf.context import Context
from sfgen.models.gguf.library import library
from sfgen.models.gguf.model import GgufModel
from sfgen.models.gguf.session import GgufBatch
from sfgen.models.sessions import SeparateRows
from sfgen.models.transformers_model import TransformersModel
from sfgen.protocols import ScoresEverywhere, ScoresLast, ScoresRows

pytestmark = needs_package("llama_cpp")

KINDS = ["llama-bpe", "llama-spm", "qwen2", "gemma2", "mamba"]
Steps = list[tuple[int, int]]


class GeluFromTable(torch.nn.Module):
    """Gemma's activation as llama.cpp computes it: looked up in a table of float16."""

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.gelu(states.half().float(), approximate="tanh").half().float()


@pytest.fixture(scope="module", params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(scope="module")
def both(kind: str, gguf_pair: Callable[[str], Pair]) -> tuple[GgufModel, Any]:
    """A GGUF model, and the model of transformers."""
    made = gguf_pair(kind)
    theirs = TransformersModel.from_pretrained(made.directory, device="cpu", dtype="float32").model
    if kind == "gemma2":
        for layer in theirs.model.layers:
            layer.mlp.act_fn = GeluFromTable()
    return GgufModel(made.file), theirs


@pytest.fixture(scope="module")
def llama(gguf_pair: Callable[[str], Pair]) -> GgufModel:
    return GgufModel(gguf_pair("llama-bpe").file)


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> tuple[GgufModel, Any]:
    """A model that reads long texts, and that of transformers."""
    made = pair("llama", "llama3", tmp_path_factory.mktemp("long"), max_position_embeddings=4096)
    return GgufModel(made.file), TransformersModel.from_pretrained(made.directory, device="cpu", dtype="float32").model


def tolerance(model: GgufModel) -> float:
    """How far scores may lie apart; rounding to float16 may go either way."""
    return 3e-3 if "gemma2" in model.name else 1e-3


def assert_close(scores: Any, expected: Any, tolerance: float = 1e-3) -> None:
    assert not isinstance(scores, SfgenError), scores
    assert scores.dtype == np.float32
    np.testing.assert_allclose(scores, expected, rtol=0, atol=tolerance)


class TestSessions:
    @tried("handful")
    @given(
        steps=st.lists(st.tuples(st.integers(1, 9), st.sampled_from([0, 0, 1, 2, 5, 9, 99])), min_size=1, max_size=8),
        seed=st.integers(0, 99),
    )
    @example(steps=[(30, 0), (1, 0), (1, 12), (2, 0), (3, 29), (1, 0)], seed=1)
    def test_scores_are_those_of_reading_everything_again(
        self, both: tuple[GgufModel, Any], steps: Steps, seed: int
    ) -> None:
        model, theirs = both
        session, oracle, length = model.session(), ForgetfulSession(theirs), 0
        generator = np.random.default_rng(seed)
        for count, back in steps:
            tokens = generator.integers(3, 64, count).tolist()
            assert_close(session.extend(tokens), oracle.extend(tokens), tolerance(model))
            length = max(0, length + count - back)
            session.rewind(length)
            oracle.rewind(length)

    @tried("handful")
    @given(before=st.integers(0, 9), count=st.integers(1, 20), back=st.integers(0, 5), most=st.sampled_from([1, 3, 99]))
    def test_scores_at_every_position(
        self, both: tuple[GgufModel, Any], before: int, count: int, back: int, most: int
    ) -> None:
        model, theirs = both
        tokens = np.random.default_rng(count).integers(3, 64, before + count).tolist()
        session, oracle = model.session(), ForgetfulSession(theirs)
        if before:
            session.extend([*tokens[:before], *[5] * back])
            oracle.extend(tokens[:before])
            session.rewind(before)
        with patch.object(context, "MOST_SCORES", most * len(model.vocabulary)):
            found = session.extend_all(tokens[before:])
            expected = np.stack([oracle.extend([token]) for token in tokens[before:]])
            assert found.shape == (count, len(model.vocabulary))
            assert_close(found, expected, tolerance(model))
            session.rewind(before)
            positions = 1 + back % count
            found = session.extend_last(tokens[before:], positions)
            assert found.shape == (positions, len(model.vocabulary))
            assert_close(found, expected[-positions:], tolerance(model))
        assert_close(session.extend([7]), oracle.extend([7]), tolerance(model))

    def test_two_do_not_see_each_other(self, both: tuple[GgufModel, Any]) -> None:
        model, theirs = both
        first, second, oracle = model.session(), model.session(), ForgetfulSession(theirs)
        first.extend([5, 6, 7])
        second.extend([9, 9])
        oracle.extend([5, 6, 7])
        assert_close(first.extend([8]), oracle.extend([8]), tolerance(model))

    def test_what_the_protocols_say(self, llama: GgufModel) -> None:
        session = llama.session()
        assert isinstance(session, ScoresEverywhere)
        assert isinstance(session, ScoresLast)
        assert not isinstance(session, ScoresRows)  # llama.cpp has no narrow output layer

    def test_the_scores_are_the_callers_own(self, llama: GgufModel) -> None:
        session = llama.session()
        scores = session.extend([5])
        before = scores.copy()
        session.extend([6])
        assert (scores == before).all()


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """The number of tokens in each call of llama.cpp, as they come."""
    counts: list[int] = []
    read = Context.read

    def counted(self: Context, tokens: Any, *others: Any) -> Any:
        counts.append(len(tokens))
        return read(self, tokens, *others)

    monkeypatch.setattr(Context, "read", counted)
    return iter([counts])


class TestWhatIsReadAgain:
    def test_after_a_rewind(self, both: tuple[GgufModel, Any], kind: str, calls: Iterator[list[int]]) -> None:
        """Nothing but what is new, behind a sliding window too; a recurrent state begins anew."""
        counts, session = next(calls), both[0].session()
        session.extend(list(range(5, 45)))
        session.rewind(10)
        session.extend([5, 6])
        session.rewind(12)  # which is all
        session.extend([7])
        assert counts == ([40, 12, 1] if kind == "mamba" else [40, 2, 1])

    def test_long_texts_are_read_in_parts(self, long: tuple[GgufModel, Any], calls: Iterator[list[int]]) -> None:
        counts, (model, theirs) = next(calls), long
        tokens = np.random.default_rng(1).integers(3, 64, 1100).tolist()
        assert_close(model.session().extend(tokens), ForgetfulSession(theirs).extend(tokens))
        assert counts == [512, 512, 76]


class TestContexts:
    @pytest.mark.parametrize("copies", [True, False])
    def test_grow_with_the_text(self, long: tuple[GgufModel, Any], copies: bool, calls: Iterator[list[int]]) -> None:
        counts, (model, theirs) = next(calls), long
        with patch.object(context, "FIRST_CELLS", 256), patch.object(model._pool, "copies", copies):
            session, oracle = model.session(), ForgetfulSession(theirs)
            generator = np.random.default_rng(2)
            for count in (200, 50, 30, 300, 20):
                tokens = generator.integers(3, 64, count).tolist()
                assert_close(session.extend(tokens), oracle.extend(tokens))
            session.rewind(100)
            oracle.rewind(100)
            assert_close(session.extend([5]), oracle.extend([5]))
        if copies:
            assert counts == [200, 50, 30, 300, 20, 1]
        else:  # a short text is read again in a short context
            assert counts == [200, 50, 280, 512, 68, 20, 101]

    def test_are_used_again(self, llama: GgufModel, monkeypatch: pytest.MonkeyPatch) -> None:
        made: list[int] = []
        make = Context.__init__

        def counted(self: Context, *arguments: Any, **options: Any) -> None:
            made.append(1)
            make(self, *arguments, **options)

        monkeypatch.setattr(Context, "__init__", counted)
        llama._pool._idle.clear()
        expected = [llama.session().extend([5, 6]), llama.session().extend([7])]
        for _ in range(3):
            assert_close(llama.session().extend([5, 6]), expected[0], 1e-5)
            assert_close(llama.session().extend([7]), expected[1], 1e-5)
        assert len(made) == 1
        first, second = llama.session(), llama.session()
        first.extend([5])
        second.extend([5])
        assert len(made) == 2

    def test_no_more_are_kept_than_two(self, llama: GgufModel) -> None:
        sessions = [llama.session() for _ in range(5)]
        for session in sessions:
            session.extend([5])
        del sessions, session
        assert len(llama._pool._idle) == 2

    def test_without_memory(self, llama: GgufModel, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(library(), "llama_init_from_model", lambda *_: None)
        llama._pool._idle.clear()
        with pytest.raises(ModelError, match=r"llama.cpp has no room for 128 tokens: not enough memory"):
            llama.session().extend([5])


class TestBatches:
    @tried("handful")
    @given(rounds=rounds_among(4, longest=20), seed=st.integers(0, 99))
    # Rows end and begin anew beside one that goes on, so that cells of sliding windows are in use again, and goes back.
    @example(
        rounds=[
            [(0, 0, 20), (1, 0, 20), (2, 0, 9)],
            *([[(0, 0, 20), (1, 200, 20), (2, 200, 20)]] * 4),
            [(0, 7, 1), (1, 2, 1)],
            [(0, 20, 1), (3, 0, 20)],
            [(0, 50, 3)],
        ],
        seed=1,
    )
    def test_scores_are_those_of_each_alone(self, both: tuple[GgufModel, Any], rounds: list[Round], seed: int) -> None:
        model, theirs = both
        batch = model.batch(4)
        assert isinstance(batch, GgufBatch)
        assert_equals_reading_each_again(
            batch,
            rounds,
            lambda text: ForgetfulSession(theirs).extend(text),
            lambda answer, expected: assert_close(answer, expected, tolerance(model)),
            rows=4,
            context=128,
            tokens=range(3, 64),
            seed=seed,
        )

    def test_one_call_for_all_rows(self, llama: GgufModel, calls: Iterator[list[int]]) -> None:
        counts, batch = next(calls), llama.batch(3)
        batch.extend({0: [5, 6, 7], 2: [8]})
        batch.extend({0: [5], 1: [6, 7], 2: [8]})
        assert counts == [4, 4]

    def test_only_the_row_that_cannot_be_cut_is_read_again(
        self, gguf_pair: Callable[[str], Pair], calls: Iterator[list[int]]
    ) -> None:
        model = GgufModel(gguf_pair("mamba").file)
        counts, batch = next(calls), model.batch(2)
        batch.extend({0: list(range(5, 15)), 1: list(range(5, 25))})
        batch.rewind(0, 8)
        batch.extend({0: [5], 1: [6]})
        assert counts == [30, 9 + 1]

    def test_grow_with_the_texts(self, long: tuple[GgufModel, Any]) -> None:
        model, theirs = long
        with patch.object(context, "FIRST_CELLS", 256):
            batch, oracles = model.batch(2), [ForgetfulSession(theirs), ForgetfulSession(theirs)]
            generator = np.random.default_rng(3)
            for counts in ((100, 100), (60, 20), (300, 1), (1, 400)):
                questions = {row: generator.integers(3, 64, count).tolist() for row, count in enumerate(counts)}
                answers = batch.extend(questions)
                for row, tokens in questions.items():
                    assert_close(answers[row], oracles[row].extend(tokens))

    def test_every_position_of_one_row(self, both: tuple[GgufModel, Any]) -> None:
        model, theirs = both
        batch, oracle = model.batch(2), ForgetfulSession(theirs)
        batch.extend({0: [9, 9], 1: [5, 6]})
        oracle.extend([5, 6])
        answer = batch.extend_all(1, [7, 8])  # type: ignore[attr-defined]
        assert_close(answer, np.stack([oracle.extend([7]), oracle.extend([8])]), tolerance(model))

    def test_a_row_that_cannot_be_read(self, llama: GgufModel) -> None:
        batch = llama.batch(2)
        batch.extend({0: [5], 1: [5]})
        answers = batch.extend({0: [6] * 200, 1: [6]})
        assert isinstance(answers[0], ModelError)
        expected = llama.session().extend([5, 6])
        assert_close(answers[1], expected, 1e-5)
        assert_close(batch.extend({0: [6]})[0], expected, 1e-5)
        assert isinstance(batch.extend_all(0, [10**6]), ModelError)  # type: ignore[attr-defined]

    def test_which_models_read_rows_one_by_one(self, llama: GgufModel) -> None:
        assert isinstance(llama.batch(1), SeparateRows)
        assert isinstance(llama.batch(300), SeparateRows)  # more sequences than llama.cpp knows
        with patch("sfgen.models.gguf.header.GgufFiles.has_rotations_by_length", True):
            assert isinstance(llama.batch(2), SeparateRows)


class TestWhatCanGoWrong:
    @pytest.mark.parametrize(
        ("tokens", "message"),
        [([], "nothing to read"), ([5] * 129, "129 tokens, its context holds 128"), ([5, 808], "no token 808")],
    )
    def test_what_cannot_be_read(self, llama: GgufModel, tokens: list[int], message: str) -> None:
        session = llama.session()
        with pytest.raises(ModelError, match=message):
            session.extend(tokens)
        with pytest.raises(ModelError, match=message):
            session.extend_all(tokens)
        assert_close(session.extend([5, 6]), llama.session().extend([5, 6]), 1e-5)

    @pytest.mark.parametrize("at", [0, 1])
    def test_an_error_of_llama_cpp_leaves_the_text_as_it_was(
        self, long: tuple[GgufModel, Any], monkeypatch: pytest.MonkeyPatch, at: int
    ) -> None:
        model, theirs = long
        session, oracle = model.session(), ForgetfulSession(theirs)
        session.extend([5, 6, 7])
        oracle.extend([5, 6, 7])
        lib, left = library(), [at]
        decode = lib.llama_decode

        def failing(*arguments: Any) -> Any:
            left[0] -= 1
            return -3 if left[0] < 0 else decode(*arguments)

        with monkeypatch.context() as broken:
            broken.setattr(lib, "llama_decode", failing)
            with pytest.raises(ModelError, match=r"llama.cpp cannot read \d+ tokens: error -3"):
                session.extend([8] * 600)
        assert_close(session.extend([9]), oracle.extend([9]))

    def test_an_interrupt_leaves_the_text_as_it_was(
        self, long: tuple[GgufModel, Any], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        model, theirs = long
        session, oracle = model.session(), ForgetfulSession(theirs)
        session.extend([5, 6, 7])
        oracle.extend([5, 6, 7])
        read = gguf_session._read_pending

        def interrupted(*arguments: Any) -> Any:
            read(*arguments)
            raise KeyboardInterrupt

        with monkeypatch.context() as broken:
            broken.setattr(gguf_session, "_read_pending", interrupted)
            with pytest.raises(KeyboardInterrupt):
                session.extend([8, 8])
        assert_close(session.extend([9]), oracle.extend([9]))

    def test_a_context_of_a_session_in_a_cycle_is_used_again(self, gguf_pair: Callable[[str], Pair]) -> None:
        """It was freed first, and then handed out to the next text."""
        freed: list[Any] = []
        with patch.object(library(), "llama_free", freed.append):
            model = GgufModel(gguf_pair("llama-bpe").file)
            session = model.session()
            scores = session.extend([5, 6])
            owner: dict[str, Any] = {"session": session}
            owner["itself"] = owner
            del session, owner
            gc.collect()
            assert not freed
            np.testing.assert_array_equal(model.session().extend([5, 6]), scores)

    def test_nothing_is_written(self, gguf_pair: Callable[[str], Pair], capfd: pytest.CaptureFixture[str]) -> None:
        model = GgufModel(gguf_pair("gemma2").file)
        model.batch(2).extend({0: [5], 1: [6]})
        del model
        assert capfd.readouterr() == ("", "")


def test_the_threads(gguf_pair: Callable[[str], Pair], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One for a small model, one for each processor for others, or as many as are asked for."""
    file, lib = gguf_pair("llama-bpe").file, library()
    seen: list[tuple[int, int]] = []
    make = lib.llama_init_from_model

    def counted(pointer: Any, options: Any) -> Any:
        seen.append((options.n_threads, options.n_threads_batch))
        return make(pointer, options)

    monkeypatch.setattr(lib, "llama_init_from_model", counted)
    for threads in (None, 3):
        GgufModel(file, threads=threads).session().extend([5])
    monkeypatch.setattr("sfgen.models.cpu_threads._SMALL", 10)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 2, 5, 7}, raising=False)
    GgufModel(file).session().extend([5])
    assert seen == [(1, 1), (3, 3), (4, 4)]
