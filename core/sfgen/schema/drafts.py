"""Which draft of JSON Schema a schema is written in: ``$schema`` says it, else the keywords do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from sfgen.schema.keywords import ANY_DRAFT, Draft, subschemas

LATEST = Draft.DRAFT_2020_12
"""The draft of a schema that says nothing and tells nothing."""

URIS = {
    Draft.DRAFT_04: "http://json-schema.org/draft-04/schema#",
    Draft.DRAFT_06: "http://json-schema.org/draft-06/schema#",
    Draft.DRAFT_07: "http://json-schema.org/draft-07/schema#",
    Draft.DRAFT_2019_09: "https://json-schema.org/draft/2019-09/schema",
    Draft.DRAFT_2020_12: "https://json-schema.org/draft/2020-12/schema",
}
"""The metaschema of each draft."""

_SINCE_2019 = {
    "$defs",
    "$anchor",
    "$recursiveRef",
    "$recursiveAnchor",
    "unevaluatedItems",
    "unevaluatedProperties",
    "dependentRequired",
    "dependentSchemas",
    "minContains",
    "maxContains",
}
_SINCE_2020 = {"prefixItems", "$dynamicRef", "$dynamicAnchor"}


def draft_of_uri(uri: str) -> Draft | None:
    """Return the draft that a value of ``$schema`` names.

    ``#`` at the end, and http or https, make no difference.

    >>> draft_of_uri("https://json-schema.org/draft-07/schema").title, draft_of_uri("http://example.com/schema")
    ('draft 07', None)
    """
    return _BY_NAME.get(_bare(uri))


def _bare(uri: str) -> str:
    return re.sub(r"^https?://(www\.)?", "", uri.strip()).rstrip("#/").lower()


_BY_NAME = {_bare(uri): draft for draft, uri in URIS.items()}


def guessed_draft(root: Any) -> Draft:
    """Infer the draft from the keywords, where nothing names it.

    A schema that is right in several drafts is read by the latest: ``definitions`` alone tells nothing.

    Args:
        root: The schema; it need not be well-formed.

    >>> guessed_draft({"minimum": 0, "exclusiveMinimum": True}).title
    'draft 04'
    >>> guessed_draft({"items": [{}, {}]}).title
    'draft 07'
    >>> guessed_draft({"definitions": {"a": {}}}).title
    'draft 2020-12'
    """
    told: set[str] = set()
    for schema in _schemas(root):
        if any(isinstance(schema.get(keyword), bool) for keyword in ("exclusiveMinimum", "exclusiveMaximum")):
            return Draft.DRAFT_04
        told |= schema.keys()
        if isinstance(schema.get("items"), list):
            told.add("items as a list")
    if (
        isinstance(root, dict)
        and isinstance(root.get("id"), str)
        and "$id" not in told
        and re.search("[:#]", root["id"])
    ):
        return Draft.DRAFT_04
    if told & _SINCE_2020:
        return Draft.DRAFT_2020_12
    is_old = not told.isdisjoint({"items as a list", "additionalItems", "dependencies"})
    if told & _SINCE_2019:
        by_2019 = not told.isdisjoint({"items as a list", "$recursiveRef", "$recursiveAnchor"})
        return Draft.DRAFT_2019_09 if by_2019 else Draft.DRAFT_2020_12
    return Draft.DRAFT_07 if is_old else LATEST


def _schemas(root: Any) -> Iterator[dict[str, Any]]:
    """The objects that stand where schemas do."""
    stack = [root]
    while stack:
        schema = stack.pop()
        if isinstance(schema, dict):
            yield schema
            stack.extend(inner for _, inner in subschemas(schema, ANY_DRAFT))
