"""Token masks inside a leaf: the tokens that an automaton reads, and the exits, where it may end inside a token.

Masks are made and cached as those of a pattern are (see ``sfgen.index.mask_store``). If only one byte can end the
automaton, such as a closing quote, exits are searched among the trie nodes that have this byte on them or below. The
masks of the leaves that were used last are cached with the vocabulary, for all grammars with the same leaf.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from functools import cached_property
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from sfgen.automata import Dfa
from sfgen.grammar.network.registers.counts import CountedMasks
from sfgen.grammar.network.rules import CountedText, Leaf
from sfgen.index.mask_store import MaskStore
from sfgen.kernels import Flags, Int, Int32s, Int32sOut, Int32Table, Int64sOut, UInt8s, kernel
from sfgen.protocols import Int32, Mask
from sfgen.vocabulary import TokenTrie, Vocabulary
from sfgen.vocabulary.trie import leading_to
from sfgen.weak_cache import kept_with_it


class WalkNodes(NamedTuple):
    """Trie nodes at which a walk begins, such as the children of exits."""

    nodes: Int32  # ordered by byte
    byte_ends: NDArray[np.int64]  # the end of the nodes of each byte in ``nodes``, int64 ``[256]``


class LocalMask(NamedTuple):
    """The tokens that stay inside a rule.

    Attributes:
        mask: The tokens, uint32 ``[words]``; read-only.
        exit_children: The children of the exits; the caller continues to read there.
        doubts: The doubtful tokens, which contain a whole text of a distinct call, ascending, int32.
        farthest: The greatest distance from the end of the rule after one of the tokens, in bytes; -1 without tokens.
        doubtful_exits: Whether an exit comes after a whole text of a distinct call.
    """

    mask: Mask
    exit_children: WalkNodes
    doubts: Int32
    farthest: int
    doubtful_exits: bool = False

    @property
    def nbytes(self) -> int:
        """The bytes of the mask."""
        return self.mask.nbytes


class LeafMasks:
    """The masks of one leaf over one vocabulary. Safe to share between threads.

    ``goal`` marks the states in which a token may end, bool ``[states]``; ``None`` for all.
    """

    def __init__(self, dfa: Dfa, vocabulary: Vocabulary, goal: NDArray[np.bool_] | None) -> None:
        self._dfa = dfa
        self._vocabulary = vocabulary
        self._has_all_goals = goal is None
        self._store = MaskStore(dfa, vocabulary, goal, with_ends=False)
        self._known_exits: dict[int, Int32] = {}
        self._known_children: dict[int, WalkNodes] = {}

    @cached_property
    def closing_byte(self) -> int | None:
        """The only byte that leads to an accepting state; ``None`` if there are several, or the start accepts."""
        dfa = self._dfa
        if dfa.accepting[0]:
            return None
        accepts = np.append(dfa.accepting, False)[dfa.transitions]  # the last entry stands for -1
        closing = np.flatnonzero(np.any(accepts, axis=0)[dfa.byte_classes])
        return int(closing[0]) if len(closing) == 1 else None

    @cached_property
    def _closing_nodes(self) -> tuple[Int32, Int32]:
        assert self.closing_byte is not None
        return _nodes_with(self._vocabulary.trie, self.closing_byte)

    def mask(self, state: int) -> tuple[Mask, Int32]:
        """Return the tokens that stay in the leaf (read-only) and the exits (trie nodes, int32); counts are ignored."""
        exits = self._known_exits.get(state)
        if exits is None:
            nothing = np.zeros(len(self._dfa), dtype=np.bool_)
            exits = self._exits(state, nothing)[0]
            if len(self._known_exits) >= _STATES:
                self._known_exits.clear()
                self._known_children.clear()
            self._known_exits[state] = exits
        return self._store.made(state)[0], exits

    def local(self, state: int) -> tuple[Mask, WalkNodes]:
        """Return the tokens that stay in the leaf (read-only) and the children of the exits; counts are ignored."""
        mask, exits = self.mask(state)
        after = self._known_children.get(state)
        if after is None:
            after = self._known_children[state] = children_of(exits, self._vocabulary.trie)
        return mask, after

    @cached_property
    def counted(self) -> CountedMasks:
        """The masks of counted texts with this automaton."""
        return CountedMasks(self._dfa, self._vocabulary, self, self._exits, has_all_goals=self._has_all_goals)

    def _exits(self, state: int, counts: NDArray[np.bool_]) -> tuple[Int32, Int32]:
        """Return the exits of a state and the count at each, given the states into which a step counts."""
        trie = self._vocabulary.trie
        nodes, ends = self._closing_nodes
        exits, sums = np.empty((2, len(nodes)), dtype=np.int32)
        stack, running = np.zeros((2, trie.max_depth + 1), dtype=np.int32)
        count: int = _list_exits(
            state, nodes, ends, exits, sums, stack, running, counts,
            self._dfa.transitions, self._dfa.byte_classes, self._dfa.accepting,
            trie.bytes, trie.depths, trie.subtree_ends,
        )  # fmt: skip
        return exits[:count].copy(), sums[:count].copy()


class DerivedLeafMasks(LeafMasks):
    """The masks of a leaf that accepts the texts of another leaf, the base, except for a few excluded texts.

    A state on the path of an excluded text has the mask of the base's state without the token that is the rest of the
    text, and its exits without the trie node of that rest. A state one byte off such a path has the mask of the base's
    state. So the trie is walked only for states farther away.
    """

    def __init__(self, leaf: Leaf, vocabulary: Vocabulary, base: LeafMasks) -> None:
        super().__init__(leaf.dfa, vocabulary, None)
        self._excluded = leaf.excluded
        self._base = base

    def mask(self, state: int) -> tuple[Mask, Int32]:
        """Return the tokens that stay in the leaf (read-only) and the exits (trie nodes, int32)."""
        base_state = self._base_state(state)
        if base_state is None:
            return super().mask(state)
        mask, exits = self._base.mask(base_state)
        rests = self._on_paths[1].get(state)
        if not rests:
            return mask, exits
        mask, kept = mask.copy(), np.ones(len(exits), dtype=np.bool_)
        for rest in rests:
            tokens, node = _tokens_and_node(self._vocabulary, rest)
            for token in tokens:
                mask[token >> 5] &= ~np.uint32(1 << (token & 31))
            if node is not None:
                kept &= exits != node
        mask.setflags(write=False)
        return mask, exits[kept]

    def local(self, state: int) -> tuple[Mask, WalkNodes]:
        """Return the tokens that stay in the leaf (read-only) and the children of the exits."""
        base_state = self._base_state(state)
        if base_state is None:
            return super().local(state)
        if state not in self._on_paths[1]:
            return self._base.local(base_state)
        mask, exits = self.mask(state)
        return mask, children_of(exits, self._vocabulary.trie)

    def _base_state(self, state: int) -> int | None:
        """Return the base's state for a state on the path of an excluded text, or one byte off it; else ``None``."""
        base_state = self._on_paths[0].get(state)
        return self._off_paths.get(state) if base_state is None else base_state

    @cached_property
    def _off_paths(self) -> dict[int, int]:
        """The base's state for each state one byte off the path of an excluded text."""
        passed = self._on_paths[0]
        own, other = self._dfa, self._base._dfa
        of_each = np.unique(own.byte_classes, return_index=True)[1]  # one byte of each class
        targets = own.transitions[[*passed]].ravel()
        others = other.transitions[[*passed.values()]][:, other.byte_classes[of_each]].ravel()
        pairs = np.unique(targets[targets >= 0].astype(np.int64) * len(other) + others[targets >= 0])
        states, base_states = (each.tolist() for each in np.divmod(pairs, len(other)))
        return dict(zip(states[::-1], base_states[::-1], strict=True))

    @cached_property
    def _on_paths(self) -> tuple[dict[int, int], dict[int, dict[bytes, None]]]:
        """For each state on the path of an excluded text: the base's state, and the rests of the texts there."""
        (own, width, classes), (other, width_of_other, classes_of_other) = _flat(self._dfa), _flat(self._base._dfa)
        base_states: dict[int, int] = {}
        rests: dict[int, dict[bytes, None]] = {}
        for text in self._excluded:
            state = there = 0
            for place, byte in enumerate(text):
                base_states[state] = there
                rests.setdefault(state, {})[text[place:]] = None
                state = own[state * width + classes[byte]]
                there = other[there * width_of_other + classes_of_other[byte]]
                if state < 0:
                    break
        return base_states, rests


def _flat(dfa: Dfa) -> tuple[memoryview, int, bytes]:
    """Return table, width and byte classes of an automaton, in types from which Python reads single numbers fastest."""
    return dfa.transitions.reshape(-1).data, dfa.transitions.shape[1], dfa.byte_classes.tobytes()


def _tokens_and_node(vocabulary: Vocabulary, data: bytes) -> tuple[list[int], int | None]:
    """Find the tokens with some bytes, and the trie node of the bytes; ``None`` if no token begins with them."""
    trie, tokens = vocabulary.trie, vocabulary.tokens
    ids = trie.token_ids.data
    first = place = bisect_left(range(len(ids)), data, key=lambda place: tokens[ids[place]] or b"")
    if first == len(ids) or not (tokens[ids[first]] or b"").startswith(data):
        return [], None
    found = []
    while place < len(ids) and tokens[ids[place]] == data:
        found.append(ids[place])
        place += 1
    # The nodes that have the same number of tokens before them are one below the other.
    node = int(np.searchsorted(trie.token_starts, np.int32(first)))
    return found, node + len(data) - int(trie.depths[node])


_STATES = 4096
"""The most states of a leaf whose exits are cached."""

_LEAVES = 256
"""The most leaves whose masks are cached with a vocabulary; a grammar keeps the masks of its own leaves besides."""

_lock = threading.Lock()
_with_byte: WeakKeyDictionary[TokenTrie, dict[int, tuple[Int32, Int32]]] = WeakKeyDictionary()


@kept_with_it
def _leaves(vocabulary: Vocabulary) -> dict[tuple[bytes, bytes], LeafMasks]:
    """Return the masks of leaves over a vocabulary, the least recently used first."""
    return {}


def leaf_masks(leaf: Leaf | CountedText, vocabulary: Vocabulary, goal: NDArray[np.bool_] | None) -> LeafMasks:
    """Return the masks of a leaf, one object for equal automata; for ``goal`` see ``LeafMasks``."""
    base = None
    if goal is None and isinstance(leaf, Leaf) and leaf.base is not None:
        base = leaf_masks(Leaf(leaf.base), vocabulary, None)
    key = leaf.dfa.digest, b"" if goal is None else goal.tobytes()
    with _lock:
        kept = _leaves(vocabulary)
        found = kept.pop(key, None)
        if found is None:
            found = LeafMasks(leaf.dfa, vocabulary, goal)
            if base is not None and isinstance(leaf, Leaf):
                found = DerivedLeafMasks(leaf, vocabulary, base)
            if len(kept) == _LEAVES:
                del kept[next(iter(kept))]
        kept[key] = found  # as the most recently used
        return found


def _nodes_with(trie: TokenTrie, byte: int) -> tuple[Int32, Int32]:
    """Return the trie nodes with a byte on them or below, ascending, and the end of each one's subtree in this list."""
    with _lock:
        kept = _with_byte.setdefault(trie, {})
        if byte not in kept:
            nodes = np.flatnonzero(leading_to(trie, trie.bytes == byte)).astype(np.int32)
            kept[byte] = nodes, np.searchsorted(nodes, trie.subtree_ends[nodes]).astype(np.int32)
        return kept[byte]


@kernel
def _list_exits(
    state: Int, nodes: Int32s, ends: Int32s, found: Int32sOut, found_sums: Int32sOut, stack: Int32sOut,
    sums: Int32sOut, counts: Flags, transitions: Int32Table, byte_classes: UInt8s, accepting: Flags,
    trie_bytes: UInt8s, depths: Int32s, subtree_ends: Int32s,
) -> Int:  # fmt: skip
    """List those of ``nodes`` that have children and at which the automaton accepts; return their number."""
    stack[0] = state
    count, position = np.int64(0), np.int64(0)
    while position < nodes.size:
        node = nodes[position]
        depth = depths[node]
        target = transitions[stack[depth - 1], byte_classes[trie_bytes[node]]]
        if target < 0:
            position = np.int64(ends[position])
            continue
        stack[depth] = target
        sums[depth] = sums[depth - 1] + (1 if counts[target] else 0)
        if accepting[target] and subtree_ends[node] > node + 1:
            found[count] = node
            found_sums[count] = sums[depth]
            count += 1
        position += 1
    return count


_NO_CHILDREN = WalkNodes(np.empty(0, dtype=np.int32), np.zeros(256, dtype=np.int64))


def children_of(exits: Int32, trie: TokenTrie) -> WalkNodes:
    """Return the children of exits."""
    if not exits.size:
        return _NO_CHILDREN
    children = np.empty(8 * len(exits) + 64, dtype=np.int32)
    while True:
        groups = np.zeros(257, dtype=np.int64)
        count: int = _list_children(exits, children, groups, trie.bytes, trie.subtree_ends)
        if count <= len(children):
            return WalkNodes(children[:count].copy(), groups)
        children = np.empty(count, dtype=np.int32)


def by_byte(nodes: Int32, trie: TokenTrie) -> WalkNodes:
    """Order trie nodes by their bytes, for a walk."""
    labels = trie.bytes[nodes]
    order = np.argsort(labels, kind="stable")
    return WalkNodes(nodes[order], np.searchsorted(labels[order], np.arange(256), side="right").astype(np.int64))


@kernel
def _list_children(exits: Int32s, children: Int32sOut, starts: Int64sOut, trie_bytes: UInt8s, ends: Int32s) -> Int:
    """List the children of trie nodes, ordered by byte; return their number."""
    # exits: The trie nodes.
    # children: out; the children. Nothing is written if there is not enough room.
    # starts: 257 zeros; out: the end of the children of each byte, then their number.
    # trie_bytes, ends: As in ``TokenTrie``.
    for position in range(exits.size):
        child = np.int64(exits[position]) + 1
        while child < ends[exits[position]]:
            starts[np.int64(trie_bytes[child]) + 1] += 1
            child = np.int64(ends[child])
    for byte in range(256):
        starts[byte + 1] += starts[byte]
    count = starts[256]
    if count > children.size:
        return count
    for position in range(exits.size):
        child = np.int64(exits[position]) + 1
        while child < ends[exits[position]]:
            children[starts[trie_bytes[child]]] = child
            starts[trie_bytes[child]] += 1
            child = np.int64(ends[child])
    return count
