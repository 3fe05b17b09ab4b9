"""A bound of all distances of a grammar, and whether its terminals can be told apart from the parser's view alone.

A grammar is *separable* when the lexer never takes away what the parser allows: at each gap that comes up, every
terminal that the state knows can be read, no conflict was resolved, and each nonterminal has a text. Then each item of
a state can be completed, whatever is below (the items of an LR(0) state are all valid). So a bound of the distance is:
complete the cheapest item of each state of the stack, each terminal at its dearest gap.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfgen.lalr.items import Item, Items
from sfgen.lalr.lexeme_costs import FAR
from sfgen.lalr.lookaheads import has_conflicts
from sfgen.lalr.readings import Readings
from sfgen.lalr.tables import NO_STATE


class Bounds:
    """What holds at every gap.

    Args:
        items: The items.
        readings: What the lexer can read at each gap.

    Attributes:
        is_separable: As above.
    """

    def __init__(self, items: Items, readings: Readings) -> None:
        self._items = items
        gaps = _gaps(items, readings)
        rows = np.array([readings.gap(*gap) for gap in gaps])
        dearest = _by_terminal(rows, readings.terminals, len(items.tables.terminals))
        known = items.tables.actions[[state for state, _ in gaps]] != 0
        is_readable = bool((dearest < FAR)[known].all())
        self._terminal_cost: list[int] = np.where(dearest < FAR, dearest, 0).max(axis=0).tolist()
        self._nonterminal_cost = self._find_nonterminal_costs()
        is_read = (items.tables.gotos != NO_STATE).any(axis=0).tolist()
        has_texts = all(cost < FAR for cost, is_one in zip(self._nonterminal_cost, is_read, strict=True) if is_one)
        self.is_separable = is_readable and has_texts and not has_conflicts(items)

    def most_per_level(self, most_first: int) -> int:
        """A bound of the units for each state on the stack, of a separable grammar.

        Args:
            most_first: The most units until a first label can be committed.
        """
        tables = self._items.tables
        most = most_first + self._terminal_cost[-1]
        for state in range(len(tables.actions)):
            pops = self._pops(state)
            most = max([most, *pops.values()])
            for target in np.unique(tables.actions[state][tables.actions[state] > 0] - 1).tolist():
                most = max(most, self._pop(target, pops))
        return most

    def _pops(self, state: int) -> dict[int, int]:
        """The most units from each nonterminal that was read in a state until that state is popped as well."""
        tables = self._items.tables
        targets = {int(n): int(tables.gotos[state, n]) for n in np.flatnonzero(tables.gotos[state] != NO_STATE)}
        found = {n: 0 if state == tables.start and target == tables.end else FAR for n, target in targets.items()}
        is_new = True
        while is_new:
            is_new = False
            for nonterminal, target in targets.items():
                cost = self._pop(target, found)
                if cost < found[nonterminal]:
                    found[nonterminal] = cost
                    is_new = True
        return found

    def _pop(self, target: int, pops: dict[int, int]) -> int:
        """The most units from a state on top until the state below is popped, which has these pops."""
        return min(
            [
                self._rest(item) + (pops[self._items.tables.rules[item.rule].nonterminal] if item.read == 1 else 0)
                for item in self._items.kernels[target]
            ],
            default=FAR,
        )

    def _rest(self, item: Item) -> int:
        return self._sum(self._items.tables.rules[item.rule].symbols[item.read :])

    def _sum(self, symbols: tuple[int, ...]) -> int:
        """The most units that the cheapest text of some symbols takes."""
        return sum(self._terminal_cost[s] if s >= 0 else self._nonterminal_cost[-1 - s] for s in symbols)

    def _find_nonterminal_costs(self) -> list[int]:
        self._nonterminal_cost = [FAR] * len(self._items.rules_of)
        while True:
            found = [
                min([FAR, *[self._sum(self._items.tables.rules[rule].symbols) for rule in rules]])
                for rules in self._items.rules_of
            ]
            if found == self._nonterminal_cost:
                return found
            self._nonterminal_cost = found


def _gaps(items: Items, readings: Readings) -> list[tuple[int, int]]:
    """The states that come up behind a terminal that was shifted, or at the beginning, and the promises there."""
    tables = items.tables
    targets = [np.unique(column[column > 0] - 1).tolist() for column in tables.actions.T]
    found = [(tables.start, 0)]
    seen_labels = np.zeros(len(readings.terminals), dtype=np.bool_)
    seen_labels[-1] = True
    for gap in found:  # it grows meanwhile
        labels = np.flatnonzero((readings.gap(*gap) < FAR) & ~seen_labels)
        seen_labels[labels] = True
        for label in labels.tolist():
            promise = readings.promises[label]
            found += [(state, promise) for state in targets[readings.terminals[label]]]
    return list(dict.fromkeys(found))


def _by_terminal(rows: NDArray[np.int32], terminals: NDArray[np.intp], count: int) -> NDArray[np.int32]:
    """The least units to some label of each terminal, int32 ``[gaps, terminals]``."""
    found = np.full((len(rows), count), FAR, dtype=np.int32)
    firsts = np.flatnonzero(np.diff(terminals, prepend=-1))
    found[:, terminals[firsts]] = np.minimum.reduceat(rows, firsts, axis=1)
    return found
