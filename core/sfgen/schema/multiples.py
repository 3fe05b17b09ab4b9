"""The decimals that are multiples of a number: an automaton over the remainder of the digits.

The multiples of 0.25 are the decimals whose digits, with two places behind the point, are a multiple of 25. What is
left of the digits that were read is what may follow them (Nerode, 1958): of all digits that complete them to a multiple
the fewest, and of those the smallest number. Two remainders with the same one are the same state, so a divisor of many
twos and fives needs few (Alexeev, 2004): 86,400 has 141 states and not 86,400.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfgen.automata.determinize import Deterministic
from sfgen.schema.decimals import MINUS, POINT, SYMBOLS, ZERO, byte_classes

_LARGEST_FIXED = 10**17  # ten times it, and nine more, is an int64


@dataclass(frozen=True)
class Step:
    """The distance between multiples, ``digits / 10**places``, with the fewest places.

    >>> Step.of([Fraction("0.25"), Fraction("1.5")]), Step.of([Fraction(60), Fraction(1, 7)])
    (Step(digits=15, places=1), Step(digits=60, places=0))
    """

    digits: int
    places: int

    @classmethod
    def of(cls, divisors: Iterable[Fraction]) -> Step:
        """Find the step of the common multiples of some numbers.

        The multiples are decimals; the numbers are at least one, and all above zero.
        """
        numerator, denominator = 1, 0
        for divisor in divisors:
            numerator, denominator = lcm(numerator, divisor.numerator), gcd(denominator, divisor.denominator)
        # Decimals have no other denominators than products of twos and fives.
        twos, fives = _power(denominator, 2), _power(denominator, 5)
        places = max(twos, fives)
        return cls(numerator * 2 ** (places - twos) * 5 ** (places - fives), places)

    @property
    def value(self) -> Fraction:
        """The number."""
        return Fraction(self.digits, 10**self.places)


def multiples(step: Step, places: int, most: int) -> Deterministic | None:
    """Build the automaton that tells multiples of a step from other decimals.

    It is not minimal. Of texts that are not decimals it accepts some, too.

    Args:
        step: The step.
        places: The most digits behind the point, of which those that the step does not have are zeros.
        most: The most states; for divisors beyond int64, the most states times digits.

    Returns:
        The automaton; ``None`` if it has more states.
    """
    if states_of(step.digits) * (1 if step.digits < _LARGEST_FIXED else len(str(step.digits))) > most:
        return None
    missing, after = _remainders(step.digits)
    # Behind the point only states remain whose missing digits have room: the first ones, since few digits come first.
    alive = [bisect_left(missing, 10 ** (step.places - place + 1)) for place in range(step.places + 1)]
    alive += [1] * (places - step.places)
    first = np.cumsum([len(after), *alive]).tolist()
    if first[-1] > most:
        return None
    table = np.full((first[-1], len(SYMBOLS) + 1), -1, dtype=np.int32)
    accepting = np.zeros(first[-1], dtype=np.bool_)
    table[0, MINUS] = 0
    table[: len(after), ZERO : ZERO + 10] = after
    table[: alive[0], POINT] = np.arange(first[0], first[1])
    with_zeros = _with_zeros(after, step.places)
    accepting[: len(after)] = with_zeros[-1] == 0
    for place, count in enumerate(alive):
        block = slice(first[place], first[place + 1])
        accepting[block] = with_zeros[max(step.places - place, 0)][:count] == 0
        if place < step.places:
            targets = after[:count]
            table[block, ZERO : ZERO + 10] = np.where(targets < alive[place + 1], targets + first[place + 1], -1)
        elif place < places:
            table[block, ZERO] = first[place + 1]
    return Deterministic(table, byte_classes(), accepting)


def _with_zeros(after: NDArray[np.int32], most: int) -> list[NDArray[np.int32]]:
    """The state of each state after no zero, one zero, and so on up to ``most`` of them."""
    states = [np.arange(len(after), dtype=np.int32)]
    while len(states) <= most:
        states.append(after[states[-1], 0])
    return states


def states_of(divisor: int) -> int:
    """Count the states of the minimal automaton of multiples (Alexeev 2004).

    It reads the decimal digits of whole numbers that a divisor divides.

    >>> [states_of(divisor) for divisor in (1, 7, 60, 1000, 86_400)]
    [1, 7, 5, 4, 141]
    """
    fewest, ending, power = divisor, 0, 1
    while ending < fewest:
        fewest = min(fewest, divisor // gcd(divisor, power) + ending)
        ending += power // gcd(divisor, power)
        power *= 10
    return fewest


def _remainders(divisor: int) -> tuple[list[int], NDArray[np.int32]]:
    """The automaton of the whole numbers that a divisor divides. State 0 is the start, and accepts.

    Returns:
        What each state misses (see :func:`_missing`), ascending; the state after each digit, int32, shape [states, 10].
    """
    kind: Any = np.int64 if divisor < _LARGEST_FIXED else np.object_
    digits = np.arange(10).astype(kind)
    numbers = {1: 0}
    found = [0]  # of each state a number that leads there, or its remainder
    rows: list[list[int]] = []
    while len(rows) < len(found):
        remainders = ((np.array(found[len(rows) :], dtype=kind)[:, None] * 10 + digits) % divisor).reshape(-1)
        row = []
        for missing, remainder in zip(_missing(remainders, divisor).tolist(), remainders.tolist(), strict=True):
            number = numbers.setdefault(missing, len(numbers))
            if number == len(found):
                found.append(remainder)
            row.append(number)
        rows += [row[i : i + 10] for i in range(0, len(row), 10)]
    every_missing = list(numbers)
    order = sorted(range(len(found)), key=every_missing.__getitem__)
    rank = np.empty(len(order), dtype=np.int32)
    rank[order] = np.arange(len(order))
    return [every_missing[state] for state in order], rank[np.array(rows)][order]


def _missing(remainders: NDArray[Any], divisor: int) -> NDArray[Any]:
    """The fewest digits that make a number with each remainder a multiple: as a number, with a 1 before them.

    >>> _missing(np.array([0, 1, 20]), 25).tolist()  # 25 itself; 1 and 00; 20 and 0
    [1, 100, 10]
    """
    missing = np.zeros_like(remainders)
    power = 1
    while not missing.all():
        needed = -remainders % divisor
        missing = np.where((missing == 0) & (needed < power), needed + power, missing)
        remainders = remainders * 10 % divisor
        power *= 10
    return missing


def _power(number: int, prime: int) -> int:
    """How often a prime divides a number."""
    power = 0
    while number % prime == 0:
        number //= prime
        power += 1
    return power
