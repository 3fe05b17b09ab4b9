"""``$dynamicRef`` and ``$recursiveRef``: where they lead depends on the way that evaluation took."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles.dynamic_evaluation import Circle, Evaluation
from tests.support.running.tried import tried

from sfgen import JsonSchema
from sfgen.errors import SchemaError
from sfgen.schema.reading.document import STATIC
from sfgen.schema.reading.keywords import URIS, Draft
from sfgen.schema.reading.read import read_schema

RESOURCES = ("http://e.com/a", "http://e.com/b", "http://e.com/c")
NAMES = ("x", "y")
VALUES: list[Any] = [
    *(1, "a", 0.5, [], [1], ["a"], [1, 1], ["a", 1], [[]], [[1]], [["a"]], [[1, "a"]], [[], 1], [1, []]),
    *([[[]]], [[[1]]], [[["a"]]], [[1], ["a"]], [[1, [1]]], [[["a", 1]]], [["a", ["a"]]], [[[[1]]]], [[[[]]], []]),
]


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    """Schemas of three resources, which stand in definitions or within one another."""
    kinds = st.sampled_from([None, "$anchor", "$dynamicAnchor", "$dynamicAnchor"])
    anchors = {(uri, name): draw(kinds) for uri in RESOURCES for name in NAMES}

    def refer(uri: str) -> st.SearchStrategy[dict[str, Any]]:
        named = [
            f"{'' if other == uri else other}#{name}" for (other, name), kind in anchors.items() if kind is not None
        ]
        ways: list[dict[str, Any]] = [{"$ref": other} for other in RESOURCES]
        ways += [{word: target} for target in named for word in ("$ref", "$dynamicRef", "$dynamicRef")]
        return st.sampled_from(ways)

    def plain(uri: str) -> st.SearchStrategy[dict[str, Any]]:
        said: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
            [{"type": "integer"}, {"type": "string"}, {"type": "array"}, {"maxItems": 1}, {}]
        )
        return said | refer(uri).map(lambda target: {"items": target}) | refer(uri).map(lambda way: {"allOf": [way]})

    inline: list[dict[str, Any]] = []
    for uri in reversed(RESOURCES):
        schema: dict[str, Any] = {"$id": uri, **draw(plain(uri))}
        schema["$defs"] = {
            name: {anchors[uri, name]: name, **draw(plain(uri))} for name in NAMES if anchors[uri, name] is not None
        }
        if inline and "items" not in schema and draw(st.booleans()):
            schema["items"] = inline.pop()
        for index, one in enumerate(inline):
            schema["$defs"][f"r{index}"] = one
        inline = [schema]
    return inline[0]


def _verdict(oracle: Evaluation, value: Any) -> bool | None:
    """Whether a value is valid; ``None`` where references lead back, which jsonschema follows without end."""
    try:
        return oracle.is_valid(value)
    except Circle:
        return None


@tried("many", mostly_assumed_away=True)
@given(documents())
def test_dynamic_references_lead_where_the_specification_says(schema: dict[str, Any]) -> None:
    oracle, refusal = Evaluation(schema), None
    constraint = None
    try:
        constraint = JsonSchema(schema, infer_types=False)
        _ = constraint.network
    except SchemaError as error:
        refusal = error
    if refusal is not None:
        is_circle = "circle" in refusal.reason or "back to itself" in refusal.reason
        assert is_circle or not any(_verdict(oracle, value) for value in VALUES)
        return
    assert constraint is not None
    for value in VALUES:
        valid = _verdict(oracle, value)
        if valid is None:
            continue
        assert constraint.accepts(json.dumps(value)) is valid, value
        assert (not constraint.validate(json.dumps(value))) is valid, value


def test_where_the_package_jsonschema_goes_astray() -> None:
    """The reasons why it is given documents without dynamic references. Where this fails, it may be given them."""
    leaf = {"$id": "http://e.com/b", "$dynamicAnchor": "x", "type": "array", "items": {"$dynamicRef": "#x"}}
    without_id = {"$dynamicAnchor": "x", "maxItems": 1, "$ref": "http://e.com/b", "$defs": {"b": leaf}}
    value = [[1, 2]]
    assert jsonschema.Draft202012Validator(without_id).is_valid([[[], []]])
    assert not JsonSchema(without_id).accepts("[[[], []]]")
    assert Evaluation(without_id).is_valid([[[], []]]) is False
    plain = {**leaf, "items": {"$ref": "#x"}}
    with_id = {**without_id, "$id": "http://e.com/a", "$defs": {"b": plain}}
    assert not jsonschema.Draft202012Validator(with_id).is_valid([[[], []]])
    assert JsonSchema(with_id).validate("[[[], []]]") == []
    assert JsonSchema(with_id).validate(json.dumps(value)) != []


def test_scopes_are_a_part_of_no_key_where_nothing_moves() -> None:
    schema = {"$dynamicAnchor": "x", "items": {"$dynamicRef": "#x"}, "$defs": {"a": {"$id": "a", "$anchor": "x"}}}
    assert read_schema(schema).scope is STATIC
    other = {**schema, "$defs": {"a": {"$id": "a", "$dynamicAnchor": "x"}}}
    assert read_schema(other).scope.at("").targets == {"x": ""}


def test_the_same_schema_is_one_rule_or_more_by_its_scopes() -> None:
    """A list whose items are whatever the schema around says: the way of generic types."""
    generic = {
        "$id": "http://e.com/list",
        "type": "array",
        "items": {"$dynamicRef": "#T"},
        "$defs": {"T": {"$dynamicAnchor": "T", "not": {}}},
    }
    kinds = {
        kind: {
            "$id": f"http://e.com/{kind}",
            "$ref": "list",
            "$defs": {"T": {"$dynamicAnchor": "T", "type": kind}},
        }
        for kind in ("integer", "string")
    }
    schema = {
        "type": "object",
        "properties": {name: {"$ref": f"http://e.com/{name}"} for name in ("integer", "string", "list")},
        "$defs": {"list": generic, **kinds},
    }
    constraint = JsonSchema(schema)
    assert constraint.accepts('{"integer": [1], "string": ["a"], "list": []}')
    for text in ('{"integer": ["a"]}', '{"string": [1]}', '{"list": [1]}'):
        assert not constraint.accepts(text)
        assert constraint.validate(text)


def test_definitions_that_only_dynamic_references_reach_are_followed() -> None:
    schema = {
        "$id": "http://e.com/root",
        "$ref": "list",
        "$defs": {
            "T": {"$dynamicAnchor": "T", "$ref": "#/$defs/k"},
            "k": {"$ref": "nowhere.json"},
            "list": {"$id": "list", "items": {"$dynamicRef": "#T"}, "$defs": {"T": {"$dynamicAnchor": "T"}}},
        },
    }
    with pytest.raises(SchemaError, match=r'another document: "nowhere\.json"') as caught:
        read_schema(schema)
    assert caught.value.pointer == "/$defs/k/$ref"


def test_recursive_references_lead_to_the_outermost_resource() -> None:
    tree = {
        "$id": "http://e.com/tree",
        "$recursiveAnchor": True,
        "type": "object",
        "properties": {"data": True, "children": {"type": "array", "items": {"$recursiveRef": "#"}}},
    }
    for moves in (True, False):
        strict = {
            "$schema": URIS[Draft.DRAFT_2019_09],
            "$id": "http://e.com/strict",
            "$recursiveAnchor": moves,
            "$ref": "tree",
            "required": ["data"],
            "$defs": {"tree": tree},
        }
        constraint = JsonSchema(strict)
        inner = '{"data": 1, "children": [{"children": []}]}'
        assert constraint.accepts(inner) is not moves
        assert (constraint.validate(inner) == []) is not moves
        assert constraint.accepts('{"data": 1, "children": [{"data": 2}]}')
        assert not constraint.accepts('{"children": []}')
