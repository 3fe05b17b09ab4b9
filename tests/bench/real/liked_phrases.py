"""Find the phrases that the real model likes to write, and keep them for the measurements of bans.

Usage: ``python -m tests.bench.real.liked_phrases [--texts FILE]``. The model goes on freely from each prompt of
``tests/data/real/ban_prompts.json``, twice, with other seeds than those that are measured. A phrase is one to four
words that stand next to each other, not all of them function words. It counts in how many texts it stands, and 500 are
kept: longer ones first, as far as they stand in enough texts, and none that is a part of another one. They are written
into ``tests/data/real/liked_phrases.txt``, the most frequent first.
"""

from __future__ import annotations

import argparse
import itertools
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parents[2]

DATA = TESTS / "data" / "real"
PROMPTS = DATA / "ban_prompts.json"
PHRASES = DATA / "liked_phrases.txt"

SEEDS = (1_000_000, 2_000_000)
"""The first seed of each round of free texts; the measurements have others."""
TEMPERATURE = 0.8
TOKENS = 200
ROWS = 20
"""Texts at once: on one thread llama.cpp takes less processor time for a token then."""

QUOTAS = {4: 100, 3: 125, 2: 125, 1: 150}
"""How many phrases of each length are wanted; where there are fewer, shorter ones take their places."""
LEAST_TEXTS = 4

FUNCTION_WORDS = frozenset((DATA / "function_words.txt").read_text(encoding="utf-8").split())
"""Words that say nothing by themselves."""


def prompts() -> list[str]:
    """The prompts, one of each kind after the other, so that any part of the list has all kinds."""
    kinds: dict[str, list[str]] = json.loads(PROMPTS.read_text(encoding="utf-8"))
    return [prompt for row in zip(*kinds.values(), strict=True) for prompt in row]


def phrases() -> list[str]:
    """The phrases that were found and kept."""
    return PHRASES.read_text(encoding="utf-8").splitlines()


def words_of(text: str) -> list[str]:
    """The words of a text, folded; whatever stands between them is left out.

    A combining mark belongs to the letter before it, and makes another word of it.

    >>> words_of("One, TWO_three: re\u0301sume\u0301")[:3], len(words_of("o\u0301h"))
    (['one', 'two', 'three'], 1)
    """
    return ["".join(run) for is_word, run in itertools.groupby(text.casefold(), _stands_in_words) if is_word]


def _stands_in_words(character: str) -> bool:
    return character.isalnum() or unicodedata.category(character).startswith("M")


def free_texts(model: Any) -> Iterator[str]:
    """Free texts of the model, with the seeds of this module."""
    from sfgen import GenerationConfig, Job, Sampler, job_records

    for seed in SEEDS:
        job = Job(model, GenerationConfig(sampler=Sampler(TEMPERATURE, seed), max_tokens=TOKENS))
        for record in job_records(job, prompts(), batch_size=ROWS):
            yield record["text"]


def liked(texts: Iterable[str]) -> list[str]:
    """The phrases that stand in many texts.

    Longer phrases are chosen first. A shorter one that is a part of a chosen one is left out: to ban it would ban the
    longer one, too.
    """
    counts: dict[int, Counter[tuple[str, ...]]] = {size: Counter() for size in QUOTAS}
    for text in texts:
        for size, counter in counts.items():
            counter.update(_phrases_of(text, size))
    chosen: list[tuple[int, tuple[str, ...]]] = []
    wanted = 0
    for size, quota in QUOTAS.items():
        wanted += quota
        parts = {part for _, phrase in chosen for part in _runs(phrase, size)}
        ranked = sorted((-count, phrase) for phrase, count in counts[size].items() if phrase not in parts)
        for negative, phrase in ranked[: wanted - len(chosen)]:
            if -negative >= LEAST_TEXTS:
                chosen.append((negative, phrase))
    return [" ".join(phrase) for _, phrase in sorted(chosen)]


def _phrases_of(text: str, size: int) -> set[tuple[str, ...]]:
    """The phrases of a text: words with nothing but a blank between them, some of which say something."""
    found = set()
    whole = re.sub(r"<[^<>\s]*>|\w+['’]\w+", ".", text.casefold())  # no tag, and no half of "don't", is a word
    for stretch in re.split(r"[^\w ]|_|\d", whole):
        for phrase in _runs(tuple(stretch.split()), size):
            if not FUNCTION_WORDS.issuperset(phrase) and max(map(len, phrase)) > 2:
                found.add(phrase)
    return found


def _runs(words: tuple[str, ...], size: int) -> Iterator[tuple[str, ...]]:
    return (words[start : start + size] for start in range(len(words) - size + 1))


def main() -> None:
    """Sample, count and write."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.real.liked_phrases")
    parser.add_argument("--texts", type=Path, metavar="FILE", help="keep the free texts there, or take those that are")
    options = parser.parse_args()
    if options.texts and options.texts.exists():
        texts = json.loads(options.texts.read_text(encoding="utf-8"))
    else:
        from tests.support.real.model import gguf_model

        texts = list(free_texts(gguf_model()))
        if options.texts:
            options.texts.write_text(json.dumps(texts), encoding="utf-8")
    PHRASES.write_text("".join(f"{phrase}\n" for phrase in liked(texts)), encoding="utf-8")


if __name__ == "__main__":
    main()
