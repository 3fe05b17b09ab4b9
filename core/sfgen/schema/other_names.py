"""The names that properties without a declaration may have, as one automaton of their written forms."""

from __future__ import annotations

from functools import reduce
from operator import or_

from sfgen.automata import Dfa
from sfgen.ban import BannedWords
from sfgen.grammar.rules import Leaf
from sfgen.schema.branches import Branches
from sfgen.schema.conjunction import Conjunction, Plain, listed
from sfgen.schema.groups import Groups
from sfgen.schema.outline import Names
from sfgen.schema.scalars import one_form
from sfgen.schema.strings import StringLimits, is_clean
from sfgen.schema.written_text import any_text, no_text, written


class OtherNames:
    """Makes these automata for one document.

    Args:
        branches: The branches of the document.
        groups: The typed groups of the document.
        banned: What no name may contain.
    """

    def __init__(self, branches: Branches, groups: Groups, banned: BannedWords | None) -> None:
        self._branches = branches
        self._groups = groups
        self._banned = banned

    def of(self, content: Names) -> tuple[Leaf, bool]:
        """Build the leaf of some names in their written forms.

        Returns:
            The leaf, and whether no name of it has a banned word.

        Raises:
            SchemaError: A pattern cannot be read.
            SchemaTooLarge: The automaton passes a limit.
        """
        limits = StringLimits(
            patterns=content.found, others=content.declared, no_patterns=content.not_found, banned=self._banned
        )
        return Leaf(self._dfa(limits) & self._allowed(content.names)), is_clean(limits)

    def _allowed(self, names: Conjunction) -> Dfa:
        """The written forms of the strings that satisfy a conjunction."""
        if not names:
            return written(any_text())
        return reduce(or_, (self._of_branch(plain) for plain in self._branches.of(names)), no_text())

    def _of_branch(self, plain: Plain) -> Dfa:
        groups, _ = self._groups.of(plain)
        limits = next((group.limits for group in groups if group.type == "string"), None)
        if not isinstance(limits, StringLimits):
            return no_text()
        found = self._dfa(limits)
        values = listed(plain)
        if values is None:
            return found
        texts = [value for value in values if isinstance(value, str)]
        return found & written(Dfa.from_choices(texts)) if texts else no_text()

    def _dfa(self, limits: StringLimits) -> Dfa:
        leaf = one_form(limits)  # texts must differ, so that nothing else is counted beside them
        return no_text() if leaf is None else leaf.dfa
