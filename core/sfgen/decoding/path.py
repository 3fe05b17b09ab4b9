"""The path: the generated tokens as a stack, with what is known at each place.

What is forbidden at a place holds only while everything before it stays the same: the place is popped together with
the tokens before it, and its prohibitions with it. That is a trie of prefixes of which only the current branch is kept.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sfgen.decoding.protocols import Scores


@dataclass(slots=True)
class Place:
    """The place of one token, before it is chosen.

    Attributes:
        offset: Bytes of generated text before it.
        mark: The matcher's position there.
        scores: The model's answer there, kept while a rollback may come back for it.
        forbidden: Tokens that may not stand here while everything before stays the same.
    """

    offset: int
    mark: object = None
    scores: Scores | None = None
    forbidden: set[int] = field(default_factory=set)


class Path:
    """The tokens generated so far and the places between them; there is one more place than there are tokens."""

    def __init__(self, mark: object = None) -> None:
        self.token_ids: list[int] = []
        self.data = bytearray()
        self.places = [Place(offset=0, mark=mark)]
        self.forced: list[bool] = []

    @property
    def here(self) -> Place:
        """The place of the next token."""
        return self.places[-1]

    def append(self, token_id: int, data: bytes, *, forced: bool, mark: object = None) -> None:
        """Put a token at the current place and open the next one."""
        self.token_ids.append(token_id)
        self.data += data
        self.forced.append(forced)
        self.places.append(Place(offset=len(self.data), mark=mark))

    def position_of(self, offset: int) -> int:
        """The index of the token that holds byte ``offset`` of the text; 0 for bytes of the prompt (negative).

        >>> path = Path()
        >>> path.append(5, b"a ", forced=False); path.append(6, b"talk", forced=False)
        >>> [path.position_of(offset) for offset in (-3, 0, 1, 2, 5, 6)]
        [0, 0, 0, 1, 1, 2]
        """
        position = len(self.token_ids)
        while position > 0 and self.places[position].offset > offset:
            position -= 1
        return position

    def cut(self, position: int) -> tuple[tuple[int, ...], bytes]:
        """Take back the tokens from ``position`` on and forbid the first of them there; return them and their bytes."""
        removed = tuple(self.token_ids[position:])
        data = bytes(self.data[self.places[position].offset :])
        del self.token_ids[position:], self.forced[position:], self.places[position + 1 :]
        del self.data[self.here.offset :]
        self.here.forbidden.add(removed[0])
        return removed, data
