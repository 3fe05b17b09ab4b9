"""Objects: what they may hold, and the expression that their texts are written by."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

from sfgen.errors import SchemaTooLarge
from sfgen.grammar.any_order import NARROW
from sfgen.grammar.rules import (
    Alternation,
    AnyOrder,
    Call,
    Expression,
    Literal,
    Member,
    NamedMember,
    OtherMember,
    Series,
)
from sfgen.schema.bounds import Contradiction, count_bounds
from sfgen.schema.conjunction import ANYTHING, Conjunction, Plain, Subschema, both
from sfgen.schema.keywords import Draft
from sfgen.schema.layout import Layout, joined
from sfgen.schema.members import Tails, counted_members
from sfgen.schema.strings import is_found

MAX_PATTERNS = 6
"""The most patterns of names of one object: each of them may be found or not."""


MOST_OPEN = 2_000
"""The most properties of one object that may be left out, or stand in any order."""


class Property(NamedTuple):
    """A property that has a name.

    Args:
        name: Its name, not written.
        value: What its value is.
        is_declared: Whether a schema has it among its ``properties``; else it is only required.
        is_required: Whether it must be there.
    """

    name: str
    value: Conjunction
    is_declared: bool
    is_required: bool


class Others(NamedTuple):
    """The properties whose names match some patterns and no others.

    Args:
        found: The patterns that are found in the name.
        not_found: Those that are not.
        value: What the value is.
    """

    found: tuple[str, ...]
    not_found: tuple[str, ...]
    value: Conjunction


@dataclass(frozen=True)
class ObjectLimits:
    """What an object must satisfy.

    Args:
        properties: The properties that have names: the declared ones in the order of the schema, then the others.
        others: All other properties that there may be, by the patterns that are found in their names.
        says_additional: Whether the schema speaks of names in which no pattern is found. Where it does not, the options
            tell.
        names: What all names are, as strings.
        minimum: The fewest properties.
        maximum: The most; ``None``: any number.
    """

    properties: tuple[Property, ...]
    others: tuple[Others, ...]
    says_additional: bool
    names: Conjunction = ANYTHING
    minimum: int = 0
    maximum: int | None = None

    def value(self, name: str) -> Conjunction | None:
        """Return what a property's value must satisfy.

        It is ``None`` where no property has this name.
        """
        known = next((one.value for one in self.properties if one.name == name), None)
        if known is not None:
            return known
        for others in self.others:
            if all(is_found(pattern, name) for pattern in others.found) and not any(
                is_found(pattern, name) for pattern in others.not_found
            ):
                return others.value
        return None


def object_limits(plain: Plain, draft: Draft) -> ObjectLimits:
    """Collect what the objects of a branch must satisfy.

    Args:
        plain: The branch.
        draft: The draft by which it is read.

    Raises:
        Contradiction: No object can.
        SchemaTooLarge: There are too many patterns of names.
    """
    named: dict[str, None] = {}
    declared = set[str]()
    required: dict[str, Subschema] = {}
    names = ANYTHING
    for one in plain:
        named.update(dict.fromkeys(one.schema.get("properties", ())))
        if not one.is_made:
            declared |= named.keys()
        if isinstance(one.schema.get("required"), list):  # draft 03 had a boolean here
            for name in one.schema["required"]:
                required.setdefault(name, one)
        if one.says("propertyNames", draft):
            names = both(names, one.part("propertyNames"))
    minimum, maximum = count_bounds(plain, "minProperties", "maxProperties")
    undeclared = {name: _value(plain, name) for name in required if name not in named}
    for name, value in undeclared.items():
        if any(one.schema is False for one in value):
            raise Contradiction(
                f"required {name!r} is not among the properties, and additionalProperties is false",
                required[name].pointer,
            )
    if maximum is not None and len(required) > maximum:
        pointer = next(one.pointer for one in plain if "maxProperties" in one.schema)
        raise Contradiction(f"required names more than maxProperties {maximum}", pointer)
    properties = [Property(name, _value(plain, name), name in declared, name in required) for name in named]
    properties += [Property(name, value, False, True) for name, value in undeclared.items()]
    says_additional = any("additionalProperties" in one.schema for one in plain)
    return ObjectLimits(tuple(properties), tuple(_others(plain)), says_additional, names, minimum, maximum)


def _others(plain: Plain) -> Iterator[Others]:
    """The properties whose names are not declared, by the patterns that may be found in them."""
    patterns = list(dict.fromkeys(pattern for one in plain for pattern in one.schema.get("patternProperties", ())))
    if len(patterns) > MAX_PATTERNS:
        pointer = next(one.pointer for one in plain if "patternProperties" in one.schema)
        raise SchemaTooLarge(
            f"patternProperties have more than {MAX_PATTERNS} patterns together", pointer, hint="Join some of them."
        )
    for is_in in product((True, False), repeat=len(patterns)):
        found = tuple(pattern for pattern, kept in zip(patterns, is_in, strict=True) if kept)
        value = ANYTHING
        for one in plain:
            value = both(value, _of_name(one, found))
        if not any(one.schema is False for one in value):
            yield Others(found, tuple(pattern for pattern in patterns if pattern not in found), value)


def _of_name(one: Subschema, found: Sequence[str]) -> Conjunction:
    """What one schema says of a name that it does not declare and in which some patterns are found."""
    value, spoken = ANYTHING, False
    for pattern in one.schema.get("patternProperties", ()):
        if pattern in found:
            value, spoken = both(value, one.part("patternProperties", pattern)), True
    if not spoken and "additionalProperties" in one.schema:
        return one.part("additionalProperties")
    return value


def _value(plain: Plain, name: str) -> Conjunction:
    """What the value of a property is, by its name."""
    value = ANYTHING
    for one in plain:
        found = [pattern for pattern in one.schema.get("patternProperties", ()) if is_found(pattern, name)]
        if name in one.schema.get("properties", ()):
            value = both(value, one.part("properties", name))
            for pattern in found:
                value = both(value, one.part("patternProperties", pattern))
        else:
            value = both(value, _of_name(one, found))
    return value


class WrittenProperty(NamedTuple):
    """A property as it is written.

    Args:
        name: Its name, written.
        rule: The rule of its value.
        is_needed: Whether it must be there.
    """

    name: bytes
    rule: str
    is_needed: bool


def object_expression(
    properties: Sequence[WrittenProperty],
    others: Sequence[tuple[str, str]],
    counts: tuple[int, int | None],
    layout: Layout,
    depth: int,
    tails: Tails,
    most: int | None,
) -> Expression:
    """Build the expression of an object, in the schema's order.

    Args:
        properties: The properties that have names, in their order.
        others: The rules of all other names and of their values, sort by sort.
        counts: The fewest properties, and the most.
        layout: The white space.
        depth: The depth at which the object begins.
        tails: Where the rules are put that the expression needs besides.
        most: The number of other names; ``None``: without end.

    Raises:
        SchemaTooLarge: Too many properties may be left out.
    """
    _check_count(sum(not one.is_needed for one in properties), "may be left out")
    members = [Member(joined(layout.name(one.name), Call(one.rule)), one.is_needed) for one in properties]
    some = [joined(Call(name, distinct=True), layout.colon, Call(value)) for name, value in others]
    more = None if not some else some[0] if len(some) == 1 else Alternation(tuple(some))
    comma = layout.comma(depth)
    opening, closing = Literal(layout.opening(b"{", depth)), Literal(layout.closing(b"}", depth))
    needed = sum(member.is_needed for member in members)
    minimum, maximum = counts
    if more is None and maximum is not None and maximum >= len(members):
        maximum = None
    if minimum <= needed and maximum is None:
        if not members and more is None:
            return Literal(b"{}")
        if layout.indent is None or needed:
            return joined(opening, Series(tuple(members), comma, more), closing)
    # Where lines are indented, an object without members has no line break in it.
    if minimum == needed == 0:
        if maximum == 0:
            return Literal(b"{}")
        return Alternation(
            (Literal(b"{}"), joined(opening, counted_members(members, more, comma, closing, (1, maximum), tails, most)))
        )
    return joined(opening, counted_members(members, more, comma, closing, (minimum, maximum), tails, most))


def _check_count(count: int, what: str) -> None:
    """See to it that an automaton can be made in about a second: what is open makes its size the square of this."""
    if count > MOST_OPEN:
        raise SchemaTooLarge(
            f"it has {count:,} properties that {what}, above the limit of {MOST_OPEN:,}",
            hint="Require some of them, or leave some out.",
        )


def object_in_any_order(
    properties: Sequence[WrittenProperty],
    others: Sequence[tuple[str, str]],
    counts: tuple[int, int | None],
    layout: Layout,
    depth: int,
) -> Expression:
    """Build the expression of an object with its properties in any order.

    Args:
        properties: The properties that have names.
        others: The rules of all other names and of their values, sort by sort.
        counts: The fewest properties, and the most.
        layout: The white space.
        depth: The depth at which the object begins.

    Raises:
        SchemaTooLarge: Too many properties are needed.
    """
    _check_count(len(properties), "stand in any order")
    needed = sum(one.is_needed for one in properties)
    if needed > NARROW:
        raise SchemaTooLarge(
            f"it needs {needed} properties, and in any order it can need {NARROW} at most",
            hint="Do not require all of them, or keep the order of the schema.",
        )
    if len(properties) > NARROW:
        properties = sorted(properties, key=lambda one: not one.is_needed)
    minimum, maximum = counts
    if maximum is not None and maximum >= len(properties) and not others:
        maximum = None
    return AnyOrder(
        tuple(NamedMember(one.name, Call(one.rule), one.is_needed) for one in properties),
        tuple(OtherMember(Call(name, distinct=True), Call(value)) for name, value in others),
        layout.opening(b"{", depth),
        layout.colon,
        layout.comma(depth),
        layout.closing(b"}", depth),
        b"{}",
        minimum,
        maximum,
    )
