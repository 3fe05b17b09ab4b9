"""D(state): the fewest bytes from a state to the end of its rule.

The distance of a configuration is the sum of D over the frames of its stack. D solves a system of equations in which
every step costs something, so there is one solution (Knuth, 1977, has the general case). The states are swept until
nothing changes, from the last to the first, since most steps lead forwards.

In a rule that counts, D has two parts: ``base``, the way to the end by any count, and ``unit``, the bytes of one more
count, times the count that the register lacks. In a rule with members in any order D depends on the register as well:
see ``sfgen.grammar.member_distances``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from sfgen.grammar.any_order import names_taken
from sfgen.grammar.member_distances import FAR as FAR
from sfgen.grammar.member_distances import MemberDistances, find_member_states
from sfgen.grammar.network import Network
from sfgen.grammar.rule_automata import CLOSES, COUNTS
from sfgen.kernels import Flags, FlagsOut, Int, Int32s, Int32sOut, Int64s, Int64sOut, kernel

_MOST_MISSING = 1 << 50
"""The most bytes missing to a minimum, more than ``FAR``; sums over the frames of a stack fit into 64 bits."""


@dataclass(frozen=True, eq=False)
class Distances:
    """The fewest bytes from each state to the end of its rule, over the usable bytes.

    Attributes:
        base: Bytes by any count, int64 ``[states]``; ``FAR`` or more where there is no way.
        unit: Bytes of one more count, int64 ``[states]``; 0 where nothing more is counted.
        needs: The count that a register of 0 lacks, int32 ``[states]``.
        members: The distances of the rule, for each state of a rule with members in any order. Its ``base`` is that
            of an empty register, and only where a text of the rule may begin.
    """

    base: NDArray[np.int64]
    unit: NDArray[np.int64]
    needs: NDArray[np.int32]
    members: Mapping[int, MemberDistances]

    def of(self, state: int, register: object) -> int:
        """Return the fewest bytes from a state, with its register, to the end of its rule."""
        if state in self.members:
            return self.members[state].of(state, names_taken(register))
        distance = self.base.item(state)
        unit = self.unit.item(state)
        if unit and isinstance(register, int):
            missing = self.needs.item(state) - register
            if missing > 0:
                distance += unit * missing
        return int(distance)


def distances_of(network: Network, usable: NDArray[np.bool_] | None = None) -> Distances:
    """Return the distances of a network over the usable bytes, bool ``[256]``; those over all bytes are cached."""
    if usable is not None:
        return _distances(network, usable)
    distances = _by_all_bytes.get(network)
    if distances is None:
        distances = _by_all_bytes[network] = _distances(network, None)
    return distances


_by_all_bytes: WeakKeyDictionary[Network, Distances] = WeakKeyDictionary()


def _distances(network: Network, usable: NDArray[np.bool_] | None) -> Distances:
    classes = np.ones(network.table.shape[1], dtype=np.bool_)
    if usable is not None:
        classes[:] = False
        classes[network.byte_classes[usable]] = True
    needs = np.maximum(0, network.minimum - network.owes)
    members = [MemberDistances(new_unit) for new_unit in find_member_states(network, classes)]
    unit = np.zeros(len(network), dtype=np.int64)
    counting = _before_closing(network)
    order = _ordered(network, len(classes))
    most = _MOST_MISSING // np.maximum(1, needs.astype(np.int64))
    while True:
        base = _bases(network, classes, order, members, unit * needs, _missing_behind(network, unit, needs))
        new_unit = np.zeros_like(unit)
        for states in counting:
            new_unit[states] = np.minimum(_unit(network, states, base + unit * needs, classes), most[states])
        if np.array_equal(new_unit, unit):
            return Distances(base, unit, needs, {state: each for each in members for state in each.member_states})
        unit = new_unit


def _bases(
    network: Network,
    classes: NDArray[np.bool_],
    order: NDArray[np.int32],
    members: Collection[MemberDistances],
    missing: NDArray[np.int64],
    behind: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Find the distances by any count; those of members in any order follow from their values."""
    base = np.full(len(network), FAR, dtype=np.int64)
    given = np.zeros(len(network), dtype=np.bool_)
    for each in members:
        given[list(each.member_states)] = True
    while True:
        _sweep(base, order, given, missing, behind, classes, network.accepting, *network.flat)
        is_new = False
        for each in members:
            each.update(base + missing)
            for state in each.openings:
                length = each.of(state, 0)
                is_new = is_new or length < base[state]
                base[state] = min(base[state], length)
        if not is_new:
            return base


def _missing_behind(network: Network, unit: NDArray[np.int64], needs: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the bytes missing to the minimum behind a first step into each state; ``FAR`` where it is dead."""
    counts, closes = network.kinds == COUNTS, network.kinds == CLOSES
    missing: NDArray[np.int64] = unit * np.maximum(0, needs - counts)
    missing[(closes & (network.minimum > 0)) | (counts & (network.owes + 1 > network.maximum))] = FAR
    return missing


def _before_closing(network: Network) -> list[NDArray[np.intp]]:
    """Return the states before the closing step of each rule with a minimum."""
    groups = []
    closes = network.kinds == CLOSES
    for rule in np.unique(network.rule_of[closes & (network.minimum > 0)]).tolist():
        states = np.flatnonzero(network.rule_of == rule)
        later = set(np.flatnonzero(closes & (network.rule_of == rule)).tolist())
        waiting = list(later)
        while waiting:  # states behind the closing step
            for target in np.unique(network.table[waiting.pop()]).tolist():
                if target >= 0 and target not in later:
                    later.add(target)
                    waiting.append(target)
        groups.append(np.setdiff1d(states, list(later)))
    return groups


def _unit(network: Network, states: NDArray[np.intp], whole: NDArray[np.int64], classes: NDArray[np.bool_]) -> int:
    """Return the fewest bytes from one counting step to the next, in the rule of some states."""
    counts = [state for state in states.tolist() if network.kinds[state] == COUNTS]
    best = FAR
    for start in counts:
        length = {start: 0}
        front = [start]
        while front:  # few states: a search without a heap
            state = min(front, key=length.__getitem__)
            front.remove(state)
            steps = [(int(target), 1) for target in np.unique(network.table[state, classes]).tolist() if target >= 0]
            steps += [(site.target, int(whole[site.entry])) for site in network.calls.get(state, ())]
            for target, cost in steps:
                if network.kinds[target] == COUNTS:
                    best = min(best, length[state] + cost)
                elif network.kinds[target] != CLOSES and length[state] + cost < length.get(target, FAR):
                    length[target] = length[state] + cost
                    front.append(target)
    return best


def _ordered(network: Network, classes: int) -> NDArray[np.int32]:
    """Order the states, int32 ``[states]``: each behind all that it leads to, circles excepted."""
    order = np.empty(len(network), dtype=np.int32)
    stack, labels, at, ways, pushes = np.zeros((5, len(network)), dtype=np.int32)
    is_found = np.zeros(len(network), dtype=np.bool_)
    _order(order, is_found, stack, labels, at, ways, pushes, *network.flat, classes)
    return order


@kernel
def _order(
    order: Int32sOut, is_found: FlagsOut, stack: Int32sOut, labels: Int32sOut, at: Int32sOut, ways: Int32sOut,
    pushes: Int32sOut, table: Int32s, actions: Int32s, classes: Int,
) -> Int:  # fmt: skip
    """List the states in postorder, by a depth-first search; return their number."""
    # order: out; the states.
    # is_found: scratch, all false; the states that the search has reached.
    # stack: scratch; the states on the way to the current one.
    # labels, at, ways, pushes: scratch, all zero; for each state on the stack the byte class of its search, the place
    #   in ``actions``, the ways left of the action, the pushes left of the way.
    # table, actions: See ``Network.flat``.
    # classes: The number of byte classes.
    count = np.int64(0)
    for root in range(len(order)):
        if is_found[root]:
            continue
        is_found[root] = True
        stack[0] = root
        depth = 1
        while depth:
            state = stack[depth - 1]
            if labels[state] == classes:
                order[count] = state
                count += 1
                depth -= 1
                continue
            if ways[state] + pushes[state] == 0:
                target = table[state * np.int64(classes) + labels[state]]
                if target < -1:
                    at[state] = -1 - target
                    ways[state] = actions[at[state] - 1]
                    continue
                labels[state] += 1
            else:
                target = actions[at[state]]
                if pushes[state]:
                    pushes[state] -= 1
                    at[state] += 2
                else:
                    ways[state] -= 1
                    pushes[state] = actions[at[state] + 2]
                    at[state] += 3
                if ways[state] + pushes[state] == 0:
                    labels[state] += 1
            if target >= 0 and not is_found[target]:
                is_found[target] = True
                stack[depth] = target
                depth += 1
    return count


@kernel
def _sweep(
    base: Int64sOut, order: Int32s, given: Flags, missing: Int64s, behind: Int64s, usable: Flags, accepting: Flags,
    table: Int32s, actions: Int32s,
) -> Int:  # fmt: skip
    """Lower ``base`` until it is a solution; return the number of sweeps."""
    # base: in and out; the distances, none below its solution.
    # order: The states in the order of the sweep.
    # given: The states whose distances are given.
    # missing: The bytes that a register of 0 lacks, by state.
    # behind: The bytes missing behind a first step into each state.
    # usable: The usable byte classes.
    # accepting: As in ``Network``.
    # table, actions: See ``Network.flat``.
    classes = len(usable)
    sweeps = np.int64(0)
    changed = True
    while changed:
        changed = False
        sweeps += 1
        for state in order:
            best = np.int64(base[state])
            if given[state]:
                continue
            if accepting[state]:
                best = np.int64(0)
            else:
                row = np.uintp(state) * np.uintp(classes)
                for label in range(classes):
                    entry = np.int64(table[row + np.uintp(label)])
                    if entry == -1 or not usable[label]:
                        continue
                    if entry >= 0:
                        best = min(best, 1 + base[entry])
                        continue
                    at = -2 - entry
                    ways = actions[at]
                    at += 1
                    for _ in range(ways):
                        target, is_fresh, pushes = actions[at], actions[at + 1], actions[at + 2]
                        at += 3
                        total = 1 + base[target]
                        if is_fresh:
                            total += behind[target]
                        for _push in range(pushes):
                            total += base[actions[at]]
                            if actions[at + 1] & 1 == 0:
                                total += missing[actions[at]]
                            at += 2
                        best = min(best, total)
            if best < base[state]:
                base[state] = best
                changed = True
    return sweeps
