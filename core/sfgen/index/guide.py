"""The guide: where one sequence stands in the automaton, and what may come next."""

from __future__ import annotations

import sys

from sfgen import arguments
from sfgen.errors import UsageError
from sfgen.index.index import Index, Int32, Row
from sfgen.index.mask_ids import tokens_of_row


class Guide:
    """Walks one sequence through an index. Not shared between sequences; the index is.

    Args:
        index: The index of the pattern.
        max_tokens: The number of tokens (end tokens not counted) that the sequence may have; masks then leave room
            for the text to be completed. ``None``: no limit.

    Raises:
        LimitTooSmall: No match can be written with ``max_tokens`` tokens.

    >>> from sfgen.automata import Dfa
    >>> from sfgen.vocabulary import Vocabulary
    >>> index = Index(Dfa.from_regex("(hot|cold|hotel)"), Vocabulary([b"h", b"ot", b"hot", b"el", None], [4]))
    >>> guide = index.guide()
    >>> guide.allowed_tokens().tolist()
    [0, 2]
    >>> guide.advance(2)
    >>> guide.is_accepting, guide.allowed_tokens().tolist()
    (True, [3, 4])
    >>> guide.rollback(1)
    >>> guide.forced_bytes(), guide.state
    (b'', 0)
    """

    def __init__(self, index: Index, max_tokens: int | None = None) -> None:
        self.index = arguments.instance("index", index, Index)
        self.max_tokens = max_tokens
        self._states = [0]
        self._ended = False
        self._masks = index.masks
        # While the path has no more states than this, every way to the end still fits.
        self._free = sys.maxsize
        if max_tokens is not None:
            index.check_limit(max_tokens)
            self._free = max_tokens - index.longest_way

    @property
    def state(self) -> int:
        """The current state of the DFA."""
        return self._states[-1]

    @property
    def is_accepting(self) -> bool:
        """Whether the text so far is a match."""
        return self.index.is_accepting(self._states[-1])

    @property
    def is_finished(self) -> bool:
        """Whether nothing can follow: an end token was taken, or the text is a match that nothing continues."""
        return self._ended or self.index.is_final(self._states[-1])

    def mask(self) -> Row:
        """The packed row of allowed tokens, uint32 ``[ceil(len(vocabulary) / 32)]``; read-only."""
        states = self._states
        if len(states) > self._free:
            assert self.max_tokens is not None
            return self.index.bounded_row(states[-1], self.max_tokens - len(states) + 1)
        row = self._masks[states[-1]]
        return self.index.row(states[-1]) if row is None else row

    def is_ready(self) -> bool:
        """Whether the mask here is made, or was made now because it takes microseconds."""
        return self.index.is_ready(self._states[-1])

    def allows_several(self) -> bool | None:
        """Whether two tokens or more may follow, the end tokens counted as one; ``None``: only the mask tells."""
        if self._ended or len(self._states) > self._free:
            return None
        return self.index.allows_several(self._states[-1])

    def allowed_tokens(self) -> Int32:
        """The ids of the allowed tokens, ascending, int32; they may be shared, and are not to be changed."""
        if len(self._states) > self._free:
            return tokens_of_row(self.mask())
        return self.index.allowed_tokens(self._states[-1])

    def advance(self, token_id: int) -> None:
        """Take a token.

        Raises:
            UsageError: The token is not allowed here.
            IndexFileError: The index was read from a file that allows the token, against its own automaton.
        """
        if self._ended:
            raise UsageError("the sequence has ended; nothing can follow the end token")
        states = self._states
        target = self.index.next_state(states[-1], token_id)
        if target >= 0 and self._fits(target):
            states.append(target)
        elif token_id in self.index.vocabulary.end_token_ids and self.is_accepting:
            self._ended = True
        else:
            if target < 0:
                self.index.check_refusal(states[-1], token_id)
            raise UsageError(f"token {token_id} is not allowed in state {states[-1]}")

    def _fits(self, target: int) -> bool:
        """Whether a match can still be completed after one more token, which leads to ``target``."""
        taken = len(self._states)
        return taken <= self._free or int(self.index.distance[target]) + taken <= (self.max_tokens or 0)

    def rollback(self, count: int) -> None:
        """Take back the last ``count`` tokens; an end token counts as one.

        Raises:
            UsageError: Fewer tokens than that were taken.
        """
        taken = len(self._states) - 1 + self._ended
        count = count if count.__class__ is int else arguments.whole_number("count", count)
        if not 0 <= count <= taken:
            raise UsageError(f"cannot take back {count} tokens: {taken} were taken")
        if count and self._ended:
            self._ended = False
            count -= 1
        if count:
            del self._states[-count:]

    def forced_bytes(self) -> bytes:
        """The bytes that must follow, whatever is chosen: up to the next choice or the first accepting state."""
        forced = bytearray()
        state = self._states[-1]
        while (step := self.index.only_step(state)) is not None:
            byte, state = step
            forced.append(byte)
        return bytes(forced)
