"""Token masks of configurations, as unions of few masks.

* Tokens that hand no terminal to the parser are found once for each lexer state, in classes. The tokens of one class
  reach the same terminals, so the parser's stack allows all of them or none.
* Tokens in which a terminal ends are read on with the stack, from some hundreds of trie nodes.
* Where a terminal may end before the token, the tokens of the gap behind it are allowed too.

LalrMasks are cached by lexer state and stack node.
"""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfgen.grammar.lalr.costs import FAR
from sfgen.grammar.lalr.read import LalrConfiguration, LalrReader
from sfgen.grammar.lalr.stack import BOTTOM
from sfgen.grammar.lalr.tables import NO_STATE
from sfgen.grammar.lalr.walk import (
    BELOW,
    DEEPEST,
    ENDS,
    FIELDS,
    MOST_CONFIGURATIONS,
    MOST_MADE,
    STATE,
    TOO_MANY,
    join_classes,
    read_behind,
    walk_lexeme,
)
from sfgen.grammar.shell.masks import MaskCache, TokenMask, TooManyWays, allow, words_of
from sfgen.index.mask_ids import packed, repeat_tokens
from sfgen.protocols import Int32, Mask
from sfgen.vocabulary import Vocabulary

_ENDS, _MOST_ENDS = 1 << 12, 1 << 22
"""The first room for ends of tokens, and the most numbers of ends."""

_NO_MASK: Mask = np.empty(0, dtype=np.uint32)
_NOT_WANTED: Int32 = np.empty(0, dtype=np.int32)


class LexemeTokens(NamedTuple):
    """The tokens read from one lexer state.

    Attributes:
        lexer_states: A lexer state of each class of tokens that hand no terminal to the parser, int32
            ``[classes]``.
        masks: The tokens of each class, uint32 ``[classes, words]``.
        labels: The labels that are committed inside tokens, int32 ``[labels]``.
        child_starts: The first entry in ``children`` of each label, int32 ``[labels + 1]``.
        children: The trie nodes right behind such commits, int32.
        reached: The lexer states behind tokens that hand no terminal to the parser, ascending, int32.
    """

    lexer_states: Int32
    masks: NDArray[np.uint32]
    labels: Int32
    child_starts: Int32
    children: Int32
    reached: Int32


class _Safe(NamedTuple):
    """The terminals that show a configuration to be alive.

    Attributes:
        starts: The first entry in ``terminals`` of each lexer state, int32 ``[lexer_states + 1]``.
        terminals: Terminals after which the text can be completed if the parser takes them, int32.
        is_doubtful: The lexer states whose configurations may be alive besides, bool ``[lexer_states]``.
    """

    starts: Int32
    terminals: Int32
    is_doubtful: NDArray[np.bool_]

    @classmethod
    def of(cls, reach: NDArray[np.bool_], is_doubtful: NDArray[np.bool_]) -> _Safe:
        """Make it of the terminals of each lexer state, bool ``[lexer_states, terminals]``."""
        starts = np.append(0, np.cumsum(reach.sum(axis=1))).astype(np.int32)
        return cls(starts, np.nonzero(reach)[1].astype(np.int32), is_doubtful)


class TokenEnds(NamedTuple):
    """The configurations behind tokens.

    Attributes:
        tokens: The tokens, int32 ``[ends]``; a token that is read in several ways has several ends.
        place_of: The number of the configuration behind each token, ``[ends]``.
        lexer_states: The lexer states of the configurations, int32 ``[configurations]``.
        nodes: Their stack nodes, ``[configurations]``.
    """

    tokens: Int32
    place_of: NDArray[np.intp]
    lexer_states: Int32
    nodes: NDArray[np.int64]


_NO_ENDS = TokenEnds(_NOT_WANTED, np.empty(0, dtype=np.intp), _NOT_WANTED, np.empty(0, dtype=np.int64))


class LalrMasks:
    """Makes and caches the masks of one grammar over one vocabulary. Safe to share between threads.

    A configuration is alive if it reaches a *safe* label that the parser takes (see ``distances``). Mostly
    all labels are safe; other configurations need their distance.
    """

    def __init__(self, reader: LalrReader, vocabulary: Vocabulary) -> None:
        self._reader = reader
        self._vocabulary = vocabulary
        tables, lexer, trie = reader.tables, reader.lexer, vocabulary.trie
        self.words = words_of(vocabulary)
        labels = reader.distances.labels
        number_of = {label: number for number, label in enumerate(labels)}
        commits = zip(lexer.commit_terminals.tolist(), lexer.commit_obligations.tolist(), strict=True)
        commit_labels = np.array([number_of[commit] for commit in commits], dtype=np.int32)
        self._labels = np.array(labels, dtype=np.int32).reshape(-1)
        self._sizes = np.array(
            [
                tables.actions.shape[1],
                tables.gotos.shape[1],
                len(tables.terminals) - 1,
                tables.end,
                lexer.step.shape[1],
                lexer.starts.shape[1],
            ],
            dtype=np.int32,
        )
        cost, safe_labels = reader.distances.cost, reader.distances.safe
        doubtful: NDArray[np.bool_] = np.any((cost < FAR)[:, ~safe_labels], axis=1)
        self._safe = _Safe.of(reader.distances.to_terminals(safe_labels) < FAR, doubtful)
        self._nothing_safe = _Safe.of(
            np.zeros((len(cost), len(tables.terminals)), dtype=np.bool_), np.ones(len(cost), dtype=np.bool_)
        )
        comes_to = np.packbits(cost < FAR, axis=1)
        known: dict[bytes, int] = {}
        class_of = [known.setdefault(labels_reached.tobytes(), len(known)) for labels_reached in comes_to]
        self._class_of = np.array(class_of, dtype=np.int32)
        self._classes = len(known)
        self._first_of_class = np.unique(self._class_of, return_index=True)[1].astype(np.int32)
        self._lexer_arguments: tuple[Any, ...] = (
            np.ascontiguousarray(lexer.step).reshape(-1), self._sizes, lexer.byte_classes, lexer.commit_starts,
            commit_labels, trie.bytes, trie.depths, trie.subtree_ends, trie.first_tokens, trie.token_starts,
            trie.token_ids,
        )  # fmt: skip
        self._is_open = _open_bytes(reader, self._labels[1::2]).reshape(-1)
        self._parser_arguments: tuple[Any, ...] = (
            np.ascontiguousarray(tables.actions).reshape(-1), np.ascontiguousarray(tables.gotos).reshape(-1),
            np.array([(rule.nonterminal, len(rule.symbols)) for rule in tables.rules], dtype=np.int32).reshape(-1),
            self._sizes,
        )  # fmt: skip
        self._starts = np.ascontiguousarray(lexer.starts).reshape(-1)
        self._lexemes: dict[int, LexemeTokens] = {}
        self._masks = MaskCache[tuple[int, int], TokenMask]()
        self._scratch = threading.local()

    def of(self, lexer_state: int, node: int) -> TokenMask:
        """Return the tokens of a configuration."""
        key = lexer_state, node
        token_mask = self._masks.get(key)
        if token_mask is None:
            token_mask = self._masks.keep(key, self._make(lexer_state, node))
        return token_mask

    def is_made(self, lexer_state: int, node: int) -> bool:
        """Tell whether the mask of a configuration is cached."""
        return (lexer_state, node) in self._masks

    def _make(self, lexer_state: int, node: int) -> TokenMask:
        tokens, room = self.lexeme_tokens(lexer_state), self._room()
        mask = np.zeros(self.words, dtype=np.uint32)
        counts = np.array([self._reader.stacks.depths[node], 0], dtype=np.int64)
        safe = self._safe
        rows = tokens.masks.reshape(-1)
        join_classes(node, tokens.lexer_states, rows, self.words, mask, safe.starts, safe.terminals, *self._stack(room))
        for position in np.flatnonzero(safe.is_doubtful[tokens.lexer_states]).tolist():
            if self._reader.is_alive(int(tokens.lexer_states[position]), node):
                mask |= tokens.masks[position]
        if len(tokens.children):
            ends = self._read_behind(node, tokens, mask, counts, safe, room)
            if len(ends.nodes):
                alive = np.array(list(map(self._reader.is_alive, ends.lexer_states.tolist(), ends.nodes.tolist())))
                mask |= packed(ends.tokens[alive[ends.place_of]], len(self._vocabulary))
                depths = [self._reader.stacks.depths[each] for each in ends.nodes.tolist()]
                counts[DEEPEST] = max(counts[DEEPEST], *depths)
        repeat_tokens(mask, self._vocabulary.trie.repeated_tokens)
        here = LalrConfiguration(lexer_state, node)
        per_level = self._reader.distances.most_per_level
        farthest = FAR if per_level is None else per_level * (int(counts[DEEPEST]) + 1)
        for behind in self._reader.commits(here):
            gap = self.of(*behind)
            mask |= gap.mask
            farthest = max(farthest, gap.farthest)
        if self._reader.accepts((here,)):
            allow(mask, self._vocabulary.end_token_ids)
        mask.setflags(write=False)
        return TokenMask(mask, farthest)

    def ends(self, lexer_state: int, node: int) -> TokenEnds:
        """Return the configurations behind tokens in which a terminal ends, alive or dead."""
        tokens, counts = self.lexeme_tokens(lexer_state), np.zeros(2, dtype=np.int64)
        return self._read_behind(node, tokens, _NO_MASK, counts, self._nothing_safe, self._room())

    def _read_behind(
        self, node: int, tokens: LexemeTokens, mask: Mask, counts: NDArray[np.int64], safe: _Safe, room: _Room
    ) -> TokenEnds:
        """Add the tokens in which a terminal ends to a mask; return the ends that may be alive or dead."""
        ends = np.empty(3 * _ENDS if safe.is_doubtful.any() else 0, dtype=np.int64)
        step, _, byte_classes, commit_starts, commit_labels, *trie = self._lexer_arguments[:-2]
        while len(tokens.children):
            arguments: tuple[Any, ...] = (
                node, tokens.child_starts, tokens.children, tokens.labels, mask, counts, ends, safe.is_doubtful,
                self._is_open, room.sets, room.marks, safe.starts, safe.terminals, self._labels, self._starts,
                self._reader.tables.context_of, step, byte_classes, commit_starts, commit_labels, *trie,
                *self._stack(room),
            )  # fmt: skip
            if read_behind(*arguments) != TOO_MANY:
                break
            if max(len(ends), len(room.made)) > _MOST_ENDS:
                raise TooManyWays
            if len(ends) and 3 * counts[ENDS] + 3 > len(ends):
                ends = np.empty(4 * len(ends), dtype=np.int64)
            else:
                room.made = np.empty(4 * len(room.made), dtype=np.int64)
            counts[ENDS] = 0
        return self._told(ends[: 3 * counts[ENDS]], room) if counts[ENDS] else _NO_ENDS

    def _told(self, ends: NDArray[np.int64], room: _Room) -> TokenEnds:
        """Convert the ends of a walk, with the numbers of stack nodes."""
        at, lexer_states, nodes = ends.reshape(-1, 3).T
        width = len(self._class_of)
        positions, place_of = np.unique(nodes * width + lexer_states, return_inverse=True)
        trie = self._vocabulary.trie
        token_counts = trie.token_starts[at + 1] - trie.token_starts[at]
        firsts = trie.token_starts[at] - np.cumsum(token_counts) + token_counts
        which = np.arange(token_counts.sum()) + np.repeat(firsts, token_counts)
        return TokenEnds(
            trie.token_ids[which],
            np.repeat(place_of.reshape(-1), token_counts),
            (positions % width).astype(np.int32),
            self._nodes(positions // width, room.made, room.loaded),
        )

    def _nodes(self, numbers: NDArray[np.int64], made: NDArray[np.int64], loaded: int) -> NDArray[np.int64]:
        """Return the stack nodes that a walk numbered; made ones are pushed."""
        stacks = self._reader.stacks
        known: dict[int, int] = {}
        for number in numbers.tolist():
            waiting = [number]
            while waiting:
                at = FIELDS * (waiting[-1] - loaded)
                below = int(made[at + BELOW]) if at >= 0 else BOTTOM
                if at >= 0 and below >= loaded and below not in known:
                    waiting.append(below)
                    continue
                last = waiting.pop()
                if at >= 0 and last not in known:
                    known[last] = stacks.push(int(made[at + STATE]), known.get(below, below))
        return np.array([known.get(number, number) for number in numbers.tolist()], dtype=np.int64)

    def _stack(self, room: _Room) -> tuple[Any, ...]:
        """Return the arguments of kernels that use the parser's stack."""
        room.top[0] = 0
        nodes = self._reader.stacks.array()
        room.loaded = len(nodes) // FIELDS
        return (nodes, room.made, room.top, *self._parser_arguments)

    def lexeme_tokens(self, lexer_state: int) -> LexemeTokens:
        """Return the tokens that depend on the lexer state alone, and where terminals end inside tokens."""
        tokens = self._lexemes.get(lexer_state)
        if tokens is None:
            tokens = self._lexemes[lexer_state] = self._walk(lexer_state, _NOT_WANTED)
        return tokens

    def classes_of(self, lexer_states: Int32) -> Int32:
        """Return the class of each lexer state, int32."""
        return self._class_of[lexer_states]

    def lexer_state_of(self, lexer_state: int) -> Int32:
        """Return the lexer state behind each token that ends no terminal, int32 ``[len(vocabulary)]``."""
        states = np.full(len(self._vocabulary), NO_STATE, dtype=np.int32)
        self._walk(lexer_state, states)
        return states

    def _walk(self, lexer_state: int, lexer_state_of: Int32) -> LexemeTokens:
        trie, room = self._vocabulary.trie, self._room()
        all_masks = np.zeros((self._classes, self.words), dtype=np.uint32)
        counts = np.zeros(1 + self._classes, dtype=np.int64)
        is_reached = np.zeros(len(self._class_of), dtype=np.bool_)
        while True:
            status: int = walk_lexeme(
                lexer_state, counts, all_masks.reshape(-1), self.words, room.exits, room.exit_labels, room.stack,
                self._class_of, self._is_open, is_reached, lexer_state_of, *self._lexer_arguments,
            )  # fmt: skip
            if status != TOO_MANY:
                break
            room.exits = np.empty(2 * len(room.exits), dtype=np.int32)
            room.exit_labels = np.empty_like(room.exits)
        has_tokens = np.flatnonzero(counts[1:])
        exits, labels = room.exits[: counts[0]], room.exit_labels[: counts[0]]
        order = np.lexsort((trie.bytes[exits], labels))
        kinds, firsts = np.unique(labels[order], return_index=True)
        masks = all_masks[has_tokens]
        return LexemeTokens(
            self._first_of_class[has_tokens],
            masks,
            kinds.astype(np.int32),
            np.append(firsts, len(exits)).astype(np.int32),
            exits[order].copy(),
            np.flatnonzero(is_reached).astype(np.int32),
        )

    def _room(self) -> _Room:
        room: _Room | None = getattr(self._scratch, "room", None)
        if room is None:
            room = self._scratch.room = _Room(self._vocabulary)
        return room


class _Room:
    """Scratch memory of one thread."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        trie = vocabulary.trie
        self.exits = np.empty(len(trie) + 64, dtype=np.int32)
        self.exit_labels = np.empty_like(self.exits)
        self.stack = np.empty(trie.max_depth + 1, dtype=np.int32)
        self.made = np.empty(FIELDS * MOST_MADE, dtype=np.int64)
        self.top = np.zeros(1, dtype=np.int64)
        self.loaded = 0
        self.sets = np.empty(2 * MOST_CONFIGURATIONS, dtype=np.int64)
        self.marks = np.empty(3 * (trie.max_depth + 2), dtype=np.int64)


def _open_bytes(reader: LalrReader, obligations: Int32) -> NDArray[np.bool_]:
    """Tell which byte classes can follow each obligation in some context, bool ``[obligations, byte classes]``."""
    lexer = reader.lexer
    is_open = np.zeros((len(obligations), lexer.step.shape[1]), dtype=np.bool_)
    for number, obligation in enumerate(obligations.tolist()):
        lexer_states = lexer.starts[:, obligation]
        is_open[number] = (lexer.step[lexer_states[lexer_states != NO_STATE]] != NO_STATE).any(axis=0)
    return is_open
