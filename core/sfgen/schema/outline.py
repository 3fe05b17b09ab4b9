"""The rules of a schema before they are written: which there are, and which of them each one needs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from sfgen.grammar.rules import Expression
from sfgen.schema.conjunction import Conjunction
from sfgen.schema.groups import Group


@dataclass(frozen=True)
class Values:
    """Values that a schema names one by one.

    Args:
        values: The values, as the schema has them.
        text: What equal ones have in common.
    """

    values: tuple[Any, ...] = field(compare=False)
    text: str

    @classmethod
    def of(cls, values: Iterable[Any]) -> Values:
        """Make the list of distinct values."""
        listed = tuple({repr(value): value for value in values}.values())
        return cls(listed, repr(listed))


@dataclass(frozen=True)
class Union:
    """One of several."""


@dataclass(frozen=True)
class Names:
    """Names that are not declared, written.

    Args:
        declared: The names that they are not.
        found: Patterns that are found in them.
        not_found: Patterns that are not.
        names: What they are besides, as strings.
    """

    declared: tuple[str, ...]
    found: tuple[str, ...] = ()
    not_found: tuple[str, ...] = ()
    names: Conjunction = ()


Content: TypeAlias = Group | Values | Union | Names
"""What the texts of a rule are."""


class Part(NamedTuple):
    """What a rule has in it.

    Args:
        label: What it is there: the name of a property, ``[0]`` or ``[]`` for items, for properties with other names
            ``*`` or the patterns in slashes, empty for a branch of a union.
        rule: The rule of it.
        is_needed: Whether no text of the rule is without it.
        name: The rule of the names where it is for properties with other names.
    """

    label: str
    rule: str
    is_needed: bool
    name: str = ""


@dataclass(eq=False)
class Outline:
    """A rule that is not written yet.

    Args:
        content: What its texts are.
        depth: The depth at which they begin.
        pointer: Where in the schema it comes from.
        parts: What it has in it.
        expression: The texts, where nothing is called.
        why_empty: Why it has no text, if it is known at once: the reason and where it lies.
    """

    content: Content
    depth: int
    pointer: str
    parts: list[Part] = field(default_factory=list)
    expression: Expression | None = None
    why_empty: tuple[str, str] | None = None

    @property
    def is_union(self) -> bool:
        """Whether one of its parts is enough."""
        return isinstance(self.content, Union)


Outlines: TypeAlias = dict[str, Outline]
"""Rules by name."""
