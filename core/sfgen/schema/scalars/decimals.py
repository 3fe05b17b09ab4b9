"""Automata of decimals: those in an interval, and those that are multiples of a number.

A decimal has the form ``-?(0|[1-9][0-9]*)(\\.[0-9]+)?``. It is compared with the bounds of an interval digit by digit,
from the left: less, equal or more. For the digits before the point the comparison counts only once their number is
known, since more digits are a larger number. Zero has no sign.

The multiples of 0.25 are the decimals whose digits, with two places after the point, are a multiple of 25. Two
remainders are the same state if the same digits complete both to a multiple (Nerode, 1958), so a state is identified by
the shortest such completion, and the smallest of that length. A divisor with many factors two and five needs few states
(Alexeev, 2004): 86,400 has 141 states and not 86,400.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import gcd, lcm
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfgen.automata.determinize import Deterministic

SYMBOLS = b"-.0123456789"
"""The bytes of a decimal. The class of each is its index here; all other bytes are the last class."""

MINUS, POINT, ZERO = 0, 1, 2
"""Classes of bytes; the class of a digit is ``ZERO`` plus the digit."""

_LESS, _EQUAL, _MORE = -1, 0, 1
_NONE = -1  # no transition
_WIDTH = len(SYMBOLS) + 1

_WHOLE, _ONLY_ZERO, _FRACTION = 0, 1, 2
"""The position of the next digit: before the point; after the point, which a leading zero requires; after the point."""

_COMPARED = [[_LESS] * digit + [_EQUAL] + [_MORE] * (9 - digit) for digit in range(10)]
"""For each digit of a bound, the results of comparing the ten digits with it."""

_LARGEST_FIXED = 10**17  # ten times this, plus nine, fits into int64


def byte_classes() -> NDArray[np.uint8]:
    """Return the class of each byte, uint8 ``[256]``; see :data:`SYMBOLS`."""
    classes = np.full(256, len(SYMBOLS), dtype=np.uint8)
    classes[np.frombuffer(SYMBOLS, dtype=np.uint8)] = np.arange(len(SYMBOLS))
    return classes


@dataclass(frozen=True)
class Interval:
    """All numbers between two bounds; ``None`` is no bound."""

    low: Fraction | None = None
    has_low: bool = True
    high: Fraction | None = None
    has_high: bool = True


def decimals(interval: Interval, digits: int, places: int) -> Deterministic:
    """Build the automaton of the decimals in an interval."""
    # It is not minimal, and may be empty.
    low, high = interval.low, interval.high
    rows, accepting = [[_NONE] * _WIDTH], [False]
    if high is None or high >= 0:
        least = None if low is None or low < 0 else _Bound.of(low, interval.has_low, places)
        most = None if high is None else _Bound.of(high, interval.has_high, places)
        rows, accepting = _Side(least, most, digits, places).table(0)
    if low is None or low < 0:
        # After the sign comes the absolute value, which is above zero, as zero has no sign.
        least = _Bound.of(Fraction(0), False, places)
        if high is not None and high < 0:
            least = _Bound.of(-high, interval.has_high, places)
        most = None if low is None else _Bound.of(-low, interval.has_low, places)
        rows[0][MINUS] = len(rows)
        more_rows, more_accepting = _Side(least, most, digits, places).table(len(rows))
        rows += more_rows
        accepting += more_accepting
    return Deterministic(np.array(rows, dtype=np.int32), byte_classes(), np.array(accepting, dtype=np.bool_))


@dataclass(frozen=True)
class _Bound:
    """The digits of a bound of zero or more."""

    whole: tuple[int, ...]  # the digits before the point, without leading zeros
    fraction: tuple[int, ...]  # the digits after it, to the last that is not zero, but at most the places of a decimal
    is_exact: bool  # whether the fraction has all digits of the bound
    is_in: bool  # whether the bound itself is in the interval

    @classmethod
    def of(cls, number: Fraction, is_in: bool, places: int) -> _Bound:
        """Make the bound of a number, with at most ``places`` digits after the point."""
        whole, rest = divmod(number.numerator, number.denominator)
        fraction: list[int] = []
        while rest and len(fraction) < places:
            digit, rest = divmod(10 * rest, number.denominator)
            fraction.append(digit)
        return cls(tuple(map(int, str(whole))), tuple(fraction), not rest, is_in)

    def compared(self, place: int) -> list[int]:
        """Compare the ten digits with the digit at a place after the point, from 0."""
        return _COMPARED[self.fraction[place] if place < len(self.fraction) else 0]

    def has_ended(self, place: int) -> bool:
        """Return whether all digits from a place after the point on are zeros."""
        return self.is_exact and place >= len(self.fraction)


class _State(NamedTuple):
    """The comparison of the digits read so far with both bounds."""

    part: int
    read: int
    low: int  # the comparison with the first digits of the lower bound; ``_MORE`` if there is none
    high: int  # the comparison with the first digits of the upper bound; ``_LESS`` if there is none


@dataclass(frozen=True)
class _Side:
    """The decimals of one sign."""

    least: _Bound | None
    most: _Bound | None
    digits: int
    places: int

    @cached_property
    def length(self) -> int:
        """The most digits before the point."""
        if self.most:
            return len(self.most.whole)
        return max(self.digits, len(self.least.whole) + 1) if self.least else self.digits

    def table(self, first: int) -> tuple[list[list[int]], list[bool]]:
        """Return the transitions of all states, and whether each accepts."""
        start = _State(_WHOLE, 0, _EQUAL if self.least else _MORE, _EQUAL if self.most else _LESS)
        numbers = {start: first}
        rows, accepting = [], []
        for state in (queue := [start]):
            fraction = self._fraction(state) if state != start else None
            accepting.append(state.read > 0 and fraction is not None and self._may_end(fraction))
            point = fraction if state.part != _FRACTION and self.places else None
            row = [_NONE] * _WIDTH
            for label, target in enumerate([point, *self._digits(state)], POINT):
                if target is not None:
                    if target not in numbers:
                        numbers[target] = first + len(numbers)
                        queue.append(target)
                    row[label] = numbers[target]
            rows.append(row)
        return rows, accepting

    def _digits(self, state: _State) -> list[_State | None]:
        """Return the state after each digit; ``None`` if the digit is refused."""
        part, read, low, high = state
        if part == _FRACTION:
            if read == self.places:
                return []
            lows = self.least.compared(read) if self.least and low == _EQUAL else [low] * 10
            highs = self.most.compared(read) if self.most and high == _EQUAL else [high] * 10
            return [self._settled(read + 1, *compared) for compared in zip(lows, highs, strict=True)]
        if part == _ONLY_ZERO or read == self.length:
            return []
        lows, highs = [low] * 10, [high] * 10
        if self.least and read >= len(self.least.whole):
            lows = [_MORE] * 10
        elif self.least and low == _EQUAL:
            lows = _COMPARED[self.least.whole[read]]
        if self.most and high == _EQUAL:
            highs = _COMPARED[self.most.whole[read]]
        parts = [_WHOLE if read else _ONLY_ZERO] + [_WHOLE] * 9
        return [_State(part, read + 1, low, high) for part, low, high in zip(parts, lows, highs, strict=True)]

    def _fraction(self, state: _State) -> _State | None:
        """Return the state at the point; ``None`` if no decimal in the interval has these digits before it."""
        if state.part == _FRACTION:
            return state
        # A number with fewer digits than the lower bound is smaller.
        low = _LESS if self.least and state.read < len(self.least.whole) else state.low
        high = _LESS if self.most and state.read < len(self.most.whole) else state.high
        return self._settled(0, low, high)

    def _settled(self, read: int, low: int, high: int) -> _State | None:
        """Return the state after some digits of the fraction; ``None`` if no decimal in the interval has them."""
        if low == _LESS or high == _MORE:
            return None
        if low == _EQUAL and self.least and self.least.is_in and self.least.has_ended(read):
            low = _MORE  # more digits do not make it smaller
        if high == _EQUAL and self.most and not self.most.is_in and self.most.has_ended(read):
            return None
        return _State(_FRACTION, read, low, high)

    def _may_end(self, state: _State) -> bool:
        """Return whether a decimal may end in a state of the fraction."""
        # If it equals the digits of the lower bound so far, it is below the bound, or the bound itself where that is
        # excluded (see ``_settled``). If it equals those of the upper bound, it is below it, or an allowed bound.
        return state.low == _MORE


# ---- multiples -------------------------------------------------------------------------------------------------------


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
        """Find the step of the decimals that are multiples of all of some numbers above zero."""
        numerator, denominator = 1, 0
        for divisor in divisors:
            numerator, denominator = lcm(numerator, divisor.numerator), gcd(denominator, divisor.denominator)
        # The denominator of a decimal is a product of twos and fives.
        twos, fives = _power(denominator, 2), _power(denominator, 5)
        places = max(twos, fives)
        return cls(numerator * 2 ** (places - twos) * 5 ** (places - fives), places)

    @property
    def value(self) -> Fraction:
        """The step as a fraction."""
        return Fraction(self.digits, 10**self.places)


def multiples(step: Step, places: int, most: int) -> Deterministic | None:
    """Build the automaton of multiples of a step, to intersect with decimals; ``None`` above ``most`` states."""
    # It is not minimal, and accepts some texts that are not decimals.
    if states_of(step.digits) * (1 if step.digits < _LARGEST_FIXED else len(str(step.digits))) > most:
        return None
    missing, after = _remainders(step.digits)
    # After the point only states remain whose completions fit into the places left: the first ones, as states are
    # sorted by the length of their completion.
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
    """Return the state after 0, 1, … ``most`` zeros, for each state."""
    states = [np.arange(len(after), dtype=np.int32)]
    while len(states) <= most:
        states.append(after[states[-1], 0])
    return states


def states_of(divisor: int) -> int:
    """Count the states of the minimal automaton of the multiples of a whole number (Alexeev 2004).

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
    """Build the automaton of the multiples of a whole number; state 0 is the start, and accepts."""
    # Returned: the completion of each state (see ``_missing``), ascending; the state after each digit, int32
    # [states, 10].
    kind: Any = np.int64 if divisor < _LARGEST_FIXED else np.object_
    digits = np.arange(10).astype(kind)
    numbers = {1: 0}
    found = [0]  # for each state a remainder
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
    """Find the shortest sequence of digits that completes each remainder to a multiple, as a number with a 1 before.

    >>> _missing(np.array([0, 1, 20]), 25).tolist()  # 0 needs no digits, 1 needs 00, 20 needs 0
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
    """Return the exponent of a prime in a number."""
    power = 0
    while number % prime == 0:
        number //= prime
        power += 1
    return power
