"""Readers of bytes, from position to position: everything except the step, which an engine implements."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

import numpy as np

from sfgen import arguments
from sfgen.protocols import Int32

REFUSED = -1
"""In place of the number of a position: the bytes are refused."""

_KEPT = 1 << 16
"""The most cached steps of one byte."""

_UNKNOWN: Any = object()
"""In place of the result of a step that is not cached."""

Position = TypeVar("Position", bound=Hashable)


class ByteReader(ABC, Generic[Position]):
    """Reads bytes; see ``PositionReader``. Safe to share between threads.

    Attributes:
        start: The position of the empty text.
    """

    start: Position
    _classes: bytes
    """The class of each byte: from each position, all bytes of a class lead to the same position."""

    @abstractmethod
    def read(self, position: Position, data: bytes) -> Position | None:
        """Return the position after some bytes; ``None`` where they are refused."""

    @abstractmethod
    def accepts(self, position: Position) -> bool:
        """Return whether the text may end at a position."""

    @abstractmethod
    def united(self, positions: Sequence[Position]) -> Position:
        """Make one position of several, at least one."""

    @abstractmethod
    def _possible(self, position: Position) -> Iterable[int]:
        """Return a superset of the byte classes that can be read at a position."""

    def reads(self, text: str | bytes) -> bool:
        """Return whether a whole text can be read.

        Bytes are its UTF-8; a string with a lone surrogate is not text.
        """
        data = arguments.utf8("text", text)
        position = None if data is None else self.read(self.start, data)
        return position is not None and self.accepts(position)

    def _alive(self, position: Position) -> Iterator[tuple[int, Position]]:
        """Yield one byte of each class that can be read, and the position after it; lazily, as callers need few."""
        for byte_class in sorted(self._possible(position)):
            byte = self._classes.find(byte_class)
            after = self.read(position, bytes([byte]))
            if after is not None:
                yield byte, after

    def is_final(self, position: Position) -> bool:
        """Return whether nothing can follow: the text must end."""
        return next(self._alive(position), None) is None

    def only_step(self, position: Position) -> tuple[bytes, Position] | None:
        """Return the only byte that can follow, and the position after it; ``None`` if several can, or none."""
        steps = self._alive(position)
        step = next(steps, None)
        if step is None or self._classes.rfind(self._classes[step[0]]) != step[0] or next(steps, None) is not None:
            return None
        return bytes([step[0]]), step[1]


class StepReader(ByteReader[Position]):
    """Reads byte by byte, and caches the position after each byte."""

    def __init__(self, kinds: bytes) -> None:
        self._kinds = kinds
        """The kind of each byte; ``_read`` treats all bytes of one kind alike."""
        self._steps: dict[tuple[Position, int], Position | None] = {}

    @abstractmethod
    def _read(self, position: Position, kind: int) -> Position | None:
        """Return the position after a byte of a kind; ``None`` where it is refused."""

    def read(self, position: Position, data: bytes) -> Position | None:
        """Return the position after some bytes; ``None`` where they are refused."""
        after: Position | None = position
        for byte in data:
            key = position, self._kinds[byte]
            known = self._steps.get(key, _UNKNOWN)  # one look-up, since another thread may clear them
            if known is _UNKNOWN:
                if len(self._steps) > _KEPT:
                    self._steps.clear()
                known = self._steps[key] = self._read(*key)
            after = known
            if after is None:
                return None
            position = after
        return after


class ReadByBytes(Generic[Position]):
    """Reads many texts from one position; each byte is read once at each position.

    Tokens share prefixes, and most bytes lead to known positions: tens of thousands of tokens pass few positions.

    Attributes:
        positions: The positions by number; number 0 is the start.
    """

    def __init__(self, reader: ByteReader[Position], position: Position) -> None:
        self._reader = reader
        self.positions = [position]
        self._numbers = {position: 0}
        self._steps: list[dict[int, int]] = [{}]

    def after(self, data: bytes) -> int:
        """Return the number of the position after some bytes, or ``REFUSED``."""
        number = 0
        for byte in data:
            steps = self._steps[number]
            number = steps[byte] if byte in steps else self._step(number, byte)
            if number == REFUSED:
                break
        return number

    def fitting(self, tokens: Int32, texts: Sequence[bytes | None], fits: Callable[[Position], bool]) -> Int32:
        """Return those of some tokens that lead to a position that fits; ``fits`` is called once per position."""
        known, fitting = {REFUSED: False}, []
        for token in tokens.tolist():
            number = self.after(texts[token] or b"")
            if number not in known:
                known[number] = fits(self.positions[number])
            if known[number]:
                fitting.append(token)
        return np.array(fitting, dtype=np.int32)

    def _step(self, number: int, byte: int) -> int:
        """Read a byte at a position for the first time."""
        position = self._reader.read(self.positions[number], bytes([byte]))
        after = REFUSED if position is None else self._numbers.setdefault(position, len(self.positions))
        if position is not None and after == len(self.positions):
            self.positions.append(position)
            self._steps.append({})
        self._steps[number][byte] = after
        return after
