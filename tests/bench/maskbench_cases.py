"""Schemas that strain a compiler, beside those of MaskBench: large, deep or divided, each with values to walk.

They are made here, by rules that the names tell; the same schema comes out in every run.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

DRAFT_07 = "http://json-schema.org/draft-07/schema#"

_ENDS, _TAKES_MINUTES = "it ends the process", "it takes minutes"

_SYLLABLES = [a + b for a in "bdfgklmnprst" for b in "aeiou"]
_SCALARS: tuple[dict[str, Any], ...] = (
    {"type": "string"},
    {"type": "integer", "format": "int32"},
    {"type": "boolean"},
    {"type": "string", "maxLength": 253},
    {"type": "string", "enum": ["Always", "IfNotPresent", "Never"]},
    {"type": "number", "minimum": 0},
)


@dataclass(frozen=True)
class Row:
    """A schema with values.

    Args:
        id: Its name.
        schema: The schema.
        tests: Values, each with whether it is valid.
        unasked: Engines that are not asked, and why: what they do cannot be interrupted.
    """

    id: str
    schema: Any
    tests: tuple[tuple[Any, bool], ...]
    unasked: Mapping[str, str] = field(default_factory=dict)


def _word(rng: random.Random, syllables: int) -> str:
    return "".join(rng.choice(_SYLLABLES) for _ in range(syllables))


def _prose(rng: random.Random, words: int) -> str:
    return " ".join(_word(rng, rng.randint(1, 4)) for _ in range(words)).capitalize() + "."


def many_tools() -> Row:
    """400 tools, each an object of its name and of arguments with 12 properties."""
    rng = random.Random("tools")
    kinds: list[dict[str, Any]] = [
        {"type": "string"},
        {"type": "integer", "minimum": 0, "maximum": 1000},
        {"type": "boolean"},
        {"type": "array", "items": {"type": "string"}, "maxItems": 20},
        {"enum": ["low", "normal", "high"]},
        {"type": ["string", "null"], "maxLength": 80},
    ]
    branches: list[dict[str, Any]] = []
    for tool in range(400):
        properties = {
            f"{_word(rng, 2)}_{number}": {"description": _prose(rng, 3), **kinds[(tool + number) % len(kinds)]}
            for number in range(12)
        }
        arguments = {
            "type": "object",
            "properties": properties,
            "required": list(properties)[:4],
            "additionalProperties": False,
        }
        branches.append(
            {
                "type": "object",
                "description": _prose(rng, 7),
                "properties": {"name": {"const": f"{_word(rng, 2)}_tool_{tool}"}, "arguments": arguments},
                "required": ["name", "arguments"],
                "additionalProperties": False,
            }
        )
    schema: dict[str, Any] = {"type": "array", "items": {"anyOf": branches}, "minItems": 1}
    properties = branches[77]["properties"]
    needed = list(properties["arguments"]["properties"].items())[:4]
    call = {"name": properties["name"]["const"], "arguments": {name: _example(value) for name, value in needed}}
    other = {**call, "name": "no_such_tool"}
    tests = (([call], True), ([other], False))
    return Row("400 tools of 12 properties", schema, tests, unasked={"xgrammar": _TAKES_MINUTES})


def _example(schema: dict[str, Any]) -> Any:
    """A value of one of the small schemas here."""
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema["type"] if isinstance(schema["type"], str) else schema["type"][0]
    return {"string": "a b", "integer": 7, "number": 7, "boolean": True, "array": ["x"], "object": {}}[kind]


def cluster_objects() -> Row:
    """Definitions as Kubernetes has them: 157 KB, mostly descriptions, with 150 references."""
    rng = random.Random("cluster")
    names = [f"io.{_word(rng, 2)}.v1.{_word(rng, 3).capitalize()}{number}" for number in range(75)]
    definitions: dict[str, Any] = {}
    for number, name in enumerate(names):
        properties: dict[str, Any] = {}
        for place in range(9):
            told = {"description": _prose(rng, rng.randint(8, 36))}
            key = f"{_word(rng, 2)}{_word(rng, 1).capitalize()}{place}"
            if place < 2:  # two references each, to what is defined later and now and then to itself
                target = names[number if number % 25 == 7 else min(number + rng.randint(1, 9), len(names) - 1)]
                link = {"$ref": f"#/definitions/{target}"}
                properties[key] = {**told, "type": "array", "items": link} if place else {**told, **link}
            elif place == 2:
                properties[key] = {**told, "type": "object", "additionalProperties": {"type": "string"}}
            else:
                properties[key] = {**told, **rng.choice(_SCALARS)}
        definitions[name] = {
            "description": _prose(rng, 22),
            "type": "object",
            "properties": properties,
            "required": rng.sample(list(properties)[3:], 2),
        }
    root = {"$schema": DRAFT_07, "$ref": f"#/definitions/{names[0]}", "definitions": definitions}
    first = definitions[names[0]]
    value = {name: _example(first["properties"][name]) for name in first["properties"] if name in first["required"]}
    return Row("157 KB with 150 references", root, ((value, True), ({}, False)), unasked={"xgrammar": _TAKES_MINUTES})


def dependencies_in_itself() -> Row:
    """A schema in whose properties it stands itself, with four dependencies that each demand more of some of them."""
    itself = {"$ref": "#"}
    names = ["left", "right", "above", "below"]
    properties: dict[str, Any] = {name: {"description": f"What is {name}.", **itself} for name in names} | {
        "label": {"type": "string", "maxLength": 40},
        "size": {"type": "integer", "minimum": 0},
        "parts": {"type": "array", "items": itself},
    }
    dependencies = {
        name: {
            "properties": {
                other: {
                    "required": [name],
                    "properties": {inner: {"maxProperties": most, "required": [needed]} for inner in names},
                }
                for other in names
                if other != name
            },
            "required": [needed],
        }
        for most, (name, needed) in enumerate(zip(names, ("label", "size", "parts", "label"), strict=True), 3)
    }
    schema = {"$schema": DRAFT_07, "type": "object", "properties": properties, "dependencies": dependencies}
    return Row(
        "itself, with four dependencies",
        schema,
        (
            ({"size": 1, "parts": [{"label": "a"}]}, True),
            ({"left": {}, "label": "c"}, True),
            ({"left": {}, "right": {}, "label": "b", "size": 2}, False),
        ),
    )


def chain() -> Row:
    """5 000 definitions, each an object with the next one in it."""
    count = 5_000
    definitions: dict[str, Any] = {
        f"d{number}": {"type": "object", "properties": {"next": {"$ref": f"#/definitions/d{number + 1}"}}}
        for number in range(count - 1)
    }
    definitions[f"d{count - 1}"] = {"type": "object", "properties": {"end": {"type": "boolean"}}}
    schema = {"$schema": DRAFT_07, "$ref": "#/definitions/d0", "definitions": definitions}
    name = f"{count:,} rules in a chain".replace(",", " ")
    value: Any = {"next": {"next": {}}}
    return Row(name, schema, ((value, True),), unasked={"llguidance": _ENDS, "xgrammar": _ENDS})


SHAPES: dict[str, Callable[[], Row]] = {
    "tools": many_tools,
    "cluster": cluster_objects,
    "dependencies": dependencies_in_itself,
    "chain": chain,
}
"""By the name that the command line has for each."""
