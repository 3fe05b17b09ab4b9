"""What the states of a rule have before them whose members have any order: the names that may come, and their bytes.

Found once for a network and the bytes that may be used. What is called has no length yet; the distances of the rules
that are called are put in later (see ``sfgen.grammar.member_distances``).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfgen.grammar.any_order import Names
from sfgen.grammar.network import DEAD, Network

FAR = 1 << 40
"""The distance of a state from which there is no way to the end."""

ENDLESS = 1 << 20
"""The members that there is room for where there is no maximum."""


class Stand(NamedTuple):
    """What a state has before it, in bytes.

    Calls are left out of them.

    Args:
        tail: To where a member ends, and the value that is called until then, -1 if the member has ended; ``None``
            where no member is being read whose name is known.
        choices: The names that may come to be read, and the bytes to the ends of their members.
        others: The other members: the bytes, the name that is called, and the value.
        close: To the end of the rule without another member; ``FAR`` if there is no such way.
        lacks: The fewest members that must begin from here on.
        room: The most members that can.
    """

    tail: tuple[int, int] | None
    choices: tuple[tuple[int, int], ...]
    others: tuple[tuple[int, int, int], ...]
    close: int
    lacks: int
    room: int


class MemberStands(NamedTuple):
    """The stands of one rule.

    Args:
        names: Its names.
        stands: Its states.
        values: The first state of the value of each name; -1: the name cannot be written.
        openings: The states that other rules lead to: the first one, and those behind the first byte.
    """

    names: Names
    stands: Mapping[int, Stand]
    values: tuple[int, ...]
    openings: tuple[int, ...]


def member_stands(network: Network, usable: NDArray[np.bool_]) -> list[MemberStands]:
    """Find the stands of each rule whose members have any order.

    Args:
        network: The network.
        usable: The byte classes that may be used, bool ``[classes]``.
    """
    of_rule: dict[int, list[int]] = {rule: [] for rule in network.names_in}
    for state in np.flatnonzero(np.isin(network.rule_of, list(of_rule))).tolist():
        of_rule[int(network.rule_of[state])].append(state)
    return [_Finder(network, network.names_in[rule], states, usable).found() for rule, states in of_rule.items()]


class _Finder:
    """Finds the stands of the states of one rule."""

    def __init__(self, network: Network, names: Names, states: list[int], usable: NDArray[np.bool_]) -> None:
        self._network = network
        self._names = names
        self._states = states
        rows = np.where(usable, network.table[states], DEAD)
        self._after: dict[int, set[int]] = {state: set() for state in states}
        for row, label in np.argwhere(rows != DEAD).tolist():
            entry = int(rows[row, label])
            ways = () if entry >= 0 else network.actions[-2 - entry]
            own = {way.state for way in ways if not way.pushes and not way.is_fresh} if ways else {entry}
            self._after[states[row]] |= own
        self._before: dict[int, set[int]] = {state: set() for state in states}
        for state, targets in self._after.items():
            for target in targets:
                self._before[target].add(state)
        self._sites = [(state, site) for state in states for site in network.calls.get(state, ())]

    def found(self) -> MemberStands:
        """The stands of all states."""
        names = self._names
        ended = {site.target for _, site in self._sites if not site.is_distinct}
        tails = self._tails() | dict.fromkeys(ended, (0, -1))
        choices: dict[int, dict[int, int]] = {}
        values = [-1] * names.size
        for state, name in names.takes.items():
            if state in tails:
                rest, values[name] = tails[state]
                for earlier, length in self._back([state], ended).items():
                    if earlier != state:
                        found = choices.setdefault(earlier, {})
                        found[name] = min(found.get(name, FAR), length + rest)
        others: dict[int, set[tuple[int, int, int]]] = {}
        for state, site in self._sites:
            if site.is_distinct and site.target in tails:
                rest, value = tails[site.target]
                for earlier, length in self._back([state], ended).items():
                    others.setdefault(earlier, set()).add((length + rest, site.entry, value))
        close = self._back([state for state in self._states if self._network.accepting[state]], ended)
        lacks, room = self._lacks(), self._room()
        stands = {
            state: Stand(
                tails.get(state), tuple(choices.get(state, {}).items()), tuple(sorted(others.get(state, ()))),
                close.get(state, FAR), lacks.get(state, 0), room.get(state, ENDLESS),
            )
            for state in self._states
        }  # fmt: skip
        entered = {site.target for _, site in self._sites}
        first = [
            state
            for state in self._states
            if not self._before[state] and state not in entered and stands[state].tail is None
        ]
        openings = dict.fromkeys([*first, *(target for state in first for target in self._after[state])])
        return MemberStands(names, stands, tuple(values), tuple(openings))

    def _tails(self) -> dict[int, tuple[int, int]]:
        """From behind each name to its value: the bytes, and the first state of the value."""
        behind_names = {*self._names.takes, *(site.target for _, site in self._sites if site.is_distinct)}
        found: dict[int, tuple[int, int]] = {}
        for state, site in self._sites:
            if not site.is_distinct:
                for earlier, length in self._back([state], behind_names).items():
                    if length < found.get(earlier, (FAR, 0))[0]:
                        found[earlier] = length, site.entry
        return found

    def _back(self, ends: list[int], stop: Collection[int]) -> dict[int, int]:
        """The fewest bytes to one of some states from those that come before; not beyond others."""
        found = dict.fromkeys(ends, 0)
        for state in (queue := list(ends)):
            if state not in stop:
                for earlier in self._before[state]:
                    if earlier not in found:
                        found[earlier] = found[state] + 1
                        queue.append(earlier)
        return found

    def _steps(self) -> Iterator[tuple[int, int, int]]:
        """From a state to another one, and how many members begin there."""
        for state, targets in self._after.items():
            for target in targets:
                yield state, target, int(target in self._names.takes)
        for state, site in self._sites:
            yield state, site.target, int(site.is_distinct)

    def _lacks(self) -> dict[int, int]:
        """The fewest members that must begin behind each state: a search for shortest ways, backwards."""
        if self._names.minimum <= 1:
            return {}
        before: dict[int, list[tuple[int, int]]] = {state: [] for state in self._states}
        for state, target, begins in self._steps():
            before[target].append((state, begins))
        found = {state: 0 for state in self._states if self._network.accepting[state]}
        queue = deque(found)
        while queue:
            state = queue.popleft()
            for earlier, begins in before[state]:
                if found[state] + begins < found.get(earlier, ENDLESS):
                    found[earlier] = found[state] + begins
                    queue.append(earlier) if begins else queue.appendleft(earlier)
        return found

    def _room(self) -> dict[int, int]:
        """The most members that can begin behind each state: longest ways, the last states first."""
        if self._names.maximum is None:
            return {}
        before: dict[int, list[tuple[int, int]]] = {state: [] for state in self._states}
        waits = dict.fromkeys(self._states, 0)
        for state, target, begins in self._steps():
            before[target].append((state, begins))
            waits[state] += 1
        found = dict.fromkeys(self._states, 0)
        for state in (queue := [state for state in self._states if not waits[state]]):
            for earlier, begins in before[state]:
                found[earlier] = max(found[earlier], found[state] + begins)
                waits[earlier] -= 1
                if not waits[earlier]:
                    queue.append(earlier)
        return found
