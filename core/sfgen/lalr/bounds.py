"""Which labels are safe in a grammar without conflicts, and a bound of its distances.

A label is *safe* when all is viable behind it wherever the parser takes it. A gap is good when for every terminal that
its state knows some safe label can be read there, and a label is safe when all gaps behind it are good: this is the
largest such set, if each nonterminal has a text. For then each item of the state behind a safe label can be completed
by safe labels, whatever is below (the items of an LR(0) state are all valid). So a bound of the distance is: complete
the cheapest item of each state of the stack, each terminal at its dearest good gap.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfgen.lalr.items import Item, Items
from sfgen.lalr.lexeme_costs import FAR, by_terminal
from sfgen.lalr.readings import Readings
from sfgen.lalr.tables import NO_STATE


class Safety(NamedTuple):
    """What is known without looking at a stack.

    Attributes:
        labels: The labels that are safe, bool ``[labels + 1]``.
        most_per_level: D is at most this times the depth of the node plus 1 where a safe label is reached that the
            parser takes; ``None`` where no bound is known.
    """

    labels: NDArray[np.bool_]
    most_per_level: int | None


class Bounds:
    """What holds at every gap of a grammar without conflicts.

    Args:
        items: The items.
        readings: What the lexer can read at each gap.
    """

    def __init__(self, items: Items, readings: Readings) -> None:
        self._items = items
        self._rests: dict[Item, int] = {}
        tables = items.tables
        gaps = gaps_of(items, readings)
        rows = np.array([readings.gap(state, promise) for state, promise, _ in gaps])
        known = tables.actions[[state for state, _, _ in gaps]] != 0
        behind = np.array([label for _, _, label in gaps])  # the end, of which nothing is behind, for the first gap
        self._safe = np.ones(len(readings.terminals), dtype=np.bool_)
        while True:
            usable = np.where(self._safe, rows, np.int32(FAR))
            dearest = by_terminal(usable, readings.terminals, len(tables.terminals))
            is_good = ((dearest < FAR) | ~known).all(axis=1)
            unsafe = behind[~is_good]
            unsafe = unsafe[unsafe < len(self._safe) - 1]
            if not self._safe[unsafe].any():
                break
            self._safe[unsafe] = False
        dearest = dearest[is_good]
        self._terminal_cost: list[int] = np.where(dearest < FAR, dearest, 0).max(axis=0, initial=0).tolist()
        self._nonterminal_cost = self._find_nonterminal_costs()
        is_read = (tables.gotos != NO_STATE).any(axis=0).tolist()
        self._has_texts = all(
            cost < FAR for cost, is_one in zip(self._nonterminal_cost, is_read, strict=True) if is_one
        )

    def safety(self, most_first: int) -> Safety:
        """Determine the safe labels, and a bound of the distances.

        Args:
            most_first: The most units until a first label can be committed.
        """
        if not self._has_texts:
            safe = np.zeros_like(self._safe)
            safe[-1] = True
            return Safety(safe, None)
        return Safety(self._safe, self._most_per_level(most_first))

    def _most_per_level(self, most_first: int) -> int:
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
        """The most units that the cheapest rest of an item takes."""
        found = self._rests.get(item)
        if found is None:
            found = self._rests[item] = self._sum(self._items.tables.rules[item.rule].symbols[item.read :])
        return found

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


def gaps_of(items: Items, readings: Readings) -> list[tuple[int, int, int]]:
    """List the gaps that come up: state, promise, and label before.

    The label before the first gap is the end of the text.

    Args:
        items: The items of the parser's states.
        readings: The costs of their rests.
    """
    tables = items.tables
    targets = [np.unique(column[column > 0] - 1).tolist() for column in np.ascontiguousarray(tables.actions.T)]
    end = len(readings.terminals) - 1
    found = [(tables.start, 0, end)]
    seen_labels = np.zeros(end + 1, dtype=np.bool_)
    seen_labels[-1] = True
    for state, promise, _ in found:  # it grows meanwhile
        labels = np.flatnonzero(readings.reached(state, promise) & ~seen_labels)
        seen_labels[labels] = True
        for label in labels.tolist():
            found += [(target, readings.promises[label], label) for target in targets[readings.terminals[label]]]
    return found
