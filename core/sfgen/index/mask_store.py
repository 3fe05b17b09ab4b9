"""Token masks of automata: each is made at its first use, and kept while there is room.

A ``MaskMaker`` makes the mask of a state: by a walk of the token trie, or, where that takes long, by the shapes of
tokens. A ``MaskStore`` gives the masks of one automaton to guides, to the thread that prefetches, and to functions that
count or draw an index. The masks of all stores of a process lie in one ``MaskCache`` of a limited size, so a long batch
of many constraints takes no more memory than a short one.
"""

from __future__ import annotations

import os
import threading
from functools import cached_property
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from sfgen.automata import Dfa
from sfgen.index.masks.mask_of_state import TrieWalk
from sfgen.index.masks.shapes import ShapeWalk
from sfgen.protocols import Int32, Mask
from sfgen.vocabulary import TokenTrie, Vocabulary

LIMIT = 128 << 20
"""Bytes of the masks that a process keeps: 8 192 different ones of Llama 3, 4 096 of Gemma."""

QUICK = 4096
"""Trie nodes, microseconds: a mask whose walk takes more is made by the shapes of tokens."""

_FEW = 512  # trie nodes: some microseconds


MadeMask = tuple[Mask, int, int]
"""A token mask, uint32 ``[words]``, the number of its tokens, and a 64-bit digest. A tuple of names takes longer."""


class MaskMaker:
    """Makes the token masks of an automaton's states, and keeps none; threads may share it."""

    def __init__(
        self, dfa: Dfa, vocabulary: Vocabulary, goal: NDArray[np.bool_] | None = None, *, with_ends: bool = True
    ) -> None:
        # goal: the states in which a token may end, bool [states]; None: all
        self.walk = TrieWalk(dfa, vocabulary, goal, with_ends=with_ends)

    def mask(self, state: int) -> MadeMask:
        """Make the mask of an existing state."""
        made = self.walk.mask(state, QUICK)
        return made if made[1] >= 0 else self._shapes.mask(state)

    def mask_if_quick(self, state: int) -> MadeMask:
        """Make the mask by a walk of the token trie if that takes microseconds; else the number of tokens is -1."""
        return self.walk.mask(state, QUICK)

    @cached_property
    def _shapes(self) -> ShapeWalk:
        return ShapeWalk(self.walk)


class MaskStore:
    """The token masks of an automaton's states; threads may share it.

    Attributes:
        masks: The mask of each state that is kept, ``None`` for the others. Always the same list: a guide looks here
            first, since this takes a tenth of the time of a call.
    """

    def __init__(
        self, dfa: Dfa, vocabulary: Vocabulary, goal: NDArray[np.bool_] | None = None, *, with_ends: bool = True
    ) -> None:
        self.masks: list[Mask | None] = [None] * len(dfa)
        self._dfa = dfa
        self._vocabulary = vocabulary
        self._goal = goal
        self._with_ends = with_ends
        self._young: dict[int, MadeMask] = {}  # by state: those that `masks` has
        self._old: dict[int, MadeMask] = {}  # and those of the cache's older generation

    def made(self, state: int) -> MadeMask:
        """Find the mask of a state, or make it: masks are kept by this method and ``made_if_quick`` only."""
        return self._find(state) or self._keep(state, self._maker.mask(state))

    def made_if_quick(self, state: int) -> MadeMask | None:
        """Find the mask of a state, or make it if that takes microseconds."""
        found = self._find(state)
        if found is None and (made := self._maker.mask_if_quick(state))[1] >= 0:
            found = self._keep(state, made)
        return found

    @property
    def nbytes(self) -> int:
        """The bytes of the different masks that are kept of this automaton; other automata may share them."""
        kept = [*self._young.values(), *self._old.values()]
        return sum({id(mask): mask.nbytes for mask, _, _ in kept}.values())

    def several(self, state: int) -> bool | None:
        """Return whether two tokens or more are allowed; ``None`` if the answer takes long.

        All end tokens count as one.
        """
        ends = len(self._vocabulary.end_token_ids) if self._dfa.accepting[state] else 0
        if (found := self._find(state)) is not None:
            count = found[1] - ends
        else:
            count = self._maker.walk.transitions(state, _FEW, 2 - min(1, ends))[0]
        return None if count < 0 else count + min(1, ends) > 1

    def within(self, state: int, goal: NDArray[np.bool_]) -> Mask:
        """Make the mask of a state for other end states, bool ``[states]``; it is not kept."""
        mask, _, _ = MaskMaker(self._dfa, self._vocabulary, goal, with_ends=self._with_ends).mask(state)
        mask.setflags(write=False)
        return mask

    def transitions(self, state: int, trie: TokenTrie | None = None) -> tuple[Int32, Int32]:
        """List the text tokens that a state allows, ascending, and their targets; both int32 ``[k]``."""
        walk = self._maker.walk
        count, tokens, targets = walk.transitions(state, trie=trie)
        order = np.argsort(tokens[:count], kind="stable")
        return tokens[order], (targets[order] // walk.width).astype(np.int32)

    def age(self) -> None:
        """Let the masks of this store become those of the older generation; the cache calls it."""
        for state in self._young:
            self.masks[state] = None
        self._young, self._old = {}, self._young

    @cached_property
    def _maker(self) -> MaskMaker:
        return MaskMaker(self._dfa, self._vocabulary, self._goal, with_ends=self._with_ends)

    def _find(self, state: int) -> MadeMask | None:
        """Return the mask of a state, if it is kept, and make it young."""
        found = self._young.get(state)
        if found is None and (old := self._old.get(state)) is not None:  # asked once: a thread may replace `_old`
            found = self._keep(state, old)
        return found

    def _keep(self, state: int, made: MadeMask) -> MadeMask:
        """Keep the mask of a state; return it, or an equal one that is kept, or one by a faster thread."""
        with CACHE.lock:
            found = self._young.get(state)
            if found is None:
                if not self._young:
                    CACHE.stores.add(self)
                found = self._young[state] = CACHE.enter(made)
                self.masks[state] = found[0]
            return found


class MaskCache:
    """The token masks that a process keeps, of all automata and vocabularies; equal masks are one object.

    There are two generations. A mask that is made, or asked for and found among the old ones, is young. When the young
    ones take half of the limit, the old ones are forgotten, and the young become the old. So masks in use stay, nearly
    as in a cache that drops the least recently used; but finding a young mask costs no bookkeeping.

    Attributes:
        lock: Held while masks are entered here or in a store.
        stores: All that may have masks here.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.renew_lock()
        self._young: dict[int, MadeMask] = {}  # by digest
        self._old: dict[int, MadeMask] = {}
        self._young_bytes = self._old_bytes = 0
        self.stores: WeakSet[MaskStore] = WeakSet()

    def renew_lock(self) -> None:
        """Make a new lock."""
        self.lock = threading.RLock()

    @property
    def nbytes(self) -> int:
        """The bytes of all masks that are kept."""
        return self._young_bytes + self._old_bytes

    def enter(self, made: MadeMask) -> MadeMask:
        """Keep a mask, or find the equal one that is kept; the caller holds the lock."""
        mask, _, key = made
        while (found := self._young.get(key)) is not None:
            if found is made or found[0].tobytes() == mask.tobytes():  # a fifth of the time of `np.array_equal`
                return found
            key += 1  # another mask with the same digest
        if key in self._old and self._old[key][0].tobytes() == mask.tobytes():
            made = self._old[key]
        else:
            mask.setflags(write=False)
        nbytes = mask.nbytes
        if self._young_bytes + nbytes > self.limit // 2:
            self._age()
        self._young[key] = made
        self._young_bytes += nbytes
        return made

    def _age(self) -> None:
        """Forget the old masks; the young become the old."""
        self._young, self._old = {}, self._young
        self._young_bytes, self._old_bytes = 0, self._young_bytes
        for store in self.stores:
            store.age()


CACHE = MaskCache(LIMIT)

# A child process has no threads of its parent, and one of these may have held the lock.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=CACHE.renew_lock)
