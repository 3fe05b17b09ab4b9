"""The search tree, and the path in it: the generated tokens as a stack of nodes, one before each token.

The nodes are those of a trie of everything that was tried since the block's start (see
``sfgen.decoding.rollback_decision``): the path is one branch of it, and a node keeps its children, the branches beside
it, for as long as a rollback may come back. A token ruled out at a node stays so only while everything before it stays
the same, which in a trie it does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sfgen.decoding.choice import Changes, Choice, Chosen, ScoreRow
from sfgen.decoding.likeliest_tokens import TopLogprobs
from sfgen.decoding.sampler import Sampler
from sfgen.index.mask_ids import CountedMask, has, packed, tokens_of_row
from sfgen.protocols import Int32, Mask

_UNITY = Sampler(1.0, seed=0)


@dataclass(slots=True, eq=False)
class Node:
    """The position of one token, before it is chosen."""

    offset: int  # bytes of generated text before it
    unhealed: int = 0  # bytes at the end of the prompt that are to be written before the text begins
    mark: object = None  # of the matcher
    allowed: CountedMask | None = None  # the guide's tokens; ``None`` until the path stands here
    dead: Mask | None = None  # those that lead to banned text only, as a product of automata shows
    row: ScoreRow | None = None  # the model's scores; ``None``: there was no forward pass, or they are not kept
    unweighed: ScoreRow | None = None  # the model's where healing has weighed those in ``row``
    chosen: Chosen | None = None  # what was chosen in the batch, among all that is allowed, until it is taken
    changes: Changes | None = None  # by biases and penalties
    top_logprobs: TopLogprobs | None = None  # for observers
    temperature: float | None = None  # ``None``: the generation's
    ruled_out: Mask | None = None  # tokens that may not stand here again
    by_rule: Mask | None = None  # those of them that a strategy's rule forbids, which may forbid too much
    # Tokens, ascending, and float64: the biases of the words that each completes, below 0, as far as they are known.
    log_bias: tuple[Int32, NDArray[np.float64]] | None = None
    children: dict[int, Node] = field(default_factory=dict)  # by token, of the tokens that were tried
    # The logarithm of the probability, as far as is known, that what follows is clean, and is accepted where words have
    # a bias. Minus infinity where the sampler leaves nothing else; it may leave more when it is loosened.
    log_clean: float = 0.0
    is_dead: bool = False  # only banned text can follow, however tokens are chosen

    @property
    def is_untouched(self) -> bool:
        """Whether no token here is known to lead to banned text, or to a word with a bias."""
        if self.ruled_out is not None or self.log_bias is not None:
            return False
        return not self.children or all(child.log_clean == 0.0 for child in self.children.values())

    @property
    def is_scored(self) -> bool:
        """Whether there was a forward pass, and its scores are kept."""
        return self.row is not None

    @property
    def count(self) -> int:
        """The number of tokens that the guide allows here."""
        assert self.allowed is not None
        return self.allowed.count

    @property
    def first(self) -> int:
        """The first token that the guide allows here."""
        assert self.allowed is not None
        return self.allowed.first

    @property
    def mask(self) -> Mask:
        """The tokens that the guide allows here, uint32 ``[words]``."""
        assert self.allowed is not None
        return self.allowed.mask

    def all_allowed(self) -> Int32:
        """Return all tokens that the guide allows here, ascending."""
        assert self.allowed is not None
        return self.allowed.tokens()

    def left(self) -> Mask:
        """Return the tokens that are allowed and not ruled out."""
        return self.mask if self.ruled_out is None else self.mask & ~self.ruled_out

    def allows(self, token: int) -> bool:
        """Return whether the guide allows a token here."""
        return has(self.mask, token)

    def leads_to_banned(self, token: int) -> bool:
        """Return whether a token leads to banned text only, as a product of automata shows."""
        return self.dead is not None and has(self.dead, token)

    def keep_own(self) -> None:
        """Copy the scores to memory of their own: the next answer may overwrite them."""
        if self.row is not None:
            self.row = self.row.own(self.choice(_UNITY))

    def choice(self, sampler: Sampler) -> Choice:
        """Return a choice among all allowed tokens by their scores alone, not drawn yet."""
        temperature = sampler.temperature if self.temperature is None else self.temperature
        return Choice(self.mask, self.count, sampler, temperature, changes=self.changes)

    def weighed(self, sampler: Sampler, *, takes_best: bool) -> Choice:
        """Return a choice by scores, factors and ruled out tokens.

        At temperature 0 it goes by probabilities of temperature 1.
        """
        choice = self.choice(sampler)
        if choice.temperature == 0:
            choice.sampler, choice.temperature, takes_best = _UNITY, 1.0, True
        choice.barred, choice.takes_best = self.ruled_out, takes_best
        tokens = [token for token, child in self.children.items() if child.log_clean != 0.0]
        logs = [self.children[token].log_clean for token in tokens]
        if self.log_bias is not None:
            choice.factors = (
                np.concatenate([np.array(tokens, dtype=np.int32), self.log_bias[0]]),
                np.concatenate([np.array(logs, dtype=np.float64), self.log_bias[1]]),
            )
        elif tokens:
            choice.factors = np.array(tokens, dtype=np.int32), np.array(logs, dtype=np.float64)
        return choice

    def model_score(self, token: int) -> float | None:
        """Return the model's score of an allowed token; ``None``: it is not scored."""
        row = self.row if self.unweighed is None else self.unweighed
        return None if row is None else row.score(token)

    def rule_out(self, tokens: Int32, *, by_rule: bool = False) -> int:
        """Forbid tokens here; return how many of them were allowed until now.

        ``by_rule``: a strategy's rule forbids them, which may forbid more than is banned.
        """
        new = packed(tokens, 32 * self.mask.size) & self.left()
        self.ruled_out = new if self.ruled_out is None else self.ruled_out | new
        if by_rule:
            self.by_rule = new if self.by_rule is None else self.by_rule | new
        return CountedMask.of(new).count

    def lower(self, tokens: Int32, log_bias: float) -> None:
        """Note that tokens complete words whose biases sum to ``log_bias``, or to less."""
        tokens = tokens_of_row(packed(tokens, 32 * self.mask.size) & self.mask)
        before = self.log_bias or (tokens[:0], np.empty(0))
        every = np.union1d(before[0], tokens).astype(np.int32)
        biases = np.zeros(every.size)
        biases[np.searchsorted(every, before[0])] = before[1]
        places = np.searchsorted(every, tokens)
        biases[places] = np.minimum(biases[places], log_bias)
        self.log_bias = every, biases

    def bias_of(self, token: int) -> float:
        """Return the known bias of a token; 0: none."""
        if self.log_bias is None:
            return 0.0
        place = np.flatnonzero(self.log_bias[0] == token)
        return float(self.log_bias[1][place[0]]) if place.size else 0.0

    def allow_again(self) -> bool:
        """Allow the tokens again that only a rule forbids; return whether there were any."""
        if self.by_rule is None or self.ruled_out is None:
            return False
        self.ruled_out = self.ruled_out & ~self.by_rule
        self.by_rule = None
        return True

    def has_nothing_left(self) -> bool:
        """Return whether every allowed token is ruled out or dead."""
        dead = sum(child.is_dead and has(self.left(), token) for token, child in self.children.items())
        return CountedMask.of(self.left()).count == dead

    def log_share(self, token: int) -> float:
        """Return the log-probability of a token among those allowed and not ruled out, at temperature 1."""
        if self.row is None:
            return 0.0
        choice = self.choice(_UNITY)
        choice.barred = self.ruled_out
        return self.row.log_share(token, choice)

    def probability(self, token: int) -> float | None:
        """Return the model's probability of an allowed token at temperature 1; ``None``: no scores."""
        if self.row is None or self.allowed is None:
            return None
        return math.exp(self.row.log_share(token, Choice(self.mask, self.count, _UNITY, 1.0)))

    def forget(self) -> None:
        """Free everything but the mark: no token is chosen here again."""
        self.forget_scores()
        self.ruled_out = self.by_rule = None
        if self.children:
            self.children = {}

    def forget_scores(self) -> None:
        """Free all arrays, but for what was ruled out."""
        self.allowed = self.dead = self.row = self.unweighed = self.chosen = self.changes = None
        self.top_logprobs = self.log_bias = None


class Path:
    """The path in the search tree: tokens, and the nodes between them, one more than tokens."""

    def __init__(self, mark: object = None, healed: bytes = b"") -> None:
        self.token_ids: list[int] = []
        self.data = bytearray()
        self.nodes = [Node(offset=0, unhealed=len(healed), mark=mark)]
        self.forced: list[bool] = []

    def __len__(self) -> int:
        """The number of tokens."""
        return len(self.token_ids)

    @property
    def here(self) -> Node:
        """The node of the next token."""
        return self.nodes[-1]

    @property
    def text_tokens(self) -> int:
        """The number of tokens that write some of the text, not only the healed end of the prompt."""
        inside = 0
        while inside < len(self) and self.nodes[inside].unhealed and not self.nodes[inside + 1].offset:
            inside += 1
        return len(self) - inside

    def append(self, token_id: int, data: bytes, *, forced: bool, mark: object = None) -> None:
        """Append a token and go to its node, which may exist already."""
        here = self.here
        self.token_ids.append(token_id)
        self.data += data[here.unhealed :]
        self.forced.append(forced)
        child = here.children.get(token_id)
        if child is None:
            unhealed = max(0, here.unhealed - len(data))
            child = here.children[token_id] = Node(offset=len(self.data), unhealed=unhealed)
        child.mark = mark
        self.nodes.append(child)

    def position_of(self, offset: int) -> int:
        """Return the index of the token that holds a byte.

        >>> path = Path()
        >>> path.append(5, b"a ", forced=False); path.append(6, b"talk", forced=False)
        >>> [path.position_of(offset) for offset in (-3, 0, 1, 2, 5, 6)]
        [0, 0, 0, 1, 1, 2]
        """
        position = len(self.token_ids)
        while position > 0 and self.nodes[position].offset > offset:
            position -= 1
        return position

    def cut(self, position: int) -> tuple[tuple[int, ...], bytes]:
        """Remove the tokens from an index on; return them and their bytes. Their nodes stay in the tree."""
        removed = tuple(self.token_ids[position:])
        data = bytes(self.data[self.nodes[position].offset :])
        del self.token_ids[position:], self.forced[position:], self.nodes[position + 1 :]
        del self.data[self.here.offset :]
        return removed, data

    def forget_scores(self, start: int, stop: int) -> None:
        """Free all arrays in the nodes of tokens ``start`` to ``stop``, but for what was ruled out."""
        waiting = [self.nodes[start]]
        while waiting:
            node = waiting.pop()
            if node is not self.nodes[stop]:
                node.forget_scores()
                node.log_clean = -np.inf if node.is_dead else 0.0
                waiting += node.children.values()
