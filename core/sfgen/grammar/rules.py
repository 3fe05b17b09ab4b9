"""Rules: what a grammar says, as expressions over bytes and calls of other rules. Nothing here knows tokens.

An expression is a regular expression whose letters are bytes and calls (an extended right-hand side of a context-free
grammar). Five kinds are more than that: a ``Series`` has members in a fixed order, some of them optional; ``AnyOrder``
has members in any order; a ``StateMachine`` is an automaton whose steps read expressions; a ``CountedList`` and a
``CountedText`` count up to large numbers with a counter in place of copies.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sfgen.automata import Dfa
from sfgen.errors import GrammarError, SfgenError


@dataclass(frozen=True, slots=True)
class Literal:
    """These bytes; none at all is the empty text."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Bytes:
    """One byte in any of some ranges; at least one range.

    A range is (lowest, highest), both included.
    """

    ranges: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Call:
    """A text of another rule."""

    rule: str
    # whether all texts that calls with this mark read within one text of the calling rule differ from each other. Only
    # a ``Leaf`` may be called so, in a rule that counts nothing. The shortest texts are found on the assumption that
    # such calls can be left out but for a few.
    distinct: bool = False


@dataclass(frozen=True, slots=True)
class Concatenation:
    """One after the other; no parts are the empty text."""

    parts: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Alternation:
    """Any one of them; without branches there is no text at all."""

    branches: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """``minimum`` to ``maximum`` copies, one after the other; ``None``: without end."""

    child: Expression
    minimum: int
    maximum: int | None


@dataclass(frozen=True, slots=True)
class Leaf:
    """A text that an automaton accepts.

    As the whole of a rule it stays an automaton; elsewhere it is copied in.
    """

    dfa: Dfa


@dataclass(frozen=True, slots=True)
class Member:
    """A member of a series, and whether it must be there."""

    expression: Expression
    is_needed: bool


@dataclass(frozen=True, slots=True)
class Series:
    """Members in a fixed order, with separators; some may be left out."""

    members: tuple[Member, ...]
    separator: Expression
    # what may stand behind the last member any number of times, the separator before each; ``None``: nothing
    more: Expression | None = None


class Step(NamedTuple):
    """A step of a machine.

    Attributes:
        expression: What is read.
        target: The state behind it; ``None``: the end.
    """

    expression: Expression
    target: int | None


@dataclass(frozen=True, slots=True)
class StateMachine:
    """An automaton whose steps read expressions (a right-linear grammar).

    A regular expression would say the same at greater length.
    """

    states: tuple[tuple[Step, ...], ...]  # the steps of each state; the first state is the start


@dataclass(frozen=True, slots=True)
class NamedMember:
    """A member that is told by its name."""

    name: bytes  # what it begins with; no name is the beginning of another
    value: Call  # what stands behind the name and the colon; it must not be empty
    is_needed: bool


@dataclass(frozen=True, slots=True)
class OtherMember:
    """Members with other names, each name once."""

    name: Call  # the names, a distinct call; none is among those of the named members or of other sorts
    value: Call  # what stands behind the name and the colon; it must not be empty


@dataclass(frozen=True, slots=True)
class AnyOrder:
    """Members in any order, each name at most once.

    It can only be the whole of a rule.
    """

    members: tuple[NamedMember, ...]  # the members that have names; those that are needed are among the first 62
    others: tuple[OtherMember, ...]
    opening: bytes  # what stands before the first member, not empty
    colon: Expression  # what stands between a name and its value; it calls nothing
    separator: Expression  # what stands between two members; it calls nothing and is not empty
    closing: bytes  # what stands behind the last member, not empty
    empty: bytes  # the text without members, not empty
    minimum: int = 0
    maximum: int | None = None  # the most members; ``None``: any number


@dataclass(frozen=True, slots=True)
class CountedList:
    """A list whose items are counted by a register.

    It can only be the whole of a rule.
    """

    opening: bytes  # what it begins with, not empty
    item: Call  # an item; it must not be empty
    separator: bytes  # what stands between two items, not empty
    closing: bytes  # what it ends with, not empty; no item and no separator begins with its first byte
    minimum: int
    maximum: int | None  # the most items; ``None``: any number


@dataclass(frozen=True, eq=False, slots=True)
class CountedText:
    """A text of an automaton some of whose steps a register counts.

    It can only be the whole of a rule.
    """

    dfa: Dfa  # the automaton. It need not be minimal: states that count are apart from those that do not.
    counts: NDArray[np.bool_]  # the states of which each step into them counts one, bool ``[states]``
    # the states that may be entered only when ``minimum`` was counted, bool ``[states]``
    needs_minimum: NDArray[np.bool_]
    minimum: int
    maximum: int | None  # the highest count; ``None``: any


@dataclass(frozen=True, slots=True)
class Take:
    """A mark behind a name in the automaton of ``AnyOrder``.

    It reads nothing, and only the engine makes it.
    """

    number: int


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
    | Take
)

Rules: TypeAlias = Mapping[str, Expression]
"""Expressions by name. A name is what people are shown of a place in a text."""

EMPTY = Literal(b"")
"""The empty text."""

NOTHING = Alternation(())
"""No text at all."""


@dataclass(frozen=True, slots=True)
class Grammar:
    """Rules, and the one that a whole text is a text of."""

    rules: Rules
    start: str


class GrammarTooLarge(SfgenError):
    """Rules whose automata pass a limit.

    Attributes:
        position: Where the rule begins in the text of the grammar, in code points; ``None`` where that is not known.
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
        """Name the line in the text of the grammar, and its file."""
        told = GrammarError(self.message, text, self.position, origin=origin)
        self.message, self.details = told.message, told.details
