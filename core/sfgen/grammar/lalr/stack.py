"""The parser's stacks: immutable nodes without duplicates, and the states to which the parser returns.

A node is the number of a pair: a state and the node below. A rollback drops nodes, and texts with a common beginning
share them.

Most states of a stack never matter: when the parser reduces a rule, it pops the states of the rule's symbols without
reading them. It *returns* to the state below them, and continues there after the rule's nonterminal. So only the top
state and the state after each return decide which text can follow. Stacks in which these states are equal allow the
same texts.
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
    """Makes the stack nodes of one parser, without duplicates. Safe to share between threads."""

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
        """Return the node after a terminal; ``NO_STATE`` if it is refused.

        After ``END`` it is the node of the complete text.
        """
        key = node, terminal
        top = self._after.get(key)
        if top is None:
            top, self._lowest[key] = self._find_after(node, terminal)
            self._after[key] = top
        return top

    def lowest(self, node: int, terminal: int) -> int:
        """Return the least depth of a node whose state decides which node is after a terminal."""
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
        """Return whether the text may end here."""
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
    """The state on top of a stack after the rule of its top state is reduced.

    Attributes:
        state: The state after the rule's nonterminal. If several rules may be open, ``~state`` of the uppermost state
            that one of them returns to, which decides the continuation of each.
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
        """Return the number of symbols read and the nonterminal of each item of a state; whether it only reduces."""
        found = self._items_of.get(state)
        if found is None:
            rules, items = self._stacks.tables.rules, self._kernel_of(state)
            read = sorted({(item.read, rules[item.rule].nonterminal) for item in items})
            only_reduces = len(items) == 1 and items[0].read == len(rules[items[0].rule].symbols)
            found = self._items_of[state] = read, only_reduces
        return found

    def only_reduces(self, state: int) -> bool:
        """Return whether a state only reduces a rule: then the text that can follow is that after the return."""
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
        followers = self._followers(max(state, ~state), below)
        if len(followers) == 1:
            ((after, node),) = followers
            return Return(after, node, stacks.depths[node])
        if not followers:
            return None
        reduced = {self._reduced(*each) for each in followers}
        if len(reduced) == 1:
            return Return(*reduced.pop(), stacks.depths[below])
        node = max((node for _, node in followers), key=stacks.depths.__getitem__)
        return Return(~stacks.states[node], stacks.below[node], stacks.depths[node])

    def _followers(self, state: int, below: int) -> set[tuple[int, int]]:
        """Return the states, with the nodes below, that follow some rule of a state."""
        followers, stacks = set(), self._stacks
        for read, nonterminal in self._items(state)[0]:
            node = below if read == 1 else stacks.pop(below, read - 1)
            after = self._gotos[stacks.states[node]][nonterminal]
            if after != NO_STATE and (after, node) != (state, below):  # a left-recursive rule returns to itself
                followers.add((after, node))
        return followers

    def _reduced(self, state: int, below: int) -> tuple[int, int]:
        """Reduce as long as the state on top only reduces."""
        while self.only_reduces(state):
            followers = self._followers(state, below)
            if len(followers) != 1:
                break
            ((state, below),) = followers
        return state, below
