"""Decide whether a value satisfies a schema, and prove that a branch has no value.

The first is exact. The second is incomplete: it looks a few levels deep at required properties and items, one of which
without a value is enough. Without a proof, a branch is assumed to have a value.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias

from sfgen.errors import PatternError, SchemaError, SchemaTooLarge
from sfgen.grammar.network.rules import NOTHING
from sfgen.schema.meaning.conjunction import Conjunction, Plain, Union, listed
from sfgen.schema.meaning.groups import Group, Groups, error_at, scalar_expression
from sfgen.schema.meaning.limits import MAX_VALUE_DEPTH, ArrayLimits, ObjectLimits, may_be
from sfgen.schema.meaning.negation import CHECKED_SINCE
from sfgen.schema.reading.keywords import Draft, json_type
from sfgen.schema.reading.strict_json import as_decimal, key
from sfgen.schema.scalars.numbers import NumberLimits, has_all_multiples
from sfgen.schema.scalars.strings import StringLimits, is_impossible

_DEEPEST = 6  # levels of required properties and items in a proof

Unions: TypeAlias = Callable[[Conjunction], Union]
"""A function that returns the branches of a conjunction."""


class UndecidedError(Exception):
    """Raised where the branches are unknown: some cannot be expressed, or they are needed for their own computation."""


class Satisfaction:
    """Decides exactly whether a value satisfies schemas of a document, whatever the writing options are."""

    def __init__(self, unions: Unions, groups: Groups) -> None:
        self._unions = unions
        self._groups = groups
        self._keys: dict[Plain, frozenset[Any] | None] = {}

    def of(self, value: Any, conjunction: Conjunction, depth: int = 0) -> bool:
        """Return whether a value satisfies a conjunction."""
        if not conjunction:
            return True
        return any(self.of_branch(value, plain, depth) for plain in self._unions(conjunction))

    def of_branch(self, value: Any, plain: Plain, depth: int = 0) -> bool:
        """Return whether a value satisfies one branch."""
        if plain not in self._keys:
            values = listed(plain)
            self._keys[plain] = None if values is None else frozenset(map(key, values))
        keys = self._keys[plain]
        return (keys is None or key(value) in keys) and self.beside_values(value, plain, depth)

    def beside_values(self, value: Any, plain: Plain, depth: int = 0) -> bool:
        """Return whether a value satisfies a branch without its enums and constants."""
        if depth > MAX_VALUE_DEPTH:
            raise SchemaTooLarge(
                f"a value of enum or const is nested more than {MAX_VALUE_DEPTH} deep",
                plain[0].pointer if plain else None,
                hint="Describe it with properties and items.",
            )
        groups, _ = self._groups.of(plain)
        kind = json_type(value)
        limits = [group.limits for group in groups if group.type == kind]
        try:
            return bool(limits) and self._satisfies(value, limits[0], depth)
        except PatternError as error:
            raise error_at(error, plain[0].pointer) from None

    def _satisfies(self, value: Any, limits: object, depth: int) -> bool:
        match limits:
            case NumberLimits():
                return limits.accepts(as_decimal(value))
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
                for wanted in limits.wanted:
                    if not any(
                        may_be(wanted, name)
                        and self.of(name, wanted.names, depth + 1)
                        and self.of(member, wanted.value, depth + 1)
                        for name, member in value.items()
                    ):
                        return False
                members = [(member, limits.value(name)) for name, member in value.items()]
                return all(self.of(member, found, depth + 1) for member, found in members)
            case _:
                return True


class Emptiness:
    """Proves that branches of a document have no value, from complete unions. Not thread-safe."""

    def __init__(self, unions: Unions, groups: Groups, draft: Draft) -> None:
        self._draft = draft
        self._unions = unions
        self._groups = groups
        self._satisfaction = Satisfaction(unions, groups)
        self._decided: dict[Plain, bool] = {}
        self._empty: set[tuple[Conjunction, int]] = set()
        """The conjunctions without a value, with the depth of the proof."""
        self._unproved: set[tuple[Conjunction, int]] = set()
        """The conjunctions for which the current proof found nothing."""

    def has_decided(self, plain: Plain) -> bool:
        """Return whether a branch is in the cache."""
        return plain in self._decided

    def proves(self, plain: Plain) -> bool:
        """Return whether a branch provably has no value."""
        found = self._decided.get(plain)
        if found is None:
            self._unproved.clear()
            found = self._decided[plain] = self._is_known(plain, 0)
        return found

    def _is_known(self, plain: Plain, depth: int) -> bool:
        try:
            values = listed(plain)
            if values is not None:
                return not any(self._satisfaction.beside_values(value, plain) for value in values)
            groups, _ = self._groups.of(plain)
            return all(self._has_none(group, depth) for group in groups)
        except (SchemaError, PatternError, UndecidedError):
            return False

    def _has_none(self, group: Group, depth: int) -> bool:
        match group.limits:
            case ObjectLimits(properties=properties):
                return any(one.is_required and self._is_empty(one.value, depth + 1) for one in properties)
            case ArrayLimits(minimum=minimum) as limits:
                items = [limits.item(index) for index in range(min(minimum, len(limits.prefix) + 1))]
                return any(item is None or self._is_empty(item, depth + 1) for item in items)
            case StringLimits(formats=formats) as limits:
                # The automata of formats and negated patterns are too small: a value may be among the missing texts.
                known = [name for name in formats if name in CHECKED_SINCE and self._draft >= CHECKED_SINCE[name]]
                wider = replace(limits, formats=(), at_most=tuple(known), no_patterns=(), no_formats=())
                return is_impossible(wider)
            case NumberLimits() as limits:
                return scalar_expression(group, "") == NOTHING and has_all_multiples(limits)
            case _:
                return False

    def _is_empty(self, conjunction: Conjunction, depth: int) -> bool:
        if not conjunction or depth > _DEEPEST:
            return False
        question = conjunction, depth
        if question in self._empty or question in self._unproved:
            return question in self._empty
        try:
            is_empty = all(self._is_known(plain, depth) for plain in self._unions(conjunction))
        except (SchemaError, UndecidedError):
            is_empty = False
        (self._empty if is_empty else self._unproved).add(question)
        return is_empty
