"""Models so small that every text they can write is known with its probability, and what each strategy makes of them.

Everything here is worked out from the definitions, and shares nothing with the code under test but the vocabulary: the
softmax, what is banned, where a block ends, and the three ways to go on.

A *leaf* is a finished text: its tokens, with the end token last unless the limit cut it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray
from tests.oracles.banned_text import BannedText
from tests.support.models.scripted import ScoreOf, ScriptedModel

from sfgen import BannedWords, Vocabulary, WordBias
from sfgen.decoding.choice import Choice, Chosen, HostRow
from sfgen.decoding.sampler import Draws

Leaf: TypeAlias = tuple[int, ...]
Distribution: TypeAlias = dict[Leaf, float]
Shares: TypeAlias = NDArray[np.float64]
Forbidden: TypeAlias = tuple[frozenset[int], ...]
Outcome = TypeVar("Outcome")

DEAD: Leaf = (-1,)
"""Stands for an error: nothing clean was left."""


@dataclass
class Toy:
    """A model with a list of banned words, and words with a bias.

    Args:
        tokens: Its tokens; the last one, which is added, ends a text.
        score: The scores after the tokens of the prompt and of the text.
        words: What is banned; empty: nothing.
        max_tokens: The most tokens of a text.
        prompt: One token.
        match: As ``BannedWords`` takes it.
        temperature, top_k, top_p: As ``Sampler`` takes them.
        bias: Words with their biases, matched as what is banned.
    """

    tokens: list[bytes]
    score: ScoreOf
    words: list[str]
    max_tokens: int
    prompt: int = 0
    match: str = "word"
    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None
    bias: dict[str, float] = field(default_factory=dict)
    known: dict[tuple[Leaf, bool], bool] = field(default_factory=dict)
    known_bias: dict[Leaf, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.end = len(self.tokens)
        self.vocabulary = Vocabulary([*self.tokens, None], end_token_ids=[self.end])
        self.model = ScriptedModel(self.vocabulary, self.score)
        how: Any = {"match": self.match}
        self.banned = BannedWords(self.words, **how) if self.words else None
        self.word_bias = WordBias(self.bias, **how) if self.bias else None
        self.oracle = BannedText(self.words, self.match, self.tokens[self.prompt])
        self.biased = {word: BannedText([word], self.match, self.tokens[self.prompt]) for word in self.bias}

    # ---- the model -------------------------------------------------------------------------------------------------

    def data(self, path: Leaf) -> bytes:
        return b"".join(self.tokens[token] for token in path if token != self.end)

    def shares(self, path: Leaf, *, truncated: bool = True) -> Shares:
        """The probability of each token, the end token's last, as the sampler sees it."""
        scores = self.score((self.prompt, *path)).astype(np.float64) / self.temperature
        shares = np.exp(scores - scores.max())
        order = np.argsort(-shares, kind="stable")
        if truncated and self.top_k is not None:
            shares[order[self.top_k :]] = 0
        if truncated and self.top_p is not None:
            shares /= shares.sum()
            reached = np.cumsum(shares[order])
            shares[order[1 + int(np.flatnonzero(reached >= self.top_p)[0]) :]] = 0
        answer: Shares = shares / shares.sum()
        return answer

    def is_whole(self, path: Leaf) -> bool:
        return path[-1:] == (self.end,) or len(path) == self.max_tokens

    def is_banned(self, path: Leaf) -> bool:
        """Whether there is a match, whatever follows if the text is not whole."""
        question = path, self.is_whole(path)
        if question not in self.known:
            self.known[question] = self.oracle.is_in(self.data(path), ended=question[1])
        return self.known[question]

    def is_at_rest(self, path: Leaf) -> bool:
        oracles = [self.oracle, *self.biased.values()]
        return all(oracle.open_from(self.data(path)) is None for oracle in oracles)

    def log_bias(self, path: Leaf) -> float:
        """The biases of all occurrences, whatever follows if the text is not whole."""
        if path not in self.known_bias:
            ended, data = self.is_whole(path), self.data(path)
            counts = {word: len(self.biased[word].spans(data, ended=ended)) for word in self.bias}
            self.known_bias[path] = sum(bias * counts[word] for word, bias in self.bias.items())
        return self.known_bias[path]

    def shares_without(self, path: Leaf, forbidden: Iterable[int]) -> Shares:
        """As ``shares``, among the tokens that are left; those that the sampler leaves out only if there is no other.

        All are 0 if no token is left.
        """
        for truncated in (True, False):
            shares = self.shares(path, truncated=truncated)
            shares[list(forbidden)] = 0
            if shares.any():
                return np.asarray(shares / shares.sum())
        return shares

    # ---- exact distributions ---------------------------------------------------------------------------------------

    def clean_texts(self) -> Distribution:
        """The model under the condition that the whole text is clean, each text with its biases in its weight."""
        return _normal({leaf: p * math.exp(self.log_bias(leaf)) for leaf, p in self._leaves((), self.is_whole)})

    def free_texts(self) -> Distribution:
        """The model as it is, whatever is banned or has a bias."""
        written: Distribution = {}
        waiting: list[tuple[Leaf, float]] = [((), 1.0)]
        while waiting:
            path, probability = waiting.pop()
            if self.is_whole(path):
                written[path] = probability
            else:
                waiting += [((*path, token), probability * share) for token, share in enumerate(self.shares(path))]
        return written

    def by_completing_tokens(self, path: Leaf = (), probability: float = 1.0) -> Distribution:
        """Token after token, each with the biases of what it completes: no look ahead at all."""
        if self.is_whole(path):
            return {path: probability}
        gains = [math.exp(self.log_bias((*path, token)) - self.log_bias(path)) for token in range(self.end + 1)]
        shares = self.shares(path) * gains
        written: Distribution = {}
        for token, share in enumerate((shares / shares.sum()).tolist()):
            written |= self.by_completing_tokens((*path, token), probability * share)
        return written

    def by_blocks(self, path: Leaf = ()) -> Distribution:
        """Block after block, each under the condition that it is clean: what ``resample`` must write.

        Each block has the biases of its own occurrences in its weight.
        """
        before = self.log_bias(path)
        block: Distribution = {}
        for truncated in (True, False):
            block = block or dict(self._leaves(path, self._is_end_of_block, truncated=truncated))
        block = _normal({end: p * math.exp(self.log_bias(end) - before) for end, p in block.items()}) or {DEAD: 1.0}
        written: Distribution = {}
        for end, probability in block.items():
            rest = {end: 1.0} if end == DEAD or self.is_whole(end) else self.by_blocks(end)
            for leaf, share in rest.items():
                written[leaf] = written.get(leaf, 0.0) + probability * share
        return written

    def by_masking(self) -> Distribution:
        """Token after token, each among those that do not complete a match: what ``mask`` must write."""
        written: Distribution = {}
        waiting: list[tuple[Leaf, float]] = [((), 1.0)]
        while waiting:
            path, probability = waiting.pop()
            tokens = range(self.end + 1)
            shares = self.shares_without(path, [token for token in tokens if self.is_banned((*path, token))])
            if not shares.any():
                written[DEAD] = written.get(DEAD, 0.0) + probability
            for token, share in enumerate(shares.tolist()):
                if share:
                    new = (*path, token)
                    if self.is_whole(new):
                        written[new] = probability * share
                    else:
                        waiting.append((new, probability * share))
        return written

    def by_first_token(self) -> Distribution:
        """With the token forbidden in which a match begins: what ``first-token`` must write."""
        return self._first_token((), (frozenset(),), {})

    def _first_token(
        self, path: Leaf, forbidden: Forbidden, known: dict[tuple[Leaf, Forbidden], Distribution]
    ) -> Distribution:
        """What is written from a path on; ``forbidden`` at each of its places, its end included."""
        if (path, forbidden) in known:
            return known[path, forbidden]
        shares, written = self.shares_without(path, forbidden[-1]), Distribution()
        if not shares.any():
            return (
                {DEAD: 1.0}
                if not path or self.is_at_rest(path)
                else self._first_token(*_forbid(path, forbidden, -1), known)
            )
        for token in np.flatnonzero(shares).tolist():
            new = (*path, token)
            rest: Distribution = {new: 1.0}
            if self.is_banned(new):
                data = self.data(new)
                match = self.oracle.first(data, ended=False) or self.oracle.first(data)
                assert match
                begin = max(place for place in range(len(new)) if len(self.data(new[:place])) <= max(match[0], 0))
                rest = self._first_token(*_forbid(new, forbidden, begin), known)
            elif not self.is_whole(new):
                before: Forbidden = (frozenset(),) * len(new) if self.is_at_rest(new) else forbidden
                rest = self._first_token(new, (*before, frozenset()), known)
            for leaf, share in rest.items():
                written[leaf] = written.get(leaf, 0.0) + share * float(shares[token])
        known[path, forbidden] = written
        return written

    def _is_end_of_block(self, path: Leaf) -> bool:
        return self.is_whole(path) or self.is_at_rest(path)

    def _leaves(
        self, path: Leaf, is_end: Callable[[Leaf], bool], probability: float = 1.0, *, truncated: bool = True
    ) -> Iterator[tuple[Leaf, float]]:
        """The clean texts that go on from a path up to an end, with their probabilities."""
        for token, share in enumerate(self.shares(path, truncated=truncated).tolist()):
            new = (*path, token)
            if not share or self.is_banned(new):
                continue
            if is_end(new):
                yield new, probability * share
            else:
                yield from self._leaves(new, is_end, probability * share, truncated=truncated)


def _forbid(path: Leaf, forbidden: Forbidden, place: int) -> tuple[Leaf, Forbidden]:
    """Back to a place on a path (-1: that of its last token), where its token is forbidden from now on."""
    place %= len(path)
    return path[:place], (*forbidden[:place], forbidden[place] | {path[place]})


def _normal(leaves: Distribution) -> Distribution:
    total = sum(leaves.values())
    return {leaf: share / total for leaf, share in leaves.items()}


def total_variation(one: Distribution, other: Distribution) -> float:
    """How far apart two distributions are, from 0 to 1."""
    return 0.5 * sum(abs(one.get(leaf, 0.0) - other.get(leaf, 0.0)) for leaf in one.keys() | other.keys())


def all_outcomes(run: Callable[[], Outcome], most: int = 20_000) -> dict[Outcome, float]:
    """What a function returns that draws a text by itself, with the exact probability of each.

    It is run once for each series of draws, with these in place of random ones.
    """
    script: list[int] = []  # which of the tokens that can be drawn, at each draw
    options: list[Shares] = []
    choose = HostRow.choose

    def drawn(shares: Shares) -> int:
        if len(options) == len(script):
            script.append(0)
        options.append(shares)
        return script[len(options) - 1]

    def chosen(row: HostRow, choice: Choice) -> Chosen:
        if row.tokens is not None or not choice.is_drawn:  # few tokens are a row of their own
            return choose(row, choice)
        possible, share = list[Chosen](), 0.0
        while share < 1 - 1e-9:  # each token where the sum of those before it is passed
            choice.share = share + 1e-12
            possible.append(choose(row, choice))
            if possible[-1].token < 0:
                return possible[-1]
            share += possible[-1].probability or 0.0
        assert len({each.token for each in possible}) == len(possible)
        return possible[drawn(np.array([each.probability for each in possible]))]

    def accepts(_: Draws, position: int, probability: float) -> bool:
        return drawn(np.array([1 - probability, probability])) == 1

    outcomes: dict[Outcome, float] = {}
    for _ in range(most):
        options.clear()
        with patch.object(HostRow, "choose", chosen), patch.object(Draws, "accepts", accepts):
            outcome = run()
        probability = float(np.prod([share[choice] for share, choice in zip(options, script, strict=True)]))
        outcomes[outcome] = outcomes.get(outcome, 0.0) + probability
        while script and script[-1] + 1 == len(options[len(script) - 1]):
            script.pop()
        if not script:
            return outcomes
        script[-1] += 1
    raise AssertionError(f"more than {most} series of draws")


def fits(counts: Counter[Leaf], expected: Distribution) -> float:
    """Pearson's chi-square test: how likely the counts are to lie so far off, or farther, if they are drawn from it.

    Rare texts are counted as one.
    """
    total = sum(counts.values())
    rare = {leaf for leaf in counts.keys() | expected.keys() if expected.get(leaf, 0.0) * total < 5}
    cells = [(counts[leaf], share * total) for leaf, share in expected.items() if leaf not in rare]
    cells.append((sum(counts[leaf] for leaf in rare), sum(expected.get(leaf, 1e-9) for leaf in rare) * total))
    cells = [(seen, wanted) for seen, wanted in cells if wanted or seen]
    return beyond(sum((seen - wanted) ** 2 / wanted for seen, wanted in cells), len(cells) - 1)


def beyond(statistic: float, degrees: int) -> float:
    """How likely a chi-square variable is to be larger, nearly (Wilson and Hilferty 1931)."""
    if degrees == 0:
        return float(statistic < 1e-9)
    spread = 2 / (9 * degrees)
    return 0.5 * math.erfc(((statistic / degrees) ** (1 / 3) - 1 + spread) / math.sqrt(2 * spread))
