"""Arrays some of whose items must be something (``contains``), or whose items must differ (``uniqueItems``)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import NamedTuple, TypeAlias

from sfgen.automata import Dfa
from sfgen.automata.completions import completions
from sfgen.errors import SchemaTooLarge
from sfgen.grammar.rules import Alternation, Call, Expression, Leaf, Literal
from sfgen.schema.arrays import ArrayLimits, Contains
from sfgen.schema.conjunction import Conjunction, both
from sfgen.schema.layout import Layout, joined
from sfgen.schema.members import MAX_COPIES, Tails, by_states

MAX_CONTAINS = 4
"""The most ``contains`` that hold of one array."""

MAX_ATOMS = 50
"""The most parts into which what items may be is divided where they must differ."""

Hits = tuple[bool, ...]
"""Which of the ``contains`` an item satisfies."""

_State: TypeAlias = tuple[int, tuple[int, ...], tuple[int, ...]]
"""The items; how many of them satisfy each ``contains``; how many were read of each atom that has an end."""


def item_choices(contains: Sequence[Contains], item: Conjunction, pointer: str) -> list[tuple[Hits, Conjunction]]:
    """List what an item may be, by the ``contains`` that it satisfies.

    Args:
        contains: What some items must be.
        item: What every item must satisfy.
        pointer: Where the array's schema stands, for messages.

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
    """Label a choice by its position and what it satisfies.

    Args:
        place: ``[0]``, or ``[]`` behind the first items.
        hits: Whether it satisfies each ``contains``.
    """
    numbers = [str(number) for number, is_hit in enumerate(hits) if is_hit]
    return f"{place} contains {','.join(numbers)}" if numbers else place


class Atom(NamedTuple):
    """Items that are read by the same rules: an indivisible part.

    The rules of the items divide all items into such parts.

    Args:
        texts: The items, in one form each.
        rules: The rules of the items that they are.
        size: How many there are; ``None``: endlessly many.
    """

    texts: Dfa
    rules: frozenset[str]
    size: int | None


def atoms(automata: Mapping[str, Dfa], pointer: str) -> list[Atom]:
    """Divide the languages of some rules into their atoms.

    These are the smallest parts that no rule divides.

    Args:
        automata: The texts of each rule.
        pointer: Where the array's schema stands, for messages.

    Raises:
        SchemaTooLarge: There are too many.
    """
    found: list[tuple[Dfa, frozenset[str]]] = []
    for rule, texts in automata.items():
        divided, rest = list[tuple[Dfa, frozenset[str]]](), texts
        for part, rules in found:
            divided += [(part & texts, rules | {rule}), (part - texts, rules)]
            rest -= part
        found = [(part, rules) for part, rules in [*divided, (rest, frozenset({rule}))] if not part.is_empty]
        if len(found) > MAX_ATOMS:
            raise SchemaTooLarge(
                f"what the items may be has more than {MAX_ATOMS} parts that may overlap", pointer, hint="Use fewer."
            )
    return [Atom(part, rules, completions(part).get(0)) for part, rules in found]


def chosen_items(
    limits: ArrayLimits,
    rules: Mapping[str, str],
    layout: Layout,
    depth: int,
    tails: Tails,
    different: Sequence[Atom] = (),
) -> Expression:
    """Build the expression of an array with ``contains`` or ``uniqueItems``.

    Args:
        limits: What the array must satisfy.
        rules: The rules of its items, by their labels; what has no text is not there.
        layout: The white space.
        depth: The depth at which the array begins.
        tails: Where the rules are put that the expression needs besides.
        different: What the items are read by where they must differ. Of a finite atom the texts that were read are
            counted, so that there is always another one.

    Raises:
        SchemaTooLarge: There are too many states.
    """
    first, contains = len(limits.prefix), limits.contains
    maximum = _most(limits, different)
    last = max(first, limits.minimum, 1) if maximum is None else maximum
    tops = [one.minimum if one.maximum is None else one.maximum for one in contains]
    comma = layout.comma(depth)
    opening, closing = Literal(layout.opening(b"[", depth)), Literal(layout.closing(b"]", depth))
    sorts = list(product((False, True), repeat=len(contains)))
    calls = [Call(tails.add(Leaf(atom.texts)).rule, distinct=True) for atom in different]
    ends = [atom.size is not None and (maximum is None or atom.size < maximum) for atom in different]

    def items(rule: str, read: tuple[int, ...]) -> Iterable[tuple[Call, tuple[int, ...]]]:
        """The ways to read an item of a rule, and how many texts of each atom that has an end are read then."""
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
    whole = joined(opening, by_states(start, branches, tails))
    can_be_empty = limits.minimum == 0 and all(one.minimum == 0 for one in contains)
    return Alternation((Literal(b"[]"), whole)) if layout.indent is not None and can_be_empty else whole


def _most(limits: ArrayLimits, different: Sequence[Atom]) -> int | None:
    """The most items that are written; where they must differ, no more than are counted if they could run out.

    Raises:
        SchemaTooLarge: There must be more.
    """
    if not different:
        return limits.maximum
    maximum = limits.maximum
    counts = [atom.size for atom in different if atom.size is not None]
    if len(counts) == len(different):
        maximum = sum(counts) if maximum is None else min(maximum, sum(counts))
    if limits.minimum > MAX_COPIES and (maximum is None or maximum > MAX_COPIES):
        raise SchemaTooLarge(f"minItems {limits.minimum} is above the {MAX_COPIES:,} items that may differ")
    if maximum is None and max(counts, default=0) <= MAX_COPIES:
        return None
    return MAX_COPIES if maximum is None else min(maximum, MAX_COPIES)
