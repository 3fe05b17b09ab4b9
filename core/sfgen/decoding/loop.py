"""The decode loop: a generator without input or output.

It yields ``Ask`` and is sent scores; it yields events and is sent nothing. A driver runs it for one text, for the rows
of a batch, or inside somebody else's loop.

Banned words are undone by rollback, after the rule of the source document on banned words (`first-token`): when a match
is complete, everything from the token that holds its first byte is taken back, and that token is forbidden at that
place. Unlike the source, the match is found in the text and not in a list of token routes, so no other cutting of the
word slips through, and a prohibition falls with the prefix it was made for.

Stop strings end free text. What may be the beginning of one is not let go until it is decided. A stop string that is
whole ends the text before it, and that end counts as a boundary for banned words: if it completes one, the text is
taken back like any other. Of a text that ended so, what lies in the stop string or after it is not looked at; until the
stop string is whole, a banned word inside it is a banned word.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from sfgen.decoding.events import Ask, Event, Finished, FinishReason, Result, RolledBack, TextReleased, TokenChosen
from sfgen.decoding.path import Path
from sfgen.decoding.protocols import BannedText, Guide, Matcher, Scores
from sfgen.decoding.sampler import Draws
from sfgen.decoding.stops import StopStrings
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
        matcher: Watches for banned words, already fed with the prompt.
        stops: End the text; only where it is not constrained.
        max_rollbacks: After so many rollbacks generation fails.
        check: Called with the finished bytes; raises if they break a promise.
    """

    prompt_ids: Sequence[int]
    vocabulary: Vocabulary
    guide: Guide
    draws: Draws
    max_tokens: int
    constrained: bool
    matcher: Matcher | None = None
    stops: StopStrings | None = None
    max_rollbacks: int = 10_000
    check: Callable[[bytes], None] | None = None

    def __post_init__(self) -> None:
        self.end_tokens = frozenset(self.vocabulary.end_token_ids)
        self.path = Path(self.matcher.mark() if self.matcher else None)
        self.in_session = 0  # tokens that the session has read and that are still right
        self.session_length = 0  # tokens that the session has read
        self.released = 0  # tokens that will never be taken back
        self.released_bytes = 0  # of their bytes, those that were let go; the others may belong to a stop string
        self.end: int | None = None  # bytes of the text before a stop string
        self.forward_passes = 0
        self.rollbacks: list[RolledBack] = []
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def run(self) -> Steps:
        """Yield questions and events until the text is finished; the generator's value is the result.

        Raises:
            DeadEnd: Nothing that is allowed can follow.
            GenerationError: More rollbacks than ``max_rollbacks``.
            ModelError: The scores cannot be used.
        """
        while True:
            reason = self._end_without_choice()
            if reason is None:
                reason = yield from self._step()
            if reason is not None:
                banned = self._banned_at_end()
                if banned is None:
                    break
                yield self._roll_back(banned)
        return (yield from self._finish(reason))

    def _end_without_choice(self) -> FinishReason | None:
        """Whether the text ends here before any token is chosen."""
        if self.guide.is_finished:
            return "complete"
        if not self.constrained and len(self.path.token_ids) >= self.max_tokens:
            return "limit"
        return None

    def _step(self) -> Generator[Ask | Event, Scores | None, FinishReason | None]:
        """Choose one token; a reason if it was the end."""
        place, state = self.path.here, self.guide.state
        allowed = self.guide.allowed_tokens()
        if place.forbidden:
            allowed = allowed[~np.isin(allowed, np.fromiter(place.forbidden, dtype=np.int32))]
        if allowed.size == 0:
            if self.constrained and self.guide.is_accepting:  # a vocabulary without an end token
                return "complete"
            yield self._back_out()
            return None
        if allowed.size <= len(self.end_tokens) and self.end_tokens.issuperset(allowed.tolist()):
            return "complete"
        forced = allowed.size == 1 and place.scores is None
        if forced:
            token, probability = int(allowed[0]), None
        else:
            if place.scores is None:
                place.scores = self._checked((yield self._ask()))
            chosen, probability = self.draws.choose(place.scores[allowed])
            token = int(allowed[chosen])
            if token in self.end_tokens:
                return "end_token"
        data = self.vocabulary.tokens[token] or b""
        self.guide.advance(token)
        banned = self.matcher.advance(data) if self.matcher else None
        self.path.append(token, data, forced=forced, mark=self.matcher.mark() if self.matcher else None)
        position = len(self.path.token_ids) - 1
        yield TokenChosen(position, token, data, state, self.guide.state, int(allowed.size), forced, probability)
        if self.stops is not None:
            self.end = self.stops.find(self.path.data, place.offset)
        if self.end is not None:
            return "stop"
        if banned is not None:
            yield self._roll_back(banned)
        else:
            yield from self._release()
        return None

    # ---- the model -------------------------------------------------------------------------------------------------

    def _ask(self) -> Ask:
        known = [*self.prompt_ids, *self.path.token_ids]
        keep = self.in_session if self.in_session < self.session_length else None
        question = Ask(tuple(known[self.in_session :]), keep)
        self.in_session = self.session_length = len(known)
        self.forward_passes += 1
        return question

    def _checked(self, answer: Scores | None) -> Scores:
        scores: NDArray[np.floating] = np.asarray(answer)
        if scores.shape != (len(self.vocabulary),):
            raise ModelError(f"the model gives scores of shape {scores.shape}, not ({len(self.vocabulary)},)")
        return scores

    # ---- going back ------------------------------------------------------------------------------------------------

    def _banned_at_end(self) -> BannedText | None:
        """The banned match that the end of the text completes."""
        if self.matcher is None:
            return None
        if self.end is None:
            return self.matcher.finish()
        # The text ends within what was read: read the last token before the end again, as far as it belongs to it.
        last = self.path.places[self.path.position_of(self.end)]
        self.matcher.reset(last.mark)
        return self.matcher.advance(bytes(self.path.data[last.offset : self.end])) or self.matcher.finish()

    def _roll_back(self, banned: BannedText) -> RolledBack:
        """Undo a banned match: forbid the token that holds its first byte."""
        return self._cut(self.path.position_of(banned.start), banned.word)

    def _back_out(self) -> RolledBack:
        """Nothing is left here: the token before this place was wrong."""
        position = len(self.path.token_ids) - 1
        if self.matcher is None:
            raise DeadEnd(f"no token is allowed after {self._text_so_far()!r}")
        if position < self.released:
            raise DeadEnd(
                f"only banned text could follow {self._text_so_far()!r}",
                hint="Ban fewer words, or let more follow: a wider pattern, another prompt.",
            )
        return self._cut(position, None)

    def _cut(self, position: int, word: str | None) -> RolledBack:
        if len(self.rollbacks) >= self.max_rollbacks:
            raise GenerationError(
                f"gave up after {self.max_rollbacks} rollbacks at {self._text_so_far()!r}",
                hint="Raise --max-rollbacks, or ban fewer words.",
            )
        assert position >= self.released, "a stream never takes back what it wrote"
        removed, data = self.path.cut(position)
        self.end = None
        self.guide.rollback(len(removed))
        if self.matcher:
            self.matcher.reset(self.path.here.mark)
        self.in_session = min(self.in_session, len(self.prompt_ids) + position)
        event = RolledBack(position, word, removed, data, self.guide.state, self._probability_here(removed[0]))
        self.rollbacks.append(event)
        return event

    def _probability_here(self, token: int) -> float | None:
        scores = self.path.here.scores
        if scores is None:
            return None
        allowed = scores[self.guide.allowed_tokens()].astype(np.float64)
        return float(np.exp(float(scores[token]) - np.logaddexp.reduce(allowed)))

    def _text_so_far(self) -> str:
        return bytes(self.path.data[-60:]).decode("utf-8", "replace")

    # ---- letting go ------------------------------------------------------------------------------------------------

    def _release(self) -> Generator[Event, None, None]:
        """Let go of the text if no match is under way, but for what may be the beginning of a stop string.

        While a match is under way, nothing more is safe, not even what lies before it: a rollback to where it began
        chooses anew there, and another token could complete an earlier match that the present one has put an end to.
        The same holds while a stop string is under way, since a match may be complete if the text ends there.
        """
        length = len(self.path.data)
        end = self.stops.open_from(self.path.data) if self.stops is not None else length
        if self.matcher is None or (end == length and self.matcher.open_from() is None):
            yield from self._release_until(end)

    def _release_until(self, end: int) -> Generator[Event, None, None]:
        for place in self.path.places[self.released : -1]:
            place.scores = place.mark = None
        self.released = len(self.path.token_ids)
        text = self.decoder.decode(bytes(self.path.data[self.released_bytes : end]))
        self.released_bytes = end
        if text:
            yield TextReleased(text)

    def _finish(self, reason: FinishReason) -> Generator[Event, None, Result]:
        data = bytes(self.path.data[: self.end])
        if self.check:
            self.check(data)
        yield from self._release_until(len(data))
        rest = self.decoder.decode(b"", final=True)
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
        )
        yield Finished(result)
        return result
