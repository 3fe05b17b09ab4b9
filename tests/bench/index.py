"""Measure the index side by side with outlines-core and with the first, naive algorithm, in one run.

Usage: ``make bench``. Tokenizers are found through SFGEN_TOKENIZERS (default ``../shared/tokenizers``); without them
the embedded model's vocabulary is measured. Kernels are loaded before anything is timed. Times are medians of five
runs on a fresh index each, the automaton included; ratios are what to look at.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
import tomllib
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import outlines_core

import regex
from sfgen import Dfa, Index, Vocabulary
from sfgen.models import load_vocabulary

HERE = Path(__file__).parent
RUNS = 5


def main() -> None:
    """Print one table for each vocabulary."""
    patterns: dict[str, str] = tomllib.loads((HERE / "patterns.toml").read_text())["patterns"]
    print(f"Python {sys.version.split()[0]}, outlines-core {version('outlines-core')}, median of {RUNS} runs")
    for name, vocabulary in vocabularies().items():
        vocabulary.trie  # noqa: B018 - built once for a vocabulary, like the other library's
        Index(Dfa.from_regex("a|b"), vocabulary).build()
        theirs = their_vocabulary(vocabulary)
        print(f"\n{name}: {len(vocabulary):,} tokens")
        print("| pattern | first mask, ms | all rows, ms | outlines-core index, ms | ratio | naive mask, ms |")
        print("| --- | ---: | ---: | ---: | ---: | ---: |")
        for title, pattern in patterns.items():
            first = median_ms(partial(first_mask, pattern, vocabulary))
            rows = median_ms(partial(all_rows, pattern, vocabulary))
            other = median_ms(partial(outlines_core.Index, pattern, theirs))
            naive = median_ms(partial(naive_mask, pattern, vocabulary), runs=1)
            print(f"| {title} | {first:.2f} | {rows:.2f} | {other:.1f} | {other / rows:.0f} | {naive:.0f} |")


def vocabularies() -> dict[str, Vocabulary]:
    folder = Path(os.environ.get("SFGEN_TOKENIZERS") or HERE.parents[2] / "shared" / "tokenizers")
    found = {name: folder / name for name in ("gpt2", "llama3", "gemma2") if (folder / name).is_dir()}
    if not found:
        print(f"no tokenizers in {folder}: measuring the embedded vocabulary", file=sys.stderr)
        return {"tiny": load_vocabulary("tiny")}
    return {name: Vocabulary.from_pretrained(directory) for name, directory in found.items()}


def first_mask(pattern: str, vocabulary: Vocabulary) -> None:
    Index(Dfa.from_regex(pattern), vocabulary).row(0)


def all_rows(pattern: str, vocabulary: Vocabulary) -> None:
    Index(Dfa.from_regex(pattern), vocabulary).build()


def their_vocabulary(vocabulary: Vocabulary) -> Any:
    tokens: dict[bytes, list[int]] = defaultdict(list)
    for token_id, data in enumerate(vocabulary.tokens):
        if data and token_id not in vocabulary.end_token_ids:
            tokens[data].append(token_id)
    return outlines_core.Vocabulary(vocabulary.end_token_ids[0], dict(tokens))


def naive_mask(pattern: str, vocabulary: Vocabulary) -> int:
    """The first algorithm: every token is tried by a partial match, at every step again."""
    compiled = regex.compile(pattern)
    texts = [data.decode("utf-8", "replace") for data in vocabulary.tokens if data]
    return sum(compiled.fullmatch(text, partial=True) is not None for text in texts)


def median_ms(work: Callable[[], object], runs: int = RUNS) -> float:
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        times.append(1000 * (time.perf_counter() - start))
    return statistics.median(times)


if __name__ == "__main__":
    main()
