from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.running.tried import tried

from sfgen.automata import Dfa
from sfgen.automata.determinize import Deterministic
from sfgen.automata.minimize import minimize


@st.composite
def automata(draw: st.DrawFn) -> Deterministic:
    """Any automaton: unreachable and dead states, equal states, classes of bytes that are equal or not used."""
    states = draw(st.integers(1, 14))
    classes = draw(st.integers(1, 4))
    targets = st.integers(-1, min(states - 1, draw(st.integers(0, 13))))
    rows = draw(st.lists(st.lists(targets, min_size=classes, max_size=classes), min_size=states, max_size=states))
    accepting = draw(st.lists(st.booleans(), min_size=states, max_size=states))
    few = draw(st.lists(st.integers(0, classes - 1), min_size=4, max_size=4))
    byte_classes = np.full(256, draw(st.integers(0, classes - 1)), dtype=np.uint8)
    byte_classes[[3, 65, 66, 200]] = few
    return Deterministic(np.array(rows, dtype=np.int32), byte_classes, np.array(accepting))


def moore(automaton: Deterministic) -> tuple[list[dict[int, int]], list[bool]]:
    """A minimal automaton by Moore's refinement on plain dictionaries, numbered by the walk with a stack."""
    rows = [
        {byte: int(row[automaton.byte_classes[byte]]) for byte in range(256) if row[automaton.byte_classes[byte]] >= 0}
        for row in automaton.transitions
    ]
    accepting = [bool(final) for final in automaton.accepting]
    alive = {state for state in range(len(rows)) if accepting[state]}
    while more := {s for s in range(len(rows)) if s not in alive and alive & set(rows[s].values())}:
        alive |= more
    if 0 not in alive:
        return [{}], [False]
    rows = [{byte: target for byte, target in row.items() if target in alive} for row in rows]
    kind = [int(final) for final in accepting]
    while True:
        signatures = [(kind[s], tuple(sorted((b, kind[t]) for b, t in rows[s].items()))) for s in range(len(rows))]
        names = {signature: number for number, signature in enumerate(dict.fromkeys(signatures))}
        refined = [names[signature] for signature in signatures]
        if len(set(refined)) == len(set(kind)):
            break
        kind = refined
    numbers = {kind[0]: 0}
    stack = [0]
    result: dict[int, dict[int, int]] = {}
    final: dict[int, bool] = {}
    while stack:
        state = stack.pop()
        here = result.setdefault(numbers[kind[state]], {})
        final[numbers[kind[state]]] = accepting[state]
        for byte in sorted(rows[state]):
            target = rows[state][byte]
            if kind[target] not in numbers:
                numbers[kind[target]] = len(numbers)
                stack.append(target)
            here[byte] = numbers[kind[target]]
    return [result[state] for state in range(len(result))], [final[state] for state in range(len(result))]


@given(automata())
def test_against_a_slow_minimiser(automaton: Deterministic) -> None:
    rows, accepting = moore(automaton)
    minimal = minimize(automaton)
    assert minimal.accepting.tolist() == accepting
    table = minimal.transitions[:, minimal.byte_classes].tolist()
    assert [{byte: target for byte, target in enumerate(row) if target >= 0} for row in table] == rows
    # The classes are as few as can be, numbered by their smallest byte.
    assert len({tuple(column) for column in minimal.transitions.T.tolist()}) == minimal.transitions.shape[1]
    seen = list(dict.fromkeys(minimal.byte_classes.tolist()))
    assert seen == list(range(minimal.transitions.shape[1]))


@tried("some")
@given(automata())
def test_minimising_twice_changes_nothing(automaton: Deterministic) -> None:
    once = minimize(automaton)
    twice = minimize(once)
    assert np.array_equal(once.transitions, twice.transitions)
    assert np.array_equal(once.byte_classes, twice.byte_classes)
    assert np.array_equal(once.accepting, twice.accepting)


def test_no_states_at_all_is_the_empty_language() -> None:
    empty = Deterministic(np.empty((0, 1), dtype=np.int32), np.zeros(256, dtype=np.uint8), np.empty(0, dtype=np.bool_))
    minimal = minimize(empty)
    assert minimal.transitions.tolist() == [[-1]]
    assert minimal.accepting.tolist() == [False]


@pytest.mark.parametrize(("pattern", "states"), [(".{0,2000}", 16_001), ("(?:a?){500}a{500}", 1001), ("(a|b|ab)*", 1)])
def test_known_sizes(pattern: str, states: int) -> None:
    assert len(Dfa.from_regex(pattern)) == states
