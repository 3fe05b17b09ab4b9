"""Ways through the trie of tokens to where a part ends inside a token, and caches of results beside a source."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from sfgen.automata import Dfa
from sfgen.index.distance import UNREACHABLE, fewest_tokens
from sfgen.protocols import GuideSource, Int32, Mask
from sfgen.vocabulary import TokenTrie
from sfgen.weak_cache import kept_while_it_lives

Made = TypeVar("Made")


class TrieWays:
    """Ways through a trie to where a text ends inside a token. It can be shared between threads."""

    def __init__(self, trie: TokenTrie) -> None:
        self._trie = trie
        self._to: dict[frozenset[int], bytes] = {}

    def to(self, firsts: frozenset[int]) -> bytes:
        """Mark the nodes on the way to a token that has one of these bytes after its first one."""
        if firsts not in self._to:
            trie = self._trie
            is_one = np.isin(trie.bytes, list(firsts)) & (trie.depths > 1)
            # A node is below one of them where more subtrees of them have begun than have ended.
            begun = np.zeros(len(trie) + 1, dtype=np.int32)
            np.add.at(begun, np.flatnonzero(is_one), 1)
            np.add.at(begun, trie.subtree_ends[is_one], -1)
            has_one = np.cumsum(begun)[:-1] > 0
            self._to[firsts] = self._above(has_one & (np.diff(trie.token_starts) > 0)).tobytes()
        return self._to[firsts]

    def _above(self, marked: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Mark the nodes above a marked node."""
        before = np.concatenate([[0], np.cumsum(marked)])
        above: NDArray[np.bool_] = before[self._trie.subtree_ends] > before[:-1]
        return above

    def to_others(self, firsts: frozenset[int], known: Int32) -> bytes:
        """Mark the nodes on the way to a token that has one of these bytes after its first one, and is not known."""
        trie = self._trie
        is_other = np.ones(1 + max(int(trie.token_ids.max()), int(known.max())), dtype=np.bool_)
        is_other[known] = False
        before = np.concatenate([[0], np.cumsum(is_other[trie.token_ids])])[trie.token_starts]
        has_others = self._above(before[1:] > before[:-1])
        return (np.frombuffer(self.to(firsts), dtype=np.bool_) & has_others).tobytes()

    def exits(self, dfa: Dfa, state: int, firsts: frozenset[int], most: int) -> list[tuple[int, bytes, int]]:
        """Find nodes at which a text may end, above a byte with which the next one can begin; at most N.

        Args:
            dfa: The automaton of the text.
            state: Where a token begins.
            firsts: The bytes with which the next text can begin.
            most: N, the most nodes to find.

        Returns:
            Each node, the bytes up to there, and the state.
        """
        trie, ways = self._trie, self.to(firsts)
        target, classes, accepting = dfa.transitions.item, dfa.byte_classes.tolist(), dfa.accepting.tolist()
        states, path, node, found = [state], bytearray(), 0, list[tuple[int, bytes, int]]()
        labels, depths, ends = trie.bytes.tobytes(), trie.depths.item, trie.subtree_ends.item
        while node < len(labels) and len(found) < most:
            depth = depths(node)
            after = target(states[depth - 1], classes[labels[node]]) if ways[node] else -1
            if after < 0:
                node = ends(node)
                continue
            states[depth:], path[depth - 1 :] = [after], labels[node : node + 1]
            below, end = node + 1, ends(node)
            while accepting[after] and below < end:
                if labels[below] in firsts:
                    found.append((node, bytes(path), after))
                    break
                below = ends(below)
            node += 1
        return found


def spelled(text: bytes, trie: TokenTrie) -> int:
    """Count the fewest tokens that write a text by itself."""
    tokens = np.full(len(text) + 1, UNREACHABLE, dtype=np.int32)
    tokens[-1] = 0
    data = np.frombuffer(text, dtype=np.uint8)
    fewest_tokens(data, len(text), tokens, trie.bytes, trie.subtree_ends, trie.token_starts, trie.roots)
    return min(int(tokens[0]), int(UNREACHABLE))


@dataclass
class Kept:
    """A cache of results about the parts before one source; the last ones are kept, as long as the source lives."""

    found: dict[Hashable, Any] = field(default_factory=dict)
    masks: dict[tuple[int, bool], tuple[Int32, Mask]] = field(default_factory=dict)
    numbers: dict[Hashable, int] = field(default_factory=dict)
    count: Iterator[int] = field(default_factory=itertools.count)

    _MOST = 128

    def find(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """Return the value of a key; make it the first time."""
        made: Made | None = self.found.get(key)
        if made is None:
            made = make()
            if len(self.found) >= self._MOST:
                self.found.clear()
            self.found[key] = made
        return made

    def number(self, key: Hashable) -> int:
        """Return a number for a long key, which no other key has."""
        known = self.numbers.get(key)
        if known is None:
            if len(self.numbers) >= self._MOST:
                self.numbers.clear()
            known = self.numbers[key] = next(self.count)
        return known


@kept_while_it_lives
def _kept(source: GuideSource) -> Kept:
    return Kept()


def kept_of(source: GuideSource) -> Kept:
    """Return the cache of a source."""
    try:
        return _kept(source)
    except TypeError:  # it allows no weak reference
        return Kept()
