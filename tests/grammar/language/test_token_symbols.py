"""Grammars that ask for tokens of the vocabulary: what is read, allowed, written and refused."""

from __future__ import annotations

import pickle
import random
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles.token_stacks import Byte, Item, Token
from tests.support.grammars.token_walks import VOCABULARY, Rules, check_walk, oracle_of
from tests.support.models.gguf import write_gguf
from tests.support.running.installed import needs_package

import sfgen
from sfgen import Grammar, Template, Vocabulary
from sfgen.compiled_form import compiled_form, of_compiled_form
from sfgen.errors import DeadEnd, GrammarError, LimitTooSmall, TemplateError, UsageError
from sfgen.grammar.shell.token_symbols import CODE_BYTES, coded_vocabulary, codes_of
from sfgen.models.tiny import DIRECTORY
from sfgen.models.uniform import UniformModel

NAMES = {4: "<think>", 5: "</think>", 7: "</s>"}
WORDS = Vocabulary([b"a", b"b", b"ab", b"<", None, None, b"</", None], end_token_ids=[7], names=NAMES)
THINK = "root ::= <think> thinking </think> [ab]*\nthinking ::= !</think>*"


def allowed(text: str, vocabulary: Vocabulary = WORDS, read: Sequence[int] = (), most: int | None = None) -> list[int]:
    guide = Grammar.from_gbnf(text).guide(vocabulary, most)
    for token in read:
        guide.advance(token)
    return [int(token) for token in guide.allowed_tokens()]


# ---- what may follow -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "read", "expected"),
    [
        (THINK, [], [4]),
        (THINK, [4], [0, 1, 2, 3, 4, 5, 6]),
        (THINK, [4, 2, 4, 5], [0, 1, 2, 7]),
        ("root ::= <[4]> <[0]>", [4], [0]),
        ("root ::= <[4]> <[0]>", [4, 0], [7]),
        ("root ::= !<[4]> !<think>", [], [0, 1, 2, 3, 5, 6]),
        ("root ::= !<[7]>", [], [0, 1, 2, 3, 4, 5, 6]),  # an end token is none of the others
        ('root ::= <[2]> "x" | "a" "b" "y"?', [], [0, 2]),
        ('root ::= <[0]> "b" | "a" "a"', [0], [0, 1]),  # as a token, and as its text
        ('root ::= "a" <[1]>', [], [0]),  # no token is read within another
        ('root ::= "<" <[2]> | "</" "a"', [], [3, 6]),
        ("root ::= <think> <[4]> !<think>", [4], [4]),  # two spellings of one token
        ("root ::= <think> <[4]> !<think> | <[4]> !<[4]>", [4], [0, 1, 2, 3, 4, 5, 6]),
        ('root ::= item*\nitem ::= "(" item* ")" | <[1]>', [1], [1, 7]),
    ],
)
def test_allowed_tokens(text: str, read: list[int], expected: list[int]) -> None:
    assert allowed(text, read=read) == expected


def test_a_token_that_is_text() -> None:
    vocabulary = Vocabulary([b"<", b"think", b">", b"<think>", None], end_token_ids=[4], names={4: "</s>"})
    assert allowed('root ::= <think> | "<" "x"?', vocabulary) == [0, 3]
    assert allowed("root ::= !<think>", vocabulary) == [0, 1, 2]


def test_within_a_limit() -> None:
    assert allowed(THINK, most=2) == [4]
    assert allowed(THINK, read=[4], most=2) == [5]
    assert allowed(THINK, read=[4], most=3) == [0, 1, 2, 3, 4, 5, 6]
    assert allowed(THINK, read=[4, 5], most=2) == [7]
    with pytest.raises(LimitTooSmall, match="the shortest text takes 2\n  for example <think></think>"):
        Grammar.from_gbnf(THINK).guide(WORDS, 1)


def test_a_guide_takes_back_and_forks() -> None:
    guide = Grammar.from_gbnf(THINK).guide(WORDS)
    assert guide.validate([4, 0, 0, 5, 2, 7]) == 6
    assert guide.validate([4, 5, 4]) == 2
    for token in (4, 0, 5):
        guide.advance(token)
    fork = guide.fork()
    guide.rollback(2)
    assert guide.allowed_tokens().tolist() == [0, 1, 2, 3, 4, 5, 6]
    assert fork.allowed_tokens().tolist() == [0, 1, 2, 7]
    for token in (4, 5, 8, -1):
        with pytest.raises(UsageError):
            fork.advance(token)


def test_the_view_names_rules_and_symbols() -> None:
    guide = Grammar.from_gbnf("root ::= <think> inner </think>\ninner ::= [ab]* part\npart ::= !</think>").guide(WORDS)
    seen = [guide.describe()]
    for token in (4, 0, 4, 5):
        guide.advance(token)
        seen.append(guide.describe())
    assert seen == ["root", "root", "root › inner", "root", "root"]  # part and inner have ended with the other token


def test_bytes_are_no_token() -> None:
    guide = Grammar.from_gbnf('root ::= "a" (<think> | "b")').guide(WORDS)
    assert guide.forced_bytes() == b"a"
    guide.advance_bytes(b"a")
    assert guide.forced_bytes() == b""
    for code in CODE_BYTES:
        with pytest.raises(UsageError):
            guide.advance_bytes(bytes([code]))
    guide.advance_bytes(b"b")
    assert guide.is_finished


def test_tokens_that_are_bytes_without_characters() -> None:
    """Codes are such bytes: a token of them is read by its symbol only."""
    tokens = [*(bytes([byte]) for byte in range(256)), b"\xf5a", None, None]
    vocabulary = Vocabulary(tokens, end_token_ids=[258], names={257: "<think>"})
    assert allowed('root ::= <[245]> | <think> | "a"', vocabulary) == [0x61, 245, 257]
    assert allowed('root ::= <think> "a"', vocabulary) == [257]
    assert allowed("root ::= !<think>", vocabulary) == list(range(257))
    assert allowed("root ::= !<think> <[256]>", vocabulary, [245]) == [256]


def test_more_symbols_than_codes_of_one_byte() -> None:
    count = len(CODE_BYTES) + 5
    vocabulary = Vocabulary([*(bytes([byte]) for byte in range(256)), None], end_token_ids=[256])
    text = "root ::= " + " | ".join(f'<[{number}]> "{number}" !<[{number}]>' for number in range(count))
    assert len(codes_of(count)[0]) == 2
    grammar = Grammar.from_gbnf(text)
    assert grammar.guide(vocabulary).allowed_tokens().tolist() == list(range(count))
    assert allowed(text, vocabulary, [7]) == [ord("7")]
    assert allowed(text, vocabulary, [7, ord("7")]) == [token for token in range(256) if token != 7]
    assert [grammar.guide(vocabulary, most).tokens_left() for most in (3, 4)] == [3, 3]
    with pytest.raises(LimitTooSmall):
        grammar.guide(vocabulary, 2)


def test_a_vocabulary_without_some_bytes() -> None:
    assert allowed('root ::= <think> ("a" | "x") | "b"') == [1, 4]
    assert allowed('root ::= <think> ("a" | "x") | "b"', read=[4]) == [0]
    with pytest.raises(DeadEnd):
        allowed('root ::= <think> "x"')


def test_as_few_tokens_as_the_limit_says() -> None:
    assert allowed('root ::= "aab" | <[3]> <[3]> <[3]>', most=2) == [0]  # a, ab
    assert allowed('root ::= "aaab" | <[3]> <[3]>', most=2) == [3]


# ---- texts ---------------------------------------------------------------------------------------------------------


def test_texts_are_what_is_written() -> None:
    grammar = Grammar.from_gbnf(THINK)
    assert grammar.tokens == ("<think>", "</think>", "!</think>")
    for text in ("<think></think>", "<think>x é</think>ab", b"<think>\xe6</think>"):
        assert grammar.accepts(text)
    for text in ("", "<think>", "<think></think>c"):
        assert not grammar.accepts(text)
    assert grammar.written(WORDS) == {4: b"<think>", 5: b"</think>"}
    assert grammar.accepts(grammar.shortest())
    assert grammar.examples(2) == ["<think></think>", "<think>!</think></think>"]
    assert all(grammar.accepts(text) for text in grammar.examples(20))
    failure = grammar.failure("ab")
    assert failure is not None
    assert (failure.position, failure.expected) == (0, ("<think>",))
    names = [(rule.name, rule.line, rule.kind, rule.states) for rule in grammar.rules()]
    assert names[2:] == [
        ("<think>", 1, "terminal", 2), ("</think>", 1, "terminal", 2), ("[ab]", 1, "terminal", 2),
        ("!</think>", 2, "terminal", 2),
    ]  # fmt: skip
    moves = {move.name for number in range(grammar.states()) for move in grammar.state(number).moves}
    assert moves == {"<think>", "</think>", "!</think>", "thinking", "[ab]"}


def test_a_grammar_without_tokens_is_the_same() -> None:
    grammar = Grammar.from_gbnf('root ::= "<think>"')
    assert grammar.tokens == ()
    assert grammar.written(WORDS) == {}


def test_a_copy_of_another_process() -> None:
    made = Grammar.from_gbnf(THINK)
    for grammar in (pickle.loads(pickle.dumps(made)), of_compiled_form(compiled_form(made))):
        assert grammar == made
        assert grammar.guide(WORDS).allowed_tokens().tolist() == [4]
        assert grammar.accepts("<think></think>")


@pytest.mark.parametrize("seed", range(6))
def test_generated_texts_have_the_names_of_special_tokens(seed: int) -> None:
    model = UniformModel(WORDS)
    index = sfgen.Index(Grammar.from_gbnf(THINK), WORDS)
    result = sfgen.generate(model, "", index=index, max_tokens=8, sampler=sfgen.Sampler(1.0, seed))
    assert result.text.startswith("<think>")
    assert result.token_ids[0] == 4
    assert 5 in result.token_ids
    assert index.guide().validate(result.token_ids) == len(result.token_ids)


# ---- errors --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "reason", "column"),
    [
        ("root ::= <think", "this is never closed by >", 10),
        ("root ::= !<think", "this is never closed by >", 11),
        ("root ::= !x", "! is allowed before a token only", 10),
        ("root ::= ! <think>", "! is allowed before a token only", 10),
        ("root ::= <[a]>", "only the number of a token is allowed between <[ and ]>", 10),
        ("root ::= <[-1]>", "only the number of a token is allowed between <[ and ]>", 10),
        ("root ::= <[12]x>", "only the number of a token is allowed between <[ and ]>", 10),
    ],
)
def test_what_cannot_be_read(text: str, reason: str, column: int) -> None:
    with pytest.raises(GrammarError) as caught:
        Grammar.from_gbnf(text)
    assert (caught.value.reason, caught.value.line, caught.value.column) == (reason, 1, column)


@pytest.mark.parametrize(
    ("text", "reason", "place", "hint"),
    [
        ("root ::= a\na ::= <thin>", "no single token of the vocabulary is <thin>", (2, 7), "<think>"),
        ("root ::= !<[8]>", "there is no token 8: the vocabulary has 8", (1, 10), "0 to 7"),
        ("root ::= </s>", "this token ends a text, so nothing can follow it", (1, 10), "by itself"),
        ("root ::= <[7]>", "this token ends a text, so nothing can follow it", (1, 10), "by itself"),
    ],
)
def test_a_vocabulary_without_the_token(text: str, reason: str, place: tuple[int, int], hint: str) -> None:
    grammar = Grammar.from_gbnf(text, origin="a.gbnf")
    with pytest.raises(GrammarError) as caught:
        grammar.guide(WORDS)
    assert (caught.value.reason, caught.value.line, caught.value.column) == (reason, *place)
    assert hint in caught.value.hint
    assert caught.value.origin == "a.gbnf"


def test_a_template_is_of_texts() -> None:
    with pytest.raises(TemplateError, match="has the token <think>"):
        Template("{{a: grammar root ::= <think>}}")
    with pytest.raises(TemplateError, match="has the token <think>"):
        Template.of_constraints("{{a: text}}", {"a": Grammar.from_gbnf("root ::= <think>")})


# ---- against other readers -----------------------------------------------------------------------------------------

_SETS = {
    "<x>": {8}, "<[8]>": {8}, "<y>": {9}, "<[0]>": {0}, "<[6]>": {6}, "<[2]>": {2}, "!<x>": {*range(11)} - {8},
    "!<[0]>": {*range(11)} - {0}, "!<y>": {*range(11)} - {9},
}  # fmt: skip
_SPELLINGS = {'"a"': "a", '"ab"': "ab", '"é"': "é", "[ab]": "", '"b"': "b"}


@st.composite
def written_grammars(draw: st.DrawFn) -> tuple[str, Rules]:
    """A grammar in GBNF, and the same as items; a rule may call later ones, and any behind something that is read."""
    names = ["root", "one", "two"][: draw(st.integers(1, 3))]
    lines, rules = [], Rules()
    for number, name in enumerate(names):
        found, texts = list[list[Item]](), list[str]()
        for alternative in range(draw(st.integers(1, 3))):
            items, text = list[Item](), list[str]()
            for _ in range(draw(st.integers(0 if alternative else 1, 3))):
                callable_names = [] if not alternative else names if items else names[number + 1 :]
                spelling = draw(st.sampled_from([*_SETS, *_SPELLINGS, *callable_names]))
                text.append(spelling)
                if spelling in _SETS:
                    items.append(Token(frozenset(_SETS[spelling])))
                elif spelling in names:
                    items.append(spelling)
                elif spelling == "[ab]":
                    items.append(Byte(frozenset(b"ab")))
                else:
                    items += [Byte(frozenset([byte])) for byte in _SPELLINGS[spelling].encode()]
            found.append(items)
            texts.append(" ".join(text) or '""')
        rules[name] = found
        lines.append(f"{name} ::= {' | '.join(texts)}")
    return "\n".join(lines), rules


@given(written_grammars(), st.randoms(use_true_random=False))
def test_random_walks(written: tuple[str, Rules], draws: random.Random) -> None:
    """Every token that the stacks read is allowed, and no other."""
    text, rules = written
    oracle = oracle_of(rules)
    check_walk(Grammar.from_gbnf(text).guide(VOCABULARY), oracle, draws, 6)


@given(written_grammars(), st.integers(0, 3), st.randoms(use_true_random=False))
def test_random_walks_within_a_limit(written: tuple[str, Rules], more: int, draws: random.Random) -> None:
    """A walk ends complete within its limit; no token is allowed that the stacks refuse, or cannot complete."""
    text, rules = written
    oracle = oracle_of(rules)
    grammar = Grammar.from_gbnf(text)
    least = grammar.guide(VOCABULARY).tokens_left()
    fewest = oracle.fewest(oracle.start, 4)
    assert fewest is None or fewest <= least
    limit = least + more
    guide, stacks, room = grammar.guide(VOCABULARY, limit), oracle.start, limit
    whole = sfgen.generate(
        UniformModel(VOCABULARY), "", index=sfgen.Index(grammar, VOCABULARY), max_tokens=max(limit, 1)
    )
    assert grammar.accepts(b"".join(_written(grammar, token) for token in whole.token_ids))
    while True:
        tokens = guide.allowed_tokens().tolist()
        assert tokens
        assert set(tokens) <= set(oracle.allowed(stacks))
        token = draws.choice(tokens)
        if token in VOCABULARY.end_token_ids:
            break
        room -= 1
        guide.advance(token)
        stacks = oracle.read(stacks, token)
        if room <= 3:
            assert oracle.fewest(stacks, room) is not None
        if room == 0:
            break
    assert oracle.accepts(stacks)


def _written(grammar: Grammar, token: int) -> bytes:
    return grammar.written(VOCABULARY).get(token) or VOCABULARY.tokens[token] or b""


_LLAMA_GRAMMARS = [
    "root ::= <{0}> !<{1}>* <{1}> [a-z ]*",
    'root ::= ("the" | !<{2}>) item*\nitem ::= " " [a-z]+ | <{2}> item <{0}>',
    'root ::= "a" <{2}> | <{0}> !<{0}> !<{1}> | [a-e] <{0}>',
    'root ::= pair*\npair ::= <{1}> pair <{2}> | !<{1}> <{0}> ","? | <{0}> [é-ü]',
    "root ::= <|begin|> !<|begin|> <{0}>",
]


def _is_characters(data: bytes) -> bool:
    try:
        return data.decode()[0] != "\0"
    except UnicodeDecodeError:
        return False


@needs_package("llama_cpp")
@pytest.mark.parametrize("number", range(len(_LLAMA_GRAMMARS)))
def test_as_llama_cpp_reads_it(number: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    """llama.cpp allows the same tokens.

    But for special ones, which it also reads by their names, and those that are not whole characters, which its symbols
    do not read; and behind a character its ``!<…>`` takes the rest of a token, at which it then fails.
    """
    import llama_cpp

    from sfgen.models.gguf.model import GgufModel

    model = GgufModel(write_gguf(DIRECTORY, tmp_path_factory.mktemp("tiny") / "tiny"))
    words, draws = model.vocabulary, random.Random(number)
    odd = {token for token in words.text_token_ids.tolist() if not _is_characters(words.tokens[token] or b"")}
    chosen = [words.ids[b"the"], words.ids[b"."], words.ids[b"a"]]
    text = _LLAMA_GRAMMARS[number].format(*(f"[{token}]" for token in chosen))
    sampler: Any = llama_cpp.llama_sampler_init_grammar(model._model.vocabulary, text.encode(), b"root")
    assert sampler
    guide = Grammar.from_gbnf(text).guide(words)
    for _ in range(12):
        data = (llama_cpp.llama_token_data * len(words))(
            *(llama_cpp.llama_token_data(token, 0.0, 0.0) for token in range(len(words)))
        )
        array = llama_cpp.llama_token_data_array(data, len(words), -1, False)
        llama_cpp.llama_sampler_apply(sampler, array)
        theirs = {data[place].id for place in range(len(words)) if data[place].logit > -np.inf}
        ours = set(guide.allowed_tokens().tolist())
        assert ours - odd == theirs - odd
        rest = sorted(ours - set(words.end_token_ids) - odd)
        if not rest:
            break
        token = draws.choice(sorted(set(rest) & set(chosen)) or rest) if draws.random() < 0.5 else draws.choice(rest)
        guide.advance(token)
        llama_cpp.llama_sampler_accept(sampler, token)
    llama_cpp.llama_sampler_free(sampler)


def test_the_vocabulary_with_codes_is_the_same_either_way() -> None:
    """Codes may take places in the trie that is there; that is the trie of their tokens."""
    single = [bytes([byte]) for byte in range(256)]
    for more in ([b"ab", None, b"\xc3\xa9"], [b"ab", b"\xf5b", None], [b"\xf6", b"a", None]):
        vocabulary = Vocabulary([*more, *single[::-1]], end_token_ids=[1])
        coded, plain = coded_vocabulary(vocabulary, 1), Vocabulary(coded_vocabulary(vocabulary, 1).tokens, [1])
        assert coded == plain
        assert all(
            np.array_equal(getattr(coded.trie, each.name), getattr(plain.trie, each.name))
            for each in fields(coded.trie)
        )
        assert np.array_equal(coded.text_token_ids, plain.text_token_ids)
        assert vocabulary.tokens[:3] == tuple(more)
        assert len(vocabulary.trie.token_ids) == len([token for token in vocabulary.tokens if token]) - 1 * bool(
            more[1]
        )
