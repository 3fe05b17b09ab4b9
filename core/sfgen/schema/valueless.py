"""Whether a branch has no value at all, so that two schemas have none in common.

It is looked for as deep as some levels of what must be there: a required property whose values contradict each other
is enough. What is not proved is taken to have a value.
"""

from __future__ import annotations

from dataclasses import replace

from sfgen.errors import SchemaError
from sfgen.grammar.rules import NOTHING
from sfgen.schema.arrays import ArrayLimits
from sfgen.schema.branches import Branches, UndecidedError
from sfgen.schema.conjunction import Conjunction, Plain, listed
from sfgen.schema.formats import CHECKED_SINCE
from sfgen.schema.groups import Group, Groups
from sfgen.schema.keywords import Draft
from sfgen.schema.literals import Satisfaction
from sfgen.schema.numbers import NumberLimits
from sfgen.schema.objects import ObjectLimits
from sfgen.schema.scalars import scalar_expression
from sfgen.schema.strings import StringLimits

_DEEPEST = 6


class Valueless:
    """Decides whether branches of a document have no value.

    It is not to be shared between threads.

    Args:
        branches: The branches of the document.
        groups: The typed groups of the document.
        satisfaction: Whether values satisfy its schemas.
        draft: The draft of the document.
    """

    def __init__(self, branches: Branches, groups: Groups, satisfaction: Satisfaction, draft: Draft) -> None:
        self._draft = draft
        self._branches = branches
        self._groups = groups
        self._satisfaction = satisfaction
        self._known: dict[Plain, bool] = {}

    def proves(self, plain: Plain) -> bool:
        """Tell whether a branch is known to have no value."""
        found = self._known.get(plain)
        if found is None:
            found = self._known[plain] = self._is_known(plain, 0)
        return found

    def _is_known(self, plain: Plain, depth: int) -> bool:
        before = self._branches.losses
        return self._seems(plain, depth) and self._branches.losses == before

    def _seems(self, plain: Plain, depth: int) -> bool:
        """Whether no value of a branch is found; there may be some where branches lack values."""
        try:
            values = listed(plain)
            if values is not None:
                return not any(self._satisfaction.beside_values(value, plain) for value in values)
            groups, _ = self._groups.of(plain)
            return all(self._has_none(group, depth) for group in groups)
        except (SchemaError, UndecidedError):
            return False

    def _has_none(self, group: Group, depth: int) -> bool:
        match group.limits:
            case ObjectLimits(properties=properties):
                return any(one.is_required and self._is_empty(one.value, depth + 1) for one in properties)
            case ArrayLimits(minimum=minimum) as limits:
                items = [limits.item(index) for index in range(min(minimum, len(limits.prefix) + 1))]
                return any(item is None or self._is_empty(item, depth + 1) for item in items)
            case StringLimits(formats=formats) as limits:
                # Automata of formats and of what is not found are too small; what they leave out may be the value.
                known = [name for name in formats if name in CHECKED_SINCE and self._draft >= CHECKED_SINCE[name]]
                wider = replace(limits, formats=(), at_most=tuple(known), no_patterns=(), no_formats=())
                return scalar_expression(replace(group, limits=wider), "") == NOTHING
            case NumberLimits():
                return scalar_expression(group, "") == NOTHING
            case _:
                return False

    def _is_empty(self, found: Conjunction, depth: int) -> bool:
        if not found or depth > _DEEPEST:
            return False
        try:
            return all(self._is_known(plain, depth) for plain in self._branches.of(found))
        except (SchemaError, UndecidedError):
            return False
