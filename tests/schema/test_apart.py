"""Whether schemas of ``oneOf`` are apart: questions that lead to others, to themselves, to what is not negated."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest

from sfgen import JsonSchema


def _objects(*schemas: Any, **more: Any) -> dict[str, Any]:
    """Demand exactly one of some schemas of the member ``a``."""
    return {
        "oneOf": [{"type": "object", "required": ["a"], "properties": {"a": schema}} for schema in schemas],
        **more,
    }


def _members(count: int, end: Any) -> Any:
    value = end
    for _ in range(count):
        value = {"a": value}
    return value


def test_questions_that_lead_to_questions_take_no_stack() -> None:
    count = 300
    definitions = {
        f"d{index}": _objects({"$ref": f"#/$defs/d{index + 1}"}, {"type": "integer"}) for index in range(count)
    }
    definitions[f"d{count}"] = {"type": "string"}
    schema = JsonSchema({"$ref": "#/$defs/d0", "$defs": definitions})
    assert all(schema.accepts(json.dumps(_members(depth, 1))) for depth in (1, 2, count))
    assert schema.accepts(json.dumps(_members(count, "b")))
    assert not any(schema.accepts(json.dumps(_members(depth, "b"))) for depth in (1, count - 1))
    assert all(len(schema.compiled.parts[rule]) == 2 for rule in ("d0", "d1", f"d{count - 1}"))


def test_what_many_questions_lead_to_is_proved_once() -> None:
    """Asked anew each time it would take minutes."""
    count, depth = 4, 6

    def member(at: int, way: int, name: str) -> dict[str, Any]:
        own = {"a": {"$ref": f"#/$defs/d{at}_{way}"}, "k": {"const": name}}
        return {"type": "object", "required": ["a", "k"], "properties": own}

    definitions: dict[str, Any] = {f"d{depth}_{way}": {"const": way} for way in range(count)}
    for at in range(depth):
        for own in range(count):
            schemas = [member(at + 1, way, f"{own} of {at}, {way}") for way in range(count)]
            definitions[f"d{at}_{own}"] = {"oneOf": schemas}
    schema = JsonSchema({"$ref": "#/$defs/d0_0", "$defs": definitions})
    assert all(len(schema.compiled.parts[f"d{at}_0"]) == count for at in range(depth))


CIRCLES: list[dict[str, Any]] = [
    _objects({"$ref": "#"}, {"type": "string"}),
    _objects({"$ref": "#/$defs/x"}, {"type": "string"}, **{"$defs": {"x": _objects({"$ref": "#"}, {"minimum": 1})}}),
    _objects({"anyOf": [{"$ref": "#"}, {"const": 1}]}, {"type": ["string", "null"]}),
    _objects({"enum": [{"a": {"a": 1}}, 1]}, {"not": {"$ref": "#"}}),
]


@pytest.mark.parametrize("schema", CIRCLES, ids=str)
def test_in_circles_nothing_invalid_is_written(schema: dict[str, Any]) -> None:
    constraint = JsonSchema(schema)
    valid = jsonschema.Draft202012Validator(schema).is_valid
    ends: tuple[Any, ...] = (1, "b", None, {})
    for end in ends:
        for depth in range(6):
            value = _members(depth, end)
            assert constraint.accepts(json.dumps(value)) is valid(value), value


def test_a_member_that_cannot_be_negated_does_not_hide_that_others_are_apart() -> None:
    """One of the schemas would have to be negated otherwise, and cannot: its format is not negated."""
    doubtful = {"not": {"minimum": 3, "format": "email"}}
    some = {"type": "object", "required": ["p", "q"], "properties": {"p": doubtful, "q": {"type": "string"}}}
    other_properties = {"q": {"type": "integer"}, "x": {"format": "email"}}
    other = {"type": "object", "required": ["p", "q"], "properties": {"p": {}, **other_properties}}
    schema = JsonSchema({"oneOf": [some, other]})
    assert schema.accepts('{"p": 2, "q": "b"}')
    assert schema.accepts('{"p": 2, "q": 1, "x": "a@b.de"}')
    assert not schema.accepts('{"p": 3, "q": "b"}')
    (note,) = [note for note in schema.compiled.notes if note.startswith("Some valid values")]
    assert "/oneOf/0/properties/p/not" in note


def test_a_schema_that_cannot_be_told_as_a_whole_is_not_taken_to_be_apart() -> None:
    """Texts that are no emails are left out of the first schema; they are values of the second one, too."""
    doubtful = {"not": {"anyOf": [{"type": "string", "format": "email"}, {"type": "number"}]}}
    schema = {"oneOf": [_objects(doubtful), _objects({"type": "string"})]}
    constraint = JsonSchema(schema)
    assert not constraint.accepts('{"a": "b"}')
