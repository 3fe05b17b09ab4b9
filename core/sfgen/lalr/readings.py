"""What it costs to read a nonterminal, or the rest of a rule: from each label to each label.

A *label* is a terminal with its promise, or the end of the text. It is *pending* when the lexer has committed it and
the parser has not shifted it yet. Since the terminal decides what the parser does, conflicts that lark resolved as
shifts need no thought: a rule is reduced before those labels before which the tables reduce it.

To read a terminal with its label pending, shift it and pay for the next label. To read a nonterminal, read the symbols
of one of its rules one after the other; then the pending label must be one before which the rule is reduced. These are
equations between matrices over the semiring (min, +) (Knuth, 1977; Reps, Schwoon, Jha and Melski, 2005, for stacks).
They are solved by computing again what depends on what became less.
"""

from __future__ import annotations

from collections import deque
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfgen.kernels import Int, Int32s, Int32Table, Int32TableOut, kernel
from sfgen.lalr.items import Item, Items
from sfgen.lalr.lexeme_costs import FAR, byte_costs
from sfgen.lalr.tables import NO_STATE, Lexer


class Matrix(NamedTuple):
    """What it costs from some labels to every label.

    Attributes:
        labels: The pending labels with which it begins, int32 ``[rows]``.
        costs: int32 ``[rows, labels]``; ``FAR`` where there is no way.
    """

    labels: NDArray[np.int32]
    costs: NDArray[np.int32]


class Readings:
    """The costs of all readings and of the rests of rules.

    Args:
        items: The items.
        lexer: The lexer.
        labels: The labels without the end of the text, in their order.
        costs: The units from each control until each label can be committed, int32 ``[controls, labels + 1]``; the
            last column is the end of the text.
        are_bytes: Whether these units are bytes, and any may be used.
    """

    def __init__(
        self,
        items: Items,
        lexer: Lexer,
        labels: tuple[tuple[int, int], ...],
        costs: NDArray[np.int32],
        *,
        are_bytes: bool = False,
    ) -> None:
        self.items = items
        self._lexer = lexer
        self._labels = labels
        self.promises = [promise for _, promise in labels]
        """The promise of each label but the last."""
        self._costs = costs
        self._are_bytes = are_bytes
        end = len(items.tables.terminals) - 1
        self.terminals = np.array([terminal for terminal, _ in labels] + [end], dtype=np.intp)
        """The terminal of each label, intp ``[labels + 1]``."""
        bounds = np.searchsorted(self.terminals, np.arange(end + 2))
        self._labels_of = [np.arange(first, last, dtype=np.int32) for first, last in pairwise(bounds)]
        self._shifts: dict[tuple[int, int], Matrix] = {}
        self._masks: dict[tuple[int, int], NDArray[np.bool_]] = {}
        self._rests: dict[tuple[int, Item], Matrix | None] = {}
        self._readings = [self._begin(*reading) for reading in items.readings]
        self.updates = self._solve()
        """How often the costs of a reading were computed."""

    @cached_property
    def _bytes(self) -> NDArray[np.int32]:
        """The bytes from each control to each label, whatever bytes: texts are not only what is written from here."""
        return self._costs if self._are_bytes else byte_costs(self._lexer, self._labels)

    def gap(self, state: int, promise: int) -> NDArray[np.int32]:
        """Return the units from a gap to each label.

        Args:
            state: The state to which the terminal before the gap was shifted.
            promise: What that terminal promised.

        Returns:
            int32 ``[labels + 1]``.
        """
        return self._gap(self._costs, state, promise)

    def reached(self, state: int, promise: int) -> NDArray[np.bool_]:
        """Return the labels that some text reaches from a gap.

        Args:
            state: The state to which the terminal before the gap was shifted.
            promise: What that terminal promised.

        Returns:
            bool ``[labels + 1]``.
        """
        found: NDArray[np.bool_] = self._gap(self._bytes, state, promise) < FAR
        return found

    def _gap(self, costs: NDArray[np.int32], state: int, promise: int) -> NDArray[np.int32]:
        start = self._lexer.starts[self.items.tables.context_of[state], promise]
        found = np.full(costs.shape[1], FAR, dtype=np.int32) if start == NO_STATE else costs[start].copy()
        if self._lexer.promise_holds_at_end[promise]:
            found[-1] = 0
        return found

    def reduced(self, state: int, rule: int) -> NDArray[np.bool_]:
        """Return the labels before which a state reduces, bool ``[labels + 1]``.

        Args:
            state: The state.
            rule: The rule that it reduces.
        """
        found = self._masks.get((state, rule))
        if found is None:
            found = self._masks[state, rule] = self.items.reduces(state, rule)[self.terminals]
        return found

    def of(self, state: int, symbol: int) -> Matrix:
        """Return the costs of reading a symbol in a state.

        Args:
            state: The state.
            symbol: A terminal, or ``-1 - n`` for nonterminal ``n``.
        """
        if symbol < 0:
            return self._readings[int(self.items.reading_of[state, -1 - symbol])]
        target = self.items.after(state, symbol)
        key = int(self.items.tables.context_of[target]), symbol
        found = self._shifts.get(key)
        if found is None:
            labels = self._labels_of[symbol]
            rows = [self.gap(target, self.promises[label]) for label in labels.tolist()]
            costs = np.array(rows, dtype=np.int32).reshape(len(rows), len(self.terminals))
            found = self._shifts[key] = Matrix(labels, costs)
        return found

    def rest(self, state: int, item: Item) -> Matrix | None:
        """Return the costs of reading the rest of an item's rule.

        They are ``None`` where nothing is left of it.

        Args:
            state: The state in which the rest is read.
            item: A rule, and the number of symbols that were read.
        """
        key = state, item
        if key not in self._rests:
            symbols = self.items.tables.rules[item.rule].symbols[item.read :]
            self._rests[key] = self._read(state, symbols, item.rule) if symbols else None
        return self._rests[key]

    def _begin(self, state: int, nonterminal: int) -> Matrix:
        """The matrix of a reading before anything is known."""
        terminals = np.zeros(len(self._labels_of), dtype=np.bool_)
        for symbol in self.items.first_symbols[nonterminal]:
            if symbol >= 0:
                terminals[symbol] = self.items.after(state, symbol) != NO_STATE
        for rule in self.items.first_empty[nonterminal]:
            terminals |= self.items.reduces(state, rule)
        labels = np.flatnonzero(terminals[self.terminals]).astype(np.int32)
        return Matrix(labels, np.full((len(labels), len(self.terminals)), FAR, dtype=np.int32))

    def _solve(self) -> int:
        """Lower the costs of the readings until they fulfil their equations."""
        dependents = self._dependents()
        waiting = deque(range(len(self._readings)))
        is_waiting = [True] * len(self._readings)
        updates = 0
        while waiting:
            number = waiting.popleft()
            is_waiting[number] = False
            updates += 1
            if self._update(number):
                for other in dependents[number]:
                    if not is_waiting[other]:
                        is_waiting[other] = True
                        waiting.append(other)
        return updates

    def _update(self, number: int) -> bool:
        """Compute the costs of a reading from those of others; return whether some became less."""
        state, nonterminal = self.items.readings[number]
        known = self._readings[number]
        costs = known.costs.copy()
        for rule in self.items.rules_of[nonterminal]:
            symbols = self.items.tables.rules[rule].symbols
            if symbols:
                found = self._read(state, symbols, rule)
                rows = np.searchsorted(known.labels, found.labels)
                costs[rows] = np.minimum(costs[rows], found.costs)
            else:
                labels = np.flatnonzero(self.reduced(state, rule))
                costs[np.searchsorted(known.labels, labels), labels] = 0
        if np.array_equal(costs, known.costs):
            return False
        self._readings[number] = Matrix(known.labels, costs)
        return True

    def _read(self, state: int, symbols: tuple[int, ...], rule: int) -> Matrix:
        """The costs of reading symbols that end a rule."""
        labels, costs = self.of(state, symbols[0])
        state = self.items.after(state, symbols[0])
        for symbol in symbols[1:]:
            right = self.of(state, symbol)
            product = np.full_like(costs, FAR)
            _multiply(product, costs, right.labels, right.costs)
            costs = product
            state = self.items.after(state, symbol)
        return Matrix(labels, np.where(self.reduced(state, rule), costs, np.int32(FAR)))

    def _dependents(self) -> list[list[int]]:
        """The readings that each reading is a part of."""
        found: list[set[int]] = [set() for _ in self._readings]
        for number, (start, nonterminal) in enumerate(self.items.readings):
            for rule in self.items.rules_of[nonterminal]:
                state = start
                for symbol in self.items.tables.rules[rule].symbols:
                    if symbol < 0:
                        found[self.items.reading_of[state, -1 - symbol]].add(number)
                    state = self.items.after(state, symbol)
        return [sorted(numbers) for numbers in found]


@kernel
def _multiply(into: Int32TableOut, left: Int32Table, labels: Int32s, right: Int32Table) -> Int:
    """Lower ``into`` to the product of two matrices over (min, +).

    Args:
        into: int32 ``[rows, columns]``.
        left: int32 ``[rows, columns]``.
        labels: The columns of ``left`` that are the rows of ``right``.
        right: int32 ``[len(labels), columns]``.
    """
    rows, columns = into.shape
    for row in range(rows):
        for inner in range(len(labels)):
            cost = left[row, labels[inner]]
            if cost < FAR:
                for column in range(columns):
                    total = cost + right[inner, column]
                    if total < into[row, column]:
                        into[row, column] = total
    return 0
