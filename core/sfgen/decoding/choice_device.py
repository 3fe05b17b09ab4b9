"""The choice of a token by torch, on the device of the scores: from a GPU only the chosen token comes to the host.

It follows ``sfgen.decoding.choice_kernels`` step by step, in float64, over all tokens: those that are not allowed have
the score minus infinity. Where scores are equal the lower id stays, as there. Sums are added in another order; see
``sfgen.decoding.choice``. To be imported where torch is there already.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from typing import Any, ParamSpec, TypeAlias, TypeVar

import numpy as np
import torch

from sfgen.decoding.choice import Choice, Chosen, HostRow, ScoreRow
from sfgen.decoding.choice_kernels import ALL_MINUS_INFINITE, BLOCK, INFINITE, NOT_A_NUMBER, NOTHING_LEFT
from sfgen.protocols import Int32, Mask, Scores

FEW = 1024
"""The most tokens that are chosen among without the others."""

_Choose: TypeAlias = Callable[[Any, Any, Sequence[Choice]], list[Chosen]]
_Given = ParamSpec("_Given")
_Returned = TypeVar("_Returned")

_MOST_SORTED = 1024
"""The most tokens of a nucleus that are sorted at first; all are, where it has more."""

MOST_SCORES = 2**24
"""The most scores in one call, unless one row has more: some eight arrays of float64 are made of them, 1 GB in all."""


def _on_device(function: Callable[_Given, _Returned]) -> Callable[_Given, _Returned]:
    """Let a function compute without gradients, and raise ``MemoryError`` where the device has no room for it."""

    @wraps(function)
    def run(*given: _Given.args, **named: _Given.kwargs) -> _Returned:
        try:
            with torch.inference_mode():
                return function(*given, **named)
        except torch.OutOfMemoryError as error:
            raise MemoryError(str(error)) from error

    return run


class DeviceRow:
    """Scores on a device, of all tokens."""

    __slots__ = ("tensor",)

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor  # [vocabulary], of any floating type

    @property
    def size(self) -> int:
        """The number of scores."""
        return int(self.tensor.shape[0])

    def choose(self, choice: Choice) -> Chosen:
        """Choose a token."""
        (chosen,) = choose_on_device(self.tensor[None], [0], [choice])
        return chosen.checked()

    def score(self, token: int) -> float:
        """Return the score of a token."""
        return float(self.tensor[token])

    @_on_device
    def log_share(self, token: int, choice: Choice) -> float:
        """Return the log-probability of a token among those allowed and not barred, at temperature 1."""
        scores = _changed(self.tensor[None], [choice])
        mask = choice.mask if choice.barred is None else choice.mask & ~choice.barred
        allowed = scores[0].masked_fill(_missing([mask], scores)[0], -math.inf)
        return float(scores[0, token] - allowed.logsumexp(0))

    @_on_device
    def on_host(self) -> Scores | None:
        """Return the scores of all tokens, float32 ``[vocabulary]``."""
        scores: Scores = self.tensor.float().cpu().numpy()
        return scores

    @_on_device
    def among(self, tokens: Int32) -> Scores:
        """Return the scores of some tokens, float32 ``[tokens]``."""
        scores: Scores = self.tensor[torch.tensor(tokens, device=self.tensor.device)].float().cpu().numpy()
        return scores

    @_on_device
    def own(self, choice: Choice) -> ScoreRow:
        """Return the row in memory of its own, or on the host where few tokens may stand there."""
        if choice.count <= FEW:
            tokens = choice.tokens()
            return HostRow(self.among(tokens), tokens)
        return DeviceRow(self.tensor.clone())


@_on_device
def choose_on_device(table: Any, rows: Sequence[int], choices: Sequence[Choice]) -> list[Chosen]:
    """Choose a token for some rows of a table on a device, float ``[rows, vocabulary]``."""
    if not rows:
        return []
    found: list[Chosen | None] = [None] * len(rows)
    for numbers, is_few in _groups(choices, max(1, MOST_SCORES // int(table.shape[1]))):
        some = [choices[number] for number in numbers]
        scores = _rows(table, [rows[number] for number in numbers])
        choose = _likeliest if some[0].temperature == 0 else _weighed
        if is_few:
            made = _among_few(scores, some, choose)
        else:
            if any(choice.changes is not None for choice in some):
                scores = _changed(scores, some)
            made = choose(scores, _missing([choice.mask for choice in some], scores), some)
        for number, chosen in zip(numbers, made, strict=True):
            found[number] = chosen
    return [chosen for chosen in found if chosen is not None]


def _groups(choices: Sequence[Choice], most: int) -> Iterator[tuple[list[int], bool]]:
    """Yield the numbers of at most ``most`` choices that are made together, and whether each is among few tokens."""
    groups: dict[tuple[bool, bool], list[int]] = {}
    for number, choice in enumerate(choices):
        is_few = choice.count <= FEW and choice.changes is None and not choice.is_weighed
        groups.setdefault((choice.temperature == 0, is_few), []).append(number)
    for (_, is_few), numbers in groups.items():
        for start in range(0, len(numbers), most):
            yield numbers[start : start + most], is_few


def _among_few(scores: Any, choices: Sequence[Choice], choose: _Choose) -> list[Chosen]:
    """Choose by the scores of the allowed tokens alone, side by side."""
    most = max(choice.count for choice in choices)
    tokens: Int32 = np.full((len(choices), most), -1, dtype=np.int32)
    for number, choice in enumerate(choices):
        tokens[number, : choice.count] = choice.tokens()
    places = torch.from_numpy(tokens).to(scores.device)
    among = scores.gather(1, places.clamp(min=0).long())
    return [
        each if each.token < 0 else each._replace(token=int(tokens[number, each.token]))
        for number, each in enumerate(choose(among, places < 0, choices))
    ]


def _likeliest(scores: Any, missing: Any, choices: Sequence[Choice]) -> list[Chosen]:
    """Take the token with the highest score of each row, of those that are not missing."""
    scores = scores.masked_fill(missing, -math.inf)
    highest, tokens = scores.max(dim=1)
    found = torch.stack([tokens.double(), highest.double()]).cpu().tolist()  # a NaN is the highest
    return [Chosen(_usable(int(token), score)) for token, score in zip(*found, strict=True)]


def _weighed(scores: Any, missing: Any, choices: Sequence[Choice]) -> list[Chosen]:
    """Draw a token of each row, of those that are not missing, or take the one with the largest weight."""
    scores = scores.double().masked_fill(missing, -math.inf)
    highest = scores.amax(dim=1, keepdim=True)
    options = torch.tensor([choice.options for choice in choices], dtype=torch.float64).to(scores.device)
    temperatures, top_ks, top_ps, min_ps, shares, takes_best = torch.split(options, 1, dim=1)
    logs = (scores - highest) * (1 / temperatures).clamp(max=1e308)
    if any(choice.options[1] for choice in choices):
        _keep_highest(scores, logs, top_ks)
    weights = logs.exp()
    if any(choice.options[2] < 1 for choice in choices):
        _keep_nucleus(weights, logs, top_ps)
    if any(choice.options[3] for choice in choices):
        logs = logs.masked_fill(weights < min_ps, -math.inf)
        weights = weights.masked_fill(weights < min_ps, 0.0)
    log_left = torch.zeros_like(highest)
    if any(choice.is_weighed for choice in choices):
        weights, log_left = _with_factors(weights, logs, choices)
    tokens, parts = _drawn(weights, shares)
    if any(choice.takes_best for choice in choices):
        best = weights.argmax(dim=1, keepdim=True)
        tokens = torch.where(takes_best > 0, best, tokens)
    found = torch.cat([tokens.double(), weights.gather(1, tokens) / parts, log_left, highest], dim=1).cpu().tolist()
    chosen = []
    for choice, (token, share, left, score) in zip(choices, found, strict=True):
        usable = _usable(int(token), score)
        usable = NOTHING_LEFT if usable >= 0 and left == -math.inf else usable
        chosen.append(Chosen(usable, share if choice.is_drawn else None, left))
    return chosen


def _usable(token: int, highest: float) -> int:
    """Return a token, or the reason why none can be chosen."""
    if math.isnan(highest):
        return NOT_A_NUMBER
    if math.isinf(highest):
        return INFINITE if highest > 0 else ALL_MINUS_INFINITE
    return token


def _rows(table: Any, rows: Sequence[int]) -> Any:
    """Return some rows of a table; of all of them nothing is copied."""
    return table if list(rows) == list(range(len(table))) else table[torch.tensor(rows, device=table.device)]


def _missing(masks: Sequence[Mask], like: Any) -> Any:
    """Return which tokens masks do not have, bool ``[masks, vocabulary]`` on the device; equal masks are sent once."""
    different = list({id(mask): mask for mask in masks}.values())
    words = np.stack(different).astype("<u4", copy=False).view(np.uint8)
    bits = torch.tensor([1, 2, 4, 8, 16, 32, 64, 128], dtype=torch.uint8, device=like.device)
    missing = (torch.from_numpy(words).to(like.device)[:, :, None] & bits == 0).flatten(1)[:, : like.shape[1]]
    if len(different) == 1:
        return missing
    places = {id(mask): place for place, mask in enumerate(different)}
    return missing[torch.tensor([places[id(mask)] for mask in masks], device=like.device)]


def _changed(scores: Any, choices: Sequence[Choice]) -> Any:
    """Return scores after biases and penalties, in float64."""
    scores = scores.to(torch.float64, copy=True)
    for number, choice in enumerate(choices):
        if choice.changes is not None and choice.changes.tokens.size:
            changes = choice.changes.on(lambda array: torch.tensor(array, device=scores.device))
            places: Any = torch.tensor(choice.changes.tokens, dtype=torch.int64, device=scores.device)
            scores[number, places] = changes.apply(scores[number, places], torch.where)
    return scores


def _keep_highest(scores: Any, logs: Any, top_ks: Any) -> None:
    """Leave the tokens of top-k, in place; 0: all."""
    counts = top_ks.long()
    most = int(counts.max())
    borders = scores.topk(most, dim=1).values.gather(1, (counts - 1).clamp(min=0))
    above, at_border = scores > borders, scores == borders
    room = counts - above.sum(dim=1, keepdim=True)
    left_out = ~above & ~(at_border & (at_border.cumsum(dim=1) <= room))
    logs.masked_fill_(left_out & (counts > 0), -math.inf)


def _keep_nucleus(weights: Any, logs: Any, top_ps: Any) -> None:
    """Leave the tokens of top-p, in place; 1: all."""
    wanted = top_ps * weights.sum(dim=1, keepdim=True)
    for most in (min(_MOST_SORTED, weights.shape[1]), weights.shape[1]):
        heavy = weights.topk(most, dim=1).values
        sums = heavy.cumsum(dim=1)
        if bool(((sums[:, -1:] >= wanted) | (top_ps >= 1)).all()):
            break
    counts = (torch.searchsorted(sums, wanted) + 1).clamp(max=most)
    borders = heavy.gather(1, counts - 1)
    above, at_border = weights > borders, weights == borders
    room = counts - above.sum(dim=1, keepdim=True)
    left_out = ~above & ~(at_border & (at_border.cumsum(dim=1) <= room)) & (top_ps < 1)
    weights.masked_fill_(left_out, 0.0)
    logs.masked_fill_(left_out, -math.inf)


def _with_factors(weights: Any, logs: Any, choices: Sequence[Choice]) -> tuple[Any, Any]:
    """Multiply weights by the factors of tokens; return them, and the logarithm of the share that is left."""
    before = weights.sum(dim=1, keepdim=True)
    logs = logs.clone()
    for number, choice in enumerate(choices):
        if choice.factors is not None:
            tokens, factors = (torch.tensor(each, device=logs.device) for each in choice.factors)
            logs[number].index_add_(0, tokens.long(), factors)
        if choice.barred is not None:
            logs[number].masked_fill_(~_missing([choice.barred], logs)[0], -math.inf)
    highest = logs.amax(dim=1, keepdim=True)
    weights = torch.where(highest > -math.inf, (logs - highest).exp(), torch.zeros_like(logs))
    return weights, highest + weights.sum(dim=1, keepdim=True).log() - before.log()


def _drawn(weights: Any, shares: Any) -> tuple[Any, Any]:
    """Return the token of each row at which the sum of the weights passes a share of their total, and that total."""
    rows, size = weights.shape
    blocks = torch.nn.functional.pad(weights, (0, -size % BLOCK)).view(rows, -1, BLOCK)
    sums = blocks.sum(dim=2).cumsum(dim=1)
    totals = sums[:, -1:]
    points = shares * totals
    block = torch.searchsorted(sums, points, right=True).clamp(max=sums.shape[1] - 1)
    inside = blocks.gather(1, block[:, :, None].expand(-1, -1, BLOCK))[:, 0]
    before = torch.where(block > 0, sums.gather(1, (block - 1).clamp(min=0)), torch.zeros_like(totals))
    place = torch.searchsorted(before + inside.cumsum(dim=1), points, right=True)
    tokens = block * BLOCK + place.clamp(max=BLOCK - 1)
    # A sum was rounded where this one has no weight: then the nearest before it that has, or the first of all.
    has_none = weights.gather(1, tokens.clamp(max=size - 1)) <= 0
    if bool(has_none.any()):
        numbers = torch.arange(size, device=weights.device)
        earlier = torch.where((weights > 0) & (numbers <= tokens), numbers, -1).amax(dim=1, keepdim=True)
        earlier = torch.where(earlier < 0, (weights > 0).int().argmax(dim=1, keepdim=True), earlier)
        tokens = torch.where(has_none, earlier, tokens)
    return tokens.clamp(max=size - 1), totals
