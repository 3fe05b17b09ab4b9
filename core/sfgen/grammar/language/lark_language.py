"""The texts of a grammar in Lark's language, as a ``language.Language`` on lark's tables.

lark decides whether a text is one of the grammar. Guides write fewer blanks: between two terminals at most
``max_blanks`` characters that the grammar ignores, all ASCII white space.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property, partial
from typing import Any, cast

import numpy as np

from sfgen import arguments
from sfgen.errors import GrammarError, SfgenError, TextTooLong
from sfgen.grammar.lalr.compiled_grammar import CompiledGrammar, compile_lark
from sfgen.grammar.lalr.completion import LalrCompletion
from sfgen.grammar.lalr.distances import KnownDistances, TextDistances
from sfgen.grammar.lalr.examples import examples, fewest_terminals
from sfgen.grammar.lalr.indentation import (
    Indentation,
    LayoutReader,
    LayoutTerminals,
    check_layout,
    with_columns,
    without_layout,
)
from sfgen.grammar.lalr.lark_errors import definition_of
from sfgen.grammar.lalr.lark_package import LarkGrammar
from sfgen.grammar.lalr.lark_tokens import with_tokens
from sfgen.grammar.lalr.layout_masks import LayoutCompletion, LayoutPositions
from sfgen.grammar.lalr.lexer import make_lexer
from sfgen.grammar.lalr.positions import LalrPositions
from sfgen.grammar.lalr.read import LalrPosition, LalrReader
from sfgen.grammar.lalr.stack import StateStacks
from sfgen.grammar.lalr.tables import NO_STATE, Lexer, ParseTables
from sfgen.grammar.language.language import Failure, Format, Move, RuleOutline, StateOutline, Stretch, Walk, where
from sfgen.grammar.language.open_rules import OpenRules, name_of
from sfgen.grammar.network.rules import GrammarRules, GrammarTooLarge
from sfgen.grammar.shell.guide import GrammarGuide, KeptByVocabulary
from sfgen.grammar.shell.read import ByteReader
from sfgen.grammar.shell.token_symbols import SpelledReading, SymbolGuide, SymbolPositions, SymbolTokens, TextReading
from sfgen.index.distance import LONGEST_TEXT
from sfgen.index.readers import PositionMasks
from sfgen.parameter_text import ParameterText
from sfgen.printable import line_and_column
from sfgen.protocols import Guide
from sfgen.vocabulary import Vocabulary

MOST_NODES = 1 << 20
"""The most stack nodes of a reader; if it has more, later guides use a new reader."""

_MORE_BLANKS = ParameterText("Allow more blanks (max_blanks).", "max_blanks")

_MOST_EXPECTED = 12
"""The most terminals that are named; if there are more, the rules that begin with them are named."""


class LarkLanguage:
    """The texts of a grammar in Lark's language; its members are those of ``language.Language``."""

    def __init__(self, compiled: CompiledGrammar, max_blanks: int, origin: str | None = None) -> None:
        grammar, lexer, self._known_distances = arguments.instance("compiled", compiled, CompiledGrammar)
        self._grammar = grammar
        self.max_blanks: int | None = max_blanks
        self.origin = origin
        self.format: Format = "lark"
        self.indentation = grammar.indentation
        self.text = grammar.text
        self.start = grammar.start
        self.files: Mapping[str, str] = grammar.imported
        self._lock = threading.Lock()
        self._begin(lexer)
        if self._reader.distances.is_empty:
            raise self._empty()

    def __reduce__(self) -> tuple[Any, ...]:
        # The imported texts are pickled too, as their folder may be missing.
        return partial(lark_language, **self._options()), (self.text, self.start)

    def _options(self) -> dict[str, Any]:
        return {"max_blanks": self.max_blanks, "files": dict(self.files), "origin": self.origin}

    def __compiled__(self) -> tuple[Any, ...]:
        grammar = self._grammar
        source = grammar.text, grammar.start, dict(grammar.imported)
        compiled = grammar.tables, self._reader.lexer, self.max_blanks, self.origin, grammar.indentation
        return type(self)._of_compiled, (*source, *compiled)

    @classmethod
    def _of_compiled(
        cls,
        text: str,
        start: str,
        files: Mapping[str, str],
        tables: ParseTables,
        lexer: Lexer,
        max_blanks: int,
        origin: str | None,
        indentation: Indentation | None,
    ) -> LarkLanguage:
        """Return the language of a compiled form."""
        grammar = LarkGrammar.of_tables(text, start, files, tables, indentation)
        return cls(CompiledGrammar(grammar, lexer), max_blanks, origin)

    def _begin(self, lexer: Lexer) -> None:
        """Begin with empty stacks."""
        self._reader = _reader(self._grammar, lexer, self._known_distances)
        self._open_rules = OpenRules(self._reader)
        self._positions = KeptByVocabulary[PositionMasks[Any]]()

    def _empty(self) -> SfgenError:
        hint: str
        fewest = fewest_terminals(self._grammar.tables)
        if fewest is not None and fewest > LONGEST_TEXT:
            return TextTooLong(fewest - 1, LONGEST_TEXT, is_exact=False)
        if not self._unlimited.distances.is_empty:
            reason, hint = f" with at most {self.max_blanks} blanks in a row", _MORE_BLANKS
        elif fewest is not None:
            reason = ": the terminals that the lexer prefers leave no text for those after them"
            hint = "Separate them by a literal or by ignored text, or give one a priority (NAME.2: ...)."
        else:
            reason, hint = ": a rule never ends", "Give each rule an alternative that does not use itself."
        return GrammarError(
            f"there is no text at all{reason}", self.text, definition_of(self.text, self.start), hint=hint
        )

    @cached_property
    def _unlimited(self) -> LalrReader:
        """The reader of all texts that lark reads."""
        return self._make_unlimited()

    def _make_unlimited(self) -> LalrReader:
        return _reader(self._grammar, make_lexer(self._grammar.tables, None))

    @cached_property
    def _unlimited_rules(self) -> OpenRules:
        return OpenRules(self._unlimited)

    @property
    def tokens(self) -> tuple[str, ...]:
        """The token symbols, as they are spelled."""
        return ()

    def written(self, vocabulary: Vocabulary) -> Mapping[int, bytes]:
        """Return the text written for each special token that the grammar allows."""
        return {}

    @property
    def reader(self) -> LalrReader:
        """The reader of the texts that guides write, byte by byte."""
        return self._reader

    @property
    def expressions(self) -> GrammarRules | None:
        """``None``: a lexer and a parser are not rules over bytes."""
        return None

    # ---- texts -----------------------------------------------------------------------------------------------------

    def accepts(self, text: str | bytes) -> bool:
        """Return whether lark reads a whole text; bytes are its UTF-8."""
        data = arguments.utf8("text", text)
        if data is None:
            return False
        if self._grammar.tables.quotations:  # lark cannot read them
            return self._reads(data)
        try:
            return self._grammar.parse(data.decode())
        except UnicodeDecodeError:
            return False

    def _reads(self, data: bytes) -> bool:
        """Return whether a whole text can be read byte by byte, without lark."""
        reading = self._reading()
        return all(map(reading.read_byte, data)) and reading.accepts()

    def shortest(self) -> bytes:
        """Find a shortest text."""
        return LalrCompletion(self._reader, None).text(self._reader.start)

    def refusal(self, data: bytes) -> dict[str, str] | None:
        """Check a finished text with lark, unless the grammar has quotations."""
        arguments.data("data", data)
        try:
            refused = None if self._grammar.tables.quotations else self._grammar.refusal(data.decode())
            reason = None if refused is None else refused.reason
        except UnicodeDecodeError:
            reason = "it is not valid UTF-8"
        return None if reason is None else {"grammar": self.start, "refused by": "lark", "reason": reason}

    def guide(self, vocabulary: Vocabulary, max_tokens: int | None = None) -> Guide:
        """Make a guide for one sequence of tokens."""
        with self._lock:
            if len(self._reader.stacks) > MOST_NODES:
                self._begin(self._reader.lexer)
            positions, make, open_rules = self._positions, self._make_positions(), self._open_rules
        tokens, plain = positions.of(vocabulary, make), self._plain
        return self._guides(tokens, max_tokens, lambda position: where(*open_rules.at(plain(position))))

    _guides: type[GrammarGuide[Any]] = GrammarGuide

    def _make_positions(self) -> Callable[[Vocabulary], PositionMasks[Any]]:
        """Return a function that makes the masks of positions for a vocabulary."""
        return partial(_positions, self._reader)

    def _plain(self, position: Any) -> LalrPosition:
        """Return the lexer states and the stacks of a guide's position."""
        return cast("LalrPosition", position)

    def examples(self, count: int) -> list[str]:
        """List up to ``count`` different texts, a shortest one first; they reach every rule if ``count`` suffices."""
        arguments.whole_number("count", count, 1)
        first = self.shortest().decode()
        others = filter(self.accepts, self._examples())
        return list(
            itertools.islice(dict.fromkeys(itertools.chain([first], itertools.islice(others, 4 * count))), count)
        )

    def _examples(self) -> Iterator[str]:
        return examples(self._reader, self._spelled)

    def _spelled(self, coded: bytes) -> bytes:
        """Replace the codes in a text by readable texts."""
        return coded

    # ---- rules and states ------------------------------------------------------------------------------------------

    def rules(self) -> tuple[RuleOutline, ...]:
        """List all rules in the order of the text, then the reachable terminals."""
        tables = self._grammar.tables
        states, calls = dict[str, set[int]](), dict[str, dict[str, None]]()
        for number, name in enumerate(tables.nonterminals):
            if name_of(name):
                states[name] = {
                    state for state, items in enumerate(self._open_rules.items) for rule, _ in items
                    if tables.rules[rule].nonterminal == number
                }  # fmt: skip
                calls[name] = dict.fromkeys(self._called(number, set()))
        lines = {name: self._line(name) for name in states}
        outlines = [
            RuleOutline(name, lines[name], "rule", len(states[name]), tuple(calls[name]))
            for name in sorted(states, key=lambda name: (lines[name] is None, lines[name] or 0, name))
        ]
        reach = self._open_rules.reach
        for number, terminal in enumerate(tables.terminals[:-1]):
            if number not in tables.ignored and reach[:, number].any():
                line = None if terminal.is_literal else self._line(terminal.name)
                outlines.append(RuleOutline(terminal.shown, line, "terminal", int(reach[:, number].sum())))
        return tuple(outlines)

    def _called(self, nonterminal: int, seen: set[int]) -> list[str]:
        """List the rules and terminals in a rule, and those in the rules that lark generated for its repetitions."""
        tables, names = self._grammar.tables, list[str]()
        seen.add(nonterminal)
        for rule in tables.rules:
            if rule.nonterminal != nonterminal:
                continue
            for symbol in rule.symbols:
                if symbol >= 0:
                    names.append(tables.terminals[symbol].shown)
                elif name_of(tables.nonterminals[-1 - symbol]):
                    names.append(tables.nonterminals[-1 - symbol])
                elif -1 - symbol not in seen:
                    names += self._called(-1 - symbol, seen)
        return names

    def states(self) -> int:
        """Count the parser's states; they are numbered from 0."""
        return len(self._grammar.tables.actions)

    def state(self, number: int) -> StateOutline:
        """Describe one of the parser's states, and what may follow there."""
        tables = self._grammar.tables
        moves = list[Move]()
        for terminal in np.flatnonzero(tables.actions[number]).tolist():
            action = int(tables.actions[number, terminal])
            moves.append(Move(tables.terminals[terminal].shown, action - 1 if action > 0 else None))
        for nonterminal in np.flatnonzero(tables.gotos[number] != NO_STATE).tolist():
            name = tables.nonterminals[nonterminal]
            if name_of(name):
                moves.append(Move(name, int(tables.gotos[number, nonterminal])))
        rules = dict.fromkeys(
            name_of(tables.nonterminals[tables.rules[rule].nonterminal]) for rule, _ in self._open_rules.items[number]
        )
        may_end = any(read == len(tables.rules[rule].symbols) for rule, read in self._open_rules.items[number])
        return StateOutline(number, tuple(filter(None, rules)), may_end, tuple(moves))

    def _line(self, name: str) -> int | None:
        position = definition_of(self.text, name)
        return None if position is None else line_and_column(self.text, position)[0]

    # ---- readings --------------------------------------------------------------------------------------------------

    def walk(self, text: str) -> Walk:
        """Read a text as far as the grammar allows, with any blanks that lark reads."""
        text = arguments.text("text", text)
        rules, reading = self._unlimited_rules, self._reading()
        paths = list[tuple[tuple[str, ...], str]]()
        for character in text:
            if not reading.read(character):
                break
            paths.append(rules.at(self._plain(reading.position)))
        follows, (open_rules, _) = self._expected(rules, reading.position), rules.at(self._plain(reading.position))
        failure = Failure.at(text, len(paths), follows, open_rules, may_end=reading.accepts())
        return Walk(text, Stretch.of(text, paths), failure, follows)

    def _reading(self) -> TextReading[Any]:
        """Return a reading at the start of a text with any blanks."""
        return TextReading(self._reader_of_any_blanks())

    def _reader_of_any_blanks(self) -> ByteReader[Any]:
        return self._unlimited

    def failure(self, text: str) -> Failure | None:
        """Find the failure of a text; ``None`` if the grammar accepts it."""
        return None if self.accepts(arguments.text("text", text)) else self.walk(text).failure

    def _expected(self, rules: OpenRules, position: Any) -> tuple[str, ...]:
        """Name the terminals that may follow, or their rules if there are many."""
        terminals = rules.expected(self._plain(position))
        return rules.rules_expected(self._plain(position)) if len(terminals) > _MOST_EXPECTED else terminals


class LarkIndented(LarkLanguage):
    """The texts of a grammar in Lark's language with indentation; lark checks them with its own indenter."""

    def _begin(self, lexer: Lexer) -> None:
        super()._begin(lexer)
        indentation = self._grammar.indentation
        assert indentation is not None, "the grammar has an indentation"
        self._terminals = LayoutTerminals.of(self._grammar.tables, indentation, self.text)
        self._layout = LayoutReader(self._reader, self._terminals, indentation.tab_width)
        if not self._reader.distances.is_empty:
            check_layout(self._reader, self._terminals, self.text)

    def _options(self) -> dict[str, Any]:
        return {**super()._options(), "indenter": self.indentation}

    @property
    def reader(self) -> LayoutReader:  # type: ignore[override]
        """The reader of the texts that guides write, byte by byte."""
        return self._layout

    def shortest(self) -> bytes:
        """Find a shortest text."""
        return LayoutCompletion(self._layout, None).text(self._layout.start)

    def _make_positions(self) -> Callable[[Vocabulary], PositionMasks[Any]]:
        return partial(LayoutPositions, self._layout)

    def _plain(self, position: Any) -> LalrPosition:
        return without_layout(position)

    def _make_unlimited(self) -> LalrReader:
        return _reader(self._grammar, make_lexer(self._grammar.tables, None, layout=self._terminals))

    def _spelled(self, coded: bytes) -> bytes:
        return with_columns(coded)

    def _reader_of_any_blanks(self) -> LayoutReader:
        return LayoutReader(self._unlimited, self._terminals, self._layout.tab_width)


class LarkOfTokens(LarkLanguage):
    """The texts of a grammar in Lark's language with token symbols.

    lark has no token symbols, so it does not check these texts. They are read by the texts of the symbols.
    """

    def _begin(self, lexer: Lexer) -> None:
        super()._begin(lexer)
        self._symbols = SymbolTokens(with_tokens(self.text).symbols)
        self._written = KeptByVocabulary[Mapping[int, bytes]]()

    _guides = SymbolGuide

    def _make_positions(self) -> Callable[[Vocabulary], PositionMasks[Any]]:
        make = super()._make_positions()
        return lambda vocabulary: SymbolPositions(vocabulary, self._symbols, self.text, make, self.origin)

    @property
    def tokens(self) -> tuple[str, ...]:
        """The token symbols, as they are spelled."""
        return tuple(symbol.spelling for symbol in self._symbols.codes)

    def written(self, vocabulary: Vocabulary) -> Mapping[int, bytes]:
        """Return the text written for each special token that the grammar allows."""
        return self._written.of(vocabulary, lambda each: self._symbols.written(each, self.text))

    def accepts(self, text: str | bytes) -> bool:
        """Return whether some tokens of the grammar write a whole text; bytes are UTF-8."""
        data = arguments.utf8("text", text)
        return data is not None and self._reads(data)

    def shortest(self) -> bytes:
        """Find a shortest text, with the symbols as they are spelled."""
        return self._symbols.spelled(super().shortest())

    def refusal(self, data: bytes) -> dict[str, str] | None:
        """Return ``None``: lark cannot check a text with token symbols."""
        arguments.data("data", data)
        return None

    def _spelled(self, coded: bytes) -> bytes:
        return self._symbols.spelled(super()._spelled(coded))

    def _reading(self) -> TextReading[Any]:
        return SpelledReading(self._reader_of_any_blanks(), self._symbols)


class LarkIndentedOfTokens(LarkOfTokens, LarkIndented):
    """The texts of a grammar in Lark's language with indentation and token symbols."""


def _reader(grammar: LarkGrammar, lexer: Lexer, known: KnownDistances | None = None) -> LalrReader:
    tables = grammar.tables
    stacks = StateStacks(tables)
    return LalrReader(tables, lexer, stacks, TextDistances(tables, lexer, stacks, known=known))


def _positions(reader: LalrReader, vocabulary: Vocabulary) -> LalrPositions:
    single_bytes = vocabulary.trie.single_bytes
    return LalrPositions(reader if single_bytes.all() else reader.with_bytes(single_bytes), vocabulary)


def checked_options(
    text: str,
    start: str,
    max_blanks: int,
    directory: str | os.PathLike[str] | None,
    files: Mapping[str, str] | None,
    origin: str | None,
) -> tuple[str, str, int, str | os.PathLike[str] | None, Mapping[str, str] | None]:
    """Check the arguments of users."""
    text, start = arguments.text("text", text), arguments.text("start", start)
    max_blanks = arguments.whole_number("max_blanks", max_blanks, 0)
    if directory is not None:
        directory = arguments.path("directory", directory)
    if files is not None:
        files = dict(arguments.mapping("files", files))
        arguments.texts("files", [*files, *files.values()])
    if origin is not None:
        arguments.text("origin", origin)
    return text, start, max_blanks, directory, files


def lark_language(
    text: str,
    start: str = "start",
    *,
    max_blanks: int = 1,
    directory: str | os.PathLike[str] | None = None,
    files: Mapping[str, str] | None = None,
    origin: str | None = None,
    indenter: Any = None,
) -> LarkLanguage:
    """Read a grammar in Lark's language; ``indenter`` is one of lark's, or ``None`` for the usual one."""
    text, start, max_blanks, directory, files = checked_options(text, start, max_blanks, directory, files, origin)
    indentation = Indentation.declared_in(text) if indenter is None else Indentation.of(indenter)
    with located_errors(text, origin):
        kind: type[LarkLanguage]
        if with_tokens(text).symbols:
            kind = LarkOfTokens if indentation is None else LarkIndentedOfTokens
        else:
            kind = LarkLanguage if indentation is None else LarkIndented
        compiled = compile_lark(
            text, start, max_blanks=max_blanks, directory=directory, files=files, indentation=indentation
        )
        return kind(compiled, max_blanks, origin)


@contextmanager
def located_errors(text: str, origin: str | None) -> Iterator[None]:
    """Add the file, and the position of a rule that is too large, to the errors of a grammar."""
    try:
        yield
    except GrammarError as error:
        raise error.of_file(origin) from None
    except GrammarTooLarge as error:
        error.position = definition_of(text, error.rule)
        error.tell_where(text, origin)
        raise
