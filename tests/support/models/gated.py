"""A scripted model that is as slow as a test wants."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence

from tests.support.models.scripted import ScoreOf, ScriptedModel

from sfgen import Vocabulary
from sfgen.errors import ModelError
from sfgen.protocols import Answer

PATIENCE = 20
"""Seconds after which a test gives up."""


class Gated(ScriptedModel):
    """A model whose forward passes wait until the test lets them happen, and are noted."""

    def __init__(self, vocabulary: Vocabulary, score: ScoreOf, is_open: bool = False) -> None:
        super().__init__(vocabulary, score)
        self.passes: list[dict[int, tuple[int, ...]]] = []
        self.read: dict[int, list[int]] = {}
        self.fault: Exception | None = None
        self._allowed = threading.Semaphore(0)
        self._is_open = is_open

    def batch(self, rows: int) -> Gated:
        self.read = {row: [] for row in range(rows)}
        return self

    def extend(self, rows: Mapping[int, Sequence[int]]) -> Mapping[int, Answer]:
        if not self._is_open:
            assert self._allowed.acquire(timeout=PATIENCE), "the test lets no pass happen"
        self.passes.append({row: tuple(ids) for row, ids in rows.items()})
        if self.fault is not None:
            fault, self.fault = self.fault, None
            raise fault
        return {row: self._answer(row, ids) for row, ids in rows.items()}

    def rewind(self, row: int, length: int) -> None:
        assert length <= len(self.read[row]), "rewound to a length that was never read"
        del self.read[row][length:]

    def allow(self, passes: int = 1) -> None:
        if passes:
            self._allowed.release(passes)

    def open(self) -> None:
        self._is_open = True
        self.allow(100)

    def _answer(self, row: int, ids: Sequence[int]) -> Answer:
        self.read[row] += ids
        try:
            return self.score(tuple(self.read[row]))
        except ModelError as error:
            return error
