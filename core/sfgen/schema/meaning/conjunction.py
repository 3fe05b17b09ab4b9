"""Schemas that hold at once: what a value must satisfy is a *conjunction*, a set of subschemas of the document.

:mod:`.branches` makes a union of *branches* of it: sets of subschemas of which only the plain keywords count. Both are
keys: equal ones are the same value, so what refers to itself ends.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from sfgen.schema.reading.document import STATIC, DynamicScope
from sfgen.schema.reading.keywords import Draft, is_in
from sfgen.schema.reading.strict_json import escaped, key


class Subschema:
    """A schema of the document, or one that was made of such; equal to others with the same key."""

    __slots__ = ("_parts", "is_made", "is_silent", "key", "pointer", "schema", "scope")

    def __init__(
        self, schema: Any, pointer: str, key: str = "", *, is_silent: bool = False, scope: DynamicScope = STATIC
    ) -> None:
        self.schema = schema
        """What it says. In one that was made, subschemas may stand where schemas do."""
        self.pointer = pointer
        """Where it stands, or what it was made of."""
        self.scope = scope
        """Where dynamic references in it lead."""
        self.key = key or pointer + scope.key
        """What tells it from others."""
        self.is_silent = is_silent
        """Whether it holds since another one does not, so that what it speaks of counts as unevaluated."""
        self.is_made = bool(key) and not is_silent
        """Whether it was made, and is not in the document."""
        self._parts: dict[tuple[str | int, ...], Conjunction] = {}

    @property
    def silent(self) -> Subschema:
        """The same, where what it speaks of counts as unevaluated."""
        if self.is_made or self.is_silent:
            return self
        return Subschema(self.schema, self.pointer, f"silent {self.key}", is_silent=True, scope=self.scope)

    def says(self, keyword: str, draft: Draft) -> bool:
        """Tell whether it has a keyword that means something."""
        return keyword in self.schema and (self.is_made or is_in(self.schema, keyword, draft))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Subschema) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return f"Subschema({self.key!r})"

    def part(self, *path: str | int) -> Conjunction:
        """Return the conjunction of what stands in it under some keys, each time the same."""
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
"""Subschemas that a value must satisfy, all of them; without one any value does. Each stands in it once."""

Plain: TypeAlias = tuple[Subschema, ...]
"""Subschemas, true and false aside, of which everything but references and combinators must be satisfied."""

Union: TypeAlias = list[Plain]
"""Branches, one of which is enough; without any there is no value."""

ANYTHING: Conjunction = ()

NONE: Conjunction = (Subschema(False, "", "nothing"),)
"""What no value satisfies."""


def conjunction_of(schema: Any, pointer: str, scope: DynamicScope = STATIC) -> Conjunction:
    """Make the conjunction of one schema; of none if it allows everything."""
    return () if schema is True or schema == {} else (Subschema(schema, pointer, scope=scope.at(pointer)),)


def both(first: Conjunction, second: Conjunction) -> Conjunction:
    """Join two conjunctions: a value must satisfy both."""
    if not first or not second:
        return first or second
    if len(first) == len(second) == 1:
        return first if first[0].key == second[0].key else first + second
    return tuple(dict.fromkeys((*first, *second)))


def listed(plain: Plain) -> list[Any] | None:
    """Intersect the values of a branch's enums and constants."""
    # They are ``None`` where it has neither.
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
