"""Costs of reading: from a lexer state to a terminal, through a nonterminal, and from a stack node to the end.

A *label* is a terminal with its lookahead obligation, or the end of the text. It is *pending* from the lexer's commit
to the parser's shift: it is the parser's lookahead. Costs are counted in units: bytes, or what the caller gives (see
``distances``). There are three steps.

* ``byte_costs``: from each lexer state to each label, by breadth-first search.
* ``Readings``: from a pending label to each label behind a nonterminal, or behind the rest of a rule. A terminal costs
  the gap behind it. A nonterminal costs the symbols of one of its rules, and the parser must reduce the rule before
  the label that is pending then. These are equations between matrices over the semiring (min, +) (Knuth, 1977; Reps,
  Schwoon, Jha and Melski, 2005, for stacks). The label decides each action, so conflicts that lark resolved as shifts
  are no special case.
* ``NodeCosts``: from each pending label at a stack node to the end of the text. The parser reads the rest of an item
  on top of the stack, pops the symbols of the item, and has then read a nonterminal on a node below, with another
  label pending. So costs depend on the nodes below only by one vector over labels for each item of the state.
"""

from __future__ import annotations

import threading
from collections import deque
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfgen.grammar.lalr.items import Item, Items
from sfgen.grammar.lalr.stack import StateStacks
from sfgen.grammar.lalr.tables import NO_STATE, Lexer
from sfgen.kernels import Int, Int32s, Int32Table, Int32TableOut, kernel

FAR = 1 << 29
"""The cost where there is no way. The sum of three fits into an int32."""


def labels_of(lexer: Lexer) -> tuple[tuple[int, int], ...]:
    """List the committed pairs of a terminal and an obligation, each once, sorted."""
    commits = zip(lexer.commit_terminals.tolist(), lexer.commit_obligations.tolist(), strict=True)
    return tuple(sorted(set(commits)))


def byte_costs(
    lexer: Lexer, labels: tuple[tuple[int, int], ...], usable: NDArray[np.bool_] | None = None
) -> NDArray[np.int32]:
    """Return the fewest bytes from each lexer state to each label's commit.

    int32 ``[lexer_states, labels + 1]``; the last column is the end of the text; ``FAR`` where there is no way. All
    labels are searched at once, breadth first, backwards from the commits. ``usable`` are the bytes that may be
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
    """Return where the predecessors of each lexer state begin, and all predecessors."""
    lexer_states = len(lexer.step)
    bytes_ = lexer.byte_classes if usable is None else lexer.byte_classes[usable]
    step = lexer.step[:, np.unique(bytes_)]
    source, at = np.nonzero(step >= 0)
    edges = np.unique(step[source, at].astype(np.intp) * lexer_states + source)
    targets, sources = np.divmod(edges, lexer_states)
    return np.searchsorted(targets, np.arange(lexer_states + 1)), sources


def by_terminal(costs: NDArray[np.int32], terminals: NDArray[np.intp], count: int) -> NDArray[np.int32]:
    """Return the least cost over the labels of each terminal, int32 ``[rows, terminals]``; ``FAR`` without a label."""
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
        costs: int32 ``[rows, labels]``; ``FAR`` where there is no way.
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
        *,
        are_bytes: bool = False,
    ) -> None:
        self.items = items
        self._lexer = lexer
        self._labels = labels
        self.obligations = [obligation for _, obligation in labels]
        """The obligation of each label but the last."""
        self._costs = costs
        self._are_bytes = are_bytes
        end = len(items.tables.terminals) - 1
        self.terminals = np.array([terminal for terminal, _ in labels] + [end], dtype=np.intp)
        """The terminal of each label, intp ``[labels + 1]``."""
        bounds = np.searchsorted(self.terminals, np.arange(end + 2))
        self._labels_of = [np.arange(first, last, dtype=np.int32) for first, last in pairwise(bounds)]
        self._shifts: dict[tuple[int, int], _Matrix] = {}
        self._masks: dict[tuple[int, int], NDArray[np.bool_]] = {}
        self._rests: dict[tuple[int, Item], _Matrix | None] = {}
        self._readings = [self._begin(*reading) for reading in items.readings]
        self.updates = self._solve()
        """How often the costs of a reading were computed."""

    @cached_property
    def _bytes(self) -> NDArray[np.int32]:
        """The bytes from each lexer state to each label, int32 ``[lexer_states, labels + 1]``, over all bytes."""
        return self._costs if self._are_bytes else byte_costs(self._lexer, self._labels)

    def gap(self, state: int, obligation: int) -> NDArray[np.int32]:
        """Return the units from a gap to each label, int32 ``[labels + 1]``."""
        return self._gap(self._costs, state, obligation)

    def reached(self, state: int, obligation: int) -> NDArray[np.bool_]:
        """Tell which labels some text reaches from a gap, bool ``[labels + 1]``."""
        is_reached: NDArray[np.bool_] = self._gap(self._bytes, state, obligation) < FAR
        return is_reached

    def _gap(self, costs: NDArray[np.int32], state: int, obligation: int) -> NDArray[np.int32]:
        start = self._lexer.starts[self.items.tables.context_of[state], obligation]
        units = np.full(costs.shape[1], FAR, dtype=np.int32) if start == NO_STATE else costs[start].copy()
        if self._lexer.obligation_holds_at_end[obligation]:
            units[-1] = 0
        return units

    def reduced(self, state: int, rule: int) -> NDArray[np.bool_]:
        """Return the labels before which a state reduces, bool ``[labels + 1]``."""
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

    def _solve(self) -> int:
        """Lower the costs of all nonterminals to the solution, by a worklist; return the number of updates."""
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
        """Compute the costs of a nonterminal from the others; tell whether some fell."""
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


class _Vector(NamedTuple):
    """The units behind each pending label, relative to their least.

    Attributes:
        number: The number of the relative vector.
        added: The units to add to each of its entries.
    """

    number: int
    added: int


_REFUSED = _Vector(0, 0)
"""The vector in which all is ``FAR``."""


def _more(vector: _Vector, units: int) -> _Vector:
    """Add units to a vector."""
    return vector if vector.number == 0 else _Vector(vector.number, vector.added + units)


class NodeClass:
    """A state with the costs behind each of its items: all that its stack nodes share.

    Costs are relative, their least entry being 0, and equal vectors are one. So the classes of a deep stack repeat, and
    each costs one look-up.

    Attributes:
        state: The parser's state.
        behind_items: The costs behind each item of the state.
        behind_reading: The costs behind nonterminals that are read on top of the state.
        behind: The costs behind each label with the state on top; ``None`` until they are computed.
    """

    def __init__(self, state: int, behind_items: tuple[_Vector, ...]) -> None:
        self.state = state
        self.behind_items = behind_items
        self.behind_reading: dict[int, _Vector] = {}
        self.behind: _Vector | None = None


class NodeCosts:
    """Finds the costs from the stack nodes of one parser to the end. Safe to share between threads."""

    def __init__(self, items: Items, readings: Readings, stacks: StateStacks) -> None:
        self._items = items
        self._tables = items.tables
        self._readings = readings
        self._stacks = stacks
        refused = np.full(len(readings.terminals), FAR, dtype=np.int32)
        self.vectors = [refused]
        """The relative vectors, each int32 ``[labels + 1]``."""
        self._vector_numbers = {refused.tobytes(): 0}
        self._classes: dict[tuple[int, tuple[_Vector, ...]], NodeClass] = {}
        self._class_of: dict[int, tuple[NodeClass, int]] = {}
        self._lock = threading.Lock()

    def behind(self, node: int) -> _Vector:
        """Return the units behind each label at a node."""
        with self._lock:
            node_class, added = self._find_class(node)
            if node_class.behind is None:
                node_class.behind = self._find_behind(node_class)
            return _more(node_class.behind, added)

    def of(self, node: int) -> tuple[NodeClass, int]:
        """Return the class of a node, and the units to add to its vectors."""
        with self._lock:
            return self._find_class(node)

    def _find_class(self, node: int) -> tuple[NodeClass, int]:
        """Return the class of a node, and the units to add to its vectors."""
        waiting = [node]
        while waiting:
            current = waiting[-1]
            if current in self._class_of:
                waiting.pop()
                continue
            items = self._items.kernels[self._stacks.states[current]]
            ancestors = self._ancestors(current, items)
            unknown = [ancestor for ancestor in ancestors if ancestor not in self._class_of]
            if unknown:
                waiting += unknown
                continue
            self._class_of[current] = self._make_class(current, items, ancestors)
            waiting.pop()
        return self._class_of[node]

    def _ancestors(self, node: int, items: list[Item]) -> list[int]:
        """Return the node below the symbols that each item has read."""
        popped = [node]
        for _ in range(max((item.read for item in items), default=0)):
            popped.append(self._stacks.below[popped[-1]])
        return [popped[item.read] for item in items]

    def _make_class(self, node: int, items: list[Item], ancestors: list[int]) -> tuple[NodeClass, int]:
        vectors = []
        for item, ancestor in zip(items, ancestors, strict=True):
            node_class, added = self._class_of[ancestor]
            vector = self._behind_reading(node_class, self._tables.rules[item.rule].nonterminal)
            vectors.append(_more(vector, added))
        added = min((vector.added for vector in vectors if vector != _REFUSED), default=0)
        key = (
            self._stacks.states[node],
            tuple([_more(vector, -added) for vector in vectors]),
        )
        known = self._classes.get(key)
        if known is None:
            known = self._classes[key] = NodeClass(*key)
        return known, added

    def _find_behind(self, node_class: NodeClass) -> _Vector:
        """Compute the costs behind each label with a node class on top."""
        costs = self.array(_REFUSED)
        if node_class.state == self._tables.start:
            for nonterminal in np.flatnonzero(self._tables.gotos[node_class.state] == self._tables.end).tolist():
                read = self._readings.of(node_class.state, -1 - nonterminal)
                behind = self.array(self._behind_reading(node_class, nonterminal))
                _lower(costs, read.labels, read.costs, behind)
        for item, vector in zip(self._items.kernels[node_class.state], node_class.behind_items, strict=True):
            self._lower_by_rest(costs, node_class.state, item, self.array(vector))
        return self._vector(costs)

    def _behind_reading(self, node_class: NodeClass, nonterminal: int) -> _Vector:
        """Return the costs behind each label after a nonterminal on top of a node class."""
        if nonterminal not in node_class.behind_reading:
            self._solve(node_class, nonterminal)
        return node_class.behind_reading[nonterminal]

    def _solve(self, node_class: NodeClass, wanted: int) -> None:
        """Find the costs behind a nonterminal, and behind those whose rules begin with it.

        A rule of the nonterminal may begin with the nonterminal itself, so costs are lowered until nothing changes.
        """
        costs: dict[int, NDArray[np.int32]] = {}
        uses: dict[int, list[tuple[int, int, Item]]] = {}
        waiting = [wanted]
        while waiting:
            nonterminal = waiting.pop()
            if nonterminal in costs:
                continue
            if nonterminal in node_class.behind_reading:
                costs[nonterminal] = self.array(node_class.behind_reading[nonterminal])
                continue
            lowered = costs[nonterminal] = self.array(_REFUSED)
            state = self._items.after(node_class.state, -1 - nonterminal)
            if node_class.state == self._tables.start and state == self._tables.end:
                lowered[-1] = 0
            for item in self._items.kernels[state]:
                if item.read == 1:
                    begun = self._tables.rules[item.rule].nonterminal
                    uses.setdefault(begun, []).append((nonterminal, state, item))
                    waiting.append(begun)
                else:
                    position = self._items.kernels[node_class.state].index(Item(item.rule, item.read - 1))
                    self._lower_by_rest(lowered, state, item, self.array(node_class.behind_items[position]))
        changed = list(costs)
        while changed:
            begun = changed.pop()
            for nonterminal, state, item in uses.get(begun, ()):
                if self._lower_by_rest(costs[nonterminal], state, item, costs[begun]) and nonterminal not in changed:
                    changed.append(nonterminal)
        node_class.behind_reading |= {nonterminal: self._vector(lowered) for nonterminal, lowered in costs.items()}

    def _lower_by_rest(self, costs: NDArray[np.int32], state: int, item: Item, behind: NDArray[np.int32]) -> bool:
        """Lower costs by the rest of an item and the costs behind it; tell whether some fell."""
        rest = self._readings.rest(state, item)
        if rest is not None:
            return _lower(costs, rest.labels, rest.costs, behind)
        less = self._readings.reduced(state, item.rule) & (behind < costs)
        costs[less] = behind[less]
        return bool(less.any())

    def _vector(self, array: NDArray[np.int32]) -> _Vector:
        """Return the relative vector of an array."""
        least = int(array.min())
        if least >= FAR:
            return _REFUSED
        relative = np.where(array >= FAR, np.int32(FAR), array - np.int32(least))
        number = self._vector_numbers.setdefault(relative.tobytes(), len(self.vectors))
        if number == len(self.vectors):
            self.vectors.append(relative)
        return _Vector(number, least)

    def array(self, vector: _Vector) -> NDArray[np.int32]:
        """Return the array of a vector, int32 ``[labels + 1]``."""
        relative = self.vectors[vector.number]
        return np.where(relative >= FAR, np.int32(FAR), relative + np.int32(vector.added))


def _lower(
    lowered: NDArray[np.int32], labels: NDArray[np.int32], costs: NDArray[np.int32], behind: NDArray[np.int32]
) -> bool:
    """Lower costs by a matrix and the costs behind it; tell whether some fell."""
    totals = (costs + behind).min(axis=1)
    is_less = totals < lowered[labels]
    lowered[labels[is_less]] = totals[is_less]
    return bool(is_less.any())
