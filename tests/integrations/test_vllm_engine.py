"""vLLM itself, on the CPU with a tiny model of random weights, writes what each request asks for.

Needs vLLM: ``make vllm``, which runs this file once with each of vLLM's model runners.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.oracles.schema_oracle import Oracle
from tests.support.running import second_runner
from tests.support.schemas.named import INTEGER, STRING, a_list, an_object

pytest.importorskip("vllm", reason="vLLM is not installed in this environment; make vllm makes one for it")

from tests.support.models.random_models import TOKENIZERS, random_model
from vllm import LLM, SamplingParams
from vllm.exceptions import VLLMValidationError

from sfgen import BannedWords, Grammar
from sfgen.ban import scan

GUIDE = Path(__file__).parents[2] / "cli" / "guides" / "many-machines.md"
LIMIT = 48
SETTINGS = {
    "VLLM_CPU_KVCACHE_SPACE": "1",  # GiB
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_CONFIGURE_LOGGING": "0",  # it would write to stdout
    "HF_HUB_OFFLINE": "1",
    "OMP_NUM_THREADS": "1",
}
PROMPTS = ["Date: ", "a list: [1, 2", "The name of the lady is", "x"]
FEWER = second_runner.ASKED_FOR
"""An interpreted step takes ten times as long."""
NODE = an_object({"value": INTEGER, "children": a_list({"$ref": "#/$defs/n"}, maxItems=2)})
GRAMMAR = 'root ::= "[" (root ",")* [a-c]{2,5} "]"'
ASKED: list[dict[str, Any]] = [
    {"regex": r"[0-9]{4}-(0[1-9]|1[0-2])"},
    {"choices": ["hot", "cold", "hotter"]},
    {"schema": an_object({"name": {**STRING, "maxLength": 12}, "age": {**INTEGER, "minimum": 0}})},
    {"schema": {"$ref": "#/$defs/n", "$defs": {"n": NODE}}},
    {"schema": a_list({"enum": ["a", "b", "c", 10]}, uniqueItems=True, minItems=3)},
    {"schema": "name, age int"},
    {"grammar": GRAMMAR},
    {"regex": "[a-z]{3,9}", "ban": ["the", "ab"]},
    {"ban": ["the", "a", "that"]},
]


def fault(asked: dict[str, Any], text: str, prompt: str) -> str:
    """Why a text is not what was asked for; empty where it is."""
    if "regex" in asked and re.fullmatch(asked["regex"], text, re.ASCII) is None:
        return "it does not match"
    if "choices" in asked and text not in asked["choices"]:
        return "it is no choice"
    if "grammar" in asked and not Grammar.from_gbnf(asked["grammar"]).accepts(text):
        return "it is none of the grammar"
    schema = asked.get("schema")
    if isinstance(schema, str):
        schema = an_object({"name": STRING, "age": INTEGER}, additionalProperties=False)
    if schema is not None and Oracle(schema).fault(text):
        return Oracle(schema).fault(text)
    return str(scan(text, BannedWords(asked["ban"]), prompt=prompt) or "") if "ban" in asked else ""


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model whose heads are as large as vLLM's attention needs them."""
    import transformers

    folder = tmp_path_factory.mktemp("model")
    tokenizer: Any = transformers.AutoTokenizer.from_pretrained(TOKENIZERS / "llama3")
    model = random_model(
        "llama", vocab_size=len(tokenizer) + 11, bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id, hidden_size=64, max_position_embeddings=512,
    )  # fmt: skip
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def llm(directory: Path) -> Iterator[LLM]:
    """An engine that finds sfgen by its entry point, with too little memory for all of them at once."""
    if "llvmlite.binding" in sys.modules:
        pytest.skip("vLLM 0.32 for CPUs does not start in a process that has imported llvmlite: run this file alone")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {**SETTINGS, "VLLM_ENABLE_V1_MULTIPROCESSING": "0"}.items():
            patch.setenv(name, value)
        yield LLM(
            str(directory), dtype="float32", max_model_len=160, max_num_seqs=6, enforce_eager=True, block_size=32,
            num_gpu_blocks_override=8, max_num_batched_tokens=160, disable_log_stats=False,
        )  # fmt: skip


def test_the_model_runner_is_the_one_that_is_asked_for(llm: LLM) -> None:
    assert llm.llm_engine.vllm_config.use_v2_model_runner is second_runner.ASKED_FOR


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_every_text_is_what_its_request_asks_for(llm: LLM, temperature: float) -> None:
    """Many requests at once, some of which are put off and go on later; several texts for a request."""
    several = 1 if temperature == 0 or FEWER else 3
    requests = [(prompt, asked) for asked in [*ASKED, {}] for prompt in (PROMPTS[::2] if FEWER else PROMPTS)]
    params = [
        SamplingParams(max_tokens=LIMIT, temperature=temperature, seed=number, n=several, extra_args=asked)
        for number, (_, asked) in enumerate(requests)
    ]
    before = preempted(llm)
    outputs = llm.generate([prompt for prompt, _ in requests], params, use_tqdm=False)
    faults, ended = [], 0
    for (prompt, asked), output in zip(requests, outputs, strict=True):
        assert len(output.outputs) == several
        for each in output.outputs:
            ended += each.finish_reason == "stop"
            if asked and fault(asked, each.text, prompt):
                faults.append((asked, each.text, fault(asked, each.text, prompt)))
    assert faults == []
    assert ended > 10
    assert preempted(llm) > before


def preempted(llm: LLM) -> int:
    """How many requests were put off so far."""
    return sum(metric.value for metric in llm.get_metrics() if metric.name == "vllm:num_preemptions")


@pytest.mark.parametrize("limit", [7, 8, 20])
def test_a_text_is_complete_within_the_limit(llm: LLM, limit: int) -> None:
    params = SamplingParams(max_tokens=limit, temperature=1.0, n=8, seed=3, extra_args={"regex": "[0-9]{7,}"})
    for each in llm.generate("x", params, use_tqdm=False)[0].outputs:
        assert re.fullmatch("[0-9]{7,}", each.text)
        assert len(each.token_ids) <= limit


def test_a_text_is_complete_within_the_context(llm: LLM) -> None:
    params = SamplingParams(max_tokens=None, temperature=0.0, extra_args={"schema": {**STRING, "minLength": 20}})
    prompt = {"prompt_token_ids": [5] * 130}
    (each,) = llm.generate(prompt, params, use_tqdm=False)[0].outputs
    assert len(json.loads(each.text)) >= 20
    assert len(each.token_ids) <= 30


def test_a_text_for_which_there_is_no_room_is_cut(llm: LLM) -> None:
    params = SamplingParams(max_tokens=3, temperature=0.0, extra_args={"regex": "(ab){40}"})
    (each,) = llm.generate("x", params, use_tqdm=False)[0].outputs
    assert each.finish_reason == "length"
    assert "ab".startswith(each.text[:2])


def test_more_tokens_than_the_text_has_cannot_be_asked_for(llm: LLM) -> None:
    params = SamplingParams(max_tokens=20, min_tokens=15, temperature=1.0, extra_args={"choices": ["hot", "cold"]})
    (each,) = llm.generate("x", params, use_tqdm=False)[0].outputs
    assert each.text in ("hot", "cold")


def test_a_bad_request_fails_alone(llm: LLM) -> None:
    bad = [({"regex": "("}, "unterminated"), ({"schema": {"type": 7}}, "type"), ({"choices": []}, "choices")]
    for asked, says in [*bad, ({"regex": "a", "schema": True}, "together")]:
        with pytest.raises(VLLMValidationError, match=says):
            llm.generate("x", SamplingParams(extra_args=asked), use_tqdm=False)
    (each,) = llm.generate("x", SamplingParams(extra_args={"regex": "ab"}), use_tqdm=False)[0].outputs
    assert each.text == "ab"


_REFUSED = """
    from vllm.exceptions import VLLMValidationError
    try:
        llm.generate("x", SamplingParams(extra_args={"regex": "("}), use_tqdm=False)
    except VLLMValidationError as error:
        print("refused:", str(error).splitlines()[0])
"""


@pytest.mark.skipif(second_runner.ASKED_FOR, reason="Triton is interpreted in the process of the tests alone")
def test_the_example_of_the_guide_with_an_engine_in_a_process_of_its_own(directory: Path, tmp_path: Path) -> None:
    (code,) = re.findall(r"```py\n(from vllm .*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    small = f'"{directory}", dtype="float32", max_model_len=160, max_num_seqs=4, enforce_eager=True,'
    assert '"Qwen/Qwen3-0.6B",' in code
    program = tmp_path / "program.py"
    program.write_text(code.replace('"Qwen/Qwen3-0.6B",', small) + _REFUSED, encoding="utf-8")
    environment = {**os.environ, **SETTINGS}
    environment.pop("VLLM_ENABLE_V1_MULTIPROCESSING", None)
    done = subprocess.run(
        [sys.executable, str(program)], capture_output=True, text=True, check=False, timeout=400, env=environment
    )
    assert done.returncode == 0, done.stderr[-3000:]
    date, record, *text, refused = done.stdout.splitlines()
    assert re.fullmatch("[0-9]{4}-(0[1-9]|1[0-2])", date)
    assert fault({"schema": "name, age int"}, record, "") == ""
    assert scan("\n".join(text), BannedWords(["talk", "listen"])) == []
    assert refused == "refused: pattern: missing ), unterminated subpattern at position 0"
