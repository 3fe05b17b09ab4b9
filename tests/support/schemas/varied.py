"""Schemas with what their texts must reach: each property there and not there, each branch, each length."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

Classes = dict[str, Callable[[Any], bool]]


@dataclass(frozen=True)
class Varied:
    """A schema and classes of values, by name; texts of many seeds reach each class.

    Args:
        name: Its name.
        schema: The schema.
        classes: Whether a value is in the class.
    """

    name: str
    schema: Any
    classes: Classes = field(default_factory=dict)


def closed(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    """An object of these properties and no others."""
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


def _formatted(**formats: str) -> dict[str, Any]:
    """An object of optional properties with these formats."""
    return closed({name: {"type": "string", "format": form} for name, form in formats.items()})


def _present(*names: str) -> Classes:
    found: Classes = {}
    for name in names:
        found[f"with {name}"] = lambda value, name=name: name in value  # type: ignore[misc]
        found[f"without {name}"] = lambda value, name=name: name not in value  # type: ignore[misc]
    return found


def _equal(*values: Any) -> Classes:
    return {repr(value): lambda found, value=value: found == value for value in values}  # type: ignore[misc]


def _lengths(*lengths: int) -> Classes:
    return {f"length {length}": lambda value, length=length: len(value) == length for length in lengths}  # type: ignore[misc]


def _depth(value: Any) -> int:
    """How many links a list has."""
    return 0 if value is None else 1 + _depth(value["next"])


def _kinds(*kinds: type) -> Classes:
    return {kind.__name__: lambda value, kind=kind: type(value) is kind for kind in kinds}  # type: ignore[misc]


_AB: dict[str, Any] = {"type": "string", "pattern": "^[ab]*$", "maxLength": 4}
_DIGIT: dict[str, Any] = {"type": "integer", "minimum": 0, "maximum": 9}
_FLAG: dict[str, Any] = {"type": "boolean"}

VARIED: tuple[Varied, ...] = (
    Varied("flag", _FLAG, _equal(True, False)),
    Varied("null", {"type": "null"}, _equal(None)),
    Varied("small integers", {"type": "integer", "minimum": -3, "maximum": 3}, _equal(-3, -2, -1, 0, 1, 2, 3)),
    Varied("quarters", {"type": "number", "minimum": 0, "maximum": 1, "multipleOf": 0.25},
           {"inside": lambda value: 0 < value < 1, "zero": lambda value: value == 0, "one": lambda value: value == 1}),
    Varied("between decimals", {"type": "number", "exclusiveMinimum": 0.1, "exclusiveMaximum": 0.13}),
    Varied("multiples of a cent", {"type": "number", "minimum": -20, "maximum": 20, "multipleOf": 0.01},
           {"below": lambda value: value < 0, "above": lambda value: value > 0}),
    Varied("exclusive in draft 4", {"$schema": "http://json-schema.org/draft-04/schema#", "type": "integer",
                                    "minimum": 0, "exclusiveMinimum": True, "maximum": 4, "exclusiveMaximum": True},
           _equal(1, 2, 3)),
    Varied("letters", _AB, _lengths(0, 1, 2, 3, 4)),
    Varied("two to five", {"type": "string", "minLength": 2, "maxLength": 5}),
    Varied("long text", {"type": "string", "maxLength": 3000}),
    Varied("unanchored", {"type": "string", "pattern": "x[0-9]y", "maxLength": 12}),
    Varied("any enum", {"enum": ["a", "", "\"\\\n", "Ünï", 0, -1.5, True, None, [], [1, {"a": []}], {"b": None}]},
           _equal("a", "", "\"\\\n", "Ünï", 0, -1.5, True, None, [], [1, {"a": []}], {"b": None})),
    Varied("constant object", {"const": {"k": [1, "two", None]}}, _equal({"k": [1, "two", None]})),
    Varied("types", {"type": ["string", "integer", "null", "boolean"], "maxLength": 3, "minimum": 0, "maximum": 99},
           _kinds(str, int, type(None), bool)),
    Varied("branches", {"anyOf": [_FLAG, _DIGIT, _AB, {"type": "array", "items": _FLAG, "maxItems": 2}, closed({})]},
           _kinds(bool, int, str, list, dict)),
    Varied("branches in branches", {"anyOf": [{"anyOf": [{"const": "p"}, {"const": "q"}]}, {"enum": ["r", "s"]}]},
           _equal("p", "q", "r", "s")),
    Varied("optional properties", closed({"zqv": _FLAG, "wyx_9": _DIGIT, "Ünïq": _AB}),
           _present("zqv", "wyx_9", "Ünïq") | {"empty": lambda value: not value, "all": lambda value: len(value) == 3}),
    Varied("some required", closed({"first": _FLAG, "second": _DIGIT, "third": _FLAG, "fourth": _AB}, "second"),
           _present("first", "third", "fourth") | {"second": lambda value: "second" in value}),
    Varied("nested optional", closed({"outer": closed({"inner": closed({"leaf": _FLAG})})}),
           {"nothing": lambda value: value == {}, "outer alone": lambda value: value == {"outer": {}},
            "leaf": lambda value: "leaf" in value.get("outer", {}).get("inner", {})}),
    Varied("odd names", closed({"": _FLAG, "a\"b": _FLAG, "back\\slash": _FLAG, "new\nline": _FLAG, "東京": _FLAG,
                                "a": _FLAG, "ab": _FLAG, "$ref": _FLAG}, "", "ab"),
           _present("a\"b", "back\\slash", "new\nline", "東京", "a", "$ref")),
    Varied("names in one another", closed({"n": _FLAG, "na": _FLAG, "nam": _FLAG, "name": _FLAG, "names": _FLAG}),
           _present("n", "na", "nam", "name", "names")),
    Varied("flags", {"type": "array", "items": _FLAG, "maxItems": 3}, _lengths(0, 1, 2, 3)),
    Varied("at least two", {"type": "array", "items": _DIGIT, "minItems": 2, "maxItems": 4}, _lengths(2, 3, 4)),
    Varied("many items", {"type": "array", "items": {"enum": [0, 1]}, "minItems": 17, "maxItems": 60},
           {"short": lambda value: len(value) <= 20}),
    Varied("free array", {"type": "array", "items": {"const": 7}}, _lengths(0, 1, 2, 3)),
    Varied("tuple", {"type": "array", "prefixItems": [_FLAG, _DIGIT, _AB], "items": False, "minItems": 1},
           _lengths(1, 2, 3)),
    Varied("tuple and more", {"type": "array", "prefixItems": [_DIGIT], "items": {"type": "null"}, "maxItems": 3},
           _lengths(0, 1, 2, 3)),
    Varied("tuple in draft 7", {"$schema": "http://json-schema.org/draft-07/schema#", "type": "array",
                                "items": [_FLAG, _DIGIT], "additionalItems": False}, _lengths(0, 1, 2)),
    Varied("linked list", {"$ref": "#/$defs/link", "$defs": {"link": {"anyOf": [
        {"type": "null"}, closed({"flag": _FLAG, "next": {"$ref": "#/$defs/link"}}, "flag", "next")]}}},
           {f"depth {n}": lambda value, n=n: _depth(value) == n for n in range(3)}),  # type: ignore[misc]
    Varied("tree", {"$ref": "#tree", "$defs": {"t": {"$anchor": "tree", **closed(
        {"key": _DIGIT, "children": {"type": "array", "items": {"$ref": "#tree"}, "maxItems": 2}}, "key")}}},
           {f"{n} children": lambda value, n=n: len(value.get("children", ())) == n for n in range(3)}),  # type: ignore[misc]
    Varied("definitions", {"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {"d": _DIGIT},
                           "type": "array", "items": {"$ref": "#/definitions/d", "minimum": 99}, "maxItems": 2},
           _lengths(0, 1, 2)),
    Varied("reference with siblings", {"$ref": "#/$defs/d", "maximum": 2, "$defs": {"d": _DIGIT}}, _equal(0, 1, 2)),
    Varied("shapes", {"anyOf": [closed({"kind": {"const": "dot"}}, "kind"),
                                closed({"kind": {"const": "disc"}, "r": _DIGIT}, "kind", "r"),
                                closed({"kind": {"const": "box"}, "w": _DIGIT, "h": _DIGIT}, "kind", "w")]},
           {kind: lambda value, kind=kind: value["kind"] == kind for kind in ("dot", "disc", "box")}),  # type: ignore[misc]
    Varied("same names", {"anyOf": [closed({"a": _FLAG, "b": _DIGIT}, "a"), closed({"a": _DIGIT, "b": _FLAG}, "a")]},
           {"flag": lambda value: value["a"] is True, "digit": lambda value: type(value["a"]) is int} | _present("b")),
    Varied("map", {"type": "object", "additionalProperties": _FLAG},
           {"empty": lambda value: not value, "one": lambda value: len(value) == 1}),
    Varied("map with a name that must be there", {"type": "object", "additionalProperties": _DIGIT,
                                                  "required": ["xw_must"]},
           {"there": lambda value: "xw_must" in value}),
    Varied("open", {"type": "object", "properties": {"q7": _FLAG}, "required": ["q7"], "additionalProperties": _DIGIT},
           {"alone": lambda value: set(value) == {"q7"}}),
    Varied("nothing but an object", {"type": "object"}, {"empty": lambda value: not value}),
    Varied("any JSON", True, _kinds(bool, int, str, list, dict, type(None))),
    Varied("dates", _formatted(d="date", t="time", dt="date-time", p="duration"), _present("d", "t", "dt", "p")),
    Varied("addresses", _formatted(m="email", h="hostname", v4="ipv4", v6="ipv6", u="uuid", l="uri", r="uri-reference",
                                   j="json-pointer"), _present("m", "h", "v4", "v6", "u", "l", "r", "j")),
    Varied("unknown words", {"type": "object", "properties": {"a": {"type": "boolean", "x-note": 1}},
                             "required": ["a"], "additionalProperties": False, "title": "T", "x-order": ["a"]},
           {"true": lambda value: value["a"]}),
)  # fmt: skip
