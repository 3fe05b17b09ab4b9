"""Graphs against the edges over characters, cut by a search of their own."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.patterns.random_patterns import RandomPattern

from sfgen.automata import Dfa
from sfgen.automata.edges import Edge, character_edges, following
from sfgen.automata.graph import Graph, GraphState, character_graph
from sfgen.automata.label import label
from sfgen.errors import SfgenError, UsageError


@st.composite
def dfas(draw: st.DrawFn) -> Dfa:
    if draw(st.booleans()):
        return Dfa.from_choices(draw(st.lists(st.text("abé日😀", max_size=5), min_size=1, max_size=8)))
    while True:
        try:
            return Dfa.from_regex(RandomPattern(Random(draw(st.integers(0, 2**32)))).text)
        except SfgenError:
            continue


def distances(edges: tuple[Edge, ...]) -> dict[int, int]:
    """How many characters each state is away from the start, by relaxing every edge until nothing changes."""
    found = {0: 0}
    changed = True
    while changed:
        changed = False
        for edge in edges:
            if edge.source in found and found[edge.source] + 1 < found.get(edge.target, 10**9):
                found[edge.target] = found[edge.source] + 1
                changed = True
    return found


@given(dfas())
def test_a_whole_graph_has_every_edge(dfa: Dfa) -> None:
    edges = character_edges(dfa)
    graph = character_graph(dfa, max_states=10_000)
    assert sorted(graph.edges) == sorted((edge.source, edge.target, label(edge.characters)) for edge in edges)
    states = {0} | {edge.target for edge in edges}
    assert sorted(graph.states) == [(state, bool(dfa.accepting[state])) for state in sorted(states)]
    assert graph.states[0].number == 0
    assert (graph.continuing, graph.states_left_out, graph.note) == ((), 0, "")


@given(dfas(), st.integers(1, 6))
def test_a_cut_graph_has_the_nearest_states(dfa: Dfa, most: int) -> None:
    edges = character_edges(dfa)
    away = distances(edges)
    graph = character_graph(dfa, max_states=most)
    shown = [state.number for state in graph.states]
    assert len(shown) == len(set(shown)) == min(most, len(away))
    assert [away[state] for state in shown] == sorted(away.values())[: len(shown)]
    assert graph.states_left_out == len(away) - len(shown)
    inside = [edge for edge in edges if edge.source in shown and edge.target in shown]
    outside = [edge for edge in edges if edge.source in shown and edge.target not in shown]
    assert sorted(graph.edges) == sorted((edge.source, edge.target, label(edge.characters)) for edge in inside)
    assert set(graph.continuing) == {edge.source for edge in outside}
    assert bool(graph.note) == bool(graph.states_left_out) == bool(outside)


def test_what_is_left_out_is_said() -> None:
    dfa = Dfa.from_regex("[a-z]{1,2000}")
    assert character_graph(dfa).note == "1,901 of 2,001 states are left out"
    assert character_graph(dfa, max_states=2000).note == "1 of 2,001 states is left out"
    assert character_graph(dfa, max_states=2001).note == ""


def test_a_language_without_texts_is_its_start() -> None:
    empty = Dfa.from_regex("a") & Dfa.from_regex("b")
    assert character_graph(empty) == Graph("", (GraphState(0, False),), ())
    assert empty.to_dict() == {"pattern": None, "initial": 0, "final": [], "states": 1, "transitions": {"0": {}}}


@pytest.mark.parametrize("most", [0, -1])
def test_the_start_at_least_is_drawn(most: int) -> None:
    with pytest.raises(UsageError, match="has no start"):
        character_graph(Dfa.from_regex("a"), max_states=most)


def test_a_title_is_one_line_and_not_long() -> None:
    assert character_graph(Dfa.from_regex("(?x) a\n b # \u200b")).title == r"(?x) a\n b # \u200b"
    title = character_graph(Dfa.from_regex("a" * 500)).title
    assert (len(title), title[-2:]) == (80, "a…")


@given(dfas())
def test_the_dict_is_the_automaton_and_its_keys_are_patterns(dfa: Dfa) -> None:
    found = dfa.to_dict()
    edges = character_edges(dfa)
    transitions = {
        (int(state), next_state): following(Dfa.from_regex(characters), 0)
        for state, leaving in found["transitions"].items()
        for characters, next_state in leaving.items()
    }
    assert transitions == {(edge.source, edge.target): edge.characters for edge in edges}
    assert found["final"] == [state for state, accepting in enumerate(dfa.accepting) if accepting]
    assert (found["pattern"], found["initial"], found["states"]) == (dfa.pattern, 0, len(dfa))
    assert list(map(int, found["transitions"])) == sorted({0} | {edge.target for edge in edges})


def test_a_long_set_is_a_key_that_is_not_cut() -> None:
    dfa = Dfa.from_regex(r"\p{L}+|x")
    ((key, _),) = dfa.to_dict()["transitions"]["0"].items()
    assert len(key) > 1000
    assert following(Dfa.from_regex(key), 0) == following(dfa, 0)


def test_a_repr_is_short() -> None:
    assert repr(Dfa.from_regex("a|b")) == "Dfa(pattern='a|b', states=2, accepting=1)"
    assert repr(Dfa.from_choices(["a", "bc"])) == "Dfa(states=3, accepting=1)"
    assert repr(Dfa.from_regex("x" * 300)) == f"Dfa(pattern='{'x' * 59}…', states=301, accepting=1)"
