"""The automaton of a rule with members in any order, and data about each of its states.

The automaton reads any member at any time; a register contains the names that were read (see ``names``). All objects of
one layout are equal except for their names and values. Their *scaffold* is the automaton of an object in which one
member, a call of a name and a call of a value, is repeated. It is made once for a process. In the automaton of a rule
the trie of the names replaces the call of a name, and the text between name and value is copied for each value.

Each state has a row of numbers, its *columns*: its state in the scaffold, and the part of a name that was read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfgen.errors import InternalError
from sfgen.grammar.network.registers.register import FAR, NARROW
from sfgen.grammar.network.rules import (
    Alternation,
    AnyOrder,
    Call,
    Concatenation,
    Expression,
    Literal,
    Member,
    Repeat,
    Series,
)

ENDLESS = 1 << 20
"""The room for more members where there is no maximum."""

NAME, VALUE = Call("name"), Call("value")
"""The calls of a scaffold."""

ORIGIN, OPEN, DEPTH, LOW, HIGH, TAKES = range(6)
"""The columns of a state: its state in the scaffold (inside a name: the state after it); the number of the value to
which it leads, ``ENDED`` or ``NO_VALUE``; the number of bytes of a name that were read; the start and end, among the
sorted names, of those that may follow; the number of the name that a step into the state completes, or -1.
"""

NO_VALUE, ENDED = -1, -2
"""In place of a value: no name is complete; a member has ended."""


# ---- scaffolds -------------------------------------------------------------------------------------------------------


class ScaffoldDistances(NamedTuple):
    """The bytes and members after each state of a scaffold, int64 ``[states]``; ``FAR`` if there is no way."""

    to_name: NDArray[np.int64]  # bytes to the next name
    to_value: NDArray[np.int64]  # bytes to the next value
    to_end: NDArray[np.int64]  # bytes to the end without another member
    lacks: NDArray[np.int64]  # the fewest members that must still begin
    room: NDArray[np.int64]  # the most members that can still begin


@dataclass(frozen=True, eq=False)
class Scaffold:
    """The automaton of an object whose names and values are calls. Immutable.

    Attributes:
        size: The number of states; state 0 is the start.
        steps: The steps of each state: byte and target.
        accepting: The states in which the object may end.
        names: The state after a name, by the state before it.
        values: The state after a value, by the state before it.
        minimum: The fewest members.
        maximum: The most members; ``None``: any number.
    """

    size: int
    steps: Sequence[Sequence[tuple[int, int]]]
    accepting: Sequence[int]
    names: Mapping[int, int]
    values: Mapping[int, int]
    minimum: int
    maximum: int | None
    _known: dict[bytes, ScaffoldDistances] = field(default_factory=dict, repr=False)

    def between(self, start: int) -> list[int]:
        """Return the states between a name and its value; ``start`` is the state after the name."""
        found = [start]
        for state in found:
            targets = dict.fromkeys(target for _, target in self.steps[state])
            found += [target for target in targets if target not in found]
        return found

    def over(self, usable: NDArray[np.bool_]) -> ScaffoldDistances:
        """Return the distances over the usable bytes, bool ``[256]``."""
        key = usable.tobytes()
        found = self._known.get(key)
        if found is None:
            before: list[list[int]] = [[] for _ in range(self.size)]
            for source, steps in enumerate(self.steps):
                for byte, target in steps:
                    if usable[byte]:
                        before[target].append(source)
            to_name, to_value, to_end = (
                self._bytes_to(ends, before) for ends in (self.names, self.values, self.accepting)
            )
            found = ScaffoldDistances(to_name, to_value, to_end, *self._members_after(before))
            self._known[key] = found
        return found

    def _bytes_to(self, ends: Iterable[int], before: Sequence[Sequence[int]]) -> NDArray[np.int64]:
        """Return the fewest bytes from each state to one of ``ends``."""
        lengths = dict.fromkeys(ends, 0)
        for state in (queue := list(lengths)):
            new = [source for source in before[state] if source not in lengths]
            lengths |= dict.fromkeys(new, lengths[state] + 1)
            queue += new
        return np.array([lengths.get(state, FAR) for state in range(self.size)], dtype=np.int64)

    def _members_after(self, before: Sequence[Sequence[int]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the fewest and the most members that begin after each state."""
        ways = [[(source, 0) for source in sources] for sources in before]
        for calls, begins in ((self.names, 1), (self.values, 0)):
            for state, target in calls.items():
                ways[target].append((state, begins))
        lacks, room = np.zeros((2, self.size), dtype=np.int64)
        if self.minimum > 1:
            fewest = dict.fromkeys(self.accepting, 0)
            for state in (queue := list(fewest)):  # a state is queued again when a shorter way is found
                for source, begins in ways[state]:
                    if fewest[state] + begins < fewest.get(source, ENDLESS):
                        fewest[source] = fewest[state] + begins
                        queue.append(source)
            lacks[list(fewest)] = list(fewest.values())
        if self.maximum is None:
            return lacks, room + ENDLESS
        waits = [0] * self.size
        for source, _ in (way for several in ways for way in several):
            waits[source] += 1
        for state in (queue := [state for state in range(self.size) if not waits[state]]):
            for source, begins in ways[state]:
                room[source] = max(room[source], room[state] + begins)
                waits[source] -= 1
                if not waits[source]:
                    queue.append(source)
        return lacks, room


def without_members(members: AnyOrder) -> AnyOrder:
    """Return the object without its members, which is equal for all objects with the same scaffold."""
    needed = sum(member.is_needed for member in members.members)
    if members.minimum > needed and any(member.is_needed for member in members.members[NARROW:]):
        raise InternalError(f"with more than {NARROW} required members, the minimum cannot exceed their number")
    has_members = bool(members.members or members.others) and members.maximum != 0
    return AnyOrder(
        (), (), members.opening, members.colon, members.separator, members.closing,
        members.empty if members.minimum == 0 and not needed else b"", members.minimum,
        members.maximum if has_members else 0,
    )  # fmt: skip


def scaffold_expression(members: AnyOrder) -> Expression:
    """Return the expression of a scaffold: one member, repeated; the register checks all else."""
    branches: list[Expression] = [Literal(members.empty)] if members.empty else []
    if members.maximum != 0:
        most = None if members.maximum is None else members.maximum - 1
        member = Concatenation((NAME, members.colon, VALUE))
        more = Repeat(Concatenation((members.separator, member)), max(0, members.minimum - 1), most)
        branches.append(Concatenation((Literal(members.opening), member, more, Literal(members.closing))))
    return Alternation(tuple(branches))


# ---- the automaton of a rule -----------------------------------------------------------------------------------------


class Names(NamedTuple):
    """The names of one rule with members in any order, and the columns of its states."""

    first: int  # the first state of the rule
    needed: int  # the required names, one bit each
    written: tuple[bytes, ...]  # the names
    order: tuple[int, ...]  # the numbers of the names, sorted by name
    scaffold: Scaffold
    columns: NDArray[np.int32]  # the columns of each state, int32 ``[states, columns]``
    value_of: tuple[int, ...]  # the number of each name's value, then that of each other member's value
    value_sites: tuple[int, ...]  # for each value a state that calls it, relative to ``first``
    name_site: int  # a state that calls the names of all other members, relative to ``first``

    @property
    def size(self) -> int:
        """The number of names."""
        return len(self.written)

    def moved(self, by: int) -> Names:
        """Return the same with all states moved by a number."""
        return self._replace(first=self.first + by)

    @property
    def takes(self) -> dict[int, int]:
        """The number of the name that a step into each state completes."""
        (states,) = np.nonzero(self.columns[:, TAKES] >= 0)
        return dict(zip((states + self.first).tolist(), self.columns[states, TAKES].tolist(), strict=True))


class MemberAutomaton(NamedTuple):
    """The automaton of a rule with members in any order; state 0 is the start. See ``RuleAutomaton``."""

    transitions: NDArray[np.int32]
    byte_classes: NDArray[np.int32]
    accepting: NDArray[np.bool_]
    calls: Sequence[tuple[int, Call, int]]
    names: Names


def member_automaton(members: AnyOrder, scaffold: Scaffold) -> MemberAutomaton:
    """Build the automaton of a rule from its scaffold, names and values."""
    return _Writer(members, scaffold).written()


class _Writer:
    """Builds the automaton of one rule."""

    def __init__(self, members: AnyOrder, scaffold: Scaffold) -> None:
        self._members, self._scaffold = members, scaffold
        self._names = tuple(member.name for member in members.members)
        self._order = tuple(sorted(range(len(self._names)), key=self._names.__getitem__))
        called = [*(member.value for member in members.members), *(other.value for other in members.others)]
        self._called = list(dict.fromkeys(called))
        numbers = {call: number for number, call in enumerate(self._called)}
        self._value_of = tuple(numbers[call] for call in called)
        self._edges: list[tuple[int, int, int]] = []
        self._calls: list[tuple[int, Call, int]] = []
        self._columns: list[tuple[int, ...]] = []

    def written(self) -> MemberAutomaton:
        """Return the automaton."""
        scaffold, roots_of = self._scaffold, dict[int, list[int]]()  # the states before a name, by the state after it
        for state, target in scaffold.names.items():
            roots_of.setdefault(target, []).append(state)
        between = {start: scaffold.between(start) for start in roots_of}
        inside = {state for states in between.values() for state in states}
        ended = set(scaffold.values.values())
        kept: dict[int, int] = {}
        for state in range(scaffold.size):
            if state not in inside:
                kept[state] = len(self._columns)
                self._columns.append((state, ENDED if state in ended else NO_VALUE, 0, 0, len(self._order), -1))
        self._edges += [
            (own, byte, kept[target]) for state, own in kept.items() for byte, target in scaffold.steps[state]
        ]
        sites = [0] * len(self._called)
        edges, nodes = _trie(self._names, self._order)
        for start, states in between.items():
            copies = [self._copied(states, number, kept, sites) for number in range(len(self._called))]
            roots = [kept[state] for state in roots_of[start]]
            for other, value in zip(self._members.others, self._value_of[len(self._names) :], strict=True):
                self._calls += [(root, other.name, copies[value][start]) for root in roots]
            self._add_names(start, edges, nodes, roots, copies, kept)
        names = Names(
            0, sum(1 << number for number, member in enumerate(self._members.members) if member.is_needed),
            self._names, self._order, scaffold, np.array(self._columns, dtype=np.int32).reshape(-1, TAKES + 1),
            self._value_of, tuple(sites) if scaffold.names else (), kept[next(iter(scaffold.names), 0)],
        )  # fmt: skip
        accepting = np.zeros(len(self._columns), dtype=np.bool_)
        accepting[[kept[state] for state in scaffold.accepting]] = True
        return MemberAutomaton(*self._table(), accepting, self._calls, names)

    def _copied(self, states: Sequence[int], number: int, kept: Mapping[int, int], sites: list[int]) -> dict[int, int]:
        """Copy the states between a name and the value with a number; return the copies."""
        scaffold = self._scaffold
        copies = {state: len(self._columns) + place for place, state in enumerate(states)}
        self._columns += [(state, number, 0, 0, 0, -1) for state in states]
        for state, own in copies.items():
            self._edges += [(own, byte, copies[target]) for byte, target in scaffold.steps[state]]
        for state in states:
            if state in scaffold.values:
                sites[number] = copies[state]
                self._calls.append((copies[state], self._called[number], kept[scaffold.values[state]]))
        return copies

    def _add_names(
        self, start: int, edges: Sequence[tuple[int, int, int]], nodes: Sequence[Sequence[int]], roots: Sequence[int],
        copies: Sequence[Mapping[int, int]], kept: Mapping[int, int],
    ) -> None:  # fmt: skip
        """Add the trie of the names, from the states before a name to the copies of the states after it."""
        first = len(self._columns)
        for source, byte, target in edges:
            self._edges += [(first + source if source >= 0 else root, byte, first + target)
                            for root in (roots if source < 0 else (0,))]  # fmt: skip
        steps = self._scaffold.steps[start]
        after_value = self._scaffold.values.get(start)  # the state after the value, if name and value are adjacent
        for state, (depth, low, high, number) in enumerate(nodes, first):
            if number < 0:
                self._columns.append((start, NO_VALUE, depth, low, high, -1))
                continue
            value = self._value_of[number]
            self._columns.append((start, value, 0, 0, 0, number))
            self._edges += [(state, byte, copies[value][target]) for byte, target in steps]
            if after_value is not None:
                self._calls.append((state, self._called[value], kept[after_value]))

    def _table(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return the transitions and the byte classes."""
        sources, bytes_read, targets = np.array(self._edges, dtype=np.int32).reshape(-1, 3).T
        used = np.zeros(256, dtype=np.bool_)
        used[bytes_read] = True
        count = int(np.count_nonzero(used))
        classes = np.full(256, count, dtype=np.int32)
        classes[used] = np.arange(count)
        table = np.full((len(self._columns), count + 1), -1, dtype=np.int32)
        table[sources, classes[bytes_read]] = targets
        return table, classes


def _trie(names: Sequence[bytes], order: Sequence[int]) -> tuple[list[tuple[int, int, int]], list[list[int]]]:
    """Make the trie of names: its edges (-1 is the root), and for each node its depth, the start and end of the sorted
    names below it, and the number of the name that ends there, or -1.
    """
    edges: list[tuple[int, int, int]] = []
    nodes: list[list[int]] = []
    path, before = [-1], b""  # the root and the nodes of the last name; the last name
    for place, number in enumerate(order):
        name, common = names[number], 0
        while common < len(before) and name[common : common + 1] == before[common : common + 1]:
            common += 1
        if place and common == len(before):
            raise InternalError("a name is a prefix of another name")
        for node in path[common + 1 :]:
            nodes[node][2] = place
        del path[common + 1 :]
        for depth, byte in enumerate(name[common:], common + 1):
            edges.append((path[-1], byte, len(nodes)))
            path.append(len(nodes))
            nodes.append([depth, place, 0, -1])
        nodes[path[-1]][3] = number
        before = name
    for node in path[1:]:
        nodes[node][2] = len(order)
    return edges, nodes


def in_one_order(members: AnyOrder) -> Expression:
    """Return an expression with the members in the order of the list, for some of the texts, the shortest included."""
    lacking = max(0, members.minimum - sum(member.is_needed for member in members.members))
    most = len(members.members) if members.maximum is None else members.maximum
    listed: list[Member] = []
    optional = most - sum(member.is_needed for member in members.members)
    for member in members.members:
        if member.is_needed or optional > 0:
            text = Concatenation((Literal(member.name), members.colon, member.value))
            listed.append(Member(text, member.is_needed or lacking > 0))
            lacking -= not member.is_needed
            optional -= not member.is_needed
    others: list[Expression] = [Concatenation((other.name, members.colon, other.value)) for other in members.others]
    listed += [Member(Alternation(tuple(others)), True)] * (lacking if others else 0)
    more = Alternation(tuple(others)) if others and members.maximum is None else None
    text = Concatenation(
        (Literal(members.opening), Series(tuple(listed), members.separator, more), Literal(members.closing))
    )
    if any(member.is_needed for member in listed):
        return text
    return Alternation((Literal(members.empty), text)) if members.empty != members.opening + members.closing else text
