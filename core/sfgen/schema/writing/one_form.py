"""The items of ``uniqueItems`` in a canonical form: equal values have equal texts, so items are compared as texts.

The register that compares texts reads them by an automaton, so the rules inside an item are inlined. Recursive rules
are inlined a limited number of times, and undeclared properties once for each sort of names. Numbers have no exponent
and no trailing zeros; white space is fixed; and objects that may be equal have their members in the same order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any, TypeAlias

from sfgen.automata import Dfa
from sfgen.automata.examples import examples
from sfgen.errors import SchemaError, SchemaTooLarge
from sfgen.grammar.network.analysis import calls
from sfgen.grammar.network.regular import regular_automaton
from sfgen.grammar.network.rules import (
    NOTHING,
    Alternation,
    Call,
    Concatenation,
    CountedList,
    Expression,
    GrammarTooLarge,
    Leaf,
    Literal,
    Member,
    Repeat,
)
from sfgen.grammar.network.simplify import with_rules
from sfgen.schema.meaning.groups import Group, one_form
from sfgen.schema.meaning.limits import ArrayLimits, ObjectLimits
from sfgen.schema.reading.strict_json import as_decimal, key
from sfgen.schema.scalars.numbers import MAX_DIGITS, NumberLimits
from sfgen.schema.scalars.strings import StringLimits
from sfgen.schema.scalars.written_text import write
from sfgen.schema.writing.layout import ExtraRules, Layout, WritingOptions, joined
from sfgen.schema.writing.literals import values_expression
from sfgen.schema.writing.skeleton import RulePart, Skeleton, Skeletons, Union, Values
from sfgen.schema.writing.structures import (
    MOST_COPIES,
    Atom,
    ChosenMember,
    array_expression,
    atoms,
    bits,
    chosen_items,
    chosen_members,
    object_of,
    wanted_members,
)

MAX_DEPTH = 40
"""The deepest nesting of arrays and objects in a unique item."""

MOST_REPEATS = 2
"""How often a recursive rule is inlined into itself, if its automaton does not grow too large; else less often."""

MOST_STATES = 100_000
"""The most states of the automata of one item, nested ones included; above this, rules are inlined less often.

It is the limit of a single automaton. OpenAPI 3.0, whose parameters are too large, is refused after three seconds with
this limit, and after 30 without it.
"""

_LISTED = 64
"""The most texts of an atom that is split into single texts, for a ``uniqueItems`` inside a unique item."""

_MOST_SETS = 300
"""The most sets of such texts, each of which is a state."""

_HINT = "Leave it out, and look for repeated items afterwards."

_CacheKey: TypeAlias = tuple[str, int, frozenset[str], bool]
"""A rule; the repeats among the rules around it; those around it that it may call; whether there are any around it."""


class OneForm:
    """Builds the automata of the items of one array in canonical form."""

    def __init__(self, skeletons: Skeletons, items: Iterable[str], options: WritingOptions) -> None:
        self._skeletons = skeletons
        self._layout = Layout(replace(options, spacing="spaced") if options.spacing == "any" else options)
        self._classes = _equality_classes(skeletons, list(items))
        self._inner: dict[str, frozenset[str]] = {}
        self._repeats = MOST_REPEATS
        self._states = 0
        self._made: dict[_CacheKey, Expression] = {}
        self.is_narrowed = False
        """Whether the automata lack some valid arrays or objects."""
        for rule in self._classes:
            self._check_named(rule)

    def automaton(self, rule: str) -> Dfa:
        """Build the automaton of a rule's texts; it may be empty."""
        inner = {rule, *self._rules_in(rule)}
        is_recursive = any(each in self._rules_in(each) for each in inner)
        found = None
        for repeats in range(MOST_REPEATS + 1 if is_recursive else 1):
            self._repeats, self._states = repeats, 0
            self._made.clear()
            try:
                found = self._regular(rule, self._expression(rule, ()))
            except GrammarTooLarge:  # more repeats are larger still
                break
        if found is None:
            raise SchemaTooLarge(
                "uniqueItems is not supported for items as large as these", self._skeletons[rule].pointer, hint=_HINT
            )
        return found

    def _expression(self, rule: str, around: tuple[str, ...]) -> Expression:
        """Return the expression of a rule with all calls inlined."""
        inner = self._rules_in(rule)
        made = rule, len(around) - len(set(around)), frozenset(around) & inner, bool(around)
        if made not in self._made:
            self._made[made] = self._new_expression(rule, around)
        return self._made[made]

    def _new_expression(self, rule: str, around: tuple[str, ...]) -> Expression:
        skeleton = self._skeletons[rule]
        match skeleton.content:
            case Union():
                return Alternation(tuple(self._expression(part.rule, around) for part in skeleton.parts))
            case Values(values):
                return self._values(values, skeleton)
            case Group(limits=NumberLimits() | StringLimits() as limits):
                leaf = one_form(limits)
                if leaf is None:
                    raise SchemaError(
                        "uniqueItems is not supported for strings as long as these", skeleton.pointer, hint=_HINT
                    )
                if around and limits in (NumberLimits(False), NumberLimits(True)):
                    return Leaf(leaf.dfa & _short_numbers())
                return leaf
            case Group(limits=ArrayLimits() | ObjectLimits() as limits):
                if len(around) + 1 - len({*around, rule}) > self._repeats:
                    self.is_narrowed = True
                    return NOTHING
                if len(around) == MAX_DEPTH:
                    raise SchemaTooLarge(
                        f"uniqueItems is not supported for items that are nested more than {MAX_DEPTH} deep",
                        skeleton.pointer,
                        hint=_HINT,
                    )
                extra_rules = ExtraRules(rule, "parts")
                inside = (*around, rule)
                if isinstance(limits, ArrayLimits):
                    expression = self._array(limits, skeleton, extra_rules, inside)
                else:
                    expression = self._object(limits, skeleton, extra_rules)
                # Minimised at each level: else the copies of inner rules would double with each level.
                return Leaf(self._regular(rule, self._inlined(expression, extra_rules.rules, inside)))
        assert skeleton.expression is not None  # null, or a boolean
        return skeleton.expression

    def _regular(self, rule: str, expression: Expression) -> Dfa:
        """Return the automaton of an expression; add its states to the total of the item."""
        found = regular_automaton(rule, expression)
        self._states += len(found)
        if self._states > MOST_STATES:
            raise GrammarTooLarge(rule, f"{MOST_STATES:,} states, those of inner rules included")
        return found

    def _values(self, values: Iterable[Any], skeleton: Skeleton) -> Expression:
        """Return the expression of the values of ``enum`` or ``const``."""
        different = {key(value): value for value in reversed(list(values))}
        return values_expression(
            list(different.values())[::-1],
            self._layout,
            skeleton.depth,
            skeleton.pointer,
            lambda value: Literal(_plain_number(value, skeleton.pointer)),
        )

    def _array(
        self, limits: ArrayLimits, skeleton: Skeleton, extra_rules: ExtraRules, around: tuple[str, ...]
    ) -> Expression:
        rules = {part.label: part.rule for part in skeleton.parts}
        if limits.are_unique:
            automata = {rule: self._regular(rule, self._expression(rule, around)) for rule in rules.values()}
            different = [one for atom in atoms(automata, skeleton.pointer) for one in _one_by_one(atom)]
            maximum = _most_of(len(different)) if all(atom.size == 1 for atom in different) else 1
            if limits.maximum is None or limits.maximum > maximum:
                self.is_narrowed = self.is_narrowed or maximum < len(different)
                limits = replace(limits, maximum=maximum)
            return chosen_items(limits, rules, self._layout, skeleton.depth, extra_rules, different)
        if limits.contains:
            return chosen_items(limits, rules, self._layout, skeleton.depth, extra_rules)
        first = [rules.get(f"[{index}]") for index in range(len(limits.prefix))]
        return array_expression(limits, first, rules.get("[]"), self._layout, skeleton.depth, extra_rules)

    def _object(self, limits: ObjectLimits, skeleton: Skeleton, extra_rules: ExtraRules) -> Expression:
        layout, order = self._layout, self._order(skeleton)
        if limits.wanted:
            return self._object_with_wanted(limits, skeleton, extra_rules)
        named = sorted((part for part in skeleton.parts if not part.name), key=lambda part: order[part.label])
        members = [Member(joined(layout.name(write(part.label)), Call(part.rule)), part.is_needed) for part in named]
        for part in skeleton.parts:
            if part.name:
                self.is_narrowed = True
                members.append(Member(joined(self._other_names(part, order), layout.colon, Call(part.rule)), False))
        if limits.minimum > len(members):
            return NOTHING
        counts = limits.minimum, limits.maximum
        return object_of(members, None, counts, layout, skeleton.depth, extra_rules)

    def _object_with_wanted(self, limits: ObjectLimits, skeleton: Skeleton, extra_rules: ExtraRules) -> Expression:
        layout, order = self._layout, self._order(skeleton)
        named = sorted((part for part in skeleton.parts if not part.name), key=lambda part: order[part.label])
        members = wanted_members(named, layout)
        for part in skeleton.parts:
            if part.name:
                self.is_narrowed = True
                other = joined(self._other_names(part, order), layout.colon, Call(part.rule))
                members.append(ChosenMember(((other, bits(part.hits)),), False))
        return chosen_members(members, [], limits, layout, skeleton.depth, extra_rules)

    def _other_names(self, part: RulePart, declared: Mapping[str, int]) -> Leaf:
        """Return the undeclared names of a part, without names that objects of the equality class declare."""
        names = self._skeletons[part.name].expression
        assert isinstance(names, Leaf)
        return Leaf(names.dfa - Dfa.from_choices([write(name).decode() for name in declared])) if declared else names

    def _order(self, skeleton: Skeleton) -> dict[str, int]:
        """Number the names that the objects of an equality class declare."""
        alike = next(
            alike for alike in self._classes.values() if any(self._skeletons[rule] is skeleton for rule in alike)
        )
        names = dict.fromkeys(
            part.label
            for rule in alike
            if _is_group(self._skeletons[rule], ObjectLimits)
            for part in self._skeletons[rule].parts
            if not part.name
        )
        return {name: number for number, name in enumerate(names)}

    def _inlined(
        self, expression: Expression, extra_rules: Mapping[str, Expression], around: tuple[str, ...]
    ) -> Expression:
        """Return an expression with its calls inlined."""
        expression = self._uncounted(expression)
        bodies = {
            rule: self._inlined(extra_rules[rule], extra_rules, around)
            if rule in extra_rules
            else self._expression(rule, around)
            for rule in dict.fromkeys(call.rule for call in calls(expression))
        }
        return with_rules(bodies, expression)

    def _uncounted(self, expression: Expression) -> Expression:
        """Rewrite a list that a register counts as a repetition."""
        if not isinstance(expression, CountedList):
            return expression
        opening, item, separator, closing = (
            Literal(expression.opening),
            expression.item,
            Literal(expression.separator),
            Literal(expression.closing),
        )
        minimum, maximum = expression.minimum, expression.maximum
        if maximum is not None and maximum > max(minimum, MOST_COPIES):
            maximum = max(minimum, MOST_COPIES)
        again = Repeat(joined(separator, item), max(0, minimum - 1), None if maximum is None else maximum - 1)
        some = Concatenation((opening, item, again, closing))
        return some if minimum else Alternation((Concatenation((opening, closing)), some))

    def _rules_in(self, rule: str) -> frozenset[str]:
        """Return the rules that are reachable from a rule."""
        if rule not in self._inner:
            found, waiting = set[str](), [rule]
            while waiting:
                new = {part.rule for part in self._skeletons[waiting.pop()].parts} - found
                found |= new
                waiting += new
            self._inner[rule] = frozenset(found)
        return self._inner[rule]

    def _check_named(self, rule: str) -> None:
        """Refuse objects of several members in ``enum`` and ``const`` beside others in the equality class."""
        alike = [self._skeletons[other] for other in self._classes[rule]]
        values = [value for other in alike if isinstance(other.content, Values) for value in other.content.values]
        sources = sum(
            any(isinstance(value, list | dict) for value in other.content.values)
            if isinstance(other.content, Values)
            else _is_group(other, ArrayLimits | ObjectLimits)
            for other in alike
        )
        if sources > 1 and any(map(_has_members, values)):
            raise SchemaError(
                "uniqueItems is not supported where enum or const lists objects beside other arrays or objects",
                self._skeletons[rule].pointer,
                hint=_HINT,
            )


def _one_by_one(atom: Atom) -> list[Atom]:
    """Split an atom of few texts into atoms of one text each."""
    if atom.size is None or atom.size > _LISTED:
        return [atom]
    texts = examples(atom.texts, atom.size)
    return [Atom(Dfa.from_choices([text]), atom.rules, 1) for text in texts]


def _most_of(number: int) -> int:
    """Return the most different items of an array, so that the sets of them stay below the limit of states."""
    states = sets = 1
    for most in range(number):
        sets = sets * (number - most) // (most + 1)
        states += sets
        if states > _MOST_SETS:
            return most
    return number


def _equality_classes(skeletons: Skeletons, items: list[str]) -> dict[str, tuple[str, ...]]:
    """Divide rules into equality classes: the values of rules in one class may be equal."""
    # The items may be equal to each other. Parts of two equal values may be equal if they are members of one name, or
    # items at any index; all undeclared names count as one name.
    found: dict[str, tuple[str, ...]] = {}
    waiting = [items]
    while waiting:
        group = waiting.pop()
        together = tuple(dict.fromkeys(other for rule in group for other in found.get(rule, (rule,))))
        if not together or found.get(together[0]) == together:
            continue
        found.update(dict.fromkeys(together, together))
        places: dict[str, list[str]] = {}
        for rule in together:
            for part in skeletons[rule].parts:
                if skeletons[rule].is_union:
                    place = "one of"
                elif _is_group(skeletons[rule], ArrayLimits):
                    place = "item"
                else:
                    place = "other" if part.name else f"member {part.label}"
                places.setdefault(place, []).append(part.rule)
        if "one of" in places:
            places["one of"] += together
        waiting += places.values()
    return found


def _is_group(skeleton: Skeleton, kind: Any) -> bool:
    return isinstance(skeleton.content, Group) and isinstance(skeleton.content.limits, kind)


def _has_members(value: Any) -> bool:
    """Return whether a value is or contains an object of several members."""
    if isinstance(value, dict):
        return len(value) > 1 or any(map(_has_members, value.values()))
    return isinstance(value, list) and any(map(_has_members, value))


@cache
def _short_numbers() -> Dfa:
    """Return the automaton of short numbers, to which numbers without limits are restricted inside unique items."""
    return Dfa.from_regex(r"-?[0-9]{1,20}(\.[0-9]{1,10})?")


def _plain_number(value: Any, pointer: str) -> bytes:
    """Write a number without an exponent and without trailing zeros.

    >>> from decimal import Decimal
    >>> _plain_number(Decimal("1.50"), ""), _plain_number(Decimal("-1E-7"), ""), _plain_number(Decimal("-0.0"), "")
    (b'1.5', b'-0.0000001', b'0')
    """
    number = as_decimal(value)
    _, _, exponent = number.as_tuple()
    assert isinstance(exponent, int)  # numbers of JSON are finite
    if not number:
        return b"0"
    if max(number.adjusted(), -exponent) >= MAX_DIGITS:
        raise SchemaTooLarge(
            f"uniqueItems is not supported for numbers with more than {MAX_DIGITS:,} digits", pointer, hint=_HINT
        )
    text = format(number, "f")
    return (text.rstrip("0").rstrip(".") if "." in text else text).encode()
