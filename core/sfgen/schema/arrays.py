"""Arrays: what they may hold, and the expression that their texts are written by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sfgen.errors import SchemaTooLarge
from sfgen.grammar.rules import NOTHING, Alternation, Call, CountedList, Expression, Literal, Repeat
from sfgen.schema.bounds import Contradiction, count_bounds
from sfgen.schema.conjunction import ANYTHING, NONE, Conjunction, Plain, Subschema, both
from sfgen.schema.keywords import Draft
from sfgen.schema.layout import BLANK, Layout, joined
from sfgen.schema.members import Tails
from sfgen.schema.negation import negated

MAX_PREFIX = 1_000
"""The most items that a schema may describe one by one."""

MOST_COPIES = 16
"""Counts above this are counted by a register."""

_NESTED = 16  # optional items that stand in one expression


class Contains(NamedTuple):
    """What some items of an array must be.

    Args:
        item: What they are.
        minimum: The fewest of them.
        maximum: The most; ``None``: any number.
        otherwise: What the other items are, where there is a most: none of them.
    """

    item: Conjunction
    minimum: int
    maximum: int | None
    otherwise: Conjunction


@dataclass(frozen=True)
class ArrayLimits:
    """What an array must satisfy.

    Args:
        prefix: What the first items are, one by one.
        rest: What the items behind them are; ``None``: there are none.
        minimum: The fewest items.
        maximum: The most items; ``None``: any number.
        contains: What some items must be, and how many: the fewest, and the most.
        are_unique: Whether no two items are equal.
    """

    prefix: tuple[Conjunction, ...]
    rest: Conjunction | None
    minimum: int
    maximum: int | None
    contains: tuple[Contains, ...] = ()
    are_unique: bool = False

    def item(self, index: int) -> Conjunction | None:
        """Return what an item must satisfy; ``None``: there is none."""
        return self.prefix[index] if index < len(self.prefix) else self.rest


def array_limits(plain: Plain, draft: Draft) -> ArrayLimits:
    """Collect what the arrays of a branch must satisfy.

    Args:
        plain: The branch.
        draft: The draft by which it is read.

    Raises:
        Contradiction: No array can.
        SchemaTooLarge: Too many items are described one by one, or must be there.
    """
    described = [_items(one, draft) for one in plain]
    minimum, maximum = count_bounds(plain, "minItems", "maxItems")
    length = max((len(prefix) for prefix, _ in described), default=0)
    if length > MAX_PREFIX:
        raise SchemaTooLarge(
            f"an array describes more than {MAX_PREFIX:,} items one by one", plain[0].pointer, hint="Use items."
        )
    prefix = [ANYTHING] * length
    rest = ANYTHING
    for some, others in described:
        prefix = [both(item, some[index] if index < len(some) else others) for index, item in enumerate(prefix)]
        rest = both(rest, others)
    is_closed = any(one.schema is False for one in rest)
    if maximum is not None:
        prefix, is_closed = prefix[:maximum], is_closed or maximum <= length
    if is_closed and minimum > len(prefix):
        pointer = next(one.pointer for one in plain if "minItems" in one.schema)
        raise Contradiction(f"minItems {minimum} is above the {len(prefix)} items that there may be", pointer)
    most = len(prefix) if is_closed else maximum
    are_unique = any(one.schema.get("uniqueItems") is True for one in plain) and (most is None or most > 1)
    contains = tuple(found for one in plain if (found := _contains(one, draft)) is not None)
    return ArrayLimits(tuple(prefix), None if is_closed else rest, minimum, most, contains, are_unique)


def _contains(one: Subschema, draft: Draft) -> Contains | None:
    """What one schema says that some items must be; ``None`` if nothing."""
    if not one.says("contains", draft):
        return None
    counts = draft >= Draft.DRAFT_2019_09
    least = int(one.schema.get("minContains", 1)) if counts else 1
    most = int(one.schema["maxContains"]) if counts and "maxContains" in one.schema else None
    if most is not None and most < least:
        raise Contradiction(f"minContains {least} is above maxContains {most}", one.pointer)
    item = one.part("contains")
    if least == 0 and most is None:
        return None
    return Contains(item, least, most, () if most is None else (negated(item[0]),) if item else NONE)


def _items(one: Subschema, draft: Draft) -> tuple[list[Conjunction], Conjunction]:
    """What one schema says of the first items, one by one, and of those behind."""
    schema = one.schema
    listed, others = ("prefixItems", "items") if draft >= Draft.DRAFT_2020_12 else ("items", "additionalItems")
    if isinstance(schema.get(listed), list):
        prefix = [one.part(listed, index) for index in range(len(schema[listed]))]
        return prefix, one.part(others) if others in schema else ANYTHING
    return [], one.part("items") if "items" in schema else ANYTHING


def array_expression(
    limits: ArrayLimits, prefix: Sequence[str | None], rest: str | None, layout: Layout, depth: int, tails: Tails
) -> Expression:
    """Build the expression of an array's texts.

    Args:
        limits: How many items there may be.
        prefix: The rules of the first items; ``None``: an item that has no text.
        rest: The rule of those behind; ``None`` likewise.
        layout: The white space.
        depth: The depth at which the array begins.
        tails: Where the rules are put that the expression needs besides.
    """
    known: list[str] = []
    for name in prefix:
        if name is None:  # nothing behind an item that cannot be written can be written
            rest = None
            break
        known.append(name)
    return _Writer(known, rest, limits, layout, depth, tails).whole()


class _Writer:
    """Writes the expression of one array."""

    def __init__(
        self, prefix: list[str], rest: str | None, limits: ArrayLimits, layout: Layout, depth: int, tails: Tails
    ) -> None:
        self.prefix = prefix
        self.rest = rest
        self.minimum = limits.minimum
        self.maximum = len(prefix) if rest is None else limits.maximum
        self.is_open = layout.is_open
        self.tails = tails
        self.comma = layout.comma(depth)
        self.comma_bytes = layout.comma_bytes(depth)
        self.opening = Literal(layout.opening(b"[", depth))
        self.closing = Literal(layout.closing(b"]", depth))

    def whole(self) -> Expression:
        """All of the array."""
        branches: list[Expression] = []
        if self.maximum is None or self.maximum > 0:
            if self.prefix:
                branches.append(joined(self.opening, Call(self.prefix[0]), self._behind_first()))
            elif self.rest is not None and self._is_counted(0) and not self.is_open:
                counted = self._counted(self.opening.data, Call(self.rest), 0)
                if self.minimum > 0:
                    return counted
                branches.append(self.tails.add(counted))
            elif self.rest is not None:
                branches.append(joined(self.opening, Call(self.rest), self._others(1)))
        if self.minimum == 0:
            branches.append(Literal(b"[]"))
        return branches[0] if len(branches) == 1 else Alternation(tuple(branches))

    def _behind_first(self) -> Expression:
        """What may stand behind the first of the items that are described one by one."""
        expression = self._others(len(self.prefix))
        nested = 0
        for index in reversed(range(1, len(self.prefix))):
            expression = joined(self.comma, Call(self.prefix[index]), expression)
            if index >= self.minimum:
                expression, nested = Alternation((self.closing, expression)), nested + 1
                if nested % _NESTED == 0:
                    expression = self.tails.add(expression)
        return expression

    def _others(self, count: int) -> Expression:
        """What may stand behind ``count`` items that are all described one by one, or all alike."""
        if self.rest is None or self.maximum == count:
            return self.closing if count >= self.minimum else NOTHING
        if not self._is_counted(count):
            most = None if self.maximum is None else self.maximum - count
            again = Repeat(joined(self.comma, Call(self.rest)), max(0, self.minimum - count), most)
            return joined(again, self.closing)
        item = Call(self.rest)
        if self.is_open:
            item = self.tails.add(joined(BLANK, item))
        counted = self.tails.add(self._counted(self.comma_bytes, item, count))
        return Alternation((self.closing, counted)) if count >= self.minimum else counted

    def _is_counted(self, count: int) -> bool:
        """Whether the items behind some are too many to be copied."""
        return max(self.minimum, self.maximum or 0) - count > MOST_COPIES

    def _counted(self, opening: bytes, item: Call, count: int) -> CountedList:
        """One item or more behind ``count`` others."""
        maximum = None if self.maximum is None else self.maximum - count
        return CountedList(opening, item, self.comma_bytes, self.closing.data, max(1, self.minimum - count), maximum)
