"""The guide of an automaton: a position is its state, and masks are looked up."""

from __future__ import annotations

import sys
from typing import Self

from sfgen import arguments
from sfgen.errors import UsageError
from sfgen.index.guide import NO_TOKENS, BaseGuide
from sfgen.index.mask_ids import packed, tokens_of_row
from sfgen.index.token_automaton import TokenAutomaton
from sfgen.protocols import Int32, Mask


class DfaGuide(BaseGuide[int]):
    """A guide of one sequence through an automaton.

    It belongs to one sequence; the index may be shared.

    Args:
        index: The index of the pattern.
        max_tokens: The number of tokens (end tokens not counted) that the sequence may have; masks then leave room
            for the text to be completed. ``None``: no limit.

    Raises:
        LimitTooSmall: No match can be written with ``max_tokens`` tokens.

    >>> from sfgen.automata import Dfa
    >>> from sfgen.vocabulary import Vocabulary
    >>> vocabulary = Vocabulary([b"h", b"ot", b"hot", b"el", None], [4])
    >>> guide = DfaGuide(TokenAutomaton(Dfa.from_regex("(hot|cold|hotel)"), vocabulary))
    >>> guide.allowed_tokens().tolist()
    [0, 2]
    >>> guide.advance(2)
    >>> guide.is_accepting, guide.allowed_tokens().tolist()
    (True, [3, 4])
    >>> guide.rollback(1)
    >>> guide.forced_bytes(), guide.state
    (b'', 0)
    """

    def __init__(self, index: TokenAutomaton, max_tokens: int | None = None) -> None:
        self.index = arguments.instance("index", index, TokenAutomaton)
        self._masks = index.masks
        # While there are at most so many positions, every way to the end still fits.
        self._free = sys.maxsize
        super().__init__(index.vocabulary, 0, max_tokens)
        self._set_free()

    def _check_limit(self, start: int) -> None:
        if self.max_tokens is not None:
            self.index.check_limit(self.max_tokens)

    def _set_free(self) -> None:
        if self._ended:
            self._free = -1
        elif self.max_tokens is not None:
            self._free = self.max_tokens - self.index.longest_way + len(self._between)
        else:
            self._free = sys.maxsize

    def _read(self, position: int, data: bytes) -> int | None:
        target = self.index.walk(position, data)
        return None if target < 0 else target

    def _accepts(self, position: int) -> bool:
        return self.index.is_accepting(position)

    def _tokens_left(self, position: int) -> int:
        return int(self.index.distance[position])

    def _is_final(self, position: int) -> bool:
        return self.index.is_final(position)

    def _only_step(self, position: int) -> tuple[bytes, int] | None:
        if self.index.is_accepting(position):
            return super()._only_step(position)
        step = self.index.only_step(position)
        return None if step is None else (bytes([step[0]]), step[1])

    def _at(self, position: int, room: int | None = None) -> Self:
        """Return a guide in another state, without steps; see ``BaseGuide._at``."""
        twin = super()._at(position, room)
        twin._set_free()
        return twin

    def _mask_at(self, position: int, room: int | None = None) -> Mask:
        """Return the token mask of another state; see ``BaseGuide._mask_at``."""
        if room is None or room > self.index.longest_way:
            return self.index.row(position)
        return self.index.bounded_row(position, room)

    @property
    def state(self) -> int:
        """The current state of the DFA."""
        return self._positions[-1]

    @property
    def is_accepting(self) -> bool:
        """Whether the text so far is a match."""
        return self.index.is_accepting(self._positions[-1])

    @property
    def is_finished(self) -> bool:
        """Whether nothing can follow the text.

        It is so after an end token, and after a match that nothing continues.
        """
        return self._ended or self.index.is_final(self._positions[-1])

    def _describe(self, position: int) -> str:
        return str(position)

    def mask(self) -> Mask:
        """Return the token mask, uint32 ``[ceil(len(vocabulary) / 32)]``; read-only."""
        states = self._positions
        if len(states) > self._free:
            return self._bounded_mask()
        row = self._masks[states[-1]]
        return self.index.row(states[-1]) if row is None else row

    def _bounded_mask(self) -> Mask:
        """Return the mask after the end token, or near the limit."""
        room = self.room
        if self._ended:
            return packed(NO_TOKENS, len(self.vocabulary))
        assert room is not None
        return self.index.bounded_row(self._positions[-1], room)

    def is_ready(self) -> bool:
        """Return whether the mask here is made.

        One that takes microseconds is made now.
        """
        return self.index.is_ready(self._positions[-1])

    def allows_several(self) -> bool | None:
        """Return whether two tokens or more may follow.

        All end tokens count as one. ``None``: only the mask can tell.
        """
        if len(self._positions) > self._free:
            return None
        return self.index.allows_several(self._positions[-1])

    def allowed_tokens(self) -> Int32:
        """Return the ids of the allowed tokens, ascending, int32; read-only."""
        if len(self._positions) > self._free:
            return tokens_of_row(self._bounded_mask())
        return self.index.allowed_tokens(self._positions[-1])

    def forced_bytes(self, most: int | None = None) -> bytes:
        """Return the bytes that must follow, up to the next choice.

        They also stop at the first accepting state.

        Args:
            most: The most bytes to return; ``None``: any number.
        """
        return self.index.forced_bytes(self._positions[-1], most)

    def advance(self, token_id: int) -> None:
        """Read a token.

        Raises:
            UsageError: The token is not allowed here.
        """
        if self._ended:
            self._check_open()
        states = self._positions
        target = self.index.next_state(states[-1], token_id)
        if target >= 0 and (len(states) <= self._free or self._fits(target, (self.room or 0) - 1)):
            states.append(target)
            if self._beside is not None:
                self._beside.append(self._piece_of(token_id))
        elif token_id in self.index.vocabulary.end_token_ids and self.is_accepting:
            self._ended = True
            self._set_free()
        else:
            raise UsageError(f"token {token_id} is not allowed in state {states[-1]}")

    def _fits(self, position: int, room: int | None) -> bool:
        """Whether a match can be completed; the fewest tokens are found where the limit is near."""
        if self.index.steps_byte_by_byte and (room is None or room >= self.index.longest_way):
            return True
        return super()._fits(position, room)

    def advance_bytes(self, data: bytes) -> None:
        """Read bytes that are not a whole token.

        The guide may then be inside a token.

        Raises:
            UsageError: No match continues with these bytes.
        """
        super().advance_bytes(data)
        self._set_free()

    def rollback(self, count: int) -> None:
        """Undo the last ``count`` steps; an end token counts as one.

        Raises:
            UsageError: Fewer steps than that were taken.
        """
        special = self._ended or bool(self._between)  # before the rollback
        super().rollback(count)
        if special:
            self._set_free()

    def fork(self, *, limited: bool = True) -> Self:
        """Return an independent guide at the same state.

        Args:
            limited: Whether it keeps the token limit.
        """
        twin = super().fork(limited=limited)
        twin._set_free()
        return twin
