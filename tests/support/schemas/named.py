"""Schemas of all keywords that are enforced: by name, small ones, nested ones, recursive ones, of all drafts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

STRING, INTEGER, NUMBER, BOOLEAN, NULL = ({"type": kind} for kind in ("string", "integer", "number", "boolean", "null"))

DRAFT_04 = "http://json-schema.org/draft-04/schema#"
DRAFT_06 = "http://json-schema.org/draft-06/schema#"
DRAFT_07 = "http://json-schema.org/draft-07/schema#"
DRAFT_2019 = "https://json-schema.org/draft/2019-09/schema"
DRAFT_2020 = "https://json-schema.org/draft/2020-12/schema"


def an_object(properties: Mapping[str, Any], required: Sequence[str] | None = None, **more: Any) -> dict[str, Any]:
    """An object, all of whose properties are required if nothing else is said."""
    needed = list(properties) if required is None else list(required)
    return {"type": "object", "properties": dict(properties), "required": needed, **more}


def a_list(items: Any, **more: Any) -> dict[str, Any]:
    """An array of items that are alike."""
    return {"type": "array", "items": items, **more}


_PERSON = an_object(
    {"name": STRING, "age": {"type": "integer", "minimum": 0, "maximum": 150}, "email": {"format": "email", **STRING}}
)
_NODE = an_object({"value": INTEGER, "children": a_list({"$ref": "#/$defs/node"})}, ["value"])
_SHAPES = [
    an_object({"kind": {"const": "circle"}, "radius": NUMBER}),
    an_object({"kind": {"const": "square"}, "side": {**NUMBER, "exclusiveMinimum": 0}}),
]

PLAIN: dict[str, Any] = {
    "true": True,
    "nothing said": {},
    "null": NULL,
    "boolean": BOOLEAN,
    "integer": INTEGER,
    "number": NUMBER,
    "string": STRING,
    "several types": {"type": ["string", "null", "integer"]},
    "person": _PERSON,
    "range": {"type": "integer", "minimum": -12, "exclusiveMaximum": 340},
    "price": {**NUMBER, "minimum": 0, "maximum": 99.99, "multipleOf": 0.01},
    "both kinds of limits": {**NUMBER, "minimum": 3, "exclusiveMinimum": 2.5, "maximum": 8, "exclusiveMaximum": 8},
    "limits without type": {"minimum": 3, "maxLength": 2, "maxItems": 1, "required": ["a"]},
    "limits in draft 04": {"$schema": DRAFT_04, "type": "number", "minimum": 0, "exclusiveMinimum": True, "maximum": 1},
    "lengths": an_object({"id": {**STRING, "minLength": 2, "maxLength": 5}, "note": {**STRING, "maxLength": 300}}),
    "pattern": {**STRING, "pattern": "^[A-Z]{2}-[0-9]+$", "maxLength": 8},
    "part of a pattern": {**STRING, "pattern": "b+", "minLength": 3},
    "formats": an_object({name: {**STRING, "format": name} for name in ("date", "time", "ipv4", "uuid")}),
    "unknown format": {**STRING, "format": "postcode"},
    "enum": {"enum": ["red", 'a "b"\n', 1, 1.5, None, True, {"a": [1, {}]}, []]},
    "enum and type": {"type": ["integer", "string"], "enum": [1.0, 2.5, "x", None]},
    "enum and limits": {"enum": [1, 5, 10, "abc", "abcdef"], "minimum": 3, "maxLength": 4},
    "enum of objects": {
        "enum": [{"a": 1, "b": 2}, {"a": "x"}, {"b": [1, 2, 3]}, [1], [1, 2]],
        "properties": {"a": INTEGER, "b": {"maxItems": 2}},
        "minItems": 2,
    },
    "long enum": {"enum": [f"value {number}" for number in range(300)]},
    "const": an_object({"version": {"const": 2}, "kind": {"const": {"a": [None]}}}),
    "const and enum": {"const": 2.0, "enum": [1, 2, 3]},
    "list": a_list(INTEGER),
    "short list": a_list(BOOLEAN, minItems=1, maxItems=3),
    "long list": a_list({"enum": [1, 2]}, minItems=2, maxItems=500),
    "list of at least many": a_list(NULL, minItems=20),
    "no items": {"type": "array", "items": False},
    "none of them": a_list(INTEGER, maxItems=0),
    "tuple": {"type": "array", "prefixItems": [STRING, INTEGER, BOOLEAN], "items": False},
    "needed tuple": {"type": "array", "prefixItems": [STRING, INTEGER, BOOLEAN], "minItems": 2, "items": NULL},
    "tuple and many": {"type": "array", "prefixItems": [STRING], "items": INTEGER, "minItems": 3, "maxItems": 60},
    "long tuple": {"type": "array", "prefixItems": [INTEGER, BOOLEAN] * 20, "items": False, "minItems": 3},
    "tuple in draft 07": {"$schema": DRAFT_07, "type": "array", "items": [STRING, INTEGER], "additionalItems": BOOLEAN},
    "closed tuple in draft 06": {"$schema": DRAFT_06, "type": "array", "items": [NULL, {}], "additionalItems": False},
    "additionalItems alone": {"$schema": DRAFT_07, "type": "array", "additionalItems": False, "maxItems": 2},
    "items in draft 2019-09": {"$schema": DRAFT_2019, "type": "array", "items": [INTEGER], "minItems": 1},
    "optional": an_object({"a": INTEGER, "b": STRING, "c": NULL}, []),
    "some optional": an_object({"a": INTEGER, "b": STRING, "c": NULL, "d": BOOLEAN}, ["b", "d"]),
    "hundred optional": an_object({f"field_{index}": [STRING, INTEGER][index % 2] for index in range(100)}, []),
    "closed": an_object({"a": INTEGER}, [], additionalProperties=False),
    "open": an_object({"a": INTEGER, "é ü": NULL}, ["a"], additionalProperties=True),
    "others are numbers": an_object({"a": STRING}, [], additionalProperties={"type": "integer", "minimum": 5}),
    "map": {"type": "object", "additionalProperties": a_list(STRING)},
    "any object": {"type": "object"},
    "required without schema": {"type": "object", "required": ["a", "b"], "additionalProperties": INTEGER},
    "required and declared": {"type": "object", "properties": {"a": INTEGER}, "required": ["z", "a"]},
    "odd names": an_object({"": NULL, 'a"b\\': NULL, "a/b~c": NULL, "*": NULL, "[]": NULL}),
    "impossible but optional": an_object({"a": False, "b": {**INTEGER, "minimum": 2, "maximum": 1}, "c": NULL}, []),
    "nested": an_object({"a": an_object({"b": an_object({"c": a_list(an_object({"d": INTEGER}))})})}),
    "same twice": an_object({name: an_object({"x": INTEGER, "y": a_list(STRING)}) for name in ("from", "to")}),
    "reference": {"$ref": "#/$defs/person", "$defs": {"person": _PERSON}},
    "definitions": {"$ref": "#/definitions/a~1b", "$schema": DRAFT_07, "definitions": {"a/b": INTEGER}},
    "anchor": {"$ref": "#here", "$defs": {"a": {"$anchor": "here", "type": "boolean"}}},
    "siblings in draft 07": {
        "$schema": DRAFT_07,
        "$ref": "#/definitions/a",
        "minimum": 5,
        "definitions": {"a": INTEGER},
    },
    "siblings in draft 2020-12": {
        "$ref": "#/$defs/a",
        "minimum": 5,
        "title": "five",
        "$defs": {"a": {**INTEGER, "maximum": 9}},
    },
    "siblings that are annotations": {"$ref": "#/$defs/a", "description": "a", "$defs": {"a": INTEGER}},
    "tree": {"$ref": "#/$defs/node", "$defs": {"node": _NODE}},
    "linked list": {
        "$ref": "#/$defs/n",
        "$defs": {"n": an_object({"v": STRING, "next": {"anyOf": [{"$ref": "#/$defs/n"}, NULL]}})},
    },
    "reference to the whole": an_object({"inner": {"$ref": "#"}, "n": INTEGER}, ["n"]),
    "lists of lists": {"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [INTEGER, a_list({"$ref": "#/$defs/a"})]}}},
    "two that call each other": {
        "$ref": "#/$defs/even",
        "$defs": {
            "even": an_object({"odd": {"$ref": "#/$defs/odd"}}, []),
            "odd": an_object({"even": {"$ref": "#/$defs/even"}}, []),
        },
    },
    "union": {"anyOf": [STRING, INTEGER, NULL, an_object({"k": STRING})]},
    "union of shapes": a_list({"anyOf": _SHAPES}),
    "union and type": {"type": "object", "anyOf": _SHAPES},
    "union and properties": {
        "type": "object",
        "properties": {"a": INTEGER, "b": STRING},
        "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
    },
    "union and limits": {"minimum": 3, "anyOf": [INTEGER, STRING, {**NUMBER, "maximum": 1}], "maximum": 7},
    "union in union": {"anyOf": [{"anyOf": [NULL, INTEGER], "minimum": 5}, {"anyOf": [BOOLEAN, {"const": "x"}]}]},
    "union of constants": {"anyOf": [{"const": "a"}, {"const": "b"}, {"enum": ["b", 1]}]},
    "all of one": {"allOf": [_PERSON]},
    "all of several": {"allOf": [{"type": ["integer", "string"]}, {"minimum": 3}, {"type": "integer", "maximum": 9}]},
    "names of one and others of another": {
        "type": "object",
        "allOf": [{"properties": {"a": {}, "b": STRING}}, {"additionalProperties": {"type": ["integer", "string"]}}],
    },
    "same at two depths": an_object({"a": an_object({"x": INTEGER}), "b": an_object({"a": an_object({"x": INTEGER})})}),
    "one of one": {"oneOf": [INTEGER]},
    "harmless": {
        **a_list(an_object({"a": INTEGER}, minProperties=0, patternProperties={}, dependentRequired={})),
        "uniqueItems": False,
        "not": False,
        "unevaluatedItems": True,
        "then": False,
    },
    "of other types": {**STRING, "uniqueItems": True, "minProperties": 3, "propertyNames": {"maxLength": 2}},
    "unknown keywords": {"type": "integer", "foo": 1, "x-bar": 2},
}  # fmt: skip

COMBINED: dict[str, Any] = {
    "one of, told apart by a constant": {"oneOf": _SHAPES},
    "one of that overlap": {"type": "integer", "oneOf": [{"multipleOf": 2}, {"multipleOf": 3}]},
    "one of what must be there": an_object(
        {"a": INTEGER, "b": STRING}, [], oneOf=[{"required": ["a"]}, {"required": ["b"]}]
    ),
    "not a type": {"not": {"type": ["object", "array", "string"]}},
    "not some values": {**STRING, "not": {"enum": ["a", "b", "ab"]}, "maxLength": 3},
    "not a pattern": {**STRING, "not": {"pattern": "^[a-y]"}, "minLength": 1},
    "not a number": {**NUMBER, "minimum": 0, "not": {"anyOf": [{"const": 1}, {"multipleOf": 2}]}},
    "not an object like that": an_object(
        {"a": INTEGER, "b": STRING}, ["a"], **{"not": {"properties": {"a": {"minimum": 3}}}}
    ),
    "if then else": an_object(
        {"kind": {"enum": ["a", "b"]}, "x": INTEGER, "y": STRING},
        ["kind"],
        **{
            "if": {"properties": {"kind": {"const": "a"}}},
            "then": {"required": ["x"]},
            "else": {"required": ["y"], "properties": {"y": {"minLength": 2}}},
        },
    ),
    "dependent required": an_object({"card": STRING, "address": STRING}, [], dependentRequired={"card": ["address"]}),
    "dependent schemas": an_object({"a": INTEGER, "b": INTEGER}, [], dependentSchemas={"a": {"required": ["b"]}}),
    "dependencies": {
        "$schema": DRAFT_07,
        **an_object({"a": INTEGER, "b": INTEGER}, [], dependencies={"a": ["b"], "b": {"maxProperties": 2}}),
    },
    "names by patterns": an_object(
        {"id": INTEGER}, patternProperties={"^x-": STRING, "d$": {"maximum": 9}}, additionalProperties=False
    ),
    "names as strings": {"type": "object", "propertyNames": {"pattern": "^[a-z]+$", "maxLength": 4}},
    "few names": {"type": "object", "propertyNames": {"enum": ["a", "b", "ab"]}, "additionalProperties": BOOLEAN},
    "fewest properties": an_object({"a": INTEGER, "b": INTEGER, "c": INTEGER}, [], minProperties=2),
    "most properties": an_object({"a": INTEGER, "b": INTEGER, "c": INTEGER}, ["b"], maxProperties=2),
    "counted names": {"type": "object", "additionalProperties": INTEGER, "minProperties": 2, "maxProperties": 3},
    "contains": a_list(INTEGER, contains={"minimum": 5}, maxItems=4),
    "contains so many": a_list({"enum": [1, 2, "a"]}, contains={"type": "integer"}, minContains=2, maxContains=3),
    "different strings": a_list(STRING, uniqueItems=True, minItems=2, maxItems=4),
    "different values": a_list({"enum": ["a", "b", 1, None]}, uniqueItems=True, minItems=1),
    "many different values": a_list({"enum": list("abcdefghijkl")}, uniqueItems=True, minItems=2),
    "different numbers": a_list({**NUMBER, "minimum": 0, "maximum": 3}, uniqueItems=True, minItems=2),
    "unevaluated properties": {
        "type": "object",
        "properties": {"a": INTEGER},
        "anyOf": [an_object({"b": STRING}), {"properties": {"c": BOOLEAN}}],
        "unevaluatedProperties": False,
    },
    "unevaluated items": {"type": "array", "allOf": [{"prefixItems": [INTEGER]}], "unevaluatedItems": STRING},
    "dynamic reference": {
        "$dynamicAnchor": "node",
        **an_object({"value": INTEGER, "next": {"$dynamicRef": "#node"}}, ["value"]),
    },
}
"""Schemas with combinators, patterns of names, and counts; not all of their valid values are written."""

SCHEMAS = PLAIN | COMBINED
