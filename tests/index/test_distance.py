"""The way to the end against brute force: distances, limits, masks that leave room, what is missing."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.patterns.automata import allowed, automata, token_distances, vocabularies
from tests.support.running.tried import tried

from sfgen import Dfa, Index, Vocabulary
from sfgen.errors import DeadEnd, LimitTooSmall, UsageError
from sfgen.index import DfaIndex, tokens_of_row
from sfgen.index.distance import UNREACHABLE, byte_distances
from sfgen.index.distance import token_distances as computed_distances


def index_of(dfa: Dfa, vocabulary: Vocabulary) -> DfaIndex | None:
    try:
        return Index(dfa, vocabulary)
    except (DeadEnd, UsageError):
        return None


@tried("many")
@given(dfa=automata(), vocabulary=vocabularies())
def test_distances_equal_brute_force(dfa: Dfa, vocabulary: Vocabulary) -> None:
    expected = token_distances(dfa, vocabulary)
    index = index_of(dfa, vocabulary)
    assert (index is None) == (expected[0] is None)
    if index is None:
        return
    assert index.distance.tolist() == [UNREACHABLE if steps is None else steps for steps in expected]
    sequence = index.shortest_tokens()
    assert len(sequence) == expected[0]
    assert dfa.accepts(b"".join(vocabulary.tokens[token] or b"" for token in sequence))
    # Enough for every state from which there is a way at all.
    assert index.longest_way >= max(steps for steps in expected if steps is not None)


@tried("many")
@given(dfa=automata(most_states=12), vocabulary=vocabularies(), patience=st.integers(0, 12))
def test_distances_searched_from_both_ends_equal_brute_force(dfa: Dfa, vocabulary: Vocabulary, patience: int) -> None:
    expected = [UNREACHABLE if steps is None else steps for steps in token_distances(dfa, vocabulary)]
    assert computed_distances(dfa, vocabulary.trie, patience).tolist() == expected


@pytest.mark.parametrize(
    "pattern", ["b[^c]{0,300}(ab?c){0,2}bb", "(a{0,40}b){0,20}ccabccba", "(?s:.){0,200}cab(a|bb)", "[ab]{200}"]
)
@pytest.mark.parametrize("patience", [0, 40, 4000])
def test_distances_of_counted_repetitions_equal_those_of_a_search_from_one_end(pattern: str, patience: int) -> None:
    rng = Random(patience)
    tokens = {bytes(rng.choices(b"abc\xc3\xa9", k=rng.randrange(1, 9))) for _ in range(300)}
    trie = Vocabulary([*sorted(tokens), b"a", b"b", b"c"]).trie
    dfa = Dfa.from_regex(pattern)
    expected = computed_distances(dfa, trie, 1 << 60)
    assert expected.max() > 2
    assert computed_distances(dfa, trie, patience).tolist() == expected.tolist()


@given(dfa=automata(), vocabulary=vocabularies(), tokens_left=st.integers(0, 6))
def test_rows_that_leave_room_equal_brute_force(dfa: Dfa, vocabulary: Vocabulary, tokens_left: int) -> None:
    index = index_of(dfa, vocabulary)
    if index is None:
        return
    for state, expected in enumerate(allowed(dfa, vocabulary, tokens_left)):
        assert set(tokens_of_row(index.bounded_row(state, tokens_left)).tolist()) == expected


@given(dfa=automata(), vocabulary=vocabularies())
def test_a_limit_is_refused_just_where_nothing_fits(dfa: Dfa, vocabulary: Vocabulary) -> None:
    index = index_of(dfa, vocabulary)
    if index is None:
        return
    fewest = int(index.distance[0])
    # A fresh index: what is known of the distances must not matter.
    for limit in (fewest + 7, fewest + 1, fewest):
        Index(dfa, vocabulary).guide(limit)
    if fewest:
        with pytest.raises(LimitTooSmall, match=f"takes {fewest}"):
            Index(dfa, vocabulary).guide(fewest - 1)


@given(dfa=automata(), vocabulary=vocabularies(whole=True), room=st.integers(0, 3), data=st.data())
def test_a_guide_with_a_limit_always_comes_to_the_end(
    dfa: Dfa, vocabulary: Vocabulary, room: int, data: st.DataObject
) -> None:
    index = index_of(dfa, vocabulary)
    if index is None:
        return
    limit = int(index.distance[0]) + room
    guide = Index(dfa, vocabulary).guide(limit)
    taken = 0
    while True:
        left = allowed(dfa, vocabulary, limit - taken)[guide.state]
        assert set(guide.allowed_tokens().tolist()) == left
        text = left - set(vocabulary.end_token_ids)
        for token in range(len(vocabulary)):
            if token not in left:
                with pytest.raises(UsageError, match="not allowed"):
                    guide.advance(token)
        if not text:
            break
        guide.advance(data.draw(st.sampled_from(sorted(text))))
        taken += 1
    assert guide.is_accepting
    assert taken <= limit


@tried("some")
@given(dfa=automata())
def test_the_distance_in_bytes_is_that_of_single_bytes(dfa: Dfa) -> None:
    letters = Vocabulary([bytes([byte]) for byte in range(256)])
    expected = [UNREACHABLE if steps is None else steps for steps in token_distances(dfa, letters)]
    assert byte_distances(dfa).tolist() == expected


def test_tokens_longer_than_a_height_can_tell() -> None:
    vocabulary = Vocabulary([b"a" * 300, b"a" * 257, b"a" * 7, b"a"])
    dfa = Dfa.from_regex("a{600}b?")
    # The only way on for b is missing, so the text ends after 600 letters.
    index = Index(dfa, vocabulary)
    assert index.distance[0] == 2
    assert index.shortest_tokens() == [0, 0]
    assert index.distance.tolist() == [
        UNREACHABLE if steps is None else steps for steps in token_distances(dfa, vocabulary)
    ]


def test_a_branch_without_tokens_is_never_entered() -> None:
    index = Index(Dfa.from_regex("ax*z|b"), Vocabulary([b"a", b"x", b"b", None], [3]))
    assert index.allowed_tokens(0).tolist() == [2]
    with pytest.raises(UsageError, match="token 0 is not allowed"):
        index.guide().advance(0)


def test_dead_end_tells_bytes_in_no_token_from_those_inside_longer_ones() -> None:
    with pytest.raises(DeadEnd) as caught:
        Index(Dfa.from_regex("ax*zé"), Vocabulary([b"a", b"x", b"zz", b"\xc3", None], [4]))
    assert str(caught.value).splitlines()[1:3] == [
        "  bytes that are in no token: 0xA9",
        "  bytes that are only inside longer tokens: z",
    ]


def test_an_automaton_without_texts_is_refused() -> None:
    nothing = Dfa.from_regex("a") & Dfa.from_regex("b")
    with pytest.raises(UsageError, match="the automaton accepts no text at all"):
        Index(nothing, Vocabulary([b"a", b"b"]))
