"""A network over one vocabulary: the masks of positions, and the way to the end in tokens.

Distinct calls are what makes this more than a union of masks. Their texts must differ, and masks are cached without
texts; so doubtful tokens are checked one by one, and a limit of tokens must leave room for longer texts than the
shortest.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfgen import arguments
from sfgen.errors import TextTooLong
from sfgen.grammar.network.completion import Completion
from sfgen.grammar.network.distances import FAR, distances_of
from sfgen.grammar.network.masks import NetworkMasks, Places
from sfgen.grammar.network.network import Network
from sfgen.grammar.network.read import NetworkReader
from sfgen.grammar.network.registers.register import number_of
from sfgen.grammar.network.registers.repeated import RepeatedTexts, has_texts, without_text
from sfgen.grammar.network.stack import NetworkConfiguration, NetworkPosition
from sfgen.grammar.network.walk import ALONE, FIRST_GROUP
from sfgen.grammar.shell.masks import TokenMask, TooManyWays, cannot_be_written
from sfgen.grammar.shell.read import REFUSED, ReadByBytes
from sfgen.index.distance import LONGEST_TEXT, UNREACHABLE
from sfgen.index.mask_ids import TOKEN_IDS, packed
from sfgen.protocols import Int32, Mask, Tokens
from sfgen.vocabulary import Vocabulary

_KEPT = 1024  # cached masks of positions with several configurations or with texts

_FEW = 12  # tokens, which are read one by one

_KEPT_PLACES = 64
"""The positions near a limit whose places are cached."""


class NetworkPositions:
    """The tokens that each position of a network allows. Immutable, lazy, safe to share between threads.

    A token is allowed if the network can read its bytes and the text can still be completed. In a vocabulary without
    some single bytes, a text counts as completable if it can be completed byte by byte. If the single bytes write fewer
    distinct texts than the rules count on, it counts as completable if its shortest end can be written, and each token
    is tried.
    """

    def __init__(self, network: Network, vocabulary: Tokens) -> None:
        self.network = network
        self.vocabulary = arguments.instance("vocabulary", vocabulary, Vocabulary)
        if network.shortest >= FAR:
            raise TextTooLong(FAR, LONGEST_TEXT, is_exact=False)
        trie = self.vocabulary.trie
        self.has_all_bytes = bool(trie.single_bytes.all())
        distances = distances_of(network, None if self.has_all_bytes else trie.single_bytes)
        self._distances = distances
        self.reader = NetworkReader(network, distances, trie.max_depth)
        self._masks = NetworkMasks(network, self.vocabulary, distances)
        self._repeated = RepeatedTexts(network, self.vocabulary, distances)
        # Then neither distances nor cached masks decide, and each token is tried.
        self._may_fall_short = not self.has_all_bytes and self._repeated.may_fall_short(trie.single_bytes)
        self._kept: dict[NetworkPosition, Mask] = {}
        self._places: dict[NetworkPosition, Places] = {}
        self._lock = threading.Lock()
        if not self.fits(self.reader.start, None):
            raise cannot_be_written()

    @cached_property
    def _completion(self) -> Completion:
        """The way to the end, for those who ask: without a limit nobody does."""
        return Completion(self.network, self._distances, self.vocabulary)

    # ---- what may follow -------------------------------------------------------------------------------------------

    def mask(self, position: NetworkPosition) -> Mask:
        """Return the token mask of a position without a limit, end tokens included; read-only."""
        mask = self._kept.get(position)
        return self._unbounded(position, self._masks_of(position)) if mask is None else mask

    def _unbounded(self, position: NetworkPosition, masks: list[TokenMask] | None) -> Mask:
        """Return the mask of a position from the masks of its configurations."""
        if masks is None:
            return self._remembered(position, lambda: self._plain_mask(position))
        if len(masks) == 1 and not masks[0].doubts.size and not has_texts(position):
            return self._remembered(position, lambda: masks[0].mask)
        return self._remembered(position, lambda: self._joined(position, masks))

    def allowed_tokens(self, mask: Mask) -> Int32:
        """Return the token ids of a mask, ascending; read-only."""
        return TOKEN_IDS.of(mask)

    def is_made(self, position: NetworkPosition) -> bool:
        """Tell whether the masks of all configurations of a position are cached."""
        if self._may_fall_short or self._has_lost(position):
            return position in self._kept
        return position in self._kept or all(self._masks.is_made(self._canonical(each)) for each in position)

    def _masks_of(self, position: NetworkPosition) -> list[TokenMask] | None:
        """Return the masks of the configurations; ``None`` where each token must be tried."""
        if self._may_fall_short or self._has_lost(position):
            return None
        try:
            return [self._masks.of(self._canonical(configuration)) for configuration in position]
        except TooManyWays:
            return None

    def _has_lost(self, position: NetworkPosition) -> bool:
        """Tell whether single bytes complete no text of a configuration, so that it has no mask."""
        return not self.has_all_bytes and any(self.distance((each,)) >= FAR for each in position)

    def _canonical(self, configuration: NetworkConfiguration) -> NetworkConfiguration:
        """Return the configuration that stands for all with the same masks, texts not compared."""
        state, register, node = configuration
        return NetworkConfiguration(state, self.reader.stacks.canonical_register(state, register), node.canonical)

    def _remembered(self, position: NetworkPosition, make: Callable[[], Mask]) -> Mask:
        mask = self._kept.get(position)
        if mask is None:
            mask = make()
            mask.setflags(write=False)
            with self._lock:
                if len(self._kept) > _KEPT:
                    self._kept.clear()
                mask = self._kept.setdefault(position, mask)
        return mask

    def _joined(self, position: NetworkPosition, masks: list[TokenMask]) -> Mask:
        """Join masks; drop tokens that repeat a text of a distinct call, and ends right behind one."""
        mask = masks[0].mask
        if len(masks) > 1:
            mask = mask.copy()
            for more in masks[1:]:
                mask |= more.mask
        doubtful = self._repeated.among(position, [masked.doubts for masked in masks])
        repeated = self._refused(position, [token for token in doubtful if mask.item(token >> 5) >> (token & 31) & 1])
        ends = [token for token in self.vocabulary.end_token_ids if mask.item(token >> 5) >> (token & 31) & 1]
        if ends and not self.reader.accepts(position):
            repeated += ends
        if repeated and not mask.flags.writeable:
            mask = mask.copy()
        for token in repeated:
            mask[token >> 5] &= ~np.uint32(1 << (token & 31))
        return mask

    def _refused(self, position: NetworkPosition, tokens: list[int]) -> list[int]:
        """Return those of some tokens that cannot be read; of many, each beginning is read once."""
        if not tokens:
            return []
        texts = [self.vocabulary.tokens[token] or b"" for token in tokens]
        if len(tokens) < _FEW:
            return [
                token for token, data in zip(tokens, texts, strict=True) if self.reader.read(position, data) is None
            ]
        read = ReadByBytes(self.reader, position)
        return [token for token, data in zip(tokens, texts, strict=True) if read.after(data) == REFUSED]

    def _plain_mask(self, position: NetworkPosition) -> Mask:
        """Make a mask by trying each token."""
        fits = [
            token
            for token in self.vocabulary.text_token_ids.tolist()
            if (after := self.reader.read(position, self.vocabulary.tokens[token] or b"")) is not None
            and self.fits(after, None)
        ]
        return packed(np.array([*fits, *self._ends(position)], dtype=np.int32), len(self.vocabulary)).copy()

    def _ends(self, position: NetworkPosition) -> Sequence[int]:
        """Return the end tokens if the text may end."""
        return self.vocabulary.end_token_ids if self.reader.accepts(position) else ()

    # ---- the way to the end ----------------------------------------------------------------------------------------

    def distance(self, position: NetworkPosition) -> int:
        """Return the fewest bytes to an end, distinct texts not compared; ``FAR`` or more where there is no way."""
        return self.reader.stacks.distance(position)

    def tokens_left(self, position: NetworkPosition) -> int:
        """Return the fewest tokens of the shortest text to an end; ``UNREACHABLE`` where there is none."""
        return self._completion.tokens_left(position)

    def shortest(self, position: NetworkPosition) -> bytes:
        """Return the shortest text from a position to an end."""
        return self._completion.text(position)

    def fits(self, position: NetworkPosition, room: int | None) -> bool:
        """Tell whether ``room`` tokens are enough to complete the text."""
        if self._may_fall_short:
            left = self.tokens_left(position)
            return left < int(UNREACHABLE) and (room is None or left <= room)
        if room is None:
            if self.has_all_bytes:  # the reader refuses what leads to no end
                return True
            return any(self._distances.of(state, register) + node.distance < FAR for state, register, node in position)
        distance = self.distance(position)
        if distance <= room and distance + self._repeated.excess(position, distance) <= room:
            return True
        return distance <= room * self.vocabulary.trie.max_depth and self.tokens_left(position) <= room

    def bounded_mask(self, position: NetworkPosition, room: int) -> Mask:
        """Return the token mask of a position with ``room`` tokens left."""
        if room == 0:
            return packed(np.array(self._ends(position), dtype=np.int32), len(self.vocabulary))
        masks = self._masks_of(position)
        plain = self._unbounded(position, masks)
        if masks is None:
            return self._only(plain, self._one_by_one(position, self.vocabulary.text_token_ids, room - 1), position)
        # Each byte is a token, so no text takes more tokens than bytes.
        farthest = max(
            self.distance((configuration,)) + masked.farthest - self.distance((self._canonical(configuration),))
            for configuration, masked in zip(position, masks, strict=True)
        )
        if farthest <= room - 1 and farthest + self._repeated.excess(position, farthest) <= room - 1:
            return plain
        try:
            places = self._places_of(position)
        except TooManyWays:
            return self._only(plain, self._one_by_one(position, self.allowed_tokens(plain), room - 1), position)
        fits = [
            configuration is not None and self._configuration_fits(configuration, room - 1)
            for configuration in places.configurations
        ]
        alone = self._looked_at_alone(position, places)
        if not has_texts(position) and all(fits[FIRST_GROUP:]) and not alone.size:
            return plain
        tokens = np.flatnonzero(np.array(fits)[places.group_of])
        tokens = np.setdiff1d(tokens, alone, assume_unique=True) if alone.size else tokens
        return self._only(plain, np.append(tokens, self._one_by_one(position, alone, room - 1)), position)

    def _only(self, plain: Mask, tokens: NDArray[np.integer], position: NetworkPosition) -> Mask:
        """Return the part of a mask with some text tokens, and the end tokens; read-only."""
        mask: Mask = plain & packed(np.append(tokens, self._ends(position)).astype(np.int32), len(self.vocabulary))
        mask.setflags(write=False)
        return mask

    def _places_of(self, position: NetworkPosition) -> Places:
        """Return the places behind the tokens of a position; the last few are cached, as positions inside a text share
        them.
        """
        key = tuple([NetworkConfiguration(state, number_of(register), node) for state, register, node in position])
        places = self._places.get(key)
        if places is None:
            places = self._masks.places(position)
            with self._lock:
                if len(self._places) >= _KEPT_PLACES:
                    self._places.pop(next(iter(self._places)))
                self._places[key] = places
        return places

    def _configuration_fits(self, configuration: NetworkConfiguration, room: int) -> bool:
        """Tell whether ``room`` tokens complete the text from a place, distinct texts not compared."""
        return self.fits((without_text(configuration),), room)

    def _looked_at_alone(self, position: NetworkPosition, places: Places) -> Int32:
        """Return the tokens to check one by one: those without a single place, and those near distinct texts."""
        alone = places.group_of == ALONE
        if has_texts(position):
            alone = self._repeated.looked_at_alone(
                position, places.group_of, places.configurations,
                lambda: self._beginning_of_shortest(position), lambda each: self._completion.later_texts(each),
            )  # fmt: skip
        return np.flatnonzero(alone).astype(np.int32)

    def _beginning_of_shortest(self, position: NetworkPosition) -> bytes:
        """Return the shortest text to an end, as far as a token may reach; nothing if no limit is near."""
        try:
            return self.shortest(position)[: self.vocabulary.trie.max_depth]
        except TextTooLong:
            return b""

    def _one_by_one(self, position: NetworkPosition, tokens: Int32, room: int) -> Int32:
        """Return the tokens, of some, after which ``room`` tokens complete the text."""
        read = ReadByBytes(self.reader, position)
        known: dict[int, bool] = {REFUSED: False}
        fitting = []
        for token in tokens.tolist():
            number = read.after(self.vocabulary.tokens[token] or b"")
            if number not in known:
                known[number] = self.fits(read.positions[number], room)
            if known[number]:
                fitting.append(token)
        return np.array(fitting, dtype=np.int32)
