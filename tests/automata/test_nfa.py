from __future__ import annotations

import pytest

from sfgen.automata.nfa import BORDER, MAX_NFA_SIZE, Plan, build
from sfgen.errors import InternalError, PatternTooLarge
from sfgen.regex import parse, settle
from sfgen.regex.ast import Border, concatenation

PATTERNS = [
    "",
    "a",
    "ab|c|",
    "a*",
    "a+",
    "a?",
    "a{3}",
    "a{2,5}",
    "a{0,4}",
    "a{3,}",
    "((a{2}b){3}|.{4,}){2}",
    "(a*)*",
    "[^a]",
]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_the_size_is_known_before_building(pattern: str) -> None:
    nfa = build(parse(pattern), pattern)
    inner, transitions = Plan().size(parse(pattern))
    assert nfa.states == inner + 2
    assert len(nfa.edges) + len(nfa.epsilons) == transitions


@pytest.mark.parametrize("pattern", PATTERNS)
def test_states_are_numbered_without_gaps_and_the_ends_keep_their_promise(pattern: str) -> None:
    nfa = build(parse(pattern), pattern)
    sources = {*nfa.edges[:, 0].tolist(), *nfa.epsilons[:, 0].tolist()}
    targets = {*nfa.edges[:, 3].tolist(), *nfa.epsilons[:, 1].tolist()}
    assert sources | targets == set(range(nfa.states))
    assert 0 not in targets
    assert 1 not in sources


@pytest.mark.parametrize(
    ("pattern", "position"), [("(a{1000}){1000}", 9), ("b((a{9}){4000000000}){9}", 8), (".{300000,}", 1)]
)
def test_too_large_names_the_limit_and_the_largest_count(pattern: str, position: int) -> None:
    with pytest.raises(PatternTooLarge, match=f"{MAX_NFA_SIZE:,}") as caught:
        build(parse(pattern), pattern)
    assert caught.value.position == position


def test_a_tree_that_is_not_settled_is_an_internal_error() -> None:
    with pytest.raises(InternalError):
        build(parse("^a"), "^a")


def test_lookarounds_stay_where_they_are_at_a_border() -> None:
    tree = settle(concatenation([parse(r"(?<=ab)c"), Border(), parse("(?!d*e)")]))
    nfa = build(tree, "")
    inner, transitions = Plan().size(tree)
    assert nfa.states == inner + 2
    assert len(nfa.edges) + len(nfa.epsilons) == transitions
    assert [edge[:3] for edge in nfa.edges.tolist()].count([3, BORDER, BORDER]) == 1
    for lookaround in nfa.lookarounds:
        borders = lookaround.nfa.edges[lookaround.nfa.edges[:, 1] == BORDER]
        letters = lookaround.nfa.edges[lookaround.nfa.edges[:, 1] != BORDER]
        assert borders[:, 0].tolist() == borders[:, 3].tolist() == sorted({*letters[:, 0].tolist(), 1})
    without = build(settle(concatenation([parse(r"(?<=ab)c"), parse("(?!d*e)")])), "")
    assert not any((lookaround.nfa.edges[:, 1] == BORDER).any() for lookaround in without.lookarounds)
