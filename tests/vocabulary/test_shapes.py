"""The trie of shapes against a reference that looks at one token after the other."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.models.vocabularies import loaded

from sfgen import Vocabulary
from sfgen.vocabulary import TokenTrie, shapes
from sfgen.vocabulary.shapes import BYTE_KINDS, KINDS, LABELS, RULES, Shapes, shapes_of

CHARACTERS = ["a", "e", "Z", "7", " ", "é", "ß", "ж", "א", "ก", "日", "한", "€", "\ue000", "😀", "\U0010ffff"]
PIECES = [*(character.encode() for character in CHARACTERS)]
HALVES = [piece[:length] for piece in PIECES for length in range(1, len(piece))] + [piece[1:] for piece in PIECES[5:]]
WRONG = [b"\xc0", b"\xff", b"\xe0\x80", b"\xed\xa0\x80", b"\xf0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82"]
TOKENS = st.lists(st.sampled_from([*PIECES, *PIECES, *HALVES, *WRONG]), min_size=1, max_size=5).map(b"".join)


def shape(data: bytes) -> bytes:
    """The labels of a token's characters, from left to right; what is no UTF-8 is taken byte by byte."""
    characters = data.decode("utf-8", "surrogateescape")
    return bytes([_label(character.encode("utf-8", "surrogateescape")) for character in characters])


RULES_LISTED = RULES.tolist()


@cache
def _label(character: bytes) -> int:
    for label, length, *bounds in RULES_LISTED:
        places = zip(character, bounds[::2], bounds[1::2], strict=False)
        if length == len(character) and all(low <= byte <= high for byte, low, high in places):
            return int(label)
    assert len(character) == 1
    return character[0]


def check(found: Shapes, trie: TokenTrie, tokens: list[bytes | None]) -> None:
    """Everything that is told of the nodes, in pre-order."""
    path: list[int] = []
    shapes_seen: dict[bytes, int] = {}
    for node in range(len(found)):
        del path[found.depths[node] - 1 :]
        path.append(found.labels[node])
        assert len(path) == found.depths[node]
        assert bytes(path) not in shapes_seen
        shapes_seen[bytes(path)] = node
    for text, node in shapes_seen.items():
        below = [other for other in shapes_seen if other.startswith(text)]
        assert found.subtree_ends[node] == node + len(below)
    first: dict[bytes, int] = {}
    for token, data in enumerate(tokens):
        if data:
            first.setdefault(data, token)
    expected: dict[bytes, set[int]] = {}
    for data, token in first.items():
        expected.setdefault(shape(data), set()).add(token)
    assert {text[:length] for text in expected for length in range(1, len(text) + 1)} == set(shapes_seen)
    words = (len(tokens) + 31) // 32
    for text, node in shapes_seen.items():
        listed = found.tokens[found.token_starts[node] : found.token_starts[node + 1]].tolist()
        assert len(listed) == len(set(listed))
        assert set(listed) == expected.get(text, set())
        assert (found.dense[node] >= 0) == (len(listed) > words // 8)
        if found.dense[node] >= 0:
            assert _ids(found.rows[found.dense[node]]) == set(listed)
    assert _ids(found.rows[-1]) == set(first.values())
    _check_beginnings(found, trie, shapes_seen)


def _check_beginnings(found: Shapes, trie: TokenTrie, shapes_seen: dict[bytes, int]) -> None:
    prefixes: list[bytes] = []
    place: dict[bytes, int] = {}
    data = bytearray()
    for node in range(len(trie)):
        del data[trie.depths[node] - 1 :]
        data.append(trie.bytes[node])
        prefixes.append(bytes(data))
        place[bytes(data)] = node
    expected: dict[int, set[int]] = {}
    for prefix in prefixes:
        text = shape(prefix)
        if text in shapes_seen and text[-1] < 0x80:  # a byte above is by itself no whole character
            length = next((rule[1] for rule in RULES_LISTED if rule[0] == text[-1]), 1)
            begin = place[prefix[: len(prefix) - length + 1]]
            expected.setdefault(shapes_seen[text], set()).add(begin)
    for node in range(len(found)):
        nodes = found.nodes[found.node_starts[node] : found.node_starts[node + 1]].tolist()
        assert len(nodes) == len(set(nodes))
        assert set(nodes) == expected.get(node, set())
        labels = trie.bytes[nodes].tolist()
        assert labels == sorted(labels)


def _ids(row: np.ndarray[tuple[int], np.dtype[np.uint32]]) -> set[int]:
    return set(np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little")).tolist())


@given(st.lists(TOKENS | st.none() | st.binary(min_size=1, max_size=4), max_size=40))
def test_shapes_equal_the_reference(tokens: list[bytes | None]) -> None:
    trie = TokenTrie.from_tokens(tokens)
    check(shapes_of(trie), trie, tokens)


def test_kinds_that_rows_of_many_tokens_have() -> None:
    """More tokens than a row has words, so that no row is kept of most shapes."""
    tokens = [bytes([a, b]) for a in b"abcdefgh" for b in b"abcdefgh -"] + [bytes([a]) for a in range(256)]
    trie = TokenTrie.from_tokens(tokens)
    found = shapes_of(trie)
    check(found, trie, list(tokens))
    assert -1 in found.dense
    assert found.dense.max() >= 0


def test_the_kinds_are_told_apart() -> None:
    assert len(KINDS) == LABELS == len(set(KINDS.tolist()))
    assert [length for label, length, *_ in RULES.tolist()].count(1) == BYTE_KINDS
    assert RULES[:BYTE_KINDS, 0].tolist() == KINDS[:BYTE_KINDS].tolist()
    for code in [*range(0x80, 0x3000, 7), *range(0x3000, 0xD800, 61), *range(0xE000, 0x110000, 997)]:
        assert _label(chr(code).encode()) in KINDS


def test_they_are_made_once_for_a_trie() -> None:
    trie = Vocabulary([b"a", b"b"]).trie
    found: list[Shapes] = []
    threads = [threading.Thread(target=lambda: found.append(shapes_of(trie))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(other is found[0] for other in found)
    assert not any(getattr(found[0], name).flags.writeable for name in Shapes.__slots__)


def test_they_are_not_held_without_the_trie() -> None:
    trie = Vocabulary([b"a", b"b"]).trie
    shapes_of(trie)
    known = weakref.ref(trie)
    del trie
    gc.collect()
    assert known() is None


@pytest.mark.parametrize("name", ["gpt2", "llama3", "gemma2"])
def test_shapes_of_published_vocabularies(name: str, real_tokenizer_directory: Callable[[str], Path]) -> None:
    _, vocabulary = loaded(real_tokenizer_directory(name))
    trie, found = vocabulary.trie, shapes.shapes_of(vocabulary.trie)
    first: dict[bytes, int] = {}
    for token, data in enumerate(vocabulary.tokens):
        if data and token not in vocabulary.end_token_ids:
            first.setdefault(data, token)
    expected: dict[bytes, set[int]] = {}
    for data, token in first.items():
        expected.setdefault(shape(data), set()).add(token)
    path = bytearray()
    for node in range(len(found)):
        del path[found.depths[node] - 1 :]
        path.append(found.labels[node])
        listed = found.tokens[found.token_starts[node] : found.token_starts[node + 1]].tolist()
        assert set(listed) == expected.pop(bytes(path), set())
    assert not expected
    assert len(found) * 5 < len(trie)
