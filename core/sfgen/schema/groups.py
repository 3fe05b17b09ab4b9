"""A branch as typed groups: what its values are, type by type. Each keyword is only about its type."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from sfgen.schema.arrays import ArrayLimits, array_limits
from sfgen.schema.bounds import Contradiction, exact, number_bounds
from sfgen.schema.bounds import count_bounds as length_bounds
from sfgen.schema.conjunction import Plain
from sfgen.schema.document import SchemaDocument
from sfgen.schema.enforced import TYPES
from sfgen.schema.formats import FORMATS
from sfgen.schema.keywords import SUBSTRING_OF
from sfgen.schema.numbers import NumberLimits
from sfgen.schema.objects import ObjectLimits, object_limits
from sfgen.schema.strings import StringLimits

if TYPE_CHECKING:
    from sfgen.ban import BannedWords

Limits: TypeAlias = NumberLimits | StringLimits | ArrayLimits | ObjectLimits | None
"""What values of a type must satisfy; ``None``: null and the booleans have no limits."""


@dataclass(frozen=True)
class Group:
    """The values of one type that satisfy a branch.

    Args:
        type: One of ``sfgen.schema.keywords.TYPES``.
        limits: What they must satisfy.
    """

    type: str
    limits: Limits = None


class Groups:
    """The typed groups of a document's branches.

    They are not to be shared between threads.

    Args:
        document: The document.
        banned: What no string may contain.
    """

    def __init__(self, document: SchemaDocument, banned: BannedWords | None) -> None:
        self._draft, self._quoted = document.draft, document.quoted
        self._banned = banned
        self._found: dict[Plain, tuple[tuple[Group, ...], Contradiction | None]] = {}
        self.unknown_formats: dict[str, None] = {}
        """The formats that nothing is asked of, in the order in which they were found."""

    def of(self, plain: Plain) -> tuple[tuple[Group, ...], Contradiction | None]:
        """Return the groups of a branch that may have values.

        Its enums and constants do not count here.

        Returns:
            The groups, and why one of them has no values where that is so.

        Raises:
            SchemaError: A keyword is not supported.
            SchemaTooLarge: A limit of a keyword is too large.
        """
        found = self._found.get(plain)
        if found is None:
            found = self._found[plain] = self._typed(plain)
        return found

    def _typed(self, plain: Plain) -> tuple[tuple[Group, ...], Contradiction | None]:
        types, is_integer = _types(plain)
        for one in plain:
            if "format" in one.schema and one.schema["format"] not in FORMATS:
                self.unknown_formats[one.schema["format"]] = None
        groups: list[Group] = []
        why: Contradiction | None = None
        if not types and plain:
            why = Contradiction("no type satisfies type here and type beside it", plain[-1].pointer)
        for kind in types:
            try:
                groups.append(Group(kind, self._limits(kind, plain, is_integer)))
            except Contradiction as contradiction:
                why = why or contradiction
        return tuple(groups), why

    def _limits(self, kind: str, plain: Plain, is_integer: bool) -> Limits:
        match kind:
            case "number":
                return _number_limits(plain, is_integer)
            case "string":
                return self._string_limits(plain)
            case "array":
                return array_limits(plain, self._draft)
            case "object":
                return object_limits(plain, self._draft)
            case _:
                return None

    def _string_limits(self, plain: Plain) -> StringLimits:
        minimum, maximum = length_bounds(plain, "minLength", "maxLength")
        patterns = tuple(dict.fromkeys(one.schema["pattern"] for one in plain if "pattern" in one.schema))
        formats = dict.fromkeys(one.schema["format"] for one in plain if "format" in one.schema)
        known = tuple(name for name in formats if name in FORMATS)
        quoted = [one.schema[SUBSTRING_OF] for one in plain if SUBSTRING_OF in one.schema]
        return StringLimits(
            minimum,
            maximum,
            patterns,
            known,
            self._banned,
            tuple(said(plain, "-texts")),
            tuple(said(plain, "-patterns")),
            tuple(said(plain, "-formats")),
            quoted=tuple(dict.fromkeys(self._quoted[name] for name in quoted)),
        )


def said(plain: Plain, word: str) -> list[Any]:
    """Collect the distinct values in a branch's lists under a keyword.

    Args:
        plain: The branch.
        word: The keyword; its values are lists.
    """
    return list(dict.fromkeys(value for one in plain for value in one.schema.get(word, ())))


def _types(plain: Plain) -> tuple[list[str], bool]:
    """The types that a branch allows, in their fixed order, and whether its numbers are integers."""
    types, is_integer = list(TYPES), False
    for one in plain:
        said = one.schema.get("type")
        if said is None:
            continue
        names = (said,) if isinstance(said, str) else said
        if "integer" in names and "number" not in names:
            is_integer = True
            names = (*names, "number")
        types = [name for name in types if name in names]
    return types, is_integer


def _number_limits(plain: Plain, is_integer: bool) -> NumberLimits:
    lower, upper = number_bounds(plain)
    multiples = (exact(one.schema["multipleOf"], one.pointer) for one in plain if "multipleOf" in one.schema)
    return NumberLimits(
        is_integer,
        minimum=None if lower is None or lower.is_exclusive else lower.value,
        maximum=None if upper is None or upper.is_exclusive else upper.value,
        exclusive_minimum=lower.value if lower is not None and lower.is_exclusive else None,
        exclusive_maximum=upper.value if upper is not None and upper.is_exclusive else None,
        multiples=tuple(dict.fromkeys(multiples)),
        others=tuple(exact(number, plain[0].pointer) for number in said(plain, "-numbers")),
        no_multiples=tuple(exact(number, plain[0].pointer) for number in said(plain, "-multiples")),
    )
