"""With a limit every walk by allowed tokens ends complete; steps back leave nothing behind."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.grammars.random_grammars import KNOWN, Pair, TokenNetwork, pairs
from tests.support.running.tried import tried

import sfgen
from sfgen.errors import DeadEnd, LimitTooSmall, TextTooLong
from sfgen.grammar.network.network import network_of
from sfgen.grammar.network.positions import NetworkPositions
from sfgen.grammar.network.rules import (
    EMPTY,
    Alternation,
    Bytes,
    Call,
    Concatenation,
    CountedList,
    Expression,
    GrammarRules,
    Leaf,
    Literal,
    Repeat,
)
from sfgen.grammar.network.stack import NetworkPosition
from sfgen.grammar.network.walk import MOST_CONFIGURATIONS
from sfgen.grammar.shell.guide import GrammarGuide
from sfgen.index.distance import LONGEST_TEXT, UNREACHABLE
from sfgen.vocabulary import Vocabulary

S = Call("s")


@tried("some")
@given(st.booleans().flatmap(pairs), st.data())
def test_complete_at_every_limit(pair: Pair, data: st.DataObject) -> None:
    least = pair.tokens.guide().tokens_left()
    assert 0 <= least < UNREACHABLE
    if least:
        with pytest.raises(LimitTooSmall, match=str(least)):
            pair.tokens.guide(least - 1)
    ends = set(pair.vocabulary.end_token_ids)
    for limit in range(least, least + 5):
        guide, text = pair.tokens.guide(limit), b""
        for taken in range(limit + 1):
            allowed = guide.allowed_tokens().tolist()
            tokens = [token for token in allowed if token not in ends]
            may_stop = pair.recogniser.accepts(text)
            assert guide.is_accepting is may_stop
            assert allowed or may_stop, (limit, text)
            if not tokens or (may_stop and data.draw(st.booleans())):
                break
            token = data.draw(st.sampled_from(tokens))
            guide.advance(token)
            text += pair.vocabulary.tokens[token] or b""
            assert guide.tokens_left() <= limit - taken - 1
        assert pair.recogniser.accepts(text), (limit, text)
        assert pair.tokens.refusal(text) is None


@tried("some")
@given(st.booleans().flatmap(pairs), st.data())
def test_the_bound_falls_with_some_token(pair: Pair, data: st.DataObject) -> None:
    """From any position the text is complete after as many tokens as are told."""
    guide, text = pair.tokens.guide(), b""
    for _ in range(data.draw(st.integers(0, 6))):
        tokens = [token for token in guide.allowed_tokens().tolist() if token not in pair.vocabulary.end_token_ids]
        if not tokens:
            break
        token = data.draw(st.sampled_from(tokens))
        guide.advance(token)
        text += pair.vocabulary.tokens[token] or b""
    limit = guide.tokens_left()
    assert limit < UNREACHABLE
    limited = pair.tokens.guide(max(limit, pair.tokens.guide().tokens_left()))
    limited.advance_bytes(text)
    for _ in range(limit):
        if (now := limited.tokens_left()) == 0:
            break
        for token in limited.allowed_tokens().tolist():
            limited.advance(token)
            if limited.tokens_left() < now:
                text += pair.vocabulary.tokens[token] or b""
                break
            limited.rollback(1)
        else:
            pytest.fail(f"no token is nearer to an end than {now} tokens: {text!r}")
    assert limited.is_accepting
    assert pair.recogniser.accepts(text)


@tried("some")
@given(st.booleans().flatmap(pairs), st.data())
def test_steps_back_and_forks(pair: Pair, data: st.DataObject) -> None:
    """A guide that went other ways stands as a new one that took the same tokens."""
    least = pair.tokens.guide().tokens_left()
    limit = data.draw(st.none() | st.integers(least, least + 8))
    guide, taken = pair.tokens.guide(limit), list[int]()
    for _ in range(data.draw(st.integers(1, 12))):
        allowed = guide.allowed_tokens().tolist()
        if taken and (not allowed or data.draw(st.integers(0, 3)) == 0):
            count = data.draw(st.integers(1, len(taken)))
            guide.rollback(count)
            del taken[-count:]
        elif allowed:
            other, token = guide.fork(), data.draw(st.sampled_from(allowed))
            other.advance(data.draw(st.sampled_from(allowed)))
            assert guide.allowed_tokens().tolist() == allowed
            guide.advance(token)
            taken.append(token)
            if data.draw(st.booleans()):
                other.rollback(1)
                other.advance(token)
                assert stands(other) == stands(guide)
                guide = other
        new = TokenNetwork(pair.tokens.network, pair.vocabulary).guide(limit)
        for token in taken:
            new.advance(token)
        assert stands(guide)[1:] == stands(new)[1:]
        same = pair.tokens.guide(limit)
        for token in taken:
            same.advance(token)
        assert stands(guide) == stands(same)


def stands(guide: GrammarGuide[NetworkPosition]) -> tuple[object, ...]:
    allowed = guide.allowed_tokens().tolist()
    return guide.position, allowed, guide.tokens_left(), guide.is_accepting, guide.is_finished, guide.forced_bytes()


def test_a_vocabulary_that_cannot_write() -> None:
    with pytest.raises(DeadEnd):
        TokenNetwork(network_of(GrammarRules({"s": Literal(b"ab")}, "s")), Vocabulary([b"a"]))


@pytest.mark.parametrize("room", [None, 0, 3])
def test_texts_that_must_differ_run_out(room: int | None) -> None:
    """Without a token for "b", one name only can be written; all others could be by themselves."""
    record = next(grammar for grammar in KNOWN if grammar.start == "record" and "name" in grammar.rules)
    letters = b'{}":,1ac'
    tokens = TokenNetwork(network_of(record), Vocabulary([bytes([byte]) for byte in letters]))
    guide = tokens.guide(None if room is None else tokens.guide().tokens_left() + len(b'"":1,') + room)
    for byte in b'{"a":"a","":1,':
        guide.advance(letters.index(byte))
    assert guide.allowed_tokens().tolist() == [letters.index(b'"')]
    assert guide.tokens_left() == len(b'"c":1}')
    for byte in b'"c":1':
        guide.advance(letters.index(byte))
    assert guide.allowed_tokens().tolist() == [letters.index(b"}")]


@pytest.mark.parametrize("max_tokens", [None, 12, 40])
def test_items_that_must_differ_run_out(max_tokens: int | None) -> None:
    """Without a token for "é", there are two different items, not three."""
    items = sfgen.JsonSchema({"type": "array", "items": {"enum": ["a", "b", "é"]}, "uniqueItems": True})
    letters = b'[]", ab'
    guide = sfgen.Index(items, Vocabulary([bytes([byte]) for byte in letters])).guide(max_tokens)
    for byte, allowed in zip(
        b'["b", "a"]', [b"[", b'"]', b"ab", b'"', b",]", b" ", b'"', b"a", b'"', b"]"], strict=True
    ):
        assert sorted(guide.allowed_tokens().tolist()) == sorted(letters.index(each) for each in allowed)
        guide.advance(letters.index(byte))
    assert guide.is_finished


def test_more_texts_must_differ_than_can_be_written() -> None:
    items = sfgen.JsonSchema({"items": {"enum": ["a", "b", "é"]}, "uniqueItems": True, "minItems": 3, "type": "array"})
    with pytest.raises(DeadEnd):
        sfgen.Index(items, Vocabulary([bytes([byte]) for byte in b'[]", ab'])).guide()


def test_a_rule_that_is_begun_with_a_text_that_must_differ() -> None:
    """Its shortest text is not "axa": the second name is another one."""
    name = Call("name", distinct=True)
    rules: dict[str, Expression] = {
        "r": Concatenation((Call("pair"), Literal(b"!"), Repeat(Call("r"), 0, 1))),
        "pair": Concatenation((name, Literal(b"x"), name, Repeat(Call("r"), 0, 1))),
        "name": Leaf(sfgen.Dfa.from_regex("a+")),
    }
    tokens = TokenNetwork(network_of(GrammarRules(rules, "r")), Vocabulary([bytes([byte]) for byte in range(256)]))
    assert tokens.shortest(tokens.reader.start) == b"axaa!"
    assert tokens.guide().tokens_left() == 5


def test_of_two_ways_to_read_one_is_longer() -> None:
    """The end is within the limit by one way to read the text, and beyond it by the one that reads the token."""
    nested = Alternation((Concatenation((Literal(b"x"), S, Bytes(((0, 255),)))), EMPTY))
    rules: dict[str, Expression] = {
        "r": Concatenation((Literal(b"a"), Repeat(S, 0, 1), Literal(b"xaaba"))),
        "s": nested,
    }
    tokens = TokenNetwork(network_of(GrammarRules(rules, "r")), Vocabulary([b"a", b"x", b":", b"b"]))
    guide = tokens.guide(6)
    for token in (0, 1):
        guide.advance(token)
    assert guide.room == tokens.distance(guide.position) == 4
    assert guide.allowed_tokens().tolist() == [0]


def test_a_return_from_which_there_is_no_way() -> None:
    """ "[" is read as a list, and as a letter before "ba"; without a token for "b" the latter has no end."""
    item = Alternation((Concatenation((Bytes(((0, 255),)), S, Literal(b"ba"))), Literal(b","), Call("list")))
    rules: dict[str, Expression] = {"s": item, "list": CountedList(b"[", S, b", ", b"]", 1, 9)}
    tokens = TokenNetwork(network_of(GrammarRules(rules, "s")), Vocabulary([b"[", b",", b"]", b" ", b"a"]))
    guide = tokens.guide(5)
    for byte in b"[[,":
        guide.advance(b"[,".index(byte))
    assert guide.tokens_left() == 2
    assert guide.allowed_tokens().tolist() == [2]


def test_a_way_that_the_bytes_cannot_end_allows_nothing() -> None:
    """Behind ``aa`` the text may end; a longer one would need an ``a`` by itself, which no token writes."""
    grammar = sfgen.Grammar.from_gbnf('root ::= "a" x "a" | "b" x "b"\nx ::= "a" x "b" | ""')
    index = sfgen.Index(grammar, Vocabulary([b"b", b"aa", None], [2]))
    for limit in (None, 2, 4):
        guide = index.guide(limit)
        guide.advance(1)
        assert guide.allowed_tokens().tolist() == [2]


def doubled(times: int) -> GrammarRules:
    """An ``a``, or a text of 2 ** times of them behind a ``b``; no part of it is an automaton."""
    rules: dict[str, Expression] = {f"r{n}": Concatenation((Call(f"r{n + 1}"),) * 2) for n in range(times)}
    last = Alternation((Literal(b"a"), Concatenation((Literal(b"("), Call(f"r{times}"), Literal(b")")))))
    start = Alternation((Literal(b"a"), Concatenation((Literal(b"b"), Call("r0")))))
    return GrammarRules({"start": start, **rules, f"r{times}": last}, "start")


LETTERS = Vocabulary([b"a", b"b", b"(", b")", b"aaaa", b"ba", None], end_token_ids=[6])


@pytest.mark.parametrize("times", [15, 17, 30, 39, 60, 200])
def test_a_branch_too_long_for_any_limit_is_shut_under_one(times: int) -> None:
    tokens = TokenNetwork(network_of(doubled(times)), LETTERS)
    guide = tokens.guide(4)
    assert guide.allowed_tokens().tolist() == [0]
    assert guide.tokens_left() == 1
    guide.advance(0)
    assert guide.is_finished


@pytest.mark.parametrize("times", [17, 30, 39])
def test_the_bytes_of_a_text_that_is_not_written_out_bound_its_tokens(times: int) -> None:
    tokens = TokenNetwork(network_of(GrammarRules(doubled(times).rules, "r0")), LETTERS)
    with pytest.raises(LimitTooSmall, match=f"of 1000 tokens is too small: the shortest text has {2**times:,} bytes"):
        tokens.guide(1000)
    guide = tokens.guide()
    assert guide.tokens_left() == min(2**times, UNREACHABLE - 1)
    guide.advance(4)
    assert guide.tokens_left() == min(2**times - 4, UNREACHABLE - 1)


def test_below_that_bound_the_tokens_are_counted() -> None:
    tokens = TokenNetwork(network_of(GrammarRules(doubled(17).rules, "r0")), LETTERS)
    with pytest.raises(TextTooLong, match=f"has {2**17:,} bytes; texts of more than {LONGEST_TEXT:,} are"):
        tokens.shortest(tokens.guide().position)
    guide = tokens.guide(2**17)
    guide.advance_bytes(b"a" * (2**17 - LONGEST_TEXT - 1))
    assert guide.tokens_left() == LONGEST_TEXT + 1
    guide.advance(0)
    assert guide.tokens_left() == LONGEST_TEXT // 4


@pytest.mark.parametrize("times", [40, 60, 200])
def test_lengths_that_overflow_are_more_than_any_limit(times: int) -> None:
    with pytest.raises(TextTooLong, match="has more than 1,099,511,627,776 bytes"):
        TokenNetwork(network_of(GrammarRules(doubled(times).rules, "r0")), LETTERS)
    items = CountedList(b"[", Call("r0"), b",", b"]", 2**31 - 1, None)
    counted = network_of(GrammarRules({"list": items, **doubled(times - 20).rules}, "list"))
    with pytest.raises(TextTooLong, match="has more than 1,099,511,627,776 bytes"):
        TokenNetwork(counted, LETTERS)


def test_more_ways_than_a_walk_has_room_for() -> None:
    pairs = Concatenation((Literal(b"("), Repeat(Call("pairs"), 0, None), Literal(b")")))
    vocabulary = Vocabulary([b"(", b")", b"))", b"()", None], end_token_ids=[4])
    tokens = NetworkPositions(network_of(GrammarRules({"pairs": pairs}, "pairs")), vocabulary)
    position = tokens.reader.read(tokens.reader.start, b"((")
    assert position is not None
    many = position * (MOST_CONFIGURATIONS + 1)  # tokens are read one by one then
    assert tokens.allowed_tokens(tokens.bounded_mask(many, 2)).tolist() == [1, 2, 3]
    assert tokens.bounded_mask(many, 3).tolist() == tokens.bounded_mask(position, 3).tolist()
