"""Arrays some of whose items must be something (``contains``), or whose items must differ (``uniqueItems``)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product

from sfgen.errors import SchemaError, SchemaTooLarge
from sfgen.grammar.rules import Alternation, Call, Expression, Literal, Member, Repeat
from sfgen.schema.arrays import ArrayLimits, Contains
from sfgen.schema.conjunction import Conjunction, both
from sfgen.schema.layout import Layout, joined
from sfgen.schema.members import MAX_COPIES, Tails, by_states, counted_members

MAX_CONTAINS = 4
"""The most ``contains`` that hold of one array."""

MOST_ORDERS = 8
"""Named values that may stand in any order where they must differ; more stand in the order of the schema."""

Hits = tuple[bool, ...]
"""Which of the ``contains`` an item satisfies."""


def item_choices(contains: Sequence[Contains], item: Conjunction, pointer: str) -> list[tuple[Hits, Conjunction]]:
    """What an item may be, by what it satisfies of what some items must be.

    Raises:
        SchemaTooLarge: They are too many.
    """
    if len(contains) > MAX_CONTAINS:
        raise SchemaTooLarge(f"more than {MAX_CONTAINS} contains hold at once", pointer, hint="Ask for fewer.")
    found = []
    for hits in product((False, True), repeat=len(contains)):
        value = item
        for one, is_hit in zip(contains, hits, strict=True):
            value = both(value, one.item if is_hit else one.otherwise)
        found.append((hits, value))
    return found


def label_of(place: str, hits: Hits) -> str:
    """What a choice is called: ``[0]``, ``[]`` behind the first ones, with the numbers of what it satisfies."""
    numbers = [str(number) for number, is_hit in enumerate(hits) if is_hit]
    return f"{place} contains {','.join(numbers)}" if numbers else place


def containing(limits: ArrayLimits, rules: Mapping[str, str], layout: Layout, depth: int, tails: Tails) -> Expression:
    """The texts of an array some of whose items must be something.

    Args:
        limits: What the array must satisfy.
        rules: The rules of its items, by their labels; what has no text is not there.
        layout: The white space.
        depth: The depth at which the array begins.
        tails: Where the rules are put that the expression needs besides.
    """
    first, contains = len(limits.prefix), limits.contains
    last = max(first, limits.minimum, 1) if limits.maximum is None else limits.maximum
    tops = [one.minimum if one.maximum is None else one.maximum for one in contains]
    comma, closing = layout.comma(depth), Literal(layout.closing(b"]", depth))
    sorts = list(product((False, True), repeat=len(contains)))

    def branches(state: tuple[int, ...]) -> Iterable[tuple[Expression, tuple[int, ...] | None]]:
        count, *seen = state
        if count >= limits.minimum and all(done >= one.minimum for done, one in zip(seen, contains, strict=True)):
            yield closing, None
        if limits.maximum is not None and count >= limits.maximum:
            return
        for hits in sorts:
            rule = rules.get(label_of(f"[{count}]" if count < first else "[]", hits))
            after = [done + is_hit for done, is_hit in zip(seen, hits, strict=True)]
            too_many = any(
                one.maximum is not None and done > one.maximum for done, one in zip(after, contains, strict=True)
            )
            if rule is not None and not too_many:
                following = (min(count + 1, last), *(min(done, top) for done, top in zip(after, tops, strict=True)))
                yield joined(comma, Call(rule)) if count else Call(rule), following

    whole = joined(Literal(layout.opening(b"[", depth)), by_states((0, *[0] * len(contains)), branches, tails))
    can_be_empty = limits.minimum == 0 and all(one.minimum == 0 for one in contains)
    return Alternation((Literal(b"[]"), whole)) if layout.indent is not None and can_be_empty else whole


def differing(
    values: Sequence[Expression],
    items: Sequence[str],
    counts: tuple[int, int | None],
    layout: Layout,
    depth: int,
    tails: Tails,
    most: int | None,
) -> Expression:
    """The texts of an array whose items must differ.

    Args:
        values: The items that the schema names, each in its one written form.
        items: The rules of the other items, which are leaves.
        counts: The fewest items, and the most.
        layout: The white space.
        depth: The depth at which the array begins.
        tails: Where the rules are put that the expression needs besides.
        most: How many other items there are; ``None``: without end.
    """
    comma = layout.comma(depth)
    opening, closing = Literal(layout.opening(b"[", depth)), Literal(layout.closing(b"]", depth))
    minimum, maximum = counts
    others = [Call(name, distinct=True) for name in items]
    more = None if not others else others[0] if len(others) == 1 else Alternation(tuple(others))
    if more is not None and not values:
        if minimum > MAX_COPIES:
            raise SchemaError(f"minItems {minimum} is above the {MAX_COPIES:,} items that may differ")
        most = None if maximum is None or maximum > MAX_COPIES else maximum - 1
        some = joined(opening, more, Repeat(joined(comma, more), max(0, minimum - 1), most), closing)
    elif more is not None or len(values) > MOST_ORDERS:
        members = [Member(value, False) for value in values]
        some = joined(opening, counted_members(members, more, comma, closing, (max(1, minimum), maximum), tails, most))
    else:
        some = joined(opening, _in_any_order(values, comma, closing, (max(1, minimum), maximum), tails))
    return some if minimum else Alternation((Literal(b"[]"), some))


def _in_any_order(
    values: Sequence[Expression], comma: Expression, closing: Expression, counts: tuple[int, int | None], tails: Tails
) -> Expression:
    """Some of the values, each at most once: a state for each set of them."""
    minimum, maximum = counts

    def branches(used: frozenset[int]) -> Iterable[tuple[Expression, frozenset[int] | None]]:
        if len(used) >= minimum:
            yield closing, None
        if maximum is None or len(used) < maximum:
            for number, value in enumerate(values):
                if number not in used:
                    yield joined(comma, value) if used else value, used | {number}

    return by_states(frozenset[int](), branches, tails)
