"""The index as plain data against the tokens, one by one."""

from __future__ import annotations

import json
from itertools import islice

import pytest
from hypothesis import given
from tests.support.patterns.automata import automata, vocabularies

from sfgen import Dfa, Index, Vocabulary
from sfgen.errors import SfgenError, UsageError
from sfgen.index.export import heading, rows, to_dict, token_names


@given(automata(), vocabularies())
def test_the_rows_are_what_may_follow(dfa: Dfa, vocabulary: Vocabulary) -> None:
    try:
        index = Index(dfa, vocabulary)
    except SfgenError:
        return
    for ids in (False, True):
        found = list(rows(index, ids=ids))
        names = list(map(str, range(len(vocabulary)))) if ids else token_names(vocabulary)
        assert [row["state"] for row in found] == list(range(len(dfa)))
        for state, row in enumerate(found):
            following = {token: index.next_state(state, token) for token in range(len(vocabulary))}
            assert row == {
                "state": state,
                "final": bool(dfa.accepting[state]),
                "tokens": {names[token]: target for token, target in following.items() if target >= 0},
            }
        whole = to_dict(index, ids=ids)
        assert whole == index.to_dict(ids=ids) == json.loads(json.dumps(whole))
        assert whole == heading(index) | {"transitions": {str(row["state"]): row["tokens"] for row in found}}
        assert whole["final"] == [row["state"] for row in found if row["final"]]
        assert whole["states"] == len(found)


def test_the_heading_says_what_the_index_is() -> None:
    vocabulary = Vocabulary([b"a", b"b", b"ab"])
    assert heading(Index(Dfa.from_regex("ab?"), vocabulary)) == {
        "pattern": "ab?",
        "vocabulary": {"size": 3, "fingerprint": vocabulary.fingerprint},
        "initial": 0,
        "final": [1, 2],
        "states": 3,
    }


def test_rows_are_made_when_it_is_their_turn() -> None:
    index = Index(Dfa.from_regex("[ab]{1000}"), Vocabulary([b"a", b"b"]))
    assert [row["state"] for row in islice(rows(index), 3)] == [0, 1, 2]
    assert sum(row is not None for row in index.masks) < 10


def test_some_states() -> None:
    index = Index(Dfa.from_regex("ab"), Vocabulary([b"a", b"b"]))
    assert [row["tokens"] for row in rows(index, ids=True, states=[2, 0])] == [{}, {"0": 1}]
    for state in (-1, 3):
        with pytest.raises(UsageError, match=f"no state {state}"):
            list(rows(index, states=[state]))
