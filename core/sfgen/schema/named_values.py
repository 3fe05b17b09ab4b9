"""Branches that only name values, joined: lists of hundreds would meet each other, and all that stands beside them."""

from __future__ import annotations

from collections.abc import Iterable

from sfgen.schema.conjunction import Conjunction, Plain, Subschema, listed
from sfgen.schema.enforced import COMBINATORS, says_nothing
from sfgen.schema.keywords import Draft
from sfgen.schema.strict_json import key


def values_together(branches: Iterable[Plain], one: Subschema, draft: Draft) -> list[Plain]:
    """Join those branches of ``anyOf`` that only name values.

    Args:
        branches: All branches.
        one: The schema with ``anyOf``.
        draft: Its draft.
    """
    lists = [plain for plain in branches if len(plain) == 1 and _only_names_values(plain[0], draft)]
    if len(lists) < 2:
        return list(branches)
    values = [value for plain in lists for value in listed(plain) or ()]
    joined = Subschema({"enum": values}, one.pointer, f"values of {one.key}")
    joined_ones = set(lists)
    return [*(plain for plain in branches if plain not in joined_ones), (joined,)]


def constants_together(
    parts: list[tuple[int, Conjunction]], one: Subschema, draft: Draft
) -> list[tuple[int, Conjunction]]:
    """Join those schemas of ``oneOf`` that only name values.

    They stay as they are if a value is named twice.

    Args:
        parts: All schemas with their indices.
        one: The schema with ``oneOf``.
        draft: Its draft.
    """
    lists = [(index, part) for index, part in parts if len(part) == 1 and _names_values(part[0], draft)]
    values = [value for _, part in lists for value in listed(part) or ()]
    if len(lists) < 2 or len(set(map(key, values))) < len(values):
        return parts
    indices = {index for index, _ in lists}
    joined = Subschema({"enum": values}, one.pointer, f"constants of {one.key}")
    return [*((index, part) for index, part in parts if index not in indices), (lists[0][0], (joined,))]


def _names_values(one: Subschema, draft: Draft) -> bool:
    return isinstance(one.schema, dict) and not one.schema.keys() & COMBINATORS and _only_names_values(one, draft)


def _only_names_values(one: Subschema, draft: Draft) -> bool:
    words = {word for word in one.schema if not says_nothing([word]) and one.says(word, draft)}
    return bool(words) and words <= {"enum", "const"} and "nullable" not in one.schema
