"""The recogniser for random grammars, as independent as that: a test case with too many stacks is rejected."""

from __future__ import annotations

from hypothesis import reject
from tests.oracles.recogniser import Position, Recogniser, RecogniserIndex

from sfgen import Vocabulary
from sfgen.grammar.network.rules import GrammarRules

MOST = 300
"""Stacks by which a text is read; a test case with more is given up."""


class BoundedRecogniser(Recogniser):
    """A recogniser that rejects a test case in which a text can be read in too many ways."""

    def step(self, position: Position, byte: int) -> Position | None:
        """The position after a byte."""
        after = super().step(position, byte)
        if after is not None and len(after) > MOST:
            reject()
        return after


class BoundedIndex(RecogniserIndex):
    """The same as a source of guides."""

    def __init__(self, grammar: GrammarRules, vocabulary: Vocabulary) -> None:
        super().__init__(grammar, vocabulary)
        self.recogniser = BoundedRecogniser(grammar)
