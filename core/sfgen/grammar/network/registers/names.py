"""Members in any order: the names that were read, one bit each.

The automaton of such a rule reads any member at any time (see ``members``). Separate states for each set of members
read so far would be up to 2ⁿ times as many, for n names. Instead the register is the set of the names that were read: a
step that completes a name *takes* it, that is, adds it to the set.

The fewest bytes to the end of the rule depend on the names already read. Missing members may come in any order, so
their bytes add up: each missing required member costs its name, its value and a separator. If the rule has a minimum of
members, the cheapest optional ones are added up to it. Inside a name, the cheapest name that is not taken is assumed.

``MemberDistances`` adds these up from the columns of a state and the lengths of the called rules. ``to_end`` is the
same for kernels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfgen.grammar.network.registers.members import ENDED, ENDLESS, NO_VALUE, Names
from sfgen.grammar.network.registers.register import (
    FAR,
    MEMBER,
    NARROW,
    REFUSED,
    Below,
    Register,
    number_of,
    with_number,
)
from sfgen.grammar.network.table import Table
from sfgen.kernels import Flag, Int, Int64s, part

# ---- distances -----------------------------------------------------------------------------------------------------


_KEPT = 1 << 14
"""The most cached distances of one rule."""


class _Prices(NamedTuple):
    """The bytes that follow the end of a member."""

    names: tuple[int, ...]  # the bytes of each name's member with its separator
    by_price: tuple[int, ...]  # the optional names, the cheapest first
    other: int  # the bytes of a member whose name is not listed, with its separator
    close: int  # the bytes to the end of the rule without another member


class MemberDistances:
    """The distances of one rule with members in any order, over the usable bytes, bool ``[256]``."""

    def __init__(self, table: Table, names: Names, usable: NDArray[np.bool_]) -> None:
        self.names = names
        self._scaffold = names.scaffold.over(usable)
        ended = list(names.scaffold.values.values())
        self._separator = int(self._scaffold.to_name[ended].min(initial=FAR))
        self._close = int(self._scaffold.to_end[ended].min(initial=FAR))
        self._colon = int(self._scaffold.to_value[list(names.scaffold.names.values())].min(initial=FAR))
        self._is_unbounded = not self._scaffold.lacks.any() and bool((self._scaffold.room >= ENDLESS).all())
        lacks_bytes = not usable.all()
        self.writable_from = tuple([_after_last_unusable(name, usable) if lacks_bytes else 0 for name in names.written])
        """For each name the number of bytes after which all its bytes are usable."""
        # The entries of the values, by number, then those of the names of other members; empty if there are none.
        values = [table.calls[names.first + site][0].entry for site in names.value_sites]
        others = [site.entry for site in table.calls.get(names.first + names.name_site, ())]
        self._called, self._count = np.array(values + others, dtype=np.intp), len(values)
        after_byte = np.unique(table.table[names.first])
        self.first_states: tuple[int, ...] = (names.first, *after_byte[after_byte >= 0].tolist())
        """The first state, and the states after the first byte."""
        self._lengths: bytes | None = None
        self.values: tuple[int, ...] = ()
        """The fewest bytes of each value, by number."""
        self.costs: tuple[int, ...] = ()
        """The fewest bytes of each name with its value."""
        self.other = FAR
        """The fewest bytes of a member whose name is not listed."""
        self.prices = _Prices((), (), FAR, FAR)
        self.adds_up = False
        """Whether costs of members add up: any number of members may follow, and all required ones can."""
        self._known: dict[tuple[int, int], int] = {}
        self._after_member_known: dict[tuple[int, int, int], int] = {}

    def update(self, whole: NDArray[np.int64]) -> None:
        """Update the lengths of the called rules from the distances of their entries, int64 ``[states]``."""
        lengths = whole[self._called]
        if self._lengths == lengths.tobytes():
            return
        self._lengths = lengths.tobytes()
        self._known.clear()
        self._after_member_known.clear()
        names, count = self.names, self._count
        self.values = (*lengths[:count].tolist(),) or (FAR,) * len(names.value_of)  # FAR where there may be no member
        after_names = [self._colon + self.values[value] for value in names.value_of]
        self.costs = tuple([len(name) + after for name, after in zip(names.written, after_names, strict=False)])
        others = zip(lengths[count:].tolist(), after_names[names.size :], strict=False)
        self.other = min((name + after for name, after in others), default=FAR)
        prices = [
            FAR if start else self._separator + cost for cost, start in zip(self.costs, self.writable_from, strict=True)
        ]
        optional = [name for name in range(names.size) if not names.needed >> name & 1]
        self.prices = _Prices(
            tuple(prices), tuple(sorted(optional, key=prices.__getitem__)), self._separator + self.other, self._close
        )
        needed = [price for name, price in enumerate(prices) if names.needed >> name & 1]
        self.adds_up = self._is_unbounded and max([*needed, self._close]) < FAR

    @property
    def states(self) -> range:
        """The states of the rule."""
        return range(self.names.first, self.names.first + len(self.names.columns))

    def sufficient_names(self, state: int) -> int:
        """Return names, one bit each, of which any that is not taken gives a way from a state to the end.

        The result is -1 if there is a way whatever names are taken, and 0 if only ``of`` can decide.
        """
        if not self.adds_up:
            return 0
        origin, value, depth, low, high, _ = self.names.columns[state - self.names.first].tolist()
        if value != NO_VALUE:
            return -1 if value == ENDED or self._scaffold.to_value.item(origin) + self.values[value] < FAR else 0
        if not depth and self._scaffold.to_name.item(origin) >= FAR:
            return 0
        if not depth and self.other < FAR:
            return -1
        return sum(
            1 << name
            for name in self.names.order[low:high]
            if self.writable_from[name] <= depth and self.costs[name] < FAR
        )

    def of(self, state: int, taken: int) -> int:
        """Return the fewest bytes from a state to the rule's end; ``FAR`` or more if there is no way."""
        key = state, taken
        distance = self._known.get(key)
        if distance is None:
            if len(self._known) > _KEPT:
                self._known.clear()
            distance = self._known[key] = self._of(self.names.columns[state - self.names.first].tolist(), taken)
        return distance

    def _of(self, columns: Sequence[int], taken: int) -> int:
        origin, value, depth, low, high, _ = columns
        scaffold = self._scaffold
        lacks, room = scaffold.lacks.item(origin), scaffold.room.item(origin)
        if value != NO_VALUE:
            length = 0 if value == ENDED else scaffold.to_value.item(origin) + self.values[value]
            return length + self._after_member(taken, lacks, room)
        least, before = FAR, -depth
        if not depth:  # no name has begun
            before = scaffold.to_name.item(origin)
            if not lacks and not self.names.needed & ~taken:
                least = scaffold.to_end.item(origin)
            lacks, room = max(0, lacks - 1), room - 1
            if self.other < FAR and before < FAR:
                least = min(least, before + self.other + self._after_member(taken, lacks, room))
        names = self.names.order[low:high] if before < FAR else ()
        if self.adds_up:  # a required member that is read now need not be paid for later
            saved, needed = self.prices.names, self.names.needed
            costs = [self.costs[name] - (saved[name] if needed >> name & 1 else 0) for name in names
                     if not taken >> name & 1 and self.writable_from[name] <= depth]  # fmt: skip
            return min(least, before + min(costs) + self._after_member(taken, lacks, room)) if costs else least
        for name in names:
            if not taken >> name & 1 and self.writable_from[name] <= depth:
                least = min(least, before + self.costs[name] + self._after_member(taken | 1 << name, lacks, room))
        return least

    def _after_member(self, taken: int, lacks: int, room: int) -> int:
        """Return the fewest bytes after the end of a member; cached, as many states share them."""
        key = taken, lacks, room
        total = self._after_member_known.get(key)
        if total is None:
            if len(self._after_member_known) > _KEPT:
                self._after_member_known.clear()
            total = self._after_member_known[key] = self._added_up(taken, lacks, room)
        return total

    def _added_up(self, taken: int, lacks: int, room: int) -> int:
        """Add up the prices of the members that must follow."""
        missing = self.names.needed & ~taken
        count = missing.bit_count()
        if count > room:
            return FAR
        total = self.prices.close
        for name, price in enumerate(self.prices.names):
            if missing >> name & 1:
                total += price
        lacks -= count
        for name in self.prices.by_price:
            if lacks <= 0 or self.prices.names[name] >= self.prices.other:
                break
            if not taken >> name & 1:
                total += self.prices.names[name]
                lacks -= 1
        return total + max(0, lacks) * self.prices.other

    def flat(self, at: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the numbers of the rule and of its states, for kernels; the rule's numbers begin at offset ``at``."""
        # Kernels do not distinguish the names from NARROW on. They assume that all required ones among these are
        # missing, and that the longest of them follows, so that their distances are never shorter than the true ones.
        names, prices, scaffold = self.names, self.prices, self._scaffold
        by_price = [name for name in prices.by_price if name < NARROW]
        unseen = range(NARROW, names.size)
        missing = sum(prices.names[name] for name in unseen if names.needed >> name & 1 and prices.names[name] < FAR)
        longest = max((self.costs[name] for name in unseen if self.costs[name] < FAR), default=0)
        rule = [names.needed & (1 << NARROW) - 1, prices.other, prices.close + missing]
        rule += [min(names.size, NARROW), len(by_price), self.adds_up, *prices.names[:NARROW], *by_price]
        choices = at + len(rule)
        for name in names.order:
            cost = self.costs[name]
            rule += [min(name, NARROW), max(cost, longest) if name >= NARROW else cost, self.writable_from[name]]
        origin, value, depth, low, high, takes = names.columns.T.astype(np.int64)
        begun, without = depth > 0, value == NO_VALUE
        tail = np.where(without, -1, scaffold.to_value[origin] + np.array([*self.values, 0, 0])[value])
        tail[value == ENDED] = 0
        before = np.where(begun, -depth, scaffold.to_name[origin])
        high = np.where(without & (before < FAR), high, low)
        close, lacks = np.where(begun, FAR, scaffold.to_end[origin]), scaffold.lacks[origin] + begun
        other = np.where(begun, FAR, before + self.other)
        is_doubtful = (takes >= NARROW) | (without & (names.size > NARROW))
        takes = np.minimum(takes, NARROW)
        if names.needed >> NARROW:  # kernels cannot check these required names, so every state is doubtful
            is_doubtful[:], lacks[:] = True, 0  # the minimum does not exceed the number of required members
            takes[close == 0] = NARROW
            close[(close > 0) & (close < FAR)] += missing
        states = np.stack([
            np.full_like(takes, at), takes, is_doubtful, tail, close, lacks, scaffold.room[origin] + begun, other,
            before, depth, choices + low * CHOICE, choices + high * CHOICE,
        ], axis=1)  # fmt: skip
        return np.array(rule, dtype=np.int64), states


def _after_last_unusable(name: bytes, usable: NDArray[np.bool_]) -> int:
    """Return the number of bytes of a name up to the last unusable one; 0 if all are usable."""
    return max((place for place, byte in enumerate(name, 1) if not usable[byte]), default=0)


class NameRegisters:
    """The registers of all rules with members in any order; see ``Kind``.

    Attributes:
        states: The states of these rules, intp.
        members: The distances of the rule of each of these states.
    """

    def __init__(self, table: Table, names_in: Mapping[int, Names], usable: NDArray[np.bool_]) -> None:
        self._size = len(table)
        usable_bytes = usable[table.byte_classes]
        self._distances = [MemberDistances(table, names, usable_bytes) for names in names_in.values()]
        members: dict[int, MemberDistances] = {}
        for each in self._distances:
            members |= dict.fromkeys(each.states, each)
        self.members: Mapping[int, MemberDistances] = members
        self.states = np.array([*self.members], dtype=np.intp)
        self._takes = {state: number for names in names_in.values() for state, number in names.takes.items()}
        self._sufficient_names: dict[int, int] = {}

    def keeps(self) -> NDArray[np.bool_]:
        """Return the states into which a step completes no name."""
        keeps = np.ones(self._size, dtype=np.bool_)
        keeps[list(self._takes)] = False
        return keeps

    def after_step(self, state: int, register: Register, byte: int, below: Below) -> Register | None:
        """Take the name that the step completes; refuse names taken before, and steps that lead to no end."""
        taken = number_of(register)
        number = self._takes.get(state)
        if number is None:
            return register if self.is_open(state, taken) else None
        if taken >> number & 1:
            return None
        taken |= 1 << number
        return with_number(register, taken) if self.is_open(state, taken) else None

    def canonical(self, state: int, number: int, longest: int) -> int:
        """Keep all names."""
        return number

    def bytes_left(self, state: int, number: int) -> int:
        """Return the fewest bytes from a state to the end of its rule."""
        return self.members[state].of(state, number)

    def is_open(self, state: int, taken: int) -> bool:
        """Return whether there is a way from a state to the end of its rule."""
        sufficient_names = self._sufficient_names.get(state)
        if sufficient_names is None:
            sufficient_names = self._sufficient_names[state] = self.members[state].sufficient_names(state)
        return sufficient_names & ~taken != 0 or self.members[state].of(state, taken) < FAR

    def lower(self, base: NDArray[np.int64], missing: NDArray[np.int64]) -> bool:
        """Lower the distances of first states to the current costs of members; return whether one was lowered."""
        is_new, whole = False, base + missing
        for each in self._distances:
            each.update(whole)
            for state in each.first_states:
                length = each.of(state, 0)
                is_new = is_new or length < base[state]
                base[state] = min(base[state], length)
        return is_new

    def facts(self) -> dict[int, NDArray[np.int32]]:
        """Return the offset of each state in ``flat``; ``NO_MEMBER`` in other rules."""
        member_of = np.full(self._size, NO_MEMBER, dtype=np.int32)
        for each, at in zip(self._distances, self._flattened[1], strict=True):
            member_of[each.states.start : each.states.stop] = at + MEMBER_FIELDS * np.arange(len(each.states))
        return {MEMBER: member_of}

    @property
    def flat(self) -> NDArray[np.int64]:
        """The data of members for kernels: the fields of each rule, each followed by the fields of its states."""
        return self._flattened[0]

    @cached_property
    def _flattened(self) -> tuple[NDArray[np.int64], list[int]]:
        numbers, places, size = [np.zeros(1, dtype=np.int64)], list[int](), 1
        for each in self._distances:
            rule, states = each.flat(size)
            numbers += [rule, states.reshape(-1)]
            places.append(size + len(rule))
            size += len(rule) + states.size
        return np.concatenate(numbers), places

    def may_be_closed(self) -> NDArray[np.intp]:
        """Return the states of these rules from which there is no way to the end after some names are taken."""
        found = [np.empty(0, dtype=np.intp)]
        for each, at in zip(self._distances, self._flattened[1], strict=True):
            fields = self.flat[at : at + MEMBER_FIELDS * len(each.states)].reshape(-1, MEMBER_FIELDS)
            tail = fields[:, MEMBER_TAIL]
            is_closed = np.where(tail >= 0, tail, fields[:, MEMBER_OTHER]) >= (FAR if each.adds_up else 0)
            found.append(each.states.start + np.flatnonzero(is_closed))
        return np.concatenate(found)


# ---- for kernels -----------------------------------------------------------------------------------------------------


NO_MEMBER = -1
"""In place of a member state, in all other rules."""

(
    MEMBER_RULE, MEMBER_TAKES, MEMBER_IS_DOUBTFUL, MEMBER_TAIL, MEMBER_CLOSE, MEMBER_LACKS, MEMBER_ROOM, MEMBER_OTHER,
    MEMBER_BEFORE, MEMBER_DEPTH, MEMBER_FIRST, MEMBER_LAST,
) = range(12)  # fmt: skip
"""The fields of a member state: the offset of its rule; the name that a step into it takes; whether it is doubtful; the
bytes to the end of the open member, -1 if none is open; the bytes to the end of the rule without another member; the
fewest and the most members that begin after it; the bytes to the end of a member whose name is not listed; the bytes
before the next name, negative inside a name; the bytes of the name that were read; start and end of the choices.
"""

MEMBER_FIELDS = 12

RULE_NEEDED, RULE_OTHER, RULE_CLOSE, RULE_COUNT, RULE_OPTIONAL, RULE_ADDS_UP, RULE_NAMES = range(7)
"""The fields of a rule. After them come the prices of the names, the optional names, the cheapest first, and the
choices.
"""

CHOICE = 3
"""The number of fields of a choice, in the order of sorted names: the name, its bytes with its value, and the number of
its bytes that must have been read, as they are not usable.
"""


@part
def to_end(at: Int, taken: Int, numbers: Int64s) -> Int:
    """Return the fewest bytes from a member state to its rule's end; see ``MemberDistances.of``."""
    # at: The offset of the state in ``numbers``.
    # taken: The names already read.
    # numbers: See ``NameRegisters.flat``.
    rule, tail = numbers[at + MEMBER_RULE], numbers[at + MEMBER_TAIL]
    lacks, room = numbers[at + MEMBER_LACKS], numbers[at + MEMBER_ROOM]
    if tail >= 0:
        return tail + _after_member(rule, taken, lacks, room, numbers)
    least = np.int64(FAR)
    if lacks == 0 and numbers[rule + RULE_NEEDED] & ~taken == 0:
        least = numbers[at + MEMBER_CLOSE]
    lacks, room = max(np.int64(0), lacks - 1), room - 1
    before, depth = numbers[at + MEMBER_BEFORE], numbers[at + MEMBER_DEPTH]
    adds_up, cheapest = numbers[rule + RULE_ADDS_UP] != 0, np.int64(FAR)
    for choice in range(numbers[at + MEMBER_FIRST], numbers[at + MEMBER_LAST], CHOICE):
        name, cost = numbers[choice], numbers[choice + 1]
        if (taken >> name) & 1 != 0 or numbers[choice + 2] > depth:
            continue
        if not adds_up:
            least = min(least, before + cost + _after_member(rule, taken | np.int64(1) << name, lacks, room, numbers))
        elif (numbers[rule + RULE_NEEDED] >> name) & 1 != 0:
            cheapest = min(cheapest, cost - numbers[rule + RULE_NAMES + name])
        else:
            cheapest = min(cheapest, cost)
    if cheapest < FAR:
        least = min(least, before + cheapest + _after_member(rule, taken, lacks, room, numbers))
    if numbers[at + MEMBER_OTHER] < FAR:
        least = min(least, numbers[at + MEMBER_OTHER] + _after_member(rule, taken, lacks, room, numbers))
    return least


@part
def _after_member(rule: Int, taken: Int, lacks: Int, room: Int, numbers: Int64s) -> Int:
    """Return the fewest bytes after the end of a member; see ``MemberDistances._after_member``."""
    missing = numbers[rule + RULE_NEEDED] & ~taken
    total = numbers[rule + RULE_CLOSE]
    prices = rule + RULE_NAMES
    name = np.int64(0)
    while missing != 0:
        if missing & 1 != 0:
            total += numbers[prices + name]
            lacks -= 1
            room -= 1
        missing >>= 1
        name += 1
    if room < 0:
        return np.int64(FAR)
    other = numbers[rule + RULE_OTHER]
    optional = prices + numbers[rule + RULE_COUNT]
    for position in range(numbers[rule + RULE_OPTIONAL]):
        name = numbers[optional + position]
        if lacks <= 0 or numbers[prices + name] >= other:
            break
        if (taken >> name) & 1 == 0:
            total += numbers[prices + name]
            lacks -= 1
    return total + max(np.int64(0), lacks) * other


@part
def names_after(member: Int, register: Int, members: Int64s) -> Int:
    """Return the names after a step into a member state, or ``REFUSED``; see ``NameRegisters.after_step``."""
    takes = members[member + MEMBER_TAKES]
    if takes >= 0 and takes < NARROW:
        name = np.int64(1) << takes
        if register & name != 0:
            return np.int64(REFUSED)
        register |= name
    if (takes >= 0 or members[member + MEMBER_TAIL] < 0) and to_end(member, register, members) >= FAR:
        return np.int64(REFUSED)
    return register


@part
def takes_unseen(member: Int, members: Int64s) -> Flag:
    """Return whether a step into a member state takes a name that kernels do not distinguish."""
    return members[member + MEMBER_TAKES] >= NARROW
