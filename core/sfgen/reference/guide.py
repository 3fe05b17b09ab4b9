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
    """What the guide asks of an index; a state is whatever the index makes of the text so far.

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
        """The text tokens that may follow, ascending."""

    def read(self, state: State, data: bytes) -> State | None:
        """The state after some bytes; ``None`` if they may not follow."""

    def pending(self, state: State) -> bytes:
        """The bytes of the unfinished character at the end of the text."""

    def is_accepting(self, state: State) -> bool:
        """Whether the text may end."""

    def number(self, state: State) -> int:
        """A number that names the state, for events and views."""

    def accepts(self, data: bytes) -> bool:
        """Whether a whole text, in UTF-8, is a match."""


class ReferenceGuide(BaseGuide[State]):
    """Walks one sequence through an index that does not look ahead.

    A token is allowed if *some* text can follow it. So a sequence can come to a place where no token follows, or to
    the limit before the text is complete. Both are errors, and no text is ever cut.

    Args:
        index: What may follow where.
        max_tokens: The number of tokens (end tokens not counted) that the sequence may have. ``None``: no limit.
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
        """The bytes that must follow, at most ``most`` (without: 4096), up to the next choice or first place of an end.

        The engine ``naive`` may see no end of what must follow where in truth nothing can, as in ``a*+ab``.
        """
        return super().forced_bytes(_MOST_FORCED if most is None else most)


def refusal(index: ReferenceIndex[State], text: bytes) -> dict[str, str] | None:
    """What a report says of a finished text that is no match: the pattern, and who refuses it; ``None`` if nobody does.

    The index itself is asked first, then ``re``.
    """
    refused_by = who_refuses(index.pattern, text) if index.accepts(text) else "the index itself"
    return None if refused_by is None else {"pattern": index.pattern, "refused by": refused_by}
