"""Calls in a stream, in every form: the parts together are the calls of the whole text, however it is divided."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from sfgen import ToolCalls
from sfgen.models.tool_forms import ARGUMENTS, NAME, NAMED, Arguments, Slot, ToolForm
from sfgen.serve.calls import CallStream, joined

TOOLS: list[dict[str, Any]] = [
    {"name": "look", "parameters": {"properties": {"city": {"type": "string"}, "days": {"type": "integer"}}}},
    {"name": "look_up", "parameters": {"properties": {"x": {"type": "object"}, "deep": {"type": "boolean"}}}},
    {"name": "stop"},
]
CALLS: list[dict[str, Any]] = [
    {"name": "look_up", "arguments": {"deep": True}},
    {"name": "look", "arguments": {"city": "Köln {am} [Rhein]", "days": 12}},
    {"name": "stop", "arguments": {}},
]


def pieces(text: str, seed: int) -> list[str]:
    """A text in pieces of one to seven characters."""
    chance, found = random.Random(seed), []
    while text:
        size = chance.randint(1, 7)
        found.append(text[:size])
        text = text[size:]
    return found


def told(calls: ToolCalls, text: str, seed: int) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The message of a text that comes in pieces, and its parts."""
    stream = CallStream(calls)
    parts = [part for piece in pieces(text, seed) for part in stream.read(piece)]
    parts += stream.read("", is_last=True)
    return joined(iter(parts)), parts


def written(message: dict[str, Any]) -> list[dict[str, Any]]:
    functions = [call["function"] for call in message.get("tool_calls", ())]
    return [{"name": each["name"], "arguments": json.loads(each["arguments"])} for each in functions]


@pytest.mark.parametrize("name", NAMED)
@pytest.mark.parametrize("seed", range(5))
def test_calls_alone(name: str, seed: int) -> None:
    form = NAMED[name]
    given = CALLS[seed % 3 :] if form.separator is not None else CALLS[seed % 3 :][:1]
    calls = ToolCalls(TOOLS, name, at_most=None if form.separator is not None else 1)
    text = form.text(given)
    assert calls.calls(text) == given
    message, parts = told(calls, text, seed)
    assert written(message) == given
    assert message["content"] is None
    assert not any("content" in part for part in parts)
    ids = [call["id"] for call in message["tool_calls"]]
    assert len(set(ids)) == len(given)
    assert all(len(each) == 9 for each in ids) or Slot.ID not in form.call


@pytest.mark.parametrize("name", [name for name, form in NAMED.items() if form.begin])
@pytest.mark.parametrize("seed", range(5))
def test_calls_in_free_text(name: str, seed: int) -> None:
    form = NAMED[name]
    given = CALLS[seed % 3 :] if form.separator is not None else CALLS[seed % 3 :][:1]
    calls = ToolCalls(TOOLS, name, at_most=None, in_text=True)
    before, mark = ("", "Well <tool", "a < b { ")[seed % 3], form.first_mark
    after = "" if form.lead else " and <so {on"
    text = before + (form.lead if before else "") + form.text(given) + after
    assert text.count(mark) >= 1
    assert calls.calls(text) == given
    message, _ = told(calls, text, seed)
    assert written(message) == given
    assert message["content"] == (before + after or None)
    assert told(calls, before, seed)[0] == {"content": before}


def test_arguments_are_told_as_they_are_written() -> None:
    calls = ToolCalls(TOOLS, "hermes")
    stream = CallStream(calls)
    assert list(stream.read('<tool_call>\n{"name": "loo')) == []
    [head] = stream.read('k", "arguments": ')
    assert head["tool_calls"][0]["function"] == {"name": "look", "arguments": ""}
    parts = [part for piece in ('{"ci', 'ty": "a}', '"', "}}\n", "</tool_call>") for part in stream.read(piece)]
    assert [part["tool_calls"][0]["function"]["arguments"] for part in parts] == ['{"ci', 'ty": "a}', '"', "}"]


MANY: list[dict[str, Any]] = [
    {
        "name": "note",
        "parameters": {
            "properties": {
                "text": {"type": "string"},
                "mixed": {"type": ["string", "integer", "null"]},
                "tags": {"type": "array", "items": {"type": ["string", "boolean"]}},
                "shape": {"properties": {"a": {"type": "number"}, "b": {"type": "array", "items": {"type": "string"}}}},
                "flag": {"type": ["boolean", "null"]},
                "ratio": {"type": "number"},
            }
        },
    }
]
VALUES: dict[str, list[Any]] = {
    "text": ["", "a\nb\n", "[x] {y} < \\ é </param", "1, 2) } ]"],
    "mixed": ["12x", 12, None, "", "-"],
    "tags": [[], ["a]", True], ["[{", "b, c", False, ""]],
    "shape": [{}, {"a": -1.5}, {"a": 1e30, "b": ["}", "x: 1"]}],
    "flag": [True, None],
    "ratio": [0, -3.25],
}


@pytest.mark.parametrize("name", [name for name, form in NAMED.items() if form.arguments is not None])
@pytest.mark.parametrize("seed", range(20))
def test_arguments_that_stand_one_by_one(name: str, seed: int) -> None:
    form, chance = NAMED[name], random.Random(seed)
    given = [
        {"name": "note", "arguments": {key: chance.choice(VALUES[key]) for key in VALUES if chance.random() < 0.7}}
        for _ in range(2)
    ]
    text = form.text(given)
    if form.arguments is not None and form.arguments.lists == "python":
        text = text.replace("'", '"')
    calls = ToolCalls(MANY, name, at_most=None)
    assert calls.accepts(text)
    assert calls.calls(text) == given
    message, _ = told(calls, text, seed)
    assert written(message) == given


@pytest.mark.parametrize("name", [name for name, form in NAMED.items() if form.arguments is not None])
def test_strings_that_stand_by_themselves_are_told_as_they_are_written(name: str) -> None:
    form = NAMED[name]
    before, _, after = form.text([{"name": "look", "arguments": {"city": "Rome%Oslo", "days": 7}}]).partition("%")
    stream = CallStream(ToolCalls(TOOLS, form))
    given = [part["tool_calls"][0]["function"]["arguments"] for part in stream.read(before)]
    assert "".join(given) == '{"city": "Rome'
    given = [part["tool_calls"][0]["function"]["arguments"] for part in stream.read(after, is_last=True)]
    assert "".join(given) == 'Oslo", "days": 7}'


def test_what_may_begin_a_call_is_held_back() -> None:
    stream = CallStream(ToolCalls(TOOLS, "hermes", in_text=True))
    assert list(stream.read("a <tool_")) == [{"content": "a "}]
    assert list(stream.read("box")) == [{"content": "<tool_box"}]
    assert list(stream.read(" <")) == [{"content": " "}]
    assert list(stream.read("", is_last=True)) == [{"content": "<"}]


@pytest.mark.parametrize("arguments", [None, Arguments("<", "=", ">")])
def test_a_name_behind_its_arguments_is_told_first(arguments: Arguments | None) -> None:
    form = ToolForm(("<call>", ARGUMENTS, " by ", NAME, "</call>"), separator="", arguments=arguments)
    calls, given = ToolCalls(TOOLS, form, at_most=None), CALLS[1:]
    message, parts = told(calls, form.text(given), 1)
    assert written(message) == given
    assert parts[0]["tool_calls"][0]["function"] == {"name": "look", "arguments": ""}
