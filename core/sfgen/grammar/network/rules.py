"""Rules: expressions over bytes and calls of other rules. Nothing here knows tokens.

An expression is a regular expression over bytes and calls (an extended right-hand side of a context-free grammar). Five
kinds go beyond that: a ``Series`` has members in a fixed order, some of them optional; ``AnyOrder`` has members in any
order; a ``StateMachine`` is an automaton whose steps read expressions; a ``CountedList`` and a ``CountedText`` count
with a register in place of copies.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sfgen.automata import Dfa
from sfgen.errors import GrammarError, SfgenError


@dataclass(frozen=True, slots=True)
class Literal:
    """A fixed text; without bytes it is the empty text."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Bytes:
    """One byte of some ranges (lowest, highest), both included; at least one range."""

    ranges: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Call:
    """A text of another rule."""

    rule: str
    # Texts that distinct calls read within one text of the calling rule all differ. Only a ``Leaf`` may be called so,
    # in a rule that counts nothing. Shortest texts assume that all but a few such calls can be left out.
    distinct: bool = False


@dataclass(frozen=True, slots=True)
class Concatenation:
    """The parts one after the other; without parts it is the empty text."""

    parts: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Alternation:
    """One of the branches; without branches there is no text."""

    branches: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """``minimum`` to ``maximum`` copies; ``None``: any number."""

    child: Expression
    minimum: int
    maximum: int | None


@dataclass(frozen=True, slots=True)
class Leaf:
    """A text that an automaton accepts.

    As a whole rule it stays an automaton; elsewhere it is copied in.
    """

    dfa: Dfa
    # Where many leaves are one automaton but for a few texts each, that automaton and those texts: its masks serve all.
    most: Dfa | None = field(default=None, compare=False)
    without: tuple[bytes, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class Member:
    """A member of a series, required or optional."""

    expression: Expression
    is_needed: bool


@dataclass(frozen=True, slots=True)
class Series:
    """Members in a fixed order, with separators; some may be left out."""

    members: tuple[Member, ...]
    separator: Expression
    # repeated any number of times after the last member, each after a separator
    more: Expression | None = None


class Step(NamedTuple):
    """A step of a machine.

    Attributes:
        expression: The text of the step.
        target: The state after it; ``None`` is the end.
    """

    expression: Expression
    target: int | None


@dataclass(frozen=True, slots=True)
class StateMachine:
    """An automaton whose steps read expressions (a right-linear grammar).

    A regular expression would be longer.
    """

    states: tuple[tuple[Step, ...], ...]  # by state; the first is the start


@dataclass(frozen=True, slots=True)
class NamedMember:
    """A member with a fixed name."""

    name: bytes  # no name is a prefix of another
    value: Call  # after the colon; not empty
    is_needed: bool


@dataclass(frozen=True, slots=True)
class OtherMember:
    """Members with other names, each name once."""

    name: Call  # a distinct call, disjoint from the names of other members
    value: Call  # after the colon; not empty


@dataclass(frozen=True, slots=True)
class AnyOrder:
    """Members in any order, each name at most once; only as a whole rule."""

    members: tuple[NamedMember, ...]  # the required ones first, of which kernels tell 62 apart
    others: tuple[OtherMember, ...]
    opening: bytes  # before the first member; not empty
    colon: Expression  # between name and value; without calls
    separator: Expression  # between two members; not empty, without calls
    closing: bytes  # after the last member; not empty
    empty: bytes  # the text without members; not empty
    minimum: int = 0
    maximum: int | None = None  # the most members; ``None``: any number


@dataclass(frozen=True, slots=True)
class CountedList:
    """A list whose items a register counts; only as a whole rule."""

    opening: bytes  # not empty
    item: Call  # not empty
    separator: bytes  # between two items; not empty
    closing: bytes  # not empty; no item and no separator begins with its first byte
    minimum: int
    maximum: int | None  # the most items; ``None``: any number


@dataclass(frozen=True, eq=False, slots=True, weakref_slot=True)
class CountedText:
    """A text of an automaton, some of whose steps a register counts; only as a whole rule."""

    dfa: Dfa  # not minimal: states that count are apart from the others
    counts: NDArray[np.bool_]  # states that a step into counts, bool ``[states]``
    # states that need the minimum, bool ``[states]``
    needs_minimum: NDArray[np.bool_]
    minimum: int
    maximum: int | None  # the highest count; ``None``: any


Expression: TypeAlias = (
    Literal
    | Bytes
    | Call
    | Concatenation
    | Alternation
    | Repeat
    | Leaf
    | Series
    | AnyOrder
    | StateMachine
    | CountedList
    | CountedText
)

Rules: TypeAlias = Mapping[str, Expression]
"""Expressions by rule name; people are shown these names."""

EMPTY = Literal(b"")
"""The empty text."""

NOTHING = Alternation(())
"""No text."""


@dataclass(frozen=True, slots=True)
class GrammarRules:
    """Rules, and the rule of a whole text."""

    rules: Rules
    start: str


class GrammarTooLarge(SfgenError):
    """Rules whose automata pass a limit.

    Attributes:
        position: The offset of the rule in the text of the grammar, in code points; ``None`` where it is unknown.
    """

    def __init__(self, rule: str, limit: str, kind: str = "rule") -> None:
        self.rule = rule
        self.limit = limit
        self.position: int | None = None
        super().__init__(
            f"the automaton of the {kind} {rule!r} passes the limit of {limit}",
            hint=f"Use smaller counts and fewer alternatives, or divide the {kind}.",
        )

    def tell_where(self, text: str, origin: str | None = None) -> None:
        """Add the line in the text of the grammar, and its file, to the message."""
        told = GrammarError(self.message, text, self.position, origin=origin)
        self.message, self.details = told.message, told.details
