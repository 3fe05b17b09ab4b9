"""Texts in which no banned word may be."""

from __future__ import annotations

import copy
from collections.abc import Sequence

import numpy as np

from sfgen.ban import BannedWords, read_prompt
from sfgen.ban.completing_tokens import ForbiddenTokens
from sfgen.ban.matcher_states import COMPLETE
from sfgen.errors import UsageError
from sfgen.index import BaseGuide
from sfgen.index.mask_ids import packed, tokens_of_row
from sfgen.integrations.masks import widest
from sfgen.integrations.state import BatchRow, RowGuide, Stage
from sfgen.protocols import Int32, Mask
from sfgen.vocabulary import Vocabulary

_BYTES_KEPT = 8 << 20


class Banned:
    """The rule of a ban: no token completes a banned match.

    A token that is not text is always allowed, except where the end of the text would complete a match: it could be an
    end token that only the caller of ``generate`` knows. Ids beyond the vocabulary are not text, so the masks reach as
    far as an output layer may.

    Args:
        banned: What must not be written.
        vocabulary: The tokens.
        max_tokens: The most tokens of a text, without the end token; ``None``: any number.
    """

    def __init__(self, banned: BannedWords, vocabulary: Vocabulary, max_tokens: int | None) -> None:
        self.vocabulary = vocabulary
        self.max_tokens = max_tokens
        self._width = widest(len(vocabulary))
        self._ends = packed(np.array(vocabulary.end_token_ids, dtype=np.int32), self._width)
        self._forbidden = ForbiddenTokens(banned.automata, vocabulary.trie)
        self._masks: dict[tuple[int, bool], Mask] = {}  # by state and whether the next token is the last

    def new_texts(self) -> None:
        """Forget the states of earlier texts, if there are many."""
        if self.is_full:
            self._forbidden.forget()
            self._masks.clear()

    @property
    def is_full(self) -> bool:
        """Whether its caches should be dropped between two texts."""
        return self._forbidden.is_full

    def limited(self, max_tokens: int | None) -> Banned:
        """Return the same rule with another token limit, sharing its caches."""
        twin = copy.copy(self)
        twin.max_tokens = max_tokens
        return twin

    def guide(self, prompt: Sequence[int]) -> BannedGuide:
        """Return a guide whose matcher has read the prompt."""
        return BannedGuide(self, self._forbidden.begin(read_prompt(self.vocabulary, prompt)))

    def mask(self, row: BatchRow) -> Mask | None:
        """Return the token mask of a row; ``None`` for one that strayed.

        After an end token there may be more text, and it is watched as well.
        """
        return None if row.stage is Stage.STRAYED else row.guide.mask()

    def dead_end(self, guide: RowGuide) -> str:
        """Say why nothing may follow."""
        if guide.mask() is self._ends:
            return "the limit is reached, and the model has no end token of the vocabulary to say so"
        return "only banned text could follow"

    # ---- for the guides --------------------------------------------------------------------------------------------

    def after(self, state: int, data: bytes) -> int | None:
        """Return the state of the matcher after some bytes.

        Args:
            state: The state before them.
            data: The bytes.

        Returns:
            ``None`` where a match is complete.
        """
        target = self._forbidden.next_state(state, data)
        return None if target == COMPLETE else target

    def may_end(self, state: int) -> bool:
        """Tell whether the text may end in a state."""
        return not self._forbidden.verdict(state).end

    def mask_of(self, state: int, room: int | None) -> Mask:
        """Return the token mask of a state.

        It is the same object for as long as it is cached.

        Args:
            state: The state of the matcher.
            room: The tokens that may still be written; ``None``: any number. Without room only end tokens are allowed.

        Returns:
            Uint32 ``[words]``, longer than the vocabulary.
        """
        if room is not None and room <= 0:
            return self._ends
        key = state, room == 1
        mask = self._masks.get(key)
        if mask is None:
            while len(self._masks) * self._ends.nbytes > _BYTES_KEPT:
                del self._masks[next(iter(self._masks))]
            mask = self._masks[key] = self._made(*key)
        return mask

    def _made(self, state: int, last: bool) -> Mask:
        tokens, end = self._forbidden.verdict(state, last=last)
        allowed = np.full(self._width, not end, dtype=np.bool_)
        allowed[self.vocabulary.text_token_ids] = True
        allowed[tokens] = False
        return packed(np.flatnonzero(allowed).astype(np.int32), self._width)


class BannedGuide(BaseGuide[int]):
    """A guide that watches one text for banned words.

    A position is the number of the matcher's state. It reads all tokens that complete no match, also those that its
    mask leaves out: another processor may have forced one, and what follows is to be watched. An end token need not be
    one for ``generate``, so there is no end.

    Args:
        rule: The ban.
        start: The state after the prompt.
    """

    def __init__(self, rule: Banned, start: int) -> None:
        self._rule = rule
        super().__init__(rule.vocabulary, start, rule.max_tokens)

    def _read(self, position: int, data: bytes) -> int | None:
        return self._rule.after(position, data)

    def _accepts(self, position: int) -> bool:
        return self._rule.may_end(position)

    def _number(self, position: int) -> int:
        return position

    def mask(self) -> Mask:
        """Return the token mask, uint32 ``[words]``, longer than the vocabulary.

        Ids beyond the vocabulary have bits as well, as tokens that are not text.
        """
        return self._rule.mask_of(self._positions[-1], self.room)

    def allowed_tokens(self) -> Int32:
        """Return the allowed tokens of the vocabulary, ascending, int32."""
        tokens = tokens_of_row(self.mask())
        return tokens[tokens < len(self.vocabulary)]

    def advance(self, token_id: int) -> None:
        """Read a token; one that is not text changes nothing.

        Raises:
            UsageError: It completes a banned match.
        """
        vocabulary, position = self.vocabulary, self._positions[-1]
        data = vocabulary.tokens[token_id] if 0 <= token_id < len(vocabulary) else None
        is_text = data is not None and token_id not in vocabulary.end_token_ids
        after = self._read(position, data) if data is not None and is_text else position
        if after is None:
            raise UsageError(f"token {token_id} completes a banned match")
        self._positions.append(after)
