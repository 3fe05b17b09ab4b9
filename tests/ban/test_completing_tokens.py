"""The tokens that complete an open match, against trying every token."""

import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.support.models.vocabularies import loaded
from tests.support.running.tried import rounds, tried

from sfgen.ban import BannedWords, SeamMatcher
from sfgen.ban.completing_tokens import CompletingTokens, completing_tokens
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


def completing_of(matcher: SeamMatcher, trie: TokenTrie) -> NDArray[np.int32]:
    return completing_tokens(matcher.automata, trie).of(matcher)


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


def completed_by(matcher: SeamMatcher, token: bytes) -> tuple[bool, bool]:
    """Whether a token completes a match, and whether one that is open before it, as far as can be told."""
    mark, position = matcher.mark(), matcher.length
    complete = open_before = False
    for byte in token:
        match = matcher.advance(bytes([byte]))
        complete |= match is not None
        open_before |= match is not None and match.start < position
    matcher.reset(mark)
    return complete, open_before


@given(matchers(), st.lists(pieces.filter(bool), min_size=1, max_size=30))
def test_all_that_is_found_completes_a_match_and_no_open_one_is_missed(
    matcher: SeamMatcher, tokens: list[bytes]
) -> None:
    mark = matcher.mark()
    found = completing_of(matcher, TokenTrie.from_tokens([*tokens, None, b""]))
    assert matcher.mark() == mark
    assert found.dtype == np.int32
    assert found.tolist() == sorted(set(found.tolist()))
    for token_id, token in enumerate(tokens):
        complete, open_before = completed_by(matcher, token)
        assert open_before <= (token_id in found) <= complete, token


def tried_dead(matcher: SeamMatcher, tokens: list[bytes]) -> list[int]:
    """The tokens that complete nothing, and behind which the text is dead."""
    mark, found = matcher.mark(), []
    for token_id, token in enumerate(tokens):
        matcher.reset(mark)
        if matcher.advance(token) is None and CompletingTokens.is_dead(matcher):
            found.append(token_id)
    matcher.reset(mark)
    return found


@given(matchers(), st.lists(pieces.filter(bool), min_size=1, max_size=30))
@example(BannedWords(["a"]).matcher(b"a"), [b"\xf0", b"a\xf0", b"a\xc3", b"\x9f", b"\xc3\xf0"])
def test_the_dead_tokens_are_those_that_are_dead_when_tried(matcher: SeamMatcher, tokens: list[bytes]) -> None:
    mark = matcher.mark()
    found = CompletingTokens(matcher.automata, TokenTrie.from_tokens([*tokens, None, b""])).dead(matcher)
    assert matcher.mark() == mark
    assert found.dtype == np.int32
    assert found.tolist() == tried_dead(matcher, tokens)


@tried("some")
@given(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=4),
    st.lists(st.tuples(pieces, pieces), min_size=2, max_size=5),
    st.lists(pieces.filter(bool), min_size=1, max_size=30),
)
def test_texts_that_share_what_was_found_find_the_same(
    words: list[str], texts: list[tuple[bytes, bytes]], tokens: list[bytes]
) -> None:
    banned, trie = BannedWords(words), TokenTrie.from_tokens(tokens)
    shared = completing_tokens(banned.automata, trie)
    assert completing_tokens(banned.automata, trie) is shared
    for prompt, text in [*texts, *texts]:
        matcher = banned.matcher(prompt)
        matcher.advance(text)
        alone = CompletingTokens(banned.automata, trie)
        assert shared.of(matcher).tolist() == alone.of(matcher).tolist()
        assert shared.dead(matcher).tolist() == alone.dead(matcher).tolist()


def test_what_began_before_the_token_is_told_from_what_began_within() -> None:
    banned = BannedWords(patterns=["a[^q]*l", "c[cq]*d"])
    tokens = CompletingTokens(banned.automata, TokenTrie.from_tokens([b"cqd", b"qd", b"l"]))
    for text, expected in ((b"a", [2]), (b"ac", [0, 1, 2])):  # after "a", the "c" of "cqd" is in the same state
        matcher = banned.matcher()
        matcher.advance(text)
        assert tokens.of(matcher).tolist() == expected


def test_what_was_found_may_be_forgotten_between_two_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfgen.ban.completing_tokens._MOST_CELLS", 1)
    monkeypatch.setattr("sfgen.ban.completing_tokens._MOST_ANSWERS", 1)
    banned, trie = BannedWords(["talk"]), TokenTrie.from_tokens([b"alk.", b"lk ", b"\xf0\x9f\x98", b"."])
    tokens = CompletingTokens(banned.automata, trie)
    for _ in range(2):
        for text, complete, dead in ((b"t", [0], []), (b"ta", [1], []), (b"talk", [3], [2])):
            matcher = banned.matcher()
            matcher.advance(text)
            assert (tokens.of(matcher).tolist(), tokens.dead(matcher).tolist()) == (complete, dead)


def test_the_steps_of_one_walk_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    matcher = BannedWords(["talk"]).matcher()
    matcher.advance(b"ta")
    trie = TokenTrie.from_tokens([b"lk.", b"lk ing", b"l"])
    monkeypatch.setattr("sfgen.ban.completing_tokens._MOST_STEPS", 5)
    few = CompletingTokens(matcher.automata, trie).of(matcher).tolist()
    monkeypatch.undo()
    assert (few, CompletingTokens(matcher.automata, trie).of(matcher).tolist()) == ([], [0, 1])


def test_the_sentence_of_the_start() -> None:
    tokens = [b"alk", b"al", b"alk.", b".", b"k", b"ing", b" talk", b"\xe6", "我".encode(), "é".encode(), b"\xff"]
    trie = TokenTrie.from_tokens(tokens)
    matcher = BannedWords(["talk"]).matcher()
    assert completing_of(matcher, trie).tolist() == []
    matcher.advance(b"t")
    assert completing_of(matcher, trie).tolist() == [2]
    matcher.advance(b"alk")
    assert completing_of(matcher, trie).tolist() == [3, 6, 8, 10]
    matcher.advance("我".encode()[:1])
    assert completing_of(matcher, trie).tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]


def test_what_goes_on_in_several_ways_is_not_mixed_up() -> None:
    trie = TokenTrie.from_tokens([b"bx", b"cy", b"by", b"cx", b"\xe6bx", b"b\xe6x", b"bx\xe6", b"\xe6\x81cy"])
    for text, expected in (("a", [0, 1, 6]), ("", []), ("ab", [])):
        matcher = BannedWords(["abx", "acy"], match="substring").matcher()
        matcher.advance(text.encode())
        assert completing_of(matcher, trie).tolist() == expected


OPEN = [("I talk", ["talk"], []), ("my fuck", ["fuck you*", "talk"], []), ("a cla", ["as", "lass"], ["class"])]


@pytest.fixture(scope="module")
def gemma(real_tokenizer_directory: Callable[[str], Path]) -> Vocabulary:
    return loaded(real_tokenizer_directory("gemma2"))[1]


@pytest.mark.parametrize(("text", "words", "allow"), OPEN)
def test_a_published_vocabulary(text: str, words: list[str], allow: list[str], gemma: Vocabulary) -> None:
    matcher = BannedWords(words, allow=allow, match="substring" if allow else "word").matcher()
    matcher.advance(text.encode())
    found = set(completing_of(matcher, gemma.trie).tolist())
    tokens = gemma.tokens
    for token_id in [*random.Random(0).sample(range(len(tokens)), rounds(10_000)), *sorted(found)[::7]]:
        token = tokens[token_id]
        if token:
            complete, open_before = completed_by(matcher, token)
            assert open_before <= (token_id in found) <= complete, token
    assert found


def test_dead_tokens_of_a_published_vocabulary(gemma: Vocabulary) -> None:
    matcher = BannedWords(["talk"], [r"\d{3}\b"]).matcher()
    for text in (b"I talk", b" 123", b"b"):
        matcher.advance(text)
        dead = CompletingTokens(matcher.automata, gemma.trie).dead(matcher)
        step = 8 // rounds(8)  # of 256 000 tokens, unless all is tried
        expected = tried_dead(matcher, [token or b"" for token in gemma.tokens[::step]])
        assert (dead[dead % step == 0] // step).tolist() == expected
