"""The tokens of the parts of a template: which may follow in each, and the fewest that complete it."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from sfgen.automata import Dfa
from sfgen.grammar.guide import GrammarGuide, PositionMasks, PositionReader
from sfgen.index import DfaIndex
from sfgen.index.distance import UNREACHABLE
from sfgen.index.fewest_tokens import fewest_tokens
from sfgen.index.guide import NO_TOKENS
from sfgen.protocols import Int32
from sfgen.template.parts import Constraint
from sfgen.template.reader import DfaReader
from sfgen.vocabulary import Vocabulary


class HoleTokens(Protocol):
    """Which tokens may follow in a hole, whatever stands behind it."""

    @property
    def reader(self) -> PositionReader[Any]:
        """Reads the text of the hole."""

    def within(self, position: Any) -> Int32:
        """Return the text tokens that stay in the hole, ascending."""

    def fitting(self, position: Any, room: int) -> Int32:
        """Return those tokens after which the hole can still be completed.

        Args:
            position: Where the reader of the hole stands.
            room: The most tokens that the hole may still take, this one counted.
        """

    def least(self, position: Any) -> int:
        """Return the fewest tokens to the end of the hole.

        It may be a bound above that falls by one with some token.
        """

    def rest(self, position: Any) -> bytes:
        """Return a shortest text to the end of the hole.

        After a byte of it, the answer is the rest of it.
        """

    @property
    def longest_rest(self) -> int | None:
        """The most bytes that ``rest`` can have; ``None``: any number."""


class DfaTokens:
    """Those of an automaton: a ``HoleTokens``.

    Args:
        index: Its index.
    """

    def __init__(self, index: DfaIndex) -> None:
        self.index = index
        self.reader = DfaReader(index.dfa)
        self._to_end, self._next = _shortest_ways(index.dfa)
        self.longest_rest: int | None = int(self._to_end.max())

    def within(self, position: int) -> Int32:
        """Return the text tokens that stay in the automaton."""
        return _text_tokens(self.index.allowed_tokens(position), self.index.vocabulary)

    def fitting(self, position: int, room: int) -> Int32:
        """Return those tokens after which ``room`` tokens are enough."""
        tokens = self.within(position)
        if room - 1 >= self.index.longest_way:
            return tokens
        fits = [self.index.distance[self.index.next_state(position, token)] < room for token in tokens.tolist()]
        return tokens[np.array(fits, dtype=np.bool_)]

    def least(self, position: int) -> int:
        """Return the fewest tokens to an accepting state."""
        return int(self.index.distance[position])

    def rest(self, position: int) -> bytes:
        """Return a shortest text to an accepting state."""
        text = bytearray()
        while self._to_end[position]:
            text.append(self._next[position])
            position = self.index.dfa.step(position, text[-1])
        return bytes(text)


class EngineTokens:
    """Those of a schema or a grammar: a ``HoleTokens``.

    Args:
        masks: Tells which tokens each position allows.
    """

    longest_rest: int | None = None

    def __init__(self, masks: PositionMasks[Any]) -> None:
        self._masks = masks
        self.reader = masks.reader

    def within(self, position: Any) -> Int32:
        """Return the text tokens that stay in the rules."""
        masks = self._masks
        if self.reader.is_final(position):
            return NO_TOKENS
        return _text_tokens(masks.allowed_tokens(masks.mask(position)), masks.vocabulary)

    def fitting(self, position: Any, room: int) -> Int32:
        """Return those tokens after which ``room`` tokens are enough."""
        masks = self._masks
        if room <= 0 or self.reader.is_final(position):
            return NO_TOKENS
        return _text_tokens(masks.allowed_tokens(masks.bounded_mask(position, room)), masks.vocabulary)

    def least(self, position: Any) -> int:
        """Return the fewest tokens to the end of the rules."""
        return self._masks.tokens_left(position)

    def rest(self, position: Any) -> bytes:
        """Return a shortest text to the end of the rules."""
        return self._masks.shortest(position)


def tokens_of_hole(constraint: Constraint, vocabulary: Vocabulary) -> HoleTokens:
    """Make the tokens of the constraint that fills a hole.

    Args:
        constraint: An automaton, a schema or a grammar.
        vocabulary: What writes it.

    Raises:
        DeadEnd: No tokens write any text.
    """
    if isinstance(constraint, Dfa):
        return DfaTokens(DfaIndex(constraint, vocabulary))
    guide = constraint.guide(vocabulary)
    assert isinstance(guide, GrammarGuide), "schemas and grammars have no other"
    return EngineTokens(guide.tokens)


class Spelling:
    """The fewest tokens that write texts, each text by itself.

    Args:
        vocabulary: The tokens.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._trie = vocabulary.trie
        self._known: dict[bytes, int] = {}

    def fewest(self, text: bytes) -> int:
        """Count the fewest tokens that write a text."""
        if text not in self._known:
            if len(self._known) > _MOST_KEPT:
                self._known.clear()
            self._known[text] = self._find(text)
        return self._known[text]

    def along(self, text: bytes) -> list[tuple[int, Int32]]:
        """List the tokens that a text begins with: byte length, and ids."""
        trie, found = self._trie, list[tuple[int, Int32]]()
        for length, node in enumerate(trie.along(text), 1):
            ids = trie.token_ids[trie.token_starts[node] : trie.token_starts[node + 1]]
            if ids.size:
                found.append((length, ids))
        return found

    def _find(self, text: bytes) -> int:
        trie = self._trie
        tokens = np.full(len(text) + 1, UNREACHABLE, dtype=np.int32)
        tokens[-1] = 0
        data = np.frombuffer(text, dtype=np.uint8)
        fewest_tokens(data, len(text), tokens, trie.bytes, trie.subtree_ends, trie.token_starts, trie.roots)
        return min(int(tokens[0]), int(UNREACHABLE))


_MOST_KEPT = 20_000


def _text_tokens(tokens: Int32, vocabulary: Vocabulary) -> Int32:
    """Tokens without those that end a text."""
    return tokens[~np.isin(tokens, vocabulary.end_token_ids)]


def _shortest_ways(dfa: Dfa) -> tuple[Any, list[int]]:
    """Of each state the bytes of a shortest text to the end, int64 ``[states]``, and the first byte of it."""
    targets = dfa.transitions[:, dfa.byte_classes]  # [states, 256]
    to_end = np.where(dfa.accepting, 0, len(dfa)).astype(np.int64)
    while True:
        behind = np.where(targets >= 0, to_end[targets], len(dfa)).min(axis=1)
        nearer = np.minimum(to_end, behind + 1)
        if (nearer == to_end).all():
            break
        to_end = nearer
    first = np.where(targets >= 0, to_end[targets], len(dfa)).argmin(axis=1)
    return to_end, first.tolist()
