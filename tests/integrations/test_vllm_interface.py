"""The processor for vLLM, driven through vLLM's own interface classes as its two model runners do it.

Needs vLLM: ``make vllm``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import TestCase

import numpy as np
import pytest
from tests.support.models.generated import END, OTHER_END, json_vocabulary
from tests.support.schemas.named import INTEGER, STRING, a_list, an_object

pytest.importorskip("vllm", reason="vLLM is not installed in this environment; make vllm makes one for it")

import torch
from vllm import SamplingParams
from vllm.v1.sample.logits_processor import (
    BatchUpdate,
    LogitsProcessor,
    LogitsProcessors,
    MoveDirectionality,
)
from vllm.v1.worker.gpu.sample.logits_processor import LogitsContext, LogitsProcRequestState
from vllm.v1.worker.gpu.sample.logits_processor import LogitsProcessor as SlotLogitsProcessor

from sfgen import Vocabulary
from sfgen.errors import VocabularyError
from sfgen.index.mask_ids import bits_of_row
from sfgen.integrations import vllm
from sfgen.integrations.request import ConstraintRequest, RequestTexts
from sfgen.integrations.vllm import ConstraintLogitsProcessor

VOCABULARY = json_vocabulary()
SIZE = len(VOCABULARY)
ENDS = [END, OTHER_END]
ANEW = RequestTexts(VOCABULARY)
CONTEXT = 90
ASKED: list[dict[str, Any] | None] = [
    {"regex": r"[0-3]{2,4}(ab|é)*"},
    {"choices": ["name", "names", "é 聊"]},
    {"schema": an_object({"a": INTEGER, "b": {**STRING, "maxLength": 5}})},
    {"schema": a_list({"enum": ["na", "name", 10]}, uniqueItems=True, minItems=2)},
    {"schema": {"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [INTEGER, a_list({"$ref": "#/$defs/a"})]}}}},
    {"grammar": 'root ::= "[" (root ",")* [a-c]{2,5} "]"'},
    {"ban": ["name", "ab"]},
    {"regex": "[a-z]{3,7}", "ban": ["name", "ab"]},
    {"schema": an_object({"a": INTEGER, "b": {"type": "boolean"}}), "ban": ["true", "1", "a 2"]},
    {"grammar": 'root ::= "[" (root ",")* [a-c]{2,5} "]"', "ban": ["ab", "abc", "b*"]},
    None,
]


def config(**more: Any) -> Any:
    model = {"max_model_len": CONTEXT, "get_vocab_size": lambda: SIZE, "logits_processors": None, **more}
    return SimpleNamespace(model_config=SimpleNamespace(**model))


@pytest.fixture
def vocabulary(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vllm, "_vocabulary", lambda _: VOCABULARY)


@dataclass
class Asking:
    """A request, as the harness knows it."""

    asked: dict[str, Any] | None
    max_tokens: int
    prompt: list[int]
    written: list[int] = field(default_factory=list)

    @property
    def params(self) -> SamplingParams:
        return SamplingParams(max_tokens=self.max_tokens, extra_args=self.asked)

    @property
    def is_finished(self) -> bool:
        return len(self.written) == self.max_tokens or (bool(self.written) and self.written[-1] in ENDS)

    def allowed(self, tokens: list[int]) -> list[int]:
        """What may follow some tokens, by a text that is begun anew; all tokens where nothing is asked for."""
        request = ConstraintRequest.read(self.asked)
        if request is None:
            return list(range(SIZE))
        limit = min(self.max_tokens, CONTEXT - len(self.prompt))
        mask = ANEW.begin(request, self.prompt, limit).mask(tokens)
        return list(range(SIZE)) if mask is None else np.flatnonzero(bits_of_row(mask)[:SIZE]).tolist()

    def check(self, before: torch.Tensor, after: torch.Tensor, tokens: list[int]) -> list[int]:
        """The scores behind some tokens: those of allowed tokens are untouched, the others are minus infinity."""
        allowed = self.allowed(tokens)
        assert torch.isfinite(after).nonzero()[:, 0].tolist() == allowed
        assert torch.equal(after[allowed], before[allowed])
        return allowed


def some_request(random: np.random.Generator) -> Asking:
    prompt = random.integers(4, SIZE, size=random.integers(1, 9)).tolist()
    return Asking(ASKED[random.integers(len(ASKED))], int(random.integers(12, 30)), prompt)


# ---- the first model runner ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.usefixtures("vocabulary")
def test_the_first_runner(seed: int) -> None:
    """Requests enter the batch, leave it, are moved within it and exchange places, and come back after a break."""
    random = np.random.default_rng(seed)
    processors = LogitsProcessors([ConstraintLogitsProcessor(config(), torch.device("cpu"), False)])
    (processor,) = processors.non_argmax_invariant
    batch: list[Asking] = []
    waiting: list[Asking] = []
    finished = 0
    for _ in range(120):
        holes = [row for row, each in enumerate(batch) if each.is_finished or random.random() < 0.02]
        waiting += [batch[row] for row in holes if not batch[row].is_finished]
        finished += sum(batch[row].is_finished for row in holes)
        removed, added, moved = [], [], []
        while holes or len(batch) < 4:
            if random.random() < 0.3 and batch:
                break
            each = waiting.pop() if waiting else some_request(random)
            row = holes.pop(0) if holes else len(batch)
            batch[row:] = [each, *batch[row + 1 :]]
            added.append((row, each.params, each.prompt, each.written))
        for row in sorted(holes, reverse=True):
            removed.append(row)
            last = batch.pop()
            if row < len(batch):
                moved.append((len(batch), row, MoveDirectionality.UNIDIRECTIONAL))
                batch[row] = last
        if len(batch) > 1 and random.random() < 0.3:
            one, other = random.choice(len(batch), size=2, replace=False).tolist()
            moved.append((one, other, MoveDirectionality.SWAP))
            batch[one], batch[other] = batch[other], batch[one]
        changed = removed or added or moved
        processor.update_state(BatchUpdate(len(batch), removed, added, moved) if changed else None)
        scores = torch.from_numpy(random.normal(size=(len(batch), SIZE))).float()
        masked = processor.apply(scores.clone())
        for each, before, after in zip(batch, scores, masked, strict=True):
            each.written.append(int(random.choice(each.check(before, after, each.written))))
    assert finished > 10


def test_it_is_a_processor_of_both_kinds_that_is_found_by_its_entry_point() -> None:
    from importlib.metadata import entry_points

    assert issubclass(ConstraintLogitsProcessor, LogitsProcessor)
    assert issubclass(ConstraintLogitsProcessor, SlotLogitsProcessor)
    (found,) = [each for each in entry_points(group="vllm.logits_processors") if each.name == "sfgen"]
    assert found.load() is ConstraintLogitsProcessor


@pytest.mark.usefixtures("vocabulary")
def test_of_two_for_one_configuration_one_works() -> None:
    """vLLM makes two where it finds the class and is told of it as well."""
    shared, params = config(), SamplingParams(extra_args={"regex": "a"})
    first, second = (ConstraintLogitsProcessor(shared, torch.device("cpu"), False) for _ in range(2))
    other = ConstraintLogitsProcessor(config(), torch.device("cpu"), False)
    assert [each.new_req_logits_processor(params) is None for each in (first, second, other)] == [False, True, False]


@pytest.mark.usefixtures("vocabulary")
def test_a_prompt_of_embeddings_counts_as_empty() -> None:
    processor = ConstraintLogitsProcessor(config(), torch.device("cpu"), False)
    params = SamplingParams(extra_args={"regex": "[0-9]", "ban": ["talk"]})
    processor.update_state(BatchUpdate(1, [], [(0, params, None, [])], []))
    scores = processor.apply(torch.zeros(1, SIZE))
    digits = [token for token, data in enumerate(VOCABULARY.tokens) if data and data.isdigit() and len(data) == 1]
    assert torch.isfinite(scores[0]).nonzero()[:, 0].tolist() == digits


@pytest.mark.usefixtures("vocabulary")
def test_what_other_options_leave_nothing_of_ends() -> None:
    processor = ConstraintLogitsProcessor(config(), torch.device("cpu"), False)
    processor.update_state(BatchUpdate(1, [], [(0, SamplingParams(extra_args={"regex": "ab"}), [5], [])], []))
    scores = torch.full((1, SIZE), -torch.inf)
    scores[0, 70] = 1.0
    assert torch.isfinite(processor.apply(scores)[0]).nonzero()[:, 0].tolist() == ENDS


@pytest.mark.usefixtures("vocabulary")
def test_tokens_that_are_not_handed_out_end_the_text() -> None:
    """The first runner schedules ahead, and is not told that somebody needs the tokens."""
    processor, written = ConstraintLogitsProcessor(config(), torch.device("cpu"), False), list[int]()
    params = SamplingParams(extra_args={"regex": "[0-9]+"}, stop_token_ids=[END])
    processor.update_state(BatchUpdate(1, [], [(0, params, [5], written)], []))
    assert len(torch.isfinite(processor.apply(torch.zeros(1, SIZE))[0]).nonzero()) > 2
    written.append(-1)
    with TestCase().assertLogs("sfgen") as told:
        assert torch.isfinite(processor.apply(torch.zeros(1, SIZE))[0]).nonzero()[:, 0].tolist() == [END]
    assert "name this class in logits_processors" in told.output[0]


def test_a_tokenizer_that_cannot_be_read_ends_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_: Any) -> Vocabulary:
        raise VocabularyError("its bytes cannot be told")

    monkeypatch.setattr(vllm, "_vocabulary", fails)
    processor = ConstraintLogitsProcessor(config(), torch.device("cpu"), False)
    params = SamplingParams(extra_args={"regex": "[0-9]+"}, stop_token_ids=[END])
    processor.update_state(BatchUpdate(2, [], [(0, params, [5], []), (1, SamplingParams(), [5], [])], []))
    with TestCase().assertLogs("sfgen") as told:
        scores = processor.apply(torch.zeros(2, SIZE))
    assert torch.isfinite(scores[0]).nonzero()[:, 0].tolist() == [END]
    assert torch.isfinite(scores[1]).all()
    assert "its bytes cannot be told" in told.output[0]


# ---- the second model runner -----------------------------------------------------------------------------------------


@dataclass
class Slots:
    """The state of requests that the second runner shows: one row for each slot, on a device."""

    count: int = 6

    def __post_init__(self) -> None:
        self.tokens = torch.zeros(self.count, CONTEXT, dtype=torch.int32)
        self.total = torch.zeros(self.count, dtype=torch.int32)
        self.prompt = np.zeros(self.count, dtype=np.int32)
        self.taken: dict[int, Asking] = {}

    def shown(self) -> LogitsProcRequestState:
        both = SimpleNamespace(np=self.prompt, gpu=torch.from_numpy(self.prompt))
        return LogitsProcRequestState(
            torch.device("cpu"), self.count, SIZE, SimpleNamespace(gpu=self.tokens), both, both,
            SimpleNamespace(gpu=self.total),
        )  # fmt: skip

    def add(self, slot: int, asking: Asking) -> None:
        self.taken[slot] = asking
        self.prompt[slot] = len(asking.prompt)
        self.write(slot)

    def write(self, slot: int) -> None:
        everything = [*self.taken[slot].prompt, *self.taken[slot].written]
        self.tokens[slot, : len(everything)] = torch.tensor(everything)
        self.total[slot] = len(everything)


def context(rows: list[tuple[int, int, int]], order: list[int]) -> LogitsContext:
    slots, depths, fed = (torch.tensor(column, dtype=torch.int32) for column in zip(*rows, strict=True))
    return LogitsContext(
        expanded_idx_mapping=slots, idx_mapping=torch.tensor(order), idx_mapping_np=np.array(order),
        expanded_local_pos=depths, input_ids=fed, pos=torch.zeros(len(rows)), seq_lens_upper_bound_np=np.array(order),
    )  # fmt: skip


@pytest.mark.parametrize("most_drafted", [0, 3])
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.usefixtures("vocabulary")
def test_the_second_runner(seed: int, most_drafted: int) -> None:
    """Slots in any order, taken again by others; requests that come back in another slot; tokens that are proposed."""
    random, state = np.random.default_rng(seed), Slots()
    processor = ConstraintLogitsProcessor(config(), state.shown())
    waiting: list[Asking] = []
    finished = accepted = 0
    for _ in range(100):
        for slot, each in list(state.taken.items()):
            if each.is_finished or random.random() < 0.02:
                del state.taken[slot]
                finished += each.is_finished
                waiting += [] if each.is_finished else [each]
        free = sorted(set(range(state.count)) - state.taken.keys())
        for slot in free[: 6 if not state.taken else int(random.integers(0, len(free) + 1))]:
            asking = waiting.pop() if waiting else some_request(random)
            state.add(slot, asking)
            assert processor.add_request(slot, asking.params) is (asking.asked is not None)
        processor.apply_staged_writes()

        order = random.permutation(sorted(state.taken)).tolist()
        rows, drafts = list[tuple[int, int, int]](), dict[int, list[int]]()
        for slot in order:
            each = state.taken[slot]
            drafts[slot] = []
            for _ in range(random.integers(0, most_drafted + 1)):
                likely = each.allowed([*each.written, *drafts[slot]]) if random.random() < 0.8 else range(SIZE)
                drafts[slot].append(int(random.choice(likely)))
            last = [*each.prompt, *each.written][-1]
            rows += [(slot, depth, token) for depth, token in enumerate([last, *drafts[slot]])]
        scores = torch.from_numpy(random.normal(size=(len(rows), SIZE))).float()
        masked = processor.apply(scores.clone(), context(rows, order))
        for slot in order:
            each, seen, goes_on = state.taken[slot], list(state.taken[slot].written), True
            for row in (row for row, (number, _, _) in enumerate(rows) if number == slot):
                depth = rows[row][1]
                allowed = each.check(scores[row], masked[row], [*seen, *drafts[slot][:depth]])
                if goes_on and not each.is_finished:
                    proposed = drafts[slot][depth : depth + 1]
                    token = proposed[0] if proposed and proposed[0] in allowed else int(random.choice(allowed))
                    goes_on = proposed == [token]
                    accepted += goes_on
                    each.written.append(token)
            state.write(slot)
    assert finished > 10
    assert accepted > (10 if most_drafted else -1)


# ---- before the engine -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"regex": "("}, "missing ), unterminated subpattern"),
        ({"regex": "a", "choices": ["a"]}, "cannot be used together"),
        ({"schema": {"type": "strin"}}, "strin"),
        ({"schema": "/etc/hostname"}, ""),
        ({"grammar": "root ::= )"}, "closes nothing at line 1, column 10"),
        ({"choices": ["talk"], "ban": ["talk"]}, "every text"),
        ({"ban": 7}, "ban must be a text or a list of texts"),
    ],
)
def test_a_bad_request_is_refused_by_vllm_before_the_engine(asked: dict[str, Any], says: str) -> None:
    from vllm.exceptions import VLLMValidationError
    from vllm.v1.sample.logits_processor import validate_logits_processors_parameters
    from vllm.v1.worker.gpu.sample.logits_processor import build_custom_logits_processors_params_validator

    named = ["sfgen.integrations.vllm:ConstraintLogitsProcessor"]
    second = build_custom_logits_processors_params_validator(named)
    for refuse in (lambda params: validate_logits_processors_parameters(named, params), second):
        refuse(SamplingParams())
        refuse(SamplingParams(extra_args={"regex": "a", "others": object()}))
        with pytest.raises(VLLMValidationError) as caught:
            refuse(SamplingParams(extra_args=asked))
        assert says in str(caught.value)


def test_beside_structured_output_a_constraint_is_refused() -> None:
    from vllm.sampling_params import StructuredOutputsParams

    params = SamplingParams(extra_args={"regex": "a"}, structured_outputs=StructuredOutputsParams(regex="a"))
    with pytest.raises(ValueError, match="together with vLLM's structured_outputs"):
        ConstraintLogitsProcessor.validate_params(params)


def test_arguments_of_a_request_over_http() -> None:
    from vllm.entrypoints.openai.completion.protocol import CompletionRequest

    asked = {"schema": '{"type": "integer"}', "ban": ["13"]}
    params = CompletionRequest(prompt="x", vllm_xargs=asked).to_sampling_params(5, {})
    assert ConstraintRequest.read(params.extra_args) == ConstraintRequest.read(asked)


@pytest.mark.parametrize("architecture", ["llama", "gpt2", "gemma2", "qwen2"])
def test_the_vocabulary_is_that_of_the_model(architecture: str, tmp_path: Path) -> None:
    from tests.support.models.random_models import save
    from vllm.config import ModelConfig

    for rows in (0, 1024):
        directory = save(architecture, tmp_path / f"{architecture}{rows}", rows=rows)
        found = vllm._vocabulary(ModelConfig(model=str(directory), dtype="float32"))
        assert found == Vocabulary.from_pretrained(directory)
        assert found.end_token_ids
