"""``unevaluatedProperties`` and ``unevaluatedItems``: about what no schema in the same place has spoken of.

In a branch it is known which schemas hold, so it is known what they speak of. A value that satisfies another branch of
``anyOf`` besides may have more that is spoken of; such values are not written by this branch.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sfgen.schema.conjunction import Plain, Subschema, both
from sfgen.schema.keywords import Draft


def with_unevaluated(one: Subschema, branches: list[Plain], draft: Draft) -> list[Plain]:
    """The branches of a schema with what it says of the properties and items that nothing in them speaks of."""
    if one.is_made:
        return branches
    if one.says("unevaluatedProperties", draft):
        branches = [both(branch, _properties(one, branch)) for branch in branches]
    if one.says("unevaluatedItems", draft):
        branches = [both(branch, _items(one, branch, draft)) for branch in branches]
    return branches


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
    listed, others = ("prefixItems", "items") if draft >= Draft.DRAFT_2020_12 else ("items", "additionalItems")
    known = _read(branch)
    longest = 0
    for some in known:
        first = some.schema.get(listed)
        speaks_of_others = others in some.schema and (draft >= Draft.DRAFT_2020_12 or isinstance(first, list))
        if speaks_of_others or (first is not None and not isinstance(first, list)):
            return ()
        longest = max(longest, len(first or ()))
    schema = {listed: [True] * longest, others: _said(one, "unevaluatedItems")}
    return (Subschema(schema, one.pointer, f"unevaluated {longest} {one.key}"),)


def _read(branch: Plain) -> list[Subschema]:
    return [some for some in branch if not some.is_made and not some.is_silent]


def _said(one: Subschema, word: str) -> Any:
    found: Iterable[Subschema] = one.part(word)
    return next(iter(found), True)
