"""Objects: what they may hold, and the expression that their texts are written by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sfgen.grammar.rules import Alternation, Call, Expression, Literal, Member, Repeat, Series
from sfgen.schema.bounds import Contradiction
from sfgen.schema.conjunction import ANYTHING, Conjunction, Plain, Subschema, both
from sfgen.schema.layout import Layout, joined


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


@dataclass(frozen=True)
class ObjectLimits:
    """What an object must satisfy.

    Args:
        properties: The properties that have names: the declared ones in the order of the schema, then the others.
        additional: What the values of all other names are; ``None``: there are none.
        says_additional: Whether the schema speaks of other names. Where it does not, the options tell.
    """

    properties: tuple[Property, ...]
    additional: Conjunction | None
    says_additional: bool


def object_limits(plain: Plain) -> ObjectLimits:
    """What the objects of a branch must satisfy.

    Raises:
        Contradiction: No object can.
    """
    named: dict[str, None] = {}
    declared = set[str]()
    required: dict[str, Subschema] = {}
    additional = ANYTHING
    for one in plain:
        named.update(dict.fromkeys(one.schema.get("properties", ())))
        if not one.is_made:
            declared |= named.keys()
        if isinstance(one.schema.get("required"), list):  # draft 03 had a boolean here
            for name in one.schema["required"]:
                required.setdefault(name, one)
        additional = both(additional, _additional(one))
    is_closed = any(one.schema is False for one in additional)
    undeclared = [name for name in required if name not in named]
    if is_closed and undeclared:
        raise Contradiction(
            f"required {undeclared[0]!r} is not among the properties, and additionalProperties is false",
            required[undeclared[0]].pointer,
        )
    properties = [Property(name, _value(plain, name), name in declared, name in required) for name in named]
    properties += [Property(name, additional, False, True) for name in undeclared]
    says_additional = any("additionalProperties" in one.schema for one in plain)
    return ObjectLimits(tuple(properties), None if is_closed else additional, says_additional)


def _additional(one: Subschema) -> Conjunction:
    return one.part("additionalProperties") if "additionalProperties" in one.schema else ANYTHING


def _value(plain: Plain, name: str) -> Conjunction:
    """What the value of a declared property is."""
    found = ANYTHING
    for one in plain:
        if name in one.schema.get("properties", ()):
            found = both(found, one.part("properties", name))
        else:
            found = both(found, _additional(one))
    return found


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
    properties: Sequence[WrittenProperty], more: tuple[str, str] | None, layout: Layout, depth: int
) -> Expression:
    """The texts of an object.

    Args:
        properties: The properties that have names, in their order.
        more: The rules of all other names and of their values; ``None``: there are no others.
        layout: The white space.
        depth: The depth at which the object begins.
    """
    members = [Member(joined(layout.name(one.name), Call(one.rule)), one.is_needed) for one in properties]
    others = None if more is None else joined(Call(more[0], distinct=True), layout.colon, Call(more[1]))
    comma = layout.comma(depth)
    opening, closing = Literal(layout.opening(b"{", depth)), Literal(layout.closing(b"}", depth))
    if not members and others is None:
        return Literal(b"{}")
    if layout.indent is None or any(member.is_needed for member in members):
        return joined(opening, Series(tuple(members), comma, others), closing)
    # Where lines are indented, an object without members has no line break in it.
    return Alternation((Literal(b"{}"), joined(opening, _some(members, others, comma), closing)))


def _some(members: Sequence[Member], others: Expression | None, comma: Expression) -> Expression:
    """The texts of members that are not needed, at least one of them, in their order."""
    if not members:
        assert others is not None
        return joined(others, Repeat(joined(comma, others), 0, None))
    if len(members) == 1:
        behind = [] if others is None else [Repeat(joined(comma, others), 0, None)]
        first = joined(members[0].expression, *behind)
        return first if others is None else Alternation((first, _some((), others, comma)))
    middle = len(members) // 2
    left = _some(members[:middle], None, comma)
    behind = [Repeat(joined(comma, member.expression), 0, 1) for member in members[middle:]]
    if others is not None:
        behind.append(Repeat(joined(comma, others), 0, None))
    return Alternation((joined(left, *behind), _some(members[middle:], others, comma)))
