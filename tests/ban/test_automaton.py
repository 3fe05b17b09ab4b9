"""Aho and Corasick's automaton against its definition, and the trie with gaps by example."""

import random
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfgen.ban.automaton import BOUNDARY, GAP, ROOT, AhoCorasick, GapTrie, Threads

letters = st.binary(max_size=8).map(lambda data: bytes(97 + byte % 3 for byte in data))


@given(
    st.lists(letters.filter(bool), max_size=8), st.binary(max_size=40).map(lambda data: bytes(97 + b % 3 for b in data))
)
def test_every_node_is_the_longest_suffix_that_begins_a_keyword(keywords: list[bytes], text: bytes) -> None:
    automaton = AhoCorasick(keywords)
    prefixes = {keyword[:length] for keyword in keywords for length in range(len(keyword) + 1)} | {b""}
    proper = {keyword[:length] for keyword in keywords for length in range(len(keyword))} | {b""}
    node = ROOT
    for end in range(len(text) + 1):
        suffixes = [text[start:end] for start in range(end + 1)]  # longest first
        longest = next(suffix for suffix in suffixes if suffix in prefixes)
        assert automaton.depth(node) == len(longest)
        assert automaton.first_byte(node) == (longest[0] if longest else 0)
        growing = next(suffix for suffix in suffixes if suffix in proper)
        assert automaton.depth(automaton.pending(node)) == len(growing)
        expected = [index for suffix in suffixes for index, keyword in enumerate(keywords) if keyword == suffix]
        assert list(automaton.outputs(node)) == expected
        assert automaton.accepts(node) == bool(expected)
        if end < len(text):
            node = automaton.step(node, text[end])


def test_an_empty_keyword_is_refused() -> None:
    with pytest.raises(ValueError, match="keyword 1 is empty"):
        AhoCorasick([b"a", b""])


def test_twenty_thousand_keywords() -> None:
    generator = random.Random(0)
    keywords = sorted({bytes(generator.choices(b"abcdefgh", k=generator.randint(4, 12))) for _ in range(20_000)})
    automaton = AhoCorasick(keywords)
    text = b"".join(generator.choices(keywords, k=50))
    node, found = ROOT, set()
    for end, byte in enumerate(text, 1):
        node = automaton.step(node, byte)
        found |= {(end, keywords[index]) for index in automaton.outputs(node)}
    known = set(keywords)
    assert found == {
        (end, text[start:end]) for end in range(len(text) + 1) for start in range(max(0, end - 12), end)
        if text[start:end] in known
    }  # fmt: skip


def test_threads_that_share_an_automaton_find_what_one_alone_finds() -> None:
    generator = random.Random(1)
    keywords = [bytes(generator.choices(b"abc", k=generator.randint(1, 9))) for _ in range(3000)]
    texts = [bytes(generator.choices(b"abc", k=400)) for _ in range(8)]

    def found(automaton: AhoCorasick, text: bytes) -> list[list[int]]:
        node, numbers = ROOT, []
        for byte in text:
            node = automaton.step(node, byte)
            numbers.append(list(automaton.outputs(node)))
        return numbers

    shared = AhoCorasick(keywords)
    with ThreadPoolExecutor(len(texts)) as pool:
        together = list(pool.map(partial(found, shared), texts))
    assert together == [found(AhoCorasick(keywords), text) for text in texts]


def run(trie: GapTrie, text: str) -> list[tuple[int, int, int]]:
    """(end, start, index) of all that is complete in a text whose word characters are its letters."""
    threads: Threads = {}
    found = []
    for place, character in enumerate(text):
        bounded = place == 0 or not (character.isalpha() and text[place - 1].isalpha())
        if bounded:
            found += [(place, start, index) for start, index in trie.at_boundary(threads)]
        threads, done = trie.step(threads, character, not character.isalpha(), bounded, place)
        found += [(place + 1, start, index) for start, index in done]
    return found + [(len(text), start, index) for start, index in trie.at_boundary(threads)]


def test_a_gap_swallows_what_may_also_be_literal() -> None:
    trie = GapTrie([["c", "+", GAP, "+", "d"]])
    assert run(trie, "c++d") == []
    assert run(trie, "c+ +d") == [(5, 0, 0)]
    assert run(trie, "c++++d") == [(6, 0, 0)]
    assert run(trie, "c+x+d") == []


def test_boundaries_bind_the_ends_that_ask_for_them() -> None:
    trie = GapTrie([[BOUNDARY, "a", ".", "b", BOUNDARY], ["a", ".", "b"]])
    assert run(trie, "a.b") == [(3, 0, 1), (3, 0, 0)]
    assert run(trie, "xa.b ") == [(4, 1, 1)]
    assert run(trie, " a.bc") == [(4, 1, 1)]


def test_of_threads_at_one_node_the_earliest_stays() -> None:
    assert run(GapTrie([[":", GAP, "d"]]), ":::d") == [(4, 0, 0)]
