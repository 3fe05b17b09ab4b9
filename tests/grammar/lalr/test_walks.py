"""Guides of Lark grammars: every mask against single steps, walks within limits, steps back, real vocabularies."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.grammars.lark import EXAMPLES, Example, can_read, finished, tried, vocabulary_of
from tests.support.models.vocabularies import byte_vocabulary, loaded
from tests.support.running.tried import rounds

from sfgen import Index, Vocabulary
from sfgen.errors import DeadEnd, LimitTooSmall
from sfgen.protocols import Guide

every_example = pytest.mark.parametrize("example", EXAMPLES, ids=str)
STEPS = rounds(160)


def likely(vocabulary: Vocabulary, allowed: list[int], draws: random.Random) -> int:
    """A token that is drawn: any of them, or one that people would write."""
    usual = [token for token in allowed if token >= 256 or chr(token) in "ab1 \"'()[]{},.:;=\n"]
    pieces = [token for token in allowed if token >= 256 and token not in vocabulary.end_token_ids]
    return draws.choice(draws.choice([allowed, usual or allowed, pieces or allowed]))


@every_example
@pytest.mark.parametrize("seed", range(rounds(9)))
def test_every_mask_of_a_walk(example: Example, seed: int) -> None:
    """What is allowed is what can be read byte by byte; and from everywhere a text is finished that lark parses."""
    vocabulary, draws = vocabulary_of(example), random.Random(f"{example} {seed}")
    guide, written = Index(example.ours, vocabulary).guide(), b""
    for step in range(STEPS):
        allowed = guide.allowed_tokens().tolist()
        assert allowed == tried(guide, vocabulary), written
        if step % 5 == 0:
            whole = written + finished(guide, vocabulary)
            assert example.theirs.is_written(whole.decode()), whole
        token = likely(vocabulary, allowed, draws)
        if token in vocabulary.end_token_ids:
            assert example.theirs.is_written(written.decode())
            break
        guide.advance(token)
        written += vocabulary.tokens[token] or b""


@every_example
def test_masks_along_right_texts(example: Example) -> None:
    vocabulary = vocabulary_of(example)
    index, draws = Index(example.ours, vocabulary), random.Random(str(example))
    for text in filter(example.theirs.is_written, example.right):
        guide = index.guide()
        for byte in text.encode():
            if draws.random() < 0.2:
                assert guide.allowed_tokens().tolist() == tried(guide, vocabulary), text
            guide.advance_bytes(bytes([byte]))
        assert guide.allowed_tokens().tolist() == tried(guide, vocabulary), text
        assert guide.is_accepting


@every_example
def test_walks_within_a_limit_end_complete(example: Example) -> None:
    vocabulary, draws = vocabulary_of(example), random.Random(str(example))
    index = Index(example.ours, vocabulary)
    least = index.guide().tokens_left()
    if least:
        with pytest.raises(LimitTooSmall):
            index.guide(least - 1)
    for limit in (least, least + 1, least + 2, least + 5, *[least + 30] * 6):
        guide, written, count = index.guide(limit), b"", 0
        while (token := likely(vocabulary, guide.allowed_tokens().tolist(), draws)) not in vocabulary.end_token_ids:
            guide.advance(token)
            written += vocabulary.tokens[token] or b""
            count += 1
        assert count <= limit
        assert example.theirs.is_written(written.decode()), written
        assert index.refusal(written) is None


def vocabulary_with_holes(example: Example, draws: random.Random) -> tuple[Vocabulary, int]:
    """Tokens without some of the letters that write a text all the same, and the fewest of them that do."""
    letters = sorted({letter for text in example.right for letter in text.encode()})
    pieces = [token for token in vocabulary_of(example).tokens[256:] if token][:80]
    while True:
        tokens = [*(bytes([letter]) for letter in letters if draws.random() < 0.8), *pieces]
        vocabulary = Vocabulary([*tokens, None], [len(tokens)])
        try:
            return vocabulary, Index(example.ours, vocabulary).guide().tokens_left()
        except DeadEnd:
            continue


@every_example
def test_without_all_bytes(example: Example) -> None:
    """Where single bytes are missing, what is allowed can be completed all the same."""
    draws = random.Random(str(example))
    vocabulary, least = vocabulary_with_holes(example, draws)
    index, tokens = Index(example.ours, vocabulary), vocabulary.tokens
    for limit in (None, least, least + 3, least + 20):
        guide, written = index.guide(limit), b""
        for _ in range(30 if limit is None else limit + 1):
            allowed = guide.allowed_tokens().tolist()
            assert allowed, written
            assert set(allowed) <= set(tried(guide, vocabulary))
            token = draws.choice(allowed)
            if token in vocabulary.end_token_ids:
                break
            guide.advance(token)
            written += tokens[token] or b""
        whole = written + (finished(guide, vocabulary) if limit is None else b"")
        assert example.theirs.is_written(whole.decode()), whole


def said(guide: Guide) -> tuple[object, ...]:
    """What a guide says of where it stands."""
    return (
        guide.allowed_tokens().tolist(),
        guide.is_accepting,
        guide.tokens_left(),
        guide.forced_bytes(),
        guide.position,
    )


@pytest.mark.parametrize(
    ("name", "prefix", "open_", "close"),
    [
        ("json", "", "[", "]"),
        ("json", "", "[1,", "]"),
        ("json", "", '[[],{"a":', "}]"),
        ("arithmetic", "1+", "2*-(", ")"),
        ("python", "x = ", "[f(", ")]"),
    ],
)
def test_a_mask_is_made_once_for_stacks_that_are_read_alike(name: str, prefix: str, open_: str, close: str) -> None:
    """Behind more brackets than a token closes, all masks are those behind some fewer; near the bottom none is."""
    example = next(example for example in EXAMPLES if str(example) == name)
    vocabulary = byte_vocabulary(*[(close * count)[:size].encode() for count in (2, 3) for size in (3, 4)])
    index = Index(example.ours, vocabulary)
    guide = index.guide()
    guide.advance_bytes(prefix.encode())
    for depth in range(16):
        assert guide.allowed_tokens().tolist() == tried(guide, vocabulary), depth
        guide.advance_bytes(open_.encode())
        assert depth < 8 or guide.is_ready(), depth
    shallow = index.guide()
    shallow.advance_bytes(f"{prefix}{open_ * 16}1{close * 15}".encode())
    assert not shallow.is_ready()
    assert shallow.allowed_tokens().tolist() == tried(shallow, vocabulary)


@every_example
def test_steps_back(example: Example) -> None:
    vocabulary, draws = vocabulary_of(example), random.Random(f"back {example}")
    index = Index(example.ours, vocabulary)
    guide, taken = index.guide(), list[int]()
    for _ in range(STEPS):
        if taken and draws.random() < 0.35:
            count = draws.randint(1, len(taken))
            guide.rollback(count)
            del taken[len(taken) - count :]
            again = index.guide()
            for token in taken:
                again.advance(token)
            assert said(guide) == said(again)
        else:
            allowed = [token for token in guide.allowed_tokens().tolist() if token not in vocabulary.end_token_ids]
            if allowed:
                taken.append(likely(vocabulary, allowed, draws))
                guide.advance(taken[-1])


def test_threads_share_a_grammar() -> None:
    """All come to the same masks, whoever makes them."""
    example = next(example for example in EXAMPLES if example.name == "sql")
    vocabulary = vocabulary_of(example)

    def walk(index: Index) -> list[list[int]]:
        draws, found = random.Random(3), list[list[int]]()
        for _ in range(4):
            guide = index.guide(40)
            while (allowed := guide.allowed_tokens().tolist()) and not guide.is_finished:
                found.append(allowed)
                token = likely(vocabulary, allowed, draws)
                guide.advance(token)
                if token in vocabulary.end_token_ids:
                    break
        return found

    alone, shared, results = (
        walk(Index(example.ours, vocabulary)),
        Index(example.ours, vocabulary),
        list[list[list[int]]](),
    )
    threads = [threading.Thread(target=lambda: results.append(walk(shared))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [alone] * 4


@pytest.mark.parametrize("tokenizer", ["gpt2", "llama3", "gemma2"])
@pytest.mark.parametrize("name", ["json", "sql", "python", "lisp"])
def test_real_vocabularies(name: str, tokenizer: str, real_tokenizer_directory: Callable[[str], Path]) -> None:
    """Along right texts each mask is what single steps read: of tokens that are allowed, and of others by chance."""
    example = next(example for example in EXAMPLES if str(example) == name)
    _, vocabulary = loaded(real_tokenizer_directory(tokenizer))
    index, draws = Index(example.ours, vocabulary), random.Random(name)
    written = [text for text in example.right if example.theirs.is_written(text)]
    for text in draws.sample(written, 3):
        guide, data = index.guide(), text.encode()
        for at in sorted(draws.sample(range(len(data) + 1), min(4, len(data) + 1))):
            guide = index.guide()
            guide.advance_bytes(data[:at])
            allowed = set(guide.allowed_tokens().tolist())
            some = {*draws.sample(range(len(vocabulary)), 500), *draws.sample(sorted(allowed), min(500, len(allowed)))}
            for token in some:
                data_of = vocabulary.tokens[token]
                if token in vocabulary.end_token_ids or data_of is None:
                    assert (token in allowed) is (token in vocabulary.end_token_ids and guide.is_accepting)
                    continue
                assert (token in allowed) is can_read(guide, data_of), (data[:at], data_of)
