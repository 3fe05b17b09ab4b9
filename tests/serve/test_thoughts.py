"""The thought before an answer in ``/v1/chat/completions``: told apart, behind it what the request says."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import openai
import pytest
from fastapi.testclient import TestClient
from tests.support.models.thinking import TEMPLATE, Thinker

from sfgen.serve import app

CHAT = "/v1/chat/completions"
HI: list[dict[str, Any]] = [{"role": "user", "content": "Hi!"}]
BEGINS = TEMPLATE.replace("[assistant]{% if", "[assistant]<think>\n{% if")
PASSES_ON = TEMPLATE.replace("enable_thinking is false", "false")
EFFORT = TEMPLATE.replace("effort_is_told", "reasoning_effort is defined")
TOOL: dict[str, Any] = {
    "type": "function",
    "function": {"name": "weather", "parameters": {"properties": {"city": {"enum": ["Rome", "Oslo"]}}}},
}
CALL = '<tool_call>\n{"name": "weather", "arguments": {"city": "Rome"}}\n</tool_call>'


WISHED = "Rome or Oslo?</think>\n\nRome."


@pytest.fixture
def thinker() -> Thinker:
    return Thinker(WISHED)


@pytest.fixture
def client(thinker: Thinker) -> Iterator[TestClient]:
    models = {
        "thinker": thinker,
        "begins": Thinker(WISHED, BEGINS),
        "passes on": Thinker("Rome.", PASSES_ON),
        "effort": Thinker(WISHED, EFFORT),
        "plain": Thinker("Rome.", "[{{ messages[0].content }}][assistant]"),
    }
    with TestClient(app(models), base_url="http://localhost") as started:
        yield started


def post(client: TestClient, **fields: Any) -> dict[str, Any]:
    body = {"messages": HI, "temperature": 0, "max_tokens": 200, **fields}
    answer = client.post(CHAT, json=body)
    assert answer.status_code == 200, answer.text
    whole: dict[str, Any] = answer.json()
    return whole


def ask(client: TestClient, **fields: Any) -> tuple[str | None, str | None, str]:
    """The thought, the answer, and why it has ended."""
    choice = post(client, **fields)["choices"][0]
    return choice["message"].get("reasoning_content"), choice["message"]["content"], choice["finish_reason"]


def refused(client: TestClient, **fields: Any) -> dict[str, Any]:
    answer = client.post(CHAT, json={"messages": HI, **fields})
    assert answer.status_code == 400, answer.text
    error: dict[str, Any] = answer.json()["error"]
    return error


@pytest.mark.parametrize("model", ["thinker", "begins"])
def test_a_thought_is_told_apart(client: TestClient, model: str) -> None:
    assert ask(client, model=model) == ("Rome or Oslo?", "\n\nRome.", "stop")


@pytest.mark.parametrize(
    ("fields", "answer"),
    [
        ({"regex": "[A-Z][a-z]+."}, "Rome."),
        ({"guided_choice": ["Oslo", "Rome"]}, "Rome"),
        ({"grammar": 'root ::= "R" [a-z]{3}'}, "Rome"),
        ({"response_format": {"type": "json_schema", "json_schema": {"schema": {"const": [1]}}}}, "[1]"),
        ({"sfgen": {"template": "In {{city: regex R[a-z]m}}!"}}, "In Ram!"),
    ],
)
def test_a_constraint_holds_for_the_answer(client: TestClient, fields: dict[str, Any], answer: str) -> None:
    assert ask(client, **fields) == ("Rome or Oslo?", answer, "stop")


@pytest.mark.parametrize("model", ["thinker", "begins"])
@pytest.mark.parametrize("choice", ["required", "auto"])
def test_calls_come_behind_the_thought(client: TestClient, thinker: Thinker, choice: str, model: str) -> None:
    thinker.wished = f"A call?</think>{CALL}".encode()
    choice_ = post(client, tools=[TOOL], tool_choice=choice)["choices"][0]
    assert choice_["message"]["reasoning_content"] == "A call?"
    assert choice_["message"]["content"] is None
    assert choice_["finish_reason"] == "tool_calls"
    (call,) = choice_["message"]["tool_calls"]
    assert json.loads(call["function"]["arguments"]) == {"city": "Rome"}


def test_where_thinking_is_off_nothing_is_told_apart(client: TestClient, thinker: Thinker) -> None:
    thinker.wished = b"Rome."
    for fields in (
        {"chat_template_kwargs": {"enable_thinking": False}},
        {"reasoning_effort": "none"},
        {"reasoning_effort": "none", "reasoning_format": "none"},
        {"reasoning_effort": "none", "reasoning_format": "deepseek"},
    ):
        choice = post(client, regex="[A-Z][a-z]+.", **fields)
        assert choice["choices"][0]["message"] == {"role": "assistant", "content": "Rome.", "refusal": None}
        assert "completion_tokens_details" not in choice["usage"]
        assert thinker.asked[-1].endswith("[assistant]<think>\n\n</think>\n\n")


@pytest.mark.parametrize("model", ["passes on", "plain"])
def test_a_model_that_does_not_think_answers_at_once(client: TestClient, model: str) -> None:
    assert ask(client, model=model, regex="[A-Z][a-z]+.") == (None, "Rome.", "stop")
    assert ask(client, model=model, regex="[A-Z][a-z]+.", reasoning_effort="none") == (None, "Rome.", "stop")


def test_what_is_told_of_a_thought_is_chosen(client: TestClient) -> None:
    apart = {"model": "passes on", "reasoning_format": "deepseek", "regex": "Oslo", "thinking_token_budget": 4}
    assert ask(client, **apart) == ("Rome", "Oslo", "stop")
    for fields in ({"reasoning_format": "none"}, {"separate_reasoning": False}):
        assert ask(client, **fields) == (None, "Rome or Oslo?</think>\n\nRome.", "stop")
        assert ask(client, **fields, regex="Rome.*")[0] is None
    assert ask(client, include_reasoning=False) == (None, "\n\nRome.", "stop")
    assert ask(client, reasoning_format="auto") == ask(client)


def test_an_effort_is_told_to_a_template_that_knows_it(client: TestClient) -> None:
    assert ask(client, model="effort", reasoning_effort="high") == ask(client)
    assert ask(client, reasoning_effort="medium") == ask(client)
    assert refused(client, reasoning_effort="high")["param"] == "reasoning_effort"
    assert refused(client, model="begins", reasoning_effort="xhigh")["param"] == "reasoning_effort"


def test_a_limit_within_the_thought(client: TestClient) -> None:
    whole = post(client, max_tokens=4)
    choice = whole["choices"][0]
    assert (choice["message"]["reasoning_content"], choice["message"]["content"]) == ("Rome", "")
    assert choice["finish_reason"] == "length"
    assert whole["usage"]["completion_tokens"] == 4
    assert whole["usage"]["completion_tokens_details"] == {"reasoning_tokens": 4}


def test_a_limit_leaves_room_for_an_answer(client: TestClient) -> None:
    whole = post(client, max_tokens=15, regex="[A-Z][a-z]{3,}")
    assert whole["usage"]["completion_tokens"] == 15
    choice = whole["choices"][0]
    assert choice["finish_reason"] == "stop"
    assert len(choice["message"]["reasoning_content"]) == 15 - len("</think>") - 4
    assert re.fullmatch("[A-Z][a-z]{3}", choice["message"]["content"])
    assert refused(client, max_tokens=11, regex="[A-Z][a-z]{3,}")["param"] == "max_tokens"
    assert ask(client, max_tokens=12, regex="[A-Z][a-z]{3,}")[0] == ""


def test_a_budget_of_the_thought(client: TestClient) -> None:
    for name in ("thinking_token_budget", "thinking_budget_tokens"):
        assert ask(client, regex="Rome.", **{name: 4}) == ("Rome", "Rome.", "stop")
        assert ask(client, regex="Rome.", **{name: -1} if "tokens" in name else {}) == (
            "Rome or Oslo?",
            "Rome.",
            "stop",
        )


def test_usage_tells_the_tokens_of_the_thought(client: TestClient) -> None:
    usage = post(client, regex="Rome.")["usage"]
    assert usage["completion_tokens_details"]["reasoning_tokens"] == len("Rome or Oslo?</think>")
    assert usage["completion_tokens"] == len("Rome or Oslo?</think>Rome.")


def test_stop_texts_end_the_answer_alone(client: TestClient) -> None:
    assert ask(client, stop=["R", "me"]) == ("Rome or Oslo?", "\n\n", "stop")


def test_bans_hold_for_both(client: TestClient) -> None:
    thought, answer, _ = ask(client, regex="[A-Z][a-z]+.", banned_strings=["Rome"])
    assert thought is not None
    assert answer is not None
    assert "Rome" not in thought + answer
    assert re.fullmatch("[A-Z][a-z]+.", answer)
    thought, answer, _ = ask(client, banned_strings=["Rome"])
    assert "Rome" not in f"{thought}{answer}"
    assert "'</think>'" in refused(client, banned_strings=["think"])["message"]
    assert ask(client, banned_strings=["think"], sfgen={"allow": ["</think>"]}) == ask(client)


def test_log_probabilities_are_of_the_answer(client: TestClient) -> None:
    for fields in ({}, {"regex": "Rome."}, {"max_tokens": 4}):
        choice = post(client, logprobs=True, top_logprobs=2, **fields)["choices"][0]
        tokens = "".join(entry["token"] for entry in choice["logprobs"]["content"])
        assert tokens == choice["message"]["content"]
        told, logprobs = "", list[Any]()
        for chunk in chunks(client, logprobs=True, top_logprobs=2, **fields):
            told += chunk["delta"].get("content", "")
            logprobs += chunk["logprobs"]["content"] if chunk["logprobs"] else []
            assert told.startswith("".join(entry["token"] for entry in logprobs))
        assert logprobs == choice["logprobs"]["content"]


def chunks(client: TestClient, **fields: Any) -> list[dict[str, Any]]:
    body = {"messages": HI, "temperature": 0, "max_tokens": 200, "stream": True, **fields}
    with client.stream("POST", CHAT, json=body) as answer:
        lines = [line.removeprefix("data: ") for line in answer.iter_lines() if line]
    return [json.loads(line)["choices"][0] for line in lines[:-1]]


@pytest.mark.parametrize("fields", [{}, {"regex": "Rome."}, {"max_tokens": 4}, {"n": 3}])
def test_a_stream_tells_the_same(client: TestClient, fields: dict[str, Any]) -> None:
    whole = post(client, **fields)["choices"]
    told = chunks(client, **fields)
    for choice in whole:
        mine = [chunk for chunk in told if chunk["index"] == choice["index"]]
        deltas = [chunk["delta"] for chunk in mine]
        thoughts = [delta["reasoning_content"] for delta in deltas if "reasoning_content" in delta]
        contents = [place for place, delta in enumerate(deltas) if delta.get("content")]
        last_thought = max(place for place, delta in enumerate(deltas) if "reasoning_content" in delta)
        assert len(thoughts) > 1
        assert "".join(thoughts) == choice["message"]["reasoning_content"]
        assert "".join(delta.get("content", "") for delta in deltas) == choice["message"]["content"]
        assert all(place > last_thought for place in contents)
        assert mine[-1]["finish_reason"] == choice["finish_reason"]


def test_a_thought_comes_back_in(client: TestClient, thinker: Thinker) -> None:
    for name in ("reasoning_content", "reasoning"):
        ask(client, messages=[*HI, {"role": "assistant", "content": "Rome.", name: "Hm."}, *HI])
        assert "[assistant]<think>\nHm.\n</think>\n\nRome.[/]" in thinker.asked[-1]
    ask(client, messages=[*HI, {"role": "assistant", "content": "Rome.", "reasoning_content": ""}, *HI])
    assert "[assistant]Rome.[/]" in thinker.asked[-1]
    error = refused(client, messages=[{**HI[0], "reasoning_content": "Hm."}])
    assert error["param"] == "messages[0].reasoning_content"
    message = {"role": "assistant", "content": "Rome.", "reasoning_content": "Hm.", "reasoning": "Oh."}
    assert refused(client, messages=[*HI, message, *HI])["param"] == "messages[1].reasoning"


def test_an_answer_that_is_begun_has_no_thought(client: TestClient, thinker: Thinker) -> None:
    thinker.wished = b"In Rome."
    messages = [*HI, {"role": "assistant", "content": "In "}]
    assert ask(client, messages=messages, regex="Rome.*") == (None, "Rome.", "stop")


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"sfgen": {"strategy": "exact"}, "regex": "Rome."}, "sfgen.strategy"),
        ({"banned_tokens": [ord(">")]}, "banned_tokens"),
        ({"banned_strings": ["think"]}, "banned_strings"),
        ({"reasoning_format": "none", "separate_reasoning": True}, None),
        ({"reasoning_format": "deepseek", "separate_reasoning": False}, "separate_reasoning"),
        ({"reasoning_in_content": True}, "reasoning_in_content"),
        ({"reasoning_effort": "low", "chat_template_kwargs": {"reasoning_effort": "high"}}, "reasoning_effort"),
        ({"model": "begins", "messages": HI, "reasoning_effort": "none"}, None),
    ],
)
def test_what_cannot_be_kept_to_is_refused(client: TestClient, fields: dict[str, Any], param: str | None) -> None:
    if param is None:
        ask(client, **fields)
    else:
        assert refused(client, **fields)["param"] == param


def test_openai_s_client(client: TestClient) -> None:
    asking = openai.OpenAI(base_url="http://localhost/v1", api_key="none", http_client=client)
    fields: Any = {"messages": HI, "temperature": 0, "extra_body": {"regex": "Rome."}}
    done = asking.chat.completions.create(model="thinker", **fields)
    message: Any = done.choices[0].message
    assert (message.reasoning_content, message.content) == ("Rome or Oslo?", "Rome.")
    assert done.usage is not None
    assert done.usage.completion_tokens_details is not None
    assert done.usage.completion_tokens_details.reasoning_tokens == 21
    with asking.chat.completions.stream(model="thinker", **fields) as stream:
        deltas: Any = [event.chunk.choices[0].delta for event in stream if event.type == "chunk"]
        final: Any = stream.get_final_completion().choices[0].message
    assert "".join(getattr(delta, "reasoning_content", None) or "" for delta in deltas) == "Rome or Oslo?"
    assert (final.content, final.reasoning_content) == ("Rome.", "Rome or Oslo?")


def test_a_trace_has_the_thought(client: TestClient) -> None:
    answer = client.post("/v1/trace", json={"messages": HI, "temperature": 0, "regex": "Rome."})
    assert answer.status_code == 200, answer.text
    lines = [json.loads(line) for line in answer.text.splitlines()]
    assert any("</think>" in json.dumps(line) for line in lines)
    assert any("Rome or Oslo?" in json.dumps(line) for line in lines)


# ---- /v1/responses ---------------------------------------------------------------------------------------------------


def respond(client: TestClient, **fields: Any) -> dict[str, Any]:
    answer = client.post("/v1/responses", json={"input": "Hi!", "temperature": 0, **fields})
    assert answer.status_code == 200, answer.text
    whole: dict[str, Any] = answer.json()
    return whole


def test_a_thought_is_an_item_of_a_response(client: TestClient) -> None:
    whole = respond(client, regex="Rome.")
    thought, message = whole["output"]
    assert thought["content"] == [{"type": "reasoning_text", "text": "Rome or Oslo?"}]
    assert (thought["type"], thought["summary"], thought["status"]) == ("reasoning", [], "completed")
    assert message["content"][0]["text"] == "Rome."
    assert whole["usage"]["output_tokens_details"] == {"reasoning_tokens": 21}
    (cut,) = (whole := respond(client, max_output_tokens=4))["output"]
    assert (cut["type"], cut["status"], whole["status"]) == ("reasoning", "incomplete", "incomplete")
    assert cut["content"][0]["text"] == "Rome"


def test_a_response_without_a_thought(client: TestClient, thinker: Thinker) -> None:
    thinker.wished = b"Rome."
    for fields in ({"reasoning": {"effort": "none"}}, {"chat_template_kwargs": {"enable_thinking": False}}):
        (message,) = respond(client, **fields)["output"]
        assert message["content"][0]["text"] == "Rome."
    told = {"input": "Hi!", "reasoning": {"effort": "high"}}
    assert client.post("/v1/responses", json=told).json()["error"]["param"] == "reasoning.effort"
    assert respond(client, model="effort", reasoning={"effort": "high"})["reasoning"]["effort"] == "high"


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"regex": "Rome."},
        {"max_output_tokens": 4},
        {"include": ["message.output_text.logprobs"]},
        {"tools": [{"type": "custom", "name": "look"}], "tool_choice": {"type": "custom", "name": "look"}},
        {"tools": [{"type": "function", **TOOL["function"]}], "tool_choice": "required"},
    ],
)
def test_openai_s_client_reads_the_stream_of_a_response(client: TestClient, fields: dict[str, Any]) -> None:
    asking = openai.OpenAI(base_url="http://localhost/v1", api_key="none", http_client=client)
    extra = {"regex": fields["regex"]} if "regex" in fields else None
    named: Any = {name: value for name, value in fields.items() if name != "regex"}
    with asking.responses.stream(model="thinker", input="Hi!", temperature=0, extra_body=extra, **named) as stream:
        events: Any = list(stream)
    final = events[-1].response
    whole = respond(client, **fields)
    assert [item.type for item in final.output] == [item["type"] for item in whole["output"]]
    assert [event.sequence_number for event in events] == list(range(len(events)))
    deltas = [event for event in events if event.type == "response.reasoning_text.delta"]
    (done,) = [event for event in events if event.type == "response.reasoning_text.done"]
    assert len(deltas) > 1
    assert all((each.output_index, each.content_index, each.item_id) == (0, 0, final.output[0].id) for each in deltas)
    thought = whole["output"][0]["content"][0]["text"]
    assert "".join(each.delta for each in deltas) == done.text == final.output[0].content[0].text == thought
    ended = [event.item.model_dump(exclude_none=True) for event in events if event.type == "response.output_item.done"]
    for told, item in zip(ended, whole["output"], strict=True):
        left_out = dict.fromkeys(("id", "call_id", "namespace"))
        assert {**told, **left_out}.items() >= {**item, **left_out}.items()


@pytest.mark.parametrize("told", [{"content": [{"type": "reasoning_text", "text": "Hm."}]}, {"summary": "Hm."}])
def test_thoughts_stand_in_the_input(client: TestClient, thinker: Thinker, told: dict[str, Any]) -> None:
    if "summary" in told:
        told = {"summary": [{"type": "summary_text", "text": told["summary"]}]}
    thought = {"type": "reasoning", "id": "rs_1", "summary": [], **told}
    question, answer = {"role": "user", "content": "Hi!"}, {"role": "assistant", "content": "Rome."}
    before = "[assistant]<think>\nHm.\n</think>\n\n"
    respond(client, input=[question, thought, answer, question])
    assert f"{before}Rome.[/][user]" in thinker.asked[-1]
    call = {"type": "custom_tool_call", "name": "look", "input": "Oslo", "call_id": "1"}
    respond(client, input=[question, thought, call, question])
    assert f"{before}Oslo[/][user]" in thinker.asked[-1]
    respond(client, input=[question, thought, question])
    assert f"{before}[/][user]" in thinker.asked[-1]
    respond(client, input=[question, {"type": "reasoning", "id": "rs_1", "summary": []}, answer, question])
    assert "[user]Hi![/][assistant]Rome.[/][user]" in thinker.asked[-1]
    again = respond(client)["output"]
    respond(client, input=[question, *again, question])
    assert "[assistant]<think>\nRome or Oslo?\n</think>\n\n\n\nRome.[/]" in thinker.asked[-1]
