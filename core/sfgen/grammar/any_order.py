"""Members in any order: the automaton of such a rule, and the names that its register tells.

The automaton reads any member at any time: its states do not tell which were there, or they would be two to the power
of the names. A step that completes a name *takes* it: the register of the rule is a set of names, a bit for each.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from sfgen.errors import InternalError
from sfgen.grammar.rules import Alternation, AnyOrder, Concatenation, Expression, Literal, Member, Repeat, Series, Take

NARROW = 62
"""The names of a rule that kernels tell apart, as bits of a number. They take the others to be free, and doubt it."""


class Names(NamedTuple):
    """The names of one rule whose members have any order."""

    size: int
    needed: int  # those that must be there, a bit for each
    minimum: int
    maximum: int | None  # the most members; ``None``: any number
    takes: Mapping[int, int]


def names_of(members: AnyOrder, takes: Mapping[int, int]) -> Names:
    """Describe the names of a rule and the states that take them."""
    needed = sum(1 << number for number, member in enumerate(members.members) if member.is_needed)
    return Names(len(members.members), needed, members.minimum, members.maximum, takes)


class Seen(NamedTuple):
    """The register of a rule that has read texts of distinct calls."""

    texts: frozenset[bytes]
    taken: int = 0  # the names that were read besides, a bit for each, where the rule has members in any order


_NO_TEXTS: frozenset[bytes] = frozenset()


def texts_read(register: object) -> frozenset[bytes]:
    """Return the texts in a register of distinct calls."""
    return register.texts if isinstance(register, Seen) else _NO_TEXTS


def names_taken(register: object) -> int:
    """Return the number in a register: a count, or names as bits.

    It is 0 where there is neither.
    """
    if isinstance(register, Seen):
        return register.taken
    return register if isinstance(register, int) else 0


def narrow(register: object) -> int:
    """Return the part of a register that kernels see."""
    return names_taken(register) & (1 << NARROW) - 1


def with_text(register: object, text: bytes) -> Seen:
    """Add the text of a distinct call to a register."""
    return Seen(texts_read(register) | {text}, names_taken(register))


def with_name(register: int | bytes | Seen, number: int) -> int | Seen | None:
    """Add a name to a register; ``None`` if it was read before."""
    taken = names_taken(register)
    if taken >> number & 1:
        return None
    taken |= 1 << number
    return Seen(register.texts, taken) if isinstance(register, Seen) else taken


def with_marks(members: AnyOrder) -> Expression:
    """Repeat all members any number of times, with marks behind their names.

    This is what the automaton of the rule reads; the register does the rest.
    """
    if any(member.is_needed for member in members.members[NARROW:]):
        raise InternalError(f"the names that are needed are among the first {NARROW} of a rule")
    sorts: list[Expression] = [
        Concatenation((Literal(member.name), Take(number), members.colon, member.value))
        for number, member in enumerate(members.members)
    ]
    sorts += [Concatenation((other.name, members.colon, other.value)) for other in members.others]
    branches: list[Expression] = []
    if members.minimum == 0 and not any(member.is_needed for member in members.members):
        branches.append(Literal(members.empty))
    if sorts and members.maximum != 0:
        most = None if members.maximum is None else members.maximum - 1
        member = Alternation(tuple(sorts))
        more = Repeat(Concatenation((members.separator, member)), max(0, members.minimum - 1), most)
        branches.append(Concatenation((Literal(members.opening), member, more, Literal(members.closing))))
    return Alternation(tuple(branches))


def in_one_order(members: AnyOrder) -> Expression:
    """Put the members in the order in which they are listed.

    These are some of the texts only: with as few members as there must be, or more.
    """
    lacking = max(0, members.minimum - sum(member.is_needed for member in members.members))
    most = len(members.members) if members.maximum is None else members.maximum
    listed: list[Member] = []
    optional = most - sum(member.is_needed for member in members.members)
    for member in members.members:
        if member.is_needed or optional > 0:
            text = Concatenation((Literal(member.name), members.colon, member.value))
            listed.append(Member(text, member.is_needed or lacking > 0))
            lacking -= not member.is_needed
            optional -= not member.is_needed
    others: list[Expression] = [Concatenation((other.name, members.colon, other.value)) for other in members.others]
    listed += [Member(Alternation(tuple(others)), True)] * (lacking if others else 0)
    more = Alternation(tuple(others)) if others and members.maximum is None else None
    text = Concatenation(
        (Literal(members.opening), Series(tuple(listed), members.separator, more), Literal(members.closing))
    )
    if any(member.is_needed for member in listed):
        return text
    return Alternation((Literal(members.empty), text)) if members.empty != members.opening + members.closing else text
