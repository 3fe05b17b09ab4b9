"""Token masks of a network, in three parts.

* The *local mask* of a state has the tokens that stay inside its rule, whatever lies below. Those of leaves are shared
  by all grammars (see ``sfgen.grammar.leaf_masks``).
* Behind each exit, where the rule ends inside a token, the walk goes on with the stack below: some tens of trie nodes.
* Where the rule may end before the token, the tokens of the stack below are allowed too.

Masks are cached by state, register and stack node.
"""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfgen.automata import Dfa
from sfgen.grammar.distances import FAR, Distances
from sfgen.grammar.leaf_masks import LeafMasks, LocalMask, leaf_masks, list_children
from sfgen.grammar.network import Network
from sfgen.grammar.registers.register import narrow, number_of
from sfgen.grammar.rules import CountedText
from sfgen.grammar.stack import Configuration, Node, Position
from sfgen.grammar.walk import (
    BELOW,
    DOUBTFUL_EXITS,
    DOUBTS,
    EXITS,
    FARTHEST,
    FIELDS_OF_COUNTS,
    FRAME_FIELDS,
    MOST_CONFIGURATIONS,
    MOST_MADE,
    NODE_FIELDS,
    PLACES,
    TOO_MANY,
    walk,
)
from sfgen.index.mask_ids import repeat_tokens, tokens_of_row
from sfgen.protocols import Int32, Mask
from sfgen.vocabulary import Vocabulary

_LARGE, _SPARSE = 1_000_000, 16
"""A leaf with more entries than ``_LARGE``, of which fewer than one in ``_SPARSE`` is a step, is walked as any other
rule.
"""

_KEPT = 64 << 20
"""The bytes of the cached masks."""

_MOST_PLACES = 4096
"""The most places behind tokens that are distinguished near a limit."""

NO_TRIE_NODES: Int32 = np.empty(0, dtype=np.int32)
_WITHOUT_FRAMES: NDArray[np.int64] = np.array([-1, 0, 0, -1, 0, 0], dtype=np.int64)
_FIRST_NODE = len(_WITHOUT_FRAMES) // NODE_FIELDS
"""The fields of the two stack nodes without frames, and the number of the first one behind them."""

_NO_GROUPS: NDArray[np.uint16] = np.empty(0, dtype=np.uint16)
_NO_PLACES: NDArray[np.int64] = np.empty(0, dtype=np.int64)


class TooManyWays(Exception):
    """A token is read in too many ways for the scratch memory."""


class TokenMask(NamedTuple):
    """The tokens that a configuration can read.

    Attributes:
        mask: Text and end tokens, uint32 ``[words]``; read-only.
        growth: The most bytes by which the end may be farther away behind a token than before it.
        doubts: Tokens that may repeat a text of a distinct call, int32: with a whole text in them, or with a
            beginning that few texts have. The mask has them all.
    """

    mask: Mask
    growth: int
    doubts: Int32


class Places(NamedTuple):
    """The places behind the tokens of a position.

    Attributes:
        group_of: The group of each token, uint16 ``[len(vocabulary)]``; 0 if it cannot be read.
        configurations: The configuration behind the tokens of each group, without texts in its register; ``None``
            for group 0 and for ``ALONE``.
    """

    group_of: NDArray[np.uint16]
    configurations: tuple[Configuration | None, ...]


class Masks:
    """Makes and caches the masks of one network over one vocabulary. Safe to share between threads."""

    def __init__(self, network: Network, vocabulary: Vocabulary, distances: Distances) -> None:
        self._network = network
        self._vocabulary = vocabulary
        self._distances = distances
        trie = vocabulary.trie
        self._words = (len(vocabulary) + 31) // 32
        self._goal = None if (distances.base < FAR).all() else distances.base < FAR
        facts, lengths, members = distances.registers.for_kernels
        table, actions = network.flat
        self._network_arguments: tuple[Any, ...] = (
            table, network.table.shape[1], network.byte_classes, facts, lengths, members, actions,
        )  # fmt: skip
        self._trie_arguments: tuple[Any, ...] = (
            trie.bytes, trie.depths, trie.subtree_ends, trie.first_tokens, trie.token_starts, trie.token_ids,
        )  # fmt: skip
        self._local: dict[tuple[int, int], LocalMask] = {}
        self._leaves: dict[int, LeafMasks | None] = {}
        rules, firsts = np.unique(network.rule_of, return_index=True)
        self._firsts: dict[int, int] = dict(zip(rules.tolist(), firsts.tolist(), strict=True))
        self._masks: dict[tuple[int, int, Node], TokenMask] = {}
        self._bytes = 0
        self._lock = threading.Lock()
        self._scratch = threading.local()

    def of(self, state: int, register: int, node: Node) -> TokenMask:
        """Return the mask of a configuration with canonical register and node."""
        key = state, register, node
        token_mask = self._masks.get(key)
        if token_mask is None:
            token_mask = self._make(state, register, node)
            with self._lock:
                if key not in self._masks:
                    self._masks[key] = token_mask
                    self._bytes += token_mask.mask.nbytes
                while self._bytes > _KEPT and len(self._masks) > 1:
                    oldest = self._masks.pop(next(iter(self._masks)))
                    self._bytes -= oldest.mask.nbytes
        return token_mask

    def is_made(self, state: int, register: int, node: Node) -> bool:
        """Tell whether the mask of a configuration is cached."""
        return (state, register, node) in self._masks

    def _make(self, state: int, register: int, node: Node) -> TokenMask:
        local = self._local_mask(state, register)
        accepts = bool(self._network.accepting[state])
        if not node.frames:
            mask = local.mask
            if accepts:
                mask = self._with_ends(mask.copy())
            return TokenMask(mask, local.farthest - self._distances.of(state, register), local.doubts)
        before = self._distances.of(state, register) + node.distance
        mask = local.mask.copy()
        farthest = local.farthest + node.distance if local.farthest >= 0 else -1
        doubts = [local.doubts]
        if local.behind.size:
            starts = [Configuration(*frame) for frame in node.frames]
            behind = np.zeros(self._words, dtype=np.uint32) if local.doubtful_exits else mask
            counts, doubtful = self._walk(behind, starts, behind=local.behind)
            if local.doubtful_exits:
                mask |= behind
            farthest = max(farthest, int(counts[FARTHEST]))
            if local.doubtful_exits or doubtful.size:
                doubts.append(tokens_of_row(behind) if local.doubtful_exits else doubtful)
        if accepts:
            for frame in node.frames:
                register_below = number_of(frame.register)
                below = self.of(frame.state, register_below, frame.below)
                mask |= below.mask
                farthest = max(
                    farthest,
                    below.growth + self._distances.of(frame.state, register_below) + frame.below.distance,
                )
                doubts.append(below.doubts)
        mask.setflags(write=False)
        return TokenMask(mask, farthest - before, np.unique(np.concatenate(doubts)) if len(doubts) > 1 else doubts[0])

    def _with_ends(self, mask: Mask) -> Mask:
        for token in self._vocabulary.end_token_ids:
            mask[token >> 5] |= np.uint32(1 << (token & 31))
        mask.setflags(write=False)
        return mask

    # ---- inside a rule ---------------------------------------------------------------------------------------------

    def _local_mask(self, state: int, register: int) -> LocalMask:
        key = state, register
        local = self._local.get(key)
        if local is None:
            leaf = self._leaf(state)
            local = self._walked_mask(state, register) if leaf is None else self._leaf_mask(leaf, state, register)
            self._local[key] = local
        return local

    def _walked_mask(self, state: int, register: int) -> LocalMask:
        """Make a local mask by a walk of the trie."""
        mask = np.zeros(self._words, dtype=np.uint32)
        exits = self._room().exits
        counts, doubts = self._walk(mask, [Configuration(state, register, _BELOW)], exits=exits)
        mask.setflags(write=False)
        return LocalMask(
            mask, self._behind(exits[: counts[EXITS]]), doubts, int(counts[FARTHEST]), bool(counts[DOUBTFUL_EXITS])
        )

    def _leaf_mask(self, masks: LeafMasks, state: int, register: int) -> LocalMask:
        """Make the local mask of a leaf's state."""
        network, distances = self._network, self._distances
        first = self._first_of_rule(state)
        leaf = network.leaves[first]
        lengths = distances.registers.lengths(slice(first, first + len(leaf.dfa)), register)
        farthest = int(lengths[lengths < FAR].max())
        if isinstance(leaf, CountedText):
            mask, exits = distances.registers.counted_mask(masks.counted, leaf, first, state, register)
        else:
            mask, exits = masks.mask(state - first)
        return LocalMask(mask, self._behind(exits), NO_TRIE_NODES, farthest)

    def _behind(self, exits: Int32) -> Int32:
        """Return the trie nodes right behind exits, ordered by byte."""
        if not exits.size:
            return NO_TRIE_NODES
        trie = self._vocabulary.trie
        children = np.empty(8 * len(exits) + 64, dtype=np.int32)
        while True:
            count: int = list_children(exits, children, np.zeros(257, dtype=np.int64), trie.bytes, trie.subtree_ends)
            if count <= len(children):
                return children[:count].copy()
            children = np.empty(count, dtype=np.int32)

    def _first_of_rule(self, state: int) -> int:
        return self._firsts[int(self._network.rule_of[state])]

    def _leaf(self, state: int) -> LeafMasks | None:
        """Return the masks of a state's leaf; ``None`` if its rule is no leaf, or may end by several bytes."""
        rule = int(self._network.rule_of[state])
        if rule not in self._leaves:
            first = self._first_of_rule(state)
            leaf = self._network.leaves.get(first)
            masks = None
            if leaf is not None and not _is_sparse(leaf.dfa):
                goal = None if self._goal is None else self._goal[first : first + len(leaf.dfa)]
                masks = leaf_masks(leaf, self._vocabulary, None if goal is None or goal.all() else goal)
            self._leaves[rule] = None if masks is None or masks.closing_byte is None else masks
        return self._leaves[rule]

    # ---- walking ---------------------------------------------------------------------------------------------------

    def places(self, position: Position) -> Places:
        """Return the places behind the readable text tokens."""
        mask = np.zeros(self._words, dtype=np.uint32)
        group_of = np.zeros(len(self._vocabulary), dtype=np.uint16)
        places = np.empty(3 * _MOST_PLACES, dtype=np.int64)
        loaded = list[Node]()
        counts, _ = self._walk(mask, list(position), group_of=group_of, places=places, loaded=loaded)
        triples = places[: 3 * counts[PLACES]].reshape(-1, 3).tolist()
        configurations = [Configuration(state, register, loaded[node]) for state, register, node in triples]
        return Places(group_of, (None, None, *configurations))

    def _walk(
        self,
        mask: Mask,
        configurations: list[Configuration],
        *,
        behind: Int32 = NO_TRIE_NODES,
        exits: Int32 = NO_TRIE_NODES,
        group_of: NDArray[np.uint16] = _NO_GROUPS,
        places: NDArray[np.int64] = _NO_PLACES,
        loaded: list[Node] | None = None,
    ) -> tuple[Any, Int32]:
        """Walk the trie and return the counts, see ``walk``, and the doubtful tokens."""
        trie = self._vocabulary.trie
        room = self._room()
        first_made = room.load(configurations, loaded)
        counts = np.zeros(FIELDS_OF_COUNTS, dtype=np.int64)
        counts[FARTHEST] = -1
        arguments: tuple[Any, ...] = (
            0, len(trie), behind, len(configurations), first_made, mask, room.doubtful, exits, group_of, places, counts,
            *self._network_arguments, room.nodes, room.frames, room.sets, room.marks, *self._trie_arguments,
        )  # fmt: skip
        status = walk(*arguments)
        doubts = NO_TRIE_NODES
        if counts[DOUBTS]:
            repeat_tokens(room.doubtful, trie.repeated_tokens)
            doubts = tokens_of_row(room.doubtful)
            room.doubtful[:] = 0
        if status == TOO_MANY:
            raise TooManyWays
        repeat_tokens(mask, trie.repeated_tokens)
        return counts, doubts

    def _room(self) -> _Room:
        room: _Room | None = getattr(self._scratch, "room", None)
        if room is None:
            room = self._scratch.room = _Room(self._vocabulary)
        return room


class _Room:
    """Scratch memory of one thread."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        trie = vocabulary.trie
        self.exits = np.empty(len(trie), dtype=np.int32)
        self.doubtful = np.zeros((len(vocabulary) + 31) // 32, dtype=np.uint32)  # all zero between walks
        self.nodes = np.empty(NODE_FIELDS * MOST_MADE, dtype=np.int64)
        self.frames = np.empty(FRAME_FIELDS * MOST_MADE, dtype=np.int64)
        self.sets = np.empty(3 * MOST_CONFIGURATIONS, dtype=np.int64)
        self.marks = np.empty(4 * (trie.max_depth + 2), dtype=np.int64)

    def load(self, configurations: list[Configuration], loaded: list[Node] | None) -> int:
        """Write configurations as the first set, with their stack nodes; return the first number of a made node."""
        if len(configurations) == 1 and configurations[0].node is _BELOW and loaded is None:
            self.nodes[: len(_WITHOUT_FRAMES)] = _WITHOUT_FRAMES
            self.sets[:3] = configurations[0].state, narrow(configurations[0].register), BELOW
            return _FIRST_NODE
        numbers: dict[Node, int] = {}
        nodes: list[int] = _WITHOUT_FRAMES.tolist()
        frames: list[int] = []
        order: list[Node] = [_BELOW, _BELOW]
        for configuration in configurations:
            if configuration.node is not _BELOW:
                numbers.setdefault(configuration.node, len(order))
                if numbers[configuration.node] == len(order):
                    order.append(configuration.node)
        at = 2
        while at < len(order):
            node = order[at]
            at += 1
            if not node.frames:
                nodes += [-1, node.distance, node.is_distinct]
                continue
            nodes += [len(frames) // FRAME_FIELDS, node.distance, node.is_distinct]
            for rest, (state, register, below) in enumerate(reversed(node.frames)):
                number = numbers.setdefault(below, len(order))
                if number == len(order):
                    order.append(below)
                last = rest == len(node.frames) - 1
                after = -1 if last else len(frames) // FRAME_FIELDS + 1
                frames += [state, narrow(register), number, after]
        first_made = max(len(order), len(frames) // FRAME_FIELDS)
        if first_made + MOST_MADE // 2 > len(self.nodes) // NODE_FIELDS:
            self.nodes = np.empty(NODE_FIELDS * (first_made + MOST_MADE), dtype=np.int64)
            self.frames = np.empty(FRAME_FIELDS * (first_made + MOST_MADE), dtype=np.int64)
        self.nodes[: len(nodes)] = nodes
        self.frames[: len(frames)] = frames
        sets = [
            number
            for state, register, node in configurations
            for number in (state, narrow(register), numbers.get(node, BELOW))
        ]
        self.sets[: len(sets)] = sets
        if loaded is not None:
            loaded[:] = order
        return first_made


def _is_sparse(dfa: Dfa) -> bool:
    """Tell whether states read few bytes, so that walks are short and a table of its own would be large."""
    entries = dfa.transitions.size
    if entries <= _LARGE:
        return False
    parts = np.array_split(dfa.transitions, 1 + entries // _LARGE)  # the comparison takes memory, too
    return sum(int(np.count_nonzero(part >= 0)) for part in parts) < entries // _SPARSE


_BELOW = Node((), 0, False)
"""Stands for any stack below a rule while its local masks are made."""
