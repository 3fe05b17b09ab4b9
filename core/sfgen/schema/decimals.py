"""The decimals in an interval: an automaton that compares them with its bounds digit by digit, from the left.

A decimal has the form ``-?(0|[1-9][0-9]*)(\\.[0-9]+)?``. After each digit it is known how its digits compare with the
first digits of a bound: less, equal or more. Of the digits before the point that decides once their number is known:
more digits are a larger number. Zero has no sign.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

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


def byte_classes() -> NDArray[np.uint8]:
    """Return the class of each byte, uint8 ``[256]``; see :data:`SYMBOLS`."""
    classes = np.full(256, len(SYMBOLS), dtype=np.uint8)
    classes[np.frombuffer(SYMBOLS, dtype=np.uint8)] = np.arange(len(SYMBOLS))
    return classes


@dataclass(frozen=True)
class Interval:
    """All numbers between two bounds; ``None`` is no bound.

    Args:
        low: The lower bound.
        has_low: Whether it is itself in the interval.
        high: The upper bound.
        has_high: Whether it is itself in the interval.
    """

    low: Fraction | None = None
    has_low: bool = True
    high: Fraction | None = None
    has_high: bool = True


def decimals(interval: Interval, digits: int, places: int) -> Deterministic:
    """Build the automaton of the decimals in an interval.

    It is not minimal, and may be empty.

    Args:
        interval: The numbers.
        digits: The most digits before the point where no bound says so. An upper bound allows as many as it has, a
            lower one at least one more.
        places: The most digits behind the point; 0 for whole numbers without a point.
    """
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
    """A number of zero or more, written out.

    Args:
        whole: The digits before the point, without leading zeros.
        fraction: The digits behind it, to the last that is not zero, but no more than a decimal may have.
        is_exact: Whether these are all its digits.
        is_in: Whether the number itself is allowed.
    """

    whole: tuple[int, ...]
    fraction: tuple[int, ...]
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
        """How each digit compares with the one at a place behind the point, the first of which is number 0."""
        return _COMPARED[self.fraction[place] if place < len(self.fraction) else 0]

    def has_ended(self, place: int) -> bool:
        """Whether only zeros stand at a place behind the point and after it."""
        return self.is_exact and place >= len(self.fraction)


class _State(NamedTuple):
    """What is known of the digits that were read.

    Args:
        part: Where the next digit stands.
        read: How many digits of this part were read.
        low: How the digits compare with the first digits of the lower bound; ``_MORE`` if there is none.
        high: The same of the upper bound; ``_LESS`` if there is none.
    """

    part: int
    read: int
    low: int
    high: int


@dataclass(frozen=True)
class _Side:
    """The decimals of one sign.

    Args:
        least: The lower bound of the number without its sign.
        most: The upper bound.
        digits: The most digits before the point where neither bound says so.
        places: The most digits behind the point.
    """

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
        """The transitions of all states, and which of them accept.

        Args:
            first: Number of the state in which no digit was read.
        """
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
        """The state after each digit; ``None`` where it is refused."""
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
        """The state in which the fraction begins, or goes on; ``None`` if no decimal in the interval begins so."""
        if state.part == _FRACTION:
            return state
        # Of numbers of several lengths, the longer one is larger.
        low = _LESS if self.least and state.read < len(self.least.whole) else state.low
        high = _LESS if self.most and state.read < len(self.most.whole) else state.high
        return self._settled(0, low, high)

    def _settled(self, read: int, low: int, high: int) -> _State | None:
        """The state behind some digits of the fraction; ``None`` if no decimal in the interval begins so."""
        if low == _LESS or high == _MORE:
            return None
        if low == _EQUAL and self.least and self.least.is_in and self.least.has_ended(read):
            low = _MORE  # more digits do not make it less
        if high == _EQUAL and self.most and not self.most.is_in and self.most.has_ended(read):
            return None
        return _State(_FRACTION, read, low, high)

    def _may_end(self, state: _State) -> bool:
        """Whether a decimal in the interval may end in a state of the fraction.

        With the first digits of the lower bound it is below that, or the bound itself where that is not allowed (see
        ``_settled``). With those of the upper bound it is below that, or the bound itself where that is allowed.
        """
        return state.low == _MORE
