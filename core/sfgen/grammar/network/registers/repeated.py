"""The tokens that may repeat a text of a distinct call, and the most bytes that differing texts add to a distance.

Masks are cached without texts. So tokens that may contain a text a second time are *doubtful* and read one by one, and
a limit of tokens must leave room for texts that are longer than the shortest.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from sfgen.automata.completions import spread
from sfgen.grammar.network.distances import RuleDistances
from sfgen.grammar.network.network import Network
from sfgen.grammar.network.registers.register import FAR, Seen, is_text, texts_in, texts_read
from sfgen.grammar.network.rules import Leaf
from sfgen.grammar.network.stack import NetworkConfiguration, NetworkPosition
from sfgen.index.guide import NO_TOKENS
from sfgen.protocols import Int32
from sfgen.vocabulary import Vocabulary

_Pieces = dict[int, frozenset[bytes] | None]

_pieces: WeakKeyDictionary[Vocabulary, dict[int, _Pieces]] = WeakKeyDictionary()
"""The pieces of tokens, by vocabulary and by the least length of a piece, for all grammars; see ``_pieces_of``."""

_KEPT_PIECES = 1 << 12
_UNKNOWN: Any = object()
"""In place of a result that was not computed."""

_NO_TEXT = b"\xff"
"""A register with which no text is equal: no text begins with this byte."""


class RepeatedTexts:
    """The tokens of one vocabulary that may repeat a text of a network. Safe to share between threads."""

    def __init__(self, network: Network, vocabulary: Vocabulary, distances: RuleDistances) -> None:
        self._vocabulary = vocabulary
        self._distinct = network.registers.distinct
        self._may_run_out = _may_run_out(network)
        self._has_narrow = _has_narrow(network)
        self._least = max(1, min((int(distances.base[entry]) for entry in self._distinct.leaves), default=1))
        self._pieces = _pieces.setdefault(vocabulary, {}).setdefault(self._least, {})
        self._spreads: dict[int, int] = {}

    def may_fall_short(self, usable: NDArray[np.bool_]) -> bool:
        """Return whether the usable bytes write fewer texts of a distinct call than the rules assume."""
        fewer = self._distinct.over(usable).completions
        return any(count and self._distinct.completions.get(state) != count for state, count in fewer.items())

    # ---- doubtful tokens ---------------------------------------------------------------------------------------------

    def among(self, position: NetworkPosition, doubts: Sequence[Int32]) -> list[int]:
        """Return the tokens that may repeat a text, given those that the kernels found doubtful."""
        doubtful = [each for each in doubts if each.size] + list(self._repeating_tokens(position))
        return self._doubtful(position, np.unique(np.concatenate(doubtful)).tolist() if doubtful else [])

    def _doubtful(self, position: NetworkPosition, tokens: list[int]) -> list[int]:
        """Return those of some tokens that may repeat a text of a distinct call.

        Outside of distinct calls these are tokens that contain a text read before, or the same bytes twice. Inside the
        first distinct call these are tokens that end its text and contain it again: they are longer than the part of
        the text that was read.
        """
        if self._has_narrow or not tokens:
            return tokens
        texts = frozenset[bytes]().union(*(texts_read(register) | node.texts for _, register, node in position))
        begun = [len(register) for _, register, _ in position if is_text(register)]
        if not begun:
            return [
                token for token in tokens if (pieces := self._pieces_of(token)) is None or not pieces.isdisjoint(texts)
            ]
        if texts:
            return tokens
        least = min(begun) + 2
        return [token for token in tokens if len(self._vocabulary.tokens[token] or b"") >= least]

    def _pieces_of(self, token: int) -> frozenset[bytes] | None:
        """Return the pieces of a token that are long enough for a distinct text; ``None`` if one occurs twice."""
        found: frozenset[bytes] | None = self._pieces.get(token, _UNKNOWN)
        if found is _UNKNOWN:
            data, least = self._vocabulary.tokens[token] or b"", self._least
            pieces = [data[start:end] for start in range(len(data)) for end in range(start + least, len(data) + 1)]
            is_twice = any(data.find(piece, data.find(piece) + len(piece)) >= 0 for piece in set(pieces))
            if len(self._pieces) >= _KEPT_PIECES:
                self._pieces.clear()
            found = self._pieces[token] = None if is_twice else frozenset(pieces)
        return found

    def _repeating_tokens(self, position: NetworkPosition) -> Iterator[Int32]:
        """Yield the tokens with which the open text of a distinct call may repeat an earlier text.

        These begin with the rest of an earlier text. If finitely many texts are possible, prefixes of such a rest are
        added, since all texts that begin so may have been read.
        """
        for rest in self._rests_of_others(position):
            yield self._tokens_beginning_with(rest)
            if self._distinct.completions:
                yield np.array(sorted(self._tokens_of_beginnings(rest)), dtype=np.int32)

    def _rests_of_others(self, position: NetworkPosition) -> Iterator[bytes]:
        """Yield the rest of each earlier text that begins with the open text."""
        for _, text, node in position:
            if is_text(text):
                for frame in node.frames:
                    for other in texts_read(frame.register):
                        if other.startswith(text):
                            yield other[len(text) :]

    def _rests_of_later(
        self, position: NetworkPosition, later_texts: Callable[[NetworkConfiguration], Collection[bytes]]
    ) -> Iterator[bytes]:
        """Yield the rests that would complete the open text to one that a later call needs for the shortest text."""
        for configuration in position:
            if is_text(configuration.register):
                for later in later_texts(configuration):
                    if later.startswith(configuration.register):
                        yield later[len(configuration.register) :]

    def _tokens_beginning_with(self, data: bytes) -> Int32:
        """Return the tokens that begin with some bytes."""
        trie = self._vocabulary.trie
        if not data:
            return trie.token_ids
        node = self._node_of(data)
        if node is None:
            return NO_TOKENS
        return trie.token_ids[trie.token_starts[node] : trie.token_starts[trie.subtree_ends[node]]]

    def _node_of(self, data: bytes) -> int | None:
        """Return the trie node of some bytes; ``None`` if no token begins with them."""
        trie = self._vocabulary.trie
        node, stop = 0, len(trie)
        for depth, byte in enumerate(data):
            node, stop = (int(trie.roots[byte]), int(trie.roots[byte + 1])) if depth == 0 else (node + 1, stop)
            while node < stop and trie.bytes[node] != byte:
                node = int(trie.subtree_ends[node])
            if node >= stop:
                return None
            stop = int(trie.subtree_ends[node])
        return node

    def _tokens_of_beginnings(self, data: bytes) -> set[int]:
        """Return the tokens that are prefixes of some bytes, or equal to them."""
        tokens = set[int]()
        for end in range(1, len(data) + 1):
            node = self._node_of(data[:end])
            if node is None:
                break
            trie = self._vocabulary.trie
            tokens |= set(trie.token_ids[trie.token_starts[node] : trie.token_starts[node + 1]].tolist())
        return tokens

    # ---- near a limit ------------------------------------------------------------------------------------------------

    def tried_alone(
        self,
        position: NetworkPosition,
        group_of: NDArray[np.uint16],
        configurations: Sequence[NetworkConfiguration | None],
        shortest: Callable[[], bytes],
        later_texts: Callable[[NetworkConfiguration], Collection[bytes]],
    ) -> NDArray[np.bool_]:
        """Return the tokens that must be checked one by one near a limit, bool ``[len(vocabulary)]``.

        ``group_of`` has the group of each token, ``configurations`` the configuration after each group. Inside a
        distinct text only tokens are checked that continue it as another text does, or as the shortest text does, so
        that there is always a way to the end within the limit.
        """
        # Tokens inside the rule keep its register, except the text of a name.
        nodes = {node for _, register, node in position if not isinstance(register, Seen)}
        inside = [each is not None and each.node in nodes for each in configurations]
        alone: NDArray[np.bool_] = (group_of > 0) & ~np.array(inside)[group_of]
        # Inside a text: the tokens that continue it as another text does.
        rests = [*self._rests_of_others(position), shortest(), *self._rests_of_later(position, later_texts)]
        for rest in rests:
            for token in self._tokens_of_beginnings(rest):
                alone[token] = group_of[token] > 0
        return alone

    def excess(self, position: NetworkPosition, distance: int) -> int:
        """Return the most bytes by which distinct texts can make the end farther away than a distance.

        Within ``n`` bytes at most ``n`` texts begin. If ``k`` texts were read or are needed, one of the ``k + 1``
        shortest texts is new. A token before them may read some more.
        """
        if not self._distinct.leaves:
            return 0
        if self._may_run_out:
            return FAR  # there is no bound: completions are computed exactly
        needed = distance + 1
        read = max(max(node.most_texts, texts_in(register)) for _, register, node in position)
        return needed * self._spread(read + needed + self._vocabulary.trie.max_depth)

    def _spread(self, number: int) -> int:
        """Return the most bytes by which the ``number`` shortest texts of a distinct call exceed the shortest."""
        number = 1 << number.bit_length()  # rounded up, so that few results are computed
        if number not in self._spreads:
            spreads = [
                spread(leaf.dfa, number) if isinstance(leaf, Leaf) else None for leaf in self._distinct.leaves.values()
            ]
            self._spreads[number] = FAR if None in spreads else max(each for each in spreads if each is not None)
        return self._spreads[number]


def has_texts(position: NetworkPosition) -> bool:
    """Return whether a register contains texts from which later texts must differ."""
    return any(node.most_texts or not isinstance(register, int) for _, register, node in position)


def without_text(configuration: NetworkConfiguration) -> NetworkConfiguration:
    """Replace an open text by one that equals no other text."""
    return configuration._replace(register=_NO_TEXT) if configuration.node.is_distinct else configuration


def _may_run_out(network: Network) -> bool:
    """Return whether the texts of one distinct call may run out while a rule has others, so that distances fail."""
    return any(
        (len(entries) > 1 or int(network.rule_of[state]) in network.registers.names_in)
        and not entries.isdisjoint(network.registers.distinct.completions)
        for state, sites in network.calls.items()
        if (entries := {site.entry for site in sites if site.is_distinct})
    )


def _has_narrow(network: Network) -> bool:
    """Return whether a token that contains no whole text of a distinct call may be doubtful."""
    completions = network.registers.distinct.completions
    ends = all(count == 1 and network.accepting[state] for state, count in completions.items())
    return not ends or network.registers.may_be_unseen
