"""The distances of Lark grammars' configurations, against breadth-first search by the definition."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from lalr_configurations import Configurations
from lalr_tables import letter_lexer, random_grammars, random_lexers, tables_of
from lark.exceptions import GrammarError

from sfgen.lalr.distances import FAR, Distances
from sfgen.lalr.stack import Stacks
from sfgen.lalr.tables import Lexer, ParseTables

LETTERS = '\nA: "a"\nB: "b"\nC: "c"\nAB: "ab"\n'

GRAMMARS = {
    "right recursion": "start: A start | B",
    "left recursion": "start: start A | B",
    "middle recursion": "start: A start B | C",
    "empty rules": "start: x y A z\nx: | B\ny: | C x\nz:",
    "unit chains": "start: x | start A x\nx: y | x B y\ny: z\nz: C | A start B",
    "dangling else": "start: x\nx: A x | A x B x | C",
    "a shift that loses all texts": "start: x A\nx: A | x A",
    "a shift that loses some texts": "start: x A B | C\nx: A | A A | A A C",
    "a shift that leads into a dead end": "start: x A | B B\nx: A | x A | x B",
    "nothing but an endless rule": "start: A start",
    "prefixes": "start: (A | AB | B)+ C",
    "two levels of lists": "start: A x (B x)* C\nx: | x C x1\nx1: A start B",
}


def check(tables: ParseTables, lexer: Lexer, length: int = 6, limit: int = 150) -> Distances:
    """Check the distances of all configurations behind short texts.

    A distance is 0 where the text may end, and else one more than the least of those that one byte leads to. Numbers
    that fulfil this everywhere are the distances. So that holds here, and they are searched for as well.
    """
    stacks = Stacks(tables)
    distances = Distances(tables, lexer, stacks)
    configurations = Configurations(tables, lexer, stacks)
    start = configurations.start()
    assert distances.is_empty == (start is None or distances.of(*start) == FAR)
    for configuration in configurations.reachable(length, limit):
        found = distances.of(*configuration)
        around = [distances.of(*other) for other in configurations.successors(configuration)]
        expected = 0 if configurations.may_end(configuration) else min([FAR, *[1 + each for each in around]])
        assert found == expected, configuration
        searched = configurations.distance(configuration, 4)
        assert searched == (found if found <= 4 else None), configuration
    return distances


@pytest.mark.parametrize("name", GRAMMARS)
@pytest.mark.parametrize("apart", [(), ("A", "B"), ("A", "B", "C", "AB")])
@pytest.mark.parametrize("blanks", [False, True])
def test_distances(name: str, apart: tuple[str, ...], blanks: bool) -> None:
    tables = tables_of(GRAMMARS[name] + LETTERS)
    check(tables, letter_lexer(tables, apart, blanks))


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_random_grammars_and_lexers(data: st.DataObject) -> None:
    try:
        tables = tables_of(data.draw(random_grammars()))
    except GrammarError:
        assume(False)
    check(tables, data.draw(random_lexers(tables)), limit=60)
    check(tables, letter_lexer(tables, data.draw(st.sampled_from([(), ("A",), ("A", "B")]))), limit=60)
