"""TokenTrie against the plain definition: a dictionary from prefixes to the tokens that end there."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.running.tried import tried

from sfgen.vocabulary import TokenTrie, Vocabulary
from sfgen.vocabulary.trie import NO_TOKEN

# Few letters, so that prefixes and duplicates are common; all bytes, so that 0 and 255 occur; some begin alike.
token = st.one_of(
    st.none(),
    st.just(b""),
    st.lists(st.sampled_from([0, 97, 98, 255]), max_size=5).map(bytes),
    st.binary(max_size=4),
    st.builds(
        lambda letter, count, end: letter * count + end,
        st.sampled_from([b"a", b"\0", b"\xff"]),
        st.sampled_from([7, 8, 15, 16, 17]),
        st.lists(st.sampled_from([0, 97, 255]), max_size=2).map(bytes),
    ),
)


def read_back(trie: TokenTrie) -> dict[bytes, list[int]]:
    """The string of every node with the ids that end there, from the bytes and depths alone."""
    path = bytearray()
    nodes: dict[bytes, list[int]] = {}
    for node in range(len(trie)):
        del path[trie.depths[node] - 1 :]
        path.append(trie.bytes[node])
        assert len(path) == trie.depths[node]
        assert bytes(path) not in nodes
        nodes[bytes(path)] = trie.token_ids[trie.token_starts[node] : trie.token_starts[node + 1]].tolist()
    return nodes


def definition(tokens: list[bytes | None], excluded: set[int]) -> dict[bytes, list[int]]:
    nodes: dict[bytes, list[int]] = {}
    for token_id, text in enumerate(tokens):
        if text and token_id not in excluded:
            for length in range(1, len(text) + 1):
                nodes.setdefault(text[:length], [])
            nodes[text].append(token_id)
    return nodes


def test_tokens_that_begin_alike_for_long_stand_in_byte_order() -> None:
    """They are sorted by their first sixteen bytes as numbers, in which a zero byte is like an end."""
    beginnings = [letter * count for letter in (b"a", b"\0", b"\xff") for count in (6, 7, 8, 14, 15, 16, 17, 40)]
    tokens = [
        b"%s%c%c" % (beginning, *end) for beginning in beginnings for end in itertools.product(b"\xff\0b", b"b\0")
    ]
    tokens += beginnings
    trie = TokenTrie.from_tokens(tokens)
    assert list(read_back(trie)) == sorted(definition([*tokens], set()))
    assert [tokens[each] for each in trie.token_ids] == sorted(tokens)


@tried("many")
@given(tokens=st.lists(token, max_size=30), excluded=st.sets(st.integers(0, 29)))
def test_trie_holds_every_prefix_and_every_token_once_in_byte_order(
    tokens: list[bytes | None], excluded: set[int]
) -> None:
    trie = TokenTrie.from_tokens(tokens, excluded)
    nodes = read_back(trie)
    expected = definition(tokens, excluded)
    assert nodes == expected
    assert list(nodes) == sorted(expected)  # pre-order with children by rising byte is the order of the strings
    strings = list(nodes)
    for node, end in enumerate(trie.subtree_ends.tolist()):
        below = [k for k, string in enumerate(strings) if string.startswith(strings[node])]
        assert below == list(range(node, end))
    assert trie.heights.tolist() == [
        max(len(strings[k]) for k in range(node, end)) - len(strings[node])
        for node, end in enumerate(trie.subtree_ends.tolist())
    ]
    assert trie.max_depth == max(map(len, strings), default=0)
    assert trie.vocabulary_size == len(tokens)
    assert np.flatnonzero(trie.single_bytes).tolist() == sorted(
        {s[0] for s, ids in nodes.items() if len(s) == 1 and ids}
    )


@tried("many")
@given(tokens=st.lists(token, max_size=30))
def test_first_and_repeated_tokens_tell_the_same_as_all(tokens: list[bytes | None]) -> None:
    trie = TokenTrie.from_tokens(tokens)
    repeated: dict[int, list[int]] = {}
    for first, other in trie.repeated_tokens.tolist():
        repeated.setdefault(first, []).append(other)
    for node, first in enumerate(trie.first_tokens.tolist()):
        here = trie.token_ids[trie.token_starts[node] : trie.token_starts[node + 1]].tolist()
        assert here == ([] if first == NO_TOKEN else [first, *repeated.pop(first, [])])
    assert not repeated


@tried("many")
@given(tokens=st.lists(token, max_size=30))
def test_roots_part_the_nodes_by_their_first_byte(tokens: list[bytes | None]) -> None:
    trie = TokenTrie.from_tokens(tokens)
    strings = list(read_back(trie))
    assert [trie.roots[0], trie.roots[256]] == [0, len(trie)]
    for byte in range(256):
        inside = strings[trie.roots[byte] : trie.roots[byte + 1]]
        assert inside == [string for string in strings if string[0] == byte]


def test_heights_beyond_what_a_byte_holds_are_255() -> None:
    trie = TokenTrie.from_tokens([b"a" * 300, b"a" * 10 + b"b"])
    assert trie.heights[:46].tolist() == [255] * 45 + [254]
    assert trie.heights[-1] == 0


def test_trie_arrays_have_the_promised_types_and_are_read_only() -> None:
    trie = TokenTrie.from_tokens([b"a", b"ab", b"a"])
    types: dict[str, type[np.generic]] = {
        "bytes": np.uint8,
        "depths": np.int32,
        "subtree_ends": np.int32,
        "token_starts": np.int32,
    }
    types |= {"token_ids": np.int32, "heights": np.uint8, "first_tokens": np.uint32, "repeated_tokens": np.int32}
    types |= {"roots": np.int32, "single_bytes": np.bool_}
    for name, dtype in types.items():
        array = getattr(trie, name)
        assert array.dtype == dtype, name
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_trie_of_nothing_is_empty() -> None:
    for tokens in ([], [None, b""]):
        trie = TokenTrie.from_tokens(tokens)
        assert len(trie) == 0
        assert trie.token_starts.tolist() == [0]
        assert trie.token_ids.tolist() == []
        assert not trie.roots.any()
        assert trie.max_depth == 0


def test_vocabulary_leaves_end_tokens_out_of_its_trie_and_keeps_it() -> None:
    vocabulary = Vocabulary([b"a", b"b", b"a", None], end_token_ids=[1, 3])
    assert read_back(vocabulary.trie) == {b"a": [0, 2]}
    assert vocabulary.trie is vocabulary.trie
    assert not vocabulary.trie.single_bytes[ord("b")]
