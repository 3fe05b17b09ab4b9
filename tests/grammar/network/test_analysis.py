"""It is known of rules what has a text, and how long the shortest is, before any automaton is made."""

from __future__ import annotations

import weakref
from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from tests.oracles.least_bytes import Least
from tests.support.grammars.random_grammars import KNOWN, grammars, quoted_text

from sfgen.automata import Dfa
from sfgen.automata.completions import completions
from sfgen.errors import UsageError
from sfgen.grammar.network import completion
from sfgen.grammar.network.analysis import Analysis, least
from sfgen.grammar.network.network import network_of
from sfgen.grammar.network.read import NetworkReader
from sfgen.grammar.network.registers.counts import shortest_text
from sfgen.grammar.network.registers.register import FAR
from sfgen.grammar.network.rules import (
    Alternation,
    Call,
    Concatenation,
    CountedList,
    GrammarRules,
    Leaf,
    Literal,
    Repeat,
    Rules,
)
from sfgen.grammar.network.simplify import LeftRecursion


def check(grammar: GrammarRules, *, has_distinct: bool) -> None:
    """Compare with the oracle, which writes texts of distinct calls that differ."""
    analysis, least = Analysis(grammar.rules), Least(grammar)
    expected = {name: length for name in grammar.rules if (length := least.of_rule(name)) is not None}
    if has_distinct:
        assert all(analysis.lengths[name] <= length for name, length in expected.items())
        return
    assert analysis.lengths == expected
    assert analysis.nullable == {name for name, length in expected.items() if length == 0}


@given(grammars(names=()))
def test_shortest_lengths_of_random_rules(grammar: GrammarRules) -> None:
    check(grammar, has_distinct=False)


@given(st.sampled_from([b'"', b""]), st.booleans(), st.integers(0, 300), st.integers(0, 40) | st.none())
def test_shortest_counted_texts(opening: bytes, two_bytes: bool, minimum: int, more: int | None) -> None:
    text = quoted_text(opening, b"ba", two_bytes, minimum, None if more is None else minimum + more)
    network = network_of(GrammarRules({"text": text}, "text"))
    assert shortest_text(text) == completion.shortest_text(NetworkReader(network)) == opening + b"a" * minimum + b'"'
    assert network.shortest == len(shortest_text(text))


@given(grammars(names=()))
def test_a_network_knows_its_shortest_text(grammar: GrammarRules) -> None:
    with suppress(UsageError):
        reader = NetworkReader(network_of(grammar))
        assert reader.network.shortest == reader.stacks.distance(reader.start)
        event("a network")


@pytest.mark.parametrize("grammar", KNOWN)
def test_shortest_lengths_of_known_rules(grammar: GrammarRules) -> None:
    check(grammar, has_distinct=True)


@given(grammars())
def test_a_network_is_made_of_what_is_not_refused(grammar: GrammarRules) -> None:
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
    assert network_of(GrammarRules(rules, "a")).names == ("a",)


def test_a_long_chain_is_measured_once() -> None:
    size = 20_000
    rules = {f"r{number}": Concatenation((X, Call(f"r{number + 1}"))) for number in range(size)}
    analysis = Analysis({**rules, f"r{size}": X})
    assert analysis.lengths["r0"] == size + 1
    assert not analysis.cycles


def test_a_long_circle_is_measured_a_few_times() -> None:
    """Each rule may go on with the one before or behind it, which has a text only through those before."""
    size = 5_000

    def one_of(*numbers: int) -> Alternation:
        return Alternation(tuple(Concatenation((X, Call(f"r{number % size}"))) for number in numbers))

    rules = {f"r{number}": one_of(number + 1, number - 1) for number in range(1, size)}
    analysis = Analysis({"r0": Alternation((one_of(1), X)), **rules})
    assert max(analysis.lengths.values()) == size // 2 + 1
    assert len(analysis.cycles) == 1


def test_lengths_that_pass_any_limit_are_not_told_apart() -> None:
    doubled = {f"r{number}": Concatenation((Call(f"r{number + 1}"),) * 2) for number in range(5_000)}
    analysis = Analysis({**doubled, "r5000": X, "a": Alternation((Call("r0"), Concatenation((X, A))))})
    assert analysis.lengths["r4961"] == 2**39
    assert {analysis.lengths[name] for name in ("r0", "r4960", "a")} == {FAR}


def test_what_is_known_of_automata_does_not_keep_them() -> None:
    dfa = Dfa.from_regex('"[a-z]{3,40}"')
    text = quoted_text(b'"', b"ba", False, 3, 7)
    lengths = [least(part, {}) for part in (Leaf(dfa), text, replace(text, minimum=0))]
    assert lengths == [5, 5, 2]
    assert completions(dfa)
    known = weakref.ref(dfa), weakref.ref(text)
    del dfa, text
    assert [each() for each in known] == [None, None]
