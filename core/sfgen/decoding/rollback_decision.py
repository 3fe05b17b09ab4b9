"""The reaction to a complete banned match: the position to go back to, and the new choice there.

A *block* is the text since the ban was last at rest (no partial match left). Its nodes form a search tree of
all that was tried since then, with the model's scores, so that no node needs a second forward pass.

* :class:`Resample` draws the block again from its start, by rejection sampling (von Neumann 1951) that learns: each
  token's probability is multiplied by the share of what follows it that is not yet known to be banned. With ``R`` the
  probability of banned text below a node, ``R(parent) = Σ p·R``, the weight is ``p·(1 − R)``. A finished block is an
  exact draw from the model under the condition that the block is clean: a wrong ``R`` (too little is known) costs
  another round, but never changes the distribution. That is per block and not per text: the model may write a beginning
  that leads to banned text only in a later block, and no strategy here looks further than the block.
* :class:`FirstToken` is the rule of Clay 2024: the token that holds the first byte of the match is forbidden there.
  Cheap, but with a token ``t`` all allowed words that begin with it are forbidden, too.
* :class:`LastToken` (``mask``) never completes a match: only the last token is chosen again. No rollback, but the text
  is driven close to matches (``talk`` becomes *talking* or *talkk*).

``exact`` is no strategy of this kind: it takes nothing back, but draws the whole text as one
(``sfgen.decoding.exact``).

All three apply biases, penalties, temperature and truncation (top-k, top-p, min-p) first. Only where these leave
nothing clean, truncation is dropped, for the block or the position.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, get_args

import numpy as np

from sfgen import arguments
from sfgen.decoding.choice import Choice, Chosen
from sfgen.decoding.sampler import Draws, Sampler
from sfgen.decoding.search_tree import Node, Path
from sfgen.index.mask_ids import has
from sfgen.protocols import Int32

StrategyName: TypeAlias = Literal["resample", "first-token", "mask"]

AnyStrategyName: TypeAlias = Literal[StrategyName, "exact"]
"""The strategies, and the one that rolls nothing back, but draws the text as a whole."""

MAX_BLOCK = 32
"""Tokens of a block under ``resample`` before its start moves."""

_ROUNDING = 1e-9
"""A sum of biases so near to 0 is 0."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The consequence of a banned match."""

    position: int  # the index of the token from which to choose anew
    place: int  # the index at which tokens were ruled out
    ruled_out: int  # their number


class Strategy(ABC):
    """The way in which one text continues after banned matches.

    Attributes:
        start: The index of the first token of the block; no rollback goes further back.
    """

    is_silent = False
    """Whether a rejected token leaves no trace: no event, and it does not count as a rollback."""

    def __init__(self, sampler: Sampler) -> None:
        self.start = 0
        self._greedy = sampler.temperature == 0
        # Where tokens are ruled out, the greedy choice needs the probabilities of the others: those of temperature 1.
        self._given = Sampler(1.0, seed=0) if self._greedy else sampler

    @abstractmethod
    def choose(self, node: Node, draws: Draws, place: int) -> Chosen | None:
        """Choose among the allowed tokens of the node at ``place``; ``None``: none is left.

        It has scores or one token.
        """

    @abstractmethod
    def is_plain(self, node: Node) -> bool:
        """Return whether a node's token is chosen by its scores alone, as without a ban."""

    @abstractmethod
    def reject(self, path: Path, place: int, completing: Callable[[], Int32], match: int | None) -> Verdict:
        """Rule out the token at ``place``, which leads to banned text.

        ``completing`` finds all completing tokens there. ``match`` is the first byte of the match; ``None``: nothing
        else could have followed.
        """

    @abstractmethod
    def back_out(self, path: Path) -> Verdict:
        """Go back from the end of the path, where nothing is left and the block does not start."""

    def loosen(self, path: Path) -> bool:
        """Drop rules that are not strictly needed; return whether there were any.

        It is called where nothing is left at the block's start, where the path ends.
        """
        return False

    def close(self, position: int) -> None:
        """Begin a block at a position, or open the one there again."""
        self.start = position

    def is_too_long(self, path: Path) -> bool:
        """Return whether the block's start must move."""
        return False

    def _is_greedy(self, node: Node) -> bool:
        return self._greedy if node.temperature is None else node.temperature == 0

    def _weighed(self, node: Node, sampler: Sampler, draws: Draws, place: int) -> Chosen | None:
        """Choose by scores, factors and ruled out tokens."""
        if node.row is None:
            return Chosen(node.first) if log_left(node, sampler) > -math.inf else None
        choice = node.weighed(sampler, takes_best=self._is_greedy(node) or node.count == 1)
        if choice.is_drawn:
            choice.share = draws.share(place)
        chosen = node.row.choose(choice)
        return None if chosen.token < 0 else chosen


class Resample(Strategy):
    """Rejection sampling from the block's start that learns; see the module.

    At temperature 0 the token with the largest ``p·(1 − R)`` is taken.
    """

    def __init__(self, sampler: Sampler, max_block: int = MAX_BLOCK) -> None:
        super().__init__(sampler)
        self._sampler = self._given
        self._max_block = max_block

    def choose(self, node: Node, draws: Draws, place: int) -> Chosen | None:
        """Choose among the allowed tokens of a node."""
        if node.is_scored and self.is_plain(node):
            return chosen_at(node, draws, place)
        return self._weighed(node, self._sampler, draws, place)

    def is_plain(self, node: Node) -> bool:
        """See :class:`Strategy`."""
        return node.is_untouched and self._sampler is self._given

    def reject(self, path: Path, place: int, completing: Callable[[], Int32], match: int | None) -> Verdict:
        """Rule out a token that leads to banned text."""
        ruled_out = path.nodes[place].rule_out(completing())
        return self._learnt(path, place, ruled_out)

    def accepts(self, path: Path, place: int, token: int, log_bias: float, draws: Draws) -> bool:
        """Accept by chance the words with a bias that a token completes; see ``sfgen.decoding.ban``."""
        node = path.nodes[place]
        log_bias -= node.bias_of(token)  # so much of it was in the token's weight
        has_choice = any(node.count > 1 for node in path.nodes[self.start : place + 1])
        if log_bias >= -_ROUNDING or not has_choice:
            return True
        if self._is_greedy(node):
            return False
        return draws.accepts(place, math.exp(log_bias))

    def decline(self, path: Path, place: int, lowered: Sequence[tuple[Int32, float]]) -> Verdict:
        """Go back after words with a bias that were not accepted; ``lowered`` is the result of ``Text.lowered``."""
        for tokens, log_bias in lowered:
            path.nodes[place].lower(tokens, log_bias)
        return self._learnt(path, place, 0)

    def _learnt(self, path: Path, place: int, ruled_out: int) -> Verdict:
        for node in reversed(path.nodes[self.start : place + 1]):
            _learn(node, self._sampler)
        return Verdict(self.start, place, ruled_out)

    def back_out(self, path: Path) -> Verdict:
        """Go back from the end of the path, where nothing is left."""
        return self.reject(path, len(path), _nothing, None)

    def loosen(self, path: Path) -> bool:
        """Drop top-k, top-p and min-p for this block."""
        if not self._sampler.truncates:
            return False
        self._sampler = untruncated(self._sampler)
        for node in _bottom_up(path.here):
            _learn(node, self._sampler)
        return True

    def close(self, position: int) -> None:
        """Begin a block at a position, or open the one there again."""
        self.start = position
        self._sampler = self._given

    def is_too_long(self, path: Path) -> bool:
        """Return whether the block has more than ``max_block`` tokens."""
        return len(path) - self.start > self._max_block


class _AtOnePlace(Strategy):
    """The common part of the strategies that choose again at one position only."""

    def choose(self, node: Node, draws: Draws, place: int) -> Chosen | None:
        """See :class:`Strategy`."""
        if node.is_scored and self.is_plain(node):
            return chosen_at(node, draws, place)
        chosen = self._weighed(node, self._given, draws, place)
        if chosen is None and self._given.truncates:
            chosen = self._weighed(node, untruncated(self._given), draws, place)
        return chosen

    def is_plain(self, node: Node) -> bool:
        """See :class:`Strategy`."""
        return node.ruled_out is None

    def back_out(self, path: Path) -> Verdict:
        """See :class:`Strategy`."""
        return self._forbid(path, len(path) - 1)

    @staticmethod
    def _forbid(path: Path, position: int, *, by_rule: bool = False) -> Verdict:
        """Forbid the token at ``position`` there."""
        token = path.token_ids[position]
        node = path.nodes[position]
        node.children.pop(token, None)  # what is forbidden is not entered again
        return Verdict(position, position, node.rule_out(np.array([token], dtype=np.int32), by_rule=by_rule))


class FirstToken(_AtOnePlace):
    """A strategy that forbids the token in which the match begins.

    It is the rule of Clay 2024; see the module. The rule forbids more than is banned, and may forbid everything. Then
    the block begins anew without it: the last token of a match is forbidden, and the token before where nothing else is
    left.
    """

    def __init__(self, sampler: Sampler) -> None:
        super().__init__(sampler)
        self._by_rule = True

    def reject(self, path: Path, place: int, completing: Callable[[], Int32], match: int | None) -> Verdict:
        """Rule out the token in which the match begins."""
        if match is None or not self._by_rule:
            return Verdict(place, place, path.nodes[place].rule_out(completing()))
        position = max(path.position_of(match), self.start)
        return self._forbid(path, position, by_rule=position < place)

    def back_out(self, path: Path) -> Verdict:
        """Go back from the end of the path, where nothing is left."""
        return self._forbid(path, len(path) - 1, by_rule=self._by_rule)

    def loosen(self, path: Path) -> bool:
        """Allow the tokens again that only the rule forbids."""
        if not self._by_rule:
            return False
        self._by_rule = False
        return sum(node.allow_again() for node in _bottom_up(path.here)) > 0

    def close(self, position: int) -> None:
        """Begin a block at a position, or open the one there again."""
        super().close(position)
        self._by_rule = True


class LastToken(_AtOnePlace):
    """A strategy that chooses the last token again; see the module."""

    is_silent = True

    def reject(self, path: Path, place: int, completing: Callable[[], Int32], match: int | None) -> Verdict:
        """Rule out a token that leads to banned text."""
        return Verdict(place, place, path.nodes[place].rule_out(completing()))


def strategy(name: StrategyName, sampler: Sampler, max_block: int = MAX_BLOCK) -> Strategy:
    """Make the strategy of a name, for one text."""
    arguments.one_of("strategy", name, get_args(StrategyName))
    max_block = arguments.whole_number("max_block", max_block, least=1)
    if name == "resample":
        return Resample(sampler, max_block)
    return FirstToken(sampler) if name == "first-token" else LastToken(sampler)


def plain_choice(node: Node, draws: Draws, place: int) -> Choice:
    """Return the choice of a token at a node by its scores alone, with its random number."""
    choice = node.choice(draws.sampler)
    if choice.is_drawn:
        choice.share = draws.share(place)
    return choice


def chosen_at(node: Node, draws: Draws, place: int) -> Chosen:
    """Choose among the allowed tokens of a node by its scores alone; a choice made with its forward pass is taken."""
    chosen, node.chosen = node.chosen, None
    if chosen is not None:
        return chosen.checked()
    assert node.row is not None, "it has scores"
    return node.row.choose(plain_choice(node, draws, place))


def untruncated(sampler: Sampler) -> Sampler:
    """Return the same sampler without top-k, top-p and min-p."""
    return replace(sampler, top_k=None, top_p=None, min_p=None)


def log_left(node: Node, sampler: Sampler) -> float:
    """Return the logarithm of the share of a node's weight that is not known to be banned: ``log(Σ p·(1 − R))``."""
    if node.row is not None:
        return node.row.choose(node.weighed(sampler, takes_best=True)).log_left
    if node.ruled_out is not None and has(node.ruled_out, node.first):
        return -math.inf
    child = node.children.get(node.first)
    return node.bias_of(node.first) + (0.0 if child is None else child.log_clean)


def _learn(node: Node, sampler: Sampler) -> None:
    """Update the share of clean text after a node from its tokens."""
    if node.allowed is None:  # its block was closed: too little is known
        return
    node.is_dead = node.has_nothing_left()
    if node.is_dead:
        node.log_clean = -np.inf
    elif node.is_scored or node.count == 1:
        node.log_clean = log_left(node, sampler)


def _nothing() -> Int32:
    """Return no token: nothing new is known."""
    return np.empty(0, dtype=np.int32)


def _bottom_up(root: Node) -> list[Node]:
    """List all nodes of a tree, each after those below it."""
    nodes = [root]
    for node in nodes:
        nodes += node.children.values()
    return nodes[::-1]
