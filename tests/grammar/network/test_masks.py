"""Masks of networks have the tokens that the recogniser can read, each tried."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.oracles.bounded_recogniser import BoundedIndex, BoundedRecogniser
from tests.support.grammars.random_grammars import KNOWN, Pair, TokenNetwork, grammars, pairs, quoted_text
from tests.support.grammars.rule_texts import RuleTexts
from tests.support.models.vocabularies import BYTES, loaded
from tests.support.running.tried import tried

from sfgen import Dfa, Vocabulary
from sfgen.errors import UsageError
from sfgen.grammar.network.network import network_of
from sfgen.grammar.network.rules import (
    Alternation,
    Call,
    Concatenation,
    CountedList,
    Expression,
    GrammarRules,
    Leaf,
    Literal,
    Series,
)

STEPS = 12


@given(pairs(), st.data())
def test_every_mask_of_a_walk(pair: Pair, data: st.DataObject) -> None:
    """Where all bytes are tokens, all that can be read is allowed."""
    guide, position = pair.tokens.guide(), pair.recogniser.start
    for _ in range(STEPS):
        readable = pair.readable(position)
        if not readable:
            assert guide.is_accepting
            assert not pair.vocabulary.end_token_ids
            break
        assert guide.allowed_tokens().tolist() == readable
        token = data.draw(st.sampled_from(readable))
        guide.advance(token)
        if token in pair.vocabulary.end_token_ids:
            break
        after = pair.recogniser.read(position, pair.vocabulary.tokens[token] or b"")
        assert after is not None
        position = after


@tried("some")
@given(pairs(every_byte=False), st.data())
def test_with_bytes_that_are_missing(pair: Pair, data: st.DataObject) -> None:
    """Only what can be read is allowed, and never nothing: what is allowed can be completed."""
    guide, position = pair.tokens.guide(), pair.recogniser.start
    for _ in range(STEPS):
        allowed = guide.allowed_tokens().tolist()
        assert set(allowed) <= set(pair.readable(position))
        ends = set(pair.vocabulary.end_token_ids)
        assert (set(allowed) & ends == ends) is guide.is_accepting or not ends
        assert allowed or guide.is_accepting
        text_tokens = [token for token in allowed if token not in ends]
        if not text_tokens:
            break
        token = data.draw(st.sampled_from(text_tokens))
        guide.advance(token)
        position = pair.recogniser.read(position, pair.vocabulary.tokens[token] or b"") or position


NUMBERS = GrammarRules({
    "whole": Concatenation((Literal(b"["), Series((), Literal(b","), Call("number")), Literal(b"]"), Call("rest"))),
    "number": Leaf(Dfa.from_regex("-?(0|[1-9][0-9]*)")),
    "rest": Concatenation((Call("few"), Call("sum"), Call("few"))),
    "few": CountedList(b"(", Call("number"), b",", b")", 0, 2),
    "sum": Concatenation((Call("number"), Series((), Literal(b"+"), Call("number")))),
}, "whole")  # fmt: skip


@given(st.sampled_from([NUMBERS, *KNOWN[:3]]) | grammars(wide=False, names=()), st.integers(0, 10**6))
def test_tokens_over_many_rules(grammar: GrammarRules, seed: int) -> None:
    """All parts of some texts are tokens."""
    chance = random.Random(seed)
    try:
        network, texts = network_of(grammar), RuleTexts(grammar, chance, depth=6)
        recogniser = BoundedRecogniser(grammar)
    except (UsageError, ValueError):  # there is no text, or a rule begins with itself
        assume(False)
        raise
    parts = {text[at : at + size] for text in (texts.draw()[:40] for _ in range(4)) for size in range(2, 10)
             for at in range(len(text) - size + 1)}  # fmt: skip
    vocabulary = Vocabulary([*BYTES, *sorted(parts), None], [256 + len(parts)])
    tokens = TokenNetwork(network, vocabulary)
    pair, guide, position = Pair(grammar, recogniser, tokens), tokens.guide(), recogniser.start
    for _ in range(6):
        readable = pair.readable(position)
        assert guide.allowed_tokens().tolist() == readable
        token = chance.choice(readable)
        if vocabulary.tokens[token] is None:
            break
        guide.advance(token)
        position = recogniser.read(position, vocabulary.tokens[token] or b"") or position


REAL = {
    "a record": (KNOWN[0], [b"", b"{", b'{"a":', b'{"a":"', b'{"a":"ab', b'{"a":"ab","b":[', b'{"a":"a","c":{"a":"b"']),
    "a map": (KNOWN[1], [b"", b"{", b'{"a":', b'{"a":1', b'{"a":{"b":-', b'{"a":{"b":20}']),
    "names that differ": (KNOWN[2], [b"{", b'{"b":1,"', b'{"b":1,"c":{"', b'{"bcb":{},"bc', b'{"a":1']),
    "wide text": (
        GrammarRules({
            "list": Concatenation((Literal(b"["), Series((), Literal(b", "), Call("text")), Literal(b"]"))),
            "text": Leaf(Dfa.from_regex('"[^"\\x00-\\x1f]*"')),
        }, "list"),
        [b"[", b'["', b'["a b", "'],
    ),
    "counted text": (
        GrammarRules({"text": quoted_text(b'"', bytes(range(0x61, 0x7B)) + b" ", True, 10, 300)}, "text"),
        [b'"', b'"' + b"a" * 8, b'"' + b"a" * 10, b'"' + b"a" * 295, b'"\xc3'],
    ),
}  # fmt: skip


@pytest.mark.parametrize("tokenizer", ["gpt2", "llama3"])
@pytest.mark.parametrize("name", REAL)
def test_real_vocabularies(name: str, tokenizer: str, real_tokenizer_directory: Callable[[str], Path]) -> None:
    _, vocabulary = loaded(real_tokenizer_directory(tokenizer))
    grammar, texts = REAL[name]
    tokens, plain = TokenNetwork(network_of(grammar), vocabulary), BoundedIndex(grammar, vocabulary)
    assert tokens.has_all_bytes
    for text in texts:
        ours, theirs = tokens.guide(), plain.guide()
        ours.advance_bytes(text)
        theirs.advance_bytes(text)
        assert np.array_equal(ours.allowed_tokens(), theirs.allowed_tokens()), text


@tried("handful")
@given(pairs(), st.integers(0, 10**6))
def test_threads_share_a_network(pair: Pair, seed: int) -> None:
    """All come to the same masks, whoever makes them."""

    def walk(tokens: TokenNetwork) -> list[list[int]]:
        random, found = np.random.default_rng(seed), list[list[int]]()
        for limited in (False, True):
            guide = tokens.guide(tokens.tokens_left(tokens.reader.start) + 2 if limited else None)
            for _ in range(8):
                found.append(guide.allowed_tokens().tolist())
                if not found[-1]:
                    break
                guide.advance(int(random.choice(found[-1])))
        return found

    alone = walk(TokenNetwork(network_of(pair.grammar), pair.vocabulary))
    results = list[list[list[int]]]()
    together = TokenNetwork(network_of(pair.grammar), pair.vocabulary)
    threads = [threading.Thread(target=lambda: results.append(walk(together))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [alone] * 4


N, S = Call("n", distinct=True), Call("s")
PAIR = Concatenation((N, Literal(b"c"), N))


@pytest.mark.parametrize(
    ("rules", "text", "more", "allowed"),
    [
        # The end right behind a text that was written before.
        ({"s": PAIR, "n": Leaf(Dfa.from_regex("(ab?)+"))}, b"aca", [], [b"a", b"b"]),
        # The rule ends with a repeated text inside a token.
        (
            {
                "s": Alternation((Concatenation((S, Literal(b"c"))), Call("r"))),
                "r": PAIR,
                "n": Leaf(Dfa.from_regex("a+")),
            },
            b"ac",
            [b"ac", b"aac"],
            [b"a", b"aac"],
        ),
        # As many ways to read it as there are trees.
        (
            {"s": Alternation((Concatenation((S, Literal(b"+"), S)), Literal(b"a")))},
            b"a+" * 30,
            [b"a+a", b"+a"],
            [b"a", b"a+a"],
        ),
        # A token counts more before the text closes inside it than any token does that stays in the text.
        (
            {"s": Concatenation((Call("t"), Literal(b"}"))), "t": quoted_text(b'"', b"a", False, 1, 3)},
            b'"a',
            [b'aaa"}', b'aa"}'],
            [b'"', b"a", b'aa"}'],
        ),
    ],
)
def test_what_was_allowed_wrongly_once(
    rules: dict[str, Expression], text: bytes, more: list[bytes | None], allowed: list[bytes]
) -> None:
    vocabulary = Vocabulary([*BYTES, *more, None], [256 + len(more)])
    guide = TokenNetwork(network_of(GrammarRules(rules, "s")), vocabulary).guide()
    guide.advance_bytes(text)
    assert [vocabulary.tokens[token] for token in guide.allowed_tokens().tolist()] == allowed


def test_a_character_that_cannot_be_finished() -> None:
    """A counted text where the second byte of a letter is no token."""
    vocabulary = Vocabulary([b'"', b"a", b"\xc3", b"a\xc3", b'a"', None], [5])
    guide = TokenNetwork(network_of(GrammarRules({"s": quoted_text(b'"', b"a", True, 1, 3)}, "s")), vocabulary).guide()
    guide.advance(0)
    assert guide.allowed_tokens().tolist() == [1, 4]


def test_ways_that_only_longer_tokens_complete() -> None:
    """They are allowed beside one that bytes complete: what the guide takes is what it allows."""
    text = Alternation((Literal(b"aa"), Concatenation((Literal(b"a"), Call("x"), Literal(b"a")))))
    x = Concatenation((Literal(b"a"), Alternation((Call("x"), Literal(b""))), Literal(b"b")))
    vocabulary = Vocabulary([b"a", b"b", b"ba"], [1])  # the end token writes no b
    tokens = TokenNetwork(network_of(GrammarRules({"s": text, "x": x}, "s")), vocabulary)
    for limit in (None, 3):
        guide = tokens.guide(limit)
        guide.advance_bytes(b"aa")
        assert guide.is_accepting
        assert guide.allowed_tokens().tolist() == [1, 2]
        guide.advance(2)
        assert guide.allowed_tokens().tolist() == [1]


def test_bytes_from_which_no_token_leads_to_an_end() -> None:
    """Nothing is allowed behind them."""
    either = Alternation((Literal(b'"a"'), Literal(b"1")))
    for limit in (None, 2):
        vocabulary = Vocabulary([b'"', b"a", b"1", None], [0, 3])
        guide = TokenNetwork(network_of(GrammarRules({"s": either}, "s")), vocabulary).guide(limit)
        assert guide.allowed_tokens().tolist() == [2]
        guide.advance_bytes(b'"')
        assert guide.allowed_tokens().tolist() == []
        assert not guide.mask().any()
