"""The shortest text of a parser's configuration, byte by byte.

Each step takes the smallest byte after which the end is one byte nearer. The costs of a parser are no sums over its
stack, so no part of the text can be found separately.
"""

from __future__ import annotations

import numpy as np

from sfgen.errors import InternalError
from sfgen.grammar.lalr.distances import FAR
from sfgen.grammar.lalr.read import LalrConfiguration, LalrPosition, LalrReader
from sfgen.grammar.lalr.tables import NO_STATE
from sfgen.grammar.shell.completion import Completion
from sfgen.vocabulary import Vocabulary

_KEPT_STEPS = 1 << 16
"""The most positions whose next byte is cached."""

_NO_BYTE = 256
"""More than any byte."""


class LalrCompletion(Completion[LalrConfiguration]):
    """Finds shortest completions; without a vocabulary only as texts. Safe to share between threads."""

    def __init__(self, reader: LalrReader, vocabulary: Vocabulary | None) -> None:
        super().__init__(vocabulary, FAR)
        self._reader = reader
        # The smallest usable byte of each class, int32 ``[classes]``.
        lexer, usable = reader.lexer, reader.usable
        self._smallest = np.full(lexer.step.shape[1], _NO_BYTE, dtype=np.int32)
        bytes_ = np.arange(256) if usable is None else np.flatnonzero(usable)
        np.minimum.at(self._smallest, lexer.byte_classes[bytes_], bytes_)
        self._steps: dict[LalrPosition, tuple[int, LalrPosition]] = {}

    def distance(self, configuration: LalrConfiguration) -> int:
        """Return the fewest bytes from a configuration to an end."""
        return self._reader.to_end.of(*configuration)

    def _text_of(self, configuration: LalrConfiguration) -> bytes:
        text, least = bytearray(), self.distance(configuration)
        position: LalrPosition = (configuration,)
        while least:
            position = tuple([each for each in position if self.distance(each) == least])
            byte, position = self._nearer(position, least)
            text.append(byte)
            least -= 1
        return bytes(text)

    def _nearer(self, position: LalrPosition, least: int) -> tuple[int, LalrPosition]:
        """Return the smallest byte after which the end is one byte nearer, and the position after it."""
        step = self._steps.get(position)
        if step is None:
            byte = min(self._nearest_byte(configuration, least) for configuration in position)
            after = self._reader.read(position, bytes([byte]))
            if after is None:
                raise InternalError("there is no way to complete a text")
            if len(self._steps) > _KEPT_STEPS:
                self._steps.clear()
            step = self._steps[position] = byte, after
        return step

    def _nearest_byte(self, configuration: LalrConfiguration, least: int) -> int:
        """Return the smallest byte after which the end is ``least - 1`` bytes away."""
        reader, nearest = self._reader, _NO_BYTE
        for lexer_state, node in (configuration, *reader.commits(configuration)):
            targets = reader.lexer.step[lexer_state]
            classes = np.flatnonzero((targets != NO_STATE) & (self._smallest < _NO_BYTE))
            is_nearer = reader.to_end.of_many(targets[classes], node) == least - 1
            nearest = min(nearest, int(self._smallest[classes[is_nearer]].min(initial=_NO_BYTE)))
        return nearest
