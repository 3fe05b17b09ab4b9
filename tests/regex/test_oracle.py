"""The oracle says what ``re`` says, about properties too, and never keeps anybody waiting."""

from __future__ import annotations

import re
import signal
import threading
import time
from collections.abc import Callable
from typing import TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.running.tried import tried

import regex
from sfgen.regex.oracle import fullmatch

Answer = TypeVar("Answer")
ENDLESS = "(a+)+b|a+c", "a" * 40 + "c"


def in_a_thread(ask: Callable[[], Answer]) -> Answer:
    answers: list[Answer] = []
    thread = threading.Thread(target=lambda: answers.append(ask()))
    thread.start()
    thread.join()
    return answers[0]


PATTERNS = [
    r"\d+", r"\w{2,5}", r"(?u)\w+", r"(?i)straße|k", r"(?iu)k+", r"a|b*|(ab)+", r"(?s).{1,3}", r"(?m)^a$\n?", r"a*+b",
    r"(?=a)\w+(?<=b)", r"(?>a|ab)c?", r"[^\W\d]+", r"(?x) a b # c", r"é{2}", r"\bab\b", r"a.?$",
]  # fmt: skip


@tried("many")
@given(pattern=st.sampled_from(PATTERNS), text=st.text("abkKßſé1 \n_", max_size=6))
def test_it_is_re(pattern: str, text: str) -> None:
    flags = 0 if "u" in pattern[:5] else re.ASCII
    expected = re.fullmatch(pattern, text, flags) is not None
    assert fullmatch(pattern, text) is expected
    assert in_a_thread(lambda: fullmatch(pattern, text)) is expected


PROPERTIES = [
    r"\p{L}+", r"\P{L}+", r"[\p{Lu}\d_]{2}", r"[^\p{Lu}\n]+", r"[^\P{L}]+", r"a\p{Greek}*b", r"(?:\p{Nd}|x){2,3}",
    r"\p{Lu}\p{Ll}+", r"(?=\p{Lu}).+", r"(?x)\p{L} [ ]", r"[\]\p{L}-]+", r"\\p|\p{L}", r"(\p{L}(\p{N}|\.)?)*?",
]  # fmt: skip
written = st.text("aZé日αΩ٣7 .\n_\\p]-x", max_size=5)


@tried("many")
@given(pattern=st.sampled_from(PROPERTIES), text=written)
def test_properties_are_the_sets_of_the_regex_package(pattern: str, text: str) -> None:
    # Without the flag ASCII, under which the package knows no letters beyond ASCII; these patterns need no flag.
    pattern = pattern.replace(r"\d", "[0-9]")
    assert fullmatch(pattern, text) is (regex.fullmatch(pattern, text) is not None)


def test_a_property_that_is_folded_is_not_told() -> None:
    assert fullmatch(r"(?i)\p{Lu}", "a") is None
    assert fullmatch(r"(?i:x)\p{Lu}", "XA") is True
    assert fullmatch(r"x(?i:[\p{Lu}])", "XA") is None


@pytest.mark.parametrize(
    "pattern", ["(", r"\p", r"\p{Klingon}", "(?P<n", "a{2,1}", r"(a)\2", "(" * 500, "a{99999999999}"]
)
def test_what_re_cannot_read_is_not_told(pattern: str) -> None:
    assert fullmatch(pattern, "a") is None


def test_time_is_up() -> None:
    assert fullmatch(*ENDLESS, seconds=0.02) is None
    assert fullmatch("(a+)+b|a+c", "aac") is True
    assert fullmatch("(a+)+b|a+c", "aad") is False
    # What may take long, but does not, is told where there is an alarm to stop it.
    assert fullmatch(".*.*.*.*x", "a" * 200 + "x") is True


def test_the_alarm_is_given_back() -> None:
    fullmatch(*ENDLESS, seconds=0.02)
    fullmatch("a", "a")
    assert signal.getsignal(signal.SIGALRM) is signal.SIG_DFL
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_somebody_elses_alarm_is_left_alone() -> None:
    rung: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda number, frame: rung.append(number))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.02)
        assert fullmatch(*ENDLESS, seconds=0.001) is None
        assert fullmatch("[a-z]{5}", "hello") is True
        while not rung:
            time.sleep(0.005)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert rung == [signal.SIGALRM]


def test_a_running_timer_is_left_alone() -> None:
    signal.setitimer(signal.ITIMER_REAL, 60)
    try:
        assert fullmatch(*ENDLESS, seconds=0.001) is None
        assert 0 < signal.getitimer(signal.ITIMER_REAL)[0] <= 60
        assert signal.getsignal(signal.SIGALRM) is signal.SIG_DFL
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def test_another_thread_asks_only_what_has_an_end() -> None:
    assert in_a_thread(lambda: fullmatch(*ENDLESS)) is None
    assert in_a_thread(lambda: fullmatch(r"(a|a)*b|a*c", "a" * 40 + "c")) is None
    assert in_a_thread(lambda: fullmatch(r".*.*.*.*x", "a" * 200)) is None
    record = r'\{"name":"[A-Z][a-z]{2,9}","age":[1-9][0-9]\}'
    assert in_a_thread(lambda: fullmatch(record, '{"name":"Ada","age":36}')) is True
    assert in_a_thread(lambda: fullmatch(record, '{"name":"Ada","age":06}')) is False
    assert in_a_thread(lambda: fullmatch(r"(\d{1,3}\.){3}\d{1,3}", "127.0.0.1")) is True
