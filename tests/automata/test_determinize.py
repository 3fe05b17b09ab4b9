from __future__ import annotations

import tracemalloc
from collections.abc import Callable

import pytest

from sfgen.automata import Dfa, determinize
from sfgen.errors import PatternTooLarge


def test_exponentially_many_states() -> None:
    with pytest.raises(PatternTooLarge, match=f"{determinize.MAX_STATES:,} states") as caught:
        Dfa.from_regex("(a|b)*a(a|b){40}")
    assert caught.value.pattern == "(a|b)*a(a|b){40}"
    assert caught.value.hint


def test_too_much_work_in_few_states() -> None:
    # Every state holds thousands of places, so the work is quadratic though the states are few.
    with pytest.raises(PatternTooLarge, match=f"{determinize.MAX_WORK:,} steps"):
        Dfa.from_regex("((a?){100}){100}")


@pytest.mark.parametrize("limit", ["MAX_STATES", "MAX_DFA_STATES", "MAX_CELLS", "MAX_WORK"])
def test_the_limits_are_counts(monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    def lowest() -> int:
        return smallest_limit(lambda value: monkeypatch.setattr(determinize, limit, value))

    if limit in ("MAX_DFA_STATES", "MAX_CELLS"):  # only both together are a reason
        assert lowest() == 1
        monkeypatch.setattr(determinize, "MAX_CELLS" if limit == "MAX_DFA_STATES" else "MAX_DFA_STATES", 0)
    needed = lowest()
    assert needed == 21 if limit in ("MAX_STATES", "MAX_DFA_STATES") else 21 < needed < 10_000
    assert lowest() == needed


def test_many_states_in_small_tables() -> None:
    """What ``re`` takes for the most."""
    dfa = Dfa.from_regex(".{,65535}")
    assert len(dfa) > determinize.MAX_DFA_STATES
    for text in ("", "x" * 65_535, "ä" * 65_535):
        assert dfa.accepts(text)
    for text in ("x" * 65_536, "x\n", "\n"):
        assert not dfa.accepts(text)


@pytest.mark.parametrize(
    "pattern",
    [
        "(a{1000}){1000}",
        "(.*a.{20}){5}",
        "(?i)(the|quick|brown).{0,2000}(fox|jumps){1,500}",
        "(?i)(?:error|warn).{0,1000}(?:at|in).{0,1000}line",
        r"(?i); {0,2}XOLO[ _]([^;/]{0,30}tab.{0,30})(?: Build|\) AppleWebKit)",
    ],
)
def test_what_is_refused_takes_little_memory(pattern: str) -> None:
    """Each table grows when it is full itself: together with others that were, one of these took 1.9 GB."""
    tracemalloc.start()
    try:
        with pytest.raises(PatternTooLarge):
            Dfa.from_regex(pattern)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 500_000_000


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
