"""A value in all orders of the names in its objects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, permutations, product
from typing import Any

MOST_ORDERS = 120
"""The most texts that are written of some values, but at least one of each: all orders of five names."""


def in_all_orders(values: Sequence[Any]) -> list[Any]:
    """List the values with the names of objects in all orders.

    :data:`MOST_ORDERS` is the limit.

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
