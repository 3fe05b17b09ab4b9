"""The masks of leaves: those that are another one but for a few texts, and those that count."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfgen import Dfa, Index, JsonSchema, Vocabulary
from sfgen.grammar.network.leaf_masks import DerivedLeafMasks, LeafMasks, leaf_masks
from sfgen.grammar.network.rules import Leaf
from sfgen.models.tiny import DIRECTORY
from sfgen.schema.scalars.written_text import any_string, write, written_without

TINY = Vocabulary.from_pretrained(str(DIRECTORY))
SMALL = Vocabulary(
    [*(bytes([byte]) for byte in range(256)), b"id", b'id"', b'"id"', b'd":', b'd"', b'd"', b'e"}', b'"a"', None],
    end_token_ids=[264],
)
NAMES = st.text(st.sampled_from('idea"\\\né'), max_size=5)


@given(st.sampled_from([TINY, SMALL]), st.lists(NAMES, min_size=1, max_size=6))
def test_masks_are_those_of_the_automaton(vocabulary: Vocabulary, names: list[str]) -> None:
    dfa = written_without(names)
    found = leaf_masks(Leaf(dfa, any_string(), tuple(map(write, names))), vocabulary, None)
    wanted = LeafMasks(Dfa(dfa.transitions, dfa.byte_classes, dfa.accepting), vocabulary, None)
    assert isinstance(found, DerivedLeafMasks)
    for state in range(len(dfa)):
        (mask, exits), (wanted_mask, wanted_exits) = found.mask(state), wanted.mask(state)
        assert np.array_equal(mask, wanted_mask)
        assert np.array_equal(exits, wanted_exits)


@pytest.mark.parametrize("length", [253, 254, 260, 299, 300, 301])
def test_tokens_of_any_length_are_counted(length: int) -> None:
    letters = b"a" * 300
    vocabulary = Vocabulary([*(bytes([byte]) for byte in range(256)), letters, letters + b'"', None], [258])
    for bounds in ({"maxLength": length}, {"minLength": length}, {"minLength": length, "maxLength": 400}):
        guide = Index(JsonSchema({"type": "string", **bounds}), vocabulary).guide()
        guide.advance(ord('"'))
        fits = bounds.get("minLength", 0) <= 300 <= bounds.get("maxLength", 300)
        goes_on = bounds.get("maxLength", 300) >= 300
        assert [token in guide.allowed_tokens() for token in (256, 257)] == [goes_on, fits]
