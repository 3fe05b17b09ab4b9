from __future__ import annotations

from collections.abc import Callable

import pytest

from sfgen.automata import Dfa, determinize
from sfgen.errors import PatternTooLarge


def test_exponentially_many_states() -> None:
    with pytest.raises(PatternTooLarge, match=f"{determinize.MAX_DFA_STATES:,} states") as caught:
        Dfa.from_regex("(a|b)*a(a|b){40}")
    assert caught.value.pattern == "(a|b)*a(a|b){40}"
    assert caught.value.hint


def test_too_much_work_in_few_states() -> None:
    # Every state holds thousands of places, so the work is quadratic though the states are few.
    with pytest.raises(PatternTooLarge, match=f"{determinize.MAX_WORK:,} steps"):
        Dfa.from_regex("((a?){100}){100}")


@pytest.mark.parametrize("limit", ["MAX_DFA_STATES", "MAX_WORK"])
def test_the_limits_are_counts(monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    def lowest() -> int:
        return smallest_limit(lambda value: monkeypatch.setattr(determinize, limit, value))

    needed = lowest()
    assert needed == 21 if limit == "MAX_DFA_STATES" else 21 < needed < 10_000
    assert lowest() == needed


def smallest_limit(set_limit: Callable[[int], None]) -> int:
    low, high = 0, 10_000
    while low + 1 < high:
        middle = (low + high) // 2
        set_limit(middle)
        try:
            Dfa.from_regex("a{20}")
            high = middle
        except PatternTooLarge:
            low = middle
    return high


def test_the_tables_grow() -> None:
    # More states, set members, hash slots and classes than the kernel starts with.
    dfa = Dfa.from_regex("(?:[a-z0-9]{1,9}[,;]?){3,4}x{3000}")
    assert dfa.accepts("ab,cd;ef" + "x" * 3000)
    assert not dfa.accepts("ab,cd;ef" + "y" * 3000)
    assert len(Dfa.from_regex("(a|b)*a(a|b){13}")) == 2**14
