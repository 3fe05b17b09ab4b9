"""D(configuration): the fewest units from a configuration to the end of the text.

A configuration is a lexer state of the lexer and a node of the parser's stacks. The way to the end is: the units until
some label can be committed, and what is *behind* it at the node. See ``sfgen.lalr.costs`` for the latter.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfgen.lalr.costs import FAR as FAR
from sfgen.lalr.costs import NodeClass, NodeCosts, Readings, by_terminal, byte_costs, labels_of
from sfgen.lalr.items import Item, Items, has_conflicts
from sfgen.lalr.stack import BOTTOM, Stacks
from sfgen.lalr.tables import NO_STATE, Lexer, ParseTables


class Distances:
    """The distances of the configurations of one lexer and one parser.

    They can be shared between threads.

    Attributes:
        labels: The terminals with their obligations.
        cost: The units from each lexer state to each label, as above.
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
        self._node_costs = NodeCosts(self._items, self._readings, stacks)

    def behind(self, node: int) -> NDArray[np.int32]:
        """Return the fewest units behind each label committed at a node."""
        return self._node_costs.array(self._node_costs.behind(node))

    def of(self, lexer_state: int, node: int) -> int:
        """Return the fewest units to the end of the text.

        It is ``FAR`` where there is no way.
        """
        behind = self._node_costs.behind(node)
        least = int((self.cost[lexer_state] + self._node_costs.vectors[behind.number]).min())
        return FAR if least >= FAR else least + behind.added

    def of_many(self, lexer_states: NDArray[np.int32], node: int) -> NDArray[np.int32]:
        """Return the fewest units to the end from several lexer states."""
        behind = self._node_costs.behind(node)
        least: NDArray[np.int32] = (self.cost[lexer_states] + self._node_costs.vectors[behind.number]).min(axis=1)
        return np.where(least >= FAR, np.int32(FAR), least + np.int32(behind.added))

    def to_terminals(self, labels: NDArray[np.bool_] | None = None) -> NDArray[np.int32]:
        """Return the fewest units from each lexer state to each terminal's end, whatever it obligations.

        No other terminal may end before.
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

        This holds wherever the parser takes them, so a configuration is viable whose lexer state reaches a safe label
        that the parser takes. Where conflicts were resolved in a large grammar, only the end of the text is known to be
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
    """What holds at every gap of a grammar without conflicts."""

    def __init__(self, items: Items, readings: Readings) -> None:
        self._items = items
        self._rests: dict[Item, int] = {}
        tables = items.tables
        gaps = gaps_of(items, readings)
        rows = np.array([readings.gap(state, obligation) for state, obligation, _ in gaps])
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
        """Determine the safe labels, and a bound of the distances."""
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
    """List the gaps that come up: state, obligation, and label before.

    The label before the first gap is the end of the text.
    """
    tables = items.tables
    targets = [np.unique(column[column > 0] - 1).tolist() for column in np.ascontiguousarray(tables.actions.T)]
    end = len(readings.terminals) - 1
    found = [(tables.start, 0, end)]
    seen_labels = np.zeros(end + 1, dtype=np.bool_)
    seen_labels[-1] = True
    for state, obligation, _ in found:  # it grows meanwhile
        labels = np.flatnonzero(readings.reached(state, obligation) & ~seen_labels)
        seen_labels[labels] = True
        for label in labels.tolist():
            found += [(target, readings.obligations[label], label) for target in targets[readings.terminals[label]]]
    return found


MOST_NODES = 1_000
"""How many nodes are looked at before nothing is known."""


def explored_safety(items: Items, readings: Readings, most_first: int, most_nodes: int = MOST_NODES) -> Safety:
    """Find the safe labels and a bound."""
    tables = items.tables
    stacks = Stacks(tables)
    node_costs = NodeCosts(items, readings, stacks)
    taken = _Taken(stacks, items)
    readable = np.zeros((len(tables.actions), len(readings.terminals)), dtype=np.bool_)
    for state, obligation, _ in gaps_of(items, readings):
        readable[state] |= readings.reached(state, obligation)
    pushes = [
        np.unique(np.concatenate([actions[actions > 0] - 1, gotos[gotos != NO_STATE]])).tolist()
        for actions, gotos in zip(tables.actions, tables.gotos, strict=True)
    ]
    safe = np.ones(len(readings.terminals), dtype=np.bool_)
    most_added, most_behind = 0, 0
    seen: set[tuple[NodeClass, tuple[int, ...]]] = set()
    nodes = [BOTTOM]
    for node in nodes:  # it grows meanwhile
        if len(nodes) > most_nodes:
            safe[:-1] = False
            return Safety(safe, None)
        behind = node_costs.array(node_costs.behind(node))
        state, (_, added), bits = stacks.states[node], node_costs.of(node), taken.at(node)
        is_taken = np.array([bits >> terminal & 1 for terminal in readings.terminals.tolist()], dtype=np.bool_)
        safe &= ~(readable[state] & is_taken) | (behind < FAR)
        most_behind = max(most_behind, int(behind[behind < FAR].max(initial=added)) - added)
        for target in pushes[state]:
            above = stacks.push(target, node)
            node_class, added_above = node_costs.of(above)
            most_added = max(most_added, added_above - added)
            key = node_class, taken.behind_items(above)
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
