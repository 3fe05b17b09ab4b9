"""Costs of reading: from a lexer state to a terminal, and through a nonterminal.

A *label* is a terminal that has ended, with its lookahead obligation, or the end of the text. It is *pending*, as the
parser's lookahead, from the moment when the lexer commits the terminal until the parser shifts it. Costs are counted in
bytes. There are two steps.

* ``byte_costs``: from each lexer state to each label, by breadth-first search.
* ``Readings``: from a pending label to each label after a nonterminal, or after the rest of a rule. The cost of a
  terminal is the cost of the gap after it. The cost of a nonterminal is the cost of the symbols of one of its rules, if
  the parser reduces this rule before the label that is pending then. These are equations between matrices over the
  semiring (min, +) (Knuth, 1977; Reps, Schwoon, Jha and Melski, 2005, for stacks). The label decides each action, so
  conflicts that lark resolved as shifts are not a special case.

A network of rules has one number for each state; two examples show that a parser needs matrices. In ``start: x B | x C
C C`` with ``x: A``, B may follow A only after a blank, and blanks are not allowed. Reading ``x`` after the pending A
costs nothing if the next label is C, and is impossible if it is B. So the cheapest ``x`` and the cheapest rest after it
do not add up to the cheapest text. In ``start: x A | C`` with ``x: A | A x``, lark shifts each A: after A the
end cannot be reached, although both rules have short texts.
"""

from __future__ import annotations

from collections import deque
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfgen.grammar.lalr.items import Item, Items
from sfgen.grammar.lalr.tables import NO_STATE, Lexer
from sfgen.kernels import Int, Int32s, Int32Table, Int32TableOut, kernel

FAR = 1 << 29
"""The cost if the target cannot be reached. The sum of three such costs fits into an int32."""


def labels_of(lexer: Lexer) -> tuple[tuple[int, int], ...]:
    """List the committed pairs of a terminal and an obligation, each once, sorted."""
    commits = zip(lexer.commit_terminals.tolist(), lexer.commit_obligations.tolist(), strict=True)
    return tuple(sorted(set(commits)))


def commit_labels(lexer: Lexer, labels: tuple[tuple[int, int], ...]) -> NDArray[np.int32]:
    """Return the label of each commit, int32 ``[commits]``."""
    number_of = {label: number for number, label in enumerate(labels)}
    commits = zip(lexer.commit_terminals.tolist(), lexer.commit_obligations.tolist(), strict=True)
    return np.array([number_of[commit] for commit in commits], dtype=np.int32)


def byte_costs(
    lexer: Lexer, labels: tuple[tuple[int, int], ...], usable: NDArray[np.bool_] | None = None
) -> NDArray[np.int32]:
    """Return the fewest bytes from each lexer state to each label's commit.

    int32 ``[lexer_states, labels + 1]``; the last column is the end of the text; ``FAR`` if it cannot be reached. The
    breadth-first search runs for all labels at once, backwards from the commits. ``usable`` are the bytes that may be
    written, bool ``[256]``.
    """
    lexer_states, width = len(lexer.step), len(labels) + 1
    costs = np.full(lexer_states * width, FAR, dtype=np.int32)
    columns = {label: column for column, label in enumerate(labels)}
    committed = zip(lexer.commit_terminals.tolist(), lexer.commit_obligations.tolist(), strict=True)
    owners = np.repeat(np.arange(lexer_states), np.diff(lexer.commit_starts))
    front = owners * width + np.array([columns[label] for label in committed], dtype=np.intp)
    front = np.unique(np.concatenate([front, np.flatnonzero(lexer.may_end) * width + width - 1]))
    costs[front] = 0
    starts, sources = _sources(lexer, usable)
    cost = 0
    while len(front):
        cost += 1
        targets, label = np.divmod(front, width)
        counts = starts[targets + 1] - starts[targets]
        firsts = np.cumsum(counts) - counts
        at = np.arange(counts.sum()) + np.repeat(starts[targets] - firsts, counts)
        front = sources[at] * width + np.repeat(label, counts)
        front = np.unique(front[costs[front] == FAR])
        costs[front] = cost
    return costs.reshape(lexer_states, width)


def _sources(lexer: Lexer, usable: NDArray[np.bool_] | None) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the index of the first predecessor of each lexer state, and the list of all predecessors."""
    lexer_states = len(lexer.step)
    bytes_ = lexer.byte_classes if usable is None else lexer.byte_classes[usable]
    step = lexer.step[:, np.unique(bytes_)]
    source, at = np.nonzero(step >= 0)
    edges = np.unique(step[source, at].astype(np.intp) * lexer_states + source)
    targets, sources = np.divmod(edges, lexer_states)
    return np.searchsorted(targets, np.arange(lexer_states + 1)), sources


def by_terminal(costs: NDArray[np.int32], terminals: NDArray[np.intp], count: int) -> NDArray[np.int32]:
    """Return the least cost of the labels of each terminal, int32 ``[rows, terminals]``; ``FAR`` if it has none."""
    if np.array_equal(terminals, np.arange(count)):  # one label for each terminal, the usual case
        return costs
    least = np.full((len(costs), count), FAR, dtype=np.int32)
    firsts = np.flatnonzero(np.diff(terminals, prepend=-1))
    least[:, terminals[firsts]] = np.minimum.reduceat(costs, firsts, axis=1)
    return least


class _Matrix(NamedTuple):
    """Costs from some pending labels to every label.

    Attributes:
        labels: The pending labels, int32 ``[rows]``.
        costs: int32 ``[rows, labels]``; ``FAR`` if the label cannot be reached.
    """

    labels: NDArray[np.int32]
    costs: NDArray[np.int32]


class Readings:
    """The costs of all nonterminals in all states, and of the rests of rules."""

    def __init__(
        self,
        items: Items,
        lexer: Lexer,
        labels: tuple[tuple[int, int], ...],
        costs: NDArray[np.int32],
    ) -> None:
        self.items = items
        self._lexer = lexer
        self.obligations = [obligation for _, obligation in labels]
        """The obligation of each label except the last."""
        self._costs = costs
        end = len(items.tables.terminals) - 1
        self.terminals = np.array([terminal for terminal, _ in labels] + [end], dtype=np.intp)
        """The terminal of each label, intp ``[labels + 1]``."""
        bounds = np.searchsorted(self.terminals, np.arange(end + 2))
        self._labels_of = [np.arange(first, last, dtype=np.int32) for first, last in pairwise(bounds)]
        self._shifts: dict[tuple[int, int], _Matrix] = {}
        self._masks: dict[tuple[int, int], NDArray[np.bool_]] = {}
        self._rests: dict[tuple[int, Item], _Matrix | None] = {}
        self._readings = [self._begin(*reading) for reading in items.readings]
        self._solve()

    def gap(self, state: int, obligation: int) -> NDArray[np.int32]:
        """Return the fewest bytes from a gap to each label, int32 ``[labels + 1]``."""
        start = self._lexer.starts[self.items.tables.context_of[state], obligation]
        costs = np.full(self._costs.shape[1], FAR, dtype=np.int32) if start == NO_STATE else self._costs[start].copy()
        if self._lexer.obligation_holds_at_end[obligation]:
            costs[-1] = 0
        return costs

    def reduced(self, state: int, rule: int) -> NDArray[np.bool_]:
        """Return the labels before which a state reduces a rule, bool ``[labels + 1]``."""
        is_reduced = self._masks.get((state, rule))
        if is_reduced is None:
            is_reduced = self._masks[state, rule] = self.items.reduces(state, rule)[self.terminals]
        return is_reduced

    def of(self, state: int, symbol: int) -> _Matrix:
        """Return the costs of a symbol in a state."""
        if symbol < 0:
            return self._readings[int(self.items.reading_of[state, -1 - symbol])]
        target = self.items.after(state, symbol)
        key = int(self.items.tables.context_of[target]), symbol
        shift = self._shifts.get(key)
        if shift is None:
            labels = self._labels_of[symbol]
            rows = [self.gap(target, self.obligations[label]) for label in labels.tolist()]
            costs = np.array(rows, dtype=np.int32).reshape(len(rows), len(self.terminals))
            shift = self._shifts[key] = _Matrix(labels, costs)
        return shift

    def rest(self, state: int, item: Item) -> _Matrix | None:
        """Return the costs of the rest of an item's rule; ``None`` for an empty rest."""
        key = state, item
        if key not in self._rests:
            symbols = self.items.tables.rules[item.rule].symbols[item.read :]
            self._rests[key] = self._read(state, symbols, item.rule) if symbols else None
        return self._rests[key]

    def _begin(self, state: int, nonterminal: int) -> _Matrix:
        """Return the matrix of a nonterminal in which every cost is ``FAR``."""
        terminals = np.zeros(len(self._labels_of), dtype=np.bool_)
        for symbol in self.items.first_symbols[nonterminal]:
            if symbol >= 0:
                terminals[symbol] = self.items.after(state, symbol) != NO_STATE
        for rule in self.items.first_empty[nonterminal]:
            terminals |= self.items.reduces(state, rule)
        labels = np.flatnonzero(terminals[self.terminals]).astype(np.int32)
        return _Matrix(labels, np.full((len(labels), len(self.terminals)), FAR, dtype=np.int32))

    def _solve(self) -> None:
        """Lower the costs of all nonterminals to the solution, with a worklist."""
        dependents = self._dependents()
        waiting = deque(range(len(self._readings)))
        is_waiting = [True] * len(self._readings)
        while waiting:
            number = waiting.popleft()
            is_waiting[number] = False
            if self._update(number):
                for other in dependents[number]:
                    if not is_waiting[other]:
                        is_waiting[other] = True
                        waiting.append(other)

    def _update(self, number: int) -> bool:
        """Compute the costs of a nonterminal from the others; return whether some became lower."""
        state, nonterminal = self.items.readings[number]
        known = self._readings[number]
        costs = known.costs.copy()
        for rule in self.items.rules_of[nonterminal]:
            symbols = self.items.tables.rules[rule].symbols
            if symbols:
                read = self._read(state, symbols, rule)
                rows = np.searchsorted(known.labels, read.labels)
                costs[rows] = np.minimum(costs[rows], read.costs)
            else:
                labels = np.flatnonzero(self.reduced(state, rule))
                costs[np.searchsorted(known.labels, labels), labels] = 0
        if np.array_equal(costs, known.costs):
            return False
        self._readings[number] = _Matrix(known.labels, costs)
        return True

    def _read(self, state: int, symbols: tuple[int, ...], rule: int) -> _Matrix:
        """Return the costs of symbols that end a rule."""
        labels, costs = self.of(state, symbols[0])
        state = self.items.after(state, symbols[0])
        for symbol in symbols[1:]:
            right = self.of(state, symbol)
            product = np.full_like(costs, FAR)
            _multiply(product, costs, right.labels, right.costs)
            costs = product
            state = self.items.after(state, symbol)
        return _Matrix(labels, np.where(self.reduced(state, rule), costs, np.int32(FAR)))

    def _dependents(self) -> list[list[int]]:
        """List the readings whose rules contain each reading."""
        users: list[set[int]] = [set() for _ in self._readings]
        for number, (start, nonterminal) in enumerate(self.items.readings):
            for rule in self.items.rules_of[nonterminal]:
                state = start
                for symbol in self.items.tables.rules[rule].symbols:
                    if symbol < 0:
                        users[self.items.reading_of[state, -1 - symbol]].add(number)
                    state = self.items.after(state, symbol)
        return [sorted(numbers) for numbers in users]


@kernel
def _multiply(into: Int32TableOut, left: Int32Table, labels: Int32s, right: Int32Table) -> Int:
    """Lower ``into`` to the product of two matrices over (min, +)."""
    # into: int32 ``[rows, columns]``.
    # left: int32 ``[rows, columns]``.
    # labels: The columns of ``left`` that are the rows of ``right``.
    # right: int32 ``[len(labels), columns]``.
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
