"""JSON numbers: the automaton of the written numbers that a schema allows.

With a range or a divisor they are decimals, by the automata of :mod:`~sfgen.schema.scalars.decimals`. All arithmetic is
exact, without floats.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cache, lru_cache
from math import ceil, floor

import numpy as np

from sfgen.automata import Dfa
from sfgen.automata.algebra import Keep, product
from sfgen.automata.determinize import Deterministic
from sfgen.automata.minimize import minimize
from sfgen.automata.sources import compile_choices
from sfgen.errors import PatternTooLarge, SchemaTooLarge
from sfgen.schema.scalars.decimals import Interval, Step, decimals, multiples, states_of

MAX_STATES = 50_000
"""The most states of the automaton of all multiples, before minimisation."""

MAX_IN_RANGE = 150_000
"""The most states of the automaton of multiples in a range, before minimisation."""

MAX_DIGITS = 1_000
"""The most digits of a bound or a divisor."""

MAX_LISTED = 20_000
"""The most texts of multiples that are listed one by one if their automaton would be too large."""

_MOST_CHARACTERS = 400_000  # of listed texts, if not all are listed

DIGITS = 40
"""The most digits before the point without a bound, unless a divisor needs more."""

FEWEST_DIGITS = 15
"""The same if a divisor has so many remainders that the automaton would be too large: the digits of a float."""

PLACES = 30
"""The most digits after the point, unless a bound needs more."""

PLACES_OF_MULTIPLES = 2
"""The same for multiples, unless a divisor needs more: 20.0 as floats are written, 1.50 as money is."""

_FEWER_DIGITS = "Use a number with fewer digits."

_LARGEST_FLOAT = Fraction(17976931348623157, 10**16)  # times ten to the power of 308


class NumberTooLarge(SchemaTooLarge):
    """A range or a divisor whose automaton passes a limit; the caller adds the pointer."""


@dataclass(frozen=True)
class NumberLimits:
    """The limits of a JSON number, exact.

    >>> limits = NumberLimits(is_integer=False, minimum=Fraction(0), multiples=(Fraction("0.01"),))
    >>> limits.accepts(Decimal("19.99")), limits.accepts(Decimal("0.001")), limits.accepts(-1)
    (True, False, False)
    """

    is_integer: bool
    minimum: Fraction | None = None
    maximum: Fraction | None = None
    exclusive_minimum: Fraction | None = None
    exclusive_maximum: Fraction | None = None
    multiples: tuple[Fraction, ...] = ()  # divisors above zero, all of which must divide it
    others: tuple[Fraction, ...] = ()  # excluded numbers
    no_multiples: tuple[Fraction, ...] = ()  # divisors above zero, none of which may divide it

    def accepts(self, value: int | Decimal) -> bool:
        """Return whether a value is valid; 1.0 is a whole number."""
        value = Decimal(value)
        return (
            value.is_finite()
            and (self.minimum is None or value >= self.minimum)
            and (self.maximum is None or value <= self.maximum)
            and (self.exclusive_minimum is None or value > self.exclusive_minimum)
            and (self.exclusive_maximum is None or value < self.exclusive_maximum)
            and (not self.is_integer or _divides(Fraction(1), value))
            and all(_divides(divisor, value) for divisor in self.multiples)
            and value not in self.others
            and not any(_divides(divisor, value) for divisor in self.no_multiples)
        )

    @property
    def interval(self) -> Interval:
        """The interval of the stricter lower and the stricter upper bound."""
        low, has_low = self.minimum, True
        if self.exclusive_minimum is not None and (low is None or self.exclusive_minimum >= low):
            low, has_low = self.exclusive_minimum, False
        high, has_high = self.maximum, True
        if self.exclusive_maximum is not None and (high is None or self.exclusive_maximum <= high):
            high, has_high = self.exclusive_maximum, False
        return Interval(low, has_low, high, has_high)

    @property
    def step(self) -> Step | None:
        """The distance between multiples; ``None`` if there are no divisors."""
        if not self.multiples:
            return None
        return Step.of((*self.multiples, Fraction(1)) if self.is_integer else self.multiples)


def _divides(divisor: Fraction, value: Decimal) -> bool:
    """Return whether a value is a multiple of a number above 0, fast for large exponents."""
    _, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)  # the value is finite
    zeros = next((place for place, digit in enumerate(reversed(digits)) if digit), 0)
    whole, exponent = int(Decimal((0, digits[: len(digits) - zeros], 0))), exponent + zeros
    if whole and exponent < 0:
        # Its last digit is not zero, so it has -exponent places; a multiple has at most as many as the divisor.
        return -exponent <= divisor.denominator.bit_length() and (whole / (divisor * 10**-exponent)).denominator == 1
    return whole * divisor.denominator * pow(10, max(exponent, 0), divisor.numerator) % divisor.numerator == 0


def number_automaton(limits: NumberLimits) -> Dfa:
    """Build the minimal automaton of the allowed numbers in written form.

    It may be empty. Whole numbers have no point and no exponent. Other numbers may have a point; without a range and a
    divisor they may also have an exponent, and zero a sign. There are no leading zeros; a fraction may have trailing
    ones.

    >>> prices = number_automaton(NumberLimits(False, minimum=Fraction(0), multiples=(Fraction("0.01"),)))
    >>> [prices.accepts(text) for text in ("19.99", "20", "20.0", "0.999", "-1", "1e2")]
    [True, True, True, False, False, False]
    """
    return _numbers_of(limits)[0]


def has_all_multiples(limits: NumberLimits) -> bool:
    """Return whether the automaton has all multiples or non-multiples; if not, it has those nearest to zero.

    >>> has_all_multiples(NumberLimits(True, multiples=(Fraction(60),)))
    True
    """
    return not (limits.multiples or limits.no_multiples) or _numbers_of(limits)[1]


@lru_cache
def _numbers_of(limits: NumberLimits) -> tuple[Dfa, bool]:
    """Return the automaton of the allowed numbers, and whether it has all multiples or non-multiples."""
    _check_sizes(limits)
    interval, step = limits.interval, limits.step
    if limits == NumberLimits(False):
        return _any_number(), True
    places, digits = 0 if limits.is_integer else _places(interval, step), _digits(step)
    in_range, has_all = minimize(decimals(interval, digits, places)), True
    if step is not None:
        dividing, has_all = _multiples_in_range(in_range, interval, step, places)
        in_range = minimize(dividing)
    found = Dfa(*in_range)
    for number in limits.others:
        found -= Dfa(*minimize(decimals(Interval(number, True, number, True), digits, places)))
    for divisor in limits.no_multiples:
        common = (*limits.multiples, Fraction(1)) if limits.is_integer else limits.multiples  # divide all numbers here
        steps = Step.of([divisor]), Step.of([divisor, *common])
        found, is_whole = _without_multiples(found, interval, steps, (digits, places))
        has_all &= is_whole
    return found, has_all


def _digits(step: Step | None) -> int:
    """Return the most digits before the point without a bound; fewer for divisors with many remainders."""
    if step is None:
        return DIGITS
    room = MAX_STATES // 2 // states_of(step.digits)  # the other half is for the bounds
    return max(min(DIGITS, room), FEWEST_DIGITS, len(str(floor(step.value))) + 1)


def _places(interval: Interval, step: Step | None) -> int:
    """Return the most digits after the point."""
    if step:
        return max(PLACES_OF_MULTIPLES, step.places)
    # One more than a bound has, so that there are numbers between any two bounds.
    return max([PLACES, *(Step.of([abs(bound)]).places + 1 for bound in (interval.low, interval.high) if bound)])


def _check_sizes(limits: NumberLimits) -> None:
    """Refuse numbers with too many digits."""
    for keyword, number in _numbers(limits):
        if max(abs(number.numerator), number.denominator) >= 10**MAX_DIGITS:
            raise NumberTooLarge(f"{keyword} has more digits than the limit of {MAX_DIGITS:,}", hint=_FEWER_DIGITS)
    if limits.step and limits.step.digits >= 10**MAX_DIGITS:
        raise NumberTooLarge(
            f"the common multiple of multipleOf has more digits than the limit of {MAX_DIGITS:,}",
            hint=_FEWER_DIGITS,
        )


def _numbers(limits: NumberLimits) -> Iterator[tuple[str, Fraction]]:
    """Yield the numbers of a schema, each with its keyword."""
    bounds = {
        "minimum": limits.minimum,
        "maximum": limits.maximum,
        "exclusiveMinimum": limits.exclusive_minimum,
        "exclusiveMaximum": limits.exclusive_maximum,
    }
    yield from ((keyword, bound) for keyword, bound in bounds.items() if bound is not None)
    yield from (("multipleOf", divisor) for divisor in (*limits.multiples, *limits.no_multiples))
    yield from (("const", number) for number in limits.others)


def _without_multiples(
    numbers: Dfa, interval: Interval, steps: tuple[Step, Step], size: tuple[int, int]
) -> tuple[Dfa, bool]:
    """Return the decimals of an automaton that are not multiples of a step, and whether these are all of them.

    The second step is that of the decimals to remove: multiples of the first and of all other divisors. ``size`` is the
    digits and places.
    """
    step, places = steps[1], size[1]
    dividing = multiples(steps[0], places, MAX_STATES)
    if dividing is not None:
        with suppress(PatternTooLarge):
            return numbers - Dfa(*minimize(dividing)), True
    listed, has_all = _listed(interval, step, places)
    texts = [text for number in listed for text in _decimals_of(number * step.digits, step.places, places)]
    if not has_all:  # exclude all numbers beyond the listed multiples
        within = Interval((listed[0] - 1) * step.value, False, (listed[-1] + 1) * step.value, False)
        numbers &= Dfa(*minimize(decimals(within, *size)))
    return (numbers - Dfa.from_choices(texts) if texts else numbers), has_all


def _multiples_in_range(
    in_range: Deterministic, interval: Interval, step: Step, places: int
) -> tuple[Deterministic, bool]:
    """Return the decimals of an automaton that are multiples of a step, and whether these are all of them."""
    dividing = multiples(step, places, MAX_STATES)
    if dividing is not None:
        try:
            both = product(in_range, dividing, Keep.BOTH, "")
        except PatternTooLarge:
            pass
        else:
            if len(both.accepting) <= MAX_IN_RANGE:
                return both, True
    listed, has_all = _listed(interval, step, places)
    texts = [text for number in listed for text in _decimals_of(number * step.digits, step.places, places)]
    if not texts:
        return Deterministic(np.full((1, 1), -1, np.int32), np.zeros(256, np.uint8), np.zeros(1, np.bool_)), True
    return product(in_range, compile_choices(texts), Keep.BOTH, ""), has_all


def _listed(interval: Interval, step: Step, places: int) -> tuple[range, bool]:
    """Return the factors of a step whose multiples are in an interval, or those nearest to zero; and whether all."""
    first = None if interval.low is None else ceil(interval.low / step.value)
    last = None if interval.high is None else floor(interval.high / step.value)
    if first is not None and last is not None and (last - first + 1) * (places + 1) <= MAX_LISTED:
        return range(first, last + 1), True
    nearest = max(0 if first is None else first, 0) or min(0 if last is None else last, 0)
    length = len(str(abs(nearest) * step.digits)) + len(str(step.digits)) + places
    count = max(1, min(MAX_LISTED, _MOST_CHARACTERS // length) // (2 * (places + 1)))
    begin, end = nearest - count, nearest + count
    return range(begin if first is None else max(begin, first), 1 + (end if last is None else min(end, last))), False


def _decimals_of(number: int, shift: int, places: int) -> Iterator[str]:
    """Yield the decimals of ``number / 10**shift``, with more and more trailing zeros.

    >>> list(_decimals_of(-1500, 3, 2)), list(_decimals_of(5, 2, 2))
    (['-1.5', '-1.50'], ['0.05'])
    """
    digits = f"{abs(number):0{shift + 1}}"
    whole, fraction = digits[: len(digits) - shift], digits[len(digits) - shift :].rstrip("0")
    for count in range(len(fraction), places + 1):
        yield ("-" if number < 0 else "") + whole + ("." + fraction.ljust(count, "0") if count else "")


def spelled(value: Decimal, places: int = PLACES_OF_MULTIPLES) -> str:
    """Write a pattern of the spellings of a number, with trailing zeros up to some places.

    >>> spelled(Decimal("1.5")), spelled(Decimal(-20)), spelled(Decimal("1e3"))
    ('1\\\\.5(0{0,2})', '-20(\\\\.0{1,2})?', '1000(\\\\.0{1,2})?')
    """
    if not value:
        value = Decimal(0)  # without a sign
    whole, _, fraction = f"{value:f}".partition(".")
    fraction = fraction.rstrip("0")
    return f"{whole}\\.{fraction}(0{{0,{places}}})" if fraction else f"{whole}(\\.0{{1,{places}}})?"


@cache
def _any_number() -> Dfa:
    """Build the automaton of numbers without limits, none of which exceeds the largest float."""
    fraction = f"([.][0-9]{{1,{PLACES}}})?"
    plain = Dfa.from_regex(f"-?(0|[1-9][0-9]{{0,{DIGITS - 1}}}){fraction}")
    below = "[+]?([0-2]?[0-9]{1,2}|30[0-7])|-([0-2]?[0-9]{1,2}|3[01][0-9]|32[0-4])"
    scientific = Dfa.from_regex(f"-?[1-9]{fraction}[eE]({below})")
    first_digits = Dfa(*minimize(decimals(Interval(Fraction(1), True, _LARGEST_FLOAT, True), 1, PLACES)))
    return plain | scientific | (Dfa.from_regex("-?") + first_digits + Dfa.from_regex("[eE][+]?308"))
