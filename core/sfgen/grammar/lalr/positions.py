"""A Lark grammar over one vocabulary: the masks of positions, and completions in tokens."""

from __future__ import annotations

import threading
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfgen.grammar.lalr.completion import LalrCompletion
from sfgen.grammar.lalr.distances import FAR
from sfgen.grammar.lalr.masks import LalrMasks, TokenEnds
from sfgen.grammar.lalr.read import LalrConfiguration, LalrPosition, LalrReader
from sfgen.grammar.shell.masks import TokenMask, cannot_be_written
from sfgen.grammar.shell.positions import Positions
from sfgen.index.guide import NO_TOKENS
from sfgen.index.mask_ids import packed, repeat_tokens
from sfgen.protocols import Int32, Mask, Tokens

_KEPT = 256
"""The most configurations whose ends of tokens are cached."""

_ENDLESS = FAR - 1
"""The value of ``room``, the tokens left, without a limit: more than any distance."""


class LalrPositions(Positions[LalrConfiguration]):
    """The tokens that each position of a Lark grammar allows; see ``Positions``."""

    _far = FAR

    def __init__(self, reader: LalrReader, vocabulary: Tokens) -> None:
        super().__init__(vocabulary)
        self.reader: LalrReader = reader
        self._masks = LalrMasks(reader, self.vocabulary)
        self._token_ends: dict[LalrConfiguration, TokenEnds] = {}
        self._lexer_state_of: dict[int, Int32] = {}
        self._lock = threading.Lock()
        # A grammar has a text, so only a vocabulary without some bytes can be unable to write one.
        if not self.has_all_bytes and self.distance(reader.start) >= FAR:
            raise cannot_be_written()

    @cached_property
    def _completion(self) -> LalrCompletion:
        return LalrCompletion(self.reader, self.vocabulary)

    # ---- masks -----------------------------------------------------------------------------------------------------

    def _mask_of(self, configuration: LalrConfiguration) -> TokenMask:
        return self._masks.of(*configuration)

    def _is_mask_made(self, configuration: LalrConfiguration) -> bool:
        return self._masks.is_made(*configuration) or configuration in self._token_ends

    def _joined(self, position: LalrPosition) -> Mask:
        if self.has_all_bytes:
            return super()._joined(position)
        # The masks assume all bytes, so the tokens that a text can be completed after are found as near a limit.
        return self._with_ends(position, NO_TOKENS) | self._fitting(position, None, _ENDLESS)

    def _suffices(self, position: LalrPosition, room: int) -> bool:
        return self.has_all_bytes and super()._suffices(position, room)

    # ---- near a limit ----------------------------------------------------------------------------------------------

    def _fitting(self, position: LalrPosition, plain: Mask | None, room: int) -> Mask:
        masks = [self._fitting_of(configuration, room) for configuration in position]
        return masks[0] if len(masks) == 1 else np.bitwise_or.reduce(masks)

    def _fitting_of(self, configuration: LalrConfiguration, room: int) -> Mask:
        """Return the text tokens of a configuration after which ``room`` tokens complete the text."""
        if self.has_all_bytes:
            plain = self._masks.of(*configuration)
            if plain.farthest <= room:
                return plain.mask
        ends = self._ends_of(configuration)
        lexer_state, node = configuration
        mask = self._inside(lexer_state, node, room)
        fits = np.zeros(len(ends.nodes), dtype=np.bool_)
        for each in np.unique(ends.nodes).tolist():
            where = np.flatnonzero(ends.nodes == each)
            fits[where] = self._which_fit(ends.lexer_states[where], each, room)
        mask |= packed(ends.tokens[fits[ends.place_of]], len(self.vocabulary))
        for gap in self.reader.commits(configuration):
            mask |= self._fitting_of(gap, room)
        return mask

    def _inside(self, lexer_state: int, node: int, room: int) -> Mask:
        """Return the fitting tokens that hand no terminal to the parser."""
        tokens = self._masks.lexeme_tokens(lexer_state)
        fits = self._which_fit(tokens.reached, node, room)
        class_of = self._masks.classes_of(tokens.reached)
        is_fitting = np.isin(self._masks.classes_of(tokens.lexer_states), class_of[fits])
        if not np.isin(class_of[~fits], class_of[fits]).any():  # all or none of each class
            mask: Mask = np.bitwise_or.reduce(tokens.masks[is_fitting], axis=0, initial=0).astype(np.uint32)
            repeat_tokens(mask, self.vocabulary.trie.repeated_tokens)
            return mask
        fits_in = np.zeros(len(self.reader.lexer.step) + 1, dtype=np.bool_)  # the last entry stands for ``NO_STATE``
        fits_in[tokens.reached] = fits
        fitting = np.flatnonzero(fits_in[self._lexer_states_of(lexer_state)]).astype(np.int32)
        return packed(fitting, len(self.vocabulary)).copy()

    def _which_fit(self, lexer_states: Int32, node: int, room: int) -> NDArray[np.bool_]:
        """Return whether ``room`` tokens complete the text from each lexer state, bool ``[len(lexer_states)]``."""
        distances = self.reader.to_end.of_many(lexer_states, node)
        fits: NDArray[np.bool_] = distances <= room
        for number in np.flatnonzero(~fits & (distances < FAR)).tolist():
            fits[number] = self.fits((LalrConfiguration(int(lexer_states[number]), node),), room)
        return fits

    def _ends_of(self, configuration: LalrConfiguration) -> TokenEnds:
        """Return the configurations after a configuration's tokens in which a terminal ends."""
        ends = self._token_ends.get(configuration)
        if ends is None:
            ends = self._masks.ends(*configuration)
            with self._lock:
                if len(self._token_ends) > _KEPT:
                    self._token_ends.clear()
                self._token_ends[configuration] = ends
        return ends

    def _lexer_states_of(self, lexer_state: int) -> Int32:
        states = self._lexer_state_of.get(lexer_state)
        if states is None:
            states = self._masks.lexer_state_of(lexer_state)
            with self._lock:
                if len(self._lexer_state_of) > _KEPT // 4:
                    self._lexer_state_of.clear()
                self._lexer_state_of[lexer_state] = states
        return states
