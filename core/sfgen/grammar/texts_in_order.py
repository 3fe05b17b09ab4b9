"""The texts of a leaf in the order of their length, then of their bytes: found one by one, and kept."""

from __future__ import annotations

import heapq
import threading
from collections.abc import Collection, Sequence

from sfgen.grammar.distances import FAR, Distances
from sfgen.grammar.network import Network


class NoTextLeft(Exception):
    """Every text that must be distinct was read."""


class TextsInOrder:
    """The texts with some beginnings, the shortest first.

    They can be shared between threads.

    Args:
        network: The network of the leaf.
        distances: The fewest bytes to its ends.
        labels: The bytes that may be used, and their classes.
        begun: Beginnings of texts, and the states behind them.
    """

    def __init__(
        self,
        network: Network,
        distances: Distances,
        labels: Sequence[tuple[int, int]],
        begun: Sequence[tuple[bytes, int]],
    ) -> None:
        self._network = network
        self._distances = distances
        self._labels = labels
        self._found: list[bytes] = []
        self._waiting = [(len(text) + distances.of(state, 0), text, state) for text, state in begun]
        heapq.heapify(self._waiting)
        self._lock = threading.Lock()

    def first_beside(self, texts: Collection[bytes]) -> bytes:
        """Return the first text that is not among some others.

        Raises:
            NoTextLeft: There is none.
        """
        number = 0
        while True:
            with self._lock:
                while number >= len(self._found):
                    self._find()
            if self._found[number] not in texts:
                return self._found[number]
            number += 1

    def _find(self) -> None:
        """Take a step of the search."""
        if not self._waiting:
            raise NoTextLeft
        _, text, state = heapq.heappop(self._waiting)
        if self._network.accepting[state]:
            self._found.append(text)
        row = self._network.table[state].tolist()
        for byte, label in self._labels:  # all of them: bytes that are read alike make different texts
            if row[label] >= 0 and (left := self._distances.of(row[label], 0)) < FAR:
                heapq.heappush(self._waiting, (len(text) + 1 + left, text + bytes([byte]), row[label]))
