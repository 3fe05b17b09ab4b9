"""The number of texts from each state to an end, against counting them along the transitions."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.support.patterns.random_patterns import language, small_patterns

from sfgen import Dfa
from sfgen.automata.completions import MOST, completions


def counted(dfa: Dfa, usable: list[bool]) -> dict[int, int]:
    """The same by recursion over single bytes; where a cycle is reached there is no number."""
    open_states = set[int]()

    @cache
    def ways(state: int) -> int | None:
        if state in open_states:
            return None
        open_states.add(state)
        found: int | None = int(dfa.accepting[state])
        for byte in range(256):
            target = int(dfa.transitions[state, dfa.byte_classes[byte]])
            if usable[byte] and target >= 0:
                more = ways(target)
                found = None if found is None or more is None else found + more
        open_states.discard(state)
        return found

    numbers = {state: ways(state) for state in reversed(range(len(dfa)))}
    return {state: number for state, number in sorted(numbers.items()) if number is not None and number <= MOST}


@given(small_patterns("a", "b", "é", "[a-d]", "[^a]"), st.sets(st.sampled_from(b"abcd\xc3\xa9")))
def test_they_are_counted(pattern: str, missing: set[int]) -> None:
    dfa = language(pattern)
    assume(dfa is not None)
    assert dfa is not None
    usable = [byte not in missing for byte in range(256)]
    assert completions(dfa, np.array(usable)) == counted(dfa, usable)
    assert completions(dfa) == counted(dfa, [True] * 256)


@pytest.mark.parametrize("pattern", ["[0-9]{3000}", "[ab]{16}", "[ab]{17}", "(a|b)*c|dd", "[a-z]{50}x*|q{100}"])
def test_many_states_and_many_texts(pattern: str) -> None:
    dfa = Dfa.from_regex(pattern)
    found = completions(dfa)
    assert max(found.values()) <= MOST
    for state, number in found.items():
        assert number == int(dfa.accepting[state]) + sum(
            found[target] for target in dfa.transitions[state, dfa.byte_classes].tolist() if target >= 0
        )
