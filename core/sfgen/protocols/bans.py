"""What a ban must be able to do."""

from __future__ import annotations

from typing import Any, Protocol

from sfgen.protocols.tokens import Int32


class BannedText(Protocol):
    """A banned match, with byte offsets into the generated text."""

    @property
    def word(self) -> str:
        """The banned word, as its user wrote it."""

    @property
    def start(self) -> int:
        """The first byte of the match; negative if inside the prompt."""

    @property
    def end(self) -> int:
        """The byte after the last one of the match."""


class Matcher(Protocol):
    """A matcher of banned words that can return to earlier marks."""

    def advance(self, data: bytes) -> BannedText | None:
        """Read the bytes of one token and return the first match completed."""

    def begin_text(self) -> None:
        """Begin a text that is also read without what stands before it."""

    def finish(self) -> BannedText | None:
        """Return the banned match that the end of the text would complete."""

    def open_from(self) -> int | None:
        """Return the start of the earliest partial match, or ``None``."""

    def under_way(self) -> tuple[str, ...]:
        """Return some of the partially matched words, for observers."""

    def mark(self) -> Any:
        """Return the present position, for ``reset``."""

    def reset(self, mark: Any) -> None:
        """Return to an earlier mark."""


class FindsTokens(Protocol):
    """A search for tokens to rule out; it leaves the matcher unchanged."""

    def of(self, matcher: Any) -> Int32:
        """Return the tokens that complete a partial match, ascending. Read-only."""

    def dead(self, matcher: Any) -> Int32:
        """Return the dead tokens: ones after which every continuation is banned.

        After such a token the text ends inside a character, and whatever follows completes a match.
        """

    def is_dead(self, matcher: Any) -> bool:
        """Tell whether the text is dead: every continuation completes a match.

        Such a text ends inside a character; its end would complete a match, too.
        """
