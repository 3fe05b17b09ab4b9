"""Draw a whole text from the model on condition that all of it is allowed.

A text is drawn top-down with the Gumbel-max trick (Maddison, Tarlow and Minka 2014, "A* Sampling"; Kool, van Hoof and
Welling 2019, "Stochastic Beams and Where to Find Them"). Give each text the logarithm of its probability plus Gumbel
noise of its own: the text with the largest sum is an exact draw, and the largest *among the allowed texts* is an exact
draw on condition that the text is allowed. The sums of all texts with a common prefix have a largest one too, and that
can be drawn before any of these texts is looked at. So the prefixes are a tree that is opened from its root, always at
the largest sum. Prefixes that the automata show to have no allowed text are dropped, and the first complete text that
is taken from the queue is the draw. It depends on the model and the seed alone, not on the scores that are kept in
memory.

The constraint alone decides which token sequences count as a text, and with which probability:

* a text that may end and may go on counts with the probability of its end tokens;
* a text that nothing can follow, and a text at the token limit, counts with the probability of its tokens.
  Free text is cut at the limit and before a stop string; a text of a constraint must be complete at the limit.

Banned words, the limit and dead ends only take texts away, so that they leave the ratios of all others as they are.
Rejection sampling of whole texts costs about ``1/Z`` texts, with ``Z`` the probability of allowed ones; this search
scores no prefix twice, and no prefix that the automata show to be dead.
"""

from __future__ import annotations

import heapq
import math
from collections import OrderedDict
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sfgen.decoding.events import Ask, AskAgain, Event, FinishReason, PrefixScored, TokenChosen
from sfgen.decoding.forward_passes import AnswerOrScores, all_scores_of
from sfgen.decoding.loop import Loop, Steps
from sfgen.decoding.sampler import Sampler, log_sum
from sfgen.errors import DeadEnd, GenerationError, UsageError
from sfgen.index import DfaGuide
from sfgen.index.mask_ids import tokens_of_row
from sfgen.parameter_text import ParameterText
from sfgen.protocols import BannedText, Guide, Int32, Scores

Float64 = NDArray[np.float64]

_TINY = float(np.finfo(np.float64).tiny)


def gumbel_noise(seed: int, prefix: Sequence[int], size: int) -> Float64:
    """Draw standard Gumbel noise for each token after a prefix, float64 ``[size]``.

    Equal seeds and prefixes have equal noise, whatever was drawn before.

    >>> bool((gumbel_noise(1, [5, 7], 3) == gumbel_noise(1, (5, 7), 3)).all())
    True
    """
    digest = blake2b(digest_size=16)
    digest.update(b"%d:" % seed)
    digest.update(np.asarray(prefix, dtype="<i8").tobytes())
    generator = np.random.Generator(np.random.Philox(key=int.from_bytes(digest.digest(), "little")))
    # The logarithm of an exponential variable is exact in the upper tail, where that of a uniform one is cut off.
    noise: Float64 = -np.log(np.maximum(generator.standard_exponential(size), _TINY))
    return noise


def with_maximum(perturbed: Float64, largest: float, maximum: float) -> Float64:
    """Condition Gumbel variables on their maximum (Kool and others 2019, B.3).

    >>> with_maximum(np.array([-1.0, 2.0, -np.inf]), 2.0, -3.0).round(4).tolist()
    [-3.121, -3.0, -inf]
    """
    # ``perturbed``: float64 [n], some of the variables; ``largest`` of all of them becomes ``maximum``.
    with np.errstate(divide="ignore"):
        gaps = maximum - perturbed + _log1mexp(perturbed - largest)
        conditioned: Float64 = maximum - np.maximum(gaps, 0.0) - np.log1p(np.exp(-np.abs(gaps)))
    return conditioned


def _log1mexp(values: Float64) -> Float64:
    """Compute ``log(1 - exp(x))`` for x of at most 0, without cancellation (Mächler 2012)."""
    near: Float64 = np.log(-np.expm1(np.maximum(values, -1.0)))
    return np.where(values > -np.log(2), near, np.log1p(-np.exp(values)))


END = -1
"""Stands for the end tokens: as a child of a prefix, the text that ends there."""

MAX_PASSES = 10_000
"""The default number of prefixes that are scored for one text."""

KEPT = 64
"""The children of a prefix that are kept at first; the others are computed anew if they are needed."""


@dataclass(frozen=True, slots=True)
class Child:
    """A prefix with one more token, or a text that ends."""

    token: int  # or ``END``
    value: float  # the largest perturbed log-probability of the texts that begin so
    log_mass: float  # the logarithm of their probability


@dataclass(frozen=True, slots=True)
class Children:
    """The best continuations of a prefix by one token."""

    tokens: Int32  # int32 [children]
    values: Float64  # float64 [children]
    log_masses: Float64  # float64 [children]
    is_all: bool = True  # whether the prefix has no others

    def beside(self, child: Child) -> Children:
        """Return these and another child, appended."""
        return Children(
            np.append(self.tokens, np.int32(child.token)),
            np.append(self.values, child.value),
            np.append(self.log_masses, child.log_mass),
        )

    def best(self, most: int) -> Children:
        """Return the children with the largest values, in falling order.

        >>> children = Children(np.array([7, 8, 9], dtype=np.int32), np.array([-3.0, -1.0, -2.0]), np.zeros(3))
        >>> children.best(2).tokens.tolist(), children.best(2).is_all, children.best(3).tokens.tolist()
        ([8, 9], False, [8, 9, 7])
        """
        values = self.values
        kept: NDArray[np.intp] = np.arange(values.size)
        if values.size > most:
            kept = np.flatnonzero(values >= np.partition(values, -most)[-most])
        kept = kept[np.argsort(-values[kept], kind="stable")]
        return Children(self.tokens[kept], values[kept], self.log_masses[kept], kept.size == values.size)


@dataclass(slots=True, eq=False)
class Prefix:
    """A prefix of texts whose children are known."""

    parent: Prefix | None  # the prefix without its last token; ``None`` at the root
    child: Child  # this prefix as a child of ``parent``
    length: int  # in tokens
    children: Children  # the best of its children
    taken: int = 0  # so many of them, from the first on, were taken out

    @property
    def token_ids(self) -> tuple[int, ...]:
        """Its tokens, from the first."""
        tokens, prefix = list[int](), self
        while prefix.parent is not None:
            tokens.append(prefix.child.token)
            prefix = prefix.parent
        return tuple(reversed(tokens))

    @property
    def needs_more(self) -> bool:
        """Whether the next child is not kept."""
        return self.taken == len(self.children.tokens)

    @property
    def bound(self) -> float:
        """An upper bound of the next child's value; that value itself if the child is kept."""
        return float(self.children.values[self.taken - self.needs_more])

    @property
    def is_done(self) -> bool:
        """Whether all children were taken out."""
        return self.needs_more and self.children.is_all

    def take(self) -> Child:
        """Take out the next child, which must be kept."""
        number, children = self.taken, self.children
        self.taken += 1
        return Child(int(children.tokens[number]), float(children.values[number]), float(children.log_masses[number]))


class Frontier:
    """A priority queue of the open prefixes, by their best next child; of equals the longest comes first."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, int, Prefix]] = []
        self._count = 0

    def __bool__(self) -> bool:
        return bool(self._heap)

    def push(self, prefix: Prefix) -> None:
        """Add a prefix, unless all of its children were taken out."""
        if not prefix.is_done:
            self._count += 1
            heapq.heappush(self._heap, (-prefix.bound, -prefix.length, self._count, prefix))

    def pop(self) -> Prefix:
        """Take out the first prefix."""
        return heapq.heappop(self._heap)[-1]


MAX_MEMORY = 512_000_000
"""The default number of bytes of scores that are kept."""


class ScoreStore:
    """A cache of next-token scores by prefix, least recently used out.

    Texts of one job share a store. It saves forward passes, and never changes what is drawn.

    >>> import numpy as np
    >>> store = ScoreStore(max_memory=16)
    >>> for token in range(3):
    ...     store.keep((token,), np.zeros(2, dtype=np.float32))
    >>> store.find((0,)) is None, store.find((2,)).tolist(), store.size
    (True, [0.0, 0.0], 16)
    """

    def __init__(self, max_memory: int) -> None:
        self.max_memory = max_memory
        self.size = 0
        """The bytes that the scores take."""
        self._scores: OrderedDict[tuple[int, ...], Scores] = OrderedDict()

    def find(self, token_ids: tuple[int, ...]) -> Scores | None:
        """Return the scores after a prefix, prompt included; ``None``: not kept."""
        scores = self._scores.get(token_ids)
        if scores is not None:
            self._scores.move_to_end(token_ids)
        return scores

    def keep(self, token_ids: tuple[int, ...], scores: Scores) -> None:
        """Store a copy of the scores, float ``[vocabulary]``, dropping others beyond the bound."""
        before = self._scores.pop(token_ids, None)
        self.size += scores.nbytes - (0 if before is None else before.nbytes)
        self._scores[token_ids] = scores.copy()  # it may be a part of a larger array
        while self.size > self.max_memory:
            self.size -= self._scores.popitem(last=False)[1].nbytes


Asking: TypeAlias = Generator[Ask | AskAgain | Event, AnswerOrScores | None, None]

Standing: TypeAlias = FinishReason | Literal["open", "dead"]
"""The reason why a text is complete; or ``open``: a token can follow; or ``dead``: no allowed text can follow."""

_MORE = 16
"""The factor by which more children of a prefix are kept once the kept ones have been taken out."""

_ROOT = Child(END, 0.0, 0.0)  # the noise of all texts together is given; their probability is 1


@dataclass
class ExactLoop(Loop):
    """A loop that draws the text as a whole; see :class:`~sfgen.decoding.loop.Loop`.

    The guide of its text has no limit: the search keeps the limit itself.
    """

    max_passes: int = MAX_PASSES  # the most prefixes that are scored; after them generation fails
    # the model's scores by prefix; several texts may share it
    scores: ScoreStore = field(default_factory=lambda: ScoreStore(MAX_MEMORY))

    def __post_init__(self) -> None:
        super().__post_init__()
        sampler = self.draws.sampler
        self._seed = None if sampler.temperature == 0 else sampler.seed  # ``None``: no noise
        self._given = Sampler(1.0, seed=0) if self._seed is None else sampler
        self._frontier = Frontier()
        self._scored = 0
        self._known = 0.0  # the probability of texts that are known to be allowed
        self._unknown = 1.0  # and of those that nothing is known of

    @property
    def forward_passes(self) -> int:
        """The number of prefixes scored, by this text or another."""
        return self._scored

    def observe_scores(self, observer: Callable[[int, Scores], None]) -> Loop:
        """Refuse an observer."""
        raise UsageError(
            "scores cannot be observed where a text is drawn as a whole",
            hint=ParameterText("Choose another strategy.", "strategy"),
        )

    def run(self) -> Steps:
        """Yield requests and events until the text is finished.

        The generator's value is the result.
        """
        reason = yield from self._search()
        yield from self._tell()
        return (yield from self._finish(reason))

    # ---- the search ------------------------------------------------------------------------------------------------

    def _search(self) -> Generator[Ask | AskAgain | Event, AnswerOrScores | None, FinishReason]:
        """Go to the text that is drawn; return why it ends there."""
        standing = self._standing(None)
        if standing == "open":
            yield from self._expand(None, _ROOT)
        elif standing != "dead":
            return standing
        while self._frontier:
            prefix = self._frontier.pop()
            self._go_to(prefix.token_ids)
            if prefix.needs_more:
                yield from self._find_more(prefix)
                self._frontier.push(prefix)
                continue
            child = prefix.take()
            self._frontier.push(prefix)
            if child.token == END:
                return "end_token"
            standing = self._standing(self.text.take(child.token, forced=False, dead=False))
            if standing == "open":
                yield from self._expand(prefix, child)
            elif standing == "dead":
                self._unknown -= math.exp(child.log_mass)
            else:
                return standing
        raise DeadEnd(
            "no allowed text within the limit of tokens has any probability",
            hint=ParameterText("Allow more tokens, or leave out top_k, top_p and min_p.", "top_k", "top_p", "min_p"),
        )

    def _go_to(self, token_ids: tuple[int, ...]) -> None:
        """Move the text to a prefix, given by its tokens."""
        path, common = self.path, 0
        while common < min(len(path), len(token_ids)) and path.token_ids[common] == token_ids[common]:
            common += 1
        if common < len(path):
            self._cut(common)
            path.here.children.clear()
        for token in token_ids[common:]:
            self.text.take(token, forced=False, dead=False)

    # ---- what the automata know ------------------------------------------------------------------------------------

    def _standing(self, banned: BannedText | None) -> Standing:
        """Tell why the text is complete, that it is open, or that it is dead."""
        reason = self._ended()
        if reason is None and len(self.text) >= self.text.max_tokens:
            reason = "complete" if self.text.guide.is_accepting else None
            if reason is None:
                return "dead"
        if reason is None and banned is None and not self._is_out_of_reach():
            try:
                if self._goes_on():
                    return "open"
            except GenerationError:  # no token of the vocabulary can follow
                return "dead"
            reason = "complete" if self.text.guide.is_accepting else None
        if reason is None:
            return "dead"
        if banned is None or self.text.end is not None:  # text after a stop string is not checked
            banned = self.text.banned_at_end()
        return reason if banned is None else "dead"

    def _goes_on(self) -> bool:
        """Return whether the constraint lets a token of text follow, banned or not."""
        node = self.text.find_allowed()
        return node.count > len(self.end_tokens) or not self._allows_ends_only(node)

    def _is_out_of_reach(self) -> bool:
        """Return whether no end is certain to be within the limit."""
        room = self.text.max_tokens - len(self.text)
        clean = self.ban.clean if self.ban is not None else None
        return any(_takes_more(guide, room) for guide in (self.text.guide, clean))

    def _continuations(self) -> tuple[Int32, bool]:
        """Return the tokens of text that may follow, int32, ascending, and whether the text may end."""
        node = self.text.find_allowed()
        allowed = node.all_allowed()
        if node.dead is not None:
            allowed = tokens_of_row(node.mask & ~node.dead)
        ends = [place for token in self.end_tokens if (place := _place_of(token, allowed)) is not None]
        return np.delete(allowed, ends), bool(ends) and not self.text.end_is_banned

    # ---- what the model says ---------------------------------------------------------------------------------------

    def _expand(self, parent: Prefix | None, child: Child) -> Asking:
        """Score the continuations of the text, and push it with them onto the frontier."""
        if self._scored >= self.max_passes:
            raise self._gave_up()
        self._scored += 1
        scores = yield from self._scores()
        children, ends, goes_on = self._children(child, scores, KEPT)
        self._frontier.push(Prefix(parent, child, len(self.text), children))
        self._known += ends
        self._unknown += goes_on - math.exp(child.log_mass)
        yield PrefixScored(
            len(self.text),
            bytes(self.path.data),
            math.exp(child.log_mass),
            self.path.here.count,
            min(1.0, self._known),
            min(1.0, max(0.0, self._unknown)),
            self._scored,
        )

    def _find_more(self, prefix: Prefix) -> Asking:
        """Compute more children of a prefix, at which the text stands."""
        scores = yield from self._scores()
        most = _MORE * len(prefix.children.tokens)
        prefix.children, *_ = self._children(prefix.child, scores, most)

    def _scores(self) -> Generator[Ask | AskAgain | Event, AnswerOrScores | None, Scores]:
        """Return the scores of all tokens after the text, float ``[vocabulary]``; asks if they are not kept."""
        known = tuple(self.text.known)
        scores = self.scores.find(known)
        if scores is None:
            scores = all_scores_of((yield from self.passes.ask()))
            self.scores.keep(known, scores)
        return scores

    def _children(self, child: Child, scores: Scores, most: int) -> tuple[Children, float, float]:
        """Return the best children; the probability that the text ends, and that it goes on."""
        tokens, may_end = self._continuations()
        if self.draws.sampler.adjusts:
            scores = self._changes().changed(scores)
        log_masses = self._given.log_probabilities(scores) + child.log_mass
        perturbed, maximum = log_masses, None
        if self._seed is not None:
            perturbed = log_masses + gumbel_noise(self._seed, self.path.token_ids, scores.size)
            maximum = float(perturbed.max())  # of all texts that begin so, also of those that are not allowed
        tokens = tokens[log_masses[tokens] > -np.inf]
        goes_on = float(np.exp(log_masses[tokens]).sum())
        ends = log_sum(log_masses[self.text.end_tokens()]) if may_end else -math.inf
        children = Children(tokens, perturbed[tokens], log_masses[tokens])
        if ends > -math.inf:
            # All end tokens make one text: its noise is the largest of theirs, without noise its mass counts.
            of_end = ends if maximum is None else float(perturbed[self.text.end_tokens()].max())
            children = children.beside(Child(END, of_end, ends))
        best = children.best(most)
        if maximum is not None:
            best = replace(best, values=with_maximum(best.values, maximum, child.value))
        return best, math.exp(ends), goes_on

    def _gave_up(self) -> GenerationError:
        """Make the error of a search that has passed ``max_passes``."""
        return GenerationError(
            f"gave up after {self.max_passes} forward passes: {_left(self._unknown)} of the probability is unknown",
            details=(f"  known to be allowed: {self._known:.3g}, and none of it was drawn",),
            hint=ParameterText(
                "Raise max_passes, or choose another strategy, which is not an exact draw.", "max_passes", "strategy"
            ),
        )

    # ---- the end ---------------------------------------------------------------------------------------------------

    def _tell(self) -> Generator[Event, None, None]:
        """Write the drawn text token by token, for observers."""
        token_ids = tuple(self.path.token_ids)
        self._go_to(())
        for position, token in enumerate(token_ids):
            allowed, state = self.text.find_allowed().count, self.text.guide.state
            self.text.take(token, forced=False, dead=False)
            yield TokenChosen(
                position,
                token,
                self.text.vocabulary.tokens[token] or b"",
                state,
                self.text.guide.state,
                allowed,
                forced=False,
                probability=None,
                forward_passes=self._scored,
                watch=self._watch() if self.observe else None,
                described=self._description() if self.observe else None,
            )


def _place_of(token: int, allowed: Int32) -> int | None:
    """Return the index of a token among ascending ones, or ``None``."""
    place = int(np.searchsorted(allowed, token))
    return place if place < allowed.size and allowed[place] == token else None


def _takes_more(guide: Guide | None, room: int) -> bool:
    """Return whether a guide that counts tokens needs more of them than there is room for."""
    return isinstance(guide, DfaGuide) and room < guide.index.longest_way and guide.tokens_left() > room


def _left(probability: float) -> str:
    """Format what is left of 1 after many subtractions, with rounding errors of about 1e-12."""
    return f"{probability:.3g}" if probability >= 1e-12 else "less than 1e-12"
