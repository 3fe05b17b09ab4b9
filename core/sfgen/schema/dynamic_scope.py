"""The dynamic scope: which resources of a document evaluation came through, as far as a dynamic reference can tell.

``$dynamicRef`` leads to the outermost resource in the scope that has a ``$dynamicAnchor`` of its name, and
``$recursiveRef`` to the outermost with ``$recursiveAnchor`` (JSON Schema 2020-12, 8.2.3.2; 2019-09, 8.2.4.2). The first
resource that has the anchor decides for all that is inside, so a scope is a mapping of names to schemas that only grows
on the way in.
"""

from __future__ import annotations

from collections.abc import Mapping


class DynamicScope:
    """Where dynamic references lead. Equal scopes of one document have equal keys.

    Args:
        anchors: For each resource of the document, by its pointer, the pointers of its dynamic anchors by their names;
            nothing at all where no reference can lead to more than one schema.
        targets: The schemas to which references lead, by the names of anchors.

    >>> scope = DynamicScope({"": {"node": ""}, "/$defs/a": {"node": "/$defs/a", "leaf": "/$defs/a/not"}})
    >>> scope.at("/properties/b").at("/$defs/a/items").targets
    {'node': '', 'leaf': '/$defs/a/not'}
    """

    __slots__ = ("_anchors", "_inside", "key", "targets")

    def __init__(self, anchors: Mapping[str, Mapping[str, str]], targets: Mapping[str, str] | None = None) -> None:
        self._anchors = anchors
        self._inside: dict[str, DynamicScope] = {}
        self.targets: Mapping[str, str] = targets or {}
        self.key = f" in {sorted(self.targets.items())}" if self.targets else ""

    def at(self, pointer: str) -> DynamicScope:
        """Return the scope of a schema that is reached from this scope."""
        if not self._anchors:
            return self
        while pointer not in self._anchors:
            pointer = pointer.rpartition("/")[0]
        inside = self._inside.get(pointer)
        if inside is None:
            targets = {**self._anchors[pointer], **self.targets}
            inside = self if targets == self.targets else DynamicScope(self._anchors, targets)
            self._inside[pointer] = inside
        return inside


STATIC = DynamicScope({})
"""The scope where each reference leads to one schema."""
