"""The guide of a network beside which something else reads the text."""

from __future__ import annotations

from typing import Generic, TypeVar

from sfgen.grammar.guide import NetworkGuide
from sfgen.grammar.stack import Position
from sfgen.grammar.token_positions import TokenPositions
from sfgen.index.read_beside import ReadBeside

Reading = TypeVar("Reading")


class NetworkReadBeside(ReadBeside[Position, Reading], NetworkGuide, Generic[Reading]):
    """Guides a sequence through a network, and tells another reader's position.

    See ``ReadBeside`` and ``NetworkGuide``.

    Args:
        tokens: The network over a vocabulary.
        start: Where the other reader begins.
        max_tokens: The number of tokens that the sequence may have; ``None``: no limit.

    Raises:
        LimitTooSmall: The shortest text takes more than ``max_tokens`` tokens.
    """

    def __init__(self, tokens: TokenPositions, start: Reading, max_tokens: int | None = None) -> None:
        NetworkGuide.__init__(self, tokens, max_tokens)
        self._begin_beside(start)
