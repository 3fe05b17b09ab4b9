"""Members in any order: registers of names, more names than kernels know, and names that are used up."""

from __future__ import annotations

import random
import re
from functools import cache
from itertools import permutations

import pytest
from tests.oracles.bounded_recogniser import BoundedIndex
from tests.support.grammars.random_grammars import TokenNetwork
from tests.support.models.vocabularies import BYTES
from tests.support.running.tried import rounds

from sfgen import Dfa, Vocabulary
from sfgen.errors import DeadEnd
from sfgen.grammar.network.completion import NetworkCompletion
from sfgen.grammar.network.network import network_of
from sfgen.grammar.network.read import NetworkReader
from sfgen.grammar.network.registers.members import in_one_order
from sfgen.grammar.network.registers.register import NARROW
from sfgen.grammar.network.rules import AnyOrder, Call, GrammarRules, Leaf, Literal, NamedMember, OtherMember
from sfgen.protocols import Guide

ONE = Leaf(Dfa.from_regex("[01]"))
TOKENS = [
    *BYTES,
    *(b'{"', b'":1', b'":1,"', b',"', b'"}', b'":0}', b'"n', b'n6', b'n61":1,"', b'"b":0', b':1}', b'1,"b":1,"'),
]  # fmt: skip


def record(
    names: list[str], needed: set[str], *others: str, minimum: int = 0, maximum: int | None = None
) -> GrammarRules:
    """Objects of these names, and of others by patterns."""
    members = tuple(NamedMember(f'"{name}"'.encode(), Call("one"), name in needed) for name in names)
    more = tuple(OtherMember(Call(f"names {pattern}", distinct=True), Call("one")) for pattern in others)
    return GrammarRules(
        {
            "record": AnyOrder(
                members, more, b"{", Literal(b":"), Literal(b","), b"}", b"{}", minimum, maximum
            ),
            "one": ONE,
            **{f"names {pattern}": Leaf(Dfa.from_regex(f'"{pattern}"')) for pattern in others},
        },
        "record",
    )  # fmt: skip


@pytest.mark.parametrize("bounds", [(0, None), (1, 2), (3, None), (2, 3)])
@pytest.mark.parametrize("needed", [set[str](), {"a"}, {"a", "c"}])
def test_all_orders(needed: set[str], bounds: tuple[int, int | None]) -> None:
    names = ["a", "ab", "c"]
    minimum, maximum = bounds
    reader = NetworkReader(network_of(record(names, needed, minimum=minimum, maximum=maximum)))
    for count in range(4):
        for order in permutations(names, count):
            text = "{" + ",".join(f'"{name}":1' for name in order) + "}"
            position = reader.read(reader.start, text.encode())
            is_right = needed <= set(order) and minimum <= count and (maximum is None or count <= maximum)
            assert (position is not None and reader.accepts(position)) is is_right, text
            twice = text[:-1] + "," + text[1:]
            assert count == 0 or reader.read(reader.start, twice.encode()) is None


NAMES = ["b", *(f"n{number}" for number in range(NARROW + 4))]


def drawn(allowed: list[int], rng: random.Random) -> int:
    """A token: mostly a long one, so that many names are read."""
    longest = sorted(allowed, key=lambda token: -len(TOKENS[token]))[:6]
    return rng.choice(longest if rng.random() < 0.5 else allowed)


@cache
def many_names() -> tuple[TokenNetwork, BoundedIndex]:
    """A network with more names than kernels know, and its recogniser; both keep what they found."""
    grammar, vocabulary = record(NAMES, {"n3", "n20"}), Vocabulary(TOKENS)
    return TokenNetwork(network_of(grammar), vocabulary), BoundedIndex(grammar, vocabulary)


@cache
def many_needed() -> tuple[TokenNetwork, BoundedIndex]:
    """The same where most names are needed, those that kernels do not know among them."""
    needed, vocabulary = {*NAMES} - {"b", "n3", f"n{NARROW + 1}"}, Vocabulary(TOKENS)
    grammar = record(sorted(NAMES, key=lambda name: name not in needed), needed)
    return TokenNetwork(network_of(grammar), vocabulary), BoundedIndex(grammar, vocabulary)


def check_masks_along_a_text(guide: Guide, plain: Guide, rng: random.Random) -> None:
    """The masks of two guides along a random text are the same."""
    for _ in range(24):
        allowed = guide.allowed_tokens().tolist()
        assert allowed == plain.allowed_tokens().tolist()
        if not allowed:
            break
        token = drawn(allowed, rng)
        guide.advance(token)
        plain.advance(token)


def names_of_a_text(network: TokenNetwork, limit: int, seed: int) -> list[bytes]:
    """The names of a random text, which comes to its end within the limit and has no name twice."""
    rng, guide, text = random.Random(seed), network.guide(limit), b""
    while allowed := guide.allowed_tokens().tolist():
        token = drawn(allowed, rng)
        guide.advance(token)
        text += TOKENS[token]
    names = re.findall(rb'"([^"]*)":[01]', text)
    assert guide.is_accepting
    assert len(names) == len(set(names))
    return names


@pytest.mark.parametrize("seed", range(2))
def test_more_needed_names_than_kernels_tell_apart(seed: int) -> None:
    """The masks along a text that reads most names, and then goes on by chance, are those of the recogniser."""
    rng = random.Random(seed)
    guide, plain = (index.guide() for index in many_needed())
    names = rng.sample(NAMES, len(NAMES))[: len(NAMES) - 3]
    for number, name in enumerate(names):
        text = ("," if number else "{") + f'"{name}":1'
        guide.advance_bytes(text.encode())
        plain.advance_bytes(text.encode())
        if number > len(names) - 3:
            assert guide.allowed_tokens().tolist() == plain.allowed_tokens().tolist()
    check_masks_along_a_text(guide, plain, rng)


@pytest.mark.parametrize("more", [0, 5])
def test_more_needed_names_within_a_limit(more: int) -> None:
    """Each text comes to its end within the limit, with all names that are needed."""
    network, _ = many_needed()
    limit = network.guide().tokens_left() + more
    for seed in range(rounds(4)):
        names = names_of_a_text(network, limit, seed)
        assert {name.encode() for name in NAMES} - {b"b", b"n3", f"n{NARROW + 1}".encode()} <= set(names)


@pytest.mark.parametrize("seed", range(2))
def test_more_names_than_kernels_tell_apart(seed: int) -> None:
    """The masks along a random text are those of the recogniser."""
    rng = random.Random(seed)
    guide, plain = (index.guide() for index in many_names())
    check_masks_along_a_text(guide, plain, rng)


@pytest.mark.parametrize("limit", [16, 17, 24, 40, 90])
def test_more_names_within_a_limit(limit: int) -> None:
    """Each text comes to its end within the limit, whatever is chosen."""
    network, _ = many_names()
    for seed in range(rounds(20)):
        names = names_of_a_text(network, limit, seed)
        assert {b"n3", b"n20"} <= set(names)


def test_more_names_than_kernels_tell_apart_are_each_read_once() -> None:
    names = [f"n{number}" for number in range(NARROW + 4)]
    guide = TokenNetwork(
        network_of(record(names, set())), Vocabulary([*TOKENS, None], end_token_ids=[len(TOKENS)])
    ).guide()
    random.Random(1).shuffle(names)
    for name in names:
        guide.advance_bytes((b"{" if name is names[0] else b",") + f'"{name}":1'.encode())
    assert [TOKENS[token] for token in guide.allowed_tokens().tolist()] == [b"}"]
    guide.rollback(1)
    guide.advance_bytes(b",")
    last = guide.fork()
    last.advance_bytes(f'"{names[-1]}'.encode())
    assert [TOKENS[token] for token in last.allowed_tokens().tolist() if len(TOKENS[token]) == 1] == [b'"']


def test_a_byte_of_a_name_that_only_longer_tokens_have() -> None:
    """A name counts as completable from behind the last of its bytes that no token has alone."""
    tokens = [*(token for token in TOKENS if token != b"x"), b'"ax', b"ax", b'x"', b'ax":1']
    vocabulary = Vocabulary(tokens)
    with pytest.raises(DeadEnd):
        TokenNetwork(network_of(record(["axb", "ab"], {"axb"})), vocabulary).guide()
    grammar = record(["axb", "ab", "cc"], set())
    network, recogniser = TokenNetwork(network_of(grammar), vocabulary), BoundedIndex(grammar, vocabulary)
    for text in (b"", b"{", b'{"', b'{"a', b'{"ax', b'{"axb', b'{"axb"'):
        guide, plain = network.guide(), recogniser.guide()
        guide.advance_bytes(text)
        plain.advance_bytes(text)
        assert guide.allowed_tokens().tolist() == plain.allowed_tokens().tolist(), text
    guide = network.guide()
    guide.advance_bytes(b'{"ab":1,"')  # behind an "a" only the name with an "x" is left
    assert [tokens[token] for token in guide.allowed_tokens().tolist()] == [b"c"]


def test_names_that_are_used_up() -> None:
    """No text goes on where all names of one sort were read, and those of another are still there."""
    reader = NetworkReader(network_of(record(["c"], set(), "a", "b", maximum=3)))
    completion = NetworkCompletion(reader.network, reader.stacks.distances, None)
    rng = random.Random(2)
    for _ in range(60):
        position, text = reader.start, b""
        while not reader.is_final(position):
            whole = reader.read(position, completion.text(position))
            assert whole is not None
            assert reader.accepts(whole)
            following = [byte for byte in b'{}":,abc01' if reader.read(position, bytes([byte]))]
            text += bytes([rng.choice(following)])
            position = reader.read(reader.start, text) or position
        assert text.count(b":") == len({*text.split(b'"')[1::2]})


def test_one_order_is_one_of_the_orders() -> None:
    for grammar in (
        record(["a", "b"], {"b"}),
        record(["a", "b", "c"], set(), minimum=2),
        record(["a"], set(), "x*", minimum=2),
        record(["a", "b"], {"b"}, maximum=1),
        record([], set(), "x*"),
    ):
        members = grammar.rules["record"]
        assert isinstance(members, AnyOrder)
        reader = NetworkReader(network_of(grammar))
        one = NetworkReader(network_of(GrammarRules({**grammar.rules, "record": in_one_order(members)}, "record")))
        text = NetworkCompletion(one.network, one.stacks.distances, None).text(one.start)
        position = reader.read(reader.start, text)
        assert position is not None
        assert reader.accepts(position)
