"""The table of a network: its states, the steps between them, and the calls.

An entry of the table is the next state, ``DEAD``, or an *action*: one or several ways to read the byte, each of which
may push frames.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

DEAD = -1
"""The entry of a refused byte; an entry ``v`` below ``DEAD`` is the action at ``-2 - v`` in ``Actions``."""


class Push(NamedTuple):
    """A frame to push."""

    state: int  # the return state
    keeps: bool  # whether the frame keeps the register
    is_distinct: bool  # whether the call is distinct


class Way(NamedTuple):
    """One way to read a byte."""

    state: int
    pushes: tuple[Push, ...]  # the frames, the outermost first; they are pushed before the state is entered
    # Whether the register is new. A call at the end of a rule pushes no frame but has a new register, too.
    is_fresh: bool


class CallSite(NamedTuple):
    """A call in a state."""

    entry: int  # the first state of the called rule
    target: int  # the return state
    is_distinct: bool  # whether the texts of such calls must differ from each other


class FlatTable(NamedTuple):
    """A table and its actions, for kernels."""

    table: NDArray[np.int32]  # the network's table, flat
    actions: NDArray[np.int32]  # see ``Actions``


KEEPS_REGISTER, IS_DISTINCT = 1, 2
"""The flags of a push: the frame keeps the register; the call is distinct."""


class Actions:
    """The ways of each action, decoded from numbers at their first use.

    Attributes:
        numbers: The actions one after the other, int32. An action is its number of ways, then the ways. A way is its
            state, whether its register is new, its number of pushes, and for each push the return state and flags.
    """

    def __init__(self, numbers: NDArray[np.int32]) -> None:
        self.numbers = numbers
        self._known: dict[int, tuple[Way, ...]] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return Actions, (self.numbers,)

    def __getitem__(self, place: int) -> tuple[Way, ...]:
        """Return the ways of the action at an offset."""
        ways = self._known.get(place)
        if ways is None:
            ways = self._known[place] = tuple(self._read(place))
        return ways

    def _read(self, place: int) -> Iterator[Way]:
        at = place + 1
        for _ in range(self.numbers[place]):
            state, is_fresh, count = self.numbers[at : at + 3].tolist()
            pushes = self.numbers[at + 3 : at + 3 + 2 * count].reshape(-1, 2).tolist()
            frames = [Push(to, bool(flags & KEEPS_REGISTER), bool(flags & IS_DISTINCT)) for to, flags in pushes]
            yield Way(state, tuple(frames), bool(is_fresh))
            at += 3 + 2 * count


NO_ACTIONS = Actions(np.empty(0, dtype=np.int32))


@dataclass(frozen=True, eq=False)
class Table:
    """The states of all rules, under one numbering. Immutable.

    Attributes:
        rule_of: The rule of each state, int32 ``[states]``.
        table: The next state, ``DEAD`` or an action, int32 ``[states, classes]``.
        byte_classes: The class of each byte, uint8 ``[256]``.
        accepting: Whether the rule may end in each state, bool ``[states]``.
        is_end: Whether the rule must end in each state, since nothing can be read there, bool ``[states]``.
        actions: The ways of each action, by its offset.
        calls: The calls of each state that has any.
    """

    rule_of: NDArray[np.int32]
    table: NDArray[np.int32]
    byte_classes: NDArray[np.uint8]
    accepting: NDArray[np.bool_]
    is_end: NDArray[np.bool_]
    actions: Actions
    calls: Mapping[int, tuple[CallSite, ...]] = field(repr=False)

    @property
    def alone(self) -> Table:
        """A table without the other parts of a network, so that the network can be freed."""
        return Table(*(getattr(self, each.name) for each in fields(Table)))

    def __len__(self) -> int:
        """The number of states."""
        return len(self.accepting)

    @property
    def flat(self) -> FlatTable:
        """The table and the actions, for kernels."""
        return FlatTable(self.table.reshape(-1), self.actions.numbers)
