"""Find the skeletons of a schema's rules, beginning at the root: one for each different value and depth.

The parts of objects and arrays wait in a queue, so that deep schemas need no recursion.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property, reduce
from itertools import combinations
from operator import or_
from typing import Any, TypeAlias

from sfgen.automata import Dfa
from sfgen.automata.completions import completions
from sfgen.automata.examples import examples
from sfgen.ban import BannedWords, scan
from sfgen.errors import SchemaError, SchemaTooLarge
from sfgen.grammar.network.rules import NOTHING, Leaf
from sfgen.parameter_text import ParameterText
from sfgen.schema.meaning.branches import Branches
from sfgen.schema.meaning.conjunction import ANYTHING, Conjunction, Plain, both, listed
from sfgen.schema.meaning.groups import (
    Group,
    Groups,
    bare_name,
    hidden_pointers,
    inferred_type,
    one_form,
    scalar_expression,
    why_nothing,
)
from sfgen.schema.meaning.limits import ArrayLimits, Contradiction, ObjectLimits, Others, Property, may_be
from sfgen.schema.meaning.negation import Wanted
from sfgen.schema.meaning.satisfaction import Satisfaction
from sfgen.schema.reading.document import SchemaDocument
from sfgen.schema.reading.keywords import DEFINITIONS, says_nothing
from sfgen.schema.reading.strict_json import unescaped
from sfgen.schema.scalars.numbers import NumberLimits
from sfgen.schema.scalars.strings import StringLimits, is_clean
from sfgen.schema.scalars.written_text import no_text, written
from sfgen.schema.writing.layout import Layout, WritingOptions
from sfgen.schema.writing.literals import as_integer
from sfgen.schema.writing.skeleton import Content, Names, RulePart, Skeleton, Skeletons, Union, Values
from sfgen.schema.writing.structures import item_choices, label_of

MAX_RULES = 10_000
"""The most rules of a schema."""

MAX_PARTS = 100_000
"""The most properties and items, over all rules."""

MOST_LISTED = 64
"""The most undeclared names of one sort that are listed as properties of an object with wanted members."""

_LONGEST_TITLE = 40  # characters

_Around: TypeAlias = "tuple[Conjunction, _Around] | None"
"""The conjunctions around a value, the nearest first."""


class RuleFinder:
    """Finds the rules of one document."""

    def __init__(self, document: SchemaDocument, options: WritingOptions, layout: Layout) -> None:
        self._document = document
        self._options = options
        self._layout = layout
        self.groups = Groups(document, options.banned)
        self._branches = Branches(document, self.groups)
        self._satisfaction = Satisfaction(self._branches.union, self.groups)
        self._by_conjunction: dict[tuple[Conjunction, int], str] = {}
        self._by_content: dict[tuple[Content, int], str] = {}
        self._names: dict[str, int] = {}
        self._waiting: deque[tuple[str, Group, str, _Around]] = deque()
        self._parts = 0
        self._other_names = _OtherNames(self._branches, self.groups, options.banned)
        self.are_names_clean = True
        """Whether all undeclared names are free of banned words."""
        self.skeletons: Skeletons = {}
        self.inferred: dict[str, str] = {}
        """The inferred types, by the pointers of the schemas that they are inferred from."""

    @property
    def left_out(self) -> Mapping[str, str]:
        """The keywords that could not be negated, by pointers; some valid values are not written because of them."""
        return self._branches.left_out

    def all(self, root: Conjunction, name: str) -> str:
        """Find the rules of a value and of all values in it; return the name of its rule."""
        start = self._value(root, name, 0, None)
        while self._waiting:
            rule, group, hint, around = self._waiting.popleft()
            self._fill(rule, group, hint, around)
        return start

    def _value(self, conjunction: Conjunction, hint: str, depth: int, around: _Around) -> str:
        """Return the rule of a value."""
        conjunction = self._branches.target(conjunction)
        rule = self._by_conjunction.get((conjunction, depth))
        if rule is None:
            if self._options.indent is not None:
                _check_ends(conjunction, around)
            name = _own_name(conjunction) or hint
            if around is None:
                name = _own_name(conjunction) or _title(conjunction) or hint
            elif not conjunction:
                name = "any value"
            rule = self._new_value(conjunction, name, depth, around)
            self._by_conjunction[conjunction, depth] = rule
        return rule

    def _new_value(self, conjunction: Conjunction, hint: str, depth: int, around: _Around) -> str:
        contents: dict[Group | Values, Plain] = {}
        values: list[object] = []
        why: Contradiction | None = None
        for plain in self._branches.union(conjunction):
            groups, reason = self.groups.of(plain)
            groups = self._of_inferred_type(groups, plain)
            names = listed(plain)
            if names is None:
                contents.update((group, plain) for group in groups if group not in contents)
            else:
                allowed = [value for value in names if not self._has_banned(value)]
                kept = [value for value in allowed if self._satisfaction.beside_values(value, plain)]
                if not kept:
                    reason = reason or _no_value_left(plain, bool(names), len(allowed) < len(names))
                is_integer = any(isinstance(group.limits, NumberLimits) and group.limits.is_integer for group in groups)
                values += map(as_integer, kept) if is_integer else kept
            why = why or reason
        if values:
            contents[Values.of(values)] = ()
        pointer = conjunction[0].pointer if conjunction else ""
        around = (conjunction, around)
        if len(contents) == 1:
            content, plain = contents.popitem()
            return self._content(content, plain, hint, depth, pointer, around)
        rule = self._new(hint, Skeleton(Union(), depth, pointer))
        if not contents:
            self.skeletons[rule].why_empty = (why.reason, why.pointer) if why else ("", pointer)
        for content, plain in contents.items():
            inner = (
                _own_name(plain) or _title(plain) or f"{hint} {content.type if isinstance(content, Group) else 'value'}"
            )
            branch = self._content(content, plain, inner, depth, pointer, around)
            self.skeletons[rule].parts.append(RulePart("", branch, False))
        return rule

    def _of_inferred_type(self, groups: tuple[Group, ...], plain: Plain) -> tuple[Group, ...]:
        """Restrict the groups of a branch to its inferred type, if there is one."""
        if not self._options.infer_types:
            return groups
        inferred = inferred_type(plain, lambda pointer: pointer in self._hidden, self._document.draft)
        if inferred is None:
            return groups
        kind, pointer = inferred
        self.inferred.setdefault(pointer, kind)
        return tuple(group for group in groups if group.type == kind)

    @cached_property
    def _hidden(self) -> frozenset[str]:
        return hidden_pointers(self._document)

    def _has_banned(self, value: Any) -> bool:
        """Return whether a string or a name in a value has a banned word."""
        banned = self._options.banned
        if banned is None:
            return False
        if isinstance(value, str):
            return bool(scan(value.encode(), banned))
        inner = [*value, *value.values()] if isinstance(value, dict) else value if isinstance(value, list) else ()
        return any(map(self._has_banned, inner))

    def _content(
        self, content: Group | Values, plain: Plain, hint: str, depth: int, pointer: str, around: _Around
    ) -> str:
        """Return the rule of a group or of listed values."""
        is_nested = isinstance(content, Values) or content.type in ("array", "object")
        key = (content, depth if is_nested else 0)
        rule = self._by_content.get(key)
        if rule is None:
            skeleton = Skeleton(content, depth, plain[0].pointer if plain else pointer)
            if isinstance(content, Values):
                rule = self._new(hint, skeleton)
            elif is_nested:
                rule = self._new(hint, skeleton)
                self._waiting.append((rule, content, hint, around))
            else:
                rule = self._new(bare_name(content) or hint, skeleton)
                skeleton.expression = scalar_expression(content, skeleton.pointer)
                if skeleton.expression == NOTHING:
                    skeleton.why_empty = why_nothing(content, plain), skeleton.pointer
            self._by_content[key] = rule
        return rule

    def _fill(self, rule: str, group: Group, hint: str, around: _Around) -> None:
        """Find the parts of an object or an array."""
        skeleton = self.skeletons[rule]
        depth = self._layout.depth_below(skeleton.depth)
        if isinstance(group.limits, ObjectLimits):
            skeleton.parts = self._object_parts(group.limits, hint, depth, around)
        elif isinstance(group.limits, ArrayLimits):
            skeleton.parts = self._array_parts(group.limits, hint, depth, around)
        self._parts += len(skeleton.parts)
        if self._parts > MAX_PARTS:
            raise SchemaTooLarge(
                f"it passes the limit of {MAX_PARTS:,} properties and items, all references followed",
                skeleton.pointer,
                hint="Remove some of them.",
            )

    def _object_parts(self, limits: ObjectLimits, hint: str, depth: int, around: _Around) -> list[RulePart]:
        needs_all = self._options.require_all and (limits.maximum is None or len(limits.properties) <= limits.maximum)
        parts = [
            RulePart(one.name, self._property(one, limits.names, depth, around), one.is_required or needs_all)
            for one in limits.properties
        ]
        declared = tuple(one.name for one in limits.properties)
        has_declared = any(one.is_declared for one in limits.properties)
        is_open = limits.says_additional or not has_declared or self._options.extra_properties
        if limits.wanted:
            parts += self._wanted_properties(limits.properties, limits, depth, around)
            few = list(self._few_others(declared, limits))
            for one in few if is_open else [one for one in few if one.is_declared]:
                parts.append(RulePart(one.name, self._property(one, limits.names, depth, around), False))
            parts += self._wanted_properties(few, limits, depth, around)
            declared = (*declared, *(one.name for one in few))
        for others in limits.others:
            for hits, wanted in _choices(enumerate(limits.wanted)):
                if not (is_open or others.found or hits):
                    continue
                content = _names_of(declared, others, limits.names, wanted)
                label = " ".join(f"/{pattern}/" for pattern in content.found) or "*"
                value = reduce(both, (each.value for each in wanted), others.value)
                rule = self._value(value, f"{hint} value", depth, around)
                parts.append(RulePart(label, rule, False, self._name_rule(content), hits))
        return parts

    def _few_others(self, declared: tuple[str, ...], limits: ObjectLimits) -> Iterator[Property]:
        """Yield the undeclared properties of sorts with few names; those of patterns count as declared."""
        # A text could use up all names of such a sort before it has a wanted member, so each name is a property.
        known = set(declared)
        for others in limits.others:
            for _, wanted in _choices(enumerate(limits.wanted)):
                names, _ = self._other_names.of(_names_of(declared, others, limits.names, wanted))
                count = completions(names.dfa).get(0)
                if count is None or count > MOST_LISTED:
                    continue
                for name in map(json.loads, examples(names.dfa, count)):
                    if name not in known:
                        known.add(name)
                        yield Property(name, others.value, bool(others.found), False)

    def _wanted_properties(
        self, properties: Iterable[Property], limits: ObjectLimits, depth: int, around: _Around
    ) -> Iterator[RulePart]:
        """Yield a part for each way in which a named property can be a wanted member."""
        for one in properties:
            for hits, wanted in _choices(
                (number, each)
                for number, each in enumerate(limits.wanted)
                if may_be(each, one.name) and self._satisfaction.of(one.name, each.names)
            ):
                if hits:
                    value = reduce(both, (each.value for each in wanted), one.value)
                    rule = self._property(one._replace(value=value), limits.names, depth, around)
                    yield RulePart(one.name, rule, False, hits=hits)

    def _property(self, one: Property, names: Conjunction, depth: int, around: _Around) -> str:
        """Return the rule of a property's value; a rule without a text if its name is refused or banned."""
        if not self._satisfaction.of(one.name, names):
            why = f"the name {one.name!r} does not satisfy propertyNames", names[0].pointer
            return self._new("forbidden name", Skeleton(Union(), depth, why[1], why_empty=why))
        banned = self._options.banned
        if banned is not None and scan(one.name.encode(), banned):
            pointer = one.value[0].pointer if one.value else ""
            why = f"the name {one.name!r} has a banned word", pointer
            return self._new("banned name", Skeleton(Union(), depth, pointer, why_empty=why))
        return self._value(one.value, one.name or "empty name", depth, around)

    def _array_parts(self, limits: ArrayLimits, hint: str, depth: int, around: _Around) -> list[RulePart]:
        if limits.contains:
            return self._chosen_parts(limits, hint, depth, around)
        parts = [
            RulePart(f"[{index}]", self._value(found, f"{hint} {index}", depth, around), index < limits.minimum)
            for index, found in enumerate(limits.prefix)
        ]
        if limits.rest is not None:
            is_needed = limits.minimum > len(limits.prefix)
            parts.append(RulePart("[]", self._value(limits.rest, f"{hint} item", depth, around), is_needed))
        return parts

    def _chosen_parts(self, limits: ArrayLimits, hint: str, depth: int, around: _Around) -> list[RulePart]:
        """Return the parts of an array with ``contains``: an item for each set of them that it satisfies."""
        pointer = around[0][0].pointer if around is not None and around[0] else ""
        places = [(f"[{index}]", item, f"{hint} {index}") for index, item in enumerate(limits.prefix)]
        if limits.rest is not None:
            places.append(("[]", limits.rest, f"{hint} item"))
        return [
            RulePart(label_of(place, hits), self._value(value, name, depth, around), False)
            for place, item, name in places
            for hits, value in item_choices(limits.contains, item, pointer)
        ]

    def _name_rule(self, content: Names) -> str:
        """Return the rule of undeclared names."""
        rule = self._by_content.get((content, 0))
        if rule is None:
            skeleton = Skeleton(content, 0, content.names[0].pointer if content.names else "")
            expression, is_clean = self._other_names.of(content)
            self.are_names_clean = self.are_names_clean and is_clean
            skeleton.expression = expression
            if expression.dfa.is_empty:
                skeleton.why_empty = "no name satisfies propertyNames", skeleton.pointer
            word = "other name" if content.declared else "name"
            rule = self._by_content[content, 0] = self._new(word, skeleton)
        return rule

    def _new(self, wanted: str, skeleton: Skeleton) -> str:
        """Store a skeleton under a unique name."""
        name = wanted
        while name in self.skeletons:
            self._names[wanted] = self._names.get(wanted, 1) + 1
            name = f"{wanted} {self._names[wanted]}"
        if len(self.skeletons) >= MAX_RULES:
            raise SchemaTooLarge(
                f"it needs more than {MAX_RULES:,} rules", skeleton.pointer, hint="Remove some properties."
            )
        self.skeletons[name] = skeleton
        return name


def _choices(wanted: Iterable[tuple[int, Wanted]]) -> Iterator[tuple[tuple[int, ...], tuple[Wanted, ...]]]:
    """Yield all subsets of some wanted members: their numbers, and the members."""
    several = list(wanted)
    for count in range(len(several) + 1):
        for some in combinations(several, count):
            yield tuple(number for number, _ in some), tuple(each for _, each in some)


def _names_of(declared: tuple[str, ...], others: Others, names: Conjunction, wanted: tuple[Wanted, ...]) -> Names:
    """Describe the undeclared names that also fit some wanted members."""
    return Names(
        tuple(dict.fromkeys((*declared, *(name for each in wanted for name in each.declared)))),
        tuple(dict.fromkeys((*others.found, *(pattern for each in wanted for pattern in each.found)))),
        tuple(dict.fromkeys((*others.not_found, *(pattern for each in wanted for pattern in each.not_found)))),
        reduce(both, (each.names for each in wanted), names),
    )


def _own_name(conjunction: Conjunction) -> str:
    """Return the name under which a schema is defined."""
    if len(conjunction) != 1:
        return ""
    *_, place, name = ("", "", *conjunction[0].pointer.split("/"))
    return unescaped(name) if place in DEFINITIONS else ""


def _title(conjunction: Conjunction) -> str:
    """Return the title of a conjunction of one schema, if it is short."""
    schema = conjunction[0].schema if len(conjunction) == 1 else None
    title = schema.get("title", "") if isinstance(schema, dict) else ""
    return title if isinstance(title, str) and len(title) <= _LONGEST_TITLE else ""


def _no_value_left(plain: Plain, has_values: bool, has_banned: bool) -> Contradiction:
    """Explain why the enums and constants of a branch leave no value."""
    words = [(word, one.pointer) for one in plain for word in ("enum", "const") if word in one.schema]
    word, pointer = words[0]
    if not has_values:
        others = [other for other, _ in words[1:]]
        why = f"{word} and {others[0]} have no value in common" if others else f"{word} is empty"
        return Contradiction(why, pointer)
    others = [key for one in plain for key in one.schema if key not in ("enum", "const") and not says_nothing([key])]
    beside = ", ".join(dict.fromkeys("not" if key.startswith("-") else key for key in others))
    if has_banned:
        return Contradiction(
            f"no value of {word} {f'satisfies {beside} beside it and is' if beside else 'is'} without a banned word",
            pointer,
        )
    return Contradiction(f"no value of {word} satisfies {beside} beside it", pointer)


def _nearest(around: _Around) -> str:
    """Return the pointer of the nearest schema around a value that is not empty."""
    while around is not None and not around[0]:
        around = around[1]
    return "" if around is None else around[0][0].pointer


def _check_ends(conjunction: Conjunction, around: _Around) -> None:
    """Refuse a recursive value, since with ``indent`` each depth has its own rules."""
    outer = around
    while outer is not None:
        if outer[0] == conjunction:
            if conjunction == ANYTHING:
                raise SchemaError(
                    "indent needs a schema of limited depth: any value is allowed",
                    _nearest(around),
                    hint=ParameterText("Leave indent out, or declare the properties and items.", "indent"),
                )
            raise SchemaError(
                "indent needs a schema of limited depth: this one is recursive",
                conjunction[0].pointer,
                hint=ParameterText("Leave indent out.", "indent"),
            )
        outer = outer[1]


class _OtherNames:
    """Builds the automata of undeclared property names of one document."""

    def __init__(self, branches: Branches, groups: Groups, banned: BannedWords | None) -> None:
        self._branches = branches
        self._groups = groups
        self._banned = banned

    def of(self, content: Names) -> tuple[Leaf, bool]:
        """Build the leaf of some names in their written forms; return also whether none has a banned word."""
        limits = StringLimits(
            patterns=content.found, others=content.declared, no_patterns=content.not_found, banned=self._banned
        )
        leaf = self._leaf(limits)
        if content.names:
            leaf = Leaf(leaf.dfa & self._allowed(content.names))
        return leaf, is_clean(limits)

    def _allowed(self, names: Conjunction) -> Dfa:
        """Build the automaton of the written strings that satisfy a conjunction."""
        return reduce(or_, (self._of_branch(plain) for plain in self._branches.union(names)), no_text())

    def _of_branch(self, plain: Plain) -> Dfa:
        groups, _ = self._groups.of(plain)
        limits = next((group.limits for group in groups if group.type == "string"), None)
        if not isinstance(limits, StringLimits):
            return no_text()
        found = self._leaf(limits).dfa
        values = listed(plain)
        if values is None:
            return found
        texts = [value for value in values if isinstance(value, str)]
        return found & written(Dfa.from_choices(texts)) if texts else no_text()

    def _leaf(self, limits: StringLimits) -> Leaf:
        leaf = one_form(limits)  # a register compares the names, so their length cannot be counted by another one
        return Leaf(no_text()) if leaf is None else leaf
