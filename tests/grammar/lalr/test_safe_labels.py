"""The labels of Lark grammars after which every text can be completed; ``test_distances`` holds them to all texts."""

from __future__ import annotations

import pytest
from tests.grammar.lalr.test_distances import GRAMMARS, LETTERS
from tests.support.grammars.lalr_tables import letter_lexer, tables_of

from sfgen.grammar.lalr.distances import TextDistances
from sfgen.grammar.lalr.items import has_conflicts
from sfgen.grammar.lalr.safe_labels import Safety, safety_by_gaps, safety_by_nodes, safety_of
from sfgen.grammar.lalr.stack import StateStacks


def unsafe(distances: TextDistances, safety: Safety) -> list[str]:
    """The terminals that are not safe."""
    names = [distances.readings.items.tables.terminals[terminal].name for terminal, _ in distances.labels]
    return [name for name, is_safe in zip(names, safety.labels, strict=False) if not is_safe]


def test_what_may_not_follow_itself() -> None:
    tables = tables_of("start: A C C | B" + LETTERS)
    distances = TextDistances(tables, letter_lexer(tables, ("C",)), StateStacks(tables))
    assert unsafe(distances, safety_of(distances)) == ["A", "C"]


def test_good_gaps_do_not_suffice_where_lark_resolved_a_conflict() -> None:
    """Lark shifts each A, so no text begins with one."""
    tables = tables_of("start: x A | C\nx: A | A x" + LETTERS)
    distances = TextDistances(tables, letter_lexer(tables), StateStacks(tables))
    assert has_conflicts(distances.readings.items)
    assert not unsafe(distances, safety_by_gaps(distances.readings, 9))
    assert unsafe(distances, safety_of(distances)) == ["A"]


SEPARABLE = {
    ("right recursion", (), False): True,
    ("right recursion", ("A",), False): False,
    ("right recursion", ("A",), True): True,
    ("dangling else", (), False): True,
    ("dangling else", ("A", "C"), False): False,
    ("dangling else", ("A",), False): True,
    ("a shift that loses all texts", (), False): False,
    ("a shift that loses some texts", (), False): True,
    ("a shift that leads into a dead end", (), False): False,
    ("nothing but an endless rule", (), False): False,
    ("empty rules", (), True): True,
    ("lists", ("A", "B", "C"), True): True,
}


@pytest.mark.parametrize(("case", "expected"), SEPARABLE.items())
def test_separable_grammars(case: tuple[str, tuple[str, ...], bool], expected: bool) -> None:
    name, apart, blanks = case
    tables = tables_of(GRAMMARS[name] + LETTERS)
    distances = TextDistances(tables, letter_lexer(tables, apart, blanks), StateStacks(tables))
    safety = safety_of(distances)
    assert safety.labels.all() == expected
    if expected:
        assert safety.most_per_node is not None


@pytest.mark.parametrize("first", ["A", "B"])
def test_what_is_taken_tells_levels_apart(first: str) -> None:
    """C C cannot be written. The parser takes the first C behind one of the openings, and refuses it behind the other.

    What can be written behind both is the same.
    """
    other = "AB".replace(first, "")
    tables = tables_of(f"start: {first} x B | {other} x C C | {other} x B\nx: AB" + LETTERS)
    lexer = letter_lexer(tables, ("C",))
    distances = TextDistances(tables, lexer, StateStacks(tables))
    assert unsafe(distances, safety_by_nodes(distances.readings, 9)) == ["C"]


def test_nothing_is_known_of_more_nodes_than_are_looked_at() -> None:
    tables = tables_of(GRAMMARS["dangling else"] + LETTERS)
    lexer = letter_lexer(tables)
    distances = TextDistances(tables, lexer, StateStacks(tables))
    found = safety_by_nodes(distances.readings, 9, most_nodes=3)
    assert found.most_per_node is None
    assert found.labels.tolist() == [False] * len(distances.labels) + [True]
