"""How near words with a bias come to their target, on many small models.

Usage: ``python -m tests.bench.word_bias``. The target: each text's weight under the model times exp(b · occurrences).
Everything is counted, and nothing drawn: the models are so small that all texts can be listed, and so are the lists of
words (``tests/bench/nearness.py``). No time is taken. Writes ``word_bias.md`` into ``tests/docs``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from .nearness import LISTS, SPREADS

DOCS = Path(__file__).parent.parent / "docs"

BIASES = (-0.5, -1.0, -2.0, -5.0)

HEAD = """# Words with a bias

Written by `python -m tests.bench.word_bias`: total variation, from 0 to 1, to the target, in which the weight of each \
text under the model is multiplied by exp(b · occurrences). *By blocks* is what `word_bias` writes; *without* is the \
model as it is; *tokens* gives the bias to the token that completes an occurrence, and looks no further. {count} small \
random models for each bias, on which every text is counted.

| bias | way | mean | median | 95 of 100 are below | worst |
|---|---|---|---|---|---|
"""


def main() -> None:
    """Measure, print the report and write it."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.word_bias", description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=35, metavar="N", help="models of each kind (default: 35)")
    parser.add_argument("--output", type=Path, default=DOCS, metavar="FOLDER", help="write word_bias.md there")
    options = parser.parse_args()
    count = options.seeds * len(LISTS) * len(SPREADS)
    report = HEAD.format(count=count) + "\n".join(rows(options.seeds)) + "\n"
    print(report)
    (options.output / "word_bias.md").write_text(report, encoding="utf-8")


def rows(seeds: int) -> Iterator[str]:
    """Measure the models of all spreads, for each bias."""
    from tests.support.models.scripted import ScoreOf, random_scores
    from tests.support.models.toy_models import Toy, total_variation

    def model(size: int, seed: int, spread: float) -> ScoreOf:
        score = random_scores(size, seed)
        return lambda tokens: score(tokens) / 3 * spread

    for bias in BIASES:
        found: dict[str, list[float]] = {"by blocks": [], "tokens": [], "without": []}
        for match, tokens, words, most in LISTS:
            for seed in range(seeds):
                for spread in SPREADS:
                    how = {"match": match, "bias": dict.fromkeys(words, bias)}
                    toy = Toy(tokens, model(len(tokens) + 1, seed, spread), [], most, **how)  # type: ignore[arg-type]
                    target = toy.clean_texts()
                    ways = toy.by_blocks(), toy.by_completing_tokens(), toy.free_texts()
                    for distances, written in zip(found.values(), ways, strict=True):
                        distances.append(total_variation(target, written))
        print(f"word_bias: bias {bias:g}", file=sys.stderr)
        for way, distances in found.items():
            mean, median, worst = np.mean(distances), np.median(distances), max(distances)
            most_are_below = np.quantile(distances, 0.95)
            yield f"| {bias:g} | {way} | {mean:.3f} | {median:.3f} | {most_are_below:.3f} | {worst:.3f} |"


if __name__ == "__main__":
    main()
