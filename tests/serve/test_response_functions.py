"""Functions in ``/v1/responses`` with OpenAI's own client: calls in answers and streams, and in the conversation."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Literal

import openai
import pydantic
import pytest
from fastapi.testclient import TestClient
from tests.support.models.caller import CALL, Caller

from sfgen.serve import app

HI: Any = [{"role": "user", "content": "Hi!"}]
WEATHER: Any = {
    "type": "function",
    "name": "weather",
    "description": "Tells the weather.",
    "parameters": {"properties": {"city": {"enum": ["Rome", "Oslo"]}}, "required": ["city"]},
    "strict": True,
}
STOP: Any = {"type": "function", "name": "stop"}
SAY: Any = {"type": "custom", "name": "say"}
TOOLS = [WEATHER, STOP]


class Weather(pydantic.BaseModel):
    city: Literal["Rome", "Oslo"]


@pytest.fixture
def caller() -> Caller:
    return Caller("I look. " + CALL)


@pytest.fixture
def served(caller: Caller) -> Iterator[TestClient]:
    models = {"caller": caller, "twice": Caller(CALL + "\n" + CALL), "between": Caller(f"A{CALL}B{CALL}C")}
    with TestClient(app(models), base_url="http://localhost") as started:
        yield started


@pytest.fixture
def client(served: TestClient) -> Any:
    return openai.OpenAI(base_url="http://localhost/v1", api_key="none", http_client=served, max_retries=0)


def ask(client: Any, given: Any = "Hi!", *, model: str = "caller", **fields: Any) -> Any:
    given = {"model": model, "input": given, "temperature": 0, "max_output_tokens": 300, "tools": TOOLS} | fields
    return client.responses.create(**given)


def told(output: Any) -> list[Any]:
    """The items of an output: texts, and calls."""
    assert all(item.status == "completed" for item in output)
    assert len({item.id for item in output}) == len(output)
    return [
        item.content[0].text if item.type == "message" else (item.name, json.loads(item.arguments)) for item in output
    ]


def allowed(mode: str, *names: str) -> Any:
    return {"type": "allowed_tools", "mode": mode, "tools": [{"type": "function", "name": name} for name in names]}


def test_a_model_may_call_what_it_is_told_of(client: Any, caller: Caller) -> None:
    done = ask(client)
    assert told(done.output) == ["I look. ", ("weather", {"city": "Rome"})]
    assert (done.status, done.incomplete_details, done.parallel_tool_calls) == ("completed", None, True)
    assert done.output[1].call_id
    assert [(tool.type, tool.name) for tool in done.tools] == [("function", "weather"), ("function", "stop")]
    assert "Tells the weather." in caller.asked[-1]


def test_a_model_may_call_nothing(client: Any, caller: Caller) -> None:
    caller.wished = b"No call < here."
    assert told(ask(client, tool_choice="auto").output) == ["No call < here."]
    caller.wished = b""
    assert told(ask(client).output) == [""]


@pytest.mark.parametrize(
    ("choice", "call"),
    [
        ("required", ("weather", {"city": "Rome"})),
        ({"type": "function", "name": "weather"}, ("weather", {"city": "Rome"})),
        ({"type": "function", "name": "stop"}, ("stop", {})),
        (allowed("required", "stop"), ("stop", {})),
        (allowed("required", "stop", "weather"), ("weather", {"city": "Rome"})),
    ],
)
def test_a_call_is_required(client: Any, choice: Any, call: Any) -> None:
    done = ask(client, tool_choice=choice)
    assert told(done.output) == [call]
    assert done.tool_choice == choice or done.tool_choice.model_dump(exclude_none=True) == choice


def test_none_is_called(client: Any, caller: Caller) -> None:
    caller.wished = b"Hello."
    assert told(ask(client, tool_choice="none").output) == ["Hello."]
    assert "weather" not in caller.asked[-1]
    assert told(ask(client, tool_choice=allowed("auto")).output) == ["Hello."]


def test_several_calls(client: Any) -> None:
    call = "weather", {"city": "Rome"}
    both = ask(client, model="twice", tool_choice="required")
    assert told(both.output) == [call, call]
    assert both.output[0].call_id != both.output[1].call_id
    assert told(ask(client, model="twice", tool_choice="required", parallel_tool_calls=False).output) == [call]
    assert told(ask(client, model="between").output) == ["A", call, "B", call, "C"]
    alone = ask(client, model="between", parallel_tool_calls=False)
    assert (told(alone.output), alone.parallel_tool_calls) == (["A", call], False)


@pytest.mark.parametrize(
    ("model", "choice"), [("caller", "auto"), ("caller", "required"), ("twice", "required"), ("between", "auto")]
)
def test_a_stream_tells_the_same(client: Any, model: str, choice: str) -> None:
    whole = ask(client, model=model, tool_choice=choice)
    events = list(ask(client, model=model, tool_choice=choice, stream=True))
    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert (events[0].type, events[-1].type) == ("response.created", "response.completed")
    assert told(events[-1].response.output) == told(whole.output)
    begun = [event for event in events if event.type == "response.output_item.added"]
    ended = [event for event in events if event.type == "response.output_item.done"]
    assert [event.item for event in ended] == events[-1].response.output
    for place, (first, last) in enumerate(zip(begun, ended, strict=True)):
        assert (first.output_index, last.output_index) == (place, place)
        assert (first.item.id, first.item.status) == (last.item.id, "in_progress")
        inside = events[events.index(first) + 1 : events.index(last)]
        assert all((event.item_id, event.output_index) == (last.item.id, place) for event in inside)
        deltas = [event.delta for event in inside if event.type.endswith(".delta")]
        if last.item.type == "message":
            assert [first.item.content, "".join(deltas)] == [[], last.item.content[0].text]
            continue
        assert (first.item.name, first.item.arguments) == ("weather", "")
        assert {event.type for event in inside[:-1]} == {"response.function_call_arguments.delta"}
        assert (inside[-1].type, inside[-1].arguments) == ("response.function_call_arguments.done", "".join(deltas))
        assert (last.item.arguments, len(deltas) > 1) == ("".join(deltas), True)


def test_openai_s_client_puts_a_stream_together(client: Any) -> None:
    fields: Any = {"model": "caller", "input": "Hi!", "temperature": 0, "tools": TOOLS}
    with client.responses.stream(**fields) as stream:
        snapshots = [event.snapshot for event in stream if event.type == "response.function_call_arguments.delta"]
        done = stream.get_final_response()
    assert snapshots[-1] == done.output[1].arguments
    assert told(done.output) == ["I look. ", ("weather", {"city": "Rome"})]


def test_openai_s_client_parses_arguments(client: Any) -> None:
    tool = openai.pydantic_function_tool(Weather, name="weather")
    flat: Any = {"type": "function", **tool["function"]}
    done = client.responses.parse(model="caller", input="Hi!", temperature=0, tools=[flat], tool_choice="required")
    assert done.output[0].parsed_arguments == {"city": "Rome"}


def test_calls_and_what_functions_answered_are_told_to_the_model(client: Any, caller: Caller) -> None:
    first = ask(client)
    call = first.output[1]
    answer = {"type": "function_call_output", "call_id": call.call_id, "output": "Sunny."}
    caller.wished = b"It is sunny."
    assert told(ask(client, [*HI, *first.output, answer]).output) == ["It is sunny."]
    assert f"[user ]Hi![/][assistant ]I look. {CALL}[/][tool {call.call_id}]Sunny.[/][assistant]" in caller.asked[-1]
    parts = [{"type": "input_text", "text": "Su"}, {"type": "input_text", "text": "nny."}]
    calls = [{"type": "function_call", "call_id": n, "name": "weather", "arguments": '{"city": "Rome"}'} for n in "ab"]
    ask(client, [*HI, *calls, {**answer, "call_id": "a", "output": parts}, {**answer, "call_id": "b"}])
    assert f"[assistant ]{CALL}\n{CALL}[/][tool a]Su\nnny.[/][tool b]Sunny.[/][assistant]" in caller.asked[-1]


def test_a_custom_tool_beside_functions_is_called_by_its_name(client: Any) -> None:
    (call,) = ask(client, tools=[*TOOLS, SAY], tool_choice={"type": "custom", "name": "say"}).output
    assert (call.type, call.name) == ("custom_tool_call", "say")
    done = ask(client, tools=[*TOOLS, SAY], tool_choice=allowed("auto", "weather", "stop"))
    assert told(done.output) == ["I look. ", ("weather", {"city": "Rome"})]


ASKED = {"type": "function_call", "call_id": "a", "name": "f", "arguments": "["}


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"tools": [{"type": "web_search"}]}, "tools[0]"),
        ({"tools": [{"type": "function"}]}, "tools[0].name"),
        ({"tools": [WEATHER, WEATHER]}, "tools"),
        ({"tools": [{**STOP, "parameters": {"type": "robot"}}]}, "tools"),
        ({"tools": [{**STOP, "defer_loading": True}]}, "tools[0].defer_loading"),
        ({"tools": [], "tool_choice": "required"}, "tool_choice"),
        ({"tools": [*TOOLS, SAY]}, "tool_choice"),
        ({"tool_choice": {"type": "function", "name": "f"}}, "tool_choice.name"),
        ({"tool_choice": {"type": "custom", "name": "stop"}}, "tool_choice.name"),
        ({"tool_choice": {"type": "function"}}, "tool_choice.name"),
        ({"tool_choice": {"type": "web_search"}}, "tool_choice.type"),
        ({"tool_choice": allowed("auto", "stop", "f")}, "tool_choice.tools[1].name"),
        ({"tool_choice": allowed("required")}, "tool_choice"),
        ({"stop": "x"}, "stop"),
        ({"text": {"format": {"type": "json_object"}}}, "text.format"),
        ({"include": ["message.output_text.logprobs"]}, "include"),
        ({"tool_choice": "required", "max_output_tokens": 3}, "max_output_tokens"),
        ({"input": [*HI, ASKED]}, "input[1].arguments"),
        ({"input": [*HI, {**ASKED, "name": None}]}, "input[1].name"),
    ],
)
def test_what_cannot_be_kept_to_is_refused(served: TestClient, fields: dict[str, Any], param: str) -> None:
    for stream in (False, True):
        body = {"input": "Hi!", "tools": TOOLS, "temperature": 0, "stream": stream, **fields}
        answer = served.post("/v1/responses", json=body)
        assert answer.status_code == 400, answer.text
        assert answer.json()["error"]["param"] == param, answer.text
