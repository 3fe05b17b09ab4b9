"""Measure what sfgen costs on a GPU: patterns, bans and batches beside free generation, in one run.

Usage: ``python -m tests.bench.gpu``, on a machine with a CUDA device; ``--sketch`` tries the program on any machine,
with a small model. The model has random weights and Llama-3's tokenizer (found through SFGEN_TOKENIZERS, as for the
other benchmarks). All ways write one after the other in each round, so that what else the machine does meets all of
them; figures are medians of the rounds with their quartiles. Takes a few minutes and writes ``gpu.md`` into
``tests/docs``.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sfgen import BannedWords, Dfa, Finished, Index, Result, Sampler
from sfgen.decoding import batch_of, drive_batch, prepare

from .bans import counted, phrases, ratios
from .gpu_model import described, random_llama
from .gpu_report import ABSENT, FREE, RESAMPLE, Figures, Section, report
from .machine import gpu, machine
from .patterns import patterns

DOCS = Path(__file__).parent.parent / "docs"
BATCHES = (1, 8, 32)
WIDE = r"[^\n]*"
NARROW = r"[\x01-\x08\x0e-\x1f]{%d}"  # each of them is a token, and no two together are
_PROMPT = 16  # tokens
_PHRASES = 1_000  # that occur nowhere
_WORDS = 2  # of each text that are banned


@dataclass
class Way:
    """One way of writing a batch of texts.

    Args:
        name: What the table calls it.
        write: Writes them; returns the number of tokens, and what sfgen says of each text.
        seconds: For a token, in each round.
        tokens: Of all texts together.
        passes: Forward passes of the model; each may be one of all texts.
        rollbacks: Of all texts together.
    """

    name: str
    write: Callable[[], tuple[int, list[Result]]]
    seconds: list[float] = field(default_factory=list)
    tokens: int = 0
    passes: int = 0
    rollbacks: int = 0

    def measure(self, network: Any, *, warm: bool) -> None:
        """Write once; the first time only warms up."""
        with counted(network.base_model) as counts:
            start = time.perf_counter()
            self.tokens, results = self.write()
            seconds = time.perf_counter() - start
        if warm:
            self.seconds.append(seconds / self.tokens)
        self.passes = counts["calls"]
        self.rollbacks = sum(len(result.rollbacks) for result in results)


def main() -> None:
    """Measure, print the report and write it."""
    options = _options()
    import torch

    if not torch.cuda.is_available() and not options.sketch:
        sys.exit("no CUDA device here; --sketch tries the program with a small model on the CPU")
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    begun = time.monotonic()
    model = random_llama("cuda" if torch.cuda.is_available() else "cpu", sketch=options.sketch)
    sections = [section(model, batch, options.tokens, options.rounds) for batch in options.batch or BATCHES]
    text = report(
        sections,
        machine=f"{gpu()}; {machine()}",
        model=described(model),
        tokens=options.tokens,
        rounds=options.rounds,
        minutes=(time.monotonic() - begun) / 60,
    )
    print(text)
    if options.output or not options.sketch:
        ((options.output or DOCS) / "gpu.md").write_text(text, encoding="utf-8")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.gpu", description=__doc__.partition("\n")[0])
    add = parser.add_argument
    add("--batch", type=int, action="append", metavar="N", help="only this number of texts; may be repeated")
    add("--rounds", type=int, default=7, metavar="N", help="interleaved rounds (default: 7)")
    add("--tokens", type=int, default=48, metavar="N", help="tokens of each text (default: 48)")
    add("--sketch", action="store_true", help="a small model, also without a GPU; print the report only")
    add("--output", type=Path, metavar="FOLDER", help="write gpu.md there")
    return parser.parse_args()


def section(model: Any, batch: int, tokens: int, rounds: int) -> Section:
    """Everything about so many texts at once."""
    from .gpu_parts import parts

    ways = list(ways_of(model, batch, tokens))
    for number in range(rounds + 1):
        for way in ways:
            way.measure(model.model, warm=number > 0)
        print(f"{time.strftime('%H:%M:%S')} batch {batch}, round {number} of {rounds}", file=sys.stderr)
    base = next(way for way in ways if way.name == FREE).seconds
    figures = {way.name: Figures(way.seconds, ratios(way.seconds, base), way.passes, way.rollbacks) for way in ways}
    return Section(batch, figures, parts(model, batch))


def ways_of(model: Any, batch: int, tokens: int) -> Iterator[Way]:
    """All ways of writing, free generation by transformers first."""
    network, vocabulary = model.model, model.vocabulary
    source = np.random.default_rng(0)
    prompts: Any = source.choice(vocabulary.text_token_ids, (batch, _PROMPT)).tolist()

    def by_sfgen(**task: Any) -> tuple[int, list[Result]]:
        sampled = task.pop("sampled", False)
        loops = [
            prepare(model, prompt, sampler=Sampler(1.0, row) if sampled else None, **{"max_tokens": tokens, **task})
            for row, prompt in enumerate(prompts)
        ]
        events = drive_batch(loops, batch_of(model, batch))
        results = [event.result for _, event in events if isinstance(event, Finished)]
        assert len(results) == batch
        return sum(len(result.token_ids) for result in results), results

    def by_transformers(index: Index | None = None) -> tuple[int, list[Result]]:
        import torch

        from sfgen.integrations.transformers import GuidedLogitsProcessor

        processors = [] if index is None else [GuidedLogitsProcessor(index)]
        ids = torch.tensor(prompts, device=network.device)
        out = network.generate(
            ids, attention_mask=torch.ones_like(ids), max_new_tokens=tokens, do_sample=False,
            pad_token_id=vocabulary.end_token_ids[0], logits_processor=processors,
        )  # fmt: skip
        return batch * (out.shape[1] - _PROMPT), []

    wide, narrow, customer = (
        Index(Dfa.from_regex(pattern), vocabulary)
        for pattern in (WIDE, NARROW % tokens, patterns("generation")["customer"])
    )
    words = words_of([result.text for result in by_sfgen()[1]])
    banned, absent = BannedWords(words), BannedWords(phrases(_PHRASES))
    yield Way("transformers, free", by_transformers)
    yield Way("transformers, wide pattern, by the processor", lambda: by_transformers(wide))
    yield Way(FREE, by_sfgen)
    yield Way("sfgen, free, sampled", lambda: by_sfgen(sampled=True))
    yield Way("sfgen, wide pattern", lambda: by_sfgen(index=wide, fast_forward=False))
    yield Way("sfgen, wide pattern, sampled", lambda: by_sfgen(index=wide, fast_forward=False, sampled=True))
    yield Way("sfgen, narrow pattern", lambda: by_sfgen(index=narrow, fast_forward=False))
    yield Way("sfgen, a JSON record with forced text", lambda: by_sfgen(index=customer, max_tokens=2 * tokens + 64))
    yield Way(ABSENT, lambda: by_sfgen(banned=absent))
    yield Way(RESAMPLE, lambda: by_sfgen(banned=banned))
    yield Way("sfgen, ban, `mask`", lambda: by_sfgen(banned=banned, strategy="mask"))


def words_of(texts: Sequence[str]) -> list[str]:
    """Some words of each text."""
    found = [list(dict.fromkeys(re.findall(r"\b[a-z]{3,}\b", text.lower())))[:_WORDS] for text in texts]
    return sorted({word for words in found for word in words})


if __name__ == "__main__":
    main()
