"""The ban over one text: the matcher that finds banned words, and the strategy that goes on after them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfgen.decoding.strategies import Strategy
from sfgen.protocols import BannedText, FindsTokens, Guide, Int32, Matcher


@dataclass
class Ban:
    """What watches over one text.

    Args:
        matcher: Looks for banned words, already fed with the prompt.
        strategy: Says how to go on when there is one.
        tokens: Finds the tokens that complete a match, and those behind which every text would.
        clean: A guide through those texts of the pattern that are not banned, where there is one. It walks beside the
            guide of the pattern and shows which tokens lead to banned text only.
        max_rollbacks: After so many rollbacks generation fails.
    """

    matcher: Matcher
    strategy: Strategy
    tokens: FindsTokens
    clean: Guide | None = None
    max_rollbacks: int = 10_000

    def __post_init__(self) -> None:
        self._clean_taken = 0  # tokens that the clean guide has taken

    def completing(self) -> Int32:
        """The tokens that complete a match which is under way where the matcher stands, ascending."""
        return self.tokens.of(self.matcher)

    def dead_tokens(self) -> Int32:
        """The tokens behind which the text ends inside a character, and whatever follows completes a match."""
        return self.tokens.dead(self.matcher)

    def is_dead(self) -> bool:
        """Whether the text ends inside a character, and whatever follows completes a match."""
        return self.tokens.is_dead(self.matcher)

    def doomed(self, allowed: Int32) -> NDArray[np.bool_] | None:
        """Which of the allowed tokens lead to nothing but banned text; ``None``: none is known to."""
        if self.clean is None:
            return None
        doomed: NDArray[np.bool_] = ~np.isin(allowed, self.clean.allowed_tokens())
        return doomed if doomed.any() else None

    def takes(self, tokens: Sequence[int]) -> bool:
        """Whether the clean guide can take these tokens, one after the other."""
        if self.clean is None:
            return True
        return self.clean.validate(tokens) == len(tokens)

    def advance(self, token: int, data: bytes, doomed: bool) -> BannedText | None:
        """Read a token; the banned match that it completes. A doomed one must be taken back next."""
        if self.clean is not None and not doomed:
            self.clean.advance(token)
            self._clean_taken += 1
        return self.matcher.advance(data)

    def rollback(self, position: int, mark: object) -> None:
        """Go back to where ``position`` tokens were read and the matcher was at ``mark``."""
        self.matcher.reset(mark)
        if self.clean is not None and self._clean_taken > position:
            self.clean.rollback(self._clean_taken - position)
            self._clean_taken = position
