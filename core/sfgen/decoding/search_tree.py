"""The search tree, and the path in it: the generated tokens as a stack of nodes, one before each token.

The nodes are those of a trie of everything that was tried since the block's start (see ``sfgen.decoding.strategies``):
the path is one branch of it, and a node keeps its children, the branches beside it, for as long as a rollback may come
back. A token ruled out at a node stays so only while everything before it stays the same, which in a trie it does.
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
"""More than one in N of the allowed tokens are not looked up one by one: all are looked through."""


@dataclass(slots=True, eq=False)
class Node:
    """The position of one token, before it is chosen."""

    offset: int  # bytes of generated text before it
    unhealed: int = 0  # bytes at the end of the prompt that are to be written before the text begins
    mark: object = None  # of the matcher
    allowed: Int32 | None = None  # the guide's tokens, ascending; ``None`` until the path stands here
    dead: NDArray[np.bool_] | None = None  # [allowed]: leads to banned text only, as a product of automata shows
    all_scores: Scores | None = None  # the model's, float [vocabulary]; until the next forward pass
    allowed_scores: Scores | None = None  # float [allowed], taken out of ``all_scores`` or computed alone
    unweighed: Scores | None = None  # float [allowed], the model's where healing has weighed ``allowed_scores``
    adjusted: Scores | None = None  # float [allowed], after biases and penalties; ``None``: none, or nothing chosen
    top_logprobs: TopLogprobs | None = None  # for observers
    temperature: float | None = None  # ``None``: the generation's
    ruled_out: NDArray[np.bool_] | None = None  # [allowed]: may not stand here again
    by_rule: NDArray[np.bool_] | None = None  # [allowed]: ruled out by a strategy's rule, which may forbid too much
    # float64 [allowed]: the biases of the words that each token completes, 0 or below, as far as they are known
    log_bias: NDArray[np.float64] | None = None
    children: dict[int, Node] = field(default_factory=dict)  # by token, of the tokens that were tried
    # The logarithm of the probability, as far as is known, that what follows is clean, and is accepted where words have
    # a bias. Minus infinity where the sampler leaves nothing else; it may leave more when it is loosened.
    log_clean: float = 0.0
    is_dead: bool = False  # only banned text can follow, however tokens are chosen

    @property
    def is_untouched(self) -> bool:
        """Whether no token here is known to lead to banned text, or to a word with a bias."""
        is_weighed = self.ruled_out is not None or self.log_bias is not None
        return not is_weighed and all(child.log_clean == 0.0 for child in self.children.values())

    @property
    def is_scored(self) -> bool:
        """Whether there was a forward pass, and its scores are kept."""
        return self.all_scores is not None or self.allowed_scores is not None

    @property
    def scores(self) -> Scores | None:
        """The model's scores of the allowed tokens, float ``[allowed]``; ``None``: it is not scored."""
        self.take_out()
        return self.allowed_scores

    def take_out(self) -> None:
        """Keep the scores of the allowed tokens only, in an array of their own."""
        if self.all_scores is not None:
            self.allowed_scores, self.all_scores = self.all_scores.take(self.all_allowed()), None

    def model_score(self, chosen: int) -> float | None:
        """Return the model's score of an allowed token, by its index; ``None``: it is not scored."""
        scores = self.scores if self.unweighed is None else self.unweighed
        return None if scores is None else float(scores[chosen])

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
        self.forget_scores()
        self.ruled_out = self.by_rule = None
        self.children = {}

    def forget_scores(self) -> None:
        """Free all arrays, but for what was ruled out."""
        self.allowed = self.dead = self.all_scores = self.allowed_scores = self.unweighed = self.adjusted = None
        self.top_logprobs = self.log_bias = None


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
                node.forget_scores()
                node.log_clean = -np.inf if node.is_dead else 0.0
                waiting += node.children.values()
