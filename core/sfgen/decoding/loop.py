"""The decode loop: a generator without input or output.

It yields ``Ask`` and is sent scores; it yields events and is sent nothing. A driver runs it for one text, for the rows
of a batch, or inside somebody else's loop.

Banned words are undone by rollback. When a match is complete, the strategy decides which tokens are ruled out, and the
position to go back to (``sfgen.decoding.rollback_decision``). The match is found in the text and not in a list of token
routes, so no other cutting of the word slips through.

Text that must follow needs no forward pass. Its tokens (``sfgen.decoding.jump_forward``) become nodes of one allowed
token each, which the session reads together with the next token that is scored. A rollback may enter them like any
other node.

Stop strings end free text. Text that may be the beginning of one is held back until the next tokens decide. A whole
stop string ends the text before it, and that end counts as a boundary for banned words: if it completes one, the text
is rolled back as elsewhere. Then the stop string and the text after it are not checked for banned words; until the stop
string is whole, they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from sfgen import arguments
from sfgen.decoding import mask_prefetch
from sfgen.decoding.ban import Ban
from sfgen.decoding.choice import Changes, Choice, Chosen
from sfgen.decoding.detokenizer import Detokenizer, is_whole
from sfgen.decoding.events import (
    Ask,
    AskAgain,
    BlockClosed,
    BlockMoved,
    Event,
    Finished,
    FinishReason,
    Instance,
    Outlook,
    Result,
    RolledBack,
    TextReleased,
    ThoughtReleased,
    TokenChosen,
    Watch,
)
from sfgen.decoding.forward_passes import AnswerOrScores, ForwardPasses, ScoredToken, ScoredTokens, TokenLogprobs
from sfgen.decoding.healing import InsideTokens
from sfgen.decoding.likeliest_tokens import outlook
from sfgen.decoding.rollback_decision import Verdict, chosen_at, plain_choice
from sfgen.decoding.sampler import Draws
from sfgen.decoding.search_tree import Node
from sfgen.decoding.sequence import Text
from sfgen.decoding.verify import BannedPart
from sfgen.errors import DeadEnd, GenerationError
from sfgen.groups import Group
from sfgen.index.mask_ids import CountedMask, tokens_of_row
from sfgen.parameter_text import ParameterText
from sfgen.protocols import BannedText, Int32, Scores

_PATIENCE = 300  # rollbacks during which the text need not grow, or a tenth of all that are allowed
_WORDS_SHOWN = 3

Steps: TypeAlias = Generator[Ask | AskAgain | Event, AnswerOrScores | None, Result]


@dataclass
class Loop:
    """The generation of one sequence; ``run`` is the generator."""

    text: Text  # empty, with its guide and its ban
    draws: Draws
    constrained: bool  # whether the guide has a pattern, so that the limit never cuts
    hold: bool = False  # whether nothing is released before the end, so that a rollback may go back as far as it takes
    observe: bool = False  # whether events tell the likeliest tokens, and the partial matches of the ban
    logprobs: bool = False
    # Called with the bytes of the finished text, and of the thought before it; ``check`` raises if a guarantee fails.
    check: Callable[..., None] | None = None
    banned_in: Callable[[bytes, bytes | None], BannedPart | None] | None = None
    # Called with the bytes of the finished text: the value that it stands for, the instance of a Python type, the named
    # parts, and the values of the calls in it.
    value: Callable[[bytes], Any] | None = None
    parser: Callable[[bytes], Any] | None = None
    groups: Callable[[bytes], tuple[Group, ...] | None] | None = None
    calls: Callable[[bytes], tuple[Any, ...]] | None = None

    def __post_init__(self) -> None:
        self.ban = self.text.ban
        self.path = self.text.path
        self.end_tokens = frozenset(self.text.vocabulary.end_token_ids)
        self.passes = ForwardPasses(self.text, self.observe)
        is_free = not self.constrained or self.text.marker is not None
        self.inside_tokens = InsideTokens(self.text, self.passes, is_free)
        self.token_logprobs = TokenLogprobs(self.path) if self.logprobs else None
        if self.token_logprobs is not None:
            self.passes.observe = self.token_logprobs.observe
        self._scored_tokens: ScoredTokens | None = None
        self.thought_release, self.release = Detokenizer(), Detokenizer()
        self.earlier_blocks: list[int] = []  # where closed blocks began that a rollback may open again
        self.rollbacks: list[RolledBack] = []
        self.moved_blocks = 0
        self._grown, self._grown_at = 0, 0  # the most tokens that a rollback has left, and the rollbacks until then

    def observe_scores(self, observer: Callable[[int, Scores], None]) -> Loop:
        """Let an observer see the model's unmasked scores of all tokens at each step.

        To be called before ``run``. Of several calls for an index the last one counts: tokens may be rolled back.
        """
        arguments.function("observer", observer)
        own = self.passes.observe

        def both(index: int, scores: Scores) -> None:
            if own is not None:
                own(index, scores)
            observer(index, scores)

        self.passes.observe = both
        return self

    def scored_tokens(self, count: int) -> Sequence[ScoredToken]:
        """Return a list of the tokens that are never taken back, each with the ``count`` likeliest at its position.

        To be called before ``run``. It has no tokens that write only the thought before the text, or its end. A token
        is added before its text is released, or later if it is not scored yet. Before ``Finished`` the list has all
        tokens; if a stop string ended the text, those that begin before it.
        """
        self._scored_tokens = ScoredTokens(self.text, self.passes.cursor, count)
        self.observe_scores(self._scored_tokens.observe)
        return self._scored_tokens.all

    def run(self) -> Steps:
        """Yield requests and events until the text is finished.

        The generator's value is the result.
        """
        reason = self._ended()
        while reason is None:
            reason = yield from self._step()
        return (yield from self._finish(reason))

    @property
    def prompt_ids(self) -> Sequence[int]:
        """The tokens of the prompt, as far as they are read before the first token is chosen."""
        return self.text.prompt_ids

    @property
    def thought_tokens(self) -> int:
        """The number of tokens that write only the thought and its marker, or the healed end of the prompt."""
        return 0 if self.text.marker is None else len(self.text) - self.text.text_tokens

    @property
    def forward_passes(self) -> int:
        """The number of forward passes, for the result."""
        return self.passes.count

    def _ended(self) -> FinishReason | None:
        """Return the reason why the text must end here; ``None``: it goes on."""
        if self.text.end is not None:
            return "stop"
        if self.text.guide.is_finished:
            return "complete"
        if not self.constrained and self.text.counted_tokens >= self.text.max_tokens:
            return "limit"
        return None

    # ---- one step --------------------------------------------------------------------------------------------------

    def _step(self) -> Generator[Ask | AskAgain | Event, AnswerOrScores | None, FinishReason | None]:
        """Choose one token, or go back; return a reason if the text has ended."""
        node = yield from self._open()
        count = node.count
        if count == 0 and self.constrained and self.text.guide.is_accepting and not self.text.end_is_banned:
            return "complete"  # a vocabulary without an end token
        only_ends = 0 < count <= len(self.end_tokens) and self._allows_ends_only(node)
        if only_ends and node.ruled_out is None:
            return (yield from self._end_here("complete" if self.calls is None else "limit"))
        forced = count == 1 and not node.is_scored
        if count > 1 and not node.is_scored and not only_ends:
            yield from self.passes.score(node, None if node.unhealed else self._first_choice)
            if node.unhealed:
                yield from self.inside_tokens.weigh(node)
        chosen = self._choose(node) if count and not only_ends else None
        if chosen is None:
            return (yield from self._back_out())
        if chosen.token in self.end_tokens:
            return (yield from self._end_here("end_token"))
        return (yield from self._take(node, chosen, forced))

    def _open(self) -> Generator[Ask | AskAgain, AnswerOrScores | None, Node]:
        """Return the next token's node, with its allowed tokens; they may be found during the forward pass."""
        if not self.text.takes_time():
            return self.text.find_allowed()
        finding = mask_prefetch.begin(self.text.find_allowed)
        is_healed = self.path.here.unhealed > 0
        answer = yield from self.passes.ask(None, None if is_healed else lambda: self._first_choice(finding.result()))
        node = finding.result()
        yield from self.passes.keep(node, answer, None)
        return node

    def _allows_ends_only(self, node: Node) -> bool:
        """Return whether all of the few tokens that are allowed end the text."""
        if node.count == 1:
            return node.first in self.end_tokens
        return self.end_tokens.issuperset(node.all_allowed().tolist())

    def _first_choice(self, node: Node) -> Choice | None:
        """Return the choice of a token at a node that has no scores yet, for the batch to make; ``None``: it cannot."""
        if self.ban is not None and not self.ban.strategy.is_plain(node):
            return None
        if self.draws.sampler.adjusts and node.changes is None:
            node.changes = self._changes()
        return plain_choice(node, self.draws, len(self.path))

    def _choose(self, node: Node) -> Chosen | None:
        """Choose an allowed token; ``None``: none is left."""
        if self.draws.sampler.adjusts and node.changes is None and node.is_scored:
            node.changes = self._changes()
        if self.ban is not None:
            return self.ban.strategy.choose(node, self.draws, len(self.path))
        return chosen_at(node, self.draws, len(self.path)) if node.is_scored else Chosen(node.first)

    def _changes(self) -> Changes:
        """Return the changes by biases and penalties at the end of the path."""
        healing = len(self.path) - self.path.text_tokens  # tokens that write the end of the prompt
        tokens = self.text.known
        begin = len(self.text.prompt_ids) + healing
        return Changes.of(self.draws.sampler, tokens[:begin], tokens[begin:])

    def _end_here(self, reason: FinishReason) -> Generator[Event, None, FinishReason | None]:
        """Take an end token, unless the end completes a banned match."""
        banned = self.ban.matcher.finish() if self.ban else None
        if banned is None:
            if self.ban is None or self.ban.bias is None:
                return reason
            end = min(token for token in self.end_tokens if self.path.here.allows(token))
            return reason if (yield from self._is_accepted(len(self.path), end, ends=True)) else None
        yield from self._reject(len(self.path), self.text.end_tokens, banned)
        return None

    def _take(self, node: Node, chosen: Chosen, forced: bool) -> Generator[Event, None, FinishReason | None]:
        """Take a text token, unless it leads to banned text."""
        token, probability, _ = chosen
        state, dead = self.text.guide.state, node.leads_to_banned(token)
        if self.token_logprobs is not None:
            self.token_logprobs.take(node, token, probability)
        if self._scored_tokens is not None:
            self._scored_tokens.take(node, token)
        banned = self.text.take(token, forced=forced, dead=dead)
        reason = self._ended()
        inside = banned is not None and self.text.end is None  # the match is complete whatever follows
        if reason is not None and not inside:
            banned = self.text.banned_at_end()
        rejected = banned is not None or dead
        if not (rejected and self.ban and self.ban.strategy.is_silent):
            count = node.count if node.ruled_out is None else CountedMask.of(node.left()).count
            position, data = len(self.path) - 1, self.text.bytes_of(token)
            yield TokenChosen(
                position,
                token,
                data[node.unhealed :],
                state,
                self.text.guide.state,
                count,
                forced,
                probability,
                self.passes.count,
                self._outlook(node),
                self._watch() if self.observe else None,
                self._description() if self.observe else None,
                data[: node.unhealed],
            )
        if not rejected:
            if not (yield from self._is_accepted(len(self.path) - 1, token, ends=reason is not None)):
                return None
            if reason is None:
                yield from self._settle()
            return reason
        completing = self.text.completing(node, token, siblings=inside)
        word = self._coming_word() if banned is None and self.ban and not self.ban.strategy.is_silent else None
        yield from self._reject(len(self.path) - 1, completing, banned, word)
        return None

    # ---- banned text -----------------------------------------------------------------------------------------------

    def _watch(self) -> Watch | None:
        """Return the partial matches of the ban, for observers."""
        return None if self.ban is None else Watch(self.ban.matcher.open_from(), self.ban.matcher.under_way())

    def _outlook(self, node: Node) -> Outlook | None:
        """Return the likeliest tokens at a node, if somebody observes."""
        if node.top_logprobs is None or node.row is None:
            return None
        allowed = tokens_of_row(node.left())
        return outlook(node.top_logprobs, allowed, node.row.among(allowed), self.text.vocabulary)

    def _description(self) -> str | None:
        """Return the guide's description of its position, where it says more than the state's number."""
        described = self.text.guide.describe()
        return None if described == str(self.text.guide.state) else described

    def _coming_word(self) -> str | None:
        """Return a banned word on the shortest way to an end, where all ways lead to some."""
        start = self.text.start
        if self.banned_in is None or start is None or self.path.here.unhealed:
            return None
        ending = self.text.shortest_ending()
        if ending is None:
            return None
        thought_end, data = self.text.thought_end, bytes(self.path.data)
        banned = self.banned_in(data[start:] + ending, None if thought_end is None else data[:thought_end])
        return None if banned is None else banned.word

    def _reject(
        self, place: int, completing: Callable[[], Int32], banned: BannedText | None, word: str | None = None
    ) -> Generator[Event, None, None]:
        """Rule out the token at ``place``: it completes ``banned``, or leads to ``word`` in the end."""
        assert self.ban is not None
        match = None if banned is None else banned.start
        verdict = self.ban.strategy.reject(self.path, place, completing, match)
        yield from self._roll_back(verdict, word if banned is None else banned.word, silent=self.ban.strategy.is_silent)

    def _is_accepted(self, place: int, token: int, *, ends: bool) -> Generator[Event, None, bool]:
        """Accept the words with a bias that a token at ``place`` completes, or go back."""
        bias = self.ban.bias if self.ban else None
        if bias is None:
            return True
        node = self.path.nodes[place]
        new = self.text.occurrences(bias, ends=ends or self._nothing_follows())[len(bias.found(node)) :]
        log_bias = bias.log_weight(new)
        if not new or bias.strategy.accepts(self.path, place, token, log_bias, self.draws):
            return True
        verdict = bias.strategy.decline(self.path, place, self.text.lowered(bias, node, token, log_bias))
        yield from self._roll_back(verdict, bias.name(new[0]), silent=False, bias=log_bias)
        return False

    def _nothing_follows(self) -> bool:
        """Return whether the text ends here since there is no end token."""
        may_end = not self.end_tokens and self.constrained and self.text.guide.is_accepting
        return may_end and not self.text.find_allowed().count

    def _back_out(self) -> Generator[Event, None, FinishReason | None]:
        """Go back from a node where nothing is left; return a reason if the text can end here."""
        if self.ban is None:
            raise DeadEnd(f"no token is allowed after {self.text.shown!r}")
        if len(self.path) > self.ban.strategy.start:
            yield from self._roll_back(self.ban.strategy.back_out(self.path), None, silent=False)
        elif self.ban.strategy.loosen(self.path):
            return None
        elif any(map(self.path.here.allows, self.end_tokens)) and not self.text.end_is_banned:
            return "end_token"
        elif self.earlier_blocks:
            yield from self._open_earlier_block(self.ban)
        else:
            raise DeadEnd(
                f"only banned text could follow {self.text.shown!r}",
                hint="Ban fewer words, or let more follow: a wider pattern, another prompt.",
            )
        return None

    def _open_earlier_block(self, ban: Ban) -> Generator[Event, None, None]:
        """Join the last closed block to this one: no clean text follows it.

        It is written anew from its start, since its nodes have forgotten their allowed tokens.
        """
        start = self.earlier_blocks.pop()
        removed: list[int] = []
        data = b""
        while True:
            tokens, more = self._cut(len(self.path) - 1)
            removed[:0], data = tokens, more + data
            node = self.text.find_allowed()
            place, ruled_out = len(self.path), node.rule_out(np.array(tokens, dtype=np.int32))
            if place == start or not node.has_nothing_left():
                break
        ban.strategy.close(start)
        tokens, more = self._cut(start)
        verdict = Verdict(len(self.path), place, ruled_out)
        yield self._rolled_back(verdict, None, (*tokens, *removed), more + data)

    # ---- going back ------------------------------------------------------------------------------------------------

    def _roll_back(
        self, verdict: Verdict, word: str | None, *, silent: bool, bias: float | None = None
    ) -> Generator[Event, None, None]:
        """Take tokens back to the verdict's position; yield the event unless ``silent``."""
        tokens, data = self._cut(verdict.position)
        if tokens and not silent:
            yield self._rolled_back(verdict, word, tokens, data, bias)

    def _rolled_back(
        self, verdict: Verdict, word: str | None, tokens: tuple[int, ...], data: bytes, bias: float | None = None
    ) -> RolledBack:
        """Make the event of a rollback that was done; refuse to go on after too many."""
        assert self.ban is not None
        most = self.ban.max_rollbacks
        if len(self.rollbacks) >= min(most, self._grown_at + max(_PATIENCE, most // 10)):
            raise GenerationError(
                f"gave up after {len(self.rollbacks)} rollbacks at {self.text.shown!r}",
                details=tuple(self._words_met()),
                hint=ParameterText("Raise max_rollbacks, or ban fewer words.", "max_rollbacks"),
            )
        probability = self.path.here.probability(tokens[0])
        event = RolledBack(
            verdict.position,
            word,
            tokens,
            data,
            self.text.guide.state,
            probability,
            verdict.place,
            verdict.ruled_out,
            bias,
        )
        self.rollbacks.append(event)
        return event

    def _words_met(self) -> Iterator[str]:
        """Yield the words of the rollbacks since the text last grew, for the error."""
        counts = Counter(event.word for event in self.rollbacks[self._grown_at :] if event.word is not None)
        if counts:
            words = ", ".join(f"{word!r:.60} {count} times" for word, count in counts.most_common(_WORDS_SHOWN))
            yield f"  since {self._grown} tokens stayed, {words}{', …' if len(counts) > _WORDS_SHOWN else ''}"

    def _cut(self, position: int) -> tuple[tuple[int, ...], bytes]:
        """Take back the tokens from ``position`` on."""
        assert self.path.nodes[position].offset >= self.released, "a stream never takes back what it wrote"
        self.passes.cursor.cut(len(self.text.prompt_ids) + position)
        return self.text.cut(position)

    # ---- releasing text --------------------------------------------------------------------------------------------

    def _settle(self) -> Generator[Event, None, None]:
        """After a token that stays for now, close the block if the ban is at rest, and release safe text.

        While there is a partial match, nothing of the block is safe, not even the text before the match: a rollback
        chooses anew from the block's start, and another token could complete an earlier match that the current token
        has ended. The same holds for a partial match of a stop string, since a match may be complete if the text ends
        there.
        """
        end = self.text.open_from
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
            end = self._settled(self.ban)
        else:
            return
        yield from self._release_clean(end)

    def _is_at_rest(self, ban: Ban, end: int) -> bool:
        """Return whether nothing here can be taken back; bytes from ``end`` on may begin a stop string."""
        if ban.strategy.is_silent:  # after half a character, or a word that must go on, nothing clean may follow
            return is_whole(self.path.data) and not self.text.end_is_banned
        return end == len(self.path.data) and ban.matcher.open_from() is None

    def _close_block(self, position: int) -> None:
        """Begin a block at ``position``, and free the memory of the one before."""
        if position > self._grown:
            self._grown, self._grown_at = position, len(self.rollbacks)
        if self.ban is None:
            self.path.nodes[position - 1].forget()
            return
        start = self.ban.strategy.start
        if not self.hold:
            for node in self.path.nodes[start:position]:
                node.forget()
        elif start < position:
            self.path.forget_scores(start, position)
            if self.constrained or not self.ban.strategy.is_silent:
                self.earlier_blocks.append(start)
        self.ban.strategy.close(position)

    def _release_clean(self, end: int) -> Generator[Event, None, None]:
        """Release the text up to ``end``, as far as it is clean if the run is cut off here."""
        if self.hold or end <= self.released:
            return
        if end < len(self.path.data):  # the whole text is released at rest only, where no match can end with it
            end = self.text.clean_until(end, self.released)
        yield from self._release(end)

    def _release(self, end: int, *, final: bool = False) -> Generator[Event, None, None]:
        """Release thought and text up to ``end``; the marker between them belongs to neither."""
        data, start, thought_end = self.path.data, self.text.start, self.text.thought_end
        has_begun = start is not None and (end > start or final)
        if self.text.marker is not None:
            until = end if thought_end is None else min(end, thought_end)
            is_over = has_begun or (final and self.text.in_thought)
            thought = self.thought_release.until(data, max(until, self.thought_release.length), final=is_over)
            if thought:
                yield ThoughtReleased(thought)
        if start is None or not has_begun:
            return
        self.release.length = max(self.release.length, start)
        text = self.release.until(data, end, final=final)
        if self._scored_tokens is not None:
            self._scored_tokens.release(self.released)
        if text:
            yield TextReleased(text)

    @property
    def released(self) -> int:
        """The number of bytes released, of the thought and the text."""
        return max(self.thought_release.length, self.release.length)

    def _settled(self, ban: Ban) -> int:
        """Return the end of the text that no other first token of the block can change."""
        before = self.path.data[: self.path.nodes[ban.strategy.start].offset]
        start, marker = self.text.start, self.text.marker
        if marker is not None and (start is None or len(before) < start):
            return marker.open_from(before)
        return self.text.stop_open_from(before)

    def _finish(self, reason: FinishReason) -> Generator[Ask | Event, AnswerOrScores | None, Result]:
        """Check the finished text, release the rest of it, and tell the result."""
        start, thought = self.text.start, None
        if self.text.marker is not None:  # without its end, where the limit has ended it
            thought = bytes(self.path.data[: self.text.thought_end])
        start = len(self.path.data) if start is None else start
        data = bytes(self.path.data[start : self.text.end])
        yield from self.passes.finish()
        if self.check:
            self.check(data, thought, in_thought=self.text.in_thought)
        if self._scored_tokens is not None:
            self._scored_tokens.finish(self.text.end)
        yield from self._release(start + len(data), final=True)
        result = Result(
            text=data.decode("utf-8", "replace"),
            token_ids=tuple(self.path.token_ids),
            finish_reason=reason,
            prompt_tokens=len(self.text.prompt_ids),
            forward_passes=self.forward_passes,
            forced_tokens=sum(self.path.forced),
            rollbacks=tuple(self.rollbacks),
            moved_blocks=self.moved_blocks,
            value=None if self.value is None else self.value(data),
            logprobs=None if self.token_logprobs is None else self.token_logprobs.of_path(),
            instance=None if self.parser is None else Instance(self.parser, data),
            healed=self.text.healed.decode() if self.text.healed else None,
            named=() if self.groups is None else self.groups(data),
            calls=None if self.calls is None else self.calls(data),
            thought=None if thought is None else thought.decode("utf-8", "replace"),
        )
        yield Finished(result)
        return result
