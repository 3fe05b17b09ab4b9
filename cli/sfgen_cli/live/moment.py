"""All that is known of a run at one moment: every event passes through here, so taking note of one is cheap.

A step of a run is an event at which a view rests, with the events that only say what follows from it.
"""

from __future__ import annotations

import codecs
from bisect import bisect_right
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from sfgen import Event, RolledBack, TextReleased, ThoughtReleased, TokenChosen
from sfgen.decoding import BlockClosed, BlockMoved, Finished, Outlook, PrefixScored, Watch
from sfgen.decoding.events import FinishReason
from sfgen.trace.lines import Scene

HISTORY = 5
"""Rollbacks that are kept in mind."""

STRUCK_FOR = 4
"""Tokens for which the text that was taken back is still shown where it stood."""


@dataclass(frozen=True, slots=True, eq=False)
class Token:
    """A token of the text.

    Two are never equal, so that a token that is still there says the same of all before it.

    Attributes:
        token_id: The token.
        data: Its bytes.
        offset: Bytes of the text before it.
        forced: Whether nothing else could stand there.
        probability: How likely it was; ``None`` if that is not told, or nothing else could stand there.
        removed: The probability that the mask took there; ``None`` if it is not told.
    """

    token_id: int
    data: bytes
    offset: int
    forced: bool
    probability: float | None = None
    removed: float | None = None

    @classmethod
    def of(cls, event: TokenChosen, offset: int) -> Token:
        """Make the token of an event, with a number of bytes before it."""
        removed = None if event.forced or event.outlook is None else event.outlook.removed
        return cls(event.token_id, event.data, offset, event.forced, _probability_of(event), removed)


def _probability_of(event: TokenChosen) -> float | None:
    """With which it was drawn; of a greedy choice the model's own among the tokens that may stand there."""
    if event.forced:
        return None
    if event.probability is not None or event.outlook is None:
        return event.probability
    return next((one.after for one in event.outlook.after if one.token_id == event.token_id), None)


@dataclass(frozen=True, slots=True)
class Undone:
    """A rollback.

    Attributes:
        number: Counted from 1.
        event: What happened.
        forbidden: The bytes of the token that may not stand there again; ``None`` if they are not known.
    """

    number: int
    event: RolledBack
    forbidden: bytes | None


@dataclass(frozen=True, slots=True)
class Tried:
    """A token that was taken back for what came behind it.

    Attributes:
        event: The rollback.
        kept: The bytes from the token on behind which tokens were ruled out; they may stand there again.
    """

    event: RolledBack
    kept: bytes


@dataclass(frozen=True, slots=True)
class Asked:
    """A forward pass with what the model found likely.

    Attributes:
        position: Index of the token that it was asked for.
        token_id: The token that was chosen.
        outlook: What it found likely.
    """

    position: int
    token_id: int
    outlook: Outlook


@dataclass(slots=True)
class Moment:
    """A run at one moment.

    Attributes:
        scene: What was known before.
        events: How many there were; changes with each.
        seconds: When the last one was.
        tokens: The tokens that stand.
        states: What the guide says of its position before the first token, after it, after the second …
        last: The last event that changed the text.
        finish_reason: Why it has ended; ``None`` if it has not.
        asked: The last forward pass whose candidates are known; ``None`` after a forced token, which had none.
        coming: The forward pass of the position that comes next, where a forced token stands before it and it is known.
        tried: By position and token, what was taken back for what came behind it, while the tokens before it stand.
        watch: The partial matches of the ban after the last token.
        closed: The number of tokens that stay.
        released: The number of bytes that were emitted in a stream.
        struck: The last rollback, while its text is still shown.
        history: The last rollbacks and moved blocks, the latest first.
        rollbacks: How many there were.
        undone: The tokens that they took back.
        forced: Tokens of the text that were forced.
        forward_passes: How often the model was asked.
        scored: The last prefix that was scored in the search for a whole text.
    """

    scene: Scene
    events: int = 0
    seconds: float = 0.0
    tokens: list[Token] = field(default_factory=list)
    states: list[str] = field(default_factory=list)
    last: TokenChosen | RolledBack | None = None
    finish_reason: FinishReason | None = None
    asked: Asked | None = None
    coming: Asked | None = None
    tried: dict[int, dict[int, Tried]] = field(default_factory=dict)
    watch: Watch | None = None
    closed: int = 0
    released: int = 0
    struck: RolledBack | None = None
    history: deque[Undone | BlockMoved] = field(default_factory=lambda: deque(maxlen=HISTORY))
    rollbacks: int = 0
    undone: int = 0
    forced: int = 0
    forward_passes: int = 0
    scored: PrefixScored | None = None
    _states_beside_0: int = 0
    _crossing: tuple[Token, Token] | None = (
        None  # a token that holds the end of the marker, and what the text has of it
    )

    @property
    def start(self) -> int | None:
        """The byte at which the text begins; ``None``: not yet."""
        if self.scene.after is None:
            return 0
        marker = self.scene.after.encode("utf-8", "replace")
        found = self.data.find(marker)
        return None if found < 0 else found + len(marker)

    @property
    def text_tokens(self) -> list[Token]:
        """The tokens of the text, without those of the thought.

        Of the first only what it writes of the text.
        """
        start = self.start
        if start is None:
            return []
        tokens = [token for token in self.tokens if token.offset + len(token.data) > start] if start else self.tokens
        if tokens and tokens[0].offset < start:
            if self._crossing is None or self._crossing[0] is not tokens[0]:
                first = tokens[0]
                cut = replace(first, data=first.data[start - first.offset :], offset=start)
                self._crossing = first, cut
            tokens[0] = self._crossing[1]
        return tokens

    @property
    def data(self) -> bytes:
        """The text so far."""
        return b"".join(token.data for token in self.tokens)

    def data_from(self, begin: int) -> bytes:
        """Cut the text so far, from a byte on."""
        first = max(0, bisect_right(self.tokens, begin, key=lambda token: token.offset) - 1)
        rest = b"".join(token.data for token in self.tokens[first:])
        return rest[begin - self.offset(first) :]

    @property
    def length(self) -> int:
        """Bytes of the text so far."""
        return self.offset(len(self.tokens))

    def offset(self, position: int) -> int:
        """Count the bytes of the text before a token.

        Of all of it if the text does not reach so far.
        """
        if position < len(self.tokens):
            return self.tokens[position].offset
        return self.tokens[-1].offset + len(self.tokens[-1].data) if self.tokens else 0

    @property
    def shown(self) -> Asked | None:
        """The forward pass whose candidates are looked at."""
        return self.coming or self.asked

    def is_at(self, asked: Asked) -> bool:
        """Return whether the last step is the token of a forward pass."""
        return asked.position == len(self.tokens) - 1 and isinstance(self.last, TokenChosen)

    @property
    def is_forced(self) -> bool:
        """Whether the last step was a forced token."""
        return isinstance(self.last, TokenChosen) and self.last.forced

    @property
    def has_states(self) -> bool:
        """Whether the guide's position changes; that of free text is always 0."""
        return self._states_beside_0 > 0

    @property
    def held_from(self) -> int:
        """The byte from which on the text may still be taken back."""
        if self.finish_reason is not None:
            return self.length
        if self.scene.is_ban:
            return max(self.offset(self.closed), self.released)
        return self.released or self.length  # only a stream that ends at a stop string holds text back

    @property
    def standing(self) -> str:
        """The text that will not be taken back, up to its last whole character."""
        return codecs.getincrementaldecoder("utf-8")("backslashreplace").decode(self.data[: self.held_from])

    def expect(self, event: Event) -> None:
        """Take note of the event that comes next.

        Behind a jump-forward token its candidates are those to be shown.
        """
        if isinstance(event, TokenChosen) and event.outlook is not None and self.is_forced:
            self.coming = Asked(event.position, event.token_id, event.outlook)

    def take(self, event: Event, seconds: float) -> None:
        """Take note of one event."""
        self.events += 1
        self.coming = None
        self.seconds = max(self.seconds, seconds)
        match event:
            case TokenChosen():
                self._chosen(event)
            case PrefixScored():
                self.scored, self.forward_passes = event, max(self.forward_passes, event.forward_passes)
            case RolledBack():
                self._rolled_back(event)
            case BlockClosed(position):
                self.closed = position
            case BlockMoved(position):
                self.closed = position
                self.history.appendleft(event)
            case ThoughtReleased(text):
                self._release(text)
            case TextReleased(text):
                self.released = max(self.released, self.start or 0)
                self._release(text)
            case Finished(result):
                self.finish_reason, self.struck = result.finish_reason, None
                self.forward_passes = max(self.forward_passes, result.forward_passes)

    def _release(self, text: str) -> None:
        # A replacement character may stand for one byte: what is held back is told too long, never too short.
        self.released += len(text.encode("utf-8", "replace")) - 2 * text.count("\ufffd")

    def _chosen(self, event: TokenChosen) -> None:
        self._cut(event.position)
        self.tokens.append(Token.of(event, self.length))
        if not self.states:
            self._add_state(str(event.state))
        self._add_state(str(event.next_state) if event.described is None else event.described)
        self.forced += event.forced
        self.forward_passes = max(self.forward_passes, event.forward_passes)
        self.last, self.watch = event, event.watch
        if event.outlook is not None:
            self.asked = Asked(event.position, event.token_id, event.outlook)
        elif event.forced:
            self.asked = None
        if self.struck is not None and event.position >= self.struck.position + STRUCK_FOR:
            self.struck = None

    def _rolled_back(self, event: RolledBack) -> None:
        there = self.tokens[event.place] if event.place < len(self.tokens) else None
        forbidden = there.data if there is not None and there.token_id == event.forbidden else None
        if event.word is not None and event.place > event.position:
            kept = b"".join(token.data for token in self.tokens[event.position : event.place])
            self.tried.setdefault(event.position, {})[event.token_ids[0]] = Tried(event, kept)
        self._cut(event.position)
        self.rollbacks += 1
        self.undone += len(event.token_ids)
        self.history.appendleft(Undone(self.rollbacks, event, forbidden))
        self.last, self.struck, self.watch = event, event, None

    def _cut(self, position: int) -> None:
        """Take back the tokens from ``position`` on."""
        if position < len(self.tokens):
            self.released = min(self.released, self.tokens[position].offset)
            self.forced -= sum(token.forced for token in self.tokens[position:])
            del self.tokens[position:]
        for later in [place for place in self.tried if place > position]:
            del self.tried[later]
        self.closed = min(self.closed, position)
        self._states_beside_0 -= sum(state != "0" for state in self.states[position + 1 :])
        del self.states[position + 1 :]

    def _add_state(self, state: str) -> None:
        self.states.append(state)
        self._states_beside_0 += state != "0"


def is_step(event: Event) -> bool:
    """Return whether a step begins with an event.

    What is released or closed belongs to the step before.
    """
    return not isinstance(event, TextReleased | ThoughtReleased | BlockClosed)


def step_ends(events: Sequence[Event]) -> list[int]:
    """Count the events until the end of each step.

    What stands before the first belongs to it.

    >>> from sfgen.decoding import BlockMoved
    >>> step_ends([BlockMoved(3, 40), BlockClosed(3), TextReleased("a"), BlockMoved(4, 40)])
    [3, 4]
    """
    begins = [index for index, event in enumerate(events) if is_step(event)]
    return [*begins[1:], len(events)] if begins else []
