"""The guide of the reference engines: it knows where one sequence stands, and the index what may follow there."""

from __future__ import annotations

from typing import Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from sfgen import arguments
from sfgen.errors import DeadEnd, GenerationError, UsageError
from sfgen.vocabulary import Vocabulary

State = TypeVar("State")


class ReferenceIndex(Protocol[State]):
    """What the guide asks of an index; a state is whatever the index makes of the text so far."""

    vocabulary: Vocabulary

    @property
    def start(self) -> State:
        """The state of the empty text."""

    def allowed_tokens(self, state: State) -> NDArray[np.int32]:
        """The text tokens that may follow, ascending."""

    def next_state(self, state: State, token_id: int) -> State | None:
        """The state after a token that is no end token; ``None`` if it may not follow."""

    def is_accepting(self, state: State) -> bool:
        """Whether the text may end."""

    def number(self, state: State) -> int:
        """A number that names the state, for events and views."""


class ReferenceGuide(Generic[State]):
    """Walks one sequence through an index that does not look ahead.

    A token is allowed if *some* text can follow it. So a sequence can come to a place where no token follows, or to
    the limit before the text is complete. Both are errors, and no text is ever cut.

    Args:
        index: What may follow where.
        max_tokens: The number of tokens (end tokens not counted) that the sequence may have. ``None``: no limit.
    """

    def __init__(self, index: ReferenceIndex[State], max_tokens: int | None = None) -> None:
        arguments.given("index", index, "an index of sfgen.reference", "start", "next_state", "is_accepting", "number")
        self.index = index
        if max_tokens is not None:
            arguments.whole_number("max_tokens", max_tokens, least=0)
        self.max_tokens = max_tokens
        self._states: list[State] = [index.start]
        self._readable: list[NDArray[np.int32] | None] = [None]  # the tokens of each of the states, once asked for
        self._ended = False

    @property
    def state(self) -> int:
        """A number that names the current state."""
        return self.index.number(self._states[-1])

    @property
    def is_accepting(self) -> bool:
        """Whether the text so far is a match."""
        return self.index.is_accepting(self._states[-1])

    @property
    def is_finished(self) -> bool:
        """Whether nothing can follow: an end token was taken, or the text is a match that no token continues."""
        return self._ended or (self.is_accepting and not self._readable_here().size)

    def allowed_tokens(self) -> NDArray[np.int32]:
        """The ids of the allowed tokens, ascending, int32.

        Raises:
            GenerationError: The limit is reached, and the text is no match.
            DeadEnd: No token of the vocabulary can follow, and the text is no match.
        """
        if self._ended:
            return np.empty(0, dtype=np.int32)
        is_full = len(self._states) - 1 == self.max_tokens
        tokens = self._readable_here()[: 0 if is_full else None]
        if self.is_accepting:
            tokens = np.union1d(tokens, self.index.vocabulary.end_token_ids).astype(np.int32)
        elif is_full:
            raise GenerationError(
                f"the limit of {self.max_tokens} tokens is reached, and the text is no match yet",
                hint="The engines naive and fsm do not look ahead: allow more tokens, or use the default engine.",
            )
        elif not tokens.size:
            raise DeadEnd(
                "no token of the vocabulary can follow, and the text is no match yet",
                hint="The engines naive and fsm do not look ahead: use the default engine.",
            )
        return tokens

    def advance(self, token_id: int) -> None:
        """Take a token.

        Raises:
            UsageError: The token is not allowed here.
        """
        if self._ended:
            raise UsageError("the sequence has ended; nothing can follow the end token")
        token_id = arguments.whole_number("token_id", token_id)
        vocabulary = self.index.vocabulary
        is_end = token_id in vocabulary.end_token_ids
        if is_end and self.is_accepting:
            self._ended = True
            return
        is_full = len(self._states) - 1 == self.max_tokens
        state = None
        if not is_end and not is_full and 0 <= token_id < len(vocabulary):
            state = self.index.next_state(self._states[-1], token_id)
        if state is None:
            raise UsageError(f"token {token_id} is not allowed here")
        self._states.append(state)
        self._readable.append(None)

    def rollback(self, count: int) -> None:
        """Take back the last ``count`` tokens; an end token counts as one.

        Raises:
            UsageError: Fewer tokens than that were taken.
        """
        taken = len(self._states) - 1 + self._ended
        if not 0 <= arguments.whole_number("count", count) <= taken:
            raise UsageError(f"cannot take back {count} tokens: {taken} were taken")
        if count and self._ended:
            self._ended = False
            count -= 1
        if count:
            del self._states[-count:], self._readable[-count:]

    def _readable_here(self) -> NDArray[np.int32]:
        tokens = self._readable[-1]
        if tokens is None:
            tokens = self._readable[-1] = self.index.allowed_tokens(self._states[-1])
        return tokens
