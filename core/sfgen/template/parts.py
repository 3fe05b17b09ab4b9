"""Make the parts of a template: its blocks repeated, and the constraints of its holes read.

``Assembly`` makes them of the nodes from ``sfgen.template.syntax``. ``Holes`` reads the constraint of a hole: an
automaton, a schema, a grammar or a quoted document.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from sfgen.automata import Dfa
from sfgen.automata.determinize import Deterministic
from sfgen.automata.minimize import minimize
from sfgen.errors import ErrorInText, InputError, PatternError, SchemaError, TemplateError, UsageError
from sfgen.grammar.language.grammar import Grammar, GrammarSource
from sfgen.grammar.network.rules import GrammarTooLarge
from sfgen.index.sequence_parts import Ending
from sfgen.parameter_text import ParameterText
from sfgen.schema.json_schema import JsonSchema
from sfgen.schema.reading.read import is_file_name, read_inline
from sfgen.substring.substring import Substring
from sfgen.template.syntax import Block, Hole, NameReference, Node, Text, items_of, quoted_from
from sfgen.whole_file import read_file

Constraint: TypeAlias = Dfa | JsonSchema | Grammar | Substring
"""The constraint of a hole."""

MAX_PARTS = 10_000
"""The most parts of a template."""

MAX_STEPS = 100_000
"""The most texts, names and blocks that are visited when its blocks are repeated."""

MAX_BYTES = 1 << 20
"""The most bytes of its texts, those of repeated blocks counted each time."""


@dataclass(frozen=True, slots=True)
class Literal:
    """Literal bytes of the template."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Filled:
    """A hole.

    Attributes:
        hole: The hole as written in the template.
        constraint: Its constraint.
        repetition: The number of the repetition of its block, from 0; ``None`` outside of blocks.
        ends: Its ending; an automaton has only texts with this ending.
    """

    hole: Hole
    constraint: Constraint
    repetition: int | None = None
    ends: Ending = "anywhere"

    @property
    def name(self) -> str:
        """The name of the hole."""
        return self.hole.name

    @property
    def read_to(self) -> Ending:
        """The ending for reading it: a longest text has no continuation of its own, so it is read as ``anywhere``."""
        return "earliest" if self.ends == "earliest" else "anywhere"


@dataclass(frozen=True, slots=True)
class Copied:
    """A copy of the text of a hole.

    Attributes:
        source: The number of the part that is this hole.
        position: The position of the name in the template, in characters.
    """

    source: int
    position: int


MadePart: TypeAlias = Literal | Filled | Copied


@dataclass(frozen=True, slots=True)
class _Scope:
    """The meanings of names at one position of a template.

    Attributes:
        items: The current items of the open blocks.
        holes: The numbers of the parts that are holes.
    """

    items: Mapping[str, str]
    holes: dict[str, int]


class Assembly:
    """Puts parts together."""

    def __init__(self, text: str, origin: str | None, constraint_of: Callable[[Hole], Constraint]) -> None:
        self._text, self._origin, self._constraint_of = text, origin, constraint_of
        self._constraints: dict[Hole, Constraint] = {}
        self._repetitions: dict[str, int] = {}
        self._names: dict[str, int] = {}  # of holes and items, each with its position
        self.parts: list[MadePart] = []
        self._literal = bytearray()  # the literal before the next part
        self._steps = self._bytes = 0

    def of(self, nodes: Iterable[Node]) -> tuple[MadePart, ...]:
        """Assemble the parts of a template's nodes."""
        self._add(nodes, _Scope({}, {}))
        self._end_literal()
        if not any(isinstance(part, Filled) for part in self.parts):
            raise TemplateError(
                "it has no hole: there is nothing to write",
                self._text,
                hint="A hole is {{name: regex [a-z]+}}.",
                origin=self._origin,
            )
        for part, behind in zip(self.parts, [*self.parts[1:], None], strict=True):
            self._check_end(part, behind)
        return tuple(self.parts)

    def _add(self, nodes: Iterable[Node], scope: _Scope) -> None:
        for node in nodes:
            self._steps += 1
            if isinstance(node, Text):
                self._add_literal(node.text)
            elif isinstance(node, Hole):
                self._add_hole(node, scope)
            elif isinstance(node, Block):
                self._add_block(node, scope)
            elif node.name in scope.items:
                self._add_literal(scope.items[node.name])
            elif node.name in scope.holes:
                self._end_literal()
                self.parts.append(Copied(scope.holes[node.name], node.position))
            else:
                raise self._unknown(node)
            for number, most, what in (
                (len(self.parts), MAX_PARTS, "parts"),
                (self._steps, MAX_STEPS, "texts and names"),
                (self._bytes, MAX_BYTES, "bytes"),
            ):
                if number > most:
                    hint = "Use fewer repetitions: blocks inside of blocks multiply."
                    raise self._error(f"with its blocks repeated it passes the limit of {most:,} {what}", 0, hint)

    def _add_literal(self, text: str) -> None:
        try:
            data = text.encode()
        except UnicodeEncodeError:
            raise self._error("a surrogate code point in it is not text", 0) from None
        self._literal += data
        self._bytes += len(data)

    def _end_literal(self) -> None:
        """Make a part of the text before another part."""
        if self._literal:
            self.parts.append(Literal(bytes(self._literal)))
            self._literal.clear()

    def _add_hole(self, hole: Hole, scope: _Scope) -> None:
        self._take_name(hole.name, hole.position)
        if hole not in self._constraints:
            self._constraints[hole] = self._constraint_of(hole)
        self._end_literal()
        repetition = None
        if scope.items:
            repetition = self._repetitions.get(hole.name, 0)
            self._repetitions[hole.name] = repetition + 1
        scope.holes[hole.name] = len(self.parts)
        self.parts.append(Filled(hole, self._constraints[hole], repetition))

    def _add_block(self, block: Block, scope: _Scope) -> None:
        self._take_name(block.name, block.position)
        for item in block.items:
            self._add(block.body, _Scope({**scope.items, block.name: item}, dict(scope.holes)))

    def _take_name(self, name: str, position: int) -> None:
        """Note a name and the position of its definition."""
        if self._names.setdefault(name, position) != position:
            hint = f"Write {{{{{name}}}}} for the same text again, or take another name."
            raise self._error(f"the name {name!r} has a meaning already", position, hint)

    def _unknown(self, reference: NameReference) -> TemplateError:
        name = reference.name
        if name in self._names and self._names[name] < reference.position:
            hint = "A hole in a block has a text in each repetition: use its name inside of the block."
            return self._error(f"{name!r} is known inside of a block only", reference.position, hint)
        hint = f"A hole is written as {{{{{name}: regex [a-z]+}}}}, and then {{{{{name}}}}} writes the same text again."
        return self._error(f"no hole named {name!r} stands before", reference.position, hint)

    def _check_end(self, part: MadePart, behind: MadePart | None) -> None:
        """Check that a hole with ``until`` is followed by that text."""
        if not isinstance(part, Filled) or part.hole.until is None:
            return
        until = part.hole.until
        if not isinstance(behind, Literal) or not behind.data.startswith(until.encode()):
            hint = f"Write it after the hole: until {until!r} ends the hole before that text, and does not write it."
            raise self._error(f"the template does not continue with {until!r} here", part.hole.position, hint)

    def _error(self, reason: str, position: int, hint: str = "") -> TemplateError:
        return TemplateError(reason, self._text, position, hint=hint, origin=self._origin)


_GRAMMAR_FILES = (".gbnf", ".lark")


class Holes:
    """Reads the constraints of holes."""

    def __init__(
        self,
        text: str,
        origin: str | None = None,
        directory: str | None = None,
        known: Mapping[str, Constraint] | None = None,
        reads_files: bool = True,
    ) -> None:
        self._text, self._origin, self._directory = text, origin, directory
        self._reads_files = reads_files
        self._known = known or {}

    def constraint_of(self, hole: Hole) -> Constraint:
        """Build the constraint that fills a hole."""
        if hole.name in self._known:
            return self._without_tokens(hole, self._known[hole.name])
        try:
            if hole.kind == "regex":
                return Dfa.from_regex(hole.argument)
            if hole.kind == "choices":
                return self._choices(hole)
            if hole.kind == "text":
                return any_text(hole.until, hole.most)
            if hole.kind == "substring":
                return self._substring(hole)
            return self._schema(hole) if hole.kind == "schema" else self._without_tokens(hole, self._grammar(hole))
        except PatternError as error:
            raise self._error(hole, f"pattern: {error.reason}", error.position, error.hint) from None
        except SchemaError as error:
            raise self._of_schema(hole, error) from None
        except InputError as error:
            raise self._error(hole, error.message, None, error.hint) from None

    def _without_tokens(self, hole: Hole, constraint: Constraint) -> Constraint:
        """Return a constraint; refuse a grammar with token symbols, since the parts of a template are texts."""
        if isinstance(constraint, Grammar) and constraint.tokens:
            reason = f"a grammar in a template cannot have tokens, and this one has the token {constraint.tokens[0]}"
            hint = "Write the text of the token in quotes, or use the grammar without a template."
            raise self._error(hole, reason, None, hint)
        return constraint

    def _choices(self, hole: Hole) -> Dfa:
        items = items_of(hole.argument)
        if not items:
            raise self._error(hole, "there are no choices", None, "For example: {{mood: choices good, bad}}")
        try:
            return Dfa.from_choices(items)
        except UsageError as error:
            raise self._error(hole, error.message, None, error.hint) from None

    def _schema(self, hole: Hole) -> JsonSchema:
        argument = hole.argument
        is_text = argument.startswith("{") or argument in ("true", "false")
        if self._reads_files:
            is_file = not is_text and (is_file_name(argument) or os.path.isfile(self._path(argument)))
            schema = JsonSchema(Path(self._path(argument)) if is_file else argument)
        else:
            schema = JsonSchema(read_inline(argument))
        _ = schema.network  # raises if something is wrong with it
        return schema

    def _grammar(self, hole: Hole) -> Constraint:
        argument = hole.argument
        path = self._path(argument)
        try:
            is_file = self._reads_files and "\n" not in argument
            if is_file and (argument.endswith(_GRAMMAR_FILES) or os.path.isfile(path)):
                text = self._content(path)
                directory = os.path.dirname(path) or os.curdir
                return GrammarSource(text, origin=path, directory=directory).grammar()
            return GrammarSource(argument).grammar()
        except GrammarTooLarge as error:
            raise self._error(hole, f"grammar: {error}", None, "") from None
        except ErrorInText as error:
            if error.origin is None:
                raise self._error(hole, f"{error.what}: {error.reason}", error.position, error.hint) from None
            where = error.origin if error.line is None else f"{error.origin}, line {error.line}, column {error.column}"
            raise self._error(hole, f"{error.what} {where}: {error.reason}", None, error.hint, error.details) from None

    def _substring(self, hole: Hole) -> Substring:
        if not self._reads_files:
            hint = "Use a hole of another kind, such as choices."
            raise self._error(
                hole, "substring needs the name of a file, and this template may not name files", None, hint
            )
        name, words = quoted_from(hole.argument)
        options: dict[str, Any] = {}
        for word, value, position in words:
            if word in options:
                raise self._error(hole, f"{word} is given twice", position, "Leave one of them out.")
            options[word] = value if word == "unit" else int(value)
        try:
            return Substring(self._content(self._path(name), "document"), **options)
        except InputError as error:
            hint = "After its name there may be: unit character, word or line; least 2; most 9."
            raise self._error(hole, error.message, None, hint) from None
        except UsageError as error:
            raise self._error(hole, f"{name}: {error.message}", None, error.hint) from None

    def _of_schema(self, hole: Hole, error: SchemaError) -> TemplateError:
        """Make the error of a schema: at its position in the template, and in another document if there is one."""
        hint = error.hint
        if isinstance(hint, ParameterText) and "schema_dir" in hint.parameters:  # a hole cannot have one
            hint = 'Copy it into this document, under "$defs".'
        if error.position is None or error.origin:
            return self._error(hole, error.message, None, hint, error.details)
        line, column = error.position
        begin = sum(len(each) + 1 for each in hole.argument.split("\n")[: line - 1])
        return self._error(hole, f"schema: {error.fault}", begin + column - 1, hint)

    def _content(self, path: str, what: str = "grammar") -> str:
        try:
            return read_file(path).decode("utf-8-sig")
        except (OSError, ValueError) as error:
            reason = (error.strerror if isinstance(error, OSError) else None) or "it is not UTF-8"
            raise InputError(f"cannot read the {what} {path}: {reason}") from None

    def _path(self, name: str) -> str:
        return name if self._directory is None else os.path.join(self._directory, name)

    def _error(
        self, hole: Hole, reason: str, position: int | None, hint: str, details: tuple[str, ...] = ()
    ) -> TemplateError:
        """Make the error of a hole; ``position`` is one in its argument, ``details`` show where in a file."""
        at = hole.argument_position + (position or 0) if hole.argument else hole.position
        error = TemplateError(reason, self._text, at, hint=hint, origin=self._origin)
        error.details += details
        return error


def any_text(until: str | None, most: int | None) -> Dfa:
    r"""Build the automaton of any text of at most ``most`` characters, up to the first ``until``, which follows it.

    >>> line = any_text("\n", 3)
    >>> [line.accepts(text) for text in ("", "abc", "abcd", "a\n")]
    [True, True, False, False]
    >>> any_text("aa", None).accepts("ba")  # baaa: the first "aa" would begin one character earlier
    False
    """
    text = Dfa.from_regex("(?s:.*)" if most is None else f"(?s:.{{0,{most}}})")
    if until is None:
        return text
    ending = re.escape(until)
    # The texts that end with the first one; of these, what stands before it (a right quotient).
    whole = Dfa.from_regex(f"(?s:(?:(?!{ending}).)*{ending})")
    data = until.encode()
    behind = [whole.walk(data, state) for state in range(len(whole))]
    accepting = np.array([state >= 0 and bool(whole.accepting[state]) for state in behind])
    before = Dfa(*minimize(Deterministic(whole.transitions, whole.byte_classes, accepting)))
    return before if most is None else before & text


def earliest(dfa: Dfa) -> Dfa:
    """Build the automaton of those texts of one that have no other text of it at their beginning.

    >>> cut = earliest(Dfa.from_regex("ab?|b+c"))
    >>> [cut.accepts(text) for text in ("a", "ab", "bbc")]
    [True, False, True]
    """
    transitions = np.where(dfa.accepting[:, None], np.int32(-1), dfa.transitions)
    return Dfa(*minimize(Deterministic(transitions, dfa.byte_classes, dfa.accepting)))
