"""The guide of a GBNF grammar: that of its network, which can tell the rules that are open as they are written."""

from __future__ import annotations

from collections.abc import Callable

from sfgen.grammar.guide import NetworkReadBeside
from sfgen.grammar.positions import TokenPositions
from sfgen.grammar.stack import Position
from sfgen.language.as_written import AsWritten
from sfgen.language.language import where


class GbnfGuide(NetworkReadBeside[Position | None]):
    """Walks one sequence through the network of a grammar; see ``NetworkGuide``.

    Args:
        tokens: The network over a vocabulary.
        as_written: Gives the rules as they are written, when they are first asked for.
        max_tokens: The number of tokens that the sequence may have; ``None``: no limit.

    Raises:
        LimitTooSmall: The shortest text takes more than ``max_tokens`` tokens.
    """

    def __init__(
        self, tokens: TokenPositions, as_written: Callable[[], AsWritten], max_tokens: int | None = None
    ) -> None:
        super().__init__(tokens, None, max_tokens)
        self._as_written = as_written

    def _read_on(self, reading: Position | None, piece: bytes) -> Position | None:
        reader = self._as_written().reader
        return reader.read(reader.start if reading is None else reading, piece)

    def describe(self) -> str:
        """Name the open rules and the open terminal: ``list › item: [a-z]``.

        The outermost rule comes first.
        """
        written = self._as_written()
        return where(*written.rules_at(self._reading() or written.reader.start))
