"""The decode loop: a generator without input or output.

It yields ``Ask`` and is sent scores; it yields events and is sent nothing. A driver runs it for one text, for the rows
of a batch, or inside somebody else's loop.

Banned words are undone by rollback. When a match is complete, the strategy says which tokens are ruled out where, and
from where to go on (``sfgen.decoding.strategies``). The match is found in the text and not in a list of token routes,
so no other cutting of the word slips through.

Stop strings end free text. What may be the beginning of one is not let go until it is decided. A stop string that is
whole ends the text before it, and that end counts as a boundary for banned words: if it completes one, the text is
taken back like any other. Of a text that ended so, what lies in the stop string or after it is not looked at; until the
stop string is whole, a banned word inside it is a banned word.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from sfgen.decoding.ban import Ban
from sfgen.decoding.events import (
    Ask,
    BlockClosed,
    BlockMoved,
    Event,
    Finished,
    FinishReason,
    Result,
    RolledBack,
    TextReleased,
    TokenChosen,
    Watch,
)
from sfgen.decoding.outlook import Row, outlook
from sfgen.decoding.path import Int32, Node, Path
from sfgen.decoding.protocols import BannedText, Guide, Scores
from sfgen.decoding.release import Release, is_whole
from sfgen.decoding.sampler import Draws
from sfgen.decoding.stops import StopStrings
from sfgen.decoding.strategies import Verdict
from sfgen.errors import DeadEnd, GenerationError, ModelError
from sfgen.vocabulary import Vocabulary

Steps: TypeAlias = Generator[Ask | Event, Scores | None, Result]


@dataclass
class Loop:
    """The generation of one sequence; ``run`` is the generator.

    Args:
        prompt_ids: The tokens of the prompt.
        vocabulary: The bytes of the tokens.
        guide: What may follow; it must itself leave room for an end within ``max_tokens``.
        draws: The choices.
        max_tokens: The most tokens to generate; the end token does not count.
        constrained: Whether the guide has a pattern, so that the limit never cuts.
        ban: What must not be written; ``None``: nothing is banned.
        stops: End the text; only where it is not constrained.
        hold: Let nothing go before the end, so that a rollback may go back as far as it takes.
        look: Somebody looks on: tell what the model finds likely, and what the ban has under way.
        check: Called with the finished bytes; raises if they break a promise.
    """

    prompt_ids: Sequence[int]
    vocabulary: Vocabulary
    guide: Guide
    draws: Draws
    max_tokens: int
    constrained: bool
    ban: Ban | None = None
    stops: StopStrings = field(default_factory=lambda: StopStrings(()))
    hold: bool = False
    look: bool = False
    check: Callable[[bytes], None] | None = None

    def __post_init__(self) -> None:
        self.end_tokens = frozenset(self.vocabulary.end_token_ids)
        self.path = Path(self.ban.matcher.mark() if self.ban else None)
        self.read: list[int] = []  # tokens that the session has read
        self.in_session = 0  # so many of them are surely still right
        self.release = Release()
        self.earlier_blocks: list[int] = []  # where closed blocks began that a rollback may open again
        self.end: int | None = None  # bytes of the text before a stop string
        self.forward_passes = 0
        self.rollbacks: list[RolledBack] = []
        self.moved_blocks = 0

    def run(self) -> Steps:
        """Yield questions and events until the text is finished; the generator's value is the result.

        Raises:
            DeadEnd: Nothing that is allowed can follow.
            GenerationError: More rollbacks than the ban allows.
            ModelError: The scores cannot be used.
        """
        reason = self._ended()
        while reason is None:
            reason = yield from self._step()
        return (yield from self._finish(reason))

    def _ended(self) -> FinishReason | None:
        """Why the text ends here, whatever else could be chosen; ``None`` if it goes on."""
        if self.end is not None:
            return "stop"
        if self.guide.is_finished:
            return "complete"
        if not self.constrained and len(self.path) >= self.max_tokens:
            return "limit"
        return None

    # ---- one step --------------------------------------------------------------------------------------------------

    def _step(self) -> Generator[Ask | Event, Scores | None, FinishReason | None]:
        """Choose one token, or go back; a reason if that was the end."""
        node = self._open()
        allowed = node.all_allowed()
        if allowed.size == 0 and self.constrained and self.guide.is_accepting and not self._finish_is_banned():
            return "complete"  # a vocabulary without an end token
        only_ends = 0 < allowed.size <= len(self.end_tokens) and self.end_tokens.issuperset(allowed.tolist())
        if only_ends and node.ruled_out is None:
            return (yield from self._end_here("complete"))
        forced = allowed.size == 1 and node.scores is None
        if allowed.size > 1 and node.scores is None and not only_ends:
            self._keep(node, self._checked((yield self._ask())))
        choice = self._choose(node) if allowed.size and not only_ends else None
        if choice is None:
            return (yield from self._back_out())
        chosen, probability = choice
        if int(allowed[chosen]) in self.end_tokens:
            return (yield from self._end_here("end_token"))
        return (yield from self._take(node, chosen, forced, probability))

    def _open(self) -> Node:
        """The place of the next token, with what may stand there."""
        node = self.path.here
        if node.allowed is None:
            node.allowed = self.guide.allowed_tokens()
            if self.ban is not None:
                node.doomed = self.ban.doomed(node.allowed)
        return node

    def _choose(self, node: Node) -> tuple[int, float | None] | None:
        if self.ban is not None:
            return self.ban.strategy.choose(node, self.draws)
        return (0, None) if node.scores is None else self.draws.choose(node.scores)

    def _end_here(self, reason: FinishReason) -> Generator[Event, None, FinishReason | None]:
        """Take an end token, unless the end completes a banned match."""
        banned = self.ban.matcher.finish() if self.ban else None
        if banned is None:
            return reason
        yield from self._reject(len(self.path), self._end_tokens_here, banned)
        return None

    def _take(
        self, node: Node, chosen: int, forced: bool, probability: float | None
    ) -> Generator[Event, None, FinishReason | None]:
        """Take a text token, unless it leads to banned text."""
        allowed, state = node.all_allowed(), self.guide.state
        token = int(allowed[chosen])
        data = self.vocabulary.tokens[token] or b""
        doomed = node.doomed is not None and bool(node.doomed[chosen])
        self.guide.advance(token)
        banned = self.ban.advance(token, data, doomed) if self.ban else None
        self.path.append(token, data, forced=forced, mark=self.ban.matcher.mark() if self.ban else None)
        self.end = self.stops.find(self.path.data, node.offset) if self.stops.strings else None
        reason = self._ended()
        inside = banned is not None and self.end is None  # the match is complete whatever follows
        if self.ban and reason is not None and not inside:
            banned = self._banned_at_end(self.ban)
        rejected = banned is not None or doomed
        if not (rejected and self.ban and self.ban.strategy.is_silent):
            count = allowed.size if node.ruled_out is None else np.count_nonzero(~node.ruled_out)
            position = len(self.path) - 1
            yield TokenChosen(
                position,
                token,
                data,
                state,
                self.guide.state,
                int(count),
                forced,
                probability,
                self.forward_passes,
                outlook(node.row, node, self.vocabulary) if node.row is not None else None,
                self._watch() if self.look else None,
            )
        if not rejected:
            if reason is None:
                yield from self._settle()
            return reason
        guilty = self._guilty_tokens(node, token, siblings=inside)
        yield from self._reject(len(self.path) - 1, guilty, banned)
        return None

    # ---- the model -------------------------------------------------------------------------------------------------

    def _ask(self) -> Ask:
        known = [*self.prompt_ids, *self.path.token_ids]
        keep, most = self.in_session, min(len(self.read), len(known) - 1)
        while keep < most and self.read[keep] == known[keep]:
            keep += 1
        keep = max(0, min(keep, most))
        question = Ask(tuple(known[keep:]), keep if keep < len(self.read) else None)
        self.read = known
        self.in_session = len(known)
        self.forward_passes += 1
        return question

    def _checked(self, answer: Scores | None) -> Scores:
        scores: NDArray[np.floating] = np.asarray(answer)
        if scores.shape != (len(self.vocabulary),):
            raise ModelError(f"the model gives scores of shape {scores.shape}, not ({len(self.vocabulary)},)")
        return scores

    def _keep(self, node: Node, scores: Scores) -> None:
        """Keep what is needed of the model's answer for a place."""
        node.scores = scores[node.all_allowed()]
        if self.look:
            node.row = Row.of(scores)

    # ---- banned text -----------------------------------------------------------------------------------------------

    def _banned_at_end(self, ban: Ban) -> BannedText | None:
        """The banned match that is complete if the text ends after the last token, or before a stop string in it."""
        if self.end is None:
            return ban.matcher.finish()
        # The text ends within what was read: read the last token before the end again, as far as it belongs to it.
        last = self.path.places[self.path.position_of(self.end)]
        ban.matcher.reset(last.mark)
        return ban.matcher.advance(bytes(self.path.data[last.offset : self.end])) or ban.matcher.finish()

    def _watch(self) -> Watch | None:
        """What the ban has under way, for those who look on."""
        return None if self.ban is None else Watch(self.ban.matcher.open_from(), self.ban.matcher.under_way())

    def _finish_is_banned(self) -> bool:
        return self.ban is not None and self.ban.matcher.finish() is not None

    def _end_tokens_here(self) -> Int32:
        return np.array(self.vocabulary.end_token_ids, dtype=np.int32)

    def _guilty_tokens(self, node: Node, token: int, *, siblings: bool) -> Callable[[], Int32]:
        """Finds what is known to lead to banned text at a node where ``token`` did; with ``siblings``, all at once."""

        def guilty() -> Int32:
            assert self.ban is not None
            found = [np.array([token], dtype=np.int32)]
            if node.doomed is not None:
                found.append(node.all_allowed()[node.doomed])
            elif siblings:
                self.ban.matcher.reset(node.mark)
                found.append(self._without_stops(node, self.ban.completing()))
                if self.ban.matcher.finish() is not None:
                    found.append(self._end_tokens_here())
            return np.concatenate(found)

        return guilty

    def _without_stops(self, node: Node, tokens: Int32) -> Int32:
        """The tokens that do not end the text by a stop string before it comes to a match."""
        if not self.stops.strings:
            return tokens
        before = bytes(self.path.data[: node.offset])
        innocent = [self.stops.find(before + (self.vocabulary.tokens[token] or b""), node.offset) for token in tokens]
        return tokens[[end is None for end in innocent]]

    def _reject(
        self, place: int, guilty: Callable[[], Int32], banned: BannedText | None
    ) -> Generator[Event, None, None]:
        """What is to stand at ``place`` leads to banned text."""
        assert self.ban is not None
        match = None if banned is None else banned.start
        verdict = self.ban.strategy.reject(self.path, place, guilty, match)
        yield from self._roll_back(verdict, None if banned is None else banned.word, silent=self.ban.strategy.is_silent)

    def _back_out(self) -> Generator[Event, None, FinishReason | None]:
        """Nothing is left here; the end if that is all that can follow, else the tokens before were wrong."""
        if self.ban is None:
            raise DeadEnd(f"no token is allowed after {self._text_so_far()!r}")
        if len(self.path) > self.ban.strategy.start:
            yield from self._roll_back(self.ban.strategy.back_out(self.path), None, silent=False)
        elif self.ban.strategy.loosen(self.path):
            return None
        elif np.isin(self.path.here.all_allowed(), self._end_tokens_here()).any() and not self._finish_is_banned():
            return "end_token"
        elif self.earlier_blocks:
            yield from self._open_earlier_block(self.ban)
        else:
            raise DeadEnd(
                f"only banned text could follow {self._text_so_far()!r}",
                hint="Ban fewer words, or let more follow: a wider pattern, another prompt.",
            )
        return None

    def _open_earlier_block(self, ban: Ban) -> Generator[Event, None, None]:
        """No clean text follows the blocks before: put the last of them together with this one."""
        start = self.earlier_blocks.pop()
        removed: list[int] = []
        data = b""
        while True:
            tokens, more = self._cut(len(self.path) - 1)
            removed[:0], data = tokens, more + data
            node = self._open()
            place, ruled_out = len(self.path), node.rule_out(np.array(tokens, dtype=np.int32))
            if place == start or not node.has_nothing_left():
                break
        tokens, more = self._cut(ban.strategy.resume(start, place))
        verdict = Verdict(len(self.path), place, ruled_out)
        yield self._rolled_back(verdict, None, (*tokens, *removed), more + data)

    # ---- going back ------------------------------------------------------------------------------------------------

    def _roll_back(self, verdict: Verdict, word: str | None, *, silent: bool) -> Generator[Event, None, None]:
        tokens, data = self._cut(verdict.position)
        if tokens and not silent:
            yield self._rolled_back(verdict, word, tokens, data)

    def _rolled_back(self, verdict: Verdict, word: str | None, tokens: tuple[int, ...], data: bytes) -> RolledBack:
        """The event of a rollback that was done."""
        assert self.ban is not None
        if len(self.rollbacks) >= self.ban.max_rollbacks:
            raise GenerationError(
                f"gave up after {self.ban.max_rollbacks} rollbacks at {self._text_so_far()!r}",
                hint="Raise --max-rollbacks, or ban fewer words.",
            )
        probability = self.path.here.probability(tokens[0])
        event = RolledBack(
            verdict.position, word, tokens, data, self.guide.state, probability, verdict.place, verdict.ruled_out
        )
        self.rollbacks.append(event)
        return event

    def _cut(self, position: int) -> tuple[tuple[int, ...], bytes]:
        """Take back the tokens from ``position`` on."""
        assert self.path.places[position].offset >= self.release.length, "a stream never takes back what it wrote"
        tokens, data = self.path.cut(position)
        self.end = None
        self.guide.rollback(len(tokens))
        if self.ban is not None:
            self.ban.rollback(position, self.path.here.mark)
        self.in_session = min(self.in_session, len(self.prompt_ids) + position)
        return tokens, data

    def _text_so_far(self) -> str:
        return bytes(self.path.data[-60:]).decode("utf-8", "replace")

    # ---- letting go ------------------------------------------------------------------------------------------------

    def _settle(self) -> Generator[Event, None, None]:
        """After a token that stays for now: close the block if the ban is at rest, and let go of what is safe.

        While a match is under way, nothing of the block is safe, not even what lies before the match: a rollback
        chooses anew from the block's start, and another token could complete an earlier match that the present one has
        put an end to. The same holds while a stop string is under way, since a match may be complete if the text ends
        there.
        """
        data = self.path.data
        end = self.stops.open_from(data) if self.stops.strings else len(data)
        if self.ban is None:
            self._close_block(len(self.path))
        elif self._is_at_rest(self.ban, end):
            self._close_block(len(self.path))
            yield BlockClosed(len(self.path))
        elif self.ban.strategy.is_too_long(self.path):
            opened = self.ban.matcher.open_from()
            position = self.path.position_of(end if opened is None else min(opened, end))
            if position > self.ban.strategy.start:
                self.moved_blocks += 1
                yield BlockMoved(position, len(self.path) - self.ban.strategy.start)
                self._close_block(position)
            # Chosen anew, the token there may complete a stop string that the present one has put an end to.
            end = self.stops.open_from(data[: self.path.places[self.ban.strategy.start].offset])
        else:
            return
        yield from self._let_go(end)

    def _is_at_rest(self, ban: Ban, end: int) -> bool:
        """Whether nothing here can be taken back; what follows ``end`` may be the beginning of a stop string."""
        if ban.strategy.is_silent:
            return is_whole(self.path.data)  # the half of a character may be one after which nothing clean follows
        return end == len(self.path.data) and ban.matcher.open_from() is None

    def _close_block(self, position: int) -> None:
        """A new block begins at ``position``; free what was kept of the one before."""
        if self.ban is None:
            self.path.places[position - 1].forget()
            return
        start = self.ban.strategy.start
        if not self.hold:
            for place in self.path.places[start:position]:
                place.forget()
        elif start < position:
            self.path.forget_scores(start, position)
            if self.constrained or not self.ban.strategy.is_silent:
                self.earlier_blocks.append(start)
        self.ban.strategy.close(position)

    def _let_go(self, end: int) -> Generator[Event, None, None]:
        text = "" if self.hold or end <= self.release.length else self.release.until(self.path.data, end)
        if text:
            yield TextReleased(text)

    def _finish(self, reason: FinishReason) -> Generator[Event, None, Result]:
        data = bytes(self.path.data[: self.end])
        if self.check:
            self.check(data)
        rest = self.release.until(data, len(data), final=True)
        if rest:
            yield TextReleased(rest)
        result = Result(
            text=data.decode("utf-8", "replace"),
            token_ids=tuple(self.path.token_ids),
            finish_reason=reason,
            prompt_tokens=len(self.prompt_ids),
            forward_passes=self.forward_passes,
            forced_tokens=sum(self.path.forced),
            rollbacks=tuple(self.rollbacks),
            moved_blocks=self.moved_blocks,
        )
        yield Finished(result)
        return result
