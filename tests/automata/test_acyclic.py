from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.running.tried import tried

from sfgen.automata.acyclic import State, byte_automaton, byte_sequences, minimal_acyclic
from sfgen.regex.characters import TEXT, Ranges, union


def language(states: list[State[str]], number: int) -> set[str]:
    here = {""} if states[number].accepting else set()
    return here | {label + rest for label, target in states[number].edges for rest in language(states, target)}


@given(st.sets(st.text("abc", max_size=5)))
def test_accepts_the_sequences_with_the_fewest_states(words: set[str]) -> None:
    states = minimal_acyclic(sorted(words))
    assert language(states, len(states) - 1) == words
    # One state for each set of endings that some beginning leaves open.
    beginnings = {word[:cut] for word in words for cut in range(len(word) + 1)} | {""}
    endings = {frozenset(word[len(start) :] for word in words if word.startswith(start)) for start in beginnings}
    assert len(states) == len(endings)


EDGES = [
    0,
    0x7F,
    0x80,
    0x7FF,
    0x800,
    0xFFF,
    0x1000,
    0xD7FF,
    0xE000,
    0xFFFF,
    0x10000,
    0x3FFFF,
    0x40000,
    0xFFFFF,
    0x10FFFF,
]
codes = st.one_of(st.sampled_from(EDGES), st.integers(0, 0x10FFFF), st.integers(0, 0x900))
sets = st.lists(st.tuples(codes, codes).map(lambda pair: (min(pair), max(pair))), min_size=1, max_size=4).map(
    lambda pairs: union(pairs)
)


def products(ranges: Ranges) -> int:
    total = 0
    for sequence in byte_sequences(ranges):
        size = 1
        for low, high in sequence:
            size *= high - low + 1
        total += size
    return total


def reads(ranges: Ranges, data: bytes) -> bool:
    states = {0}
    for byte in data:
        edges = byte_automaton(ranges).edges
        states = {target for source, low, high, target in edges if source in states and low <= byte <= high}
    return 1 in states


@given(sets)
def test_the_sequences_are_exactly_the_encodings(ranges: Ranges) -> None:
    # As many byte strings as characters, and the encoding of every edge is among them: so nothing else is.
    assert products(ranges) == sum(last - first + 1 for first, last in ranges)
    sequences = list(byte_sequences(ranges))
    assert sequences == sorted(sequences)
    for first, last in ranges:
        for code in (first, last, (first + last) // 2):
            if not 0xD800 <= code <= 0xDFFF:
                data = chr(code).encode()
                assert any(
                    len(data) == len(sequence)
                    and all(low <= b <= high for b, (low, high) in zip(data, sequence, strict=True))
                    for sequence in sequences
                )


@pytest.mark.parametrize("ranges", [TEXT, ((0x7FF, 0x800),), ((0x41, 0x2FFF), (0x10000, 0x10FFF))])
def test_every_product_decodes_to_characters_of_the_set(ranges: Ranges) -> None:
    for sequence in byte_sequences(ranges):
        for ends in ([low for low, _ in sequence], [high for _, high in sequence]):
            code = ord(bytes(ends).decode())
            assert any(first <= code <= last for first, last in ranges)


@tried("some")
@given(sets, st.integers(0, 1 << 30))
def test_the_automaton_reads_exactly_the_set(ranges: Ranges, seed: int) -> None:
    generator = random.Random(seed)
    near = [code + shift for pair in ranges for code in pair for shift in (-1, 0, 1)]
    for code in [*near, *generator.choices(range(0x110000), k=10)]:
        if 0 <= code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF:
            assert reads(ranges, chr(code).encode()) == any(first <= code <= last for first, last in ranges), hex(code)


def test_it_is_no_larger_than_needed() -> None:
    # Any character: after the first byte it only matters how many follow and, for four leads, the range of the next.
    assert byte_automaton(TEXT).inner == 7


def test_surrogates_overlong_forms_and_the_empty_set() -> None:
    assert not reads(TEXT, b"\xed\xa0\x80")
    assert not reads(TEXT, b"\xc0\x80")
    assert not reads(TEXT, b"\xf4\x90\x80\x80")
    assert byte_automaton(()).edges == ()
