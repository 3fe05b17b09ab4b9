"""A guide beside which something else reads the text, as far as somebody asks what that says."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable
from typing import Generic, Self, TypeVar

from sfgen.index.guide import BaseGuide

Position = TypeVar("Position", bound=Hashable)
Reading = TypeVar("Reading")


class ReadBeside(BaseGuide[Position], Generic[Position, Reading]):
    """A mixin for guides beside which another reader follows the text.

    It stands before the class of the guide. The other reader reads when its result is needed, and only what it has not
    read before.
    """

    def _begin_beside(self, start: Reading) -> None:
        """Let the other reader begin at the start of the text; to be called when the guide is made."""
        self._pieces: list[bytes] = []  # what each step read
        self._readings: list[Reading] = [start]  # before the first piece, after it, … as far as was asked

    @abstractmethod
    def _read_on(self, reading: Reading, piece: bytes) -> Reading:
        """What the other reader makes of one more piece."""

    def _reading(self) -> Reading:
        """What it makes of the text so far."""
        for piece in self._pieces[len(self._readings) - 1 :]:
            self._readings.append(self._read_on(self._readings[-1], piece))
        return self._readings[-1]

    def advance(self, token_id: int) -> None:
        """Read a token.

        Raises:
            UsageError: The token is not allowed here.
        """
        super().advance(token_id)
        if len(self._positions) > len(self._pieces) + 1:  # it was no end token
            self._pieces.append(self.vocabulary.tokens[token_id] or b"")

    def advance_bytes(self, data: bytes) -> None:
        """Read bytes that are not a whole token.

        Raises:
            UsageError: No allowed text continues with these bytes.
        """
        super().advance_bytes(data)
        self._pieces.append(bytes(data))

    def rollback(self, count: int) -> None:
        """Undo the last ``count`` steps; an end token counts as one.

        Raises:
            UsageError: Fewer steps than that were taken.
        """
        super().rollback(count)
        kept = len(self._positions) - 1
        del self._pieces[kept:], self._readings[kept + 1 :]

    def fork(self, *, limited: bool = True) -> Self:
        """Return an independent guide at the same position.

        Args:
            limited: Whether it keeps the token limit.
        """
        twin = super().fork(limited=limited)
        twin._pieces, twin._readings = self._pieces.copy(), self._readings.copy()
        return twin
