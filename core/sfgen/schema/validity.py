"""Whether a document is valid by a schema, and where and why it is not: the word of the package jsonschema."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sfgen.errors import SchemaError
from sfgen.schema.document import SchemaDocument
from sfgen.schema.exact_validator import one_run, validator_of
from sfgen.schema.expected import Expected, expected, json_path
from sfgen.schema.from_python import from_python
from sfgen.schema.strict_json import JsonLimitError, NotJsonError, Positions, escaped, parse, positions

_TOO_DEEP = "is nested too deep to be checked by this schema"


@dataclass(frozen=True)
class Fault:
    """Something in a document that its schema does not allow.

    Attributes:
        path: Where, as a JSON path: ``$.address.street``; empty where the document is not JSON.
        pointer: Where, as a JSON pointer: ``/address/street``.
        keyword: The keyword of the schema; empty where the document is not JSON, and where the schema is ``false``.
        expected: What was expected, in words: ``must be a number, not a string``.
        line: The line of the text, from 1; ``None`` where no text was given.
        column: The column in that line, in code points from 1.
        details: The line with a caret under the place.
    """

    path: str
    pointer: str
    keyword: str
    expected: str
    line: int | None = None
    column: int | None = None
    details: tuple[str, ...] = ()


class Validity:
    """Tells whether documents are valid by a schema.

    Formats are checked; numbers are compared exactly; nothing is fetched.

    Args:
        document: The schema.

    Raises:
        SchemaError: When it is first asked: a pattern in the schema cannot be read.

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
        """Tell whether a text is a valid document."""
        try:
            value = parse(text)
        except NotJsonError:
            return False
        return next(self._expected(value), None) is None

    def is_too_deep(self, text: str | bytes) -> bool:
        """Tell whether a text passes a limit of its validators.

        Then its validity cannot be decided.
        """
        try:
            value = parse(text)
        except JsonLimitError:
            return True
        except NotJsonError:
            return False
        return any(each.words == _TOO_DEEP for each in self._expected(value))

    def errors(self, text: str | bytes) -> list[Fault]:
        """List what is not valid in a text, in its order.

        Args:
            text: The JSON; bytes are UTF-8.
        """
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
        """List what is wrong with a value of Python.

        Values are dicts, lists, strings, numbers, bools and ``None``.
        """
        try:
            copy = from_python(value)
        except SchemaError as error:  # it is about what is not JSON, wherever that is
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
