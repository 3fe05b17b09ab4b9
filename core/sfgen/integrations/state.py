"""Where a text stands in somebody else's loop, and what a loop asks of the rule that its texts must keep to."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from sfgen.errors import UsageError
from sfgen.protocols import Guide, Mask
from sfgen.vocabulary import Vocabulary


class Stage(Enum):
    """The stage of a text: open, ended, or strayed."""

    OPEN = "it goes on"
    ENDED = "it took an end token"
    STRAYED = "it took a token that was not allowed: something else stopped it, or it is a beam that has died"


@dataclass(frozen=True, slots=True)
class BatchRow:
    """A text in a row of a batch.

    Attributes:
        guide: Its position, as long as it has not strayed.
        stage: Its stage.
    """

    guide: Guide
    stage: Stage = Stage.OPEN

    def after(self, token_id: int, end_token_ids: Container[int]) -> BatchRow:
        """Read one token, moving the guide.

        Args:
            token_id: The token.
            end_token_ids: The end tokens.

        Returns:
            The row after it, with the same guide.
        """
        if self.stage is Stage.STRAYED:
            return self
        try:
            self.guide.advance(token_id)
        except UsageError:
            return BatchRow(self.guide, Stage.STRAYED)
        return BatchRow(self.guide, Stage.ENDED if token_id in end_token_ids else self.stage)


class Rule(Protocol):
    """What texts must keep to: a constraint, or a ban."""

    @property
    def vocabulary(self) -> Vocabulary:
        """The tokens."""

    def new_texts(self) -> None:
        """Begin new texts: no earlier guide is used again."""

    def guide(self, prompt: Sequence[int]) -> Guide:
        """Return a guide for the text after a prompt."""

    def mask(self, row: BatchRow) -> Mask | None:
        """Return the token mask of a row; ``None``: everything is allowed.

        A mask that is the same object is an equal mask.
        """

    def dead_end(self, guide: Guide) -> str:
        """Say in one line why nothing may follow."""
