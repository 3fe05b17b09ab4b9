"""Grammars in Lark's language that ask for tokens of the vocabulary."""

from __future__ import annotations

import pickle
import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles.token_stacks import Byte, Item, Token
from tests.support.grammars.token_walks import VOCABULARY, Rules, check_walk, oracle_of

import sfgen
from sfgen import Grammar, Vocabulary
from sfgen.compiled_form import compiled_form, of_compiled_form
from sfgen.errors import GrammarError, LimitTooSmall, UsageError
from sfgen.grammar.lalr.lark_tokens import with_tokens
from sfgen.models.uniform import UniformModel

NAMES = {4: "<think>", 5: "</think>", 7: "</s>"}
TOKENS: list[bytes | None] = [b"a", b"b", b"ab", b"<", None, None, b"</", None, b" ", b"c"]
WORDS = Vocabulary(TOKENS, end_token_ids=[7], names=NAMES)
THINK = 'start: <think> TEXT? </think> word+\nTEXT: /[^c]+/\nword: "a" | "b"\n%ignore " "'


def allowed(text: str, read: Sequence[int] = (), most: int | None = None) -> list[int]:
    guide = Grammar.from_lark(text).guide(WORDS, most)
    for token in read:
        guide.advance(token)
    return [int(token) for token in guide.allowed_tokens()]


@pytest.mark.parametrize(
    ("text", "read", "expected"),
    [
        (THINK, [], [4, 8]),
        (THINK, [4], [0, 1, 2, 3, 5, 6, 8]),
        (THINK, [4, 2, 3, 5], [0, 1, 2, 8]),
        (THINK, [4, 5, 2], [0, 1, 2, 7, 8]),
        ("start: <[4]> <[0-1,3]>", [4], [0, 1, 3]),
        ("start: <[^0-4]>", [], [5, 6, 8, 9]),  # an end token is none of the others
        ("start: <[*]>", [], [0, 1, 2, 3, 4, 5, 6, 8, 9]),
        ('start: <[2]> "x" | "a" "b"', [], [0, 2]),
        ('start: <[0]> "b" | "a" "c"', [0], [1, 9]),  # as a token, and as its text
        ('start: WORD <[1]>\nWORD: /[ab]+/', [0], [0, 1, 2]),  # the word may go on, or end before the token
        ('start: (<[1]> | "c")*', [1], [1, 7, 9]),
        ("start: <think> <[4]> <[^4]> | <[4]> <[0]>", [4], [0, 4]),  # two spellings of one token
        ("start: /a+(?!b)/ <[9]>", [0], [0, 9]),
        ("start: THOUGHT\nTHOUGHT: <think>", [], [4]),
    ],
)  # fmt: skip
def test_allowed_tokens(text: str, read: list[int], expected: list[int]) -> None:
    assert allowed(text, read) == expected


def test_within_a_limit() -> None:
    assert allowed(THINK, most=3) == [4]
    assert allowed(THINK, [4], most=3) == [5]
    assert allowed(THINK, [4], most=4) == [0, 1, 2, 3, 5, 6]
    assert allowed(THINK, [4, 5], most=3) == [0, 1, 2]
    assert allowed(THINK, [4, 5, 0], most=3) == [7]
    with pytest.raises(LimitTooSmall, match="the shortest text takes 3\n  for example <think></think>a"):
        Grammar.from_lark(THINK).guide(WORDS, 2)


def test_a_guide_takes_back_and_forks() -> None:
    guide = Grammar.from_lark(THINK).guide(WORDS)
    assert guide.validate([4, 0, 0, 5, 2, 7]) == 6
    for token in (4, 0, 5):
        guide.advance(token)
    assert guide.describe() == "start: </think>"
    fork = guide.fork()
    guide.rollback(2)
    assert guide.allowed_tokens().tolist() == [0, 1, 2, 3, 5, 6, 8]
    for token in (4, 5, 10, -1):
        with pytest.raises(UsageError):
            fork.advance(token)


def test_texts_are_what_is_written() -> None:
    grammar = Grammar.from_lark(THINK)
    assert grammar.tokens == ("<think>", "</think>")
    assert grammar.written(WORDS) == {4: b"<think>", 5: b"</think>"}
    for text in ("<think></think>a", "<think>x é</think>ab", "<think></think></think>   b", "  <think></think>a "):
        assert grammar.accepts(text), text
        assert grammar.failure(text) is None
    for text in ("", "<think>", "<think></think>c", "a", "<think>c</think>a", "<think></think>"):
        assert not grammar.accepts(text), text
        assert grammar.failure(text) is not None
    assert grammar.shortest() == b"<think></think>a"
    assert all(grammar.accepts(text) for text in grammar.examples(20))
    failure = grammar.failure("<thin!")
    assert failure is not None
    assert (failure.position, failure.expected) == (5, ("<think>",))
    assert "<think>" in [rule.name for rule in grammar.rules()]


@pytest.mark.parametrize(
    ("text", "accepted", "refused"),
    [
        ('start: "a" <[1]> "b"', ["axb", "a<[1]>b", "abb", "abab"], ["ab", "a", "axba"]),
        ("start: <[^1]> <[*]>", ["ab", "aé", "abc"], ["a", ""]),
        ('start: <a> "a" | "<a>"', ["<a>a", "<a>"], ["<a", "a"]),
    ],
)
def test_tokens_without_names_are_any_bytes(text: str, accepted: list[str], refused: list[str]) -> None:
    grammar = Grammar.from_lark(text)
    assert [each for each in accepted if not grammar.accepts(each)] == []
    assert [each for each in refused if grammar.accepts(each)] == []


def test_a_copy_of_another_process() -> None:
    made = Grammar.from_lark(THINK)
    for grammar in (pickle.loads(pickle.dumps(made)), of_compiled_form(compiled_form(made)), Grammar.from_lark(THINK)):
        assert grammar == made
        assert grammar.guide(WORDS).allowed_tokens().tolist() == [4, 8]
        assert grammar.accepts("<think></think>a")


@pytest.mark.parametrize("seed", range(4))
def test_generated_texts_have_the_names_of_special_tokens(seed: int) -> None:
    index = sfgen.Index(Grammar.from_lark(THINK), WORDS)
    result = sfgen.generate(UniformModel(WORDS), "", index=index, max_tokens=8, sampler=sfgen.Sampler(1.0, seed))
    assert result.text.lstrip().startswith("<think>")
    assert index.guide().validate(result.token_ids) == len(result.token_ids)


@pytest.mark.parametrize(
    ("text", "reason", "place"),
    [
        ('start: "a"\n  | <think', "this is never closed by >", (2, 5)),
        ("start: <[a]>", "only numbers of tokens are allowed between <[ and ]>", (1, 8)),
        ("start: <[1,]>", "only numbers of tokens are allowed between <[ and ]>", (1, 8)),
        ("start: <[2-1]>", "the range 2-1 goes backwards", (1, 8)),
        ('start: A\nA: <think> "a"', "the terminal A contains a token of the vocabulary", (2, 1)),
        ("start: <think> a b", "rule", None),
    ],
)
def test_what_cannot_be_read(text: str, reason: str, place: tuple[int, int] | None) -> None:
    with pytest.raises(GrammarError) as caught:
        Grammar.from_lark(text)
    assert reason in caught.value.reason
    if place is not None:
        assert (caught.value.line, caught.value.column) == place


def test_errors_name_tokens_as_they_are_spelled() -> None:
    with pytest.raises(GrammarError) as caught:
        Grammar.from_lark("start: <think> b ) c\nb: c")
    assert (caught.value.line, caught.value.column) == (1, 18)
    assert caught.value.text.startswith("start: <think>")
    assert "TAAAA" not in str(caught.value)


def test_more_tokens_than_codes() -> None:
    with pytest.raises(GrammarError, match="more than 10 different tokens"):
        Grammar.from_lark("start: " + " | ".join(f"<[{number}]>" for number in range(13)))


@pytest.mark.parametrize(
    ("text", "reason"),
    [("start: <thin>", "no single token of the vocabulary is <thin>"), ("start: <[99]>", "there is no token 99")],
)
def test_a_vocabulary_without_the_token(text: str, reason: str) -> None:
    with pytest.raises(GrammarError, match=reason):
        Grammar.from_lark(text).guide(WORDS)


def test_texts_and_comments_are_no_tokens() -> None:
    text = 'start: "<a>" /<b>/ // <c>\n  | A -> x  # <d>\nA: "<e>"'
    assert with_tokens(text).text == text
    assert Grammar.from_lark(text).accepts("<a><b>")


# ---- against stacks of tokens --------------------------------------------------------------------------------------

_EVERY = {*range(11)}
_SETS = {
    "<x>": {8}, "<[8]>": {8}, "<[0]>": {0}, "<[6,9]>": {6, 9}, "<[2-4]>": {2, 3, 4}, "<[^8]>": _EVERY - {8},
    "<[*]>": _EVERY,
}  # fmt: skip
_TERMINALS = [*_SETS, '"a"', '"b"', '"é"']


def _items(spelling: str) -> list[Item]:
    if spelling in _SETS:
        return [Token(frozenset(_SETS[spelling]))]
    if spelling.startswith('"'):
        return [Byte(frozenset([byte])) for byte in spelling.strip('"').encode()]
    return [spelling]


@st.composite
def simple_grammars(draw: st.DrawFn) -> tuple[str, Rules]:
    """A grammar whose alternatives begin with different terminals, so that it is LALR(1); and the same as items."""
    names = ["start", "one", "two"][: draw(st.integers(1, 3))]
    lines, rules = [], Rules({"root": [["start"]]})
    for name in names:
        firsts = draw(st.lists(st.sampled_from(_TERMINALS), min_size=1, max_size=3, unique=True))
        alternatives = []
        for number, first in enumerate(firsts):
            following = _TERMINALS if number == 0 else [*_TERMINALS, *names, *names]
            alternatives.append([first, *draw(st.lists(st.sampled_from(following), max_size=3))])
        rules[name] = [[item for spelling in each for item in _items(spelling)] for each in alternatives]
        lines.append(f"{name}: {' | '.join(' '.join(each) for each in alternatives)}")
    return "\n".join(lines), rules


@given(simple_grammars(), st.randoms(use_true_random=False))
def test_random_walks(written: tuple[str, Rules], draws: random.Random) -> None:
    """Every token that the stacks read is allowed, and no other; a walk within a limit ends complete."""
    text, rules = written
    oracle = oracle_of(rules)
    grammar = Grammar.from_lark(text)
    check_walk(grammar.guide(VOCABULARY), oracle, draws, 5)
    least = grammar.guide(VOCABULARY).tokens_left()
    fewest = oracle.fewest(oracle.start, 3)
    assert fewest is None or fewest <= least
    guide, stacks, ids = grammar.guide(VOCABULARY, least + 1), oracle.start, list[int]()
    while tokens := [token for token in guide.allowed_tokens().tolist() if token not in VOCABULARY.end_token_ids]:
        assert set(tokens) <= set(oracle.allowed(stacks))
        ids.append(draws.choice(tokens))
        guide.advance(ids[-1])
        stacks = oracle.read(stacks, ids[-1])
    assert oracle.accepts(stacks)
    assert len(ids) <= least + 1
    assert grammar.accepts(
        b"".join(grammar.written(VOCABULARY).get(token) or VOCABULARY.tokens[token] or b"" for token in ids)
    )
