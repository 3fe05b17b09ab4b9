"""How bans of 500 phrases change the texts of a real model, by each way of banning: the section *Bans*.

The prompts are those of ``tests/data/real/ban_prompts.json``, the phrases those that the model likes
(``liked_phrases.py``). Blocks of prompts are written by all ways, one after the other, so that what else the machine
does meets all of them. Times are processor times. What came out is looked for by a scan of this module: the folded
words of a text, read after its prompt, among which a phrase stands wherever its words follow each other.

``python -m tests.bench.real.bans`` measures nothing: it counts the texts that were kept last, and writes the section.
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .__main__ import DOCUMENT, merged
from .ban_ways import ROWS, TEMPERATURE, TOKENS, Way, Written, exact_config, ways
from .liked_phrases import phrases, prompts, words_of

BLOCK = 10
"""Prompts that all ways write before the next ones come."""
MINUTES = 60
"""No block begins later than this."""
EXACT = (10, 16, 300)
"""The texts that are drawn as a whole, their tokens, and the prefixes that may be scored for each."""
WHOLE = "exact"


@dataclass
class Row:
    """The texts of one way.

    Attributes:
        written: Its texts.
        seconds: The processor time of all of them.
    """

    written: list[Written] = field(default_factory=list)
    seconds: float = 0.0


def section(sketch: bool) -> str:
    """Measure, keep the texts, and write the section of the report."""
    rows = measured(sketch)
    if not sketch:
        keep(rows)
    return report(rows, phrases())


def measured(sketch: bool) -> dict[str, Row]:
    """The texts of each way, by its name."""
    from tests.support.real.model import gguf_model

    model, banned, all_prompts = gguf_model(), phrases(), prompts()
    block = 2 if sketch else BLOCK
    everything = ways(model, banned, 40 if sketch else TOKENS)
    rows = {way.name: Row() for way in everything}
    warm_up(everything)
    begun = time.monotonic()
    for first in range(0, block if sketch else len(all_prompts), block):
        if time.monotonic() - begun > MINUTES * 60:
            break
        for way in everything:
            add(rows[way.name], way, all_prompts[first : first + block], first)
    texts, tokens, passes = (2, 4, 30) if sketch else EXACT
    way = Way(WHOLE, model, exact_config(banned, tokens, passes))
    add(rows.setdefault(WHOLE, Row()), way, all_prompts[:texts], 0)
    return rows


def add(row: Row, way: Way, some: Sequence[str], first: int) -> None:
    """Write the texts after some prompts."""
    written, seconds = way.write(some, first)
    row.written += written
    row.seconds += seconds
    print(f"bans: {len(row.written)} texts, {way.name}, {row.seconds:.0f} s", file=sys.stderr, flush=True)


def kept_in() -> Path:
    """The file of the texts, beside the model."""
    from tests.support.real.model import FOLDER

    return FOLDER / "ban_texts.jsonl"


def keep(rows: dict[str, Row]) -> None:
    """Keep the texts, so that they can be looked at, and counted again."""
    with kept_in().open("w", encoding="utf-8") as file:
        for name, row in rows.items():
            for text in row.written:
                line = {"way": name, "seconds": row.seconds / len(row.written), **asdict(text)}
                file.write(json.dumps(line) + "\n")


def kept() -> dict[str, Row]:
    """The texts that were kept last."""
    rows: dict[str, Row] = {}
    for line in kept_in().read_text(encoding="utf-8").splitlines():
        told = json.loads(line)
        row = rows.setdefault(told.pop("way"), Row())
        row.seconds += told.pop("seconds")
        row.written.append(Written(**told))
    return rows


def warm_up(everything: Sequence[Way]) -> None:
    """Compile and make what each way needs once: the time is that of texts."""
    for way in everything:
        way.write(["The weather today"], 0)


def found_in(prompt: str, text: str, banned: set[tuple[str, ...]], longest: int) -> Counter[tuple[str, ...]]:
    """Count the phrases that end in a text, read after its prompt.

    >>> found_in("Small", " TALK, small: talk! Talks", {("small", "talk")}, 2)
    Counter({('small', 'talk'): 2})
    """
    words, before = words_of(prompt + text), len(words_of(prompt))
    if words[:before] != words_of(prompt):  # the text goes on with the prompt's last word
        before -= 1
    found: Counter[tuple[str, ...]] = Counter()
    for end in range(before + 1, len(words) + 1):
        for size in range(1, min(longest, end) + 1):
            phrase = tuple(words[end - size : end])
            if phrase in banned:
                found[phrase] += 1
    return found


def distinct(words: Sequence[str], size: int) -> float:
    """The share of a text's runs of so many words that are different from all before them; 1 where there is none."""
    runs = [tuple(words[start : start + size]) for start in range(len(words) - size + 1)]
    return len(set(runs)) / len(runs) if runs else 1.0


def interval(values: NDArray[np.float64]) -> tuple[float, float]:
    """The 95 % interval of a mean over texts, by 10 000 resamples with a fixed seed."""
    random = np.random.default_rng(0)
    means = values[random.integers(0, len(values), (10_000, len(values)))].mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return float(low), float(high)


def report(rows: dict[str, Row], banned: Sequence[str]) -> str:
    """The section."""
    rows = dict(rows)
    whole, free = rows.pop(WHOLE), rows["free"]
    count = len(free.written)
    wanted = {tuple(phrase.split()) for phrase in banned}
    longest = max(map(len, wanted))
    sizes = Counter(map(len, wanted))
    lines = [
        "## Bans",
        "",
        f"{len(banned)} phrases banned that the model likes: {sizes[1]} words and {sizes[2]}, {sizes[3]} and "
        f"{sizes[4]} phrases of two, three and four (`tests/data/real/liked_phrases.txt`). {count} prompts, as many of "
        f"{len(prompts())} as {MINUTES} minutes allowed, at most {TOKENS} tokens, temperature {TEMPERATURE}, the same "
        f"seeds for all, {ROWS} texts at once on one thread. `bad_words_ids` has four spellings of each phrase: with a "
        "blank before it and without, with a capital and without; `logit_bias` takes 100 from the score of the first "
        "token of each. "
        "*Log-probability* is that of a token under the free model at temperature 1, the mean of all texts' means; "
        "*beside free* its difference to the free text of the same prompt, with a 95 % interval. *Distinct pairs* is "
        "the share of a text's pairs of words that are different, *repeated fours* the share of its runs of four words "
        "that stood before. Processor time is that of a token of the finished texts, everything included, as a "
        "multiple of free; a text that goes back ends later than those beside it, and then has forward passes to "
        "itself.",
        "",
        "| way | texts with a phrase | phrases a text | log-probability | beside free | distinct pairs | "
        "repeated fours | tokens a text | rollbacks a text | forward passes a token | processor time |",
        "|---|---:|---:|---:|---|---:|---:|---:|---:|---:|---:|",
    ]
    leaks: dict[str, Counter[tuple[str, ...]]] = {}
    forms: dict[str, Counter[str]] = {}
    free_time = free.seconds / sum(len(text.logprobs) for text in free.written)
    for name, row in rows.items():
        pairs = [(a, b) for a, b in zip(row.written, free.written, strict=True) if a.logprobs and b.logprobs]
        texts = [a for a, _ in pairs]
        found = [found_in(text.prompt, text.text, wanted, longest) for text in texts]
        leaks[name] = sum(found, Counter())
        forms[name] = Counter(
            form for text, phrases in zip(texts, found, strict=True) for form in as_written(text, phrases)
        )
        means = np.array([np.mean(a.logprobs) for a, _ in pairs])
        beside = means - np.array([np.mean(b.logprobs) for _, b in pairs])
        low, high = interval(beside)
        words = [words_of(text.text) for text in texts]
        tokens = sum(len(text.logprobs) for text in texts)
        lines.append(
            f"| {name} | {sum(map(bool, found))} | {leaks[name].total() / len(texts):.2f} | {means.mean():.2f} | "
            + ("" if row is free else f"{beside.mean():+.2f} ({low:+.2f} to {high:+.2f})")
            + f" | {np.mean([distinct(text, 2) for text in words]):.3f} | "
            f"{1 - np.mean([distinct(text, 4) for text in words]):.3f} | {tokens / len(texts):.0f} | "
            f"{sum(len(text.rollbacks) for text in texts) / len(texts):.1f} | "
            f"{sum(text.forward_passes for text in texts) / tokens:.2f} | {row.seconds / tokens / free_time:.2f} |"
        )
    lines += ["", *failures(rows), f"{len(leaks['free'])} of the phrases came out freely.", ""]
    for name, leaked in forms.items():
        if name != "free" and leaked:
            shown = ", ".join(f"`{form}` ({times})" for form, times in leaked.most_common(8))
            lines += [f"By {name} came out, as it was written: {shown}.", ""]
    return "\n".join([*lines, drawn_as_a_whole(whole.written)])


def as_written(text: Written, found: Counter[tuple[str, ...]]) -> Iterator[str]:
    """The phrases that were found in a text, as they stand there."""
    for phrase in found:
        pattern = r"[\W_]+".join(phrase)
        for match in re.finditer(rf"(?<![^\W_])({pattern})(?![^\W_])", text.text, re.IGNORECASE):
            yield re.sub(r"\s", lambda space: repr(space[0])[1:-1] if space[0] != " " else " ", match[0])


def failures(rows: dict[str, Row]) -> list[str]:
    """The texts that ended in an error, by way."""
    lines = []
    for name, row in rows.items():
        errors = Counter(text.error for text in row.written if text.error)
        lines += [f"{name}: {times} texts failed: {error}" for error, times in errors.items()]
    moved = {name: sum(text.moved_blocks for text in row.written) for name, row in rows.items()}
    lines += [f"{name}: the start of a block moved {times} times." for name, times in moved.items() if times]
    return [*lines, ""] if lines else []


def drawn_as_a_whole(written: Sequence[Written]) -> str:
    """How far texts come that are drawn as a whole."""
    whole = [text.forward_passes for text in written if not text.error]
    asked = f", by {np.mean(whole):.0f} forward passes in the mean, {max(whole)} at most" if whole else ""
    return (
        f"sfgen's `exact` draws a whole text on condition that all of it is clean. Of {len(written)} texts of "
        f"{EXACT[1]} tokens it drew {len(whole)} within {EXACT[2]} forward passes{asked}."
    )


if __name__ == "__main__":
    DOCUMENT.write_text(
        merged(DOCUMENT.read_text(encoding="utf-8"), "bans", report(kept(), phrases())), encoding="utf-8"
    )
