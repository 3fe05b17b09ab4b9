"""Rules: expressions over bytes and calls of other rules. Nothing here depends on tokens.

An expression is a regular expression over bytes and calls (the extended right-hand side of a production in a
context-free grammar). Five kinds go beyond that: a ``Series`` has members in a fixed order, some of them optional;
``AnyOrder`` has members in any order; a ``StateMachine`` is an automaton whose steps read expressions; a
``CountedList`` and a ``CountedText`` count with a register instead of copies.
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
    """A fixed text, possibly empty."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Bytes:
    """One byte of some ranges (lowest, highest), both included; at least one range."""

    ranges: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Call:
    """A text of another rule."""

    rule: str
    # Whether all texts that such calls read within one text of the calling rule differ. Such a call may call only a
    # ``Leaf``, and only in a rule without a count. Shortest texts assume that all but a few such calls are optional.
    distinct: bool = False


@dataclass(frozen=True, slots=True)
class Concatenation:
    """The parts one after the other; the empty text if there are none."""

    parts: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Alternation:
    """One of the branches; no text if there are none."""

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

    As a whole rule it stays an automaton; as a part of a rule it is copied into the automaton of the rule.
    """

    dfa: Dfa
    # Where many leaves equal one automaton without a few texts: that automaton and these texts. The leaves share its
    # masks.
    base: Dfa | None = field(default=None, compare=False)
    excluded: tuple[bytes, ...] = field(default=(), compare=False)


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
    # an expression that may follow the members any number of times, each time after a separator
    more: Expression | None = None


class Step(NamedTuple):
    """A step of a state machine.

    Attributes:
        expression: The text that the step reads.
        target: The state after it; ``None`` for the end.
    """

    expression: Expression
    target: int | None


@dataclass(frozen=True, slots=True)
class StateMachine:
    """An automaton whose steps read expressions (a right-linear grammar), shorter than a regular expression."""

    states: tuple[tuple[Step, ...], ...]  # the steps of each state; the first state is the start


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

    members: tuple[NamedMember, ...]  # the required ones first; kernels distinguish the first 62
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
    """A text of an automaton, some of whose steps are counted in a register; only as a whole rule."""

    dfa: Dfa  # not minimal: counting states are never merged with others
    counts: NDArray[np.bool_]  # the states into which a step is counted, bool ``[states]``
    # the states that can be entered only if the count has reached the minimum, bool ``[states]``
    needs_minimum: NDArray[np.bool_]
    minimum: int
    maximum: int | None  # the highest count; ``None``: no limit


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
"""Expressions by rule name; messages and views show these names."""

EMPTY = Literal(b"")
"""The empty text."""

NOTHING = Alternation(())
"""No text."""


@dataclass(frozen=True, slots=True)
class GrammarRules:
    """Rules, and the name of the start rule."""

    rules: Rules
    start: str


class GrammarTooLarge(SfgenError):
    """The automata of the rules pass a limit.

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
