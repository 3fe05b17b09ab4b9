"""The limits of numbers, counts, arrays and objects in a branch: the intersection of the limits of its schemas."""

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
"""The most digits before or after the point of a number in a schema."""

MAX_COUNT = 1_000_000
"""The highest lower limit of a count: characters of a string, items of an array."""

MAX_PREFIX = 1_000
"""The most items that a schema may describe one by one."""

FEW_PATTERNS = 6
"""The most patterns of ``patternProperties`` of which all subsets are listed, without a test of their intersection."""

MAX_SORTS = 128
"""The most sorts of names of one object: sets of names that match the same patterns."""

MAX_WANTED = 4
"""The most wanted members of one object; see :class:`~.negation.Wanted`."""

MAX_VALUE_DEPTH = 60
"""The deepest nesting of arrays and objects in a value of ``enum`` or ``const``."""

_BEYOND = 2**31 - 2
"""An upper limit of at least this is ignored: no text is so long, and registers do not count so far."""


class Contradiction(Exception):
    """Raised where no value can satisfy a schema; it is an error only if the value is required."""

    def __init__(self, reason: str, pointer: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.pointer = pointer


class Bound(NamedTuple):
    """A lower or upper limit of a number or count, with its keyword."""

    value: Fraction
    is_exclusive: bool
    keyword: str
    pointer: str

    def __str__(self) -> str:
        return f"{self.keyword} {shown_number(self.value)}"


def exact(number: Any, pointer: str) -> Fraction:
    """Convert a number of a schema to a fraction without rounding.

    A float counts as the decimal that ``repr`` shows.

    >>> exact(0.1, "") == Fraction(1, 10)
    True
    """
    decimal = number if isinstance(number, Decimal) else Decimal(repr(number))
    if decimal and abs(decimal.adjusted()) > MAX_EXPONENT:
        raise SchemaTooLarge(
            f"a number passes the limit of {MAX_EXPONENT} digits", pointer, hint="Use a smaller number, or none."
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
    """Find the strictest limits of a length or a count; the lower one is 0 by default."""
    lower = max(_bounds(plain, least), default=None)
    upper = min(_bounds(plain, greatest), default=None)
    if lower is not None and lower.value > MAX_COUNT:
        raise SchemaTooLarge(f"{lower} passes the limit of {MAX_COUNT:,}", lower.pointer, hint="Require fewer.")
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
    """The keyword ``contains`` and its counts."""

    item: Conjunction
    minimum: int
    maximum: int | None  # the most; ``None``: any number
    otherwise: Conjunction  # the schema of all other items: the negation of ``item`` if there is a maximum


@dataclass(frozen=True)
class ArrayLimits:
    """The limits of an array."""

    prefix: tuple[Conjunction, ...]  # the schemas of the first items, one by one
    rest: Conjunction | None  # the schema of the items after them; ``None``: there are none
    minimum: int
    maximum: int | None  # the most items; ``None``: any number
    contains: tuple[Contains, ...] = ()
    are_unique: bool = False

    def item(self, index: int) -> Conjunction | None:
        """Return the schema of an item; ``None``: there is no such item."""
        return self.prefix[index] if index < len(self.prefix) else self.rest


def array_limits(plain: Plain, draft: Draft) -> ArrayLimits:
    """Intersect the limits of arrays of a branch's schemas."""
    described = [_items_of(one, draft) for one in plain]
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
        raise Contradiction(f"minItems {minimum} is above the {len(prefix)} items that are allowed", pointer)
    most = len(prefix) if is_closed else maximum
    are_unique = any(one.schema.get("uniqueItems") is True for one in plain) and (most is None or most > 1)
    contains = tuple(found for one in plain if (found := _contains(one, draft)) is not None)
    return ArrayLimits(tuple(prefix), None if is_closed else rest, minimum, most, contains, are_unique)


def _contains(one: Subschema, draft: Draft) -> Contains | None:
    """Return the ``contains`` of one schema; ``None`` if it has none or it has no effect."""
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


def _items_of(one: Subschema, draft: Draft) -> tuple[list[Conjunction], Conjunction]:
    """Return one schema's conjunctions for the first items, one by one, and for the items after them."""
    schema = one.schema
    listed, others = item_words(draft)
    if isinstance(schema.get(listed), list):
        prefix = [one.part(listed, index) for index in range(len(schema[listed]))]
        return prefix, one.part(others) if others in schema else ANYTHING
    return [], one.part("items") if "items" in schema else ANYTHING


# ---- objects ---------------------------------------------------------------------------------------------------------


class Property(NamedTuple):
    """A property with a known name."""

    name: str  # the name itself, not its JSON
    value: Conjunction
    is_declared: bool  # whether it is in the ``properties`` of a schema; else it is only required
    is_required: bool


class Others(NamedTuple):
    """The undeclared properties whose names match some patterns and no others."""

    found: tuple[str, ...]
    not_found: tuple[str, ...]
    value: Conjunction


@dataclass(frozen=True)
class ObjectLimits:
    """The limits of an object."""

    # the properties with known names: the declared ones in the order of the schema, then the required ones
    properties: tuple[Property, ...]
    others: tuple[Others, ...]  # the allowed undeclared properties, by the patterns that match their names
    # whether the schema has ``additionalProperties``; if not, the options decide whether there may be such properties
    says_additional: bool
    names: Conjunction = ANYTHING  # the schemas of all names, as strings
    minimum: int = 0
    maximum: int | None = None  # the most; ``None``: any number
    wanted: tuple[Wanted, ...] = ()  # members that the object must have
    plain: Plain = field(default=(), compare=False)  # the branch with these limits

    def value(self, name: str) -> Conjunction:
        """Return the conjunction of a property's value."""
        known = next((one.value for one in self.properties if one.name == name), None)
        return _values(self.plain, (name,))[name] if known is None else known

    @cached_property
    def _hash(self) -> int:
        return hash((self.properties, self.others, self.names, self.minimum, self.maximum, self.wanted))

    def __hash__(self) -> int:
        return self._hash  # cached, as it is used often and there may be hundreds of properties


def object_limits(plain: Plain, draft: Draft) -> ObjectLimits:
    """Intersect the limits of objects of a branch's schemas."""
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
        raise Contradiction(f"required lists more names than maxProperties {maximum}", pointer)
    properties = [Property(name, values[name], name in declared, name in required) for name in named]
    properties += [Property(name, value, False, True) for name, value in undeclared.items()]
    says_additional = any("additionalProperties" in one.schema for one in plain)
    wanted = tuple(dict.fromkeys(each for one in plain for each in one.schema.get("-members", ())))
    if len(wanted) > MAX_WANTED:
        raise SchemaTooLarge(
            f"not requires more than {MAX_WANTED} properties without fixed names",
            plain[0].pointer,
            hint="Describe the allowed properties instead.",
        )
    return ObjectLimits(
        tuple(properties), tuple(_others(plain)), says_additional, names, minimum, maximum, wanted, plain
    )


def _check_none_is_refused(plain: Plain, required: Mapping[str, Subschema]) -> None:
    """Refuse an object whose required property is ``false``, quickly: ``oneOf`` may make thousands of such branches."""
    for one in plain if required else ():
        for name, value in one.schema.get("properties", {}).items():
            if value is False and name in required:
                value_of = _values(plain, (name,))[name]
                raise Contradiction("", value_of[0].pointer)  # false needs no explanation


def may_be(wanted: Wanted, name: str) -> bool:
    """Return whether a wanted member may have a name; its schemas of names are not checked."""
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
    """Divide names by the patterns that match them: yield the matching and the other patterns of each sort."""
    if len(patterns) <= FEW_PATTERNS:
        for is_in in product((True, False), repeat=len(patterns)):
            found = tuple(pattern for pattern, kept in zip(patterns, is_in, strict=True) if kept)
            yield found, tuple(pattern for pattern in patterns if pattern not in found)
        return
    # Most pairs of many patterns match no common name, so empty intersections are dropped.
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
    """Return one schema's conjunction for an undeclared name that matches some patterns."""
    value, is_matched = ANYTHING, False
    for pattern in one.schema.get("patternProperties", ()):
        if pattern in found:
            value, is_matched = both(value, one.part("patternProperties", pattern)), True
    if not is_matched and "additionalProperties" in one.schema:
        return one.part("additionalProperties")
    return value


def _values(plain: Plain, names: Iterable[str]) -> dict[str, Conjunction]:
    """Return the conjunctions of the values of some properties."""
    values = dict.fromkeys(names, ANYTHING)
    for one in plain:
        has_other_names = "patternProperties" in one.schema or "additionalProperties" in one.schema
        for name in values if has_other_names else one.schema.get("properties", ()):
            if name in values:
                values[name] = both(values[name], _of_property(one, name))
    return values


def _of_property(one: Subschema, name: str) -> Conjunction:
    """Return one schema's conjunction for the value of a property."""
    found = [pattern for pattern in one.schema.get("patternProperties", ()) if is_found(pattern, name)]
    if name not in one.schema.get("properties", ()):
        return _of_name(one, found)
    value = one.part("properties", name)
    for pattern in found:
        value = both(value, one.part("patternProperties", pattern))
    return value
