"""The token masks of all states of an automaton, made at once.

Sparse states come first, each walked alone (see ``sfgen.index.masks.few_tokens``). The others are taken in groups by
rising number, since neighbours in an automaton mostly read the same: a group is walked together (see
``sfgen.index.masks.many_states``) where that takes less time than to walk the shapes of tokens for each of its members.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sfgen.index.masks import few_tokens, many_states
from sfgen.index.masks.few_tokens import make_sparse
from sfgen.index.masks.many_states import GROUP, enter, walk_group, write_masks
from sfgen.index.masks.one_state import TrieWalk
from sfgen.index.masks.shapes import ShapeWalk
from sfgen.protocols import Int32, Mask

_FIRST_BLOCK = 4 << 20  # bytes of masks that room is made for at first
_STEP = 4096  # states between two calls of `progress`

NODES = 10_000
"""The trie nodes that a group is walked over in the time that the shapes of tokens take for one state."""


def make_all(walk: TrieWalk, progress: Callable[[int, int], None] | None = None) -> tuple[list[Mask], list[int]]:
    """Make the token masks of all states.

    Args:
        walk: The walk of the token trie through the automaton.
        progress: Called with (states done, states in all).

    Returns:
        The mask of each state, read-only, equal ones as one object; and how many tokens each state allows.
    """
    total = len(walk.dfa)
    room = max(GROUP, _FIRST_BLOCK // (4 * max(1, walk.words)))
    made = MaskBlock(total, min(total, room), walk.words)
    done = 0
    while done < total:
        made.make_room(1)
        done = _make_sparse(walk, done, total if progress is None else min(total, done + _STEP), made)
        if progress is not None:
            progress(int(np.count_nonzero(made.mask_of[:done] >= 0)), total)
    dense = np.flatnonzero(made.mask_of < 0).astype(np.int32)
    shapes: ShapeWalk | None = None
    for first in range(0, dense.size, GROUP):
        members = dense[first : first + GROUP]
        made.make_room(len(members))
        shapes = shapes or ShapeWalk(walk)
        _make_dense(walk, shapes, members, made)
        if progress is not None:
            progress(total - dense.size + first + members.size, total)
    numbers, masks, counts = made.mask_of.tolist(), made.list(), made.counts[: made.used].tolist()
    return [masks[number] for number in numbers], [counts[number] for number in numbers]


class MaskBlock:
    """Token masks that are made together, equal ones once.

    Args:
        states: How many states there are masks for.
        masks: How many masks there is room for at first.
        words: The number of words of a mask.

    Attributes:
        used: How many masks there are.
        masks: The masks, uint32 ``[room, words]``.
        counts: How many tokens each allows, int64 ``[states]``.
        digests: The digest of each, uint64 ``[states]``.
        slots: A hash table of the masks, by digest; -1 is free.
        mask_of: The number of each state's mask, int32 ``[states]``; -1 where there is none yet.
    """

    def __init__(self, states: int, masks: int, words: int) -> None:
        self.used = 0
        self.masks: Mask = np.empty((masks, words), dtype=np.uint32)
        self.counts = np.empty(states, dtype=np.int64)
        self.digests = np.empty(states, dtype=np.uint64)
        self.slots = np.full(1 << (2 * states).bit_length(), -1, dtype=np.int32)
        self.mask_of = np.empty(states, dtype=np.int32)

    def make_room(self, masks: int) -> None:
        """Make room for more masks.

        Args:
            masks: How many more.
        """
        if self.used + masks > len(self.masks):
            larger = np.empty((max(self.used + masks, 2 * len(self.masks)), self.masks.shape[1]), dtype=np.uint32)
            larger[: self.used] = self.masks[: self.used]
            self.masks = larger

    def add(self, mask: Mask, count: int, digest: int) -> int:
        """Add a mask, unless there is an equal one; return its number.

        There must be room for it.

        Args:
            mask: Uint32 ``[words]``.
            count: The number of tokens that it allows.
            digest: Its digest, as ``one_state.digest`` computes it.
        """
        self.masks[self.used] = mask
        number: int = enter(count, digest, self.masks, self.used, self.counts, self.digests, self.slots)
        self.used += number == self.used
        return number

    def list(self) -> list[Mask]:
        """Return the masks, read-only."""
        masks = self.masks[: self.used]
        if 2 * self.used < len(self.masks):
            masks = masks.copy()
        masks.setflags(write=False)
        return [*masks]


def _make_sparse(walk: TrieWalk, first: int, stop: int, made: MaskBlock) -> int:
    """Make the masks of the sparse states from ``first`` to ``stop``, as far as there is room; return how far."""
    dfa, trie = walk.dfa, walk.vocabulary.trie
    tokens = np.empty(len(trie.token_ids) + len(walk.end_tokens), dtype=np.int32)
    targets = np.empty(len(trie.token_ids), dtype=np.uint32)
    reached: int
    reached, made.used = make_sparse(
        first, stop, made.used, few_tokens.SPARSE, made.masks, made.counts, made.digests, made.slots, made.mask_of,
        walk.stack(), tokens, targets, walk.table, walk.width, dfa.byte_classes, dfa.accepting, walk.end_tokens,
        trie.bytes, trie.depths, trie.subtree_ends, trie.token_starts, trie.token_ids, trie.roots,
    )  # fmt: skip
    return reached


def _make_dense(walk: TrieWalk, shapes: ShapeWalk, members: Int32, made: MaskBlock) -> None:
    """Make the masks of states that allow many tokens, in the way that takes the least time.

    What a state may read is told by its first bytes.
    """
    bytes_read = (walk.dfa.transitions[members] >= 0)[:, walk.dfa.byte_classes]
    below = np.diff(walk.vocabulary.trie.roots)
    if len(members) > 1 and bytes_read.any(axis=0) @ below > NODES * len(members):
        members = members[_make_by_shapes(shapes, members, made) :]
    if len(members) == 1:
        made.mask_of[members] = made.add(*shapes.mask(int(members[0])))
    elif len(members):
        # Where one state reads much more than the others, walks of their own take less time than a group's.
        nodes = bytes_read[-len(members) :] @ below
        if nodes.sum() <= 2 * nodes.max() or not _make_group(walk, members, made):
            for part in np.array_split(members, min(8, len(members))):
                _make_dense(walk, shapes, part, made)


def _make_by_shapes(shapes: ShapeWalk, members: Int32, made: MaskBlock) -> int:
    """Make masks by the shapes of tokens, up to the first state for which that takes long; return how many."""
    for number, state in enumerate(members.tolist()):
        if (found := shapes.try_mask(state, NODES)) is None:
            return number
        made.mask_of[state] = made.add(*found)
    return len(members)


def _make_group(walk: TrieWalk, members: Int32, made: MaskBlock) -> bool:
    """Make the masks of a group of states; ``False`` where there are too many functions."""
    dfa, trie, most = walk.dfa, walk.vocabulary.trie, many_states.FUNCTIONS
    signatures = np.empty(most, dtype=np.uint64)
    tokens = np.empty(len(trie) + 1, dtype=np.uint32)
    functions = np.empty(len(trie) + 1, dtype=np.uint16)
    stack = np.empty(trie.max_depth + 1, dtype=np.int32)
    vectors = np.empty((most, len(members)), dtype=np.uint32)
    after = np.empty((most, walk.width), dtype=np.int32)
    slots = np.full(2 * most, -1, dtype=np.int32)
    starts = np.zeros(most + 2, dtype=np.int64)
    ordered = np.empty(len(trie), dtype=np.uint32)
    known = walk_group(
        members, most, signatures, starts, ordered, tokens, functions, stack, vectors, after, slots,
        walk.table, walk.width, dfa.byte_classes, trie.bytes, trie.depths, trie.subtree_ends, trie.first_tokens,
        trie.roots,
    )  # fmt: skip
    if known < 0:
        return False
    # Members by rising number of tokens, which puts a smaller set right before the one that it is part of.
    allows = signatures[2:known] >> np.arange(len(members), dtype=np.uint64)[:, None] & np.uint64(1)
    amounts = allows.astype(np.int64) @ np.diff(starts[2 : known + 1])
    order = np.argsort(amounts, kind="stable")
    numbers = np.empty(len(members), dtype=np.int32)
    made.used = write_masks(
        members[order], amounts[order], allows[order].astype(np.bool_), starts, ordered,
        np.zeros(walk.words, dtype=np.uint32),
        made.used, made.masks, made.counts, made.digests, made.slots, numbers,
        dfa.accepting, walk.end_tokens, trie.repeated_tokens,
    )  # fmt: skip
    made.mask_of[members[order]] = numbers
    return True
