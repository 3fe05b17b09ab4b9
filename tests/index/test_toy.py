"""The toy index that the document on coalescence prints: token for token, state for state."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sfgen import Dfa, Index, Vocabulary

TOY = json.loads((Path(__file__).parents[1] / "data" / "toys.json").read_text())["coalescence"]


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    tokens = sorted(TOY["vocab"], key=TOY["vocab"].get)
    return Vocabulary([token.encode() for token in tokens])


@pytest.mark.parametrize("pattern", TOY["equivalent_regexes"])
def test_the_index_is_the_printed_one(pattern: str, vocabulary: Vocabulary) -> None:
    index = Index(Dfa.from_regex(pattern), vocabulary)
    printed = {state: TOY["index"].get(state, {}) for state in map(str, range(TOY["n_states"]))}
    described = index.to_dict()
    assert described["transitions"] == printed
    assert described["final"] == TOY["finals"]
    assert (described["initial"], described["states"]) == (TOY["initial"], TOY["n_states"])


def test_ids_name_the_same_transitions(vocabulary: Vocabulary) -> None:
    index = Index(Dfa.from_regex(TOY["equivalent_regexes"][1]), vocabulary)
    named = {
        state: {str(TOY["vocab"][token]): target for token, target in row.items()}
        for state, row in TOY["index"].items()
    }
    by_id = index.to_dict(ids=True)["transitions"]
    assert {state: row for state, row in by_id.items() if row} == named
