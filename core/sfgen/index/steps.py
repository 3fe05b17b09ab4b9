"""What takes tokens one after the other, and back again, can tell how many of a list it would take."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from sfgen import arguments
from sfgen.errors import UsageError


class Steps(ABC):
    """A mixin of every guide that counts the tokens it can read.

    See ``sfgen.protocols.Guide``.
    """

    @abstractmethod
    def advance(self, token_id: int) -> None:
        """Read a token.

        Raises:
            UsageError: The token is not allowed here.
        """

    @abstractmethod
    def rollback(self, count: int) -> None:
        """Undo the last ``count`` steps.

        Raises:
            UsageError: Fewer steps than that were taken.
        """

    def validate(self, token_ids: Sequence[int]) -> int:
        """Return how many of these tokens, from the first on, may follow.

        The guide does not move.

        Raises:
            UsageError: They are not a list of token ids.
        """
        token_ids, count = arguments.token_ids("token_ids", token_ids), 0
        try:
            for token_id in token_ids:
                self.advance(token_id)
                count += 1
        except UsageError:
            pass
        finally:
            self.rollback(count)
        return count
