"""The registers of a network: each state has one kind of register, and each call is passed to that kind.

``AutomatonRegisters`` describes the registers of the rules of one automaton, ``RuleRegisters`` those of a network.
``Registers`` are those of a network over the usable bytes, with the distances. The kernels at the end do the same in a
walk of the trie.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfgen.grammar.network.registers.counts import (
    CountedMasks,
    Counter,
    Counters,
    CountRegisters,
    count_after,
    counted_bytes_left,
)
from sfgen.grammar.network.registers.members import Names
from sfgen.grammar.network.registers.names import (
    MEMBER_IS_DOUBTFUL,
    NO_MEMBER,
    NameRegisters,
    names_after,
    takes_unseen,
    to_end,
)
from sfgen.grammar.network.registers.register import (
    ACCEPTS,
    FACTS,
    IS_END,
    IS_NARROW,
    KEPT,
    MEMBER,
    NARROW,
    Below,
    Kind,
    Register,
    number_of,
)
from sfgen.grammar.network.registers.texts import DistinctCalls, TextRegisters, distinct_calls
from sfgen.grammar.network.rules import CountedText, Leaf
from sfgen.grammar.network.table import CallSite, Table
from sfgen.kernels import Flag, Int, Int32s, Int64s, part
from sfgen.protocols import Int32, Mask

CHANGES, KEEPS, KEEPS_IF_OPEN = 0, 1, 2
"""The effects of a step into a state: it changes register or stack; it keeps both; it keeps both if there is a way to
the end of the rule.
"""

_COUNT, _NAMES = 1, 2
"""The kind of the number in a state's register; 0 if it has none."""


class AutomatonRegisters(NamedTuple):
    """The registers of the rules of one automaton."""

    counter: Counter | None = None  # of the only rule
    names: Mapping[int, Names] = MappingProxyType({})  # by the number of the rule


class RuleRegisters(NamedTuple):
    """The registers of the rules of a network."""

    counters: Counters
    names_in: Mapping[int, Names]  # by the number of the rule
    distinct: DistinctCalls

    def over(self, usable: NDArray[np.bool_]) -> RuleRegisters:
        """Restrict the texts of distinct calls to some bytes, bool ``[256]``."""
        return self._replace(distinct=self.distinct.over(usable))

    @property
    def may_be_unseen(self) -> bool:
        """Whether a step may change a part of a register that kernels do not read."""
        return any(names.size > NARROW for names in self.names_in.values())


class RegistersBuilder:
    """Joins the registers of the rules of several automata."""

    def __init__(self) -> None:
        self._counters = dict[int, Counter]()
        self._names_in = dict[int, Names]()

    def add(self, first: int, rules: Sequence[int], registers: AutomatonRegisters) -> None:
        """Add the registers of an automaton, whose first state and rules have these numbers in the network."""
        if registers.counter is not None:
            self._counters[first] = registers.counter
        for number, names in registers.names.items():
            self._names_in[rules[number]] = names.moved(first)

    def joined(
        self, size: int, copied: Sequence[int], calls: Mapping[int, tuple[CallSite, ...]],
        leaves: Mapping[int, Leaf | CountedText],
    ) -> RuleRegisters:  # fmt: skip
        """Return the registers of ``size`` states and of copies of some of them."""
        counters = Counters.joined(size, self._counters, copied)
        return RuleRegisters(counters, self._names_in, distinct_calls(calls, leaves))


class ForKernels(NamedTuple):
    """The registers of a network as arrays."""

    facts: NDArray[np.int32]  # ``FACTS`` numbers of each state
    distances: NDArray[np.int64]  # the base and the unit of each state
    members: NDArray[np.int64]  # see ``NameRegisters.flat``


class Registers:
    """The registers of a network over the usable bytes; see ``UnsolvedRegisters``. Safe to share between threads."""

    def __init__(
        self, table: Table, rules: RuleRegisters, base: NDArray[np.int64], counts: CountRegisters, names: NameRegisters
    ) -> None:
        self._table = table
        self._base = base
        self._counts = counts
        self._names = names
        self._texts = TextRegisters(table, rules.distinct, base)
        self.is_open = names.is_open
        kinds = np.where(rules.counters.are_counted, np.uint8(_COUNT), np.uint8(0))
        kinds[names.states] = _NAMES
        self._kind_of = kinds.tobytes()
        self._kinds: tuple[Kind, ...] = (self._texts, counts, names)
        self._after_step = tuple(kind.after_step for kind in self._kinds)
        self._bytes_left = tuple(kind.bytes_left for kind in self._kinds)

    def after_step(self, state: int, register: Register, byte: int, below: Below) -> Register | None:
        """Return the register after a step into a state; ``None`` if the step is refused."""
        if isinstance(register, bytes):
            return self._texts.after_step(state, register, byte, below)
        kind = self._kind_of[state]
        return self._after_step[kind](state, register, byte, below) if kind else register

    def canonical(self, state: int, register: Register, longest: int) -> int:
        """Return one number for all registers with the same masks, which are cached by it; texts are ignored."""
        kind = self._kind_of[state]
        return self._kinds[kind].canonical(state, number_of(register), longest) if kind else 0

    def bytes_left(self, state: int, register: Register) -> int:
        """Return the fewest bytes from a state to the end of its rule; ``FAR`` or more if there is no way."""
        kind = self._kind_of[state]
        return self._bytes_left[kind](state, number_of(register)) if kind else self._base.item(state)

    def may_return(self, state: int, register: Register) -> bool:
        """Return whether the rule of a frame has a way to its end after the call; only names can prevent it."""
        return self._kind_of[state] != _NAMES or self._names.is_open(state, number_of(register))

    def steps_of_texts(self) -> NDArray[np.uint8]:
        """Return the effect of a step into each state on the open text of a distinct call, uint8 ``[states]``."""
        return np.where(self._texts.keeps(), KEEPS, CHANGES).astype(np.uint8)

    def steps_into(self) -> NDArray[np.uint8]:
        """Return the effect of a step into each state on all other registers, uint8 ``[states]``."""
        keeps = self._counts.keeps() & self._names.keeps()
        steps = np.where(keeps, KEEPS, CHANGES).astype(np.uint8)
        members = self._names.may_be_closed()
        steps[members] = np.where(keeps[members], KEEPS_IF_OPEN, CHANGES)
        return steps

    # ---- masks -----------------------------------------------------------------------------------------------------

    def lengths(self, states: slice, number: int) -> NDArray[np.int64]:
        """Return the fewest bytes from each state of a leaf to its end, for one register."""
        return self._counts.lengths(states, number)

    def counted_mask(
        self, masks: CountedMasks, text: CountedText, first: int, state: int, number: int
    ) -> tuple[Mask, Int32]:
        """Return mask and exits of a state of a counted text, whose first state is ``first``."""
        return self._counts.mask(masks, text, first, state, number)

    @cached_property
    def for_kernels(self) -> ForKernels:
        """The arrays that the kernels below read."""
        facts = np.zeros((len(self._table), FACTS), dtype=np.int32)
        columns: dict[int, NDArray[np.generic]] = {
            ACCEPTS: self._table.accepting, IS_END: self._table.is_end, KEPT: self.steps_into() == KEEPS,
        }  # fmt: skip
        for kind in self._kinds:
            columns |= kind.facts()
        for column, values in columns.items():
            facts[:, column] = values
        lengths = np.stack([self._base, self._counts.unit], axis=1).reshape(-1)
        return ForKernels(facts.reshape(-1), lengths, self._names.flat)


class UnsolvedRegisters:
    """The registers of a network while the distances of its states are being computed."""

    def __init__(self, table: Table, rules: RuleRegisters, usable: NDArray[np.bool_]) -> None:
        self._table = table
        self._rules = rules
        self._counts = CountRegisters(table, rules.counters, usable)
        self._names = NameRegisters(table, rules.names_in, usable)

    @property
    def missing(self) -> NDArray[np.int64]:
        """The bytes of the counts that an empty register lacks, by state."""
        return self._counts.missing

    def missing_after_step(self) -> NDArray[np.int64]:
        """Return the same after a first step into each state; ``FAR`` where the step is refused."""
        return self._counts.missing_after_step()

    def given(self) -> NDArray[np.bool_]:
        """Return the states whose distances only ``lower`` changes, bool ``[states]``: these depend on names."""
        given = np.zeros(len(self._table), dtype=np.bool_)
        given[self._names.states] = True
        return given

    def lower(self, base: NDArray[np.int64], missing: NDArray[np.int64]) -> bool:
        """Lower the distances of given states according to those of all others; return whether one was lowered."""
        return self._names.lower(base, missing)

    def solved_by(self, base: NDArray[np.int64]) -> Registers | None:
        """Return the registers if these distances solve all equations; else change ``missing`` and return ``None``."""
        if not self._counts.set_base(base):
            return None
        return Registers(self._table, self._rules, base, self._counts, self._names)


# ---- for kernels -----------------------------------------------------------------------------------------------------


@part
def after_step(state: Int, register: Int, facts: Int32s, members: Int64s) -> Int:
    """Return the register after a step into a state, or ``REFUSED``."""
    # facts, members: See ``ForKernels``.
    member = np.int64(facts[FACTS * state + MEMBER])
    if member != NO_MEMBER:
        return names_after(member, register, members)
    return count_after(state, register, facts)


@part
def bytes_left(state: Int, register: Int, facts: Int32s, distances: Int64s, members: Int64s) -> Int:
    """Return the fewest bytes from a state, with its register, to its rule's end."""
    member = np.int64(facts[FACTS * state + MEMBER])
    if member != NO_MEMBER:
        return to_end(member, register, members)
    return counted_bytes_left(state, register, facts, distances)


@part
def keeps_register(state: Int, facts: Int32s) -> Flag:
    """Return whether a step into a state keeps every register."""
    return facts[FACTS * state + KEPT] != 0


@part
def must_be_open(state: Int, facts: Int32s) -> Flag:
    """Return whether a frame may be pushed only if its rule has a way to its end."""
    return facts[FACTS * state + MEMBER] != NO_MEMBER


@part
def changes_unseen(state: Int, facts: Int32s, members: Int64s) -> Flag:
    """Return whether a step into a state changes a part of the register that kernels do not read."""
    member = np.int64(facts[FACTS * state + MEMBER])
    return member != NO_MEMBER and takes_unseen(member, members)


@part
def is_unsure(state: Int, facts: Int32s, members: Int64s) -> Flag:
    """Return whether a part of the register that kernels do not read may make a state dead."""
    member = np.int64(facts[FACTS * state + MEMBER])
    return member != NO_MEMBER and members[member + MEMBER_IS_DOUBTFUL] != 0


@part
def may_be_used_up(state: Int, facts: Int32s) -> Flag:
    """Return whether all texts of an open distinct call that begin so may have been read."""
    return facts[FACTS * state + IS_NARROW] != 0
