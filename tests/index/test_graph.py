"""The token graph against the tokens, one by one."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.patterns.automata import automata, token_edges, vocabularies
from tests.support.running.tried import tried

from sfgen import Dfa, Index, Vocabulary
from sfgen.automata.graph import character_graph
from sfgen.automata.pictures import to_dot, to_mermaid
from sfgen.errors import SfgenError, UsageError
from sfgen.index.export import graph, quoted, token_graph


def ids_of(label: str) -> tuple[list[int], int]:
    """The ids that are named on an edge, and how many there are in all."""
    match = re.fullmatch(r"([0-9, ]+?)(?: … ([0-9,]+) more)?", label)
    assert match
    shown = [int(number) for number in match[1].split(", ")]
    return shown, len(shown) + int((match[2] or "0").replace(",", ""))


@given(automata(), vocabularies(), st.integers(1, 7))
@tried("many")
def test_an_edge_for_all_tokens_between_two_states(dfa: Dfa, vocabulary: Vocabulary, most: int) -> None:
    try:
        index = Index(dfa, vocabulary)
    except SfgenError:
        return
    # From the brute-force edges, those to states from which nothing can be finished taken away.
    edges = token_edges(dfa, vocabulary)
    live = {state for state in range(len(dfa)) if dfa.accepting[state]}
    while more := {s for s, reached in enumerate(edges) if s not in live and live & set(reached.values())}:
        live |= more
    tokens: dict[tuple[int, int], list[int]] = {}
    away = {0: 0}
    queue = [0]
    for state in queue:
        for token, target in edges[state].items():
            if target in live:
                tokens.setdefault((state, target), []).append(token)
                if target not in away:
                    away[target] = away[state] + 1
                    queue.append(target)
    found = token_graph(index, ids=True, max_states=most)
    shown = [state.number for state in found.states]
    assert [away[state] for state in shown] == sorted(away.values())[:most]
    assert [state.accepting for state in found.states] == [bool(dfa.accepting[state]) for state in shown]
    inside = {pair: ids for pair, ids in tokens.items() if set(pair) <= set(shown)}
    outside = {pair for pair in tokens if pair[0] in shown and pair[1] not in shown}
    labels = {(edge.source, edge.target): ids_of(edge.label) for edge in found.edges}
    assert len(labels) == len(found.edges)
    assert {pair: total for pair, (_, total) in labels.items()} == {pair: len(ids) for pair, ids in inside.items()}
    assert all(inside[pair][: len(first)] == first for pair, (first, _) in labels.items())
    assert set(found.continuing) == {source for source, _ in outside}
    assert found.states_left_out == len(away) - len(shown)


def test_tokens_are_named_as_in_the_tables() -> None:
    vocabulary = Vocabulary([b"a", b"b", b"a", b"ab", b"</s>"], end_token_ids=[4])
    edges = token_graph(Index(Dfa.from_regex("ab?"), vocabulary)).edges
    assert {edge.label for edge in edges} == {'"a"#0, "a"#2', '"ab"', '"b"'}


def test_many_tokens_are_counted() -> None:
    vocabulary = Vocabulary([bytes([byte]) for byte in range(0x61, 0x7B)] * 100)
    (edge,) = token_graph(Index(Dfa.from_regex("[a-z]"), vocabulary), ids=True).edges
    assert edge.label == "0, 1, 2, 3, 4, 5, 6, 7, 8, 9 … 2,590 more"


@pytest.mark.parametrize(
    ("token", "label"),
    [
        (b"na", '"na"'),
        (b" x ", '" x "'),
        (b'"\\\n\x00', r'"\"\\\n\x00"'),
        ("é\u0301\u200b\u0301".encode(), '"é\u0301\\u200b\\u0301"'),
        (b"\xc3\\xc3", r'"\xc3\\xc3"'),
        ("…".encode(), r'"\u2026"'),
        ("שלום".encode(), '"\u2068שלום\u2069"'),
        ("日本語".encode() * 9, f'"{"日本語" * 4}…"'),
        (b"\n" * 20, f'"{chr(92)}n' + "\\n" * 11 + '…"'),
        (b"x" * 26, f'"{"x" * 26}"'),
        (b"x" * 27, f'"{"x" * 25}…"'),
    ],
)
def test_the_text_of_a_token(token: bytes, label: str) -> None:
    assert quoted(token) == label


def test_the_methods_draw_these_graphs() -> None:
    index = Index(Dfa.from_regex("[ab]+c"), Vocabulary([b"a", b"b", b"c", b"ab"]))
    assert graph(index, tokens=False, ids=False, max_states=9) == character_graph(index.dfa)
    assert graph(index, tokens=True, ids=True, max_states=2) == token_graph(index, ids=True, max_states=2)
    assert index.to_dot() == index.dfa.to_dot()
    assert index.to_mermaid(max_states=1) == index.dfa.to_mermaid(max_states=1)
    assert index.to_dot(tokens=True, ids=True) == to_dot(token_graph(index, ids=True))
    assert index.to_mermaid(tokens=True, max_states=1) == to_mermaid(token_graph(index, max_states=1))


def test_states_inside_of_characters_are_drawn_if_tokens_lead_there() -> None:
    first, second = (bytes([byte]) for byte in "é".encode())
    index = Index(Dfa.from_regex("é"), Vocabulary([first, second]))
    assert [edge.label for edge in token_graph(index).edges] == [r'"\xc3"', r'"\xa9"']


def test_the_start_at_least_is_drawn() -> None:
    index = Index(Dfa.from_regex("a"), Vocabulary([b"a"]))
    with pytest.raises(UsageError, match="has no start"):
        index.to_dot(tokens=True, max_states=0)
