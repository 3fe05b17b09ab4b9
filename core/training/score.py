"""The copying score: the share of answers, of held-back templates and words, that the model writes without a
mistake."""

from __future__ import annotations

import re
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

from training.corpus.copying.held_back import HELD_BACK_PAIRS
from training.corpus.copying.pair import Pair
from training.corpus.copying.words import Words

from .batches import encoded

if TYPE_CHECKING:
    import torch

_VALUE = re.compile(r'(?<=: )(?:"((?:[^"\\]|\\.)*")|([-0-9.]+[,}]|true|false))')


class Scored(NamedTuple):
    """A pair as token ids, with the tokens that the model chooses.

    These are the tokens of values, or all of an answer in words.

    Attributes:
        tokens: Token ids.
        chosen: For each of them, whether the model chooses it.
    """

    tokens: list[int]
    chosen: list[bool]


def scored_pairs(tokenizer: Any, kind: str, count: int, seed: int = 0) -> list[Scored]:
    """Generate held-back pairs, the same for the same seed."""
    random = Random(f"{kind} {seed}")
    source = Words(random, held_back=True)
    return [_scored(tokenizer, HELD_BACK_PAIRS[kind](source)) for _ in range(count)]


def _scored(tokenizer: Any, pair: Pair) -> Scored:
    document = encoded(tokenizer, pair, None)
    answer = tokenizer.encode(pair.answer, add_special_tokens=False)
    before = len(document.tokens) - len(answer.ids) - 1
    if pair.answer[:1] in "{[":
        spans = [match.span(match.lastindex or 0) for match in _VALUE.finditer(pair.answer)]
        inside = [any(first <= start < last for first, last in spans) for start, _ in answer.offsets]
    else:
        inside = [True] * len(answer.ids)
    return Scored(document.tokens, [False] * before + inside + [pair.answer[:1] not in "{["])


def copying_score(model: Any, pairs: list[Scored]) -> float:
    """Compute the share of pairs that a model copies without a mistake.

    In such a pair every chosen token is the likeliest one after those before it.
    """
    import torch

    right = 0
    with torch.no_grad():
        for pair in pairs:
            likeliest = model(torch.tensor([pair.tokens[:-1]]))[0].argmax(-1).tolist()
            right += all(
                found == token
                for found, token, chosen in zip(likeliest, pair.tokens[1:], pair.chosen[1:], strict=True)
                if chosen
            )
    return right / len(pairs)


def copying_scores(model: Any, tokenizer: Any, mean: dict[str, torch.Tensor], count: int) -> dict[str, float]:
    """Compute the copying score of each kind of pairs."""
    import torch

    kept = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(mean[name])
    scores = {kind: copying_score(model, scored_pairs(tokenizer, kind, count)) for kind in HELD_BACK_PAIRS}
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(kept[name])
    return scores
