"""Expressions of the texts of arrays and objects.

Plain arrays are sequences. Arrays with ``contains`` or ``uniqueItems`` are state machines that count. Objects have
their members in the order of the schema, or in any order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import NamedTuple, TypeAlias

from sfgen.automata import Dfa
from sfgen.automata.completions import completions
from sfgen.errors import SchemaTooLarge
from sfgen.grammar.network.registers.register import NARROW
from sfgen.grammar.network.rules import (
    NOTHING,
    Alternation,
    AnyOrder,
    Call,
    CountedList,
    Expression,
    Leaf,
    Literal,
    Member,
    NamedMember,
    OtherMember,
    Repeat,
    Series,
)
from sfgen.schema.meaning.conjunction import Conjunction, both
from sfgen.schema.meaning.limits import ArrayLimits, Contains, ObjectLimits
from sfgen.schema.scalars.written_text import write
from sfgen.schema.writing.layout import BLANK, MAX_COPIES, ExtraRules, Layout, by_states, counted_members, joined
from sfgen.schema.writing.skeleton import RulePart

MOST_COPIES = 16
"""The highest count that is written as copies; above it a register counts."""

_NESTED = 16  # optional items that are nested in one expression

MAX_CONTAINS = 4
"""The most ``contains`` that apply to one array."""

MAX_ATOMS = 50
"""The most atoms into which unique items are divided."""

MOST_OPEN = 2_000
"""The most properties of one object that are optional, or in any order."""

Hits = tuple[bool, ...]
"""For each ``contains``, whether an item satisfies it."""

_State: TypeAlias = tuple[int, tuple[int, ...], tuple[int, ...]]
"""The number of items; for each ``contains`` the number that satisfy it; for each finite atom its number of items."""


def array_expression(
    limits: ArrayLimits,
    prefix: Sequence[str | None],
    rest: str | None,
    layout: Layout,
    depth: int,
    extra_rules: ExtraRules,
) -> Expression:
    """Build the expression of an array's texts."""
    known: list[str] = []
    for name in prefix:
        if name is None:  # no text has this item, so none has the items after it
            rest = None
            break
        known.append(name)
    return _Writer(known, rest, limits, layout, depth, extra_rules).whole()


class _Writer:
    """Writes the expression of one array."""

    def __init__(
        self,
        prefix: list[str],
        rest: str | None,
        limits: ArrayLimits,
        layout: Layout,
        depth: int,
        extra_rules: ExtraRules,
    ) -> None:
        self.prefix = prefix
        self.rest = rest
        self.minimum = limits.minimum
        self.maximum = len(prefix) if rest is None else limits.maximum
        self.is_open = layout.is_open
        self.extra_rules = extra_rules
        self.comma = layout.comma(depth)
        self.comma_bytes = layout.comma_bytes(depth)
        self.opening = Literal(layout.opening(b"[", depth))
        self.closing = Literal(layout.closing(b"]", depth))

    def whole(self) -> Expression:
        """Return the expression of the whole array."""
        branches: list[Expression] = []
        if self.maximum is None or self.maximum > 0:
            if self.prefix:
                branches.append(joined(self.opening, Call(self.prefix[0]), self._after_first()))
            elif self.rest is not None and self._is_counted(0) and not self.is_open:
                counted = self._counted(self.opening.data, Call(self.rest), 0)
                if self.minimum > 0:
                    return counted
                branches.append(self.extra_rules.add(counted))
            elif self.rest is not None:
                branches.append(joined(self.opening, Call(self.rest), self._others(1)))
        if self.minimum == 0:
            branches.append(Literal(b"[]"))
        return branches[0] if len(branches) == 1 else Alternation(tuple(branches))

    def _after_first(self) -> Expression:
        """Return the expression after the first item of the prefix."""
        expression = self._others(len(self.prefix))
        nested = 0
        for index in reversed(range(1, len(self.prefix))):
            expression = joined(self.comma, Call(self.prefix[index]), expression)
            if index >= self.minimum:
                expression, nested = Alternation((self.closing, expression)), nested + 1
                if nested % _NESTED == 0:
                    expression = self.extra_rules.add(expression)
        return expression

    def _others(self, count: int) -> Expression:
        """Return the expression after ``count`` items, if only items of ``rest`` may follow."""
        if self.rest is None or self.maximum == count:
            return self.closing if count >= self.minimum else NOTHING
        if not self._is_counted(count):
            most = None if self.maximum is None else self.maximum - count
            again = Repeat(joined(self.comma, Call(self.rest)), max(0, self.minimum - count), most)
            return joined(again, self.closing)
        item = Call(self.rest)
        if self.is_open:
            item = self.extra_rules.add(joined(BLANK, item))
        counted = self.extra_rules.add(self._counted(self.comma_bytes, item, count))
        return Alternation((self.closing, counted)) if count >= self.minimum else counted

    def _is_counted(self, count: int) -> bool:
        """Return whether the items after ``count`` others are too many for copies."""
        return max(self.minimum, self.maximum or 0) - count > MOST_COPIES

    def _counted(self, opening: bytes, item: Call, count: int) -> CountedList:
        """Return the counted list of one or more items after ``count`` others."""
        maximum = None if self.maximum is None else self.maximum - count
        return CountedList(opening, item, self.comma_bytes, self.closing.data, max(1, self.minimum - count), maximum)


# ---- arrays with contains or uniqueItems -----------------------------------------------------------------------------


def item_choices(contains: Sequence[Contains], item: Conjunction, pointer: str) -> list[tuple[Hits, Conjunction]]:
    """List the conjunctions of an item, one for each set of ``contains`` that it satisfies."""
    if len(contains) > MAX_CONTAINS:
        raise SchemaTooLarge(
            f"more than {MAX_CONTAINS} contains apply to one array", pointer, hint="Remove some of them."
        )
    found = []
    for hits in product((False, True), repeat=len(contains)):
        value = item
        for one, is_hit in zip(contains, hits, strict=True):
            value = both(value, one.item if is_hit else one.otherwise)
        found.append((hits, value))
    return found


def label_of(place: str, hits: Hits) -> str:
    """Label a choice by its position and the ``contains`` that it satisfies."""
    numbers = [str(number) for number, is_hit in enumerate(hits) if is_hit]
    return f"{place} contains {','.join(numbers)}" if numbers else place


class Atom(NamedTuple):
    """A set of unique items that belong to the same rules."""

    texts: Dfa  # the items in canonical form
    rules: frozenset[str]
    size: int | None  # the number of items; ``None``: infinitely many


def atoms(automata: Mapping[str, Dfa], pointer: str) -> list[Atom]:
    """Divide the languages of some rules into atoms, each of which a rule contains as a whole or not at all."""
    found: list[tuple[Dfa, frozenset[str]]] = []
    for rule, texts in automata.items():
        divided, rest = list[tuple[Dfa, frozenset[str]]](), texts
        for part, rules in found:
            divided += [(part & texts, rules | {rule}), (part - texts, rules)]
            rest -= part
        found = [(part, rules) for part, rules in [*divided, (rest, frozenset({rule}))] if not part.is_empty]
        if len(found) > MAX_ATOMS:
            raise SchemaTooLarge(
                f"the schemas of unique items overlap in more than {MAX_ATOMS} ways",
                pointer,
                hint="Use fewer of them, or schemas of different types.",
            )
    return [Atom(part, rules, completions(part).get(0)) for part, rules in found]


def chosen_items(
    limits: ArrayLimits,
    rules: Mapping[str, str],
    layout: Layout,
    depth: int,
    extra_rules: ExtraRules,
    different: Sequence[Atom] = (),
) -> Expression:
    """Build the expression of an array with ``contains`` or ``uniqueItems``."""
    first, contains = len(limits.prefix), limits.contains
    maximum = _most(limits, different)
    last = max(first, limits.minimum, 1) if maximum is None else maximum
    tops = [one.minimum if one.maximum is None else one.maximum for one in contains]
    comma = layout.comma(depth)
    opening, closing = Literal(layout.opening(b"[", depth)), Literal(layout.closing(b"]", depth))
    sorts = list(product((False, True), repeat=len(contains)))
    calls = [Call(extra_rules.add(Leaf(atom.texts)).rule, distinct=True) for atom in different]
    ends = [atom.size is not None and (maximum is None or atom.size < maximum) for atom in different]

    def items(rule: str, read: tuple[int, ...]) -> Iterable[tuple[Call, tuple[int, ...]]]:
        """Yield the calls for an item of a rule, each with the new counts of the finite atoms."""
        if not different:
            yield Call(rule), read
        for number, atom in enumerate(different):
            if rule in atom.rules and not ends[number]:
                yield calls[number], read
            elif rule in atom.rules and atom.size is not None and read[number] < atom.size:
                yield calls[number], (*read[:number], read[number] + 1, *read[number + 1 :])

    def branches(state: _State) -> Iterable[tuple[Expression, _State | None]]:
        count, seen, read = state
        if count >= limits.minimum and all(done >= one.minimum for done, one in zip(seen, contains, strict=True)):
            yield closing, None
        if maximum is not None and count >= maximum:
            return
        for hits in sorts:
            rule = rules.get(label_of(f"[{count}]" if count < first else "[]", hits))
            after = [done + is_hit for done, is_hit in zip(seen, hits, strict=True)]
            too_many = any(
                one.maximum is not None and done > one.maximum for done, one in zip(after, contains, strict=True)
            )
            if rule is not None and not too_many:
                kept = tuple(min(done, top) for done, top in zip(after, tops, strict=True))
                for item, now_read in items(rule, read):
                    yield joined(comma, item) if count else item, (min(count + 1, last), kept, now_read)

    start: _State = (0, (0,) * len(contains), (0,) * len(different))
    whole = joined(opening, by_states(start, branches, extra_rules))
    can_be_empty = limits.minimum == 0 and all(one.minimum == 0 for one in contains)
    return Alternation((Literal(b"[]"), whole)) if layout.indent is not None and can_be_empty else whole


def _most(limits: ArrayLimits, different: Sequence[Atom]) -> int | None:
    """Return the most items of an array; unique items that could run out are limited to a countable number."""
    if not different:
        return limits.maximum
    maximum = limits.maximum
    counts = [atom.size for atom in different if atom.size is not None]
    if len(counts) == len(different):
        maximum = sum(counts) if maximum is None else min(maximum, sum(counts))
    if limits.minimum > MAX_COPIES and (maximum is None or maximum > MAX_COPIES):
        raise SchemaTooLarge(f"minItems {limits.minimum} is above the limit of {MAX_COPIES:,} unique items")
    if maximum is None and max(counts, default=0) <= MAX_COPIES:
        return None
    return MAX_COPIES if maximum is None else min(maximum, MAX_COPIES)


# ---- objects ---------------------------------------------------------------------------------------------------------


class WrittenProperty(NamedTuple):
    """A property with its name as JSON."""

    name: bytes  # the name as JSON, with quotes
    rule: str
    is_needed: bool


def object_expression(
    properties: Sequence[WrittenProperty],
    others: Sequence[tuple[str, str]],
    counts: tuple[int, int | None],
    layout: Layout,
    depth: int,
    extra_rules: ExtraRules,
    most: int | None,
) -> Expression:
    """Build the expression of an object, in the schema's order."""
    _check_count(sum(not one.is_needed for one in properties), "may be left out")
    members = [Member(joined(layout.name(one.name), Call(one.rule)), one.is_needed) for one in properties]
    some = [joined(Call(name, distinct=True), layout.colon, Call(value)) for name, value in others]
    more = None if not some else some[0] if len(some) == 1 else Alternation(tuple(some))
    return object_of(members, more, counts, layout, depth, extra_rules, most)


def object_of(
    members: Sequence[Member],
    more: Expression | None,
    counts: tuple[int, int | None],
    layout: Layout,
    depth: int,
    extra_rules: ExtraRules,
    most: int | None = None,
) -> Expression:
    """Build the expression of an object from its members in order, and the expression of other members."""
    comma = layout.comma(depth)
    opening, closing = Literal(layout.opening(b"{", depth)), Literal(layout.closing(b"}", depth))
    needed = sum(member.is_needed for member in members)
    minimum, maximum = counts
    if more is None and maximum is not None and maximum >= len(members):
        maximum = None
    if minimum <= needed and maximum is None:
        if not members and more is None:
            return Literal(b"{}")
        if layout.indent is None or needed:
            return joined(opening, Series(tuple(members), comma, more), closing)
    # With indented lines, an object without members has no line break.
    can_be_empty = minimum == needed == 0
    if can_be_empty and maximum == 0:
        return Literal(b"{}")
    counts = max(1, minimum) if can_be_empty else minimum, maximum
    whole = joined(opening, counted_members(members, more, comma, closing, counts, extra_rules, most))
    return Alternation((Literal(b"{}"), whole)) if can_be_empty else whole


def _check_count(count: int, what: str) -> None:
    """Refuse too many optional properties: the automaton grows with their square, and this limit takes a second."""
    if count > MOST_OPEN:
        raise SchemaTooLarge(
            f"it has {count:,} properties that {what}, above the limit of {MOST_OPEN:,}",
            hint="Require some of them, or remove some.",
        )


class ChosenMember(NamedTuple):
    """A member with a known name; each way is an expression, and the wanted members that it is as bits."""

    ways: tuple[tuple[Expression, int], ...]
    is_needed: bool


def bits(hits: Iterable[int]) -> int:
    """Return the integer whose bits are at these numbers."""
    return sum(1 << number for number in hits)


def wanted_members(parts: Sequence[RulePart], layout: Layout) -> list[ChosenMember]:
    """Group the parts with known names by name, each with the ways in which it is a wanted member."""
    ways: dict[str, list[tuple[Expression, int]]] = {part.label: [] for part in parts if not part.name}
    for part in parts:
        if not part.name:
            ways[part.label].append((joined(layout.name(write(part.label)), Call(part.rule)), bits(part.hits)))
    needed = {part.label for part in parts if part.is_needed}
    return [ChosenMember(tuple(several), name in needed) for name, several in ways.items()]


MOST_IN_ANY_ORDER = 6
"""The most known names in any order in an object with wanted members: each set of names is a state."""


def chosen_members(
    members: Sequence[ChosenMember],
    others: Sequence[tuple[Expression, int]],
    limits: ObjectLimits,
    layout: Layout,
    depth: int,
    extra_rules: ExtraRules,
    *,
    in_any_order: bool = False,
) -> Expression:
    """Build the expression of an object from some members, so that each wanted member is among them."""
    _check_count(len(members), "may be wanted members")
    comma, closing = layout.comma(depth), Literal(layout.closing(b"}", depth))
    minimum, maximum = limits.minimum, limits.maximum
    top = max(1, minimum) if maximum is None else maximum
    every = (1 << len(members)) - 1
    needed = sum(member.is_needed << number for number, member in enumerate(members))

    def branches(state: tuple[int, int, int]) -> Iterable[tuple[Expression, tuple[int, int, int] | None]]:
        passed, count, seen = state  # the names that cannot follow, the count of members, the wanted ones among them
        may_end = needed & ~passed == 0
        if may_end and count >= minimum and seen == (1 << len(limits.wanted)) - 1:
            yield closing, None
        if maximum is not None and count >= maximum:
            return
        after = min(count + 1, top)
        for number, member in enumerate(members):
            if passed >> number & 1:
                continue
            now_passed = passed | 1 << number if in_any_order else (2 << number) - 1
            for expression, hits in member.ways:
                yield joined(comma, expression) if count else expression, (now_passed, after, seen | hits)
            if member.is_needed and not in_any_order:
                break
        if may_end or in_any_order:
            for expression, hits in others:
                now_passed = passed if in_any_order else every
                yield joined(comma, expression) if count else expression, (now_passed, after, seen | hits)

    return joined(Literal(layout.opening(b"{", depth)), by_states((0, 0, 0), branches, extra_rules))


def object_with_wanted(
    parts: Sequence[RulePart],
    sizes: Mapping[str, int | None],
    limits: ObjectLimits,
    layout: Layout,
    depth: int,
    extra_rules: ExtraRules,
    in_any_order: bool,
) -> Expression:
    """Build the expression of an object with wanted members."""
    # ``sizes``: the number of texts of each rule of names; ``None``: infinitely many. The maximum is lowered so that
    # names of finite rules remain for the wanted members.
    counts = [size for part in parts if part.hits and (size := sizes.get(part.name)) is not None]
    if counts and (limits.maximum is None or limits.maximum > min(counts) - len(limits.wanted) + 1):
        limits = replace(limits, maximum=min(counts) - len(limits.wanted) + 1)
    others = [
        (joined(Call(part.name, distinct=True), layout.colon, Call(part.rule)), bits(part.hits))
        for part in parts
        if part.name
    ]
    members = wanted_members(parts, layout)
    return chosen_members(members, others, limits, layout, depth, extra_rules, in_any_order=in_any_order)


def object_in_any_order(
    properties: Sequence[WrittenProperty],
    others: Sequence[tuple[str, str]],
    counts: tuple[int, int | None],
    layout: Layout,
    depth: int,
) -> Expression:
    """Build the expression of an object with its properties in any order."""
    _check_count(len(properties), "stand in any order")
    needed = sum(one.is_needed for one in properties)
    if counts[0] > needed > NARROW:
        raise SchemaTooLarge(
            f"it requires {needed} properties in any order, above {NARROW}, and minProperties requires even more",
            hint="Remove minProperties, or keep the order of the schema.",
        )
    if len(properties) > NARROW:
        properties = sorted(properties, key=lambda one: not one.is_needed)
    minimum, maximum = counts
    if maximum is not None and maximum >= len(properties) and not others:
        maximum = None
    return AnyOrder(
        tuple(NamedMember(one.name, Call(one.rule), one.is_needed) for one in properties),
        tuple(OtherMember(Call(name, distinct=True), Call(value)) for name, value in others),
        layout.opening(b"{", depth),
        layout.colon,
        layout.comma(depth),
        layout.closing(b"}", depth),
        b"{}",
        minimum,
        maximum,
    )
