"""A grammar as a constraint: the texts of its start rule, in GBNF or in Lark's language.

``Grammar`` is made at once. ``GrammarSource`` is a text with its options that is read later, and tells its format.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from pathlib import PurePath
from types import MappingProxyType
from typing import Any, cast

from sfgen import arguments
from sfgen.automata.graph import STATES_DRAWN, Graph, GraphEdge, GraphState, title_of
from sfgen.automata.label import visible
from sfgen.errors import UsageError
from sfgen.grammar.lalr.indentation import Indentation
from sfgen.grammar.language.gbnf_language import gbnf_language
from sfgen.grammar.language.language import FORMATS, Failure, Format, Language, RuleOutline, StateOutline, Walk
from sfgen.grammar.language.lark_of_schemas import lark_with_schemas
from sfgen.grammar.network import rules
from sfgen.grammar.network.regular import regular_superset
from sfgen.index.readers import PositionReader
from sfgen.parameter_text import ParameterText
from sfgen.protocols import Guide, Superset
from sfgen.vocabulary import Vocabulary

DEFAULT_MAX_BLANKS = 1
"""The default of the most ignored characters in a row that are written."""

_SHOWN = 60  # characters of a grammar in a repr
_DEFAULT_START = {"gbnf": "root", "lark": "start"}

_MOST_BLANKS = 1000
_GBNF = re.compile(r"^[ \t]*[A-Za-z0-9_-]+[ \t]*::=", re.MULTILINE)


class Grammar:
    """A context-free grammar as a constraint, made by :meth:`from_gbnf` or :meth:`from_lark`.

    It is a ``sfgen.protocols.GuidingConstraint``, may be ambiguous, and can be shared between threads. Equal texts with
    equal start rules are equal. One in GBNF is made of expressions, ``sfgen.grammar.network.rules.GrammarRules``.

    Args:
        source: The meaning of the grammar's text: a ``Language``.

    >>> grammar = Grammar.from_gbnf('root ::= "(" root ")" | [0-9]+')
    >>> grammar.accepts("((42))"), grammar.accepts("((42)")
    (True, False)
    >>> grammar.shortest()
    b'0'
    """

    def __init__(self, source: Language) -> None:
        hint = "Grammar.from_gbnf(text) makes a grammar."
        arguments.given("source", source, "what a grammar means", "guide", "failure", "rules", hint=hint)
        self._language = source

    @classmethod
    def from_gbnf(cls, text: str, start: str = "root", *, origin: str | None = None) -> Grammar:
        r"""Read a grammar in GBNF, the format of llama.cpp.

        Args:
            text: The grammar.
            start: The rule of whole texts.
            origin: The name of its file, for error messages; nothing is read from there.

        Raises:
            GrammarError: It cannot be read, a rule that is called is missing, rules begin with each other in too many
                ways, or there is no text at all.
            GrammarTooLarge: It passes a limit.

        >>> Grammar.from_gbnf('root ::= item+\nitem ::= "- " [^\\n]+ "\\n"').accepts("- eggs\n- milk\n")
        True
        """
        return cls(gbnf_language(text, start, None if origin is None else arguments.text("origin", origin)))

    @classmethod
    def from_lark(
        cls,
        text: str,
        start: str = "start",
        *,
        max_blanks: int = 1,
        directory: str | PathLike[str] | None = None,
        files: Mapping[str, str] | None = None,
        origin: str | None = None,
        indenter: Any | None = None,
    ) -> Grammar:
        r"""Read a grammar in Lark's language: its LALR(1) parser and contextual lexer.

        Lark decides what it means, silent shifts included. Of the ignored text (``%ignore``) only white space is
        written, and little of it in a row; ``accepts`` accepts all that lark reads.

        A rule may have a JSON Schema, ``%json {"type": "object"}``: JSON as ``sfgen.JsonSchema`` writes it.

        With ``%declare _INDENT _DEDENT`` and a newline terminal named ``_NEWLINE`` or ``_NL`` it has the indentation of
        lark's ``PythonIndenter``; another one is given as ``indenter``.

        Args:
            text: The grammar.
            start: The rule of whole texts.
            max_blanks: The most ignored characters in a row that are written.
            directory: The folder of the files that it imports (``%import .other (NAME)``).
            files: The texts of these files by their paths, in place of a directory.
            origin: The name of its file, for error messages; nothing is read from there.
            indenter: An ``Indenter`` of lark, or an object with its attributes.

        Raises:
            GrammarError: lark refuses it, it has terminals that are declared only, or there is no text at all.
            GrammarTooLarge: It passes a limit.
            UsageError: An argument has another type.

        >>> calls = Grammar.from_lark('start: NAME "(" [start ("," start)*] ")" | NAME\nNAME: /[a-z]+/\n%ignore " "')
        >>> calls.accepts("f(g(x),   y)"), calls.accepts("f(g(x)")
        (True, False)
        >>> Grammar.from_lark('start: "<call>" %json {"enum": [1, 2]} "</call>"').accepts("<call>2</call>")
        True
        """
        options: dict[str, Any] = {"directory": directory, "files": files, "origin": origin, "indenter": indenter}
        return cls(lark_with_schemas(text, start, max_blanks=max_blanks, **options))

    def __repr__(self) -> str:
        """One line, with the beginning of the grammar.

        >>> Grammar.from_gbnf('root ::= "yes" | "no"')
        Grammar.from_gbnf('root ::= "yes" | "no"')
        """
        shown = repr(self.text if len(self.text) <= _SHOWN else self.text[: _SHOWN - 1] + "…")
        start = "" if self.start == _DEFAULT_START[self.format] else f", start={self.start!r}"
        return f"Grammar.from_{self.format}({shown}{start})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Grammar) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[object, ...]:
        files = tuple(sorted(self.files.items()))
        return self.format, self.text, self.start, self.max_blanks, files, self._language.indentation

    @property
    def text(self) -> str:
        """The grammar as it is written."""
        return self._language.text

    @property
    def format(self) -> Format:
        """The format of its text: ``"gbnf"`` or ``"lark"``."""
        return self._language.format

    @property
    def start(self) -> str:
        """The rule that a whole text is a text of."""
        return self._language.start

    @property
    def max_blanks(self) -> int | None:
        """The most ignored characters in a row that are written.

        It is ``None`` where the format ignores none.
        """
        return self._language.max_blanks

    @property
    def origin(self) -> str | None:
        """The name of its file, for messages; ``None`` where there is none."""
        return self._language.origin

    @property
    def files(self) -> Mapping[str, str]:
        """The texts that it imports, by the names under which it does."""
        return self._language.files

    @property
    def tokens(self) -> tuple[str, ...]:
        """The tokens that it asks for, as they are spelled.

        Such a grammar is about tokens. Methods about texts write a special token by its name, and accept a text if some
        tokens that the grammar allows could write it.

        >>> Grammar.from_gbnf('root ::= <think> !</think>* </think> [0-9]+').tokens
        ('<think>', '!</think>', '</think>')
        """
        return self._language.tokens

    def written(self, vocabulary: Vocabulary) -> Mapping[int, bytes]:
        """Return the texts that stand for special tokens: their names.

        Only those are in it that the grammar allows by some symbol.

        Args:
            vocabulary: The tokens.

        Returns:
            The texts by token.

        Raises:
            GrammarError: The vocabulary does not have a token that the grammar asks for.
        """
        return self._language.written(vocabulary)

    @property
    def reader(self) -> PositionReader[Any]:
        """The reader of the grammar's texts, byte by byte."""
        return self._language.reader

    @property
    def expressions(self) -> rules.GrammarRules | None:
        """The rules as expressions over bytes; ``None`` for Lark.

        Lark's lexer and parser are no such rules.
        """
        return self._language.expressions

    def superset(self) -> Superset | None:
        """Return an automaton of all texts, and perhaps of others.

        It is ``None`` where none is small enough, and for Lark.
        """
        return self._superset

    @cached_property
    def _superset(self) -> Superset | None:
        return None if self.expressions is None else regular_superset(self.expressions)

    def accepts(self, text: str | bytes) -> bool:
        """Tell whether a whole text is one of the grammar.

        Bytes are its UTF-8.
        """
        return self._language.accepts(text)

    def shortest(self) -> bytes:
        """Find a shortest text."""
        return self._language.shortest()

    def to_dict(self) -> dict[str, Any]:
        """Return the grammar as plain data for JSON.

        >>> Grammar.from_gbnf('answer ::= "yes"', start="answer").to_dict()
        {'grammar': 'answer ::= "yes"', 'format': 'gbnf', 'start': 'answer'}
        """
        blanks = {} if self.max_blanks is None else {"max_blanks": self.max_blanks}
        files = {"files": dict(self.files)} if self.files else {}
        own = self._language.indentation
        is_usual = own is None or own == Indentation.declared_in(self.text)
        indenter = {} if own is None or is_usual else {"indenter": own.to_dict()}
        return {"grammar": self.text, "format": self.format, "start": self.start, **blanks, **files, **indenter}

    def refusal(self, data: bytes) -> dict[str, str] | None:
        """Ask another judge about a finished text: lark, for Lark grammars.

        For GBNF there is none.

        Returns:
            ``None`` if it does not refuse; else the grammar and the judge, for a report.
        """
        return self._language.refusal(data)

    def guide(self, vocabulary: Vocabulary, max_tokens: int | None = None) -> Guide:
        """Return a new guide for one sequence of tokens.

        See ``sfgen.protocols.GuideSource.guide``.

        Args:
            vocabulary: The tokens, a ``sfgen.Vocabulary``.
            max_tokens: The tokens that the sequence may take, end tokens not counted; ``None``: any number.

        Raises:
            LimitTooSmall: No text can be written with ``max_tokens`` tokens.
            DeadEnd: No tokens write any text.
        """
        return self._language.guide(vocabulary, max_tokens)

    def rules(self) -> tuple[RuleOutline, ...]:
        r"""List all rules in the order of the text, then the terminals.

        Only the terminals that the start needs are listed.

        >>> grammar = Grammar.from_gbnf('root ::= [0-9] more\nmore ::= "."')
        >>> [(rule.name, rule.kind, rule.line) for rule in grammar.rules()]
        [('root', 'rule', 1), ('more', 'rule', 2), ('[0-9]', 'terminal', 1), ('"."', 'terminal', 2)]
        """
        return self._language.rules()

    def states(self) -> int:
        """Count the states of the automata; they are numbered from 0."""
        return self._language.states()

    def state(self, number: int) -> StateOutline:
        """Describe one of the states, and what may follow there.

        Raises:
            UsageError: There is no such state.
        """
        if arguments.whole_number("number", number, 0) >= self.states():
            hint = f"States are numbered from 0 to {self.states() - 1}."
            raise UsageError(f"there is no state {number}: the grammar has {self.states():,}", hint=hint)
        return self._language.state(number)

    def walk(self, text: str) -> Walk:
        r"""Read a text as far as it goes, with its open rules.

        >>> walk = Grammar.from_gbnf('root ::= "a" b\nb ::= "b"').walk("ab")
        >>> [(stretch.read, stretch.open_rules) for stretch in walk.stretches]
        [('a', ('root',)), ('b', ('root', 'b'))]
        """
        return self._language.walk(arguments.text("text", text))

    def failure(self, text: str) -> Failure | None:
        """Find where a text fails; ``None`` where the grammar has it.

        >>> found = Grammar.from_gbnf('root ::= "yes" | "no"').failure("nay")
        >>> found.line, found.column, found.expected
        (1, 2, ('"no"',))
        """
        return self._language.failure(arguments.text("text", text))

    def examples(self, count: int) -> list[str]:
        """List up to ``count`` different texts, a shortest one first.

        They reach every rule where the count suffices.

        >>> Grammar.from_gbnf('root ::= "yes" | "no" | root ", " root').examples(3)
        ['no', 'yes', 'no, no']
        """
        return self._language.examples(arguments.whole_number("count", count, 1))


@dataclass(frozen=True, slots=True)
class GrammarSource:
    """A grammar that is not read yet."""

    text: str
    # ``None``: by the ending of its file's name, or by the text
    format: Format | None = None
    start: str | None = None  # ``None``: ``root`` in GBNF, ``start`` in Lark
    max_blanks: int | None = None  # the most ignored characters in a row, in Lark; ``None``: 1
    origin: str | None = None  # the name of its file, for messages
    directory: str | PathLike[str] | None = None  # the folder of imported files; ``None``: no imports
    # the imported texts by name, if known already
    files: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), hash=False)
    # options of lark's indenter by name, for others than the usual ones; ``None``: those of its terminals' names
    indenter: Mapping[str, Any] | None = field(default=None, hash=False)

    def __post_init__(self) -> None:
        arguments.text("grammar", self.text)
        if self.format is not None:
            arguments.one_of("grammar_format", self.format, FORMATS)
        if self.start is not None:
            arguments.text("grammar_start", self.start)
        if self.indenter is not None and self.told_format != "lark":
            raise UsageError(
                ParameterText("indenter says how a Lark grammar is indented, and GBNF has no indenter", "indenter"),
                hint="Leave it out.",
            )
        if self.max_blanks is None:
            return
        if self.told_format != "lark":
            raise UsageError(
                ParameterText(
                    "max_blanks says how much is written of what a Lark grammar ignores, and GBNF ignores nothing",
                    "max_blanks",
                ),
                hint="Leave it out: in GBNF white space stands in the rules.",
            )
        if arguments.whole_number("max_blanks", self.max_blanks, 0) > _MOST_BLANKS:
            raise UsageError(
                ParameterText(f"max_blanks is at most {_MOST_BLANKS}, not {self.max_blanks}", "max_blanks")
            )

    @property
    def told_format(self) -> Format:
        """The format: named, by the file's ending, or by the text.

        >>> GrammarSource('root ::= "a"').told_format, GrammarSource('start: "a"').told_format
        ('gbnf', 'lark')
        """
        ending = PurePath(self.origin or "").suffix.removeprefix(".").lower()
        if self.format is not None or ending in FORMATS:
            return self.format or cast("Format", ending)
        return "gbnf" if _GBNF.search(self.text) else "lark"

    def grammar(self) -> Grammar:
        """Read the grammar."""
        if self.told_format == "gbnf":
            return Grammar.from_gbnf(self.text, self.start or "root", origin=self.origin)
        return Grammar.from_lark(
            self.text,
            self.start or "start",
            max_blanks=DEFAULT_MAX_BLANKS if self.max_blanks is None else self.max_blanks,
            directory=self.directory,
            files=self.files or None,
            origin=self.origin,
            indenter=None if self.indenter is None else Indentation.named(self.indenter),
        )


def rule_graph(grammar: Grammar, title: str, *, max_rules: int = STATES_DRAWN) -> Graph:
    r"""Build the graph of the rules that the start reaches, in breadth-first order, without terminals.

    >>> rule_graph(Grammar.from_gbnf('root ::= "(" root ")" | x\nx ::= "x"'), "pairs").labels
    ('root', 'x')
    """
    rules = {rule.name: rule for rule in grammar.rules() if rule.kind == "rule"}
    numbers = {grammar.start: 0}
    for name in (queue := [grammar.start]):
        for called in rules[name].calls:
            if called in rules and called not in numbers:
                numbers[called] = len(queue)
                queue.append(called)
    calls = [(numbers[name], numbers[called]) for name in queue for called in rules[name].calls if called in numbers]
    shown = [call for call in calls if max(call) < max_rules]
    return Graph(
        title=title_of(title),
        states=tuple(GraphState(number, False) for number in range(min(len(queue), max_rules))),
        edges=tuple(GraphEdge(source, target, "") for source, target in shown),
        continuing=tuple(dict.fromkeys(source for source, target in calls if source < max_rules <= target)),
        states_left_out=max(0, len(queue) - max_rules),
        labels=tuple(visible(name) for name in queue[:max_rules]),
    )
