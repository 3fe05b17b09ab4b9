"""What the metaschema of a draft demands of one schema: each keyword has a value that it can have."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from difflib import get_close_matches
from typing import Any

from sfgen.schema.keywords import KINDS, TYPES, Draft, Kind
from sfgen.schema.strict_json import key
from sfgen.schema.words import alternatives, shown, type_of

_ANCHORS = {
    Draft.DRAFT_2019_09: re.compile(r"[A-Za-z][-A-Za-z0-9.:_]*"),
    Draft.DRAFT_2020_12: re.compile(r"[A-Za-z_][-A-Za-z0-9._]*"),
}
_IDENTIFIER = re.compile(r"[^#]*#?")
_HINTS = {
    ("items", list): 'Since 2020-12 this is "prefixItems"; "items" is about what follows.',
    ("exclusiveMinimum", bool): 'Since draft 06: "exclusiveMinimum": NUMBER in place of "minimum".',
    ("exclusiveMaximum", bool): 'Since draft 06: "exclusiveMaximum": NUMBER in place of "maximum".',
    ("required", bool): 'Write the names into a list beside "properties": "required": ["name"].',
}


@dataclass(frozen=True)
class Misfit:
    """Something in a schema that its metaschema does not allow.

    Attributes:
        way: The way there from the schema: keyword, then index or name.
        reason: What is wrong, in words.
        hint: What to write instead, if that is known.
    """

    way: tuple[str | int, ...]
    reason: str
    hint: str = ""


def misfits(schema: Any, draft: Draft) -> Iterator[Misfit]:
    """Yield what is wrong with a schema by itself.

    The schemas inside it are not checked.

    Args:
        schema: What stands where a schema should.
        draft: The draft that it is written in.

    >>> [misfit.reason for misfit in misfits({"type": "strin", "maxLength": -1}, Draft.DRAFT_2020_12)]
    ['"strin" is not a type', '"maxLength" must be a whole number, 0 or more, not -1']
    """
    if not isinstance(schema, dict | bool):
        yield Misfit((), f"a schema must be an object, true or false, not {type_of(schema)}")
        return
    if isinstance(schema, bool):
        if draft is Draft.DRAFT_04:
            yield Misfit((), f"a schema must be an object in draft 04, not {shown(schema)}")
        return
    kinds = KINDS[draft]
    for keyword, value in schema.items():
        kind = kinds.get(keyword)
        if kind is not None:
            yield from _of_keyword(keyword, value, kind, draft)
    if draft is Draft.DRAFT_04:
        for keyword, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
            if keyword in schema and bound not in schema:
                yield Misfit((keyword,), f'"{keyword}" needs "{bound}" beside it in draft 04')


def _of_keyword(keyword: str, value: Any, kind: Kind, draft: Draft) -> Iterator[Misfit]:
    """What is wrong with the value of a keyword. Schemas in it are checked on their own."""
    if kind is Kind.TYPES:
        yield from _of_types(keyword, value)
        return
    if kind in (Kind.NAMES, Kind.AT_LEAST_ONE_NAME):
        yield from _of_names((keyword,), value, may_be_empty=kind is Kind.NAMES)
        return
    if kind is Kind.ANCHOR:
        is_right = isinstance(value, str) and _ANCHORS[draft].fullmatch(value) is not None
    else:
        is_right = _IS_RIGHT[kind](value) and (
            kind is not Kind.COUNT or isinstance(value, int) or draft > Draft.DRAFT_04
        )
    if not is_right:
        hint = _HINTS.get((keyword, type(value)), "")
        yield Misfit((keyword,), f'"{keyword}" must be {kind.value}, not {_found(value)}', hint)
    elif kind in (Kind.DEPENDENCIES, Kind.DEPENDENT_NAMES):
        for name, names in value.items():
            if isinstance(names, list) or kind is Kind.DEPENDENT_NAMES:
                yield from _of_names((keyword, name), names, may_be_empty=draft > Draft.DRAFT_04)


def _of_types(keyword: str, value: Any) -> Iterator[Misfit]:
    for index, name in enumerate(value if isinstance(value, list) else [value]):
        if isinstance(name, str) and name not in TYPES:
            near = get_close_matches(TYPES_ELSEWHERE.get(name.lower(), name), TYPES, 1)
            hint = f'Did you mean "{near[0]}"?' if near else f"The types: {alternatives(TYPES)}."
            way = (keyword, index) if isinstance(value, list) else (keyword,)
            yield Misfit(way, f"{shown(name)} is not a type", hint)
            return
    is_list = isinstance(value, list) and value and all(isinstance(name, str) for name in value)
    if not (isinstance(value, str) or (is_list and _is_unique(value))):
        yield Misfit((keyword,), f'"{keyword}" must be {Kind.TYPES.value}, not {_found(value)}')


def _of_names(way: tuple[str, ...], value: Any, *, may_be_empty: bool) -> Iterator[Misfit]:
    kind = Kind.NAMES if may_be_empty else Kind.AT_LEAST_ONE_NAME
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value) or not (value or may_be_empty):
        hint = _HINTS.get((way[0], type(value)), "")
        yield Misfit(way, f'"{way[-1]}" must be {kind.value}, not {_found(value)}', hint)
    elif not _is_unique(value):
        twice = next(name for index, name in enumerate(value) if name in value[:index])
        yield Misfit(way, f'"{way[-1]}" must be {kind.value}: {shown(twice)} occurs twice')


def _is_number(value: Any) -> bool:
    return isinstance(value, int | Decimal) and not isinstance(value, bool)


def _is_count(value: Any) -> bool:
    return _is_number(value) and value >= 0 and value == int(value)


def _is_unique(values: list[Any]) -> bool:
    return len({key(value) for value in values}) == len(values)


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def _found(value: Any) -> str:
    """A value as what was found in place of another."""
    if isinstance(value, dict | list):
        return f"an empty {'object' if isinstance(value, dict) else 'list'}" if not value else shown(value)
    return shown(value)


_IS_RIGHT: Mapping[Kind, Callable[[Any], bool]] = {
    # What stands where a schema should is checked as one.
    Kind.SCHEMA: lambda value: not isinstance(value, list),
    Kind.SCHEMA_OR_BOOLEAN: lambda value: isinstance(value, dict | bool),
    Kind.SCHEMAS: lambda value: isinstance(value, list) and bool(value),
    Kind.SCHEMA_OR_SCHEMAS: lambda value: not isinstance(value, list) or bool(value),
    Kind.NAMED_SCHEMAS: _is_object,
    Kind.DEPENDENCIES: _is_object,
    Kind.DEPENDENT_NAMES: _is_object,
    Kind.COUNT: _is_count,
    Kind.NUMBER: _is_number,
    Kind.POSITIVE: lambda value: _is_number(value) and value > 0,
    Kind.BOOLEAN: lambda value: isinstance(value, bool),
    Kind.STRING: lambda value: isinstance(value, str),
    Kind.IDENTIFIER: lambda value: isinstance(value, str) and _IDENTIFIER.fullmatch(value) is not None,
    Kind.LIST: lambda value: isinstance(value, list),
    Kind.ALTERNATIVES: lambda value: isinstance(value, list) and bool(value) and _is_unique(value),
    Kind.BOOLEANS: lambda value: _is_object(value) and all(isinstance(item, bool) for item in value.values()),
    Kind.ANYTHING: lambda value: True,
}

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
"""Words for the types in programming languages."""
