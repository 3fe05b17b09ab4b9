"""Members in any order: the names that were read, one bit each.

The automaton of such a rule reads any member at any time. If its states told which members were read, there would be
two to the power of the names. A step that completes a name *takes* it instead: the register is a set of names.

The fewest bytes to the end of the rule depend on the names already read. Missing members come in any order, so their
bytes add up: each missing required member costs its name, its value and a separator. If the rule counts its members,
the cheapest optional ones fill the count. Inside a name, the cheapest of the names that are still free is taken.

``find_member_states`` finds, once for a network and its usable bytes, the bytes around the calls of each state.
``MemberDistances`` adds the lengths of the called rules. ``to_end`` is the same for kernels.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfgen.errors import InternalError
from sfgen.grammar.registers.register import (
    FAR,
    MEMBER,
    NARROW,
    REFUSED,
    Below,
    Register,
    number_of,
    with_number,
)
from sfgen.grammar.rules import (
    Alternation,
    AnyOrder,
    Call,
    Concatenation,
    Expression,
    Literal,
    Member,
    Repeat,
    Series,
    Take,
)
from sfgen.grammar.table import DEAD, Table
from sfgen.kernels import Flag, Int, Int64s, kernel

ENDLESS = 1 << 20
"""The room for members without a maximum."""

# ---- the automaton -------------------------------------------------------------------------------------------------


class Names(NamedTuple):
    """The names of one rule with members in any order."""

    size: int
    needed: int  # the required names, one bit each
    minimum: int
    maximum: int | None  # the most members; ``None``: any number
    takes: Mapping[int, int]  # the number of the name that a step into each state completes

    def moved(self, by: int) -> Names:
        """Move the states."""
        return self._replace(takes={state + by: name for state, name in self.takes.items()})


def names_of(members: AnyOrder, takes: Mapping[int, int]) -> Names:
    """Describe the names of a rule, given the name that a step into each state takes."""
    needed = sum(1 << number for number, member in enumerate(members.members) if member.is_needed)
    return Names(len(members.members), needed, members.minimum, members.maximum, takes)


def with_marks(members: AnyOrder) -> Expression:
    """Repeat all members any number of times, with marks behind their names.

    This is the automaton's expression; the register checks the rest.
    """
    needed = sum(member.is_needed for member in members.members)
    if members.minimum > needed and any(member.is_needed for member in members.members[NARROW:]):
        raise InternalError(f"where more are needed than {NARROW} members, the count of all asks for no more")
    sorts: list[Expression] = [
        Concatenation((Literal(member.name), Take(number), members.colon, member.value))
        for number, member in enumerate(members.members)
    ]
    sorts += [Concatenation((other.name, members.colon, other.value)) for other in members.others]
    branches: list[Expression] = []
    if members.minimum == 0 and not any(member.is_needed for member in members.members):
        branches.append(Literal(members.empty))
    if sorts and members.maximum != 0:
        most = None if members.maximum is None else members.maximum - 1
        member = Alternation(tuple(sorts))
        more = Repeat(Concatenation((members.separator, member)), max(0, members.minimum - 1), most)
        branches.append(Concatenation((Literal(members.opening), member, more, Literal(members.closing))))
    return Alternation(tuple(branches))


def without_marks(
    table: NDArray[np.int32],
    takes: Mapping[int, tuple[int, int]],
    calls: Sequence[tuple[int, Call, int]],
    byte_classes: NDArray[np.int32],
) -> list[tuple[int, Call, int]]:
    """Continue states before marks as the states behind them; return the new calls. Changes ``table``."""
    columns = np.unique(byte_classes)
    after = dict[int, list[tuple[Call, int]]]()
    for state, call, target in calls:
        after.setdefault(state, []).append((call, target))
    for state, (_, behind) in takes.items():
        if (table[state, columns] >= 0).any() or state in after:
            raise InternalError("a name is the beginning of another one")
        table[state, columns] = table[behind, columns]
    return [(state, *each) for state, (_, behind) in takes.items() for each in after.get(behind, ())]


def in_one_order(members: AnyOrder) -> Expression:
    """Put the members in the order of the list: some of the texts, among them those with the fewest members."""
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


# ---- distances -----------------------------------------------------------------------------------------------------


class _MemberState(NamedTuple):
    """The members that may follow a state, in bytes without those of calls."""

    # bytes to the end of the open member and the entry of its value, -1 if the member has ended; ``None`` without an
    # open member of a known name
    tail: tuple[int, int] | None
    # names that may follow, and the bytes to the ends of their members
    choices: tuple[tuple[int, int], ...]
    others: tuple[tuple[int, int, int], ...]  # bytes, entry of the name, entry of the value
    close: int  # bytes to the end of the rule without another member; ``FAR`` without such a way
    lacks: int
    room: int


class _MemberStates(NamedTuple):
    """The states of one rule with members in any order."""

    names: Names
    member_states: Mapping[int, _MemberState]
    values: tuple[int, ...]  # entry of each name's value; -1: the name cannot be written
    openings: tuple[int, ...]  # the first state, and those behind the first byte


def find_member_states(table: Table, names_in: Mapping[int, Names], usable: NDArray[np.bool_]) -> list[_MemberStates]:
    """Find the member states of each rule with members in any order; ``usable`` is bool ``[classes]``."""
    of_rule: dict[int, list[int]] = {rule: [] for rule in names_in}
    for state in np.flatnonzero(np.isin(table.rule_of, list(of_rule))).tolist():
        of_rule[int(table.rule_of[state])].append(state)
    return [_Finder(table, names_in[rule], states, usable).found() for rule, states in of_rule.items()]


class _Finder:
    """Finds the member states of one rule."""

    def __init__(self, table: Table, names: Names, states: list[int], usable: NDArray[np.bool_]) -> None:
        self._table = table
        self._names = names
        self._states = states
        rows = np.where(usable, table.table[states], DEAD)
        self._after: dict[int, set[int]] = {state: set() for state in states}
        sources, labels = np.nonzero(rows != DEAD)
        found = np.unique(rows[sources, labels].astype(np.int64) * len(states) + sources)  # each step between two once
        entries, sources = np.divmod(found, len(states))
        for entry, source in zip(entries.tolist(), sources.tolist(), strict=True):
            after = self._after[states[source]]
            if entry >= 0:
                after.add(entry)
            else:
                ways = table.actions[-2 - entry]
                after |= {way.state for way in ways if not way.pushes and not way.is_fresh}
        self._before: dict[int, set[int]] = {state: set() for state in states}
        for state, targets in self._after.items():
            for target in targets:
                self._before[target].add(state)
        self._sites = [(state, site) for state in states for site in table.calls.get(state, ())]

    def found(self) -> _MemberStates:
        """Return all member states."""
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
                        lengths = choices.setdefault(earlier, {})
                        lengths[name] = min(lengths.get(name, FAR), length + rest)
        others: dict[int, set[tuple[int, int, int]]] = {}
        for state, site in self._sites:
            if site.is_distinct and site.target in tails:
                rest, value = tails[site.target]
                for earlier, length in self._back([state], ended).items():
                    others.setdefault(earlier, set()).add((length + rest, site.entry, value))
        close = self._back([state for state in self._states if self._table.accepting[state]], ended)
        lacks, room = self._lacks(), self._room()
        member_states = {
            state: _MemberState(
                tails.get(state), tuple(choices.get(state, {}).items()), tuple(sorted(others.get(state, ()))),
                close.get(state, FAR), lacks.get(state, 0), room.get(state, ENDLESS),
            )
            for state in self._states
        }  # fmt: skip
        entered = {site.target for _, site in self._sites}
        first = [
            state
            for state in self._states
            if not self._before[state] and state not in entered and member_states[state].tail is None
        ]
        openings = dict.fromkeys([*first, *(target for state in first for target in self._after[state])])
        return _MemberStates(names, member_states, tuple(values), tuple(openings))

    def _tails(self) -> dict[int, tuple[int, int]]:
        """Return the bytes from behind each name to its value, and the value's entry."""
        behind_names = {*self._names.takes, *(site.target for _, site in self._sites if site.is_distinct)}
        tails: dict[int, tuple[int, int]] = {}
        for state, site in self._sites:
            if not site.is_distinct:
                for earlier, length in self._back([state], behind_names).items():
                    if length < tails.get(earlier, (FAR, 0))[0]:
                        tails[earlier] = length, site.entry
        return tails

    def _back(self, ends: list[int], stop: Collection[int]) -> dict[int, int]:
        """Return the fewest bytes from earlier states to one of ``ends``, not beyond ``stop``."""
        lengths = dict.fromkeys(ends, 0)
        for state in (queue := list(ends)):
            if state not in stop:
                for earlier in self._before[state]:
                    if earlier not in lengths:
                        lengths[earlier] = lengths[state] + 1
                        queue.append(earlier)
        return lengths

    def _steps(self) -> Iterator[tuple[int, int, int]]:
        """Yield each step between two states, and the number of members that begin there."""
        for state, targets in self._after.items():
            for target in targets:
                yield state, target, int(target in self._names.takes)
        for state, site in self._sites:
            yield state, site.target, int(site.is_distinct)

    def _lacks(self) -> dict[int, int]:
        """Return the fewest members that must begin behind each state: shortest ways, backwards."""
        if self._names.minimum <= 1:
            return {}
        before: dict[int, list[tuple[int, int]]] = {state: [] for state in self._states}
        for state, target, begins in self._steps():
            before[target].append((state, begins))
        fewest = {state: 0 for state in self._states if self._table.accepting[state]}
        queue = deque(fewest)
        while queue:
            state = queue.popleft()
            for earlier, begins in before[state]:
                if fewest[state] + begins < fewest.get(earlier, ENDLESS):
                    fewest[earlier] = fewest[state] + begins
                    queue.append(earlier) if begins else queue.appendleft(earlier)
        return fewest

    def _room(self) -> dict[int, int]:
        """Return the most members that can begin behind each state: longest ways, last states first."""
        if self._names.maximum is None:
            return {}
        before: dict[int, list[tuple[int, int]]] = {state: [] for state in self._states}
        waits = dict.fromkeys(self._states, 0)
        for state, target, begins in self._steps():
            before[target].append((state, begins))
            waits[state] += 1
        most = dict.fromkeys(self._states, 0)
        for state in (queue := [state for state in self._states if not waits[state]]):
            for earlier, begins in before[state]:
                most[earlier] = max(most[earlier], most[state] + begins)
                waits[earlier] -= 1
                if not waits[earlier]:
                    queue.append(earlier)
        return most


_KEPT = 1 << 14
"""The cached distances of one rule."""


class _Prices(NamedTuple):
    """The bytes of members behind the end of another."""

    names: tuple[int, ...]  # bytes of each name's member with its separator
    by_price: tuple[int, ...]  # the optional names, the cheapest first
    other: int
    close: int


class MemberDistances:
    """The distances of one rule with members in any order."""

    def __init__(self, states: _MemberStates) -> None:
        self.names, self.member_states, self._values, self.openings = states
        self.lengths: Mapping[int, int] = {}
        self.prices = _Prices((), (), FAR, FAR)
        self._known: dict[tuple[int, int], int] = {}
        self._behind_known: dict[tuple[int, int, int], int] = {}

    @cached_property
    def called(self) -> set[int]:
        """The entries of all called rules."""
        entries = set(self._values)
        for member in self.member_states.values():
            for _, name, value in member.others:
                entries.add(name)
                entries.add(value)
            if member.tail is not None:
                entries.add(member.tail[1])
        return entries - {-1}

    @cached_property
    def _ended(self) -> list[_MemberState]:
        """The states behind a member."""
        return [member for member in self.member_states.values() if member.tail is not None and member.tail[1] < 0]

    def update(self, whole: NDArray[np.int64]) -> None:
        """Set the lengths of the called rules from the distances of their entries, int64 ``[states]``."""
        self.lengths = {-1: 0} | {state: whole.item(state) for state in self.called}
        self._known.clear()
        self._behind_known.clear()
        ended = self._ended
        names = [FAR] * self.names.size
        for member in ended:
            for name, length in member.choices:
                names[name] = min(names[name], length + self.lengths[self._values[name]])
        others = [self.of_other(other) for member in ended for other in member.others]
        optional = [name for name in range(self.names.size) if not self.names.needed >> name & 1]
        self.prices = _Prices(
            tuple(names),
            tuple(sorted(optional, key=names.__getitem__)),
            min(others, default=FAR),
            min((member.close for member in ended), default=FAR),
        )

    def of(self, state: int, taken: int) -> int:
        """Return the fewest bytes from a state to the rule's end; ``FAR`` or more without a way."""
        key = state, taken
        distance = self._known.get(key)
        if distance is None:
            if len(self._known) > _KEPT:
                self._known.clear()
            distance = self._known[key] = self._of(self.member_states[state], taken)
        return distance

    def of_choice(self, name: int, length: int) -> int:
        """Return the bytes of a named member with its value."""
        return length + self.lengths[self._values[name]]

    def of_other(self, other: tuple[int, int, int]) -> int:
        """Return the bytes of a member whose name is not listed."""
        length, name, value = other
        return length + self.lengths[name] + self.lengths[value]

    def _of(self, member: _MemberState, taken: int) -> int:
        if member.tail is not None:
            length, value = member.tail
            return length + self.lengths[value] + self._behind(taken, member.lacks, member.room)
        least = FAR
        if not member.lacks and not self.names.needed & ~taken:
            least = member.close
        lacks, room = max(0, member.lacks - 1), member.room - 1
        for name, length in member.choices:
            if not taken >> name & 1:
                least = min(least, self.of_choice(name, length) + self._behind(taken | 1 << name, lacks, room))
        for other in member.others:
            least = min(least, self.of_other(other) + self._behind(taken, lacks, room))
        return least

    def _behind(self, taken: int, lacks: int, room: int) -> int:
        """Return the fewest bytes behind the end of a member; cached, as many states have the same behind them."""
        key = taken, lacks, room
        total = self._behind_known.get(key)
        if total is None:
            if len(self._behind_known) > _KEPT:
                self._behind_known.clear()
            total = self._behind_known[key] = self._added_up(taken, lacks, room)
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


class NameRegisters:
    """The registers of all rules with members in any order; see ``Kind``.

    Attributes:
        states: The states of these rules, intp.
        members: The distances of the rule of each of these states.
    """

    def __init__(self, table: Table, names_in: Mapping[int, Names], usable: NDArray[np.bool_]) -> None:
        self._size = len(table)
        self._distances = [MemberDistances(each) for each in find_member_states(table, names_in, usable)]
        self.members: Mapping[int, MemberDistances] = {
            state: each for each in self._distances for state in each.member_states
        }
        self.states = np.array([*self.members], dtype=np.intp)
        self._takes = {state: number for names in names_in.values() for state, number in names.takes.items()}
        self._open: set[tuple[int, int]] = set()  # states and numbers with a way to the end

    def keeps(self) -> NDArray[np.bool_]:
        """Tell into which states a step completes no name."""
        keeps = np.ones(self._size, dtype=np.bool_)
        keeps[list(self._takes)] = False
        return keeps

    def after_step(self, state: int, register: Register, byte: int, below: Below) -> Register | None:
        """Take the name that the step completes; refuse one that was taken, and what leaves no way to the end."""
        taken = number_of(register)
        number = self._takes.get(state)
        if number is None:
            return register if self.members[state].of(state, taken) < FAR else None
        if taken >> number & 1:
            return None
        taken |= 1 << number
        return with_number(register, taken) if self.members[state].of(state, taken) < FAR else None

    def canonical(self, state: int, number: int, longest: int) -> int:
        """Keep all names."""
        return number

    def bytes_left(self, state: int, number: int) -> int:
        """Return the fewest bytes from a state to the end of its rule."""
        return self.members[state].of(state, number)

    def is_open(self, state: int, register: Register) -> bool:
        """Tell whether there is a way from a state to the end of its rule."""
        key = state, number_of(register)
        if key in self._open:
            return True
        if self.bytes_left(*key) >= FAR:
            return False
        if len(self._open) >= _KEPT:
            self._open.clear()
        self._open.add(key)
        return True

    def lower(self, base: NDArray[np.int64], missing: NDArray[np.int64]) -> bool:
        """Lower the distances of first states to what members cost now; tell whether one was lowered."""
        is_new = False
        for each in self._distances:
            each.update(base + missing)
            for state in each.openings:
                length = each.of(state, 0)
                is_new = is_new or length < base[state]
                base[state] = min(base[state], length)
        return is_new

    def facts(self) -> dict[int, NDArray[np.int32]]:
        """Return the place of each state in ``flat``; ``NO_MEMBER`` without one."""
        member_of = np.full(self._size, NO_MEMBER, dtype=np.int32)
        member_of[list(self._flattened[0])] = list(self._flattened[0].values())
        return {MEMBER: member_of}

    @property
    def flat(self) -> NDArray[np.int64]:
        """The distances of members for kernels."""
        return self._flattened[1]

    @cached_property
    def _flattened(self) -> tuple[dict[int, int], NDArray[np.int64]]:
        return flat_members(self.members)


# ---- for kernels -----------------------------------------------------------------------------------------------------


NO_MEMBER = -1
"""In place of a member state, in rules without members in any order."""

(
    MEMBER_RULE, MEMBER_TAKES, MEMBER_IS_DOUBTFUL, MEMBER_TAIL, MEMBER_CLOSE, MEMBER_LACKS, MEMBER_ROOM, MEMBER_OTHER,
    MEMBER_CHOICES,
) = range(9)  # fmt: skip
"""The fields of a member state in ``flat_members``; name and bytes of each choice follow."""

RULE_NEEDED, RULE_OTHER, RULE_CLOSE, RULE_COUNT, RULE_OPTIONAL, RULE_NAMES = range(6)
"""The fields of a rule; the prices of the names follow, then the optional names, the cheapest first."""


def flat_members(members: Mapping[int, MemberDistances]) -> tuple[dict[int, int], NDArray[np.int64]]:
    """Flatten the distances of members for kernels: the place of each state, and the numbers, int64."""
    numbers, at = list[int](), dict[int, int]()
    rules: dict[int, int] = {}
    for state, distances in members.items():
        names, prices, lengths = distances.names, distances.prices, distances.lengths
        if id(distances) not in rules:
            rules[id(distances)] = len(numbers)
            by_price = [name for name in prices.by_price if name < NARROW]
            needed = names.needed & (1 << NARROW) - 1
            numbers += [needed, prices.other, prices.close, min(names.size, NARROW), len(by_price)]
            numbers += [*prices.names[:NARROW], *by_price]
        at[state] = len(numbers)
        member = distances.member_states[state]
        tail = -1 if member.tail is None else member.tail[0] + lengths[member.tail[1]]
        other = min([distances.of_other(each) for each in member.others], default=FAR)
        takes = min(names.takes.get(state, -1), NARROW)
        is_doubtful = takes == NARROW or (names.size > NARROW and member.tail is None)
        lacks = member.lacks
        if names.needed >> NARROW:  # kernels do not know which of these were read, so to end is as doubtful as a name
            is_doubtful, lacks = True, 0  # and no more members are asked for than are needed
            takes = NARROW if member.close == 0 else takes
        numbers += [rules[id(distances)], takes, is_doubtful, tail, member.close, lacks, member.room, other]
        numbers.append(len(member.choices))
        for name, length in member.choices:
            numbers.append(min(name, NARROW))
            numbers.append(distances.of_choice(name, length))
    return at, np.array(numbers or [0], dtype=np.int64)


@kernel(is_part=True)
def to_end(at: Int, taken: Int, numbers: Int64s) -> Int:
    """Return the fewest bytes from a member state to its rule's end; see ``MemberDistances.of``."""
    # at: The place of the state in ``numbers``.
    # taken: The names already read.
    # numbers: See ``flat_members``.
    rule, tail = numbers[at + MEMBER_RULE], numbers[at + MEMBER_TAIL]
    lacks, room = numbers[at + MEMBER_LACKS], numbers[at + MEMBER_ROOM]
    if tail >= 0:
        return tail + _behind(rule, taken, lacks, room, numbers)
    least = np.int64(FAR)
    if lacks == 0 and numbers[rule + RULE_NEEDED] & ~taken == 0:
        least = numbers[at + MEMBER_CLOSE]
    lacks, room = max(np.int64(0), lacks - 1), room - 1
    choice = at + MEMBER_CHOICES + 1
    for _ in range(numbers[at + MEMBER_CHOICES]):
        name = np.int64(1) << numbers[choice]
        if taken & name == 0:
            least = min(least, numbers[choice + 1] + _behind(rule, taken | name, lacks, room, numbers))
        choice += 2
    if numbers[at + MEMBER_OTHER] < FAR:
        least = min(least, numbers[at + MEMBER_OTHER] + _behind(rule, taken, lacks, room, numbers))
    return least


@kernel(is_part=True)
def _behind(rule: Int, taken: Int, lacks: Int, room: Int, numbers: Int64s) -> Int:
    """D where a member has ended."""
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


@kernel(is_part=True)
def names_after(member: Int, register: Int, members: Int64s) -> Int:
    """Return the names behind a step into a member state, or ``REFUSED``; see ``NameRegisters.after_step``."""
    takes = members[member + MEMBER_TAKES]
    if takes >= 0 and takes < NARROW:
        name = np.int64(1) << takes
        if register & name != 0:
            return np.int64(REFUSED)
        register |= name
    if (takes >= 0 or members[member + MEMBER_TAIL] < 0) and to_end(member, register, members) >= FAR:
        return np.int64(REFUSED)
    return register


@kernel(is_part=True)
def takes_unseen(member: Int, members: Int64s) -> Flag:
    """Tell whether a step into a member state takes a name that kernels do not distinguish."""
    return members[member + MEMBER_TAKES] >= NARROW
