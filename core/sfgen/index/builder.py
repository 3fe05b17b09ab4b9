"""The index: the vocabulary seen through the automaton.

For every state of the DFA it tells which tokens can follow and where each leads. Rows are made when a state is first
asked for and kept; equal rows are stored once. The next state is found by walking the bytes of the token, so no table
of transitions is kept.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfgen.automata import Dfa
from sfgen.errors import DeadEnd, LimitTooSmall
from sfgen.index import walker
from sfgen.vocabulary import Vocabulary

if TYPE_CHECKING:
    from sfgen.index.guide import Guide

Row = NDArray[np.uint32]
Int32 = NDArray[np.int32]


class Index:
    """Which tokens each state of a DFA allows. Immutable, lazy, safe to share between threads.

    A token is allowed in a state if the automaton can read all its bytes from there and if, from the state it leads
    to, some sequence of tokens still reaches an accepting state. End tokens are allowed exactly in accepting states.

    Args:
        dfa: The automaton of the pattern.
        vocabulary: The tokens.

    Raises:
        DeadEnd: No sequence of tokens writes any text that the automaton accepts.

    >>> vocabulary = Vocabulary([b"1", b"12", b".", b".5", b"a", None], end_token_ids=[5])
    >>> index = Index(Dfa.from_regex(r"[0-9]+\\.[0-9]"), vocabulary)
    >>> index.allowed_tokens(0).tolist()
    [0, 1]
    >>> index.allowed_tokens(index.next_state(0, 0)).tolist()
    [0, 1, 2, 3]
    """

    def __init__(self, dfa: Dfa, vocabulary: Vocabulary) -> None:
        self.dfa = dfa
        self.vocabulary = vocabulary
        self._rows: dict[int, tuple[Row, int]] = {}
        self._unique: dict[bytes, Row] = {}
        self._lock = threading.Lock()
        # Where every byte that the pattern can need is a token by itself, no state is a dead end.
        self._all_states_live = bool(vocabulary.trie.single_bytes[self._bytes_read()].all())
        if not self._all_states_live and self.distance[0] == walker.UNREACHABLE:
            raise DeadEnd(
                "no sequence of tokens of this vocabulary writes a match of the pattern",
                details=(f"bytes that are no token by themselves: {self._missing_bytes()}",),
                hint="Use a model whose tokenizer can write these bytes, or change the pattern.",
            )

    def __repr__(self) -> str:
        return f"Index(pattern={self.dfa.pattern!r}, states={len(self.dfa)}, vocabulary={len(self.vocabulary)})"

    # ---- what a state allows -----------------------------------------------------------------------------------

    def row(self, state: int) -> Row:
        """The mask of ``state``: bit ``t % 32`` of word ``t // 32`` says whether token ``t`` is allowed.

        Returns:
            uint32 ``[ceil(len(vocabulary) / 32)]``, read-only and shared.
        """
        return self._row_and_count(state)[0]

    def allowed_count(self, state: int) -> int:
        """How many tokens ``state`` allows, end tokens included."""
        return self._row_and_count(state)[1]

    def allowed_tokens(self, state: int) -> Int32:
        """The ids of the tokens that ``state`` allows, ascending, int32."""
        return tokens_of_row(self.row(state))

    def next_state(self, state: int, token_id: int) -> int:
        """The state after ``token_id``; -1 if the automaton cannot read it (an end token leads nowhere)."""
        data = self.vocabulary.tokens[token_id]
        if data is None or token_id in self._end_tokens:
            return -1
        return self.dfa.walk(data, state)

    def transitions(self, state: int) -> tuple[Int32, Int32]:
        """The text tokens that ``state`` allows, ascending, and the state each leads to: two int32 arrays."""
        return self._transitions(state, self._live, 0 if self._all_states_live else int(walker.UNREACHABLE) - 1)

    def bounded_row(self, state: int, tokens_left: int) -> Row:
        """The mask of ``state`` when at most ``tokens_left`` more tokens (end tokens not counted) may be written.

        A token is allowed only if the text can still be completed with the tokens that remain after it.
        """
        # Single-byte tokens give an upper bound for every distance: enough room makes the plain row right.
        if tokens_left - 1 >= self._longest_way:
            return self.row(state)
        row = np.zeros(self.row_words, dtype=np.uint32)
        if tokens_left > 0:
            walker.fill_row(state, *self._arrays, self.distance, tokens_left - 1, row)
        self._set_end_tokens(state, row)
        return row

    # ---- the way to the end ------------------------------------------------------------------------------------

    @cached_property
    def distance(self) -> Int32:
        """D(s): the fewest tokens from each state to an accepting one; ``walker.UNREACHABLE`` where there is no way.

        One walk of the trie a state collects its successor states; one reverse breadth-first search gives D.
        """
        sources, targets = [], []
        unfiltered = np.zeros(len(self.dfa), dtype=np.int32)
        for state in range(len(self.dfa)):
            reached = np.zeros(len(self.dfa), dtype=np.bool_)
            reached[self._in_trie_order(state, unfiltered, 0)[1]] = True
            successors = np.flatnonzero(reached).astype(np.int32)
            targets.append(successors)
            sources.append(np.full(successors.size, state, dtype=np.int32))
        distance = walker.distances_to_accepting(np.concatenate(sources), np.concatenate(targets), self.dfa.accepting)
        distance.setflags(write=False)
        return distance

    def check_limit(self, max_tokens: int) -> None:
        """Raise ``LimitTooSmall`` if no match can be written with ``max_tokens`` tokens."""
        if max_tokens >= self._longest_way or max_tokens >= self.distance[0]:
            return
        shortest = self.shortest_tokens()
        text = b"".join(self.vocabulary.tokens[token] or b"" for token in shortest).decode("utf-8", "replace")
        raise LimitTooSmall(
            f"a limit of {max_tokens} tokens is too small: the shortest match takes {len(shortest)}",
            details=(f"  for example {text!r}",),
            hint=f"Allow at least {len(shortest)} tokens.",
        )

    def shortest_tokens(self) -> list[int]:
        """A shortest sequence of tokens from the start to an accepting state (the lowest ids of all such)."""
        state, path = 0, []
        while self.distance[state]:
            tokens, targets = self._transitions(state, self.distance, int(self.distance[state]) - 1)
            path.append(int(tokens[0]))
            state = int(targets[0])
        return path

    # ---- making and keeping ------------------------------------------------------------------------------------

    def guide(self, max_tokens: int | None = None) -> Guide:
        """A new guide at the start, for one sequence. ``max_tokens`` is the number of tokens that it may take.

        Raises:
            LimitTooSmall: No match can be written with ``max_tokens`` tokens.
        """
        from sfgen.index.guide import Guide

        return Guide(self, max_tokens)

    def build(self, progress: Callable[[int, int], None] | None = None) -> None:
        """Make the rows of all states now. ``progress`` is called with (states done, states in all)."""
        for state in range(len(self.dfa)):
            self._row_and_count(state)
            if progress is not None:
                progress(state + 1, len(self.dfa))

    def save(self, path: str | PathLike[str], *, force: bool = False) -> None:
        """Write the index to a safetensors file; see ``sfgen.index.file``."""
        from sfgen.index.file import save

        save(self, path, force=force)

    @classmethod
    def load(cls, path: str | PathLike[str], vocabulary: Vocabulary) -> Index:
        """Read an index that was saved for the same vocabulary; see ``sfgen.index.file``."""
        from sfgen.index.file import load

        return load(path, vocabulary)

    def to_dict(self, *, ids: bool = False) -> dict[str, Any]:
        """The whole index as plain data for JSON; see ``sfgen.index.export``."""
        from sfgen.index.export import to_dict

        return to_dict(self, ids=ids)

    @property
    def row_words(self) -> int:
        """The number of 32-bit words of a row."""
        return (len(self.vocabulary) + 31) // 32

    def adopt_row(self, state: int, row: Row, count: int) -> None:
        """Take a row that was made earlier (by ``build``, read from a file) instead of making it again."""
        with self._lock:
            self._rows[state] = (row, count)

    def _row_and_count(self, state: int) -> tuple[Row, int]:
        known = self._rows.get(state)
        if known is not None:
            return known
        row = np.zeros(self.row_words, dtype=np.uint32)
        room = 0 if self._all_states_live else int(walker.UNREACHABLE) - 1
        count = int(walker.fill_row(state, *self._arrays, self._live, room, row))
        count += self._set_end_tokens(state, row)
        with self._lock:
            row = self._unique.setdefault(row.tobytes(), row)
            row.setflags(write=False)
            return self._rows.setdefault(state, (row, count))

    def _transitions(self, state: int, distance: Int32, room: int) -> tuple[Int32, Int32]:
        tokens, targets = self._in_trie_order(state, distance, room)
        order = np.argsort(tokens, kind="stable")
        return tokens[order], targets[order]

    def _in_trie_order(self, state: int, distance: Int32, room: int) -> tuple[Int32, Int32]:
        tokens = np.empty(len(self.vocabulary), dtype=np.int32)
        targets = np.empty(len(self.vocabulary), dtype=np.int32)
        count = walker.list_transitions(state, *self._arrays, distance, room, tokens, targets)
        return tokens[:count], targets[:count]

    def _set_end_tokens(self, state: int, row: Row) -> int:
        if not self.dfa.accepting[state]:
            return 0
        for token in self.vocabulary.end_token_ids:
            row[token >> 5] |= np.uint32(1 << (token & 31))
        return len(self.vocabulary.end_token_ids)

    @cached_property
    def _end_tokens(self) -> frozenset[int]:
        return frozenset(self.vocabulary.end_token_ids)

    @cached_property
    def _arrays(self) -> tuple[Int32, NDArray[np.uint8], NDArray[np.uint8], Int32, Int32, Int32, Int32, int]:
        trie = self.vocabulary.trie
        return (
            self.dfa.transitions,
            self.dfa.byte_classes,
            trie.bytes,
            trie.depths,
            trie.subtree_ends,
            trie.token_starts,
            trie.token_ids,
            trie.max_depth,
        )

    @cached_property
    def _live(self) -> Int32:
        """Distances that tell live states from dead ends: all zero where every state is known to be live."""
        return np.zeros(len(self.dfa), dtype=np.int32) if self._all_states_live else self.distance

    @cached_property
    def _longest_way(self) -> int:
        """No live state is farther than this many tokens from an accepting one."""
        if not self._all_states_live:
            return int(self.distance[self.distance != walker.UNREACHABLE].max())
        sources, classes = np.nonzero(self.dfa.transitions >= 0)
        targets = self.dfa.transitions[sources, classes]
        return int(walker.distances_to_accepting(sources.astype(np.int32), targets, self.dfa.accepting).max())

    def _bytes_read(self) -> NDArray[np.intp]:
        """The bytes that label at least one transition."""
        read: NDArray[np.bool_] = np.any(self.dfa.transitions >= 0, axis=0)
        return np.flatnonzero(read[self.dfa.byte_classes])

    def _missing_bytes(self) -> str:
        missing = [byte for byte in self._bytes_read() if not self.vocabulary.trie.single_bytes[byte]]
        shown = ", ".join(chr(byte) if 0x20 < byte < 0x7F else f"0x{byte:02X}" for byte in missing[:12])
        return shown + (", …" if len(missing) > 12 else "")


def tokens_of_row(row: Row) -> Int32:
    """The token ids whose bits are set in a packed row, ascending, int32.

    >>> tokens_of_row(np.array([0b1001, 1], dtype=np.uint32)).tolist()
    [0, 3, 32]
    """
    bits = np.unpackbits(row.astype("<u4", copy=False).view(np.uint8), bitorder="little")
    return np.flatnonzero(bits).astype(np.int32)
