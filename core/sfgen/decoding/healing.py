"""Token healing: the seam between a prompt and its text.

A tokenizer cuts a text where it ends. After ``A person: `` there is a token for the space alone, but in the middle of
a text the space and the name after it are one token; a model that reads the space alone has hardly ever seen what
follows. So the last tokens of the prompt are taken back, as far as a token that may follow can cover their bytes, and
the text begins by writing these bytes again (Lundberg 2023, "The art of prompt design: prompt boundaries and token
healing"). The bytes still belong to the prompt: the generated text is checked, counted and released only from their end
on.

A mask does not look ahead. After ``A person:`` a space alone is likely in a tokenizer that cuts numbers into digits,
since a number may follow. Under a constraint that allows no number, the model would have to write text after the space
that it has never seen there. So a token that ends at the seam, or before it, is weighed by the probability that an
allowed token follows it (``InsideTokens``): that takes one more forward pass. In free text, too, a token that ends
before the seam is weighed: after ``The capital of`` a space alone may be likelier than `` France``, but a number
follows it, and never the rest of `` Fran``. The number of forward passes is bounded: tokens beyond it keep the model's
weights, and the prompt's end is written in any case.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from sfgen.decoding.choice import HostRow
from sfgen.decoding.events import Ask, AskAgain
from sfgen.decoding.forward_passes import AnswerOrScores, ForwardPasses, all_scores_of
from sfgen.decoding.sampler import log_sum
from sfgen.decoding.search_tree import Node
from sfgen.decoding.sequence import Text
from sfgen.errors import UsageError
from sfgen.index.mask_ids import bits_of_row
from sfgen.models.messages import ChatPrompt
from sfgen.parameter_text import ParameterText
from sfgen.protocols import Int32
from sfgen.vocabulary import Vocabulary


@dataclass(frozen=True)
class Seam:
    """A prompt without its last tokens."""

    prompt_ids: Sequence[int]  # the tokens that stay, at least one
    healed: bytes  # the bytes of those that were taken back: whole characters, the end of the prompt


def end_of_text(prompt: str | Sequence[int]) -> str | None:
    """Return the text that a prompt ends with; ``None`` for token ids.

    A conversation ends with the beginning of an answer, if the assistant has begun one.
    """
    if isinstance(prompt, ChatPrompt):
        return prompt.begun
    return prompt if isinstance(prompt, str) else None


def is_healed(heal: bool | None, prompt: str | Sequence[int]) -> bool:
    r"""Return whether the end of a prompt is healed.

    >>> is_healed(None, "A person: "), is_healed(None, "A person:"), is_healed(None, [1, 2])
    (True, False, False)
    """
    text = end_of_text(prompt)
    if text is not None:
        return text[-1:].isspace() if heal is None else heal
    if heal and isinstance(prompt, ChatPrompt):
        raise UsageError(
            ParameterText("heal is for text, and a template writes the end of this conversation", "heal"),
            hint=ParameterText("Leave heal out, or end with a message that the assistant has begun.", "heal"),
        )
    if heal:
        raise UsageError(
            ParameterText("token ids are taken as they are: heal is for a prompt that is text", "heal"),
            hint=ParameterText("Give the prompt as text, or leave heal out.", "heal"),
        )
    return False


def seams(vocabulary: Vocabulary, prompt_ids: Sequence[int], prompt: bytes) -> Iterator[Seam]:
    """List where a token may reach across the end of a prompt.

    The longest of such ends comes first. An end begins with a token of the prompt and with a whole character, and is
    the beginning of a longer token. A special token is never taken back, and one token at least stays.

    >>> vocabulary = Vocabulary([b"a", b":", b" ", b" b", b": x", b"b"])
    >>> [(seam.prompt_ids, seam.healed) for seam in seams(vocabulary, [0, 1, 2], b"a: ")]
    [([0], b': '), ([0, 1], b' ')]
    """
    trie, ends = vocabulary.trie, frozenset(vocabulary.end_token_ids)
    all_seams: list[Seam] = []
    healed = b""
    for kept in range(len(prompt_ids) - 1, 0, -1):
        token = prompt_ids[kept]
        data = vocabulary.tokens[token] if 0 <= token < len(vocabulary) and token not in ends else None
        healed = (data or b"") + healed
        if not data or len(healed) >= trie.max_depth or not prompt.endswith(healed):
            break
        nodes = trie.along(healed)
        is_character = healed[0] & 0xC0 != 0x80
        if is_character and len(nodes) == len(healed) and trie.heights[nodes[-1]] > 0:
            all_seams.append(Seam(prompt_ids[:kept], healed))
    return reversed(all_seams)


_LOG_RARE = math.log(1e-4)
"""A token that is so much less likely than the likeliest one across the seam is left as it is: to weigh all ways to cut
the healed end takes a forward pass for each, and changes nothing that is seen."""

_MOST = 128
"""The forward passes of all weighings in a text: twenty spaces can be cut in half a million ways. Each weighing may
take half of those that are left: after the first token there may be as many ways again."""


@dataclass
class InsideTokens:
    """The weighing of tokens inside the healed end of a prompt; a part of the loop's generator."""

    text: Text
    passes: ForwardPasses
    free: bool  # whether anything may follow the seam: then a token that ends there needs no weighing
    _left: int = field(default=_MOST, init=False)

    def weigh(self, node: Node) -> Generator[Ask | AskAgain, AnswerOrScores | None, None]:
        """Multiply their probabilities by those of what may follow them."""
        before = self.passes.count
        yield from self._weigh(node, -math.inf, before + self._left // 2)
        self._left -= self.passes.count - before

    def _weigh(self, node: Node, floor: float, last: int) -> Generator[Ask | AskAgain, AnswerOrScores | None, None]:
        """Weigh the tokens with scores of at least ``floor``, up to the forward pass number ``last``."""
        assert node.row is not None, "it was just scored"
        allowed, position = node.all_allowed(), len(self.text)
        scores = node.row.among(allowed).copy()
        is_inside = np.isin(allowed, self._inside(node))
        floor = max(floor, float(scores[~is_inside].max(initial=-np.inf)) + _LOG_RARE)
        is_weighed = is_inside & (scores >= floor)
        if node.dead is not None:
            is_weighed &= ~bits_of_row(node.dead)[allowed]
        # The likeliest, as many as there are passes for; the rarest of them first, which leave passes to the others.
        places = sorted(np.flatnonzero(is_weighed).tolist(), key=scores.item)
        places = places[max(0, len(places) - (last - self.passes.count)) :]
        for waiting, place in zip(range(len(places), 0, -1), places, strict=True):
            until = self.passes.count + (last - self.passes.count) // waiting
            self.text.take(int(allowed[place]), forced=False, dead=False)
            scores[place] += yield from self._log_share(self.text.find_allowed(), floor - float(scores[place]), until)
            self.passes.cursor.cut(len(self.text.prompt_ids) + position)
            self.text.cut(position)
        node.unweighed, node.row = HostRow(node.row.among(allowed), allowed), HostRow(scores, allowed)

    def _inside(self, node: Node) -> Int32:
        """Return the tokens that the rest of the healed end begins with; in free text, not all of it."""
        trie, rest = self.text.vocabulary.trie, self.text.healed[len(self.text.healed) - node.unhealed :]
        nodes = trie.along(rest[: len(rest) - self.free])
        tokens = [trie.token_ids[trie.token_starts[each] : trie.token_starts[each + 1]] for each in nodes]
        return np.concatenate(tokens) if tokens else np.empty(0, np.int32)

    def _log_share(
        self, node: Node, log_floor: float, last: int
    ) -> Generator[Ask | AskAgain, AnswerOrScores | None, float]:
        """Return the logarithm of the model's probability of all allowed tokens at a node."""
        scored = yield from self.passes.ask()
        yield from self.passes.keep(node, scored, None)
        total = log_sum(all_scores_of(scored).astype(np.float64))
        if node.unhealed:
            yield from self._weigh(node, total + log_floor, last)
        assert node.row is not None, "it was just scored"
        return log_sum(node.row.among(node.all_allowed()).astype(np.float64)) - total
