"""The guide of a schema: that of its network, which can tell where in the document it stands and what comes there."""

from __future__ import annotations

from typing import Self

from sfgen.grammar.guide import NetworkGuide
from sfgen.grammar.token_positions import TokenPositions
from sfgen.schema.compile import Compiled
from sfgen.schema.expected import json_path
from sfgen.schema.json_position import START, JsonPosition
from sfgen.schema.where import expected_at


class SchemaGuide(NetworkGuide):
    """Walks one sequence through the network of a schema; see ``NetworkGuide``.

    Args:
        tokens: The network over a vocabulary.
        compiled: The rules of the schema.
        max_tokens: The number of tokens that the sequence may have; ``None``: no limit.

    Raises:
        LimitTooSmall: The shortest text takes more than ``max_tokens`` tokens.
    """

    def __init__(self, tokens: TokenPositions, compiled: Compiled, max_tokens: int | None = None) -> None:
        super().__init__(tokens, max_tokens)
        self._compiled = compiled
        self._pieces: list[bytes] = []  # what each step read
        self._reached: list[JsonPosition] = [START]  # before the first piece, after it, … as far as was asked

    def advance(self, token_id: int) -> None:
        """Take a token.

        Raises:
            UsageError: The token is not allowed here.
        """
        super().advance(token_id)
        if len(self._positions) > len(self._pieces) + 1:  # it was no end token
            self._pieces.append(self.vocabulary.tokens[token_id] or b"")

    def advance_bytes(self, data: bytes) -> None:
        """Read bytes that are part of no token.

        Raises:
            UsageError: No text goes on so.
        """
        super().advance_bytes(data)
        self._pieces.append(bytes(data))

    def rollback(self, count: int) -> None:
        """Take back the last ``count`` steps; an end token counts as one.

        Raises:
            UsageError: Fewer steps than that were taken.
        """
        super().rollback(count)
        kept = len(self._positions) - 1
        del self._pieces[kept:], self._reached[kept + 1 :]

    def fork(self, *, limited: bool = True) -> Self:
        """A second guide at the same position, which goes its own way; without ``limited``, without a limit."""
        twin = super().fork(limited=limited)
        twin._pieces, twin._reached = self._pieces.copy(), self._reached.copy()
        return twin

    def describe(self) -> str:
        """Where in the document the text stands, and what is expected there: ``$.address.street: a string``."""
        for piece in self._pieces[len(self._reached) - 1 :]:
            self._reached.append(self._reached[-1].read(piece))
        there = self._reached[-1]
        names, rule_of = self.tokens.network.names, self.tokens.network.rule_of
        running = {names[rule_of[state]] for state, _, _ in self._positions[-1]}
        return f"{json_path(there.way)}: {expected_at(self._compiled, there, running)}"
