"""The keywords of JSON Schema: what each draft wants as their values, and where schemas stand in them.

This is the content of the metaschemas of drafts 04, 06, 07, 2019-09 and 2020-12 as one table. Checking a schema by
the metaschemas themselves takes the package jsonschema a millisecond for each schema in it, and a second to import.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum, IntEnum
from typing import Any


class Draft(IntEnum):
    """A version of JSON Schema; later ones are greater."""

    DRAFT_04 = 4
    DRAFT_06 = 6
    DRAFT_07 = 7
    DRAFT_2019_09 = 8
    DRAFT_2020_12 = 9

    @property
    def title(self) -> str:
        """The name for people.

        >>> Draft.DRAFT_07.title
        'draft 07'
        """
        return self.name.lower().replace("_", " ", 1).replace("_", "-")


class Kind(Enum):
    """What the value of a keyword is, in words."""

    SCHEMA = "a schema: an object, true or false"
    SCHEMA_OR_BOOLEAN = "an object, true or false"
    SCHEMAS = "a list of at least one schema"
    SCHEMA_OR_SCHEMAS = "a schema or a list of at least one schema"
    NAMED_SCHEMAS = "an object whose values are schemas"
    DEPENDENCIES = "an object whose values are schemas or lists of names"
    DEPENDENT_NAMES = "an object whose values are lists of names"
    NAMES = "a list of names without repeats"
    AT_LEAST_ONE_NAME = "a list of at least one name without repeats"
    TYPES = "the name of a type or a list of at least one, without repeats"
    COUNT = "a whole number, 0 or more"
    NUMBER = "a number"
    POSITIVE = "a number above 0"
    BOOLEAN = "true or false"
    STRING = "a string"
    ANCHOR = "a name of letters, digits, -, . and _ that begins with a letter"
    IDENTIFIER = "a URI without a fragment"
    LIST = "a list"
    ALTERNATIVES = "a list of at least one value without repeats"
    BOOLEANS = "an object whose values are true or false"
    ANYTHING = "anything"


SUBSTRING_OF = "x-substring-of"
"""A keyword of our own: a string stands in the document of this name, which is given beside the schema."""

TYPES = ("array", "boolean", "integer", "null", "number", "object", "string")
"""The names of the types."""

_ALWAYS = {
    **dict.fromkeys(("title", "description", "format", "pattern", "$schema", "$ref"), Kind.STRING),
    **dict.fromkeys(("maximum", "minimum"), Kind.NUMBER),
    **dict.fromkeys(("maxLength", "maxItems", "maxProperties", "minLength", "minItems", "minProperties"), Kind.COUNT),
    **dict.fromkeys(("properties", "patternProperties", "definitions"), Kind.NAMED_SCHEMAS),
    **dict.fromkeys(("allOf", "anyOf", "oneOf"), Kind.SCHEMAS),
    "multipleOf": Kind.POSITIVE,
    "uniqueItems": Kind.BOOLEAN,
    "not": Kind.SCHEMA,
    "type": Kind.TYPES,
    "dependencies": Kind.DEPENDENCIES,
    "default": Kind.ANYTHING,
}

_DRAFT_04 = {
    **_ALWAYS,
    **dict.fromkeys(("exclusiveMaximum", "exclusiveMinimum"), Kind.BOOLEAN),
    **dict.fromkeys(("additionalItems", "additionalProperties"), Kind.SCHEMA_OR_BOOLEAN),
    "id": Kind.STRING,
    "items": Kind.SCHEMA_OR_SCHEMAS,
    "required": Kind.AT_LEAST_ONE_NAME,
    "enum": Kind.ALTERNATIVES,
}

_DRAFT_06 = {
    **_ALWAYS,
    **dict.fromkeys(("exclusiveMaximum", "exclusiveMinimum"), Kind.NUMBER),
    **dict.fromkeys(("additionalItems", "additionalProperties", "contains", "propertyNames"), Kind.SCHEMA),
    "$id": Kind.STRING,
    "items": Kind.SCHEMA_OR_SCHEMAS,
    "required": Kind.NAMES,
    "enum": Kind.LIST,
    "const": Kind.ANYTHING,
    "examples": Kind.LIST,
}

_DRAFT_07 = {
    **_DRAFT_06,
    **dict.fromkeys(("if", "then", "else"), Kind.SCHEMA),
    **dict.fromkeys(("contentMediaType", "contentEncoding", "$comment"), Kind.STRING),
    "readOnly": Kind.BOOLEAN,
}

_DRAFT_2019_09 = {
    **_DRAFT_07,
    **dict.fromkeys(("maxContains", "minContains"), Kind.COUNT),
    **dict.fromkeys(("unevaluatedItems", "unevaluatedProperties", "contentSchema"), Kind.SCHEMA),
    **dict.fromkeys(("deprecated", "writeOnly", "$recursiveAnchor"), Kind.BOOLEAN),
    **dict.fromkeys(("dependentSchemas", "$defs"), Kind.NAMED_SCHEMAS),
    "dependentRequired": Kind.DEPENDENT_NAMES,
    "$id": Kind.IDENTIFIER,
    "$anchor": Kind.ANCHOR,
    "$recursiveRef": Kind.STRING,
    "$vocabulary": Kind.BOOLEANS,
}

_DRAFT_2020_12 = {
    **{keyword: kind for keyword, kind in _DRAFT_2019_09.items() if keyword != "additionalItems"},
    "items": Kind.SCHEMA,
    "prefixItems": Kind.SCHEMAS,
    "$dynamicRef": Kind.STRING,
    "$dynamicAnchor": Kind.ANCHOR,
    "$recursiveAnchor": Kind.ANCHOR,
}

KINDS: Mapping[Draft, Mapping[str, Kind]] = {
    Draft.DRAFT_04: _DRAFT_04,
    Draft.DRAFT_06: _DRAFT_06,
    Draft.DRAFT_07: _DRAFT_07,
    Draft.DRAFT_2019_09: _DRAFT_2019_09,
    Draft.DRAFT_2020_12: _DRAFT_2020_12,
}
"""What each keyword wants, by draft."""

ANY_DRAFT: Mapping[str, Kind] = {**_DRAFT_04, **_DRAFT_2020_12, "items": Kind.SCHEMA_OR_SCHEMAS}
"""The keywords of all drafts, to look at a schema whose draft is not known yet."""

MEANINGLESS: Mapping[Draft, Mapping[str, str]] = {
    draft: {
        "dependencies": "write dependentRequired or dependentSchemas",
        **({"$recursiveRef": "write $dynamicRef"} if draft is Draft.DRAFT_2020_12 else {}),
    }
    for draft in (Draft.DRAFT_2019_09, Draft.DRAFT_2020_12)
}
"""Keywords that a draft's metaschema checks, but that say nothing any more, and what to write instead."""

ANNOTATIONS = frozenset(
    {
        *("title", "description", "examples", "$comment", "deprecated", "readOnly", "writeOnly"),
        *("contentMediaType", "contentEncoding"),
    }
)
"""Keywords that say nothing about what is valid."""

_CONTAINERS = (Kind.SCHEMA, Kind.SCHEMA_OR_BOOLEAN, Kind.SCHEMAS, Kind.SCHEMA_OR_SCHEMAS)
_NAMED_CONTAINERS = (Kind.NAMED_SCHEMAS, Kind.DEPENDENCIES)


def subschemas(schema: Mapping[str, Any], kinds: Mapping[str, Kind]) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Yield the schemas directly in a schema, each with its path.

    A path is the keyword, then the index or name. What stands where a schema should is given as it is; lists of names
    in ``dependencies`` are left out.

    Args:
        schema: The schema; it need not be well-formed.
        kinds: What each keyword of the draft wants as its value.

    >>> list(subschemas({"properties": {"a": True}, "enum": [{"not": {}}], "allOf": [{}]}, KINDS[Draft.DRAFT_07]))
    [(('properties', 'a'), True), (('allOf', 0), {})]
    """
    for keyword, value in schema.items():
        kind = kinds.get(keyword)
        if kind in _CONTAINERS:
            if isinstance(value, list) and kind is not Kind.SCHEMA:
                yield from (((keyword, index), item) for index, item in enumerate(value))
            else:
                yield (keyword,), value
        elif kind in _NAMED_CONTAINERS and isinstance(value, dict):
            is_dependencies = kind is Kind.DEPENDENCIES
            for name, item in value.items():
                if not (is_dependencies and isinstance(item, list)):
                    yield (keyword, name), item
