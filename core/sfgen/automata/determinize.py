"""Nondeterministic to deterministic: the subset construction (Rabin and Scott, 1959) over byte classes.

Bytes that no edge tells apart are one class. A deterministic state is the set of the states that the automaton may be
in; only states that read something, or accept, are kept in it. Time and memory are bounded by counts, never by a clock,
so the same pattern passes or fails on every machine.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from sfgen.automata.nfa import Nfa
from sfgen.errors import PatternTooLarge

MAX_DFA_STATES = 200_000
"""States of the deterministic automaton before it is minimised."""

MAX_WORK = 64_000_000
"""Elementary steps of the construction, and cells of the tables that it fills."""

_DONE, _TOO_MANY_STATES, _TOO_MUCH_WORK = 0, 1, 2


class Deterministic(NamedTuple):
    """A deterministic automaton, not yet minimal: state 0 is the start, -1 no transition.

    Args:
        transitions: int32, shape [states, classes].
        byte_classes: uint8, shape [256].
        accepting: bool, shape [states].
    """

    transitions: NDArray[np.int32]
    byte_classes: NDArray[np.uint8]
    accepting: NDArray[np.bool_]


def determinize(nfa: Nfa, pattern: str) -> Deterministic:
    """The reachable part of the subset automaton.

    Args:
        nfa: The automaton.
        pattern: The pattern it came from, for messages.

    Raises:
        PatternTooLarge: It passes :data:`MAX_DFA_STATES` or :data:`MAX_WORK`.
    """
    byte_classes = byte_classes_of(nfa.edges)
    edges = nfa.edges[np.argsort(nfa.edges[:, 0], kind="stable")]
    epsilons = nfa.epsilons[np.argsort(nfa.epsilons[:, 0], kind="stable")]
    classes = int(byte_classes[-1]) + 1
    status, transitions, accepting = _subsets(
        _first_of_each(edges[:, 0], nfa.states),
        np.ascontiguousarray(byte_classes[edges[:, 1]]),
        np.ascontiguousarray(byte_classes[edges[:, 2]]),
        np.ascontiguousarray(edges[:, 3]),
        _first_of_each(epsilons[:, 0], nfa.states),
        np.ascontiguousarray(epsilons[:, 1]),
        _keys(nfa.states),
        classes,
        MAX_DFA_STATES,
        MAX_WORK,
    )
    if status != _DONE:
        limit = f"{MAX_DFA_STATES:,} states" if status == _TOO_MANY_STATES else f"{MAX_WORK:,} steps of construction"
        raise PatternTooLarge(
            f"the deterministic automaton passes the limit of {limit}",
            pattern,
            hint="Use smaller counts, or avoid a counted repeat after something that can match the same text.",
        )
    return Deterministic(transitions.reshape(-1, classes), byte_classes.astype(np.uint8), accepting)


def byte_classes_of(edges: NDArray[np.int32]) -> NDArray[np.int32]:
    """The class of each byte: neighbours that no edge tells apart are one class; int32, shape [256].

    Args:
        edges: Source, lowest byte, highest byte, target; shape [edges, 4].
    """
    boundaries = np.zeros(257, dtype=np.bool_)
    boundaries[edges[:, 1]] = True
    boundaries[edges[:, 2] + 1] = True
    boundaries[0] = False
    return np.cumsum(boundaries[:256]).astype(np.int32)


def _first_of_each(sources: NDArray[np.int32], states: int) -> NDArray[np.int32]:
    """Where the rows of each state begin in rows sorted by state; shape [states + 1]."""
    return np.searchsorted(sources, np.arange(states + 1, dtype=np.int32)).astype(np.int32)


def _keys(states: int) -> NDArray[np.uint64]:
    """A fixed pseudo-random number for each state; a set's hash is the sum, so that order does not matter.

    The mixing function is SplitMix64's (Steele, Lea and Flood, 2014).
    """
    keys = np.arange(1, states + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return keys ^ (keys >> np.uint64(31))


@numba.njit(cache=True)
def _doubled(numbers):  # type: ignore[no-untyped-def]
    larger = np.empty(2 * len(numbers), dtype=np.int32)
    for i in range(len(numbers)):  # compiles faster than a slice
        larger[i] = numbers[i]
    return larger


@numba.njit(cache=True, nogil=True)
def _subsets(  # type: ignore[no-untyped-def]
    edge_first,
    edge_low,
    edge_high,
    edge_target,
    epsilon_first,
    epsilon_target,
    keys,
    classes,
    max_states,
    max_work,
):
    """Status, transitions as one row after another, accepting states.

    Set number i is ``members[first_member[i] : first_member[i + 1]]``; ``slots`` is a hash table of set numbers with
    linear probing. ``seen`` holds, for each state, the number of the last set that it was put in.
    """
    accept = 1
    members = np.empty(1024, dtype=np.int32)
    first_member = np.zeros(1024, dtype=np.int32)
    hashes = np.empty(1024, dtype=np.uint64)
    slots = np.full(4096, -1, dtype=np.int32)
    transitions = np.empty(1024 * classes, dtype=np.int32)
    seen = np.zeros(len(keys), dtype=np.int32)
    stack = np.empty(len(keys), dtype=np.int32)
    # The targets of the current set, as one linked list for each class.
    head = np.empty(classes, dtype=np.int32)
    entry_target = np.empty(1024, dtype=np.int32)
    entry_next = np.empty(1024, dtype=np.int32)
    cut = np.zeros(classes + 1, dtype=np.int32)
    set_of = np.full(len(keys), -1, dtype=np.int32)  # the set that a single target became, once it is known
    stamp = 0
    count = 0
    current = -1  # -1: the set of the start state is made from an entry of its own
    work = 0
    while current < count:
        entries = 0
        last_class = classes
        if current < 0:
            last_class = 1
            cut[0] = 1
            head[0] = 0
            entry_target[0] = 0
            entry_next[0] = -1
        else:
            # Neighbouring classes between which no edge of the set begins or ends lead to the same set.
            begin, end = first_member[current], first_member[current + 1]
            for i in range(begin, end):
                state = members[i]
                for edge in range(edge_first[state], edge_first[state + 1]):
                    cut[edge_low[edge]] = current + 2
                    cut[edge_high[edge] + 1] = current + 2
                work += 1 + edge_first[state + 1] - edge_first[state]
            cut[0] = current + 2
            for label in range(classes):
                head[label] = -1
            for i in range(begin, end):
                state = members[i]
                for edge in range(edge_first[state], edge_first[state + 1]):
                    for label in range(edge_low[edge], edge_high[edge] + 1):
                        work += 1
                        if cut[label] == current + 2:
                            if entries == len(entry_target):
                                entry_target = _doubled(entry_target)
                                entry_next = _doubled(entry_next)
                            entry_target[entries] = edge_target[edge]
                            entry_next[entries] = head[label]
                            head[label] = entries
                            entries += 1
            if (current + 1) * classes > len(transitions):
                transitions = _doubled(transitions)
            work += classes
        found = -1
        for label in range(last_class):
            single = -1
            if cut[label] == current + 2 and head[label] >= 0 and entry_next[head[label]] < 0:
                single = entry_target[head[label]]
            if single >= 0 and set_of[single] >= 0:
                found = set_of[single]
            elif cut[label] == current + 2:
                # The closure of the targets, written behind the last set.
                stamp += 1
                size = 0
                begin = first_member[count]
                total = np.uint64(0)
                entry = head[label]
                while entry >= 0:
                    depth = 0
                    target = entry_target[entry]
                    entry = entry_next[entry]
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
                                members = _doubled(members)
                            members[begin + size] = state
                            size += 1
                            total += keys[state]
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
                    if count == max_states:
                        return 1, transitions[:0], np.zeros(0, dtype=np.bool_)
                    found = count
                    slots[slot] = found
                    hashes[found] = total
                    count += 1
                    first_member[count] = begin + size
                    if count + 1 == len(first_member):
                        first_member = _doubled(first_member)
                        larger = np.empty(2 * len(hashes), dtype=np.uint64)
                        for i in range(count):
                            larger[i] = hashes[i]
                        hashes = larger
                    if 2 * count > len(slots):
                        slots = np.full(2 * len(slots), -1, dtype=np.int32)
                        for number in range(count):
                            slot = np.int64(hashes[number] & np.uint64(len(slots) - 1))
                            while slots[slot] >= 0:
                                slot = (slot + 1) & (len(slots) - 1)
                            slots[slot] = number
                        work += count
                if single >= 0:
                    set_of[single] = found
                if work > max_work:
                    return 2, transitions[:0], np.zeros(0, dtype=np.bool_)
            if current >= 0:
                transitions[current * classes + label] = found
        current += 1
    accepting = np.zeros(count, dtype=np.bool_)
    for number in range(count):
        for i in range(first_member[number], first_member[number + 1]):
            if members[i] == accept:
                accepting[number] = True
    return 0, transitions[: count * classes], accepting
