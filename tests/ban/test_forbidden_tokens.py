"""The tokens that a ban forbids: each token of the vocabulary is tried."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.support.models.generated import small_vocabulary
from tests.support.models.vocabularies import loaded
from tests.support.running.tried import tried

from sfgen import BannedWords, Vocabulary
from sfgen.ban.completing_tokens import ForbiddenTokens
from sfgen.ban.state_table import COMPLETE

PIECES = ["a", "t", "l", "k", "T", " ", ".", "1", "é", "聊", "\u0301", "😀", "-"]
TEXT = st.lists(st.sampled_from(PIECES), min_size=1, max_size=5).map("".join)
BYTES = st.one_of(
    TEXT.map(str.encode),
    st.tuples(TEXT.map(str.encode), st.integers(0, 9), st.integers(0, 9)).map(lambda cut: cut[0][cut[1] : cut[2]]),
    st.sampled_from(
        [b"\xe8", b"\x81", b"\x8a", b"\xff", b"\xc3k", b"\xed\xa0", b"\xe0\x80", b"\xf0\x9f", b"\xa9 talk"]
    ),
)
LISTS = st.builds(
    BannedWords,
    st.lists(st.sampled_from(["talk", "a", "ta*", "t k", "聊", "é", "k1", "T.", "l"]), min_size=1, max_size=3),
    st.lists(st.sampled_from(["a+t", r"(?<=k)a", r"\bl", "[^a]k", "聊.", "k$"]), max_size=2),
    st.sampled_from(["word", "prefix", "substring"]),
    st.booleans(),
    st.booleans(),
    st.lists(st.sampled_from(["talka", "at", "聊a"]), max_size=1),
)


def is_forbidden(matcher: Any, data: bytes, last: bool, endings: dict[bytes, set[bytes]]) -> bool:
    """Whether a token completes a match, or leads nowhere but to one: all endings of a half character are tried."""
    mark = matcher.mark()
    found = matcher.advance(data) is not None
    half = matcher.mark().pending
    if not found and (last or half) and matcher.finish() is not None:
        here = matcher.mark()
        found = True
        for ending in () if last else endings.get(half, ()):
            matcher.reset(here)
            found = matcher.advance(ending) is not None
            if not found:
                break
    matcher.reset(mark)
    return found


def brute_force(matcher: Any, vocabulary: Vocabulary, last: bool) -> tuple[list[int], bool]:
    """It takes for granted that the vocabulary cannot write every ending of a character."""
    tokens = vocabulary.text_token_ids.tolist()
    found = [token for token in tokens if is_forbidden(matcher, vocabulary.tokens[token] or b"", last, {})]
    return found, matcher.finish() is not None


@tried("some")
@given(LISTS, st.lists(BYTES, min_size=1, max_size=30), BYTES, st.lists(st.integers(0, 29), max_size=6))
@example(BannedWords(["talk"], patterns=["k$"], ignore_case=False), [b"\xc3k", b"\xe8"], b"\xe8", [1])
def test_brute_force_agrees(banned: BannedWords, tokens: list[bytes], prompt: bytes, chosen: list[int]) -> None:
    vocabulary = Vocabulary([None, *tokens, b"end"], end_token_ids=[len(tokens) + 1])
    forbidden, matcher = ForbiddenTokens(banned.automata, vocabulary.trie), banned.matcher(prompt)
    state = forbidden.begin(prompt)
    for number in [*chosen, 0]:
        for last in (False, True, False):
            verdict = forbidden.verdict(state, last=last)
            assert (verdict.tokens.tolist(), verdict.end) == brute_force(matcher, vocabulary, last)
        token = number % len(vocabulary)
        data = None if token == len(tokens) + 1 else vocabulary.tokens[token]
        if data is not None:
            state = forbidden.next_state(state, data)
            if matcher.advance(data) is not None:
                assert state == COMPLETE
                return
        assert state != COMPLETE


@pytest.mark.parametrize("words", [["talk", "a"], ["聊", "é"], ["聊天", "k"], ["k聊", "talké"]], ids=str)
@pytest.mark.parametrize("match", ["word", "substring"])
def test_halves_of_characters(words: list[str], match: Any) -> None:
    banned, vocabulary = BannedWords(words, match=match), small_vocabulary()
    forbidden = ForbiddenTokens(banned.automata, vocabulary.trie)
    for text in (
        b"talk",
        b"b",
        b"b\xe8",
        b"talk\xe8",
        "聊".encode(),
        b"k\xe8\x81",
        b"talk\xc3",
        b"\xc3",
        b"b\xe8\x81\x8a\xe5",
    ):
        for half in (text, text + b"\xe5", text + b"\xe8\x81"):
            matcher = banned.matcher()
            if matcher.advance(half) is None:
                state = forbidden.next_state(forbidden.begin(b""), half)
                for last in (False, True):
                    verdict = forbidden.verdict(state, last=last)
                    assert (verdict.tokens.tolist(), verdict.end) == brute_force(matcher, vocabulary, last), half


@pytest.mark.parametrize("name", ["gpt2", "gemma2"])
def test_real_tokenizers(real_tokenizer_directory: Callable[[str], Path], name: str) -> None:
    """Some tokens of each verdict, and as many others; all those that end inside a character."""
    _, vocabulary = loaded(real_tokenizer_directory(name))
    random = np.random.default_rng(3)
    banned = BannedWords(["talk", "listen", "a", "聊天", "naïve", "small talk"], [r"\d{3}\b"])
    forbidden = ForbiddenTokens(banned.automata, vocabulary.trie)
    characters = set().union(*((data or b"").decode(errors="ignore") for data in vocabulary.tokens))
    characters.update(chr(code) for code in range(0x80, 0x30000, 29) if not 0xD800 <= code < 0xE000)
    characters.update(map(chr, range(0xE0000, 0xE0200, 29)))  # combining marks, far from all others
    endings: dict[bytes, set[bytes]] = {}
    for data in map(str.encode, characters):
        for length in range(1, len(data)):
            endings.setdefault(data[:length], set()).add(data[length:])
    halves = [token for token, data in enumerate(vocabulary.tokens) if data and data[-1:] >= b"\xf0"]
    texts = [b"we ", b"I talk", b"small talk", "我聊".encode(), b"123", b"talk\xd0"]
    states = {text: forbidden.next_state(forbidden.begin(b""), text) for text in texts}
    for text, state in states.items():
        matcher = banned.matcher()
        assert matcher.advance(text) is None
        for last in (False, True):
            verdict = forbidden.verdict(state, last=last)
            found = set(verdict.tokens.tolist())
            others = np.setdiff1d(vocabulary.text_token_ids, verdict.tokens)
            for token in [*halves, *random.permutation(verdict.tokens)[:40], *random.permutation(others)[:80]]:
                token_bytes = vocabulary.tokens[int(token)] or b""
                assert is_forbidden(matcher, token_bytes, last, endings) == (int(token) in found), (text, token_bytes)
    tails = {vocabulary.tokens[token] for token in forbidden.verdict(states[b"I talk"]).tokens.tolist()}
    assert b"\xf0" not in tails  # there are letters beyond U+10000
    assert b"\xd0" not in tails  # Cyrillic letters
