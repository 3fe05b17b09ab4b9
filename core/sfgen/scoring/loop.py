"""Score some choices after one prompt, by a generator without input or output, like the decode loop.

It walks the prefix tree of the choices, depth first, so that common prefixes are read once. The tokens between two
branches are read in one forward pass, with the scores at each of their positions; then the session goes back to the
branch. So the prompt is read once, and each token of the tree once. A driver answers the requests of several prompts
together.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from sfgen.decoding.events import Ask
from sfgen.decoding.forward_passes import SessionCursor
from sfgen.decoding.retokenize import Ids
from sfgen.decoding.sampler import Sampler, log_sum
from sfgen.errors import ModelError
from sfgen.protocols import Scores, Tokens
from sfgen.scoring.spelling import Spelled


@dataclass(frozen=True, slots=True)
class ChoiceScore:
    """The probability of one of some choices.

    Attributes:
        text: The choice.
        probability: Its share: its own probability divided by the sum over all choices.
        logprob: The natural logarithm of its own probability: of its tokens, and of an end token after them if the
            model has one. Minus infinity for the probability 0.
        tokens: Its token ids, without the end token. If the tokenizer joins the end of the prompt with the choice, they
            begin with that end (see ``sfgen.scoring.spelling``).
    """

    text: str
    probability: float
    logprob: float
    tokens: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Scored:
    """The scores of all choices after one prompt."""

    scores: tuple[ChoiceScore, ...]  # the likeliest first, equals in the order of the choices
    prompt_tokens: int
    forward_passes: int

    @property
    def total_probability(self) -> float:
        """The sum of the choices' own probabilities; other texts have the rest."""
        return math.fsum(math.exp(score.logprob) for score in self.scores)


@dataclass(slots=True, eq=False)
class PrefixNode:
    """The position after some tokens."""

    depth: int = 0  # in tokens
    children: dict[int, PrefixNode] = field(default_factory=dict)  # by the next token
    ends: list[int] = field(default_factory=list)  # the numbers of the sequences that end here
    logprob: float = 0.0  # of the tokens up to here


def prefix_tree(sequences: Iterable[Ids]) -> PrefixNode:
    """Build the tree of the sequences' common prefixes; return its root.

    >>> root = prefix_tree([(1, 2), (1, 3), (1,)])
    >>> list(root.children), root.children[1].ends, list(root.children[1].children)
    ([1], [2], [2, 3])
    """
    root = PrefixNode()
    for number, sequence in enumerate(sequences):
        node = root
        for token in sequence:
            node = node.children.setdefault(token, PrefixNode(node.depth + 1))
        node.ends.append(number)
    return root


def chains(node: PrefixNode) -> Iterator[tuple[Ids, tuple[PrefixNode, ...]]]:
    """Yield the unbranched paths that begin below a node.

    >>> [tokens for tokens, _ in chains(prefix_tree([(1, 2, 3), (1, 2, 4), (5,)]))]
    [(1, 2), (5,)]
    """
    for first, child in node.children.items():
        tokens, nodes = [first], [child]
        while len(nodes[-1].children) == 1:
            ((token, following),) = nodes[-1].children.items()
            tokens.append(token)
            nodes.append(following)
        yield tuple(tokens), tuple(nodes)


def normalized(
    texts: Sequence[str], logprobs: Sequence[float], tokens: Sequence[tuple[int, ...]]
) -> tuple[ChoiceScore, ...]:
    """Score some choices by their shares, the likeliest first.

    >>> scores = normalized(["a", "b"], [-2000.0, -2000.0 + math.log(3)], [(1,), (2,)])
    >>> [(score.text, round(score.probability, 9)) for score in scores]
    [('b', 0.75), ('a', 0.25)]
    """
    total = log_sum(np.array(logprobs))
    if total == -math.inf:
        raise ModelError("the model gives none of the choices any probability")
    scores = [
        ChoiceScore(text, math.exp(logprob - total), logprob, ids)
        for text, logprob, ids in zip(texts, logprobs, tokens, strict=True)
    ]
    return tuple(sorted(scores, key=lambda score: -score.logprob))


ScoringSteps: TypeAlias = Generator[Ask | Scored, Scores | None, None]

_MODEL = Sampler(1.0, seed=0)
"""The model's own probabilities."""


@dataclass(frozen=True)
class ScoringLoop:
    """The scoring of some choices after one prompt; ``run`` is the generator."""

    vocabulary: Tokens
    texts: Sequence[str]
    spelled: Spelled
    prompt_tokens: int

    def run(self) -> ScoringSteps:
        """Yield requests, and at the end the scores."""
        tree, cursor = prefix_tree(self.spelled.choices), SessionCursor()
        logprobs = [0.0] * len(self.texts)
        root = [*self.spelled.root]
        (scores,) = self._checked((yield cursor.ask(root)), 1)
        self._arrive(tree, scores, logprobs)
        waiting = [(root, chain) for chain in chains(tree)]
        while waiting:
            known, (tokens, nodes) = waiting.pop()
            whole, last = [*known, *tokens], nodes[-1]
            # After the last token an end token may follow, whose scores are needed if there is one.
            read = len(tokens) if self.vocabulary.end_token_ids or last.children else len(tokens) - 1
            if read:
                cursor.cut(len(known))
                request = cursor.ask(whole[: len(known) + read])
                answer = self._checked((yield replace(request, positions=read)), read)
                for node, scores in zip(nodes, answer, strict=False):
                    self._arrive(node, scores, logprobs)
            if read < len(tokens):
                self._end(last, 0.0, logprobs)
            waiting += [(whole, chain) for chain in chains(last)]  # the next chains, whose prefix has been read
        yield Scored(normalized(self.texts, logprobs, self.spelled.choices), self.prompt_tokens, cursor.asked)

    def _arrive(self, node: PrefixNode, scores: Scores, logprobs: list[float]) -> None:
        """Add up the logarithms of the probabilities after a node, from the scores there."""
        after = _MODEL.log_probabilities(scores)
        for token, child in node.children.items():
            child.logprob = node.logprob + float(after[token])
        ends = list(self.vocabulary.end_token_ids)
        self._end(node, log_sum(after[ends]) if ends else 0.0, logprobs)

    @staticmethod
    def _end(node: PrefixNode, logprob: float, logprobs: list[float]) -> None:
        """The choices that end at a node; ``logprob`` is that of the end."""
        for number in node.ends:
            logprobs[number] = node.logprob + logprob

    def _checked(self, answer: Scores | None, count: int) -> NDArray[np.floating]:
        """Scores at ``count`` positions: float ``[count, len(vocabulary)]``."""
        scores: NDArray[np.floating] = np.asarray(answer)
        size = len(self.vocabulary)
        if scores.shape == (size,) and count == 1:
            return scores[np.newaxis]
        if scores.shape != (count, size):
            raise ModelError(f"the model gives scores of shape {scores.shape}, not ({count}, {size})")
        return scores
