"""Counted repetitions: a list whose items are counted, a text of which some steps are counted.

A repetition such as ``{0,1000}`` would need a copy of its states for each count. Instead a step into a ``COUNTS`` state
adds one to the register, and is refused above the maximum; a step into a ``CLOSES`` state is refused below the minimum.

The fewest bytes to the end are a sum: the distance if counts are ignored, and for each count that the register lacks
``unit``, the bytes between two counting steps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from sfgen.automata import Dfa
from sfgen.automata.by_character import distinct
from sfgen.automata.completions import least_costs
from sfgen.errors import InternalError
from sfgen.grammar.network.registers.register import (
    FACTS,
    FAR,
    KIND,
    LEAST,
    MOST,
    NEEDS,
    NOTHING_BELOW,
    OWES,
    REFUSED,
    Below,
    Register,
    number_of,
)
from sfgen.grammar.network.rules import Call, CountedList, CountedText
from sfgen.grammar.network.table import NO_ACTIONS, Table
from sfgen.index.mask_ids import mask_of_bits
from sfgen.kernels import (
    Flags,
    FlagsOut,
    Int,
    Int32s,
    Int32sOut,
    Int32Table,
    Int64s,
    UInt8s,
    UInt16sOut,
    kernel,
    part,
)
from sfgen.protocols import Int32, Mask
from sfgen.vocabulary import Vocabulary
from sfgen.weak_cache import kept_while_it_lives

PLAIN, COUNTS, CLOSES = 0, 1, 2
"""The effect on the register of a step into a state."""

UNBOUNDED = 2**31 - 1
"""In place of the maximum of a count that has none."""

_MOST_MISSING = 1 << 50
"""The most bytes that a count adds to a distance: more than ``FAR``, but sums over a stack still fit into 64 bits."""

# ---- the automaton -------------------------------------------------------------------------------------------------


class Counter(NamedTuple):
    """The count of a rule."""

    kinds: NDArray[np.uint8]  # ``PLAIN``, ``COUNTS`` or ``CLOSES`` of each state, uint8 ``[states]``
    # the fewest counting steps from each state to the closing step, int32 ``[states]``: inside a character it is 1
    owes: NDArray[np.int32]
    minimum: int
    maximum: int


class CountedAutomaton(NamedTuple):
    """The automaton of a rule that counts; see ``RuleAutomaton``."""

    transitions: NDArray[np.int32]
    byte_classes: NDArray[np.int32]
    accepting: NDArray[np.bool_]
    calls: Sequence[tuple[int, Call, int]]
    counter: Counter


def counted_text(text: CountedText) -> CountedAutomaton:
    """Return the automaton of a counted text with its counter."""
    dfa = text.dfa
    kinds = np.where(text.counts, COUNTS, np.where(text.needs_minimum, CLOSES, PLAIN)).astype(np.uint8)
    maximum = UNBOUNDED if text.maximum is None else text.maximum
    counter = Counter(kinds, _owed(dfa, kinds.tobytes()), text.minimum, maximum)
    return CountedAutomaton(dfa.transitions, dfa.byte_classes.astype(np.int32), dfa.accepting, (), counter)


@lru_cache(maxsize=64)
def _owed(dfa: Dfa, kinds: bytes) -> NDArray[np.int32]:
    """Return the fewest counting steps from each state to the closing step, int32 ``[states]``."""
    of_state = np.frombuffer(kinds, dtype=np.uint8)
    known = np.where(dfa.accepting | (of_state == CLOSES), np.int64(0), np.int64(UNBOUNDED))
    owed = least_costs(dfa, (of_state == COUNTS).astype(np.int64), known)
    assert owed is not None, "it may take any work"
    return owed.astype(np.int32)


def counted_list(items: CountedList) -> CountedAutomaton:
    """Build the automaton of a counted list. Separators are counted, so the bounds are those of the items minus one."""
    opening, separator, closing = items.opening, items.separator, items.closing
    if not (opening and separator and closing) or separator[0] == closing[0]:
        raise InternalError("the closing of a counted list begins as its separator does, or one of its texts is empty")
    if items.item.distinct:
        raise InternalError("counted items cannot be distinct calls: the register contains the count")
    opened = len(opening)
    after = opened + 1
    again = after + len(separator)
    end = again + len(closing)
    table = np.full((end + 1, 256), -1, dtype=np.int32)
    for number, byte in enumerate(opening):
        table[number, byte] = number + 1
    calls = list[tuple[int, Call, int]]()
    states = [after, *range(after + 1, again), again]
    for source, target, byte in zip(states, [*range(after + 1, again), again], separator, strict=False):
        table[source, byte] = target
    closed = [*range(again + 1, end), end]
    for source, target, byte in zip([after, *closed], closed, closing, strict=False):
        table[source, byte] = target
    minimum = max(0, items.minimum - 1)
    maximum = UNBOUNDED if items.maximum is None else max(0, items.maximum - 1)
    if items.minimum == 0:
        table[opened, closing[0]] = closed[0]
    if items.maximum != 0:
        calls = [(opened, items.item, after), (again, items.item, after)]
    kinds = np.zeros(end + 1, dtype=np.uint8)
    kinds[states[1]], kinds[closed[0]] = COUNTS, CLOSES
    counter = Counter(kinds, np.zeros(end + 1, dtype=np.int32), minimum, maximum)
    accepting = np.zeros(end + 1, dtype=np.bool_)
    accepting[end] = True
    columns, classes = distinct(table.T)
    return CountedAutomaton(table[:, columns], classes.astype(np.int32), accepting, calls, counter)


class Counters(NamedTuple):
    """The counters of all rules of a network, by state."""

    kinds: NDArray[np.uint8]  # uint8 ``[states]``
    owes: NDArray[np.int32]  # int32 ``[states]``, as are the bounds
    minimum: NDArray[np.int32]
    maximum: NDArray[np.int32]  # ``UNBOUNDED`` if there is none

    @classmethod
    def joined(cls, size: int, parts: Mapping[int, Counter], copied: Sequence[int]) -> Counters:
        """Join the counters of rules, given by first state, over ``size`` states; append copies of some states."""
        of_states = cls(np.zeros(size, dtype=np.uint8), *np.zeros((3, size), dtype=np.int32))
        of_states.maximum[:] = UNBOUNDED
        for first, counter in parts.items():
            own = slice(first, first + len(counter.kinds))
            of_states.kinds[own], of_states.owes[own] = counter.kinds, counter.owes
            of_states.minimum[own], of_states.maximum[own] = counter.minimum, counter.maximum
        if copied:
            of_states = cls(*(np.concatenate([array, array[copied]]) for array in of_states))
        for array in of_states:
            array.setflags(write=False)
        return of_states

    @property
    def are_counted(self) -> NDArray[np.bool_]:
        """The states of rules that count, bool ``[states]``."""
        counted: NDArray[np.bool_] = (self.kinds != PLAIN) | (self.maximum != UNBOUNDED) | (self.minimum != 0)
        return counted


# ---- registers and distances ---------------------------------------------------------------------------------------


class CountRegisters:
    """The registers of all rules that count; see ``Kind``.

    Attributes:
        needs: The count that a register of 0 lacks in each state, int32 ``[states]``.
        unit: The fewest bytes from one counting step to the next, int64 ``[states]``; 0 after the closing step.
        base: The fewest bytes to the end if counts are ignored, int64 ``[states]``.
    """

    def __init__(self, table: Table, counters: Counters, usable: NDArray[np.bool_]) -> None:
        self._table = table
        self._usable = usable  # bool ``[classes]``
        self._counters = counters
        self.needs: NDArray[np.int32] = np.maximum(0, counters.minimum - counters.owes)
        self.unit = np.zeros(len(table), dtype=np.int64)
        self.base: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self._counting = self._before_closing()
        self._most_units = _MOST_MISSING // np.maximum(1, self.needs.astype(np.int64))
        # Python reads single numbers faster from these than from arrays.
        self._kinds = counters.kinds.tobytes()
        self._least: list[int] = counters.minimum.tolist()
        self._most: list[int] = counters.maximum.tolist()
        self._owes: list[int] = counters.owes.tolist()

    def keeps(self) -> NDArray[np.bool_]:
        """Return the states into which a step neither counts nor may pass a maximum."""
        keeps: NDArray[np.bool_] = (self._counters.kinds == PLAIN) & (self._counters.maximum == UNBOUNDED)
        return keeps

    def after_step(self, state: int, register: Register, byte: int, below: Below) -> Register | None:
        """Count the step; refuse the end below the minimum, and a count beyond the maximum."""
        kind, count = self._kinds[state], number_of(register)
        least, most = self._least[state], self._most[state]
        if kind == COUNTS:
            count += 1
            if most == UNBOUNDED and count > least:
                count = least
        elif kind == CLOSES:
            if count < least:
                return None
            count = 0
        return None if most != UNBOUNDED and count + self._owes[state] > most else count

    def canonical(self, state: int, number: int, longest: int) -> int:
        """Replace counts that are farther than a token from their bounds by a bound or 0."""
        if self._most[state] - number <= longest:
            return number
        least = self._least[state]
        if number >= least:
            return least
        return 0 if least - number > longest else number

    def bytes_left(self, state: int, number: int) -> int:
        """Return the fewest bytes from a state to the end of its rule."""
        distance: int = self.base.item(state)
        unit: int = self.unit.item(state)
        if unit:
            missing = self.needs.item(state) - number
            if missing > 0:
                distance += unit * missing
        return distance

    def lengths(self, states: slice, number: int) -> NDArray[np.int64]:
        """Return the fewest bytes from each of some states to the end of its rule."""
        missing = np.maximum(0, self._counters.minimum[states] - self._counters.owes[states] - number)
        lengths: NDArray[np.int64] = self.base[states] + self.unit[states] * missing
        return lengths

    def mask(self, masks: CountedMasks, text: CountedText, first: int, state: int, number: int) -> tuple[Mask, Int32]:
        """Return mask and exits of a state of a counted text whose first state is ``first``."""
        missing, room = self._least[state] - number, self._most[state]
        owes = self._counters.owes[first : first + len(text.dfa)]
        return masks.mask(text, owes, state - first, missing, room if room == UNBOUNDED else room - number)

    def facts(self) -> dict[int, NDArray[np.int32]]:
        """Return the columns of the counters and of ``needs``."""
        counters = self._counters
        kinds = counters.kinds.astype(np.int32)
        return {KIND: kinds, LEAST: counters.minimum, MOST: counters.maximum, OWES: counters.owes, NEEDS: self.needs}

    # ---- the equations of distances ----

    @property
    def missing(self) -> NDArray[np.int64]:
        """The bytes of the counts that a register of 0 lacks, by state."""
        missing: NDArray[np.int64] = self.unit * self.needs
        return missing

    def missing_after_step(self) -> NDArray[np.int64]:
        """Return the same after a first step into each state; ``FAR`` where the step is refused."""
        kinds, owes, minimum, maximum = self._counters
        counts, closes = kinds == COUNTS, kinds == CLOSES
        missing: NDArray[np.int64] = self.unit * np.maximum(0, self.needs - counts)
        missing[(closes & (minimum > 0)) | (counts & (owes + 1 > maximum))] = FAR
        return missing

    def set_base(self, base: NDArray[np.int64]) -> bool:
        """Set ``base``, compute ``unit`` from it, and return whether ``unit`` is unchanged."""
        self.base = base
        unit = np.zeros_like(self.unit)
        whole = base + self.missing
        for states in self._counting:
            unit[states] = np.minimum(self._one_more(states, whole), self._most_units[states])
        is_same = np.array_equal(unit, self.unit)
        self.unit = unit
        return is_same

    def _before_closing(self) -> list[NDArray[np.intp]]:
        """Return the states before the closing step of each rule with a minimum."""
        groups = []
        rule_of, closes = self._table.rule_of, self._counters.kinds == CLOSES
        for rule in np.unique(rule_of[closes & (self._counters.minimum > 0)]).tolist():
            states = np.flatnonzero(rule_of == rule)
            later = set(np.flatnonzero(closes & (rule_of == rule)).tolist())
            waiting = list(later)
            while waiting:  # find the states after the closing step
                for target in np.unique(self._table.table[waiting.pop()]).tolist():
                    if target >= 0 and target not in later:
                        later.add(target)
                        waiting.append(target)
            groups.append(np.setdiff1d(states, list(later)))
        return groups

    def _one_more(self, states: NDArray[np.intp], whole: NDArray[np.int64]) -> int:
        """Return the fewest bytes from one counting step to the next, in the rule of some states."""
        kinds, table = self._kinds, self._table
        best = FAR
        for start in (state for state in states.tolist() if kinds[state] == COUNTS):
            length = {start: 0}
            front = [start]
            while front:  # Dijkstra's algorithm; there are few states, so there is no heap
                state = min(front, key=length.__getitem__)
                front.remove(state)
                targets = np.unique(table.table[state, self._usable]).tolist()
                steps = [(target, 1) for target in targets if target >= 0]
                steps += [(site.target, int(whole[site.entry])) for site in table.calls.get(state, ())]
                for target, cost in steps:
                    if kinds[target] == COUNTS:
                        best = min(best, length[state] + cost)
                    elif kinds[target] != CLOSES and length[state] + cost < length.get(target, FAR):
                        length[target] = length[state] + cost
                        front.append(target)
        return best


@kept_while_it_lives
def _registers_of(text: CountedText) -> CountRegisters:
    """Return the registers of a counted text alone, outside of a network."""
    dfa, automaton = text.dfa, counted_text(text)
    states = np.zeros(len(dfa), dtype=np.int32)
    table = Table(states, dfa.transitions, dfa.byte_classes, dfa.accepting, dfa.accepting, NO_ACTIONS, {})
    counters = Counters.joined(len(dfa), {0: automaton.counter}, ())
    registers = CountRegisters(table, counters, np.ones(dfa.transitions.shape[1], dtype=np.bool_))
    base = least_costs(dfa, np.ones(len(dfa), dtype=np.int64), np.where(dfa.accepting, np.int64(0), np.int64(FAR)))
    assert base is not None, "it may take any work"
    registers.set_base(base)
    return registers


def shortest_length(text: CountedText) -> int:
    """Return the fewest bytes of a counted text that has a text."""
    return _registers_of(text).bytes_left(0, 0) if text.minimum else _without_count(text.dfa)


@kept_while_it_lives
def _without_count(dfa: Dfa) -> int:
    return len(dfa.shortest())  # cached, as all strings with a maximum length share one automaton


def shortest_text(text: CountedText) -> bytes:
    """Return the shortest text of a counted text, the first in byte order."""
    dfa, registers = text.dfa, _registers_of(text)
    _, first = np.unique(dfa.byte_classes, return_index=True)
    smallest = sorted(zip(first.tolist(), range(len(first)), strict=True))
    found, state, number = bytearray(), 0, 0
    while left := registers.bytes_left(state, number):
        for byte, byte_class in smallest:
            target = dfa.transitions.item(state, byte_class)
            counted = None if target < 0 else registers.after_step(target, number, byte, NOTHING_BELOW)
            if counted is not None and registers.bytes_left(target, number_of(counted)) < left:
                found.append(byte)
                state, number = target, number_of(counted)
                break
    return bytes(found)


# ---- masks of counted texts ----------------------------------------------------------------------------------------

_KEPT = 64
"""The most states whose counts of tokens are cached: three bytes for each token of the vocabulary."""

_NOT_READ, _MANY = 65_535, 65_534
"""The count of a token that cannot be read, and the highest count of all others, more than any token has bytes."""


class _CountedTokens(NamedTuple):
    """The counts of the tokens that can be read in a state."""

    of_token: NDArray[np.uint16]  # the count after each token plus the fewest counting steps to the closing step
    closes: NDArray[np.bool_]  # whether the text may end after each token, by token
    exits: Int32  # trie nodes
    of_exit: Int32  # the count before each exit
    highest: int  # the highest count of tokens and exits


class LeafMasksOfText(Protocol):
    """The masks of the automaton of a counted text if counts are ignored."""

    def mask(self, state: int) -> tuple[Mask, Int32]:
        """Return the tokens that stay in the leaf (read-only) and the exits (trie nodes, int32)."""


class CountedMasks:
    """The masks of a counted text over one vocabulary.

    ``exits`` returns the exits of a state and the count at each, given the states into which a step counts. Without
    ``has_all_goals`` tokens may end in some states only.
    """

    def __init__(
        self,
        dfa: Dfa,
        vocabulary: Vocabulary,
        plain: LeafMasksOfText,
        exits: Callable[[int, NDArray[np.bool_]], tuple[Int32, Int32]],
        *,
        has_all_goals: bool,
    ) -> None:
        self._dfa = dfa
        self._vocabulary = vocabulary
        self._plain = plain
        self._exits = exits
        self._has_all_goals = has_all_goals
        self._known: dict[tuple[int, bytes], _CountedTokens] = {}

    def mask(self, text: CountedText, owes: Int32, state: int, missing: int, room: int) -> tuple[Mask, Int32]:
        """Return the mask and the exits of a state if ``missing`` to ``room`` more steps must be counted."""
        if missing <= 0 and room >= self._vocabulary.trie.max_depth:  # no token has more counting steps than bytes
            return self._plain.mask(state)
        counts = self._counts(text, owes, state)
        if missing <= 0 and room >= counts.highest:
            return self._plain.mask(state)
        fits = (counts.of_token <= min(room, _MANY)) & ~(counts.closes & (counts.of_token < missing))
        mask = mask_of_bits(fits)
        if not self._has_all_goals:
            mask &= self._plain.mask(state)[0]
        mask.setflags(write=False)
        return mask, counts.exits[(counts.of_exit >= missing) & (counts.of_exit <= room)]

    def _counts(self, text: CountedText, owes: Int32, state: int) -> _CountedTokens:
        key = state, text.counts.tobytes()
        counts = self._known.get(key)
        if counts is None:
            trie = self._vocabulary.trie
            of_token = np.full(len(self._vocabulary), _NOT_READ, dtype=np.uint16)
            closes = np.zeros(len(self._vocabulary), dtype=np.bool_)
            stack, sums = np.zeros((2, trie.max_depth + 1), dtype=np.int32)
            highest: int = _count_tokens(
                state, of_token, closes, stack, sums, self._dfa.transitions, self._dfa.byte_classes,
                self._dfa.accepting, text.counts, owes, trie.bytes, trie.depths, trie.subtree_ends,
                trie.token_starts, trie.token_ids,
            )  # fmt: skip
            exits, of_exit = self._exits(state, text.counts)
            highest = max(highest, int(of_exit.max(initial=0)))
            if len(self._known) >= _KEPT:
                self._known.clear()
            counts = self._known[key] = _CountedTokens(of_token, closes, exits, of_exit, highest)
        return counts


@kernel
def _count_tokens(
    state: Int, found: UInt16sOut, closes: FlagsOut, stack: Int32sOut, sums: Int32sOut, transitions: Int32Table,
    byte_classes: UInt8s, accepting: Flags, counts: Flags, owes: Int32s, trie_bytes: UInt8s, depths: Int32s,
    subtree_ends: Int32s, token_starts: Int32s, token_ids: Int32s,
) -> Int:  # fmt: skip
    """Fill the arrays of ``_CountedTokens`` for a state; return the highest count."""
    stack[0] = state
    node, end, highest = np.uintp(0), np.uintp(trie_bytes.size), np.int64(0)
    while node < end:
        depth = np.uintp(depths[node])
        before = np.uintp(stack[depth - np.uintp(1)])
        target = transitions[before, np.uintp(byte_classes[np.uintp(trie_bytes[node])])]
        if target < 0:
            node = np.uintp(subtree_ends[node])
            continue
        there = np.uintp(target)
        stack[depth] = target
        total = np.int32(sums[depth - np.uintp(1)] + np.int32(counts[there]))
        sums[depth] = total
        first, last = np.uintp(token_starts[node]), np.uintp(token_starts[node + np.uintp(1)])
        if first < last:
            count = np.int64(total + owes[there])
            highest = max(highest, count)
            while first < last:
                token = np.uintp(token_ids[first])
                found[token] = min(count, np.int64(_MANY))
                closes[token] = accepting[there]
                first += np.uintp(1)
        node += np.uintp(1)
    return highest


# ---- for kernels -----------------------------------------------------------------------------------------------------


@part
def count_after(state: Int, register: Int, facts: Int32s) -> Int:
    """Return the count after a step into a state, or ``REFUSED``; see ``CountRegisters.after_step``."""
    fact = FACTS * state
    kind, most = facts[fact + KIND], np.int64(facts[fact + MOST])
    if kind == COUNTS:
        register += 1
        if most == UNBOUNDED:
            register = min(register, np.int64(facts[fact + LEAST]))
    elif kind == CLOSES:
        if register < facts[fact + LEAST]:
            return np.int64(REFUSED)
        register = np.int64(0)
    if most != UNBOUNDED and register + facts[fact + OWES] > most:
        return np.int64(REFUSED)
    return register


@part
def counted_bytes_left(state: Int, register: Int, facts: Int32s, distances: Int64s) -> Int:
    """Return the fewest bytes from a state, with its count, to its rule's end."""
    # distances: The base and the unit of each state.
    missing = np.int64(facts[FACTS * state + NEEDS]) - register
    return distances[2 * state] + distances[2 * state + 1] * max(np.int64(0), missing)
