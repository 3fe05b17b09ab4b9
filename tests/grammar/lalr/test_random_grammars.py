"""Random Lark grammars against lark, by all short texts."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st
from tests.oracles.lark_language import LarkLanguage
from tests.support.grammars.lark import ALPHABET, finished, lark_grammars, reads
from tests.support.models.vocabularies import BYTES, byte_vocabulary
from tests.support.running.tried import tried

from sfgen import Grammar, Index, Vocabulary
from sfgen.errors import DeadEnd, GrammarError
from sfgen.protocols import Guide

SHORT_TEXTS = ["".join(letters) for length in range(6) for letters in product(ALPHABET, repeat=length)]
PAIRS = ["".join(letters).encode() for size in (2, 3) for letters in product(ALPHABET, repeat=size)]
LETTERS = [letter.encode() for letter in ALPHABET]
VOCABULARY = byte_vocabulary()

GRAMMARS = lark_grammars(looking_around=True)


def texts_of(theirs: LarkLanguage) -> list[str]:
    """Short texts, the shortest first. Where terminals look around, all have to be tried."""
    return theirs.texts(ALPHABET, 5 if theirs.looks_around else 7)


def ours_of(text: str, theirs: LarkLanguage) -> Grammar:
    """A grammar as sfgen reads it. One that is refused has no text, or is not separable, and says so."""
    try:
        return Grammar.from_lark(text, max_blanks=theirs.max_blanks)
    except GrammarError as error:
        reason = error.message
    is_empty = "no text" in reason
    event("no text" if is_empty else "not separable")
    assert is_empty or "separable" in reason, reason
    assert not is_empty or not theirs.texts(ALPHABET, 5)
    assume(False)
    raise AssertionError


@tried("some", mostly_assumed_away=True)
@given(GRAMMARS)
def test_what_is_accepted_and_written(text: str) -> None:
    theirs = LarkLanguage(text)
    ours = ours_of(text, theirs)
    accepted = [each for each in SHORT_TEXTS if theirs.accepts(each)]
    event(f"{min(len(accepted), 5)} accepted")
    assert [each for each in SHORT_TEXTS if ours.accepts(each)] == accepted
    guide = Index(ours, VOCABULARY).guide()
    assert [each for each in SHORT_TEXTS if reads(guide, each.encode())] == list(filter(theirs.is_written, accepted))


@tried("some", mostly_assumed_away=True)
@given(
    GRAMMARS,
    st.integers(0, 2),
    st.booleans(),
    st.lists(st.sampled_from(PAIRS), max_size=8, unique=True),
)
def test_masks_are_what_begins_a_text(text: str, max_blanks: int, every_byte: bool, more: list[bytes]) -> None:
    """A token is allowed if and only if a text begins with what is written then."""
    check_masks(text, max_blanks, [*(BYTES if every_byte else LETTERS), *more])


@pytest.mark.parametrize("max_blanks", [0, 1])
@pytest.mark.parametrize(
    "text",
    [
        'start: A B | A "c"\nA: /a+/\nB: "ab"',
        'start: x "c" | y "b"\nx: A | x A\ny: A\nA: /aa?/',
        'start: A A "b" | "c" A\nA: /a+/',
        'start: w "b" | "c"\nw: A w | A\nA: /a+/',
        'start: "b" p "c" | "b" q\np: A p |\nq: A "b"\nA: /a+/\n%ignore " "',
        'start: (N | W)+ "c"\nN: /a+(?!b)/\nW: /b+/',
        'start: "c" start A | A B\nA: /a+/\nB: /b+/',
        # Masks had tokens that could not be taken.
        'T0: /a{1,2}/\nT1: /a*?b/\nT2: "aa"\nstart: "a" start | T1 (T1* "ba" "ba"? | "b"*)* "a" | T2 "b"? T1\n'
        "%ignore /\\s/\n%ignore /c[^b]*b/",
        'T0.-1: /a+/\nstart: "ab" ("b" start | (start "b"+)+ start? "a"*)* "ab"\n?x: "b"+ start ("a")? | "ba" x+ '
        '| T0 start x+\ny: "ab"+ "b" "a"? | start+\n%ignore / +/',
    ],
)
def test_masks_where_the_lexer_leaves_the_parser_no_way(text: str, max_blanks: int) -> None:
    """What the parser could go on with the lexer would read as something else."""
    check_masks(text, max_blanks, [*LETTERS, *PAIRS])


def check_masks(text: str, max_blanks: int, tokens: list[bytes]) -> None:
    """Behind the beginnings of short texts every mask is exact."""
    theirs = LarkLanguage(text, max_blanks=max_blanks)
    ours = ours_of(text, theirs)
    vocabulary = Vocabulary([*tokens, None], [len(tokens)])
    index, texts = Index(ours, vocabulary), set(texts_of(theirs))
    viable = {each[:size] for each in texts for size in range(len(each) + 1)}
    for prefix in sorted(viable, key=lambda each: (len(each), each))[:40]:
        guide = index.guide()
        guide.advance_bytes(prefix.encode())
        assert guide.is_accepting is theirs.is_written(prefix)
        check_mask(guide, vocabulary, prefix, viable, theirs)


def check_mask(guide: Guide, vocabulary: Vocabulary, prefix: str, viable: set[str], theirs: LarkLanguage) -> None:
    """What begins a short text is allowed; what is allowed begins some text, which is written out if it is long."""
    allowed = set(guide.allowed_tokens().tolist())
    assert bool(allowed & set(vocabulary.end_token_ids)) is guide.is_accepting
    for token in vocabulary.text_token_ids.tolist():
        data = vocabulary.tokens[token] or b""
        longer = prefix + data.decode("ascii", errors="replace")
        if longer in viable:
            assert token in allowed, (prefix, data)
        elif token in allowed:
            fork = guide.fork()
            fork.advance(token)
            whole = (prefix.encode() + data + finished(fork, vocabulary)).decode()
            assert theirs.is_written(whole), (prefix, data, whole)


@tried("some", mostly_assumed_away=True)
@given(GRAMMARS, st.integers(0, 2))
def test_the_shortest_text(text: str, max_blanks: int) -> None:
    theirs = LarkLanguage(text, max_blanks=max_blanks)
    shortest = ours_of(text, theirs).shortest().decode()
    assert theirs.is_written(shortest)
    texts = texts_of(theirs)
    event(f"a text of {min(len(shortest), 7)} characters")
    assert all(len(each) >= len(shortest) for each in texts)


@tried("some", mostly_assumed_away=True)
@given(GRAMMARS, st.integers(0, 2), st.randoms(use_true_random=False))
def test_walks_within_a_limit(text: str, max_blanks: int, random: object) -> None:
    """Never a dead end; each text is complete within the limit, and lark's."""
    theirs = LarkLanguage(text, max_blanks=max_blanks)
    ours = ours_of(text, theirs)
    tokens = [*LETTERS, *PAIRS[::3]]
    vocabulary = Vocabulary([*tokens, None], [len(tokens)])
    index = Index(ours, vocabulary)
    try:
        least = index.guide().tokens_left()
    except DeadEnd:  # all texts have other letters
        assert not texts_of(theirs)
        return
    for limit in (least, least + 1, least + 4):
        guide, written = index.guide(limit), b""
        for _ in range(limit + 1):
            allowed = guide.allowed_tokens().tolist()
            assert allowed
            token = random.choice(allowed)  # type: ignore[attr-defined]
            if token == len(tokens):
                break
            guide.advance(token)
            written += tokens[token]
        else:
            raise AssertionError("no end within the limit")
        assert theirs.is_written(written.decode())


def test_the_oracle_misses_nothing() -> None:
    """What is proved to be dead is not looked at: the texts are the same as by trying all."""
    check_oracle()


@tried("some", mostly_assumed_away=True)
@given(GRAMMARS, st.integers(0, 2))
def check_oracle(text: str, max_blanks: int) -> None:
    theirs = LarkLanguage(text, max_blanks=max_blanks)
    assert theirs.texts(ALPHABET, 5) == [each for each in SHORT_TEXTS if theirs.is_written(each)]
    assert all(theirs.accepts(each) is theirs.read(each).is_whole for each in SHORT_TEXTS[:100])
