"""How many forward passes are saved where the text that must follow is known.

Usage: ``python -m tests.bench.forward [--texts N] [--tokenizers NAME ...]``. Each pattern is written with each
vocabulary, and at every position that leaves a choice the next token is chosen without a model: once at random among
all that are allowed, once as the tokenizer would cut a text that was drawn so. Counted are the tokens, the forward
passes at every position with more than one allowed token, and the passes that are left with jump-forward tokens; means
of a text. A run over all tokenizers writes ``forward.md`` into ``tests/docs``. Tokenizers are found through
SFGEN_TOKENIZERS, as for the other benchmarks.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from sfgen import Dfa, Index
from sfgen.decoding.jump_forward import FastForward
from sfgen.decoding.retokenize import Retokenizer
from sfgen.index import DfaIndex

from .patterns import patterns
from .vocabularies import EMBEDDED, NAMES, Cutter, find

DOCS = Path(__file__).parent.parent / "docs"
EXAMPLE = {"example": r'\{"name":"(John|Paul)","age":(20|30)\}'}
MOST_TOKENS = 100  # of a text; where that is too few, what the shortest match takes


class Tokenizer:
    """A model that can only encode.

    Args:
        cutter: The tokenizer.
    """

    def __init__(self, cutter: Cutter) -> None:
        self.name = cutter.name
        self.vocabulary = cutter.vocabulary
        self._backend = cutter.tokenizer.backend_tokenizer

    def encode(self, text: str) -> list[int]:
        """The tokens of a text."""
        ids: list[int] = self._backend.encode(text, add_special_tokens=False).ids
        return ids

    def session(self) -> Any:
        """There is nothing to ask."""
        raise NotImplementedError


@dataclass
class Count:
    """What writing some texts took.

    Args:
        tokens: The tokens written.
        asked: Questions.
    """

    tokens: int = 0
    asked: int = 0

    def shown(self, texts: int) -> tuple[str, str]:
        """The means of a text."""
        return f"{self.tokens / texts:.1f}", f"{self.asked / texts:.1f}"


class Writer:
    """Writes texts of one pattern.

    Args:
        index: What a text must match.
        model: Its tokens.
        seed: Of all choices.
    """

    def __init__(self, index: DfaIndex, model: Tokenizer, seed: int) -> None:
        self._index, self._tokens = index, model.vocabulary.tokens
        self._ends = frozenset(model.vocabulary.end_token_ids)
        self._forward, self._canonical = FastForward(index, model), Retokenizer(model)
        self._limit = max(MOST_TOKENS, len(index.shortest_tokens()))
        self._seed = seed

    def at_random(self, number: int, *, fast: bool, count: Count) -> bytes:
        """Choose at random wherever there is a choice; the text."""
        random, guide, written = Random(f"{self._seed} {number}"), self._index.guide(self._limit), list[int]()
        while not guide.is_finished:
            run: Sequence[int] = self._forward.tokens(guide, written) if fast else ()
            if not run:
                allowed = guide.allowed_tokens()
                if allowed.size == 1:
                    run = allowed.tolist()
                else:
                    count.asked += bool(set(allowed.tolist()) - self._ends)
                    run = [int(allowed[random.randrange(allowed.size)])]
                if run[0] in self._ends:
                    break
            for token in run:
                guide.advance(token)
                written.append(token)
        count.tokens += len(written)
        return b"".join([self._tokens[token] or b"" for token in written])

    def as_cut(self, data: bytes, *, fast: bool, count: Count) -> bool:
        """Follow the tokens of a text; whether the tokenizer can write it, and what was forced is the same."""
        tokens = self._canonical.after((), data)
        if tokens is None:
            return False
        guide, place, same = self._index.guide(), 0, True
        while not guide.is_finished:
            run = self._forward.tokens(guide, tokens[:place]) if fast else ()
            same = same and run == tokens[place : place + len(run)]
            if not run or not same:
                allowed = guide.allowed_tokens()
                count.asked += allowed.size > 1 and not self._ends.issuperset(allowed.tolist())
                run = tokens[place : place + 1]
            for token in run:
                guide.advance(token)
            place += len(run)
            if place == len(tokens) and not run:
                break
        count.tokens += len(tokens)
        return same


def measure(name: str, pattern: str, model: Tokenizer, texts: int) -> list[str]:
    """The row of a pattern: its name, and five figures for each way to choose."""
    writer = Writer(Index(Dfa.from_regex(pattern), model.vocabulary), model, seed=0)
    plain, fast, cut, fast_cut = Count(), Count(), Count(), Count()
    followed = 0
    for number in range(texts):
        data = writer.at_random(number, fast=False, count=plain)
        writer.at_random(number, fast=True, count=fast)
        if writer.as_cut(data, fast=False, count=cut):
            assert writer.as_cut(data, fast=True, count=fast_cut), f"{name}: forced otherwise than the tokenizer cuts"
            followed += 1
    row = [name, *plain.shown(texts), *fast.shown(texts)]
    if not followed:
        return [*row, "", "", ""]
    return [*row, *cut.shown(followed), fast_cut.shown(followed)[1]]


HEAD = """| pattern | random: tokens | passes | tokens, jump-forward | passes | as cut: tokens | passes | jump-forward |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"""
INTRODUCTION = (
    "# Forward passes that jump-forward tokens save\n\n"
    "Written by `python -m tests.bench.forward`: {texts} texts of each pattern, at most {most} tokens each; means of a "
    "text. *Random*: at every position the next token is drawn evenly from all that are allowed, *passes* counts the "
    "positions with more than one, and *jump-forward* means the same draws where tokens that must follow take no pass. "
    "*As cut*: the same for a text's own tokens, as the tokenizer writes them."
)


def main() -> None:
    """Measure, print the tables, and write them if nothing was left out."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.forward", description=__doc__.partition("\n")[0])
    parser.add_argument("--texts", type=int, default=20, help="texts of each pattern")
    parser.add_argument("--tokenizers", nargs="+", default=NAMES, choices=(*NAMES, EMBEDDED))
    arguments = parser.parse_args()
    lines: list[str] = []

    def show(line: str) -> None:
        print(line, flush=True)
        lines.append(line)

    show(INTRODUCTION.format(texts=arguments.texts, most=MOST_TOKENS))
    found = find(arguments.tokenizers)
    for name, folder in found.items():
        model = Tokenizer(Cutter(name, folder))
        show(f"\n## {name}\n\n{HEAD}")
        for title, pattern in (EXAMPLE | patterns()).items():
            show(f"| {' | '.join(measure(title, pattern, model, arguments.texts))} |")
    if set(NAMES) <= found.keys():
        (DOCS / "forward.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
