"""The search tree, and the path in it: the generated tokens as a stack of nodes, one before each token.

The nodes are those of a trie of everything that was tried since the block's start (see ``sfgen.decoding.strategies``):
the path is one branch of it, and a node keeps its children, the branches beside it, for as long as a rollback may come
back. What is ruled out at a node holds only while everything before it stays the same, which in a trie it does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sfgen.decoding.sampler import log_sum, place_of, places_of
from sfgen.decoding.top_logprobs import TopLogprobs
from sfgen.protocols import Int32, Scores

_MANY = 32
"""One in so many of the allowed tokens is not looked for by itself: all are looked through."""


@dataclass(slots=True, eq=False)
class Node:
    """The position of one token, before it is chosen.

    Attributes:
        offset: Bytes of generated text before it.
        unhealed: Bytes at the end of the prompt that are still to be written before the text begins.
        mark: The matcher's mark there.
        allowed: The tokens that the guide allows there, ascending; ``None`` until the path stands there.
        dead: Which of them a product of automata shows to lead to banned text only; bool ``[allowed]``.
        every: The model's scores of all tokens, float ``[vocabulary]``; ``None`` where those of the allowed ones were
            taken out of them, as is done before the next forward pass.
        taken: The model's scores of the allowed tokens, where they were taken out.
        adjusted: They after the sampler's biases and penalties, float ``[allowed]``; ``None`` where it has none, or
            nothing was chosen here.
        top_logprobs: What an observer is told of the scores of all tokens.
        temperature: The temperature at which a token is chosen here; ``None``: the generation's.
        ruled_out: Which of the allowed tokens may not stand here again; bool ``[allowed]``.
        by_rule: Those of them that a strategy's rule forbids, which may be more than is banned; bool ``[allowed]``.
        log_bias: The biases of words that each token completes, as far as they are known, 0 or below; float64
            ``[allowed]``.
        children: The nodes after tokens that were tried.
        log_clean: The logarithm of the probability, as far as is known, that what follows is not banned, and is
            accepted where words have a bias. Minus infinity where the sampler leaves nothing else; it may leave more
            when it is loosened.
        is_dead: Whether only banned text can follow, however tokens are chosen.
    """

    offset: int
    unhealed: int = 0
    mark: object = None
    allowed: Int32 | None = None
    dead: NDArray[np.bool_] | None = None
    every: Scores | None = None
    taken: Scores | None = None
    adjusted: Scores | None = None
    top_logprobs: TopLogprobs | None = None
    temperature: float | None = None
    ruled_out: NDArray[np.bool_] | None = None
    by_rule: NDArray[np.bool_] | None = None
    log_bias: NDArray[np.float64] | None = None
    children: dict[int, Node] = field(default_factory=dict)
    log_clean: float = 0.0
    is_dead: bool = False

    @property
    def is_untouched(self) -> bool:
        """Whether no token here is known to lead to banned text, or to a word with a bias."""
        is_weighed = self.ruled_out is not None or self.log_bias is not None
        return not is_weighed and all(child.log_clean == 0.0 for child in self.children.values())

    @property
    def is_scored(self) -> bool:
        """Whether there was a forward pass, and its scores are kept."""
        return self.every is not None or self.taken is not None

    @property
    def scores(self) -> Scores | None:
        """The model's scores of the allowed tokens, float ``[allowed]``; ``None``: it is not scored."""
        self.take_out()
        return self.taken

    def take_out(self) -> None:
        """Keep the scores of the allowed tokens only, in an array of their own."""
        if self.every is not None:
            self.taken, self.every = self.every.take(self.all_allowed()), None

    @property
    def chosen_by(self) -> Scores | None:
        """The scores by which a token is chosen here, float ``[allowed]``."""
        return self.scores if self.adjusted is None else self.adjusted

    def all_allowed(self) -> Int32:
        """Return all tokens that the guide allows here."""
        assert self.allowed is not None
        return self.allowed

    def rule_out(self, tokens: Int32, *, by_rule: bool = False) -> int:
        """Forbid tokens here; return how many of them were allowed until now.

        ``by_rule``: a strategy's rule forbids them, which may forbid more than is banned.
        """
        allowed = self.all_allowed()
        if self.ruled_out is None:
            self.ruled_out = np.zeros(allowed.size, dtype=np.bool_)
        places = _places(tokens, allowed)
        places = places[~self.ruled_out[places]]
        before = np.count_nonzero(self.ruled_out)
        self.ruled_out[places] = True
        if by_rule:
            if self.by_rule is None:
                self.by_rule = np.zeros(allowed.size, dtype=np.bool_)
            self.by_rule[places] = True
        return int(np.count_nonzero(self.ruled_out) - before)

    def lower(self, tokens: Int32, log_bias: float) -> None:
        """Note that tokens complete words whose biases sum to ``log_bias``, or to less."""
        allowed = self.all_allowed()
        if self.log_bias is None:
            self.log_bias = np.zeros(allowed.size)
        places = _places(tokens, allowed)
        self.log_bias[places] = np.minimum(self.log_bias[places], log_bias)

    def allow_again(self) -> bool:
        """Undo what only a rule forbids; return whether there was anything."""
        if self.by_rule is None or self.ruled_out is None:
            return False
        self.ruled_out &= ~self.by_rule
        self.by_rule = None
        return True

    def has_nothing_left(self) -> bool:
        """Tell whether every allowed token is ruled out or dead."""
        allowed = self.all_allowed()
        alive = np.ones(allowed.size, dtype=np.bool_) if self.ruled_out is None else ~self.ruled_out
        for token, child in self.children.items():
            if child.is_dead:
                alive[place_of(token, allowed)] = False
        return not alive.any()

    def probability(self, token: int) -> float | None:
        """Return the model's probability of an allowed token at temperature 1; ``None``: no scores."""
        if self.scores is None or self.allowed is None:
            return None
        scores = self.scores.astype(np.float64)
        return math.exp(float(scores[place_of(token, self.allowed)]) - log_sum(scores))

    def forget(self) -> None:
        """Free everything but the mark: no token is chosen here again."""
        self.allowed = self.dead = self.every = self.taken = self.adjusted = self.top_logprobs = None
        self.ruled_out = self.by_rule = self.log_bias = None
        self.children = {}


def _places(tokens: Int32, allowed: Int32) -> NDArray[np.intp]:
    """Return the indices of tokens among the allowed ones, as far as they are allowed."""
    if not allowed.size or tokens.size * _MANY <= allowed.size:
        return places_of(tokens, allowed)[0]
    is_one = np.zeros(max(allowed.max(), tokens.max()) + 1, dtype=np.bool_)
    is_one[tokens] = True
    return np.flatnonzero(is_one[allowed])


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
                node.allowed = node.dead = node.every = node.taken = node.adjusted = node.top_logprobs = None
                node.log_bias = None
                node.log_clean = -np.inf if node.is_dead else 0.0
                waiting += node.children.values()
