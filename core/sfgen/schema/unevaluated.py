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
    """The branches of a schema with what it says of the properties and items that nothing in them speaks of."""
    if one.is_made:
        return branches
    if one.says("unevaluatedProperties", draft):
        branches = [both(branch, _properties(one, branch)) for branch in branches]
    if one.says("unevaluatedItems", draft):
        branches = [both(branch, _items(one, branch, draft)) for branch in branches]
    return branches


def with_more(one: Subschema, branches: list[Plain], word: str, draft: Draft) -> tuple[list[dict[str, Any]], bool]:
    """The values that have a property or an item of which no branch speaks, where there must be none.

    Args:
        one: The schema.
        branches: All that its values may satisfy, what is unevaluated aside.
        word: ``unevaluatedProperties`` or ``unevaluatedItems``.
        draft: The draft of the document.

    Returns:
        Schemas of such values, none where they cannot be said; and whether these are all that do not satisfy the
        keyword and satisfy the rest.
    """
    if one.schema[word] is not False:
        return [], False
    spoken = [_spoken_of(one, branch, word, draft) for branch in branches]
    if any(found is None for found in spoken):
        return [], False
    if word == "unevaluatedItems":
        longest = max((len(found) for found in spoken if found is not None), default=0)
        return [{"type": "array", "minItems": longest + 1}], len(set(spoken)) <= 1
    return _objects_with_more(sorted({name for found in spoken for name in found or ()})), len(set(spoken)) <= 1


def _spoken_of(one: Subschema, branch: Plain, word: str, draft: Draft) -> tuple[str, ...] | None:
    """The names, or a mark for each of the items, of which a branch speaks; ``None`` where it may be more."""
    if word == "unevaluatedItems":
        first = _first_items(branch, draft)
        may_speak_of_all = any(
            "contains" in some.schema or ("unevaluatedItems" in some.schema and some != one) for some in branch
        )
        return None if first is None or may_speak_of_all else ("",) * first
    known = _read(branch)
    others = ("additionalProperties", "patternProperties", "unevaluatedProperties")
    if any(other in some.schema for some in known for other in others[: 2 if some == one else 3]):
        return None
    return tuple(sorted({name for some in known for name in some.schema.get("properties", ())}))


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
    listed, others = ("prefixItems", "items") if draft >= Draft.DRAFT_2020_12 else ("items", "additionalItems")
    schema = {listed: [True] * longest, others: _said(one, "unevaluatedItems")}
    return (Subschema(schema, one.pointer, f"unevaluated {longest} {one.key}"),)


def _first_items(branch: Plain, draft: Draft) -> int | None:
    """How many items a branch speaks of one by one; ``None`` if it speaks of all."""
    listed, others = ("prefixItems", "items") if draft >= Draft.DRAFT_2020_12 else ("items", "additionalItems")
    longest = 0
    for some in _read(branch):
        first = some.schema.get(listed)
        speaks_of_others = others in some.schema and (draft >= Draft.DRAFT_2020_12 or isinstance(first, list))
        if speaks_of_others or (first is not None and not isinstance(first, list)):
            return None
        longest = max(longest, len(first or ()))
    return longest


def _read(branch: Plain) -> list[Subschema]:
    return [some for some in branch if not some.is_made and not some.is_silent]


def _said(one: Subschema, word: str) -> Any:
    found: Iterable[Subschema] = one.part(word)
    return next(iter(found), True)
