"""The limits of the numbers, counts, arrays and objects of a branch: the strictest of all that its schemas say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any, NamedTuple

from sfgen.automata import Dfa
from sfgen.errors import SchemaTooLarge
from sfgen.schema.meaning.conjunction import ANYTHING, NONE, Conjunction, Plain, Subschema, both
from sfgen.schema.meaning.negation import Wanted, item_words, negated
from sfgen.schema.reading.keywords import Draft
from sfgen.schema.scalars.strings import divided, is_found
from sfgen.schema.scalars.written_text import any_text

MAX_EXPONENT = 400
"""The most digits before or behind the point of a number in a schema."""

MAX_COUNT = 1_000_000
"""The most that a text may have to have: characters of a string, items of an array."""

MAX_PREFIX = 1_000
"""The most items that a schema may describe one by one."""

FEW_PATTERNS = 6
"""The most patterns of names of one object of which each set is looked at, whether there are such names or not."""

MAX_SORTS = 128
"""The most sorts of names of one object, by the patterns that are found in them."""

MAX_WANTED = 4
"""The most members of one object that are asked for by what they are, not by their names."""

MAX_VALUE_DEPTH = 60
"""How deep arrays and objects may stand in each other in a value that a schema names."""

_BEYOND = 2**31 - 2
"""An upper limit from here on says nothing: no text comes so far, and no register counts so far."""


class Contradiction(Exception):
    """Raised where no value can satisfy a schema."""

    # This is not an error by itself: the value may be one that can be left out.

    def __init__(self, reason: str, pointer: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.pointer = pointer


class Bound(NamedTuple):
    """A limit. Of two lower ones the greater is the stricter."""

    value: Fraction
    is_exclusive: bool
    keyword: str
    pointer: str

    def __str__(self) -> str:
        return f"{self.keyword} {shown_number(self.value)}"


def exact(number: Any, pointer: str) -> Fraction:
    """Convert a number of a schema without rounding.

    A float is the decimal that it is written as.

    >>> exact(0.1, "") == Fraction(1, 10)
    True
    """
    decimal = number if isinstance(number, Decimal) else Decimal(repr(number))
    if decimal and abs(decimal.adjusted()) > MAX_EXPONENT:
        raise SchemaTooLarge(
            f"a number passes the limit of {MAX_EXPONENT} digits", pointer, hint="Use a smaller limit, or none."
        )
    return Fraction(decimal)


def shown_number(value: Fraction) -> str:
    """Write a number for a message.

    >>> shown_number(Fraction(5)), shown_number(Fraction(1, 4))
    ('5', '0.25')
    """
    return str(value.numerator) if value.denominator == 1 else str(Decimal(value.numerator) / value.denominator)


def number_bounds(plain: Plain) -> tuple[Bound | None, Bound | None]:
    """Find the strictest lower and upper limit of numbers."""
    lower: list[Bound] = []
    upper: list[Bound] = []
    for one in plain:
        for found, keyword, exclusive in (
            (lower, "minimum", "exclusiveMinimum"),
            (upper, "maximum", "exclusiveMaximum"),
        ):
            limit, beyond = one.schema.get(keyword), one.schema.get(exclusive)
            if isinstance(beyond, bool):  # draft 04: whether the limit itself is outside
                if limit is not None:
                    name = exclusive if beyond else keyword
                    found.append(Bound(exact(limit, one.pointer), beyond, name, one.pointer))
                continue
            if limit is not None:
                found.append(Bound(exact(limit, one.pointer), False, keyword, one.pointer))
            if beyond is not None:
                found.append(Bound(exact(beyond, one.pointer), True, exclusive, one.pointer))
    return _between(
        max(lower, key=lambda bound: (bound.value, bound.is_exclusive), default=None),
        min(upper, key=lambda bound: (bound.value, not bound.is_exclusive), default=None),
    )


def count_bounds(plain: Plain, least: str, greatest: str) -> tuple[int, int | None]:
    """Find the strictest limits of a length or a count."""
    # The lower one is 0 where nothing is said.
    lower = max(_bounds(plain, least), default=None)
    upper = min(_bounds(plain, greatest), default=None)
    if lower is not None and lower.value > MAX_COUNT:
        raise SchemaTooLarge(f"{lower} passes the limit of {MAX_COUNT:,}", lower.pointer, hint="Ask for fewer.")
    _between(lower, upper)
    most = None if upper is None or upper.value >= _BEYOND else int(upper.value)
    return (0 if lower is None else int(lower.value), most)


def _bounds(plain: Plain, keyword: str) -> Iterable[Bound]:
    for one in plain:
        if keyword in one.schema:
            yield Bound(exact(one.schema[keyword], one.pointer), False, keyword, one.pointer)


def _between(lower: Bound | None, upper: Bound | None) -> tuple[Bound | None, Bound | None]:
    if lower is not None and upper is not None:
        if lower.value > upper.value:
            raise Contradiction(f"{lower} is above {upper}", upper.pointer)
        if lower.value == upper.value and (lower.is_exclusive or upper.is_exclusive):
            raise Contradiction(f"{lower} leaves nothing below {upper}", upper.pointer)
    return lower, upper


# ---- arrays ----------------------------------------------------------------------------------------------------------


class Contains(NamedTuple):
    """A demand on some items of an array: ``contains`` and its counts."""

    item: Conjunction
    minimum: int
    maximum: int | None  # the most; ``None``: any number
    otherwise: Conjunction  # what the other items are, where there is a most: none of them


@dataclass(frozen=True)
class ArrayLimits:
    """The demands on an array."""

    prefix: tuple[Conjunction, ...]  # what the first items are, one by one
    rest: Conjunction | None  # what the items behind them are; ``None``: there are none
    minimum: int
    maximum: int | None  # the most items; ``None``: any number
    contains: tuple[Contains, ...] = ()  # what some items must be, and how many: the fewest, and the most
    are_unique: bool = False

    def item(self, index: int) -> Conjunction | None:
        """Return what an item must satisfy; ``None``: there is none."""
        return self.prefix[index] if index < len(self.prefix) else self.rest


def array_limits(plain: Plain, draft: Draft) -> ArrayLimits:
    """Collect what the arrays of a branch must satisfy."""
    described = [_items_said(one, draft) for one in plain]
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
    """Return what one schema demands of some items; ``None`` if nothing."""
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


def _items_said(one: Subschema, draft: Draft) -> tuple[list[Conjunction], Conjunction]:
    """Return what one schema demands of the first items, one by one, and of those behind."""
    schema = one.schema
    listed, others = item_words(draft)
    if isinstance(schema.get(listed), list):
        prefix = [one.part(listed, index) for index in range(len(schema[listed]))]
        return prefix, one.part(others) if others in schema else ANYTHING
    return [], one.part("items") if "items" in schema else ANYTHING


# ---- objects ---------------------------------------------------------------------------------------------------------


class Property(NamedTuple):
    """A property that has a name."""

    name: str  # its name, not written
    value: Conjunction
    is_declared: bool  # whether a schema has it among its ``properties``; else it is only required
    is_required: bool


class Others(NamedTuple):
    """The properties whose names match some patterns and no others."""

    found: tuple[str, ...]
    not_found: tuple[str, ...]
    value: Conjunction


@dataclass(frozen=True)
class ObjectLimits:
    """The demands on an object."""

    # the properties that have names: the declared ones in the order of the schema, then the others
    properties: tuple[Property, ...]
    others: tuple[Others, ...]  # all other properties that there may be, by the patterns that are found in their names
    # whether the schema speaks of names in which no pattern is found. Where it does not, the options tell.
    says_additional: bool
    names: Conjunction = ANYTHING  # what all names are, as strings
    minimum: int = 0
    maximum: int | None = None  # the most; ``None``: any number
    wanted: tuple[Wanted, ...] = ()  # each of them is some member
    plain: Plain = field(default=(), compare=False)  # the branch that says all this

    def value(self, name: str) -> Conjunction:
        """Return what a property's value must satisfy."""
        known = next((one.value for one in self.properties if one.name == name), None)
        return _values(self.plain, (name,))[name] if known is None else known

    @cached_property
    def _hash(self) -> int:
        return hash((self.properties, self.others, self.names, self.minimum, self.maximum, self.wanted))

    def __hash__(self) -> int:
        return self._hash  # it is asked for often, and there may be hundreds of properties


def object_limits(plain: Plain, draft: Draft) -> ObjectLimits:
    """Collect what the objects of a branch must satisfy."""
    named: dict[str, None] = {}
    declared = set[str]()
    required: dict[str, Subschema] = {}
    names = ANYTHING
    for one in plain:
        named.update(dict.fromkeys(one.schema.get("properties", ())))
        if not one.is_made:
            declared |= named.keys()
        if isinstance(one.schema.get("required"), list):  # draft 03 had a boolean here
            for name in one.schema["required"]:
                required.setdefault(name, one)
        if one.says("propertyNames", draft):
            names = both(names, one.part("propertyNames"))
    _check_none_is_refused(plain, required)
    minimum, maximum = count_bounds(plain, "minProperties", "maxProperties")
    values = _values(plain, dict.fromkeys([*named, *required]))
    undeclared = {name: values[name] for name in required if name not in named}
    for name, value in undeclared.items():
        if any(one.schema is False for one in value):
            raise Contradiction(
                f"required {name!r} is not among the properties, and additionalProperties is false",
                required[name].pointer,
            )
    if maximum is not None and len(required) > maximum:
        pointer = next(one.pointer for one in plain if "maxProperties" in one.schema)
        raise Contradiction(f"required names more than maxProperties {maximum}", pointer)
    properties = [Property(name, values[name], name in declared, name in required) for name in named]
    properties += [Property(name, value, False, True) for name, value in undeclared.items()]
    says_additional = any("additionalProperties" in one.schema for one in plain)
    wanted = tuple(dict.fromkeys(each for one in plain for each in one.schema.get("-members", ())))
    if len(wanted) > MAX_WANTED:
        raise SchemaTooLarge(
            f"more than {MAX_WANTED} members must be what not says of them",
            plain[0].pointer,
            hint="Say what the members may be instead.",
        )
    return ObjectLimits(
        tuple(properties), tuple(_others(plain)), says_additional, names, minimum, maximum, wanted, plain
    )


def _check_none_is_refused(plain: Plain, required: Mapping[str, Subschema]) -> None:
    """Refuse an object that needs a property which must not be there: of such branches ``oneOf`` may make thousands."""
    for one in plain if required else ():
        for name, value in one.schema.get("properties", {}).items():
            if value is False and name in required:
                value_of = _values(plain, (name,))[name]
                raise Contradiction("", value_of[0].pointer)  # false needs no words


def may_be(wanted: Wanted, name: str) -> bool:
    """Tell whether a wanted member may have a name, the schemas of names aside."""
    return (
        name not in wanted.declared
        and all(is_found(pattern, name) for pattern in wanted.found)
        and not any(is_found(pattern, name) for pattern in wanted.not_found)
    )


def _others(plain: Plain) -> Iterator[Others]:
    """Yield the undeclared properties, by the patterns that match their names."""
    patterns = list(dict.fromkeys(pattern for one in plain for pattern in one.schema.get("patternProperties", ())))
    for found, not_found in _sorts(patterns, plain):
        value = ANYTHING
        for one in plain:
            value = both(value, _of_name(one, found))
        if not any(one.schema is False for one in value):
            yield Others(found, not_found, value)


def _sorts(patterns: Sequence[str], plain: Plain) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Divide names by the patterns that are found in them: yield these, and those that are not."""
    if len(patterns) <= FEW_PATTERNS:
        for is_in in product((True, False), repeat=len(patterns)):
            found = tuple(pattern for pattern, kept in zip(patterns, is_in, strict=True) if kept)
            yield found, tuple(pattern for pattern in patterns if pattern not in found)
        return
    # Of many patterns most are found in few names, and together in none.
    pointer = next(one.pointer for one in plain if "patternProperties" in one.schema)
    sorts: list[tuple[tuple[str, ...], tuple[str, ...], Dfa]] = [((), (), any_text())]
    for pattern in patterns:
        parts = [(found, not_found, divided(names, pattern)) for found, not_found, names in sorts]
        sorts = []
        for found, not_found, (having, lacking) in parts:
            sorts += [] if having.is_empty else [((*found, pattern), not_found, having)]
            sorts += [] if lacking.is_empty else [(found, (*not_found, pattern), lacking)]
        if len(sorts) > MAX_SORTS:
            raise SchemaTooLarge(
                f"the patterns of patternProperties divide names into more than {MAX_SORTS} sorts",
                pointer,
                hint="Join some of them.",
            )
    yield from ((found, not_found) for found, not_found, _ in sorts)


def _of_name(one: Subschema, found: Sequence[str]) -> Conjunction:
    """Return what one schema demands under an undeclared name that matches some patterns."""
    value, spoken = ANYTHING, False
    for pattern in one.schema.get("patternProperties", ()):
        if pattern in found:
            value, spoken = both(value, one.part("patternProperties", pattern)), True
    if not spoken and "additionalProperties" in one.schema:
        return one.part("additionalProperties")
    return value


def _values(plain: Plain, names: Iterable[str]) -> dict[str, Conjunction]:
    """Return what the values of some properties must satisfy."""
    values = dict.fromkeys(names, ANYTHING)
    for one in plain:
        speaks_of_all = "patternProperties" in one.schema or "additionalProperties" in one.schema
        for name in values if speaks_of_all else one.schema.get("properties", ()):
            if name in values:
                values[name] = both(values[name], _of_property(one, name))
    return values


def _of_property(one: Subschema, name: str) -> Conjunction:
    """Return what one schema demands of the value of a property."""
    found = [pattern for pattern in one.schema.get("patternProperties", ()) if is_found(pattern, name)]
    if name not in one.schema.get("properties", ()):
        return _of_name(one, found)
    value = one.part("properties", name)
    for pattern in found:
        value = both(value, one.part("patternProperties", pattern))
    return value
