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

_COMBINATORS = frozenset({"$ref", "allOf", "anyOf"})


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


def _is_true(value: Any, schema: Schema) -> bool:
    return value is True or value == {}


def _is_nothing(value: Any, schema: Schema) -> bool:
    return not value


def _is_single(value: Any, schema: Schema) -> bool:
    return len(value) == 1


def _no_condition(value: Any, schema: Schema) -> bool:
    return "if" not in schema or all(_is_true(schema.get(branch, True), schema) for branch in ("then", "else"))


_CASES = "Write the cases as branches of anyOf."

REFUSED: Mapping[str, Refused] = {
    "oneOf": Refused(None, "Write anyOf where no value satisfies two of the branches.", _is_single),
    "not": Refused(None, "Say what a value may be instead.", lambda value, _: value is False),
    "if": Refused(None, _CASES, _no_condition),
    "then": Refused(None, _CASES, _no_condition),
    "else": Refused(None, _CASES, _no_condition),
    "dependentRequired": Refused("object", _CASES, _is_nothing),
    "dependentSchemas": Refused("object", _CASES, _is_nothing),
    "dependencies": Refused("object", _CASES, _is_nothing),
    "patternProperties": Refused(
        "object", "Declare the names in properties, or use additionalProperties for all others.", _is_nothing
    ),
    "propertyNames": Refused("object", "Declare the names in properties.", _is_true),
    "minProperties": Refused("object", "Name what must be there in required.", _is_nothing),
    "maxProperties": Refused("object", "Declare the names in properties, with additionalProperties false.", _never),
    "uniqueItems": Refused("array", "Leave it out, and look for repeated items afterwards.", _is_nothing),
    "contains": Refused("array", "Describe the items with prefixItems and items.", _never),
    "unevaluatedItems": Refused("array", "Use items.", _is_true),
    "unevaluatedProperties": Refused("object", "Use additionalProperties.", _is_true),
    "$dynamicRef": Refused(None, "Use $ref.", _never),
    "$recursiveRef": Refused(None, "Use $ref.", _never),
}
"""The keywords that are not supported."""


def says_nothing(keywords: Iterable[str]) -> bool:
    """Whether keywords ask for nothing besides what references and combinators do.

    >>> says_nothing(["title", "$ref"]), says_nothing(["title", "type"])
    (True, False)
    """
    return all(keyword in _ANNOTATIONS or keyword in _COMBINATORS for keyword in keywords)


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
            keyword in KINDS[draft]
            and keyword not in MEANINGLESS.get(draft, ())
            and (refused.about is None or refused.about in types)
            and not refused.is_harmless(schema[keyword], schema)
        ):
            raise SchemaError(f"{keyword} is not supported yet", pointer + escaped(keyword), hint=refused.hint)
