"""Measure what a ban costs, side by side with other ways of banning words, in one run.

Usage: ``python -m tests.bench.bans``. Two models: the embedded one, and one of the size of GPT-2 with random weights
and the embedded model's tokenizer. The banned words are words that the model writes when nothing is banned, so every
way of banning has something to do. All ways run one after the other in each round, so that what else the machine does
meets all of them; figures are medians of the rounds with their quartiles. Writes ``bans.md`` into ``tests/docs``.
"""

from __future__ import annotations

import argparse
import itertools
import random
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sfgen import BannedWords, generate, load_model
from sfgen.models.tiny import DIRECTORY

from .source_loop import SourceLoop

DOCS = Path(__file__).parent.parent / "docs"
PROMPT = "Once upon a time"


@dataclass
class Row:
    """What was measured of one way of banning."""

    seconds: list[float] = field(default_factory=list)
    forward_passes: int = 0
    tokens_read: int = 0
    rollbacks: int | None = None
    text: str = ""


@dataclass
class Way:
    """One way of writing a text.

    Args:
        name: What the table calls it.
        write: Writes it; returns the text and the number of rollbacks, where it knows.
    """

    name: str
    write: Callable[[], tuple[str, int | None]]
    row: Row = field(default_factory=Row)


def main() -> None:
    """Measure, print the report and write it."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.bans", description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=15, metavar="N", help="interleaved rounds (default: 15)")
    parser.add_argument("--tokens", type=int, default=48, metavar="N", help="tokens of each text (default: 48)")
    parser.add_argument("--output", type=Path, default=DOCS, metavar="FOLDER", help="write bans.md there")
    options = parser.parse_args()
    lines = [
        "# What a ban costs",
        "",
        f"Written by `python -m tests.bench.bans`: greedy, {options.tokens} tokens, {options.rounds} interleaved "
        f"rounds, CPU, {threads()}. Times are medians with the first and third quartile, as ratios to generating with "
        "transformers without a ban in the same round. *Read* counts the tokens that the model was given, those of the "
        "prompt included; *found* the banned words in the text.",
        "",
    ]
    with tempfile.TemporaryDirectory() as folder:
        for name, model in (("tiny", load_model(DIRECTORY)), ("random GPT-2", gpt2_sized(Path(folder)))):
            lines += section(name, model, options.tokens, options.rounds)
    report = "\n".join(lines) + "\n"
    print(report)
    (options.output / "bans.md").write_text(report, encoding="utf-8")


def threads() -> str:
    """How many threads torch uses, unless the library says less."""
    import torch

    count = torch.get_num_threads()
    return f"{count} thread{'' if count == 1 else 's'}"


def gpt2_sized(folder: Path) -> Any:
    """A model of 12 layers and 768 units, with random weights and the embedded model's tokenizer."""
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(0)
    for file in DIRECTORY.glob("*token*"):
        (folder / file.name).write_bytes(file.read_bytes())
    tiny = load_model("tiny").vocabulary
    config = GPT2Config(vocab_size=len(tiny), eos_token_id=tiny.end_token_ids[0], bos_token_id=None)
    network = GPT2LMHeadModel(config)
    for parameter in network.parameters():  # so that the next token depends on the text, and is not always the same
        parameter.data.mul_(4.0)
    network.save_pretrained(folder)
    return load_model(str(folder))


def section(name: str, model: Any, tokens: int, rounds: int) -> list[str]:
    """The report on one model."""
    free = generate(model, PROMPT, max_tokens=tokens).text
    words = list(dict.fromkeys(re.findall(r"\b[a-z]{3,}\b", free.lower())))[:3]
    ways = list(ways_of(model, words, tokens))
    print(f"{name}: banned {words}", file=sys.stderr)
    for number in range(rounds + 1):
        for way in ways:
            with counted(model.model) as counts:
                start = time.perf_counter()
                way.row.text, way.row.rollbacks = way.write()
                seconds = time.perf_counter() - start
            if number:  # the first round warms up
                way.row.seconds.append(seconds)
            way.row.forward_passes, way.row.tokens_read = counts["calls"], counts["tokens"]
    base = ways[0].row.seconds
    banned = re.compile("|".join(rf"\b{word}\b" for word in words), re.IGNORECASE)
    table = [
        f"## {name}: {', '.join(words)} banned",
        "",
        "| way | time | forward passes | read | rollbacks | found |",
        "|---|---|---|---|---|---|",
    ]
    for way in ways:
        row = way.row
        # After the prompt: what goes on with its last word is no word of its own.
        found = "" if way.name.endswith("no ban") else str(len(banned.findall(PROMPT + row.text)))
        rollbacks = "" if row.rollbacks is None else str(row.rollbacks)
        table.append(
            f"| {way.name} | {ratios(row.seconds, base)} | {row.forward_passes} | {row.tokens_read} | {rollbacks} | "
            f"{found} |"
        )
    return [*table, "", many_phrases(model, tokens, rounds), ""]


def ways_of(model: Any, words: list[str], tokens: int) -> Iterator[Way]:
    """All ways, transformers without a ban first."""
    network = model.model
    banned = BannedWords(words)
    prompt_ids = model.encode(PROMPT)
    end = list(model.vocabulary.end_token_ids)

    def by_transformers(**options: Any) -> tuple[str, int | None]:
        import torch

        ids = torch.tensor([prompt_ids])
        out = network.generate(
            ids, attention_mask=torch.ones_like(ids), max_new_tokens=tokens, do_sample=False, eos_token_id=end,
            pad_token_id=end[0], **options,
        )  # fmt: skip
        return text_of(model, out[0, len(prompt_ids) :].tolist()), None

    def by_sfgen(**options: Any) -> tuple[str, int | None]:
        result = generate(model, PROMPT, max_tokens=tokens, **options)
        return result.text, len(result.rollbacks) if options else None

    spellings = [model.encode(space + word) for word in words for space in ("", " ")]
    source = SourceLoop(network, model.vocabulary, words)
    yield Way("transformers, no ban", by_transformers)
    yield Way("transformers, `bad_words_ids`", lambda: by_transformers(bad_words_ids=spellings))
    yield Way("a plain loop with rollbacks", lambda: source.write(prompt_ids, tokens))
    yield Way("sfgen, no ban", by_sfgen)
    for strategy in ("resample", "first-token", "mask"):
        yield Way(f"sfgen, {strategy}", lambda strategy=strategy: by_sfgen(banned=banned, strategy=strategy))  # type: ignore[misc]


def many_phrases(model: Any, tokens: int, rounds: int) -> str:
    """What 20 000 phrases cost that the text does not contain."""
    banned = BannedWords(phrases(20_000))
    pairs = []
    for number in range(2 * rounds + 1):
        times = {}
        for ban in (None, banned) if number % 2 else (banned, None):  # neither always has the warmer caches
            start = time.perf_counter()
            result = generate(model, PROMPT, max_tokens=tokens, banned=ban)
            times[ban] = time.perf_counter() - start
            assert not result.rollbacks
        if number:
            pairs.append(times[banned] / times[None])
    low, middle, high = quartiles(pairs)
    return (
        f"20 000 banned phrases, none of which occurs: {middle:.3f} times the time of sfgen without a ban "
        f"({low:.3f} to {high:.3f}, {len(pairs)} interleaved pairs)."
    )


def phrases(count: int) -> list[str]:
    """Phrases of one to three made-up words."""
    source = random.Random(0)
    syllables = ["".join(pair) for pair in itertools.product("bdfgklmnprstvz", "aeiou")]

    def word() -> str:
        return "".join(source.choices(syllables, k=source.randint(3, 5)))

    return [" ".join(word() for _ in range(source.randint(1, 3))) for _ in range(count)]


def text_of(model: Any, ids: list[int]) -> str:
    """The text of tokens, up to the end token."""
    ends = model.vocabulary.end_token_ids
    kept = list(itertools.takewhile(lambda token: token not in ends, ids))
    return b"".join(model.vocabulary.tokens[token] or b"" for token in kept).decode("utf-8", "replace")


def ratios(times: list[float], base: list[float]) -> str:
    """Median and quartiles of the ratios of each round."""
    low, middle, high = quartiles([a / b for a, b in zip(times, base, strict=True)])
    return f"{middle:.2f} ({low:.2f} to {high:.2f})"


def quartiles(values: list[float]) -> list[float]:
    """Lower quartile, median and upper quartile; of one value, itself."""
    return statistics.quantiles(values, n=4) if len(values) > 1 else values * 3


@contextmanager
def counted(network: Any) -> Iterator[dict[str, int]]:
    """Count how often a network runs, and over how many tokens."""
    counts = {"calls": 0, "tokens": 0}

    def count(_: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        ids: Any = kwargs.get("input_ids", args[0] if args else None)
        counts["calls"] += 1
        counts["tokens"] += int(ids.shape[-1])

    # sfgen calls the layers and the output layer apart, so it is the layers that are counted.
    hook = network.base_model.register_forward_pre_hook(count, with_kwargs=True)
    try:
        yield counts
    finally:
        hook.remove()


if __name__ == "__main__":
    main()
