"""Banned words under published tokenizers, where there are thousands of ways to cut a word."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import islice
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.oracles.banned_text import BannedText
from tests.support.models.scripted import ScriptedModel
from tests.support.models.vocabularies import loaded
from tests.support.running.tried import rounds, some_of

from sfgen import BannedWords, Sampler, Vocabulary, generate
from sfgen.decoding.rollback_decision import StrategyName

STRATEGIES: tuple[StrategyName, ...] = get_args(StrategyName)
FAMILIES = ["gpt2", "llama3", "gemma2"]
WORDS = ["talk", "listen", "fuck you", "聊天"]


@pytest.fixture(scope="module", params=FAMILIES)
def vocabulary(request: pytest.FixtureRequest, real_tokenizer_directory: Callable[[str], Path]) -> Vocabulary:
    return loaded(real_tokenizer_directory(request.param))[1]


def cuttings(data: bytes, vocabulary: Vocabulary) -> list[list[int]]:
    """All ways to write the bytes with tokens."""
    ids, ways = vocabulary.ids, [list[list[int]]() for _ in range(len(data) + 1)]
    ways[0] = [[]]
    for end in range(1, len(data) + 1):
        for start in range(end):
            if data[start:end] in ids:
                ways[end] += [[*way, ids[data[start:end]]] for way in ways[start]]
    return ways[-1]


def wishing(vocabulary: Vocabulary, wishes: list[int]) -> ScriptedModel:
    def score(tokens: tuple[int, ...]) -> NDArray[np.floating]:
        scores = np.zeros(len(vocabulary), dtype=np.float32)
        place = len(tokens) - 1
        scores[wishes[place] if place < len(wishes) else vocabulary.end_token_ids[0]] = 30
        return scores

    return ScriptedModel(vocabulary, score)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("text", [" talk.", "(listen)", "\nfuck you ", "我聊天吧", "a,聊天"])
def test_no_cutting_is_a_way_out(vocabulary: Vocabulary, text: str, strategy: StrategyName) -> None:
    ways = cuttings(text.encode(), vocabulary)
    assert len(ways) >= 3
    prompt = vocabulary.ids[b"."]
    banned, oracle = BannedWords(WORDS), BannedText(WORDS, prompt=b".")
    for way in islice(ways, 0, None, max(1, len(ways) // rounds(25))):
        model = wishing(vocabulary, way)
        if strategy == STRATEGIES[0]:  # without banned words there is one way to write
            assert generate(model, [prompt], max_tokens=12).text == text
        result = generate(model, [prompt], banned=banned, max_tokens=12, strategy=strategy)
        assert not oracle.is_in(result.text.encode())
        assert result.text != text
        assert strategy == "mask" or result.rollbacks


@cache
def pieces_of(vocabulary: Vocabulary) -> NDArray[np.int64]:
    """The tokens that are pieces of banned text, with what may stand around it, and the end token."""
    banned = "\n talk, 'talk' (listen) listen. fuck you! fuck-you fuck... you\n我們聊天吧。".encode()
    pieces = [token for token, data in enumerate(vocabulary.tokens) if data and data in banned]
    return np.array([*pieces, *vocabulary.end_token_ids])


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_model_that_knows_nothing_but_pieces_of_banned_text(vocabulary: Vocabulary, strategy: StrategyName) -> None:
    pieces = pieces_of(vocabulary)
    oracle, banned, found = BannedText(WORDS, prompt=b"."), BannedWords(WORDS), 0
    prompt = vocabulary.ids[b"."]
    for seed in range(12):

        def score(tokens: tuple[int, ...], seed: int = seed) -> NDArray[np.floating]:
            scores = np.full(len(vocabulary), -20, dtype=np.float32)
            longer = [len(vocabulary.tokens[token] or b"") for token in pieces]
            scores[pieces] = np.random.default_rng([seed, *tokens]).normal(0, 2, len(pieces)) + np.minimum(longer, 4)
            return scores

        model = ScriptedModel(vocabulary, score)
        sampler = Sampler(1.0, seed)
        free = generate(model, [prompt], sampler=sampler, max_tokens=24)
        found += oracle.is_in(b"".join(vocabulary.tokens[token] or b"" for token in free.token_ids))
        result = generate(model, [prompt], sampler=sampler, banned=banned, max_tokens=24, strategy=strategy)
        assert not oracle.is_in(b"".join(vocabulary.tokens[token] or b"" for token in result.token_ids))
    assert found > 3


# What stands between a chat's last word and its answer, as chat templates have it; ``None`` is a special token.
CHATS: dict[str, list[str | None]] = {
    "one special token": ["Tell me a story", None],
    "several": ["Tell me a story", None, None, None],
    "a role and no newline": [None, "user", None, "Tell me a story", None, None, "assistant", None],
    "a system part": [None, "system", None, "You are kind", None, None, "user", None, "Tell me a story", None],
    "a newline before a special token": ["Tell me a story\n", None],
    "text alone, cut inside a word": ["Tell me a sto"],
}


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("chat", CHATS)
def test_the_first_word_of_an_answer_is_a_word(vocabulary: Vocabulary, chat: str, strategy: StrategyName) -> None:
    """The reader sees the answer alone, whatever the prompt ends with."""
    special = next(token for token, data in enumerate(vocabulary.tokens) if data is None)
    prompt = [
        token
        for part in CHATS[chat]
        for token in ([special] if part is None else cuttings(part.encode(), vocabulary)[0])
    ]
    ids = vocabulary.ids
    for answer in ("Dear", "talk", "聊天"):
        for cutting in some_of(cuttings(answer.encode(), vocabulary)[:: -max(1, len(answer))][:4], 2):
            rest = [*cutting, ids[b"."]]

            def score(tokens: tuple[int, ...], rest: list[int] = rest) -> NDArray[np.floating]:
                scores = np.zeros(len(vocabulary), dtype=np.float32)
                place = len(tokens) - len(prompt)
                scores[rest[place] if place < len(rest) else vocabulary.end_token_ids[0]] = 30
                return scores

            model = ScriptedModel(vocabulary, score)
            if strategy == STRATEGIES[0]:  # without banned words there is one way to write
                assert generate(model, prompt, max_tokens=9).text == answer + "."
            banned = BannedWords(["Dear", "talk", "聊天"])
            result = generate(model, prompt, banned=banned, max_tokens=9, strategy=strategy)
            assert not BannedText(["Dear", "talk", "聊天"]).is_in(result.text.encode())


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_special_token_of_the_prompt_is_a_boundary(vocabulary: Vocabulary, strategy: StrategyName) -> None:
    """It ends words, and it may stand between those of a phrase."""
    special = next(token for token, data in enumerate(vocabulary.tokens) if data is None)
    ids = vocabulary.ids
    for before, after, allowed in ((" ta", "lk", True), ("fuck", " you", False), ("fuck", "you", False)):
        head = cuttings(before.encode(), vocabulary)[-1]
        rest = [*cuttings(after.encode(), vocabulary)[-1], ids[b"."]]

        def score(tokens: tuple[int, ...], rest: list[int] = rest, read: int = len(head) + 2) -> NDArray[np.floating]:
            scores = np.zeros(len(vocabulary), dtype=np.float32)
            place = len(tokens) - read
            scores[rest[place] if place < len(rest) else vocabulary.end_token_ids[0]] = 30
            return scores

        model = ScriptedModel(vocabulary, score)
        result = generate(model, [special, *head, special], banned=BannedWords(WORDS), max_tokens=9, strategy=strategy)
        assert (result.text == after + ".") == allowed
        assert not BannedText(WORDS, prompt=before.encode() + b"|").is_in(result.text.encode())
