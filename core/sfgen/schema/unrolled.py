"""Documents whose dynamic references lead to more than one schema, as documents with plain references.

Each resource is there once for each dynamic scope in which it is used. The package jsonschema loses the scope of a
resource that stands within another one, and of a root without an ``$id``; and it takes a plain reference to a dynamic
anchor for a dynamic one. So it is given this.
"""

from __future__ import annotations

import copy
from typing import Any
from urllib.parse import quote

from sfgen.errors import SchemaError, SchemaTooLarge
from sfgen.schema.document import SchemaDocument
from sfgen.schema.dynamic_scope import DynamicScope
from sfgen.schema.references import references_of, value_at
from sfgen.schema.strict_json import unescaped

MAX_COPIES = 1_000
"""The most resources, each counted for each of its scopes."""

_NAMES = ("$id", "$anchor", "$dynamicAnchor", "$recursiveAnchor")


def unrolled(document: SchemaDocument, root: Any) -> Any:
    """Rewrite a schema without dynamic references; it says the same.

    Args:
        document: The document.
        root: What is taken for its root; schemas stand where they do in the document.

    Raises:
        SchemaTooLarge: There are too many scopes.
    """
    return _Unrolling(document, root).schema()


class _Unrolling:
    """Copies resources, each for its scope."""

    def __init__(self, document: SchemaDocument, root: Any) -> None:
        self._document = document
        self._root = root
        self._uris: dict[tuple[str, str], str] = {}
        self._waiting: list[tuple[str, DynamicScope, str]] = []
        self._schemas: dict[str, list[str]] = {}
        for pointer in document.pointers:
            self._schemas.setdefault(document.identifiers.resource_of(pointer), []).append(pointer)

    def schema(self) -> Any:
        """The whole."""
        start = self._uri("", self._document.scope)
        copies: dict[str, Any] = {}
        while self._waiting:
            resource, scope, uri = self._waiting.pop()
            copies[uri] = {"$id": uri, **self._copied(resource, scope)}
        return {"$ref": start, "$defs": copies}

    def _uri(self, resource: str, scope: DynamicScope) -> str:
        """The URI of a resource in the scope of what led to it."""
        scope = scope.at(resource)
        key = resource, scope.key
        if key not in self._uris:
            if len(self._uris) == MAX_COPIES:
                raise SchemaTooLarge(
                    f"dynamic references make more than {MAX_COPIES:,} schemas", resource, hint="Write $ref."
                )
            self._uris[key] = f"urn:sfgen:{len(self._uris)}"
            self._waiting.append((resource, scope, self._uris[key]))
        return self._uris[key]

    def _copied(self, resource: str, scope: DynamicScope) -> dict[str, Any]:
        copied: dict[str, Any] = copy.deepcopy(value_at(self._root, resource))
        for pointer in self._schemas[resource]:
            schema = value_at(copied, pointer[len(resource) :])
            if isinstance(schema, dict):
                self._refer(schema, pointer, scope)
        for inner in self._document.identifiers.bases:
            outer, _, name = inner.rpartition("/")
            if inner and inner != resource and self._document.identifiers.resource_of(outer) == resource:
                around = value_at(copied, outer[len(resource) :])
                if outer.endswith(("/$defs", "/definitions")):
                    del around[unescaped(name)]
                else:
                    key = int(name) if isinstance(around, list) else unescaped(name)
                    around[key] = {"$ref": self._uri(inner, scope)}
        return copied

    def _refer(self, schema: dict[str, Any], pointer: str, scope: DynamicScope) -> None:
        """Let the references of a schema lead to the copies for its scope; drop its names."""
        for keyword, reference in references_of(schema, self._document.draft):
            try:
                target, _ = self._document.referred(reference, pointer, keyword, scope)
            except SchemaError:  # nothing leads to this schema
                continue
            resource = self._document.identifiers.resource_of(target)
            uri = f"{self._uri(resource, scope)}#{quote(target[len(resource) :])}"
            if keyword == "$ref":
                schema[keyword] = uri
            else:
                del schema[keyword]
                schema["allOf"] = [*schema.get("allOf", []), {"$ref": uri}]
        for name in _NAMES:
            schema.pop(name, None)
