"""``unevaluatedProperties`` and ``unevaluatedItems``: about what no schema in the same place has spoken of.

In a branch it is known which schemas hold, so it is known what they speak of. A value that satisfies another branch of
``anyOf`` besides may have more that is spoken of; such values are not written by this branch.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from typing import Any

from sfgen.schema.conjunction import Plain, Subschema, both
from sfgen.schema.keywords import Draft

MOST_NAMES = 4
"""The most names of properties of which it is told case by case which are there."""


def with_unevaluated(one: Subschema, branches: list[Plain], draft: Draft) -> list[Plain]:
    """Add to branches what is said of their unevaluated properties and items.

    Args:
        one: The schema.
        branches: Its branches.
        draft: The draft of the document.
    """
    if one.is_made:
        return branches
    if one.says("unevaluatedProperties", draft):
        branches = [both(branch, _properties(one, branch)) for branch in branches]
    if one.says("unevaluatedItems", draft):
        branches = [both(branch, _items(one, branch, draft)) for branch in branches]
    return branches


def with_more(one: Subschema, known: list[Subschema], word: str, draft: Draft) -> list[dict[str, Any]]:
    """Describe the values with an unevaluated property or item, which are refused.

    Args:
        one: The schema.
        known: It and all schemas that may hold where it does.
        word: ``unevaluatedProperties`` or ``unevaluatedItems``.
        draft: The draft of the document.

    Returns:
        Schemas of such values; none where they cannot be said.
    """
    listed, others = _words(draft)
    if one.schema[word] is not False or any(word in some.schema for some in known if some != one):
        return []
    if word == "unevaluatedItems":
        first = [some.schema.get(listed, []) for some in known]
        if any("contains" in some.schema or others in some.schema for some in known):
            return []
        if not all(isinstance(found, list) for found in first):
            return []
        return [{"type": "array", "minItems": max(map(len, first)) + 1}]
    if any(other in some.schema for some in known for other in ("additionalProperties", "patternProperties")):
        return []
    return _objects_with_more(sorted({name for some in known for name in some.schema.get("properties", ())}))


def _objects_with_more(names: list[str]) -> list[dict[str, Any]]:
    """The schemas of objects that have a property besides some; none where there are more than a few names.

    Which of the names are there is divided into cases, so that the number of properties tells of others.

    >>> _objects_with_more(["a"])[1] == {
    ...     "type": "object", "required": ["a"], "properties": {}, "additionalProperties": True, "minProperties": 2
    ... }
    True
    """
    if len(names) > MOST_NAMES:
        return []
    return [
        {
            "type": "object",
            "required": [name for name in names if name in there],
            "properties": {name: False for name in names if name not in there},
            "additionalProperties": True,
            "minProperties": len(there) + 1,
        }
        for count in range(len(names) + 1)
        for there in combinations(names, count)
    ]


def _properties(one: Subschema, branch: Plain) -> Plain:
    known = _read(branch)
    if any(
        "additionalProperties" in some.schema or "unevaluatedProperties" in some.schema for some in known if some != one
    ):
        return ()
    if "additionalProperties" in one.schema:
        return ()
    names = dict.fromkeys(name for some in known for name in some.schema.get("properties", ()))
    patterns = dict.fromkeys(pattern for some in known for pattern in some.schema.get("patternProperties", ()))
    schema: dict[str, Any] = {
        "properties": dict.fromkeys(names, True),
        "patternProperties": dict.fromkeys(patterns, True),
        "additionalProperties": _said(one, "unevaluatedProperties"),
    }
    return (Subschema(schema, one.pointer, f"unevaluated {[*names]} {[*patterns]} {one.key}"),)


def _items(one: Subschema, branch: Plain, draft: Draft) -> Plain:
    longest = _first_items(branch, draft)
    if longest is None:
        return ()
    listed, others = _words(draft)
    schema = {listed: [True] * longest, others: _said(one, "unevaluatedItems")}
    return (Subschema(schema, one.pointer, f"unevaluated {longest} {one.key}"),)


def _first_items(branch: Plain, draft: Draft) -> int | None:
    """How many items a branch speaks of one by one; ``None`` if it speaks of all."""
    listed, others = _words(draft)
    longest = 0
    for some in _read(branch):
        first = some.schema.get(listed)
        speaks_of_others = others in some.schema and (draft >= Draft.DRAFT_2020_12 or isinstance(first, list))
        if speaks_of_others or (first is not None and not isinstance(first, list)):
            return None
        longest = max(longest, len(first or ()))
    return longest


def _words(draft: Draft) -> tuple[str, str]:
    """The keywords of the first items and of the others."""
    return ("prefixItems", "items") if draft >= Draft.DRAFT_2020_12 else ("items", "additionalItems")


def _read(branch: Plain) -> list[Subschema]:
    return [some for some in branch if not some.is_made and not some.is_silent]


def _said(one: Subschema, word: str) -> Any:
    found: Iterable[Subschema] = one.part(word)
    return next(iter(found), True)
