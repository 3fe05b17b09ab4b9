"""What a hole of a template is filled with: an automaton, a schema, a grammar or a document that is quoted."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sfgen.automata import Dfa
from sfgen.automata.determinize import Deterministic
from sfgen.automata.minimize import minimize
from sfgen.errors import ErrorInText, InputError, PatternError, SchemaError, TemplateError, UsageError
from sfgen.grammar.rules import GrammarTooLarge
from sfgen.language.grammar import GrammarSource
from sfgen.parameter_text import ParameterText
from sfgen.schema.json_schema import JsonSchema
from sfgen.schema.reading.read import is_file_name
from sfgen.substring.substring import Substring
from sfgen.template.parts import Constraint
from sfgen.template.syntax import Hole, items_of, quoted_from
from sfgen.whole_file import read_file

_GRAMMAR_FILES = (".gbnf", ".lark")


class Holes:
    """Reads what holes are filled with.

    Args:
        text: The template, for errors.
        origin: The name of its file.
        directory: Where the files are that it names; ``None``: in the current one.
        known: What holes are filled with, by their names, where that is known already.
    """

    def __init__(
        self,
        text: str,
        origin: str | None = None,
        directory: str | None = None,
        known: Mapping[str, Constraint] | None = None,
    ) -> None:
        self._text, self._origin, self._directory = text, origin, directory
        self._known = known or {}

    def constraint_of(self, hole: Hole) -> Constraint:
        """Build the constraint that fills a hole.

        Raises:
            TemplateError: It cannot be read as a pattern, schema or grammar, nothing can fill it, it passes a limit, or
                its file cannot be read.
        """
        if hole.name in self._known:
            return self._known[hole.name]
        try:
            if hole.kind == "regex":
                return Dfa.from_regex(hole.argument)
            if hole.kind == "choices":
                return self._choices(hole)
            if hole.kind == "text":
                return any_text(hole.until, hole.most)
            if hole.kind == "substring":
                return self._substring(hole)
            return self._schema(hole) if hole.kind == "schema" else self._grammar(hole)
        except PatternError as error:
            raise self._error(hole, f"pattern: {error.reason}", error.position, error.hint) from None
        except SchemaError as error:
            raise self._of_schema(hole, error) from None
        except InputError as error:
            raise self._error(hole, error.message, None, error.hint) from None

    def _choices(self, hole: Hole) -> Dfa:
        items = items_of(hole.argument)
        if not items:
            raise self._error(hole, "there is nothing to choose from", None, "For example: {{mood: choices good, bad}}")
        try:
            return Dfa.from_choices(items)
        except UsageError as error:
            raise self._error(hole, error.message, None, error.hint) from None

    def _schema(self, hole: Hole) -> JsonSchema:
        argument = hole.argument
        is_text = argument.startswith("{") or argument in ("true", "false")
        is_file = not is_text and (is_file_name(argument) or os.path.isfile(self._path(argument)))
        schema = JsonSchema(Path(self._path(argument)) if is_file else argument)
        _ = schema.network  # tells what is wrong with it
        return schema

    def _grammar(self, hole: Hole) -> Constraint:
        argument = hole.argument
        path = self._path(argument)
        try:
            if "\n" not in argument and (argument.endswith(_GRAMMAR_FILES) or os.path.isfile(path)):
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
        name, words = quoted_from(hole.argument)
        options: dict[str, Any] = {}
        for word, value, position in words:
            if word in options:
                raise self._error(hole, f"{word} stands there twice", position, "Leave one of them out.")
            options[word] = value if word == "unit" else int(value)
        try:
            return Substring(self._content(self._path(name), "document"), **options)
        except InputError as error:
            hint = "Behind its name may stand: unit character, word or line; least 2; most 9."
            raise self._error(hole, error.message, None, hint) from None
        except UsageError as error:
            raise self._error(hole, f"{name}: {error.message}", None, error.hint) from None

    def _of_schema(self, hole: Hole, error: SchemaError) -> TemplateError:
        """What is wrong with a schema: at its place in the template, or in both where it is another text's place."""
        hint = error.hint
        if isinstance(hint, ParameterText) and "schema_dir" in hint.parameters:  # no hole has one
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
        """What is wrong with a hole; ``position`` is one in its argument, ``details`` show where in a file."""
        at = hole.argument_position + (position or 0) if hole.argument else hole.position
        error = TemplateError(reason, self._text, at, hint=hint, origin=self._origin)
        error.details += details
        return error


def any_text(until: str | None, most: int | None) -> Dfa:
    r"""Build the automaton of any text.

    Args:
        until: What must follow it, and begins nowhere before; ``None``: anything may.
        most: The most characters; ``None``: any number.

    Raises:
        PatternTooLarge: It passes a limit.

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
