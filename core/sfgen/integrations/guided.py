"""Texts that must satisfy a constraint, and may have none of the banned words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfgen import arguments
from sfgen.ban import BannedWords, read_prompt
from sfgen.ban.difference import without_banned
from sfgen.errors import UsageError
from sfgen.index.mask_ids import packed
from sfgen.integrations.state import BatchRow, Stage
from sfgen.protocols import Guide, GuideSource, Mask
from sfgen.vocabulary import Vocabulary


def cannot_be_taken_out() -> UsageError:
    """Return the error for banned words that need rollback."""
    return UsageError(
        "the banned words cannot be taken out of the pattern: the automaton would be too large, the pattern "
        "matches what is no UTF-8, the prompt ends inside a character, or there is no automaton",
        hint="Ban fewer words, or use sfgen.generate, which can take tokens back.",
    )


class Guided:
    """The rule of an index, which is the source of its guides.

    Args:
        source: What a text must match.
        banned: What must not be in it; ``None``: nothing is banned.
        max_tokens: The most tokens of a text, without the end token; ``None``: any number.

    Raises:
        LimitTooSmall: No match can be written with ``max_tokens`` tokens.
    """

    def __init__(self, source: GuideSource, banned: BannedWords | None, max_tokens: int | None) -> None:
        self.vocabulary = arguments.instance("vocabulary", source.vocabulary, Vocabulary)
        self._source = source
        self._banned = banned
        self._max_tokens = max_tokens
        ends = np.array(self.vocabulary.end_token_ids, dtype=np.int32)
        self._ends = packed(ends, len(self.vocabulary)) if ends.size else None
        if max_tokens is not None:
            source.guide(max_tokens)  # an error now, and not at the first text

    def new_texts(self) -> None:
        """Do nothing: nothing is kept of texts."""

    def guide(self, prompt: Sequence[int]) -> Guide:
        """Return a guide without the banned words that may follow a prompt.

        Raises:
            UsageError: They cannot be taken out.
            BannedWordsError: Nothing would be left.
            LimitTooSmall: No match that is left can be written within the limit.
        """
        source = self._source if self._banned is None else self._without(self._banned, prompt)
        return source.guide(self._max_tokens)

    def _without(self, banned: BannedWords, prompt: Sequence[int]) -> GuideSource:
        """The source without the banned words that may follow a prompt."""
        source = without_banned(self._source, banned, read_prompt(self.vocabulary, prompt))
        if source is None:
            raise cannot_be_taken_out()
        return source

    def mask(self, row: BatchRow) -> Mask | None:
        """Return the token mask of a row; after its end, end tokens."""
        return row.guide.mask() if row.stage is Stage.OPEN else self._ends

    def dead_end(self, guide: Guide) -> str:
        """Say why nothing may follow."""
        if guide.is_accepting:
            return "the text is complete, and the model has no end token of the vocabulary to say so"
        return "the model has no score for any of the tokens that could follow"
