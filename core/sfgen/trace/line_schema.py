"""The JSON Schema of a line of a trace, made of the kinds of its values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, assert_never

from sfgen.trace.docstrings import in_json_words
from sfgen.trace.kinds import (
    BytesKind,
    Json,
    Key,
    Kind,
    ListOf,
    Nullable,
    Number,
    OneOf,
    Record,
    TextKind,
    Truth,
)
from sfgen.trace.lines import HEADING, lines
from sfgen.trace.values import to_json

_SPACE = "[ \\t\\n\\v\\f\\r]*"


def schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of one line of a trace.

    It says which keys a line has, and of which values. Which line may follow which, what is not valid JSON, and texts
    whose bytes are not text, only ``read_trace`` can tell.

    >>> schema()["$defs"]["block_closed"]["required"]
    ['sample', 'seconds', 'event', 'position']
    """
    of_lines = lines()
    records = {record.type.__name__: record for keys in of_lines.values() for record in _records(keys)}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A line of a trace of sfgen",
        "oneOf": [{"$ref": f"#/$defs/{name}"} for name in of_lines],
        "$defs": {
            **{name: _line(name, keys) for name, keys in of_lines.items()},
            **{name: _described(record) for name, record in records.items()},
            "text": _text(),
        },
    }


def _line(name: str, keys: tuple[Key, ...]) -> dict[str, Any]:
    found = _object(keys)
    if name != HEADING:  # the key ``trace`` makes a heading of any line
        found["properties"]["trace"] = False
    return found


def _object(keys: tuple[Key, ...]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {key.name: _value(key) for key in keys},
        "required": [key.name for key in keys if key.is_needed],
    }


def _described(record: Record) -> dict[str, Any]:
    return {"description": in_json_words(record.meaning), **_object(record.keys)}


def _text() -> dict[str, Any]:
    bytes_ = {"type": "string", "pattern": f"^{_SPACE}([0-9A-Fa-f]{{2}}{_SPACE})*$"}
    return {
        "description": "A string; what is not Unicode text as an object with its bytes in hexadecimal digits.",
        "anyOf": [{"type": "string"}, {"type": "object", "properties": {"hex": bytes_}, "required": ["hex"]}],
    }


def _value(key: Key) -> dict[str, Any]:
    found = _schema(key.kind)
    if key.meaning:
        found["description"] = in_json_words(key.meaning)
    if not key.is_needed:
        found["default"] = to_json(key.default)
    return found


def _schema(kind: Kind) -> dict[str, Any]:
    """The values of a kind, as a JSON Schema."""
    match kind:
        case Truth():
            return {"type": "boolean"}
        case Number(type_, range_):
            found: dict[str, Any] = {"type": "integer" if type_ is int else "number", "minimum": range_.least}
            return found if range_.most is None else {**found, "maximum": range_.most}
        case BytesKind() | TextKind():
            return {"$ref": "#/$defs/text"}
        case Json():
            return {}
        case OneOf((value,)):
            return {"const": value}
        case OneOf(values):
            return {"enum": list(values)}
        case Nullable(inner):
            return {"anyOf": [_schema(inner), {"type": "null"}]}
        case ListOf(inner):
            return {"type": "array", "items": _schema(inner)}
        case Record(type_, _):
            return {"$ref": f"#/$defs/{type_.__name__}"}
        case _:
            assert_never(kind)


def _records(keys: Iterable[Key]) -> Iterator[Record]:
    """The objects that stand in these, and in those again."""
    for key in keys:
        kind = key.kind
        while isinstance(kind, Nullable | ListOf):
            kind = kind.kind
        if isinstance(kind, Record):
            yield kind
            yield from _records(kind.keys)
