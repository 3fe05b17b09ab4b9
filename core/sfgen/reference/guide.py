"""The guide of the reference engines: it knows where one sequence stands, and the index what may follow there."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Protocol, TypeVar

from sfgen import arguments
from sfgen.index import BaseGuide
from sfgen.protocols import Int32
from sfgen.reference.classes import CharacterClasses
from sfgen.reference.pending import characters_from
from sfgen.regex.oracle import who_refuses
from sfgen.vocabulary import Vocabulary

State = TypeVar("State", bound=Hashable)

_MOST_FORCED = 4096


class ReferenceIndex(Protocol[State]):
    """An index that a reference guide can follow.

    A state is whatever the index makes of the text so far.

    Attributes:
        pattern: What the text must match.
        vocabulary: The tokens.
        classes: Which characters the pattern tells apart.
    """

    pattern: str
    vocabulary: Vocabulary
    classes: CharacterClasses

    @property
    def start(self) -> State:
        """The state of the empty text."""

    def allowed_tokens(self, state: State) -> Int32:
        """Return the text tokens that may follow, ascending, int32."""

    def read(self, state: State, data: bytes) -> State | None:
        """Return the state after some bytes; ``None`` if they are refused.

        Args:
            state: The state before them.
            data: The bytes.
        """

    def pending(self, state: State) -> bytes:
        """Return the bytes of the unfinished character at the end."""

    def is_accepting(self, state: State) -> bool:
        """Tell whether the text may end."""

    def number(self, state: State) -> int:
        """Return a number that identifies the state, for events and views."""

    def accepts(self, data: bytes) -> bool:
        """Tell whether a whole text in UTF-8 is a match."""


class ReferenceGuide(BaseGuide[State]):
    """A guide of one sequence through an index without lookahead.

    A token is allowed if *some* text can follow it. So a sequence can come to a position where no token follows, or to
    the limit before the text is complete. Both are errors, and no text is ever cut.

    Args:
        index: The index.
        max_tokens: The most tokens of the text, without the end token; ``None``: any number.
    """

    limit_hint = "The engines naive and fsm do not look ahead: allow more tokens, or use the default engine."
    dead_end_hint = "The engines naive and fsm do not look ahead: use the default engine."

    def __init__(self, index: ReferenceIndex[State], max_tokens: int | None = None) -> None:
        arguments.given("index", index, "an index of sfgen.reference", "start", "read", "is_accepting", "number")
        self.index = index
        super().__init__(index.vocabulary, index.start, max_tokens)

    def _read(self, position: State, data: bytes) -> State | None:
        return self.index.read(position, data)

    def _accepts(self, position: State) -> bool:
        return self.index.is_accepting(position)

    def _text_tokens(self, position: State) -> Int32:
        return self.index.allowed_tokens(position)

    def _number(self, position: State) -> int:
        return self.index.number(position)

    def _is_final(self, position: State) -> bool:
        return self._next_character(position) is None

    def _only_step(self, position: State) -> tuple[bytes, State] | None:
        """The byte that must follow: that of the least and the greatest character, as UTF-8 is in their order."""
        characters = self._next_character(position)
        if characters is None or characters[0][:1] != characters[1][:1]:
            return None
        byte = characters[0][:1]
        after = self._read(position, byte)
        return None if after is None else (byte, after)

    def _next_character(self, position: State) -> tuple[bytes, bytes] | None:
        """The least and the greatest character that can be read next, without their bytes that are pending.

        Of characters that the pattern cannot tell apart one is tried. A byte at a time would be 256 tries.
        """
        pending = self.index.pending(position)
        begun = len(pending)
        found = [
            (least.encode()[begun:], greatest.encode()[begun:])
            for least, greatest in self.index.classes.extents(*characters_from(pending))
            if self._read(position, least.encode()[begun:]) is not None
        ]
        return (min(least for least, _ in found), max(greatest for _, greatest in found)) if found else None

    def forced_bytes(self, most: int | None = None) -> bytes:
        """Return the bytes that must follow, up to the next choice.

        They also stop at the first position where the text may end. The engine ``naive`` may see no end of what must
        follow where in truth nothing can, as in ``a*+ab``.

        Args:
            most: The most bytes to return; ``None``: 4096.
        """
        return super().forced_bytes(_MOST_FORCED if most is None else most)


def refusal(index: ReferenceIndex[State], text: bytes) -> dict[str, str] | None:
    """Check a finished text with an index, and then with ``re``.

    Args:
        index: The index.
        text: The text as UTF-8.

    Returns:
        ``None`` if both accept it; else the pattern and who refuses, for a report.
    """
    refused_by = who_refuses(index.pattern, text) if index.accepts(text) else "the index itself"
    return None if refused_by is None else {"pattern": index.pattern, "refused by": refused_by}
