"""Which conflicts lark resolved without a word, against its strict mode, which refuses them."""

from __future__ import annotations

from hypothesis import assume, given
from lark import Lark
from lark.exceptions import GrammarError
from tests.support.grammars.lalr_tables import random_grammars, tables_of

from sfgen.grammar.lalr.items import Items, has_conflicts


@given(random_grammars())
def test_conflicts(grammar: str) -> None:
    try:
        tables = tables_of(grammar)
    except GrammarError:
        assume(False)
    refused = refusal(grammar)
    assert refused is None or "Shift/Reduce conflict" in refused
    assert has_conflicts(Items(tables)) == (refused is not None)


def refusal(grammar: str) -> str | None:
    """What lark's strict mode says against a grammar."""
    try:
        Lark(grammar, parser="lalr", strict=True)
    except GrammarError as error:
        return str(error)
    return None


def test_what_follows_a_rule_follows_only_its_last_symbol() -> None:
    assert not has_conflicts(Items(tables_of('start: x "c"\nx: y "b"\ny: "a" | "a" "c"\n')))
    assert has_conflicts(Items(tables_of('start: x "c"\nx: y z\ny: "a" | "a" "c"\nz: "b" |\n')))


def test_a_rule_of_higher_priority() -> None:
    """Of two rules that could be reduced, lark takes the one of higher priority."""
    rules = 'start: x "b" | y "c"\nx: "a"\ny{}: "a"\n'
    assert not has_conflicts(Items(tables_of(rules.format(""))))
    rules = 'start: x "b" | y "b" "c"\nx: "a"\ny{}: "a"\n'
    assert has_conflicts(Items(tables_of(rules.format(".2"))))
