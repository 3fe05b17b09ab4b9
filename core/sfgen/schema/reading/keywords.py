"""The keywords of JSON Schema by draft: the kinds of their values, their subschemas, and which are assertions.

The table has the content of the metaschemas of drafts 04, 06, 07, 2019-09 and 2020-12. Checking a schema by the
metaschemas themselves takes the package jsonschema a millisecond for each subschema, and a second to import.

The draft of a schema is named by ``$schema``, else inferred from its keywords. A keyword that the draft does not have
is ignored, as by every validator; all others are annotations, combine schemas, or restrict the value.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum, IntEnum
from typing import Any, TypeAlias


class Draft(IntEnum):
    """A version of JSON Schema; later ones are greater."""

    DRAFT_04 = 4
    DRAFT_06 = 6
    DRAFT_07 = 7
    DRAFT_2019_09 = 8
    DRAFT_2020_12 = 9

    @property
    def title(self) -> str:
        """The name in messages.

        >>> Draft.DRAFT_07.title
        'draft 07'
        """
        return self.name.lower().replace("_", " ", 1).replace("_", "-")


class Kind(Enum):
    """The kinds of values of keywords, in words."""

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


DEFINITIONS = ("$defs", "definitions")
"""The keywords under which schemas have names, for references."""

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
"""The kind of value of each keyword, by draft."""

ANY_DRAFT: Mapping[str, Kind] = {**_DRAFT_04, **_DRAFT_2020_12, "items": Kind.SCHEMA_OR_SCHEMAS}
"""The keywords of all drafts, for a schema whose draft is not known yet."""

MEANINGLESS: Mapping[Draft, Mapping[str, str]] = {
    draft: {
        "dependencies": "write dependentRequired or dependentSchemas",
        **({"$recursiveRef": "write $dynamicRef"} if draft is Draft.DRAFT_2020_12 else {}),
    }
    for draft in (Draft.DRAFT_2019_09, Draft.DRAFT_2020_12)
}
"""Keywords that a draft's metaschema checks, but that have no effect any more, with a replacement."""

ANNOTATIONS = frozenset(
    {
        *("title", "description", "examples", "$comment", "deprecated", "readOnly", "writeOnly"),
        *("contentMediaType", "contentEncoding"),
    }
)
"""Keywords that do not affect validity."""

_CONTAINERS = (Kind.SCHEMA, Kind.SCHEMA_OR_BOOLEAN, Kind.SCHEMAS, Kind.SCHEMA_OR_SCHEMAS)
_NAMED_CONTAINERS = (Kind.NAMED_SCHEMAS, Kind.DEPENDENCIES)


# ---- subschemas ------------------------------------------------------------------------------------------------------


def subschemas(schema: Mapping[str, Any], kinds: Mapping[str, Kind]) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Yield the schemas directly in a schema, each with its path.

    A path is the keyword, then the index or name. Values that are not schemas are yielded, too; lists of names in
    ``dependencies`` are not.

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


# ---- assertions ------------------------------------------------------------------------------------------------------


Schema: TypeAlias = Mapping[str, Any]

VALUE_TYPES = ("null", "boolean", "number", "string", "array", "object")
"""The types of values; an integer is a number."""

_SAY_NOTHING = frozenset(
    {
        *("$schema", "$id", "id"),
        *("$comment", "title", "description", "default", "example", "examples", "deprecated", "readOnly", "writeOnly"),
        *("$defs", "definitions", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$vocabulary"),
        *("contentMediaType", "contentEncoding", "contentSchema"),
    }
)
"""Annotations, and keywords that only name schemas; also for drafts that do not have them."""

COMBINATORS = frozenset(
    {
        *("$ref", "$dynamicRef", "$recursiveRef", "allOf", "anyOf", "oneOf", "not", "if", "then", "else"),
        *("dependentRequired", "dependentSchemas", "dependencies", "unevaluatedProperties", "unevaluatedItems"),
    }
)
"""Keywords that combine schemas; see :mod:`~sfgen.schema.meaning.branches`."""


def json_type(value: Any) -> str:
    """Return the JSON type of a value; an integer is a number."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object" if isinstance(value, dict) else "number"


def says_nothing(keywords: Iterable[str]) -> bool:
    """Return whether keywords are only annotations, names, references and combinators.

    >>> says_nothing(["title", "$ref"]), says_nothing(["title", "type"])
    (True, False)
    """
    return all(keyword in _SAY_NOTHING or keyword in COMBINATORS for keyword in keywords)


def is_in(schema: Schema, keyword: str, draft: Draft) -> bool:
    """Return whether a schema has a keyword that has an effect in a draft.

    >>> is_in({"if": {}}, "if", Draft.DRAFT_07), is_in({"if": {}}, "if", Draft.DRAFT_06)
    (True, False)
    """
    return keyword in schema and keyword in KINDS[draft] and keyword not in MEANINGLESS.get(draft, ())


# ---- drafts ----------------------------------------------------------------------------------------------------------


LATEST = Draft.DRAFT_2020_12
"""The default draft."""

URIS = {
    Draft.DRAFT_04: "http://json-schema.org/draft-04/schema#",
    Draft.DRAFT_06: "http://json-schema.org/draft-06/schema#",
    Draft.DRAFT_07: "http://json-schema.org/draft-07/schema#",
    Draft.DRAFT_2019_09: "https://json-schema.org/draft/2019-09/schema",
    Draft.DRAFT_2020_12: "https://json-schema.org/draft/2020-12/schema",
}
"""The URI of each draft's metaschema."""

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
    """Return the draft of a value of ``$schema``.

    A final ``#``, and the difference between http and https, are ignored.

    >>> draft_of_uri("https://json-schema.org/draft-07/schema").title, draft_of_uri("http://example.com/schema")
    ('draft 07', None)
    """
    return _BY_NAME.get(_bare(uri))


def _bare(uri: str) -> str:
    return re.sub(r"^https?://(www\.)?", "", uri.strip()).rstrip("#/").lower()


_BY_NAME = {_bare(uri): draft for draft, uri in URIS.items()}


def guessed_draft(root: Any) -> Draft:
    """Infer the draft of a schema without ``$schema`` from its keywords.

    A schema that is right in several drafts is read by the latest; ``definitions`` is ignored.

    >>> guessed_draft({"minimum": 0, "exclusiveMinimum": True}).title
    'draft 04'
    >>> guessed_draft({"items": [{}, {}]}).title
    'draft 07'
    >>> guessed_draft({"definitions": {"a": {}}}).title
    'draft 2020-12'
    """
    used: set[str] = set()
    for schema in _schemas(root):
        if any(isinstance(schema.get(keyword), bool) for keyword in ("exclusiveMinimum", "exclusiveMaximum")):
            return Draft.DRAFT_04
        used |= schema.keys()
        if isinstance(schema.get("items"), list):
            used.add("items as a list")
    if (
        isinstance(root, dict)
        and isinstance(root.get("id"), str)
        and "$id" not in used
        and re.search("[:#]", root["id"])
    ):
        return Draft.DRAFT_04
    if used & _SINCE_2020:
        return Draft.DRAFT_2020_12
    is_old = not used.isdisjoint({"items as a list", "additionalItems", "dependencies"})
    if used & _SINCE_2019:
        by_2019 = not used.isdisjoint({"items as a list", "$recursiveRef", "$recursiveAnchor"})
        return Draft.DRAFT_2019_09 if by_2019 else Draft.DRAFT_2020_12
    return Draft.DRAFT_07 if is_old else LATEST


def _schemas(root: Any) -> Iterator[dict[str, Any]]:
    """Yield a schema and its subschemas, if they are objects."""
    stack = [root]
    while stack:
        schema = stack.pop()
        if isinstance(schema, dict):
            yield schema
            stack.extend(inner for _, inner in subschemas(schema, ANY_DRAFT))
