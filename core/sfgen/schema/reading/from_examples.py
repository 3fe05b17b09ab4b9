"""Infer a JSON Schema from examples.

All examples are valid by the schema, and it allows little else. A rule looks at all values with the same path
(``$.address.street``; all items of a list have the same path):

* **Types.** The types that occur. Integers beside other numbers are numbers; ``1.0`` is a number. ``null`` is one more
  type. Several types are written as a list, or as ``anyOf`` if more than one of them has other keywords.
* **Objects.** Properties are in an order that agrees with all objects, if there is one, else roughly in the order of
  first occurrence. Properties of all objects are ``required``. Others are not allowed.
* **Lists.** All items of all lists have one schema. Lengths are not limited, except that a list which is always empty
  remains empty.
* **Formats** (``formats``). Strings that are all dates, date-times, times, UUIDs, IPv4 addresses, e-mail addresses or
  URIs get that format. E-mail addresses need a host like ``example.com``, URIs ``://``: ``a@b`` and ``note:x`` do not
  count.
* **Enums** (``enums``). Strings without a format become an enum of the strings that occur, if there are at least 10
  strings of at most 40 characters, each distinct one occurs at least twice, and there are at most 64 distinct ones, and
  at most the square root of the number of strings. The share of strings that occur once estimates the probability of
  new ones (Good 1953); here it is zero.
* **Maps** (``maps``). Objects whose names are data have no ``properties``, but ``additionalProperties`` for all values.
  The conditions: no name is in all objects, unless there is only one object; all values have one type, apart from
  ``null``; and there are at least 3 names, all numbers, or all dates, date-times, UUIDs or IPv4 addresses, or there are
  at least 20 names in at least 5 objects, half of which occur once.

Numbers have no bounds and strings no lengths, since those of the examples are accidental. Recursion is not inferred.

A file of examples is in JSON Lines, with a record on each line that is not blank, if its first line is a complete value
and there are others, or if its name ends in ``.jsonl`` or ``.ndjson``. Else it is one JSON document: the items of a
list are records, and any other value is one record.
"""

from __future__ import annotations

import heapq
import math
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from os import PathLike
from typing import Any

from sfgen import arguments
from sfgen.errors import InputError, SchemaError, SchemaTooLarge, UsageError
from sfgen.schema.reading.keywords import json_type
from sfgen.schema.reading.strict_json import NotJsonError, Position, decoded, file_data, from_python, parse
from sfgen.schema.scalars.formats import DATE, IPV4, TIME, UUID, format_texts

MAX_DEPTH = 64
"""The deepest nesting of lists and objects in an example."""

_FEWEST_STRINGS, _MOST_VALUES, _LONGEST_VALUE = 10, 64, 40  # of an enum
_FEWEST_NAMES, _FEWEST_OF_A_KIND, _FEWEST_OBJECTS = 20, 3, 5  # of maps
_DIGITS = "^[0-9]+$"

_LOOKS = {
    "date": re.compile(DATE),
    "date-time": re.compile(f"{DATE}T{TIME}"),
    "time": re.compile(TIME),
    "uuid": re.compile(UUID),
    "ipv4": re.compile(IPV4),
    "email": re.compile(r"[^@]+@[^@]+\.[A-Za-z]{2,}"),
    "uri": re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://.+"),
}
"""A pattern for each format that strings must match in addition to the format itself."""

_NAME_FORMATS = ("date", "date-time", "uuid", "ipv4")

MAX_BYTES = 1 << 24
"""The most bytes of a file of records."""

_LINES = (".jsonl", ".ndjson")
_ENDINGS = (*_LINES, ".json")
_FORMS = "Records are JSON Lines, a value on each line, or one JSON list of them."


@arguments.with_known_names
def schema_of(
    example: object, *more: object, enums: bool = True, formats: bool = True, maps: bool = True
) -> dict[str, Any]:
    """Infer a JSON Schema from examples.

    The rules stand at the head of this module.

    Args:
        example: An example: a dict, a list, a tuple, a string, a number, a bool or ``None``; or a ``pathlib.Path``: a
            file of them, JSON Lines or a JSON list.
        more: More examples and files. A list of records is one example that is a list: ``schema_of(*records)``.
        enums: Whether strings may become enums.
        formats: Whether formats are recognised.
        maps: Whether objects may become maps.

    Returns:
        The schema, as plain data for JSON.

    Raises:
        UsageError: An example is not JSON.
        InputError: A file cannot be read, is not JSON, or has no record.
        SchemaTooLarge: An example is nested too deep, or passes another limit.

    >>> schema_of({"name": "Ada", "born": "1815-12-10"}, {"name": "Bob", "age": 36})["properties"]
    {'name': {'type': 'string'}, 'born': {'type': 'string', 'format': 'date'}, 'age': {'type': 'integer'}}
    """
    rules = _Rules(arguments.flag("enums", enums), arguments.flag("formats", formats), arguments.flag("maps", maps))
    values: list[Any] = []
    for number, each in enumerate((example, *more), 1):
        values += read_records(each) if isinstance(each, PathLike) else [_copied(each, number)]
    return rules.schema(values, 0)


def _copied(example: object, number: int) -> Any:
    """Copy an example to the values of the JSON reader."""
    if isinstance(example, str) and _is_named_as_records(example):
        raise UsageError(
            f"example {number} is a string, and {example!r} is the name of a file",
            hint="Give a file as a path: schema_of(pathlib.Path(…)).",
        )
    try:
        return from_python(example)
    except SchemaTooLarge:
        raise
    except SchemaError as error:
        where = f" at {error.pointer}" if error.pointer else ""
        raise UsageError(f"example {number}: {error.reason}{where}") from None


@dataclass(frozen=True)
class _Rules:
    """The rules of inference, with switches for some; see the head of this module."""

    enums: bool
    formats: bool
    maps: bool

    def schema(self, values: Iterable[Any], depth: int) -> dict[str, Any]:
        """Return the schema of the values of one path, of which there is at least one."""
        groups: dict[str, list[Any]] = {}
        for value in values:
            groups.setdefault(_type_of(value), []).append(value)
        if "integer" in groups and "number" in groups:
            groups = {kind: members for kind, members in groups.items() if kind != "integer"}
        has_null = groups.pop("null", None) is not None
        return _union([self._of_one_type(kind, members, depth) for kind, members in groups.items()], has_null)

    def _of_one_type(self, kind: str, values: list[Any], depth: int) -> dict[str, Any]:
        if kind in ("array", "object") and depth >= MAX_DEPTH:
            raise SchemaTooLarge(f"an example is nested deeper than {MAX_DEPTH} lists and objects")
        if kind == "string":
            return self._of_strings(values)
        if kind == "object":
            return self._of_objects(values, depth)
        if kind != "array":
            return {"type": kind}
        if not any(values):
            return {"type": "array", "maxItems": 0}
        return {"type": "array", "items": self.schema(chain.from_iterable(values), depth + 1)}

    def _of_strings(self, texts: list[str]) -> dict[str, Any]:
        counts = Counter(texts)
        name = format_of(counts) if self.formats else None
        if name is not None:
            return {"type": "string", "format": name}
        return {"type": "string", **({"enum": list(counts)} if self.enums and _is_enum(counts) else {})}

    def _of_objects(self, objects: list[dict[str, Any]], depth: int) -> dict[str, Any]:
        members: dict[str, list[Any]] = {}
        for each in objects:
            for name, value in each.items():
                members.setdefault(name, []).append(value)
        names = _names_of_map(objects, members) if self.maps else None
        if names is not None:
            every = chain.from_iterable(members.values())
            return {"type": "object", **names, "additionalProperties": self.schema(every, depth + 1)}
        order = common_order(objects)
        required = [name for name in order if len(members[name]) == len(objects)]
        return {
            "type": "object",
            "properties": {name: self.schema(members[name], depth + 1) for name in order},
            **({"required": required} if required else {}),
            "additionalProperties": False,
        }


def _type_of(value: Any) -> str:
    """Return the type of a value in JSON Schema."""
    kind = json_type(value)
    return "integer" if kind == "number" and isinstance(value, int) else kind


def _union(schemas: list[dict[str, Any]], has_null: bool) -> dict[str, Any]:
    """Join the schemas of several types.

    >>> _union([{"type": "string", "enum": ["a"]}], True), _union([{"type": "array", "maxItems": 0}], True)
    ({'type': ['string', 'null'], 'enum': ['a', None]}, {'type': ['array', 'null'], 'maxItems': 0})
    """
    if has_null:
        if len(schemas) == 1 and "enum" in schemas[0]:
            return {"type": ["string", "null"], "enum": [*schemas[0]["enum"], None]}
        schemas = [*schemas, {"type": "null"}]
    if len(schemas) == 1:
        return schemas[0]
    if any("enum" in schema for schema in schemas) or sum(len(schema) > 1 for schema in schemas) > 1:
        return {"anyOf": schemas}
    types = [schema["type"] for schema in schemas]
    return {name: value for schema in schemas for name, value in schema.items()} | {"type": types}


# ---- strings ---------------------------------------------------------------------------------------------------------


def format_of(texts: Iterable[str], names: Iterable[str] = tuple(_LOOKS)) -> str | None:
    """Find the format of all texts; ``None`` if there is none.

    >>> format_of(["2024-02-29", "2023-01-01"]), format_of(["2024-02-29", "2023-02-29"]), format_of(["a@b"])
    ('date', None, None)
    """
    for name in names:
        look = _LOOKS[name]
        if all(look.fullmatch(text) for text in texts) and all(map(format_texts(name).accepts, texts)):
            return name
    return None


def _is_enum(counts: Mapping[str, int]) -> bool:
    """Return whether strings are an enum, by the counts of each."""
    total = sum(counts.values())
    return (
        total >= _FEWEST_STRINGS
        and len(counts) <= min(_MOST_VALUES, math.isqrt(total))
        and min(counts.values()) > 1
        and max(map(len, counts)) <= _LONGEST_VALUE
    )


# ---- objects ---------------------------------------------------------------------------------------------------------


def _names_of_map(objects: Sequence[Mapping[str, Any]], members: Mapping[str, Sequence[Any]]) -> dict[str, Any] | None:
    """Return the keywords for the names of maps; ``None`` if the objects are not maps."""
    is_in_all = len(objects) > 1 and any(len(values) == len(objects) for values in members.values())
    if len(members) < _FEWEST_OF_A_KIND or is_in_all:
        return None
    types = {_type_of(value) for value in chain.from_iterable(members.values())} - {"null"}
    if len(types - {"integer"} if "number" in types else types) != 1:
        return None
    if all(name.isascii() and name.isdigit() for name in members):
        return {"propertyNames": {"pattern": _DIGITS}}
    name = format_of(members, _NAME_FORMATS)
    if name is not None:
        return {"propertyNames": {"format": name}}
    seen_once = sum(len(values) == 1 for values in members.values())
    is_open = len(objects) >= _FEWEST_OBJECTS and len(members) >= _FEWEST_NAMES and 2 * seen_once >= len(members)
    return {} if is_open else None


def common_order(objects: Iterable[Mapping[str, Any]]) -> list[str]:
    """Merge the orders of the names of all objects (topological sort, Kahn 1962).

    The result agrees with the order of each object if that is possible. Among several possible next names, and where
    objects disagree, the name that occurred first is next.

    >>> common_order([{"a": 1, "c": 1}, {"a": 1, "b": 1, "c": 1}, {"d": 1}])
    ['a', 'b', 'c', 'd']
    """
    followers: dict[str, set[str]] = {}
    for each in objects:
        for name in each:
            followers.setdefault(name, set())
        for name, follower in pairwise(each):
            followers[name].add(follower)
    names = list(followers)
    numbers = {name: number for number, name in enumerate(names)}
    before = Counter(chain.from_iterable(followers.values()))
    ready = [numbers[name] for name in names if not before[name]]
    found: dict[str, None] = {}
    for oldest in names:
        while ready or oldest not in found:
            name = names[heapq.heappop(ready)] if ready else oldest
            if name in found:
                continue
            found[name] = None
            for follower in followers[name]:
                before[follower] -= 1
                if before[follower] == 0:
                    heapq.heappush(ready, numbers[follower])
    return list(found)


# ---- examples in a file ----------------------------------------------------------------------------------------------


def _is_named_as_records(text: str) -> bool:
    """Return whether a text has the ending of a file of records.

    >>> _is_named_as_records("people.jsonl"), _is_named_as_records("people")
    (True, False)
    """
    return text.endswith(_ENDINGS) and "\n" not in text


def read_records(path: PathLike[str]) -> list[Any]:
    """Read the records of a file."""
    name = os.fspath(path)
    return records_of(file_data(name, what="records", most=MAX_BYTES), name)


def records_of(data: bytes | str, name: str) -> list[Any]:
    r"""Read the records of a text.

    >>> records_of('{"a": 1}\n{"a": 2}\n', "stdin") == records_of('[{"a": 1}, {"a": 2}]', "stdin")
    True
    """
    if len(data) > MAX_BYTES:
        raise InputError(
            f"{name} passes the limit of {MAX_BYTES:,} bytes", hint=f"Use some of the records: head -n 10000 {name}"
        )
    try:
        text = decoded(data)
    except NotJsonError as error:
        raise _not_json(error, name, error.position) from None
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip(" \t\r")]
    if not lines:
        raise InputError(f"{name} has no records", hint=_FORMS)
    is_lines = name.endswith(_LINES) or (len(lines) > 1 and _is_json(lines[0][1]))
    found = [_value(line, name, number) for number, line in lines] if is_lines else _document(text, name)
    if not found:
        raise InputError(f"{name} has no records: the list is empty")
    return found


def _document(text: str, name: str) -> list[Any]:
    value = _value(text, name, 1)
    return value if isinstance(value, list) else [value]


def _value(text: str, name: str, line: int) -> Any:
    """Parse a text that begins at a line of the file."""
    try:
        return parse(text)
    except NotJsonError as error:
        raise _not_json(error, name, Position(error.position.line + line - 1, error.position.column)) from None


def _is_json(text: str) -> bool:
    try:
        parse(text)
    except NotJsonError:
        return False
    return True


def _not_json(error: NotJsonError, name: str, position: Position) -> InputError:
    where = f"{name}, line {position.line}, column {position.column}"
    return InputError(f"{where}: {error.reason}", details=error.details, hint=_FORMS)
