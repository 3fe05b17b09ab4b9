"""Keywords that OpenAPI adds to JSON Schema: ``nullable`` and ``discriminator``.

``nullable: true`` (OpenAPI 3.0; proposal 003 of its authors, adopted by 3.0.3) adds null to the ``type`` of the same
schema, and has no effect without one; an ``enum`` beside it must contain null itself. The keyword is supported unless
``$schema`` names draft 2019-09 or 2020-12, which do not have it. Null is added to ``type`` when the schema is read, so
that both writing and validation use it.

``discriminator`` (OpenAPI 3.0 and 3.1) names a property whose value selects a schema of ``oneOf`` or ``anyOf``: a key
of ``mapping``, else the name of the schema, which is the last part of its ``$ref``. By OpenAPI 3.1 it must not change
the valid documents, so validation ignores it; but written documents have the value, if the schema allows it. Schemas
without a ``$ref`` have no name, and are not changed.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

from sfgen.schema.reading.document import UnresolvedError, joined_uri
from sfgen.schema.reading.keywords import Draft
from sfgen.schema.reading.strict_json import unescaped

READ = "read as in OpenAPI 3.0: null is allowed beside the type"
NO_TYPE = 'from OpenAPI, and without effect as there is no "type" beside it'
SELECTS = "read as in OpenAPI: the property names the schema that is written"
NOTHING_TO_SELECT = 'from OpenAPI, and without effect without references in "oneOf" or "anyOf" beside it'


def reads_nullable(root: Any, draft: Draft) -> bool:
    """Return whether ``nullable`` is a keyword in a document."""
    return draft <= Draft.DRAFT_07 or not isinstance(root, dict) or not isinstance(root.get("$schema"), str)


def add_null(schema: dict[str, Any]) -> str:
    """Add null to the type of a schema with ``nullable``; return a note.

    >>> schema = {"type": "string", "nullable": True}
    >>> add_null(schema), schema["type"]
    ('read as in OpenAPI 3.0: null is allowed beside the type', ['string', 'null'])
    """
    if "type" not in schema:
        return NO_TYPE
    names = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if schema["nullable"] and "null" not in names:
        schema["type"] = [*names, "null"]
    return READ


def discriminating(schema: dict[str, Any]) -> tuple[str, dict[str, str]] | None:
    """Return the property of a discriminator, and its mapping.

    >>> discriminating({"discriminator": {"propertyName": "kind", "mapping": {"a": "#/$defs/A"}}})
    ('kind', {'a': '#/$defs/A'})
    """
    found = schema.get("discriminator")
    if not isinstance(found, dict) or not isinstance(found.get("propertyName"), str):
        return None
    mapping = found.get("mapping")
    named = mapping.items() if isinstance(mapping, dict) else ()
    return found["propertyName"], {key: value for key, value in named if isinstance(value, str)}


def has_named_schemas(schema: dict[str, Any]) -> bool:
    """Return whether a schema's discriminator has named schemas to select from."""
    listed = [part for word in ("oneOf", "anyOf") for part in schema.get(word, ())]
    return any(isinstance(part, dict) and isinstance(part.get("$ref"), str) for part in listed)


def values_of(reference: str, mapping: dict[str, str]) -> list[str]:
    """List the discriminator's values for the schema of a reference; none if the schema has no name.

    >>> values_of("#/components/schemas/Cat", {"cat": "Cat", "kitten": "#/components/schemas/Cat", "dog": "Dog"})
    ['cat', 'kitten']
    >>> values_of("#/components/schemas/Cat", {"dog": "Dog"})
    ['Cat']
    """
    fragment = unquote(reference.partition("#")[2])
    name = unescaped(fragment.rpartition("/")[2]) if "/" in fragment else ""
    found = [key for key, value in mapping.items() if value == name or _is_same(reference, value)]
    return found or ([name] if name else [])


def _is_same(reference: str, value: str) -> bool:
    try:
        return joined_uri(reference, value) == reference
    except UnresolvedError:
        return False
