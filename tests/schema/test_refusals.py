"""What cannot be written is refused before anything else, by its place and its keyword."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfgen import BannedWords
from sfgen.errors import BannedWordsError, SchemaError, SchemaTooLarge, UsageError
from sfgen.schema.json_schema import JsonSchema

_OBJECT, _ARRAY = {"type": "object"}, {"type": "array"}
_DRAFT_07, _DRAFT_2019 = "http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2019-09/schema"


WAYS: list[dict[str, Any]] = [{}, {"order": "any", "spacing": "any", "extra_properties": True}]

_DIFFERENT: dict[str, Any] = {**_ARRAY, "uniqueItems": True}


def _nested(depth: int) -> dict[str, Any]:
    return {**_ARRAY, "items": _nested(depth - 1)} if depth else {"type": "null"}


@pytest.mark.parametrize(
    ("schema", "pointer", "reason"),
    [
        (
            {"items": {**_DIFFERENT, "minItems": 1, "items": {"type": "object", "minProperties": 2}}},
            "/items",
            "uniqueItems is not supported for items like these: no text could be written",
        ),
        (
            {**_DIFFERENT, "items": {"anyOf": [{"enum": [{"a": 1, "b": 2}]}, {"type": "object"}]}},
            "/items",
            "uniqueItems is not supported where enum or const lists objects beside other arrays or objects",
        ),
        (
            {**_DIFFERENT, "items": {"enum": [1, Decimal("1e1000")]}},
            "/items",
            "uniqueItems is not supported for numbers with more than 1,000 digits",
        ),
        (
            {**_DIFFERENT, "items": _nested(45)},
            "/items" * 41,
            "uniqueItems is not supported for items that are nested more than 40 deep",
        ),
        ({"not": {"format": "email"}}, "/not", "not is not supported for format"),
        (
            {"oneOf": [{"type": "string"}, {"type": "string", "format": "email"}]},
            "/oneOf/1",
            "no text is left, as the negation of format is not supported",
        ),
    ],
)
def test_what_is_not_supported_is_refused_by_place_and_name(schema: Any, pointer: str, reason: str) -> None:
    with pytest.raises(SchemaError) as caught:
        _ = JsonSchema(schema).compiled
    assert caught.value.pointer == pointer
    assert reason in caught.value.reason
    assert caught.value.hint


def test_the_line_is_told_where_the_schema_came_as_text() -> None:
    items = '"uniqueItems": true, "minItems": 1, "items": {"type": "object", "minProperties": 2}'
    with pytest.raises(SchemaError, match=r"line 2, column 1: uniqueItems is not supported for items"):
        _ = JsonSchema('{"properties": {"a":\n{"b": 1, "type": "array", ' + items + "}}}").compiled


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (False, "nothing satisfies false at the top"),
        ({"type": "integer", "minimum": 5, "maximum": 3}, "minimum 5 is above maximum 3 at the top"),
        (
            {
                "properties": {"age": {"type": "integer", "minimum": 5, "maximum": 3}},
                "required": ["age"],
                "type": "object",
            },
            "minimum 5 is above maximum 3 at /properties/age",
        ),
        ({"type": "number", "exclusiveMinimum": 3, "maximum": 3}, "exclusiveMinimum 3 leaves nothing below maximum 3"),
        (
            {"type": "integer", "exclusiveMinimum": 3, "exclusiveMaximum": 4},
            "no number satisfies type, exclusiveMinimum and exclusiveMaximum together",
        ),
        ({"type": "string", "minLength": 5, "maxLength": 3}, "minLength 5 is above maxLength 3"),
        ({"type": "string", "pattern": "^a$", "minLength": 2}, "no string satisfies minLength and pattern together"),
        ({"type": "array", "minItems": 2, "maxItems": 1}, "minItems 2 is above maxItems 1"),
        ({"type": "array", "minItems": 2, "items": False}, "minItems 2 is above the 0 items that are allowed"),
        ({"type": "array", "minItems": 1, "items": {"enum": []}}, "enum is empty at /items"),
        (
            {"type": "object", "required": ["a"], "additionalProperties": False},
            "required 'a' is not among the properties",
        ),
        ({"type": "integer", "enum": ["a"]}, "no value of enum satisfies type beside it"),
        ({"const": 1, "enum": [2]}, "enum and const have no value in common"),
        ({"type": "integer", "allOf": [{"type": "string"}]}, "no type satisfies type here and type beside it"),
        (
            {
                "$ref": "#/$defs/n",
                "$defs": {"n": {"type": "object", "properties": {"n": {"$ref": "#/$defs/n"}}, "required": ["n"]}},
            },
            "required 'n' must contain another one of its own kind, without end at /$defs/n",
        ),
        (
            {"anyOf": [False, {"type": "string", "minLength": 2, "maxLength": 1}]},
            "minLength 2 is above maxLength 1 at /anyOf/1",
        ),
    ],
)
def test_contradictions_are_told_with_both_keywords(schema: Any, message: str) -> None:
    with pytest.raises(SchemaError) as caught:
        _ = JsonSchema(schema).compiled
    assert message in caught.value.message
    assert "No text satisfies this schema" in caught.value.hint


def may_begin(schema: JsonSchema, text: bytes) -> bool:
    """Whether some text that is written begins so."""
    return schema.reader.read(schema.reader.start, text) is not None


_NO_STRING = "no string satisfies"
_EMAIL = {"format": "email", "pattern": r"@example\.org$"}


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"pattern": "^(aa)*$", "minLength": 3, "maxLength": 3}, f"{_NO_STRING} minLength, maxLength and pattern"),
        (
            {"pattern": "^(a{100})*$", "minLength": 1001, "maxLength": 1099},
            f"{_NO_STRING} minLength, maxLength",
        ),
        ({"format": "date", "pattern": "^2.*Z$"}, f"{_NO_STRING} pattern and format together"),
        ({"format": "date", "maxLength": 9}, f"{_NO_STRING} maxLength and format together"),
        ({"format": "uuid", "minLength": 37}, f"{_NO_STRING} minLength and format together"),
        ({"format": "date-time", "pattern": "^.{5}$"}, f"{_NO_STRING} pattern and format together"),
        ({**_EMAIL, "maxLength": 12}, f"{_NO_STRING} maxLength, pattern and format together"),
        ({"const": "abc", "pattern": "^b"}, "no value of const satisfies .*pattern"),
        ({"const": "2020-13-01", "format": "date"}, "no value of const satisfies .*format"),
        ({"enum": ["abc", "d"], "pattern": "^.+$", "minLength": 2, "maxLength": 2}, "no value of enum satisfies"),
    ],
)
def test_what_no_string_is_is_known_before_anything_is_written(limits: dict[str, Any], message: str) -> None:
    """Where it must be written the schema is refused; elsewhere no text begins with what leads to it."""
    impossible = {"type": "string", **limits}
    needed = {"type": "object", "properties": {"a": impossible}, "required": ["a"]}
    for schema, ways in ((impossible, WAYS), (needed, WAYS), ({"items": impossible, **_ARRAY, "minItems": 1}, WAYS)):
        for way in ways:
            with pytest.raises(SchemaError, match=message) as caught:
                _ = JsonSchema(schema, **way).compiled
            assert "No text satisfies this schema" in caught.value.hint
    assert not may_begin(JsonSchema({**needed, "required": []}, spacing="compact"), b'{"')
    assert not may_begin(JsonSchema({"items": impossible, **_ARRAY}, spacing="compact"), b'["')
    other = {"anyOf": [impossible, {"type": "null"}]}
    assert JsonSchema(other).shortest() == b"null"
    assert not may_begin(JsonSchema(other), b'"')


@given(st.integers(1, 40), st.integers(0, 40), st.integers(0, 3_000), st.integers(0, 60))
def test_lengths_that_no_match_has_are_refused(times: int, more: int, least: int, room: int) -> None:
    """By counting: the texts of the pattern have so many letters, or some more."""
    schema = {
        "type": "string",
        "pattern": f"^(a{{{times}}})*(b{{{more}}})?$",
        "minLength": least,
        "maxLength": least + room,
    }
    lengths = sorted(times * count + extra for count in range(3_100 // times + 1) for extra in (0, more))
    fitting = [length for length in lengths if least <= length <= least + room]
    if fitting:
        assert len(JsonSchema(schema).shortest()) == fitting[0] + 2
    else:
        with pytest.raises(SchemaError, match="no string satisfies"):
            _ = JsonSchema(schema).compiled


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "limits",
    [
        {"propertyNames": {"enum": ["a", "b"]}, "minProperties": 3},
        {"propertyNames": {"pattern": "^[ab]$"}, "minProperties": 3},
        {"propertyNames": {"maxLength": 0}, "minProperties": 2},
    ],
)
def test_fewer_names_than_are_needed_are_refused_before_any_automaton(limits: Any, way: Any) -> None:
    with pytest.raises(SchemaError, match="no value has as many items or properties as are required"):
        _ = JsonSchema({"type": "object", **limits}, **way).compiled
    without_type = JsonSchema(limits, **way)
    assert not without_type.compiled.has_inferred
    assert not may_begin(without_type, b"{")


@pytest.mark.parametrize("order", ["schema", "any"])
def test_a_member_whose_items_run_out_is_not_counted(order: str) -> None:
    never = {**_ARRAY, "items": {"const": 1}, "uniqueItems": True, "minItems": 2}
    named = {"^a$": never, "^b$": {"type": "null"}}
    schema = {**_OBJECT, "patternProperties": named, "additionalProperties": False, "minProperties": 1}
    assert JsonSchema(schema, order=order).shortest() == b'{"b": null}'
    with pytest.raises(SchemaError, match="no value has as many items or properties as are required at the top"):
        _ = JsonSchema({**schema, "minProperties": 2}, order=order).compiled
    with pytest.raises(SchemaError, match="no value has as many items or properties as are required at /properties/a"):
        _ = JsonSchema({**_OBJECT, "properties": {"a": never}, "required": ["a"]}, order=order).compiled


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"type": "array", "minItems": 10**9}, "minItems 1000000000 passes the limit of 1,000,000"),
        ({"enum": ["x" * 400_000]}, "the values of enum pass the limit of 300,000 bytes"),
        (
            {"allOf": [{"anyOf": [{"minimum": a * 100 + b} for b in range(50)]} for a in range(2)]},
            "more than 2,000 branches",
        ),
        ({"type": "array", "prefixItems": [{}] * 2000}, "more than 1,000 items one by one"),
        (
            {"type": "object", "properties": {f"a{i}": {"minLength": i, "maxLength": i + 1} for i in range(6_000)}},
            "more than 10,000 rules",
        ),
    ],
)
def test_what_is_too_large_is_refused_with_the_limit(schema: Any, message: str) -> None:
    with pytest.raises(SchemaTooLarge) as caught:
        _ = JsonSchema(schema).compiled
    assert message in caught.value.message


def test_depth_costs_no_stack() -> None:
    schema: Any = {"type": "integer"}
    for _ in range(190):
        schema = {"type": "object", "properties": {"a": schema}, "required": ["a"]}
    assert JsonSchema(schema).accepts('{"a": ' * 190 + "1" + "}" * 190)
    chain: Any = {"type": "integer"}
    for _ in range(190):
        chain = {"anyOf": [chain]}
    with pytest.raises(SchemaTooLarge, match="are nested more than 100 deep"):
        _ = JsonSchema(chain).compiled
    value: Any = 1
    for _ in range(100):
        value = [value]
    with pytest.raises(SchemaTooLarge, match="nested more than 60 deep"):
        _ = JsonSchema({"const": value}).compiled


def test_indent_needs_an_end() -> None:
    with pytest.raises(SchemaError, match=r"indent needs a schema of limited depth: this one is recursive at the top"):
        _ = JsonSchema({"items": {"$ref": "#"}, "type": "array"}, indent=2).compiled
    with pytest.raises(
        SchemaError, match=r"indent needs a schema of limited depth: any value is allowed at /properties/a"
    ):
        _ = JsonSchema({"properties": {"a": {"type": "object"}}, "type": "object"}, indent=2).compiled
    assert JsonSchema({"items": {"type": "null"}, "type": "array"}, indent=1).accepts("[\n null,\n null\n]")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"order": "alphabet"}, "order is 'alphabet'"),
        ({"spacing": "wide"}, "spacing is 'wide'"),
        ({"indent": -1}, "indent must be at least 0"),
        ({"indent": 17}, "indent is at most 16, not 17"),
        ({"indent": 2, "spacing": "any"}, "indent fixes the white space"),
        ({"require_all": "yes"}, "require_all must be True or False"),
    ],
)
def test_options_that_mean_nothing_are_refused(options: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        JsonSchema({}, **options)
    with pytest.raises(UsageError, match="schema must be a dictionary"):
        JsonSchema(7)


def test_banned_words_are_taken_out_of_strings_names_and_enums() -> None:
    schema = JsonSchema(
        {
            "type": "object",
            "properties": {"e": {"enum": ["bad", "good"]}, "s": {"type": "string"}, "bad": {"type": "null"}},
            "additionalProperties": {},
        }
    )
    clean = schema.without_banned(BannedWords(["bad"]))
    assert clean is not None
    texts = [
        '{"e": "good"}',
        '{"e": "bad"}',
        '{"s": "so bad!"}',
        '{"s": "x"}',
        '{"very bad": 1}',
        '{"very": "bad"}',
        '{"very": 1}',
        '{"bad": null}',
    ]
    assert [schema.accepts(text) for text in texts] == [True] * 8
    assert [clean.accepts(text) for text in texts] == [True, False, False, True, False, False, True, False]
    nested = JsonSchema({"enum": [{"a": ["bad"]}, {"bad": 1}, 2]}).without_banned(BannedWords(["bad"]))
    assert nested is not None
    assert [nested.accepts(text) for text in ('{"a": ["bad"]}', '{"bad": 1}', "2")] == [False, False, True]


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ({"const": "bad"}, "no value of const is without a banned word at the top"),
        (
            {"properties": {"a": {"const": "bad"}}, "required": ["a"]},
            "no value of const is without a banned word at /properties/a",
        ),
        ({"enum": ["bad", ["bad"], {"bad": 1}]}, "no value of enum is without a banned word at the top"),
        (
            {"enum": ["bad", 1], "type": "string"},
            "no value of enum satisfies type beside it and is without a banned word at the top",
        ),
        (
            {"enum": ["bad", "x"], "not": {"pattern": "x"}},
            "no value of enum satisfies type, not beside it and is without a banned word at the top",
        ),
    ],
)
def test_what_bans_leave_nothing_of_is_told(schema: Any, why: str) -> None:
    with pytest.raises(BannedWordsError, match="every text that the schema allows has a banned word") as caught:
        JsonSchema(schema).without_banned(BannedWords(["bad"]))
    assert caught.value.details == (f"  schema: {why}",)


def test_equal_schemas_are_equal_constraints() -> None:
    assert JsonSchema("name, age int") == JsonSchema("name, age int")
    assert len({JsonSchema("name"), JsonSchema("name"), JsonSchema("name", indent=2), JsonSchema("age")}) == 3
    assert JsonSchema({"minimum": 0.5}).to_dict()["schema"] == {"minimum": 0.5}


def test_a_refusal_names_where_and_why() -> None:
    schema = JsonSchema("age int")
    assert schema.refusal(b'{"age": 3}') is None
    assert schema.refusal(b'{"age": "3"}') == {
        "schema": repr(schema),
        "refused by": "jsonschema",
        "path": "$.age",
        "expected": "must be an integer, not a string",
    }
