"""Data of many steps as columns: a list for each key, and each text once."""

from __future__ import annotations

import re
from collections.abc import Hashable
from typing import Any, Generic, TypeVar

T = TypeVar("T", bound=Hashable)

_SURROGATE = re.compile("[\ud800-\udfff]")


class Numbered(Generic[T]):
    """Values that are numbered when they are first met.

    Attributes:
        values: The values, by their numbers.

    >>> words = Numbered(["a"])
    >>> words.number("b"), words.number("a"), words.values
    (1, 0, ['a', 'b'])
    """

    def __init__(self, values: list[T] | None = None) -> None:
        self.values: list[T] = list(values or ())
        self._numbers = {value: number for number, value in enumerate(self.values)}

    def number(self, value: T) -> int:
        """Give the number of a value."""
        number = self._numbers.setdefault(value, len(self.values))
        if number == len(self.values):
            self.values.append(value)
        return number


class Columns:
    """The steps, a list of values for each key.

    Attributes:
        lists: The lists, by key; all have a value for each step.
    """

    def __init__(self) -> None:
        self.lists: dict[str, list[Any]] = {}

    def add(self, **values: Any) -> None:
        """Add one step. Every step has the same keys."""
        for key, value in values.items():
            self.lists.setdefault(key, []).append(value)


def clean(text: str) -> str:
    """Replace lone surrogates, which no page can hold, one by one.

    >>> clean("a\\ud83d")
    'a\ufffd'
    """
    return _SURROGATE.sub("\ufffd", text)


def units(text: str) -> int:
    """Count a text as JavaScript does, in units of UTF-16.

    >>> units("é🎈")
    3
    """
    return len(text) + sum(character > "\uffff" for character in text)
