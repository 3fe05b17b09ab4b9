"""A network over one vocabulary: the masks of positions, and the way to the end in tokens.

Without distinct calls the mask of a position is a union of cached masks. With them it is not: the texts of distinct
calls must differ, and masks are cached without texts. So doubtful tokens are checked one by one, and a limit of tokens
must leave room for texts that are longer than the shortest.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from sfgen.errors import TextTooLong
from sfgen.grammar.network.completion import NetworkCompletion
from sfgen.grammar.network.distances import FAR, distances_of
from sfgen.grammar.network.leaf_masks import by_byte
from sfgen.grammar.network.masks import NetworkMasks, TokenGroups
from sfgen.grammar.network.network import Network
from sfgen.grammar.network.read import NetworkReader
from sfgen.grammar.network.registers.register import number_of
from sfgen.grammar.network.registers.repeated import RepeatedTexts, has_texts, without_text
from sfgen.grammar.network.stack import NetworkConfiguration, NetworkPosition
from sfgen.grammar.network.walk import ALONE, FIRST_GROUP
from sfgen.grammar.shell.masks import TokenMask, TooManyWays, cannot_be_written, forbid
from sfgen.grammar.shell.positions import Positions
from sfgen.grammar.shell.read import REFUSED, ReadByBytes
from sfgen.index.distance import LONGEST_TEXT, UNREACHABLE
from sfgen.index.mask_ids import packed
from sfgen.protocols import Int32, Mask, Tokens

_FEW = 12  # fewer tokens than this are read without a cache of their prefixes

_KEPT_GROUPS = 64
"""The most positions near a limit whose groups of tokens are cached."""


class NetworkPositions(Positions[NetworkConfiguration]):
    """The tokens that each position of a network allows; see ``Positions``.

    If the single bytes can write fewer distinct texts than the rules assume, a text counts as completable if its
    shortest completion can be written, and each token is tried.
    """

    _far = FAR

    def __init__(self, network: Network, vocabulary: Tokens) -> None:
        super().__init__(vocabulary)
        self.network = network
        if network.shortest >= FAR:
            raise TextTooLong(FAR, LONGEST_TEXT, is_exact=False)
        trie = self.vocabulary.trie
        distances = distances_of(network, None if self.has_all_bytes else trie.single_bytes)
        self._distances = distances
        self.reader: NetworkReader = NetworkReader(network, distances, trie.max_depth)
        self._masks = NetworkMasks(network, self.vocabulary, distances)
        self._repeated = RepeatedTexts(network, self.vocabulary, distances)
        # If it is true, distances and cached masks are not exact, and each token is tried.
        self._may_fall_short = not self.has_all_bytes and self._repeated.may_fall_short(trie.single_bytes)
        self._groups: dict[NetworkPosition, TokenGroups] = {}
        self._lock = threading.Lock()
        if not self.fits(self.reader.start, None):
            raise cannot_be_written()

    @cached_property
    def _completion(self) -> NetworkCompletion:
        """The shortest completions, made at their first use: only a limit needs them."""
        return NetworkCompletion(self.network, self._distances, self.vocabulary)

    # ---- token masks -----------------------------------------------------------------------------------------------

    def _mask_of(self, configuration: NetworkConfiguration) -> TokenMask:
        if not self.has_all_bytes and (self._may_fall_short or self.distance((configuration,)) >= FAR):
            raise TooManyWays  # the single bytes complete no text from here, so there is no mask
        return self._masks.of(self._canonical(configuration))

    def _is_mask_made(self, configuration: NetworkConfiguration) -> bool:
        return self._masks.is_made(self._canonical(configuration))

    def _canonical(self, configuration: NetworkConfiguration) -> NetworkConfiguration:
        """Return one configuration for all that have the same mask, texts not compared."""
        state, register, node = configuration
        return NetworkConfiguration(state, self.reader.stacks.canonical_register(state, register), node.canonical)

    def _checked(self, position: NetworkPosition, mask: Mask, masks: Sequence[TokenMask]) -> Mask:
        """Drop the tokens, end tokens included, that repeat a text of a distinct call."""
        if not any(masked.doubts.size for masked in masks) and not has_texts(position):
            return mask
        doubtful = self._repeated.among(position, [masked.doubts for masked in masks])
        repeated = self._refused(position, [token for token in doubtful if mask.item(token >> 5) >> (token & 31) & 1])
        ends = [token for token in self.vocabulary.end_token_ids if mask.item(token >> 5) >> (token & 31) & 1]
        if ends and not self.reader.accepts(position):
            repeated += ends
        if repeated:
            mask = mask.copy()
            forbid(mask, repeated)
        return mask

    def _refused(self, position: NetworkPosition, tokens: list[int]) -> list[int]:
        """Return those of some tokens that cannot be read; if there are many, each prefix is read once."""
        if not tokens:
            return []
        texts = [self.vocabulary.tokens[token] or b"" for token in tokens]
        if len(tokens) < _FEW:
            return [
                token for token, data in zip(tokens, texts, strict=True) if self.reader.read(position, data) is None
            ]
        read = ReadByBytes(self.reader, position)
        return [token for token, data in zip(tokens, texts, strict=True) if read.after(data) == REFUSED]

    # ---- beyond the text -------------------------------------------------------------------------------------------

    def children_of_ends(self, position: NetworkPosition) -> Int32:
        """Return the children of the trie nodes at which the text may end inside a token.

        Distinct texts are not compared.

        Raises:
            TooManyWays: Each token must be tried.
        """
        found = list[Int32]()
        for configuration in position:
            self._mask_of(configuration)
            found.append(self._masks.children_of_ends(self._canonical(configuration)))
        return found[0] if len(found) == 1 else np.unique(np.concatenate(found)).astype(np.int32)

    def read_from(self, position: NetworkPosition, nodes: Int32) -> tuple[Mask, Int32]:
        """Continue to read at some trie nodes; return the tokens there, and the nodes as ``children_of_ends`` does."""
        return self._masks.read_from(list(position), by_byte(nodes, self.vocabulary.trie))

    @property
    def has_distinct(self) -> bool:
        """Whether some texts must differ, so that the text after a token must be checked again."""
        return bool(self.network.registers.distinct.leaves)

    # ---- the way to the end ----------------------------------------------------------------------------------------

    def distance(self, position: NetworkPosition) -> int:
        """Return the fewest bytes to an end, distinct texts not compared; ``FAR`` or more if there is no way."""
        return self.reader.stacks.distance(position)

    def _can_end(self, position: NetworkPosition) -> bool:
        return self.tokens_left(position) < int(UNREACHABLE) if self._may_fall_short else super()._can_end(position)

    def _excess(self, position: NetworkPosition, distance: int) -> int:
        return FAR if self._may_fall_short else self._repeated.excess(position, distance)

    def _suffices(self, position: NetworkPosition, room: int) -> bool:
        # Each byte is a token, so no text takes more tokens than bytes.
        farthest = max(
            self.distance((each,)) + self._mask_of(each).farthest - self.distance((self._canonical(each),))
            for each in position
        )
        return farthest <= room and farthest + self._excess(position, farthest) <= room

    def _fitting(self, position: NetworkPosition, plain: Mask, room: int) -> Mask:
        groups = self._groups_of(position)
        fits = [
            configuration is not None and self.fits((without_text(configuration),), room)  # texts are not compared
            for configuration in groups.configurations
        ]
        alone = self._tried_alone(position, groups)
        if not has_texts(position) and all(fits[FIRST_GROUP:]) and not alone.size:
            return plain
        tokens = np.flatnonzero(np.array(fits)[groups.group_of])
        tokens = np.setdiff1d(tokens, alone, assume_unique=True) if alone.size else tokens
        fitting = np.append(tokens, self._one_by_one(position, alone, room)).astype(np.int32)
        return packed(fitting, len(self.vocabulary))

    def _groups_of(self, position: NetworkPosition) -> TokenGroups:
        """Group the tokens of a position; some results are cached, as positions inside a text share them."""
        key = tuple([NetworkConfiguration(state, number_of(register), node) for state, register, node in position])
        groups = self._groups.get(key)
        if groups is None:
            groups = self._masks.groups(position)
            with self._lock:
                if len(self._groups) >= _KEPT_GROUPS:
                    self._groups.pop(next(iter(self._groups)))
                self._groups[key] = groups
        return groups

    def _tried_alone(self, position: NetworkPosition, groups: TokenGroups) -> Int32:
        """Return the tokens to check one by one: those in no group, and those that may repeat a distinct text."""
        alone = groups.group_of == ALONE
        if has_texts(position):
            alone = self._repeated.tried_alone(
                position, groups.group_of, groups.configurations,
                lambda: self._beginning_of_shortest(position), lambda each: self._completion.later_texts(each),
            )  # fmt: skip
        return np.flatnonzero(alone).astype(np.int32)

    def _beginning_of_shortest(self, position: NetworkPosition) -> bytes:
        """Return the beginning of the shortest text to an end, as long as a token; empty if no limit is near."""
        try:
            return self.shortest(position)[: self.vocabulary.trie.max_depth]
        except TextTooLong:
            return b""
