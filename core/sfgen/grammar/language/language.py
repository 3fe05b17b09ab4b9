"""The protocol of a grammar's texts, for ``sfgen.Grammar``, and the data classes of their descriptions.

Descriptions use the names in the grammar: those of its rules and of its *terminals*. In GBNF the terminals are the
literals and classes of characters.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

from sfgen.grammar.lalr.indentation import Indentation
from sfgen.grammar.network.rules import GrammarRules
from sfgen.index.readers import PositionReader
from sfgen.printable import line_and_column
from sfgen.protocols import Guide
from sfgen.vocabulary import Vocabulary

Format: TypeAlias = Literal["gbnf", "lark"]
"""The format of a grammar."""

FORMATS: tuple[Format, ...] = ("gbnf", "lark")
"""Every format."""

BETWEEN_RULES = " › "
"""The separator between a rule and the one that it calls."""

_FIRST_SHOWN, _LAST_SHOWN = 2, 5  # of many open rules


@dataclass(frozen=True, slots=True)
class RuleOutline:
    """A rule or a terminal of a grammar.

    Attributes:
        name: Its name; its spelling if a terminal has none, as in GBNF.
        line: The line on which it begins, from 1, of a terminal the first; ``None`` if it is not in the text.
        kind: Rule or terminal.
        states: The number of states of its automaton; 0 if it has no own automaton, or is not reachable.
        calls: The rules and terminals in it, each once, in order.
    """

    name: str
    line: int | None
    kind: Literal["rule", "terminal"]
    states: int
    calls: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Move:
    """A step from a state.

    Attributes:
        name: A rule, a terminal, or characters as in a class.
        target: The state after it; ``None``: it depends on the stack.
    """

    name: str
    target: int | None


@dataclass(frozen=True, slots=True)
class StateOutline:
    """A state of a grammar's automata.

    Attributes:
        number: Its number, from 0.
        rules: The rules or terminals that it belongs to.
        may_end: Whether one of these may end there.
        moves: The steps from it.
    """

    number: int
    rules: tuple[str, ...]
    may_end: bool
    moves: tuple[Move, ...]


@dataclass(frozen=True, slots=True)
class Failure:
    """The position at which a grammar refuses a text.

    Attributes:
        position: The number of characters read; the next one is refused, or the text cannot end there.
        byte: The same in bytes.
        line: The line of that position, from 1.
        column: The character in the line, from 1.
        expected: The terminals that may follow, or their rules if they are many; an open terminal has its full name.
            Empty if the text must end.
        open_rules: The open rules, the outermost first; ``…`` replaces the middle of a long list.
        at_end: Whether the whole text was read, so that it is the beginning of a text of the grammar.
        may_end: Whether a text of the grammar may end there.
    """

    position: int
    byte: int
    line: int
    column: int
    expected: tuple[str, ...]
    open_rules: tuple[str, ...]
    at_end: bool
    may_end: bool

    @classmethod
    def at(
        cls, text: str, position: int, expected: tuple[str, ...], open_rules: tuple[str, ...], *, may_end: bool
    ) -> Failure | None:
        """Return the failure of a text that was read up to a position; ``None`` if it is complete there."""
        at_end = position == len(text)
        if may_end and at_end:
            return None
        line, column = line_and_column(text, position)
        byte = len(text[:position].encode("utf-8", "surrogatepass"))
        return cls(position, byte, line, column, expected, open_rules, at_end, may_end)


@dataclass(frozen=True, slots=True)
class Stretch:
    """Characters of a text that are read in the same rules.

    Attributes:
        read: The characters.
        open_rules: The open rules, the outermost first.
        terminal: The open terminal; empty without one.
    """

    read: str
    open_rules: tuple[str, ...]
    terminal: str

    @classmethod
    def of(cls, characters: Iterable[str], paths: Iterable[tuple[tuple[str, ...], str]]) -> tuple[Stretch, ...]:
        """Join neighbouring characters with equal open rules and open terminal; ``paths`` has both of each one."""
        read = groupby(zip(characters, paths, strict=False), key=lambda each: each[1])
        return tuple(cls("".join(character for character, _ in each), *path) for path, each in read)


@dataclass(frozen=True, slots=True)
class Walk:
    """The result of reading a text.

    Attributes:
        text: The text.
        stretches: The parts read, in order; for an ambiguous text those of the first reading.
        failure: The position where it fails; ``None`` for a text of the grammar.
        follows: The terminals or rules that may follow the part that was read; see ``Failure.expected``.
    """

    text: str
    stretches: tuple[Stretch, ...]
    failure: Failure | None
    follows: tuple[str, ...]

    @property
    def verdict(self) -> Literal["match", "start", "stopped"]:
        """``match`` for a text of the grammar, ``start`` for the beginning of one, else ``stopped``."""
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
        """The format of its text."""

    @property
    def start(self) -> str:
        """The rule that a whole text matches."""

    @property
    def max_blanks(self) -> int | None:
        """The maximum number of ignored characters that are written in a row; ``None`` if the format ignores none."""

    @property
    def origin(self) -> str | None:
        """The name of its file, for messages; ``None`` if there is none."""

    @property
    def files(self) -> Mapping[str, str]:
        """The imported texts by name, without the grammars of the package lark."""

    @property
    def indentation(self) -> Indentation | None:
        """The options of the indenter; ``None`` without one."""

    @property
    def tokens(self) -> tuple[str, ...]:
        """The token symbols, as they are spelled."""

    def written(self, vocabulary: Vocabulary) -> Mapping[int, bytes]:
        """Return the text written for each special token that the grammar allows."""

    @property
    def reader(self) -> PositionReader[Any]:
        """The reader of the texts that guides write, byte by byte."""

    @property
    def expressions(self) -> GrammarRules | None:
        """The rules as expressions over bytes; ``None`` for Lark."""

    def accepts(self, text: str | bytes) -> bool:
        """Return whether a whole text is one of the grammar; bytes are UTF-8."""

    def shortest(self) -> bytes:
        """Find a shortest text."""

    def refusal(self, data: bytes) -> dict[str, str] | None:
        """Check a finished text with another implementation; see ``sfgen.protocols.Constraint.refusal``."""

    def guide(self, vocabulary: Vocabulary, max_tokens: int | None = None) -> Guide:
        """Make a guide for one sequence, which describes its position as :func:`where` does."""

    def rules(self) -> tuple[RuleOutline, ...]:
        """List all rules in the order of the text, then the reachable terminals."""

    def states(self) -> int:
        """Count the states; they are numbered from 0."""

    def state(self, number: int) -> StateOutline:
        """Describe one of the states, by a number that exists."""

    def walk(self, text: str) -> Walk:
        """Read a text as far as the grammar allows."""

    def failure(self, text: str) -> Failure | None:
        """Find the failure of a text; ``None`` if the grammar accepts it."""

    def examples(self, count: int) -> list[str]:
        """List up to ``count`` different texts, a shortest one first.

        They reach every rule if ``count`` suffices. A higher ``count`` appends texts.
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
