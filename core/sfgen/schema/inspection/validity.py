"""Validate documents with the package jsonschema.

Its errors are rewritten as sentences: the expected value, and the value that was found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sfgen.errors import SchemaError
from sfgen.schema.inspection.exact_validator import one_run, validator_of
from sfgen.schema.reading.document import SchemaDocument
from sfgen.schema.reading.strict_json import (
    JsonLimitError,
    NotJsonError,
    Positions,
    escaped,
    from_python,
    parse,
    positions,
)
from sfgen.schema.reading.words import TYPE_WORDS, alternatives, shown, type_of
from sfgen.substring.document import SUBSTRING_OF

_TOO_DEEP = "is nested too deep to be checked by this schema"
_NOT_ALLOWED = "is not allowed here"
_MOST_BRANCHES = 3  # of anyOf and oneOf in one sentence
_MOST_NAMES = 8  # of properties in one sentence


@dataclass(frozen=True)
class Fault:
    """A validation error of a document.

    Attributes:
        path: The value as a JSON path: ``$.address.street``; empty if the document is not JSON.
        pointer: The value as a JSON pointer: ``/address/street``.
        keyword: The keyword of the schema; empty if the document is not JSON, or if the schema is ``false``.
        expected: The expectation in words: ``must be a number, not a string``.
        line: The line of the text, from 1; ``None`` where no text was given.
        column: The column in that line, in code points from 1.
        details: The line with a caret under the position.
    """

    path: str
    pointer: str
    keyword: str
    expected: str
    line: int | None = None
    column: int | None = None
    details: tuple[str, ...] = ()


class Validity:
    """Validates documents by a schema.

    Formats are checked; numbers are compared exactly; no document is fetched.

    >>> from sfgen.schema import read_schema
    >>> [fault] = Validity(read_schema("name, age int")).errors('{"name": "Ada", "age": "36"}')
    >>> fault.path, fault.column, fault.expected
    ('$.age', 24, 'must be an integer, not a string')
    """

    def __init__(self, document: SchemaDocument) -> None:
        self._document = document

    @cached_property
    def _validator(self) -> Any:
        return validator_of(self._document)

    def is_valid(self, text: str | bytes) -> bool:
        """Return whether a text is a valid document."""
        try:
            value = parse(text)
        except NotJsonError:
            return False
        return next(self._expected(value), None) is None

    def is_too_deep(self, text: str | bytes) -> bool:
        """Return whether a text passes a limit of the validators, so that its validity is undecided."""
        try:
            value = parse(text)
        except JsonLimitError:
            return True
        except NotJsonError:
            return False
        return any(each.words == _TOO_DEEP for each in self._expected(value))

    def errors(self, text: str | bytes) -> list[Fault]:
        """List the errors of a text, in the order of the text."""
        try:
            value = parse(text)
        except NotJsonError as error:
            line, column = error.position
            return [Fault("", "", "", error.reason, line, column, error.details)]
        found = self._all_expected(value)
        if not found:
            return []
        where = positions(text)
        return sorted((_located(each, where) for each in found), key=lambda fault: (fault.line, fault.column))

    def errors_of_value(self, value: Any) -> list[Fault]:
        """List the errors of a Python value: a dict, list, string, number, bool or ``None``."""
        try:
            copy = from_python(value)
        except SchemaError as error:  # a part of the value is not JSON
            return [Fault("", error.pointer or "", "", f"not valid JSON: {error.reason}")]
        return [_fault(each) for each in self._all_expected(copy)]

    def _all_expected(self, value: Any) -> list[Expected]:
        return list(dict.fromkeys(self._expected(value)))

    def _expected(self, value: Any) -> Iterator[Expected]:
        try:
            with one_run():
                for error in self._validator.iter_errors(value):
                    yield from expected(error)
        except RecursionError:
            yield Expected((), "", _TOO_DEEP)


def _fault(each: Expected) -> Fault:
    return Fault(json_path(each.path), "".join(map(escaped, each.path)), each.keyword, each.words)


def _located(each: Expected, where: Positions) -> Fault:
    plain = _fault(each)
    offset = where.offset(plain.pointer, of_name=each.of_name)
    if offset is None:
        return plain
    line, column = where.lines.position(offset)
    details = where.lines.caret(offset)
    return Fault(plain.path, plain.pointer, plain.keyword, plain.expected, line, column, details)


# ---- errors as sentences ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Expected:
    """An error as a sentence, without a position in the text.

    Attributes:
        path: The path of the value: names and indexes.
        keyword: The keyword that is not satisfied; empty where the schema is ``false``.
        words: The expectation in words.
        of_name: Whether the name of a member is wrong, not its value.
    """

    path: tuple[str | int, ...]
    keyword: str
    words: str
    of_name: bool = False


def expected(error: Any) -> Iterator[Expected]:
    """Yield the sentences of an error of jsonschema."""
    path, keyword = tuple(error.absolute_path), error.validator or ""
    value, schema, wanted = error.instance, error.schema, error.validator_value
    if keyword in ("anyOf", "oneOf") and error.context:
        yield from _of_branches(error, path, keyword)
    elif keyword == "required":
        for name in wanted:
            if name not in value:
                yield Expected(path, keyword, f"{shown(name)} is missing")
    elif keyword in ("dependentRequired", "dependencies") and isinstance(value, dict):
        yield from _of_dependent_names(path, keyword, wanted, value)
    elif keyword == "additionalProperties":
        yield Expected(path, keyword, f"{shown(path[-1])} is not allowed here{_allowed(schema)}", of_name=True)
    elif keyword == "propertyNames":
        inner = next(expected(error.context[0]))
        yield Expected(path, keyword, f"the name {shown(path[-1])} {inner.words}", of_name=True)
    else:
        words = _WORDS.get(keyword)
        yield Expected(path, keyword, words(wanted, value, schema) if words else f'must satisfy "{keyword}"')


def _of_dependent_names(path: Any, keyword: str, wanted: Mapping[str, Any], value: Any) -> Iterator[Expected]:
    for name, needed in wanted.items():
        if name in value and isinstance(needed, list):
            for other in needed:
                if other not in value:
                    yield Expected(path, keyword, f"{shown(other)} is missing, which {shown(name)} needs")


def _of_branches(error: Any, path: tuple[str | int, ...], keyword: str) -> Iterator[Expected]:
    """Yield the errors of the branch that was probably meant, or one sentence about all branches."""
    branches: dict[Any, list[Any]] = {}
    for inner in error.context:
        branches.setdefault(inner.schema_path[0], []).append(inner)
    if all(_is_type_alone(errors, path) for errors in branches.values()):
        names = [inner.validator_value for errors in branches.values() for inner in errors]
        merged = [name for each in names for name in (each if isinstance(each, list) else [each])]
        yield Expected(path, keyword, _of_type(merged, error.instance, None))
        return
    meant = [errors for errors in branches.values() if not any(_is_other_kind(inner, path) for inner in errors)]
    if len(meant) == 1:
        for inner in meant[0]:
            yield from expected(inner)
        return
    briefs = list(dict.fromkeys(_brief(errors[0], path) for errors in meant or branches.values()))
    more = "; …" if len(briefs) > _MOST_BRANCHES else ""
    words = f'fits none of the {len(error.validator_value)} schemas of "{keyword}": '
    yield Expected(path, keyword, words + "; ".join(briefs[:_MOST_BRANCHES]) + more)


def _is_type_alone(errors: list[Any], path: tuple[str | int, ...]) -> bool:
    """Return whether the type of the value itself is the only error."""
    return all(error.validator == "type" and tuple(error.absolute_path) == path for error in errors)


def _is_other_kind(error: Any, path: tuple[str | int, ...]) -> bool:
    """Return whether an error shows, by a type or a constant, that its branch was not meant."""
    way = len(error.absolute_path) - len(path)
    return (error.validator == "type" and way == 0) or (error.validator in ("const", "enum") and way <= 1)


def _brief(error: Any, path: tuple[str | int, ...]) -> str:
    """Return the expectation of one branch, with its path from the value."""
    first = next(expected(error))
    way = json_path(first.path[len(path) :])[1:].removeprefix(".")
    return f"{way} {first.words}" if way else first.words


def json_path(path: tuple[str | int, ...]) -> str:
    """Write a path into a value as a JSON path.

    >>> json_path(("address", "lines", 2, "e-mail"))
    '$.address.lines[2]["e-mail"]'
    """
    parts = [
        f".{part}" if isinstance(part, str) and part.isidentifier() else f"[{shown(part)}]"  # an index or other name
        for part in path
    ]
    return "$" + "".join(parts)


def _allowed(schema: Any) -> str:
    """List the allowed names of an object for a sentence, if they are few."""
    names = [shown(name) for name in schema.get("properties", ())] if isinstance(schema, dict) else []
    if not 0 < len(names) <= _MOST_NAMES or "patternProperties" in schema:
        return ""
    return f", only {' and '.join([', '.join(names[:-1]), names[-1]] if len(names) > 1 else names)}"


def _type_words(types: Any) -> list[str]:
    return [TYPE_WORDS[name] for name in (types if isinstance(types, list) else [types])]


def _of_type(types: Any, value: Any, schema: Any) -> str:
    return f"must be {alternatives(_type_words(types))}, not {_found(types, value)}"


def _found(types: Any, value: Any) -> str:
    """Describe a value by its type; a fraction in place of an integer by its digits."""
    is_fraction = "integer" in types and not isinstance(value, str | list | dict | bool | None)
    return shown(value) if is_fraction else type_of(value)


def _count(number: Any, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def _of_size(least: bool, one: str, many: str) -> Callable[[Any, Any, Any], str]:
    def words(wanted: Any, value: Any, schema: Any) -> str:
        bound = "at least" if least else "at most"
        return f"must have {bound} {_count(wanted, one, many)}, not {len(value)}"

    return words


_of_most = _of_size(False, "item", "items")


def _of_minimum(wanted: Any, value: Any, schema: Any) -> str:
    if schema.get("exclusiveMinimum") is True:
        return f"must be above {wanted}, not {shown(value)}"
    return f"must be {wanted} or more, not {shown(value)}"


def _of_maximum(wanted: Any, value: Any, schema: Any) -> str:
    if schema.get("exclusiveMaximum") is True:
        return f"must be below {wanted}, not {shown(value)}"
    return f"must be {wanted} or less, not {shown(value)}"


def _of_enum(wanted: Any, value: Any, schema: Any) -> str:
    names = [shown(each) for each in wanted]
    return f"must be {alternatives(names) if names else 'one of no values at all'}, not {shown(value)}"


def _of_not(wanted: Any, value: Any, schema: Any) -> str:
    if wanted in (True, {}):
        return _NOT_ALLOWED
    if isinstance(wanted, dict) and set(wanted) == {"type"}:
        return f"must not be {alternatives(_type_words(wanted['type']))}"
    if isinstance(wanted, dict) and set(wanted) in ({"const"}, {"enum"}):
        return f"must not be {shown(value)}"
    if isinstance(wanted, dict) and set(wanted) == {"required"}:
        return f"must not have {' and '.join(map(shown, wanted['required']))}"
    return 'must not satisfy the schema of "not"'


def _of_contains(wanted: Any, value: Any, schema: Any) -> str:
    least = schema.get("minContains", 1)
    return f'must have at least {_count(least, "item", "items")} as "contains" describes'


_WORDS: Mapping[str, Callable[[Any, Any, Any], str]] = {
    "": lambda wanted, value, schema: _NOT_ALLOWED,
    "type": _of_type,
    "enum": _of_enum,
    "const": lambda wanted, value, schema: f"must be {shown(wanted)}, not {shown(value)}",
    "minimum": _of_minimum,
    "maximum": _of_maximum,
    "exclusiveMinimum": lambda wanted, value, schema: f"must be above {wanted}, not {shown(value)}",
    "exclusiveMaximum": lambda wanted, value, schema: f"must be below {wanted}, not {shown(value)}",
    "multipleOf": lambda wanted, value, schema: f"must be a multiple of {wanted}, not {shown(value)}",
    "minLength": _of_size(True, "character", "characters"),
    "maxLength": _of_size(False, "character", "characters"),
    "minItems": _of_size(True, "item", "items"),
    "maxItems": _of_most,
    "minProperties": _of_size(True, "property", "properties"),
    "maxProperties": _of_size(False, "property", "properties"),
    "pattern": lambda wanted, value, schema: f"must match the pattern {wanted}, and {shown(value)} does not",
    SUBSTRING_OF: lambda wanted, value, schema: f"must occur in the document {wanted}, and {shown(value)} does not",
    "format": lambda wanted, value, schema: f"must be of the format {wanted}, and {shown(value)} is not",
    "uniqueItems": lambda wanted, value, schema: "must not have an item twice",
    "contains": _of_contains,
    "minContains": _of_contains,
    "maxContains": lambda wanted, value, schema: (
        f'must have at most {_count(wanted, "item", "items")} as "contains" describes'
    ),
    "items": lambda wanted, value, schema: _of_most(len(schema.get("prefixItems", ())), value, schema),
    "additionalItems": lambda wanted, value, schema: _of_most(len(schema["items"]), value, schema),
    "oneOf": lambda wanted, value, schema: f'fits more than one of the {len(wanted)} schemas of "oneOf"',
    "not": _of_not,
    "unevaluatedProperties": lambda wanted, value, schema: "must have only properties that its schemas name",
    "unevaluatedItems": lambda wanted, value, schema: "must have only items that its schemas describe",
}
