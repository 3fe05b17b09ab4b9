"""D(configuration): the fewest units from a configuration to the end of the text.

A configuration is a control of the lexer and a node of the parser's stacks. The way to the end is: the units until some
label can be committed, and what is *behind* it at the node. Behind a label, the parser reads the rest of one of the
items on top of the stack. Then it pops what was read of that rule, and has read a nonterminal in the node below, with
another label pending. So what is behind depends on the node below only through some vectors over labels, one for each
item that may be popped down to there.

These vectors are made relative, their least number being 0, and equal ones are one. The levels of a deep stack repeat
themselves then, and a level that was seen before costs a look-up.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfgen.lalr.bounds import Bounds
from sfgen.lalr.items import Item, Items
from sfgen.lalr.lexeme_costs import FAR as FAR
from sfgen.lalr.lexeme_costs import byte_costs, labels_of
from sfgen.lalr.readings import Readings
from sfgen.lalr.stack import BOTTOM, Stacks
from sfgen.lalr.tables import NO_STATE, Lexer, ParseTables


class _Vector(NamedTuple):
    """The units behind each label when they are pending: a number of a relative vector, and what is added to it."""

    number: int
    added: int


_REFUSED = _Vector(0, 0)
"""The vector in which all is ``FAR``."""


def _more(vector: _Vector, units: int) -> _Vector:
    """A vector with more units behind each label."""
    return vector if vector.number == 0 else _Vector(vector.number, vector.added + units)


class _Level:
    """A state, and what is behind each of its items once it has been read.

    Attributes:
        state: The state.
        behind_items: Of each item of the state what is behind it.
        behind_reading: Of nonterminals what is behind them when they have been read on top of the state.
        behind: What is behind when the state is on top; ``None`` where nobody asked.
    """

    def __init__(self, state: int, behind_items: tuple[_Vector, ...]) -> None:
        self.state = state
        self.behind_items = behind_items
        self.behind_reading: dict[int, _Vector] = {}
        self.behind: _Vector | None = None


class Distances:
    """The distances of the configurations of one lexer and one parser. Safe to share between threads.

    Args:
        tables: The tables of the parser.
        lexer: The lexer.
        stacks: The stacks of the parser.
        cost: The units from each control until each label can be committed, int32 ``[controls, labels + 1]``: 0 where
            it can be at once, ``FAR`` where it never can. The last column is the end of the text. ``None`` for bytes.
        usable: The bytes that may be used when ``cost`` is ``None``, bool ``[256]``; ``None`` for all.

    Attributes:
        labels: The terminals with their promises.
        cost: The units from each control to each label, as above.
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
        self._readings = Readings(self._items, lexer, self.labels, self.cost)
        refused = np.full(len(self.labels) + 1, FAR, dtype=np.int32)
        self._vectors = [refused]
        self._vector_numbers = {refused.tobytes(): 0}
        self._levels: dict[tuple[int, tuple[_Vector, ...]], _Level] = {}
        self._level_of: dict[int, tuple[_Level, int]] = {}
        self._smallest_bytes = None if cost is not None else _smallest_bytes(lexer, usable)
        self._lock = threading.Lock()

    def behind(self, node: int) -> NDArray[np.int32]:
        """The least units behind committing each label at a node.

        Returns:
            int32 ``[labels + 1]``; ``FAR`` where the label is refused, or leads nowhere. The last one is 0 where the
            text may end.
        """
        return self._array(self._behind_node(node))

    def of(self, control: int, node: int) -> int:
        """The least units to the end of the text; ``FAR`` where there is no way."""
        behind = self._behind_node(node)
        least = int((self.cost[control] + self._vectors[behind.number]).min())
        return FAR if least >= FAR else least + behind.added

    def of_many(self, controls: NDArray[np.int32], node: int) -> NDArray[np.int32]:
        """The least units to the end of the text from each control, int32 ``[len(controls)]``."""
        behind = self._behind_node(node)
        least: NDArray[np.int32] = (self.cost[controls] + self._vectors[behind.number]).min(axis=1)
        return np.where(least >= FAR, np.int32(FAR), least + np.int32(behind.added))

    @cached_property
    def is_empty(self) -> bool:
        """Whether no text is complete."""
        start = self._lexer.starts[self._tables.context_of[self._tables.start], 0]
        return start == NO_STATE or self.of(int(start), BOTTOM) >= FAR

    @cached_property
    def is_separable(self) -> bool:
        """Whether the lexer never takes away what the parser allows, and no conflict was resolved.

        Then each configuration is viable whose parser accepts some terminal that its control reaches. Where it is
        false, some may still be all viable.
        """
        return self._bounds.is_separable

    @cached_property
    def most_per_level(self) -> int | None:
        """A bound: D is at most this times the depth of the node and 1, unless it is ``FAR``; ``None``: not known."""
        if not self.is_separable:
            return None
        return self._bounds.most_per_level(int(self.cost[self.cost < FAR].max(initial=0)))

    def shortest(self, control: int, node: int) -> bytes:
        """A shortest text to the end, with the smallest of the bytes that lead on wherever there are some.

        Raises:
            ValueError: There is no way to the end, or the units are no bytes.
        """
        left = self.of(control, node)
        if left >= FAR or self._smallest_bytes is None:
            raise ValueError("no shortest text")
        found = bytearray()
        while left:
            left -= 1
            steps = []
            for way, after in self._ways(control, node):
                targets = self._lexer.step[way]
                classes = np.flatnonzero((targets != NO_STATE) & (self._smallest_bytes < 256))
                classes = classes[self.of_many(targets[classes], after) == left]
                steps += [(int(self._smallest_bytes[each]), int(targets[each]), after) for each in classes.tolist()]
            byte, control, node = min(steps)
            found.append(byte)
        return bytes(found)

    def _ways(self, control: int, node: int) -> Iterator[tuple[int, int]]:
        """The configurations from which the next byte may be read: without a commit, and behind each."""
        yield control, node
        for at in range(self._lexer.commit_starts[control], self._lexer.commit_starts[control + 1]):
            after = self._stacks.after(node, int(self._lexer.commit_terminals[at]))
            if after != NO_STATE:
                context = self._tables.context_of[self._stacks.states[after]]
                start = int(self._lexer.starts[context, self._lexer.commit_promises[at]])
                if start != NO_STATE:
                    yield start, after

    @cached_property
    def _bounds(self) -> Bounds:
        return Bounds(self._items, self._readings)

    def _behind_node(self, node: int) -> _Vector:
        """What is behind each label at a node."""
        with self._lock:
            level, added = self._find_level(node)
            if level.behind is None:
                level.behind = self._find_behind(level)
            return _more(level.behind, added)

    def _find_level(self, node: int) -> tuple[_Level, int]:
        """The level of a node, and what is added to its vectors."""
        waiting = [node]
        while waiting:
            current = waiting[-1]
            if current in self._level_of:
                waiting.pop()
                continue
            items = self._items.kernels[self._stacks.states[current]]
            ancestors = self._ancestors(current, items)
            unknown = [ancestor for ancestor in ancestors if ancestor not in self._level_of]
            if unknown:
                waiting += unknown
                continue
            self._level_of[current] = self._make_level(current, items, ancestors)
            waiting.pop()
        return self._level_of[node]

    def _ancestors(self, node: int, items: list[Item]) -> list[int]:
        """The node that is left when what was read of each item is popped."""
        popped = [node]
        for _ in range(max((item.read for item in items), default=0)):
            popped.append(self._stacks.below[popped[-1]])
        return [popped[item.read] for item in items]

    def _make_level(self, node: int, items: list[Item], ancestors: list[int]) -> tuple[_Level, int]:
        vectors = []
        for item, ancestor in zip(items, ancestors, strict=True):
            level, added = self._level_of[ancestor]
            vector = self._behind_reading(level, self._tables.rules[item.rule].nonterminal)
            vectors.append(_more(vector, added))
        added = min((vector.added for vector in vectors if vector != _REFUSED), default=0)
        key = (
            self._stacks.states[node],
            tuple([_more(vector, -added) for vector in vectors]),
        )
        found = self._levels.get(key)
        if found is None:
            found = self._levels[key] = _Level(*key)
        return found, added

    def _find_behind(self, level: _Level) -> _Vector:
        """What is behind each label when a level is on top."""
        found = self._array(_REFUSED)
        if level.state == self._tables.start:
            for nonterminal in np.flatnonzero(self._tables.gotos[level.state] == self._tables.end).tolist():
                read = self._readings.of(level.state, -1 - nonterminal)
                behind = self._array(self._behind_reading(level, nonterminal))
                _lower(found, read.labels, read.costs, behind)
        for item, vector in zip(self._items.kernels[level.state], level.behind_items, strict=True):
            self._lower_by_rest(found, level.state, item, self._array(vector))
        return self._vector(found)

    def _behind_reading(self, level: _Level, nonterminal: int) -> _Vector:
        """What is behind each label when a nonterminal has been read on top of a level."""
        if nonterminal not in level.behind_reading:
            self._solve(level, nonterminal)
        return level.behind_reading[nonterminal]

    def _solve(self, level: _Level, wanted: int) -> None:
        """Find what is behind a nonterminal that has been read, and behind those that it is the first symbol of.

        It may be the first symbol of a rule of itself, directly or not. So they are lowered until nothing changes.
        """
        found: dict[int, NDArray[np.int32]] = {}
        uses: dict[int, list[tuple[int, int, Item]]] = {}
        waiting = [wanted]
        while waiting:
            nonterminal = waiting.pop()
            if nonterminal in found:
                continue
            if nonterminal in level.behind_reading:
                found[nonterminal] = self._array(level.behind_reading[nonterminal])
                continue
            lowered = found[nonterminal] = self._array(_REFUSED)
            state = self._items.after(level.state, -1 - nonterminal)
            if level.state == self._tables.start and state == self._tables.end:
                lowered[-1] = 0
            for item in self._items.kernels[state]:
                if item.read == 1:
                    begun = self._tables.rules[item.rule].nonterminal
                    uses.setdefault(begun, []).append((nonterminal, state, item))
                    waiting.append(begun)
                else:
                    place = self._items.kernels[level.state].index(Item(item.rule, item.read - 1))
                    self._lower_by_rest(lowered, state, item, self._array(level.behind_items[place]))
        changed = list(found)
        while changed:
            begun = changed.pop()
            for nonterminal, state, item in uses.get(begun, ()):
                if self._lower_by_rest(found[nonterminal], state, item, found[begun]) and nonterminal not in changed:
                    changed.append(nonterminal)
        level.behind_reading |= {nonterminal: self._vector(lowered) for nonterminal, lowered in found.items()}

    def _lower_by_rest(self, found: NDArray[np.int32], state: int, item: Item, behind: NDArray[np.int32]) -> bool:
        """Lower what is found by reading the rest of an item with something behind; return whether some became less."""
        rest = self._readings.rest(state, item)
        if rest is not None:
            return _lower(found, rest.labels, rest.costs, behind)
        less = self._readings.reduced(state, item.rule) & (behind < found)
        found[less] = behind[less]
        return bool(less.any())

    def _vector(self, array: NDArray[np.int32]) -> _Vector:
        """The vector of an array."""
        least = int(array.min())
        if least >= FAR:
            return _REFUSED
        relative = np.where(array >= FAR, np.int32(FAR), array - np.int32(least))
        number = self._vector_numbers.setdefault(relative.tobytes(), len(self._vectors))
        if number == len(self._vectors):
            self._vectors.append(relative)
        return _Vector(number, least)

    def _array(self, vector: _Vector) -> NDArray[np.int32]:
        """The array of a vector, int32 ``[labels + 1]``."""
        relative = self._vectors[vector.number]
        return np.where(relative >= FAR, np.int32(FAR), relative + np.int32(vector.added))


def _lower(
    found: NDArray[np.int32], labels: NDArray[np.int32], costs: NDArray[np.int32], behind: NDArray[np.int32]
) -> bool:
    """Lower what is found by what costs lead to with something behind; return whether some became less."""
    totals = (costs + behind).min(axis=1)
    is_less = totals < found[labels]
    found[labels[is_less]] = totals[is_less]
    return bool(is_less.any())


def _smallest_bytes(lexer: Lexer, usable: NDArray[np.bool_] | None) -> NDArray[np.int32]:
    """The smallest byte of each class that may be used, int32 ``[classes]``; 256 where there is none."""
    found = np.full(lexer.step.shape[1], 256, dtype=np.int32)
    bytes_ = np.arange(256) if usable is None else np.flatnonzero(usable)
    np.minimum.at(found, lexer.byte_classes[bytes_], bytes_)
    return found
