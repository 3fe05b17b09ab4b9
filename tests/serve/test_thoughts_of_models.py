"""Thoughts of models of random weights with the chat templates of published models, beside the library's own texts.

The real templates are read where they lie (``SFGEN_CHAT_TEMPLATES``), and the tests of them are skipped without.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import openai
import pytest
from fastapi.testclient import TestClient
from tests.support.models.random_models import TOKENIZERS, random_model

import sfgen
from sfgen.ban import scan
from sfgen.models.chat_forms import thought_of, with_thought_begun
from sfgen.models.transformers_model import TransformersModel
from sfgen.serve import app
from sfgen.vocabulary.pretrained import load_tokenizer

REPOSITORY = Path(__file__).resolve().parent.parent.parent
FOLDER = Path(os.environ.get("SFGEN_CHAT_TEMPLATES") or REPOSITORY.parent / "shared" / "chat-templates")
HI: list[dict[str, Any]] = [{"role": "user", "content": "Hi!"}]
ON: dict[str, Any] = {"enable_thinking": True}
SMALL = (
    "{% for m in messages %}[{{ m.role }}]{{ m.content }}[/]{% endfor %}{% if add_generation_prompt %}[me]"
    "{% if enable_thinking is false %}<think></think>{% endif %}{% endif %}"
)
BEGINNINGS = {
    "small": "[me]<think>",
    "Qwen-Qwen3-0.6B": "<|im_start|>assistant\n<think>\n",
    "HuggingFaceTB-SmolLM3-3B": "<|im_start|>assistant\n<think>\n",
    "deepseek-ai-DeepSeek-R1-Distill-Llama-8B": "<｜Assistant｜><think>\n",
    "deepseek-ai-DeepSeek-V3.1": "<｜Assistant｜><think>",
    "google-gemma-4-31B-it": "<|turn>model\n<|channel>thought\n",
    "openai-gpt-oss-120b": "<|start|>assistant<|channel|>analysis<|message|>",
}
SPECIAL = {
    "google-gemma-4-31B-it": ["<|channel>", "<channel|>"],
    "openai-gpt-oss-120b": ["<|start|>", "<|end|>", "<|channel|>", "<|message|>"],
}
TOLD_OF_TOOLS = ("Qwen-Qwen3-0.6B", "openai-gpt-oss-120b", "google-gemma-4-31B-it")
CONSTRAINTS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "free": ({}, {}),
    "pattern": ({"regex": "[a-z]{2,9}(-[a-z]{2,9}){2}"}, {"regex": "[a-z]{2,9}(-[a-z]{2,9}){2}"}),
    "schema": ({"guided_json": {"enum": ["Rome", "Oslo", [1]]}}, {"schema": {"enum": ["Rome", "Oslo", [1]]}}),
    "ban": ({"regex": "[a-z ]{9,20}", "banned_strings": ["o"]}, {"regex": "[a-z ]{9,20}"}),
}


def model_of(name: str) -> TransformersModel:
    tokenizer: Any = load_tokenizer(TOKENIZERS / "llama3")
    tokenizer.add_special_tokens({"additional_special_tokens": SPECIAL.get(name, [])})
    tokenizer.chat_template = SMALL if name == "small" else (FOLDER / f"{name}.jinja").read_text(encoding="utf-8")
    model = random_model("llama", vocab_size=len(tokenizer), max_position_embeddings=4096)
    return sfgen.from_transformers(model, tokenizer)


@pytest.fixture(scope="module")
def models() -> dict[str, TransformersModel]:
    return {name: model_of(name) for name in BEGINNINGS if name == "small" or (FOLDER / f"{name}.jinja").exists()}


@pytest.fixture(scope="module")
def client(models: dict[str, TransformersModel]) -> Iterator[TestClient]:
    with TestClient(app(models), base_url="http://localhost") as started:
        yield started


@pytest.fixture(params=BEGINNINGS)
def name(request: pytest.FixtureRequest, models: dict[str, TransformersModel]) -> str:
    chosen: str = request.param
    if chosen not in models:  # pragma: no cover
        pytest.skip(f"there is no {chosen}.jinja in {FOLDER} (set SFGEN_CHAT_TEMPLATES)")
    return chosen


def asked(client: TestClient, name: str, **fields: Any) -> dict[str, Any]:
    variables = {"chat_template_kwargs": ON} if not name.startswith(("small", "openai", "Qwen")) else {}
    answer = client.post("/v1/chat/completions", json={"model": name, "messages": HI, **variables, **fields})
    assert answer.status_code == 200, answer.text
    whole: dict[str, Any] = answer.json()
    return whole


@pytest.mark.parametrize("constraint", CONSTRAINTS)
@pytest.mark.parametrize("most", [None, 7])
def test_thought_and_answer_are_what_the_library_writes(
    client: TestClient, models: dict[str, TransformersModel], name: str, constraint: str, most: int | None
) -> None:
    model, (fields, named) = models[name], CONSTRAINTS[constraint]
    form = thought_of(model)
    assert form is not None
    prompt: Any = with_thought_begun(model, model.chat("Hi!", None, ON), form)
    assert prompt.text.endswith(BEGINNINGS[name])
    budget = {} if most is None else {"thinking_token_budget": most}
    limit = 60
    named |= {"banned": sfgen.BannedWords(["o"], match="substring")} if constraint == "ban" else {}
    for seed in (1, 2):
        whole = asked(client, name, seed=seed, max_tokens=limit, **fields, **budget)
        message, reason = whole["choices"][0]["message"], whole["choices"][0]["finish_reason"]
        named |= {"after": form.end, "after_tokens": most, "after_counts": True, "max_tokens": limit}
        expected = sfgen.generate(model, prompt, seed=seed, temperature=1.0, **named)
        assert (message["reasoning_content"], message["content"]) == (expected.thought, expected.text)
        assert whole["usage"]["prompt_tokens"] == len(prompt)
        assert whole["usage"]["completion_tokens"] == len(expected.token_ids) <= limit
        assert form.end not in message["reasoning_content"]
        check(constraint, message["content"], reason)
        if constraint == "ban":
            assert not scan((message["reasoning_content"] + message["content"]).encode(), named["banned"])
        if constraint == "free" and most is None:
            assert (message["content"], reason) == ("", "length")  # no model of random weights ends its thought
            assert whole["usage"]["completion_tokens_details"] == {"reasoning_tokens": limit}


def check(constraint: str, answer: str, reason: str) -> None:
    """The judges of the constraints: ``re`` and jsonschema."""
    if constraint != "free":
        assert reason == "stop"
    if constraint == "pattern":
        assert re.fullmatch("[a-z]{2,9}(-[a-z]{2,9}){2}", answer)
    if constraint == "ban":
        assert re.fullmatch("[a-z ]{9,20}", answer)
    if constraint == "schema":
        jsonschema.validate(json.loads(answer), {"enum": ["Rome", "Oslo", [1]]})


@pytest.mark.parametrize("name", TOLD_OF_TOOLS, indirect=True)
def test_calls_behind_a_thought(client: TestClient, name: str) -> None:
    tool = {"name": "weather", "description": "Tells it.", "parameters": {
        "type": "object", "properties": {"city": {"type": "string", "enum": ["Rome", "Oslo"], "description": "One."}},
        "required": ["city"]}}  # fmt: skip
    tools = [{"type": "function", "function": tool}]
    for choice in ("required", {"type": "function", "function": {"name": "weather"}}):
        done = asked(client, name, tools=tools, tool_choice=choice, seed=3, max_tokens=120, thinking_token_budget=9)
        message = done["choices"][0]["message"]
        assert message["reasoning_content"]
        assert message["content"] is None
        for call in message["tool_calls"]:
            assert json.loads(call["function"]["arguments"])["city"] in ("Rome", "Oslo")
    if name != "google-gemma-4-31B-it":
        done = asked(client, name, tools=tools, seed=3, max_tokens=60, thinking_token_budget=9)
        assert done["choices"][0]["message"]["reasoning_content"]


@pytest.mark.parametrize("most", [None, 7])
def test_texts_of_one_request_and_of_a_stream(client: TestClient, name: str, most: int | None) -> None:
    fields: dict[str, Any] = {"n": 2, "seed": 5, "max_tokens": 40, "regex": "[a-z]{2,9}", "thinking_token_budget": most}
    whole = asked(client, name, **fields)["choices"]
    assert whole[0]["message"] != whole[1]["message"]
    asking = openai.OpenAI(base_url="http://localhost/v1", api_key="none", http_client=client)
    extra = {key: fields.pop(key) for key in ("regex", "thinking_token_budget")}
    extra |= {"chat_template_kwargs": ON} if not name.startswith(("small", "openai", "Qwen")) else {}
    told: dict[int, list[str]] = {0: ["", ""], 1: ["", ""]}
    messages: Any = HI
    for chunk in asking.chat.completions.create(
        model=name, messages=messages, stream=True, extra_body=extra, logprobs=True, **fields
    ):
        choice = chunk.choices[0]
        told[choice.index][0] += getattr(choice.delta, "reasoning_content", None) or ""
        told[choice.index][1] += choice.delta.content or ""
    for choice in whole:
        assert told[choice["index"]] == [choice["message"]["reasoning_content"], choice["message"]["content"]]


def test_thinking_is_switched_off(client: TestClient, name: str) -> None:
    fields: dict[str, Any] = {"model": name, "messages": HI, "regex": "[a-z]{2,9}", "seed": 1}
    answer = client.post("/v1/chat/completions", json={**fields, "reasoning_effort": "none"})
    if name.startswith(("openai", "deepseek-ai-DeepSeek-R1")):
        assert answer.status_code == 400
        assert answer.json()["error"]["param"] == "reasoning_effort"
        answer = client.post("/v1/chat/completions", json={**fields, "reasoning_format": "none"})
    message = answer.json()["choices"][0]["message"]
    assert "reasoning_content" not in message
    assert re.fullmatch("[a-z]{2,9}", message["content"])


def test_a_message_of_the_system_switches_it_off(client: TestClient, models: dict[str, TransformersModel]) -> None:
    name = "HuggingFaceTB-SmolLM3-3B"
    if name not in models:  # pragma: no cover
        pytest.skip(f"there is no {name}.jinja in {FOLDER} (set SFGEN_CHAT_TEMPLATES)")
    messages = [{"role": "system", "content": "/no_think"}, *HI]
    fields = {"model": name, "messages": messages, "regex": "[a-z]{2,9}", "seed": 1}
    message = client.post("/v1/chat/completions", json=fields).json()["choices"][0]["message"]
    assert "reasoning_content" not in message


def test_an_effort_is_told(client: TestClient, models: dict[str, TransformersModel]) -> None:
    name = "openai-gpt-oss-120b"
    if name not in models:  # pragma: no cover
        pytest.skip(f"there is no {name}.jinja in {FOLDER} (set SFGEN_CHAT_TEMPLATES)")
    texts = set()
    for effort in ("low", "medium", "high"):
        fields = {"model": name, "messages": HI, "max_tokens": 3, "reasoning_effort": effort}
        trace = client.post("/v1/trace", json=fields).text
        texts |= {found for found in ("low", "medium", "high") if f"Reasoning: {found}" in trace}
    assert texts == {"low", "medium", "high"}
