from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sfgen.automata.acyclic import State, minimal_acyclic


def language(states: list[State[str]], number: int) -> set[str]:
    here = {""} if states[number].accepting else set()
    return here | {label + rest for label, target in states[number].edges for rest in language(states, target)}


@given(st.sets(st.text("abc", max_size=5)))
def test_accepts_the_sequences_with_the_fewest_states(words: set[str]) -> None:
    states = minimal_acyclic(sorted(words))
    assert language(states, len(states) - 1) == words
    # One state for each set of endings that some beginning leaves open.
    beginnings = {word[:cut] for word in words for cut in range(len(word) + 1)} | {""}
    endings = {frozenset(word[len(start) :] for word in words if word.startswith(start)) for start in beginnings}
    assert len(states) == len(endings)
