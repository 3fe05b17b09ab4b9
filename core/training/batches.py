"""The batch of a step: rows of documents as token ids, and how much each token counts.

The tokens of a prompt have a small weight: an invented name cannot be predicted, and the answer is to be learnt.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from random import Random
from typing import Any, NamedTuple

from training.corpus import check_prompts_absent
from training.corpus.copying.mixture import pairs
from training.corpus.copying.pair import Pair

from .tokenizer import BEGIN, END

ROW_LENGTH = 256
"""Tokens of a row that are read; one more is foreseen."""
WAITING = 12
"""Documents among which the next one of a row is chosen, so that it fits."""
PROMPT_WEIGHT = 0.03
LEAST_ANSWER = 16
MOST_WEIGHT = 5.0
"""A shorter answer counts as one of ``LEAST_ANSWER`` tokens, but no token more than ``MOST_WEIGHT``: else records drown
choices."""
CUT_SHARE = 0.15
"""The share of texts that are cut in two at any character, and tokenised apart: a prompt may end there."""


class Document(NamedTuple):
    """A text as token ids, with each token's weight in the loss.

    The weight of the first one, the begin token, is zero.

    Attributes:
        tokens: Token ids.
        weights: The weight of each.
    """

    tokens: list[int]
    weights: list[float]


class Rows(NamedTuple):
    """The rows of a batch, each filled with whole documents.

    The last document of a row is cut.

    Attributes:
        tokens: Token ids, ``[rows, ROW_LENGTH + 1]``.
        weights: How much each counts, ``[rows, ROW_LENGTH + 1]``.
    """

    tokens: list[list[int]]
    weights: list[list[float]]


def batch(tokenizer: Any, *, seed: int, step: int, rows: int, repeated: float) -> Rows:
    """Return the batch of a step, the same for the same arguments."""
    source = documents(tokenizer, Random(f"{seed} {step}"), repeated)
    waiting: list[Document] = []
    found = [_row(source, waiting) for _ in range(rows)]
    return Rows([row.tokens for row in found], [row.weights for row in found])


def _row(source: Iterator[Document], waiting: list[Document]) -> Document:
    tokens: list[int] = []
    weights: list[float] = []
    while len(tokens) <= ROW_LENGTH:
        waiting += islice(source, WAITING - len(waiting))
        space = ROW_LENGTH + 1 - len(tokens)
        shortest = min(range(WAITING), key=lambda number: len(waiting[number].tokens))
        fitting = (number for number, document in enumerate(waiting) if len(document.tokens) <= space)
        document = waiting.pop(next(fitting, shortest))
        tokens += document.tokens
        weights += document.weights
    return Document(tokens[: ROW_LENGTH + 1], weights[: ROW_LENGTH + 1])


def documents(tokenizer: Any, random: Random, repeated: float) -> Iterator[Document]:
    """Yield documents without end."""
    size = tokenizer.get_vocab_size()
    begin, end = tokenizer.token_to_id(BEGIN), tokenizer.token_to_id(END)
    for pair in pairs(random):
        if random.random() < repeated:
            yield _repeated(random, size, begin, end)
        else:
            check_prompts_absent(pair.prompt + pair.answer)
            yield encoded(tokenizer, pair, random)


def encoded(tokenizer: Any, pair: Pair, random: Random | None) -> Document:
    """Tokenize a pair of prompt and answer."""
    begin, end = tokenizer.token_to_id(BEGIN), tokenizer.token_to_id(END)
    tokens, weights = [begin], [0.0]

    def add(text: str, weight: float | None) -> None:
        found = tokenizer.encode(text, add_special_tokens=False).ids
        tokens.extend(found)
        weights.extend([_answer_weight(len(found)) if weight is None else weight] * len(found))

    place = 0
    for first, last in pair.answered:
        add(pair.prompt[place:first], PROMPT_WEIGHT)
        add(pair.prompt[first:last], None)
        place = last
    add(pair.prompt[place:], PROMPT_WEIGHT)
    before = len(tokens)
    for piece in pieces(pair.answer, random) if random else [pair.answer]:
        add(piece, 1.0)
    tokens.append(end)
    weights[before:] = [_answer_weight(len(tokens) - before)] * (len(tokens) - before)
    return Document(tokens, weights)


def _answer_weight(count: int) -> float:
    """How much each of the tokens of an answer counts."""
    return min(MOST_WEIGHT, max(1.0, LEAST_ANSWER / max(1, count)))


def pieces(text: str, random: Random) -> list[str]:
    """Cut a text in two, sometimes."""
    if len(text) < 2 or random.random() >= CUT_SHARE:
        return [text]
    place = random.randrange(1, len(text))
    return [text[:place], text[place:]]


def _repeated(random: Random, size: int, begin: int, end: int) -> Document:
    """Random tokens, and the same again: only the second time they can be foreseen."""
    drawn = random.choices(range(2, size), k=random.randint(4, 40))
    times = random.choice((1, 1, 2))
    tokens = [begin, *drawn * (times + 1), end]
    weights = [0.0] * (1 + len(drawn)) + [1.0] * (times * len(drawn)) + [0.0]
    # Which token repeats first cannot be foreseen either.
    weights[1 + len(drawn)] = 0.0
    return Document(tokens, weights)
