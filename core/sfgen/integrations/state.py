"""The state of a text in another package's decode loop, and the interface of rules that give masks."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol, Self

from sfgen import arguments
from sfgen.errors import UsageError
from sfgen.protocols import Mask
from sfgen.vocabulary import Vocabulary


class Stage(Enum):
    """The stage of a text: open, ended, or strayed."""

    OPEN = "it goes on"
    ENDED = "it took an end token"
    STRAYED = "it took a token that was not allowed: something else stopped it, or it is a beam that has died"


class RowGuide(Protocol):
    """The part of a guide that a row needs; see ``sfgen.protocols.Guide``."""

    @property
    def is_accepting(self) -> bool:
        """Whether the text so far is complete."""

    def mask(self) -> Mask:
        """Return the token mask."""

    def advance(self, token_id: int) -> None:
        """Read a token; raise ``UsageError`` if it is not allowed."""

    def rollback(self, count: int) -> None:
        """Undo the last ``count`` steps."""

    def fork(self) -> Self:
        """Return an independent guide at the same position."""


@dataclass(frozen=True, slots=True)
class BatchRow:
    """A text in a row of a batch.

    Attributes:
        guide: Its guide, unless it has strayed.
        stage: Its stage.
    """

    guide: RowGuide
    stage: Stage = Stage.OPEN

    def after(self, token_id: int, end_token_ids: Container[int]) -> BatchRow:
        """Read one token, moving the guide."""
        if self.stage is Stage.STRAYED:
            return self
        try:
            self.guide.advance(token_id)
        except UsageError:
            return BatchRow(self.guide, Stage.STRAYED)
        return BatchRow(self.guide, Stage.ENDED if token_id in end_token_ids else self.stage)


class Rule(Protocol):
    """The rule of texts: a constraint, or a ban."""

    @property
    def vocabulary(self) -> Vocabulary:
        """The tokens."""

    def new_texts(self) -> None:
        """Begin new texts: no earlier guide is used again."""

    def guide(self, prompt: Sequence[int]) -> RowGuide:
        """Return a guide for the text after a prompt."""

    def mask(self, row: BatchRow) -> Mask | None:
        """Return the token mask of a row; ``None``: everything is allowed.

        The same object always means the same mask.
        """

    def dead_end(self, guide: RowGuide) -> str:
        """Say in one line why no token may follow."""


def refuse_healing(heal: object) -> None:
    """Refuse to heal a prompt in a logits processor.

    Its tokens are read before the first mask is made, and cannot be taken back.

    >>> refuse_healing(None), refuse_healing(False)
    (None, None)
    """
    if heal is not None and arguments.flag("heal", heal):
        raise UsageError(
            "heal cannot be used with a logits processor, which is called after the prompt was read",
            hint="Use sfgen.generate, or end the prompt at the end of a word, without white space.",
        )
