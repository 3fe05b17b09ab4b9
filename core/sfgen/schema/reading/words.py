"""Words for JSON values and their types in messages."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from decimal import Decimal
from difflib import get_close_matches
from functools import lru_cache
from typing import Any

from sfgen.schema.reading.keywords import json_type

_LONGEST_VALUE = 60  # characters of a value in a message
_MOST_ALTERNATIVES = 8
_NEAR = 0.75  # the least similarity, of 1, of a misspelt name and a known one
_KEPT = 1024  # names in the cache
_LONGEST_NAME = 100  # characters; all known names are much shorter

TYPE_WORDS = {
    "null": "null",
    "boolean": "true or false",
    "integer": "an integer",
    "number": "a number",
    "string": "a string",
    "array": "an array",
    "object": "an object",
}
"""The types in words, with articles."""

TYPES_ELSEWHERE = {
    "str": "string",
    "text": "string",
    "int": "integer",
    "float": "number",
    "double": "number",
    "decimal": "number",
    "bool": "boolean",
    "list": "array",
    "tuple": "array",
    "dict": "object",
    "map": "object",
    "none": "null",
    "nil": "null",
}
"""Names of types in programming languages, and the type of JSON Schema."""


def type_of(value: Any) -> str:
    """Name the type of a value in plain words.

    >>> type_of(Decimal("1.5")), type_of(True), type_of([])
    ('a number', 'true', 'an array')
    """
    return shown(value) if value is None or isinstance(value, bool) else TYPE_WORDS[json_type(value)]


def shown(value: Any) -> str:
    """Write a value as JSON on one line, cut if long.

    >>> shown({"a": [Decimal("1.50"), None, "é"]})
    '{"a": [1.50, null, "é"]}'
    """
    text = "".join(_pieces(value))
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}…"


def as_json(value: Any) -> str:
    """Write a value as JSON on one line, its numbers unchanged.

    >>> as_json({"multipleOf": Decimal("0.10")})
    '{"multipleOf": 0.10}'
    """
    return "".join(_pieces(value, sys.maxsize - 1))


def as_indented_json(value: Any, depth: int = 0) -> str:
    """Write a value as indented JSON, its numbers unchanged.

    >>> print(as_indented_json({"enum": [Decimal("0.10"), None], "items": {}}))
    {
      "enum": [0.10, null],
      "items": {}
    }
    """
    inner, outer = "\n" + "  " * (depth + 1), "\n" + "  " * depth
    if isinstance(value, dict) and value:
        lines = [
            f"{json.dumps(name, ensure_ascii=False)}: {as_indented_json(item, depth + 1)}"
            for name, item in value.items()
        ]
        return f"{{{inner}{f',{inner}'.join(lines)}{outer}}}"
    if isinstance(value, list) and any(isinstance(item, dict | list) for item in value):
        return f"[{inner}{f',{inner}'.join(as_indented_json(item, depth + 1) for item in value)}{outer}]"
    return as_json(value)


def alternatives(words: Iterable[str]) -> str:
    """Join words by commas and "or"; of many only the first ones.

    >>> alternatives(["a string", "null"]), alternatives("abc")
    ('a string or null', 'a, b or c')
    """
    each = list(dict.fromkeys(words))
    if len(each) > _MOST_ALTERNATIVES:
        return f"{', '.join(each[:_MOST_ALTERNATIVES])} or one of {len(each) - _MOST_ALTERNATIVES} more"
    return " or ".join([", ".join(each[:-1]), each[-1]] if len(each) > 1 else each)


def first_few(words: Iterable[str], most: int) -> str:
    """List the first few words, and how many more there are.

    >>> first_few("abcd", 2), first_few("ab", 2)
    ('a, b and 2 more', 'a, b')
    """
    each = list(words)
    more = f" and {len(each) - most} more" if len(each) > most else ""
    return ", ".join(each[:most]) + more


def meant(name: str, known: Iterable[str], elsewhere: Mapping[str, str] | None = None) -> str:
    """Find the known name that is nearest to a misspelt one; empty if none is near.

    >>> meant("propertys", ["properties", "items"]), meant("DateTime", ["date-time"]), meant("color", ["date"])
    ('properties', 'date-time', '')
    """
    plain = {_plain(each): each for each in known}
    if len(name) > _LONGEST_NAME:
        return ""
    found = (elsewhere or {}).get(_plain(name)) or _near(_plain(name), tuple(plain))
    return plain.get(found, found)


@lru_cache(maxsize=_KEPT)
def _near(name: str, known: tuple[str, ...]) -> str:
    """Find the most similar known name; empty if none is near. Cached, as schemas repeat names."""
    return next(iter(get_close_matches(name, known, 1, _NEAR)), "")


def _plain(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "").replace(" ", "")


def _pieces(value: Any, room: int = _LONGEST_VALUE) -> list[str]:
    """Return the pieces of a value's JSON; pieces beyond the limit may be missing."""
    if isinstance(value, str):
        return [json.dumps(value[: room + 1], ensure_ascii=False)]
    if isinstance(value, Decimal) or (isinstance(value, int) and not isinstance(value, bool)):
        return [str(value)]
    if not isinstance(value, list | dict):
        return [json.dumps(value)]
    pieces = ["[" if isinstance(value, list) else "{"]
    for item in value:
        if room <= 0:
            break
        begin = ", " if len(pieces) > 1 else ""
        named = [begin] if isinstance(value, list) else [begin, json.dumps(item, ensure_ascii=False), ": "]
        added = named + _pieces(item if isinstance(value, list) else value[item], room)
        room -= sum(map(len, added))
        pieces += added
    return [*pieces, "]" if isinstance(value, list) else "}"]
