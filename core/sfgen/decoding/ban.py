"""The ban over one text: a matcher of banned words, a strategy for complete matches, and words with a bias.

Words with a bias are found as banned words are, but an occurrence is accepted by chance or rolled back. The target: a
text with n occurrences of a word of bias b has exp(b · n) times the weight that the sampler gives it, with b at most 0.
When an occurrence is complete, it is accepted with the probability exp(b). Else the text goes back to where no match
was partial, as under ``resample`` (:mod:`sfgen.decoding.rollback_decision`), and keeps what was learnt: tokens that
complete an occurrence have its bias in their weights, so that it is paid once, and the weights of the tokens before
them are lowered by the share of what follows that would not be accepted. A weight that is too high, since too little is
known, costs another round, and never changes the distribution.

So a block, the text between two positions without a partial match, is an exact draw in proportion to p · exp(b · n).
The whole text is not, since no token is made less likely for an occurrence that begins in a later block.

At temperature 0 nothing is left to chance: an occurrence is rolled back when it comes up first, and then the token with
the largest weight is taken. So a word is written where it is the likeliest text even with its bias.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from sfgen.decoding.rollback_decision import Resample, Strategy
from sfgen.decoding.search_tree import Node
from sfgen.protocols import BannedText, FindsTokens, Guide, Int32, Mask, Matcher

if TYPE_CHECKING:
    from sfgen.ban.seam import SeamMark
    from sfgen.ban.words import WordBias
    from sfgen.decoding.json_strings import StringsMatcher


@dataclass
class Ban:
    """The ban over one text: matcher, strategy and search for tokens."""

    matcher: Matcher  # finds banned words; it has read the prompt
    strategy: Strategy
    tokens: FindsTokens  # finds the tokens that complete a match, and dead tokens
    # A guide through the texts of the constraint that are not banned, where there is one. It walks beside the guide of
    # the constraint and shows which tokens lead to banned text only.
    clean: Guide | None = None
    max_rollbacks: int = 10_000  # the most rollbacks; after them generation fails
    bias: Bias | None = None  # words with a bias, which the matcher watches for, too; ``None``: there are none

    def __post_init__(self) -> None:
        self._clean_taken = 0  # tokens that the clean guide has taken

    def completing(self) -> Int32:
        """Return the tokens that complete a partial match, int32, ascending."""
        return self.tokens.of(self.matcher)

    def dead_tokens(self) -> Int32:
        """Return the tokens after which every continuation is banned; they end inside a character."""
        return self.tokens.dead(self.matcher)

    def is_dead(self) -> bool:
        """Return whether every continuation of the text is banned; it then ends inside a character."""
        return self.tokens.is_dead(self.matcher)

    def dead(self, allowed: Mask) -> Mask | None:
        """Find the allowed tokens that lead to banned text only; ``None``: no such token is known."""
        if self.clean is None:
            return None
        dead: Mask = allowed & ~self.clean.mask()
        return dead if dead.any() else None

    def takes(self, tokens: Sequence[int]) -> bool:
        """Return whether the clean guide can read these tokens in order."""
        if self.clean is None:
            return True
        return self.clean.validate(tokens) == len(tokens)

    def advance(self, token: int, data: bytes, dead: bool) -> BannedText | None:
        """Read a token and return the match that it completes; ``dead``: it must be undone next."""
        if self.clean is not None and not dead:
            self.clean.advance(token)
            self._clean_taken += 1
        return self.matcher.advance(data)

    def rollback(self, position: int, mark: object) -> None:
        """Return to the position after some tokens, where the matcher had this mark."""
        self.matcher.reset(mark)
        if self.clean is not None and self._clean_taken > position:
            self.clean.rollback(self._clean_taken - position)
            self._clean_taken = position


Occurrence: TypeAlias = tuple[int, int, int]
"""Number of the word, first byte, and byte after the last."""


class BiasMark(NamedTuple):
    """The state of a biased matcher at one moment."""

    banned: Any  # of the matcher of the ban
    biased: SeamMark  # of the matcher of words with a bias
    found: tuple[Occurrence, ...]  # the occurrences until then


class BiasedMatcher:
    """A matcher of the words with a bias, beside the matcher of the ban if there is one.

    It reports banned matches only, and collects the occurrences of the words with a bias.

    >>> from sfgen.ban import WordBias
    >>> matcher = BiasedMatcher(WordBias({"talk": -2}), b"", None)
    >>> matcher.advance(b"Talk, talk"), matcher.found, matcher.at_end()
    (None, ((0, 0, 4),), ((0, 0, 4), (0, 6, 10)))
    """

    def __init__(self, bias: WordBias, prompt: bytes, banned: Matcher | None) -> None:
        from sfgen.ban.seam import SeamMatcher  # loaded only where something is banned

        self.banned = banned
        self.biased = SeamMatcher(bias.automata, prompt)
        self.found: tuple[Occurrence, ...] = ()

    def advance(self, data: bytes) -> BannedText | None:
        """Read the bytes of one token and return the first banned match completed."""
        self.found = _joined(self.found, self.biased.all_certain(data))
        return None if self.banned is None else self.banned.advance(data)

    def at_end(self) -> tuple[Occurrence, ...]:
        """Return all occurrences if the text ends here."""
        return _joined(self.found, self.biased.all_at_end())

    def begin_text(self) -> None:
        """Begin a text that is also read without the text before it."""
        self.biased.begin_text()
        if self.banned is not None:
            self.banned.begin_text()

    def finish(self) -> BannedText | None:
        """Return the banned match that the end of the text would complete."""
        return None if self.banned is None else self.banned.finish()

    def open_from(self) -> int | None:
        """Return the start of the earliest partial match, or ``None``."""
        starts = [self.biased.open_from(), None if self.banned is None else self.banned.open_from()]
        return min((start for start in starts if start is not None), default=None)

    def under_way(self) -> tuple[str, ...]:
        """Return some of the partially matched words, for observers."""
        return (*(() if self.banned is None else self.banned.under_way()), *self.biased.under_way())

    def mark(self) -> BiasMark:
        """Return the present position, for ``reset``."""
        banned = None if self.banned is None else self.banned.mark()
        return BiasMark(banned, self.biased.mark(), self.found)

    def reset(self, mark: BiasMark) -> None:
        """Return to an earlier mark."""
        self.biased.reset(mark.biased)
        self.found = mark.found
        if self.banned is not None:
            self.banned.reset(mark.banned)


@dataclass(frozen=True)
class BannedTokens:
    """The search for tokens to rule out, by the matcher inside a ``BiasedMatcher`` or ``StringsMatcher``."""

    tokens: FindsTokens | None  # the search; ``None``: nothing is banned

    def of(self, matcher: BiasedMatcher | StringsMatcher) -> Int32:
        """Return the tokens that complete a partial match of a banned word, ascending."""
        return _NONE if self.tokens is None else self.tokens.of(matcher.banned)

    def dead(self, matcher: BiasedMatcher | StringsMatcher) -> Int32:
        """Return the tokens after which every continuation is banned."""
        return _NONE if self.tokens is None else self.tokens.dead(matcher.banned)

    def is_dead(self, matcher: BiasedMatcher | StringsMatcher) -> bool:
        """Return whether every continuation completes a banned match."""
        return self.tokens is not None and self.tokens.is_dead(matcher.banned)


@dataclass
class Bias:
    """The words with a bias over one text."""

    matcher: BiasedMatcher  # the matcher, which is also that of the ban
    tokens: FindsTokens
    words: WordBias
    strategy: Resample  # decides whether occurrences are accepted, and where to go back to if not

    def __post_init__(self) -> None:
        self.values = tuple(self.words.biases.values())

    def log_weight(self, occurrences: tuple[Occurrence, ...]) -> float:
        """Return the sum of the biases of some occurrences."""
        return float(sum(self.values[number] for number, _, _ in occurrences))

    def name(self, occurrence: Occurrence) -> str:
        """Return the word of an occurrence."""
        return self.words.automata.name(occurrence[0])

    @property
    def weakest(self) -> float:
        """The bias nearest to 0: any occurrence has this one or a lower one."""
        return max(self.values)

    def found(self, node: Node) -> tuple[Occurrence, ...]:
        """Return the occurrences before a node."""
        return self._mark(node).found

    def found_at_end(self, node: Node) -> tuple[Occurrence, ...]:
        """Return the occurrences if the text ends at a node; leaves the matcher there."""
        self.matcher.reset(self._mark(node))
        return self.matcher.at_end()

    def completing(self, node: Node) -> Int32:
        """Return the tokens known to complete an occurrence at a node, ascending; leaves the matcher there."""
        self.matcher.reset(self._mark(node))
        return self.tokens.of(self.matcher.biased)

    @staticmethod
    def _mark(node: Node) -> BiasMark:
        assert isinstance(node.mark, BiasMark), "the matcher is a biased one"
        return node.mark


def _joined(found: tuple[Occurrence, ...], more: list[Any]) -> tuple[Occurrence, ...]:
    """Return the occurrences with those of some raw matches added, each once."""
    if not more:
        return found
    new = dict.fromkeys((number, start, end) for end, _, start, number in more)
    return (*found, *(occurrence for occurrence in new if occurrence not in found))


_NONE: Int32 = np.empty(0, dtype=np.int32)
