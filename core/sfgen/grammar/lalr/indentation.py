"""Indentation in Lark grammars, as lark's ``Indenter`` adds it between lexer and parser.

A grammar declares two terminals without a text (``%declare _INDENT _DEDENT``). After a newline terminal the indenter
compares the column, which is the width of the blanks after its last newline, with the open levels: a higher column
opens a level, and the parser reads an indent; a lower column must be an open level, and the parser reads a dedent for
each level that is closed. Newlines in brackets are dropped. At the end all levels are closed.

So a configuration also has a *layout*: the open levels, the number of open brackets, and the column of the newline that
is being read. ``LayoutReader`` reads bytes with a layout; it is the plain definition of a grammar's texts.

A configuration is alive if a text completes it. Levels are not needed to decide that. In the lexer, an indent and a
dedent are terminals with codes (see ``sfgen.grammar.shell.token_symbols``): bytes that no text has. The distances of
lexer and parser decide whether some text with codes completes a configuration. Then a text without codes does, too,
because ``check_layout`` requires:

* Each rule has as many dedents as indents, and as many closing brackets as opening ones, properly nested. So the open
  levels and brackets are those on the parser's stack.
* An indent follows a newline only, a dedent follows a newline or a dedent; brackets have no newlines inside.
* Indents and dedents keep the lookahead obligation of the newline before them (``lexer_states``): no character follows
  them that would extend the newline. So no newline follows an indent directly, even if a rule has one there.
* A newline terminal reads further lines with any number of spaces. So each column can be reached from any other one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sfgen import arguments
from sfgen.errors import GrammarError, UsageError
from sfgen.grammar.lalr.distances import FAR
from sfgen.grammar.lalr.lark_errors import definition_of, position_of
from sfgen.grammar.lalr.read import LalrConfiguration, LalrPosition, LalrReader, LexerReader
from sfgen.grammar.lalr.stack import BOTTOM
from sfgen.grammar.lalr.tables import NO_STATE, ParseTables
from sfgen.grammar.shell.token_symbols import CODE_BYTES

INDENT_CODE, DEDENT_CODE = CODE_BYTES[-2:-1], CODE_BYTES[-1:]
"""The codes of the declared terminals: the last codes, as tokens of the grammar use the first ones."""

_OPTIONS = ("NL_type", "INDENT_type", "DEDENT_type", "OPEN_PAREN_types", "CLOSE_PAREN_types", "tab_len")
_NEWLINES = ("_NEWLINE", "_NL", "NEWLINE", "NL")
_OPENING, _CLOSING = ("LPAR", "LSQB", "LBRACE"), ("RPAR", "RSQB", "RBRACE")
_TAB = 8


@dataclass(frozen=True)
class Indentation:
    """The options of lark's ``Indenter``, by terminals of the grammar.

    Attributes:
        newline: The terminal after whose text the column is measured.
        indent: The declared terminal of a new level.
        dedent: The declared terminal of a level's end.
        opening: The terminals that open a bracket.
        closing: The terminals that close one.
        tab_width: The columns of a tab.
    """

    newline: str
    indent: str = "_INDENT"
    dedent: str = "_DEDENT"
    opening: tuple[str, ...] = _OPENING
    closing: tuple[str, ...] = _CLOSING
    tab_width: int = _TAB

    @classmethod
    def of(cls, indenter: Any) -> Indentation:
        """Read the options of an indenter of lark, or of an object with its attributes."""
        if isinstance(indenter, Indentation):
            return indenter
        hint = f"Make an object of the class: {indenter.__name__}()." if isinstance(indenter, type) else ""
        arguments.given("indenter", indenter, "an Indenter of lark", *_OPTIONS, hint=hint)
        newline, indent, dedent = (arguments.text(name, getattr(indenter, name)) for name in _OPTIONS[:3])
        opening, closing = (tuple(arguments.texts(name, getattr(indenter, name))) for name in _OPTIONS[3:5])
        width = arguments.whole_number("tab_len", indenter.tab_len, least=1)
        return cls(newline, indent, dedent, opening, closing, width)

    @classmethod
    def named(cls, options: Mapping[str, Any]) -> Indentation:
        """Read options by lark's names; the defaults are those of ``PythonIndenter``."""
        unknown = next((name for name in options if name not in _OPTIONS), None)
        if unknown is not None:
            raise UsageError(f"an indenter has no option {unknown!r}", hint=f"Its options are {', '.join(_OPTIONS)}.")
        return cls.of(SimpleNamespace(**(cls(_NEWLINES[0]).to_dict() | dict(options))))

    def to_dict(self) -> dict[str, Any]:
        """Return the options by lark's names."""
        return {
            "NL_type": self.newline,
            "INDENT_type": self.indent,
            "DEDENT_type": self.dedent,
            "OPEN_PAREN_types": list(self.opening),
            "CLOSE_PAREN_types": list(self.closing),
            "tab_len": self.tab_width,
        }

    @classmethod
    def declared_in(cls, text: str) -> Indentation | None:
        """Return the usual options of a grammar that declares the usual terminals; ``None`` for any other."""
        if any(position_of(text, rf"%declare[^\n]*?\b({name})\b") is None for name in (cls.indent, cls.dedent)):
            return None
        newline = next((name for name in _NEWLINES if definition_of(text, name) is not None), None)
        return None if newline is None else cls(newline)


class LayoutTerminals(NamedTuple):
    """The terminals of an indentation, by number."""

    newline: int
    indent: int
    dedent: int
    opening: frozenset[int]
    closing: frozenset[int]

    @classmethod
    def of(cls, tables: ParseTables, indentation: Indentation, text: str) -> LayoutTerminals:
        """Find the terminals in the tables; brackets that the grammar does not have are left out."""
        number_of = {terminal.name: number for number, terminal in enumerate(tables.terminals)}
        for name in (indentation.newline, indentation.indent, indentation.dedent):
            if name not in number_of:
                position = position_of(text, rf"%declare[^\n]*?\b({indentation.indent})\b")
                reason = f"its indentation needs the terminal {name}, which no rule uses"
                hint = "An indenter names the terminals of newline, indent and dedent."
                raise GrammarError(reason, text, position, hint=hint)
        opening, closing = (
            frozenset(number_of[name] for name in names if name in number_of)
            for names in (indentation.opening, indentation.closing)
        )
        newline, indent, dedent = (
            number_of[name] for name in (indentation.newline, indentation.indent, indentation.dedent)
        )
        return cls(newline, indent, dedent, opening, closing)


# ---- checks of a grammar ---------------------------------------------------------------------------------------------


def check_layout(reader: LalrReader, terminals: LayoutTerminals, text: str) -> None:
    """Refuse a grammar whose layout cannot be read exactly; see the docstring of the module."""
    _LayoutChecks(reader.tables, terminals, text).check()
    states = open_newlines(reader, terminals.newline)
    can_begin = _lines_begin_at(reader, terminals.newline)
    step, newline = reader.lexer.step, reader.lexer.byte_classes[0x0A]
    leads_there: NDArray[np.bool_] = np.append(np.append(can_begin, False)[step[:, newline]], False)
    # The last entry stands for ``NO_STATE``.
    while True:
        more = np.append(leads_there[:-1] | np.any(leads_there[step], axis=1), False)
        if np.array_equal(more, leads_there):
            break
        leads_there = more
    if not np.all(leads_there[:-1][states]):
        name = reader.tables.terminals[terminals.newline].name
        hint = r"Let it read several lines with spaces, as in /(\r?\n[\t ]*)+/."
        raise GrammarError(f"the terminal {name} ends after its first line", text, definition_of(text, name), hint=hint)


def open_newlines(reader: LalrReader, newline: int) -> NDArray[np.bool_]:
    """Return whether a newline terminal may be open or begin in each lexer state, bool ``[lexer_states]``."""
    labels = [number for number, (terminal, _) in enumerate(reader.distances.labels) if terminal == newline]
    can_end: NDArray[np.bool_] = reader.distances.cost[:, labels].min(axis=1, initial=FAR) < FAR
    return can_end


def _lines_begin_at(reader: LalrReader, newline: int) -> NDArray[np.bool_]:
    """Return whether a newline terminal may end after any number of spaces, bool ``[lexer_states]``."""
    lexer = reader.lexer
    owners = np.repeat(np.arange(len(lexer.step)), np.diff(lexer.commit_starts))
    may_end = np.zeros(len(lexer.step), dtype=np.bool_)
    may_end[owners[lexer.commit_terminals == newline]] = True
    after_space = lexer.step[:, lexer.byte_classes[0x20]]
    while True:
        still = may_end & np.append(may_end, False)[after_space]
        if (still == may_end).all():
            return may_end
        may_end = still


class _LayoutChecks:
    """Checks the rules of a grammar with a layout."""

    def __init__(self, tables: ParseTables, terminals: LayoutTerminals, text: str) -> None:
        self._tables, self._terminals, self._text = tables, terminals, text
        self._rules = tables.rules
        size = len(tables.nonterminals)
        self._is_empty = [False] * size
        self._first: list[set[int]] = [set() for _ in range(size)]
        self._last: list[set[int]] = [set() for _ in range(size)]
        self._inside: list[set[int]] = [set() for _ in range(size)]
        self._before: list[set[int]] = [set() for _ in range(size)]
        self._repeat(self._find_sets)
        self._repeat(self._find_before)

    def check(self) -> None:
        """Refuse terminals that are not nested, or are at a wrong position in a rule."""
        newline, indent, dedent, opening, closing = self._terminals
        for rule in self._rules:
            self._check_nesting(rule.symbols, frozenset([indent]), frozenset([dedent]), rule.nonterminal)
            self._check_nesting(rule.symbols, opening, closing, rule.nonterminal, without=newline)
        shown = self._tables.terminals
        for terminal, allowed in ((indent, {newline}), (dedent, {newline, dedent})):
            others = self._before_terminal(terminal) - allowed
            if others:
                other = min(others)
                where = "at the start" if other < 0 else f"after {shown[other].shown}"
                reason = f"{shown[terminal].name} is allowed {where}, where no indenter adds it"
                hint = f"Allow it after {shown[newline].name} only."
                position = position_of(self._text, rf"%declare[^\n]*?\b({shown[terminal].name})\b")
                raise GrammarError(reason, self._text, position, hint=hint)

    def _check_nesting(
        self,
        symbols: tuple[int, ...],
        opening: frozenset[int],
        closing: frozenset[int],
        nonterminal: int,
        without: int | None = None,
    ) -> None:
        depth = 0
        for symbol in symbols:
            has_newline = symbol == without or (symbol < 0 and without in self._inside[-1 - symbol])
            if depth and without is not None and has_newline:
                self._refuse(nonterminal, "has a newline in brackets, where an indenter drops it")
            depth += (symbol in opening) - (symbol in closing)
            if depth < 0:
                break
        if depth:
            what = "brackets" if without is not None else "indents and dedents"
            self._refuse(nonterminal, f"has {what} that are not closed in the same rule")

    def _refuse(self, nonterminal: int, reason: str) -> None:
        name = self._tables.nonterminals[nonterminal]
        raise GrammarError(f"the rule {name} {reason}", self._text, definition_of(self._text, name))

    @staticmethod
    def _repeat(find: Any) -> None:
        while find():
            pass

    def _find_sets(self) -> bool:
        """Extend the sets of first, last and inner terminals of each nonterminal; return whether any changed."""
        changed = False
        for nonterminal, symbols in self._rules:
            is_empty = all(symbol < 0 and self._is_empty[-1 - symbol] for symbol in symbols)
            changed |= is_empty and not self._is_empty[nonterminal]
            self._is_empty[nonterminal] |= is_empty
            inside = {each for symbol in symbols for each in self._of(symbol, self._inside)}
            for sets, found in (
                (self._first, self._edge(symbols, self._first)),
                (self._last, self._edge(reversed(symbols), self._last)),
                (self._inside, inside),
            ):
                changed |= not found <= sets[nonterminal]
                sets[nonterminal] |= found
        return changed

    def _of(self, symbol: int, sets: list[set[int]]) -> set[int]:
        return {symbol} if symbol >= 0 else sets[-1 - symbol]

    def _edge(self, symbols: Iterable[int], sets: list[set[int]]) -> set[int]:
        """Return the terminals at the edge of some symbols."""
        found = set[int]()
        for symbol in symbols:
            found |= self._of(symbol, sets)
            if symbol >= 0 or not self._is_empty[-1 - symbol]:
                break
        return found

    def _find_before(self) -> bool:
        """Extend the sets of terminals before each nonterminal, -1 for the start; return whether any changed."""
        changed = False
        start = int(np.flatnonzero(self._tables.gotos[self._tables.start] == self._tables.end)[0])
        for nonterminal, symbols in self._rules:
            for index, symbol in enumerate(symbols):
                if symbol < 0:
                    found = self._terminals_before(nonterminal, symbols[:index]) | (
                        {-1} if -1 - symbol == start else set()
                    )
                    changed |= not found <= self._before[-1 - symbol]
                    self._before[-1 - symbol] |= found
        return changed

    def _terminals_before(self, nonterminal: int, symbols: tuple[int, ...]) -> set[int]:
        found = self._edge(reversed(symbols), self._last)
        if all(symbol < 0 and self._is_empty[-1 - symbol] for symbol in symbols):
            start = int(np.flatnonzero(self._tables.gotos[self._tables.start] == self._tables.end)[0])
            found = found | self._before[nonterminal] | ({-1} if nonterminal == start else set())
        return found

    def _before_terminal(self, terminal: int) -> set[int]:
        found = set[int]()
        for nonterminal, symbols in self._rules:
            for index, symbol in enumerate(symbols):
                if symbol == terminal:
                    found |= self._terminals_before(nonterminal, symbols[:index])
        return found


# ---- reading ---------------------------------------------------------------------------------------------------------


class Layout(NamedTuple):
    """The layout at a position of a text.

    In an ``if`` inside of an ``if``, each with two blanks more, the levels are 0, 2 and 4.

    Attributes:
        levels: The columns of the open levels, the lowest first; the first is 0.
        brackets: The number of open brackets.
        column: The blanks since the last newline of the terminal that is being read; ``None`` without one.
    """

    levels: tuple[int, ...]
    brackets: int
    column: int | None


class LayoutConfiguration(NamedTuple):
    """A lexer state, a node of the parser's stack, and the layout."""

    lexer_state: int
    node: int
    layout: Layout


LayoutPosition: TypeAlias = tuple[LayoutConfiguration, ...]

_START = Layout((0,), 0, None)
_KEPT = 1 << 16


class LayoutReader(LexerReader[LayoutConfiguration]):
    """Reads bytes with lexer, indenter and parser. Safe to share between threads."""

    def __init__(self, reader: LalrReader, terminals: LayoutTerminals, tab_width: int) -> None:
        super().__init__(reader.lexer, bytes(range(256)))  # bytes of one class may lead to different columns
        self.reader = reader
        self.terminals = terminals
        self.tab_width = tab_width
        self._may_be_newline: list[bool] = open_newlines(reader, terminals.newline).tolist()
        self._is_line_begun: list[bool] = _lines_begin_at(reader, terminals.newline).tolist()
        labels = reader.distances.labels
        costs = reader.distances.cost
        self._newline_obligations = [
            sorted({labels[each][1] for each in np.flatnonzero(row < FAR).tolist()
                    if each < len(labels) and labels[each][0] == terminals.newline})
            for row in costs
        ]  # fmt: skip
        self._codes = frozenset(INDENT_CODE + DEDENT_CODE)
        self._alive_of: dict[tuple[int, int, bool], bool] = {}
        self.start: LayoutPosition = (LayoutConfiguration(reader.lexer_state_at(BOTTOM, 0), BOTTOM, _START),)

    def _read(self, position: LayoutPosition, byte: int) -> LayoutPosition | None:
        if byte in self._codes:
            return None
        reached, byte_class = dict[LayoutConfiguration, None](), self._classes[byte]
        for configuration in position:
            for lexer_state, node, layout in (configuration, *self.commits(configuration)):
                after = self._step[lexer_state][byte_class]
                if after != NO_STATE:
                    column = self._column(layout.column, byte, after) if self._may_be_newline[after] else None
                    reached[LayoutConfiguration(after, node, layout._replace(column=column))] = None
        alive = [each for each in reached if self.is_alive(*each)]
        return tuple(sorted(alive, key=_order)) or None

    def _column(self, column: int | None, byte: int, lexer_state: int) -> int | None:
        """Return the column after a byte that leads to a lexer state."""
        if byte == 0x0A:  # a newline in another terminal, such as an ignored one, begins no line
            return 0 if self._is_line_begun[lexer_state] else None
        if column is not None and byte == 0x20:
            return column + 1
        return column if column is None or byte != 0x09 else column + self.tab_width

    def commits(self, configuration: LayoutConfiguration) -> Iterator[LayoutConfiguration]:
        """Yield the gaps after the terminals that may end here."""
        for obligation, node, layout in self._ended(configuration):
            lexer_state = self.reader.lexer_state_at(node, obligation)
            if lexer_state != NO_STATE:
                yield LayoutConfiguration(lexer_state, node, layout)

    def _ended(self, configuration: LayoutConfiguration) -> Iterator[tuple[int, int, Layout]]:
        """Yield obligation, stack node and layout after the terminals that may end here."""
        lexer_state, node, layout = configuration
        yield from self.after_newline(configuration)
        for terminal, obligation in self.reader.commits_of(lexer_state):
            if terminal != self.terminals.newline:
                after = self._after_terminal(node, terminal, layout)
                if after is not None:
                    yield obligation, *after

    def after_newline(self, configuration: LayoutConfiguration) -> Iterator[tuple[int, int, Layout]]:
        """Yield obligation, stack node and layout after a newline that may end here."""
        lexer_state, node, layout = configuration
        for terminal, obligation in self.reader.commits_of(lexer_state):
            if terminal == self.terminals.newline:
                after = (node, layout._replace(column=None)) if layout.brackets else self._after_newline(node, layout)
                if after is not None:
                    yield obligation, *after

    def _after_terminal(self, node: int, terminal: int, layout: Layout) -> tuple[int, Layout] | None:
        """Return the node and the layout after a terminal that is not a newline."""
        after, terminals = self.reader.stacks.after(node, terminal), self.terminals
        brackets = layout.brackets + (terminal in terminals.opening) - (terminal in terminals.closing)
        return None if after == NO_STATE or brackets < 0 else (after, Layout(layout.levels, brackets, None))

    def _after_newline(self, node: int, layout: Layout) -> tuple[int, Layout] | None:
        """Return the node and the layout after a newline with its column, outside of brackets."""
        levels, _, column = layout
        after = self.reader.stacks.after(node, self.terminals.newline)
        if column is None or after == NO_STATE:
            return None
        if column > levels[-1]:
            after, levels = self.reader.stacks.after(after, self.terminals.indent), (*levels, column)
        while after != NO_STATE and column < levels[-1]:
            after, levels = self.reader.stacks.after(after, self.terminals.dedent), levels[:-1]
        return None if after == NO_STATE or column != levels[-1] else (after, Layout(levels, 0, None))

    def is_alive(self, lexer_state: int, node: int, layout: Layout) -> bool:
        """Return whether a text completes a configuration."""
        key = lexer_state, node, bool(layout.brackets)
        alive = self._alive_of.get(key)
        if alive is None:
            if len(self._alive_of) > _KEPT:
                self._alive_of.clear()
            alive = self._alive_of[key] = self._is_alive(*key)
        return alive

    def _is_alive(self, lexer_state: int, node: int, in_brackets: bool) -> bool:
        if self.reader.is_alive(lexer_state, node):
            return True
        if not in_brackets:
            return False
        gaps = (self.reader.lexer_state_at(node, each) for each in self._newline_obligations[lexer_state])
        return any(gap != NO_STATE and self.reader.is_alive(gap, node) for gap in gaps)

    def united(self, positions: Sequence[LayoutPosition]) -> LayoutPosition:
        """Unite one or more positions."""
        return tuple(sorted({each for position in positions for each in position}, key=_order))

    def _accepts(self, configuration: LayoutConfiguration) -> bool:
        if self._may_end[configuration.lexer_state] and self._is_complete(configuration.node, configuration.layout):
            return True
        return any(
            self._holds_at_end[obligation] and self._is_complete(node, layout)
            for obligation, node, layout in self._ended(configuration)
        )

    def _is_complete(self, node: int, layout: Layout) -> bool:
        """Return whether the text may end at a gap, after closing the open levels."""
        for _ in layout.levels[1:]:
            node = self.reader.stacks.after(node, self.terminals.dedent)
            if node == NO_STATE:
                return False
        return self.reader.stacks.is_complete(node)


def _order(configuration: LayoutConfiguration) -> tuple[int, int, tuple[int, ...], int, int]:
    lexer_state, node, (levels, brackets, column) = configuration
    return lexer_state, node, levels, brackets, -1 if column is None else column


def without_layout(position: LayoutPosition) -> LalrPosition:
    """Return a position without its layouts."""
    return tuple(dict.fromkeys(LalrConfiguration(lexer_state, node) for lexer_state, node, _ in position))


def with_columns(coded: bytes) -> bytes:
    """Replace the codes in a text by indentation, four spaces for each level.

    >>> with_columns(b"if:\\n" + INDENT_CODE + b"a\\nb\\n" + DEDENT_CODE + b"c\\n")
    b'if:\\n    a\\n    b\\nc\\n'
    """
    text, level = bytearray(), 0
    for byte in coded:
        if byte not in INDENT_CODE + DEDENT_CODE:
            text += b"    " * level * (text[-1:] == b"\n" and byte != 0x0A) + bytes([byte])
            continue
        level += 1 if byte in INDENT_CODE else -1
        text += b"" if text.endswith(b"\n") else b"\n"  # after a comment, which is a newline by itself
    return bytes(text)
