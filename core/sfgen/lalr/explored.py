"""Which labels are safe, by looking at all levels that a parser's stacks may have, whatever its conflicts.

There are finitely many sets of vectors that are alike but for what is added to them in most grammars, and few. What the
parser takes is no part of a level, so nodes are told apart by that as well.
"""

from __future__ import annotations

import numpy as np

from sfgen.lalr.bounds import Safety, gaps_of
from sfgen.lalr.items import Items
from sfgen.lalr.levels import Level, Levels
from sfgen.lalr.lexeme_costs import FAR
from sfgen.lalr.readings import Readings
from sfgen.lalr.stack import BOTTOM, Stacks
from sfgen.lalr.tables import NO_STATE

MOST_NODES = 1_000
"""How many nodes are looked at before nothing is known."""


def explored_safety(items: Items, readings: Readings, most_first: int, most_nodes: int = MOST_NODES) -> Safety:
    """Find the safe labels and a bound.

    Args:
        items: The items.
        readings: The costs of readings.
        most_first: The most units until a first label can be committed.
        most_nodes: How many nodes are looked at before nothing is known.
    """
    tables = items.tables
    stacks = Stacks(tables)
    levels = Levels(items, readings, stacks)
    taken = _Taken(stacks, items)
    readable = np.zeros((len(tables.actions), len(readings.terminals)), dtype=np.bool_)
    for state, promise, _ in gaps_of(items, readings):
        readable[state] |= readings.reached(state, promise)
    pushes = [
        np.unique(np.concatenate([actions[actions > 0] - 1, gotos[gotos != NO_STATE]])).tolist()
        for actions, gotos in zip(tables.actions, tables.gotos, strict=True)
    ]
    safe = np.ones(len(readings.terminals), dtype=np.bool_)
    most_added, most_behind = 0, 0
    seen: set[tuple[Level, tuple[int, ...]]] = set()
    nodes = [BOTTOM]
    for node in nodes:  # it grows meanwhile
        if len(nodes) > most_nodes:
            safe[:-1] = False
            return Safety(safe, None)
        behind = levels.array(levels.behind(node))
        state, (_, added), bits = stacks.states[node], levels.of(node), taken.at(node)
        is_taken = np.array([bits >> terminal & 1 for terminal in readings.terminals.tolist()], dtype=np.bool_)
        safe &= ~(readable[state] & is_taken) | (behind < FAR)
        most_behind = max(most_behind, int(behind[behind < FAR].max(initial=added)) - added)
        for target in pushes[state]:
            above = stacks.push(target, node)
            level, added_above = levels.of(above)
            most_added = max(most_added, added_above - added)
            key = level, taken.behind_items(above)
            if key not in seen:
                seen.add(key)
                nodes.append(above)
    return Safety(safe, max(most_added, most_first + most_behind))


class _Taken:
    """The terminals that the parser takes at nodes, as the bits of integers."""

    def __init__(self, stacks: Stacks, items: Items) -> None:
        self._stacks = stacks
        self._items = items
        self._known = [np.flatnonzero(actions).tolist() for actions in items.tables.actions]
        self._found: dict[int, int] = {}

    def at(self, node: int) -> int:
        """At a node."""
        found = self._found.get(node)
        if found is None:
            after = self._stacks.after
            known = self._known[self._stacks.states[node]]
            found = sum([1 << terminal for terminal in known if after(node, terminal) != NO_STATE])
            self._found[node] = found
        return found

    def behind_items(self, node: int) -> tuple[int, ...]:
        """Once each item of a node has been read."""
        found = []
        for item in self._items.kernels[self._stacks.states[node]]:
            below = self._stacks.pop(node, item.read)
            nonterminal = self._items.tables.rules[item.rule].nonterminal
            state = self._items.after(self._stacks.states[below], -1 - nonterminal)
            found.append(self.at(self._stacks.push(state, below)))
        return tuple(found)
