"""Functions in ``/v1/chat/completions``: which may be called, the calls in answers, and calls in conversations."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import Any

import openai
import pytest
from fastapi.testclient import TestClient
from tests.support.models.caller import CALL, Caller, Template

from sfgen.errors import UsageError
from sfgen.models.messages import checked_messages
from sfgen.models.prompt import Prompts
from sfgen.serve import app
from sfgen.trace import parse_trace

CHAT = "/v1/chat/completions"
TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": "weather",
            "description": "Tells the weather.",
            "parameters": {"properties": {"city": {"enum": ["Rome", "Oslo"]}}, "required": ["city"]},
            "strict": True,
        },
    },
    {"type": "function", "function": {"name": "stop"}},
]
HI: list[dict[str, Any]] = [{"role": "user", "content": "Hi!"}]


@pytest.fixture
def caller() -> Caller:
    return Caller("I look. " + CALL)


@pytest.fixture
def client(caller: Caller) -> Iterator[TestClient]:
    twice, between = Caller(CALL + "\n" + CALL), Caller(f"A{CALL}B{CALL}C")
    models = {"caller": caller, "twice": twice, "between": between, "formless": Caller("x", None)}
    with TestClient(app(models), base_url="http://localhost") as started:
        yield started


def ask(client: TestClient, **fields: Any) -> dict[str, Any]:
    body = {"messages": HI, "tools": TOOLS, "temperature": 0, "max_tokens": 200, **fields}
    answer = client.post(CHAT, json=body)
    assert answer.status_code == 200, answer.text
    choice: dict[str, Any] = answer.json()["choices"][0]
    return choice


def refused(client: TestClient, **fields: Any) -> dict[str, Any]:
    answer = client.post(CHAT, json={"messages": HI, "tools": TOOLS, **fields})
    assert answer.status_code == 400, answer.text
    error: dict[str, Any] = answer.json()["error"]
    return error


def allowed(mode: str, *names: str) -> dict[str, Any]:
    tools = [{"type": "function", "function": {"name": name}} for name in names]
    return {"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": tools}}


def functions(choice: dict[str, Any]) -> list[tuple[str, Any]]:
    calls = choice["message"].get("tool_calls", [])
    assert all(call["type"] == "function" and call["id"] for call in calls)
    return [(call["function"]["name"], json.loads(call["function"]["arguments"])) for call in calls]


def test_a_model_may_call_what_it_is_told_of(client: TestClient, caller: Caller) -> None:
    choice = ask(client)
    assert functions(choice) == [("weather", {"city": "Rome"})]
    assert (choice["message"]["content"], choice["finish_reason"]) == ("I look. ", "tool_calls")
    assert "Tells the weather." in caller.asked[-1]
    assert "strict" not in caller.asked[-1]


def test_a_model_may_call_nothing(client: TestClient, caller: Caller) -> None:
    caller.wished = b"No call < here."
    choice = ask(client, tool_choice="auto")
    assert choice["message"] == {"role": "assistant", "content": "No call < here.", "refusal": None}
    assert choice["finish_reason"] == "stop"


@pytest.mark.parametrize("choice", ["required", {"type": "function", "function": {"name": "weather"}}])
def test_a_call_is_required(client: TestClient, choice: Any) -> None:
    done = ask(client, tool_choice=choice)
    assert functions(done) == [("weather", {"city": "Rome"})]
    assert (done["message"]["content"], done["finish_reason"]) == (None, "tool_calls")


def test_the_named_function_is_called(client: TestClient) -> None:
    done = ask(client, tool_choice={"type": "function", "function": {"name": "stop"}})
    assert functions(done) == [("stop", {})]


@pytest.mark.parametrize("mode", ["auto", "required"])
def test_some_of_the_tools_are_allowed(client: TestClient, caller: Caller, mode: str) -> None:
    done = ask(client, tool_choice=allowed(mode, "stop"))
    assert functions(done) in ([("stop", {})], [])
    assert bool(functions(done)) or mode == "auto"
    assert "Tells the weather." in caller.asked[-1]


def test_none_is_called(client: TestClient, caller: Caller) -> None:
    caller.wished = b"Hello."
    done = ask(client, tool_choice="none")
    assert done["message"]["content"] == "Hello."
    assert "weather" not in caller.asked[-1]


@pytest.mark.parametrize("choice", ["auto", "required"])
def test_calls_beside_each_other(client: TestClient, choice: str) -> None:
    both = ask(client, model="twice", tool_choice=choice)
    assert functions(both) == [("weather", {"city": "Rome"})] * 2
    assert len({call["id"] for call in both["message"]["tool_calls"]}) == 2


@pytest.mark.parametrize(("model", "choice"), [("twice", "auto"), ("twice", "required"), ("between", "auto")])
def test_one_call_alone(client: TestClient, model: str, choice: str) -> None:
    alone = ask(client, model=model, tool_choice=choice, parallel_tool_calls=False)
    assert functions(alone) == [("weather", {"city": "Rome"})]
    assert alone["message"]["content"] == (None if model == "twice" else "A")
    assert alone["finish_reason"] == "tool_calls"
    assert len(functions(ask(client, model=model, tool_choice=choice))) == 2


def test_no_call_where_one_alone_may_be(client: TestClient, caller: Caller) -> None:
    caller.wished = b"No call < here."
    assert ask(client, parallel_tool_calls=False)["message"]["content"] == "No call < here."


def test_without_a_form_a_call_can_be_required(client: TestClient) -> None:
    assert functions(ask(client, model="formless", tool_choice="required"))
    error = refused(client, model="formless")
    assert error["param"] == "tool_choice"


@pytest.mark.parametrize("choice", ["auto", "required"])
def test_a_stream_tells_the_same(client: TestClient, choice: str) -> None:
    whole = ask(client, tool_choice=choice)
    body = {"messages": HI, "tools": TOOLS, "temperature": 0, "max_tokens": 200, "tool_choice": choice, "stream": True}
    with client.stream("POST", CHAT, json=body) as answer:
        lines = [line.removeprefix("data: ") for line in answer.iter_lines() if line]
    chunks = [json.loads(line)["choices"][0] for line in lines[:-1]]
    content = "".join(chunk["delta"].get("content", "") for chunk in chunks)
    calls = [call for chunk in chunks for call in chunk["delta"].get("tool_calls", ())]
    assert content == (whole["message"]["content"] or "")
    assert calls[0]["function"] == {"name": "weather", "arguments": ""}
    given = [call["function"]["arguments"] for call in calls[1:]]
    assert len(given) > 1
    assert [("weather", json.loads("".join(given)))] == functions(whole)
    assert chunks[-1]["finish_reason"] == "tool_calls"
    assert all(chunk["finish_reason"] is None for chunk in chunks[:-1])


def test_calls_in_a_conversation_are_told_to_the_model(client: TestClient, caller: Caller) -> None:
    call = ask(client, tool_choice="required")["message"]["tool_calls"][0]
    messages = [
        *HI,
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": call["id"], "content": "Sunny."},
    ]
    ask(client, messages=messages)
    assert f"[assistant ]{CALL}[/][tool {call['id']}]Sunny.[/][assistant]" in caller.asked[-1]


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"tools": [{"type": "custom"}]}, "tools[0].type"),
        ({"tools": [TOOLS[0], TOOLS[0]]}, "tools"),
        ({"tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "robot"}}}]}, "tools"),
        ({"tools": [], "tool_choice": "required"}, "tool_choice"),
        ({"tool_choice": {"type": "function", "function": {"name": "f"}}}, "tool_choice.function.name"),
        ({"tool_choice": {"type": "function"}}, "tool_choice.function"),
        ({"tool_choice": "always"}, "tool_choice"),
        ({"tool_choice": allowed("auto", "f")}, "tool_choice.allowed_tools.tools.function.name"),
        ({"tool_choice": allowed("required")}, "tool_choice"),
        ({"stop": "x"}, "stop"),
        ({"regex": "x"}, "regex"),
        ({"response_format": {"type": "json_object"}}, "response_format"),
        ({"tool_choice": "required", "max_tokens": 3}, "max_tokens"),
        ({"messages": [{**HI[0], "tool_call_id": "x"}]}, "messages[0].tool_call_id"),
        (
            {"messages": [*HI, {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "["}}]}]},
            "messages[1].tool_calls[0].function.arguments",
        ),
    ],
)
def test_what_cannot_be_kept_to_is_refused(client: TestClient, fields: dict[str, Any], param: str) -> None:
    assert refused(client, **fields)["param"] == param


def test_banned_words_are_in_no_argument(client: TestClient) -> None:
    assert functions(ask(client, tool_choice="required", banned_strings=["Rome"])) == [("weather", {"city": "Oslo"})]


def test_openai_s_client_puts_a_stream_together(client: TestClient) -> None:
    fields: Any = {"messages": HI, "tools": TOOLS, "temperature": 0, "max_tokens": 200}
    asking = openai.OpenAI(base_url="http://localhost/v1", api_key="none", http_client=client)
    with asking.chat.completions.stream(model="caller", **fields) as stream:
        done = stream.get_final_completion().choices[0]
    assert done.finish_reason == "tool_calls"
    assert done.message.tool_calls is not None
    assert done.message.tool_calls[0].function.parsed_arguments == {"city": "Rome"}


def test_a_trace_has_calls(client: TestClient) -> None:
    answer = client.post("/v1/trace", json={"messages": HI, "tools": TOOLS, "temperature": 0, "max_tokens": 200})
    assert answer.status_code == 200, answer.text
    (recording,) = parse_trace(io.BytesIO(answer.content)).recordings
    assert recording.result is not None
    assert recording.result.text == "I look. " + CALL


# ---- chat templates --------------------------------------------------------------------------------------------------

TALK = [*HI, {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "f", "arguments": {"a": 1}}}]}]


def test_a_template_may_take_arguments_as_json() -> None:
    class OfText(Template):
        def rendered(self, messages: Any, tools: Any, variables: Any = None, *, begins_answer: bool) -> str:
            calls = [call["function"] for each in messages for call in each.get("tool_calls", ())]
            return "Hi!" + "".join(call["name"] + call["arguments"] for call in calls)

    assert Prompts(OfText(), "of text").chat(TALK).text == 'Hi!f{"a": 1}'


def test_a_template_that_leaves_calls_out_is_told_of() -> None:
    class Without(Template):
        def rendered(self, messages: Any, tools: Any, variables: Any = None, *, begins_answer: bool) -> str:
            return "".join(each["content"] for each in messages)

    with pytest.raises(UsageError, match="leaves the calls of the message"):
        Prompts(Without(), "without").chat(TALK)


@pytest.mark.parametrize(
    ("message", "why"),
    [
        ({"role": "user", "content": "x", "tool_calls": []}, "tool_calls is for the role assistant"),
        ({"role": "assistant", "content": "x", "tool_call_id": "1"}, "tool_call_id is for the role tool"),
        ({"role": "assistant", "content": "x", "tool_calls": ["f"]}, "a call"),
        (
            {"role": "assistant", "content": "x", "tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]},
            "arguments",
        ),
    ],
)
def test_a_message_whose_calls_have_no_form_is_refused(message: Any, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        checked_messages([message])
