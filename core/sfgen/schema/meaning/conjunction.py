"""Conjunctions of schemas: a *conjunction* is a set of subschemas of the document that a value must satisfy.

:mod:`.branches` converts it to a union of *branches*: sets of subschemas of which only the plain keywords count. Both
are hashable and serve as keys of caches, so that recursive schemas terminate.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from sfgen.schema.reading.document import STATIC, DynamicScope
from sfgen.schema.reading.keywords import Draft, is_in
from sfgen.schema.reading.strict_json import escaped, key


class Subschema:
    """A schema of the document, or one constructed from such; equal to others with the same key."""

    __slots__ = ("_parts", "is_made", "is_silent", "key", "pointer", "schema", "scope")

    def __init__(
        self, schema: Any, pointer: str, key: str = "", *, is_silent: bool = False, scope: DynamicScope = STATIC
    ) -> None:
        self.schema = schema
        """The keywords and values, or a bool. In a constructed schema a part may be a :class:`Subschema`."""
        self.pointer = pointer
        """The position in the document, or that of the schema from which it was constructed."""
        self.scope = scope
        """The targets of the dynamic references in it."""
        self.key = key or pointer + scope.key
        """The identity, compared and hashed."""
        self.is_silent = is_silent
        """Whether it comes from a negation, so that its properties and items count as unevaluated."""
        self.is_made = bool(key) and not is_silent
        """Whether it was constructed, and is not in the document."""
        self._parts: dict[tuple[str | int, ...], Conjunction] = {}

    @property
    def silent(self) -> Subschema:
        """The same schema, with its properties and items as unevaluated."""
        if self.is_made or self.is_silent:
            return self
        return Subschema(self.schema, self.pointer, f"silent {self.key}", is_silent=True, scope=self.scope)

    def says(self, keyword: str, draft: Draft) -> bool:
        """Return whether it has a keyword that has a meaning in the draft."""
        return keyword in self.schema and (self.is_made or is_in(self.schema, keyword, draft))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Subschema) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return f"Subschema({self.key!r})"

    def part(self, *path: str | int) -> Conjunction:
        """Return the conjunction of the part at a path, each time the same object."""
        found = self._parts.get(path)
        if found is None:
            found = self._parts[path] = self._part(path)
        return found

    def _part(self, path: tuple[str | int, ...]) -> Conjunction:
        schema, way = self.schema, ""
        for step in path:
            schema = schema[step]
            way += escaped(step)
        if isinstance(schema, Subschema):
            return (schema,)
        if self.is_made:
            return () if schema is True else (Subschema(schema, self.pointer, self.key + way),)
        return conjunction_of(schema, self.pointer + way, self.scope)


Conjunction: TypeAlias = tuple[Subschema, ...]
"""Different subschemas, all of which a value must satisfy; the empty conjunction allows any value."""

Plain: TypeAlias = tuple[Subschema, ...]
"""A branch: subschemas whose plain keywords a value must satisfy, without their references and combinators."""

Union: TypeAlias = list[Plain]
"""Branches, at least one of which a value must satisfy; the empty union allows no value."""

ANYTHING: Conjunction = ()
"""The conjunction that any value satisfies."""

NONE: Conjunction = (Subschema(False, "", "nothing"),)
"""A conjunction that no value satisfies."""


def conjunction_of(schema: Any, pointer: str, scope: DynamicScope = STATIC) -> Conjunction:
    """Make the conjunction of one schema; the empty one if it allows any value."""
    return () if schema is True or schema == {} else (Subschema(schema, pointer, scope=scope.at(pointer)),)


def both(first: Conjunction, second: Conjunction) -> Conjunction:
    """Return the intersection of two conjunctions: a value must satisfy both."""
    if not first or not second:
        return first or second
    if len(first) == len(second) == 1:
        return first if first[0].key == second[0].key else first + second
    return tuple(dict.fromkeys((*first, *second)))


def listed(plain: Plain) -> list[Any] | None:
    """Intersect the values of a branch's enums and constants; ``None`` if it has neither."""
    found: list[Any] | None = None
    for one in plain:
        schema = one.schema
        for values in (schema.get("enum"), [schema["const"]] if "const" in schema else None):
            if values is None:
                continue
            if found is None:
                found = list(values)
            else:
                keys = set(map(key, values))
                found = [value for value in found if key(value) in keys]
    return found
