"""``enum`` and ``const``: which of the values satisfy what stands beside them, and how they are written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from typing import Any

from sfgen.automata import Dfa
from sfgen.errors import PatternError, SchemaTooLarge, UsageError
from sfgen.grammar.rules import NOTHING, Alternation, Expression, Leaf, Literal
from sfgen.schema.arrays import ArrayLimits
from sfgen.schema.branches import Branches
from sfgen.schema.conjunction import Conjunction, Plain, listed
from sfgen.schema.enforced import type_of
from sfgen.schema.groups import Groups
from sfgen.schema.layout import Layout, joined
from sfgen.schema.numbers import NumberLimits
from sfgen.schema.objects import ObjectLimits
from sfgen.schema.scalars import at
from sfgen.schema.strict_json import key
from sfgen.schema.strings import StringLimits
from sfgen.schema.written_text import write

MAX_DEPTH = 60
"""How deep arrays and objects may stand in each other in a value that a schema names."""

MAX_BYTES = 300_000
"""The most bytes of the values of one ``enum``."""

_MOST_DIGITS = 30  # of an integer that is written out
_COPIED = 64  # bytes of values that stand in the rule as they are; more are an automaton


class Satisfaction:
    """Decides exactly whether a value satisfies schemas of a document.

    The writing options make no difference.

    Args:
        branches: The branches of the document.
        groups: The typed groups of the document.
    """

    def __init__(self, branches: Branches, groups: Groups) -> None:
        self._branches = branches
        self._groups = groups
        self._keys: dict[Plain, frozenset[Any] | None] = {}

    def of(self, value: Any, found: Conjunction, depth: int = 0) -> bool:
        """Tell whether a value satisfies a conjunction.

        Args:
            value: As the reader of JSON gives it.
            found: The conjunction.
            depth: How deep the value is nested in the one that was asked for.
        """
        if not found:
            return True
        return any(self.of_branch(value, plain, depth) for plain in self._branches.of(found))

    def of_branch(self, value: Any, plain: Plain, depth: int = 0) -> bool:
        """Tell whether a value satisfies one branch.

        Args:
            value: As the reader of JSON gives it.
            plain: The branch.
            depth: How deep the value is nested in the one that was asked for.
        """
        if plain not in self._keys:
            values = listed(plain)
            self._keys[plain] = None if values is None else frozenset(map(key, values))
        keys = self._keys[plain]
        return (keys is None or key(value) in keys) and self.beside_values(value, plain, depth)

    def beside_values(self, value: Any, plain: Plain, depth: int = 0) -> bool:
        """Tell whether a value satisfies a branch without its enums and constants.

        Args:
            value: As the reader of JSON gives it.
            plain: The branch.
            depth: How deep the value is nested in the one that was asked for.

        Raises:
            SchemaTooLarge: The value is nested too deep.
        """
        if depth > MAX_DEPTH:
            raise SchemaTooLarge(
                f"a value of enum or const is nested more than {MAX_DEPTH} deep",
                plain[0].pointer if plain else None,
                hint="Describe it with properties and items.",
            )
        groups, _ = self._groups.of(plain)
        kind = type_of(value)
        limits = [group.limits for group in groups if group.type == kind]
        try:
            return bool(limits) and self._satisfies(value, limits[0], depth)
        except PatternError as error:
            raise at(error, plain[0].pointer) from None

    def _satisfies(self, value: Any, limits: object, depth: int) -> bool:
        match limits:
            case NumberLimits():
                return limits.accepts(exact(value))
            case StringLimits():
                return limits.accepts(value)
            case ArrayLimits(minimum=minimum, maximum=maximum):
                if len(value) < minimum or (maximum is not None and len(value) > maximum):
                    return False
                if limits.are_unique and len(set(map(key, value))) < len(value):
                    return False
                for one in limits.contains:
                    count = sum(self.of(item, one.item, depth + 1) for item in value)
                    if count < one.minimum or (one.maximum is not None and count > one.maximum):
                        return False
                items = [(item, limits.item(index)) for index, item in enumerate(value)]
                return all(found is not None and self.of(item, found, depth + 1) for item, found in items)
            case ObjectLimits(minimum=minimum, maximum=maximum):
                if len(value) < minimum or (maximum is not None and len(value) > maximum):
                    return False
                if any(one.is_required and one.name not in value for one in limits.properties):
                    return False
                if not all(self.of(name, limits.names, depth + 1) for name in value):
                    return False
                members = [(member, limits.value(name)) for name, member in value.items()]
                return all(found is not None and self.of(member, found, depth + 1) for member, found in members)
            case _:
                return True


def values_expression(
    values: Sequence[Any], layout: Layout, depth: int, pointer: str, number: Callable[[Any], bytes] | None = None
) -> Expression:
    """Build the expression of some values.

    Each has one written form where the white space is fixed.

    Args:
        values: The values.
        layout: The white space.
        depth: The depth at which they begin.
        pointer: Where they stand, for messages.
        number: Writes numbers; ``None``: :func:`written_number`.

    Raises:
        SchemaTooLarge: They are too long together.
    """
    texts: dict[bytes, None] = {}
    others: list[Expression] = []
    size = 0
    for value in values:
        expression = joined(*_pieces(value, layout, depth, number or written_number))
        if isinstance(expression, Literal):
            size += len(expression.data)
            texts[expression.data] = None
        else:
            size += sum(len(part.data) for part in getattr(expression, "parts", ()) if isinstance(part, Literal))
            others.append(expression)
        if size > MAX_BYTES:
            raise SchemaTooLarge(
                f"the values of enum pass the limit of {MAX_BYTES:,} bytes", pointer, hint="Name fewer, or use pattern."
            )
    if size > _COPIED and len(texts) > 1:
        try:
            automaton: Expression = Leaf(Dfa.from_choices([text.decode() for text in texts]))
        except UsageError as error:
            raise SchemaTooLarge(f"enum: {error.message}", pointer, hint=error.hint) from None
        return automaton if not others else Alternation((automaton, *others))
    branches = (*map(Literal, texts), *others)
    return branches[0] if len(branches) == 1 else Alternation(branches) if branches else NOTHING


def as_integer(value: Any) -> Any:
    """Convert a number without a fraction to ``int``; keep other values.

    >>> as_integer(Decimal("1.0")), as_integer(Decimal("1.5"))
    (1, Decimal('1.5'))
    """
    if type_of(value) != "number" or isinstance(value, int):
        return value
    number = exact(value)
    return int(number) if number == number.to_integral_value() and number.adjusted() < _MOST_DIGITS else value


def written_number(value: Any) -> bytes:
    """Write a number as ``json.dumps`` does, exactly.

    >>> written_number(Decimal("1.50")), written_number(10**20), written_number(Decimal("0.1000000000000000000001"))
    (b'1.5', b'100000000000000000000', b'0.1000000000000000000001')
    """
    if isinstance(value, int):
        return str(value).encode()
    number = exact(value)
    nearest = repr(float(number))
    is_same = "inf" not in nearest and Decimal(nearest) == number
    return (nearest if is_same else str(number)).encode()


def exact(value: Any) -> Decimal:
    """Convert a number of a schema to ``Decimal`` without rounding."""
    return value if isinstance(value, Decimal) else Decimal(repr(value)) if isinstance(value, float) else Decimal(value)


def _pieces(
    value: Any, layout: Layout, depth: int, number: Callable[[Any], bytes], nested: int = 0
) -> Iterator[Expression]:
    """The expressions, one after the other, that write a value."""
    if nested > MAX_DEPTH:
        raise SchemaTooLarge(f"a value of enum or const is nested more than {MAX_DEPTH} deep", hint="Use properties.")
    if isinstance(value, str):
        yield Literal(write(value))
    elif value is None or isinstance(value, bool):
        yield Literal({None: b"null", True: b"true", False: b"false"}[value])
    elif not isinstance(value, list | dict):
        yield Literal(number(value))
    elif not value:
        yield Literal(b"[]" if isinstance(value, list) else b"{}")
    else:
        opening, closing = (b"[", b"]") if isinstance(value, list) else (b"{", b"}")
        below = layout.depth_below(depth)
        yield Literal(layout.opening(opening, depth))
        for index, item in enumerate(value):
            if index:
                yield layout.comma(depth)
            if isinstance(value, dict):
                yield layout.name(write(item))
                item = value[item]
            yield from _pieces(item, layout, below, number, nested + 1)
        yield Literal(layout.closing(closing, depth))
