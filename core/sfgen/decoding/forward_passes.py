"""The forward passes of one text: the requests to its session, and the kept parts of the answers.

Jump-forward tokens are read together with the next token that is scored. Only then the session forgets tokens that were
rolled back; it keeps them if the same were chosen again.

A choice among few tokens always goes by scores that were computed for these alone, so that it does not depend, to the
last bit, on whether somebody observes or a mask was ready before the model was asked.

For log-probabilities the model scores all tokens at each position of the text, and none inside the prompt. Scores of a
token that is still to be chosen come before it, those of forced tokens after them, with the next forward pass. So of
each position the logarithm of the sum of all exponentials is kept, and the score of its token when both are known,
with the likeliest tokens where they are told, but never the scores of all tokens. Tokens that are taken back are
overwritten.

Where very many tokens are forced, they are read in parts, so that an answer never holds more than ``MOST_SCORES``
scores. The parts do not depend on an observer, and together they count as one forward pass.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from sfgen.decoding.choice import Choice, HostRow, RowAnswer
from sfgen.decoding.events import Ask, AskAgain, TokenLogprob
from sfgen.decoding.likeliest_tokens import TopLogprobs
from sfgen.decoding.sampler import log_sum
from sfgen.decoding.search_tree import Node, Path
from sfgen.decoding.sequence import Text
from sfgen.errors import ModelError
from sfgen.protocols import Int32, Scores

MOST_SCORES = 2**24
"""The most scores of an answer, unless one position has more."""


class SessionCursor:
    """The position of a session in one text, and its next requests.

    >>> cursor = SessionCursor()
    >>> cursor.ask([1, 2])
    Ask(token_ids=(1, 2), keep=None, rows=None)
    >>> cursor.ask([1, 2, 3, 4])
    Ask(token_ids=(3, 4), keep=None, rows=None)
    >>> cursor.cut(2)
    >>> cursor.ask([1, 2, 3, 5]), cursor.asked
    (Ask(token_ids=(5,), keep=3, rows=None), 3)
    """

    def __init__(self) -> None:
        self.asked = 0
        """The number of requests."""
        self._read: Sequence[int] = ()  # by the session
        self._right = 0  # so many of them, from the first on, are known to be those of the text

    def ask(
        self,
        known: Sequence[int],
        rows: Int32 | None = None,
        choose: Callable[[], Choice | None] | None = None,
        *,
        counts: bool = True,
    ) -> Ask:
        """Return the request for the scores of the next token; ``counts``: as a forward pass."""
        keep = self.kept(known)
        request = Ask(tuple(known[keep:]), keep if keep < len(self._read) else None, rows, choose=choose)
        self._read = known
        self._right = len(known)
        self.asked += counts
        return request

    def kept(self, known: Sequence[int]) -> int:
        """Count the tokens that need not be read again. The last one must be, since the scores after it are wanted."""
        keep, most = self._right, min(len(self._read), len(known) - 1)
        while keep < most and self._read[keep] == known[keep]:
            keep += 1
        return max(0, min(keep, most))

    def has_read(self, length: int) -> bool:
        """Return whether the session has read this many tokens of the text."""
        return self._right >= length

    def cut(self, length: int) -> None:
        """Note that the text was cut."""
        self._right = min(self._right, length)


FEW = 1024
"""The most allowed tokens that are scored without the others."""

AnswerOrScores: TypeAlias = RowAnswer | Scores
"""The answer to a loop: scores, with the token that was chosen by them if the request had a choice."""

Asking: TypeAlias = Generator[Ask | AskAgain, AnswerOrScores | None, None]


@dataclass
class ForwardPasses:
    """The forward passes of one text, for the loop's generator."""

    text: Text
    top_logprobs: bool = False
    # called with the index of a token and the unmasked scores of all tokens there; see ``Loop``
    observe: Callable[[int, Scores], None] | None = None
    cursor: SessionCursor = field(default_factory=SessionCursor)
    _last: Node | None = field(default=None, init=False)  # may have the scores of all tokens

    @property
    def count(self) -> int:
        """The number of forward passes."""
        return self.cursor.asked

    def score(self, node: Node, choose: Callable[[Node], Choice | None] | None) -> Asking:
        """Request the scores of a node's allowed tokens, and keep them; ``choose``: and what is chosen by them."""
        rows = node.all_allowed() if node.count <= FEW and self.observe is None else None
        answer = yield from self.ask(rows, None if choose is None else partial(choose, node))
        yield from self.keep(node, answer, rows)

    def ask(
        self, rows: Int32 | None = None, choose: Callable[[], Choice | None] | None = None
    ) -> Generator[Ask, AnswerOrScores | None, RowAnswer]:
        """Request the scores of the next token."""
        if self._last is not None:
            self._last.keep_own()  # nobody uses an answer after the next request
            self._last = None
        return (yield from self._ask(self.text.known, rows, choose))

    def keep(self, node: Node, answer: RowAnswer, asked: Int32 | None) -> Asking:
        """Keep the needed scores of an answer at a node."""
        node.row, node.chosen, node.unweighed = answer.row, answer.chosen, None
        if asked is None and 1 < node.count <= FEW:
            few = node.all_allowed()
            scores = yield AskAgain(few)
            if scores is not None:
                node.row = HostRow(*self._checked(scores, few))
                node.chosen = None if answer.choice is None else node.row.choose(answer.choice)
        self._last = node
        if not self.top_logprobs:
            return
        every = answer.row.on_host()
        if every is None and (scores := (yield AskAgain(None))) is not None:
            every, _ = self._checked(scores, None)
        if every is not None:
            node.top_logprobs = TopLogprobs.of(every)

    def finish(self) -> Generator[Ask, AnswerOrScores | None, None]:
        """Give the observer the scores of jump-forward tokens at the end."""
        known = self.text.known
        if self.observe is None or not len(self.text):
            return
        if not self.count or not self.cursor.has_read(len(known) - 1):
            yield from self._ask(known[:-1], None)

    def _ask(
        self, known: Sequence[int], rows: Int32 | None, choose: Callable[[], Choice | None] | None = None
    ) -> Generator[Ask, AnswerOrScores | None, RowAnswer]:
        """Request the scores after some tokens, of which a part is read alone where many were forced."""
        if self.observe is not None and known and not self.text.prompt_ids and not self.count:
            yield from self._ask_observed(self.cursor.ask(()), 0, self.observe)  # nothing comes before the first token
        size, begin = len(self.text.vocabulary), len(self.text.prompt_ids)
        most = max(1, MOST_SCORES // size)
        for end in [*range(max(begin - 1, self.cursor.kept(known)) + most, len(known), most), len(known)]:
            is_last = end == len(known)
            wanted = rows if is_last else None
            read = known if is_last else known[:end]
            request = self.cursor.ask(read, wanted, choose if is_last else None, counts=is_last)
            if self.observe is None:
                scored = self._scored((yield request), wanted)
            else:
                scored = yield from self._ask_observed(request, end - begin, self.observe)
        return scored

    def _ask_observed(
        self, request: Ask, index: int, observe: Callable[[int, Scores], None]
    ) -> Generator[Ask, AnswerOrScores | None, RowAnswer]:
        """Ask for the scores of all tokens at a position, and at those before it that are read; return the former."""
        positions = max(1, min(len(request.token_ids), index + 1))
        if positions == 1:  # as where nobody observes
            scored = self._scored((yield request), None)
            observe(index, all_scores_of(scored))
            return scored
        answer = np.asarray((yield replace(request, positions=positions)))
        size = len(self.text.vocabulary)
        if answer.shape != (positions, size):
            raise ModelError(f"the model gives scores of shape {answer.shape}, not ({positions}, {size})")
        for number, scores in enumerate(answer, index + 1 - positions):
            observe(number, scores)
        return RowAnswer(HostRow(answer[-1].copy()))  # the others can be freed

    def _scored(self, answer: AnswerOrScores | None, rows: Int32 | None) -> RowAnswer:
        """Return an answer as that to a request that has a choice."""
        if not isinstance(answer, RowAnswer):
            return RowAnswer(HostRow(*self._checked(answer, rows)))
        if answer.row.size != len(self.text.vocabulary):
            self._checked(answer.row.on_host(), None)
        return answer

    def _checked(self, answer: AnswerOrScores | None, rows: Int32 | None) -> tuple[Scores, Int32 | None]:
        """Return scores, and the tokens that they are of; ``None``: all."""
        scores: NDArray[np.floating] = np.asarray(answer)
        if scores.shape == (len(self.text.vocabulary),):
            return scores, None
        if rows is None or scores.shape != rows.shape:
            raise ModelError(f"the model gives scores of shape {scores.shape}, not ({len(self.text.vocabulary)},)")
        return scores, rows


def all_scores_of(scored: RowAnswer) -> Scores:
    """Return the scores of all tokens, where they were asked for."""
    scores = scored.row.on_host()
    assert scores is not None, "all scores were asked for"
    return scores


class TokenLogprobs:
    """The log-probabilities of the tokens of one text."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._log_totals: dict[int, float] = {}
        self._scores: dict[int, float] = {}
        self._masked: dict[int, float] = {}

    def observe(self, index: int, scores: Scores) -> None:
        """Note the scores of all tokens at a position."""
        self._log_totals[index] = _log_total(scores)
        if index < len(self._path):
            self._scores[index] = float(scores[self._path.token_ids[index]])

    def take(self, node: Node, token: int, probability: float | None) -> None:
        """Note the choice of the next token."""
        index = len(self._path)
        score = node.model_score(token)
        if score is not None:
            self._scores[index] = score
        self._masked[index] = node.log_share(token) if probability is None else math.log(probability)

    def of_path(self) -> tuple[TokenLogprob, ...]:
        """Return the log-probabilities of all tokens of the path, once the scores of all have come."""
        return tuple(
            TokenLogprob(_finite(self._scores[index] - self._log_totals[index]), self._masked[index])
            for index in range(len(self._path))
        )


@dataclass(frozen=True, slots=True)
class ScoredToken:
    """A token that is never taken back, and the tokens that the model finds likeliest at its position.

    All are the model's natural logarithms of probabilities: temperature 1, among all tokens.
    """

    token_id: int
    offset: int  # the bytes of the text before it; negative where it ends the thought, too
    logprob: float  # of it; not a number where the model scores several tokens infinite
    likeliest: TopLogprobs


class ScoredTokens:
    """The tokens of one text that are never taken back, with the likeliest ones at each; none of a thought before it.

    The notes about a position hold while the session has read the tokens before it. Tokens that were taken back and
    chosen again are not read again: then the notes hold again.
    """

    def __init__(self, text: Text, cursor: SessionCursor, count: int) -> None:
        self.all: list[ScoredToken] = []
        """The first tokens of the text. It only grows, so that another thread may read it."""
        self._text, self._path, self._prompt = text, text.path, len(text.prompt_ids)
        self._looked_at = 0  # tokens of the path: those of the thought, and those of the list
        self._cursor = cursor
        self._count = count
        self._likeliest: list[TopLogprobs] = []  # by position
        self._scores: dict[int, float] = {}  # of the tokens of the path
        self._released = 0  # bytes that are never taken back
        self._end: float | None = None  # of a text that is over, in bytes; tokens that begin there are not told

    def observe(self, index: int, scores: Scores) -> None:
        """Note the scores of all tokens at a position, whatever was noted of later ones."""
        del self._likeliest[index:]
        self._likeliest.append(TopLogprobs.of(scores, self._count))
        if index < len(self._path):
            self._scores[index] = float(scores[self._path.token_ids[index]])
        self._tell()

    def take(self, node: Node, token: int) -> None:
        """Note the choice of the next token."""
        score = node.model_score(token)
        if score is not None:
            self._scores[len(self._path)] = score

    def release(self, length: int) -> None:
        """Note that the first bytes of the text are never taken back."""
        self._released = length
        self._tell()

    def finish(self, end: int | None) -> None:
        """Note that the text is over, at a byte or with its last token."""
        self._end = math.inf if end is None else end
        self._tell()

    def _tell(self) -> None:
        """Add the tokens that stay and are scored."""
        path = self._path
        for index in range(self._looked_at, min(len(path), len(self._likeliest))):
            if not self._stays(index) or not self._cursor.has_read(self._prompt + index):
                break
            start = self._text.start
            if start is None and self._end is None:
                break  # it may cross into the text
            self._looked_at += 1
            if start is None or (start and path.nodes[index + 1].offset <= start):
                continue
            token, likeliest = path.token_ids[index], self._likeliest[index]
            if token in likeliest.best:
                logprob = likeliest.log_probabilities[likeliest.best.index(token)]
            else:
                logprob = self._scores[index] - likeliest.log_total
            self.all.append(ScoredToken(token, path.nodes[index].offset - start, logprob, likeliest))

    def _stays(self, index: int) -> bool:
        """Return whether a token is never taken back: one without text, if what follows it is not."""
        begin, end = (node.offset for node in self._path.nodes[index : index + 2])
        return (begin < self._released and end <= self._released) if self._end is None else begin < self._end


def _log_total(scores: Scores) -> float:
    """Return the logarithm of the sum of all exponentials, in float64."""
    highest = float(scores.max())
    return log_sum(scores.astype(np.float64)) if math.isfinite(highest) else highest


def _finite(logprob: float) -> float | None:
    return logprob if math.isfinite(logprob) else None
