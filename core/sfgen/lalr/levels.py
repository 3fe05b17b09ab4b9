"""What is behind each label at a node of the parser's stacks.

Behind a label, the parser reads the rest of one of the items on top of the stack. Then it pops what was read of that
rule, and has read a nonterminal in the node below, with another label pending. So what is behind depends on the node
below only through some vectors over labels, one for each item of its state. A *level* is a state with these vectors.

The vectors are relative, their least number being 0, and equal ones are one. The levels of a deep stack repeat
themselves then, and a level that was seen before costs a look-up.
"""

from __future__ import annotations

import threading
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfgen.lalr.items import Item, Items
from sfgen.lalr.lexeme_costs import FAR
from sfgen.lalr.readings import Readings
from sfgen.lalr.stack import Stacks


class Vector(NamedTuple):
    """The units behind each pending label, by a relative vector.

    Attributes:
        number: The relative vector.
        added: The units that are added to it.
    """

    number: int
    added: int


_REFUSED = Vector(0, 0)
"""The vector in which all is ``FAR``."""


def _more(vector: Vector, units: int) -> Vector:
    """A vector with more units behind each label."""
    return vector if vector.number == 0 else Vector(vector.number, vector.added + units)


class Level:
    """A state, and what is behind each of its items after it.

    Attributes:
        state: The state.
        behind_items: Of each item of the state what is behind it.
        behind_reading: Of nonterminals what is behind them when they have been read on top of the state.
        behind: What is behind when the state is on top; ``None`` until it is computed.
    """

    def __init__(self, state: int, behind_items: tuple[Vector, ...]) -> None:
        self.state = state
        self.behind_items = behind_items
        self.behind_reading: dict[int, Vector] = {}
        self.behind: Vector | None = None


class Levels:
    """The levels of the nodes of one parser's stacks.

    They can be shared between threads.

    Args:
        items: The items of the parser's states.
        readings: The costs of their rests.
        stacks: The stacks.
    """

    def __init__(self, items: Items, readings: Readings, stacks: Stacks) -> None:
        self._items = items
        self._tables = items.tables
        self._readings = readings
        self._stacks = stacks
        refused = np.full(len(readings.terminals), FAR, dtype=np.int32)
        self.vectors = [refused]
        """The relative vectors, each int32 ``[labels + 1]``."""
        self._vector_numbers = {refused.tobytes(): 0}
        self._levels: dict[tuple[int, tuple[Vector, ...]], Level] = {}
        self._level_of: dict[int, tuple[Level, int]] = {}
        self._lock = threading.Lock()

    def behind(self, node: int) -> Vector:
        """Return the units behind each label at a node."""
        with self._lock:
            level, added = self._find_level(node)
            if level.behind is None:
                level.behind = self._find_behind(level)
            return _more(level.behind, added)

    def of(self, node: int) -> tuple[Level, int]:
        """Return the level of a node, and what its vectors add."""
        with self._lock:
            return self._find_level(node)

    def _find_level(self, node: int) -> tuple[Level, int]:
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

    def _make_level(self, node: int, items: list[Item], ancestors: list[int]) -> tuple[Level, int]:
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
            found = self._levels[key] = Level(*key)
        return found, added

    def _find_behind(self, level: Level) -> Vector:
        """What is behind each label when a level is on top."""
        found = self.array(_REFUSED)
        if level.state == self._tables.start:
            for nonterminal in np.flatnonzero(self._tables.gotos[level.state] == self._tables.end).tolist():
                read = self._readings.of(level.state, -1 - nonterminal)
                behind = self.array(self._behind_reading(level, nonterminal))
                _lower(found, read.labels, read.costs, behind)
        for item, vector in zip(self._items.kernels[level.state], level.behind_items, strict=True):
            self._lower_by_rest(found, level.state, item, self.array(vector))
        return self._vector(found)

    def _behind_reading(self, level: Level, nonterminal: int) -> Vector:
        """What is behind each label when a nonterminal has been read on top of a level."""
        if nonterminal not in level.behind_reading:
            self._solve(level, nonterminal)
        return level.behind_reading[nonterminal]

    def _solve(self, level: Level, wanted: int) -> None:
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
                found[nonterminal] = self.array(level.behind_reading[nonterminal])
                continue
            lowered = found[nonterminal] = self.array(_REFUSED)
            state = self._items.after(level.state, -1 - nonterminal)
            if level.state == self._tables.start and state == self._tables.end:
                lowered[-1] = 0
            for item in self._items.kernels[state]:
                if item.read == 1:
                    begun = self._tables.rules[item.rule].nonterminal
                    uses.setdefault(begun, []).append((nonterminal, state, item))
                    waiting.append(begun)
                else:
                    position = self._items.kernels[level.state].index(Item(item.rule, item.read - 1))
                    self._lower_by_rest(lowered, state, item, self.array(level.behind_items[position]))
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

    def _vector(self, array: NDArray[np.int32]) -> Vector:
        """The vector of an array."""
        least = int(array.min())
        if least >= FAR:
            return _REFUSED
        relative = np.where(array >= FAR, np.int32(FAR), array - np.int32(least))
        number = self._vector_numbers.setdefault(relative.tobytes(), len(self.vectors))
        if number == len(self.vectors):
            self.vectors.append(relative)
        return Vector(number, least)

    def array(self, vector: Vector) -> NDArray[np.int32]:
        """Return the array of a vector, int32 ``[labels + 1]``."""
        relative = self.vectors[vector.number]
        return np.where(relative >= FAR, np.int32(FAR), relative + np.int32(vector.added))


def _lower(
    found: NDArray[np.int32], labels: NDArray[np.int32], costs: NDArray[np.int32], behind: NDArray[np.int32]
) -> bool:
    """Lower what is found by what costs lead to with something behind; return whether some became less."""
    totals = (costs + behind).min(axis=1)
    is_less = totals < found[labels]
    found[labels[is_less]] = totals[is_less]
    return bool(is_less.any())
