from __future__ import annotations

import itertools
import json
import math
import random
import re
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from tests.support.running.tried import tried

from sfgen import JsonSchema
from sfgen.automata import Dfa
from sfgen.automata.determinize import Deterministic
from sfgen.automata.examples import examples
from sfgen.automata.minimize import minimize
from sfgen.errors import SchemaTooLarge
from sfgen.schema.scalars.decimals import Interval, Step, decimals, multiples, states_of
from sfgen.schema.scalars.numbers import (
    MAX_LISTED,
    MAX_STATES,
    NumberLimits,
    NumberTooLarge,
    _numbers_of,
    has_all_multiples,
    number_automaton,
)

# ---- the oracle ------------------------------------------------------------------------------------------------------

SCIENTIFIC = re.compile(r"-?[1-9](\.[0-9]{1,30})?[eE][+-]?[0-9]{1,3}")
DECIMAL = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?")


def is_written(limits: NumberLimits, text: str) -> bool:
    """Whether a text has the form that is written under limits, whatever its value."""
    low = [bound for bound in (limits.minimum, limits.exclusive_minimum) if bound is not None]
    high = [bound for bound in (limits.maximum, limits.exclusive_maximum) if bound is not None]
    is_free = not (limits.is_integer or low or high or limits.multiples)
    if is_free and SCIENTIFIC.fullmatch(text):
        exponent = int(re.split("[eE]", text)[1])
        return (
            -324 <= exponent <= 308 and math.isfinite(float(text)) and abs(Decimal(text)) <= Decimal(2**1024 - 2**971)
        )
    if not DECIMAL.fullmatch(text):
        return False
    whole, _, fraction = text.removeprefix("-").partition(".")
    if limits.is_integer and "." in text:
        return False
    if not is_free and text.startswith("-") and not Decimal(text):
        return False
    if limits.multiples:
        common = common_multiple((*limits.multiples, *([Fraction(1)] if limits.is_integer else [])))
        most = max(2, next(places for places in itertools.count() if 10**places * common % 1 == 0))
    else:
        most = 30
    return len(fraction) <= most and (bool(low if text.startswith("-") else high) or len(whole) <= 40)


@cache
def common_multiple(divisors: tuple[Fraction, ...]) -> Fraction:
    """The least number whose multiples are the decimals that all divisors divide."""
    common = math.prod(divisor.denominator for divisor in divisors)
    step = Fraction(math.lcm(*(int(divisor * common) for divisor in divisors)), common)
    while step.denominator != math.gcd(step.denominator, 10**100):
        step *= step.denominator // math.gcd(step.denominator, 10**100)
    return step


def is_valid(limits: NumberLimits, value: Fraction) -> bool:
    return (
        (not limits.is_integer or value.denominator == 1)
        and (limits.minimum is None or value >= limits.minimum)
        and (limits.maximum is None or value <= limits.maximum)
        and (limits.exclusive_minimum is None or value > limits.exclusive_minimum)
        and (limits.exclusive_maximum is None or value < limits.exclusive_maximum)
        and all((value / divisor).denominator == 1 for divisor in limits.multiples)
    )


def is_expected(limits: NumberLimits, text: str) -> bool:
    return is_written(limits, text) and is_valid(limits, _number(text))


_number = cache(Fraction)


# ---- random limits, and texts near them ------------------------------------------------------------------------------


def tenths(most_digits: int, most_places: int) -> st.SearchStrategy[Fraction]:
    """Numbers of zero or more with few digits."""
    return st.builds(
        lambda digits, places: Fraction(digits, 10**places),
        st.integers(0, 10**most_digits),
        st.integers(0, most_places),
    )


bounds = st.one_of(
    st.none(),
    st.integers(-20, 20).map(Fraction),
    st.builds(lambda number, sign: number * sign, tenths(4, 4), st.sampled_from([1, -1])),
    st.builds(lambda number, sign: number * sign, tenths(25, 12), st.sampled_from([1, -1])),
)
divisors = st.one_of(
    st.sampled_from(["0.01", "0.1", "0.5", "0.25", "1.5", "0.05", "2.5", "60", "1000", "0.001"]).map(Fraction),
    st.integers(1, 50).map(Fraction),
    tenths(2, 3).filter(bool),
)


# So few remainders that multiples may have 40 digits.
few_divisors = (
    st.lists(divisors, max_size=2).map(tuple).filter(lambda few: not few or states_of(Step.of(few).digits) < 600)
)


@st.composite
def any_limits(draw: st.DrawFn) -> NumberLimits:
    low, high = draw(bounds), draw(bounds)
    if low is not None and high is not None and low > high and draw(st.integers(0, 9)):
        low, high = high, low  # contradictions now and then
    return NumberLimits(
        draw(st.booleans()),
        minimum=low if (low_kind := draw(st.integers(0, 3))) else None,
        maximum=high if (high_kind := draw(st.integers(0, 3))) else None,
        exclusive_minimum=low if low_kind == 0 else draw(bounds) if low_kind == 1 else None,
        exclusive_maximum=high if high_kind == 0 else draw(bounds) if high_kind == 1 else None,
        multiples=draw(few_divisors) if draw(st.booleans()) else (),
    )


def decimal_text(number: Fraction, places: int) -> str:
    """A number cut off after some places, with a sign even if zero remains."""
    digits = f"{abs(number) * 10**places // 1:0{places + 1}}"
    text = digits[: len(digits) - places] + ("." + digits[len(digits) - places :] if places else "")
    return "-" + text if number < 0 else text


@st.composite
def limits_and_texts(draw: st.DrawFn) -> tuple[NumberLimits, list[str]]:
    """Limits, and texts near the bounds, of multiples near them, of any form, and changed by a character."""
    limits = draw(any_limits())
    random_ = draw(st.randoms(use_true_random=False))
    given_bounds = [limits.minimum, limits.maximum, limits.exclusive_minimum, limits.exclusive_maximum]
    centres = [bound for bound in given_bounds if bound is not None] or [Fraction(0)]
    if limits.multiples:
        step = common_multiple(limits.multiples)
        centres = [centre // step * step + random_.randint(-2, 2) * step for centre in centres]
        centres += [random_.randint(-200, 200) * step]
    texts = []
    for _ in range(40):
        centre = random_.choice(centres)
        nudge = Fraction(random_.choice([0, 0, 0, 1, -1, random_.randint(-99, 99)]), 10 ** random_.randint(0, 32))
        text = decimal_text(centre + nudge, random_.choice([0, 0, 1, 2, 3, 6, 12, 29, 30, 31]))
        if random_.random() < 0.3:
            place = random_.randrange(len(text) + 1)
            text = text[:place] + random_.choice("-0123456789.eE+") + text[place + random_.randint(0, 1) :]
        texts.append(text)
    texts += [
        "0",
        "-0",
        "0.0",
        "-0.0",
        "",
        "-",
        ".",
        "0.",
        "00",
        "1e5",
        "1E-07",
        "9" * 40,
        "9" * 41,
        "-1" + "0" * 39,
        "-1" + "0" * 40,
    ]
    return limits, texts


def automaton(limits: NumberLimits) -> Dfa:
    """The automaton, made anew."""
    return _numbers_of.__wrapped__(limits)[0]


@tried("many")
@given(limits_and_texts())
def test_a_text_is_accepted_if_it_is_written_so_and_its_value_is_valid(case: tuple[NumberLimits, list[str]]) -> None:
    limits, texts = case
    dfa = automaton(limits)
    assert [text for text in texts if dfa.accepts(text)] == [text for text in texts if is_expected(limits, text)]


@given(any_limits())
def test_all_that_an_automaton_enumerates_is_expected(limits: NumberLimits) -> None:
    texts = examples(automaton(limits), 60)
    assert [text for text in texts if not is_expected(limits, text)] == []


@given(any_limits(), st.integers(0, 2**32))
def test_random_walks_are_expected_and_every_automaton_is_minimal(limits: NumberLimits, seed: int) -> None:
    dfa = automaton(limits)
    assert dfa.is_empty == (dfa.transitions.max() < 0)
    again = minimize(Deterministic(dfa.transitions, dfa.byte_classes, dfa.accepting))
    assert np.array_equal(again.transitions, dfa.transitions)
    assert np.array_equal(again.byte_classes, dfa.byte_classes)
    for text in walks(dfa, random.Random(seed), 0 if dfa.is_empty else 20):
        assert is_expected(limits, text)


def walks(dfa: Dfa, random_: random.Random, count: int) -> list[str]:
    """Texts of random lengths, each byte as likely as the others."""
    texts = []
    for _ in range(count):
        text, state = bytearray(), 0
        while not (dfa.accepting[state] and random_.random() < 0.1):
            bytes_ = [byte for byte in range(256) if dfa.step(state, byte) >= 0]
            if not bytes_:
                break
            text.append(random_.choice(bytes_))
            state = dfa.step(state, text[-1])
        texts.append(text.decode())
    return texts


# ---- all short texts -------------------------------------------------------------------------------------------------

SHORT = 5
ALL_SHORT = [
    text
    for length in range(1, SHORT)
    for letters in itertools.product("-0123456789.eE+", repeat=length)
    if re.fullmatch(r"-?[0-9][-0-9.eE+]*", text := "".join(letters)) and re.fullmatch(r"[^.]*\.?[^.]*", text)
]


def short_texts(dfa: Dfa) -> set[str]:
    """All texts that an automaton accepts of fewer bytes than ``SHORT``, whatever the bytes."""
    texts = set()
    queue = [(b"", 0)]
    for text, state in queue:
        if dfa.accepting[state]:
            texts.add(text.decode())
        if len(text) < SHORT - 1:
            queue += [(text + bytes([byte]), target) for byte in range(256) if (target := dfa.step(state, byte)) >= 0]
    return texts


def limits_of(**keywords: Any) -> NumberLimits:
    """Limits from texts of numbers."""
    is_integer = keywords.pop("type", "number") == "integer"
    divisors = tuple(Fraction(text) for text in keywords.pop("multiples", "").split())
    contraries = tuple(Fraction(text) for text in keywords.pop("no_multiples", "").split())
    bounds: dict[str, Any] = {name: Fraction(text) for name, text in keywords.items()}
    return NumberLimits(is_integer, **bounds, multiples=divisors, no_multiples=contraries)


@pytest.mark.parametrize(
    "limits",
    [
        limits_of(),
        limits_of(type="integer"),
        limits_of(minimum="0"),
        limits_of(exclusive_minimum="0"),
        limits_of(maximum="0"),
        limits_of(exclusive_maximum="0"),
        limits_of(minimum="0.1", maximum="99.95"),
        limits_of(minimum="-1.5", exclusive_maximum="-0.25"),
        limits_of(exclusive_minimum="-10", exclusive_maximum="10"),
        limits_of(minimum="12.5", maximum="12.5"),
        limits_of(minimum="0", maximum="0"),
        limits_of(minimum="-3", maximum="7.25", multiples="0.5"),
        limits_of(multiples="0.01"),
        limits_of(multiples="0.3 0.2"),
        limits_of(multiples="7"),
        limits_of(maximum="-2", multiples="1.5"),
        limits_of(type="integer", multiples="0.1"),
        limits_of(type="integer", multiples="1.5"),
        limits_of(type="integer", minimum="-12", maximum="99", multiples="7"),
        limits_of(type="integer", exclusive_minimum="0.5", exclusive_maximum="100"),
        limits_of(type="integer", minimum="5", exclusive_minimum="5", maximum="8", exclusive_maximum="9"),
    ],
    ids=str,
)
def test_all_short_texts(limits: NumberLimits) -> None:
    assert short_texts(automaton(limits)) == {text for text in ALL_SHORT if is_expected(limits, text)}


# ---- what json.dumps writes ------------------------------------------------------------------------------------------


@tried("many")
@given(st.floats(allow_nan=False, allow_infinity=False))
@example(1e-07)
@example(5e-324)
@example(1.7976931348623157e308)
@example(-1.7976931348623157e308)
@example(1e22)
@example(-0.0)
@example(2.2250738585072014e-308)
def test_every_float_is_written(number: float) -> None:
    assert number_automaton(NumberLimits(is_integer=False)).accepts(json.dumps(number))


@pytest.mark.parametrize(
    "text", ["1e309", "1.7976931348623158e308", "2e308", "1e-325", "Infinity", "NaN", "1e", "01", ".5", "10e3", "0e3"]
)
def test_nothing_infinite_and_nothing_else_is_written(text: str) -> None:
    assert not number_automaton(NumberLimits(is_integer=False)).accepts(text)


@given(any_limits(), st.data())
def test_valid_whole_numbers_and_floats_are_written(limits: NumberLimits, data: st.DataObject) -> None:
    dfa = automaton(limits)
    near = [
        int(bound)
        for bound in (limits.minimum, limits.maximum, limits.exclusive_minimum, limits.exclusive_maximum)
        if bound
    ]
    step = int(common_multiple((*limits.multiples, Fraction(1))))
    for centre in [0, *near]:
        number = (centre + data.draw(st.integers(-1000, 1000))) // step * step
        assert dfa.accepts(json.dumps(number)) == is_valid(limits, Fraction(number))
        if limits.is_integer or limits.multiples:
            continue
        written = json.dumps(number + data.draw(st.integers(0, 9999)) / 1000)
        if "e" not in written and written != "-0.0":
            assert dfa.accepts(written) == is_valid(limits, Fraction(written))


# ---- valid by others -------------------------------------------------------------------------------------------------


@given(limits_and_texts())
def test_jsonschema_agrees(case: tuple[NumberLimits, list[str]]) -> None:
    limits, texts = case
    dfa = automaton(limits)
    keywords = {
        "minimum": limits.minimum,
        "maximum": limits.maximum,
        "exclusiveMinimum": limits.exclusive_minimum,
        "exclusiveMaximum": limits.exclusive_maximum,
    }
    with localcontext() as context:
        context.prec = 400
        schema: dict[str, Any] = {
            name: Decimal(bound.numerator) / bound.denominator for name, bound in keywords.items() if bound is not None
        }
        schema["type"] = "integer" if limits.is_integer else "number"
        schema["allOf"] = [
            {"multipleOf": Decimal(divisor.numerator) / divisor.denominator} for divisor in limits.multiples
        ]
        validator = Draft202012Validator(schema)
        for text in texts:
            if DECIMAL.fullmatch(text):
                value = json.loads(text, parse_float=Decimal)
                assert dfa.accepts(text) == (validator.is_valid(value) and is_written(limits, text)), text


@tried("many")
@given(any_limits(), st.decimals(allow_nan=False, allow_infinity=False) | st.integers())
def test_accepts_is_exact(limits: NumberLimits, value: Decimal | int) -> None:
    if isinstance(value, Decimal) and abs(int(value.as_tuple().exponent)) > 10_000:
        value = value.scaleb(-int(value.as_tuple().exponent))
    assert limits.accepts(value) == is_valid(limits, Fraction(value))


@tried("many")
@given(divisors, st.integers(-(10**30), 10**30), st.integers(-3, 3), st.integers(0, 5))
def test_accepts_multiples_with_zeros_at_the_end(divisor: Fraction, number: int, off: int, zeros: int) -> None:
    limits = NumberLimits(is_integer=False, multiples=(divisor,))
    text = decimal_text(number * divisor + Fraction(off, 1000), 10) + "0" * zeros
    assert limits.accepts(Decimal(text)) == ((Fraction(text) / divisor).denominator == 1)


def test_accepts_takes_no_time_for_large_exponents() -> None:
    cents = limits_of(multiples="0.03", minimum="-1e300")
    assert cents.accepts(Decimal("3e99999999"))
    assert not cents.accepts(Decimal("1e99999999"))
    assert not cents.accepts(Decimal("3e-99999999"))
    assert not cents.accepts(Decimal("-3e99999999"))
    whole = limits_of(type="integer")
    assert whole.accepts(Decimal("0e-99999999"))
    assert whole.accepts(Decimal("1.0"))
    assert whole.accepts(Decimal("-1e99999999"))
    assert not whole.accepts(Decimal("1e-99999999"))
    assert not whole.accepts(Decimal("NaN"))
    assert not whole.accepts(Decimal("-Infinity"))


# ---- what people write -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limits", "accepted", "refused"),
    [
        (limits_of(multiples="0.01"), "19.99 20 20.0 20.00 -0.01 0 0.0", "19.999 20.000 -0 -0.00 2e1 1.5e0"),
        (limits_of(minimum="0", multiples="5"), "5 5.0 5.00 10 0", "5.5 7 -5 05"),
        (limits_of(multiples="0.5"), "1.5 1.50 1 1.0", "1.25 1.05 1.500"),
        (limits_of(type="integer", multiples="86400"), "0 86400 -172800 8640000", "86401 43200 86400.0"),
        (limits_of(minimum="9007199254740993"), "9007199254740993 9007199254740993.5", "9007199254740992.9 0"),
        (limits_of(minimum="1e-10", maximum="2e-10"), "0.0{9}1 0.0{9}150 0.0{9}2", "0.0{10}9 0.0{9}21 0 1e-10"),
        (limits_of(minimum="1e-40", maximum="2e-40"), "0.0{39}1 0.0{39}15 0.0{39}20", "0.0 0.0{39}3 0.0{40}9"),
        (limits_of(maximum="1e308"), "10{308} 10{308}.0 9 0.5 -9{40}", "10{309} 10{307}1 10{308}.1 -9{41} 1e3"),
        (limits_of(type="integer", minimum="1e308"), "10{308} 20{308} 10{309}", "5 9{308} 10{310}"),
        (limits_of(type="integer", maximum="-1e45"), "-10{45} -9{47}", "-9{45} -9{48} 1"),
        (limits_of(type="integer", multiples="1e50"), "0 10{50} -310{50}", "10{49}"),
        (limits_of(multiples="1e-300"), "0.0{299}1 1 1.0 1.5", "0.0{300}1"),
        (limits_of(exclusive_minimum="0.1", exclusive_maximum="0.2"), "0.11 0.10{28}1 0.19", "0.1 0.10 0.2 0.20 0.3"),
        (limits_of(minimum="-0.5", maximum="0.5"), "0 0.0 0.5 0.50 -0.5 -0.25", "-0 -0.0 0.51 -0.51 1"),
    ],
    ids=str,
)
def test_what_people_write(limits: NumberLimits, accepted: str, refused: str) -> None:
    dfa = automaton(limits)
    assert [text for text in repeated(accepted) if not dfa.accepts(text)] == []
    assert [text for text in repeated(refused) if dfa.accepts(text)] == []


def repeated(texts: str) -> list[str]:
    """Texts in which ``0{9}`` stands for nine zeros."""
    return re.sub(r"(.)\{([0-9]+)\}", lambda match: match[1] * int(match[2]), texts).split()


@pytest.mark.parametrize(
    ("limits", "pattern"),
    [
        (limits_of(type="integer"), "0|-?[1-9][0-9]{0,39}"),
        (
            limits_of(type="integer", minimum="1", maximum="6553"),
            "[1-9][0-9]{0,2}|[1-5][0-9]{3}|6([0-4][0-9][0-9]|5([0-4][0-9]|5[0-3]))",
        ),
        (limits_of(minimum="0"), r"(0|[1-9][0-9]{0,39})(\.[0-9]{1,30})?"),
        (limits_of(minimum="0", multiples="0.01"), r"(0|[1-9][0-9]{0,39})(\.[0-9]{1,2})?"),
        (limits_of(type="integer", exclusive_minimum="0", multiples="1000"), "[1-9][0-9]{0,36}000"),
        (limits_of(minimum="-1", maximum="1"), r"(?!-0(\.0+)?$)-?(0(\.[0-9]{1,30})?|1(\.0{1,30})?)"),
        (limits_of(minimum="7", maximum="7"), r"7(\.0{1,30})?"),
        (limits_of(type="integer", minimum="3"), "[3-9]|[1-9][0-9]{1,39}"),
    ],
    ids=str,
)
def test_the_same_automaton_as_a_pattern(limits: NumberLimits, pattern: str) -> None:
    assert automaton(limits).equivalent(Dfa.from_regex(pattern))


@pytest.mark.parametrize(
    "limits",
    [
        limits_of(minimum="5", maximum="4"),
        limits_of(minimum="1", exclusive_maximum="1"),
        limits_of(exclusive_minimum="-1", maximum="-1"),
        limits_of(type="integer", minimum="0.1", maximum="0.9"),
        limits_of(type="integer", minimum="-6", maximum="-1", multiples="7"),
        limits_of(minimum="0.1", maximum="0.4", multiples="0.5"),
        limits_of(minimum="1", maximum="1000000006", multiples="1000000007"),
        limits_of(minimum="1e40", maximum="-1e40"),
        limits_of(exclusive_minimum="0", exclusive_maximum="0"),
    ],
    ids=str,
)
def test_contradictions_leave_nothing(limits: NumberLimits) -> None:
    assert automaton(limits).is_empty


# ---- remainders ------------------------------------------------------------------------------------------------------


@given(st.integers(1, 3000) | st.builds(lambda twos, fives: 2**twos * 5**fives, st.integers(0, 9), st.integers(0, 4)))
@example(86_400)
def test_a_divisor_has_as_many_states_as_its_minimal_automaton(divisor: int) -> None:
    after = (10 * np.arange(divisor)[:, None] + np.arange(10)) % divisor
    classes = np.full(256, 10, dtype=np.uint8)
    classes[48:58] = np.arange(10)
    plain = minimize(
        Deterministic(np.c_[after, np.full(divisor, -1)].astype(np.int32), classes, np.arange(divisor) == 0)
    )
    assert states_of(divisor) == len(plain.accepting)
    made = multiples(Step(divisor, 0), 0, 10**6)
    assert made is not None
    assert len(made.accepting) == states_of(divisor) + 1  # and one behind a point
    digits = minimize(decimals(Interval(Fraction(0)), 6, 0))
    assert (Dfa(*made) & Dfa(*digits)).equivalent(Dfa(*plain) & Dfa(*digits))


@tried("some")
@given(st.integers(10**16, 10**18), st.integers(0, 10**6))
@example(2**62, 1)
def test_multiples_of_large_divisors_are_listed(divisor: int, number: int) -> None:
    low, high = (number - 3) * divisor, (number + 3) * divisor
    limits = NumberLimits(True, Fraction(low), exclusive_maximum=Fraction(high), multiples=(Fraction(divisor),))
    assert set(examples(automaton(limits), 10)) == {str(times * divisor) for times in range(number - 3, number + 3)}


def test_listed_multiples_have_zeros_at_their_end() -> None:
    limits = limits_of(minimum="-0.5", maximum="0.4", multiples="0.12345678")
    assert multiples(Step(12345678, 8), 8, MAX_STATES) is None
    texts = set(examples(automaton(limits), 1000))
    assert {"0", "0.0", "0.00000000", "0.12345678", "-0.12345678", "-0.49382712", "0.37037034"} <= texts
    assert "-0" not in texts
    assert all(is_expected(limits, text) for text in texts)
    assert len(texts) == 9 + 7


@pytest.mark.parametrize(("divisor", "digits"), [(600, 40), (625, 40), (997, 25), (1999, 15), (9973, 15)])
def test_multiples_with_many_remainders_have_fewer_digits(divisor: int, digits: int) -> None:
    limits = NumberLimits(is_integer=True, minimum=Fraction(17), multiples=(Fraction(divisor),))
    dfa, largest = automaton(limits), (10**digits - 1) // divisor * divisor
    assert dfa.accepts(str(largest))
    assert not dfa.accepts(str(largest + divisor))
    assert not dfa.accepts(str(largest - 1))
    assert not dfa.accepts("0")


# ---- limits on size --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        (limits_of(minimum="1e1000"), "minimum has more digits than the limit of 1,000"),
        (limits_of(exclusive_maximum="1e-1000"), "exclusiveMaximum has more digits than the limit of 1,000"),
        (limits_of(multiples="1e1000"), "multipleOf has more digits than the limit of 1,000"),
        (
            limits_of(multiples=" ".join(str(10**500 + off) for off in range(9))),
            "the common multiple of multipleOf has more digits than the limit of 1,000",
        ),
    ],
    ids=lambda value: str(value)[:80],
)
def test_what_is_too_large_is_refused(limits: NumberLimits, reason: str) -> None:
    with pytest.raises(NumberTooLarge) as caught:
        automaton(limits)
    assert caught.value.reason == reason
    assert caught.value.pointer is None
    assert caught.value.hint
    assert isinstance(caught.value, SchemaTooLarge)


def test_as_many_multiples_as_are_allowed_are_listed() -> None:
    divisor = 1_000_003
    limits = limits_of(type="integer", minimum="1", maximum=str(divisor * MAX_LISTED), multiples=str(divisor))
    dfa = automaton(limits)
    assert dfa.accepts(str(divisor * MAX_LISTED))
    assert not dfa.accepts(str(divisor * MAX_LISTED - 1))
    assert has_all_multiples(limits)
    more = limits_of(type="integer", minimum="1", maximum=str(divisor * (MAX_LISTED + 1)), multiples=str(divisor))
    assert not has_all_multiples(more)


@pytest.mark.parametrize(
    ("limits", "nearest"),
    [
        (limits_of(type="integer", multiples="1000003"), [0, 1, -1, 5_000, -5_000]),
        (limits_of(type="integer", multiples="40009"), [0, 1, -1, 5_000, -5_000]),
        (limits_of(type="integer", multiples="0.123456789"), [0, 10**9, -(10**9)]),
        (limits_of(multiples="1e999"), [0, 1, -1]),
        (limits_of(multiples="49999e-999"), [0, 1, -1]),
        (limits_of(minimum="0", maximum="1e15", multiples="1000003"), [0, 1, 1_000]),
        (limits_of(type="integer", minimum="1e12", multiples="1000003"), [999_998, 1_000_000]),
        (limits_of(type="integer", maximum="-1e12", multiples="1000003"), [-999_998, -1_000_000]),
        (limits_of(type="integer", minimum="-1e12", maximum="1e12", multiples="1000003"), [0, 1, -1, 1_000]),
    ],
    ids=lambda value: str(value)[:80],
)
def test_of_too_many_multiples_the_nearest_to_zero_are_written(limits: NumberLimits, nearest: list[int]) -> None:
    dfa = automaton(limits)
    assert not has_all_multiples(limits)
    (divisor,) = limits.multiples
    for number in nearest:
        value = number * divisor
        with localcontext(prec=2_100):
            text = f"{Decimal(value.numerator) / value.denominator:f}"
        assert limits.accepts(Decimal(text))
        assert dfa.accepts(text), text[:40]
    for text in examples(dfa, 50):
        assert limits.accepts(Decimal(text)), text[:40]


def test_it_is_noted_that_not_all_multiples_are_written() -> None:
    schema = JsonSchema({"type": "array", "items": {"type": "integer", "multipleOf": 1000003}})
    assert schema.accepts("[0, 1000003, -2000006]")
    assert not schema.accepts("[1000002]")
    assert [note for note in schema.notes if "only the multiples nearest to zero are, at /items." in note]


FAR = st.sampled_from([323, 324, -324, 5_001, 10_001, 10_002, -10_002])
"""Multiples behind those that are listed."""


@st.composite
def large_contraries(draw: st.DrawFn) -> NumberLimits:
    """Limits with a divisor of many remainders, of which a number must be no multiple."""
    places = Fraction(1, 10 ** draw(st.integers(0, 6)))
    divisor = draw(st.integers(2_000, 10**7)) * places
    low, high = draw(st.none() | st.integers(-(10**9), 10**9)), draw(st.none() | st.integers(0, 10**10))
    return NumberLimits(
        draw(st.booleans()),
        None if low is None else low * places,
        None if high is None else (high + (low or 0)) * places,
        multiples=draw(st.sampled_from([(), (), (Fraction(7),), (Fraction(1_000_003),), (divisor / 3,)])),
        no_multiples=(divisor,),
    )


@tried("few")
@given(large_contraries(), st.lists(st.tuples(st.integers(-3, 3) | FAR, st.integers(-2, 2)), min_size=1, max_size=9))
@example(limits_of(type="integer", no_multiples="49999"), [(1, 0), (1, 1), (10_001, 0), (10_002, 0), (10_002, 1)])
@example(limits_of(type="integer", multiples="1000000007", no_multiples="65537"), [(0, 0), (1, 0)])
@example(limits_of(type="integer", multiples="2000006", no_multiples="1000003"), [(0, 0), (1, 0)])
@example(limits_of(minimum="1e12", no_multiples="0.1234567"), [(0, 0), (1, 0)])
def test_no_multiples_of_large_divisors(limits: NumberLimits, near: list[tuple[int, int]]) -> None:
    dfa, has_all = automaton(limits), has_all_multiples(limits)
    for text in examples(dfa, 50):
        assert limits.accepts(Decimal(text)), text
    step = Step.of([*limits.no_multiples, *limits.multiples, *([Fraction(1)] if limits.is_integer else [])])
    first = max(limits.minimum or 0, 0) or min(limits.maximum or 0, 0)
    unit = Step.of([*limits.multiples, Fraction(1 if limits.is_integer else "0.001")]).value
    for times, off in near:
        value = (first // step.value + times) * step.value + off * unit
        text = f"{Decimal(value.numerator) / value.denominator:f}"
        if dfa.accepts(text) != limits.accepts(Decimal(text)):
            assert not has_all or "." in text, text  # what is written has so many places
            assert not dfa.accepts(text), text
            assert abs(times) > 2 or "." in text, text


def test_it_is_noted_that_not_all_numbers_beside_multiples_are_written() -> None:
    schema = JsonSchema({"type": "array", "items": {"type": "integer", "not": {"multipleOf": 1000003}}})
    assert schema.accepts("[1, 1000002, -2000007]")
    assert not schema.accepts("[1000003]")
    assert not schema.accepts("[0]")
    assert [
        note
        for note in schema.notes
        if "only the numbers nearest to zero that are not multiples are, at /items." in note
    ]


def test_an_automaton_is_made_once() -> None:
    limits = limits_of(minimum="0", maximum="1")
    assert number_automaton(limits) is number_automaton(limits_of(minimum="0.0", maximum="1.0"))


@pytest.mark.parametrize("is_integer", [True, False])
@pytest.mark.parametrize(
    ("others", "no_multiples"), [(("2",), ()), (("-1", "0"), ()), ((), ("3",)), (("7", "1.5"), ("2", "0.25"))]
)
def test_what_must_not_be(is_integer: bool, others: tuple[str, ...], no_multiples: tuple[str, ...]) -> None:
    limits = NumberLimits(
        is_integer,
        minimum=Fraction(-3),
        maximum=Fraction(12),
        others=tuple(map(Fraction, others)),
        no_multiples=tuple(map(Fraction, no_multiples)),
    )
    automaton = number_automaton(limits)
    for hundredths in range(-400, 1400, 25):
        value = Decimal(hundredths) / 100
        for text in {f"{value:.2f}", f"{value:.1f}", str(int(value))}:
            same = Decimal(text) == value
            written = automaton.accepts(text) and "." not in text if is_integer else automaton.accepts(text)
            if same and not (is_integer and "." in text):
                assert written == limits.accepts(value), text
