"""Schemas without a type whose keywords are about one: values of that type are written, and all of them are valid."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.schemas.combined import VALUES

from sfgen import BannedWords, JsonSchema
from sfgen.errors import BannedWordsError

A = {"minLength": 2}
DEFINED = {"$defs": {"a": A}}
REFERENCE = {"$ref": "#/$defs/a"}


@pytest.mark.parametrize(
    ("schema", "types"),
    [
        ({"items": {}, "minItems": 1}, "array"),
        ({"uniqueItems": True}, "array"),
        ({"contains": A}, "array"),
        ({"properties": {"a": {}}}, "object"),
        ({"propertyNames": {"minLength": 1}}, "object"),
        ({"dependentRequired": {"a": ["b"]}}, "object"),
        ({"unevaluatedProperties": False}, "object"),
        ({"unevaluatedItems": False}, "array"),
        ({"minLength": 1, "title": "x", "default": 3}, "string"),
        ({"format": "date"}, "string"),
        ({"minimum": 1}, "number"),
        ({"multipleOf": 1}, "number"),
        # In one place several schemas may hold.
        ({"minLength": 1, "allOf": [{"pattern": "a"}]}, "string"),
        ({"allOf": [REFERENCE, {"maxLength": 3}], **DEFINED}, "string"),
        ({"anyOf": [{"minLength": 1}, {"minimum": 3}]}, "string number"),
        ({"anyOf": [{"minLength": 1}, {"type": "null"}]}, "string null"),
        ({"minLength": 1, "anyOf": [{"type": "null"}, {"maxLength": 3}]}, "string null"),
        ({"minProperties": 1, "dependentSchemas": {"a": {"required": ["b"]}}}, "object"),
        ({"minLength": 1, "if": {"minLength": 2}, "then": {"pattern": "a"}}, "string"),
        ({"if": {"type": "null"}, "else": {"minLength": 1}}, "string null"),
        ({"minLength": 1, "not": {"const": "ab"}}, "string"),
        ({"minLength": 1, "not": {"maximum": 3}, "type": ["number", "string"]}, "number"),
        # Nothing is inferred.
        ({}, "string number array object null boolean"),
        ({"format": "int32"}, "string number array object null boolean"),
        ({"minLength": 1, "minimum": 3}, "string number array object null boolean"),
        ({"minLength": 1, "allOf": [{"minimum": 3}]}, "string number array object null boolean"),
        ({"minLength": 1, "type": ["string", "null"]}, "string null"),
        ({"allOf": [{"minLength": 1}, {"type": ["string", "null"]}]}, "string null"),
        ({"minLength": 1, "enum": [1, None, "a"]}, "string number null"),
        ({"allOf": [{"const": 1}, {"minLength": 1}]}, "number"),
        ({"not": {"minLength": 2}}, "string"),
        ({"not": {"not": {"minLength": 2}}}, "string number array object null boolean"),
        ({"not": {"not": REFERENCE}, **DEFINED}, "string number array object null boolean"),
        ({"oneOf": [{"minLength": 2}, {"type": "null"}]}, "string number array object boolean"),
        ({"oneOf": [REFERENCE, {"type": "null"}], **DEFINED}, "string number array object boolean"),
        ({"if": {"minLength": 2}, "then": {"type": ["null", "string"]}}, "string null"),
        # Nor where nothing would be left.
        ({"minimum": 3, "maximum": 2}, "string array object null boolean"),
        ({"minItems": 3, "uniqueItems": True, "items": {"enum": [1, 2]}}, "string number object null boolean"),
        ({"not": {"minLength": 2}, "minimum": 3}, "string"),
    ],
)
def test_the_types_that_are_written(schema: Any, types: str) -> None:
    assert written_types(JsonSchema(schema)) == set(types.split())


def test_inside_of_values_and_by_references() -> None:
    schema = {
        "properties": {"a": {"items": REFERENCE}, "b": {"allOf": [REFERENCE, {"type": ["string", "null"]}]}},
        **DEFINED,
    }
    texts = ['{"a": ["xy"], "b": "xy"}', '{"b": null}', '{"a": [1]}', '{"a": null}', "[]"]
    assert list(map(JsonSchema(schema).accepts, texts)) == [True, True, False, False, False]
    assert all(map(JsonSchema(schema, infer_types=False).accepts, texts))


def test_what_a_reference_from_both_kinds_of_places_leads_to_is_not_inferred() -> None:
    schema = {"type": "array", "prefixItems": [REFERENCE], "items": {"not": REFERENCE}, "minItems": 1, **DEFINED}
    assert JsonSchema(schema).accepts("[1]")
    assert not JsonSchema({**schema, "items": False}).accepts("[1]")
    nested = {"contains": {"items": A}, "items": {"type": "array"}}
    assert JsonSchema(nested).accepts("[[1]]")


def test_a_note_says_what_is_inferred_and_how_to_leave_it_open() -> None:
    schema = {"properties": {"a": {"minLength": 2}, "b": {"type": "string"}}, "required": ["a"]}
    (note,) = JsonSchema(schema).notes
    assert note == (
        'Types inferred from keywords, as there is no "type": an object at the top, a string at /properties/a. '
        "infer_types=False allows all types."
    )
    assert JsonSchema(schema, infer_types=False).notes == ()
    assert JsonSchema({"minimum": 3, "maximum": 2}).notes == ()


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"ab": {}}, "required": ["ab"]},
        {"items": {"const": "ab"}, "minItems": 1},
        {"minLength": 2, "pattern": "^ab$"},
    ],
)
def test_a_ban_that_leaves_nothing_of_the_type_writes_no_other_type(schema: dict[str, Any]) -> None:
    clean = JsonSchema(schema).without_banned(BannedWords(["x"]))
    assert clean is not None
    assert clean.shortest() == JsonSchema(schema).shortest()
    with pytest.raises(BannedWordsError, match="every text that the schema allows has a banned word"):
        JsonSchema(schema).without_banned(BannedWords(["ab"]))


def test_where_no_type_could_be_inferred_none_is_with_a_ban() -> None:
    schema = {"minimum": 3, "maximum": 2}
    clean = JsonSchema(schema).without_banned(BannedWords(["ab"]))
    assert clean is not None
    assert clean.shortest() == JsonSchema(schema).shortest()


KEYWORDS: dict[str, dict[str, Any]] = {
    "string": {"minLength": 1, "maxLength": 1, "pattern": "^a"},
    "number": {"minimum": 1, "exclusiveMaximum": 3, "multipleOf": 2},
    "array": {"minItems": 1, "maxItems": 1, "items": {"type": "string"}},
    "object": {"required": ["a"], "maxProperties": 2, "properties": {"a": {"type": "integer"}}},
}
ALL_KEYWORDS = {keyword: (kind, value) for kind, words in KEYWORDS.items() for keyword, value in words.items()}


@given(st.lists(st.sets(st.sampled_from(sorted(ALL_KEYWORDS)), min_size=1, max_size=3), min_size=1, max_size=3))
def test_values_of_the_one_type_are_what_is_written_else_of_all(parts: list[set[str]]) -> None:
    """Schemas that hold at once: of the texts that are valid those of the type, if there are any."""
    schema = {"allOf": [{word: ALL_KEYWORDS[word][1] for word in sorted(part)} for part in parts]}
    kinds = {ALL_KEYWORDS[word][0] for part in parts for word in part}
    texts = [json.dumps(value) for value in VALUES]
    valid = set(filter(JsonSchema(schema, infer_types=False, extra_properties=True).accepts, texts))
    found = set(filter(JsonSchema(schema, extra_properties=True).accepts, texts))
    of_kind = {text for text in valid if type_of(json.loads(text)) in kinds}
    assert found == (of_kind if len(kinds) == 1 and of_kind else valid)


def type_of(value: Any) -> str:
    names = {str: "string", list: "array", dict: "object", bool: "boolean", type(None): "null"}
    return names.get(type(value), "number")


def written_types(schema: JsonSchema) -> set[str]:
    more = ['"2020-01-01"', '{"a": 1, "b": 1, "ab": 1}', "3", '["ab"]', '"xy"']
    return {type_of(json.loads(text)) for text in [*map(json.dumps, VALUES), *more] if schema.accepts(text)}
