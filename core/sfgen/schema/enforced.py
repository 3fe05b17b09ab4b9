"""Which keywords say nothing, and which combine schemas. All others are enforced where they stand.

What a draft does not know says nothing there, as it does to every validator.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from sfgen.schema.keywords import KINDS, MEANINGLESS, Draft

Schema: TypeAlias = Mapping[str, Any]

TYPES = ("null", "boolean", "number", "string", "array", "object")
"""The types of values; an integer is a number."""

_ANNOTATIONS = frozenset(
    {
        *("$schema", "$id", "id"),
        *("$comment", "title", "description", "default", "example", "examples", "deprecated", "readOnly", "writeOnly"),
        *("$defs", "definitions", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$vocabulary"),
        *("contentMediaType", "contentEncoding", "contentSchema"),
    }
)
"""Annotations, and what only gives names to schemas; the same in drafts that do not have them."""

COMBINATORS = frozenset(
    {
        *("$ref", "$dynamicRef", "$recursiveRef", "allOf", "anyOf", "oneOf", "not", "if", "then", "else"),
        *("dependentRequired", "dependentSchemas", "dependencies", "unevaluatedProperties", "unevaluatedItems"),
    }
)
"""What combines schemas; see :mod:`~sfgen.schema.branches`."""


def type_of(value: Any) -> str:
    """Return the JSON type of a value; an integer is a number."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object" if isinstance(value, dict) else "number"


def says_nothing(keywords: Iterable[str]) -> bool:
    """Tell whether keywords demand nothing beyond references and combinators.

    >>> says_nothing(["title", "$ref"]), says_nothing(["title", "type"])
    (True, False)
    """
    return all(keyword in _ANNOTATIONS or keyword in COMBINATORS for keyword in keywords)


def is_in(schema: Schema, keyword: str, draft: Draft) -> bool:
    """Tell whether a schema has a keyword with a meaning.

    Args:
        schema: The schema.
        keyword: The keyword.
        draft: The draft that gives it a meaning, or none.

    >>> is_in({"if": {}}, "if", Draft.DRAFT_07), is_in({"if": {}}, "if", Draft.DRAFT_06)
    (True, False)
    """
    return keyword in schema and keyword in KINDS[draft] and keyword not in MEANINGLESS.get(draft, ())
