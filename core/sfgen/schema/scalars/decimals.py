"""Automata of decimals: those in an interval, and those that are multiples of a number.

A decimal has the form ``-?(0|[1-9][0-9]*)(\\.[0-9]+)?``. It is compared with the bounds of an interval digit by digit,
from the left: less, equal or more. Of the digits before the point that decides once their number is known: more digits
are a larger number. Zero has no sign.

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
from functools import cached_property
from math import gcd, lcm
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfgen.automata.determinize import Deterministic

SYMBOLS = b"-.0123456789"
"""The bytes of a decimal. The class of each is its place here; all other bytes are one class behind them."""

MINUS, POINT, ZERO = 0, 1, 2
"""Classes of bytes; that of a digit is ``ZERO`` and the digit."""

_LESS, _EQUAL, _MORE = -1, 0, 1
_NONE = -1  # no transition
_WIDTH = len(SYMBOLS) + 1

_WHOLE, _ONLY_ZERO, _FRACTION = 0, 1, 2
"""Where the next digit stands: before the point; only behind it, since a zero begins the number; behind it."""

_COMPARED = [[_LESS] * digit + [_EQUAL] + [_MORE] * (9 - digit) for digit in range(10)]
"""How each digit compares with a digit."""

_LARGEST_FIXED = 10**17  # ten times it, and nine more, is an int64


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
        # Behind the sign stands how far the number is below zero, which itself has no sign.
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
    """A number of zero or more, written out."""

    whole: tuple[int, ...]  # the digits before the point, without leading zeros
    fraction: tuple[int, ...]  # the digits behind it, to the last that is not zero, but no more than a decimal may have
    is_exact: bool
    is_in: bool

    @classmethod
    def of(cls, number: Fraction, is_in: bool, places: int) -> _Bound:
        """Write a number out, with at most this number of places."""
        whole, rest = divmod(number.numerator, number.denominator)
        fraction: list[int] = []
        while rest and len(fraction) < places:
            digit, rest = divmod(10 * rest, number.denominator)
            fraction.append(digit)
        return cls(tuple(map(int, str(whole))), tuple(fraction), not rest, is_in)

    def compared(self, place: int) -> list[int]:
        """Compare each digit with the one at a place behind the point, from 0."""
        return _COMPARED[self.fraction[place] if place < len(self.fraction) else 0]

    def has_ended(self, place: int) -> bool:
        """Tell whether only zeros stand at a place behind the point and after it."""
        return self.is_exact and place >= len(self.fraction)


class _State(NamedTuple):
    """The comparison of the digits read so far with both bounds."""

    part: int
    read: int
    low: int  # how the digits compare with the first digits of the lower bound; ``_MORE`` if there is none
    high: int  # the same of the upper bound; ``_LESS`` if there is none


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
        """Return the transitions of all states, and which of them accept."""
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
        """Return the state after each digit; ``None`` where it is refused."""
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
        """Return the state in which the fraction begins; ``None`` if no decimal in the interval does so."""
        if state.part == _FRACTION:
            return state
        # Of numbers of several lengths, the longer one is larger.
        low = _LESS if self.least and state.read < len(self.least.whole) else state.low
        high = _LESS if self.most and state.read < len(self.most.whole) else state.high
        return self._settled(0, low, high)

    def _settled(self, read: int, low: int, high: int) -> _State | None:
        """Return the state behind some digits of the fraction; ``None`` if no decimal has them."""
        if low == _LESS or high == _MORE:
            return None
        if low == _EQUAL and self.least and self.least.is_in and self.least.has_ended(read):
            low = _MORE  # more digits do not make it less
        if high == _EQUAL and self.most and not self.most.is_in and self.most.has_ended(read):
            return None
        return _State(_FRACTION, read, low, high)

    def _may_end(self, state: _State) -> bool:
        """Tell whether a decimal in the interval may end in a state of the fraction."""
        # With the first digits of the lower bound it is below that, or the bound itself where that is not allowed (see
        # ``_settled``). With those of the upper bound it is below that, or the bound itself where that is allowed.
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
        """Find the step of the common multiples of some numbers."""
        # The multiples are decimals; the numbers are at least one, and all above zero.
        numerator, denominator = 1, 0
        for divisor in divisors:
            numerator, denominator = lcm(numerator, divisor.numerator), gcd(denominator, divisor.denominator)
        # Decimals have no other denominators than products of twos and fives.
        twos, fives = _power(denominator, 2), _power(denominator, 5)
        places = max(twos, fives)
        return cls(numerator * 2 ** (places - twos) * 5 ** (places - fives), places)

    @property
    def value(self) -> Fraction:
        """The step as a fraction."""
        return Fraction(self.digits, 10**self.places)


def multiples(step: Step, places: int, most: int) -> Deterministic | None:
    """Build the automaton that tells multiples of a step from other decimals."""
    # It is not minimal. Of texts that are not decimals it accepts some, too.
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
    """Return the state after 0, 1, … ``most`` zeros, for each state."""
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
    """Build the automaton of the whole numbers that a divisor divides; state 0 is the start, and accepts."""
    # Returned: what each state misses (see ``_missing``), ascending; the state after each digit, int32 [states, 10].
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
    """Find the fewest digits that complete each remainder to a multiple, as numbers with a 1 before.

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
    """Tell how often a prime divides a number."""
    power = 0
    while number % prime == 0:
        number //= prime
        power += 1
    return power
