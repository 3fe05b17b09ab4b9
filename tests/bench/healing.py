"""What healing the end of a prompt changes.

Usage: ``python -m tests.bench.healing [--seeds N] [--tokenizers NAME ...]``. Two things are measured. With ``tiny``,
texts behind prompts that end in a space are drawn with and without healing; of each, prompt and text are cut together
as the tokenizer cuts them, and the model says how likely that is. And for each tokenizer, without a model: how often
the tokens of prompt and text together begin with those of the prompt, so that a text behind them can be spelled as the
tokenizer would spell it, and how often with those that healing leaves. A run over all tokenizers writes ``healing.md``
into ``tests/docs``. Tokenizers are found through SFGEN_TOKENIZERS, as for the other benchmarks.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

import numpy as np

import sfgen
from sfgen import Sampler
from sfgen.decoding.healing import seams
from sfgen.models.tiny.model import TinyModel

from .vocabularies import EMBEDDED, NAMES, Cutter, find

DOCS = Path(__file__).parent.parent / "docs"
MOST_TOKENS = 24

CASES: tuple[tuple[str, str, str | None], ...] = (
    ("a sentence", "A person: ", r"[A-Z][a-z]{2,9} is [1-9][0-9] years old\."),
    ("a name", "A person: ", "[A-Z][a-z]{2,8}"),
    ("a month", "Date: ", "20[0-9]{2}-(0[1-9]|1[0-2])"),
    ("choices", "It is very ", "hot|cold|warm"),
    ("a word", "Today it is ", "[a-z]{3,8}"),
    ("two words", "Once upon a ", "[a-z]{3,8} [a-z]{2,8}"),
    ("an address", "Write to ", r"[a-z]{3,8}@[a-z]{3,8}\.(com|org)"),
    ("a record", "A person: ", r'\{"name":"[A-Z][a-z]{2,9}","age":[1-9][0-9]\}'),
    ("free text", "Once upon a ", None),
    ("free text", "Tell me ", None),
    ("inside a word", "On Wed", None),
    ("inside a word", "Once upon a ti", None),
    ("inside a name", "A person: Mar", "[a-z]{1,8} is [1-9][0-9]"),
    ("inside a number", "Date: 202", "[0-9]-(0[1-9]|1[0-2])"),
)
"""What it is, the prompt, and the pattern."""

ENDS = (
    "A person: ",
    "The answer is ",
    "- ",
    "Dear ",
    "x = ",
    "Name:\t",
    "Question?\n",
    "Summary:\n\n",
    "def f():\n    ",
)
TEXTS = (
    *("Gerald", "hello", "the", "I", "a", "Yes.", "été", "你好", "München", "x", "return", "1", "42", "2026-11"),
    *('{"name":', "[1, 2]", '"quoted"', "(a)", "http://x.org", "# note", "- item", "\n", "  two", "$5", "<b>"),
)


@dataclass(frozen=True)
class Drawn:
    """Texts of a case, with or without healing.

    Attributes:
        log_probability: Of prompt and text together, behind what healing leaves of the prompt; a mean.
        own: The share of texts at whose seam the tokens are the tokenizer's own.
        passes: Forward passes; a mean.
    """

    log_probability: float
    own: float
    passes: float


def log_probability(model: TinyModel, token_ids: Sequence[int], start: int) -> float:
    """Of the tokens from ``start`` on behind those before."""
    session, total = model.session(), 0.0
    scores = session.extend(token_ids[:start]).astype(np.float64)
    for token in token_ids[start:]:
        total += float(scores[token] - np.logaddexp.reduce(scores))
        scores = session.extend([token]).astype(np.float64)
    return total


def drawn(model: TinyModel, prompt: str, pattern: str | None, seeds: int, *, heal: bool) -> Drawn:
    """Draw a text from each seed."""
    start = _kept(model, prompt)
    found, own, passes = [], 0, []
    for seed in range(seeds):
        limit = 100 if pattern is not None else MOST_TOKENS
        result = sfgen.generate(model, prompt, index=pattern, sampler=Sampler(1.0, seed), heal=heal, max_tokens=limit)
        whole = model.encode(prompt + result.text)
        written = [*model.encode(prompt)[: result.prompt_tokens], *result.token_ids]
        across = _across(model, whole, prompt)
        own += whole[:across] == written[:across]
        found.append(log_probability(model, whole, start))
        passes.append(result.forward_passes)
    return Drawn(mean(found), own / seeds, mean(passes))


def _kept(model: TinyModel, prompt: str) -> int:
    """The tokens of a prompt that healing leaves, and at most those before its last space."""
    token_ids = model.encode(prompt)
    seam = next(iter(seams(model.vocabulary, token_ids, prompt.encode())), None)
    without_space = len(model.encode(prompt.rstrip()))
    return without_space if seam is None else min(len(seam.prompt_ids), without_space)


def _across(model: TinyModel, token_ids: Sequence[int], prompt: str) -> int:
    """The number of tokens that reach beyond the prompt."""
    room = len(prompt.encode())
    for number, token in enumerate(token_ids, 1):
        room -= len(model.vocabulary.tokens[token] or b"")
        if room < 0:
            return number
    return len(token_ids)


def shares(cutter: Cutter) -> Iterator[tuple[str, float, float]]:
    """For each end of a prompt the share of texts that can be spelled as the tokenizer does: without, with healing."""
    backend = cutter.tokenizer.backend_tokenizer

    def encode(text: str) -> list[int]:
        ids: list[int] = backend.encode(text, add_special_tokens=False).ids
        return ids

    for end in ENDS:
        prompt = f"Some text. {end}"
        ids = encode(prompt)
        seam = next(iter(seams(cutter.vocabulary, ids, prompt.encode())), None)
        kept = ids if seam is None else list(seam.prompt_ids)
        wholes = [encode(prompt + text) for text in TEXTS]
        plain, healed = (mean(whole[: len(start)] == start for whole in wholes) for start in (ids, kept))
        yield end, plain, healed


def report(seeds: int, names: Sequence[str]) -> str:
    """What was measured, as Markdown."""
    model = TinyModel()
    lines = [
        "# The seam between prompt and text",
        "",
        f"Written by `python -m tests.bench.healing`: {seeds} texts of each row, drawn at temperature 1, at most "
        f"{MOST_TOKENS} tokens of free text.",
        "",
        "## tiny",
        "",
        "*Log-probability*: of prompt and text together, cut as the tokenizer cuts them, behind what healing leaves of "
        "the prompt; the mean over the texts. *Own seam*: the texts whose tokens up to the end of the "
        "prompt are the tokenizer's, with the one that reaches beyond it.",
        "",
        "| text | prompt | log-probability, not healed | healed | own seam, not healed | healed | passes, not healed "
        "| healed |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name, prompt, pattern in CASES:
        plain, healed = (drawn(model, prompt, pattern, seeds, heal=heal) for heal in (False, True))
        lines.append(
            f"| {name} | `{prompt!r}` | {plain.log_probability:.2f} | {healed.log_probability:.2f} | {plain.own:.0%} | "
            f"{healed.own:.0%} | {plain.passes:.1f} | {healed.passes:.1f} |"
        )
    lines += [
        "",
        "## Tokenizers",
        "",
        f"Without a model: {len(TEXTS)} texts behind each end of a prompt. The share of them that can be written "
        "behind the prompt's tokens with the tokens that the tokenizer gives prompt and text together, and the same "
        "behind the tokens that healing leaves.",
        "",
        "| tokenizer | end of the prompt | not healed | healed |",
        "| --- | --- | ---: | ---: |",
    ]
    for name, directory in find(names).items():
        found = list(shares(Cutter(name, directory)))
        lines += [f"| {name} | `{end!r}` | {plain:.0%} | {healed:.0%} |" for end, plain, healed in found]
        lines.append(f"| {name} | all | {mean(row[1] for row in found):.0%} | {mean(row[2] for row in found):.0%} |")
    return "\n".join([*lines, ""])


def main() -> None:
    """Measure, print the report, and write it where all tokenizers are there."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.healing", description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=200, metavar="N", help="texts of each row (default: 200)")
    parser.add_argument("--tokenizers", nargs="*", choices=[*NAMES, EMBEDDED], help="only these")
    options = parser.parse_args()
    names = options.tokenizers or (*NAMES, EMBEDDED)
    found = report(options.seeds, names)
    print(found)
    if not options.tokenizers and set(find(names)) == set(names):
        (DOCS / "healing.md").write_text(found, encoding="utf-8")


if __name__ == "__main__":
    main()
