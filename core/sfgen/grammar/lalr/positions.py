"""A Lark grammar over one vocabulary: the masks of positions, and the way to the end in tokens."""

from __future__ import annotations

import threading

import numpy as np
from numpy.typing import NDArray

from sfgen import arguments
from sfgen.grammar.lalr.completion import Completion
from sfgen.grammar.lalr.distances import FAR
from sfgen.grammar.lalr.masks import LalrMasks, TokenEnds
from sfgen.grammar.lalr.read import LalrConfiguration, LalrPosition, LalrReader
from sfgen.grammar.shell.masks import TooManyWays, cannot_be_written
from sfgen.index.mask_ids import TOKEN_IDS, packed, repeat_tokens
from sfgen.protocols import Int32, Mask, Tokens
from sfgen.vocabulary import Vocabulary

_KEPT = 1024
"""The cached masks of positions, and ends of tokens."""

_ENDLESS = FAR - 1
"""The room without a limit: more than any distance."""


class LalrPositions:
    """The tokens that each position allows. Immutable, lazy, safe to share between threads.

    A token is allowed if the grammar can read its bytes and the text can still be completed. In a vocabulary without
    some single bytes, a text counts as completable if it can be completed byte by byte.
    """

    def __init__(self, reader: LalrReader, vocabulary: Tokens) -> None:
        self.reader = reader
        self.vocabulary = arguments.instance("vocabulary", vocabulary, Vocabulary)
        self._masks = LalrMasks(reader, self.vocabulary)
        self._completion = Completion(reader, self.vocabulary)
        self._is_exact = bool(self.vocabulary.trie.single_bytes.all())
        self._kept: dict[tuple[LalrPosition, int], Mask] = {}
        self._ends_behind: dict[LalrConfiguration, TokenEnds] = {}
        self._lexer_state_of: dict[int, Int32] = {}
        self._lock = threading.Lock()
        if self.distance(reader.start) >= FAR:
            raise cannot_be_written()

    # ---- what may follow -------------------------------------------------------------------------------------------

    def mask(self, position: LalrPosition) -> Mask:
        """Return the token mask of a position without a limit, end tokens included; read-only."""
        if self._is_exact and len(position) == 1:
            try:
                return self._masks.of(*position[0]).mask
            except TooManyWays:
                pass
        return self._remembered(position, _ENDLESS)

    def bounded_mask(self, position: LalrPosition, room: int) -> Mask:
        """Return the token mask of a position with ``room`` tokens left."""
        if room == 0:
            return packed(np.array(self._ends(position), dtype=np.int32), len(self.vocabulary))
        return self._remembered(position, room - 1)

    def allowed_tokens(self, mask: Mask) -> Int32:
        """Return the token ids of a mask, ascending; read-only."""
        return TOKEN_IDS.of(mask)

    def is_made(self, position: LalrPosition) -> bool:
        """Tell whether the masks of all configurations of a position are cached."""
        return all(self._masks.is_made(*each) or each in self._ends_behind for each in position)

    def _remembered(self, position: LalrPosition, room: int) -> Mask:
        key = position, room
        joined = self._kept.get(key)
        if joined is None:
            masks = [self._fitting(configuration, room) for configuration in position]
            joined = masks[0]
            for mask in masks[1:]:
                joined = joined | mask
            if self.reader.accepts(position):
                joined = joined | packed(np.array(self._ends(position), dtype=np.int32), len(self.vocabulary))
            joined.setflags(write=False)
            with self._lock:
                if len(self._kept) > _KEPT:
                    self._kept.clear()
                joined = self._kept.setdefault(key, joined)
        return joined

    def _fitting(self, configuration: LalrConfiguration, room: int) -> Mask:
        """Return the text tokens of a configuration after which ``room`` tokens complete the text."""
        lexer_state, node = configuration
        try:
            if self._is_exact:
                plain = self._masks.of(*configuration)
                if room == _ENDLESS or plain.farthest <= room:
                    return plain.mask
            ends = self._ends_of(configuration)
        except TooManyWays:
            return self._one_by_one(configuration, room)
        mask = self._inside(lexer_state, node, room)
        fits = np.zeros(len(ends.nodes), dtype=np.bool_)
        for each in np.unique(ends.nodes).tolist():
            where = np.flatnonzero(ends.nodes == each)
            fits[where] = self._which_fit(ends.lexer_states[where], each, room)
        mask |= packed(ends.tokens[fits[ends.place_of]], len(self.vocabulary))
        for gap in self.reader.commits(configuration):
            mask |= self._fitting(gap, room)
        return mask

    def _inside(self, lexer_state: int, node: int, room: int) -> Mask:
        """Return the fitting tokens that hand no terminal to the parser."""
        tokens = self._masks.lexeme_tokens(lexer_state)
        fits = self._which_fit(tokens.reached, node, room)
        class_of = self._masks.classes_of(tokens.reached)
        is_wanted = np.isin(self._masks.classes_of(tokens.lexer_states), class_of[fits])
        if not np.isin(class_of[~fits], class_of[fits]).any():  # all or none of each class
            mask: Mask = np.bitwise_or.reduce(tokens.masks[is_wanted], axis=0, initial=0).astype(np.uint32)
            repeat_tokens(mask, self.vocabulary.trie.repeated_tokens)
            return mask
        leads_on = np.zeros(len(self.reader.lexer.step) + 1, dtype=np.bool_)  # the last entry stands for ``NO_STATE``
        leads_on[tokens.reached] = fits
        wanted = np.flatnonzero(leads_on[self._lexer_states_of(lexer_state)]).astype(np.int32)
        return packed(wanted, len(self.vocabulary)).copy()

    def _which_fit(self, lexer_states: Int32, node: int, room: int) -> NDArray[np.bool_]:
        """Tell from which lexer states ``room`` tokens complete the text, bool ``[len(lexer_states)]``."""
        distances = self.reader.to_end.of_many(lexer_states, node)
        fits: NDArray[np.bool_] = distances <= room
        for number in np.flatnonzero(~fits & (distances < FAR)).tolist():
            fits[number] = self._config_fits(LalrConfiguration(int(lexer_states[number]), node), room)
        return fits

    def _ends_of(self, configuration: LalrConfiguration) -> TokenEnds:
        """Return the configurations behind a configuration's tokens in which a terminal ends."""
        ends = self._ends_behind.get(configuration)
        if ends is None:
            ends = self._masks.ends(*configuration)
            with self._lock:
                if len(self._ends_behind) > _KEPT // 4:
                    self._ends_behind.clear()
                self._ends_behind[configuration] = ends
        return ends

    def _lexer_states_of(self, lexer_state: int) -> Int32:
        states = self._lexer_state_of.get(lexer_state)
        if states is None:
            states = self._masks.lexer_state_of(lexer_state)
            with self._lock:
                if len(self._lexer_state_of) > _KEPT // 16:
                    self._lexer_state_of.clear()
                self._lexer_state_of[lexer_state] = states
        return states

    def _one_by_one(self, configuration: LalrConfiguration, room: int) -> Mask:
        fitting = []
        for token in self.vocabulary.text_token_ids.tolist():
            after = self.reader.read((configuration,), self.vocabulary.tokens[token] or b"")
            if after is not None and self.fits(after, room):
                fitting.append(token)
        return packed(np.array(fitting, dtype=np.int32), len(self.vocabulary)).copy()

    def _ends(self, position: LalrPosition) -> tuple[int, ...]:
        """Return the end tokens if the text may end."""
        return tuple(self.vocabulary.end_token_ids) if self.reader.accepts(position) else ()

    # ---- the way to the end ----------------------------------------------------------------------------------------

    def distance(self, position: LalrPosition) -> int:
        """Return the fewest bytes to an end; ``FAR`` or more where there is no way."""
        return self.reader.distance(position)

    def fits(self, position: LalrPosition, room: int | None) -> bool:
        """Tell whether ``room`` tokens are enough to complete the text."""
        most = _ENDLESS if room is None else room
        return any(self._config_fits(configuration, most) for configuration in position)

    def _config_fits(self, configuration: LalrConfiguration, room: int) -> bool:
        distance = self.reader.to_end.of(*configuration)
        if distance <= room or distance >= FAR:
            return distance <= room
        return distance <= room * self.vocabulary.trie.max_depth and self.tokens_left((configuration,)) <= room

    def tokens_left(self, position: LalrPosition) -> int:
        """Return the fewest tokens of the shortest text to an end; see ``Completion.tokens_left``."""
        return self._completion.tokens_left(position)

    def shortest(self, position: LalrPosition) -> bytes:
        """Return the shortest text from a position to an end."""
        return self._completion.text(position)
