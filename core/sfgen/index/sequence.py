"""A source of guides through parts one after the other."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, Self

from sfgen import arguments
from sfgen.errors import UsageError
from sfgen.index.guide import NO_TOKENS, BaseGuide, Teller
from sfgen.index.marker import Marker
from sfgen.index.mask_ids import TOKEN_IDS, packed
from sfgen.index.sequence_parts import Constrained, Fixed, Free, TokenPart
from sfgen.index.thread_tokens import ThreadTokens
from sfgen.index.threads import Position, Span, Thread, Threads
from sfgen.protocols import GuideSource, Int32, Mask
from sfgen.vocabulary import Vocabulary


class Chain:
    """A source of guides through parts one after the other.

    Args:
        parts: The parts: ``Fixed``, ``Free`` and ``Constrained``, and sources of guides, whose texts end anywhere; over
            one vocabulary. The last is a source, or ``Constrained``. A sequence among the parts is replaced by its own
            parts.
        back: The number of the part that follows the last one; ``None``: none.

    Attributes:
        vocabulary: The tokens.

    Raises:
        UsageError: There is no part, the vocabularies of the parts differ, or an argument has another type.

    >>> from sfgen import Dfa, Index, Vocabulary
    >>> vocabulary = Vocabulary([b"1", b"2", b" ", b"is ", b"s 1", b"i", b"s", None], end_token_ids=[7])
    >>> guide = Chain([Fixed(b"is "), Index(Dfa.from_regex("[12]+"), vocabulary)]).guide()
    >>> guide.allowed_tokens().tolist(), guide.forced_bytes()
    ([3, 5], b'is ')
    >>> guide.advance(5)
    >>> guide.allowed_tokens().tolist(), guide.tokens_left()
    ([4, 6], 3)
    """

    def __init__(self, parts: Iterable[TokenPart | GuideSource], back: int | None = None) -> None:
        flat = list[TokenPart]()
        for part in arguments.items("parts", parts, "a list of parts"):
            if isinstance(part, Chain):
                back = back if part.threads.back is None else len(flat) + part.threads.back
                flat += part.tokens.parts
            else:
                flat.append(part if isinstance(part, Fixed | Free | Constrained) else Constrained(part))
        self.threads: Threads = Threads(flat, back)
        self.tokens: ThreadTokens = ThreadTokens(self.threads)
        self.vocabulary: Vocabulary = self.tokens.vocabulary

    def guide(self, max_tokens: int | None = None) -> SequenceGuide:
        """Return a new guide at the start, for one sequence.

        Args:
            max_tokens: The most tokens that write something in a part that counts; ``None``: any number.

        Raises:
            LimitTooSmall: The parts, each written separately, take more than ``max_tokens`` tokens.
            DeadEnd: The vocabulary cannot write a marker that must be written.
        """
        return SequenceGuide(self.tokens, max_tokens)

    def divided(self, data: bytes) -> list[Span] | None:
        """Divide a finished text into its parts.

        The first is as long as it can be, then the second, and so on.

        Args:
            data: The text.

        Returns:
            The spans of the parts, in order; ``None`` if it is not a text of the sequence.
        """
        return self.threads.divided(arguments.data("data", data))

    def refusal(self, data: bytes) -> dict[str, str] | None:
        """Check whether a text divides into parts that no judge refuses.

        Args:
            data: The text.

        Returns:
            ``None`` if it does; else who refuses, for a report.
        """
        data, last = arguments.data("data", data), self.threads.last
        spans = self.threads.divided(data)
        if spans is None:  # the judges of the last part say more, if only that is wrong
            spans = self.threads.divided(data, last) if self.threads.is_definite and self.threads.back is None else None
        if spans is None:
            return {"constraint": "a sequence of parts", "refused by": "its parts"}
        texts = ((part.source, data[start:end]) for part, start, end in spans if isinstance(part, Constrained))
        refused = (source.refusal(text) for source, text in texts)
        return next((refusal for refusal in refused if refusal is not None), None)


class SequenceGuide(BaseGuide[Position]):
    """A guide of one sequence through parts one after the other.

    Once the last part alone is open, its own guide takes over, with its masks and caches.
    """

    def __init__(self, tokens: ThreadTokens, max_tokens: int | None = None) -> None:
        self.tokens = arguments.instance("tokens", tokens, ThreadTokens)
        self.threads = tokens.threads
        super().__init__(tokens.vocabulary, self.threads.start, max_tokens)
        machine = tokens.last.machine
        self.limit_hint, self.dead_end_hint = machine.limit_hint, machine.dead_end_hint
        self._last: BaseGuide[Any] | None = None  # the guide of the last part, once that alone is open
        self._steps_in_last = 0
        self._tells_of_all = False  # else the guide of the last part describes it
        super()._told_by(OpenPartTeller(tokens))
        self._enter_last(b"")

    def _told_by(self, teller: Teller[Any]) -> Self:
        """Let a teller read beside a guide at its start, in the last part, too."""
        self._tells_of_all = True
        if self._last is not None:
            self._last._told_by(teller)
        return super()._told_by(teller)

    def _check_limit(self, start: Position) -> None:
        if self.max_tokens is not None and self.tokens.counts_last_alone:
            self.tokens.last.source.guide(self.max_tokens)  # it raises the right error
        else:
            super()._check_limit(start)
        self.tokens.check_markers(self.max_tokens)

    def _enter_last(self, data: bytes) -> None:
        """Let the guide of the last part go on if it alone is open; ``data`` was read before."""
        position = self._positions[-1]
        if not self.threads.is_in_last(position):
            return
        machine, room, rest = self.tokens.last.machine, self.room, data
        if self._tells_of_all or machine._beside is None or len(self._positions) == 1 or not self.threads.is_definite:
            self._last = machine._at(position[0].inside, room)
            if self._tells_of_all and self._beside is not None:
                self._last._beside = self._beside.copy()
            return
        before = self._positions[-2]
        while rest and not self.threads.is_in_last(before := self.threads.let_go(before, rest[:1])):
            after = self.threads.read(before, rest[:1])
            assert after is not None, "the guide has read it"
            before, rest = after, rest[1:]
        self._last = machine._at(machine._positions[-1], room)
        if rest:
            self._last.advance_bytes(rest)

    # ---- what positions say ----------------------------------------------------------------------------------------

    def _read(self, position: Position, data: bytes) -> Position | None:
        return self.threads.read(position, data)

    def _accepts(self, position: Position) -> bool:
        return self.threads.accepts(position)

    def _tokens_left(self, position: Position) -> int:
        return self.tokens.needs(position)

    def _fits(self, position: Position, room: int | None) -> bool:
        return self.tokens.fits(position, room)

    def _is_final(self, position: Position) -> bool:
        return self.threads.is_final(position)

    def _only_step(self, position: Position) -> tuple[bytes, Position] | None:
        return self.threads.only_step(position)

    def _forced_run(self, position: Position, most: int | None) -> tuple[bytes, Position | None] | None:
        return self.threads.forced(position, most)

    def _text_tokens(self, position: Position) -> Int32:
        return self.tokens.tokens(position, None)

    def _at(self, position: Position, room: int | None = None) -> Self:
        """Return a guide at another position, without steps; see ``BaseGuide._at``."""
        twin = super()._at(position, room)
        twin._last, twin._steps_in_last = None, 0
        twin._enter_last(b"")
        return twin

    # ---- where the guide stands ------------------------------------------------------------------------------------

    @property
    def position(self) -> Any:
        """The current position; in the last part alone it is that of the constraint's own guide."""
        return self.threads.canonical(self._positions[-1]) if self._last is None else self._last.position

    @property
    def state(self) -> int:
        """The state of the last part's guide; a negative number in another part that counts.

        In parts that do not count, it is the start state of that guide.
        """
        if self._last is not None:
            return self._last.state
        position, last = self._positions[-1], self.tokens.last
        if len(position) > 1 or self.threads.parts[position[0].part].counts:
            return -1 - self._number(position)
        place = last.place(last.start)
        return place if isinstance(place, int) else self._number(place)

    @property
    def is_accepting(self) -> bool:
        """Whether the text so far is complete."""
        return super().is_accepting if self._last is None else self._last.is_accepting

    @property
    def is_finished(self) -> bool:
        """Whether nothing can follow the text."""
        return super().is_finished if self._last is None else self._last.is_finished

    def tokens_left(self) -> int:
        """Return the fewest tokens to an end, or an upper bound."""
        return super().tokens_left() if self._last is None else self._last.tokens_left()

    @property
    def room(self) -> int | None:
        """The tokens that may still be read; ``None``: any number."""
        return super().room if self._last is None else self._last.room

    @property
    def crosses(self) -> bool:
        """Whether some token has the whole literal at the start, and more."""
        return self.tokens.crosses(self.max_tokens)

    def describe(self) -> str:
        """Describe the position for views."""
        return super().describe() if self._last is None else self._last.describe()

    @property
    def temperature(self) -> float | None:
        """The temperature of the next token; ``None``: the generation's."""
        return super().temperature if self._last is None else self._last.temperature

    def _describe(self, position: Position) -> str:
        return " | ".join(self._named(thread) for thread in position)

    def _named(self, thread: Thread) -> str:
        part = self.threads.parts[thread.part]
        place = part.guide(thread.inside, None).describe() if isinstance(part, Constrained) else "text"
        return f"{len(self.threads.parts) + thread.part + 1}: {place}"

    # ---- what may follow -------------------------------------------------------------------------------------------

    def _guide_alone(self) -> BaseGuide[Any] | None:
        """Return a guide of the part that alone decides what may follow here; ``None``: there is none."""
        if self._last is not None or self._ended:
            return self._last
        position, room = self._positions[-1], self.room
        number, inside = position[0].part, position[0].inside
        part = self.threads.parts[number]
        if room == 0 or len(position) > 1 or not isinstance(part, Constrained) or part.ending != "longest":
            return None
        return None if part.ends(inside) or self.tokens.behind(number) else part.guide(inside, room)

    def mask(self) -> Mask:
        """Return the token mask, uint32 ``[ceil(len(vocabulary) / 32)]``; read-only."""
        alone = self._guide_alone()
        if alone is not None:
            return alone.mask()
        if self._ended:
            return packed(NO_TOKENS, len(self.vocabulary))
        tokens, may_end = self._tokens_within_limit(), self.is_accepting
        return self.tokens.mask(tokens if tokens.size or may_end else super().allowed_tokens(), may_end=may_end)

    def allowed_tokens(self) -> Int32:
        """Return the ids of the allowed tokens, ascending, int32; read-only."""
        return TOKEN_IDS.of(self.mask()) if self._last is None else self._last.allowed_tokens()

    def _is_cut(self) -> bool:
        parts = (self.threads.parts[thread.part] for thread in self._positions[-1])
        return self.room == 0 and all(part.counts for part in parts)

    def _tokens_within_limit(self) -> Int32:
        tokens = self.tokens.tokens(self._positions[-1], self.room)
        tokens.setflags(write=False)  # it is handed out
        return tokens

    def forced_bytes(self, most: int | None = None) -> bytes:
        """Return the bytes that must follow, up to the next choice.

        They also stop at the first position where the text may end.

        Args:
            most: The most bytes to return; ``None``: any number.
        """
        return super().forced_bytes(most) if self._last is None else self._last.forced_bytes(most)

    def is_ready(self) -> bool:
        """Return whether the mask here is made; one of several parts is made when it is needed."""
        alone = self._guide_alone()
        return True if alone is None else alone.is_ready()

    def allows_several(self) -> bool | None:
        """Return whether two tokens or more may follow.

        ``None``: only the mask can tell.
        """
        alone = self._guide_alone()
        return None if alone is None else alone.allows_several()

    # ---- steps -----------------------------------------------------------------------------------------------------

    def advance(self, token_id: int) -> None:
        """Read a token.

        Raises:
            UsageError: The token is not allowed here.
        """
        if self._last is not None:
            self._last.advance(token_id)
            self._steps_in_last += 1
            self._ended = self._last._ended
            return
        self._check_open()
        token_id = arguments.whole_number("token_id", token_id)
        if token_id in self.vocabulary.end_token_ids and self.is_accepting:
            self._ended = True
            return
        position, room = self._positions[-1], self.room
        found = self.tokens.after_token(position, token_id)
        if found is None or not self._leaves_room(*found, room):
            raise UsageError(f"token {token_id} is not allowed here")
        if not found[1]:
            self._between.append(len(self._positions))
        self._positions.append(found[0])
        piece = self._piece_of(token_id)
        if self._beside is not None:
            self._beside.append(piece)
        self._enter_last(piece)

    def _piece_of(self, token_id: int) -> bytes:
        return self.tokens.bytes_of(token_id)

    def _leaves_room(self, after: Position, counts: bool, room: int | None) -> bool:
        """Whether a token leaves room for the rest."""
        if counts and room == 0:
            return False
        return self.tokens.fits(after, None if room is None else room - counts)

    def advance_bytes(self, data: bytes) -> None:
        """Read bytes that are not a whole token."""
        if self._last is not None:
            self._last.advance_bytes(data)
            self._steps_in_last += 1
            return
        super().advance_bytes(data)
        self._enter_last(data)

    def rollback(self, count: int) -> None:
        """Undo the last ``count`` steps; an end token counts as one."""
        count = arguments.whole_number("count", count)
        if self._last is None:
            super().rollback(count)
            return
        taken = len(self._positions) - 1 + self._steps_in_last
        if not 0 <= count <= taken:
            raise UsageError(f"cannot take back {count} tokens: {taken} were taken")
        if count <= self._steps_in_last:
            self._last.rollback(count)
            self._steps_in_last -= count
            self._ended = self._last._ended
            return
        count, self._last, self._steps_in_last, self._ended = count - self._steps_in_last, None, 0, False
        super().rollback(count)

    def fork(self, *, limited: bool = True) -> Self:
        """Return an independent guide at the same position."""
        twin = super().fork(limited=limited)
        twin._last = None if self._last is None else self._last.fork(limited=limited)
        return twin


class PositionWithGuide(NamedTuple):
    """A place in a text, with the guide of the open constraint beside its position.

    Attributes:
        position: The position.
        guide: The guide of the constraint whose text is open, or follows the open literal; ``None``: there is none.
    """

    position: Position
    guide: BaseGuide[Any] | None


class OpenPartTeller(Teller[PositionWithGuide]):
    """A teller: describes as the guide of the open part does, where each part ends in one way."""

    def __init__(self, tokens: ThreadTokens) -> None:
        self._threads, self._parts = tokens.threads, tokens.parts
        self.start = PositionWithGuide(self._threads.start, self._guide_at(self._threads.start))

    def read(self, reading: PositionWithGuide, data: bytes) -> PositionWithGuide:
        """Return where a text is after some bytes."""
        position, guide = reading
        is_own = False  # whether the guide may be moved
        for byte in (data[offset : offset + 1] for offset in range(len(data))):
            begun = self._threads.let_go(position, byte)
            if begun is not position:
                position, guide, is_own = begun, self._guide_at(begun), False
            after = self._threads.read(position, byte)
            assert after is not None, "the guide has read it"
            if after[0].part != position[0].part:
                guide, is_own = self._guide_at(after), False
            elif guide is not None and isinstance(self._parts[position[0].part], Constrained):
                guide, is_own = (guide if is_own else guide.fork()), True
                guide.advance_bytes(byte)
            position = after
        return PositionWithGuide(position, guide)

    def describe(self, reading: PositionWithGuide, position: Position) -> str | None:
        """Describe the place in the open part."""
        part = self._open_part(position)
        if isinstance(part, Free):
            return part.title
        return None if reading.guide is None else reading.guide.describe()

    def temperature(self, reading: PositionWithGuide) -> float | None:
        """Return the temperature of the constraint's guide."""
        return None if reading.guide is None else reading.guide.temperature

    def _open_part(self, position: Position) -> TokenPart | None:
        """Return the open part, or the one after an open literal, if only one is open and each ends in one way."""
        if len(position) > 1 or not self._threads.is_definite:
            return None
        number = position[0].part
        while isinstance(self._parts[number], Fixed):  # the last one is none
            number += 1
        return self._parts[number]

    def _guide_at(self, position: Position) -> BaseGuide[Any] | None:
        """Return a guide, not to be moved, at the start of the constraint in which a position is."""
        part = self._open_part(position)
        return part.machine if isinstance(part, Constrained) else None


class Thought(Chain):
    """A source of guides through free text, a marker, and a constraint.

    Args:
        marker: The text that ends the free text.
        source: The constraint.
        max_thought: The most tokens of the free text; tokens after them that only write the marker are not counted.
            ``None``: any number.
        counts: Whether the limit of a guide counts the free text and the marker, too.

    Attributes:
        marker: The text that ends the free text.
        source: The constraint.

    >>> from sfgen import Dfa, Index, Vocabulary
    >>> vocabulary = Vocabulary([b"a", b".", b".1", b"1", b"2", None], end_token_ids=[5])
    >>> guide = Thought(Marker(b"."), Index(Dfa.from_regex("1"), vocabulary), 2).guide()
    >>> guide.allowed_tokens().tolist()
    [0, 1, 2, 3, 4]
    >>> guide.advance(0)
    >>> guide.advance(0)
    >>> guide.allowed_tokens().tolist(), guide.forced_bytes()
    ([1, 2], b'.1')
    """

    def __init__(self, marker: Marker, source: GuideSource, max_thought: int | None, *, counts: bool = False) -> None:
        arguments.given("source", source, "an index", "vocabulary", "guide", "refusal")
        if max_thought is not None:
            max_thought = arguments.whole_number("max_thought", max_thought, least=0)
        arguments.instance("marker", marker, Marker)
        (data, token), *rest = marker.pieces or ((marker.data, marker.token),)
        literals = [Fixed(data, counts=counts, token=token) for data, token in rest]
        super().__init__([Free(Marker(data, token), max_thought, counts=counts, title="thought"), *literals, source])
        self.marker, self.source = marker, source


class Calls(Chain):
    """A source of guides through free text with calls.

    Each marker begins a text of a constraint, and then the text is free again. A call is the longest text of the
    constraint at that place. Free text may end anywhere, a call where it is complete.

    Args:
        marker: The text that begins each call.
        source: The constraint of a call, over the vocabulary.
        whole: The constraint whose longest text is a call, if ``source`` has only some of its texts; ``None``:
            ``source``. After a call, no text may follow that would extend it to a longer call that ``source`` does not
            allow.

    Attributes:
        marker: The text that begins each call.
        source: The constraint of a call.

    >>> from sfgen import Dfa, Index, Vocabulary
    >>> vocabulary = Vocabulary([b"a", b"!", b"!1", b"1", b"2", None], end_token_ids=[5])
    >>> guide = Calls(Marker(b"!"), Index(Dfa.from_regex("1[12]"), vocabulary)).guide()
    >>> guide.allowed_tokens().tolist()
    [0, 1, 2, 3, 4, 5]
    >>> guide.advance(2)
    >>> guide.allowed_tokens().tolist(), guide.is_accepting
    ([3, 4], False)

    The second ``1`` would extend the call to one that must not be written:

    >>> calls = Calls(Marker(b"!"), Index(Dfa.from_regex("1"), vocabulary), Index(Dfa.from_regex("1?1"), vocabulary))
    >>> guide = calls.guide()
    >>> guide.advance(2)
    >>> guide.allowed_tokens().tolist()
    [0, 1, 2, 4, 5]
    """

    def __init__(self, marker: Marker, source: GuideSource, whole: GuideSource | None = None) -> None:
        arguments.given("source", source, "an index", "vocabulary", "guide", "refusal")
        super().__init__([Free(marker, stops=True), Constrained(source, "longest", whole=whole)], back=0)
        self.marker, self.source = marker, source

    def spans(self, data: bytes) -> list[tuple[int, int]]:
        """Return where the calls of a text begin and end, in bytes.

        Args:
            data: The text.

        Raises:
            UsageError: A call breaks its constraint, or is not complete.
        """
        spans = self.divided(data)
        if spans is None:
            raise UsageError("a call breaks its constraint, or the last one is not complete")
        return [(start, end) for part, start, end in spans if isinstance(part, Constrained)]
