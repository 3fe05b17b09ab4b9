"""The base of guides: all methods of a guide, made from a few methods about positions.

A *position* is a value for the text so far: the state of an automaton, a stack, or the text itself. It never changes,
so a sequence is a list of positions: a step appends one, a rollback drops some from the end, a fork copies the list. A
guide defines how a position reads bytes and whether the text may end there. All else has a default here; some guides
override it to be faster.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Generic, Self, TypeVar

import numpy as np

from sfgen import arguments
from sfgen.errors import DeadEnd, GenerationError, LimitTooSmall, UsageError
from sfgen.index.distance import UNREACHABLE
from sfgen.index.mask_ids import packed
from sfgen.protocols import Int32, Mask, Tokens
from sfgen.vocabulary import Vocabulary


class Steps(ABC):
    """A mixin of guides: counts the tokens of a list that may follow.

    See ``sfgen.protocols.Guide``.
    """

    @abstractmethod
    def advance(self, token_id: int) -> None:
        """Read a token.

        Raises:
            UsageError: The token is not allowed here.
        """

    @abstractmethod
    def rollback(self, count: int) -> None:
        """Undo the last ``count`` steps.

        Raises:
            UsageError: Fewer steps than that were taken.
        """

    def validate(self, token_ids: Sequence[int]) -> int:
        """Return how many of these tokens, from the first on, may follow.

        The guide does not move.

        Raises:
            UsageError: They are not a list of token ids.
        """
        token_ids, count = arguments.token_ids("token_ids", token_ids), 0
        try:
            for token_id in token_ids:
                self.advance(token_id)
                count += 1
        except UsageError:
            pass
        finally:
            self.rollback(count)
        return count


BYTES = [bytes([byte]) for byte in range(256)]
"""All single bytes."""

Position = TypeVar("Position", bound=Hashable)

Reading = TypeVar("Reading")


class Teller(ABC, Generic[Reading]):
    """Reads the text of a guide, to describe more than the guide's position knows."""

    start: Reading
    """The reading of the empty text."""

    @abstractmethod
    def read(self, reading: Reading, data: bytes) -> Reading | None:
        """Read the bytes of one step of the guide; ``None``: no guide would read them."""

    @abstractmethod
    def describe(self, reading: Reading, position: Any) -> str | None:
        """Describe a position of the guide for views; ``None``: the guide's own description holds."""

    def temperature(self, reading: Reading) -> float | None:
        """Return the temperature of the next token; ``None``: that of the generation."""
        return None


class Beside(Generic[Reading]):
    """The readings of a teller beside a guide. It reads each piece once, when it is first asked."""

    def __init__(self, teller: Teller[Reading]) -> None:
        self.teller = teller
        self._pieces: list[bytes] = []  # what each step read
        self._readings: list[Reading] = [teller.start]  # before the first piece, after it, …, as far as somebody asked

    def append(self, piece: bytes) -> None:
        """Let one more step follow."""
        self._pieces.append(piece)

    def drop(self, count: int) -> None:
        """Forget the last steps, one or more."""
        del self._pieces[-count:], self._readings[len(self._pieces) + 1 :]

    def copy(self) -> Beside[Reading]:
        """Return an independent copy."""
        twin = Beside(self.teller)
        twin._pieces, twin._readings = self._pieces.copy(), self._readings.copy()
        return twin

    def _reading(self) -> Reading:
        """The reading of the text so far."""
        for piece in self._pieces[len(self._readings) - 1 :]:
            after = self.teller.read(self._readings[-1], piece)
            assert after is not None, "the guide has read it"
            self._readings.append(after)
        return self._readings[-1]

    def describe(self, position: Any) -> str | None:
        """Describe a position of the guide; see ``Teller``."""
        return self.teller.describe(self._reading(), position)

    def temperature(self) -> float | None:
        """Return the temperature of the next token; see ``Teller``."""
        return self.teller.temperature(self._reading())


NO_TOKENS: Int32 = np.empty(0, dtype=np.int32)


def tried_step(read: Callable[[Position, bytes], Position | None], position: Position) -> tuple[bytes, Position] | None:
    """Try all bytes; return the one that can follow, if there is one only, and the position after it."""
    steps = ((byte, after) for byte in BYTES if (after := read(position, byte)) is not None)
    step = next(steps, None)
    return None if next(steps, None) is not None else step


class BaseGuide(Steps, Generic[Position]):
    """The base of guides that know how positions read bytes.

    ``sfgen.protocols.Guide`` says what each method means.

    Args:
        vocabulary: The tokens.
        start: The position of the empty text.
        max_tokens: The most tokens of the text, without the end token; ``None``: any number.

    Raises:
        LimitTooSmall: No text can be written with ``max_tokens`` tokens.

    >>> class Pairs(BaseGuide[int]):  # "ab", any number of times; a position is the number of bytes modulo 2
    ...     def _read(self, position: int, data: bytes) -> int | None:
    ...         for byte in data:
    ...             if byte != b"ab"[position]:
    ...                 return None
    ...             position = 1 - position
    ...         return position
    ...     def _accepts(self, position: int) -> bool:
    ...         return position == 0
    >>> guide = Pairs(Vocabulary([b"a", b"b", b"ba", b"abab", None], end_token_ids=[4]), 0)
    >>> guide.allowed_tokens().tolist()
    [0, 3, 4]
    >>> guide.advance(0)
    >>> guide.allowed_tokens().tolist(), guide.forced_bytes(), guide.validate([2, 2, 0])
    ([1, 2], b'b', 2)
    """

    limit_hint = "Allow more tokens."
    """The hint of the error for a text that the limit has cut."""

    dead_end_hint = "Use a model whose tokenizer can write what must follow."
    """The hint of the error where no token can follow."""

    def __init__(self, vocabulary: Tokens, start: Position, max_tokens: int | None = None) -> None:
        self.vocabulary = arguments.instance("vocabulary", vocabulary, Vocabulary)
        if max_tokens is not None:
            max_tokens = arguments.whole_number("max_tokens", max_tokens, least=0)
        self.max_tokens = max_tokens
        self._positions: list[Position] = [start]
        self._between: list[int] = []  # the indexes in `_positions` of those that bytes led to, and not a token
        self._ended = False
        self._beside: Beside[Any] | None = None
        self._numbers: dict[Position, int] = {}
        self._readable: tuple[Position, Int32] | None = None  # the last position that was asked for its tokens
        self._check_limit(start)

    def _check_limit(self, start: Position) -> None:
        if self.max_tokens is not None and (least := self._tokens_left(start)) > self.max_tokens:
            raise LimitTooSmall(
                f"a limit of {self.max_tokens} tokens is too small: the shortest text takes {least}",
                hint=f"Allow at least {least} tokens." if least < UNREACHABLE else self.dead_end_hint,
            )

    def _told_by(self, teller: Teller[Any]) -> Self:
        """Let a teller read beside this guide, which is at its start."""
        self._beside = Beside(teller)
        return self

    # ---- what a guide knows about positions ------------------------------------------------------------------------

    @abstractmethod
    def _read(self, position: Position, data: bytes) -> Position | None:
        """Return the position after some bytes; ``None`` where no allowed text continues with them."""

    @abstractmethod
    def _accepts(self, position: Position) -> bool:
        """Whether the text may end at a position."""

    def _tokens_left(self, position: Position) -> int:
        """Return the fewest tokens from a position to an end, or an upper bound.

        A bound must fall by one with some token. A guide that does not look ahead returns 0 everywhere.
        """
        return 0

    def _fits(self, position: Position, room: int | None) -> bool:
        """Whether the text can be completed with ``room`` tokens; ``None``: any number."""
        return self._tokens_left(position) <= (int(UNREACHABLE) - 1 if room is None else room)

    def _is_final(self, position: Position) -> bool:
        """Whether the text must end at a position that accepts it."""
        return all(self._read(position, byte) is None for byte in BYTES)

    def _only_step(self, position: Position) -> tuple[bytes, Position] | None:
        """Return the only byte that can follow, and the position after it; ``None`` if there is not exactly one."""
        return tried_step(self._read, position)

    def _forced_run(self, position: Position, most: int | None) -> tuple[bytes, Position | None] | None:
        """Return bytes that must follow, at most N, and the position after them; ``None``: none is known.

        In place of the position, ``None``: nothing must follow after these bytes. See ``forced_bytes``.
        """
        return self._only_step(position)

    def _text_tokens(self, position: Position) -> Int32:
        """List the text tokens that can be read, ascending; the walk of the trie skips all below a refused byte."""
        trie, found, path = self.vocabulary.trie, list[int](), [position]
        node = 0
        while node < len(trie):
            depth = int(trie.depths[node])
            after = self._read(path[depth - 1], bytes([trie.bytes[node]]))
            if after is None:
                node = int(trie.subtree_ends[node])
                continue
            path[depth:] = [after]
            found += trie.token_ids[trie.token_starts[node] : trie.token_starts[node + 1]].tolist()
            node += 1
        return np.array(sorted(found), dtype=np.int32)

    def _number(self, position: Position) -> int:
        """Return a number for a position; positions are numbered as they first occur."""
        return self._numbers.setdefault(position, len(self._numbers))

    def _describe(self, position: Position) -> str:
        """Describe a position for views."""
        return str(self._number(position))

    def _at(self, position: Position, room: int | None = None) -> Self:
        """Return a guide at another position, without steps.

        Args:
            position: A position of a guide of the same source.
            room: The tokens that may still be read; ``None``: any number. Not checked.
        """
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin._positions, twin._between, twin._ended = [position], [], False
        twin._beside = None if self._beside is None else Beside(self._beside.teller)
        twin.max_tokens = room
        return twin

    def _mask_at(self, position: Position, room: int | None = None) -> Mask:
        """Return the token mask of another position; see ``_at``."""
        return self._at(position, room).mask()

    # ---- where the guide stands ------------------------------------------------------------------------------------

    @property
    def state(self) -> int:
        """A number that identifies the position."""
        return self._number(self._positions[-1])

    @property
    def position(self) -> Position:
        """The current position; it alone decides what may follow."""
        return self._positions[-1]

    @property
    def is_accepting(self) -> bool:
        """Whether the text so far is complete."""
        return self._accepts(self._positions[-1])

    @property
    def is_finished(self) -> bool:
        """Whether nothing can follow the text.

        It is so after an end token, and where the text is complete and cannot continue.
        """
        return self._ended or (self.is_accepting and self._is_final(self._positions[-1]))

    def describe(self) -> str:
        """Describe the position for views."""
        position = self._positions[-1]
        told = None if self._beside is None else self._beside.describe(position)
        return self._describe(position) if told is None else told

    @property
    def temperature(self) -> float | None:
        """The temperature of the next token; ``None``: that of the generation."""
        return None if self._beside is None else self._beside.temperature()

    def tokens_left(self) -> int:
        """Return the fewest tokens to an end, or an upper bound.

        A guide that does not look ahead returns 0.
        """
        return 0 if self._ended else self._tokens_left(self._positions[-1])

    @property
    def room(self) -> int | None:
        """The tokens that may still be read; ``None``: any number."""
        return None if self.max_tokens is None else self.max_tokens - self._taken

    @property
    def _taken(self) -> int:
        return len(self._positions) - 1 - len(self._between)

    # ---- what may follow -------------------------------------------------------------------------------------------

    def mask(self) -> Mask:
        """Return the token mask, uint32 ``[ceil(len(vocabulary) / 32)]``; read-only."""
        return packed(self.allowed_tokens(), len(self.vocabulary))

    def allowed_tokens(self) -> Int32:
        """Return the ids of the allowed tokens, ascending, int32.

        Raises:
            GenerationError: The limit is reached, and the text is not complete: the guide does not look ahead.
            DeadEnd: No token of the vocabulary can follow, and the text is not complete.
        """
        if self._ended:
            return NO_TOKENS
        tokens = self._tokens_within_limit()
        if self.is_accepting:
            return np.union1d(tokens, self.vocabulary.end_token_ids).astype(np.int32)
        if tokens.size:
            return tokens
        if self._is_cut():
            raise GenerationError(
                f"the limit of {self.max_tokens} tokens is reached, and the text is not a match yet",
                hint=self.limit_hint,
            )
        raise DeadEnd("no token of the vocabulary can follow, and the text is not a match yet", hint=self.dead_end_hint)

    def _is_cut(self) -> bool:
        """Whether no token may follow because of the limit."""
        return self.room == 0

    def _tokens_within_limit(self) -> Int32:
        """List the text tokens after which the text can still be completed, within the limit."""
        position = self._positions[-1]
        if self.room == 0:
            return NO_TOKENS
        if self._readable is None or self._readable[0] != position:
            self._readable = position, self._text_tokens(position)
            self._readable[1].setflags(write=False)  # it is handed out
        tokens = self._readable[1]
        looks_ahead = type(self)._tokens_left is not BaseGuide._tokens_left
        if not looks_ahead or (self.room is None and self.vocabulary.trie.single_bytes.all()):
            return tokens  # all of them fit
        fits = [self._after(token) is not None for token in tokens.tolist()]
        return tokens[np.array(fits, dtype=np.bool_)]

    def _after(self, token_id: int) -> Position | None:
        """The position after a text token; ``None`` where it is not allowed."""
        vocabulary, room = self.vocabulary, self.room
        data = vocabulary.tokens[token_id] if 0 <= token_id < len(vocabulary) else None
        if data is None or token_id in vocabulary.end_token_ids or room == 0:
            return None
        after = self._read(self._positions[-1], data)
        if after is None:
            return None
        return after if self._fits(after, None if room is None else room - 1) else None

    def forced_bytes(self, most: int | None = None) -> bytes:
        """Return the bytes that must follow, up to the next choice.

        They also stop at the first position where the text may end.

        Args:
            most: The most bytes to return; ``None``: any number.
        """
        forced, position = bytearray(), self._positions[-1]
        if most is not None:
            most = arguments.whole_number("most", most, least=0)
        while (most is None or len(forced) < most) and not self._accepts(position):
            run = self._forced_run(position, None if most is None else most - len(forced))
            if run is None:
                break
            forced += run[0]
            if run[1] is None:
                break
            position = run[1]
        return bytes(forced)

    def is_ready(self) -> bool:
        """Return whether the mask here is made.

        A guide that keeps no masks makes each mask when it is needed: it is always ready.
        """
        return True

    def allows_several(self) -> bool | None:
        """Return whether two tokens or more may follow.

        ``None``: only the mask can tell.
        """
        return None

    # ---- steps -----------------------------------------------------------------------------------------------------

    def advance(self, token_id: int) -> None:
        """Read a token.

        Raises:
            UsageError: The token is not allowed here.
        """
        if self._ended:
            self._check_open()
        if token_id.__class__ is not int:
            token_id = arguments.whole_number("token_id", token_id)
        if token_id in self.vocabulary.end_token_ids and self.is_accepting:
            self._ended = True
            return
        after = self._after(token_id)
        if after is None:
            raise UsageError(f"token {token_id} is not allowed here")
        self._positions.append(after)
        if self._beside is not None:
            self._beside.append(self._piece_of(token_id))

    def advance_bytes(self, data: bytes) -> None:
        """Read bytes that are not a whole token.

        The guide may then be inside a token.

        Raises:
            UsageError: No allowed text continues with these bytes.
        """
        self._check_open()
        after = self._read(self._positions[-1], arguments.data("data", data))
        if after is None:
            raise UsageError(f"the text cannot go on with {data!r:.60}")
        self._between.append(len(self._positions))
        self._positions.append(after)
        if self._beside is not None:
            self._beside.append(bytes(data))

    def _piece_of(self, token_id: int) -> bytes:
        """The bytes that a teller reads of a token."""
        return self.vocabulary.tokens[token_id] or b""

    def _check_open(self) -> None:
        if self._ended:
            raise UsageError("the sequence has ended; nothing can follow the end token")

    def rollback(self, count: int) -> None:
        """Undo the last ``count`` steps; an end token counts as one.

        Raises:
            UsageError: Fewer steps than that were taken.
        """
        count = count if count.__class__ is int else arguments.whole_number("count", count)
        taken = len(self._positions) - 1 + self._ended
        if not 0 <= count <= taken:
            raise UsageError(f"cannot take back {count} tokens: {taken} were taken")
        if count and self._ended:
            self._ended = False
            count -= 1
        if count:
            del self._positions[-count:]
            if self._beside is not None:
                self._beside.drop(count)
            while self._between and self._between[-1] >= len(self._positions):
                self._between.pop()

    def fork(self, *, limited: bool = True) -> Self:
        """Return an independent guide at the same position.

        Args:
            limited: Whether it keeps the token limit.
        """
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)  # as copy.copy, in a third of its time: beams fork at every step
        twin._positions, twin._between = self._positions.copy(), self._between.copy()
        if self._beside is not None:
            twin._beside = self._beside.copy()
        if not arguments.flag("limited", limited):
            twin.max_tokens = None
        return twin
