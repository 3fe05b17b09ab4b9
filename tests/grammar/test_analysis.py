"""It is known of rules what has a text, and how long the shortest is, before any automaton is made."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import event, given
from tests.oracles.least_bytes import Least
from tests.support.grammars.random_grammars import KNOWN, grammars

from sfgen.errors import UsageError
from sfgen.grammar.analysis import Analysis
from sfgen.grammar.network import network_of
from sfgen.grammar.rules import Alternation, Call, Concatenation, CountedList, Grammar, Literal, Repeat, Rules
from sfgen.grammar.simplify import LeftRecursion


def check(grammar: Grammar, *, has_distinct: bool) -> None:
    """Compare with the oracle, which writes texts of distinct calls that differ."""
    analysis, least = Analysis(grammar.rules), Least(grammar)
    expected = {name: length for name in grammar.rules if (length := least.of_rule(name)) is not None}
    if has_distinct:
        assert all(analysis.lengths[name] <= length for name, length in expected.items())
        return
    assert analysis.lengths == expected
    assert analysis.nullable == {name for name, length in expected.items() if length == 0}


@given(grammars(names=()))
def test_shortest_lengths_of_random_rules(grammar: Grammar) -> None:
    check(grammar, has_distinct=False)


@pytest.mark.parametrize("grammar", KNOWN)
def test_shortest_lengths_of_known_rules(grammar: Grammar) -> None:
    check(grammar, has_distinct=True)


@given(grammars())
def test_a_network_is_made_of_what_is_not_refused(grammar: Grammar) -> None:
    """What is refused is left recursion or has no text."""
    if grammar.start not in Analysis(grammar.rules).lengths:
        with pytest.raises(UsageError, match="no text at all"):
            network_of(grammar)
        return
    with suppress(LeftRecursion):
        network_of(grammar)
        event("a network")


A, B, C, X = Call("a"), Call("b"), Call("c"), Literal(b"x")


def test_a_list_in_brackets_is_not_empty() -> None:
    items = CountedList(b"[", B, b",", b"]", 0, None)
    analysis = Analysis({"list": items, "some": replace(items, minimum=3), "b": Repeat(X, 0, None)})
    assert analysis.nullable == {"b"}
    assert analysis.lengths == {"list": 2, "some": 4, "b": 0}


def test_a_left_recursive_rule_that_nobody_needs_is_not_refused() -> None:
    rules: Rules = {"a": X, "b": Alternation((Concatenation((C, X)), X)), "c": B}
    assert network_of(Grammar(rules, "a")).names == ("a",)


def test_a_long_chain_is_measured_once() -> None:
    size = 20_000
    rules = {f"r{number}": Concatenation((X, Call(f"r{number + 1}"))) for number in range(size)}
    analysis = Analysis({**rules, f"r{size}": X})
    assert analysis.lengths["r0"] == size + 1
    assert not analysis.circles


def test_a_long_circle_is_measured_a_few_times() -> None:
    """Each rule may go on with the one before or behind it, which has a text only through those before."""
    size = 5_000

    def one_of(*numbers: int) -> Alternation:
        return Alternation(tuple(Concatenation((X, Call(f"r{number % size}"))) for number in numbers))

    rules = {f"r{number}": one_of(number + 1, number - 1) for number in range(1, size)}
    analysis = Analysis({"r0": Alternation((one_of(1), X)), **rules})
    assert max(analysis.lengths.values()) == size // 2 + 1
    assert len(analysis.circles) == 1
