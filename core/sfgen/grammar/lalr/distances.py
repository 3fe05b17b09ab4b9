"""D(configuration): the fewest bytes from a configuration to the end of the text.

A configuration is a lexer state and a node of the parser's stack. D is the least sum, over all labels, of the cost from
the lexer state to the label and the cost from the label at the node to the end. The second cost depends on the pending
label (see ``costs``), so it is a vector over labels and not a sum over the frames of the stack.

Up to a constant that is added to all entries, few different vectors occur. With ``value: "[" value "]" | "1"`` each
``[`` adds one byte, and changes nothing else. So each node of the stack has a *stack class*: its state with the vectors
after its items, minus their least entry; the node stores that entry. The class of a node follows from its own state and
the class below, by one look-up. Grammars have tens to thousands of classes, made when a stack needs them; a stack of
ten thousand brackets has two or three.
"""

from __future__ import annotations

import threading
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfgen.grammar.lalr.costs import FAR as FAR
from sfgen.grammar.lalr.costs import Readings, by_terminal, byte_costs, labels_of
from sfgen.grammar.lalr.items import Item, Items
from sfgen.grammar.lalr.stack import BOTTOM, StateStacks
from sfgen.grammar.lalr.tables import NO_STATE, Lexer, ParseTables


class KnownDistances(NamedTuple):
    """The part of the distances that masks need, stored with a grammar; the rest is computed near a limit.

    Attributes:
        cost: See ``TextDistances``.
        safe: The safe labels, bool ``[labels + 1]``; see ``safe_labels``.
        most_per_node: The bound for each node of the stack; see ``safe_labels``.
        kernels: The state, the rule and the symbols read of each item in ``Items.kernels``, int32 ``[items, 3]``.
    """

    cost: NDArray[np.int32]
    safe: NDArray[np.bool_]
    most_per_node: int | None
    kernels: NDArray[np.int32]


class TextDistances:
    """The distances of one lexer and one parser. Safe to share between threads.

    Attributes:
        labels: The terminals with their lookahead obligations.
        cost: The fewest bytes from each lexer state to the commit of each label, int32 ``[lexer_states, labels + 1]``:
            0 if it can be committed at once, ``FAR`` if it never can. The last column is the end of the text.
        terminals: The terminal of each label, and of the end of the text, intp ``[labels + 1]``.
        known: The distances that are stored with the grammar; ``None`` if none are, or if the grammar has no text.
    """

    def __init__(
        self,
        tables: ParseTables,
        lexer: Lexer,
        stacks: StateStacks,
        usable: NDArray[np.bool_] | None = None,
        known: KnownDistances | None = None,
    ) -> None:
        self.labels = labels_of(lexer)
        self.cost = byte_costs(lexer, self.labels, usable) if known is None else known.cost
        self.terminals = np.array(
            [*[terminal for terminal, _ in self.labels], len(tables.terminals) - 1], dtype=np.intp
        )
        self.known = known
        self._tables = tables
        self._lexer = lexer
        self._stacks = stacks

    @cached_property
    def items(self) -> Items:
        """The items of the parser's states."""
        return Items(self._tables)

    def kernel(self, state: int) -> list[Item]:
        """Return the items of a state with at least one symbol read; see ``Items``."""
        if self.known is None:
            return self.items.kernels[state]
        first, end = np.searchsorted(self.known.kernels[:, 0], (state, state + 1))
        return [Item(rule, read) for _, rule, read in self.known.kernels[first:end].tolist()]

    @cached_property
    def readings(self) -> Readings:
        """The costs of all nonterminals."""
        return Readings(self.items, self._lexer, self.labels, self.cost)

    @cached_property
    def classes(self) -> StackClasses:
        """The classes of the stack's nodes."""
        return StackClasses(self.readings, self._stacks)

    def of(self, lexer_state: int, node: int) -> int:
        """Return the fewest bytes to the end of the text; ``FAR`` if it cannot be reached."""
        number, added = self.classes.of(node)
        least = int((self.cost[lexer_state] + self.classes.costs_after[number]).min())
        return FAR if least >= FAR else least + added

    def of_many(self, lexer_states: NDArray[np.int32], node: int) -> NDArray[np.int32]:
        """Return the fewest bytes to the end from several lexer states, int32."""
        number, added = self.classes.of(node)
        least: NDArray[np.int32] = (self.cost[lexer_states] + self.classes.costs_after[number]).min(axis=1)
        return np.where(least >= FAR, np.int32(FAR), least + np.int32(added))

    def to_terminals(self, labels: NDArray[np.bool_] | None = None) -> NDArray[np.int32]:
        """Return the fewest bytes from each lexer state to each terminal, int32 ``[lexer_states, terminals]``.

        No other terminal may end before it. ``labels`` selects labels, bool ``[labels + 1]``; ``None``: all.
        """
        cost = self.cost if labels is None or labels.all() else np.where(labels, self.cost, np.int32(FAR))
        return by_terminal(cost, self.terminals, len(self._tables.terminals))

    @cached_property
    def is_empty(self) -> bool:
        """Whether the grammar has no text."""
        if self.known is not None:
            return False
        start = self._lexer.starts[self._tables.context_of[self._tables.start], 0]
        return start == NO_STATE or self.of(int(start), BOTTOM) >= FAR


class _Vector(NamedTuple):
    """The bytes to the end after each pending label.

    Attributes:
        number: The number of the vector minus its least entry.
        added: The least entry.
    """

    number: int
    added: int


_REFUSED = _Vector(0, 0)
"""The vector in which every entry is ``FAR``."""


def _plus(vector: _Vector, added: int) -> _Vector:
    """Add a number to all entries of a vector."""
    return vector if vector.number == 0 else _Vector(vector.number, vector.added + added)


class _StackClass(NamedTuple):
    """A state with the costs after each of its items: the part of the costs that its stack nodes share.

    Attributes:
        state: The parser's state.
        after_items: The costs after each item of the state.
        after_readings: The costs after nonterminals that were read on top of the state, of those computed so far.
    """

    state: int
    after_items: tuple[_Vector, ...]
    after_readings: dict[int, _Vector]


class StackClasses:
    """Finds the class of each stack node, and the costs after it. Safe to share between threads.

    Attributes:
        costs_after: The bytes to the end after each label with a class on top, to which the node adds its own number,
            int32 ``[classes, labels + 1]``. Rows beyond the known classes are unused.
    """

    def __init__(self, readings: Readings, stacks: StateStacks) -> None:
        self._items = readings.items
        self._tables = tables = readings.items.tables
        self._readings = readings
        self._stacks = stacks
        refused = np.full(len(readings.terminals), FAR, dtype=np.int32)
        self._vectors = [refused]  # each int32 ``[labels + 1]``; the least entry is 0, except here
        self._vector_numbers = {refused.tobytes(): _REFUSED.number}
        self._before: dict[tuple[int, Item, int], _Vector] = {}
        self._minima: dict[tuple[int, int, int], _Vector] = {}
        self._classes: list[_StackClass] = []
        self._numbers: dict[tuple[int, tuple[_Vector, ...]], int] = {}
        self._pushed: dict[tuple[int, int], tuple[int, int]] = {}
        self.costs_after = np.tile(refused, (1 << 4, 1))
        self._lock = threading.Lock()
        at_end = refused.copy()
        at_end[-1] = 0
        self._at_end = self._vector(at_end)
        self._of = {BOTTOM: (self._class(tables.start, ()), 0)}

    def of(self, node: int) -> tuple[int, int]:
        """Return the class of a node, and the bytes that the node adds to the costs after the class."""
        known = self._of.get(node)
        if known is None:
            with self._lock:
                path = [node]
                while path[-1] not in self._of:
                    path.append(self._stacks.below[path[-1]])
                number, added = self._of[path.pop()]
                for each in reversed(path):
                    number, more = self._push(number, self._stacks.states[each])
                    added += more
                    self._of[each] = number, added
                known = number, added  # perhaps found by another thread before the lock was free
        return known

    # ---- classes ---------------------------------------------------------------------------------------------------

    def _push(self, number: int, state: int) -> tuple[int, int]:
        """Return the class of a state on top of a class, and the bytes that the push adds."""
        pushed = self._pushed.get((number, state))
        if pushed is None:
            below, vectors = self._classes[number], list[_Vector]()
            for item in self._items.kernels[state]:
                if item.read == 1:
                    vectors.append(self._after_reading(below, self._tables.rules[item.rule].nonterminal))
                else:
                    vectors.append(self._after_item(below, item))
            added = min((vector.added for vector in vectors if vector != _REFUSED), default=0)
            above = self._class(state, tuple([_plus(vector, -added) for vector in vectors]))
            pushed = self._pushed[number, state] = above, added
        return pushed

    def _class(self, state: int, after_items: tuple[_Vector, ...]) -> int:
        """Return the number of a class."""
        number = self._numbers.get((state, after_items))
        if number is None:
            number = len(self._classes)
            if number == len(self.costs_after):
                self.costs_after = np.concatenate([self.costs_after, self.costs_after])
            self._classes.append(_StackClass(state, after_items, {}))
            self.costs_after[number] = self._find_costs_after(self._classes[-1])
            self._numbers[state, after_items] = number
        return number

    def _find_costs_after(self, top: _StackClass) -> NDArray[np.int32]:
        """Compute the costs after each label with a class on top, int32 ``[labels + 1]``."""
        least = _REFUSED
        for item, vector in zip(self._items.kernels[top.state], top.after_items, strict=True):
            least = self._minimum(least, self._before_rest(top.state, item, vector))
        costs = self._array(least)
        if top.state == self._tables.start:
            for nonterminal in np.flatnonzero(self._tables.gotos[top.state] == self._tables.end).tolist():
                read = self._readings.of(top.state, -1 - nonterminal)
                after = self._array(self._after_reading(top, nonterminal))
                costs[read.labels] = np.minimum(costs[read.labels], (read.costs + after).min(axis=1))
        return costs

    def _after_item(self, below: _StackClass, item: Item) -> _Vector:
        """Return the costs after an item whose last symbol was read on top of a class."""
        return below.after_items[self._items.kernels[below.state].index(Item(item.rule, item.read - 1))]

    def _after_reading(self, top: _StackClass, nonterminal: int) -> _Vector:
        """Return the costs for each label after a nonterminal that was read on top of a class."""
        if nonterminal not in top.after_readings:
            self._solve(top, nonterminal)
        return top.after_readings[nonterminal]

    def _solve(self, top: _StackClass, wanted: int) -> None:
        """Find the costs after a nonterminal, and after those whose rules begin with it.

        A rule of the nonterminal may begin with the nonterminal itself, so costs are lowered until nothing changes.
        """
        costs: dict[int, _Vector] = {}
        uses: dict[int, list[tuple[int, int, Item]]] = {}
        waiting = [wanted]
        while waiting:
            nonterminal = waiting.pop()
            if nonterminal in costs:
                continue
            if nonterminal in top.after_readings:
                costs[nonterminal] = top.after_readings[nonterminal]
                continue
            state = self._items.after(top.state, -1 - nonterminal)
            is_end = top.state == self._tables.start and state == self._tables.end
            costs[nonterminal] = self._at_end if is_end else _REFUSED
            for item in self._items.kernels[state]:
                if item.read == 1:
                    begun = self._tables.rules[item.rule].nonterminal
                    uses.setdefault(begun, []).append((nonterminal, state, item))
                    waiting.append(begun)
                else:
                    through = self._before_rest(state, item, self._after_item(top, item))
                    costs[nonterminal] = self._minimum(costs[nonterminal], through)
        changed = list(costs)
        while changed:
            begun = changed.pop()
            for nonterminal, state, item in uses.get(begun, ()):
                least = self._minimum(costs[nonterminal], self._before_rest(state, item, costs[begun]))
                if least != costs[nonterminal]:
                    costs[nonterminal] = least
                    changed.append(nonterminal)
        top.after_readings.update(costs)

    # ---- vectors ---------------------------------------------------------------------------------------------------

    def _before_rest(self, state: int, item: Item, after: _Vector) -> _Vector:
        """Return the costs of the rest of an item plus the costs after it."""
        key = state, item, after.number
        before = self._before.get(key)
        if before is None:
            rest, after_rest = self._readings.rest(state, item), self._vectors[after.number]
            if rest is None:
                costs = np.where(self._readings.reduced(state, item.rule), after_rest, np.int32(FAR))
            else:
                costs = np.full(len(after_rest), FAR, dtype=np.int32)
                costs[rest.labels] = (rest.costs + after_rest).min(axis=1)
            before = self._before[key] = self._vector(costs)
        return _plus(before, after.added)

    def _minimum(self, one: _Vector, other: _Vector) -> _Vector:
        """Return the minimum of two costs for each label."""
        if other in (one, _REFUSED):
            return one
        if one == _REFUSED:
            return other
        key = one.number, other.number, other.added - one.added
        minimum = self._minima.get(key)
        if minimum is None:
            shifted = self._vectors[other.number] + np.int32(other.added - one.added)
            minimum = self._minima[key] = self._vector(np.minimum(self._vectors[one.number], shifted))
        return _plus(minimum, one.added)

    def _vector(self, array: NDArray[np.int32]) -> _Vector:
        """Return the vector of an array, int32 ``[labels + 1]``."""
        least = int(array.min())
        if least >= FAR:
            return _REFUSED
        relative = np.where(array >= FAR, np.int32(FAR), array - np.int32(least))
        number = self._vector_numbers.setdefault(relative.tobytes(), len(self._vectors))
        if number == len(self._vectors):
            self._vectors.append(relative)
        return _Vector(number, least)

    def _array(self, vector: _Vector) -> NDArray[np.int32]:
        """Return the array of a vector, int32 ``[labels + 1]``."""
        relative = self._vectors[vector.number]
        return np.where(relative >= FAR, np.int32(FAR), relative + np.int32(vector.added))
