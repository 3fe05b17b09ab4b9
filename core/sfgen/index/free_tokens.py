"""The tokens of free text in which calls may begin: which may follow, and which of them begin a call."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfgen.errors import UsageError
from sfgen.index.distance import UNREACHABLE
from sfgen.index.marker import Marker
from sfgen.protocols import Guide, Int32
from sfgen.vocabulary import Vocabulary


class FreeTokens:
    """The tokens that may follow in each state of a marker.

    Args:
        marker: The text that begins each call.
        begin: The guide of a call at its start.
        vocabulary: All tokens.
    """

    def __init__(self, marker: Marker, begin: Guide, vocabulary: Vocabulary) -> None:
        self.marker, self.begin, self.vocabulary = marker, begin, vocabulary
        self._found: dict[int, tuple[Int32, dict[int, int]]] = {}

    def of(self, state: int) -> tuple[Int32, dict[int, int]]:
        """Return the tokens that may follow.

        Args:
            state: The state of the marker.

        Returns:
            The tokens, end tokens too, ascending, int32, read-only; and of those that begin a call the fewest tokens
            after them.

        Raises:
            UsageError: There is no such state.
        """
        if state not in self._found:
            self._found[state] = self._find(state)
        return self._found[state]

    def within(self, state: int, room: int | None) -> Int32:
        """Return the tokens that may follow, behind which there is room for the call that they begin.

        Args:
            state: The state of the marker.
            room: The most tokens that may still be written; ``None``: any number.

        Returns:
            The tokens, end tokens too, ascending, int32.

        Raises:
            UsageError: There is no such state.
        """
        tokens, begins = self.of(state)
        if room is None:
            return tokens
        if room == 0:
            return np.array(sorted(self.vocabulary.end_token_ids), dtype=np.int32)
        late = [token for token, fewest in begins.items() if fewest > room - 1]
        return np.setdiff1d(tokens, late, assume_unique=True).astype(np.int32) if late else tokens

    @cached_property
    def first_bytes(self) -> NDArray[np.int16]:
        """The first byte of each token, int16 ``[vocabulary]``; -1: none."""
        texts = [
            self.marker.data if token == self.marker.token else data
            for token, data in enumerate(self.vocabulary.tokens)
        ]
        return np.array([text[0] if text else -1 for text in texts], dtype=np.int16)

    def _find(self, state: int) -> tuple[Int32, dict[int, int]]:
        vocabulary, marker = self.vocabulary, self.marker
        begins: dict[int, int] = {}
        for token in marker.completing(state, vocabulary.trie, vocabulary):
            after, used = marker.read(state, vocabulary.tokens[token] or b"")
            if after == len(marker.data):
                begins[token] = self._fewest((vocabulary.tokens[token] or b"")[used:])
        # A special token is no marker where one spelled out would end inside of what it stands for.
        if marker.token is not None and marker.read(state, marker.data)[1] == len(marker.data):
            begins[marker.token] = self._fewest(b"")
        refused = [token for token, fewest in begins.items() if fewest >= UNREACHABLE]
        every = np.concatenate([vocabulary.text_token_ids, vocabulary.end_token_ids, [*begins]]).astype(np.int32)
        tokens = np.setdiff1d(every, refused).astype(np.int32)
        tokens.setflags(write=False)
        return tokens, {token: fewest for token, fewest in begins.items() if fewest < UNREACHABLE}

    def _fewest(self, data: bytes) -> int:
        """The fewest tokens that must be left for a call which begins so; many if it cannot be completed.

        They are enough for a call from its start, too, where a token that begins it has some of it already.
        """
        guide = self.begin.fork()
        try:
            if data:
                guide.advance_bytes(data)
        except UsageError:
            return int(UNREACHABLE)
        return max(guide.tokens_left(), self.begin.tokens_left())
