"""Oracle of dynamic references: evaluation as JSON Schema 2020-12 describes it, for schemas of few keywords.

Independent of sfgen.

The scope is the list of the resources that evaluation came through. Identifiers are absolute URIs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

TYPES = {"array": list, "string": str, "integer": int}


class Circle(Exception):
    """References lead back to the same schema and value: what that means is undefined."""


class Evaluation:
    """Tells whether values are valid.

    Args:
        root: The schema. It and each schema in it that has an ``$id`` is a resource.
    """

    def __init__(self, root: dict[str, Any]) -> None:
        self._root = root
        self._resources: dict[str, Any] = {}
        self._anchors: dict[tuple[str, str, str], Any] = {}
        self._open: set[tuple[int, int, tuple[str, ...]]] = set()
        for uri, schema in _schemas(root, ""):
            if "$id" in schema or schema is root:
                self._resources[uri] = schema
            for word in ("$anchor", "$dynamicAnchor"):
                if word in schema:
                    self._anchors[word, uri, schema[word]] = schema

    def is_valid(self, value: Any) -> bool:
        """Whether a value is valid.

        Raises:
            Circle: References lead back.
        """
        self._open.clear()
        return self._holds(self._root, value, ("",) if "$id" not in self._root else ())

    def _holds(self, schema: Any, value: Any, scope: tuple[str, ...]) -> bool:
        if isinstance(schema, bool):
            return schema
        here = id(schema), id(value), tuple(dict.fromkeys(scope))
        if here in self._open:
            raise Circle
        self._open.add(here)
        holds = self._holds_all(schema, value, scope)
        self._open.remove(here)
        return holds

    def _holds_all(self, schema: dict[str, Any], value: Any, scope: tuple[str, ...]) -> bool:
        if "$id" in schema:
            scope = (*scope, schema["$id"])
        items = value if isinstance(value, list) else []
        return (
            ("type" not in schema or type(value) is TYPES[schema["type"]])
            and ("maxItems" not in schema or len(items) <= schema["maxItems"])
            and all(self._holds(schema["items"], item, scope) for item in items if "items" in schema)
            and all(self._holds(part, value, scope) for part in schema.get("allOf", ()))
            and all(
                self._refers(schema[word], value, scope, word) for word in ("$ref", "$dynamicRef") if word in schema
            )
        )

    def _refers(self, reference: str, value: Any, scope: tuple[str, ...], word: str) -> bool:
        uri, _, name = reference.partition("#")
        uri = uri or scope[-1]
        if not name:
            return self._holds(self._resources[uri], value, (*scope, uri))
        if word == "$dynamicRef" and ("$dynamicAnchor", uri, name) in self._anchors:
            uri = next(outer for outer in (*scope, uri) if ("$dynamicAnchor", outer, name) in self._anchors)
        dynamic = self._anchors.get(("$dynamicAnchor", uri, name))
        target = self._anchors["$anchor", uri, name] if dynamic is None else dynamic
        return self._holds(target, value, (*scope, uri))


def _schemas(schema: Any, uri: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """All schemas in one, each with the URI of its resource."""
    if isinstance(schema, dict):
        uri = schema.get("$id", uri)
        yield uri, schema
        inner = [*schema.get("$defs", {}).values(), *schema.get("allOf", ()), schema.get("items")]
        for one in inner:
            yield from _schemas(one, uri)
