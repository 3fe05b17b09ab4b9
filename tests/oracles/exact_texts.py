"""What an exact draw is, worked out from its definition on models so small that every text can be listed.

Nothing is pruned here, and nothing of the search is used but, where a single draw is looked at, the noise of a prefix.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from tests.oracles.banned_text import BannedText
from tests.support.models.scripted import ScoreOf, ScriptedModel
from tests.support.models.toy_models import Distribution, Leaf, Shares

from sfgen import BannedWords, Result, Sampler, Vocabulary, generate
from sfgen.decoding.exact import gumbel_noise, with_maximum

Judge = Callable[[bytes], bool]


@dataclass
class Small:
    """A model with a constraint, a ban and a limit.

    Args:
        tokens: Its tokens; the last one, which is added, ends a text.
        score: The scores after the tokens of the prompt and of the text.
        max_tokens: The most tokens of a text.
        index: The constraint as ``generate`` takes it; ``None``: free text.
        texts: All texts of the constraint that are not longer than ``max_tokens`` of the longest token, and enough
            longer ones to tell which of them are the beginning of one.
        words, match: What is banned, as ``BannedWords`` takes it.
        stop: Stop strings.
        temperature, top_k, top_p: As ``Sampler`` takes them.
    """

    tokens: list[bytes]
    score: ScoreOf
    max_tokens: int
    index: Any = None
    texts: frozenset[bytes] | None = None
    words: list[str] = field(default_factory=list)
    match: str = "word"
    stop: Sequence[str] = ()
    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None

    def __post_init__(self) -> None:
        self.end = len(self.tokens)
        self.vocabulary = Vocabulary([*self.tokens, None], end_token_ids=[self.end])
        self.model = ScriptedModel(self.vocabulary, self.score)
        self.banned = BannedWords(self.words, match=self.match) if self.words else None  # type: ignore[arg-type]
        self._oracle = BannedText(self.words, self.match, self.tokens[0])
        self._written: dict[bytes, bool] = {}

    def draw(self, seed: int | None, **options: Any) -> Result:
        """What sfgen draws; without a seed, the likeliest text."""
        sampler = Sampler(0.0) if seed is None else Sampler(self.temperature, seed, top_k=self.top_k, top_p=self.top_p)
        return generate(
            self.model,
            [0],
            index=self.index,
            banned=self.banned,
            stop=self.stop,
            sampler=sampler,
            max_tokens=self.max_tokens,
            strategy="exact",
            **options,
        )

    def leaf(self, result: Result) -> Leaf:
        """The tokens of a text, and the end token where it was chosen."""
        return (*result.token_ids, self.end) if result.finish_reason == "end_token" else result.token_ids

    # ---- all texts -------------------------------------------------------------------------------------------------

    def shares(self, path: Leaf) -> Shares:
        """The probability of each token after a path, before any mask."""
        scores = self.score((0, *path)).astype(np.float64) / (self.temperature or 1)
        shares = np.exp(scores - scores.max())
        order = np.argsort(-shares, kind="stable")
        if self.top_k is not None:
            shares[order[self.top_k :]] = 0
        if self.top_p is not None:
            shares /= shares.sum()
            shares[order[1 + int(np.flatnonzero(np.cumsum(shares[order]) >= self.top_p)[0]) :]] = 0
        answer: Shares = shares / shares.sum()
        return answer

    def leaves(self, path: Leaf = (), probability: float = 1.0) -> Iterator[tuple[Leaf, float]]:
        """Everything that the model can write within the limit, allowed or not, with its probability."""
        if self._is_whole(path):
            yield path, probability
            return
        for token, share in enumerate(self.shares(path).tolist()):
            if token == self.end:
                yield (*path, token), probability * share
            else:
                yield from self.leaves((*path, token), probability * share)

    def allowed(self) -> Distribution:
        """The model on condition that the whole text is allowed."""
        found = {leaf: share for leaf, share in self.leaves() if share and self.is_allowed(leaf)}
        total = sum(found.values())
        return {leaf: share / total for leaf, share in found.items()}

    def drawn(self, seed: int) -> Leaf | None:
        """The allowed text with the largest perturbed log-probability; ``None`` if there is no allowed text."""
        best, chosen = -np.inf, None
        waiting: list[tuple[Leaf, float, float]] = [((), 0.0, 0.0)]
        while waiting:
            path, value, log_mass = waiting.pop()
            if path[-1:] == (self.end,) or self._is_whole(path):
                if value > best and self.is_allowed(path):
                    best, chosen = value, path
                continue
            with np.errstate(divide="ignore"):
                log_masses = np.log(self.shares(path)) + log_mass
            perturbed = log_masses + gumbel_noise(seed, path, len(self.vocabulary))
            values = with_maximum(perturbed, float(perturbed.max()), value)
            waiting += [
                ((*path, token), float(values[token]), float(log_masses[token]))
                for token in np.flatnonzero(log_masses > -np.inf).tolist()
            ]
        return chosen

    # ---- which of them are allowed ---------------------------------------------------------------------------------

    def data(self, path: Leaf) -> bytes:
        """The bytes of a path."""
        return b"".join(self.tokens[token] for token in path if token != self.end)

    def is_allowed(self, leaf: Leaf) -> bool:
        """Whether a whole text keeps all promises."""
        data = self.data(leaf)
        if self.texts is not None and data not in self.texts:
            return False
        cut = self._stop(leaf)
        if cut is not None:
            return not self._oracle.is_in(data[:cut], ended=True) and not self._oracle.is_in(
                self.data(leaf[:-1]), ended=False
            )
        return not self._oracle.is_in(data, ended=True)

    def _is_whole(self, path: Leaf) -> bool:
        """Whether a text ends here without an end token."""
        if len(path) == self.max_tokens or self._stop(path) is not None:
            return True
        return self.texts is not None and not any(self._leads_on(path, token) for token in range(self.end))

    def _stop(self, path: Leaf) -> int | None:
        """Where the stop string begins that is whole first; it is never whole before the last token."""
        data = self.data(path)
        ends = [(data.find(text.encode()) + len(text), data.find(text.encode())) for text in self.stop]
        return min(((end, start) for end, start in ends if start >= 0), default=(0, None))[1]

    def _leads_on(self, path: Leaf, token: int) -> bool:
        """Whether the tokens can write a text of the constraint that begins so, however long."""
        return self._can_become_whole(self.data((*path, token)))

    def _can_become_whole(self, data: bytes) -> bool:
        assert self.texts is not None
        if data not in self._written:
            self._written[data] = data in self.texts or (
                any(text.startswith(data) for text in self.texts)
                and any(self._can_become_whole(data + token) for token in self.tokens)
            )
        return self._written[data]


def strings(alphabet: str, longest: int) -> Iterator[str]:
    """All strings over some characters."""
    level = [""]
    for _ in range(longest + 1):
        yield from level
        level = [text + character for text in level for character in alphabet]
