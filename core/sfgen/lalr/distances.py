"""D(configuration): the fewest units from a configuration to the end of the text.

A configuration is a control of the lexer and a node of the parser's stacks. The way to the end is: the units until some
label can be committed, and what is *behind* it at the node. See ``sfgen.lalr.levels`` for the latter.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfgen.lalr.bounds import Bounds, Safety
from sfgen.lalr.explored import explored_safety
from sfgen.lalr.items import Items
from sfgen.lalr.levels import Levels
from sfgen.lalr.lexeme_costs import FAR as FAR
from sfgen.lalr.lexeme_costs import by_terminal, byte_costs, labels_of
from sfgen.lalr.lookaheads import has_conflicts
from sfgen.lalr.readings import Readings
from sfgen.lalr.stack import BOTTOM, Stacks
from sfgen.lalr.tables import NO_STATE, Lexer, ParseTables


class Distances:
    """The distances of the configurations of one lexer and one parser.

    They can be shared between threads.

    Args:
        tables: The tables of the parser.
        lexer: The lexer.
        stacks: The stacks of the parser.
        cost: The units from each control until each label can be committed, int32 ``[controls, labels + 1]``: 0 where
            it can be at once, ``FAR`` where it never can. The last column is the end of the text. ``None`` for bytes.
        usable: The bytes that may be used when ``cost`` is ``None``, bool ``[256]``; ``None`` for all.

    Attributes:
        labels: The terminals with their promises.
        cost: The units from each control to each label, as above.
    """

    def __init__(
        self,
        tables: ParseTables,
        lexer: Lexer,
        stacks: Stacks,
        cost: NDArray[np.int32] | None = None,
        usable: NDArray[np.bool_] | None = None,
    ) -> None:
        self.labels = labels_of(lexer)
        self.cost: NDArray[np.int32]
        if cost is None:
            self.cost = byte_costs(lexer, self.labels, usable)
        else:
            self.cost = np.minimum(cost, FAR).astype(np.int32)
        self._tables = tables
        self._lexer = lexer
        self._stacks = stacks
        self._items = Items(tables)
        self._readings = Readings(self._items, lexer, self.labels, self.cost, are_bytes=cost is None and usable is None)
        self._levels = Levels(self._items, self._readings, stacks)

    def behind(self, node: int) -> NDArray[np.int32]:
        """Return the fewest units behind each label committed at a node.

        Returns:
            int32 ``[labels + 1]``; ``FAR`` where the label is refused, or leads nowhere. The last one is 0 where the
            text may end.
        """
        return self._levels.array(self._levels.behind(node))

    def of(self, control: int, node: int) -> int:
        """Return the fewest units to the end of the text.

        It is ``FAR`` where there is no way.

        Args:
            control: Where the lexer stands.
            node: The parser's stack.
        """
        behind = self._levels.behind(node)
        least = int((self.cost[control] + self._levels.vectors[behind.number]).min())
        return FAR if least >= FAR else least + behind.added

    def of_many(self, controls: NDArray[np.int32], node: int) -> NDArray[np.int32]:
        """Return the fewest units to the end from several controls.

        Args:
            controls: Where the lexer may stand, int32.
            node: The parser's stack.

        Returns:
            int32 ``[len(controls)]``.
        """
        behind = self._levels.behind(node)
        least: NDArray[np.int32] = (self.cost[controls] + self._levels.vectors[behind.number]).min(axis=1)
        return np.where(least >= FAR, np.int32(FAR), least + np.int32(behind.added))

    def to_terminals(self, labels: NDArray[np.bool_] | None = None) -> NDArray[np.int32]:
        """Return the fewest units from each control to each terminal's end, whatever it promises.

        No other terminal may end before.

        Args:
            labels: The labels that count, bool ``[labels + 1]``; without, all do.

        Returns:
            int32 ``[controls, terminals]``; ``FAR`` where the control cannot come to the terminal. The last one is the
            end.
        """
        cost = self.cost if labels is None or labels.all() else np.where(labels, self.cost, np.int32(FAR))
        return by_terminal(cost, self._readings.terminals, len(self._tables.terminals))

    @cached_property
    def is_empty(self) -> bool:
        """Whether no text is complete."""
        start = self._lexer.starts[self._tables.context_of[self._tables.start], 0]
        return start == NO_STATE or self.of(int(start), BOTTOM) >= FAR

    @cached_property
    def _safety(self) -> Safety:
        most_first = int(self.cost[self.cost < FAR].max(initial=0))
        if has_conflicts(self._items):
            return explored_safety(self._items, self._readings, most_first)
        found = Bounds(self._items, self._readings).safety(most_first)
        if 2 * found.labels.sum() < len(found.labels):  # too little is known for a look at the levels to be dearer
            explored = explored_safety(self._items, self._readings, most_first)
            return max(explored, found, key=lambda safety: int(safety.labels.sum()))
        return found

    @property
    def safe(self) -> NDArray[np.bool_]:
        """The labels behind which everything is viable, bool ``[labels + 1]``.

        This holds wherever the parser takes them, so a configuration is viable whose control reaches a safe label that
        the parser takes. Where conflicts were resolved in a large grammar, only the end of the text is known to be
        safe.
        """
        return self._safety.labels

    @property
    def most_per_level(self) -> int | None:
        """The bound of a distance for each level of the stack.

        D is at most this times the depth of the node plus 1, where a safe label is reached and taken. It is ``None``
        where no bound is known.
        """
        return self._safety.most_per_level
