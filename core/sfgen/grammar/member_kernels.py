"""The distances of members in any order for kernels: ``MemberDistances.of`` over plain numbers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from sfgen.grammar.any_order import NARROW
from sfgen.grammar.member_distances import MemberDistances
from sfgen.grammar.member_stands import FAR
from sfgen.kernels import Int, Int64s, kernel

NO_STAND = -1
"""Of a state that is in no rule whose members have any order."""

(
    STAND_RULE, STAND_TAKES, STAND_IS_DOUBTFUL, STAND_TAIL, STAND_CLOSE, STAND_LACKS, STAND_ROOM, STAND_OTHER,
    STAND_CHOICES,
) = range(9)  # fmt: skip
"""What ``flat_members`` has of a state, by position; the choices follow, the name and the bytes of each."""

RULE_NEEDED, RULE_OTHER, RULE_CLOSE, RULE_COUNT, RULE_OPTIONAL, RULE_NAMES = range(6)
"""What it has of a rule: the prices of the names follow, and then those that need not be there, the cheapest first."""


def flat_members(members: Mapping[int, MemberDistances]) -> tuple[dict[int, int], NDArray[np.int64]]:
    """Flatten the distances of members for kernels.

    Args:
        members: The distances of the rule of each state.

    Returns:
        Where each state stands in the numbers, and the numbers, int64.
    """
    numbers, at = list[int](), dict[int, int]()
    rules: dict[int, int] = {}
    for state, distances in members.items():
        names, prices = distances.names, distances.prices
        if id(distances) not in rules:
            rules[id(distances)] = len(numbers)
            by_price = [name for name in prices.by_price if name < NARROW]
            numbers += [names.needed, prices.other, prices.close, min(names.size, NARROW), len(by_price)]
            numbers += [*prices.names[:NARROW], *by_price]
        at[state] = len(numbers)
        stand = distances.stands[state]
        tail = -1 if stand.tail is None else stand.tail[0] + distances.lengths[stand.tail[1]]
        other = min((distances.of_other(each) for each in stand.others), default=FAR)
        choices = [(min(name, NARROW), distances.of_choice(name, length)) for name, length in stand.choices]
        takes = min(names.takes.get(state, -1), NARROW)
        is_doubtful = takes == NARROW or (names.size > NARROW and stand.tail is None)
        numbers += [rules[id(distances)], takes, is_doubtful, tail, stand.close, stand.lacks, stand.room, other]
        numbers += [len(choices), *(number for choice in choices for number in choice)]
    return at, np.array(numbers or [0], dtype=np.int64)


@kernel(is_part=True)
def to_end(at: Int, taken: Int, numbers: Int64s) -> Int:
    """Return D of a state; see ``MemberDistances.of``.

    Args:
        at: Where the state stands in ``numbers``.
        taken: The names that were read.
        numbers: See ``flat_members``.
    """
    rule, tail = numbers[at + STAND_RULE], numbers[at + STAND_TAIL]
    lacks, room = numbers[at + STAND_LACKS], numbers[at + STAND_ROOM]
    if tail >= 0:
        return tail + _behind(rule, taken, lacks, room, numbers)
    least = np.int64(FAR)
    if lacks == 0 and numbers[rule + RULE_NEEDED] & ~taken == 0:
        least = numbers[at + STAND_CLOSE]
    lacks, room = max(np.int64(0), lacks - 1), room - 1
    choice = at + STAND_CHOICES + 1
    for _ in range(numbers[at + STAND_CHOICES]):
        name = np.int64(1) << numbers[choice]
        if taken & name == 0:
            least = min(least, numbers[choice + 1] + _behind(rule, taken | name, lacks, room, numbers))
        choice += 2
    if numbers[at + STAND_OTHER] < FAR:
        least = min(least, numbers[at + STAND_OTHER] + _behind(rule, taken, lacks, room, numbers))
    return least


@kernel(is_part=True)
def _behind(rule: Int, taken: Int, lacks: Int, room: Int, numbers: Int64s) -> Int:
    """D where a member has ended."""
    missing = numbers[rule + RULE_NEEDED] & ~taken
    found = numbers[rule + RULE_CLOSE]
    prices = rule + RULE_NAMES
    name = np.int64(0)
    while missing != 0:
        if missing & 1 != 0:
            found += numbers[prices + name]
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
            found += numbers[prices + name]
            lacks -= 1
    return found + max(np.int64(0), lacks) * other
