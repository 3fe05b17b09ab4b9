"""The parser's stacks: immutable nodes, equal ones once, and the states to which the parser returns.

A node is a number that stands for a state and the node below. A rollback drops nodes, and texts with a common beginning
share them.

Most states of a stack never matter: when the parser reduces a rule, it pops the states of the rule's symbols unseen. It
*returns* to the state below them, and goes on from there after the rule's nonterminal. So only the top state and the
state after each return decide what can follow. Stacks in which these are equal are read alike.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfgen.grammar.lalr.items import Item
from sfgen.grammar.lalr.tables import NO_STATE, ParseTables
from sfgen.grammar.lalr.walk import FIELDS

BOTTOM = 0
"""The node of the empty stack, whose state is the start state."""


class StateStacks:
    """Makes the stack nodes of one parser, equal ones once. Safe to share between threads."""

    def __init__(self, tables: ParseTables) -> None:
        self.tables = tables
        self._actions: list[list[int]] = tables.actions.tolist()
        self._gotos: list[list[int]] = tables.gotos.tolist()
        self._expansions = [(rule.nonterminal, len(rule.symbols)) for rule in tables.rules]
        self.end_of_text = len(tables.terminals) - 1
        self.states: list[int] = [tables.start]
        self.below: list[int] = [NO_STATE]
        self.depths: list[int] = [1]
        self._known: dict[tuple[int, int], int] = {}
        self._after: dict[tuple[int, int], int] = {}
        self._lowest: dict[tuple[int, int], int] = {}
        self._array = np.zeros((1 << 10, FIELDS), dtype=np.int32)
        self._flat = self._array[:0].reshape(-1)
        self._copied = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self.states)

    def push(self, state: int, below: int) -> int:
        """Return the node of a state on top of a node."""
        key = state, below
        node = self._known.get(key)
        if node is None:
            with self._lock:
                node = self._known.get(key)
                if node is None:
                    node = len(self.states)
                    self.below.append(below)
                    self.depths.append(self.depths[below] + 1)
                    self.states.append(state)
                    self._known[key] = node
        return node

    def pop(self, node: int, count: int) -> int:
        """Return the node below the top ``count`` states."""
        below = self.below
        for _ in range(count):
            node = below[node]
        return node

    def after(self, node: int, terminal: int) -> int:
        """Return the node after a terminal; ``NO_STATE`` where it is refused.

        After ``END`` it is the node of the complete text.
        """
        key = node, terminal
        top = self._after.get(key)
        if top is None:
            top, self._lowest[key] = self._find_after(node, terminal)
            self._after[key] = top
        return top

    def lowest(self, node: int, terminal: int) -> int:
        """Return the least depth of a node whose state decides what is after a terminal."""
        self.after(node, terminal)
        return self._lowest[node, terminal]

    def _find_after(self, node: int, terminal: int) -> tuple[int, int]:
        lowest = self.depths[node]
        while True:
            state = self.states[node]
            action = self._actions[state][terminal]
            if action == 0:
                return NO_STATE, lowest
            if action > 0:
                return self.push(action - 1, node), lowest
            nonterminal, length = self._expansions[-1 - action]
            node = self.pop(node, length)
            lowest = min(lowest, self.depths[node])
            state = self._gotos[self.states[node]][nonterminal]
            node = self.push(state, node)
            if terminal == self.end_of_text and state == self.tables.end:
                return node, lowest

    def is_complete(self, node: int) -> bool:
        """Tell whether the text may end here."""
        return self.after(node, self.end_of_text) != NO_STATE

    def array(self) -> NDArray[np.int32]:
        """Return state, node below, depth and a zero for each node, int32 ``[FIELDS * nodes]``; read-only."""
        if len(self.states) == self._copied:
            return self._flat
        with self._lock:
            count = len(self.states)
            if count > len(self._array):
                grown = np.zeros((2 * count, FIELDS), dtype=np.int32)
                grown[: self._copied] = self._array[: self._copied]
                self._array = grown
            if count > self._copied:
                new = slice(self._copied, count)
                added = np.array([self.states[new], self.below[new], self.depths[new]], dtype=np.int32)
                self._array[new, :-1] = added.T
                self._flat = self._array[:count].reshape(-1)
                self._copied = count
            return self._flat


class Return(NamedTuple):
    """The state to which a stack goes when the rule of its top state is reduced.

    Attributes:
        state: The state after the rule's nonterminal. Where several rules may be read, ``~state`` of the uppermost
            state that one of them returns to: it decides what follows each.
        below: The node that this state is pushed on.
        depth: The greatest depth of a state that decides this.
    """

    state: int
    below: int
    depth: int


class Returns:
    """Finds the returns of stacks, when the rule of their top state is reduced. Safe to share between threads."""

    def __init__(self, stacks: StateStacks, kernel_of: Callable[[int], list[Item]]) -> None:
        self._stacks = stacks
        self._kernel_of = kernel_of
        self._gotos: list[list[int]] = stacks.tables.gotos.tolist()
        self._known: dict[tuple[int, int], Return | None] = {}
        self._items_of: dict[int, tuple[list[tuple[int, int]], bool]] = {}

    def _items(self, state: int) -> tuple[list[tuple[int, int]], bool]:
        """Return the symbols read, and the nonterminals, of a state's rules, and whether it only reduces a rule."""
        found = self._items_of.get(state)
        if found is None:
            rules, items = self._stacks.tables.rules, self._kernel_of(state)
            read = sorted({(item.read, rules[item.rule].nonterminal) for item in items})
            only_reduces = len(items) == 1 and items[0].read == len(rules[items[0].rule].symbols)
            found = self._items_of[state] = read, only_reduces
        return found

    def only_reduces(self, state: int) -> bool:
        """Tell whether a state only reduces a rule: then only text can follow that can follow after the return."""
        return self._items(state)[1]

    def of(self, state: int, below: int) -> Return | None:
        """Return the return of a state on a node; ``None`` at the bottom."""
        key = state, below
        if key not in self._known:
            self._known[key] = self._find(state, below)
        return self._known[key]

    def _find(self, state: int, below: int) -> Return | None:
        if below == NO_STATE:
            return None
        stacks = self._stacks
        ways = self._ways(max(state, ~state), below)
        if len(ways) == 1:
            ((behind, node),) = ways
            return Return(behind, node, stacks.depths[node])
        if not ways:
            return None
        reduced = {self._reduced(*way) for way in ways}
        if len(reduced) == 1:
            return Return(*reduced.pop(), stacks.depths[below])
        node = max((node for _, node in ways), key=stacks.depths.__getitem__)
        return Return(~stacks.states[node], stacks.below[node], stacks.depths[node])

    def _ways(self, state: int, below: int) -> set[tuple[int, int]]:
        """Return the states, with the nodes below, that follow some rule of a state."""
        ways, stacks = set(), self._stacks
        for read, nonterminal in self._items(state)[0]:
            node = below if read == 1 else stacks.pop(below, read - 1)
            behind = self._gotos[stacks.states[node]][nonterminal]
            if behind != NO_STATE and (behind, node) != (state, below):  # a left-recursive rule returns to itself
                ways.add((behind, node))
        return ways

    def _reduced(self, state: int, below: int) -> tuple[int, int]:
        """Reduce as long as a state does nothing else."""
        while self.only_reduces(state):
            ways = self._ways(state, below)
            if len(ways) != 1:
                break
            ((state, below),) = ways
        return state, below
