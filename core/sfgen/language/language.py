"""What the text of a grammar means, whatever the format: what ``sfgen.Grammar`` asks of each of them.

Everything here is told in the grammar's own words: the names of its rules, and its *terminals*, which are what its
rules are made of in the end (in GBNF literals and classes of characters, in Lark terminals).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

from sfgen.grammar.guide import PositionReader
from sfgen.grammar.rules import Grammar
from sfgen.protocols import Guide
from sfgen.vocabulary import Vocabulary

Format: TypeAlias = Literal["gbnf", "lark"]
"""How a grammar is written."""

FORMATS: tuple[Format, ...] = ("gbnf", "lark")
"""Every format."""

BETWEEN_RULES = " › "
"""What stands between a rule and the one that it calls."""

_FIRST_SHOWN, _LAST_SHOWN = 2, 5  # of a long way of rules


@dataclass(frozen=True, slots=True)
class RuleOutline:
    """A rule or a terminal of a grammar.

    Attributes:
        name: Its name; of a terminal without one, as in GBNF, how it is written.
        line: The line on which it begins, from 1; of a terminal the first one; ``None`` where it stands in no line.
        kind: Which of the two it is.
        states: The number of states in its automaton; 0 where it has none of its own, as where no text of the start
            has it.
        calls: The rules and terminals in it, each once, in order.
    """

    name: str
    line: int | None
    kind: Literal["rule", "terminal"]
    states: int
    calls: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Move:
    """What may follow in a state.

    Attributes:
        name: A rule, a terminal, or characters as in a class.
        target: The state behind it; ``None`` where that depends on what is below.
    """

    name: str
    target: int | None


@dataclass(frozen=True, slots=True)
class StateOutline:
    """A state of the automata of a grammar.

    Attributes:
        number: Its number, from 0.
        rules: The rules or terminals that it belongs to.
        may_end: Whether one of these may end there.
        moves: What may follow.
    """

    number: int
    rules: tuple[str, ...]
    may_end: bool
    moves: tuple[Move, ...]


@dataclass(frozen=True, slots=True)
class Failure:
    """Where the grammar refuses a text.

    Attributes:
        position: How many characters could be read; the next one cannot stand there, or the text cannot end there.
        byte: The same in bytes.
        line: The line of that, from 1.
        column: The character of the line, from 1.
        expected: The terminals, or where they are many the rules, that may stand there; one that is begun is named
            whole. Empty where the text must end.
        open_rules: The rules that are open there, the outermost first; of very many some in the middle are ``…``.
        at_end: Whether the whole text could be read, so that it is the beginning of one of the grammar.
        may_end: Whether the text might have ended there.
    """

    position: int
    byte: int
    line: int
    column: int
    expected: tuple[str, ...]
    open_rules: tuple[str, ...]
    at_end: bool
    may_end: bool


@dataclass(frozen=True, slots=True)
class Stretch:
    """Characters of a text that are read in the same rules.

    Attributes:
        read: The characters.
        open_rules: The rules that are open, the outermost first.
        terminal: The terminal that they are in; empty where none is open.
    """

    read: str
    open_rules: tuple[str, ...]
    terminal: str


@dataclass(frozen=True, slots=True)
class Walk:
    """What became of a text.

    Attributes:
        text: The text.
        stretches: What was read, in order; of several ways to read it the first one is told.
        failure: Where it fails; ``None``: it is a text of the grammar.
        follows: The terminals or rules that may follow where it ends or fails, as ``Failure.expected``.
    """

    text: str
    stretches: tuple[Stretch, ...]
    failure: Failure | None
    follows: tuple[str, ...]

    @property
    def verdict(self) -> Literal["match", "start", "stopped"]:
        """Whether it is a text of the grammar, its start, or neither."""
        if self.failure is None:
            return "match"
        return "start" if self.failure.at_end else "stopped"


@runtime_checkable
class Language(Protocol):
    """The texts of one grammar. Safe to share between threads."""

    @property
    def text(self) -> str:
        """The grammar as it is written."""

    @property
    def format(self) -> Format:
        """How it is written."""

    @property
    def start(self) -> str:
        """The rule that a whole text is a text of."""

    @property
    def max_blanks(self) -> int | None:
        """The most ignored characters in a row that are written.

        It is ``None`` where the format ignores none.
        """

    @property
    def origin(self) -> str | None:
        """The name of its file, for messages; ``None`` where there is none."""

    @property
    def files(self) -> Mapping[str, str]:
        """The imported texts, by the names under which they are imported.

        Grammars that come with the package lark are not among them.
        """

    @property
    def reader(self) -> PositionReader[Any]:
        """Reads what is written of the grammar, byte by byte."""

    @property
    def expressions(self) -> Grammar | None:
        """The rules as expressions over bytes, where there are some.

        They are ``None`` for Lark's lexer and parser.
        """

    def accepts(self, text: str | bytes) -> bool:
        """Tell whether a whole text is one of the grammar.

        Bytes are its UTF-8.
        """

    def shortest(self) -> bytes:
        """Find a shortest text."""

    def refusal(self, data: bytes) -> dict[str, str] | None:
        """Ask another judge about a finished text.

        See ``sfgen.protocols.Constraint.refusal``.
        """

    def guide(self, vocabulary: Vocabulary, max_tokens: int | None = None) -> Guide:
        """Make a guide for one sequence of tokens.

        It describes its position as :func:`where` does.
        """

    def rules(self) -> tuple[RuleOutline, ...]:
        """List all rules in the order of the text, then the terminals.

        Only the terminals that the start needs are listed.
        """

    def states(self) -> int:
        """Count the states; they are numbered from 0."""

    def state(self, number: int) -> StateOutline:
        """Describe one of the states, by a number that exists."""

    def walk(self, text: str) -> Walk:
        """Read a text as far as it goes."""

    def failure(self, text: str) -> Failure | None:
        """Find where a text fails; ``None`` where the grammar has it."""

    def examples(self, count: int) -> list[str]:
        """List up to ``count`` different texts, a shortest one first.

        They reach every rule where the count suffices. A higher ``count`` gives the same texts and others after them.
        """


def where(open_rules: Sequence[str], terminal: str = "") -> str:
    """Write the open rules and the open terminal in one line.

    >>> where(["select", "where", "value"], "NUMBER")
    'select › where › value: NUMBER'
    >>> where(["expression", *["term", "factor"] * 9])
    'expression › term › … › factor › term › factor › term › factor'
    """
    names = list(open_rules)
    if len(names) > _FIRST_SHOWN + 1 + _LAST_SHOWN:
        names = [*names[:_FIRST_SHOWN], "…", *names[-_LAST_SHOWN:]]
    return BETWEEN_RULES.join(names) + (f": {terminal}" if terminal else "")
