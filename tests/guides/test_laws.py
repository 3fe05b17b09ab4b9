"""Every kind of guide keeps the laws of ``guide_conformance``."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
import pytest
from bounded_recogniser import BoundedIndex
from brackets import Brackets
from guide_conformance import Case, Walk, check_as_new, check_position
from guide_walks import check_text, check_walk, take_random
from hypothesis import assume, given
from hypothesis import strategies as st
from languages import Language, brackets, free_text, grammatical, regular
from random_grammars import KNOWN, grammars, letters_of
from tried import tried

import sfgen
from sfgen import BannedWords, Dfa, Index, JsonSchema, Vocabulary
from sfgen.ban.difference import without_banned
from sfgen.errors import DeadEnd, LimitTooSmall, UsageError
from sfgen.grammar.network import network_of
from sfgen.grammar.rules import Grammar
from sfgen.grammar.token_network import TokenNetwork
from sfgen.index import BaseGuide, Chain, Unconstrained
from sfgen.index.distance import UNREACHABLE
from sfgen.language.gbnf import read_gbnf
from sfgen.protocols import GuideSource
from sfgen.reference import FsmIndex, NaiveIndex

Known = tuple[str, str, int]
"""A pattern, its characters, and the number of bytes that tells its texts apart."""

PATTERNS: list[Known] = [
    ("(ab|ba)*", "ab", 3),
    ("a{2,4}", "a", 4),
    ("[ab]*abb", "ab", 3),
    ("é+|a", "éa", 3),
    ("(é|è){1,2}x?", "éèx", 5),
    ("aab(a|b)", "ab", 4),
    ("(ab?)*é", "abé", 3),
    ("a?", "a", 2),
]
BANNED: list[tuple[str, str, int, list[str]]] = [
    ("[ab]{1,4}", "ab", 4, ["ab"]),
    ("[ab]*", "ab", 3, ["aa", "bb"]),
    ("(é|ab)*a", "abé", 4, ["éa", "b"]),
    ("a{0,3}b", "ab", 4, ["c"]),
]
CHAINS: list[list[Known]] = [
    [("a*", "a", 1), ("ab", "ab", 2)],
    [("aé", "aé", 3), ("(ab|ba)*", "ab", 3)],  # a literal first
    [("(ab)?", "ab", 2), ("(a|é)b?", "abé", 3)],
    [("[ab]?", "ab", 1), ("a{2}|b?", "ab", 2)],
    [("a?", "a", 1), ("b?", "b", 1), ("[ab]a?", "ab", 2)],
]
SCHEMAS: list[tuple[Any, bytes]] = [
    ({"enum": ["a", "aé", [], 1]}, b'"a\xc3\xa9[]1'),
    ({"type": "array", "items": {"enum": [1, 11]}, "minItems": 1, "maxItems": 3}, b"[1, ]"),
    ({"type": "string", "maxLength": 2, "pattern": "^[aé]*$"}, b'"a\xc3\xa9'),
    ({"properties": {"a": {"const": 1}, "b": {"$ref": "#"}}, "required": ["a"], "type": "object"}, b'{}"ab: 1,'),
]
"""Schemas, and the bytes of their texts. Names that must differ are looked at in tests/grammar."""

LARK: list[tuple[str, int, Known]] = [
    # A keyword among names.
    (
        'start: "if" NAME | NAME\nNAME: /[if]+/\n%ignore " "', 1,
        (" ?((?!if(?: |$))[if]+|if [if]+) ?", "if ", 4),
    ),
    ('start: A | B\nA: /a+/\nB: "ab"', 1, ("a+", "ab", 2)),  # the first terminal that matches, not the longest
    ('start: "a" ("," "a")*\n%ignore /[ \\n]+/', 2, (r"[ \n]{0,2}a(?:[ \n]{0,2},[ \n]{0,2}a)*[ \n]{0,2}", "a, \n", 4)),
    ('start: "a" ("," "a")*\n%ignore /[ ,]b/\n%ignore " "', 1, (" ?a(?: ?, ?a)* ?", "a, ", 4)),
    ("start: WORD+\nWORD: /é+|ab/", 1, ("(?:é+|ab)+", "éab", 4)),
    ('start: A B?\nA: /a+(?=b|$)/\nB: "b"', 0, ("a+b?", "ab", 2)),  # looks ahead
    ('start: x x? y\nx: "a"? "b"\ny: | "a" y', 1, ("(?:a?b){1,2}a*", "ab", 3)),  # empty rules
]  # fmt: skip
"""Lark grammars with regular texts, the most blanks, and what is written of them."""
LARK_RECURSIVE: list[tuple[str, int, tuple[str, bytes]]] = [
    (
        'start: "[" [start ("," start)*] "]" | "a"\n%ignore " "', 1,
        ('root ::= _ v _\nv ::= "[" _ (v (_ "," _ v)* _)? "]" | "a"\n_ ::= " "?', b"[], a"),
    ),
    ('start: start "+" "a" | "(" start ")" | "a"', 1, ('root ::= ("a" | "(" root ")") ("+" "a")*', b"a+()")),
    ('start: "i" start | "i" start "e" start | "x"', 1, ('root ::= "i" root ("e" root)? | "x"', b"iex")),
    ('start: "a" start "a" | "b"', 1, ('root ::= "a" root "a" | "b"', b"ab")),
]  # fmt: skip
"""Lark grammars, the most blanks, and the same in GBNF, with the bytes of their texts."""

language_of = cache(regular)


class ByText(BaseGuide[bytes]):
    """A guide with the two abstract methods only: a position is the text itself. It does not look ahead."""

    def __init__(self, language: Language, vocabulary: Vocabulary, max_tokens: int | None) -> None:
        self.language = language
        super().__init__(vocabulary, b"", max_tokens)

    def _read(self, position: bytes, data: bytes) -> bytes | None:
        return None if self.language.residual(position + data) is None else position + data

    def _accepts(self, position: bytes) -> bool:
        return self.language.accepts(position)


class ByTextAhead(ByText):
    """The same, that looks ahead."""

    def _tokens_left(self, position: bytes) -> int:
        tokens = [self.vocabulary.tokens[token] or b"" for token in self.vocabulary.text_token_ids.tolist()]
        fewest = self.language.fewest(position, tokens)
        return int(UNREACHABLE) if fewest is None else fewest


@dataclass
class TextSource:
    """Makes these guides."""

    kind: type[ByText]
    language: Language
    vocabulary: Vocabulary

    def guide(self, max_tokens: int | None = None) -> ByText:
        return self.kind(self.language, self.vocabulary, max_tokens)

    def refusal(self, text: bytes) -> dict[str, str] | None:
        return None if self.language.accepts(text) else {"refused by": "the language"}


Make = Callable[[Vocabulary], GuideSource]


def of_dfa(draw: Any) -> tuple[Language, Make, bool, bool]:
    known = draw(st.sampled_from(PATTERNS))
    return language_of(*known), partial(Index, Dfa.from_regex(known[0])), True, True


def of_difference(draw: Any) -> tuple[Language, Make, bool, bool]:
    pattern, alphabet, longest, words = draw(st.sampled_from(BANNED))

    def make(vocabulary: Vocabulary) -> GuideSource:
        clean = without_banned(Index(Dfa.from_regex(pattern), vocabulary), BannedWords(words, match="substring"))
        assert clean is not None
        return clean

    return language_of(pattern, alphabet, longest, "|".join(words)), make, True, True


def of_free_text(draw: Any) -> tuple[Language, Make, bool, bool]:
    return free_text(), Unconstrained, True, True


def of_engine(engine: Any, draw: Any) -> tuple[Language, Make, bool, bool]:
    known = draw(st.sampled_from(PATTERNS))
    return language_of(*known), partial(engine, known[0]), False, True


def of_text(kind: type[ByText], draw: Any) -> tuple[Language, Make, bool, bool]:
    language = language_of(*draw(st.sampled_from(PATTERNS)))
    return language, partial(TextSource, kind, language), kind is ByTextAhead, True


def of_chain(draw: Any) -> tuple[Language, Make, bool, bool]:
    parts = draw(st.sampled_from(CHAINS))
    patterns, letters, longest = zip(*parts, strict=True)
    language = language_of("".join(f"(?:{pattern})" for pattern in patterns), "".join(letters), sum(longest))
    automata = [Dfa.from_regex(pattern) for pattern in patterns]
    return language, lambda vocabulary: Chain([Index(part, vocabulary) for part in automata]), True, False


def of_brackets(draw: Any) -> tuple[Language, Make, bool, bool]:
    return brackets(), partial(Index, Brackets()), True, False


def of_grammar(
    engine: Callable[[Grammar, Vocabulary], GuideSource], looks_ahead: bool, draw: Any
) -> tuple[Language, Make, bool, bool]:
    grammar = draw(st.sampled_from([*KNOWN, None, None, None, None])) or draw(grammars(names=()))
    try:
        language = grammatical(grammar, letters_of(grammar))
        network_of(grammar)
    except UsageError:  # no text, or left recursion: see tests/grammar
        assume(False)
    return language, partial(engine, grammar), looks_ahead, not looks_ahead


def of_schema(draw: Any) -> tuple[Language, Make, bool, bool]:
    schema, letters = draw(st.sampled_from(SCHEMAS))
    constraint = JsonSchema(schema)
    language = grammatical(constraint.compiled.grammar, letters)

    def make(vocabulary: Vocabulary) -> GuideSource:
        index = Index(constraint, vocabulary)
        index.guide()  # raises where nothing can be written
        return index

    return language, make, True, False


def of_lark(draw: Any) -> tuple[Language, Make, bool, bool]:
    text, max_blanks, known = draw(st.sampled_from([*LARK, *LARK_RECURSIVE]))
    is_regular = not isinstance(known[1], bytes)
    language = language_of(*known) if is_regular else grammatical(read_gbnf(known[0]).grammar, known[1])
    grammar = sfgen.Grammar.from_lark(text, max_blanks=max_blanks)

    def make(vocabulary: Vocabulary) -> GuideSource:
        index = Index(grammar, vocabulary)
        index.guide()  # raises where nothing can be written
        return index

    return language, make, True, False


def token_network(grammar: Grammar, vocabulary: Vocabulary) -> TokenNetwork:
    return TokenNetwork(network_of(grammar), vocabulary)


KINDS: dict[str, Callable[[Any], tuple[Language, Make, bool, bool]]] = {
    "dfa": of_dfa,
    "difference": of_difference,
    "free text": of_free_text,
    "fsm": partial(of_engine, FsmIndex),
    "naive": partial(of_engine, NaiveIndex),
    "by text": partial(of_text, ByText),
    "by text, ahead": partial(of_text, ByTextAhead),
    "chain": of_chain,
    "brackets": of_brackets,
    "grammar": partial(of_grammar, token_network, True),
    "grammar, recogniser": partial(of_grammar, BoundedIndex, False),
    "schema": of_schema,
    "lark": of_lark,
}
every_kind = pytest.mark.parametrize("kind", KINDS)
every_kind_that_looks_ahead = pytest.mark.parametrize(
    "kind", sorted(KINDS.keys() - {"fsm", "naive", "by text", "grammar, recogniser"})
)


def vocabularies(draw: Any, language: Language) -> Vocabulary:
    """Few tokens of the language's bytes: some of several bytes, repeated ones, special ones, any number of ends."""
    symbols = [bytes([byte]) for byte in language.alphabet[:12]]
    part = st.lists(st.sampled_from(symbols), min_size=2, max_size=4).map(b"".join)
    if language.name == "brackets":
        part |= st.sampled_from([b"<b", b"old>", b"<bold>", b"</bold>", b"</", b"bold>", b"))", b"()", b"(a", b"a)"])
    which = draw(st.sampled_from(["every byte", "the bytes", "the bytes", "some", "other bytes too"]))
    tokens: list[bytes | None] = list(symbols)
    if which == "every byte":
        tokens = [bytes([byte]) for byte in range(256)]
    elif which == "some":
        tokens = [symbol for symbol in symbols if draw(st.integers(0, 3))]
    elif which == "other bytes too":
        tokens += [b"\xff", b"zz", b"\x80"]
    tokens += draw(st.lists(part, max_size=5))
    tokens += draw(st.lists(st.sampled_from(tokens), max_size=2)) if tokens else []
    tokens += [None] * draw(st.integers(0, 3))
    tokens = draw(st.permutations(tokens)) if len(tokens) < 50 else [None, *tokens]
    ids = st.integers(0, max(0, len(tokens) - 1))
    ends = [token for token, data in enumerate(tokens) if data is None][: draw(st.integers(0, 3))]
    if tokens and not draw(st.integers(0, 9)):
        ends.append(draw(ids))  # an end token with bytes
    return Vocabulary(tokens, ends)


def case_of(kind: str, draw: Any) -> Case:
    """A case of a kind; a vocabulary that cannot write any text is refused by those that look ahead."""
    language, make, looks_ahead, is_exact = KINDS[kind](draw)
    vocabulary = vocabularies(draw, language)
    plain = Case(TextSource(ByText, language, vocabulary), language, vocabulary)
    try:
        source = make(vocabulary)
    except DeadEnd:
        assert looks_ahead
        assert not is_exact or plain.fewest(b"") is None
        assume(False)
    case = Case(source, language, vocabulary, looks_ahead, is_exact)
    if looks_ahead:
        assume(source.guide().tokens_left() < UNREACHABLE)
    return case


@every_kind
@tried("some")
@given(st.data())
def test_a_walk(kind: str, data: st.DataObject) -> None:
    case = case_of(kind, data.draw)
    least = case.source.guide().tokens_left()
    more = data.draw(st.none() | st.integers(0, 5))
    check_walk(case, None if more is None else least + more, data.draw)


@every_kind
@tried("few")
@given(st.data())
def test_bytes_are_taken_back_near_the_limit(kind: str, data: st.DataObject) -> None:
    """The limit counts afterwards as it did before."""
    case = case_of(kind, data.draw)
    walk = Walk.begin(case, case.source.guide().tokens_left() + data.draw(st.integers(0, 1)))
    for step in data.draw(st.lists(st.sampled_from(["bytes", "bytes", "token"]), min_size=1, max_size=3)):
        take_random(walk, step, data.draw)
    walk.rollback(data.draw(st.integers(0, len(walk.steps))))
    check_position(walk)
    check_as_new(walk)


@every_kind
@tried("few")
@given(st.data())
def test_limits(kind: str, data: st.DataObject) -> None:
    """Where no text fits, that is said at once; otherwise every walk comes to an end, or is an error that says why."""
    case = case_of(kind, data.draw)
    least = case.fewest(b"") if case.is_exact and case.looks_ahead else case.source.guide().tokens_left()
    assert least is not None
    for max_tokens in range(least + 4):
        if max_tokens < least:
            with pytest.raises(LimitTooSmall) as caught:
                case.source.guide(max_tokens)
            assert str(least) in caught.value.hint
        else:
            check_text(case, max_tokens, data.draw)


@every_kind_that_looks_ahead
@tried("handful")
@given(st.data())
def test_bytes_count_nothing_to_the_limit(kind: str, data: st.DataObject) -> None:
    """With as many tokens as the rest takes, the rest can be written after any bytes."""
    case = case_of(kind, data.draw)
    free = Walk.begin(case, None)
    for _ in range(data.draw(st.integers(1, 4))):
        following = case.language.next_bytes(free.text)[:4]
        if following:
            free.take(data.draw(st.sampled_from(following)))
    least, start = free.guide.tokens_left(), case.source.guide().tokens_left()
    assume(least < UNREACHABLE)
    limited = Walk.begin(case, max(least, start))
    limited.take(free.text)
    while left := limited.guide.tokens_left():
        tokens = limited.guide.allowed_tokens().tolist()
        nearer = [token for token in tokens if limited.fork().guide.validate([token])]
        assert nearer
        before = limited.guide.tokens_left()
        for token in nearer:
            limited.take(token)
            if limited.guide.tokens_left() < before:
                break
            limited.rollback(1)
        assert limited.guide.tokens_left() < left
    assert case.language.accepts(limited.text)


@every_kind
def test_a_limit_is_a_number(kind: str) -> None:
    tokens = [bytes([byte]) for byte in range(256)]
    _, make, _, _ = KINDS[kind](lambda strategy: strategy.example() if kind == "free text" else _first(strategy))
    source = make(Vocabulary([*tokens, None], [256]))
    for odd in (-1, "7", 1.5, True):
        with pytest.raises(UsageError, match="max_tokens"):
            source.guide(odd)  # type: ignore[arg-type]
    assert source.guide(np.int64(50)).allowed_tokens().size  # type: ignore[arg-type]
    guide = source.guide(50)
    guide.advance(np.int32(guide.allowed_tokens()[0]))  # type: ignore[arg-type]


def _first(strategy: Any) -> Any:
    return strategy.elements[0]


@pytest.mark.parametrize(("pattern", "alphabet", "longest"), [*PATTERNS, *(known for _, _, known in LARK)])
def test_the_oracle_tells_as_many_texts_apart_as_there_are_states(pattern: str, alphabet: str, longest: int) -> None:
    language = language_of(pattern, alphabet, longest)
    seen: set[Hashable] = {language.residual(b"")}
    waiting = [b""]
    while waiting:
        text = waiting.pop()
        for byte in language.next_bytes(text):
            residual = language.residual(text + byte)
            if residual not in seen:
                seen.add(residual)
                waiting.append(text + byte)
    assert len(seen) == len(Dfa.from_regex(pattern))
