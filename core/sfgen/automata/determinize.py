"""Nondeterministic to deterministic: the subset construction (Rabin and Scott, 1959) over byte classes.

Bytes that no edge tells apart are one class. A deterministic state is the set of the states that the automaton may be
in; only states that read something, or accept, are kept in it. Time and memory are bounded by counts, never by a clock,
so the same pattern passes or fails on every machine.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfgen.automata.nfa import Nfa
from sfgen.errors import PatternTooLarge
from sfgen.kernels import FlagsOut, Int, Int32s, Int32sOut, Int32TableOut, Int64s, Int64sOut, UInt64sOut, kernel

MAX_DFA_STATES = 200_000
"""States of the deterministic automaton before it is minimised that are always allowed."""

MAX_STATES = 600_000
"""The same, where its tables are small: ``.{0,65535}`` has 524,281 states."""

MAX_CELLS = 16_000_000
"""The numbers in tables that are small: the transitions, and the members of all sets."""

MAX_WORK = 200_000_000
"""Elementary steps of the construction, and cells of the tables that it fills."""

_FIRST_ROOM = 512  # sets
_MOST_AT_FIRST = 1 << 22  # transitions of the first tables; memory is taken when it is written to

_DONE, _TOO_MANY_STATES, _TOO_LARGE_TABLES, _TOO_MUCH_WORK = 0, 1, 2, 3
_NO_ROOM_FOR_SETS, _NO_ROOM_FOR_MEMBERS, _NO_ROOM_FOR_TARGETS = 4, 5, 6
_FULL = {
    _NO_ROOM_FOR_SETS: ("first_member", "hashes", "slots", "transitions", "accepting"),
    _NO_ROOM_FOR_MEMBERS: ("members",),
    _NO_ROOM_FOR_TARGETS: ("targets", "next_target"),
}

_CURRENT, _COUNT, _STAMP, _WORK = 0, 1, 2, 3
"""Positions of the kernel's own counters in its array of progress."""


class Deterministic(NamedTuple):
    """A deterministic automaton, not yet minimal.

    State 0 is the start, -1 is no transition.
    """

    transitions: NDArray[np.int32]  # int32, shape [states, classes]
    byte_classes: NDArray[np.uint8]  # uint8, shape [256]
    accepting: NDArray[np.bool_]  # bool, shape [states]


def determinize(nfa: Nfa, pattern: str) -> Deterministic:
    """Build the reachable part of the subset automaton."""
    transitions, classes, accepting = subset_automaton(nfa, 256, pattern)
    return Deterministic(transitions, classes.astype(np.uint8), accepting)


def subset_automaton(
    nfa: Nfa, symbols: int, pattern: str
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.bool_]]:
    """Determinize an automaton whose symbols are numbers below ``symbols``.

    Returns transitions, int32 ``[states, classes]``; the class of each symbol, int32 ``[symbols]``; whether each state
    accepts, bool ``[states]``.
    """
    byte_classes = byte_classes_of(nfa.edges, symbols)
    edges = nfa.edges[np.argsort(nfa.edges[:, 0], kind="stable")].T
    epsilons = nfa.epsilons[np.argsort(nfa.epsilons[:, 0], kind="stable")].T
    classes = int(byte_classes[-1]) + 1
    numbers = np.arange(nfa.states + 1, dtype=np.int32)
    # Where the rows of each state begin in rows sorted by state; then what the rows say.
    arguments = (
        edges[0].searchsorted(numbers),
        byte_classes[edges[1]],
        byte_classes[edges[2]],
        edges[3].copy(),
        epsilons[0].searchsorted(numbers),
        epsilons[1].copy(),
    )
    tables = _Tables.empty(nfa.states, classes)
    limits = MAX_STATES, MAX_DFA_STATES, MAX_CELLS, MAX_WORK
    while (status := _subsets(*arguments, *tables, *limits)) in _FULL:
        tables = tables.doubled(_FULL[status])
        tables.slots.fill(-1)
    if status != _DONE:
        limit = {
            _TOO_MANY_STATES: f"{MAX_STATES:,} states",
            _TOO_LARGE_TABLES: f"{MAX_DFA_STATES:,} states whose tables have more than {MAX_CELLS:,} numbers",
            _TOO_MUCH_WORK: f"{MAX_WORK:,} steps of construction",
        }[status]
        raise PatternTooLarge(
            f"the deterministic automaton passes the limit of {limit}",
            pattern,
            hint="Use smaller counts, or avoid a counted repeat after something that can match the same text.",
        )
    count = int(tables.progress[_COUNT])
    return tables.transitions[:count], byte_classes, tables.accepting[:count]


class _Tables(NamedTuple):
    """The tables that the kernel fills. It stops where there is no room, and goes on in larger ones.

    Kernels do not replace arrays of their own: counting references in the inner loop took nine tenths of the time.
    """

    progress: NDArray[np.int64]  # see _CURRENT and so on
    members: NDArray[np.int32]  # of set i: members[first_member[i] : first_member[i + 1]]
    first_member: NDArray[np.int32]
    hashes: NDArray[np.uint64]
    slots: NDArray[np.int32]  # a hash table of set numbers with linear probing
    transitions: NDArray[np.int32]
    accepting: NDArray[np.bool_]
    targets: NDArray[np.int32]  # of the current set, as one linked list for each class
    next_target: NDArray[np.int32]
    seen: NDArray[np.int32]  # for each state, the number of the last closure that it was put in
    set_of: NDArray[np.int32]  # for each state, the set that it makes as a single target, once that is known
    stack: NDArray[np.int32]  # states of a closure whose transitions without a byte were not followed yet
    head: NDArray[np.int32]  # of the linked list of each class
    cut: NDArray[np.bool_]  # whether a class may lead to another set than the one before it

    @classmethod
    def empty(cls, states: int, classes: int) -> _Tables:
        room = _FIRST_ROOM
        # Mostly there are about as many sets as states: then nothing is copied into larger tables.
        while room < states and 2 * room * classes <= _MOST_AT_FIRST:
            room *= 2
        return cls(
            progress=np.array([-1, 0, 0, 0], dtype=np.int64),
            members=np.empty(4 * room, dtype=np.int32),
            first_member=np.zeros(room + 1, dtype=np.int32),
            hashes=np.empty(room, dtype=np.uint64),
            slots=np.full(2 * room, -1, dtype=np.int32),
            transitions=np.empty((room, classes), dtype=np.int32),
            accepting=np.empty(room, dtype=np.bool_),
            targets=np.empty(2 * room, dtype=np.int32),
            next_target=np.empty(2 * room, dtype=np.int32),
            seen=np.zeros(states, dtype=np.int32),
            set_of=np.full(states, -1, dtype=np.int32),
            stack=np.empty(states, dtype=np.int32),
            head=np.empty(classes, dtype=np.int32),
            cut=np.zeros(classes + 1, dtype=np.bool_),
        )

    def doubled(self, full: Iterable[str]) -> _Tables:
        return self._replace(
            **{name: np.concatenate([getattr(self, name), np.empty_like(getattr(self, name))]) for name in full}
        )


def byte_classes_of(edges: NDArray[np.int32], symbols: int = 256) -> NDArray[np.int32]:
    """Group the bytes that no edge, int32 ``[edges, 4]``, distinguishes; int32 ``[symbols]``.

    Each class is a run of neighbours.
    """
    boundaries = np.zeros(symbols + 1, dtype=np.bool_)
    boundaries[edges[:, 1]] = True
    boundaries[edges[:, 2] + 1] = True
    boundaries[0] = False
    return np.cumsum(boundaries[:symbols]).astype(np.int32)


@kernel
def _subsets(
    edge_first: Int64s,
    edge_low: Int32s,
    edge_high: Int32s,
    edge_target: Int32s,
    epsilon_first: Int64s,
    epsilon_target: Int32s,
    progress: Int64sOut,
    members: Int32sOut,
    first_member: Int32sOut,
    hashes: UInt64sOut,
    slots: Int32sOut,
    transitions: Int32TableOut,
    accepting: FlagsOut,
    targets: Int32sOut,
    next_target: Int32sOut,
    seen: Int32sOut,
    set_of: Int32sOut,
    stack: Int32sOut,
    head: Int32sOut,
    cut: FlagsOut,
    most_states: Int,
    max_states: Int,
    max_cells: Int,
    max_work: Int,
) -> Int:
    """Expand one set after another, from where ``progress`` says; see :class:`_Tables`. Returns why it stopped.

    A set that was expanded in part when room ran out is expanded again: what it led to is found, not made twice.

    The hash of a set is the sum of its members' fixed pseudo-random numbers, so that order does not matter. They are
    mixed as SplitMix64 does (Steele, Lea and Flood, 2014).
    """
    accept = 1
    current, count, stamp, work = progress[_CURRENT], progress[_COUNT], progress[_STAMP], progress[_WORK]
    classes = len(head)
    for number in range(count):
        slot = np.int64(hashes[number] & np.uint64(len(slots) - 1))
        while slots[slot] >= 0:
            slot = (slot + 1) & (len(slots) - 1)
        slots[slot] = number
    work += count
    while current < count:
        progress[_CURRENT] = current
        progress[_WORK] = work
        entries = 0
        last_class = classes
        if current < 0:  # the set of the start state, made as if a class led there
            last_class = 1
            cut[0] = True
            head[0] = 0
            targets[0] = 0
            next_target[0] = -1
        else:
            # Neighbouring classes between which no edge of the set begins or ends lead to the same set.
            begin, end = first_member[current], first_member[current + 1]
            for label in range(classes):
                cut[label] = label == 0
                head[label] = -1
            accepting[current] = False
            for i in range(begin, end):
                state = members[i]
                if state == accept:
                    accepting[current] = True
                for edge in range(edge_first[state], edge_first[state + 1]):
                    cut[edge_low[edge]] = True
                    cut[edge_high[edge] + 1] = True
                work += 1 + edge_first[state + 1] - edge_first[state]
            for i in range(begin, end):
                state = members[i]
                for edge in range(edge_first[state], edge_first[state + 1]):
                    for label in range(edge_low[edge], edge_high[edge] + 1):
                        work += 1
                        if cut[label]:
                            if entries == len(targets):
                                return _NO_ROOM_FOR_TARGETS
                            targets[entries] = edge_target[edge]
                            next_target[entries] = head[label]
                            head[label] = entries
                            entries += 1
            work += classes
        found = -1
        for label in range(last_class):
            single = -1
            if cut[label] and head[label] >= 0 and next_target[head[label]] < 0:
                single = targets[head[label]]
            if single >= 0 and set_of[single] >= 0:
                found = set_of[single]
            elif cut[label]:
                # The closure of the targets, written after the last set.
                stamp += 1
                progress[_STAMP] = stamp
                size = 0
                begin = first_member[count]
                total = np.uint64(0)
                entry = head[label]
                while entry >= 0:
                    depth = 0
                    target = targets[entry]
                    entry = next_target[entry]
                    work += 1
                    if seen[target] != stamp:
                        seen[target] = stamp
                        stack[0] = target
                        depth = 1
                    while depth > 0:
                        depth -= 1
                        state = stack[depth]
                        if edge_first[state] < edge_first[state + 1] or state == accept:
                            if begin + size == len(members):
                                return _NO_ROOM_FOR_MEMBERS
                            members[begin + size] = state
                            size += 1
                            mixed = np.uint64(state + 1) * np.uint64(0x9E3779B97F4A7C15)
                            mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
                            mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
                            total += mixed ^ (mixed >> np.uint64(31))
                        for i in range(epsilon_first[state], epsilon_first[state + 1]):
                            if seen[epsilon_target[i]] != stamp:
                                seen[epsilon_target[i]] = stamp
                                stack[depth] = epsilon_target[i]
                                depth += 1
                        work += 1 + epsilon_first[state + 1] - epsilon_first[state]
                # Look it up: same hash, same size, and every member is in the new set.
                found = -1
                slot = np.int64(total & np.uint64(len(slots) - 1))
                while size > 0:
                    found = slots[slot]
                    if found < 0:
                        break
                    if hashes[found] == total and first_member[found + 1] - first_member[found] == size:
                        same = True
                        for i in range(first_member[found], first_member[found + 1]):
                            # A state that the closure passed but did not keep is in no set, so `seen` is enough.
                            if seen[members[i]] != stamp:
                                same = False
                                break
                        work += size
                        if same:
                            break
                    slot = (slot + 1) & (len(slots) - 1)
                if size > 0 and found < 0:
                    if count == most_states:
                        return _TOO_MANY_STATES
                    if count >= max_states and (count + 1) * classes + begin + size > max_cells:
                        return _TOO_LARGE_TABLES
                    if count == len(hashes):
                        return _NO_ROOM_FOR_SETS
                    found = count
                    slots[slot] = found
                    hashes[found] = total
                    count += 1
                    progress[_COUNT] = count
                    first_member[count] = begin + size
                if single >= 0:
                    set_of[single] = found
                if work > max_work:
                    return _TOO_MUCH_WORK
            if current >= 0:
                transitions[current, label] = found
        current += 1
    return _DONE
