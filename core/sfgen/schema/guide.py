"""The guide of a schema: that of its network, which can tell where in the document it stands and what comes there."""

from __future__ import annotations

from sfgen.grammar.guide import NetworkReadBeside
from sfgen.grammar.positions import TokenPositions
from sfgen.schema.compile import Compiled
from sfgen.schema.expected import json_path
from sfgen.schema.json_position import START, JsonPosition
from sfgen.schema.where import expected_at


class SchemaGuide(NetworkReadBeside[JsonPosition]):
    """Walks one sequence through the network of a schema; see ``NetworkGuide``.

    Args:
        tokens: The network over a vocabulary.
        compiled: The rules of the schema.
        max_tokens: The number of tokens that the sequence may have; ``None``: no limit.

    Raises:
        LimitTooSmall: The shortest text takes more than ``max_tokens`` tokens.
    """

    def __init__(self, tokens: TokenPositions, compiled: Compiled, max_tokens: int | None = None) -> None:
        super().__init__(tokens, START, max_tokens)
        self._compiled = compiled

    def _read_on(self, reading: JsonPosition, piece: bytes) -> JsonPosition:
        return reading.read(piece)

    def describe(self) -> str:
        """Tell the position and what is expected: ``$.address.street: a string``."""
        there = self._reading()
        names, rule_of = self.tokens.network.names, self.tokens.network.rule_of
        running = {names[rule_of[state]] for state, _, _ in self._positions[-1]}
        return f"{json_path(there.way)}: {expected_at(self._compiled, there, running)}"
