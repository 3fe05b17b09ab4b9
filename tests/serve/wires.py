"""Answers of the server's endpoints, whole and streamed, read to what was written: for tests of many kinds at once."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from sfgen.trace import parse_trace


@dataclass
class Written:
    """What one text of an answer has come to.

    Attributes:
        text: The text, without thought and calls.
        thought: The thought before it.
        calls: The calls of tools: the name, and the arguments as JSON or the input as it stands.
        reason: How it ended.
    """

    text: str = ""
    thought: str = ""
    calls: list[list[str]] = field(default_factory=list)
    reason: str | None = None


@dataclass(frozen=True)
class Wire:
    """An endpoint, and how its answers are read.

    Attributes:
        path: Its path.
        whole: Reads a whole answer; ``None``: it has streams alone.
        streamed: Reads the lines of a stream, and checks that it is whole.
    """

    path: str
    whole: Callable[[Any], list[Written]] | None
    streamed: Callable[[list[str]], list[Written]]


def _data(lines: list[str]) -> list[Any]:
    """The chunks of a stream of OpenAI's older endpoints."""
    lines = [line for line in lines if line]
    assert not any(line.startswith("event: error") for line in lines), lines
    assert lines[-1:] == ["data: [DONE]"], "a stream without its end"
    return [json.loads(line.removeprefix("data: ")) for line in lines[:-1]]


def _by_place(chunks: list[Any]) -> dict[int, list[Any]]:
    places: dict[int, list[Any]] = {}
    for chunk in chunks:
        for choice in chunk["choices"]:
            places.setdefault(choice["index"], []).append(choice)
    return places


def _completion(answer: Any) -> list[Written]:
    return [Written(choice["text"], reason=choice["finish_reason"]) for choice in answer["choices"]]


def _completion_stream(lines: list[str]) -> list[Written]:
    return [
        Written("".join(part["text"] for part in parts), reason=parts[-1]["finish_reason"])
        for _, parts in sorted(_by_place(_data(lines)).items())
    ]


def _called(call: Any) -> list[str]:
    return [call["function"]["name"], call["function"]["arguments"]]


def _chat(answer: Any) -> list[Written]:
    return [
        Written(
            choice["message"]["content"] or "",
            choice["message"].get("reasoning_content") or "",
            [_called(call) for call in choice["message"].get("tool_calls", ())],
            choice["finish_reason"],
        )
        for choice in answer["choices"]
    ]


def _chat_stream(lines: list[str]) -> list[Written]:
    told = []
    for _, parts in sorted(_by_place(_data(lines)).items()):
        one = Written(reason=parts[-1]["finish_reason"])
        for delta in (part["delta"] for part in parts):
            one.text += delta.get("content") or ""
            one.thought += delta.get("reasoning_content") or ""
            for call in delta.get("tool_calls", ()):
                if call["index"] == len(one.calls):
                    assert call["id"]
                    one.calls.append(_called(call))
                else:
                    assert call["index"] == len(one.calls) - 1
                    one.calls[-1][1] += call["function"]["arguments"]
        told.append(one)
    return told


def _response(answer: Any) -> list[Written]:
    one = Written(reason=answer["status"])
    for item in answer["output"]:
        match item["type"]:
            case "message":
                one.text += "".join(part["text"] for part in item["content"])
            case "reasoning":
                one.thought += "".join(part["text"] for part in item["content"])
            case "function_call":
                one.calls.append([item["name"], item["arguments"]])
            case "custom_tool_call":
                one.calls.append([item["name"], item["input"]])
    return [one]


_DELTAS = (
    "response.output_text.delta", "response.reasoning_text.delta", "response.function_call_arguments.delta",
    "response.custom_tool_call_input.delta",
)  # fmt: skip


def _response_stream(lines: list[str]) -> list[Written]:
    events = [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    assert events[-1]["type"] in ("response.completed", "response.incomplete"), events[-1]
    told = _response(events[-1]["response"])
    one, of_kind = told[0], dict.fromkeys(_DELTAS, "")
    for event in events:
        if event["type"] in of_kind:
            of_kind[event["type"]] += event["delta"]
    text, thought, *calls = of_kind.values()
    assert (text, thought) == (one.text, one.thought)
    assert "".join(calls) == "".join(call for _, call in one.calls)
    return told


def _trace_stream(lines: list[str]) -> list[Written]:
    recordings = parse_trace(io.BytesIO("".join(line + "\n" for line in lines).encode())).recordings
    told = []
    for recording in recordings:
        result = recording.result
        assert result is not None, recording.failure
        told.append(Written(result.text, reason=str(result.finish_reason)))
    return told


COMPLETIONS = Wire("/v1/completions", _completion, _completion_stream)
CHAT = Wire("/v1/chat/completions", _chat, _chat_stream)
RESPONSES = Wire("/v1/responses", _response, _response_stream)
TRACE = Wire("/v1/trace", None, _trace_stream)
