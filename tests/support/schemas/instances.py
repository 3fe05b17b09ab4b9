"""Instances that hypothesis-jsonschema makes, in sfgen's written form, and mutated texts of them.

Its ``from_schema`` is mended here for the hypothesis of today.
"""

from __future__ import annotations

import json
import types
from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st
from hypothesis.internal.conjecture import utils as conjecture
from hypothesis_jsonschema import _from_schema, from_schema
from tests.oracles.schema_oracle import Oracle

__all__ = ["from_schema"]


class _ManyByMore:
    """``many`` of hypothesis as it was before 6.160: hypothesis-jsonschema 0.23 asks ``more`` of it."""

    def __init__(self, *args: Any, **options: Any) -> None:
        self._many = conjecture.many(*args, **options)
        self._steps: Iterator[None] | None = None

    def more(self) -> bool:
        if self._steps is None:
            self._steps = iter(self._many.__enter__())
        if next(self._steps, self) is None:
            return True
        self._many.__exit__(None, None, None)
        return False

    def reject(self, why: str | None = None) -> None:
        self._many.reject(why)


if not hasattr(conjecture.many, "more"):
    vars(_from_schema)["cu"] = types.SimpleNamespace(**{**vars(conjecture), "many": _ManyByMore})


_DIGITS = 40, 30
"""Before and behind the point of a number without bounds."""


def instances(schema: Any) -> st.SearchStrategy[str]:
    """Written texts of values that the schema allows, objects as closed as sfgen writes them."""
    found: st.SearchStrategy[str] = from_schema(_closed(schema)).map(lambda value: written(schema, value))
    return found.filter(_is_plain)


def written(schema: Any, value: Any) -> str:
    """A value as sfgen writes it: the properties in the schema's order, ``json.dumps``'s layout."""
    return json.dumps(_in_order(schema, value), ensure_ascii=False)


def mutants(text: str) -> st.SearchStrategy[str]:
    """The text with a character, a run or two places changed."""
    length = len(text)
    positions = st.integers(0, length)
    letters = st.sampled_from('"\\{}[]:, 0123456789-+.eEabxyz\n\tntfé\x7f')

    def change(kind: str, first: int, second: int, letter: str) -> str:
        low, high = sorted((first, second))
        return {
            "insert": text[:first] + letter + text[first:],
            "replace": text[:first] + letter + text[first + 1 :],
            "delete": text[:first] + text[first + 1 :],
            "cut": text[:low] + text[high:],
            "twice": text[:high] + text[low:high] + text[high:],
        }[kind]

    kinds = st.sampled_from(["insert", "replace", "delete", "cut", "twice"])
    return st.builds(change, kinds, positions, positions, letters)


def _is_plain(text: str) -> bool:
    """Whether all is as sfgen writes it: no lone surrogates, exponents or minus before zero, and no endless numbers."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False

    def number(digits: str) -> Any:
        whole, _, fraction = digits.partition(".")
        is_minus_zero = digits.startswith("-") and not digits.strip("-0.")
        is_long = len(whole) > _DIGITS[0] or len(fraction) > _DIGITS[1]
        is_plain.append("e" not in digits.lower() and not is_minus_zero and not is_long)
        return 0

    is_plain: list[bool] = []
    json.loads(text, parse_float=number, parse_int=number)
    return all(is_plain)


def _closed(schema: Any) -> Any:
    """The schema with ``additionalProperties: false`` where there are properties and nothing is said of others."""
    if isinstance(schema, list):
        return [_closed(child) for child in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: value if key in ("enum", "const") else _closed(value) for key, value in schema.items()}
    if isinstance(schema.get("properties"), dict) and ("type" in schema or "required" in schema):
        found.setdefault("additionalProperties", False)
    return found


def _in_order(schema: Any, value: Any) -> Any:
    """The value with its objects' properties in the schema's order."""
    if not isinstance(schema, dict):
        return value
    for branch in schema.get("anyOf", ()):
        if Oracle(branch).is_valid(value):
            value = _in_order(branch, value)
            break
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        more = schema.get("additionalProperties", True)
        names = [*(name for name in properties if name in value), *(name for name in value if name not in properties)]
        return {name: _in_order(properties.get(name, more), value[name]) for name in names}
    if isinstance(value, list):
        first = schema.get("prefixItems", ())
        rest = [schema.get("items", True)] * (len(value) - len(first))
        return [_in_order(child, item) for child, item in zip([*first, *rest], value, strict=False)]
    if isinstance(value, float) and value.is_integer():
        return int(value)  # as an integer is written
    return value
