"""Conversations: messages, begun answers, templates with variables, and what is told of tokens."""

from __future__ import annotations

import json
import re
import tracemalloc
from collections.abc import Iterator
from itertools import accumulate
from typing import Any

import jsonschema
import pytest
from fastapi.testclient import TestClient
from tests.support.models.random_models import save
from tests.support.models.scripted import ScriptedModel, preferring

from sfgen import Vocabulary, generate, load_model
from sfgen.models.messages import chat_ids
from sfgen.models.tiny.model import TinyModel
from sfgen.protocols import Model
from sfgen.serve import app

HI = [{"role": "user", "content": "Hi!"}]
SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 5}, "ok": {"type": "boolean"}},
    "required": ["name", "ok"],
    "additionalProperties": False,
}


@pytest.fixture(scope="module")
def chat(chat_model: Model) -> Iterator[TestClient]:
    with TestClient(app({"chat": chat_model}), base_url="http://localhost") as client:
        yield client


def asked(client: TestClient, messages: Any = HI, **fields: Any) -> dict[str, Any]:
    body = {"messages": messages, "seed": 1, "max_tokens": 12, **fields}
    answer = client.post("/v1/chat/completions", json=body)
    assert answer.status_code == 200, answer.text
    done: dict[str, Any] = answer.json()["choices"][0]
    return done


def refused(client: TestClient, messages: Any = HI, **fields: Any) -> dict[str, Any]:
    answer = client.post("/v1/chat/completions", json={"messages": messages, **fields})
    assert answer.status_code == 400, answer.text
    error: dict[str, Any] = answer.json()["error"]
    return error


def written(model: Model, prompt: Any = HI, **parameters: Any) -> str:
    return generate(model, prompt, **{"temperature": 1.0, "seed": 1, "max_tokens": 12, **parameters}).text


def test_an_answer_is_the_library_s(chat: TestClient, chat_model: Model) -> None:
    done = asked(chat)
    assert done["message"] == {"role": "assistant", "content": written(chat_model), "refusal": None}
    assert done["finish_reason"] == "length"
    assert asked(chat, max_tokens=None, max_completion_tokens=5)["message"]["content"] == written(
        chat_model, max_tokens=5
    )


@pytest.mark.parametrize("role", ["system", "developer", "assistant", "tool"])
def test_messages_of_all_roles_are_read(chat: TestClient, chat_model: Model, role: str) -> None:
    messages = [{"role": role, "content": "Be kind."}, *HI]
    assert asked(chat, messages)["message"]["content"] == written(chat_model, messages)


@pytest.mark.parametrize("roles", [["system"], ["developer"], ["system", "system"], ["tool"]])
def test_a_chat_needs_no_message_of_a_user(chat: TestClient, chat_model: Model, roles: list[str]) -> None:
    messages = [{"role": role, "content": "Tell a story."} for role in roles]
    text = asked(chat, messages)["message"]["content"]
    assert text == written(chat_model, messages)
    assert text != written(chat_model, [{"role": "user", "content": "Tell a story."}])


def test_parts_of_a_message_are_its_text(chat: TestClient) -> None:
    parts = [{"type": "text", "text": "Hi!"}, {"type": "text", "text": "Ho!", "cache_control": {"type": "ephemeral"}}]
    assert asked(chat, [{"role": "user", "content": parts}]) == asked(chat, [{"role": "user", "content": "Hi!\nHo!"}])


@pytest.mark.parametrize("flags", [{}, {"prefix": True}, {"partial": True}])
@pytest.mark.parametrize("fields", [{}, {"continue_final_message": True, "add_generation_prompt": False}])
def test_a_begun_answer_goes_on(
    chat: TestClient, chat_model: Model, flags: dict[str, Any], fields: dict[str, Any]
) -> None:
    begun = {"role": "assistant", "content": "Sure: "}
    done = asked(chat, [*HI, begun | flags], regex="[0-9]{3}", **fields)
    assert done["message"]["content"] == written(chat_model, [*HI, begun], regex="[0-9]{3}")
    assert re.fullmatch("[0-9]{3}", done["message"]["content"])


def test_a_begun_answer_is_healed_as_asked(chat: TestClient, chat_model: Model) -> None:
    messages = [*HI, {"role": "assistant", "content": "Sur"}]
    for heal in (True, False):
        done = asked(chat, messages, sfgen={"healing": heal})
        assert done["message"]["content"] == written(chat_model, messages, heal=heal)
    assert refused(chat, sfgen={"healing": True})["param"] == "sfgen.healing"


def test_variables_reach_the_template(chat: TestClient, chat_model: Model) -> None:
    variables = {"mood": "merry"}
    ids = chat_ids(chat_model, HI, variables=variables)
    assert ids != chat_ids(chat_model, HI)
    done = asked(chat, chat_template_kwargs=variables)
    assert done["message"]["content"] == written(chat_model, ids)
    assert done != asked(chat)
    assert asked(chat, chat_template_kwargs={}) == asked(chat)


@pytest.mark.parametrize("name", ["messages", "tools", "tokenize", "add_generation_prompt", "not a name"])
def test_what_is_no_variable_is_refused(chat: TestClient, name: str) -> None:
    error = refused(chat, chat_template_kwargs={name: True})
    assert error["param"] == "chat_template_kwargs"
    assert name in error["message"]


def test_names_of_writers_are_told_where_the_template_tells_them(
    chat: TestClient, chat_model: Model, tmp_path_factory: pytest.TempPathFactory
) -> None:
    named = [{**HI[0], "name": "Ada"}]
    assert asked(chat, named) == asked(chat)  # the template has no place for it
    folder = save("llama", tmp_path_factory.mktemp("models") / "names")
    settings = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))
    tells_names = "{% for m in messages %}{% if m.name %}{{ m.name }}: {% endif %}{{ m.content }}{% endfor %}"
    settings["chat_template"] = tells_names
    (folder / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")
    model = load_model(folder, device="cpu")
    assert chat_ids(model, named).text == "Ada: Hi!"  # type: ignore[attr-defined]
    with TestClient(app({"names": model}), base_url="http://localhost") as client:
        for messages in (HI, named):
            assert asked(client, messages, model="names")["message"]["content"] == written(model, messages)


def test_messages_of_ours_come_first(chat: TestClient, chat_model: Model) -> None:
    first = [{"role": "system", "content": "Be kind."}]
    done = asked(chat, sfgen={"messages": first})
    assert done["message"]["content"] == written(chat_model, [*first, *HI])


@pytest.mark.parametrize(
    "form", [SCHEMA, SCHEMA | {"title": "Person"}, {"$defs": {"p": SCHEMA}, "$ref": "#/$defs/p"}], ids=["a", "b", "c"]
)
def test_a_schema_is_kept_to(chat: TestClient, form: dict[str, Any]) -> None:
    given = {"type": "json_schema", "json_schema": {"name": "person", "schema": form, "strict": True}}
    for seed in range(5):
        done = asked(chat, response_format=given, seed=seed, max_tokens=None)
        jsonschema.validate(json.loads(done["message"]["content"]), SCHEMA)
        assert done["finish_reason"] == "stop"
    error = refused(chat, response_format=given, max_tokens=2)
    assert error["param"] == "max_tokens"


@pytest.mark.parametrize(
    ("messages", "param"),
    [
        ([], "messages"),
        ([{"role": "user"}], "messages[0].content"),
        ([{"role": "robot", "content": "x"}], "messages[0].role"),
        ([{"role": "user", "content": "x", "name": ["Ada"]}], "messages[0].name"),
        ([{"role": "user", "content": "x", "nickname": "Ada"}], "messages[0].nickname"),
        ([{"role": "user", "content": "x", "prefix": True}], "messages[0].prefix"),
        ([{"role": "user", "content": [{"type": "image_url"}]}], "messages[0].content[0].type"),
        ([*HI, {"role": "assistant", "content": "x", "tool_calls": [1]}], "messages[1].tool_calls[0]"),
        ("Hi!", "messages"),
    ],
)
def test_a_message_that_is_not_kept_to_is_refused(chat: TestClient, messages: Any, param: str) -> None:
    assert refused(chat, messages)["param"] == param


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"continue_final_message": True}, "continue_final_message"),
        ({"add_generation_prompt": False}, "add_generation_prompt"),
        ({"add_special_tokens": True}, "add_special_tokens"),
        ({"top_logprobs": 3}, "top_logprobs"),
        ({"reasoning_effort": "low"}, "reasoning_effort"),
        ({"tools": [{"type": "function"}]}, "tools[0].function"),
        ({"max_completion_tokens": 2, "regex": "[0-9]{9}"}, "max_completion_tokens"),
        ({"chat_template": "x"}, "chat_template"),
        ({"prompt": "x"}, "prompt"),
    ],
)
def test_a_field_of_a_chat_that_is_not_kept_to_is_refused(chat: TestClient, fields: dict[str, Any], param: str) -> None:
    assert refused(chat, **fields)["param"] == param


def test_harmless_fields_of_a_chat_pass(chat: TestClient) -> None:
    idle: dict[str, Any] = {"name": None, "tool_calls": None, "refusal": None, "annotations": []}
    messages = [{"role": "user", "content": "Hi!", **idle}]
    fields = {"tools": [], "tool_choice": "auto", "modalities": ["text"], "prediction": None, "store": True}
    assert asked(chat, messages, **fields, add_special_tokens=False) == asked(chat)


# ---- log-probabilities -----------------------------------------------------------------------------------------------


def streamed(client: TestClient, path: str, body: dict[str, Any]) -> list[dict[str, Any]]:
    """The chunks of a stream; the last is the usage."""
    with client.stream(
        "POST", path, json={**body, "stream": True, "stream_options": {"include_usage": True}}
    ) as answer:
        lines = [line for line in answer.iter_lines() if line]
    assert lines[-1] == "data: [DONE]"
    return [json.loads(line.removeprefix("data: ")) for line in lines[:-1]]


CONSTRAINTS: list[dict[str, Any]] = [
    {},
    {"regex": "[0-9]{3} and so on, until the end"},
    {"guided_choice": ["yes, of course", "no, of course"]},
    {"banned_strings": ["e", "a"]},
    {"banned_regex": ["[a-f]"], "sfgen": {"strategy": "first-token"}},
    {"stop": ["a", "e", "i"]},
    {"regex": "(é|日本|x){3} (é|日本)"},
]


@pytest.mark.parametrize("fields", CONSTRAINTS)
@pytest.mark.parametrize("prompt", ["Once upon", "Once upon a "])
def test_logprobs_are_the_model_s_before_the_mask(fields: dict[str, Any], prompt: str) -> None:
    own = {"match": "substring"}
    parameters = {
        "regex": fields.get("regex"),
        "choices": fields.get("guided_choice"),
        "stop": fields.get("stop", ()),
        **({} if "sfgen" not in fields else {"strategy": "first-token"}),
    }
    from sfgen import BannedWords

    if "banned_strings" in fields or "banned_regex" in fields:
        parameters["banned"] = BannedWords(fields.get("banned_strings", ()), fields.get("banned_regex", ()), **own)  # type: ignore[arg-type]
    want = generate("tiny", prompt, temperature=1.0, seed=3, max_tokens=30, logprobs=True, **parameters)
    assert want.logprobs is not None
    body = {"prompt": prompt, "seed": 3, "max_tokens": 30, "logprobs": 2, **fields}
    with TestClient(app("tiny"), base_url="http://localhost") as client:
        answer = client.post("/v1/completions", json=body)
        assert answer.status_code == 200, answer.text
        done = answer.json()["choices"][0]
        chunks = streamed(client, "/v1/completions", body)
    assert done["text"] == want.text
    told = done["logprobs"]
    count = len(told["tokens"])
    assert count == len(want.token_ids) or (want.finish_reason == "stop" and count < len(want.token_ids))
    for logprob, best, token in zip(told["token_logprobs"], told["top_logprobs"], told["tokens"], strict=True):
        assert best[token] == logprob
        assert 2 <= len(best) <= 3
        assert max(best.values()) <= 0
    expected = [each.model for each in want.logprobs[:count]]
    assert told["token_logprobs"] == pytest.approx(expected, abs=2e-4)
    data = [load_model("tiny").vocabulary.tokens[token] or b"" for token in want.token_ids]
    before = list(accumulate(data, initial=b""))[:count]
    again = len(want.healed or "")  # the end of the prompt, which is no part of the text
    assert told["text_offset"] == [len(text[again:].decode(errors="ignore")) for text in before]
    # A stream tells the same, as nearly as another division of the text into forward passes computes it: its row has
    # read the prompt already.
    parts = [chunk["choices"][0] for chunk in chunks if chunk["choices"]]
    assert "".join(part["text"] for part in parts) == want.text
    for key, values in told.items():
        streams = [value for part in parts if part["logprobs"] for value in part["logprobs"][key]]
        if key == "top_logprobs":
            assert [pytest.approx(best, abs=2e-4) for best in values] == streams
        else:
            assert streams == (pytest.approx(values, abs=2e-4) if key == "token_logprobs" else values)
    assert [part["finish_reason"] for part in parts[:-1]] == [None] * (len(parts) - 1)
    assert parts[-1]["finish_reason"] == done["finish_reason"]
    assert [chunk["usage"] for chunk in chunks[:-1]] == [None] * (len(chunks) - 1)
    assert chunks[-1]["usage"] == answer.json()["usage"]
    ends = accumulate(len(TinyModel().vocabulary.tokens[token] or b"") for token in want.token_ids)
    of_prompt = sum(end <= len(want.healed or "") for end in ends)  # those that write its end again
    assert chunks[-1]["usage"]["completion_tokens"] == len(want.token_ids) - of_prompt


def test_an_answer_that_is_told_whole_may_be_taken_back_as_far_as_it_takes() -> None:
    """Only the empty list is clean; a stream may have told the beginning of another one."""
    schema = {"type": "array", "items": {"type": "boolean"}, "maxItems": 3}
    with TestClient(app("tiny"), base_url="http://localhost") as client:
        for seed in range(6):
            body = {"prompt": "Hi!", "json_schema": schema, "banned_strings": ["e", "a"], "seed": seed}
            answer = client.post("/v1/completions", json=body)
            assert answer.status_code == 200, answer.text
            assert answer.json()["choices"][0]["text"] == "[]"


def test_logprobs_of_a_chat(chat: TestClient, chat_model: Model) -> None:
    want = generate(chat_model, HI, temperature=1.0, seed=1, max_tokens=12, logprobs=True)
    content = asked(chat, logprobs=True, top_logprobs=4)["logprobs"]["content"]
    assert want.logprobs is not None
    assert [entry["logprob"] for entry in content] == pytest.approx([each.model for each in want.logprobs], abs=1e-4)
    assert [len(entry["top_logprobs"]) for entry in content] == [4] * len(content)
    assert b"".join(bytes(entry["bytes"] or []) for entry in content).decode("utf-8", "replace") == want.text
    assert asked(chat, logprobs=True)["logprobs"]["content"][0]["top_logprobs"] == []
    body = {"messages": HI, "seed": 1, "max_tokens": 12, "logprobs": True, "top_logprobs": 4}
    chunks = streamed(chat, "/v1/chat/completions", body)
    parts = [chunk["choices"][0] for chunk in chunks if chunk["choices"]]
    assert [entry for part in parts if part["logprobs"] for entry in part["logprobs"]["content"]] == content
    assert parts[0]["delta"] == {"role": "assistant", "content": ""}
    assert "".join(part["delta"].get("content", "") for part in parts) == want.text


def test_logprobs_of_text_that_is_held_back_take_little_memory() -> None:
    size, length = 4000, 150
    vocabulary = Vocabulary([*(f"{number:05}".encode() for number in range(size - 1)), None], end_token_ids=[size - 1])
    model = ScriptedModel(vocabulary, preferring(vocabulary, [b"00007"] * 10_000, 1), {"x": [0]})
    body = {"prompt": "x", "max_tokens": length, "temperature": 0, "stop": ["00007" * 1000], "logprobs": 5}
    with TestClient(app({"x": model}), base_url="http://localhost") as client:
        for fields in ({}, {"stream": True}):
            client.post("/v1/completions", json={"prompt": "x", "max_tokens": 2})
            tracemalloc.start()
            answer = client.post("/v1/completions", json=body | fields)
            most = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            assert answer.status_code == 200, answer.text
            assert "00007" * length in answer.text.replace('","text":"', "")
            assert most < size * length * 2, "the scores of all tokens have 4 bytes each"
