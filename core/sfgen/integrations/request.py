"""What a request to a server asks of its text: a pattern, choices, a schema or a grammar, and words that are banned.

A request comes from somebody who may not read the server's files: the text of a schema is JSON or the short form here,
and that of a grammar the grammar itself, and never the name of a file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sfgen import arguments
from sfgen.automata import Dfa
from sfgen.ban import BannedWords
from sfgen.ban.difference import clean_superset, without
from sfgen.errors import SchemaError, UsageError
from sfgen.integrations.guided import check_strings
from sfgen.integrations.no_healing import refuse_healing
from sfgen.language.grammar import Grammar, GrammarSource
from sfgen.schema.json_schema import JsonSchema
from sfgen.schema.reading.short_form import read_short_form

CONSTRAINTS = ("regex", "choices", "schema", "grammar")
BAN = "ban"

_OF_GRAMMARS = ("grammar_start", "grammar_format", "max_blanks")

_KEPT = 64  # constraints, and lists of banned words


@dataclass(frozen=True, slots=True)
class ConstraintRequest:
    """The constraint of a request, as plain values.

    Equal requests are equal.

    Attributes:
        regex: A pattern.
        choices: Texts, one of which it must be.
        schema: A JSON Schema as JSON text, or the short form.
        banned: Words that must not be in it.
        grammar: A grammar, with the start rule of the text.
    """

    regex: str | None = None
    choices: tuple[str, ...] | None = None
    schema: str | None = None
    banned: tuple[str, ...] | None = None
    grammar: GrammarSource | None = None

    @classmethod
    def read(cls, given: Mapping[str, Any] | None) -> ConstraintRequest | None:
        """Read the constraint from the arguments of a request.

        Args:
            given: ``regex``, ``choices``, ``schema`` or ``grammar``, and ``ban``; beside ``grammar`` also
                ``grammar_start``, ``grammar_format`` and ``max_blanks``. Other names belong to others.

        Returns:
            ``None`` where they have no constraint and no ban.

        Raises:
            UsageError: Several constraints, ``heal``, which cannot be done here, a value of another kind, or one about
                a grammar where there is none.

        >>> ConstraintRequest.read({"regex": "[0-9]+", "ban": ["13"], "seed": 1})
        ConstraintRequest(regex='[0-9]+', choices=None, schema=None, banned=('13',), grammar=None)
        """
        wanted = {name: value for name, value in (given or {}).items() if value is not None}
        refuse_healing(wanted.get("heal"))
        constraints = [name for name in CONSTRAINTS if name in wanted]
        if len(constraints) > 1:
            raise UsageError(f"{' and '.join(constraints)} cannot be asked for together", hint="Give one of them.")
        options = {name: wanted[name] for name in _OF_GRAMMARS if name in wanted}
        if options and "grammar" not in wanted:
            name = next(iter(options))
            raise UsageError(f"{name} says how a grammar is read, and there is none", hint="Give one as grammar.")
        request = cls(
            arguments.text("regex", wanted["regex"]) if "regex" in wanted else None,
            arguments.texts("choices", wanted["choices"]) if "choices" in wanted else None,
            _schema_text(wanted["schema"]) if "schema" in wanted else None,
            arguments.texts(BAN, wanted[BAN]) if BAN in wanted else None,
            _grammar_source(wanted["grammar"], **options) if "grammar" in wanted else None,
        )
        return None if request == cls() else request

    @property
    def constraint(self) -> Dfa | JsonSchema | Grammar | None:
        """The constraint without the ban; the last few are cached.

        Raises:
            SfgenError: As ``Dfa.from_regex``, ``Dfa.from_choices``, ``JsonSchema`` and ``GrammarSource.grammar``.
        """
        return _constraint(self.regex, self.choices, self.schema, self.grammar)

    @property
    def banned_words(self) -> BannedWords | None:
        """The banned words; the last few lists are cached.

        Raises:
            BannedWordsError: The list means nothing.
        """
        return None if self.banned is None else _banned_words(self.banned)

    def check(self) -> None:
        """Check what needs neither vocabulary nor prompt.

        Raises:
            SfgenError: The constraint cannot be made, or the banned words leave nothing of it, or they cannot be taken
                out of its strings.
        """
        constraint, banned = self.constraint, self.banned_words
        if isinstance(constraint, JsonSchema):
            _ = constraint.network
        if constraint is None or banned is None:
            return
        if isinstance(constraint, Dfa):
            without(constraint, banned)
            return
        clean = constraint.without_banned(banned) if isinstance(constraint, JsonSchema) else None
        if clean is None:
            check_strings(constraint)
        clean_superset(clean or constraint, banned)


def _schema_text(schema: object) -> str:
    """A schema as text, in one form; its names keep their order, in which they are written."""
    if isinstance(schema, str):
        return schema.strip(" \t\r\n")
    if not isinstance(schema, Mapping | bool):
        raise arguments.refusal("schema", "a dictionary, a bool or a text", schema)
    try:
        return json.dumps(schema, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(f"schema cannot be written as JSON: {error}") from None


def _grammar_source(
    grammar: object, grammar_start: Any = None, grammar_format: Any = None, max_blanks: Any = None
) -> GrammarSource:
    """A grammar that may import no file."""
    return GrammarSource(arguments.text("grammar", grammar), grammar_format, grammar_start, max_blanks)


@lru_cache(maxsize=_KEPT)
def _constraint(
    regex: str | None, choices: tuple[str, ...] | None, schema: str | None, grammar: GrammarSource | None
) -> Dfa | JsonSchema | Grammar | None:
    if regex is not None:
        return Dfa.from_regex(regex)
    if choices is not None:
        return Dfa.from_choices(choices)
    if grammar is not None:
        return grammar.grammar()
    if schema is None:
        return None
    if schema.startswith("{") or schema in ("true", "false"):
        return JsonSchema(schema)
    if schema[:1] in ("", "[", '"') or schema == "null":
        raise SchemaError("a schema is an object, true or false", hint="Or names and types: 'name, age int'.")
    return JsonSchema(read_short_form(schema))


@lru_cache(maxsize=_KEPT)
def _banned_words(words: tuple[str, ...]) -> BannedWords:
    return BannedWords(words)
