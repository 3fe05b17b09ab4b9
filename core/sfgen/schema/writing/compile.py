"""Compile a schema to the rules of a grammar: each different value is a rule, called by name.

:mod:`~sfgen.schema.meaning.branches` resolves references and combinators to unions,
:mod:`~sfgen.schema.meaning.groups` divides these into typed groups, :mod:`.rules` finds the rules, and :mod:`.skeleton`
removes rules without a text and merges equal ones. Then each rule is written as an expression, and described in words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial

from sfgen.errors import SchemaError
from sfgen.grammar.network.analysis import Analysis
from sfgen.grammar.network.rules import Alternation, Call, Expression, GrammarRules, Leaf
from sfgen.parameter_text import ParameterText
from sfgen.schema.meaning.conjunction import conjunction_of
from sfgen.schema.meaning.groups import Group
from sfgen.schema.meaning.limits import ArrayLimits, ObjectLimits, shown_number
from sfgen.schema.reading.document import SchemaDocument, value_at
from sfgen.schema.reading.words import TYPE_WORDS, alternatives, first_few, meant, shown
from sfgen.schema.scalars.formats import FORMATS, FORMATS_ELSEWHERE
from sfgen.schema.scalars.numbers import NumberLimits, has_all_multiples
from sfgen.schema.scalars.strings import StringLimits, is_clean
from sfgen.schema.scalars.written_text import write
from sfgen.schema.writing.layout import ExtraRules, Layout, WritingOptions, at_most, texts_of
from sfgen.schema.writing.literals import every_spelling, in_all_orders, values_expression
from sfgen.schema.writing.one_form import OneForm
from sfgen.schema.writing.rules import RuleFinder
from sfgen.schema.writing.skeleton import (
    Names,
    RulePart,
    Skeleton,
    Skeletons,
    Union,
    Values,
    merge_equal,
    no_text_error,
    remove_empty,
    with_texts,
)
from sfgen.schema.writing.structures import (
    MOST_IN_ANY_ORDER,
    WrittenProperty,
    array_expression,
    atoms,
    chosen_items,
    object_expression,
    object_in_any_order,
    object_with_wanted,
)

_MOST_NAMED = 5  # of inferred types in a note
_MOST_NAMES = 6  # of properties in a description


@dataclass(frozen=True)
class Compiled:
    """A compiled schema.

    Attributes:
        grammar: The rules.
        analysis: The lengths of the rules; the start has a text.
        notes: Remarks for the user, a line each.
        descriptions: The value of each rule in words.
        parts: The parts of each rule: a tree, or a graph with cycles if the schema is recursive.
        pointers: The pointer of the schema of each rule.
        may_be_empty: Whether the document may be an object without members, as no property is required.
        has_inferred: Whether types were inferred.
        watches_banned: Whether some strings may still have banned words, so that a matcher must check the text.
    """

    grammar: GrammarRules
    analysis: Analysis
    notes: tuple[str, ...]
    descriptions: Mapping[str, str]
    parts: Mapping[str, tuple[RulePart, ...]]
    pointers: Mapping[str, str]
    may_be_empty: bool
    has_inferred: bool
    watches_banned: bool


def compile_schema(document: SchemaDocument, options: WritingOptions) -> Compiled:
    """Compile a schema to rules.

    >>> from sfgen.schema.reading.read import read_schema
    >>> compiled = compile_schema(read_schema({"type": "object", "properties": {"on": {"const": 1}}}), WritingOptions())
    >>> compiled.grammar.start, compiled.descriptions["on"], compiled.may_be_empty
    ('document', '1', True)
    """
    return compile_at(document, options, "")[0]


def compile_at(document: SchemaDocument, options: WritingOptions, pointer: str) -> tuple[Compiled, Skeletons]:
    """Compile the schema at a pointer in a document; return also the skeletons of the rules."""
    try:
        return _compiled(document, options, pointer)
    except SchemaError as error:
        if error.pointer is None or error.details:
            raise
        raise document.error(error.reason, error.pointer, hint=error.hint, kind=type(error)) from None


def _compiled(document: SchemaDocument, options: WritingOptions, pointer: str) -> tuple[Compiled, Skeletons]:
    """Compile; without inferred types if the schema has no text with them."""
    compiler = _Compiler(document, options)
    try:
        return compiler.compiled(pointer)
    except SchemaError:
        if not compiler.inferred or options.banned is not None:
            raise
        return _Compiler(document, replace(options, infer_types=False)).compiled(pointer)


class _Compiler:
    """Compiles one document."""

    def __init__(self, document: SchemaDocument, options: WritingOptions) -> None:
        self._document = document
        self._options = options
        self._layout = Layout(options)
        self._number = partial(every_spelling, draft=document.draft) if options.numbers == "any" else None
        self._watches_banned = False
        self._notes: list[str] = []
        self.inferred: Mapping[str, str] = {}
        """The inferred types, by the pointers of the schemas that they are inferred from."""

    def compiled(self, pointer: str) -> tuple[Compiled, Skeletons]:
        """Return the rules of the schema at a pointer, and their skeletons."""
        finder = RuleFinder(self._document, self._options, self._layout)
        self.inferred = finder.inferred
        schema = value_at(self._document.root, pointer)
        start = finder.all(
            conjunction_of(schema, pointer, self._document.scope), "arguments" if pointer else "document"
        )
        skeletons = finder.skeletons
        notes = list(self._document.notes)
        notes += map(_unknown_format, finder.groups.unknown_formats)
        notes += self._inferred_notes()
        for where, words in finder.left_out.items():
            place = self._document.shown_place(where)
            notes.append(f"Some valid values are never written: the negation of {words} at {place} is not supported.")
        full = with_texts(skeletons)
        if len(full) < len(skeletons):
            if start not in full:
                raise _not_formed(finder.left_out) if finder.left_out else no_text_error(skeletons, start, full)
            notes += remove_empty(skeletons, full)
        start = merge_equal(skeletons, start)
        _keep_needed(skeletons, start)
        rules, analysis = self._rules(skeletons)
        while empty := {name for name in skeletons if name not in analysis.lengths}:  # too few different items or names
            first = [name for name in empty if not any(part.rule in empty for part in skeletons[name].parts)]
            for name in first or empty:
                reason = "no value has as many items or properties as are required"
                skeletons[name].why_empty = reason, skeletons[name].pointer
            full = with_texts(skeletons)
            if start not in full:
                raise no_text_error(skeletons, start, full)
            notes += remove_empty(skeletons, full)  # this may make counts of other rules impossible, hence the loop
            _keep_needed(skeletons, start)
            rules, analysis = self._rules(skeletons)
        may_be_empty = _may_be_empty(skeletons, start)
        if may_be_empty:
            note = "No property is required, so {} is valid: require_all requires all properties."
            notes.append(ParameterText(note, "require_all"))
        compiled = Compiled(
            GrammarRules(rules, start),
            analysis,
            (*notes, *dict.fromkeys(self._notes)),
            described(skeletons),
            {name: tuple(skeleton.parts) for name, skeleton in skeletons.items()},
            {name: skeleton.pointer for name, skeleton in skeletons.items()},
            may_be_empty,
            bool(self.inferred),
            self._watches_banned or not finder.are_names_clean,
        )
        return compiled, skeletons

    def _rules(self, skeletons: Skeletons) -> tuple[dict[str, Expression], Analysis]:
        """Write the rules as expressions, and analyse them."""
        rules: dict[str, Expression] = {}
        for name, skeleton in skeletons.items():
            limits = getattr(skeleton.content, "limits", None)
            extra_rules = ExtraRules(name, "members" if isinstance(limits, ObjectLimits) else "items")
            rules[name] = self._expression(skeleton, skeletons, extra_rules)
            rules.update(extra_rules.rules)
        return rules, Analysis(rules)

    def _inferred_notes(self) -> Iterator[str]:
        """Yield the note on types that were inferred."""
        if self.inferred:
            found = [f"{TYPE_WORDS[kind]} at {self._document.shown_place(at)}" for at, kind in self.inferred.items()]
            yield ParameterText(
                f'Types inferred from keywords, as there is no "type": {first_few(found, _MOST_NAMED)}. '
                "infer_types=False allows all types.",
                "infer_types",
            )

    def _different_items(
        self, limits: ArrayLimits, skeleton: Skeleton, skeletons: Skeletons, extra_rules: ExtraRules
    ) -> Expression:
        """Return the expression of an array with ``uniqueItems``."""
        rules = {part.label: part.rule for part in skeleton.parts}
        form = OneForm(skeletons, dict.fromkeys(rules.values()), self._options)
        automata = {rule: form.automaton(rule) for rule in dict.fromkeys(rules.values())}
        expression = chosen_items(
            limits, rules, self._layout, skeleton.depth, extra_rules, atoms(automata, skeleton.pointer)
        )
        if form.is_narrowed and "" not in Analysis({**extra_rules.rules, "": expression}).lengths:
            raise SchemaError(
                "uniqueItems is not supported for items like these: no text could be written",
                skeleton.pointer,
                hint="Leave it out, and look for repeated items afterwards.",
            )
        if form.is_narrowed:
            where = skeleton.pointer or "the top"
            self._notes.append(
                f"Some valid values are never written: unique items at {where} have little recursion, at most one "
                "undeclared property, and few unique items of their own."
            )
        return expression

    def _with_wanted(
        self, limits: ObjectLimits, skeleton: Skeleton, skeletons: Skeletons, extra_rules: ExtraRules
    ) -> Expression:
        """Return the expression of an object with wanted members."""
        in_any_order = self._options.order == "any"
        names = {part.label for part in skeleton.parts if not part.name}
        if in_any_order and len(names) > MOST_IN_ANY_ORDER:
            in_any_order = False
            self._notes.append(
                "Some valid values are never written: as not requires a property without a fixed name, properties keep "
                f"their order at {skeleton.pointer or 'the top'}."
            )
        expressions = {part.name: skeletons[part.name].expression for part in skeleton.parts if part.name}
        sizes = {name: texts_of([leaf]) for name, leaf in expressions.items() if isinstance(leaf, Leaf)}
        depth = skeleton.depth
        return object_with_wanted(skeleton.parts, sizes, limits, self._layout, depth, extra_rules, in_any_order)

    def _expression(self, skeleton: Skeleton, skeletons: Skeletons, extra_rules: ExtraRules) -> Expression:
        layout, depth, parts = self._layout, skeleton.depth, skeleton.parts
        match skeleton.content:
            case Union():
                return Alternation(tuple(Call(part.rule) for part in parts))
            case Values(values):
                written = in_all_orders(values) if self._options.order == "any" else values
                return values_expression(written, layout, depth, skeleton.pointer, self._number)
            case Names():
                assert skeleton.expression is not None
                return skeleton.expression
            case Group(limits=ArrayLimits(are_unique=True) as limits):
                return self._different_items(limits, skeleton, skeletons, extra_rules)
            case Group(limits=ArrayLimits(contains=[_, *_]) as limits):
                return chosen_items(limits, {part.label: part.rule for part in parts}, layout, depth, extra_rules)
            case Group(limits=ArrayLimits(prefix=prefix) as limits):
                by_label = {part.label: part.rule for part in parts}
                first = [by_label.get(f"[{index}]") for index in range(len(prefix))]
                return array_expression(limits, first, by_label.get("[]"), layout, depth, extra_rules)
            case Group(limits=ObjectLimits(wanted=[_, *_]) as limits):
                return self._with_wanted(limits, skeleton, skeletons, extra_rules)
            case Group(limits=ObjectLimits() as limits):
                named = [
                    WrittenProperty(write(part.label), part.rule, part.is_needed) for part in parts if not part.name
                ]
                others = [(part.name, part.rule) for part in parts if part.name]
                names = [skeletons[name].expression for name, _ in others]
                most = texts_of([leaf for leaf in names if isinstance(leaf, Leaf)])
                counts = (limits.minimum, at_most(limits.maximum, len(named), most))
                if self._options.order == "any" and len(named) + len(others) > 1:
                    return object_in_any_order(named, others, counts, layout, depth)
                return object_expression(named, others, counts, layout, depth, extra_rules, most)
            case Group(limits=limits):
                assert skeleton.expression is not None
                if isinstance(skeleton.content.limits, StringLimits):
                    self._watches_banned |= not is_clean(skeleton.content.limits)
                elif isinstance(limits, NumberLimits) and not has_all_multiples(limits):
                    self._notes.append(
                        "Some valid values are never written: only the multiples nearest to zero are, at "
                        f"{skeleton.pointer or 'the top'}. All are, if the minimum and the maximum are closer."
                        if limits.multiples
                        else "Some valid values are never written: only the numbers nearest to zero that are not "
                        f"multiples are, at {skeleton.pointer or 'the top'}. All are, if the minimum and the maximum "
                        "are closer."
                    )
                return skeleton.expression


def _unknown_format(name: str) -> str:
    near = meant(name, FORMATS, FORMATS_ELSEWHERE)
    return f'The format "{name[:40]}" is unknown, and ignored.' + (f' Did you mean "{near}"?' if near else "")


def _not_formed(left_out: Mapping[str, str]) -> SchemaError:
    """Make the error of a schema without a text because of keywords that could not be negated."""
    pointer, words = next(iter(left_out.items()))
    return SchemaError(
        f"no text is left, as the negation of {words} is not supported",
        pointer,
        hint="Describe the allowed values instead; replace oneOf by anyOf, or by branches that exclude each other.",
    )


def _keep_needed(skeletons: Skeletons, start: str) -> None:
    """Remove the rules that are unreachable from the start."""
    found, waiting = {start}, [start]
    while waiting:
        for part in skeletons[waiting.pop()].parts:
            for rule in (part.rule, part.name):
                if rule and rule not in found:
                    found.add(rule)
                    waiting.append(rule)
    for name in [name for name in skeletons if name not in found]:
        del skeletons[name]


def _may_be_empty(skeletons: Skeletons, start: str) -> bool:
    """Return whether the document may be an object without a required property."""
    top = skeletons[start]
    tops = [skeletons[part.rule] for part in top.parts] if isinstance(top.content, Union) else [top]
    return any(
        isinstance(skeleton.content, Group)
        and skeleton.content.type == "object"
        and any(not part.name for part in skeleton.parts)
        and not any(part.is_needed for part in skeleton.parts)
        and not (isinstance(skeleton.content.limits, ObjectLimits) and skeleton.content.limits.wanted)
        for skeleton in tops
    )


# ---- descriptions of values: ``an integer from 0 to 150`` ------------------------------------------------------------


def described(skeletons: Skeletons) -> dict[str, str]:
    """Describe the value of each rule in words."""
    return {name: _words(skeleton, skeletons) for name, skeleton in skeletons.items()}


def _words(skeleton: Skeleton, skeletons: Skeletons, depth: int = 0) -> str:
    match skeleton.content:
        case Values(values):
            return f"one of {alternatives(map(shown, values))}" if len(values) > 1 else shown(values[0])
        case Names(declared, found, not_found):
            words = [f"a name like {' and '.join(f'/{pattern}/' for pattern in found)}" if found else "a name"]
            words += [f"other than {alternatives(map(shown, declared))}"] if declared and not found else []
            words += [f"not like {' or '.join(f'/{pattern}/' for pattern in not_found)}"] if not_found else []
            return ", ".join(words) if len(words) > 2 else " ".join(words)
        case Union():
            if depth or len(skeleton.parts) == 0:
                return "one of several"
            branches = [_words(skeletons[part.rule], skeletons, 1) for part in skeleton.parts]
            return "any value" if len(set(branches)) == len(TYPE_WORDS) - 1 else alternatives(branches)
        case Group(limits=NumberLimits() as limits):
            return _number(limits)
        case Group(limits=StringLimits() as limits):
            return _string(limits)
        case Group(limits=ArrayLimits() as limits):
            return "an array" + _range(limits.minimum, limits.maximum, "items")
        case Group("object"):
            names = [part.label for part in skeleton.parts if not part.name and not part.hits]
            return f"an object with {first_few(names, _MOST_NAMES)}" if names else "an object"
        case Group(kind):
            return TYPE_WORDS[kind]


def _number(limits: NumberLimits) -> str:
    low, high = limits.minimum, limits.maximum
    words = [TYPE_WORDS["integer" if limits.is_integer else "number"]]
    if low is not None and high is not None:
        words.append(f"from {shown_number(low)} to {shown_number(high)}")
    else:
        words += [] if low is None else [f"of at least {shown_number(low)}"]
        words += [] if high is None else [f"of at most {shown_number(high)}"]
    words += [] if limits.exclusive_minimum is None else [f"above {shown_number(limits.exclusive_minimum)}"]
    words += [] if limits.exclusive_maximum is None else [f"below {shown_number(limits.exclusive_maximum)}"]
    words += [f"that is a multiple of {shown_number(multiple)}" for multiple in limits.multiples]
    return " ".join(words)


def _string(limits: StringLimits) -> str:
    words = "a string" + _range(limits.minimum, limits.maximum, "characters")
    kinds = [*limits.formats, *(f"pattern {pattern}" for pattern in limits.patterns)]
    kinds += ["quoted from a document"] if limits.quoted else []
    return f"{words} ({', '.join(kinds)})" if kinds else words


def _range(minimum: int, maximum: int | None, of: str) -> str:
    if maximum is None:
        return f" of at least {minimum} {of}" if minimum else ""
    if minimum == maximum:
        return f" of {minimum} {of}"
    return f" of {minimum} to {maximum} {of}" if minimum else f" of at most {maximum} {of}"
