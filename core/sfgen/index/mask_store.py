"""The token masks of all states of an automaton: each is made, or read from a file, once, and kept."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfgen.automata import Dfa
from sfgen.errors import UsageError
from sfgen.index.masks.one_state import TrieWalk
from sfgen.index.masks.shapes import ShapeWalk
from sfgen.index.stored_rows import StoredRows
from sfgen.protocols import Int32, Mask
from sfgen.vocabulary import TokenTrie, Vocabulary

QUICK = 4096  # trie nodes, microseconds: a mask whose walk takes more is made by the shapes of tokens
_FEW = 512  # trie nodes: some microseconds
_STEP = 4096  # states between two calls of `progress`


class MaskStore:
    """A lazy store of the token masks of all states.

    Threads may share it. A mask is made when it is first needed: by a walk of the token trie, or, where that takes
    long, by the shapes of tokens (see ``sfgen.index.masks.shapes``). Equal masks are one object.

    Args:
        dfa: The automaton.
        vocabulary: The tokens.
        goal: The states in which a token may end, bool ``[states]``; ``None`` for all.

    Attributes:
        masks: The mask of each state, read-only and shared; ``None`` where it was not made yet. Always the same list.
        stored: Masks that were made earlier, to be read instead of made; ``None`` for none.
    """

    def __init__(self, dfa: Dfa, vocabulary: Vocabulary, goal: NDArray[np.bool_] | None = None) -> None:
        self.masks: list[Mask | None] = [None] * len(dfa)
        self._counts = [0] * len(dfa)
        self._dfa = dfa
        self._vocabulary = vocabulary
        self._goal = goal
        # Held again by a thread that asks for a mask while it is told of the progress of `build`.
        self._lock = threading.RLock()
        self._unique: dict[tuple[int, int], list[Mask]] = {}
        self.stored: StoredRows | None = None
        self._read: dict[int, Mask] = {}

    @property
    def words(self) -> int:
        """The number of 32-bit words of a mask."""
        return (len(self._vocabulary) + 31) // 32

    def count(self, state: int) -> int:
        """Return the number of tokens that a state allows, with end tokens."""
        if state < 0 or self.masks[state] is None:
            self.make(state)
        return self._counts[state]

    def several(self, state: int) -> bool | None:
        """Tell whether a state allows two tokens or more, if quickly known.

        All end tokens count as one.

        Returns:
            ``None`` if it would take long.
        """
        self._check(state)
        ends = len(self._vocabulary.end_token_ids) if self._dfa.accepting[state] else 0
        if self.masks[state] is not None:
            count = self._counts[state]
        elif self.stored is not None:
            count = int(self.stored.counts[self.stored.row_of_state[state]])
        else:
            count = self._walk.transitions(state, _FEW, 2 - min(1, ends))[0]
            return None if count < 0 else count + min(1, ends) > 1
        return count - ends + min(1, ends) > 1

    def make(self, state: int) -> Mask:
        """Make the mask of a state, unless another thread just did."""
        mask = self.make_if_quick(state)
        return self._keep_first(state, *self._shapes.mask(state)) if mask is None else mask

    def make_if_quick(self, state: int) -> Mask | None:
        """Make or read the mask of a state if that takes microseconds.

        Returns:
            ``None`` if it would take longer.
        """
        self._check(state)
        if self.stored is not None:
            return self._take(state, self.stored)
        mask, count, digest = self._walk.mask(state, QUICK)
        return None if count < 0 else self._keep_first(state, mask, count, digest)

    def build(self, progress: Callable[[int, int], None] | None = None) -> None:
        """Make the masks of all states.

        Args:
            progress: Called with (states done, states in all).
        """
        total = len(self._dfa)
        with self._lock:
            if self.stored is not None:
                self._take_all(total, self.stored, progress)
            elif not all(mask is not None for mask in self.masks):
                self._make_all(progress)
            elif progress is not None:
                progress(total, total)

    def within(self, state: int, goal: NDArray[np.bool_]) -> Mask:
        """Make the mask of a state with fewer states to end in.

        It is not kept.

        Args:
            state: The state.
            goal: The states in which a token may end, bool ``[states]``.
        """
        self._check(state)
        mask, _, _ = ShapeWalk(TrieWalk(self._dfa, self._vocabulary, goal)).mask(state)
        mask.setflags(write=False)
        return mask

    def transitions(self, state: int, trie: TokenTrie | None = None) -> tuple[Int32, Int32]:
        """List the text tokens that a state allows, and their targets.

        Args:
            state: The state.
            trie: What is read of the tokens; see ``TrieWalk.transitions``.

        Returns:
            Token ids, ascending, and the state that each leads to, both int32 ``[k]``.
        """
        self._check(state)
        count, tokens, targets = self._walk.transitions(state, trie=trie)
        order = np.argsort(tokens[:count], kind="stable")
        return tokens[order], (targets[order] // self._walk.width).astype(np.int32)

    def check_refusal(self, state: int, token: int) -> None:
        """Check that a stored mask does not allow a refused token.

        Args:
            state: The state.
            token: A token that the automaton refuses there.

        Raises:
            IndexFileError: The mask allows it.
        """
        mask = self.masks[state] if 0 <= token < len(self._vocabulary) else None
        if self.stored is not None and mask is not None and mask[token >> 5] >> (token & 31) & 1:
            raise self.stored.contradiction(state)

    def _check(self, state: int) -> None:
        if not 0 <= state < len(self.masks):
            raise UsageError(f"there is no state {state}: the automaton has {len(self.masks)}")

    def _take(self, state: int, stored: StoredRows) -> Mask:
        """Read the mask of ``state``, or find it where it was read for another state."""
        number = int(stored.row_of_state[state])
        mask = self._read.get(number)
        if mask is None:
            mask = stored.read(number)
        ends = self._vocabulary.end_token_ids
        accepting = bool(self._dfa.accepting[state])
        live = self._goal is None or bool(self._goal[state])
        # What can be seen at a glance: the end where it may be and only there, and never nothing at all. Should the
        # mask allow text that the automaton refuses, it comes out when that is chosen.
        if any(bool(mask[end >> 5] >> (end & 31) & 1) != accepting for end in ends) or (
            live and not accepting and not stored.counts[number]
        ):
            raise stored.contradiction(state)
        with self._lock:
            mask = self._read.setdefault(number, mask)
            self._counts[state] = int(stored.counts[number])
            self.masks[state] = mask
        return mask

    def _take_all(self, total: int, stored: StoredRows, progress: Callable[[int, int], None] | None) -> None:
        for state in range(total):
            if self.masks[state] is None:
                self._take(state, stored)
            if progress is not None and (state + 1 == total or state % _STEP == _STEP - 1):
                progress(state + 1, total)

    @cached_property
    def _walk(self) -> TrieWalk:
        return TrieWalk(self._dfa, self._vocabulary, self._goal)

    @cached_property
    def _shapes(self) -> ShapeWalk:
        return ShapeWalk(self._walk)

    def _make_all(self, progress: Callable[[int, int], None] | None) -> None:
        from sfgen.index.masks.all_states import make_all  # only who saves or counts needs it

        masks, self._counts = make_all(self._walk, progress)
        self.masks[:] = masks  # after the counts: a thread that finds a mask reads its count
        self._unique.clear()  # no mask will be made any more

    def _keep_first(self, state: int, made: Mask, count: int, digest: int) -> Mask:
        """Store the mask of a state, or find the equal one that is stored; or what a faster thread stored."""
        with self._lock:
            if (mask := self.masks[state]) is not None:
                return mask
            alike = self._unique.setdefault((count, digest), [])
            for mask in alike:
                if np.array_equal(mask, made):
                    break
            else:
                mask = made
                mask.setflags(write=False)
                alike.append(mask)
            self._counts[state] = count
            self.masks[state] = mask
            return mask
