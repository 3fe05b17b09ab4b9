"""The rows of all states: made, or read from a file, when first asked for, or all at once; kept; equal ones once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfgen.automata import Dfa
from sfgen.errors import UsageError
from sfgen.index.masks import few_tokens, many_states
from sfgen.index.masks.few_tokens import make_narrow
from sfgen.index.masks.many_states import MEMBERS, enter, walk_family, write_rows
from sfgen.index.masks.one_state import list_transitions, make_row
from sfgen.index.masks.shapes import ShapedRows
from sfgen.index.masks.table import UInt32, walking_table
from sfgen.index.stored_rows import StoredRows
from sfgen.vocabulary import Vocabulary
from sfgen.vocabulary.shapes import COLUMNS

Int32 = NDArray[np.int32]

_FIRST_BLOCK = 4 << 20  # bytes of rows that room is made for at first
_APART = 1 << 16  # trie nodes that may be walked beside the shapes: a state that takes more is made with others like it
_WIDE = 4096  # trie nodes: a state whose walk takes more is made by the shapes of tokens
_RELATIVES = 256  # states among which those others are looked for
_FEW = 512  # trie nodes: some microseconds
_STEP = 4096  # states between two calls of `progress`


class Rows:
    """Which tokens each state allows, as packed rows. Safe to share between threads.

    A row is made by a walk of its own; where that takes long, by the shapes of tokens (see
    ``sfgen.index.masks.shapes``). Where that takes long too, for a second state, it is made together with those of the
    states that can follow (see ``sfgen.index.masks.many_states``).

    Args:
        dfa: The automaton.
        vocabulary: The tokens.
        goal: The states in which a token may end, bool ``[states]``; ``None`` for all.

    Attributes:
        masks: The row of each state, read-only and shared; ``None`` where it was not made yet. Always the same list.
        stored: Rows that were made earlier, to be read instead of made; ``None`` for none.
    """

    def __init__(self, dfa: Dfa, vocabulary: Vocabulary, goal: NDArray[np.bool_] | None = None) -> None:
        self.masks: list[UInt32 | None] = [None] * len(dfa)
        self._counts = [0] * len(dfa)
        self._dfa = dfa
        self._vocabulary = vocabulary
        self._goal = goal
        # Held again by a thread that asks for a row while it is told of the progress of `build`.
        self._lock = threading.RLock()
        self._arguments: tuple[Any, ...] = ()
        self._wide_seen = False
        self._shaped_rows: ShapedRows | None = None
        self._unique: dict[tuple[int, int], list[UInt32]] = {}
        self.stored: StoredRows | None = None
        self._read: dict[int, UInt32] = {}

    @property
    def words(self) -> int:
        """The number of 32-bit words of a row."""
        return (len(self._vocabulary) + 31) // 32

    def count(self, state: int) -> int:
        """How many tokens ``state`` allows, end tokens included."""
        if state < 0 or self.masks[state] is None:
            self.make(state)
        return self._counts[state]

    def several(self, state: int) -> bool | None:
        """Whether ``state`` allows more than one token; ``None`` if that is not told quickly. End tokens are one."""
        self._check(state)
        ends = len(self._vocabulary.end_token_ids) if self._dfa.accepting[state] else 0
        if self.masks[state] is not None:
            count = self._counts[state]
        elif self.stored is not None:
            count = int(self.stored.counts[self.stored.row_of_state[state]])
        else:
            count = self._list(state, _FEW, 2 - min(1, ends))[0]
            return None if count < 0 else count + min(1, ends) > 1
        return count - ends + min(1, ends) > 1

    def make(self, state: int) -> UInt32:
        """Make the row of ``state``, or find it where another thread was faster."""
        if (mask := self.make_narrow(state)) is not None:
            return mask
        row: UInt32 = np.empty(self.words, dtype=np.uint32)
        count, digest = self._shaped().make(state, _APART, row)
        if count < 0 and self._wide_seen:
            return self._make_with_relatives(state)
        if count < 0:
            self._wide_seen = True
            row, count, digest = self._walk(state, len(self._vocabulary.trie))
        return self._keep_first(state, row, count, digest)

    def make_narrow(self, state: int) -> UInt32 | None:
        """Make or read the row of ``state`` if that takes microseconds; ``None`` if it takes longer."""
        self._check(state)
        if self.stored is not None:
            return self._take(state, self.stored)
        row, count, digest = self._walk(state, _WIDE)
        return None if count < 0 else self._keep_first(state, row, count, digest)

    def build(self, progress: Callable[[int, int], None] | None = None) -> None:
        """Make the rows of all states; ``progress`` is called with (states done, states in all)."""
        total = len(self._dfa)
        with self._lock:
            if self.stored is not None:
                self._take_all(total, self.stored, progress)
            elif not all(mask is not None for mask in self.masks):
                self._make_all(total, progress)
            elif progress is not None:
                progress(total, total)

    def within(self, state: int, goal: NDArray[np.bool_]) -> UInt32:
        """The row of ``state`` if tokens may end in some states only; it is not kept."""
        _, *others = self._for(state)
        table = walking_table(self._dfa.transitions, goal, COLUMNS).reshape(-1)
        row: UInt32 = np.empty(self.words, dtype=np.uint32)
        count, _ = ShapedRows(table, self._dfa, self._vocabulary, others[3]).make(state, _APART, row)
        if count < 0:
            row.fill(0)
            make_row(state, len(self._vocabulary.trie), row, self._stack(), table, *others)
        row.setflags(write=False)
        return row

    def transitions(self, state: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The text tokens that ``state`` allows, ascending, and the state each leads to."""
        count, tokens, targets = self._list(state, len(self._vocabulary.trie), len(self._vocabulary.trie.token_ids))
        order = np.argsort(tokens[:count], kind="stable")
        return tokens[order], (targets[order] // self._for(state)[1]).astype(np.int32)

    def check_refusal(self, state: int, token: int) -> None:
        """Look into a row that was read when the automaton refuses a token.

        Raises:
            IndexFileError: The row allows it.
        """
        row = self.masks[state] if 0 <= token < len(self._vocabulary) else None
        if self.stored is not None and row is not None and row[token >> 5] >> (token & 31) & 1:
            raise self.stored.contradiction(state)

    def _check(self, state: int) -> None:
        if not 0 <= state < len(self.masks):
            raise UsageError(f"there is no state {state}: the automaton has {len(self.masks)}")

    def _take(self, state: int, stored: StoredRows) -> UInt32:
        """Read the row of ``state``, or find it where it was read for another state."""
        number = int(stored.row_of_state[state])
        row = self._read.get(number)
        if row is None:
            row = stored.read(number)
        ends = self._vocabulary.end_token_ids
        accepting = bool(self._dfa.accepting[state])
        live = self._goal is None or bool(self._goal[state])
        # What can be seen at a glance: the end where it may be and only there, and never nothing at all. Should the row
        # allow text that the automaton refuses, it comes out when that is chosen.
        if any(bool(row[end >> 5] >> (end & 31) & 1) != accepting for end in ends) or (
            live and not accepting and not stored.counts[number]
        ):
            raise stored.contradiction(state)
        with self._lock:
            row = self._read.setdefault(number, row)
            self._counts[state] = int(stored.counts[number])
            self.masks[state] = row
        return row

    def _take_all(self, total: int, stored: StoredRows, progress: Callable[[int, int], None] | None) -> None:
        for state in range(total):
            if self.masks[state] is None:
                self._take(state, stored)
            if progress is not None and (state + 1 == total or state % _STEP == _STEP - 1):
                progress(state + 1, total)

    def _for(self, state: int) -> tuple[Any, ...]:
        """What ``walker.make_row`` takes after ``stack``, for a state that there is: the walk does not look."""
        self._check(state)
        if not self._arguments:
            trie = self._vocabulary.trie
            self._arguments = (
                walking_table(self._dfa.transitions, self._goal, COLUMNS).reshape(-1),
                self._dfa.transitions.shape[1] + COLUMNS,
                self._dfa.byte_classes,
                self._dfa.accepting,
                np.array(self._vocabulary.end_token_ids, dtype=np.int32),
                trie.bytes,
                trie.depths,
                trie.subtree_ends,
                trie.first_tokens,
                trie.repeated_tokens,
                trie.roots,
            )
        return self._arguments

    def _walk(self, state: int, budget: int) -> tuple[UInt32, int, int]:
        """The row of a state by a walk of the token trie, its number of tokens, and its digest; see ``make_row``."""
        row: UInt32 = np.zeros(self.words, dtype=np.uint32)
        return row, *make_row(state, budget, row, self._stack(), *self._for(state))

    def _shaped(self) -> ShapedRows:
        if self._shaped_rows is None:
            table, _, _, _, end_tokens, *_ = self._for(0)
            self._shaped_rows = ShapedRows(table, self._dfa, self._vocabulary, end_tokens)
        return self._shaped_rows

    def _list(self, state: int, budget: int, most: int) -> tuple[int, Int32, UInt32]:
        """Some tokens that a state allows and where they lead to; see ``walker.list_transitions``."""
        table, width, byte_classes, *_ = self._for(state)
        trie = self._vocabulary.trie
        tokens, targets = np.empty(most, dtype=np.int32), np.empty(most, dtype=np.uint32)
        count: int = list_transitions(
            state, budget, most, self._stack(), tokens, targets, table, width, byte_classes,
            trie.bytes, trie.depths, trie.subtree_ends, trie.token_starts, trie.token_ids, trie.roots,
        )  # fmt: skip
        return count, tokens, targets

    def _stack(self) -> UInt32:
        """Room for a state at each depth of a walk."""
        return np.empty(self._vocabulary.trie.max_depth + 1, dtype=np.uint32)

    def _make_all(self, total: int, progress: Callable[[int, int], None] | None) -> None:
        room = max(MEMBERS, _FIRST_BLOCK // (4 * max(1, self.words)))
        made = _Block(total, min(total, room), self.words)
        states = np.arange(total, dtype=np.int32)
        done = 0
        while done < total:
            made.make_room(1)
            stop = total if progress is None else min(total, done + _STEP)
            done = self._make_narrow(states, done, stop, made)
            if progress is not None:
                progress(int(np.count_nonzero(made.row_of[:done] >= 0)), total)
        wide = np.flatnonzero(made.row_of < 0).astype(np.int32)
        for first in range(0, wide.size, MEMBERS):
            members = wide[first : first + MEMBERS]
            made.row_of[members] = self._make_family(members, made)
            if progress is not None:
                progress(total - wide.size + first + members.size, total)
        numbers, masks, amounts = made.row_of.tolist(), made.masks(), made.counts[: made.used].tolist()
        self._counts = [amounts[number] for number in numbers]
        self.masks[:] = [masks[number] for number in numbers]
        self._unique.clear()  # no row will be made any more

    def _make_with_relatives(self, state: int) -> UInt32:
        """Make the row of ``state``, which is wide, and of the wide states among those that can follow it."""
        with self._lock:
            mask = self.masks[state]
            if mask is not None:
                return mask
            relatives = self._relatives(state)
            made = _Block(len(relatives), MEMBERS, self.words)
            self._make_narrow(relatives, 0, len(relatives), made, keep=False)
            wide = relatives[made.row_of < 0][:MEMBERS]
            numbers = self._make_family(wide, made).tolist()
            masks = [made.rows[number].copy() for number in range(made.used)]
            for relative, number in zip(wide.tolist(), numbers, strict=True):
                self._keep(relative, masks[number], int(made.counts[number]), int(made.digests[number]))
            mask = self.masks[state]
            assert mask is not None
            return mask

    def _make_narrow(self, states: Int32, place: int, stop: int, made: _Block, *, keep: bool = True) -> int:
        """Make the rows of the narrow ones of ``states`` from ``place`` to ``stop``, and return the place reached."""
        trie = self._vocabulary.trie
        table, width, byte_classes, accepting, end_tokens, *_ = self._for(0)
        tokens = np.empty(len(trie.token_ids) + len(end_tokens), dtype=np.int32)
        targets = np.empty(len(trie.token_ids), dtype=np.uint32)
        place, made.used = make_narrow(
            states, place, stop, made.used, keep, few_tokens.NARROW,
            made.rows, made.counts, made.digests, made.slots, made.row_of, self._stack(), tokens, targets,
            table, width, byte_classes, accepting, end_tokens,
            trie.bytes, trie.depths, trie.subtree_ends, trie.token_starts, trie.token_ids, trie.roots,
        )  # fmt: skip
        return place

    def _make_family(self, members: Int32, made: _Block) -> Int32:
        """Make the rows of wide states, and return their numbers."""
        made.make_room(len(members))
        if len(members) == 1:
            return np.array([self._make_wide(int(members[0]), made)], dtype=np.int32)
        if not self._differ_in_width(members):
            numbers = self._make_alike(members, made)
            if numbers is not None:
                return numbers
        # They have too little in common.
        parts = np.array_split(members, 8 if len(members) > 8 else len(members))
        return np.concatenate([self._make_family(part, made) for part in parts])

    def _make_wide(self, state: int, made: _Block) -> int:
        """Make the row of one wide state, and return its number."""
        count, digest = self._shaped().make(state, _APART, made.rows[made.used])
        if count < 0:
            made.rows[made.used], count, digest = self._walk(state, len(self._vocabulary.trie))
        number: int = enter(count, digest, made.rows, made.used, made.counts, made.digests, made.slots)
        made.used += number == made.used
        return number

    def _make_alike(self, members: Int32, made: _Block) -> Int32 | None:
        """Make the rows of a family, and return their numbers; ``None`` where there are too many functions."""
        table, width, byte_classes, accepting, end_tokens, *_ = self._arguments
        trie, most = self._vocabulary.trie, many_states.FUNCTIONS
        signatures = np.empty(most, dtype=np.uint64)
        tokens = np.empty(len(trie) + 1, dtype=np.uint32)
        functions = np.empty(len(trie) + 1, dtype=np.uint16)
        stack = np.empty(trie.max_depth + 1, dtype=np.int32)
        vectors = np.empty((most, len(members)), dtype=np.uint32)
        after = np.empty((most, width), dtype=np.int32)
        slots = np.full(2 * most, -1, dtype=np.int32)
        starts = np.zeros(most + 2, dtype=np.int64)
        ordered = np.empty(len(trie), dtype=np.uint32)
        known = walk_family(
            members, most, signatures, starts, ordered, tokens, functions, stack, vectors, after, slots,
            table, width, byte_classes, trie.bytes, trie.depths, trie.subtree_ends, trie.first_tokens, trie.roots,
        )  # fmt: skip
        if known < 0:
            return None
        # Members by rising number of tokens, which puts a smaller set right before the one that it is part of.
        allows = signatures[2:known] >> np.arange(len(members), dtype=np.uint64)[:, None] & np.uint64(1)
        amounts = allows.astype(np.int64) @ np.diff(starts[2 : known + 1])
        order = np.argsort(amounts, kind="stable")
        numbers = np.empty(len(members), dtype=np.int32)
        made.used = write_rows(
            members[order], amounts[order], allows[order].astype(np.bool_), starts, ordered,
            np.zeros(self.words, dtype=np.uint32),
            made.used, made.rows, made.counts, made.digests, made.slots, numbers,
            accepting, end_tokens, trie.repeated_tokens,
        )  # fmt: skip
        return numbers[np.argsort(order)]

    def _differ_in_width(self, members: Int32) -> bool:
        """Whether one state may read so much more than the others that walks of their own take less than a family's.

        What a state may read is told by the first byte.
        """
        first_bytes = (self._dfa.transitions[members] >= 0)[:, self._dfa.byte_classes]
        nodes = first_bytes @ np.diff(self._vocabulary.trie.roots)
        return bool(nodes.sum() <= 2 * nodes.max())

    def _relatives(self, state: int) -> Int32:
        """``state``, and the nearest states after it whose rows were not made yet."""
        seen = np.zeros(len(self._dfa), dtype=np.bool_)
        seen[state] = True
        found, layer = [state], np.array([state])
        while len(found) < _RELATIVES and layer.size:
            layer = np.unique(self._dfa.transitions[layer])
            layer = layer[layer >= 0]
            layer = layer[~seen[layer]]
            seen[layer] = True
            found += [target for target in layer.tolist() if self.masks[target] is None]
        return np.array(found[:_RELATIVES], dtype=np.int32)

    def _keep_first(self, state: int, row: UInt32, count: int, digest: int) -> UInt32:
        """Store the row of a state, unless another thread was faster."""
        with self._lock:
            mask = self.masks[state]
            return self._keep(state, row, count, digest) if mask is None else mask

    def _keep(self, state: int, row: UInt32, count: int, digest: int) -> UInt32:
        """Store the row of a state, or find the equal one that is stored."""
        alike = self._unique.setdefault((count, digest), [])
        for mask in alike:
            if np.array_equal(mask, row):
                break
        else:
            mask = row
            mask.setflags(write=False)
            alike.append(mask)
        self._counts[state] = count
        self.masks[state] = mask
        return mask


class _Block:
    """Rows that are made together, the different ones once, with what ``make_narrow`` and ``write_rows`` keep of them.

    Args:
        states: How many states there are rows for.
        rows: How many rows there is room for at first.
        words: The number of words of a row.
    """

    def __init__(self, states: int, rows: int, words: int) -> None:
        self.used = 0
        self.rows: UInt32 = np.empty((rows, words), dtype=np.uint32)
        self.counts = np.empty(states, dtype=np.int64)
        self.digests = np.empty(states, dtype=np.uint64)
        self.slots = np.full(1 << (2 * states).bit_length(), -1, dtype=np.int32)
        self.row_of = np.empty(states, dtype=np.int32)

    def make_room(self, rows: int) -> None:
        """Make room for so many more rows."""
        if self.used + rows > len(self.rows):
            larger = np.empty((max(self.used + rows, 2 * len(self.rows)), self.rows.shape[1]), dtype=np.uint32)
            larger[: self.used] = self.rows[: self.used]
            self.rows = larger

    def masks(self) -> list[UInt32]:
        """The rows, read-only."""
        rows = self.rows[: self.used]
        if 2 * self.used < len(self.rows):
            rows = rows.copy()
        rows.setflags(write=False)
        return list(rows)
