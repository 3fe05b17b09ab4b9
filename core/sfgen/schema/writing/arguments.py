"""Compile the arguments of a tool for call formats that write each argument by itself.

In such a format the object of arguments has no braces, its names have no quotes, and a string is written raw between
two texts. Other values are JSON, or a *dialect* of it: with its own words for true, false and null, and possibly its
own strings and names inside lists and objects.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from sfgen.automata import Dfa
from sfgen.errors import SchemaError
from sfgen.grammar.network.rules import Alternation, Expression, GrammarRules
from sfgen.schema.meaning.groups import Group
from sfgen.schema.meaning.limits import ObjectLimits
from sfgen.schema.reading.document import SchemaDocument
from sfgen.schema.scalars.strings import StringLimits, raw_texts
from sfgen.schema.writing.compile import Compiled, compile_at
from sfgen.schema.writing.layout import ExtraRules, Layout, WritingOptions
from sfgen.schema.writing.skeleton import Skeleton, Skeletons, Union, Values
from sfgen.schema.writing.structures import WrittenProperty, object_expression

_SINGLE: dict[str, tuple[Any, ...]] = {"boolean": (True, False), "null": (None,)}
"""The types that have few values, with these values."""


@dataclass(frozen=True)
class Argument:
    """An argument of a tool.

    Attributes:
        name: Its name.
        is_needed: Whether it is required.
        texts: Its possible strings, raw; ``None``: it is never a string.
        rules: The types of its numbers, lists and objects, by their rules.
        values: Its other possible values: true, false and null, and the values of an enum that are not strings.
    """

    name: str
    is_needed: bool
    texts: Dfa | None
    rules: Mapping[str, str]
    values: tuple[Any, ...]


@dataclass(frozen=True)
class ArgumentList:
    """The arguments of one branch of a tool's schema in order, and the bounds of their number."""

    arguments: tuple[Argument, ...]
    minimum: int
    maximum: int | None


@dataclass(frozen=True)
class CompiledArguments:
    """The compiled arguments of a tool.

    Attributes:
        grammar: The rules of their values.
        lists: The possible lists of arguments; none where the arguments are written as one object.
        is_clean: Whether banned words were excluded from all strings.
    """

    grammar: GrammarRules
    lists: tuple[ArgumentList, ...]
    is_clean: bool


class Dialect(Protocol):
    """The syntax of values inside lists and objects in a call format."""

    has_bare_names: bool
    """Whether names of members have no quotes."""

    def value(self, value: Any) -> Expression:
        """Write a value of ``enum`` or ``const``, a bool or null."""

    def string(self, texts: Dfa) -> Expression | None:
        """Write the strings of an automaton; ``None``: as JSON."""


def compile_arguments(
    document: SchemaDocument,
    options: WritingOptions,
    pointer: str,
    dialect: Dialect | None = None,
    *,
    one_by_one: bool = True,
) -> CompiledArguments:
    """Compile the arguments whose schema is at a pointer in a document."""
    compiled, skeletons = compile_at(document, options, pointer)
    if not one_by_one:
        return CompiledArguments(compiled.grammar, (), not compiled.watches_banned)
    finder = _Arguments(skeletons)
    try:
        lists = tuple(finder.lists(compiled.grammar.start))
    except SchemaError as error:
        raise document.error(error.reason, error.pointer or pointer, hint=error.hint, kind=type(error)) from None
    rules = dict(compiled.grammar.rules)
    if dialect is not None:
        rules |= _in_dialect(compiled, skeletons, dialect, Layout(options))
    grammar = GrammarRules(rules, compiled.grammar.start)
    return CompiledArguments(grammar, lists, finder.is_clean and not compiled.watches_banned)


class _Arguments:
    """Finds the arguments in the skeletons of rules."""

    def __init__(self, skeletons: Skeletons) -> None:
        self._skeletons = skeletons
        self.is_clean = True

    def lists(self, rule: str) -> Iterator[ArgumentList]:
        """Yield the argument lists of a rule of objects, one for each branch."""
        skeleton = self._skeletons[rule]
        if isinstance(skeleton.content, Union):
            for part in skeleton.parts:
                yield from self.lists(part.rule)
            return
        limits = getattr(skeleton.content, "limits", None)
        if not isinstance(limits, ObjectLimits) or limits.wanted:
            raise SchemaError(
                "arguments that are written one by one need names, and this schema does not declare them",
                skeleton.pointer,
                hint="Declare them as properties, or use a form that writes JSON.",
            )
        named = [part for part in skeleton.parts if not part.name]
        arguments = tuple(self._argument(part.label, part.rule, part.is_needed) for part in named)
        if limits.minimum > len(arguments):
            raise SchemaError(
                f"{limits.minimum} arguments are required, and {len(arguments)} are declared",
                skeleton.pointer,
                hint="Declare them as properties, or use a form that writes JSON.",
            )
        yield ArgumentList(arguments, limits.minimum, limits.maximum)

    def _argument(self, name: str, rule: str, is_needed: bool) -> Argument:
        texts, rules, values = None, dict[str, str](), list[Any]()
        for plain in self._plain(rule):
            found, content = None, self._skeletons[plain].content
            if isinstance(content, Group) and isinstance(content.limits, StringLimits):
                found, is_clean = raw_texts(content.limits)
                self.is_clean &= is_clean
            elif isinstance(content, Values):
                strings = [value for value in content.values if isinstance(value, str)]
                values += [value for value in content.values if not isinstance(value, str)]
                found = Dfa.from_choices(strings) if strings else None
            elif isinstance(content, Group) and content.type in _SINGLE:
                values += _SINGLE[content.type]
            else:
                rules[plain] = getattr(content, "type", "")
            texts = found if texts is None else texts if found is None else texts | found
        return Argument(name, is_needed, texts, rules, tuple(values))

    def _plain(self, rule: str) -> Iterator[str]:
        """Yield the rules of a union's branches, unions in them resolved; else the rule itself."""
        skeleton: Skeleton = self._skeletons[rule]
        if not isinstance(skeleton.content, Union):
            yield rule
            return
        for part in skeleton.parts:
            yield from self._plain(part.rule)


def _in_dialect(compiled: Compiled, skeletons: Skeletons, dialect: Dialect, layout: Layout) -> dict[str, Expression]:
    """Write the rules whose texts differ in a dialect."""
    rules: dict[str, Expression] = {}
    for name, skeleton in skeletons.items():
        content = skeleton.content
        if isinstance(content, Values):
            rules[name] = Alternation(tuple(map(dialect.value, content.values)))
        elif not isinstance(content, Group):
            continue
        elif content.type in _SINGLE:
            rules[name] = Alternation(tuple(map(dialect.value, _SINGLE[content.type])))
        elif isinstance(content.limits, StringLimits):
            written = dialect.string(raw_texts(content.limits)[0])
            if written is not None:
                rules[name] = written
        elif isinstance(content.limits, ObjectLimits) and dialect.has_bare_names:
            rules |= _bare_object(name, skeleton, content.limits, layout)
    return rules


def _bare_object(name: str, skeleton: Skeleton, limits: ObjectLimits, layout: Layout) -> dict[str, Expression]:
    """Write an object with unquoted names; undeclared names are left out."""
    extra_rules = ExtraRules(name, "members")
    named = [
        WrittenProperty(part.label.encode(), part.rule, part.is_needed)
        for part in skeleton.parts
        if not part.name and not part.hits
    ]
    counts = (limits.minimum, limits.maximum)
    whole = object_expression(named, [], counts, layout, skeleton.depth, extra_rules, None)
    return {**extra_rules.rules, name: whole}
