"""The parser's stacks: immutable nodes, equal ones once.

A node is a number that stands for a state and the node below. A rollback drops nodes, and texts with a common beginning
share them.
"""

from __future__ import annotations

import threading

import numpy as np
from numpy.typing import NDArray

from sfgen.grammar.lalr.tables import NO_STATE, ParseTables

BOTTOM = 0
"""The node of the empty stack, whose state is the start state."""


class StateStacks:
    """Makes the stack nodes of one parser, equal ones once. Safe to share between threads."""

    def __init__(self, tables: ParseTables) -> None:
        self.tables = tables
        self._actions: list[list[int]] = tables.actions.tolist()
        self._gotos: list[list[int]] = tables.gotos.tolist()
        self._expansions = [(rule.nonterminal, len(rule.symbols)) for rule in tables.rules]
        self._end_of_text = len(tables.terminals) - 1
        self.states: list[int] = [tables.start]
        self.below: list[int] = [NO_STATE]
        self.depths: list[int] = [1]
        self._known: dict[tuple[int, int], int] = {}
        self._after: dict[tuple[int, int], int] = {}
        self._array = np.empty((1 << 10, 3), dtype=np.int32)
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
            top = self._after[key] = self._find_after(node, terminal)
        return top

    def _find_after(self, node: int, terminal: int) -> int:
        while True:
            state = self.states[node]
            action = self._actions[state][terminal]
            if action == 0:
                return NO_STATE
            if action > 0:
                return self.push(action - 1, node)
            nonterminal, length = self._expansions[-1 - action]
            node = self.pop(node, length)
            state = self._gotos[self.states[node]][nonterminal]
            node = self.push(state, node)
            if terminal == self._end_of_text and state == self.tables.end:
                return node

    def is_complete(self, node: int) -> bool:
        """Tell whether the text may end here."""
        return self.after(node, self._end_of_text) != NO_STATE

    def array(self) -> NDArray[np.int32]:
        """Return state, node below and depth of each node, int32 ``[3 * nodes]``; read-only."""
        with self._lock:
            count = len(self.states)
            if count > len(self._array):
                grown = np.empty((2 * count, 3), dtype=np.int32)
                grown[: self._copied] = self._array[: self._copied]
                self._array = grown
            if count > self._copied:
                new = slice(self._copied, count)
                self._array[new] = np.stack([self.states[new], self.below[new], self.depths[new]], axis=1)
                self._copied = count
            return self._array[:count].reshape(-1)
