"""On a CUDA device: the scores of the CPU, tokens taken back exactly, promises kept, masks where the scores are."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
import torch
from tests.support.models.attention_models import CONTEXT, TOGETHER, batch_for, model_of
from tests.support.models.random_models import ARCHITECTURES, random_model
from tests.support.models.sessions import Forgetful, ForgetfulSession

from sfgen import BannedWords, Dfa, Finished, Index, Sampler, generate, load_model
from sfgen.ban import scan
from sfgen.decoding import batch_of, drive_batch, prepare
from sfgen.decoding.rollback_decision import StrategyName
from sfgen.errors import ModelError
from sfgen.integrations.transformers import BannedWordsLogitsProcessor, GuidedLogitsProcessor
from sfgen.models import recorded_pass, transformers_forward
from sfgen.models.tiny import DIRECTORY
from sfgen.models.transformers_forward import KNOWN_LM_HEADS
from sfgen.models.transformers_model import TransformersModel
from sfgen.models.transformers_session import TransformersSession

ModelDirectory = Callable[..., Path]
DEVICE = "cuda"
# Full attention, windows of 5 tokens, recurrent states, and both in one model.
KINDS = ["gpt2", "llama", "qwen3", "mistral", "gemma2", "gemma3", "phi3", "mamba", "jamba", "falcon-h1"]
STRATEGIES: tuple[StrategyName, ...] = get_args(StrategyName)
PATTERN = r"[a-z]{2,6}( [a-z]{1,4}){3}\."
PROMPTS = ["The captain", "Dear Anna,\n", "Once upon a time"]


@pytest.fixture(scope="module", autouse=True)
def cuda() -> Iterator[None]:
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device here")
    yield
    torch.cuda.empty_cache()


@pytest.fixture(scope="module")
def tiny() -> Any:
    return load_model("tiny", device=DEVICE)


def on_device(model: Any) -> Any:
    return copy.deepcopy(model).to(DEVICE)


def assert_close(scores: Any, expected: Any) -> None:
    assert scores.dtype == np.float32
    np.testing.assert_allclose(scores, expected, rtol=1e-3, atol=1e-3 * float(np.abs(expected).max()))


def words_of(text: str, count: int = 3) -> list[str]:
    return list(dict.fromkeys(re.findall(r"\w+", text)))[:count]


class TestScores:
    @pytest.mark.parametrize("device", ["auto", "cuda", "cuda:0"])
    def test_the_model_is_there(self, model_directory: ModelDirectory, device: str) -> None:
        model = load_model(model_directory("llama"), device=device)
        assert isinstance(model, TransformersModel)
        assert {each.device for each in model.model.parameters()} == {torch.device("cuda", 0)}

    @pytest.mark.parametrize("architecture", KINDS)
    def test_are_those_of_the_cpu(self, model_directory: ModelDirectory, architecture: str) -> None:
        here, there = (
            load_model(model_directory(architecture), device=device, dtype="float32").session()
            for device in ("cpu", DEVICE)
        )
        for token_ids in ([5, 6, 7, 8, 9, 10, 11, 12], [13], [14, 15]):
            assert_close(there.extend(token_ids), here.extend(token_ids))

    @pytest.mark.parametrize("architecture", ARCHITECTURES)
    def test_after_a_rewind_are_those_of_reading_everything_again(self, architecture: str) -> None:
        model = on_device(random_model(architecture))
        cached, oracle, length = TransformersSession(model), ForgetfulSession(model), 0
        generator = np.random.default_rng(3)
        for count, back in [(12, 0), (1, 0), (1, 2), (3, 1), (1, 9), (2, 6), (5, 99), (4, 1), (9, 0), (1, 4), (1, 0)]:
            token_ids = generator.integers(3, 64, count).tolist()
            assert_close(cached.extend(token_ids), oracle.extend(token_ids))
            length = max(0, length + count - back)
            cached.rewind(length)
            oracle.rewind(length)

    @pytest.mark.parametrize("name", TOGETHER)
    def test_of_a_batch_are_those_of_each_text_alone(self, name: str) -> None:
        model = on_device(model_of(name))
        batch, oracles = batch_for(model, 3), [ForgetfulSession(model) for _ in range(3)]
        generator = np.random.default_rng(4)
        for step in range(8):
            rows = {
                row: generator.integers(3, 64, 1 + (step * row) % 4).tolist() for row in range(3) if (step + row) % 5
            }
            for row, scores in batch.extend(rows).items():
                assert_close(scores, oracles[row].extend(rows[row]))
            row = step % 3
            length = len(oracles[row].tokens) * (step % 4) // 4
            batch.rewind(row, length)
            oracles[row].rewind(length)

    @pytest.mark.parametrize("most", [transformers_forward.MOST_SCORES, 64 * 5])
    @pytest.mark.parametrize("architecture", ARCHITECTURES)
    def test_at_every_position(self, architecture: str, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(transformers_forward, "MOST_SCORES", most)
        model = on_device(random_model(architecture))
        session, oracle, length = TransformersSession(model), ForgetfulSession(model), 0
        generator = np.random.default_rng(6)
        for count, back in [(12, 0), (1, 0), (4, 2), (7, 9), (6, 99), (5, 1), (2, 0)]:
            token_ids = generator.integers(3, 64, count).tolist()
            assert_close(session.extend_all(token_ids), np.stack([oracle.extend([token]) for token in token_ids]))
            length = max(0, length + count - back)
            session.rewind(length)
            oracle.rewind(length)

    @pytest.mark.parametrize("name", sorted(KNOWN_LM_HEADS))
    def test_at_the_last_position_are_those_of_extend(self, name: str) -> None:
        model = on_device(model_of(name.replace("_", "-")))
        few, everywhere = TransformersSession(model), TransformersSession(model)
        for token_ids in ([5, 6, 7, 8, 9], [10], [11, 12]):
            np.testing.assert_array_equal(everywhere.extend_all(token_ids)[-1], few.extend(token_ids))
            np.testing.assert_array_equal(everywhere.score_again(None), few.score_again(None), strict=True)

    @pytest.mark.parametrize("name", TOGETHER)
    def test_at_every_position_of_a_row(self, name: str) -> None:
        model = on_device(model_of(name))
        batch, oracles = batch_for(model, 3), [ForgetfulSession(model) for _ in range(3)]
        generator = np.random.default_rng(7)
        for step in range(6):
            rows = {row: generator.integers(3, 64, 1 + (step * row) % 4).tolist() for row in range(3)}
            for row, scores in batch.extend(rows).items():
                assert_close(scores, oracles[row].extend(rows[row]))
            row, token_ids = step % 3, generator.integers(3, 64, 5).tolist()
            expected = np.stack([oracles[row].extend([token]) for token in token_ids])
            assert_close(batch.extend_all(row, token_ids), expected)
            batch.rewind(row, len(oracles[row].tokens) - 3)
            oracles[row].rewind(len(oracles[row].tokens) - 3)

    @pytest.mark.parametrize("name", ["llama", "phi"])
    def test_that_are_many_do_not_fill_the_memory(self, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(transformers_forward, "MOST_SCORES", 1 << 20)
        # Large vocabulary, short text: attention in float32 may hold the square of the text for every head.
        model = on_device(random_model(name, vocab_size=80_000, max_position_embeddings=512))
        TransformersSession(model).extend([5])  # what torch needs once
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        found = TransformersSession(model).extend_all([5] * 500)
        assert found.nbytes == 4 * 500 * 80_000
        assert torch.cuda.max_memory_allocated() - before < found.nbytes / 3

    @pytest.mark.parametrize("name", sorted(KNOWN_LM_HEADS))
    def test_of_few_tokens_are_rows_of_the_whole(self, name: str) -> None:
        model, few = on_device(model_of(name.replace("_", "-"))), np.array([3, 0, 7], dtype=np.int32)
        whole, narrow = TransformersSession(model), TransformersSession(model)
        for token_ids in ([1, 2, 3], [4], [5, 6]):
            found, expected = narrow.extend_rows(token_ids, few), whole.extend(token_ids)
            assert found.shape == few.shape
            assert_close(found, expected[few])
            assert_close(narrow.score_again(None), expected)

    @pytest.mark.parametrize("name", ["gpt2", "llama", "phi3"])
    def test_of_few_tokens_in_a_batch(self, name: str) -> None:
        model, few = on_device(model_of(name)), np.array([3, 0, 7], dtype=np.int32)
        batch, oracles = batch_for(model, 3), [ForgetfulSession(model) for _ in range(3)]
        for rows in ({0: [5], 1: [6, 7], 2: [8, 9, 10]}, {0: [11, 12], 2: [13]}):
            wanted = {0: few, 1: None, 2: few[:2]}
            found = batch.extend_rows(rows, wanted)
            for row, token_ids in rows.items():
                expected, some = oracles[row].extend(token_ids), wanted[row]
                assert_close(found[row], expected if some is None else expected[some])
                assert_close(batch.score_again(row, few), expected[few])


class TestTexts:
    @pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16", "auto"])
    @pytest.mark.parametrize("architecture", ["llama", "mistral", "mamba"])
    def test_match_in_every_type(self, model_directory: ModelDirectory, architecture: str, dtype: str) -> None:
        model = load_model(model_directory(architecture), device=DEVICE, dtype=dtype)
        index = Index(Dfa.from_regex(PATTERN), model.vocabulary)
        for sampler in (Sampler(), Sampler(1.0, 3)):
            assert re.fullmatch(PATTERN, generate(model, "It is", index=index, sampler=sampler, max_tokens=40).text)

    @pytest.mark.parametrize("architecture", KINDS)
    def test_are_those_of_a_model_that_reads_everything_again(
        self, model_directory: ModelDirectory, architecture: str
    ) -> None:
        model = TransformersModel.from_pretrained(model_directory(architecture), device=DEVICE, dtype="float32")
        tasks: list[dict[str, Any]] = [{"index": Index(Dfa.from_regex(PATTERN), model.vocabulary), "max_tokens": 40}]
        words = words_of(generate(model, "It is", max_tokens=12).text)
        if words:  # a random model may write none
            banned = BannedWords(words, match="substring")
            tasks += [{"banned": banned, "strategy": strategy, "max_tokens": 12} for strategy in STRATEGIES]
        for task in tasks:
            found, expected = (generate(each, "It is", **task) for each in (model, Forgetful(model)))
            assert (found.text, found.token_ids) == (expected.text, expected.token_ids)
            assert [event.token_ids for event in found.rollbacks] == [event.token_ids for event in expected.rollbacks]

    @pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
    @pytest.mark.parametrize("strategy", STRATEGIES)
    def test_hold_no_banned_word(self, strategy: StrategyName, dtype: str) -> None:
        model = load_model("tiny", device=DEVICE, dtype=dtype)
        rollbacks = 0
        for seed, prompt in enumerate(PROMPTS):
            sampler = Sampler(float(seed), seed)
            words = words_of(generate(model, prompt, sampler=sampler, max_tokens=24).text.lower(), 4)
            banned = BannedWords(words)
            result = generate(model, prompt, sampler=sampler, banned=banned, strategy=strategy, max_tokens=24)
            assert not scan(result.text, banned, prompt=prompt)
            rollbacks += len(result.rollbacks)
        assert rollbacks or strategy == "mask"

    def test_of_a_batch_keep_every_promise(self, tiny: Any) -> None:
        index = Index(Dfa.from_regex(PATTERN), tiny.vocabulary)
        words = words_of("".join(generate(tiny, prompt, max_tokens=16).text.lower() for prompt in PROMPTS), 9)
        banned = BannedWords(words)
        tasks: Sequence[dict[str, Any]] = [
            {"banned": banned, "strategy": STRATEGIES[0]},
            {"index": index},
            {"banned": banned, "strategy": STRATEGIES[1], "sampler": Sampler(1.0, 5)},
            {"banned": banned, "index": index, "sampler": Sampler(1.0, 6)},
            {"banned": banned, "strategy": STRATEGIES[2]},
        ]
        loops = (prepare(tiny, PROMPTS[0], max_tokens=24, **task) for task in tasks)
        results = {
            number: event.result
            for number, event in drive_batch(loops, batch_of(tiny, 3), 3)
            if isinstance(event, Finished)
        }
        assert sorted(results) == list(range(len(tasks)))
        for number, task in enumerate(tasks):
            text = results[number].text
            assert "index" not in task or re.fullmatch(PATTERN, text)
            assert "banned" not in task or not scan(text, banned, prompt=PROMPTS[0])


@pytest.mark.parametrize("name", ["gpt2", "llama", "qwen3", "gemma"])
def test_passes_that_are_launched_as_a_whole_have_the_same_scores(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts of different lengths, of which one ends and others go back; each pass is recorded anew where it must be."""
    monkeypatch.setattr(recorded_pass, "SLOTS", 16)
    model, made = on_device(model_of(name)), list[int]()
    recorded = recorded_pass.recorded

    def counted(forward: Callable[[], Any]) -> Callable[[], Any]:
        replay = recorded(forward)
        made.append(1)
        return replay

    monkeypatch.setattr(recorded_pass, "recorded", counted)
    batch, oracles = batch_for(model, 4), [ForgetfulSession(model) for _ in range(4)]
    generator = np.random.default_rng(5)
    rows = {row: generator.integers(3, 64, 3 + 2 * row).tolist() for row in range(4)}
    for step in range(60):
        read, table, others = batch.extend_together(rows, {})
        assert not others
        for row, scores in zip(read, table.float().cpu().numpy(), strict=True):
            assert_close(scores, oracles[row].extend(rows[row]))
        if step == 30:
            batch.rewind(3, 0)
        if step in (12, 40):
            batch.rewind(1, len(oracles[1].tokens) - 2)
            oracles[1].rewind(len(oracles[1].tokens) - 2)
        rows = {row: generator.integers(3, 64, 1).tolist() for row in range(4 if step < 30 else 3)}
    assert len(made) > 1


@pytest.mark.parametrize("options", [{"do_sample": False}, {"do_sample": True}, {"num_beams": 3, "do_sample": False}])
def test_processors_put_their_masks_where_the_scores_are(tiny: Any, options: dict[str, Any]) -> None:
    from transformers import AutoTokenizer

    automatic: Any = AutoTokenizer  # untyped
    tokenizer = automatic.from_pretrained(DIRECTORY)
    inputs = tokenizer(PROMPTS, return_tensors="pt", padding=True, padding_side="left").to(DEVICE)
    free = tiny.model.generate(**inputs, max_new_tokens=24, **options)
    start = inputs["input_ids"].shape[1]
    banned = BannedWords(words_of(tokenizer.decode(free[0, start:], skip_special_tokens=True).lower()))
    index = Index(Dfa.from_regex(PATTERN), tiny.vocabulary)
    guided = GuidedLogitsProcessor(index, banned=banned, max_tokens=40)
    clean = BannedWordsLogitsProcessor(banned, tiny.vocabulary, max_tokens=24)
    for processor, limit in ((guided, 40), (clean, 24)):
        ids = tiny.model.generate(**inputs, max_new_tokens=limit, logits_processor=[processor], **options)
        assert ids.device.type == DEVICE
        assert processor._masks is not None
        assert {cap.device.type for cap, _ in processor._masks._kept.values()} == {DEVICE}
        for prompt, row in zip(PROMPTS, ids[:, start:], strict=True):
            text = tokenizer.decode(row, skip_special_tokens=True)
            assert processor is clean or re.fullmatch(PATTERN, text)
            assert not scan(text, banned, prompt=prompt)


class TestWhatCanGoWrong:
    def test_a_token_without_a_row_breaks_nothing(self) -> None:
        """Looked up on the device, it would make everything fail that comes after it in this process."""
        session = TransformersSession(on_device(random_model("gpt2")), CONTEXT)
        with pytest.raises(ModelError, match="no token 64"):
            session.extend([64])
        assert np.isfinite(session.extend([5])).all()

    def test_memory_that_is_not_enough(self) -> None:
        model = on_device(random_model("llama"))
        session = TransformersSession(model)
        expected = session.extend([5, 6])
        session.rewind(1)
        torch.cuda.empty_cache()
        torch.cuda.set_per_process_memory_fraction(1e-4)
        try:
            with pytest.raises(ModelError, match=r"not enough memory on cuda:0 for 1000001 tokens"):
                session.extend([6] * 1_000_000)
        finally:
            torch.cuda.set_per_process_memory_fraction(1.0)
        assert_close(session.extend([6]), expected)  # as if nothing had been asked

    @pytest.mark.parametrize("is_allowed", [True, False])
    def test_plans_for_attention_are_allowed_as_before(self, is_allowed: bool) -> None:
        model, seen = on_device(random_model("llama")), list[bool]()
        kernels: Any = torch.backends.cuda  # untyped
        model.register_forward_pre_hook(lambda *_: seen.append(kernels.cudnn_sdp_enabled()))
        model.base_model.register_forward_pre_hook(lambda *_: seen.append(kernels.cudnn_sdp_enabled()))
        before = kernels.cudnn_sdp_enabled()
        kernels.enable_cudnn_sdp(is_allowed)
        try:
            TransformersSession(model).extend([5, 6])
            batch_for(model, 2).extend({0: [5], 1: [6, 7]})
            assert seen
            assert (any(seen), kernels.cudnn_sdp_enabled()) == (False, is_allowed)
        finally:
            kernels.enable_cudnn_sdp(before)
