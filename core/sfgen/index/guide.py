"""The guide: where one sequence stands in the automaton, and what may come next."""

from __future__ import annotations

from sfgen.errors import UsageError
from sfgen.index.builder import Index, Int32, Row, tokens_of_row


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
        if max_tokens is not None:
            index.check_limit(max_tokens)
        self.index = index
        self.max_tokens = max_tokens
        self._states = [0]
        self._ended = False

    @property
    def state(self) -> int:
        """The current state of the DFA."""
        return self._states[-1]

    @property
    def is_accepting(self) -> bool:
        """Whether the text so far is a match."""
        return bool(self.index.dfa.accepting[self.state])

    @property
    def is_finished(self) -> bool:
        """Whether nothing can follow: an end token was taken, or the text is a match that nothing continues."""
        return self._ended or (self.is_accepting and not (self.index.dfa.transitions[self.state] >= 0).any())

    def mask(self) -> Row:
        """The packed row of allowed tokens, uint32 ``[ceil(len(vocabulary) / 32)]``; read-only."""
        if self.max_tokens is None:
            return self.index.row(self.state)
        return self.index.bounded_row(self.state, self.max_tokens - (len(self._states) - 1))

    def allowed_tokens(self) -> Int32:
        """The ids of the allowed tokens, ascending, int32."""
        return tokens_of_row(self.mask())

    def advance(self, token_id: int) -> None:
        """Take a token.

        Raises:
            UsageError: The token is not allowed here.
        """
        if self._ended:
            raise UsageError("the sequence has ended; nothing can follow the end token")
        if token_id in self.index.vocabulary.end_token_ids and self.is_accepting:
            self._ended = True
            return
        target = self.index.next_state(self.state, token_id)
        if target < 0:
            raise UsageError(f"token {token_id} is not allowed in state {self.state}")
        self._states.append(target)

    def rollback(self, count: int) -> None:
        """Take back the last ``count`` tokens; an end token counts as one.

        Raises:
            UsageError: Fewer tokens than that were taken.
        """
        taken = len(self._states) - 1 + self._ended
        if not 0 <= count <= taken:
            raise UsageError(f"cannot take back {count} tokens: {taken} were taken")
        if count and self._ended:
            self._ended = False
            count -= 1
        if count:
            del self._states[-count:]

    def forced_bytes(self) -> bytes:
        """The bytes that must follow, whatever is chosen: up to the next choice or the first accepting state."""
        dfa, state, forced = self.index.dfa, self.state, bytearray()
        while not dfa.accepting[state]:
            following = [byte for byte in range(256) if dfa.step(state, byte) >= 0]
            if len(following) != 1:
                break
            forced.append(following[0])
            state = dfa.step(state, following[0])
        return bytes(forced)
