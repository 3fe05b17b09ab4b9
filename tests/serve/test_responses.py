"""``/v1/responses`` with OpenAI's own client: whole answers, streams, parsed ones, custom tools, and refusals."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, Literal

import pytest
from fastapi.testclient import TestClient

from sfgen import generate
from sfgen.protocols import Model
from sfgen.serve import Limits, app

openai = pytest.importorskip("openai")
pydantic = pytest.importorskip("pydantic")

HI: Any = [{"role": "user", "content": "Hi!"}]
LARK = 'start: "add " NUMBER " " NUMBER\nNUMBER: /[1-9][0-9]?/'
ADD: Any = {"type": "custom", "name": "add", "format": {"type": "grammar", "syntax": "lark", "definition": LARK}}
YEAR: Any = {
    "type": "custom",
    "name": "year",
    "format": {"type": "grammar", "syntax": "regex", "definition": "2[0-9]{3}"},
}


class Person(pydantic.BaseModel):  # type: ignore[misc,name-defined]
    name: str = pydantic.Field(max_length=5)
    kind: Literal["elf", "orc"]
    friends: list[int] = pydantic.Field(max_length=2)


@pytest.fixture(scope="module")
def client(address: str) -> Iterator[Any]:
    with openai.OpenAI(base_url=address, api_key="none", max_retries=0) as made:
        yield made


@pytest.fixture(scope="module")
def chat(chat_model: Model) -> Iterator[TestClient]:
    with TestClient(app({"chat": chat_model}), base_url="http://localhost") as client:
        yield client


def ask(client: Any, given: Any = "Hi!", **fields: Any) -> Any:
    """A response of a fixed seed; ``seed`` is no field of OpenAI's."""
    return client.responses.create(model="chat", input=given, extra_body={"seed": 4}, **fields)


def written(model: Model, messages: Any = HI, **config: Any) -> str:
    return generate(model, messages, temperature=1.0, seed=4, **config).text


# ---- whole answers ---------------------------------------------------------------------------------------------------


def test_a_text(client: Any, chat_model: Model) -> None:
    done = ask(client, max_output_tokens=9, metadata={"a": "b"})
    assert done.output_text == written(chat_model, max_tokens=9)
    assert (done.status, done.incomplete_details.reason) == ("incomplete", "max_output_tokens")
    assert (done.object, done.model, done.metadata, done.error) == ("response", "chat", {"a": "b"}, None)
    assert done.usage.output_tokens == 9
    assert done.usage.total_tokens == done.usage.input_tokens + 9
    assert done.output[0].status == "incomplete"


def test_a_conversation(client: Any, chat_model: Model) -> None:
    given = [
        {"role": "developer", "content": [{"type": "input_text", "text": "Be kind."}]},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": t} for t in ("Hi!", "Ho!")]},
        {"type": "message", "role": "assistant", "id": "msg_1", "status": "completed",
         "content": [{"type": "output_text", "text": "Hm.", "annotations": []}]},
        {"role": "user", "content": "And?"},
    ]  # fmt: skip
    messages = [
        {"role": "system", "content": "You are a bot."},
        {"role": "developer", "content": "Be kind."},
        {"role": "user", "content": "Hi!\nHo!"},
        {"role": "assistant", "content": "Hm."},
        {"role": "user", "content": "And?"},
    ]
    done = ask(client, given, instructions="You are a bot.", max_output_tokens=9)
    assert done.output_text == written(chat_model, messages, max_tokens=9)
    assert done.instructions == "You are a bot."


def test_an_answer_is_a_part_of_the_next_conversation(client: Any) -> None:
    first = ask(client, max_output_tokens=5)
    again = ask(client, [*HI, *(item.model_dump() for item in first.output), *HI], max_output_tokens=5)
    assert again.usage.input_tokens > first.usage.input_tokens


def test_an_answer_is_parsed(client: Any) -> None:
    done = client.responses.parse(model="chat", input="Hi!", text_format=Person, extra_body={"seed": 4})
    assert isinstance(done.output_parsed, Person)
    assert (done.status, done.incomplete_details) == ("completed", None)


@pytest.mark.parametrize(
    ("fields", "pattern"),
    [
        ({"text": {"format": {"type": "json_object"}}}, r"\{.*\}"),
        ({"extra_body": {"regex": "[0-9]{3}"}}, "[0-9]{3}"),
        ({"extra_body": {"structured_outputs": {"choice": ["yes", "no"]}}}, "yes|no"),
    ],
)
def test_an_answer_is_kept_to_a_form(client: Any, fields: dict[str, Any], pattern: str) -> None:
    done = client.responses.create(model="chat", input="Hi!", **fields)
    assert re.fullmatch(pattern, done.output_text, re.DOTALL)
    assert done.status == "completed"


def test_logprobs(client: Any) -> None:
    done = ask(client, max_output_tokens=4, top_logprobs=2, include=["message.output_text.logprobs"])
    told = done.output[0].content[0].logprobs
    assert "".join(entry.token for entry in told) == done.output_text
    assert [len(entry.top_logprobs) for entry in told] == [2] * 4
    assert ask(client, max_output_tokens=4).output[0].content[0].logprobs == []


# ---- streams ---------------------------------------------------------------------------------------------------------


def test_the_events_of_a_stream(client: Any, chat_model: Model) -> None:
    events = list(ask(client, max_output_tokens=9, stream=True))
    kinds = [event.type for event in events]
    assert kinds[:4] == [
        "response.created", "response.in_progress", "response.output_item.added", "response.content_part.added",
    ]  # fmt: skip
    assert kinds[-4:] == [
        "response.output_text.done", "response.content_part.done", "response.output_item.done", "response.incomplete",
    ]  # fmt: skip
    assert set(kinds[4:-4]) == {"response.output_text.delta"}
    assert [event.sequence_number for event in events] == list(range(len(events)))
    text = "".join(event.delta for event in events if event.type == "response.output_text.delta")
    assert text == written(chat_model, max_tokens=9) == events[-1].response.output_text == events[-4].text
    assert events[-1].response.usage.output_tokens == 9
    assert events[0].response.id == events[-1].response.id
    whole = ask(client, max_output_tokens=9)
    assert events[-1].response.output[0].content == whole.output[0].content


def test_logprobs_of_a_stream(client: Any) -> None:
    fields: Any = {"max_output_tokens": 4, "top_logprobs": 1, "include": ["message.output_text.logprobs"]}
    events = list(ask(client, stream=True, **fields))
    deltas = [entry for event in events if event.type.endswith("text.delta") for entry in event.logprobs]
    whole = ask(client, **fields).output[0].content[0].logprobs
    assert [(each.token, each.logprob) for each in deltas] == [(each.token, each.logprob) for each in whole]
    assert events[-1].response.output[0].content[0].logprobs == whole


def test_a_stream_is_parsed(client: Any) -> None:
    with client.responses.stream(model="chat", input="Hi!", text_format=Person, extra_body={"seed": 3}) as stream:
        kinds = {event.type for event in stream}
        person = stream.get_final_response().output_parsed
    assert isinstance(person, Person)
    assert {"response.output_text.delta", "response.completed"} <= kinds


def test_an_error_in_mid_stream_is_raised(serving: Callable[..., Any], chat_model: Model) -> None:
    [end] = chat_model.vocabulary.end_token_ids
    endless: Any = {"max_output_tokens": 900, "extra_body": {"logit_bias": {end: -100}}}
    url = serving({"chat": chat_model}, limits=Limits(request_seconds=0.02)).url
    with openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as hasty:
        events = hasty.responses.create(model="chat", input="Once", stream=True, **endless)
        assert next(events).type == "response.created"
        with pytest.raises(openai.APIError, match="took longer than"):
            list(events)
        with pytest.raises(openai.InternalServerError, match="took longer than"):
            hasty.responses.create(model="chat", input="Once", **endless)


def test_a_stream_that_fails_says_so_at_its_end(serving: Callable[..., Any], chat_model: Model) -> None:
    url = serving({"chat": chat_model}, limits=Limits(request_seconds=0.02)).url
    [end] = chat_model.vocabulary.end_token_ids
    body = {"input": "Once", "stream": True, "max_output_tokens": 900, "logit_bias": {end: -100}}
    lines = openai.OpenAI(base_url=f"{url}/v1", api_key="none")._client.post(f"{url}/v1/responses", json=body).text
    told = [json.loads(line[6:]) for line in lines.splitlines() if line.startswith("data: ")]
    assert [each["type"] for each in told[-2:]] == ["error", "response.failed"]
    assert told[-2]["code"] == told[-2]["error"]["code"] == "too_slow"
    assert told[-1]["response"]["status"] == "failed"
    assert told[-1]["response"]["error"]["code"] == "server_error"


# ---- custom tools ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tools", "choice", "name", "pattern"),
    [
        ([ADD], "required", "add", "add [1-9][0-9]? [1-9][0-9]?"),
        ([ADD, YEAR], {"type": "custom", "name": "year"}, "year", "2[0-9]{3}"),
        ([{"type": "custom", "name": "say"}], "required", "say", ".{1,}"),
    ],
)
def test_a_custom_tool_is_called(client: Any, tools: Any, choice: Any, name: str, pattern: str) -> None:
    fields: Any = {"tools": tools, "tool_choice": choice, "max_output_tokens": 30}
    (call,) = ask(client, **fields).output
    assert (call.type, call.name) == ("custom_tool_call", name)
    assert re.fullmatch(pattern, call.input, re.DOTALL)
    events = list(ask(client, stream=True, **fields))
    deltas = [event.delta for event in events if event.type == "response.custom_tool_call_input.delta"]
    assert "".join(deltas) == call.input == events[-1].response.output[0].input
    done = next(event for event in events if event.type == "response.custom_tool_call_input.done")
    assert done.input == call.input
    assert not any("content_part" in event.type or "output_text" in event.type for event in events)


def test_a_call_and_its_output_are_parts_of_the_next_conversation(client: Any, chat_model: Model) -> None:
    fields: Any = {"tools": [ADD], "tool_choice": "required"}
    (call,) = ask(client, **fields).output
    output = {"type": "custom_tool_call_output", "call_id": call.call_id, "output": "12"}
    done = ask(client, [*HI, call.model_dump(exclude_none=True), output], max_output_tokens=9)
    messages = [*HI, {"role": "assistant", "content": call.input}, {"role": "tool", "content": "12"}]
    assert done.output_text == written(chat_model, messages, max_tokens=9)


def test_a_tool_that_is_not_called_changes_nothing(client: Any) -> None:
    done = ask(client, tools=[ADD], tool_choice="none", max_output_tokens=9)
    assert done.output_text == ask(client, max_output_tokens=9).output_text
    assert [tool.name for tool in done.tools] == ["add"]


# ---- what is refused -------------------------------------------------------------------------------------------------

IMAGE = [{"role": "user", "content": [{"type": "input_image", "image_url": "data:,"}]}]


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"input": []}, "input"),
        ({"input": [{"type": "reasoning", "summary": []}]}, "input"),
        ({"input": [{"role": "tool", "content": "x"}]}, "input[0].role"),
        ({"input": IMAGE}, "input[0].content[0].type"),
        ({"input": [{"type": "reasoning", "summary": [], "encrypted_content": "x"}]}, "input[0].encrypted_content"),
        ({"input": [{**HI[0], "nickname": "Ada"}]}, "input[0].nickname"),
        ({"previous_response_id": "resp_1"}, "previous_response_id"),
        ({"conversation": "conv_1"}, "conversation"),
        ({"background": True}, "background"),
        ({"no_such": 1}, "no_such"),
        ({"n": 2}, "n"),
        ({"reasoning": {"effort": "high"}}, "reasoning.effort"),
        ({"text": {"verbosity": "low"}}, "text.verbosity"),
        ({"text": {"format": {"type": "json_schema", "name": "x"}}}, "text.format.schema"),
        ({"text": {"format": {"type": "json_schema", "schema": {"type": "nothing"}}}}, "text.format"),
        ({"text": {"format": {"type": "json_object"}}, "response_format": {"type": "json_object"}}, "response_format"),
        ({"text": {"format": {"type": "json_object"}}, "stop": "x"}, "stop"),
        ({"max_output_tokens": 2, "regex": "[0-9]{99}"}, "max_output_tokens"),
        ({"tools": [{"type": "web_search"}]}, "tools[0]"),
        ({"tools": [ADD]}, "tool_choice"),
        ({"tools": [ADD, YEAR], "tool_choice": "required"}, "tool_choice"),
        ({"tools": [ADD], "tool_choice": {"type": "custom", "name": "sub"}}, "tool_choice.name"),
        ({"tools": [{**ADD, "description": "adds"}], "tool_choice": "required"}, "tools"),
        ({"tools": [{**ADD, "format": {"type": "grammar", "syntax": "lark"}}], "tool_choice": "required"},
         "tools.format.definition"),
        ({"tools": [{**YEAR, "format": {**YEAR["format"], "definition": "[0-9"}}], "tool_choice": "required"},
         "tools[0].format.definition"),
    ],
)  # fmt: skip
def test_what_is_not_kept_to_is_refused(chat: TestClient, fields: dict[str, Any], param: str) -> None:
    answer = chat.post("/v1/responses", json={"input": "Hi!", **fields})
    assert answer.status_code == 400, answer.text
    error = answer.json()["error"]
    assert error["param"] == param, error
    assert "response_format.json" not in error["message"]
    assert chat.post("/v1/responses", json={"input": "Hi!", **fields, "stream": True}).status_code == 400


def test_what_asks_for_nothing_passes(chat: TestClient) -> None:
    idle: dict[str, Any] = {
        "store": True, "background": False, "previous_response_id": None, "truncation": "auto", "user": "Ada",
        "service_tier": "auto", "include": ["reasoning.encrypted_content"], "parallel_tool_calls": True, "tools": [],
        "tool_choice": "auto", "reasoning": {"effort": "none", "summary": None}, "text": {"format": {"type": "text"}},
        "stream_options": {"include_obfuscation": False}, "prompt_cache_key": "x", "max_tool_calls": 3,
    }  # fmt: skip
    fixed = {"input": "Hi!", "seed": 1, "max_output_tokens": 5}
    texts = [chat.post("/v1/responses", json=fixed | more).json()["output"][0]["content"] for more in ({}, idle)]
    assert texts[0] == texts[1]
