"""The ban over one text: the matcher that finds banned words, and the strategy that goes on after them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sfgen.decoding.strategies import Strategy
from sfgen.protocols import BannedText, FindsTokens, Guide, Int32, Matcher

if TYPE_CHECKING:
    from sfgen.decoding.word_bias import Bias


@dataclass
class Ban:
    """The ban over one text: matcher, strategy and search for tokens.

    Args:
        matcher: Finds banned words; it has read the prompt.
        strategy: Says how to continue after a banned word.
        tokens: Finds the tokens that complete a match, and dead tokens.
        clean: A guide through those texts of the constraint that are not banned, where there is one. It walks beside
            the guide of the constraint and shows which tokens lead to banned text only.
        max_rollbacks: The most rollbacks; after them generation fails.
        bias: Words with a bias, which the matcher watches for, too; ``None``: there are none.
    """

    matcher: Matcher
    strategy: Strategy
    tokens: FindsTokens
    clean: Guide | None = None
    max_rollbacks: int = 10_000
    bias: Bias | None = None

    def __post_init__(self) -> None:
        self._clean_taken = 0  # tokens that the clean guide has taken

    def completing(self) -> Int32:
        """Return the tokens that complete a partial match, ascending, int32."""
        return self.tokens.of(self.matcher)

    def dead_tokens(self) -> Int32:
        """Return the tokens after which every continuation is banned.

        After such a token the text ends inside a character, and whatever follows completes a match.
        """
        return self.tokens.dead(self.matcher)

    def is_dead(self) -> bool:
        """Tell whether the text is dead: every continuation completes a match.

        Such a text ends inside a character.
        """
        return self.tokens.is_dead(self.matcher)

    def dead(self, allowed: Int32) -> NDArray[np.bool_] | None:
        """Find the allowed tokens that lead to banned text only.

        Args:
            allowed: The allowed tokens, ascending, int32 ``[allowed]``.

        Returns:
            Bool ``[allowed]``; ``None``: no token is known to.
        """
        if self.clean is None:
            return None
        dead: NDArray[np.bool_] = ~np.isin(allowed, self.clean.allowed_tokens())
        return dead if dead.any() else None

    def takes(self, tokens: Sequence[int]) -> bool:
        """Tell whether the clean guide can read these tokens in order."""
        if self.clean is None:
            return True
        return self.clean.validate(tokens) == len(tokens)

    def advance(self, token: int, data: bytes, dead: bool) -> BannedText | None:
        """Read a token and return the banned match that it completes.

        Args:
            token: The token.
            data: Its bytes.
            dead: Whether it is known to lead to banned text only; it must be undone next.
        """
        if self.clean is not None and not dead:
            self.clean.advance(token)
            self._clean_taken += 1
        return self.matcher.advance(data)

    def rollback(self, position: int, mark: object) -> None:
        """Return to an earlier position.

        Args:
            position: The number of tokens that stay.
            mark: The mark of the matcher there.
        """
        self.matcher.reset(mark)
        if self.clean is not None and self._clean_taken > position:
            self.clean.rollback(self._clean_taken - position)
            self._clean_taken = position
