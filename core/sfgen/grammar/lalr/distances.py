"""D(configuration): the fewest units from a configuration to the end of the text.

A configuration is a lexer state and a node of the parser's stack. D is the least sum, over all labels, of the cost from
the lexer state to the label and the cost from the label at the node to the end (see ``costs``).

Masks only need to know whether D is finite, and D is dear. A label is *safe* if the text can be completed after every
commit of it that the parser takes, whatever the stack. A configuration that reaches a safe label and whose parser takes
it needs no D. Safe labels are found in two ways:

* ``_Bounds`` takes a grammar without conflicts. A gap is good if some safe label can be read there for every terminal
  that its state has an action for. A label is safe if all gaps behind it are good. The largest such set is taken; each
  nonterminal must have a text. Then each item of the state behind a safe label can be completed by safe labels,
  whatever is below, because all items of an LR(0) state are valid. This bounds D: complete the cheapest item of each
  state on the stack, each terminal at its dearest good gap.
* ``explored_safety`` takes any grammar, and visits one stack node of each node class. Most grammars have few classes;
  with more than ``MOST_NODES`` nodes nothing is known. Nodes of one class may differ in the terminals that the parser
  takes, so they are told apart by these as well.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfgen.grammar.lalr.costs import FAR as FAR
from sfgen.grammar.lalr.costs import NodeClass, NodeCosts, Readings, by_terminal, byte_costs, labels_of
from sfgen.grammar.lalr.items import Item, Items, has_conflicts
from sfgen.grammar.lalr.stack import BOTTOM, StateStacks
from sfgen.grammar.lalr.tables import NO_STATE, Lexer, ParseTables

MOST_NODES = 1_000
"""The nodes that are visited before the search is given up."""


class TextDistances:
    """The distances of one lexer and one parser. Safe to share between threads.

    Attributes:
        labels: The terminals with their lookahead obligations.
        cost: The units from each lexer state to the commit of each label, int32 ``[lexer_states, labels + 1]``: 0
            where it can be committed at once, ``FAR`` where it never can. The last column is the end of the text.
    """

    def __init__(
        self,
        tables: ParseTables,
        lexer: Lexer,
        stacks: StateStacks,
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
        """Return the fewest units behind each label at a node, int32 ``[labels + 1]``; ``FAR`` where it is refused."""
        return self._node_costs.array(self._node_costs.behind(node))

    def of(self, lexer_state: int, node: int) -> int:
        """Return the fewest units to the end of the text; ``FAR`` where there is no way."""
        behind = self._node_costs.behind(node)
        least = int((self.cost[lexer_state] + self._node_costs.vectors[behind.number]).min())
        return FAR if least >= FAR else least + behind.added

    def of_many(self, lexer_states: NDArray[np.int32], node: int) -> NDArray[np.int32]:
        """Return the fewest units to the end from several lexer states, int32."""
        behind = self._node_costs.behind(node)
        least: NDArray[np.int32] = (self.cost[lexer_states] + self._node_costs.vectors[behind.number]).min(axis=1)
        return np.where(least >= FAR, np.int32(FAR), least + np.int32(behind.added))

    def to_terminals(self, labels: NDArray[np.bool_] | None = None) -> NDArray[np.int32]:
        """Return the fewest units from each lexer state to each terminal, int32 ``[lexer_states, terminals]``.

        No other terminal may end before. ``labels`` are the labels that count, bool ``[labels + 1]``; without, all do.
        """
        cost = self.cost if labels is None or labels.all() else np.where(labels, self.cost, np.int32(FAR))
        return by_terminal(cost, self._readings.terminals, len(self._tables.terminals))

    @cached_property
    def is_empty(self) -> bool:
        """Whether the grammar has no text."""
        start = self._lexer.starts[self._tables.context_of[self._tables.start], 0]
        return start == NO_STATE or self.of(int(start), BOTTOM) >= FAR

    @cached_property
    def _safety(self) -> _Safety:
        most_first = int(self.cost[self.cost < FAR].max(initial=0))
        if has_conflicts(self._items):
            return explored_safety(self._items, self._readings, most_first)
        found = _Bounds(self._items, self._readings).safety(most_first)
        if 2 * found.labels.sum() < len(found.labels):  # little is safe: worth a search of the node classes
            explored = explored_safety(self._items, self._readings, most_first)
            return max(explored, found, key=lambda safety: int(safety.labels.sum()))
        return found

    @property
    def safe(self) -> NDArray[np.bool_]:
        """The labels after which every text can be completed, bool ``[labels + 1]``.

        In a large grammar with resolved conflicts only the end of the text is known to be safe.
        """
        return self._safety.labels

    @property
    def most_per_level(self) -> int | None:
        """The bound of D for each frame of the stack; ``None`` where none is known.

        D is at most this times the depth of the node plus 1, where the parser takes a safe label in reach.
        """
        return self._safety.most_per_level


class _Safety(NamedTuple):
    """The safe labels and a bound of D, for all stacks.

    Attributes:
        labels: The safe labels, bool ``[labels + 1]``.
        most_per_level: D is at most this times the depth of the node plus 1 where the parser takes a safe label in
            reach; ``None`` where no bound is known.
    """

    labels: NDArray[np.bool_]
    most_per_level: int | None


class _Bounds:
    """Safety and bounds from the gaps of a grammar without conflicts."""

    def __init__(self, items: Items, readings: Readings) -> None:
        self._items = items
        self._rests: dict[Item, int] = {}
        tables = items.tables
        gaps = _gaps_of(items, readings)
        rows = np.array([readings.gap(state, obligation) for state, obligation, _ in gaps])
        known = tables.actions[[state for state, _, _ in gaps]] != 0
        behind = np.array([label for _, _, label in gaps])  # of the first gap it is the end
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

    def safety(self, most_first: int) -> _Safety:
        """Return the safe labels, and a bound of the distances."""
        if not self._has_texts:
            safe = np.zeros_like(self._safe)
            safe[-1] = True
            return _Safety(safe, None)
        return _Safety(self._safe, self._most_per_level(most_first))

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
        """Return the most units from each nonterminal on top of a state until that state is popped."""
        tables = self._items.tables
        targets = {int(n): int(tables.gotos[state, n]) for n in np.flatnonzero(tables.gotos[state] != NO_STATE)}
        pops = {n: 0 if state == tables.start and target == tables.end else FAR for n, target in targets.items()}
        is_new = True
        while is_new:
            is_new = False
            for nonterminal, target in targets.items():
                cost = self._pop(target, pops)
                if cost < pops[nonterminal]:
                    pops[nonterminal] = cost
                    is_new = True
        return pops

    def _pop(self, target: int, pops: dict[int, int]) -> int:
        """Return the most units from a state on top until the state below is popped."""
        return min(
            [
                self._rest(item) + (pops[self._items.tables.rules[item.rule].nonterminal] if item.read == 1 else 0)
                for item in self._items.kernels[target]
            ],
            default=FAR,
        )

    def _rest(self, item: Item) -> int:
        """Return the most units of the cheapest rest of an item."""
        cost = self._rests.get(item)
        if cost is None:
            cost = self._rests[item] = self._sum(self._items.tables.rules[item.rule].symbols[item.read :])
        return cost

    def _sum(self, symbols: tuple[int, ...]) -> int:
        """Return the most units of the cheapest text of some symbols."""
        return sum(self._terminal_cost[s] if s >= 0 else self._nonterminal_cost[-1 - s] for s in symbols)

    def _find_nonterminal_costs(self) -> list[int]:
        self._nonterminal_cost = [FAR] * len(self._items.rules_of)
        while True:
            costs = [
                min([FAR, *[self._sum(self._items.tables.rules[rule].symbols) for rule in rules]])
                for rules in self._items.rules_of
            ]
            if costs == self._nonterminal_cost:
                return costs
            self._nonterminal_cost = costs


def _gaps_of(items: Items, readings: Readings) -> list[tuple[int, int, int]]:
    """List the gaps that occur: state, obligation, and the label before.

    The label before the first gap is the end of the text.
    """
    tables = items.tables
    targets = [np.unique(column[column > 0] - 1).tolist() for column in np.ascontiguousarray(tables.actions.T)]
    end = len(readings.terminals) - 1
    gaps = [(tables.start, 0, end)]
    seen_labels = np.zeros(end + 1, dtype=np.bool_)
    seen_labels[-1] = True
    for state, obligation, _ in gaps:  # the list grows
        labels = np.flatnonzero(readings.reached(state, obligation) & ~seen_labels)
        seen_labels[labels] = True
        for label in labels.tolist():
            gaps += [(target, readings.obligations[label], label) for target in targets[readings.terminals[label]]]
    return gaps


def explored_safety(items: Items, readings: Readings, most_first: int, most_nodes: int = MOST_NODES) -> _Safety:
    """Find the safe labels and a bound by visiting stack nodes."""
    tables = items.tables
    stacks = StateStacks(tables)
    node_costs = NodeCosts(items, readings, stacks)
    taken = _Taken(stacks, items)
    readable = np.zeros((len(tables.actions), len(readings.terminals)), dtype=np.bool_)
    for state, obligation, _ in _gaps_of(items, readings):
        readable[state] |= readings.reached(state, obligation)
    pushes = [
        np.unique(np.concatenate([actions[actions > 0] - 1, gotos[gotos != NO_STATE]])).tolist()
        for actions, gotos in zip(tables.actions, tables.gotos, strict=True)
    ]
    safe = np.ones(len(readings.terminals), dtype=np.bool_)
    most_added, most_behind = 0, 0
    seen: set[tuple[NodeClass, tuple[int, ...]]] = set()
    nodes = [BOTTOM]
    for node in nodes:  # the list grows
        if len(nodes) > most_nodes:
            safe[:-1] = False
            return _Safety(safe, None)
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
    return _Safety(safe, max(most_added, most_first + most_behind))


class _Taken:
    """The terminals that the parser takes at nodes, as the bits of integers."""

    def __init__(self, stacks: StateStacks, items: Items) -> None:
        self._stacks = stacks
        self._items = items
        self._known = [np.flatnonzero(actions).tolist() for actions in items.tables.actions]
        self._found: dict[int, int] = {}

    def at(self, node: int) -> int:
        """Return the terminals that the parser takes at a node."""
        terminals = self._found.get(node)
        if terminals is None:
            after = self._stacks.after
            known = self._known[self._stacks.states[node]]
            terminals = sum([1 << terminal for terminal in known if after(node, terminal) != NO_STATE])
            self._found[node] = terminals
        return terminals

    def behind_items(self, node: int) -> tuple[int, ...]:
        """Return the terminals that the parser takes after each item of a node."""
        taken = []
        for item in self._items.kernels[self._stacks.states[node]]:
            below = self._stacks.pop(node, item.read)
            nonterminal = self._items.tables.rules[item.rule].nonterminal
            state = self._items.after(self._stacks.states[below], -1 - nonterminal)
            taken.append(self.at(self._stacks.push(state, below)))
        return tuple(taken)
