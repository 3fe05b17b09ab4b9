"""D(state): the fewest bytes from a state to the end of its rule.

The distance of a configuration is the sum of D over its state and the frames of its stack. D solves a system of
equations in which every step costs at least one byte, so there is one solution (the general case: Knuth 1977). The
states are swept until nothing changes, each after the states that it leads to as far as there are no cycles.

Where a rule has a register, D depends on it as well (see ``registers``). The sweeps find D for an empty register, and
the kinds of register add their bytes until nothing changes.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sfgen.grammar.network.network import Network
from sfgen.grammar.network.registers.register import FAR as FAR
from sfgen.grammar.network.registers.register import Register
from sfgen.grammar.network.registers.registers import Registers, UnsolvedRegisters
from sfgen.grammar.network.table import KEEPS_REGISTER
from sfgen.kernels import Flags, FlagsOut, Int, Int32s, Int32sOut, Int64s, Int64sOut, kernel
from sfgen.weak_cache import kept_while_it_lives


class RuleDistances:
    """The fewest bytes from each state to the end of its rule, if texts contain only the usable bytes.

    Attributes:
        base: The distances if counts are ignored, int64 ``[states]``; ``FAR`` or more if there is no way. In a rule
            with members in any order they are for an empty register, and given only where a text of the rule may begin.
        registers: The registers over the usable bytes.
        of: The fewest bytes from a state, with a register, to the end of its rule.
    """

    def __init__(self, base: NDArray[np.int64], registers: Registers) -> None:
        self.base = base
        self.registers = registers
        self.of: Callable[[int, Register], int] = registers.bytes_left


def distances_of(network: Network, usable: NDArray[np.bool_] | None = None) -> RuleDistances:
    """Return the distances of a network over the usable bytes, bool ``[256]``; ``None``: all bytes, cached."""
    return _by_all_bytes(network) if usable is None else _distances(network, usable)


def portable(network: Network) -> tuple[Network, RuleDistances]:
    """Return a network and its distances for a compiled form; every vocabulary needs both."""
    distances = distances_of(network)
    _ = distances.registers.for_kernels
    return network, distances


def with_distances(network: Network, distances: RuleDistances) -> Network:
    """Return a network from a compiled form, after its distances over all bytes are cached."""
    _by_all_bytes.keep(network, distances)
    return network


@kept_while_it_lives
def _by_all_bytes(network: Network) -> RuleDistances:
    return _distances(network, None)


def _distances(network: Network, usable: NDArray[np.bool_] | None) -> RuleDistances:
    classes = np.ones(network.table.shape[1], dtype=np.bool_)
    if usable is not None:
        classes[:] = False
        classes[network.byte_classes[usable]] = True
    registers, order = UnsolvedRegisters(network.alone, network.registers, classes), _ordered(network, len(classes))
    while True:
        base = _bases(network, classes, order, registers)
        solved = registers.solved_by(base)
        if solved is not None:
            return RuleDistances(base, solved)


def _bases(
    network: Network, classes: NDArray[np.bool_], order: NDArray[np.int32], registers: UnsolvedRegisters
) -> NDArray[np.int64]:
    """Find the distances for an empty register, without the bytes of counts that it lacks."""
    base = np.full(len(network), FAR, dtype=np.int64)
    given, missing, missing_after = registers.given(), registers.missing, registers.missing_after_step()
    while True:
        _sweep(base, order, given, missing, missing_after, classes, network.accepting, *network.flat)
        if not registers.lower(base, missing):
            return base


def _ordered(network: Network, classes: int) -> NDArray[np.int32]:
    """Order the states, int32 ``[states]``: each after all states that it leads to, except on cycles."""
    order = np.empty(len(network), dtype=np.int32)
    stack, searched, at, ways, pushes = np.zeros((5, len(network)), dtype=np.int32)
    is_found = np.zeros(len(network), dtype=np.bool_)
    _order(order, is_found, stack, searched, at, ways, pushes, *network.flat, classes)
    return order


@kernel
def _order(
    order: Int32sOut, is_found: FlagsOut, stack: Int32sOut, searched: Int32sOut, at: Int32sOut, ways: Int32sOut,
    pushes: Int32sOut, table: Int32s, actions: Int32s, classes: Int,
) -> Int:  # fmt: skip
    """List the states in postorder, by a depth-first search; return their number."""
    # order: out; the states.
    # is_found: scratch, all false; the states that the search has reached.
    # stack: scratch; the states on the path to the current one.
    # searched, at, ways, pushes: scratch, all zero; for each state on the stack its current byte class, the offset in
    #   ``actions``, the ways left of the action, the pushes left of the way.
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
            if searched[state] == classes:
                order[count] = state
                count += 1
                depth -= 1
                continue
            if ways[state] + pushes[state] == 0:
                target = table[state * np.int64(classes) + searched[state]]
                if target < -1:
                    at[state] = -1 - target
                    ways[state] = actions[at[state] - 1]
                    continue
                searched[state] += 1
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
                    searched[state] += 1
            if target >= 0 and not is_found[target]:
                is_found[target] = True
                stack[depth] = target
                depth += 1
    return count


@kernel
def _sweep(
    base: Int64sOut, order: Int32s, given: Flags, missing: Int64s, missing_after: Int64s, usable: Flags,
    accepting: Flags, table: Int32s, actions: Int32s,
) -> Int:  # fmt: skip
    """Lower ``base`` until it solves all equations; return the number of sweeps."""
    # base: in and out; upper bounds of the distances, then the distances.
    # order: The states in the order of the sweep.
    # given: The states whose distances do not change.
    # missing: The bytes of the counts that a register of 0 lacks, by state.
    # missing_after: The same after a first step into each state.
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
                for byte_class in range(classes):
                    entry = np.int64(table[row + np.uintp(byte_class)])
                    if entry == -1 or not usable[byte_class]:
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
                            total += missing_after[target]
                        for _push in range(pushes):
                            total += base[actions[at]]
                            if actions[at + 1] & KEEPS_REGISTER == 0:
                                total += missing[actions[at]]
                            at += 2
                        best = min(best, total)
            if best < base[state]:
                base[state] = best
                changed = True
    return sweeps
