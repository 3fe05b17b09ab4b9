"""The package lark, which defines the meaning of a grammar in its language. Only this file imports it.

lark provides the parser's tables, the order in which its lexer tries terminals, the keywords among names, and the
verdict on whole texts. The error for a grammar that lark refuses has lark's words. lark's check for terminals that
match the same texts is skipped, because it takes seconds and only warns.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sfgen.errors import GrammarError, InputError
from sfgen.grammar.lalr.indentation import DEDENT_CODE, INDENT_CODE, Indentation
from sfgen.grammar.lalr.lark_errors import (
    PATTERN_HINT,
    check_expansions,
    definition_of,
    explained,
    position_of,
    undefined_hint,
)
from sfgen.grammar.lalr.lark_quotations import quoted_in, readable, with_texts
from sfgen.grammar.lalr.lark_tokens import SCHEMA, WithTokens, with_tokens
from sfgen.grammar.lalr.tables import END, NO_STATE, Context, ParseTables, Rule, Terminal
from sfgen.grammar.shell.token_symbols import is_code, pattern_of
from sfgen.parameter_text import ParameterText
from sfgen.whole_file import read_file

TOKEN_INSIDE = "contains a token of the vocabulary"
"""The end of an error's message, by which ``sfgen.grammar.language.lark_of_schemas`` finds the error."""

EXTENSION = ".lark"
"""The ending of imported files."""


class Refusal(NamedTuple):
    """lark's reason to refuse a text.

    Attributes:
        reason: lark's own words, in one line.
        position: The character at which lark stopped; ``None`` if lark does not report it.
    """

    reason: str
    position: int | None


class LarkGrammar:
    """A grammar as lark reads it.

    Attributes:
        imported: The texts of the imported files, by their paths from the grammar's folder on.
    """

    def __init__(
        self,
        text: str,
        start: str,
        importer: Importer,
        tables: ParseTables,
        build: Callable[[], Any] | None = None,
        indentation: Indentation | None = None,
    ) -> None:
        self.text = text
        self.start = start
        self.indentation = indentation
        self.importer = importer
        self.imported = dict(importer.found)
        self.tables = tables
        self._build = build or self._read_again
        self._parser: Any = None
        self._lock = threading.Lock()

    @classmethod
    def of_tables(
        cls,
        text: str,
        start: str,
        imported: Mapping[str, str],
        tables: ParseTables,
        indentation: Indentation | None = None,
    ) -> LarkGrammar:
        """Return a grammar whose tables and imported files are known."""
        importer = Importer(text, files=imported)
        importer.found.update(imported)
        return cls(text, start, importer, tables, indentation=indentation)

    def _read_again(self) -> Any:
        """Make lark's parser of a grammar that was made of known tables."""
        importer = Importer(self.text, files=self.imported)
        return _parser(with_tokens(self.text).text, self.start, importer, self.indentation)

    def parse(self, text: str) -> bool:
        """Return whether lark reads a whole text."""
        return self.refusal(text) is None

    def refusal(self, text: str) -> Refusal | None:
        """Return lark's reason to refuse a whole text; ``None`` if lark reads it."""
        from lark.exceptions import UnexpectedInput
        from lark.indenter import DedentError

        try:
            self._lark.parse(text)
        except UnexpectedInput as error:
            position = getattr(error, "pos_in_stream", None)
            return Refusal(str(error).split("\n", 1)[0], position if position is not None and position >= 0 else None)
        except DedentError as error:
            return Refusal(str(error), None)
        except (AssertionError, IndexError):  # of the indenter: no bracket is open, a newline terminal has no newline
            if self.indentation is None:
                raise
            return Refusal("the indenter cannot read it", None)
        return None

    def refusal_of_parts(self, parts: Sequence[tuple[str, str]]) -> Refusal | None:
        """Return lark's reason to refuse a text that contains the texts of tokens, which lark does not read.

        Each part is a text and the spelling of the token after it, which is empty in the last part. The lexer reads
        each part by itself; the parser continues from part to part.
        """
        from lark import Token
        from lark.exceptions import UnexpectedInput

        names = {spelling: name for name, spelling in with_tokens(self.text).names.items()}
        reading = self._lark.parse_interactive(parts[0][0])
        try:
            for number, (text, spelling) in enumerate(parts):
                if number:
                    reading.lexer_thread = self._lark.parse_interactive(text).lexer_thread
                reading.exhaust_lexer()
                if spelling:
                    reading.feed_token(Token(names[spelling], ""))
            reading.feed_eof()
        except UnexpectedInput as error:
            return Refusal(str(error).split("\n", 1)[0], None)
        return None

    @property
    def _lark(self) -> Any:
        """lark's parser, made when it is first needed."""
        with self._lock:
            if self._parser is None:
                self._parser = self._build()
            return self._parser


def read_lark(
    text: str,
    start: str = "start",
    *,
    directory: str | os.PathLike[str] | None = None,
    files: Mapping[str, str] | None = None,
    indentation: Indentation | None = None,
) -> LarkGrammar:
    """Read a grammar with lark: its LALR(1) parser and contextual lexer."""
    replaced = with_tokens(text)
    importer = Importer(text, directory, files)
    try:
        check_expansions(replaced.text)
        parser = _parser(replaced.text, start, importer, indentation)
    except GrammarError as error:
        raise replaced.translated(error, text) from None
    tables = _Converter(text, parser, start, replaced, indentation).tables()
    return LarkGrammar(text, start, importer, tables, lambda: parser, indentation)


class Importer:
    """Finds the files that a grammar imports, and keeps their texts.

    Attributes:
        found: The texts of the found files, by their paths from the grammar's folder on.
        missing: The paths without a file.
    """

    def __init__(
        self, text: str, directory: str | os.PathLike[str] | None = None, files: Mapping[str, str] | None = None
    ) -> None:
        self._text = text
        self._directory = None if directory is None else Path(directory)
        self._files = files
        self.found: dict[str, str] = {}
        self.missing: set[str] = set()

    @property
    def base(self) -> str:
        """The folder of the grammar, for lark's paths."""
        return os.curdir if self._directory is None else str(self._directory)

    def __call__(self, base: Any, path: str) -> tuple[str, str]:
        """Return the path and the text of a grammar that lark imports."""
        if not isinstance(base, str):  # a pair for lark's own grammars, ``None`` for an import without a dot
            raise OSError(path)
        for folder in ("", os.path.relpath(base, self.base)):
            name = os.path.normpath(os.path.join(folder, path))
            content = self.read(name)
            if content is not None:
                if any(match["schema"] for match in SCHEMA.finditer(content)):
                    reason = f"the imported file {path} contains %json, which is allowed in the grammar itself only"
                    raise GrammarError(reason, self._text, self._position_of(path))
                self.found[name] = content
                return os.path.join(self.base, name), content
            self.missing.add(name)
        where = "the grammar has no folder" if self._directory is None else f"it is not in {self._directory}"
        raise GrammarError(
            f"the imported file {path} is missing: {where}",
            self._text,
            self._position_of(path),
            hint="Put it into the grammar's folder. Import lark's own grammars without the dot: %import common.WS",
        )

    def _position_of(self, path: str) -> int | None:
        """Return the offset at which a file is imported."""
        dotted = path.removesuffix(EXTENSION).replace(os.sep, ".")
        return position_of(self._text, r"%import\s+(\.+" + re.escape(dotted) + r"\b)")

    def read(self, name: str) -> str | None:
        """Read a file; ``None`` if there is none."""
        if self._files is not None:
            return self._files.get(name)
        if self._directory is None:
            return None
        try:
            return read_file(self._directory / name).decode("utf-8")
        except OSError:
            return None
        except UnicodeDecodeError:
            raise GrammarError(f"the imported file {name} is not UTF-8", self._text) from None
        except InputError:
            raise GrammarError(f"the imported file {name} is too long", self._text) from None


def _parser(text: str, start: str, importer: Importer, indentation: Indentation | None = None) -> Any:
    """Make lark's parser."""
    from lark import Lark
    from lark.lexer import ContextualLexer

    def unchecked(conf: Any, *arguments: Any, **options: Any) -> Any:
        """Make the contextual lexer without the check for terminals that read the same texts."""
        conf = copy(conf)
        conf.skip_validation = True
        return ContextualLexer(conf, *arguments, **options)

    try:
        return Lark(
            text,
            parser="lalr",
            lexer="contextual",
            start=start,
            import_paths=[importer],
            source_path=os.path.join(importer.base, "grammar" + EXTENSION),
            postlex=None if indentation is None else _indenter(indentation),
            _plugins={"ContextualLexer": unchecked},
        )
    except GrammarError:
        raise
    except Exception as error:  # lark's classes, and those of its faults: AssertionError, KeyError, re.error
        raise explained(error, text, start) from None


def _indenter(indentation: Indentation) -> Any:
    """Make lark's indenter."""
    from lark.indenter import Indenter

    return type("OwnIndenter", (Indenter,), indentation.to_dict())()


class _Matcher:
    """Replaces ``re`` in lark's search for keywords: caches matches, reads quotations, and compiles nothing."""

    def __init__(self, quotations: tuple[tuple[str, ...], ...]) -> None:
        self._quotations = quotations
        self._known: dict[tuple[str, str], re.Match[str] | None] = {}

    def match(self, pattern: str, text: str, flags: int = 0) -> re.Match[str] | None:
        key = pattern, text
        if key not in self._known:
            self._known[key] = re.match(with_texts(pattern, text, self._quotations), text, flags)
        return self._known[key]

    def compile(self, pattern: str, flags: int = 0) -> None:
        return None


class _Converter:
    """Converts lark's objects to numbers. lark's own numbers differ from run to run."""

    def __init__(self, text: str, parser: Any, start: str, tokens: WithTokens, indentation: Indentation | None) -> None:
        self.text = text
        declared = () if indentation is None else (indentation.indent, indentation.dedent)
        self.declared = dict(zip(declared, (INDENT_CODE, DEDENT_CODE), strict=False))
        self.start = start
        codes = {symbol.spelling: (symbol, code) for symbol, code in tokens.symbols.items()}
        self.tokens = {name: codes[spelling] for name, spelling in tokens.names.items() if spelling in codes}
        self.quoting = {name: spelling for name, spelling in tokens.names.items() if name not in self.tokens}
        self.quotations = tokens.quotations
        self.table = parser.parser.parser._parse_table
        self.lexer = getattr(parser.parser.lexer, "lexer", parser.parser.lexer)  # an indenter wraps it
        self.conf = parser.lexer_conf
        self.defined: dict[str, Any] = self.conf.terminals_by_name
        self._check_terminals()
        self.names = [*sorted({*self.defined, *self.declared}), END]
        self.terminal = {name: number for number, name in enumerate(self.names)}

    def _check_terminals(self) -> None:
        for name, terminal in self.defined.items():
            pattern = terminal.pattern.to_regexp()
            if any(pattern_of(code) in pattern for _, code in self.tokens.values()) and not is_code(pattern):
                raise GrammarError(
                    f"the terminal {name} {TOKEN_INSIDE}",
                    self.text,
                    definition_of(self.text, name),
                    hint="Tokens are allowed in rules only; make the terminal a rule.",
                )
            try:
                # lark joins all terminals in one pattern, a part of which cannot begin with flags.
                re.compile(f"(?:{pattern})")
            except re.error as error:
                raise GrammarError(
                    f"the terminal {name} cannot be read: {error.msg} in {terminal.pattern}",
                    self.text,
                    definition_of(self.text, name),
                    hint=PATTERN_HINT,
                ) from None
            if terminal.pattern.min_width == 0:
                hint = "Let it match one character at least, and make it optional in the rules: NAME? or [NAME]."
                if quoted_in(pattern):
                    hint = "Make it a rule, with a name in small letters: rules may be empty."
                raise GrammarError(
                    f"the terminal {name} can match the empty text, which lark does not allow: "
                    f"{readable(terminal.pattern.value)!r}",
                    self.text,
                    definition_of(self.text, name),
                    hint=hint,
                )
        ignored = [name for name in self.conf.ignore if name not in self.defined]
        if ignored:
            raise self._undefined(ignored[0])

    def _undefined(self, name: str) -> GrammarError:
        return GrammarError(
            f"the terminal {name} is declared but not defined, and no indenter adds it",
            self.text,
            position_of(self.text, rf"%declare[^\n]*?\b({re.escape(name)})\b"),
            hint=ParameterText(f"{undefined_hint(name)} Name terminals of indentation (indenter).", "indenter"),
        )

    def tables(self) -> ParseTables:
        states: dict[int, dict[str, Any]] = self.table.states
        order = self._states_in_order()
        number = {state: index for index, state in enumerate(order)}
        rules: dict[Any, int] = {}
        nonterminals: dict[str, int] = {}
        for state in order:
            for _, (_, target) in sorted(states[state].items()):
                if hasattr(target, "expansion"):
                    rules.setdefault(target, len(rules))
                    # Some nonterminals are never reduced, since lark prefers a shift.
                    for symbol in (target.origin, *target.expansion):
                        if not symbol.is_term:
                            nonterminals.setdefault(str(symbol.name), len(nonterminals))
        actions = np.zeros((len(order), len(self.names)), dtype=np.int32)
        gotos = np.full((len(order), len(nonterminals)), NO_STATE, dtype=np.int32)
        for index, state in enumerate(order):
            for symbol, (_, target) in states[state].items():
                if symbol in self.terminal:
                    reduces = hasattr(target, "expansion")
                    actions[index, self.terminal[symbol]] = -1 - rules[target] if reduces else number[target] + 1
                elif symbol in nonterminals:
                    gotos[index, nonterminals[symbol]] = number[target]
        contexts, context_of = self._contexts(order)
        return ParseTables(
            terminals=tuple(self._terminal(name) for name in self.names),
            nonterminals=tuple(nonterminals),
            rules=tuple(
                Rule(
                    nonterminals[rule.origin.name],
                    tuple(
                        self.terminal[symbol.name] if symbol.is_term else -1 - nonterminals[symbol.name]
                        for symbol in rule.expansion
                    ),
                )
                for rule in rules
            ),
            actions=actions,
            gotos=gotos,
            start=number[self.table.start_states[self.start]],
            end=number[self.table.end_states[self.start]],
            context_of=context_of,
            contexts=contexts,
            ignored=frozenset(self.terminal[name] for name in self.conf.ignore),
            quotations=self.quotations,
        )

    def _states_in_order(self) -> list[int]:
        """List the states in breadth-first order from the start, by the names of symbols."""
        states = self.table.states
        known = dict.fromkeys([self.table.start_states[self.start]])
        waiting = list(known)
        for state in waiting:
            for symbol, (_, target) in sorted(states[state].items()):
                if symbol.isupper() and symbol != END and symbol not in self.terminal:
                    raise self._undefined(symbol)
                if isinstance(target, int) and target not in known:
                    known[target] = None
                    waiting.append(target)
        return waiting

    def _terminal(self, name: str) -> Terminal:
        if name == END:
            return Terminal(END, "", False, "the end of the text")
        if name in self.declared:
            return Terminal(name, pattern_of(self.declared[name]), False, name)
        pattern = self.defined[name].pattern
        if name in self.tokens:
            symbol, code = self.tokens[name]
            return Terminal(symbol.spelling, pattern_of(code), False, symbol.spelling)
        if name in self.quoting:
            return Terminal(self.quoting[name], pattern.to_regexp(), False, self.quoting[name])
        is_literal = pattern.type == "str"
        shown = (pattern.raw or f'"{pattern.value}"') if is_literal else name
        return Terminal(name, pattern.to_regexp(), is_literal, shown)

    def _contexts(self, order: Iterable[int]) -> tuple[tuple[Context, ...], Any]:
        """Return the different contexts of lark's lexer, and the context after each state."""
        from lark.lexer import _create_unless

        matcher = _Matcher(self.quotations)
        numbers: dict[tuple[tuple[int, ...], tuple[tuple[int, tuple[int, ...]], ...]], int] = {}
        # By lark's lexer, which states share, and the terminals that an indenter may add there.
        number_of: dict[tuple[int, tuple[int, ...]], int] = {}
        context_of = []
        for state in order:
            lexer = self.lexer.lexers[state]
            declared = tuple(self.terminal[name] for name in self.declared if name in self.table.states[state])
            if (id(lexer), declared) not in number_of:
                ordered, keywords = _create_unless(lexer.terminals, lexer.g_regex_flags, matcher, False)
                unless = {name: callback.scanner.terminals for name, callback in keywords.items()}
                tried = *self._numbers(ordered), *declared
                key = tried, tuple((self.terminal[n], self._numbers(k)) for n, k in unless.items())
                number_of[id(lexer), declared] = numbers.setdefault(key, len(numbers))
            context_of.append(number_of[id(lexer), declared])
        contexts = tuple(Context(ordered, dict(unless)) for ordered, unless in numbers)
        return contexts, np.array(context_of, dtype=np.int32)

    def _numbers(self, terminals: Iterable[Any]) -> tuple[int, ...]:
        return tuple(self.terminal[terminal.name] for terminal in terminals)
