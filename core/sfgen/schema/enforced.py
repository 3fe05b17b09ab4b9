"""Which keywords say nothing, and which are refused, each by the type that it is about. All others are enforced.

What a draft does not know says nothing there, as it does to every validator.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from sfgen.errors import SchemaError
from sfgen.schema.keywords import KINDS, MEANINGLESS, Draft
from sfgen.schema.strict_json import escaped

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


@dataclass(frozen=True)
class Refused:
    """A keyword that is not supported.

    Args:
        about: The type that it is about; ``None``: all.
        hint: What to write instead.
        is_harmless: Whether it asks for nothing, given its value and the schema that it stands in.
    """

    about: str | None
    hint: str
    is_harmless: Callable[[Any, Schema], bool]


def _never(value: Any, schema: Schema) -> bool:
    return False


def _is_nothing(value: Any, schema: Schema) -> bool:
    return not value


REFUSED: Mapping[str, Refused] = {
    "contains": Refused("array", "Describe the items with prefixItems and items.", _never),
    "uniqueItems": Refused("array", "Leave it out, and look for repeated items afterwards.", _is_nothing),
}
"""The keywords that are not supported."""


def type_of(value: Any) -> str:
    """The type of a value; an integer is a number."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object" if isinstance(value, dict) else "number"


def says_nothing(keywords: Iterable[str]) -> bool:
    """Whether keywords ask for nothing besides what references and combinators do.

    >>> says_nothing(["title", "$ref"]), says_nothing(["title", "type"])
    (True, False)
    """
    return all(keyword in _ANNOTATIONS or keyword in COMBINATORS for keyword in keywords)


def is_in(schema: Schema, keyword: str, draft: Draft) -> bool:
    """Whether a schema has a keyword that means something in its draft.

    >>> is_in({"if": {}}, "if", Draft.DRAFT_07), is_in({"if": {}}, "if", Draft.DRAFT_06)
    (True, False)
    """
    return keyword in schema and keyword in KINDS[draft] and keyword not in MEANINGLESS.get(draft, ())


def check(schema: Schema, pointer: str, draft: Draft, types: Collection[str]) -> None:
    """Look for keywords that are not supported.

    Args:
        schema: The schema.
        pointer: Where it stands.
        draft: Its draft.
        types: The types that a value may have here.

    Raises:
        SchemaError: A keyword is not supported and asks for something.
    """
    for keyword in schema.keys() & REFUSED.keys():
        refused = REFUSED[keyword]
        if (
            is_in(schema, keyword, draft)
            and (refused.about is None or refused.about in types)
            and not refused.is_harmless(schema[keyword], schema)
        ):
            raise SchemaError(f"{keyword} is not supported yet", pointer + escaped(keyword), hint=refused.hint)
