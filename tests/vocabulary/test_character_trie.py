"""The tokens of a vocabulary, read character by character."""

from __future__ import annotations

import numpy as np

from sfgen import Vocabulary
from sfgen.vocabulary.character_trie import character_trie


def test_a_character_trie_says_where_characters_end() -> None:
    tokens = [b"a", b"ab", b"a\xc3\xa9", b"a\xc3", b"\xc3", b"\xa9", b"\xc3\xa9b", b"\xf0\x9fa", None]
    parts = character_trie(Vocabulary(tokens).trie)
    texts: dict[bytes, int] = {}
    depth = np.zeros(len(parts.parents), dtype=int)
    for stop, parent in enumerate(parts.parents.tolist()):
        depth[stop] = 1 if parent < 0 else depth[parent] + 1
        assert parent < stop
        assert parent < 0 or parts.first[parent] <= stop < parts.after[parent]
        assert (parent < 0) == (stop < parts.roots)
    last_stops = np.repeat(np.arange(-1, len(parts.nodes)), np.diff(parts.edges))
    for token, stop, tail in zip(parts.tokens.tolist(), last_stops.tolist(), parts.tails.tolist(), strict=True):
        data = tokens[token]
        assert data is not None
        assert data.endswith(parts.tail_texts[tail])
        assert bool(tail) == (data[-1:] in (b"\xc3", b"\xf0"))
        texts[data] = 0 if stop < 0 else int(depth[stop])
    assert texts == {
        b"a": 1, b"ab": 2, b"a\xc3\xa9": 2, b"a\xc3": 1, b"\xc3": 0, b"\xa9": 1, b"\xc3\xa9b": 2, b"\xf0\x9fa": 1,
    }  # fmt: skip
