"""Expressions of the values of ``enum`` and ``const``, with the names of objects in one order or in all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from itertools import islice, permutations, product
from typing import Any

from sfgen.automata import Dfa
from sfgen.errors import SchemaTooLarge, UsageError
from sfgen.grammar.network.rules import NOTHING, Alternation, Expression, Leaf, Literal
from sfgen.schema.meaning.limits import MAX_VALUE_DEPTH
from sfgen.schema.reading.keywords import Draft, json_type
from sfgen.schema.reading.strict_json import as_decimal
from sfgen.schema.scalars.numbers import spelled
from sfgen.schema.scalars.written_text import write
from sfgen.schema.writing.layout import Layout, joined

MAX_BYTES = 300_000
"""The most bytes of the values of one ``enum``."""

_MOST_DIGITS = 30  # of a number that is written without an exponent
_COPIED = 64  # bytes of values that become literals; longer lists become an automaton

MOST_ORDERS = 120
"""The most texts of a list of values, if it has no more values: all orders of five names."""


def values_expression(
    values: Sequence[Any], layout: Layout, depth: int, pointer: str, number: Callable[[Any], Expression] | None = None
) -> Expression:
    """Build the expression of some values."""
    # With fixed white space a value has one written form, unless ``number`` allows several spellings.
    texts: dict[bytes, None] = {}
    others: list[Expression] = []
    size = 0
    for value in values:
        expression = joined(*_pieces(value, layout, depth, number or _one_spelling))
        if isinstance(expression, Literal):
            size += len(expression.data)
            texts[expression.data] = None
        else:
            size += sum(len(part.data) for part in getattr(expression, "parts", ()) if isinstance(part, Literal))
            others.append(expression)
        if size > MAX_BYTES:
            raise SchemaTooLarge(
                f"the values of enum pass the limit of {MAX_BYTES:,} bytes",
                pointer,
                hint="List fewer values, or use pattern.",
            )
    if size > _COPIED and len(texts) > 1:
        try:
            automaton: Expression = Leaf(Dfa.from_choices([text.decode() for text in texts]))
        except UsageError as error:
            raise SchemaTooLarge(f"enum: {error.message}", pointer, hint=error.hint) from None
        return automaton if not others else Alternation((automaton, *others))
    branches = (*map(Literal, texts), *others)
    return branches[0] if len(branches) == 1 else Alternation(branches) if branches else NOTHING


def as_integer(value: Any) -> Any:
    """Convert a number without a fraction to ``int``; keep other values.

    >>> as_integer(Decimal("1.0")), as_integer(Decimal("1.5"))
    (1, Decimal('1.5'))
    """
    if json_type(value) != "number" or isinstance(value, int):
        return value
    number = as_decimal(value)
    return int(number) if number == number.to_integral_value() and number.adjusted() < _MOST_DIGITS else value


def _one_spelling(value: Any) -> Expression:
    return Literal(_written_number(value))


def every_spelling(value: Any, draft: Draft) -> Expression:
    """Build the expression of a number with and without trailing zeros."""
    number, one = as_decimal(value), _written_number(value)
    is_long = len(f"{number:f}") > _MOST_DIGITS if abs(number.adjusted()) < _MOST_DIGITS else True
    if is_long or (number == number.to_integral_value() and draft <= Draft.DRAFT_04):
        return Literal(one)
    return Alternation((Literal(one), Leaf(Dfa.from_regex(spelled(number)))))


def _written_number(value: Any) -> bytes:
    """Write a number as ``json.dumps`` does, exactly.

    >>> _written_number(Decimal("1.50")), _written_number(10**20), _written_number(Decimal("0.1000000000000000000001"))
    (b'1.5', b'100000000000000000000', b'0.1000000000000000000001')
    """
    if isinstance(value, int):
        return str(value).encode()
    number = as_decimal(value)
    nearest = repr(float(number))
    is_same = "inf" not in nearest and Decimal(nearest) == number
    return (nearest if is_same else str(number)).encode()


def _pieces(
    value: Any, layout: Layout, depth: int, number: Callable[[Any], Expression], nested: int = 0
) -> Iterator[Expression]:
    """Yield the expressions that write a value, one after the other."""
    if nested > MAX_VALUE_DEPTH:
        raise SchemaTooLarge(
            f"a value of enum or const is nested more than {MAX_VALUE_DEPTH} deep", hint="Use properties."
        )
    if isinstance(value, str):
        yield Literal(write(value))
    elif value is None or isinstance(value, bool):
        yield Literal({None: b"null", True: b"true", False: b"false"}[value])
    elif not isinstance(value, list | dict):
        yield number(value)
    elif not value:
        yield Literal(b"[]" if isinstance(value, list) else b"{}")
    else:
        opening, closing = (b"[", b"]") if isinstance(value, list) else (b"{", b"}")
        below = layout.depth_below(depth)
        yield Literal(layout.opening(opening, depth))
        for index, item in enumerate(value):
            if index:
                yield layout.comma(depth)
            if isinstance(value, dict):
                yield layout.name(write(item))
                item = value[item]
            yield from _pieces(item, layout, below, number, nested + 1)
        yield Literal(layout.closing(closing, depth))


def in_all_orders(values: Sequence[Any]) -> list[Any]:
    """List the values with the names of objects in all orders, up to :data:`MOST_ORDERS`.

    >>> in_all_orders([1, {"a": 1, "b": [{"c": 2, "d": 3}]}])[:3]
    [1, {'a': 1, 'b': [{'c': 2, 'd': 3}]}, {'a': 1, 'b': [{'d': 3, 'c': 2}]}]
    """
    most = max(1, MOST_ORDERS // max(1, len(values)))
    return [each for value in values for each in islice(_orders(value), most)]


def _orders(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        for names in permutations(value):
            for parts in _each([value[name] for name in names]):
                yield dict(zip(names, parts, strict=True))
    elif isinstance(value, list):
        yield from map(list, _each(value))
    else:
        yield value


def _each(values: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
    return product(*(list(islice(_orders(value), MOST_ORDERS)) for value in values))
