"""Readers of bytes from position to position, and the tokens that positions allow."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from sfgen.automata import Dfa
from sfgen.index.guide import BaseGuide
from sfgen.protocols import Int32, Mask
from sfgen.vocabulary import Vocabulary

Position = TypeVar("Position", bound=Hashable)


class PositionReader(Protocol[Position]):
    """Reads bytes from position to position."""

    @property
    def start(self) -> Position:
        """The position of the empty text."""

    def read(self, position: Position, data: bytes) -> Position | None:
        """Return the position after some bytes; ``None`` where they are refused."""

    def accepts(self, position: Position) -> bool:
        """Return whether the text may end at a position."""

    def is_final(self, position: Position) -> bool:
        """Return whether nothing can follow: the text must end."""

    def only_step(self, position: Position) -> tuple[bytes, Position] | None:
        """Return the only byte that can follow, and the position after it; ``None`` if several can, or none."""


class PositionMasks(Protocol[Position]):
    """Tells which tokens each position allows."""

    @property
    def vocabulary(self) -> Vocabulary:
        """The tokens."""

    @property
    def reader(self) -> PositionReader[Position]:
        """Reads bytes."""

    def mask(self, position: Position) -> Mask:
        """Return the token mask of a position without a limit, end tokens included; read-only."""

    def bounded_mask(self, position: Position, room: int) -> Mask:
        """Return the token mask of a position with ``room`` tokens left, end tokens not counted."""

    def allowed_tokens(self, mask: Mask) -> Int32:
        """Return the token ids of a mask, ascending; read-only."""

    def is_made(self, position: Position, room: int | None) -> bool:
        """Return whether the mask of a position is cached, with ``room`` tokens left; ``None``: any number."""

    def fits(self, position: Position, room: int | None) -> bool:
        """Return whether ``room`` tokens complete the text; ``None``: any number."""

    def tokens_left(self, position: Position) -> int:
        """Return the fewest tokens to an end, or an upper bound that falls by one with some token."""

    def shortest(self, position: Position) -> bytes:
        """Return the shortest text from a position to an end."""


class DfaReader:
    """Reads a text of an automaton: its positions are states."""

    start = 0

    def __init__(self, dfa: Dfa) -> None:
        self.dfa = dfa
        # Python reads single numbers from these faster than from arrays.
        self._target, self._classes = dfa.transitions.item, dfa.byte_classes.tobytes()
        self._accepting: list[bool] = dfa.accepting.tolist()
        self._final: list[bool] = ((dfa.transitions < 0).all(axis=1) & dfa.accepting).tolist()

    def read(self, position: int, data: bytes) -> int | None:
        """Return the state after some bytes; ``None`` where they are refused."""
        for byte in data:
            position = self._target(position, self._classes[byte])
            if position < 0:
                return None
        return position

    def accepts(self, position: int) -> bool:
        """Return whether the text may end in a state."""
        return self._accepting[position]

    def is_final(self, position: int) -> bool:
        """Return whether nothing can follow."""
        return self._final[position]

    def only_step(self, position: int) -> tuple[bytes, int] | None:
        """Return the only byte that can follow, and the state after it."""
        targets = self.dfa.transitions[position][self.dfa.byte_classes]
        bytes_ = np.flatnonzero(targets >= 0)
        return (bytes([bytes_[0]]), int(targets[bytes_[0]])) if bytes_.size == 1 else None


class GuideReader:
    """Reads as a guide does, at any of its positions."""

    def __init__(self, guide: BaseGuide[Any]) -> None:
        self.start = guide.position
        self.read, self.accepts = guide._read, guide._accepts
        self.is_final, self.only_step = guide._is_final, guide._only_step


class InText(NamedTuple):
    """A place in the longest text of a part, which two constraints read.

    Attributes:
        inside: The place in the constraint that decides what may be written.
        whole: The place in the constraint that decides where the text ends.
    """

    inside: Hashable
    whole: Hashable


class ReaderOfTwo:
    """Reads the texts of one reader, and follows them in a second one, which accepts more texts."""

    def __init__(self, inner: PositionReader[Any], whole: PositionReader[Any]) -> None:
        self._inner, self._whole = inner, whole
        self.start = InText(inner.start, whole.start)

    def read(self, position: InText, data: bytes) -> InText | None:
        """Return the position after some bytes that both read; ``None`` where one of them refuses them."""
        inside, whole = self._inner.read(position.inside, data), self._whole.read(position.whole, data)
        return None if inside is None or whole is None else InText(inside, whole)

    def accepts(self, position: InText) -> bool:
        """Return whether the text that may be written may end at a position."""
        return self._inner.accepts(position.inside)

    def is_final(self, position: InText) -> bool:
        """Return whether nothing can follow in the second reader."""
        return self._whole.accepts(position.whole) and self._whole.is_final(position.whole)

    def only_step(self, position: InText) -> tuple[bytes, InText] | None:
        """Return the only byte that can follow, and the position after it."""
        step = self._inner.only_step(position.inside)
        after = None if step is None else self.read(position, step[0])
        return None if step is None or after is None else (step[0], after)
