"""Token masks of configurations, as unions of few masks.

* Tokens in which no terminal ends are found once for each lexer state, in classes. The tokens of one class reach the
  same terminals, so the parser's stack allows all of them or none.
* For tokens in which a terminal ends, the walk continues with the stack, from some hundreds of trie nodes.
* If a terminal may end before the token, the tokens of the gap after it are allowed too.

Masks are cached by lexer state and stack node, and also by those states of the stack on which they depend.
"""

from __future__ import annotations

import threading
from typing import Any, NamedTuple, TypeAlias
from weakref import ReferenceType, ref

import numpy as np
from numpy.typing import NDArray

from sfgen.grammar.lalr.costs import FAR, commit_labels
from sfgen.grammar.lalr.read import LalrConfiguration, LalrReader
from sfgen.grammar.lalr.safe_labels import safety_of
from sfgen.grammar.lalr.stack import BOTTOM, Returns
from sfgen.grammar.lalr.tables import NO_STATE
from sfgen.grammar.lalr.walk import (
    BELOW,
    DOUBTS,
    ENDS,
    EXITS,
    FIELDS,
    LOWEST,
    MADE,
    MOST_CONFIGURATIONS,
    MOST_MADE,
    PUSHED,
    STATE,
    TOO_MANY,
    group_of_byte,
    groups_below,
    order_exits,
    read_tokens,
    walk_lexeme,
)
from sfgen.grammar.shell.masks import KeptMasks, TokenMask, TooManyWays, allow, words_of
from sfgen.index.mask_ids import packed, repeat_tokens
from sfgen.protocols import Int32, Mask
from sfgen.vocabulary import TokenTrie, Vocabulary
from sfgen.weak_cache import kept_while_it_lives

_ENDS, _MOST_ENDS = 1 << 12, 1 << 22
"""The initial capacity for ends of tokens, and the largest size of their array."""

_FIRST_BEYOND = 0x80
"""The first byte beyond ASCII."""

_FEW = 64
"""The most lexer states of a small grammar: once the tokens of two are needed, those of all are found together."""

_ROWS = 8
"""The initial capacity for classes with tokens."""

_NO_MASK: Mask = np.empty(0, dtype=np.uint32)
_NOT_WANTED: Int32 = np.empty(0, dtype=np.int32)


class _Shared(NamedTuple):
    """The mask of all configurations whose deciding states are equal.

    Attributes:
        mask: Text and end tokens, uint32 ``[words]``; read-only. It lives as long as it is cached.
        pushed: The most nodes that a token pushes and does not pop.
    """

    mask: ReferenceType[Mask]
    pushed: int


_ByStates: TypeAlias = "dict[int, _ByStates] | _Shared"
"""Masks by the states of a stack, from its top down along the returns."""


class _CachedMask(NamedTuple):
    """The tokens that a configuration can read, with the depths of the stack on which they depend.

    Attributes:
        token_mask: The tokens.
        deepest: An upper bound of the depth of the parser's stack after them.
        lowest: The least depth of a state on which they depend.
    """

    token_mask: TokenMask
    deepest: int
    lowest: int

    @property
    def nbytes(self) -> int:
        """The bytes of the mask."""
        return self.token_mask.nbytes


class LexemeTokens(NamedTuple):
    """The tokens read from one lexer state.

    Attributes:
        lexer_states: A lexer state of each class of tokens that hand no terminal to the parser, int32
            ``[classes]``.
        masks: The tokens of each class, uint32 ``[classes, words]``.
        labels: The labels that are committed inside tokens, int32 ``[labels]``.
        child_starts: The first entry in ``children`` of each label, int32 ``[labels + 1]``.
        children: The trie nodes right after such commits, int32.
        is_reached: The lexer states after tokens that hand no terminal to the parser, bool ``[lexer_states]``.
    """

    lexer_states: Int32
    masks: NDArray[np.uint32]
    labels: Int32
    child_starts: Int32
    children: Int32
    is_reached: NDArray[np.bool_]

    def ending_terminals(self) -> LexemeTokens:
        """Return only the tokens in which a terminal ends."""
        return self._replace(lexer_states=self.lexer_states[:0], masks=self.masks[:0])

    @property
    def reached(self) -> Int32:
        """The lexer states after tokens that hand no terminal to the parser, ascending, int32."""
        return np.flatnonzero(self.is_reached).astype(np.int32)


class Reach(NamedTuple):
    """The terminals by which the kernels decide whether a configuration is alive.

    Attributes:
        starts: Two entries in ``terminals`` for each lexer state, int32 ``[2 * lexer_states + 1]``: the first of those
            after which the text can be completed if the parser takes them, and the first of the others.
        terminals: The terminals that each lexer state reaches, int32.
    """

    starts: Int32
    terminals: Int32

    @classmethod
    def of(cls, safe: NDArray[np.bool_], others: NDArray[np.bool_]) -> Reach:
        """Make it from the terminals of each lexer state, each bool ``[lexer_states, terminals]``."""
        both = np.stack([safe, others], axis=1).reshape(-1, safe.shape[1])
        starts = np.append(0, np.cumsum(both.sum(axis=1))).astype(np.int32)
        return cls(starts, np.nonzero(both)[1].astype(np.int32))


class TokenEnds(NamedTuple):
    """The configurations after tokens.

    Attributes:
        tokens: The tokens, int32 ``[ends]``; a token with several readings has several ends.
        place_of: The number of the configuration after each token, ``[ends]``.
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

    A configuration is alive if it reaches a *safe* label that the parser takes (see ``safe_labels``). Usually all
    labels are safe. If the parser takes only unsafe labels, the configuration is *doubtful*, and its distance decides.

    A mask depends on the lexer state and a few states of the stack: its top, and those to which the parser returns
    while it reads a token (see ``Returns``). So masks are looked up by these states, as many as were read when the mask
    was made. ``[[[1``, ``[[[[[[1`` and ``[[[1,2,3`` have one mask, if no token has more than two closing brackets.
    """

    def __init__(self, reader: LalrReader, vocabulary: Vocabulary) -> None:
        self._reader = reader
        self._vocabulary = vocabulary
        tables, lexer, trie = reader.tables, reader.lexer, vocabulary.trie
        self.words = words_of(vocabulary)
        labels = reader.distances.labels
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
        distances = reader.distances
        self._safety = safety_of(distances)
        safe_labels = self._safety.labels
        safe, others = (distances.to_terminals(labels) < FAR for labels in (safe_labels, ~safe_labels))
        self._reach = Reach.of(safe, others & ~safe)
        self._all_doubtful = Reach.of(np.zeros_like(safe), safe | others)
        comes_to = np.packbits(distances.cost < FAR, axis=1)
        known: dict[bytes, int] = {}
        class_of = [known.setdefault(labels_reached.tobytes(), len(known)) for labels_reached in comes_to]
        self._class_of = np.array(class_of, dtype=np.int32)
        self._classes = len(known)
        self._first_of_class = np.unique(self._class_of, return_index=True)[1].astype(np.int32)
        self._lexer_arguments: tuple[Any, ...] = (
            np.ascontiguousarray(lexer.step).reshape(-1), self._sizes, lexer.byte_classes, lexer.commit_starts,
            commit_labels(lexer, labels), trie.bytes, trie.depths, trie.subtree_ends,
        )  # fmt: skip
        self._is_open = open_bytes(reader, self._labels[1::2]).reshape(-1)
        self._parser_arguments: tuple[Any, ...] = (
            np.ascontiguousarray(tables.actions).reshape(-1), np.ascontiguousarray(tables.gotos).reshape(-1),
            np.array([(rule.nonterminal, len(rule.symbols)) for rule in tables.rules], dtype=np.int32).reshape(-1),
            self._sizes,
        )  # fmt: skip
        self._starts = np.ascontiguousarray(lexer.starts).reshape(-1)
        self._groups = _groups_below(trie)
        self._staying = np.zeros(len(lexer.step), dtype=np.uint64)
        self._steps_beyond = np.ascontiguousarray(lexer.step[:, np.unique(lexer.byte_classes[_FIRST_BEYOND:])])
        self._is_over: list[bool] = ((lexer.step == NO_STATE).all(axis=1) & ~lexer.may_end).tolist()
        self._goes_beyond: list[bool] = (self._steps_beyond != NO_STATE).any(axis=1).tolist()
        self._beyond: dict[bytes, _Walked] = {}
        self._lexemes: dict[int, LexemeTokens] = {}
        self._masks = KeptMasks[tuple[int, int], _CachedMask]()
        self._returns = Returns(reader.stacks, reader.distances.kernel)
        self._by_states: dict[int, dict[int, _ByStates]] = {}
        self._lock = threading.Lock()
        self._local = threading.local()

    def of(self, lexer_state: int, node: int) -> TokenMask:
        """Return the tokens of a configuration."""
        known = self._masks.get((lexer_state, node)) or self._of(lexer_state, node)
        return known.token_mask

    def _of(self, lexer_state: int, node: int) -> _CachedMask:
        key = lexer_state, node
        known = self._masks.get(key)
        if known is None:
            gap = self._only_gap(LalrConfiguration(*key))
            if gap is not None:
                known = self._of(*gap)
                known = known._replace(lowest=min(known.lowest, self._reader.lowest_at_end(LalrConfiguration(*key))))
            known = self._masks.keep(key, known or self._find(*key) or self._make(*key))
        return known

    def _only_gap(self, here: LalrConfiguration) -> LalrConfiguration | None:
        """Return the only gap after a configuration whose terminal must end here; ``None`` for others."""
        if not self._is_over[here.lexer_state]:
            return None
        gaps = self._reader.commits(here)
        return gaps[0] if len(gaps) == 1 else None

    def is_made(self, lexer_state: int, node: int) -> bool:
        """Return whether the mask of a configuration is cached."""
        if (lexer_state, node) in self._masks or self._find(lexer_state, node) is not None:
            return True
        gap = self._only_gap(LalrConfiguration(lexer_state, node))
        return gap is not None and self.is_made(*gap)

    def _find(self, lexer_state: int, node: int) -> _CachedMask | None:
        """Find the mask of a configuration by the states of its stack."""
        stacks, returns = self._reader.stacks, self._returns
        here = self._by_states.get(lexer_state)
        state, below, depth = stacks.states[node], stacks.below[node], stacks.depths[node]
        while here is not None:
            found = here.get(state)
            if isinstance(found, _Shared):
                mask = found.mask()
                return None if mask is None else self._known(mask, stacks.depths[node] + found.pushed, depth)
            if found is not None:
                here = found
            elif not returns.only_reduces(state):
                return None
            returned = returns.of(state, below)
            if returned is None:
                return None
            state, below, depth = returned
        return None

    def _keep(self, lexer_state: int, node: int, shared: _Shared, lowest: int) -> None:
        """Cache a mask by the states on which it depends."""
        stacks, returns = self._reader.stacks, self._returns
        state, below = stacks.states[node], stacks.below[node]
        with self._lock:
            here = self._by_states.setdefault(lexer_state, {})
            while True:
                returned, found = returns.of(state, below), here.get(state)
                if (returned is None or returned.depth < lowest) and not isinstance(found, dict):
                    here[state] = shared
                    return
                # Stacks that differ only in the lookaheads of a reduction may have been read to different depths.
                if returned is None or isinstance(found, _Shared):
                    return
                if found is not None or not returns.only_reduces(state):
                    inner: dict[int, _ByStates] = {} if found is None else found
                    here[state] = here = inner
                state, below, _ = returned

    def _make(self, lexer_state: int, node: int) -> _CachedMask:
        reader, tokens, scratch = self._reader, self.lexeme_tokens(lexer_state), self._scratch_memory()
        depths = reader.stacks.depths
        mask = np.zeros(self.words, dtype=np.uint32)
        counts = np.zeros(3, dtype=np.int64)
        scratch.top[LOWEST] = depths[node]
        if len(tokens.lexer_states) or len(tokens.children):
            ends = self._read(node, tokens, mask, counts, self._reach, scratch)
            if counts[DOUBTS]:
                scratch.top[LOWEST] = depths[BOTTOM]
                for position, state in enumerate(tokens.lexer_states.tolist()):
                    if reader.is_alive(state, node):
                        mask |= tokens.masks[position]
            if len(ends.nodes):
                scratch.top[LOWEST] = depths[BOTTOM]  # the distance depends on all states
                alive = np.array(list(map(reader.is_alive, ends.lexer_states.tolist(), ends.nodes.tolist())))
                mask |= packed(ends.tokens[alive[ends.place_of]], len(self._vocabulary))
                counts[PUSHED] = max(counts[PUSHED], *[depths[each] for each in ends.nodes.tolist()])
        repeat_tokens(mask, self._vocabulary.trie.repeated_tokens)
        pushed, lowest = int(counts[PUSHED]), int(scratch.top[LOWEST])
        if reader.may_end_at(lexer_state):
            here = LalrConfiguration(lexer_state, node)
            lowest_at_end = reader.lowest_at_end(here)
            lowest = min(lowest, lowest_at_end)
            for gap in reader.commits(here):
                cached = self._of(*gap)
                mask |= cached.token_mask.mask
                pushed = max(pushed, cached.deepest - lowest_at_end)
                lowest = min(lowest, cached.lowest)
            if reader.accepts((here,)):
                allow(mask, self._vocabulary.end_token_ids)
        mask.setflags(write=False)
        self._keep(lexer_state, node, _Shared(ref(mask), pushed), lowest)
        return self._known(mask, depths[node] + pushed, lowest)

    def _known(self, mask: Mask, deepest: int, lowest: int) -> _CachedMask:
        per_level = self._safety.most_per_node
        return _CachedMask(TokenMask(mask, FAR if per_level is None else per_level * (deepest + 1)), deepest, lowest)

    def ends(self, lexer_state: int, node: int) -> TokenEnds:
        """Return the configurations after tokens in which a terminal ends, alive or dead."""
        tokens, counts = self.lexeme_tokens(lexer_state).ending_terminals(), np.zeros(3, dtype=np.int64)
        return self._read(node, tokens, _NO_MASK, counts, self._all_doubtful, self._scratch_memory())

    def _read(
        self, node: int, tokens: LexemeTokens, mask: Mask, counts: NDArray[np.int64], reach: Reach, scratch: _Scratch
    ) -> TokenEnds:
        """Add the tokens to a mask; return the doubtful ends after those in which a terminal ends."""
        ends = np.empty(3 * _ENDS if reach is self._all_doubtful else 0, dtype=np.int64)
        step, _, byte_classes, commit_starts, commit_labels, *trie = self._lexer_arguments
        while True:
            arguments: tuple[Any, ...] = (
                node, tokens.lexer_states, tokens.masks.reshape(-1), self.words, tokens.child_starts, tokens.children,
                tokens.labels, mask, counts, ends, self._is_open, scratch.sets, scratch.marks, *reach, self._labels,
                self._starts, self._reader.tables.context_of, step, byte_classes, commit_starts, commit_labels, *trie,
                self._vocabulary.trie.first_tokens, *self._stack(scratch),
            )  # fmt: skip
            status = read_tokens(*arguments)
            if status != TOO_MANY and (not counts[ENDS] or len(ends)):
                break
            if max(len(ends), len(scratch.made)) > _MOST_ENDS:
                raise TooManyWays
            if 3 * counts[ENDS] + 3 > len(ends) > 0 or status != TOO_MANY:
                ends = np.empty(max(4 * len(ends), 3 * _ENDS), dtype=np.int64)
            else:
                scratch.made = np.empty(4 * len(scratch.made), dtype=np.int64)
            counts[ENDS] = counts[DOUBTS] = 0
        return self._converted(ends[: 3 * counts[ENDS]], scratch) if counts[ENDS] else _NO_ENDS

    def _converted(self, ends: NDArray[np.int64], scratch: _Scratch) -> TokenEnds:
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
            self._nodes(positions // width, scratch.made, scratch.loaded),
        )

    def _nodes(self, numbers: NDArray[np.int64], made: NDArray[np.int64], loaded: int) -> NDArray[np.int64]:
        """Return the stack nodes of a walk's numbers; nodes that the walk made are pushed."""
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

    def _stack(self, scratch: _Scratch) -> tuple[Any, ...]:
        """Return the arguments of kernels that use the parser's stack."""
        scratch.top[MADE] = 0
        nodes = self._reader.stacks.array()
        scratch.loaded = len(nodes) // FIELDS
        return (nodes, scratch.made, scratch.top, *self._parser_arguments)

    def lexeme_tokens(self, lexer_state: int) -> LexemeTokens:
        """Return the tokens that depend on the lexer state alone, and the trie nodes at ends of terminals."""
        tokens = self._lexemes.get(lexer_state)
        if tokens is None:
            tokens = self._lexemes[lexer_state] = self._walk(lexer_state, _NOT_WANTED)
            if len(self._lexemes) == 2 and len(self._class_of) <= _FEW:
                # One by one they take three times as long, as the processor's caches are cold each time.
                for each in range(len(self._class_of)):
                    if each not in self._lexemes:
                        self._lexemes[each] = self._walk(each, _NOT_WANTED)
        return tokens

    def classes_of(self, lexer_states: Int32) -> Int32:
        """Return the class of each lexer state, int32."""
        return self._class_of[lexer_states]

    def lexer_state_of(self, lexer_state: int) -> Int32:
        """Return the lexer state after each token that ends no terminal, int32 ``[len(vocabulary)]``."""
        states = np.full(len(self._vocabulary), NO_STATE, dtype=np.int32)
        self._walk(lexer_state, states)
        return states

    def _walk(self, lexer_state: int, lexer_state_of: Int32) -> LexemeTokens:
        trie, scratch = self._vocabulary.trie, self._scratch_memory()
        is_reached = np.zeros(len(self._class_of), dtype=np.bool_)
        if lexer_state_of.size:
            self._walk_nodes(lexer_state, 0, len(trie), is_reached, lexer_state_of)
        else:
            beyond = self._beyond_ascii(lexer_state) if self._goes_beyond[lexer_state] else None
            self._walk_nodes(lexer_state, 0, int(trie.roots[_FIRST_BEYOND]), is_reached, lexer_state_of)
            if beyond is not None:
                scratch.add(beyond)
                is_reached |= beyond.is_reached
        count, kinds = int(scratch.counts[EXITS]), 0
        if count:
            exits, labels = np.empty((2, count), dtype=np.int32)
            kinds = order_exits(
                count, scratch.exits, scratch.exit_labels, exits, labels, scratch.starts, scratch.kinds,
                scratch.kind_starts, trie.bytes,
            )  # fmt: skip
        found = scratch.taken(is_reached)
        return LexemeTokens(
            self._first_of_class[found.classes],
            found.rows,
            scratch.kinds[:kinds].copy(),
            scratch.kind_starts[: kinds + 1].copy(),
            found.exits,
            is_reached,
        )

    def _beyond_ascii(self, lexer_state: int) -> _Walked:
        """Return the tokens that begin beyond ASCII; lexer states with equal steps by these bytes share them."""
        trie, key = self._vocabulary.trie, self._steps_beyond[lexer_state].tobytes()
        if key not in self._beyond:
            is_reached = np.zeros(len(self._class_of), dtype=np.bool_)
            self._walk_nodes(lexer_state, int(trie.roots[_FIRST_BEYOND]), len(trie), is_reached, _NOT_WANTED)
            self._beyond[key] = self._scratch_memory().taken(is_reached)
        return self._beyond[key]

    def _walk_nodes(
        self, lexer_state: int, node: int, end: int, is_reached: NDArray[np.bool_], lexer_state_of: Int32
    ) -> None:
        """Walk some nodes of the trie; the result is left in the scratch memory."""
        trie, scratch = self._vocabulary.trie, self._scratch_memory()
        while True:
            scratch.counts[:], scratch.row_of[:] = 0, -1
            arguments: tuple[Any, ...] = (
                lexer_state, node, end, scratch.counts, scratch.rows.reshape(-1), self.words, scratch.row_of,
                scratch.row_classes, scratch.exits, scratch.exit_labels, scratch.stack, self._class_of, self._is_open,
                self._staying, is_reached, lexer_state_of, self._groups, _GROUP_OF_BYTE, *self._lexer_arguments,
                trie.token_starts, trie.token_ids,
            )  # fmt: skip
            if walk_lexeme(*arguments) != TOO_MANY:
                return
            scratch.grow()

    def _scratch_memory(self) -> _Scratch:
        scratch: _Scratch | None = getattr(self._local, "scratch", None)
        if scratch is None:
            scratch = self._local.scratch = _Scratch(self._vocabulary, self._classes, len(self._labels) // 2)
        return scratch


class _Walked(NamedTuple):
    """The result of a walk of some trie nodes from a lexer state.

    Attributes:
        classes: The classes of lexer states after tokens, int32 ``[classes]``.
        rows: The tokens of each, uint32 ``[classes, words]``.
        exits: The trie nodes right after the end of a terminal, int32.
        exit_labels: The label that ends before each, int32.
        is_reached: The lexer states after tokens, bool ``[lexer_states]``.
    """

    classes: Int32
    rows: NDArray[np.uint32]
    exits: Int32
    exit_labels: Int32
    is_reached: NDArray[np.bool_]


class _Scratch:
    """Scratch memory of one thread."""

    def __init__(self, vocabulary: Vocabulary, classes: int, labels: int) -> None:
        trie = vocabulary.trie
        self.counts = np.empty(2, dtype=np.int64)
        self.rows = np.zeros((min(classes, _ROWS), words_of(vocabulary)), dtype=np.uint32)  # zeros between walks
        self.row_of, self.row_classes = np.empty((2, classes), dtype=np.int32)
        self.kinds, self.kind_starts = np.empty((2, labels + 1), dtype=np.int32)
        self.starts = np.zeros(max(labels, 257), dtype=np.int32)  # zeros between walks
        self.exits = np.empty(len(trie) + 64, dtype=np.int32)
        self.exit_labels = np.empty_like(self.exits)
        self.stack = np.empty(trie.max_depth + 1, dtype=np.int32)
        self.made = np.empty(FIELDS * MOST_MADE, dtype=np.int64)
        self.top = np.zeros(2, dtype=np.int64)
        self.loaded = 0
        self.sets = np.empty(2 * MOST_CONFIGURATIONS, dtype=np.int64)
        self.marks = np.empty(3 * (trie.max_depth + 2), dtype=np.int64)

    def grow(self) -> None:
        """Double the capacity for classes and exits."""
        self.rows = np.zeros((2 * len(self.rows), self.rows.shape[1]), dtype=np.uint32)
        self.exits, self.exit_labels = np.empty((2, 2 * len(self.exits)), dtype=np.int32)

    def taken(self, is_reached: NDArray[np.bool_]) -> _Walked:
        """Return the result of a walk, and clear it."""
        exits, rows = self.counts.tolist()
        found = self.rows[:rows].copy()
        self.rows[:rows] = 0
        return _Walked(
            self.row_classes[:rows].copy(),
            found,
            self.exits[:exits].copy(),
            self.exit_labels[:exits].copy(),
            is_reached,
        )

    def add(self, walked: _Walked) -> None:
        """Add the result of another walk."""
        exits, rows = self.counts.tolist()
        while rows + len(walked.rows) > len(self.rows):
            self.rows = np.concatenate([self.rows, np.zeros_like(self.rows)])
        if exits + len(walked.exits) > len(self.exits):
            self.exits = np.concatenate([self.exits, walked.exits])
            self.exit_labels = np.concatenate([self.exit_labels, walked.exit_labels])
        for group, row in zip(walked.classes.tolist(), walked.rows, strict=True):
            number = int(self.row_of[group])
            if number < 0:
                number = self.row_of[group] = rows
                self.row_classes[rows] = group
                rows += 1
            self.rows[number] |= row
        self.exits[exits : exits + len(walked.exits)] = walked.exits
        self.exit_labels[exits : exits + len(walked.exits)] = walked.exit_labels
        self.counts[:] = exits + len(walked.exits), rows


_GROUP_OF_BYTE = group_of_byte()


@kept_while_it_lives
def _groups_below(trie: TokenTrie) -> NDArray[np.uint64]:
    """Return the groups of the bytes below each trie node, computed once for a trie."""
    below = np.empty(len(trie), dtype=np.uint64)
    groups_below(below, np.zeros(trie.max_depth + 2, dtype=np.uint64), trie.bytes, trie.depths, _GROUP_OF_BYTE)
    return below


def open_bytes(reader: LalrReader, obligations: Int32) -> NDArray[np.bool_]:
    """Return whether each byte class can follow each obligation in some context, bool ``[obligations, classes]``."""
    lexer = reader.lexer
    is_open = np.zeros((len(obligations), lexer.step.shape[1]), dtype=np.bool_)
    for number, obligation in enumerate(obligations.tolist()):
        lexer_states = lexer.starts[:, obligation]
        is_open[number] = (lexer.step[lexer_states[lexer_states != NO_STATE]] != NO_STATE).any(axis=0)
    return is_open
