"""Which transformers models read several texts together, and what they write."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.oracles.banned_text import BannedText
from tests.support.models.attention_models import NO_WINDOW, TOGETHER, batch_for, model_of
from tests.support.models.random_models import ARCHITECTURES, random_model

from sfgen import BannedWords, Dfa, Finished, Index, Sampler, Vocabulary, generate
from sfgen.decoding import choice_device, prepare
from sfgen.decoding.batch import batch_of, drive_batch
from sfgen.errors import SfgenError
from sfgen.models import recorded_pass, transformers_batch
from sfgen.models.sessions import SeparateRows
from sfgen.models.tiny import DIRECTORY
from sfgen.models.transformers_batch import KNOWN, TransformersBatch, reads_rows_at_once
from sfgen.models.transformers_model import TransformersModel
from sfgen.models.transformers_session import TransformersSession


class TestWhichModels:
    def test_those_that_were_tried(self) -> None:
        assert {model_of(name).config.model_type for name in TOGETHER} == KNOWN

    @pytest.mark.parametrize("name", sorted(set(ARCHITECTURES) - (set(TOGETHER) - NO_WINDOW)))
    def test_any_other_is_read_one_by_one(self, name: str) -> None:
        assert not reads_rows_at_once(random_model(name).config)

    @pytest.mark.parametrize(
        "changes",
        [
            {"rope_parameters": {"rope_type": "dynamic", "rope_theta": 10000.0, "factor": 4.0}},
            {"auto_map": {"AutoModelForCausalLM": "modeling_mine.Mine"}},
            {"attn_implementation": "flex_attention"},
        ],
    )
    def test_a_configuration_that_is_not_plain(self, changes: dict[str, Any]) -> None:
        from transformers import LlamaConfig

        assert reads_rows_at_once(LlamaConfig())
        assert not reads_rows_at_once(LlamaConfig(**changes))

    def test_a_configuration_of_their_own(self) -> None:
        from transformers import LlamaConfig

        class Mine(LlamaConfig):  # type: ignore[no-untyped-call]
            pass

        assert not reads_rows_at_once(Mine())

    def test_windows_in_some_layers(self) -> None:
        from transformers import Qwen2Config

        assert not reads_rows_at_once(Qwen2Config(use_sliding_window=True, sliding_window=8, max_window_layers=2))

    def test_the_batch_of_a_model(self, model_directory: Callable[..., Path]) -> None:
        known, unknown = (
            TransformersModel.from_pretrained(model_directory("llama")),
            TransformersModel.from_pretrained(model_directory("mamba")),
        )
        assert isinstance(batch_of(known, 4), TransformersBatch)
        assert isinstance(batch_of(known, 1), SeparateRows)
        assert isinstance(batch_of(unknown, 4), SeparateRows)
        assert "_loaded" not in vars(known._source), "the weights are not loaded before the first question"
        batch_of(known, 2).extend({0: [5], 1: [6]})
        assert "_loaded" in vars(known._source)

    def test_the_embedded_model(self) -> None:
        model = TransformersModel.from_pretrained(DIRECTORY)
        assert isinstance(batch_of(model, 2), TransformersBatch)


LETTERS = "abcdefgh"
PIECES = [*LETTERS, *(one + other for one in LETTERS for other in LETTERS)][:61]
VOCABULARY = Vocabulary([None, None, None, *(piece.encode() for piece in PIECES)], end_token_ids=[2])
WORDS = ["aa", "cafe", "bad", "dab", "head", "ee", "hag", "deaf", "egg"]


class Small:
    """A random model with letters for tokens."""

    vocabulary = VOCABULARY

    def __init__(self, model: Any) -> None:
        self.model = model
        self.rewinds: list[int] = []

    def encode(self, text: str) -> list[int]:
        return [3 + PIECES.index(letter) for letter in text]

    def session(self) -> TransformersSession:
        return TransformersSession(self.model)

    def batch(self, rows: int) -> TransformersBatch:
        batch = batch_for(self.model, rows)
        rewind = batch.rewind

        def watched(row: int, length: int) -> None:
            if length:
                self.rewinds.append(length)
            rewind(row, length)

        batch.rewind = watched  # type: ignore[method-assign]
        return batch


def assert_alike(found: Any, expected: Any, where: Any) -> None:
    """Compare events, with some room for numbers."""
    if isinstance(expected, float):
        assert found == pytest.approx(expected, rel=1e-4, abs=1e-6), where
    elif is_dataclass(expected):
        assert type(found) is type(expected), where
        for field in fields(expected):
            assert_alike(getattr(found, field.name), getattr(expected, field.name), where)
    elif isinstance(expected, list | tuple):
        assert len(found) == len(expected), where
        for one, other in zip(found, expected, strict=True):
            assert_alike(one, other, where)
    else:
        assert found == expected, where


class TestWholeTexts:
    @pytest.mark.parametrize(("name", "rows"), [("gpt2", 8), ("llama", 2), ("phi3", 3), ("gptj", 4)])
    def test_are_those_of_each_alone(self, name: str, rows: int) -> None:
        model = Small(model_of(name))
        banned = BannedWords(WORDS, ["[abc][a-h]{4}[def]"], match="substring")
        index = Index(Dfa.from_regex("(ab|cd|[e-h]{2,3}){6,9}c?"), VOCABULARY)
        generator = np.random.default_rng(7)
        tasks: list[dict[str, Any]] = []
        for number in range(8):
            task: dict[str, Any] = {
                "prompt": generator.integers(3, 64, 1 + 4 * number % 9).tolist(),
                "sampler": Sampler([0.0, 1.0][number % 2], number),
                "max_tokens": 14 + number,
            }
            if number in (0, 1, 2, 3, 4):
                task |= {"banned": banned, "strategy": ["resample", "first-token"][number // 2 % 2]}
            if number in (5, 6):
                task["index"] = index
            tasks.append(task)
        expected = [generate(model, **task) for task in tasks]
        results = {
            number: event.result
            for number, event in drive_batch((prepare(model, **task) for task in tasks), batch_of(model, rows), rows)
            if isinstance(event, Finished)
        }
        assert [results[number].token_ids for number in range(8)] == [each.token_ids for each in expected]
        assert [results[number].forward_passes for number in range(8)] == [each.forward_passes for each in expected]
        assert model.rewinds, "no text went back"
        for number in (0, 1, 2, 3, 4):
            assert not BannedText(WORDS, "substring").is_in(results[number].text.encode())

    @pytest.mark.parametrize("name", ["gpt2", "llama", "gptj"])
    @pytest.mark.parametrize(
        ("strategy", "is_recorded"), [("resample", False), ("first-token", True), ("mask", False), ("resample", True)]
    )
    def test_that_are_chosen_where_the_scores_are(
        self, name: str, strategy: Any, is_recorded: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """As on a GPU: torch chooses among the scores, which do not come to the host. The events are the same.

        Passes that are launched as a whole there have fixed shapes; here they run as they are.
        """
        model = Small(model_of(name))
        banned = BannedWords(WORDS, ["[abc][a-h]{4}[def]"], match="substring")
        index = Index(Dfa.from_regex("(ab|cd|[e-h]{2,3}){6,9}c?"), VOCABULARY)
        more: list[dict[str, Any]] = [
            {"banned": banned, "strategy": strategy},
            {"banned": banned, "strategy": strategy, "observe": True, "index": index},
            {"index": index, "logprobs": True},
            {"word_bias": dict.fromkeys(WORDS, -2)},
            {"banned": banned, "strategy": strategy, "logprobs": True},
            {"stop": ["ab"], "after": "c", "after_tokens": 4},
        ]
        samplers = [
            Sampler(), Sampler(1.0, 1), Sampler(1.5, 2, top_k=5), Sampler(1.0, 3, top_p=0.8),
            Sampler(1.0, 4, min_p=0.1), Sampler(0.9, 5, repetition_penalty=1.3, logit_bias={5: 2.0}),
            Sampler(frequency_penalty=0.5),
        ]  # fmt: skip
        tasks = [{**more[number % 6], "sampler": samplers[number % 7], "max_tokens": 14} for number in range(0, 42, 3)]

        def events() -> list[list[Any]]:
            loops = [prepare(model, [3 + number % 50], **task) for number, task in enumerate(tasks)]
            told: list[list[Any]] = [[] for _ in tasks]
            for number, event in drive_batch(loops, batch_of(model, 8), 8):
                told[number].append(event)
            return told

        on_host = events()
        used = list[int]()
        choose = choice_device.choose_on_device

        def counted(table: Any, rows: Sequence[int], choices: Sequence[Any]) -> list[Any]:
            used.append(len(rows))
            return choose(table, rows, choices)

        monkeypatch.setattr(choice_device, "choose_on_device", counted)
        replayed = list[int]()

        def recorded(forward: Callable[[], Any]) -> Callable[[], Any]:
            def replay() -> Any:
                replayed.append(1)
                return forward()

            return replay

        def not_recorded(forward: Callable[[], Any]) -> Callable[[], Any]:
            raise RuntimeError("operation not permitted when stream is capturing")

        monkeypatch.setattr(recorded_pass, "recorded", recorded if is_recorded else not_recorded)
        monkeypatch.setattr(recorded_pass, "STEADY", 1)
        monkeypatch.setattr(recorded_pass, "SLOTS", 8)
        monkeypatch.setattr(transformers_batch, "stays_there", lambda device: True)
        there = events()
        assert (sum(replayed) > 10) == (is_recorded and name != "gptj")  # of that one the output layer is not known
        assert max(used) > 4
        assert 1 in used or strategy == "mask"
        for task, expected, found in zip(tasks, on_host, there, strict=True):
            assert_alike(found, expected, task)

    def test_the_embedded_model_writes_the_same(self) -> None:
        model = TransformersModel.from_pretrained(DIRECTORY)
        prompts = ["The captain", "1. ", "Dear Anna,\n", '{"name": "', "Once upon a time", "Q: Who"]
        expected = [generate(model, prompt, max_tokens=24).token_ids for prompt in prompts]
        loops = [prepare(model, prompt, max_tokens=24) for prompt in prompts]
        written: Mapping[int, tuple[int, ...]] = {
            number: event.result.token_ids
            for number, event in drive_batch(loops, batch_of(model, len(loops)))
            if isinstance(event, Finished)
        }
        assert [written[number] for number in range(len(prompts))] == expected


class TestSharedBeginnings:
    """Prompts that begin alike: what a row has read of the text before is not read again."""

    EXAMPLES = tuple(range(3, 3 + 40))

    @pytest.mark.parametrize(("name", "rows"), [("gpt2", 2), ("llama", 3), ("phi3", 2)])
    def test_texts_are_those_of_each_alone_and_less_is_read(self, name: str, rows: int) -> None:
        model = Small(model_of(name))
        banned = BannedWords(WORDS, match="substring")
        generator = np.random.default_rng(11)
        tasks: list[dict[str, Any]] = [
            {
                "prompt": [
                    *self.EXAMPLES[: [40, 40, 25, 40][number % 4]],
                    *generator.integers(3, 64, number % 5).tolist(),
                ],
                "sampler": Sampler([0.0, 1.0][number % 2], number),
                "max_tokens": 10 + number,
                "banned": [None, banned][number // 2 % 2],
            }
            for number in range(10)
        ]
        expected = [generate(model, **task) for task in tasks]
        batch, read = model.batch(rows), list[int]()
        extend_together = batch.extend_together

        def counted(rows: Mapping[int, Sequence[int]], wanted: Mapping[int, Any]) -> tuple[Any, Any, Any]:
            read.extend(map(len, rows.values()))
            return extend_together(rows, wanted)

        batch.extend_together = counted  # type: ignore[method-assign]
        results = {
            number: event.result
            for number, event in drive_batch((prepare(model, **task) for task in tasks), batch, rows)
            if isinstance(event, Finished)
        }
        assert [results[number].token_ids for number in range(10)] == [each.token_ids for each in expected]
        assert [results[number].forward_passes for number in range(10)] == [each.forward_passes for each in expected]
        written = sum(each.forward_passes for each in expected) - len(tasks)
        prompts = sum(len(task["prompt"]) for task in tasks)
        assert 0 < sum(read) <= prompts + written - 25 * (len(tasks) - rows)

    def test_a_row_that_has_failed_shares_nothing(self) -> None:
        model = Small(model_of("llama"))
        prompts = [[*self.EXAMPLES, 5], [*self.EXAMPLES, 10**6], [*self.EXAMPLES, 7], [*self.EXAMPLES, 9]]
        loops = [prepare(model, [3], max_tokens=4) for _ in prompts]
        for loop, prompt in zip(loops, prompts, strict=True):
            loop.text.prompt_ids = prompt
        told = list(drive_batch(loops, model.batch(2), 2))
        failed = [number for number, step in told if isinstance(step, SfgenError)]
        results = {number: step.result.token_ids for number, step in told if isinstance(step, Finished)}
        assert failed == [1]
        assert results == {
            number: generate(model, prompts[number], max_tokens=4).token_ids for number in range(4) if number != 1
        }
