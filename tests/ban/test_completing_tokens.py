"""The tokens that complete an open match, against trying every token."""

import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfgen.ban import BannedWords, SeamMatcher
from sfgen.ban.completing_tokens import completing
from sfgen.vocabulary import Vocabulary
from sfgen.vocabulary.trie import TokenTrie

TEXTS = ["talk", "ta", "lk", "small", "class", "c", "l", "a", "s", "b", " ", ".", "ß", "我", "é", "\u200b", "\u0301"]
PIECES = [
    *(text.encode() for text in TEXTS),
    *("我é€🙂".encode()[k : k + 1] for k in range(12)),
    b"\xff",
    b"\x80",
    b"\xed\xa0",
]
WORDS = ["talk", "small talk", "as", "ass", "s s", "a.b", "c++", ".", "我a", "ta*", "l k", "a"]
PATTERNS = ["a+b", r"\bta\b", "s(?=.{2}a)", r"a.*l", "(?i)TALK(?! l)"]

pieces = st.lists(st.sampled_from(PIECES), max_size=5).map(b"".join)


@st.composite
def matchers(draw: st.DrawFn) -> SeamMatcher:
    """A matcher somewhere in a text."""
    banned = BannedWords(
        draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=4)),
        draw(st.one_of(st.just([]), st.lists(st.sampled_from(PATTERNS), max_size=2))),
        draw(st.sampled_from(["word", "prefix", "substring"])),
        draw(st.booleans()),
        draw(st.booleans()),
        draw(st.one_of(st.just([]), st.lists(st.sampled_from(["class", "small talk", "as. a", "ta*"]), max_size=2))),
    )
    matcher = banned.matcher(draw(pieces))
    matcher.advance(draw(pieces))
    return matcher


def tried(matcher: SeamMatcher, token: bytes) -> tuple[bool, bool]:
    """Whether a token completes a match, and whether one that is open before it, as far as can be told."""
    mark, place = matcher.mark(), matcher.length
    complete = open_before = False
    for byte in token:
        match = matcher.advance(bytes([byte]))
        complete |= match is not None
        open_before |= match is not None and match.start < place
    matcher.reset(mark)
    return complete, open_before


@settings(max_examples=200, deadline=None)
@given(matchers(), st.lists(pieces.filter(bool), min_size=1, max_size=30))
def test_all_that_is_found_completes_a_match_and_no_open_one_is_missed(
    matcher: SeamMatcher, tokens: list[bytes]
) -> None:
    mark = matcher.mark()
    found = completing(matcher, TokenTrie.from_tokens([*tokens, None, b""]))
    assert matcher.mark() == mark
    assert found.dtype == np.int32
    assert found.tolist() == sorted(set(found.tolist()))
    for token_id, token in enumerate(tokens):
        complete, open_before = tried(matcher, token)
        assert open_before <= (token_id in found) <= complete, token


def test_the_sentence_of_the_start() -> None:
    tokens = [b"alk", b"al", b"alk.", b".", b"k", b"ing", b" talk", b"\xe6", "我".encode(), "é".encode(), b"\xff"]
    trie = TokenTrie.from_tokens(tokens)
    matcher = BannedWords(["talk"]).matcher()
    assert completing(matcher, trie).tolist() == []
    matcher.advance(b"t")
    assert completing(matcher, trie).tolist() == [2]
    matcher.advance(b"alk")
    assert completing(matcher, trie).tolist() == [3, 6, 8, 10]
    matcher.advance("我".encode()[:1])
    assert completing(matcher, trie).tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]


def test_what_goes_on_in_several_ways_is_not_mixed_up() -> None:
    trie = TokenTrie.from_tokens([b"bx", b"cy", b"by", b"cx", b"\xe6bx", b"b\xe6x", b"bx\xe6", b"\xe6\x81cy"])
    for text, expected in (("a", [0, 1, 6]), ("", []), ("ab", [])):
        matcher = BannedWords(["abx", "acy"], match="substring").matcher()
        matcher.advance(text.encode())
        assert completing(matcher, trie).tolist() == expected


OPEN = [("I talk", ["talk"], []), ("my fuck", ["fuck you*", "talk"], []), ("a cla", ["as", "lass"], ["class"])]


@pytest.fixture(scope="module")
def gemma(real_tokenizer_directory: Callable[[str], Path]) -> Vocabulary:
    return Vocabulary.from_pretrained(real_tokenizer_directory("gemma2"))


@pytest.mark.parametrize(("text", "words", "allow"), OPEN)
def test_a_published_vocabulary(text: str, words: list[str], allow: list[str], gemma: Vocabulary) -> None:
    matcher = BannedWords(words, allow=allow, match="substring" if allow else "word").matcher()
    matcher.advance(text.encode())
    found = set(completing(matcher, gemma.trie).tolist())
    tokens = gemma.tokens
    for token_id in [*random.Random(0).sample(range(len(tokens)), 4_000), *sorted(found)[::7]]:
        token = tokens[token_id]
        if token:
            complete, open_before = tried(matcher, token)
            assert open_before <= (token_id in found) <= complete, token
    assert found
