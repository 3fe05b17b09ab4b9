"""Members in any order: the automaton of such a rule, and the names in its register.

The automaton reads any member at any time. If its states told which members were read, there would be two to the power
of the names. A step that completes a name *takes* it instead: the register of the rule is a set of names, one bit each.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from sfgen.errors import InternalError
from sfgen.grammar.rules import Alternation, AnyOrder, Concatenation, Expression, Literal, Member, Repeat, Series, Take

NARROW = 62
"""The names that kernels distinguish, as bits of a number; others count as free, and their tokens as doubtful."""


class Names(NamedTuple):
    """The names of one rule with members in any order."""

    size: int
    needed: int  # the required names, one bit each
    minimum: int
    maximum: int | None  # the most members; ``None``: any number
    takes: Mapping[int, int]


def names_of(members: AnyOrder, takes: Mapping[int, int]) -> Names:
    """Describe the names of a rule, given the name that a step into each state takes."""
    needed = sum(1 << number for number, member in enumerate(members.members) if member.is_needed)
    return Names(len(members.members), needed, members.minimum, members.maximum, takes)


class Seen(NamedTuple):
    """The register of a rule that has read texts of distinct calls."""

    texts: frozenset[bytes]
    taken: int = 0  # the names read besides, one bit each


_NO_TEXTS: frozenset[bytes] = frozenset()


def texts_read(register: object) -> frozenset[bytes]:
    """Return the texts of distinct calls in a register."""
    return register.texts if isinstance(register, Seen) else _NO_TEXTS


def names_taken(register: object) -> int:
    """Return the number in a register: a count, or names as bits; 0 without either."""
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
    """Add a name to a register; ``None`` if it is there."""
    taken = names_taken(register)
    if taken >> number & 1:
        return None
    taken |= 1 << number
    return Seen(register.texts, taken) if isinstance(register, Seen) else taken


def with_marks(members: AnyOrder) -> Expression:
    """Repeat all members any number of times, with marks behind their names.

    This is the automaton's expression; the register checks the rest.
    """
    needed = sum(member.is_needed for member in members.members)
    if members.minimum > needed and any(member.is_needed for member in members.members[NARROW:]):
        raise InternalError(f"where more are needed than {NARROW} members, the count of all asks for no more")
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
    """Put the members in the order of the list: some of the texts, among them those with the fewest members."""
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
