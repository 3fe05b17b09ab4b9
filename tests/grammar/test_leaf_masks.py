"""The masks of a leaf that is another one but for a few texts are those of its automaton."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sfgen import Dfa, Vocabulary
from sfgen.grammar.leaf_masks import LeafMasks, LeafMasksBut, leaf_masks
from sfgen.grammar.rules import Leaf
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
    assert isinstance(found, LeafMasksBut)
    for state in range(len(dfa)):
        (mask, exits), (wanted_mask, wanted_exits) = found.mask(state), wanted.mask(state)
        assert np.array_equal(mask, wanted_mask)
        assert np.array_equal(exits, wanted_exits)
