"""The texts that the guides of templates can write, token by token, against brute force: with bans and limits."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from random import Random
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_templates import RandomTemplate, short_texts
from tried import tried

from sfgen import BannedWords, Index, Template, Vocabulary
from sfgen.errors import BannedWordsError, LimitTooSmall
from sfgen.protocols import Guide

seeds = st.integers(0, 2**32)
TOKENS = ["a", "b", "ab", "ba", "aab", "bb"]
END = len(TOKENS)
VOCABULARY = Vocabulary([*(token.encode() for token in TOKENS), None], end_token_ids=[END])


def texts_of(guide: Guide, text: str = "") -> Iterator[str]:
    """All texts that a guide with a limit can write, some of them several times."""
    for token in guide.allowed_tokens().tolist():
        if token == END:
            yield text
            continue
        guide.advance(token)
        yield from texts_of(guide, text + TOKENS[token])
        guide.rollback(1)


def within(limit: int) -> set[str]:
    """All texts of at most so many tokens."""
    return {"".join(way) for length in range(limit + 1) for way in itertools.product(TOKENS, repeat=length)}


@tried("some")
@given(seed=seeds, limit=st.integers(0, 4), words=st.sets(st.sampled_from(["aa", "bb", "aba", "b"]), max_size=2))
def test_every_text_within_a_limit_without_banned_words_and_no_other(seed: int, limit: int, words: set[str]) -> None:
    random_template = RandomTemplate(Random(seed), copies=False)
    oracle = re.compile(random_template.pattern)
    expected = {text for text in within(limit) if oracle.fullmatch(text) and not any(word in text for word in words)}
    try:
        template = Template(random_template.text)
        clean = template.without_banned(BannedWords(sorted(words), match="substring")) if words else template
        assert clean is not None
        guide = Index(clean, VOCABULARY).guide(limit)
    except (BannedWordsError, LimitTooSmall):
        assert not expected
        return
    assert set(texts_of(guide)) == expected


@tried("some")
@given(seed=seeds, limit=st.integers(0, 4))
@pytest.mark.parametrize("kind", ["few texts", "rules", "threads"])
def test_templates_with_copies_and_rules_within_a_limit(kind: str, seed: int, limit: int) -> None:
    """Along all ways the fewest tokens are a bound above, so some texts at the limit may be left out."""
    random_template = RandomTemplate(Random(seed))
    end = '{{last: schema {"const": 1}}}' if kind == "rules" else ""
    with patch("sfgen.template.composition.MAX_TEXTS", 0 if kind == "threads" else 256):
        template = Template(random_template.text + end)
    oracle = re.compile(random_template.pattern)
    expected = {text for text in within(limit) if oracle.fullmatch(text)}
    tokens = [*(token.encode() for token in TOKENS), None, *([b"1"] if end else [])]
    vocabulary = Vocabulary(tokens, end_token_ids=[END])
    try:
        guide = Index(template, vocabulary).guide(limit + bool(end))
    except LimitTooSmall:
        assert not expected or template.dfa is None
        return
    found = set(texts_with_end(guide, tokens))
    if template.dfa is not None:
        assert found == expected
    assert found
    assert found <= {text + ("1" if end else "") for text in expected}


def texts_with_end(guide: Guide, tokens: list[bytes | None], text: bytes = b"") -> Iterator[str]:
    """As ``texts_of``, over other tokens."""
    for token in guide.allowed_tokens().tolist():
        data = tokens[token]
        if data is None:
            yield text.decode()
            continue
        guide.advance(token)
        yield from texts_with_end(guide, tokens, text + data)
        guide.rollback(1)


@tried("some")
@given(seed=seeds)
@pytest.mark.parametrize("copied", [0, 256])
def test_without_a_limit_every_beginning_of_a_text_can_be_written(copied: int, seed: int) -> None:
    random_template = RandomTemplate(Random(seed))
    oracle = re.compile(random_template.pattern)
    with patch("sfgen.template.composition.MAX_TEXTS", copied):
        source = Index(Template(random_template.text), VOCABULARY)
    texts = [text for text in short_texts(8) if oracle.fullmatch(text)]
    for way in itertools.product(range(END), repeat=2):
        guide, text = source.guide(), ""
        for token in way:
            allowed = set(guide.allowed_tokens().tolist())
            begins = {
                each for each in range(END) if any(longer.startswith(text + TOKENS[each]) for longer in texts)
            } | ({END} if oracle.fullmatch(text) else set())
            assert begins <= allowed
            if token not in allowed:
                break
            guide.advance(token)
            text += TOKENS[token]
        assert oracle.fullmatch(text + shortest_rest(guide))


def shortest_rest(guide: Guide) -> str:
    """What a guide can still write, with the fewest tokens that it tells."""
    text = ""
    while not guide.is_accepting:
        least = guide.tokens_left()
        for token in guide.allowed_tokens().tolist():
            guide.advance(token)
            if guide.tokens_left() < least:
                text += TOKENS[token]
                break
            guide.rollback(1)
        else:
            raise AssertionError("no token brings the end nearer")
    return text
