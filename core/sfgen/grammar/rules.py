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
    """A text of another rule.

    Args:
        rule: Its name.
        distinct: Whether all texts that calls with this mark read within one text of the calling rule differ from each
            other. Only a ``Leaf`` may be called so, in a rule that counts nothing. The shortest texts are found on the
            assumption that such calls can be left out but for a few.
    """

    rule: str
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
    """Members in a fixed order, with separators; some may be left out.

    Args:
        members: The members.
        separator: What stands between two.
        more: What may stand behind the last member any number of times, the separator before each; ``None``: nothing.
    """

    members: tuple[Member, ...]
    separator: Expression
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

    Args:
        states: The steps of each state; the first state is the start.
    """

    states: tuple[tuple[Step, ...], ...]


@dataclass(frozen=True, slots=True)
class NamedMember:
    """A member that is told by its name.

    Args:
        name: What it begins with; no name is the beginning of another.
        value: What stands behind the name and the colon; it must not be empty.
        is_needed: Whether it must be there.
    """

    name: bytes
    value: Call
    is_needed: bool


@dataclass(frozen=True, slots=True)
class OtherMember:
    """Members with other names, each name once.

    Args:
        name: The names, a distinct call; none is among those of the named members or of other sorts.
        value: What stands behind the name and the colon; it must not be empty.
    """

    name: Call
    value: Call


@dataclass(frozen=True, slots=True)
class AnyOrder:
    """Members in any order, each name at most once.

    It can only be the whole of a rule.

    Args:
        members: The members that have names; those that are needed are among the first 62.
        others: The sorts of other members.
        opening: What stands before the first member, not empty.
        colon: What stands between a name and its value; it calls nothing.
        separator: What stands between two members; it calls nothing and is not empty.
        closing: What stands behind the last member, not empty.
        empty: The text without members, not empty.
        minimum: The fewest members. The shortest texts are found on the assumption that few of them are others.
        maximum: The most members; ``None``: any number.
    """

    members: tuple[NamedMember, ...]
    others: tuple[OtherMember, ...]
    opening: bytes
    colon: Expression
    separator: Expression
    closing: bytes
    empty: bytes
    minimum: int = 0
    maximum: int | None = None


@dataclass(frozen=True, slots=True)
class CountedList:
    """A list whose items are counted by a register.

    It can only be the whole of a rule.

    Args:
        opening: What it begins with, not empty.
        item: An item; it must not be empty.
        separator: What stands between two items, not empty.
        closing: What it ends with, not empty; no item and no separator begins with its first byte.
        minimum: The fewest items.
        maximum: The most items; ``None``: any number.
    """

    opening: bytes
    item: Call
    separator: bytes
    closing: bytes
    minimum: int
    maximum: int | None


@dataclass(frozen=True, eq=False, slots=True)
class CountedText:
    """A text of an automaton some of whose steps a register counts.

    It can only be the whole of a rule.

    Args:
        dfa: The automaton. It need not be minimal: states that count are apart from those that do not.
        counts: The states of which each step into them counts one, bool ``[states]``.
        needs_minimum: The states that may be entered only when ``minimum`` was counted, bool ``[states]``.
        minimum: The least count.
        maximum: The highest count; ``None``: any.
    """

    dfa: Dfa
    counts: NDArray[np.bool_]
    needs_minimum: NDArray[np.bool_]
    minimum: int
    maximum: int | None


@dataclass(frozen=True, slots=True)
class Take:
    """A mark behind a name in the automaton of ``AnyOrder``.

    It reads nothing, and only the engine makes it.

    Args:
        number: The position of the name among the members.
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

    Args:
        rule: The rule at which that was seen.
        limit: Which limit, in words.
        kind: What it is: a rule, or a terminal.

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
        """Name the line in the text of the grammar, and its file.

        Args:
            text: The grammar.
            origin: The file, for messages; ``None``: it was given as text.
        """
        told = GrammarError(self.message, text, self.position, origin=origin)
        self.message, self.details = told.message, told.details
