"""Safe labels: if the parser takes one, the text can be completed, whatever is on the stack.

Masks depend only on whether D is finite, but D depends on the whole stack (see ``distances``). A configuration that
reaches a safe label which its parser takes is alive: D need not be computed. In a grammar of JSON all labels are safe:
after each, the open brackets can be closed. Safe labels also bound D: each bracket of ``[[[{"a":`` is closed within a
few bytes. In ``start: A C C | B``, where no C may follow another C directly, B is safe, and A and C are not. There are
two ways to find safe labels.

**Good gaps**, for a grammar without conflicts. A gap is good if, for every terminal that its state has an action for,
some safe label can be read there. A label is safe if all gaps after it are good. The largest such set is taken, and
each nonterminal must have a text. Then safe labels complete each item of the state after a safe label, whatever is
below, because all items of an LR(0) state are valid. That bounds D: each state on the stack completes its cheapest
item, and each terminal is counted at its most expensive good gap.

**Visited nodes**, for any grammar with few stack classes. One node of each class is visited; a label is not safe if the
parser takes it at some node and cannot reach the end from there. Nodes of one class may differ in the terminals that
the parser takes, as an LALR state may reduce before a terminal that is refused afterwards. So the terminals that are
taken are a part of the class here.

Neither way suffices for all grammars. In ``start: x A | C`` with ``x: A | A x`` all gaps after A are good, but A is not
safe, since lark shifts each A that follows. And lark's grammar of Python has more than 4 000 classes: to visit their
nodes takes a second, to check its gaps some hundredths.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfgen.grammar.lalr.costs import FAR, Readings, by_terminal
from sfgen.grammar.lalr.distances import StackClasses, TextDistances
from sfgen.grammar.lalr.items import Item, Items, has_conflicts
from sfgen.grammar.lalr.stack import BOTTOM, StateStacks
from sfgen.grammar.lalr.tables import NO_STATE
from sfgen.weak_cache import kept_while_it_lives

MOST_NODES = 1_000
"""The nodes that are visited before the search is given up."""


class Safety(NamedTuple):
    """The safe labels and a bound of D, for all stacks.

    Attributes:
        labels: The safe labels, bool ``[labels + 1]``. In a large grammar with resolved conflicts only the end of the
            text is known to be safe.
        most_per_node: D is at most this number times the depth of the node plus 1, if the parser takes a safe label in
            reach; ``None`` if no bound is known.
    """

    labels: NDArray[np.bool_]
    most_per_node: int | None


@kept_while_it_lives
def safety_of(distances: TextDistances) -> Safety:
    """Find the safe labels, by the good gaps if that is possible, else by visiting stack nodes."""
    if distances.known is not None:
        return Safety(distances.known.safe, distances.known.most_per_node)
    farthest_label = int(distances.cost[distances.cost < FAR].max(initial=0))
    if has_conflicts(distances.readings.items):
        return safety_by_nodes(distances.readings, farthest_label)
    found = safety_by_gaps(distances.readings, farthest_label)
    if 2 * found.labels.sum() < len(found.labels):  # few labels are safe: visit the nodes as well
        explored = safety_by_nodes(distances.readings, farthest_label)
        return max(explored, found, key=lambda safety: int(safety.labels.sum()))
    return found


def safety_by_gaps(readings: Readings, farthest_label: int) -> Safety:
    """Find the safe labels of a grammar without conflicts; ``farthest_label`` is the most bytes to a label."""
    return _GoodGaps(readings).safety(farthest_label)


class _GoodGaps:
    """The safe labels of a grammar without conflicts."""

    def __init__(self, readings: Readings) -> None:
        self._items = readings.items
        self._rests: dict[Item, int] = {}
        tables = self._items.tables
        gaps = _gaps_of(readings)
        rows = np.array([readings.gap(state, obligation) for state, obligation, _ in gaps])
        known = tables.actions[[state for state, _, _ in gaps]] != 0
        label_before = np.array([label for _, _, label in gaps])  # of the first gap the end of the text
        self._safe = np.ones(len(readings.terminals), dtype=np.bool_)
        while True:
            usable = np.where(self._safe, rows, np.int32(FAR))
            highest = by_terminal(usable, readings.terminals, len(tables.terminals))
            is_good = ((highest < FAR) | ~known).all(axis=1)
            unsafe = label_before[~is_good]
            unsafe = unsafe[unsafe < len(self._safe) - 1]
            if not self._safe[unsafe].any():
                break
            self._safe[unsafe] = False
        highest = highest[is_good]
        self._terminal_cost: list[int] = np.where(highest < FAR, highest, 0).max(axis=0, initial=0).tolist()
        self._nonterminal_cost = self._find_nonterminal_costs()
        is_read = (tables.gotos != NO_STATE).any(axis=0).tolist()
        self._has_texts = all(
            cost < FAR for cost, is_one in zip(self._nonterminal_cost, is_read, strict=True) if is_one
        )

    def safety(self, farthest_label: int) -> Safety:
        """Return the safe labels, and a bound of the distances."""
        if self._has_texts:
            return Safety(self._safe, self._most_per_node(farthest_label))
        safe = np.zeros_like(self._safe)
        safe[-1] = True
        return Safety(safe, None)

    def _most_per_node(self, farthest_label: int) -> int:
        tables = self._items.tables
        most = farthest_label + self._terminal_cost[-1]
        for state in range(len(tables.actions)):
            pops = self._pops(state)
            most = max([most, *pops.values()])
            for target in np.unique(tables.actions[state][tables.actions[state] > 0] - 1).tolist():
                most = max(most, self._pop(target, pops))
        return most

    def _pops(self, state: int) -> dict[int, int]:
        """Return the most bytes from each nonterminal on top of a state until that state is popped."""
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
        """Return the most bytes from a state on top until the state below is popped."""
        return min(
            [
                self._rest(item) + (pops[self._items.tables.rules[item.rule].nonterminal] if item.read == 1 else 0)
                for item in self._items.kernels[target]
            ],
            default=FAR,
        )

    def _rest(self, item: Item) -> int:
        """Return the most bytes of the cheapest rest of an item."""
        cost = self._rests.get(item)
        if cost is None:
            cost = self._rests[item] = self._sum(self._items.tables.rules[item.rule].symbols[item.read :])
        return cost

    def _sum(self, symbols: tuple[int, ...]) -> int:
        """Return the most bytes of the cheapest text of some symbols."""
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


def _gaps_of(readings: Readings) -> list[tuple[int, int, int]]:
    """List the gaps that occur: state, obligation, and the label before.

    The label before the first gap is the end of the text.
    """
    tables = readings.items.tables
    targets = [np.unique(column[column > 0] - 1).tolist() for column in np.ascontiguousarray(tables.actions.T)]
    end = len(readings.terminals) - 1
    gaps = [(tables.start, 0, end)]
    seen_labels = np.zeros(end + 1, dtype=np.bool_)
    seen_labels[-1] = True
    for state, obligation, _ in gaps:  # the list grows
        labels = np.flatnonzero((readings.gap(state, obligation) < FAR) & ~seen_labels)
        seen_labels[labels] = True
        for label in labels.tolist():
            gaps += [(target, readings.obligations[label], label) for target in targets[readings.terminals[label]]]
    return gaps


def safety_by_nodes(readings: Readings, farthest_label: int, most_nodes: int = MOST_NODES) -> Safety:
    """Find the safe labels and a bound by visiting stack nodes."""
    items, tables = readings.items, readings.items.tables
    stacks = StateStacks(tables)
    classes, taken = StackClasses(readings, stacks), _Taken(stacks, items)
    readable = np.zeros((len(tables.actions), len(readings.terminals)), dtype=np.bool_)
    for state, obligation, _ in _gaps_of(readings):
        readable[state] |= readings.gap(state, obligation) < FAR
    pushes = [
        np.unique(np.concatenate([actions[actions > 0] - 1, gotos[gotos != NO_STATE]])).tolist()
        for actions, gotos in zip(tables.actions, tables.gotos, strict=True)
    ]
    safe = np.ones(len(readings.terminals), dtype=np.bool_)
    most_added, most_after = 0, 0
    seen: set[tuple[int, tuple[int, ...]]] = set()
    nodes = [BOTTOM]
    for node in nodes:  # the list grows
        if len(nodes) > most_nodes:
            safe[:-1] = False
            return Safety(safe, None)
        state, (number, added), bits = stacks.states[node], classes.of(node), taken.at(node)
        costs = classes.costs_after[number]
        is_taken = np.array([bits >> terminal & 1 for terminal in readings.terminals.tolist()], dtype=np.bool_)
        safe &= ~(readable[state] & is_taken) | (costs < FAR)
        most_after = max(most_after, int(costs[costs < FAR].max(initial=0)))
        for target in pushes[state]:
            above = stacks.push(target, node)
            number_above, added_above = classes.of(above)
            most_added = max(most_added, added_above - added)
            key = number_above, taken.after_items(above)
            if key not in seen:
                seen.add(key)
                nodes.append(above)
    return Safety(safe, max(most_added, farthest_label + most_after))


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

    def after_items(self, node: int) -> tuple[int, ...]:
        """Return the terminals that the parser takes after each item of a node."""
        taken = []
        for item in self._items.kernels[self._stacks.states[node]]:
            below = self._stacks.pop(node, item.read)
            nonterminal = self._items.tables.rules[item.rule].nonterminal
            state = self._items.after(self._stacks.states[below], -1 - nonterminal)
            taken.append(self.at(self._stacks.push(state, below)))
        return tuple(taken)
