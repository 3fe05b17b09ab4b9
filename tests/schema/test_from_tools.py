"""Calls of tools: valid are those whose arguments are valid by the tool's own schema, wherever that refers to."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles.schema_oracle import Oracle
from tests.support.running.tried import tried

from sfgen import JsonSchema, tools_schema
from sfgen.errors import InputError, SchemaError
from sfgen.schema.reading.from_tools import MAX_BYTES, read_tools

Json = Any

DRAFT_04 = "http://json-schema.org/draft-04/schema#"
DRAFT_07 = "http://json-schema.org/draft-07/schema#"
DRAFT_2020 = "https://json-schema.org/draft/2020-12/schema"

_INTEGER: Json = {"type": "integer"}
_TREE: Json = {
    "type": "object",
    "properties": {"value": _INTEGER, "next": {"$ref": "#"}},
    "required": ["value"],
    "additionalProperties": False,
}
_NODE: Json = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}, "additionalProperties": False}

SCHEMAS: dict[str, tuple[Json, list[Json]]] = {
    "plain": ({"type": "object", "properties": {"a": _INTEGER}, "required": ["a"]}, [{"a": 1}, {"a": "x"}, {}]),
    "to the root": (_TREE, [{"value": 1}, {"value": 1, "next": {"value": 2}}, {"value": 1, "next": {"value": "x"}}]),
    "to definitions": (
        {
            "type": "object",
            "properties": {"a": {"$ref": "#/$defs/A"}, "b": {"$ref": "#/definitions/A"}},
            "$defs": {"A": _INTEGER},
            "definitions": {"A": {"type": "string"}},
        },
        [{"a": 1}, {"b": "x"}, {"a": "x"}, {"b": 1}],
    ),
    "the root is a reference": (
        {"$ref": "#/$defs/Node", "$defs": {"Node": _NODE}},
        [{}, {"next": {"next": {}}}, {"next": {"next": 1}}, {"x": 1}],
    ),
    "to a property": (
        {"type": "object", "properties": {"a": {"enum": [1, 2]}, "b": {"items": {"$ref": "#/properties/a"}}}},
        [{"a": 1, "b": [2]}, {"b": [3]}],
    ),
    "an anchor": (
        {"type": "object", "properties": {"a": {"$ref": "#x"}}, "$defs": {"x": {"$anchor": "x", "type": "null"}}},
        [{"a": None}, {"a": 1}],
    ),
    "another anchor of the same name": (
        {"type": "object", "properties": {"a": {"$ref": "#x"}}, "$defs": {"x": {"$anchor": "x", "type": "boolean"}}},
        [{"a": True}, {"a": None}],
    ),
    "an identifier of its own": (
        {
            "$id": "http://example.com/tool",
            "type": "object",
            "properties": {"a": {"$ref": "tool#/$defs/A"}, "b": {"$ref": "#/$defs/A"}},
            "$defs": {"A": _INTEGER},
        },
        [{"a": 1, "b": 2}, {"a": "x"}, {"b": "x"}],
    ),
    "an identifier that is a pointer": (
        {"$id": "#/x", "type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": _INTEGER}},
        [{"a": 1}, {"a": "x"}],
    ),
    "a dynamic reference": (
        {"$dynamicAnchor": "n", "type": "object", "properties": {"n": {"$dynamicRef": "#n"}}, "maxProperties": 1},
        [{"n": {"n": {}}}, {"n": 1}],
    ),
    "no type": ({"properties": {"a": _INTEGER}, "required": ["a"]}, [{"a": 1}, {"a": "x"}]),
    "branches": ({"anyOf": [{"required": ["a"]}, {"required": ["b"]}], "type": "object"}, [{"a": 1}, {"b": 1}, {}]),
}
"""Schemas for the arguments of a tool, and arguments, some of which are valid."""

OLD: dict[str, tuple[Json, list[Json]]] = {
    "the root is a reference": (
        {
            "$schema": DRAFT_07,
            "$ref": "#/definitions/Tool",
            "maxProperties": 0,
            "definitions": {
                "Tool": {"type": "object", "properties": {"a": {"$ref": "#/definitions/A"}}, "required": ["a"]},
                "A": {"type": "array", "items": [{"type": "integer"}], "additionalItems": False},
            },
        },
        [{"a": [1]}, {"a": [1, 2]}, {"a": ["x"]}, {}],
    ),
    "to the root": ({**_TREE, "$schema": DRAFT_07}, SCHEMAS["to the root"][1]),
    "dependencies": (
        {"$schema": DRAFT_07, "type": "object", "properties": {"a": {}, "b": {}}, "dependencies": {"a": ["b"]}},
        [{"a": 1, "b": 1}, {"a": 1}],
    ),
    "no draft is named": (SCHEMAS["to definitions"]),
}
OLDEST: dict[str, tuple[Json, list[Json]]] = {
    "exclusive": (
        {"type": "object", "properties": {"a": {"minimum": 0, "exclusiveMinimum": True, "type": "integer"}}},
        [{"a": 1}, {"a": 0}],
    ),
    "named": ({**_TREE, "$schema": DRAFT_04}, SCHEMAS["to the root"][1]),
}

FORMS: dict[str, Callable[[str, Json], Json]] = {
    "chat completions": lambda name, schema: {
        "type": "function",
        "function": {"name": name, "description": "…", "parameters": schema, "strict": True},
    },
    "responses": lambda name, schema: {"type": "function", "name": name, "parameters": schema, "strict": False},
    "alone": lambda name, schema: {"name": name, "parameters": schema},
    "anthropic": lambda name, schema: {"name": name, "description": "…", "input_schema": schema},
    "mcp": lambda name, schema: {"name": name, "title": "…", "inputSchema": schema, "annotations": {}},
}


def calls_are_judged(families: dict[str, tuple[Json, list[Json]]], names: list[str], draft: str = "") -> None:
    """Compare what is said of calls with what is said of the arguments alone."""
    forms = list(FORMS.values())
    schema = tools_schema([forms[place % len(forms)](name, families[name][0]) for place, name in enumerate(names)])
    constraint, oracle = JsonSchema(schema), Oracle(schema)
    for name in names:
        own, values = families[name]
        alone = Oracle({"$schema": draft, **own} if draft else own)
        for arguments in [*values, 1, [], None]:
            text = json.dumps({"name": name, "arguments": arguments})
            is_valid = isinstance(arguments, dict) and alone.is_valid(arguments)
            assert (constraint.validate(text) == []) == is_valid, text
            assert oracle.is_valid(json.loads(text)) == is_valid, text
            assert constraint.accepts(text) <= is_valid
        assert any(constraint.accepts(json.dumps({"name": name, "arguments": each})) for each in values)
    assert oracle.fault(constraint.shortest().decode()) == ""
    assert not oracle.is_valid({"name": "another", "arguments": {}})
    assert not oracle.is_valid({"name": names[0], "arguments": families[names[0]][1][0], "more": 1})


@tried("few")
@given(st.lists(st.sampled_from(sorted(SCHEMAS)), min_size=1, unique=True))
def test_arguments_are_valid_by_the_schema_of_the_tool(names: list[str]) -> None:
    calls_are_judged(SCHEMAS, names)


@tried("handful")
@given(st.lists(st.sampled_from(sorted(OLD)), min_size=1, unique=True))
def test_tools_of_an_older_draft(names: list[str]) -> None:
    calls_are_judged(OLD, names, DRAFT_07)


def test_tools_of_the_oldest_draft() -> None:
    calls_are_judged(OLDEST, ["exclusive", "named"], DRAFT_04)
    calls_are_judged(OLDEST, ["exclusive"], DRAFT_04)


def test_the_newest_draft_that_is_named_reads_all() -> None:
    old, new = {"type": "object", "$schema": DRAFT_07}, {"type": "object", "$schema": DRAFT_2020}
    schema = tools_schema([{"name": "a", "parameters": old}, {"name": "b", "parameters": new}])
    assert schema["$schema"] == DRAFT_2020
    assert json.dumps(schema).count("$schema") == 1
    assert "$schema" not in tools_schema([{"name": "a"}])
    with pytest.raises(SchemaError, match=r'the tool "a": .*items') as caught:
        tools_schema(
            [
                {"name": "a", "parameters": {**old, "properties": {"x": {"items": [{}]}}}},
                {"name": "b", "parameters": new},
            ]
        )
    assert caught.value.pointer == "/0/parameters/properties/x/items"


@pytest.mark.parametrize("form", FORMS)
def test_the_forms_of_a_tool(form: str) -> None:
    tool = FORMS[form]("add", SCHEMAS["plain"][0])
    expected = tools_schema([{"name": "add", "parameters": SCHEMAS["plain"][0]}])
    assert tools_schema([tool]) == tools_schema({"tools": [tool]}) == tools_schema((tool,)) == expected


@pytest.mark.parametrize(
    "tool",
    [
        {"name": "a"},
        {"name": "a", "parameters": None},
        {"name": "a", "parameters": {}},
        {"name": "a", "input_schema": {"type": "object", "properties": {}}},
        {"name": "a", "parameters": {"type": "object", "properties": {}, "required": [], "$schema": DRAFT_07}},
        {"name": "a", "parameters": {"type": "object", "properties": {}, "additionalProperties": False}},
    ],
    ids=str,
)
def test_a_tool_without_parameters_takes_nothing(tool: Json) -> None:
    schema = JsonSchema(tools_schema([tool]))
    assert schema.shortest() == b'{"name": "a", "arguments": {}}'
    assert schema.validate({"name": "a", "arguments": {"x": 1}}) != []
    assert not schema.accepts('{"name": "a", "arguments": {"x": 1}}')


def test_an_object_that_nothing_is_said_of_may_have_anything() -> None:
    schema = JsonSchema(tools_schema([{"name": "a", "parameters": {"type": "object"}}]))
    assert schema.accepts('{"name": "a", "arguments": {"x": 1}}')


def test_the_name_comes_first() -> None:
    schema = JsonSchema(tools_schema([{"name": "ab"}, {"name": "a\n"}]))
    assert schema.accepts('{"name": "a\\n", "arguments": {}}')
    assert not schema.accepts('{"arguments": {}, "name": "ab"}')
    assert JsonSchema(schema.to_dict()["schema"], spacing="compact").accepts('{"name":"ab","arguments":{}}')


def test_numbers_stay_what_they_are(tmp_path: Path) -> None:
    text = '[{"name": "a", "parameters": {"properties": {"x": {"multipleOf": 0.1, "type": "number"}}}}]'
    (tmp_path / "tools.json").write_text(text)
    assert tools_schema(tmp_path / "tools.json") == tools_schema(json.loads(text))
    assert JsonSchema(tools_schema(json.loads(text))).validate('{"name": "a", "arguments": {"x": 0.3}}') == []


@pytest.mark.parametrize(
    ("tools", "pointer", "says"),
    [
        ({}, "", "tools must be a list, not an object"),
        ({"tools": 1}, "/tools", "tools must be a list"),
        ([], "", "there is no tool in the list"),
        ([1], "/0", "a tool must be an object, not a number"),
        ([{"name": "a"}, {"type": "web_search"}], "/1", "a tool without a name"),
        ([{"name": ""}], "/0", "a tool without a name"),
        ([{"type": "function", "function": {"parameters": {}}}], "/0/function", "a tool without a name"),
        ([{"name": "a"}, {"function": {"name": "a"}}], "/1", 'two tools have the name "a": the other one is at /0'),
        ([{"name": "a", "parameters": [1]}], "/0/parameters", 'the tool "a": its parameters must be a JSON Schema'),
        ({"tools": [{"name": "a", "inputSchema": {"type": "string"}}]}, "/tools/0/inputSchema/type", 'not "string"'),
        (
            [{"name": "a"}, {"function": {"name": "b", "parameters": {"properties": {"x": {"type": "strin"}}}}}],
            "/1/function/parameters/properties/x/type",
            'the tool "b": "strin" is not a type',
        ),
        ([{"name": "b", "input_schema": {"$ref": "#/$defs/x"}}], "/0/input_schema/$ref", "leads nowhere"),
        ([{"name": "b", "parameters": {"$ref": "#"}}], "/0/parameters", "leads back to itself"),
    ],
    ids=str,
)
def test_what_are_no_tools(tools: Json, pointer: str, says: str) -> None:
    with pytest.raises(SchemaError) as caught:
        tools_schema(tools)
    assert says in caught.value.message
    assert caught.value.pointer == pointer
    text = json.dumps(tools, indent=1)
    with pytest.raises(SchemaError) as caught:
        read_tools(text, "tools.json")
    assert says in caught.value.message
    assert "tools.json, line " in caught.value.message
    assert caught.value.pointer == pointer
    assert caught.value.details


def test_what_cannot_be_kept_to_is_told_of_the_tool() -> None:
    tools = '[{"name": "a"},\n {"name": "b", "parameters": {"properties": {"x": {"not": {"format": "email"}}}}}]'
    with pytest.raises(
        SchemaError, match=r'tools.json, line 2, column 59: the tool "b": not is not supported'
    ) as caught:
        _ = JsonSchema(read_tools(tools, "tools.json")).network
    assert caught.value.pointer == "/1/parameters/properties/x/not"


def test_keywords_that_are_not_known_are_told_where_they_stand() -> None:
    tools = [{"name": "a", "parameters": {"properties": {"x": {"maxlen": 3}}}}]
    (note,) = read_tools(json.dumps(tools), "tools.json").notes
    assert "maxlen" in note
    assert note.endswith("at /0/parameters/properties/x")


def test_files_that_are_no_tools(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot read the tools no-such-file: No such file"):
        tools_schema(Path("no-such-file"))
    (tmp_path / "a").write_text('[{"name": "a",}]')
    with pytest.raises(InputError, match="line 1, column 14: not valid JSON"):
        tools_schema(tmp_path / "a")
    (tmp_path / "a").write_bytes(b" " * (MAX_BYTES + 1))
    with pytest.raises(InputError, match="passes the limit of 4,194,304 bytes"):
        tools_schema(tmp_path / "a")
