"""The shortest way to complete a text, and its fewest tokens.

The shortest text is found byte by byte: each time the smallest byte that brings the end nearer by one. So the rest
behind some of its tokens is again the shortest text from there, and the fewest tokens that write it fall by one with
each token: a limit of that many tokens can always be kept.
"""

from __future__ import annotations

import threading

import numpy as np

from sfgen.errors import InternalError, TextTooLong
from sfgen.grammar.lalr.distances import FAR
from sfgen.grammar.lalr.read import LalrConfiguration, LalrPosition, LalrReader
from sfgen.grammar.lalr.tables import NO_STATE
from sfgen.index.distance import LONGEST_TEXT, UNREACHABLE, fewest_tokens
from sfgen.vocabulary import Vocabulary

_KEPT_STEPS = 1 << 16
"""The positions whose next byte is cached."""

_KEPT = 1 << 14
"""The configurations whose fewest tokens are cached."""

_NO_BYTE = 256
"""More than any byte."""


class Completion:
    """Finds shortest completions over one vocabulary, ``None`` for texts only. Safe to share between threads."""

    def __init__(self, reader: LalrReader, vocabulary: Vocabulary | None) -> None:
        self._reader = reader
        self._vocabulary = vocabulary
        # The smallest usable byte of each class, int32 ``[classes]``.
        lexer, usable = reader.lexer, reader.usable
        self._smallest = np.full(lexer.step.shape[1], _NO_BYTE, dtype=np.int32)
        bytes_ = np.arange(256) if usable is None else np.flatnonzero(usable)
        np.minimum.at(self._smallest, lexer.byte_classes[bytes_], bytes_)
        self._steps: dict[LalrPosition, tuple[int, LalrPosition]] = {}
        self._tokens: dict[LalrConfiguration, int] = {}
        self._lock = threading.Lock()

    def text(self, position: LalrPosition) -> bytes:
        """Return the shortest text from a position to an end; of several the first in byte order."""
        text, least = bytearray(), self._reader.distance(position)
        if least > LONGEST_TEXT:
            raise TextTooLong(least, LONGEST_TEXT)
        while least:
            position = tuple([each for each in position if self._reader.to_end.of(*each) == least])
            byte, position = self._nearer(position, least)
            text.append(byte)
            least -= 1
        return bytes(text)

    def tokens_left(self, position: LalrPosition) -> int:
        """Return the fewest tokens of the shortest text to an end.

        It is ``UNREACHABLE`` without such a text, and the number of bytes of one longer than ``LONGEST_TEXT``.
        """
        return min(map(self._tokens_of, position))

    def _nearer(self, position: LalrPosition, least: int) -> tuple[int, LalrPosition]:
        """Return the smallest byte that is one nearer to the end, and the position after it."""
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
            labels = np.flatnonzero((targets != NO_STATE) & (self._smallest < _NO_BYTE))
            is_nearer = reader.to_end.of_many(targets[labels], node) == least - 1
            nearest = min(nearest, int(self._smallest[labels[is_nearer]].min(initial=_NO_BYTE)))
        return nearest

    def _tokens_of(self, configuration: LalrConfiguration) -> int:
        distance = self._reader.to_end.of(*configuration)
        if distance > LONGEST_TEXT:
            return int(UNREACHABLE) if distance >= FAR else distance
        fewest = self._tokens.get(configuration)
        if fewest is None:
            fewest = self._fewest_tokens(self.text((configuration,)))
            with self._lock:
                if len(self._tokens) > _KEPT:
                    self._tokens.clear()
                self._tokens[configuration] = fewest
        return fewest

    def _fewest_tokens(self, text: bytes) -> int:
        """Count the fewest tokens that write a text."""
        assert self._vocabulary is not None, "only texts are needed"
        trie, tokens = self._vocabulary.trie, np.full(len(text) + 1, UNREACHABLE, dtype=np.int32)
        tokens[-1] = 0
        data = np.frombuffer(text, dtype=np.uint8)
        fewest_tokens(data, len(text), tokens, trie.bytes, trie.subtree_ends, trie.token_starts, trie.roots)
        return int(tokens[0])


def shortest_text(reader: LalrReader) -> bytes:
    """Return the shortest text of a grammar, the first in byte order."""
    return Completion(reader, None).text(reader.start)
