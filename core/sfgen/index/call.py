"""One call inside free text: what is written of it, and what a reader sees of it.

A reader knows the constraint as its user gave it, and takes the longest text of it for the call. What may be written
can be less: texts without banned words. So two guides follow a call, and where it ends is the reader's matter.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Self

from sfgen.errors import UsageError
from sfgen.protocols import Guide


class Call:
    """The position in one call.

    Args:
        guide: The guide of what is written.
        reader: The guide of what is read, where that may be more; ``None``: they are the same.
    """

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
        """Read a token.

        Args:
            token_id: The token.
            data: Its bytes.

        Raises:
            UsageError: It must not be written here.
        """
        self.guide.advance(token_id)
        self._keep_up(data)

    def advance_bytes(self, data: bytes) -> None:
        """Read bytes that are not a whole token.

        Raises:
            UsageError: They must not be written here.
        """
        self.guide.advance_bytes(data)
        self._keep_up(data)

    def _keep_up(self, data: bytes) -> None:
        if self.reader is not self.guide:
            self.reader.advance_bytes(data)
        self.steps += 1

    def rollback(self, count: int) -> None:
        """Undo the last ``count`` steps.

        Raises:
            UsageError: Fewer steps than that were taken.
        """
        self.guide.rollback(count)
        if self.reader is not self.guide:
            self.reader.rollback(count)
        self.steps -= count

    def fork(self, *, limited: bool = True) -> Self:
        """Return an independent call at the same position.

        Args:
            limited: Whether it keeps the token limit.
        """
        guide = self.guide.fork(limited=limited)
        twin = type(self)(guide, None if self.reader is self.guide else self.reader.fork())
        twin.steps = self.steps
        return twin
