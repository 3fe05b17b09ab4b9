"""A network seen through a vocabulary: the masks of positions, and the way to the end in tokens."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from sfgen import arguments
from sfgen.automata.completions import spread
from sfgen.errors import DeadEnd, TextTooLong
from sfgen.grammar.any_order import NARROW, Seen, names_taken, texts_read
from sfgen.grammar.completion import Completion
from sfgen.grammar.distances import FAR, distances_of
from sfgen.grammar.masks import Masks, Places, TokenMask, TooManyWays
from sfgen.grammar.network import Network
from sfgen.grammar.read import REFUSED, ReadByBytes, Reader
from sfgen.grammar.rules import Leaf
from sfgen.grammar.stack import Configuration, Node, Position, texts_in
from sfgen.grammar.walk import ALONE, FIRST_GROUP
from sfgen.index.distance import UNREACHABLE
from sfgen.index.fewest_tokens import LONGEST_TEXT
from sfgen.index.guide import NO_TOKENS
from sfgen.index.mask_ids import TokenIds, packed
from sfgen.protocols import Int32, Mask, Tokens
from sfgen.vocabulary import Vocabulary

_KEPT = 1024  # masks of positions with several configurations, or with texts to be told apart

_NO_TEXT = b"\xff"
"""The beginning of no text: it stands for one that is not looked at."""

_KEPT_PLACES = 64
"""Positions near a limit whose tokens are kept by where they lead."""


class TokenPositions:
    """The tokens that each position of a network allows.

    It is immutable and lazy, and can be shared between threads.

    A token is allowed where the network can read its bytes and the text can still be completed. In a vocabulary that
    lacks some bytes as tokens by themselves, a text counts as completable if it can be completed byte by byte: what
    only longer tokens could complete is left out. Where the single bytes write fewer of the texts that must differ than
    the rules count on, it is completable if its shortest end can be written, and each token is tried.
    """

    def __init__(self, network: Network, vocabulary: Tokens) -> None:
        self.network = network
        self.vocabulary = arguments.instance("vocabulary", vocabulary, Vocabulary)
        trie = self.vocabulary.trie
        self.has_all_bytes = bool(trie.single_bytes.all())
        distances = distances_of(network, None if self.has_all_bytes else trie.single_bytes)
        self.reader = Reader(network, distances, trie.max_depth)
        self._masks = Masks(network, self.vocabulary, distances)
        self._completion = Completion(network, distances, self.vocabulary)
        # Then neither distances nor the masks that are kept tell what can be completed: each token is looked at.
        self._may_fall_short = not self.has_all_bytes and _may_fall_short(network, network.over(trie.single_bytes))
        self._ids = TokenIds()
        entries = sorted({site.entry for sites in network.calls.values() for site in sites if site.is_distinct})
        self._distinct = [network.leaves.get(entry) for entry in entries]
        self._may_run_out = _may_run_out(network)
        self._has_narrow = _has_narrow(network)
        self._least = max(1, min((int(distances.base[entry]) for entry in entries), default=1))
        self._pieces: dict[int, frozenset[bytes] | None] = {}
        self._spreads: dict[int, int] = {}
        self._kept: dict[Position, Mask] = {}
        self._places: dict[Position, Places] = {}
        self._lock = threading.Lock()
        if not self.fits(self.reader.start, None):
            by_all = distances if self.has_all_bytes else distances_of(network)
            if by_all.of(network.start, 0) >= FAR:
                raise TextTooLong(FAR, LONGEST_TEXT, is_exact=False)
            raise cannot_be_written()

    # ---- what may follow -------------------------------------------------------------------------------------------

    def mask(self, position: Position) -> Mask:
        """Return the token mask of a position, end tokens included; read-only.

        No limit of tokens counts.
        """
        return self._unbounded(position, self._masks_of(position))

    def _unbounded(self, position: Position, found: list[TokenMask] | None) -> Mask:
        """The mask of a position, from those of its configurations."""
        if found is None:
            return self._remembered(position, lambda: self._plain_mask(position))
        if len(found) == 1 and not found[0].doubts.size and not _has_texts(position):
            return found[0].mask
        return self._remembered(position, lambda: self._joined(position, found))

    def allowed_tokens(self, mask: Mask) -> Int32:
        """Return the token ids of a mask, ascending; read-only."""
        return self._ids.of(mask)

    def is_made(self, position: Position) -> bool:
        """Tell whether the masks of all a position's configurations are made."""
        if self._may_fall_short or self._has_lost(position):
            return position in self._kept
        return all(self._masks.is_made(*self._canonical(configuration)) for configuration in position)

    def _masks_of(self, position: Position) -> list[TokenMask] | None:
        """The masks of the configurations; ``None`` where each token must be tried, or is read in too many ways."""
        if self._may_fall_short or self._has_lost(position):
            return None
        try:
            return [self._masks.of(*self._canonical(configuration)) for configuration in position]
        except TooManyWays:
            return None

    def _has_lost(self, position: Position) -> bool:
        """Whether single bytes lead from a configuration to no end, so that it has no mask: longer tokens may do."""
        return not self.has_all_bytes and any(self.distance((each,)) >= FAR for each in position)

    def _canonical(self, configuration: Configuration) -> tuple[int, int, Node]:
        state, register, node = configuration
        return state, self.reader.stacks.canonical_register(state, register), node.canonical

    def _remembered(self, position: Position, make: Callable[[], Mask]) -> Mask:
        found = self._kept.get(position)
        if found is None:
            found = make()
            found.setflags(write=False)
            with self._lock:
                if len(self._kept) > _KEPT:
                    self._kept.clear()
                found = self._kept.setdefault(position, found)
        return found

    def _joined(self, position: Position, found: list[TokenMask]) -> Mask:
        """The union of masks, without tokens that repeat a text that must be distinct, and ends right behind one."""
        mask = found[0].mask
        if len(found) > 1:
            mask = mask.copy()
            for more in found[1:]:
                mask |= more.mask
        doubts = [masked.doubts for masked in found if masked.doubts.size] + list(self._repeating(position))
        repeated = [
            token
            for token in self._doubtful(position, np.unique(np.concatenate(doubts)).tolist() if doubts else [])
            if mask.item(token >> 5) >> (token & 31) & 1
            and self.reader.read(position, self.vocabulary.tokens[token] or b"") is None
        ]
        if not self.reader.accepts(position):
            repeated += [token for token in self.vocabulary.end_token_ids if mask.item(token >> 5) >> (token & 31) & 1]
        if repeated and not mask.flags.writeable:
            mask = mask.copy()
        for token in repeated:
            mask[token >> 5] &= ~np.uint32(1 << (token & 31))
        return mask

    def _doubtful(self, position: Position, tokens: list[int]) -> list[int]:
        """Of tokens with whole texts of distinct calls in them those by which one may be repeated.

        Between such texts, these are tokens with one in them that was read, or with the same bytes in them twice.
        """
        if self._has_narrow or any(isinstance(register, bytes) for _, register, _ in position):
            return tokens
        texts = frozenset[bytes]().union(*(texts_read(register) | node.texts for _, register, node in position))
        return [token for token in tokens if (pieces := self._pieces_of(token)) is None or not pieces.isdisjoint(texts)]

    def _pieces_of(self, token: int) -> frozenset[bytes] | None:
        """What is inside of a token and as long as a text of a distinct call; ``None`` if some of it is twice."""
        if token not in self._pieces:
            data, least = self.vocabulary.tokens[token] or b"", self._least
            pieces = [data[start:end] for start in range(len(data)) for end in range(start + least, len(data) + 1)]
            is_twice = any(data.find(piece, data.find(piece) + len(piece)) >= 0 for piece in set(pieces))
            self._pieces[token] = None if is_twice else frozenset(pieces)
        return self._pieces[token]

    def _repeating(self, position: Position) -> Iterator[Int32]:
        """The tokens by which a text that must be distinct may become one that was written before.

        They complete it; where few texts begin so, beginnings count too: all texts behind them may have been written.
        """
        for rest in self._rests_of_others(position):
            yield self._tokens_beginning_with(rest)
            if self.network.completions:
                yield np.array(sorted(self._tokens_of_beginnings(rest)), dtype=np.int32)

    def _rests_of_others(self, position: Position) -> Iterator[bytes]:
        """How the texts go on that begin as the one at a position does, from which it must differ."""
        for _, text, node in position:
            if isinstance(text, bytes):
                for frame in node.frames:
                    for other in texts_read(frame.register):
                        if other.startswith(text):
                            yield other[len(text) :]

    def _rests_of_later(self, position: Position) -> Iterator[bytes]:
        """How the text at a position goes on to be one that is needed later, where that is the shortest new one."""
        for configuration in position:
            if isinstance(configuration.register, bytes):
                for later in self._completion.later_texts(configuration):
                    if later.startswith(configuration.register):
                        yield later[len(configuration.register) :]

    def _tokens_beginning_with(self, data: bytes) -> Int32:
        """The tokens that begin with some bytes."""
        trie = self.vocabulary.trie
        if not data:
            return trie.token_ids
        node = self._node_of(data)
        if node is None:
            return NO_TOKENS
        return trie.token_ids[trie.token_starts[node] : trie.token_starts[trie.subtree_ends[node]]]

    def _node_of(self, data: bytes) -> int | None:
        """The trie node of some bytes; ``None`` if no token begins with them."""
        trie = self.vocabulary.trie
        node, stop = 0, len(trie)
        for depth, byte in enumerate(data):
            node, stop = (int(trie.roots[byte]), int(trie.roots[byte + 1])) if depth == 0 else (node + 1, stop)
            while node < stop and trie.bytes[node] != byte:
                node = int(trie.subtree_ends[node])
            if node >= stop:
                return None
            stop = int(trie.subtree_ends[node])
        return node

    def _plain_mask(self, position: Position) -> Mask:
        """The mask by trying each token."""
        fits = [
            token
            for token in self.vocabulary.text_token_ids.tolist()
            if (after := self.reader.read(position, self.vocabulary.tokens[token] or b"")) is not None
            and self.fits(after, None)
        ]
        return packed(np.array([*fits, *self._ends(position)], dtype=np.int32), len(self.vocabulary)).copy()

    def _ends(self, position: Position) -> Sequence[int]:
        """The end tokens where the text may end."""
        return self.vocabulary.end_token_ids if self.reader.accepts(position) else ()

    # ---- the way to the end ----------------------------------------------------------------------------------------

    def distance(self, position: Position) -> int:
        """Return the fewest bytes from a position to an end.

        It is ``FAR`` or more where there is no way. Texts that must be distinct are not compared.
        """
        return self.reader.stacks.distance(position)

    def tokens_left(self, position: Position) -> int:
        """Count the fewest tokens of the shortest text to an end.

        It is ``UNREACHABLE`` where there is none.
        """
        return self._completion.tokens_left(position)

    def shortest(self, position: Position) -> bytes:
        """Return the shortest text from a position to an end."""
        return self._completion.text(position)

    def fits(self, position: Position, room: int | None) -> bool:
        """Tell whether ``room`` tokens are enough to complete the text."""
        if self._may_fall_short:
            left = self.tokens_left(position)
            return left < int(UNREACHABLE) and (room is None or left <= room)
        distance = self.distance(position)
        if room is None:
            return distance < FAR
        if distance <= room and distance + self._excess(position, distance) <= room:
            return True
        return distance <= room * self.vocabulary.trie.max_depth and self.tokens_left(position) <= room

    def _excess(self, position: Position, distance: int) -> int:
        """The bytes that the end may be farther away than a distance, since texts must differ from those before.

        That many texts are still needed at most as are as long as the distance together. Of each of them one of the
        shortest is new: of one more than were read and are needed. A token that comes first reads some more.
        """
        if not self._distinct:
            return 0
        if self._may_run_out:
            return FAR  # nothing bounds it: each look is an exact one then
        needed = distance + 1
        read = max(max(node.remembers, texts_in(register)) for _, register, node in position)
        return needed * self._spread(read + needed + self.vocabulary.trie.max_depth)

    def _spread(self, number: int) -> int:
        """The bytes by which the number-th shortest text of a distinct call may be longer than the shortest."""
        number = 1 << number.bit_length()  # not for every number
        if number not in self._spreads:
            found = [spread(leaf.dfa, number) if isinstance(leaf, Leaf) else None for leaf in self._distinct]
            self._spreads[number] = FAR if None in found else max(each for each in found if each is not None)
        return self._spreads[number]

    def bounded_mask(self, position: Position, room: int) -> Mask:
        """Return the token mask of a position under a limit."""
        if room == 0:
            return packed(np.array(self._ends(position), dtype=np.int32), len(self.vocabulary))
        found = self._masks_of(position)
        plain = self._unbounded(position, found)
        if found is None:
            return self._only(plain, self._one_by_one(position, self.vocabulary.text_token_ids, room - 1), position)
        # By bytes: each is a token, so that no text takes more tokens than bytes.
        farthest = max(
            self.distance((configuration,)) + masked.growth
            for configuration, masked in zip(position, found, strict=True)
        )
        if farthest <= room - 1 and farthest + self._excess(position, farthest) <= room - 1:
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
        if not _has_texts(position) and all(fits[FIRST_GROUP:]) and not alone.size:
            return plain
        tokens = np.flatnonzero(np.array(fits)[places.group_of])
        tokens = np.setdiff1d(tokens, alone, assume_unique=True) if alone.size else tokens
        return self._only(plain, np.append(tokens, self._one_by_one(position, alone, room - 1)), position)

    def _only(self, plain: Mask, tokens: NDArray[np.integer], position: Position) -> Mask:
        """Of a mask only these tokens, and the end tokens; read-only."""
        mask: Mask = plain & packed(np.append(tokens, self._ends(position)).astype(np.int32), len(self.vocabulary))
        mask.setflags(write=False)
        return mask

    def _places_of(self, position: Position) -> Places:
        """Where tokens lead from a position; the last few are kept: within a text it is mostly the same one."""
        key = tuple([Configuration(state, names_taken(register), node) for state, register, node in position])
        found = self._places.get(key)
        if found is None:
            found = self._masks.places(position)
            with self._lock:
                if len(self._places) >= _KEPT_PLACES:
                    self._places.pop(next(iter(self._places)))
                self._places[key] = found
        return found

    def _configuration_fits(self, configuration: Configuration, room: int) -> bool:
        """Whether the text can be completed from where some tokens lead; without a look at texts that must differ."""
        if configuration.node.is_distinct:
            configuration = configuration._replace(register=_NO_TEXT)
        return self.fits((configuration,), room)

    def _looked_at_alone(self, position: Position, places: Places) -> Int32:
        """The tokens that are looked at one by one: those that lead elsewhere each, and where texts must differ.

        Inside of such a text most tokens are alike: only those matter that go on as another text does. The shortest
        text is looked at exactly, so that there is always a way to the end within the limit.
        """
        group_of = places.group_of
        alone = group_of == ALONE
        if _has_texts(position):
            # Tokens that do not leave the rule keep its register, but for the text of a name.
            nodes = {node for _, register, node in position if not isinstance(register, Seen)}
            inside = [place is not None and place.node in nodes for place in places.configurations]
            alone = (group_of > 0) & ~np.array(inside)[group_of]
            # Inside of a text, what goes on as another one does.
            rests = [*self._rests_of_others(position)]
            with suppress(TextTooLong):  # then no limit is near
                rests.append(self.shortest(position)[: self.vocabulary.trie.max_depth])
            rests += self._rests_of_later(position)
            for rest in rests:
                for token in self._tokens_of_beginnings(rest):
                    alone[token] = group_of[token] > 0
        return np.flatnonzero(alone).astype(np.int32)

    def _tokens_of_beginnings(self, data: bytes) -> set[int]:
        """The tokens that are the beginning of some bytes, the whole included."""
        found = set[int]()
        for end in range(1, len(data) + 1):
            node = self._node_of(data[:end])
            if node is None:
                break
            trie = self.vocabulary.trie
            found |= set(trie.token_ids[trie.token_starts[node] : trie.token_starts[node + 1]].tolist())
        return found

    def _one_by_one(self, position: Position, tokens: Int32, room: int) -> Int32:
        """Of some tokens those after which the text can be completed."""
        read = ReadByBytes(self.reader, position)
        known: dict[int, bool] = {REFUSED: False}
        found = []
        for token in tokens.tolist():
            number = read.after(self.vocabulary.tokens[token] or b"")
            if number not in known:
                known[number] = self.fits(read.positions[number], room)
            if known[number]:
                found.append(token)
        return np.array(found, dtype=np.int32)


def cannot_be_written() -> DeadEnd:
    """Make the error of a grammar that a vocabulary cannot write."""
    return DeadEnd(
        "no sequence of tokens of this vocabulary writes a text of the grammar",
        hint="Use a model whose tokenizer can write every byte.",
    )


def _may_run_out(network: Network) -> bool:
    """Whether texts that run out stand beside others, so that the shortest way to the end may be none in the end."""
    return any(
        (len(entries) > 1 or int(network.rule_of[state]) in network.names_in)
        and not entries.isdisjoint(network.completions)
        for state, sites in network.calls.items()
        if (entries := {site.entry for site in sites if site.is_distinct})
    )


def _may_fall_short(network: Network, usable: Network) -> bool:
    """Whether fewer texts of a distinct call are left than the rules count on, since some bytes cannot be used."""
    return any(count and network.completions.get(state) != count for state, count in usable.completions.items())


def _has_narrow(network: Network) -> bool:
    """Whether a token may be doubtful that has no whole text of a distinct call in it."""
    ends = all(count == 1 and network.accepting[state] for state, count in network.completions.items())
    return not ends or any(names.size > NARROW for names in network.names_in.values())


def _has_texts(position: Position) -> bool:
    """Whether there are texts from which others must differ."""
    return any(node.remembers or not isinstance(register, int) for _, register, node in position)
