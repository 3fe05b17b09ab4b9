"""The fewest bytes to the end of a rule with members in any order, by the names already read.

Missing members come in any order, so their bytes add up: each missing required member costs its name, its value and a
separator. If the rule counts its members, the cheapest optional ones fill the count. Inside a name, the cheapest of the
names that are still free is taken.

``find_member_states`` finds, once for a network and its usable bytes, the bytes around the calls of each state.
``MemberDistances`` adds the lengths of the called rules. ``flat_members`` and ``to_end`` are the same for kernels.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfgen.grammar.any_order import NARROW, Names
from sfgen.grammar.network import DEAD, Network
from sfgen.kernels import Int, Int64s, kernel

FAR = 1 << 40
"""The distance where there is no way to the end."""

ENDLESS = 1 << 20
"""The room for members without a maximum."""


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


def find_member_states(network: Network, usable: NDArray[np.bool_]) -> list[_MemberStates]:
    """Find the member states of each rule with members in any order; ``usable`` is bool ``[classes]``."""
    of_rule: dict[int, list[int]] = {rule: [] for rule in network.names_in}
    for state in np.flatnonzero(np.isin(network.rule_of, list(of_rule))).tolist():
        of_rule[int(network.rule_of[state])].append(state)
    return [_Finder(network, network.names_in[rule], states, usable).found() for rule, states in of_rule.items()]


class _Finder:
    """Finds the member states of one rule."""

    def __init__(self, network: Network, names: Names, states: list[int], usable: NDArray[np.bool_]) -> None:
        self._network = network
        self._names = names
        self._states = states
        rows = np.where(usable, network.table[states], DEAD)
        self._after: dict[int, set[int]] = {state: set() for state in states}
        sources, labels = np.nonzero(rows != DEAD)
        found = np.unique(rows[sources, labels].astype(np.int64) * len(states) + sources)  # each step between two once
        entries, sources = np.divmod(found, len(states))
        for entry, source in zip(entries.tolist(), sources.tolist(), strict=True):
            after = self._after[states[source]]
            if entry >= 0:
                after.add(entry)
            else:
                ways = network.actions[-2 - entry]
                after |= {way.state for way in ways if not way.pushes and not way.is_fresh}
        self._before: dict[int, set[int]] = {state: set() for state in states}
        for state, targets in self._after.items():
            for target in targets:
                self._before[target].add(state)
        self._sites = [(state, site) for state in states for site in network.calls.get(state, ())]

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
        close = self._back([state for state in self._states if self._network.accepting[state]], ended)
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
        fewest = {state: 0 for state in self._states if self._network.accepting[state]}
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
