"""Rules that call each other before they read anything have the texts that they mean, by sets of texts."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles.enumerated_grammars import Enumerated
from tests.support.running.tried import tried

from sfgen import Dfa
from sfgen.errors import UsageError
from sfgen.grammar.network.analysis import Analysis
from sfgen.grammar.network.network import network_of
from sfgen.grammar.network.read import NetworkReader
from sfgen.grammar.network.rules import (
    EMPTY,
    Alternation,
    Bytes,
    Call,
    Concatenation,
    Expression,
    GrammarRules,
    Leaf,
    Literal,
    Member,
    Repeat,
    Rules,
    Series,
    StateMachine,
    Step,
)
from sfgen.grammar.network.simplify import LeftRecursion, without_copies

LONGEST = 5
WORDS = [bytes(letters) for length in range(LONGEST + 1) for letters in product(b"xy", repeat=length)]

X, Y = Literal(b"x"), Literal(b"y")
A, B, C = map(Call, "abc")


def row(*parts: Expression) -> Expression:
    return Concatenation(parts)


def any_of(*branches: Expression) -> Expression:
    return Alternation(branches)


def check(grammar: GrammarRules) -> None:
    """The reader has the texts that the oracle lists, and is as far from an end."""
    texts = Enumerated(grammar, LONGEST).texts
    if not texts:
        with pytest.raises(UsageError, match="no text at all"):
            network_of(grammar)
        return
    reader = NetworkReader(network_of(grammar))
    for word in WORDS:
        position = reader.read(reader.start, word)
        assert (position is not None and reader.accepts(position)) is (word in texts), word
        longer = [len(text) - len(word) for text in texts if text.startswith(word)]
        if position is None:
            assert not longer, word
        else:
            distance = reader.stacks.distance(position)
            assert distance <= min(longer, default=distance), word
            assert distance == min(longer, default=distance) or len(word) + distance > LONGEST, word


@pytest.mark.parametrize(
    "rules",
    [
        {"a": any_of(row(B, X), Y), "b": any_of(row(A, Y), X)},
        {"a": any_of(row(B, X), Y), "b": A},
        {"a": any_of(row(B, X), EMPTY), "b": any_of(row(A, Y), C), "c": any_of(row(C, C, Y), B, X)},
        {"a": any_of(row(Repeat(X, 0, 1), A, Y), X)},
        {"a": any_of(row(B, A, X), Y), "b": Repeat(Y, 0, 2)},
        {"a": any_of(row(B, A, X), Y), "b": any_of(row(Y, B), EMPTY)},
        {"a": any_of(row(Repeat(A, 0, None), X), Y)},
        {"a": any_of(row(Repeat(B, 1, 2), X), Y), "b": any_of(row(A, Y), EMPTY)},
        {"a": any_of(row(Leaf(Dfa.from_regex("y*")), A, X), Y)},
        {"a": any_of(row(A, B, A), X), "b": any_of(A, row(B, Y), EMPTY)},
        {"a": any_of(row(B, X), row(C, Y)), "b": any_of(row(C, A), Y), "c": any_of(row(B, B), row(A, X), EMPTY)},
        {"a": any_of(B, row(X, A)), "b": any_of(C, row(B, Y)), "c": any_of(A, Y)},
        {"a": row(B, X), "b": any_of(row(A, Y), row(C, Y)), "c": any_of(row(C, X), row(X, A), X)},
        {"a": any_of(row(B, X)), "b": any_of(row(A, Y))},
        {"a": any_of(Series((Member(B, True), Member(X, False)), Y), Y), "b": any_of(row(A, X), X)},
        {"a": row(Series((Member(A, False), Member(B, False)), Y, X), X), "b": any_of(EMPTY, row(A, Y))},
        {"a": any_of(Series((), Y, A), X)},
        {"a": any_of(Series((Member(EMPTY, True), Member(A, True)), Repeat(Y, 0, 1)), X)},
        {"a": StateMachine(((Step(A, 1), Step(X, None)), (Step(Y, None), Step(X, 0))))},
        {"a": any_of(row(B, X), EMPTY), "b": StateMachine(((Step(A, 1), Step(EMPTY, 1)), (Step(A, 0), Step(Y, None))))},
    ],
)
def test_circles_of_calls(rules: dict[str, Expression]) -> None:
    check(GrammarRules(rules, "a"))


@st.composite
def circles(draw: st.DrawFn) -> GrammarRules:
    """Grammars of up to four rules whose branches often begin with a call."""
    names = "abcd"[: draw(st.integers(1, 4))]
    called = st.sampled_from([Call(name) for name in names])
    read: st.SearchStrategy[Expression] = st.sampled_from(
        [X, Y, EMPTY, Bytes(((ord("x"), ord("y")),)), Leaf(Dfa.from_regex("(xy)*"))]
    )
    symbol: st.SearchStrategy[Expression] = st.one_of(called, called, read)
    counts = st.sampled_from([(0, 1), (0, None), (1, None), (2, 2), (1, 3), (0, 0)])
    repeated = st.builds(lambda part, count: Repeat(part, *count), symbol, counts)
    branch: st.SearchStrategy[Expression] = st.lists(symbol | symbol | symbol | repeated, max_size=3).map(
        lambda parts: Concatenation(tuple(parts))
    )
    group: st.SearchStrategy[Expression] = st.lists(branch, min_size=1, max_size=2).map(
        lambda branches: any_of(*branches)
    )
    members = st.lists(st.builds(Member, symbol, st.booleans()), max_size=3).map(tuple)
    series: st.SearchStrategy[Expression] = st.builds(Series, members, read, st.none() | symbol)
    steps = st.lists(st.builds(Step, symbol, st.sampled_from([None, 0, 1])), min_size=1, max_size=2).map(tuple)
    machine: st.SearchStrategy[Expression] = st.builds(StateMachine, st.tuples(steps, steps))
    behind = st.builds(row, st.one_of(series, machine), symbol)
    whole = st.lists(st.one_of(branch, branch, group, series, machine, behind), min_size=1, max_size=3)
    return GrammarRules({name: any_of(*draw(whole)) for name in names}, "a")


@tried("many")
@given(circles())
def test_random_circles_of_calls(grammar: GrammarRules) -> None:
    check(grammar)


def test_too_many_beginnings_are_refused() -> None:
    twice = {f"n{number}": row(Call(f"n{number - 1}"), Call(f"n{number - 1}")) for number in range(1, 12)}
    rules = {"a": any_of(row(Call("n11"), B, X), Y), "b": any_of(A, X), "n0": Repeat(X, 0, 1), **twice}
    with pytest.raises(LeftRecursion, match="calls itself before it reads anything"):
        network_of(GrammarRules(rules, "a"))


def test_a_long_circle_is_written_once() -> None:
    """An automaton for each rule would have as many states as there are rules, each time."""
    size = 3_000
    rules: Rules = {
        f"r{number}": Alternation((Concatenation((Call(f"r{(number + 1) % size}"), Literal(b"x"))), Literal(b"y")))
        for number in range(size)
    }
    analysis = Analysis(rules)
    written = without_copies(GrammarRules(rules, "r0"), analysis).rules
    assert list(written) == ["r0"]
    assert NetworkReader(network_of(GrammarRules(rules, "r0"), analysis)).reads("yxx")
