"""Texts that must match a pattern, and may have none of the banned words."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from sfgen.ban import BannedWords, read_prompt
from sfgen.ban.difference import without
from sfgen.errors import UsageError
from sfgen.index import Index
from sfgen.index.mask_ids import bits_of_row
from sfgen.integrations.state import Mask, Place, Stage
from sfgen.vocabulary import Vocabulary

_INDEXES_KEPT = 64


class Guided:
    """The rule of an index.

    Args:
        index: What a text must match.
        banned: What must not be in it.
        max_tokens: The tokens that it may have, its end token not counted.

    Raises:
        LimitTooSmall: No match can be written with ``max_tokens`` tokens.
    """

    def __init__(self, index: Index, banned: BannedWords | None, max_tokens: int | None) -> None:
        self._index = index
        self._banned = banned
        self._max_tokens = max_tokens
        self._end_tokens = frozenset(index.vocabulary.end_token_ids)
        self._clean: dict[Hashable, Index] = {}
        if max_tokens is not None:
            index.check_limit(max_tokens)

    def new_texts(self) -> None:
        """Nothing is kept of texts."""

    def begin(self, prompt: Sequence[int]) -> Place:
        """The start of the automaton, without the banned words that may follow this prompt.

        Raises:
            UsageError: They cannot be taken out.
            BannedWordsError: Nothing would be left.
            LimitTooSmall: No match that is left can be written within the limit.
        """
        return Place(self._index if self._banned is None else self._without(self._banned, prompt), 0)

    def step(self, place: Place, token_id: int) -> Place:
        """The place after one more token."""
        index, state = _index_of(place), place.state
        if place.stage is not Stage.OPEN:
            return place.over(place.stage)
        target = index.next_state(state, token_id)
        if target >= 0 and self._fits(index, target, place.taken + 1):
            return place.after(target)
        if token_id in self._end_tokens and index.is_accepting(state):
            return place.over(Stage.ENDED)
        if target < 0:
            index.check_refusal(state, token_id)
        return place.over(Stage.STRAYED)

    def mask(self, place: Place) -> Mask | None:
        """What the automaton allows; an end token behind the end."""
        index = _index_of(place)
        if place.stage is not Stage.OPEN:
            return end_tokens_only(index.vocabulary) if self._end_tokens else None
        if self._max_tokens is not None:
            left = self._max_tokens - place.taken
            if left <= index.longest_way:
                return Mask((id(index), place.state, left), index, partial(_within, index, place.state, left))
        row = index.row(place.state)
        return Mask(id(row), row, partial(_unpacked, row))

    def dead_end(self, place: Place) -> str:
        """Why nothing may follow."""
        if _index_of(place).is_accepting(place.state):
            return "the text is complete, and the model has no end token of the vocabulary to say so"
        return "the model has no score for any of the tokens that could follow"

    def _fits(self, index: Index, target: int, taken: int) -> bool:
        """Whether a match can still be completed in ``target``."""
        if self._max_tokens is None:
            return True
        left = self._max_tokens - taken
        return left >= index.longest_way or int(index.distance[target]) <= left

    def _without(self, banned: BannedWords, prompt: Sequence[int]) -> Index:
        data = read_prompt(self._index.vocabulary, prompt)
        start = banned.matcher(data).state
        index = self._clean.get(start)
        if index is None:
            dfa = without(self._index.dfa, banned, data)
            if dfa is None:
                raise UsageError(
                    "the banned words cannot be taken out of the pattern: the automaton would be too large, "
                    "the pattern matches what is no UTF-8, or the prompt ends inside a character",
                    hint="Ban fewer words, or use sfgen.generate, which can take tokens back.",
                )
            index = self._index if dfa is self._index.dfa else Index(dfa, self._index.vocabulary)
            if self._max_tokens is not None:
                index.check_limit(self._max_tokens)
            if len(self._clean) >= _INDEXES_KEPT:
                self._clean.clear()
            self._clean[start] = index
        return index


def end_tokens_only(vocabulary: Vocabulary) -> Mask:
    """The mask that allows the end tokens and nothing else."""
    return Mask("end", vocabulary, partial(_chosen, np.array(vocabulary.end_token_ids, dtype=np.int32)))


def _index_of(place: Place) -> Index:
    assert isinstance(place.source, Index)
    return place.source


def _chosen(token_ids: NDArray[np.int32], width: int) -> NDArray[np.bool_]:
    allowed = np.zeros(width, dtype=np.bool_)
    allowed[token_ids[token_ids < width]] = True
    return allowed


def _within(index: Index, state: int, left: int, width: int) -> NDArray[np.bool_]:
    return _unpacked(index.bounded_row(state, left), width)


def _unpacked(row: NDArray[np.uint32], width: int) -> NDArray[np.bool_]:
    """The bits of a packed row, as many as there are scores."""
    bits = bits_of_row(row)[:width]
    allowed = np.zeros(width, dtype=np.bool_)
    allowed[: len(bits)] = bits
    return allowed
