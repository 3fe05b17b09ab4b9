"""A schema that a program gives as Python's objects, made into what the reader of JSON gives."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from sfgen.errors import SchemaError, SchemaTooLarge
from sfgen.schema.strict_json import MAX_DEPTH, MAX_EXPONENT, MAX_NUMBER_LENGTH, escaped

MAX_VALUES = 1_000_000
"""How many values a schema may have, each counted as often as it stands somewhere."""


def from_python(source: Any) -> Any:
    """Copy a schema as plain dicts, lists, strings and exact numbers.

    A float becomes the decimal number that Python shows of it.

    Raises:
        SchemaError: Something in it is not JSON: a name that is not a string, NaN, infinity, a lone surrogate, an
            object.
        SchemaTooLarge: It is nested too deep, which one that contains itself is, or has too many values.

    >>> from_python({"minimum": 0.1, "enum": (1, None)})
    {'minimum': Decimal('0.1'), 'enum': [1, None]}
    """
    return _Copy().of(source, "", 0)


class _Copy:
    """Copies one schema."""

    def __init__(self) -> None:
        self._count = 0

    def of(self, value: Any, pointer: str, depth: int) -> Any:
        self._count += 1
        if self._count > MAX_VALUES:
            raise SchemaTooLarge(f"it passes the limit of {MAX_VALUES:,} values", pointer)
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            return _text(str.__str__(value), pointer)
        if isinstance(value, int | float | Decimal):
            return _number(value, pointer)
        if depth >= MAX_DEPTH and isinstance(value, Mapping | list | tuple):
            raise SchemaTooLarge(f"it is nested deeper than {MAX_DEPTH} objects and lists")
        if isinstance(value, list | tuple):
            items = []
            for index, item in enumerate(value):
                items.append(self.of(item, pointer + escaped(index), depth + 1))
            return items
        if not isinstance(value, Mapping):
            raise SchemaError(f"a {type(value).__name__} is not JSON", pointer, hint="A schema is a dict or a bool.")
        members = {}
        for name, item in value.items():
            if not isinstance(name, str):
                raise SchemaError(f"a name must be a string, and {name!r:.40} is not", pointer)
            plain = _text(str.__str__(name), pointer)
            members[plain] = self.of(item, pointer + escaped(plain), depth + 1)
        return members


def _text(text: str, pointer: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise SchemaError(f"{text[error.start]!r} is half of a surrogate pair, which is not text", pointer) from None
    return text


def _number(value: float | Decimal, pointer: str) -> int | Decimal:
    if isinstance(value, int):
        if value.bit_length() > 3 * MAX_NUMBER_LENGTH:
            raise SchemaTooLarge(f"a number of more than {3 * MAX_NUMBER_LENGTH} bits", pointer)
        return int(value)
    if not (value.is_finite() if isinstance(value, Decimal) else math.isfinite(value)):
        raise SchemaError(f"{value} is not a number in JSON", pointer)
    number = Decimal(repr(float(value))) if isinstance(value, float) else value
    _, digits, exponent = number.as_tuple()
    if len(digits) > MAX_NUMBER_LENGTH or abs(int(exponent)) > MAX_EXPONENT:
        raise SchemaTooLarge(f"a number beyond {MAX_NUMBER_LENGTH} digits or the exponent {MAX_EXPONENT}", pointer)
    return number
