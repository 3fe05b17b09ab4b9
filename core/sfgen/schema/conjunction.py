"""Schemas that hold at once, brought into a union of plain ones.

What a value must satisfy is a *conjunction*: a set of subschemas of the document. References and ``allOf`` add to it,
``anyOf`` divides it, so that a conjunction becomes a union of *branches*: sets of subschemas of which only the plain
keywords count. Both are keys: equal ones are the same value, so what refers to itself ends.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from sfgen.errors import SchemaError, SchemaTooLarge
from sfgen.schema.document import SchemaDocument
from sfgen.schema.enforced import Schema, says_nothing
from sfgen.schema.keywords import Draft
from sfgen.schema.strict_json import escaped

MAX_BRANCHES = 2_000
"""The most branches of one union."""

MAX_CHAIN = 100
"""How deep references, ``anyOf`` and ``allOf`` may stand in each other without an object or an array between."""


class Subschema:
    """A schema in the document. Equal to others at the same pointer.

    Args:
        schema: What it says.
        pointer: Where it stands.
    """

    __slots__ = ("pointer", "schema")

    def __init__(self, schema: Any, pointer: str) -> None:
        self.schema = schema
        self.pointer = pointer

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Subschema) and self.pointer == other.pointer

    def __hash__(self) -> int:
        return hash(self.pointer)

    def __repr__(self) -> str:
        return f"Subschema({self.pointer!r})"

    def part(self, *path: str | int) -> Conjunction:
        """The conjunction of what stands in it under some keys."""
        schema, pointer = self.schema, self.pointer
        for key in path:
            schema = schema[key]
            pointer += escaped(key)
        return conjunction(schema, pointer)


Conjunction: TypeAlias = tuple[Subschema, ...]
"""Subschemas that a value must satisfy, all of them; without one any value does. Each stands in it once."""

Plain: TypeAlias = tuple[Subschema, ...]
"""Subschemas, true and false aside, of which everything but references and combinators must be satisfied."""

ANYTHING: Conjunction = ()


def conjunction(schema: Any, pointer: str) -> Conjunction:
    """The conjunction of one subschema; one that asks for nothing does not count."""
    return () if schema is True or schema == {} else (Subschema(schema, pointer),)


def both(first: Conjunction, second: Conjunction) -> Conjunction:
    """What satisfies two conjunctions."""
    return first if not second else second if not first else tuple(dict.fromkeys((*first, *second)))


class Branches:
    """The branches of conjunctions of a document. Not shared between threads.

    Args:
        document: The document, which finds what a reference refers to.
    """

    def __init__(self, document: SchemaDocument) -> None:
        self._document = document
        self._ignores_siblings = document.draft < Draft.DRAFT_2019_09
        self._found: dict[Conjunction, list[Plain]] = {}
        self._of_one: dict[str, list[Plain]] = {}

    def of(self, found: Conjunction) -> list[Plain]:
        """The branches of a conjunction; none if nothing can satisfy it.

        Raises:
            SchemaError: A reference that leads nowhere, or to itself.
            SchemaTooLarge: There are too many.
        """
        branches = self._found.get(found)
        if branches is None:
            branches = self._found[found] = self._all(found, ())
        return branches

    def target(self, found: Conjunction) -> Conjunction:
        """The same conjunction; what only refers to another schema is that one."""
        passed: list[str] = []
        while len(found) == 1 and self._is_reference_only(found[0]):
            (one,) = found
            passed.append(one.pointer)
            found = self._referred(one)
            if found and found[0].pointer in passed:
                raise _circle(one)
        return found

    def _is_reference_only(self, one: Subschema) -> bool:
        schema = one.schema
        return (
            isinstance(schema, dict)
            and "$ref" in schema
            and (self._ignores_siblings or (says_nothing(schema) and "anyOf" not in schema and "allOf" not in schema))
        )

    def _referred(self, one: Subschema) -> Conjunction:
        pointer, schema = self._document.resolve(one.schema["$ref"], one.pointer)
        return conjunction(schema, pointer)

    def _all(self, found: Conjunction, chain: tuple[str, ...]) -> list[Plain]:
        branches: list[Plain] = [()]
        for one in found:
            some = self._one(one, chain)
            if some != [()]:
                branches = _product(branches, some, one)
        return branches

    def _one(self, one: Subschema, chain: tuple[str, ...]) -> list[Plain]:
        """The branches of one subschema.

        Args:
            one: The subschema.
            chain: The pointers of those around it whose branches are sought.
        """
        if isinstance(one.schema, bool):
            return [()] if one.schema else []
        if one.pointer in chain:
            raise _circle(one)
        branches = self._of_one.get(one.pointer)
        if branches is None:
            branches = self._of_one[one.pointer] = self._divided(one, chain)
        return branches

    def _divided(self, one: Subschema, chain: tuple[str, ...]) -> list[Plain]:
        schema = one.schema
        if len(chain) > MAX_CHAIN:
            raise SchemaTooLarge(
                f"references and combinators stand in each other more than {MAX_CHAIN} deep",
                one.pointer,
                hint="Put the schemas side by side in $defs.",
            )
        around = (*chain, one.pointer)
        if "$ref" in schema:
            found = self._referred(one)
            if self._ignores_siblings:
                return self._all(found, around)
        else:
            found = ANYTHING
        for part in _all_of(schema):
            found = both(found, one.part(*part))
        branches = self._all(found, around)
        if not says_nothing(schema):
            alone: Plain = (one,)
            branches = [both(alone, branch) for branch in branches]
        if "anyOf" in schema:
            parts = [one.part("anyOf", index) for index in range(len(schema["anyOf"]))]
            union = dict.fromkeys(plain for part in parts for plain in self._all(part, around))
            branches = _product(branches, list(union), one)
        return branches


def _all_of(schema: Schema) -> list[tuple[str, int]]:
    """Where the schemas stand that must be satisfied besides."""
    found = [("allOf", index) for index in range(len(schema.get("allOf", ())))]
    if len(schema.get("oneOf", ())) == 1:
        found.append(("oneOf", 0))
    return found


def _product(left: list[Plain], right: list[Plain], one: Subschema) -> list[Plain]:
    if len(left) * len(right) > MAX_BRANCHES:
        raise SchemaTooLarge(
            f"anyOf and what stands beside it have more than {MAX_BRANCHES:,} branches together",
            one.pointer,
            hint="Use fewer unions within and beside each other.",
        )
    return list(dict.fromkeys(both(first, second) for first in left for second in right))


def _circle(one: Subschema) -> SchemaError:
    return SchemaError(
        "a reference leads back to itself, with nothing between",
        one.pointer,
        hint="Put what refers to itself into a property or into items.",
    )
