"""The token limit never cuts a match: whatever the model prefers, each text is whole and fits."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.support.models.scripted import ScoreOf, ScriptedModel
from tests.support.models.vocabularies import loaded
from tests.support.running.tried import some_of

from sfgen import Dfa, Index, Sampler, Vocabulary, generate
from sfgen.errors import LimitTooSmall

PATTERNS = [
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}",
    r"((25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(25[0-5]|2[0-4]\d|1?\d?\d)",
    r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?",
    r"(?i)[a-z0-9._%+-]+@[a-z0-9.-]+\.[a-z]{2,4}",
    r"https?://(www\.)?[a-z0-9]{1,12}\.(org|net|com)(/[a-z0-9_-]{1,8}){0,3}/?",
    r'\{"name":"[A-Z][a-z]{2,9}","age":[1-9][0-9]\}',
    r'"([^"\\\x00-\x1f]|\\["\\/bfnrt])*"',
    r"(hot|cold|hotel)",
    r"(yes|no|)",
    r".*",
    r".{0,40}",
    r"[^\n]{1,60}\.",
    r"[a-zA-Z]+( [a-zA-Z]+){3,8}[.?!]",
    r"(?s).{3,5}",
    r"(?u)\w{3,12}",
    r"[α-ω]{2,8}",
    r"[一-龥]{3}[。!?]",
    r"(🙂|🎉|é){2,6}",
    r"(?i)straße|grüße, (welt|erde)",
    r"\[(-?[0-9]{1,3}(, -?[0-9]{1,3})*)?\]",
    r"(- [a-z ]{1,12}\n){1,4}",
    r"(O-O(-O)?|[KQRBN]?[a-h]?x?[a-h][1-8](=[QRBN])?)[+#]?",
    r"v?\d+\.\d+\.\d+(-(alpha|beta)\.\d+)?",
    r"\d{2}:\d{2}:\d{2} (INFO|WARN|ERROR) [a-z_]+: .{1,30}",
    r"(a|b)*abb",
    r"(?:(?!end)[a-z ]){3,12} end",
    r'(("[a-z]{1,6}"|\d{1,5})?,){4}("[a-z]{1,6}"|\d{1,5})?',
    r"(?!000)\d{3}-(?!00)\d{2}(, \b\w+\b){2}",
    r"\x1b\[[0-9;]{0,8}m[ -~]{0,10}\x1b\[0m",
]
SMALL = Path(__file__).resolve().parent.parent / "data" / "tokenizers"
ROOM = [0, 0, 0, 1, 1, 2, 3, 5, 8, 12, 20, 60]  # tokens beyond the fewest; as many generations for each pattern


POOL: NDArray[np.float32] = np.random.default_rng(7).normal(0, 3, 600_000).astype(np.float32)


def random_scores(size: int, seed: int) -> ScoreOf:
    """Scores that look random and depend on the tokens before: a window of one long row of random numbers."""

    def score(tokens: tuple[int, ...]) -> NDArray[np.floating]:
        start = hash((seed, tokens)) % (POOL.size - size)
        return POOL[start : start + size]

    return score


def every_text_is_whole_and_fits(vocabulary: Vocabulary, rooms: list[int]) -> int:
    """Generate with each pattern and each of the rooms; return how many texts were looked at."""
    texts = 0
    for number, pattern in enumerate(PATTERNS):
        index = Index(Dfa.from_regex(pattern), vocabulary)
        fewest = len(index.shortest_tokens())
        oracle = re.compile(pattern) if "(?u)" in pattern else re.compile(pattern, re.ASCII)
        model = ScriptedModel(vocabulary, random_scores(len(vocabulary), 0), {"": [0]})
        if fewest:
            with pytest.raises(LimitTooSmall, match=f"the shortest match takes {fewest}"):
                generate(model, index=index, max_tokens=fewest - 1)
        assert not model.sessions
        for seed, room in enumerate(rooms):
            limit = fewest + room
            sampler = Sampler(temperature=float(seed % 3), seed=seed)
            model.score = random_scores(len(vocabulary), 1000 * number + seed)
            result = generate(model, index=index, sampler=sampler, max_tokens=limit)
            where = (pattern, limit, result)
            assert oracle.fullmatch(result.text), where
            assert len(result.token_ids) <= limit, where
            assert b"".join(vocabulary.tokens[token] or b"" for token in result.token_ids).decode() == result.text
            assert not {*result.token_ids} & {*vocabulary.end_token_ids}, where
            assert result.finish_reason in ("complete", "end_token"), where
            texts += 1
    return texts


@pytest.mark.parametrize("name", ["gpt2", "llama3", "gemma2"])
def test_every_text_is_whole_and_fits_with_real_tokenizers(
    real_tokenizer_directory: Callable[[str], Path], name: str
) -> None:
    assert len(PATTERNS) == 30
    _, vocabulary = loaded(real_tokenizer_directory(name))
    rooms = some_of(ROOM, 5)
    assert every_text_is_whole_and_fits(vocabulary, rooms) == 30 * len(rooms)


@pytest.mark.parametrize("name", ["gpt2", "llama3", "qwen", "gemma2", "llama2", "unigram"])
def test_every_text_is_whole_and_fits_with_small_tokenizers(name: str) -> None:
    assert every_text_is_whole_and_fits(loaded(SMALL / name)[1], ROOM[::3]) == 120


RECORD = r'\{"name": "[A-Z][a-z]{9}", "born": [0-9]{4}, "city": "[A-Z][a-z]{7}", "work": "[a-z]{7} [a-z]{8}"\}'


@pytest.mark.parametrize("name", ["gpt2", "llama3", "gemma2"])
def test_a_record_of_84_bytes_fits_into_30_tokens(real_tokenizer_directory: Callable[[str], Path], name: str) -> None:
    _, vocabulary = loaded(real_tokenizer_directory(name))
    index = Index(Dfa.from_regex(RECORD), vocabulary)
    fewest = len(index.shortest_tokens())
    assert 20 < fewest <= 30
    model = ScriptedModel(vocabulary, random_scores(len(vocabulary), 5), {"": [0]})
    for limit in (30, fewest):
        result = generate(model, index=index, max_tokens=limit)
        assert re.fullmatch(RECORD, result.text, re.ASCII)
        assert len(result.text.encode()) == 84
        assert len(result.token_ids) <= limit
    with pytest.raises(LimitTooSmall, match=f"the shortest match takes {fewest}"):
        generate(model, index=index, max_tokens=fewest - 1)


def test_without_an_end_token_a_text_ends_where_nothing_more_fits() -> None:
    vocabulary = Vocabulary([b"a", b"b", b"ab"])
    index = Index(Dfa.from_regex("(ab)+"), vocabulary)
    for seed in range(20):
        model = ScriptedModel(vocabulary, random_scores(3, seed), {"": [0]})
        result = generate(model, index=index, max_tokens=5)
        assert re.fullmatch("(ab)+", result.text)
        assert (len(result.token_ids) <= 5, result.finish_reason) == (True, "complete")
