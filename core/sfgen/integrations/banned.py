"""Texts in which no banned word may be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from sfgen.ban import BannedWords, read_prompt
from sfgen.ban.forbidden_tokens import ForbiddenTokens
from sfgen.ban.matcher_states import COMPLETE
from sfgen.integrations.guided import end_tokens_only
from sfgen.integrations.state import Mask, Place, Stage
from sfgen.vocabulary import Vocabulary


class Banned:
    """The rule of a ban: no token completes a banned match.

    A token that is no text is none of its business, but where the end of the text would complete a match, it may not
    stand either: it could be an end token that only the caller of ``generate`` knows.

    Args:
        banned: What must not be written.
        vocabulary: The tokens.
        max_tokens: The tokens that a text may have, its end token not counted.
    """

    def __init__(self, banned: BannedWords, vocabulary: Vocabulary, max_tokens: int | None) -> None:
        self._vocabulary = vocabulary
        self._max_tokens = max_tokens
        self._forbidden = ForbiddenTokens(banned.automata, vocabulary.trie)
        self._end_tokens = frozenset(vocabulary.end_token_ids)

    def new_texts(self) -> None:
        """Forget the states of the texts before, if there are many."""
        if self._forbidden.is_full:
            self._forbidden.forget()

    def begin(self, prompt: Sequence[int]) -> Place:
        """The matcher behind the prompt."""
        return Place(self._forbidden, self._forbidden.begin(read_prompt(self._vocabulary, prompt)))

    def step(self, place: Place, token_id: int) -> Place:
        """The place after one more token. Behind an end token there may be more text, and it is watched as well."""
        if place.stage is Stage.STRAYED:
            return place.over(Stage.STRAYED)
        ended = token_id in self._end_tokens
        tokens = self._vocabulary.tokens
        data = tokens[token_id] if 0 <= token_id < len(tokens) and not ended else None
        state = place.state if data is None else self._forbidden.next_state(place.state, data)
        if state == COMPLETE:
            return place.over(Stage.STRAYED)
        return replace(place, state=state, taken=place.taken + 1, stage=Stage.ENDED if ended else place.stage)

    def mask(self, place: Place) -> Mask | None:
        """All but what completes a match; nothing but the end where the limit is reached."""
        if place.stage is Stage.STRAYED:
            return None
        left = 2 if self._max_tokens is None else min(2, self._max_tokens - place.taken)
        if left <= 0:
            return end_tokens_only(self._vocabulary)
        epoch = self._forbidden.epoch
        return Mask((id(epoch), place.state, left), epoch, partial(self._allowed, place.state, left == 1))

    def dead_end(self, place: Place) -> str:
        """Why nothing may follow."""
        if self._max_tokens is not None and place.taken >= self._max_tokens:
            return "the limit is reached, and the model has no end token of the vocabulary to say so"
        return "only banned text could follow"

    def _allowed(self, state: int, last: bool, width: int) -> NDArray[np.bool_]:
        tokens, end = self._forbidden.verdict(state, last=last)
        if not end:
            allowed = np.ones(width, dtype=np.bool_)
        else:
            allowed = np.zeros(width, dtype=np.bool_)
            text = self._vocabulary.text_token_ids
            allowed[text[text < width]] = True
        allowed[tokens[tokens < width]] = False
        return allowed
