"""Token masks of a network. A mask has three parts:

* The *local mask* of a state: the tokens that stay inside its rule. They do not depend on the stack below. All grammars
  share the local masks of leaves (see ``leaf_masks``).
* After each exit, where the rule ends inside a token, the walk continues with the stack below: some tens of trie nodes.
* If the rule may end before the token, the tokens of the stack below are allowed, too.

Masks are cached by state, register and stack node.
"""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfgen.automata import Dfa
from sfgen.grammar.network.distances import FAR, RuleDistances
from sfgen.grammar.network.leaf_masks import LeafMasks, LocalMask, WalkNodes, children_of, leaf_masks
from sfgen.grammar.network.network import Network
from sfgen.grammar.network.registers.register import narrow, number_of
from sfgen.grammar.network.rules import CountedText
from sfgen.grammar.network.stack import NetworkConfiguration, NetworkPosition, Node
from sfgen.grammar.network.walk import (
    BELOW,
    BOTTOM,
    DOUBTFUL_EXITS,
    DOUBTS,
    EXITS,
    FARTHEST,
    FIELDS_OF_COUNTS,
    FRAME_FIELDS,
    GROUPS,
    MOST_CONFIGURATIONS,
    MOST_MADE,
    NODE_FIELDS,
    TOO_MANY,
    walk,
)
from sfgen.grammar.shell.masks import KeptMasks, TokenMask, TooManyWays, allow, words_of
from sfgen.index.mask_ids import repeat_tokens, tokens_of_row
from sfgen.protocols import Int32, Mask
from sfgen.vocabulary import TokenTrie, Vocabulary
from sfgen.weak_cache import kept_while_it_lives

_LARGE, _SPARSE = 1_000_000, 16
"""A leaf with more than ``_LARGE`` entries, of which fewer than one in ``_SPARSE`` is a step, has no ``LeafMasks``: its
masks are made by a walk, as those of other rules.
"""

_KEPT_ENDS = 1024
"""The most configurations whose ``children_of_ends`` are cached."""

_MOST_GROUPS = 4096
"""The most configurations after tokens that are distinguished near a limit."""

NO_TRIE_NODES: Int32 = np.empty(0, dtype=np.int32)
_NO_FRAMES = (-1, 0, 0, -1, 0, 0)
_WITHOUT_FRAMES: NDArray[np.int64] = np.array(_NO_FRAMES, dtype=np.int64)
_FIRST_NODE = len(_WITHOUT_FRAMES) // NODE_FIELDS
"""The fields of the two stack nodes without frames, and the number of the first node after them."""

_NO_GROUPS: NDArray[np.uint16] = np.empty(0, dtype=np.uint16)
_NO_CONFIGURATIONS: NDArray[np.int64] = np.empty(0, dtype=np.int64)


class TokenGroups(NamedTuple):
    """The tokens that a position can read, grouped by the configuration after them.

    Attributes:
        group_of: The group of each token, uint16 ``[len(vocabulary)]``; 0 if it cannot be read.
        configurations: The configuration after the tokens of each group, without texts in its register; ``None``
            for group 0 and for ``ALONE``.
    """

    group_of: NDArray[np.uint16]
    configurations: tuple[NetworkConfiguration | None, ...]


class NetworkMasks:
    """Makes and caches the token masks of one network over one vocabulary. Safe to share between threads."""

    def __init__(self, network: Network, vocabulary: Vocabulary, distances: RuleDistances) -> None:
        self._network = network
        self._vocabulary = vocabulary
        self._distances = distances
        trie = vocabulary.trie
        self._words = words_of(vocabulary)
        self._goal = None if (distances.base < FAR).all() else distances.base < FAR
        facts, lengths, members = distances.registers.for_kernels
        table, actions = network.flat
        self._network_arguments: tuple[Any, ...] = (
            table, network.table.shape[1], network.byte_classes, facts, lengths, members, actions,
        )  # fmt: skip
        walked = _walked(trie)
        self._everywhere = walked.everywhere
        self._trie_arguments: tuple[Any, ...] = walked.nodes, trie.token_starts, trie.token_ids
        self._local = KeptMasks[tuple[int, int], LocalMask]()
        self._farthest: dict[int, int] = {}
        self._leaves: dict[int, LeafMasks | None] = {}
        rules, firsts = np.unique(network.rule_of, return_index=True)
        self._firsts: dict[int, int] = dict(zip(rules.tolist(), firsts.tolist(), strict=True))
        self._masks = KeptMasks[NetworkConfiguration, TokenMask]()
        self._children_of_ends: dict[NetworkConfiguration, Int32] = {}
        self._scratch = threading.local()

    def of(self, configuration: NetworkConfiguration) -> TokenMask:
        """Return the mask of a configuration whose register and node are canonical."""
        token_mask = self._masks.get(configuration)
        if token_mask is None:
            state, register, node = configuration
            token_mask = self._masks.keep(configuration, self._make(state, number_of(register), node))
        return token_mask

    def is_made(self, configuration: NetworkConfiguration) -> bool:
        """Return whether the mask of a configuration is cached."""
        return configuration in self._masks

    def _make(self, state: int, register: int, node: Node) -> TokenMask:
        local = self._local_mask(state, register)
        accepts = bool(self._network.accepting[state])
        if not node.frames:
            mask = local.mask
            if accepts:
                mask = mask.copy()
                allow(mask, self._vocabulary.end_token_ids)
                mask.setflags(write=False)
            return TokenMask(mask, local.farthest, local.doubts)
        farthest = local.farthest + node.distance if local.farthest >= 0 else -1
        if not accepts and not local.exit_children.nodes.size:
            return TokenMask(local.mask, farthest, local.doubts)
        mask = local.mask.copy()
        doubts = [local.doubts]
        if local.exit_children.nodes.size:
            starts = [NetworkConfiguration(*frame) for frame in node.frames]
            beyond = np.zeros(self._words, dtype=np.uint32) if local.doubtful_exits else mask
            counts, doubtful = self._walk(beyond, starts, nodes=local.exit_children)
            if local.doubtful_exits:
                mask |= beyond
            farthest = max(farthest, counts[FARTHEST])
            if local.doubtful_exits or doubtful.size:
                doubts.append(tokens_of_row(beyond) if local.doubtful_exits else doubtful)
        if accepts:
            for frame in node.frames:
                below = self.of(NetworkConfiguration(frame.state, number_of(frame.register), frame.below))
                mask |= below.mask
                farthest = max(farthest, below.farthest)
                doubts.append(below.doubts)
        mask.setflags(write=False)
        return TokenMask(mask, farthest, np.unique(np.concatenate(doubts)) if len(doubts) > 1 else doubts[0])

    # ---- inside a rule ---------------------------------------------------------------------------------------------

    def _local_mask(self, state: int, register: int) -> LocalMask:
        key = state, register
        local = self._local.get(key)
        if local is None:
            leaf = self._leaf(state)
            local = self._walked_mask(state, register) if leaf is None else self._leaf_mask(leaf, state, register)
            self._local.keep(key, local)
        return local

    def _walked_mask(self, state: int, register: int) -> LocalMask:
        """Make a local mask by a walk of the trie."""
        mask = np.zeros(self._words, dtype=np.uint32)
        exits = self._room().exits
        counts, doubts = self._walk(mask, [NetworkConfiguration(state, register, _BELOW)], exits=exits)
        mask.setflags(write=False)
        after = children_of(exits[: counts[EXITS]], self._vocabulary.trie)
        return LocalMask(mask, after, doubts, counts[FARTHEST], counts[DOUBTFUL_EXITS] > 0)

    def _leaf_mask(self, masks: LeafMasks, state: int, register: int) -> LocalMask:
        """Make the local mask of a state of a leaf."""
        network, distances = self._network, self._distances
        first = self._first_of_rule(state)
        leaf = network.leaves[first]
        if isinstance(leaf, CountedText):
            mask, exits = distances.registers.counted_mask(masks.counted, leaf, first, state, register)
            after, farthest = (
                children_of(exits, self._vocabulary.trie),
                self._farthest_end(first, len(leaf.dfa), register),
            )
        else:
            mask, after = masks.local(state - first)
            if first not in self._farthest:
                self._farthest[first] = self._farthest_end(first, len(leaf.dfa), 0)
            farthest = self._farthest[first]
        return LocalMask(mask, after, NO_TRIE_NODES, farthest)

    def _farthest_end(self, first: int, states: int, register: int) -> int:
        """Return the greatest distance from a state of a leaf to its end, in bytes."""
        lengths = self._distances.registers.lengths(slice(first, first + states), register)
        return int(lengths[lengths < FAR].max())

    def _first_of_rule(self, state: int) -> int:
        return self._firsts[int(self._network.rule_of[state])]

    def _leaf(self, state: int) -> LeafMasks | None:
        """Return the masks of a state's leaf; ``None`` if its rule is no leaf, or several bytes may end it."""
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

    # ---- beyond the text -------------------------------------------------------------------------------------------

    def children_of_ends(self, configuration: NetworkConfiguration) -> Int32:
        """Return the children of the trie nodes at which the whole text may end inside a token, int32."""
        nodes = self._children_of_ends.get(configuration)
        if nodes is None:
            state, register, node = configuration
            local = self._local_mask(state, number_of(register))
            found = [NO_TRIE_NODES if node.frames else local.exit_children.nodes]
            starts = [NetworkConfiguration(*frame) for frame in node.frames]
            if starts and local.exit_children.nodes.size:
                found.append(self.read_from(starts, local.exit_children)[1])
            if self._network.accepting[state]:
                found += [self.children_of_ends(each) for each in starts]
            if len(self._children_of_ends) >= _KEPT_ENDS:
                self._children_of_ends.clear()
            nodes = self._children_of_ends[configuration] = np.unique(np.concatenate(found)).astype(np.int32)
        return nodes

    def read_from(self, starts: list[NetworkConfiguration], after: WalkNodes) -> tuple[Mask, Int32]:
        """Continue to read at some trie nodes; return the tokens there, and the nodes as ``children_of_ends`` does."""
        mask, exits = np.zeros(self._words, dtype=np.uint32), self._room().exits
        counts, _ = self._walk(mask, starts, nodes=after, exits=exits)
        return mask, children_of(exits[: counts[EXITS]], self._vocabulary.trie).nodes

    # ---- walking ---------------------------------------------------------------------------------------------------

    def groups(self, position: NetworkPosition) -> TokenGroups:
        """Group the readable text tokens by the configuration after them."""
        mask = np.zeros(self._words, dtype=np.uint32)
        group_of = np.zeros(len(self._vocabulary), dtype=np.uint16)
        after = np.empty(3 * _MOST_GROUPS, dtype=np.int64)
        loaded = list[Node]()
        counts, _ = self._walk(mask, list(position), group_of=group_of, after=after, loaded=loaded)
        triples = after[: 3 * counts[GROUPS]].reshape(-1, 3).tolist()
        configurations = [NetworkConfiguration(state, register, loaded[node]) for state, register, node in triples]
        return TokenGroups(group_of, (None, None, *configurations))

    def _walk(
        self,
        mask: Mask,
        configurations: list[NetworkConfiguration],
        *,
        nodes: WalkNodes | None = None,
        exits: Int32 = NO_TRIE_NODES,
        group_of: NDArray[np.uint16] = _NO_GROUPS,
        after: NDArray[np.int64] = _NO_CONFIGURATIONS,
        loaded: list[Node] | None = None,
    ) -> tuple[list[int], Int32]:
        """Walk the trie; return the counts (see ``walk``) and the doubtful tokens."""
        room = self._room()
        first_made = room.load(configurations, loaded, BELOW if exits.size else BOTTOM)
        arguments: tuple[Any, ...] = (
            *(nodes or self._everywhere), len(configurations), first_made,
            mask, room.doubtful, exits, group_of, after, room.counts,
            *self._network_arguments, room.nodes, room.frames, room.sets, room.marks, *self._trie_arguments,
        )  # fmt: skip
        status = walk(*arguments)
        counts: list[int] = room.counts.tolist()
        doubts = NO_TRIE_NODES
        if counts[DOUBTS]:
            repeat_tokens(room.doubtful, self._vocabulary.trie.repeated_tokens)
            doubts = tokens_of_row(room.doubtful)
            room.doubtful[:] = 0
        if status == TOO_MANY:
            raise TooManyWays
        repeat_tokens(mask, self._vocabulary.trie.repeated_tokens)
        return counts, doubts

    def _room(self) -> _FrameRoom:
        room: _FrameRoom | None = getattr(self._scratch, "room", None)
        if room is None:
            room = self._scratch.room = _FrameRoom(self._vocabulary)
        return room


class _WalkedTrie(NamedTuple):
    """A trie in the form that ``walk`` reads."""

    nodes: Int32  # ``TRIE_FIELDS`` numbers of each node
    everywhere: WalkNodes  # the nodes of depth 1: a walk from these reads the whole trie


@kept_while_it_lives
def _walked(trie: TokenTrie) -> _WalkedTrie:
    """Convert a trie to the form that ``walk`` reads; cached."""
    columns = trie.bytes, trie.depths, trie.subtree_ends, trie.first_tokens
    nodes = np.stack([column.astype(np.int32) for column in columns], axis=1)
    is_first = trie.roots[1:] > trie.roots[:-1]
    everywhere = WalkNodes(trie.roots[:-1][is_first], np.cumsum(is_first, dtype=np.int64))
    return _WalkedTrie(nodes.reshape(-1), everywhere)


class _FrameRoom:
    """The scratch memory for the walks of one thread."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        trie = vocabulary.trie
        self.counts = np.empty(FIELDS_OF_COUNTS, dtype=np.int64)
        self.exits = np.empty(len(trie), dtype=np.int32)
        self.doubtful = np.zeros(words_of(vocabulary), dtype=np.uint32)  # all zero between walks
        self.nodes = np.empty(NODE_FIELDS * MOST_MADE, dtype=np.int64)
        self.frames = np.empty(FRAME_FIELDS * MOST_MADE, dtype=np.int64)
        self.sets = np.empty(3 * MOST_CONFIGURATIONS, dtype=np.int64)
        self.marks = np.empty(4 * (trie.max_depth + 2), dtype=np.int64)

    def load(self, configurations: list[NetworkConfiguration], loaded: list[Node] | None, bottom: int) -> int:
        """Write configurations and their stack nodes as the start of a walk; return the number of the first made node.

        ``bottom`` is the number of the node below a whole text: ``BOTTOM``, or ``BELOW`` if the caller continues there.

        Raises:
            TooManyWays: There is no room for the configurations.
        """
        if 3 * len(configurations) > len(self.sets):
            raise TooManyWays
        if len(configurations) == 1 and configurations[0].node is _BELOW and loaded is None:
            self.nodes[: len(_WITHOUT_FRAMES)] = _WITHOUT_FRAMES
            self.sets[:3] = configurations[0].state, narrow(configurations[0].register), BELOW
            return _FIRST_NODE
        if len(configurations) == 1 and loaded is None and (first := self._load_alone(configurations[0], bottom)):
            return first
        numbers: dict[Node, int] = {}
        if bottom == BELOW:
            numbers = dict.fromkeys(map(_lowest, configurations), BELOW)
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

    def _load_alone(self, configuration: NetworkConfiguration, bottom: int) -> int:
        """As ``load``, for one configuration whose stack nodes have one frame each; return 0 for any other."""
        nodes, frames, below = [*_NO_FRAMES], [0] * (_FIRST_NODE * FRAME_FIELDS), configuration.node
        number = _FIRST_NODE
        while below.frames:
            if len(below.frames) > 1:
                return 0
            ((state, register, further),) = below.frames
            nodes += [number, below.distance, below.is_distinct]
            number += 1
            frames += [state, narrow(register), number if further.frames else bottom, -1]
            below = further
        if 2 * number > MOST_MADE:
            return 0
        self.nodes[: len(nodes)] = nodes
        self.frames[: len(frames)] = frames
        self.sets[:3] = (
            configuration.state, narrow(configuration.register), _FIRST_NODE if configuration.node.frames else bottom,
        )  # fmt: skip
        return number


def _lowest(configuration: NetworkConfiguration) -> Node:
    """Return the node without frames at the bottom of a configuration's stack; one network has only one."""
    node = configuration.node
    while node.frames:
        node = node.frames[0].below
    return node


def _is_sparse(dfa: Dfa) -> bool:
    """Return whether an automaton is large and has few steps, so that walks are short and ``LeafMasks`` large."""
    entries = dfa.transitions.size
    if entries <= _LARGE:
        return False
    parts = np.array_split(dfa.transitions, 1 + entries // _LARGE)  # in parts, as the comparison needs memory
    return sum(int(np.count_nonzero(part >= 0)) for part in parts) < entries // _SPARSE


_BELOW = Node((), 0, False)
"""Represents any stack below a rule while its local masks are made."""
