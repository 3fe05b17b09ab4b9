"""Where a text stands in somebody else's loop, and what must be known to go on with it."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class Stage(Enum):
    """How far a text has come."""

    OPEN = "it goes on"
    ENDED = "it took an end token"
    STRAYED = "it took a token that was not allowed: something else stopped it, or it is a beam that has died"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a text stands.

    Attributes:
        source: What the number of the state belongs to, such as an index.
        state: Its state.
        taken: The tokens that it has taken, those behind its end included.
        stage: How far it has come.
    """

    source: object
    state: int
    taken: int = 0
    stage: Stage = Stage.OPEN

    def after(self, state: int) -> Place:
        """One token later."""
        return replace(self, state=state, taken=self.taken + 1)

    def over(self, stage: Stage) -> Place:
        """One token later, which is none of the text."""
        return replace(self, stage=stage, taken=self.taken + 1)


@dataclass(frozen=True, slots=True)
class Mask:
    """Which tokens may follow a place.

    Attributes:
        key: Names the mask: equal keys are equal masks, for as long as ``held`` is kept.
        held: What must be kept so that nobody else gets the same key.
        allowed: Makes it: bool ``[width]``, for a number of scores ``width``.
    """

    key: Hashable
    held: object
    allowed: MakeMask


class MakeMask(Protocol):
    """Makes a mask for a number of scores."""

    def __call__(self, width: int) -> NDArray[np.bool_]:
        """Which tokens are allowed, bool ``[width]``."""


class Rule(Protocol):
    """What texts must keep to: a pattern, or a ban."""

    def new_texts(self) -> None:
        """No place that was there before will be asked about again."""

    def begin(self, prompt: Sequence[int]) -> Place:
        """The place behind a prompt."""

    def step(self, place: Place, token_id: int) -> Place:
        """The place after one more token."""

    def mask(self, place: Place) -> Mask | None:
        """What may follow; ``None``: everything may."""

    def dead_end(self, place: Place) -> str:
        """Why nothing may follow, in one line, where that is so."""
