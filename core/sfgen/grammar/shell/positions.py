"""The tokens that each position allows: joined masks of configurations, and the part of them within a limit.

A limit is near if some token leads to a position whose end needs more tokens than are left. Mostly a bound shows at
once that no token leads there. Else an engine groups the tokens by the configuration after them, and each
configuration is checked once. Where a token has too many readings for that, tokens are read one by one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Generic, TypeVar

import numpy as np

from sfgen import arguments
from sfgen.grammar.shell.completion import Completion
from sfgen.grammar.shell.masks import KeptMasks, TokenMask, TooManyWays
from sfgen.grammar.shell.read import ByteReader, ReadByBytes
from sfgen.index.mask_ids import TOKEN_IDS, packed
from sfgen.protocols import Int32, Mask, Tokens
from sfgen.vocabulary import Vocabulary

_KEPT = 16 << 20
"""The most bytes of the cached masks of positions; as many for those near a limit."""

_NO_TOKENS: Int32 = np.empty(0, dtype=np.int32)

Configuration = TypeVar("Configuration", bound=tuple[object, ...])


class Positions(ABC, Generic[Configuration]):
    """The tokens that each position allows; see ``PositionMasks``. Immutable, lazy, safe to share between threads.

    A token is allowed if the grammar can read its bytes and the text can still be completed. Where the vocabulary lacks
    some single bytes, a text counts as completable if it can be completed byte by byte.

    Attributes:
        vocabulary: The tokens.
        has_all_bytes: Whether each byte is a token by itself, so that every text can be written.
    """

    reader: ByteReader[tuple[Configuration, ...]]
    """Reads bytes."""

    _far: int
    """The distance where there is no way to an end."""

    def __init__(self, vocabulary: Tokens) -> None:
        self.vocabulary = arguments.instance("vocabulary", vocabulary, Vocabulary)
        self.has_all_bytes = bool(self.vocabulary.trie.single_bytes.all())
        self._kept = KeptMasks[tuple[Configuration, ...], Mask](_KEPT)
        self._known = self._kept.known
        self._bounded = KeptMasks[tuple[tuple[Configuration, ...], int], Mask](_KEPT)

    # ---- implemented by an engine ------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def _completion(self) -> Completion[Configuration]:
        """The shortest completions."""

    @abstractmethod
    def _mask_of(self, configuration: Configuration) -> TokenMask:
        """Return the token mask of a configuration.

        Raises:
            TooManyWays: The tokens must be tried one by one.
        """

    @abstractmethod
    def _is_mask_made(self, configuration: Configuration) -> bool:
        """Return whether the mask of a configuration is cached."""

    @abstractmethod
    def _fitting(self, position: tuple[Configuration, ...], plain: Mask, room: int) -> Mask:
        """Return the text tokens of ``plain`` after which ``room`` tokens complete the text; other bits are ignored.

        Raises:
            TooManyWays: The tokens must be tried one by one.
        """

    def _checked(self, position: tuple[Configuration, ...], mask: Mask, masks: Sequence[TokenMask]) -> Mask:
        """Return the joined mask without the tokens that only a check of the whole position refuses."""
        return mask

    def _suffices(self, position: tuple[Configuration, ...], room: int) -> bool:
        """Return whether ``room`` tokens complete the text after every allowed token; false if it is unknown."""
        return all(self._mask_of(each).farthest <= room for each in position)

    def _excess(self, position: tuple[Configuration, ...], distance: int) -> int:
        """Return an upper bound of the bytes by which a text may be longer than a distance."""
        return 0

    def _can_end(self, position: tuple[Configuration, ...]) -> bool:
        """Return whether any number of tokens completes the text."""
        return self.distance(position) < self._far

    # ---- token masks -----------------------------------------------------------------------------------------------

    def mask(self, position: tuple[Configuration, ...]) -> Mask:
        """Return the token mask of a position without a limit, end tokens included; read-only."""
        try:
            return self._known[position]
        except KeyError:
            return self._make(position)

    def _make(self, position: tuple[Configuration, ...]) -> Mask:
        """Make the mask of a position."""
        try:
            mask = self._joined(position)
        except TooManyWays:
            mask = self._with_ends(position, self._one_by_one(position, self.vocabulary.text_token_ids, None))
        mask.setflags(write=False)
        return self._kept.keep(position, mask)

    def _joined(self, position: tuple[Configuration, ...]) -> Mask:
        """Join the masks of the configurations."""
        masks = [self._mask_of(configuration) for configuration in position]
        mask = masks[0].mask
        for more in masks[1:]:
            mask = mask | more.mask
        return self._checked(position, mask, masks)

    def bounded_mask(self, position: tuple[Configuration, ...], room: int) -> Mask:
        """Return the token mask of a position with ``room`` tokens left, end tokens not counted; read-only."""
        if room == 0:
            return self._with_ends(position, _NO_TOKENS)
        mask = self._bounded.get((position, room))
        if mask is None:
            mask = self._near_limit(position, self.mask(position), room - 1)
            mask = self._bounded.keep((position, room), mask)
        return mask

    def _near_limit(self, position: tuple[Configuration, ...], plain: Mask, room: int) -> Mask:
        """Restrict ``plain`` to its end tokens and those after which ``room`` tokens complete the text; read-only."""
        try:
            if self._suffices(position, room):
                return plain
            fitting = self._fitting(position, plain, room)
            if fitting is plain:
                return plain
        except TooManyWays:
            fitting = packed(self._one_by_one(position, TOKEN_IDS.of(plain), room), len(self.vocabulary))
        mask: Mask = plain & (fitting | self._with_ends(position, _NO_TOKENS))
        mask.setflags(write=False)
        return mask

    def _one_by_one(self, position: tuple[Configuration, ...], tokens: Int32, room: int | None) -> Int32:
        """Return those of some tokens after which ``room`` tokens complete the text, by reading each token."""
        read = ReadByBytes(self.reader, position)
        return read.fitting(tokens, self.vocabulary.tokens, lambda after: self.fits(after, room))

    def _with_ends(self, position: tuple[Configuration, ...], tokens: Int32) -> Mask:
        """Return a mask of some text tokens, with the end tokens if the text may end; read-only."""
        ends = self.vocabulary.end_token_ids if self.reader.accepts(position) else ()
        return packed(np.append(tokens, np.array(ends, dtype=np.int32)), len(self.vocabulary))

    def allowed_tokens(self, mask: Mask) -> Int32:
        """Return the token ids of a mask, ascending; read-only."""
        return TOKEN_IDS.of(mask)

    def is_made(self, position: tuple[Configuration, ...], room: int | None) -> bool:
        """Return whether the mask of a position, or those of its configurations, are cached; ``room`` is ignored."""
        return position in self._kept or all(map(self._is_mask_made, position))

    # ---- the way to the end ----------------------------------------------------------------------------------------

    def distance(self, position: tuple[Configuration, ...]) -> int:
        """Return the fewest bytes to an end."""
        return min(map(self._completion.distance, position))

    def fits(self, position: tuple[Configuration, ...], room: int | None) -> bool:
        """Return whether ``room`` tokens are enough to complete the text; ``None``: any number."""
        if room is None:
            return self.has_all_bytes or self._can_end(position)  # the reader refuses bytes that lead to no end
        distance = self.distance(position)
        if distance <= room and distance + self._excess(position, distance) <= room:
            return True
        return distance <= room * self.vocabulary.trie.max_depth and self.tokens_left(position) <= room

    def tokens_left(self, position: tuple[Configuration, ...]) -> int:
        """Return the fewest tokens of the shortest text to an end; ``UNREACHABLE`` where there is none."""
        return self._completion.tokens_left(position)

    def shortest(self, position: tuple[Configuration, ...]) -> bytes:
        """Return the shortest text from a position to an end."""
        return self._completion.text(position)
