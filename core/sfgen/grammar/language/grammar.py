"""A grammar as a constraint: the texts of its start rule, in GBNF or in Lark's language.

``Grammar`` is read at once. ``GrammarSource`` is a text with its options that is read later; it detects the format.
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
"""The default of ``max_blanks``."""

_SHOWN = 60  # characters of a grammar in a repr
_DEFAULT_START = {"gbnf": "root", "lark": "start"}

_MOST_BLANKS = 1000
_GBNF = re.compile(r"^[ \t]*[A-Za-z0-9_-]+[ \t]*::=", re.MULTILINE)


class Grammar:
    """A context-free grammar as a constraint, made by :meth:`from_gbnf` or :meth:`from_lark`.

    It is a ``sfgen.protocols.GuidingConstraint``, and can be shared between threads. It may be ambiguous. Grammars with
    equal texts, start rules and options are equal. A grammar in GBNF consists of expressions,
    ``sfgen.grammar.network.rules.GrammarRules``.

    Args:
        source: The texts of the grammar: a ``Language``.

    >>> grammar = Grammar.from_gbnf('root ::= "(" root ")" | [0-9]+')
    >>> grammar.accepts("((42))"), grammar.accepts("((42)")
    (True, False)
    >>> grammar.shortest()
    b'0'
    """

    def __init__(self, source: Language) -> None:
        hint = "Make a grammar with Grammar.from_gbnf(text)."
        arguments.given("source", source, "a Language", "guide", "failure", "rules", hint=hint)
        self._language = source

    @classmethod
    def from_gbnf(cls, text: str, start: str = "root", *, origin: str | None = None) -> Grammar:
        r"""Read a grammar in GBNF, the format of llama.cpp.

        Args:
            text: The grammar.
            start: The rule that a whole text matches.
            origin: The name of its file, for error messages; the file is not read.

        Raises:
            GrammarError: It is not valid GBNF, a rule that is called is missing, rules begin with each other in too
                many ways, or it has no text.
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

        The package lark defines its meaning; conflicts that lark silently resolves are shifts here, too. Of the ignored
        text (``%ignore``) only white space is written, at most ``max_blanks`` characters in a row; ``accepts`` accepts
        every text that lark reads.

        A rule may contain a JSON Schema, ``%json {"type": "object"}``: JSON as ``sfgen.JsonSchema`` writes it.

        With ``%declare _INDENT _DEDENT`` and a newline terminal named ``_NEWLINE`` or ``_NL`` it has the indentation of
        lark's ``PythonIndenter``; another indenter is given as ``indenter``.

        Args:
            text: The grammar.
            start: The rule that a whole text matches.
            max_blanks: The maximum number of ignored characters that are written in a row.
            directory: The folder of the files that it imports (``%import .other (NAME)``).
            files: The texts of these files by their paths, in place of a directory.
            origin: The name of its file, for error messages; the file is not read.
            indenter: An ``Indenter`` of lark, or an object with its attributes.

        Raises:
            GrammarError: lark refuses it, it declares terminals without defining them, or it has no text.
            GrammarTooLarge: It passes a limit.
            UsageError: An argument has a wrong type or value.

        >>> calls = Grammar.from_lark('start: NAME "(" [start ("," start)*] ")" | NAME\nNAME: /[a-z]+/\n%ignore " "')
        >>> calls.accepts("f(g(x),   y)"), calls.accepts("f(g(x)")
        (True, False)
        >>> Grammar.from_lark('start: "<call>" %json {"enum": [1, 2]} "</call>"').accepts("<call>2</call>")
        True
        """
        options: dict[str, Any] = {"directory": directory, "files": files, "origin": origin, "indenter": indenter}
        return cls(lark_with_schemas(text, start, max_blanks=max_blanks, **options))

    def __repr__(self) -> str:
        """Return one line, with the beginning of the grammar.

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
        """The rule that a whole text matches."""
        return self._language.start

    @property
    def max_blanks(self) -> int | None:
        """The maximum number of ignored characters that are written in a row.

        ``None`` for GBNF, which ignores none.
        """
        return self._language.max_blanks

    @property
    def origin(self) -> str | None:
        """The name of its file, for messages; ``None`` if there is none."""
        return self._language.origin

    @property
    def files(self) -> Mapping[str, str]:
        """The texts that it imports, by name."""
        return self._language.files

    @property
    def tokens(self) -> tuple[str, ...]:
        """The token symbols in it, as they are spelled.

        A grammar with token symbols describes sequences of tokens. Its methods about texts write a special token by its
        name, and accept a text that some allowed sequence of tokens could write.

        >>> Grammar.from_gbnf('root ::= <think> !</think>* </think> [0-9]+').tokens
        ('<think>', '!</think>', '</think>')
        """
        return self._language.tokens

    def written(self, vocabulary: Vocabulary) -> Mapping[int, bytes]:
        """Return the text written for each special token: its name.

        It contains only the special tokens that some symbol of the grammar allows.

        Args:
            vocabulary: The tokens.

        Returns:
            The texts by token.

        Raises:
            GrammarError: The vocabulary lacks a token that the grammar names.
        """
        return self._language.written(vocabulary)

    @property
    def reader(self) -> PositionReader[Any]:
        """The reader of the grammar's texts, byte by byte."""
        return self._language.reader

    @property
    def expressions(self) -> rules.GrammarRules | None:
        """The rules as expressions over bytes; ``None`` for Lark.

        Lark's lexer and parser cannot be written as such rules.
        """
        return self._language.expressions

    def superset(self) -> Superset | None:
        """Return an automaton of all texts, and perhaps of others.

        ``None`` for Lark, and if no such automaton is small enough.
        """
        return self._superset

    @cached_property
    def _superset(self) -> Superset | None:
        return None if self.expressions is None else regular_superset(self.expressions)

    def accepts(self, text: str | bytes) -> bool:
        """Return whether a whole text is one of the grammar.

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
        """Check a finished text with another implementation: lark, for Lark grammars.

        For GBNF there is none.

        Returns:
            ``None`` if it does not refuse the text; else the grammar, the implementation and its reason, for a report.
        """
        return self._language.refusal(data)

    def guide(self, vocabulary: Vocabulary, max_tokens: int | None = None) -> Guide:
        """Return a new guide for one sequence of tokens.

        See ``sfgen.protocols.GuideSource.guide``.

        Args:
            vocabulary: The tokens, a ``sfgen.Vocabulary``.
            max_tokens: The most tokens of the sequence, end tokens not counted; ``None``: any number.

        Raises:
            LimitTooSmall: No text can be written with ``max_tokens`` tokens.
            DeadEnd: The tokens of the vocabulary cannot write any text.
        """
        return self._language.guide(vocabulary, max_tokens)

    def rules(self) -> tuple[RuleOutline, ...]:
        r"""List all rules in the order of the text, then the terminals.

        Only the terminals that the start rule needs are listed.

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
        r"""Read a text as far as the grammar allows.

        The result has the open rules of each part.

        >>> walk = Grammar.from_gbnf('root ::= "a" b\nb ::= "b"').walk("ab")
        >>> [(stretch.read, stretch.open_rules) for stretch in walk.stretches]
        [('a', ('root',)), ('b', ('root', 'b'))]
        """
        return self._language.walk(arguments.text("text", text))

    def failure(self, text: str) -> Failure | None:
        """Find the failure of a text; ``None`` if the grammar accepts it.

        >>> failure = Grammar.from_gbnf('root ::= "yes" | "no"').failure("nay")
        >>> failure.line, failure.column, failure.expected
        (1, 2, ('"no"',))
        """
        return self._language.failure(arguments.text("text", text))

    def examples(self, count: int) -> list[str]:
        """List up to ``count`` different texts, a shortest one first.

        They reach every rule if ``count`` suffices.

        >>> Grammar.from_gbnf('root ::= "yes" | "no" | root ", " root').examples(3)
        ['no', 'yes', 'no, no']
        """
        return self._language.examples(arguments.whole_number("count", count, 1))


@dataclass(frozen=True, slots=True)
class GrammarSource:
    """A grammar that is not read yet."""

    text: str
    # ``None``: detected from the ending of its file's name, or from the text
    format: Format | None = None
    start: str | None = None  # ``None``: ``root`` in GBNF, ``start`` in Lark
    max_blanks: int | None = None  # the most ignored characters written in a row, in Lark; ``None``: 1
    origin: str | None = None  # the name of its file, for messages
    directory: str | PathLike[str] | None = None  # the folder of imported files; ``None``: no imports
    # the imported texts by name, if known already
    files: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), hash=False)
    # the options of an unusual indenter by lark's names; ``None``: the usual ones, if the grammar declares any
    indenter: Mapping[str, Any] | None = field(default=None, hash=False)

    def __post_init__(self) -> None:
        arguments.text("grammar", self.text)
        if self.format is not None:
            arguments.one_of("grammar_format", self.format, FORMATS)
        if self.start is not None:
            arguments.text("grammar_start", self.start)
        if self.indenter is not None and self.detected_format != "lark":
            raise UsageError(
                ParameterText("indenter is an option of Lark grammars, and GBNF has no indentation", "indenter"),
                hint="Leave it out.",
            )
        if self.max_blanks is None:
            return
        if self.detected_format != "lark":
            raise UsageError(
                ParameterText("max_blanks is an option of Lark grammars, and GBNF ignores no text", "max_blanks"),
                hint="Leave it out: in GBNF the rules contain the white space.",
            )
        if arguments.whole_number("max_blanks", self.max_blanks, 0) > _MOST_BLANKS:
            raise UsageError(
                ParameterText(f"max_blanks is at most {_MOST_BLANKS}, not {self.max_blanks}", "max_blanks")
            )

    @property
    def detected_format(self) -> Format:
        """The format that is given, or else detected from the file's ending or the text.

        >>> GrammarSource('root ::= "a"').detected_format, GrammarSource('start: "a"').detected_format
        ('gbnf', 'lark')
        """
        ending = PurePath(self.origin or "").suffix.removeprefix(".").lower()
        if self.format is not None or ending in FORMATS:
            return self.format or cast("Format", ending)
        return "gbnf" if _GBNF.search(self.text) else "lark"

    def grammar(self) -> Grammar:
        """Read the grammar."""
        if self.detected_format == "gbnf":
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
