"""Keywords that OpenAPI adds to JSON Schema: ``nullable`` and ``discriminator``.

``nullable: true`` (OpenAPI 3.0; proposal 003 of its authors, which 3.0.3 took over) adds null to the ``type`` that
stands in the same schema, and says nothing without one; an ``enum`` beside it must have null of its own. It is read so
where the schema does not name draft 2019-09 or 2020-12 with ``$schema``, which have no such keyword: null is then a
part of ``type`` for all who see the schema, in what is written and in what is valid.

``discriminator`` (OpenAPI 3.0 and 3.1) names a property whose value tells which schema of ``oneOf`` or ``anyOf`` is
meant: a key of ``mapping``, else the name of the schema, which is the last part of its ``$ref``. OpenAPI 3.1 says that
it must not change what is valid. So documents are valid as without it; but those that are written have the value, where
the schema that is meant allows one. Schemas that stand there without a ``$ref`` have no name, and are left as they are.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

from sfgen.schema.reading.document import UnresolvedError, joined_uri
from sfgen.schema.reading.keywords import Draft
from sfgen.schema.reading.strict_json import unescaped

READ = "read as OpenAPI 3.0 has it: null is allowed beside the type"
NO_TYPE = 'from OpenAPI, and without effect where no "type" stands beside it'
TELLS = "read as OpenAPI has it: the property tells which of the schemas is written"
NOTHING_TO_TELL = 'from OpenAPI, and without effect without references in "oneOf" or "anyOf" beside it'


def reads_nullable(root: Any, draft: Draft) -> bool:
    """Tell whether ``nullable`` is a keyword of a document."""
    return draft <= Draft.DRAFT_07 or not isinstance(root, dict) or not isinstance(root.get("$schema"), str)


def add_null(schema: dict[str, Any]) -> str:
    """Let the type of a schema with ``nullable`` have null in it.

    >>> schema = {"type": "string", "nullable": True}
    >>> add_null(schema), schema["type"]
    ('read as OpenAPI 3.0 has it: null is allowed beside the type', ['string', 'null'])
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


def tells(schema: dict[str, Any]) -> bool:
    """Tell whether a schema's discriminator has named schemas to distinguish."""
    listed = [part for word in ("oneOf", "anyOf") for part in schema.get(word, ())]
    return any(isinstance(part, dict) and isinstance(part.get("$ref"), str) for part in listed)


def values_of(reference: str, mapping: dict[str, str]) -> list[str]:
    """List the discriminator's values for the schema of a reference.

    There are none where the schema has no name.

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
