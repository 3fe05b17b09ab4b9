"""Lower and upper limits of several schemas: the strictest of each, and whether anything is left between."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

from sfgen.errors import SchemaTooLarge
from sfgen.schema.conjunction import Plain

MAX_EXPONENT = 400
"""The most digits before or behind the point of a number in a schema."""

MAX_COUNT = 1_000_000
"""The most that a text may have to have: characters of a string, items of an array."""

_BEYOND = 2**31 - 2
"""An upper limit from here on says nothing: no text comes so far, and no register counts so far."""


class Contradiction(Exception):
    """No value can satisfy a schema.

    This is not an error by itself: the value may be one that can be left out.

    Args:
        reason: What contradicts itself, in one line, with the keywords.
        pointer: Where.
    """

    def __init__(self, reason: str, pointer: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.pointer = pointer


class Bound(NamedTuple):
    """A limit. Of two lower ones the greater is the stricter.

    Args:
        value: The limit.
        is_exclusive: Whether the limit itself is outside.
        keyword: The keyword that it comes from.
        pointer: Where the schema with the keyword stands.
    """

    value: Fraction
    is_exclusive: bool
    keyword: str
    pointer: str

    def __str__(self) -> str:
        return f"{self.keyword} {shown(self.value)}"


def exact(number: Any, pointer: str) -> Fraction:
    """Convert a number of a schema without rounding.

    A float is the decimal that it is written as.

    Args:
        number: An int, float or Decimal.
        pointer: Where it stands, for messages.

    Raises:
        SchemaTooLarge: It has too many digits.

    >>> exact(0.1, "") == Fraction(1, 10)
    True
    """
    decimal = number if isinstance(number, Decimal) else Decimal(repr(number))
    if decimal and abs(decimal.adjusted()) > MAX_EXPONENT:
        raise SchemaTooLarge(
            f"a number passes the limit of {MAX_EXPONENT} digits", pointer, hint="Use a smaller limit, or none."
        )
    return Fraction(decimal)


def shown(value: Fraction) -> str:
    """Write a number for a message.

    >>> shown(Fraction(5)), shown(Fraction(1, 4))
    ('5', '0.25')
    """
    return str(value.numerator) if value.denominator == 1 else str(Decimal(value.numerator) / value.denominator)


def number_bounds(plain: Plain) -> tuple[Bound | None, Bound | None]:
    """Find the strictest lower and upper limit of numbers.

    Raises:
        Contradiction: Nothing is between them.
    """
    lower: list[Bound] = []
    upper: list[Bound] = []
    for one in plain:
        for found, keyword, exclusive in (
            (lower, "minimum", "exclusiveMinimum"),
            (upper, "maximum", "exclusiveMaximum"),
        ):
            limit, beyond = one.schema.get(keyword), one.schema.get(exclusive)
            if isinstance(beyond, bool):  # draft 04: whether the limit itself is outside
                if limit is not None:
                    name = exclusive if beyond else keyword
                    found.append(Bound(exact(limit, one.pointer), beyond, name, one.pointer))
                continue
            if limit is not None:
                found.append(Bound(exact(limit, one.pointer), False, keyword, one.pointer))
            if beyond is not None:
                found.append(Bound(exact(beyond, one.pointer), True, exclusive, one.pointer))
    return _between(
        max(lower, key=lambda bound: (bound.value, bound.is_exclusive), default=None),
        min(upper, key=lambda bound: (bound.value, not bound.is_exclusive), default=None),
    )


def count_bounds(plain: Plain, least: str, greatest: str) -> tuple[int, int | None]:
    """Find the strictest limits of a length or a count.

    The lower one is 0 where nothing is said.

    Args:
        plain: The schemas.
        least: The keyword of the lower limit.
        greatest: The keyword of the upper limit.

    Raises:
        Contradiction: Nothing is between them.
        SchemaTooLarge: The lower limit passes :data:`MAX_COUNT`.
    """
    lower = max(_bounds(plain, least), default=None)
    upper = min(_bounds(plain, greatest), default=None)
    if lower is not None and lower.value > MAX_COUNT:
        raise SchemaTooLarge(f"{lower} passes the limit of {MAX_COUNT:,}", lower.pointer, hint="Ask for fewer.")
    _between(lower, upper)
    most = None if upper is None or upper.value >= _BEYOND else int(upper.value)
    return (0 if lower is None else int(lower.value), most)


def _bounds(plain: Plain, keyword: str) -> Iterable[Bound]:
    for one in plain:
        if keyword in one.schema:
            yield Bound(exact(one.schema[keyword], one.pointer), False, keyword, one.pointer)


def _between(lower: Bound | None, upper: Bound | None) -> tuple[Bound | None, Bound | None]:
    if lower is not None and upper is not None:
        if lower.value > upper.value:
            raise Contradiction(f"{lower} is above {upper}", upper.pointer)
        if lower.value == upper.value and (lower.is_exclusive or upper.is_exclusive):
            raise Contradiction(f"{lower} leaves nothing below {upper}", upper.pointer)
    return lower, upper
