"""Calls inside free text: from each marker on a text of a constraint, and then free text again.

Every marker outside a call begins one. A call is the longest text of the constraint that stands there: it ends where
the constraint cannot read on, and a token that reads on in it belongs to it. No token holds the end of a call and text
behind it. Free text may end anywhere, a call where it is complete.

Where only some texts of the constraint may be written, all of them still say where a call ends: after one that may be
written nothing comes that would make a longer text of it, which may not.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from sfgen import arguments
from sfgen.errors import GenerationError, UsageError
from sfgen.index.distance import UNREACHABLE
from sfgen.index.guide import NO_TOKENS, Steps
from sfgen.index.mask_ids import packed
from sfgen.index.thought import Marker
from sfgen.protocols import Guide, GuideSource, Int32, Mask
from sfgen.vocabulary import Vocabulary


class Call:
    """The position in one call."""

    __slots__ = ("guide", "reader", "steps")

    def __init__(self, guide: Guide, reader: Guide | None = None) -> None:
        self.guide = guide
        self.reader = guide if reader is None else reader
        self.steps = 0

    @property
    def position(self) -> tuple[Hashable, ...]:
        """The present position; what may follow depends on it alone."""
        both = (self.guide,) if self.reader is self.guide else (self.guide, self.reader)
        return tuple(guide.position for guide in both)

    @property
    def is_over(self) -> bool:
        """Whether a reader finds that nothing can follow in the call."""
        return self.guide.is_accepting and self.reader.is_finished

    def goes_on(self, byte: bytes) -> bool:
        """Tell whether a reader takes a byte for a part of the call.

        It may be one that must not be written.
        """
        try:
            self.reader.advance_bytes(byte)
        except UsageError:
            return False
        self.reader.rollback(1)
        return True

    def advance(self, token_id: int, data: bytes) -> None:
        """Read a token."""
        self.guide.advance(token_id)
        self._keep_up(data)

    def advance_bytes(self, data: bytes) -> None:
        """Read bytes that are not a whole token."""
        self.guide.advance_bytes(data)
        self._keep_up(data)

    def _keep_up(self, data: bytes) -> None:
        if self.reader is not self.guide:
            self.reader.advance_bytes(data)
        self.steps += 1

    def rollback(self, count: int) -> None:
        """Undo the last ``count`` steps."""
        self.guide.rollback(count)
        if self.reader is not self.guide:
            self.reader.rollback(count)
        self.steps -= count

    def fork(self, *, limited: bool = True) -> Self:
        """Return an independent call at the same position."""
        guide = self.guide.fork(limited=limited)
        twin = type(self)(guide, None if self.reader is self.guide else self.reader.fork())
        twin.steps = self.steps
        return twin


class FreeTokens:
    """The tokens that may follow in each state of a marker."""

    def __init__(self, marker: Marker, begin: Guide, vocabulary: Vocabulary) -> None:
        self.marker, self.begin, self.vocabulary = marker, begin, vocabulary
        self._found: dict[int, tuple[Int32, dict[int, int]]] = {}

    def of(self, state: int) -> tuple[Int32, dict[int, int]]:
        """Return the tokens that may follow."""
        if state not in self._found:
            self._found[state] = self._find(state)
        return self._found[state]

    def within(self, state: int, room: int | None) -> Int32:
        """Return the tokens that may follow, behind which there is room for the call that they begin."""
        tokens, begins = self.of(state)
        if room is None:
            return tokens
        if room == 0:
            return np.array(sorted(self.vocabulary.end_token_ids), dtype=np.int32)
        late = [token for token, fewest in begins.items() if fewest > room - 1]
        return np.setdiff1d(tokens, late, assume_unique=True).astype(np.int32) if late else tokens

    @cached_property
    def first_bytes(self) -> NDArray[np.int16]:
        """The first byte of each token, int16 ``[vocabulary]``; -1: none."""
        texts = [
            self.marker.data if token == self.marker.token else data
            for token, data in enumerate(self.vocabulary.tokens)
        ]
        return np.array([text[0] if text else -1 for text in texts], dtype=np.int16)

    def _find(self, state: int) -> tuple[Int32, dict[int, int]]:
        vocabulary, marker = self.vocabulary, self.marker
        begins: dict[int, int] = {}
        for token in marker.completing(state, vocabulary.trie, vocabulary):
            after, used = marker.read(state, vocabulary.tokens[token] or b"")
            if after == len(marker.data):
                begins[token] = self._fewest((vocabulary.tokens[token] or b"")[used:])
        # A special token is no marker where one spelled out would end inside of what it stands for.
        if marker.token is not None and marker.read(state, marker.data)[1] == len(marker.data):
            begins[marker.token] = self._fewest(b"")
        refused = [token for token, fewest in begins.items() if fewest >= UNREACHABLE]
        every = np.concatenate([vocabulary.text_token_ids, vocabulary.end_token_ids, [*begins]]).astype(np.int32)
        tokens = np.setdiff1d(every, refused).astype(np.int32)
        tokens.setflags(write=False)
        return tokens, {token: fewest for token, fewest in begins.items() if fewest < UNREACHABLE}

    def _fewest(self, data: bytes) -> int:
        """The fewest tokens that must be left for a call which begins so; many if it cannot be completed.

        They are enough for a call from its start, too, where a token that begins it has some of it already.
        """
        guide = self.begin.fork()
        try:
            if data:
                guide.advance_bytes(data)
        except UsageError:
            return int(UNREACHABLE)
        return max(guide.tokens_left(), self.begin.tokens_left())


class Calls:
    """A source of guides through free text with calls.

    Args:
        marker: The text that begins each call.
        source: The constraint of a call, over the vocabulary.
        whole: The constraint whose longest text is a call, where ``source`` has only some texts of it; ``None``:
            ``source``.

    >>> from sfgen import Dfa, Index
    >>> vocabulary = Vocabulary([b"a", b"!", b"!1", b"1", b"2", None], end_token_ids=[5])
    >>> guide = Calls(Marker(b"!"), Index(Dfa.from_regex("1[12]"), vocabulary)).guide()
    >>> guide.allowed_tokens().tolist()
    [0, 1, 2, 3, 4, 5]
    >>> guide.advance(2)
    >>> guide.allowed_tokens().tolist(), guide.is_accepting
    ([3, 4], False)

    The second ``1`` would be of a call that must not be written:

    >>> calls = Calls(Marker(b"!"), Index(Dfa.from_regex("1"), vocabulary), Index(Dfa.from_regex("1?1"), vocabulary))
    >>> guide = calls.guide()
    >>> guide.advance(2)
    >>> guide.allowed_tokens().tolist()
    [0, 1, 2, 4, 5]
    """

    def __init__(self, marker: Marker, source: GuideSource, whole: GuideSource | None = None) -> None:
        self.marker = arguments.instance("marker", marker, Marker)
        arguments.given("source", source, "an index", "vocabulary", "guide", "refusal")
        self.source = source
        self.vocabulary: Vocabulary = arguments.instance("vocabulary", source.vocabulary, Vocabulary)
        if whole is not None:
            arguments.given("whole", whole, "an index", "vocabulary", "guide", "refusal")
        self._reader = None if whole is None or whole is source else whole.guide()
        self.free = FreeTokens(self.marker, source.guide(), self.vocabulary)

    def guide(self, max_tokens: int | None = None) -> CallsGuide:
        """Return a new guide at the start.

        Args:
            max_tokens: The most tokens of the text; a call is complete by then.

        Raises:
            UsageError: It is not a whole number of at least 0.
        """
        return CallsGuide(self, max_tokens)

    def call(self, max_tokens: int | None = None) -> Call:
        """Return a call at its start.

        Args:
            max_tokens: The most tokens of it; ``None``: any number.

        Raises:
            UsageError: It is not a whole number of at least 0.
            LimitTooSmall: No call can be written with ``max_tokens`` tokens.
        """
        return Call(self.source.guide(max_tokens), None if self._reader is None else self._reader.fork())

    def spans(self, data: bytes) -> list[tuple[int, int]]:
        """Return where the calls of a text begin and end, in bytes.

        Raises:
            UsageError: A call breaks its constraint, or is not complete.
        """
        guide = self.guide()
        guide.advance_bytes(arguments.data("data", data))
        if not guide.is_accepting:
            raise UsageError("the last call is not complete")
        return guide.spans

    def refusal(self, data: bytes) -> dict[str, str] | None:
        """Check the calls with the constraint's judges; return the first refusal."""
        data = arguments.data("data", data)
        try:
            spans = self.spans(data)
        except UsageError as error:
            return {"constraint": "calls", "refused by": error.message}
        refused = (self.source.refusal(data[start:end]) for start, end in spans)
        return next((refusal for refusal in refused if refusal is not None), None)


@dataclass(slots=True)
class _Part:
    """Free text, or a call.

    Attributes:
        start: Where it begins, in bytes.
        call: The call; ``None`` for free text.
        states: In free text the state of the marker at the start and after each step.
    """

    start: int
    call: Call | None = None
    states: list[int] = field(default_factory=lambda: [0])


class _Before(NamedTuple):
    """The state of a guide before a step."""

    parts: int
    steps: int
    length: int
    is_token: bool


class CallsGuide(Steps):
    """A guide of one sequence through free text with calls."""

    def __init__(self, calls: Calls, max_tokens: int | None = None) -> None:
        self.vocabulary = arguments.instance("calls", calls, Calls).vocabulary
        self.max_tokens = None if max_tokens is None else arguments.whole_number("max_tokens", max_tokens, least=0)
        self._calls = calls
        self._parts = [_Part(0)]
        self._before: list[_Before] = []  # each step
        self._length = 0
        self._taken = 0
        self._ended = False

    # ---- where the guide stands ------------------------------------------------------------------------------------

    @property
    def _call(self) -> Call | None:
        return self._parts[-1].call

    @property
    def spans(self) -> list[tuple[int, int]]:
        """Where the calls begin and end so far, in bytes."""
        ends = [*(part.start for part in self._parts[1:]), self._length]
        return [(part.start, end) for part, end in zip(self._parts, ends, strict=True) if part.call is not None]

    @property
    def state(self) -> int:
        """The state of the guide of a call; -1 in free text."""
        return -1 if self._call is None else self._call.guide.state

    @property
    def position(self) -> Hashable:
        """The present position; what may follow depends on it alone."""
        if self._call is not None:
            return "call", self._calls.marker, *self._call.position
        return "free", self._calls.marker, self._parts[-1].states[-1]

    @property
    def is_accepting(self) -> bool:
        """Whether the text may end here: not inside an incomplete call."""
        return self._call is None or self._call.guide.is_accepting

    @property
    def is_finished(self) -> bool:
        """Whether an end token was read."""
        return self._ended

    def describe(self) -> str:
        """Describe the position in a call; else return ``"free text"``."""
        return "free text" if self._call is None else self._call.guide.describe()

    @property
    def temperature(self) -> float | None:
        """The temperature of a call's guide; ``None``: the generation's."""
        return None if self._call is None else getattr(self._call.guide, "temperature", None)

    def tokens_left(self) -> int:
        """Return the fewest tokens to an end, or an upper bound."""
        return 0 if self._call is None or self._ended else self._call.guide.tokens_left()

    @property
    def _room(self) -> int | None:
        return None if self.max_tokens is None else self.max_tokens - self._taken

    # ---- what may follow -------------------------------------------------------------------------------------------

    def mask(self) -> Mask:
        """Return the token mask, uint32 ``[ceil(len(vocabulary) / 32)]``; read-only."""
        return packed(self.allowed_tokens(), len(self.vocabulary))

    def allowed_tokens(self) -> Int32:
        """Return the ids of the allowed tokens, ascending, int32; read-only."""
        if self._ended:
            return NO_TOKENS
        if self._call is None:
            return self._free_tokens(self._parts[-1].states[-1])
        if not self._call.guide.is_accepting:
            return self._call.guide.allowed_tokens()
        return np.union1d(self._call.guide.allowed_tokens(), self._leaving(self._call)).astype(np.int32)

    def _free_tokens(self, state: int) -> Int32:
        return self._calls.free.within(state, self._room)

    def _leaving(self, call: Call) -> Int32:
        """The tokens of free text that cannot go on with a call, which is complete: by what a reader sees of them."""
        tokens = self._free_tokens(0)
        goes_on = np.array([call.goes_on(bytes([byte])) for byte in range(256)] + [False])
        leaving: Int32 = tokens[~goes_on[self._calls.free.first_bytes[tokens]]]
        return leaving

    def forced_bytes(self, most: int | None = None) -> bytes:
        """Return the bytes that must follow in an incomplete call."""
        if most is not None:
            arguments.whole_number("most", most, least=0)
        return b"" if self._call is None else self._call.guide.forced_bytes(most)

    def is_ready(self) -> bool:
        """Tell whether the mask here is made."""
        return self._call is None or self._call.guide.is_ready()

    def allows_several(self) -> bool | None:
        """Tell whether two tokens or more may follow.

        ``None``: only the mask can tell.
        """
        return None if self._call is None or self._call.guide.is_accepting else self._call.guide.allows_several()

    # ---- steps -----------------------------------------------------------------------------------------------------

    def advance(self, token_id: int) -> None:
        """Read a token."""
        token_id = arguments.whole_number("token_id", token_id)
        if self._ended:
            raise UsageError("the sequence has ended; nothing can follow the end token")
        try:
            tokens = self.allowed_tokens()
        except GenerationError:
            tokens = NO_TOKENS
        at = int(np.searchsorted(tokens, token_id))
        if at == tokens.size or tokens[at] != token_id:
            raise UsageError(f"token {token_id} is not allowed here")
        if token_id in self.vocabulary.end_token_ids:
            self._ended = True
            return
        self._begin_step(is_token=True)
        marker, data = self._calls.marker, self.vocabulary.tokens[token_id] or b""
        if token_id == marker.token:
            self._read_free(marker.data, is_marker=True)
        elif self._call is not None and self._call.goes_on(data[:1]):
            self._take_in_call(self._call, lambda call: call.advance(token_id, data), len(data))
        else:
            self._read_free(data)

    def advance_bytes(self, data: bytes) -> None:
        """Read bytes that are not a whole token."""
        data = arguments.data("data", data)
        if self._ended:
            raise UsageError("the sequence has ended; nothing can follow the end token")
        self._begin_step(is_token=False)
        for offset in range(len(data)):
            if not self._read_byte(data[offset : offset + 1]):
                self.rollback(1)
                raise UsageError(f"the text cannot go on with {data!r:.60}")

    def _read_byte(self, byte: bytes) -> bool:
        """Read a byte; tell whether it may stand here."""
        call = self._call
        if call is not None and call.goes_on(byte):
            try:
                self._take_in_call(call, lambda call: call.advance_bytes(byte), 1)
            except UsageError:
                return False
        elif call is None or call.guide.is_accepting:
            self._read_free(byte)
        else:
            return False
        return True

    def _begin_step(self, *, is_token: bool) -> None:
        part = self._parts[-1]
        steps = part.call.steps if part.call is not None else len(part.states)
        self._before.append(_Before(len(self._parts), steps, self._length, is_token))
        self._taken += is_token

    def _take_in_call(self, call: Call, take: Callable[[Call], None], size: int) -> None:
        take(call)
        self._length += size
        if call.is_over:
            self._parts.append(_Part(self._length))

    def _read_free(self, data: bytes, *, is_marker: bool = False) -> None:
        """Read free text, which may complete a marker."""
        if self._call is not None:
            self._parts.append(_Part(self._length))
        part, marker = self._parts[-1], self._calls.marker
        state, used = (len(marker.data), len(data)) if is_marker else marker.read(part.states[-1], data)
        self._length += used
        part.states.append(state)
        if state < len(marker.data):
            return
        call = self._calls.call(self._room)
        self._parts.append(_Part(self._length, call))
        if used < len(data):
            self._take_in_call(call, lambda call: call.advance_bytes(data[used:]), len(data) - used)
        elif call.is_over:
            self._parts.append(_Part(self._length))

    def rollback(self, count: int) -> None:
        """Undo the last ``count`` steps; an end token counts as one."""
        count = arguments.whole_number("count", count)
        taken = len(self._before) + self._ended
        if not 0 <= count <= taken:
            raise UsageError(f"cannot take back {count} tokens: {taken} were taken")
        if count and self._ended:
            self._ended = False
            count -= 1
        if not count:
            return
        before = self._before[-count]
        self._taken -= sum(step.is_token for step in self._before[-count:])
        del self._before[-count:], self._parts[before.parts :]
        part, self._length = self._parts[-1], before.length
        if part.call is None:
            del part.states[before.steps :]
        else:
            part.call.rollback(part.call.steps - before.steps)

    def fork(self, *, limited: bool = True) -> Self:
        """Return an independent guide at the same position."""
        arguments.flag("limited", limited)
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin._before = self._before.copy()
        twin._parts = [
            replace(
                part,
                states=part.states.copy(),
                call=None if part.call is None else part.call.fork(limited=limited),
            )
            for part in self._parts
        ]
        if not limited:
            twin.max_tokens = None
        return twin
