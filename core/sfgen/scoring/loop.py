"""The scores of some choices after one prompt: a generator without input or output, as the decode loop is.

It goes through the prefix tree of the choices, depth first. What follows a branch is read in one forward pass, up to
the next branch, and the scores at each of its positions are wanted; then the session goes back to the branch. So the
prompt is read once, and each token of the tree once. A driver asks several prompts' requests together.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from sfgen.decoding.events import Ask
from sfgen.decoding.sampler import Sampler, log_sum
from sfgen.decoding.session_cursor import SessionCursor
from sfgen.errors import ModelError
from sfgen.protocols import Scores, Tokens
from sfgen.scoring.choice import Scored, normalized
from sfgen.scoring.prefix_tree import PrefixNode, chains, prefix_tree
from sfgen.scoring.spelling import Spelled

ScoringSteps: TypeAlias = Generator[Ask | Scored, Scores | None, None]

_MODEL = Sampler(1.0, seed=0)
"""The model's own probabilities."""


@dataclass(frozen=True)
class ScoringLoop:
    """The scoring of some choices after one prompt; ``run`` is the generator.

    Args:
        vocabulary: The tokens.
        texts: The choices.
        spelled: Their tokens behind those of the prompt.
        prompt_tokens: The number of tokens of the prompt.
    """

    vocabulary: Tokens
    texts: Sequence[str]
    spelled: Spelled
    prompt_tokens: int

    def run(self) -> ScoringSteps:
        """Yield requests, and at the end the scores.

        Raises:
            ModelError: The model's scores cannot be used, or none of the choices has any probability.
        """
        tree, cursor = prefix_tree(self.spelled.choices), SessionCursor()
        logprobs = [0.0] * len(self.texts)
        root = [*self.spelled.root]
        (scores,) = self._checked((yield cursor.ask(root)), 1)
        self._arrive(tree, scores, logprobs)
        waiting = [(root, chain) for chain in chains(tree)]
        while waiting:
            known, (tokens, nodes) = waiting.pop()
            whole, last = [*known, *tokens], nodes[-1]
            # Behind the last token an end may follow; where there is no such token, nobody need know.
            read = len(tokens) if self.vocabulary.end_token_ids or last.children else len(tokens) - 1
            if read:
                cursor.cut(len(known))
                request = cursor.ask(whole[: len(known) + read])
                answer = self._checked((yield replace(request, everywhere=read > 1)), read)
                for node, scores in zip(nodes, answer, strict=False):
                    self._arrive(node, scores, logprobs)
            if read < len(tokens):
                self._end(last, 0.0, logprobs)
            waiting += [(whole, chain) for chain in chains(last)]  # the next ones: what they go on from is read
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
