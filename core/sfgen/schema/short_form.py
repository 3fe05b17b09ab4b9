"""The short form of a schema: names and types, as ``name, age int, tags str[]``.

The notation is that of the tool ``llm`` (Simon Willison, 2025: "concise schema syntax").
"""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import Any

from sfgen.caret import caret_lines
from sfgen.errors import SchemaError

_TYPES = {"str": "string", "int": "integer", "float": "number", "bool": "boolean"}
_KNOWN = {**_TYPES, **{name: name for name in _TYPES.values()}}
_PROPERTY = re.compile(r"\s*(?P<name>[\w$-]+)(?:[ \t]+(?P<type>[^\s:]+))?\s*(?::(?P<description>.*))?", re.DOTALL)
_EXAMPLE = "For example: 'name, age int, tags str[]'; or give a file or JSON."


def read_short_form(text: str) -> dict[str, Any]:
    """Read the short form of an object with exactly these properties.

    Commas separate the properties, or if there is a newline in the text newlines do. A property is a name, its type,
    and a colon with a description, the last two of which may be missing. The types are ``str`` (if there is none),
    ``int``, ``float`` and ``bool``, or in JSON Schema's words ``string``, ``integer``, ``number`` and ``boolean``;
    ``[]`` behind one makes an array of them.

    Raises:
        SchemaError: It is not the short form: an unknown type, no name, a name twice. A caret stands under the place.

    >>> read_short_form("name, age int: in years")["properties"]
    {'name': {'type': 'string'}, 'age': {'type': 'integer', 'description': 'in years'}}
    """
    properties: dict[str, Any] = {}
    start = 0
    for part in text.split("\n" if "\n" in text.strip() else ","):
        if part.strip():
            name, schema = _property(text, start, part)
            if name in properties:
                raise _error(f'"{name}" is there twice', text, start + _blanks(part), "Give each name once.")
            properties[name] = schema
        start += len(part) + 1
    if not properties:
        raise _error("there is no name in it", text, None, _EXAMPLE)
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _property(text: str, start: int, part: str) -> tuple[str, dict[str, Any]]:
    """The name and the schema of one property, which begins at an offset in the text."""
    match = _PROPERTY.fullmatch(part.rstrip().rstrip(","))
    if match is None:
        name = re.match(r"\s*[\w$-]*[ \t]*", part)
        place = start + min(name.end() if name else 0, len(part) - 1)
        raise _error("expected a name, a type, and perhaps a colon and a description", text, place, _EXAMPLE)
    schema = _schema_of_type(text, start + match.start("type"), match["type"]) if match["type"] else {"type": "string"}
    description = (match["description"] or "").strip()
    return match["name"], {**schema, **({"description": description} if description else {})}


def _schema_of_type(text: str, start: int, name: str) -> dict[str, Any]:
    item = name.removesuffix("[]")
    if item not in _KNOWN:
        near = get_close_matches(item, _KNOWN, 1)
        known = f"The types are {', '.join(_TYPES)}, and str[] for a list."
        raise _error(f'unknown type "{name}"', text, start, f"Did you mean {near[0]}? {known}" if near else known)
    schema = {"type": _KNOWN[item]}
    return {"type": "array", "items": schema} if item != name else schema


def _blanks(part: str) -> int:
    return len(part) - len(part.lstrip())


def _error(reason: str, text: str, place: int | None, hint: str) -> SchemaError:
    return SchemaError(f"short form: {reason}", details=caret_lines(text, place), hint=hint)
