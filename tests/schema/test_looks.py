"""What a schema is shown as: its tree, its graph, texts that show it, and the way of a text through it."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import pytest
from tests.support.running.tried import some_of

from sfgen import JsonSchema
from sfgen.automata.pictures import to_dot, to_mermaid
from sfgen.errors import SchemaError
from sfgen.schema.inspection.position import walk
from sfgen.schema.inspection.tree import examples, graph, to_dict, tree

NODE = {
    "type": "object",
    "properties": {"value": {"type": "integer", "minimum": 0}, "next": {"$ref": "#/$defs/node"}},
    "required": ["value"],
}
SCHEMAS: dict[str, Any] = {
    "record": {
        "$defs": {"node": NODE},
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "on": {"type": ["boolean", "null"]},
            "list": {"$ref": "#/$defs/node"},
            "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 3},
        },
        "required": ["name"],
        "additionalProperties": {"type": "number"},
    },
    "union": {"anyOf": [{"type": "integer"}, {"type": "array", "items": {"type": "string", "minLength": 2000}}]},
    "tuple": {"type": "array", "prefixItems": [{"const": 1}, {"type": "null"}], "items": {"type": "boolean"}},
    "long list": {"type": "array", "items": {"type": "boolean"}, "minItems": 30, "maxItems": 500},
    "anything": True,
}


OPTIONS: list[dict[str, Any]] = [{}, {"spacing": "compact"}, {"indent": 2}, {"spacing": "any"}, {"order": "any"}]


def texts_of(schema: JsonSchema, count: int) -> list[str]:
    return examples(schema.reader, schema.compiled, count)


@pytest.mark.parametrize(("name", "options"), some_of(product(SCHEMAS, OPTIONS), 13), ids=str)
def test_examples_are_texts_of_the_schema(name: str, options: dict[str, Any]) -> None:
    if "indent" in options and name in ("record", "anything"):
        with pytest.raises(SchemaError, match="indent"):
            _ = JsonSchema(SCHEMAS[name], **options).compiled
        return
    schema = JsonSchema(SCHEMAS[name], **options)
    texts = texts_of(schema, 25)
    assert len(texts) == len(set(texts)) >= 2
    for text in texts:
        assert schema.accepts(text), text
        assert schema.validate(text) == []
    assert len(texts[0].encode()) == len(schema.shortest())
    assert texts_of(schema, 10) == texts[:10]


def test_examples_reach_every_optional_part() -> None:
    values = [json.loads(text) for text in texts_of(JsonSchema(SCHEMAS["record"]), 24)]
    assert {name for value in values for name in value} >= {"name", "on", "list", "tags"}
    assert any(set(value) - {"name", "on", "list", "tags"} for value in values)
    assert {value["on"] for value in values if "on" in value} >= {None, True, False}
    assert any("next" in value.get("list", {}) for value in values)
    assert {item for value in values for item in value.get("tags", [])} == {"a", "b"}


def test_examples_reach_parts_that_look_alike() -> None:
    texts = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "required": ["b"]}
    shown = texts_of(JsonSchema({"type": "array", "items": texts}), 4)
    assert any("a" in item for text in shown for item in json.loads(text)), shown


def test_a_schema_of_few_texts_has_few_examples() -> None:
    assert sorted(texts_of(JsonSchema({"enum": [1, 2]}), 10)) == ["1", "2"]


def test_examples_do_not_repeat_what_must_differ() -> None:
    for schema in (
        {"type": "array", "items": {"type": "integer"}, "minItems": 2, "uniqueItems": True},
        {"propertyNames": {"enum": ["red", "blue"]}, "additionalProperties": {"type": "null"}, "type": "object"},
    ):
        for order in ("schema", "any"):
            texts = texts_of(JsonSchema(schema, order=order), 8)
            assert texts
            assert all(JsonSchema(schema).validate(text) == [] for text in texts), texts


def test_the_tree() -> None:
    lines = [
        (branch.depth, branch.label, branch.expected, branch.is_needed, branch.is_known)
        for branch in tree(JsonSchema(SCHEMAS["record"]).compiled)
    ]
    assert lines == [
        (0, "$", "an object with name, on, list, tags", None, False),
        (1, "name", "a string", True, False),
        (1, "on", "null or true or false", False, False),
        (2, "|", "null", None, False),
        (2, "|", "true or false", None, False),
        (1, "list", "an object with value, next", False, False),
        (2, "value", "an integer of at least 0", True, False),
        (2, "next", "an object with value, next", False, True),
        (1, "tags", "an array of at most 3 items", False, False),
        (2, "[]", 'one of "a" or "b"', False, False),
        (1, "*", "a number", False, False),
    ]


def test_the_graph_has_every_rule_and_part() -> None:
    compiled = JsonSchema(SCHEMAS["record"]).compiled
    drawn = graph(compiled, "record")
    rules = to_dict(compiled)["rules"]
    assert set(drawn.labels) == {rule["expected"] for rule in rules.values()}
    assert len(drawn.edges) == sum(len(rule["parts"]) for rule in rules.values())
    assert {"name", "on?", "list?", "tags?", "*?", "next?", "value", "[]?", ""} == {edge.label for edge in drawn.edges}
    assert '0 [shape=box, label="an object with name, on, list, tags"];' in to_dot(drawn)
    assert 's0 -->|"name"| s1' in to_mermaid(drawn)
    few = graph(compiled, "record", max_rules=3)
    assert (len(few.states), few.states_left_out) == (3, len(rules) - 3)


@pytest.mark.parametrize(
    ("text", "verdict", "stopped", "path", "follows"),
    [
        ('{"name": "Ada"}', "match", None, "$", ""),
        ('{"name": "Ada", "tags": ["a"', "start", None, "$.tags", r"[,\]]"),
        ('{"name": "Ada", "tags": ["c"]}', "stopped", 26, "$.tags[0]", "[ab]"),
        ('{"name":"Ada"}', "stopped", 8, "$.name", "[ ]"),
        ('{"on": true}', "stopped", 2, "$", "n"),
        ('{"name": "é\n"}', "stopped", 11, "$.name", None),
        ("", "start", None, "$", r"\{"),
    ],
)
def test_the_way_of_a_text(text: str, verdict: str, stopped: int | None, path: str, follows: str | None) -> None:
    schema = JsonSchema(SCHEMAS["record"])
    way = walk(schema.reader, schema.compiled, text)
    assert (way.verdict, way.stopped, way.stretches[-1].path) == (verdict, stopped, path)
    assert schema.accepts(text) == (verdict == "match")
    assert "".join(stretch.read for stretch in way.stretches) == text[:stopped]
    if follows is not None:
        assert way.follows == follows
