"""The tokens of a grammar with indentation over one vocabulary.

The kernels of ``walk`` read no layout, and most tokens do not need it. This file adds the tokens that do:

* A newline terminal may end only after few bytes: blanks, and the newline itself. No newline ends inside a token that
  has none of these bytes, or only blanks while no newline is open before it. The kernels read it with a lexer that
  never ends a newline.
* A token with such a byte is read by itself, byte by byte. A vocabulary has some thousands of them.
* If a newline is open, a token may consist of blanks and the text after them: `` return``. The column after each run of
  blanks decides which terminals the parser reads; then the kernels continue below that node of the trie, once for each
  stack.
* If a terminal may end before the token, the tokens of the gap after it are allowed, as without a layout.

Within a limit, the farthest end after any token is bounded first, in bytes with codes, each of which may be a newline
with all its blanks. Only if this bound is above the limit, tokens are read one by one, and each position after them is
completed.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfgen.errors import InternalError
from sfgen.grammar.lalr.completion import LalrCompletion
from sfgen.grammar.lalr.distances import FAR
from sfgen.grammar.lalr.indentation import (
    DEDENT_CODE,
    INDENT_CODE,
    LayoutConfiguration,
    LayoutPosition,
    LayoutReader,
    open_newlines,
)
from sfgen.grammar.lalr.masks import LalrMasks, LexemeTokens, TokenEnds, open_bytes
from sfgen.grammar.lalr.read import LalrConfiguration, LalrReader
from sfgen.grammar.lalr.stack import BOTTOM
from sfgen.grammar.lalr.tables import NO_STATE, Lexer
from sfgen.grammar.shell.completion import Completion
from sfgen.grammar.shell.masks import KeptMasks, TokenMask, TooManyWays, cannot_be_written
from sfgen.grammar.shell.positions import Positions
from sfgen.grammar.shell.read import REFUSED, ReadByBytes
from sfgen.index.distance import UNREACHABLE
from sfgen.index.mask_ids import TOKEN_IDS, packed, repeat_tokens
from sfgen.protocols import Int32, Mask, Tokens
from sfgen.vocabulary import Vocabulary

_BLANKS = b" \t"
_CODES = frozenset(INDENT_CODE + DEDENT_CODE)
_KEPT = 1 << 14
"""The most configurations whose bound in tokens is cached."""
_FARTHEST = 2048
"""The most bytes, and the highest column, of a bound in tokens."""


class _BlankRun(NamedTuple):
    """A node of the token trie that is reached by blanks.

    Attributes:
        node: The node.
        data: The blanks.
        children: The child nodes, int32.
    """

    node: int
    data: bytes
    children: Int32


class _MasksWithoutNewline(LalrMasks):
    """The tokens in which no newline ends."""

    def __init__(self, reader: LalrReader, newline: int, vocabulary: Vocabulary) -> None:
        lexer = _without_newline_ends(reader.lexer, newline)
        super().__init__(LalrReader(reader.tables, lexer, reader.stacks, reader.distances), vocabulary)
        obligations = sorted({obligation for terminal, obligation in reader.distances.labels if terminal == newline})
        terminals = range(len(reader.tables.terminals) - 1)
        labels = [(terminal, obligation) for terminal in terminals for obligation in obligations]
        first = len(self._labels) // 2
        self._number_of = {label: first + number for number, label in enumerate(labels)}
        self._labels = np.append(self._labels, np.array(labels, dtype=np.int32).reshape(-1)).astype(np.int32)
        self._is_open = open_bytes(reader, self._labels[1::2]).reshape(-1)
        actions = reader.tables.actions
        states, by = (actions > 0).nonzero()
        self._entered_by = np.full(len(actions), NO_STATE, dtype=np.int32)
        self._entered_by[actions[states, by] - 1] = by

    def inside(self, lexer_state: int, node: int, is_alive: NDArray[np.bool_]) -> Mask:
        """Return the tokens from a configuration in which no newline ends.

        ``is_alive`` has an entry for each class in ``lexeme_tokens(lexer_state).lexer_states``, bool ``[classes]``.
        """
        tokens = self.lexeme_tokens(lexer_state)
        mask: Mask = np.bitwise_or.reduce(tokens.masks[is_alive], axis=0, initial=0).astype(np.uint32)
        if len(tokens.children):
            self._add_after_ends(node, tokens, mask)
        repeat_tokens(mask, self._vocabulary.trie.repeated_tokens)
        return mask

    def from_gap(self, node: int, obligation: int, children: Int32) -> Mask:
        """Return the tokens below some trie nodes that are read from the gap after a newline.

        ``node`` is the stack node of the gap: its last terminal is popped and handed to the parser again.
        """
        mask = np.zeros(self.words, dtype=np.uint32)
        self._add_after_ends(self._reader.stacks.below[node], self._gap_tokens(node, obligation, children), mask)
        repeat_tokens(mask, self._vocabulary.trie.repeated_tokens)
        return mask

    def ends_from_gap(self, node: int, obligation: int, children: Int32) -> TokenEnds:
        """Return the configurations after the tokens of :meth:`from_gap`, alive or dead."""
        counts = np.zeros(3, dtype=np.int64)
        tokens = self._gap_tokens(node, obligation, children)
        nothing = np.empty(0, dtype=np.uint32)
        below = self._reader.stacks.below[node]
        return self._read(below, tokens, nothing, counts, self._all_doubtful, self._scratch_memory())

    def _gap_tokens(self, node: int, obligation: int, children: Int32) -> LexemeTokens:
        """Return trie nodes with the label of a gap's last terminal, as if it ended right before them."""
        terminal = int(self._entered_by[self._reader.stacks.states[node]])
        label = np.array([self._number_of[terminal, obligation]], dtype=np.int32)
        starts = np.array([0, len(children)], dtype=np.int32)
        children = children[np.argsort(self._vocabulary.trie.bytes[children], kind="stable")]
        nothing = np.empty(0, dtype=np.int32)
        no_masks = np.empty((0, self.words), dtype=np.uint32)
        return LexemeTokens(nothing, no_masks, label, starts, children, np.empty(0, dtype=np.bool_))

    def _add_after_ends(self, node: int, tokens: LexemeTokens, mask: Mask) -> None:
        counts = np.zeros(3, dtype=np.int64)
        ends = self._read(node, tokens.ending_terminals(), mask, counts, self._reach, self._scratch_memory())
        if len(ends.nodes):
            alive = np.array(list(map(self._reader.is_alive, ends.lexer_states.tolist(), ends.nodes.tolist())))
            mask |= packed(ends.tokens[alive[ends.place_of]], len(self._vocabulary))


def _without_newline_ends(lexer: Lexer, newline: int) -> Lexer:
    """Return a lexer that never ends a newline."""
    kept = lexer.commit_terminals != newline
    before = np.append(0, np.cumsum(kept))
    return lexer._replace(
        commit_starts=before[lexer.commit_starts].astype(np.int32),
        commit_terminals=np.ascontiguousarray(lexer.commit_terminals[kept]),
        commit_obligations=np.ascontiguousarray(lexer.commit_obligations[kept]),
    )


def newline_ends(reader: LalrReader, newline: int) -> bytes:
    """Return the bytes, except blanks, after which a newline terminal may end before another byte, at once or later."""
    lexer, is_open = reader.lexer, open_newlines(reader, newline)
    text_classes = np.setdiff1d(lexer.byte_classes, lexer.byte_classes[list(_CODES)])
    goes_on = open_bytes(reader, lexer.commit_obligations)[:, text_classes].any(axis=1)
    goes_on &= lexer.commit_terminals == newline
    owners = np.repeat(np.arange(len(lexer.step)), np.diff(lexer.commit_starts))
    ends = np.zeros(len(lexer.step) + 1, dtype=np.bool_)  # the last entry stands for ``NO_STATE``
    ends[owners[goes_on]] = True
    step = lexer.step[:, lexer.byte_classes]
    is_end = np.array([byte not in _BLANKS and bool(ends[step[is_open, byte]].any()) for byte in range(256)])
    comes_to = ends.copy()
    while True:
        before = comes_to.copy()
        before[:-1] |= comes_to[step[:, ~is_end]].any(axis=1)
        if np.array_equal(before, comes_to):
            break
        comes_to = before
    inside = comes_to & np.append(is_open, False)
    more = [byte not in _BLANKS and bool(inside[step[is_open, byte]].any()) for byte in range(256)]
    return bytes(np.flatnonzero(is_end | np.array(more)).tolist())


class LayoutPositions(Positions[LayoutConfiguration]):
    """The tokens that each position of a grammar with indentation allows; see ``Positions``.

    In a vocabulary without some single bytes, a text counts as completable if its shortest end can be written.
    """

    _far = FAR

    def __init__(self, reader: LayoutReader, vocabulary: Tokens) -> None:
        super().__init__(vocabulary)
        self.reader: LayoutReader = reader
        self._inside = _MasksWithoutNewline(reader.reader, reader.terminals.newline, self.vocabulary)
        first = newline_ends(reader.reader, reader.terminals.newline) + bytes(_CODES)
        tokens = self.vocabulary.tokens
        self._read_alone = [
            token
            for token in self.vocabulary.text_token_ids.tolist()
            if len((tokens[token] or b"").translate(None, first)) < len(tokens[token] or b"")
        ]
        self._others = ~packed(np.array(self._read_alone, dtype=np.int32), len(self.vocabulary))
        self._runs = self._find_runs()
        self._widest_run = max(
            (run.data.count(b" ") + run.data.count(b"\t") * reader.tab_width for run in self._runs), default=0
        )
        self._inside_masks = KeptMasks[tuple[int, int, bool], Mask]()
        self._masks = KeptMasks[LayoutConfiguration, TokenMask]()
        self._most: dict[LayoutConfiguration, int] = {}
        self._lock = threading.Lock()
        if self.tokens_left(reader.start) >= UNREACHABLE:
            raise cannot_be_written()

    @cached_property
    def _completion(self) -> LayoutCompletion:
        return LayoutCompletion(self.reader, self.vocabulary)

    def _find_runs(self) -> list[_BlankRun]:
        """List the trie nodes that are reached by blanks, each after the ones before it."""
        trie, runs = self.vocabulary.trie, list[_BlankRun]()
        waiting = [(0, len(trie), b"")]
        while waiting:
            node, end, data = waiting.pop()
            while node < end:
                if trie.bytes[node] in _BLANKS:
                    inner = node + 1, int(trie.subtree_ends[node]), data + bytes([trie.bytes[node]])
                    children, child = list[int](), node + 1
                    while child < inner[1]:
                        children.append(child)
                        child = int(trie.subtree_ends[child])
                    runs.append(_BlankRun(node, inner[2], np.array(children, dtype=np.int32)))
                    waiting.append(inner)
                node = int(trie.subtree_ends[node])
        return runs

    # ---- masks -----------------------------------------------------------------------------------------------------

    def _mask_of(self, configuration: LayoutConfiguration) -> TokenMask:
        known = self._masks.get(configuration)
        if known is None:
            mask = self._by_kernels(configuration) & self._others
            mask |= self._read_each((configuration,), self._read_alone)
            mask.setflags(write=False)
            known = self._masks.keep(configuration, TokenMask(mask, FAR))
        return known

    def _is_mask_made(self, configuration: LayoutConfiguration) -> bool:
        return configuration in self._masks

    def _joined(self, position: LayoutPosition) -> Mask:
        mask = super()._joined(position)
        if self.has_all_bytes:
            return mask
        return self._with_ends(position, self._one_by_one(position, TOKEN_IDS.of(mask), None))

    def _by_kernels(self, configuration: LayoutConfiguration) -> Mask:
        """Return the allowed tokens, correct only for those that are not read by themselves."""
        lexer_state, node, layout = configuration
        mask = self._inside_of(lexer_state, node, bool(layout.brackets)) | self._after_blanks(configuration)
        for gap in self.reader.commits(configuration):
            mask |= self._by_kernels(gap)
        return mask

    def _read_each(self, position: LayoutPosition, tokens: list[int]) -> Mask:
        """Return those of some tokens that can be read, and the end tokens if the text may end."""
        read, texts = ReadByBytes(self.reader, position), self.vocabulary.tokens
        readable = [token for token in tokens if read.after(texts[token] or b"") != REFUSED]
        return self._with_ends(position, np.array(readable, dtype=np.int32))

    def _inside_of(self, lexer_state: int, node: int, in_brackets: bool) -> Mask:
        key = lexer_state, node, in_brackets
        mask = self._inside_masks.get(key)
        if mask is None:
            layout = self.reader.start[0].layout._replace(brackets=int(in_brackets))
            states = self._inside.lexeme_tokens(lexer_state).lexer_states.tolist()
            alive = np.array([self.reader.is_alive(each, node, layout) for each in states], dtype=np.bool_)
            mask = self._inside_masks.keep(key, self._inside.inside(lexer_state, node, alive))
        return mask

    def _after_blanks(self, configuration: LayoutConfiguration) -> Mask:
        """Return the tokens of blanks, after which an open newline ends, and of text after them."""
        mask = np.zeros(self._inside.words, dtype=np.uint32)
        if configuration.layout.column is None and not configuration.layout.brackets:
            return mask
        for node, obligation, children in self._gaps_after_blanks(configuration):
            mask |= self._inside.from_gap(node, obligation, children)
        return mask

    def _gaps_after_blanks(self, configuration: LayoutConfiguration) -> Iterator[tuple[int, int, Int32]]:
        """Yield the gaps after blanks and an open newline: stack node, obligation, and the trie nodes that follow."""
        children: dict[tuple[int, int], list[Int32]] = {}
        read = ReadByBytes(self.reader, (configuration,))
        for run in self._runs:
            after = read.after(run.data)
            if after == REFUSED or not run.children.size:
                continue
            for reached in read.positions[after]:
                for obligation, node, _ in self.reader.after_newline(reached):
                    if node != BOTTOM:
                        children.setdefault((node, obligation), []).append(run.children)
        for (node, obligation), nodes in children.items():
            yield node, obligation, np.concatenate(nodes)

    def _suffices(self, position: LayoutPosition, room: int) -> bool:
        return max(map(self._most_tokens, position)) <= room

    def _most_tokens(self, configuration: LayoutConfiguration) -> int:
        """Return an upper bound of the tokens to an end after any token."""
        most = self._most.get(configuration)
        if most is None:
            try:
                distance, level = self._farthest(configuration)
                most = self._completion.most_tokens(distance, level)
            except TooManyWays:
                most = int(UNREACHABLE)
            with self._lock:
                if len(self._most) > _KEPT:
                    self._most.clear()
                self._most[configuration] = most
        return most

    def _farthest(self, configuration: LayoutConfiguration) -> tuple[int, int]:
        """Return the farthest end after any token, in bytes with codes, and the highest level there."""
        lexer_state, node, layout = configuration
        reached = self._inside.lexeme_tokens(lexer_state).reached
        farthest = self._farthest_of(reached, np.full(len(reached), node, dtype=np.int64))
        ends = self._inside.ends(lexer_state, node)
        farthest = max(farthest, self._farthest_of(ends.lexer_states, ends.nodes))
        level = max(layout.levels[-1], layout.column or 0)
        if layout.column is not None or layout.brackets:
            for gap in self._gaps_after_blanks(configuration):
                ends = self._inside.ends_from_gap(*gap)
                farthest = max(farthest, self._farthest_of(ends.lexer_states, ends.nodes))
            level += self._widest_run
        read, texts = ReadByBytes(self.reader, (configuration,)), self.vocabulary.tokens
        for token in self._read_alone:
            read.after(texts[token] or b"")
        for position in read.positions[1:]:
            for each in position:
                farthest = max(farthest, self._completion.distance(each))
                level = max(level, each.layout.levels[-1], each.layout.column or 0)
        for after in self.reader.commits(configuration):
            more = self._farthest(after)
            farthest, level = max(farthest, more[0]), max(level, more[1])
        return farthest, level

    def _farthest_of(self, lexer_states: Int32, nodes: NDArray[np.int64]) -> int:
        """Return the farthest end of the configurations that are alive."""
        farthest, to_end = 0, self.reader.reader.to_end
        for node in np.unique(nodes).tolist():
            distances = to_end.of_many(lexer_states[nodes == node], node)
            farthest = max(farthest, int(distances[distances < FAR].max(initial=0)))
        return farthest

    def _fitting(self, position: LayoutPosition, plain: Mask, room: int) -> Mask:
        raise TooManyWays  # columns lead to many positions, so the tokens are tried one by one

    # ---- completions -----------------------------------------------------------------------------------------------

    def fits(self, position: LayoutPosition, room: int | None) -> bool:
        """Return whether ``room`` tokens are enough to complete the text; ``None``: any number."""
        if room is None and self.has_all_bytes:
            return True
        return self.tokens_left(position) <= (int(UNREACHABLE) - 1 if room is None else room)


class LayoutCompletion(Completion[LayoutConfiguration]):
    """Finds short completions: the shortest texts with codes, written with the smallest columns.

    ``vocabulary`` is ``None`` if only texts are needed.
    """

    def __init__(self, reader: LayoutReader, vocabulary: Vocabulary | None) -> None:
        super().__init__(vocabulary, FAR, is_exact=False)
        self._layout = reader
        plain = reader.reader
        if vocabulary is not None and not vocabulary.trie.single_bytes.all():
            plain = plain.with_bytes(vocabulary.trie.single_bytes | np.isin(np.arange(256), list(_CODES)))
        self._plain = plain
        self._coded = LalrCompletion(plain, None)

    def distance(self, configuration: LayoutConfiguration) -> int:
        """Return the fewest bytes with codes to an end; ``FAR`` if it cannot be reached."""
        lexer_state, node, layout = configuration
        distance = self._plain.to_end.of(lexer_state, node)
        if distance < FAR or not layout.brackets:
            return distance
        begun, gap = self._end_of_newline(configuration)
        return len(begun) + self._plain.to_end.of(gap.lexer_state, gap.node)

    def most_tokens(self, distance: int, level: int) -> int:
        """Return an upper bound of the tokens of a completion, each of whose bytes may be a newline with blanks."""
        if distance > _FARTHEST or level > _FARTHEST:
            return int(UNREACHABLE)
        return (distance + 1) * (2 + max(self._tokens_of_blanks[: level + distance + 1]))

    @cached_property
    def _tokens_of_blanks(self) -> list[int]:
        """The fewest tokens that write each number of spaces."""
        assert self._vocabulary is not None, "tokens need a vocabulary"
        runs = sorted({len(token) for token in self._vocabulary.ids if not token.strip(b" ")})
        fewest = [0]
        for size in range(1, 2 * _FARTHEST + 1):
            fewest.append(1 + min((fewest[size - run] for run in runs if run <= size), default=int(UNREACHABLE)))
        return fewest

    def _text_of(self, configuration: LayoutConfiguration) -> bytes:
        lexer_state, node, layout = configuration
        if self._plain.to_end.of(lexer_state, node) >= FAR and layout.brackets:
            begun, gap = self._end_of_newline(configuration)
            return begun + self._written(gap)
        return self._written(configuration)

    def _end_of_newline(self, configuration: LayoutConfiguration) -> tuple[bytes, LayoutConfiguration]:
        """Return the bytes that end a newline open in brackets, and the gap after it."""
        lexer_state, node, layout = configuration
        gap_of = self._plain.lexer_state_at
        seen, waiting = {lexer_state}, deque([(lexer_state, b"")])
        while waiting:
            here, data = waiting.popleft()
            for terminal, obligation in self._plain.commits_of(here):
                gap = gap_of(node, obligation) if terminal == self._layout.terminals.newline else NO_STATE
                if gap != NO_STATE and self._plain.to_end.of(gap, node) < FAR:
                    return data, LayoutConfiguration(gap, node, layout._replace(column=None))
            for byte, label in self._smallest:
                after = int(self._plain.lexer.step[here, label])
                if after not in seen and after != NO_STATE:
                    seen.add(after)
                    waiting.append((after, data + bytes([byte])))
        raise InternalError("a newline in brackets does not end")

    @cached_property
    def _smallest(self) -> list[tuple[int, int]]:
        """The smallest byte of each class that may be written, with the class."""
        usable = np.arange(256) if self._plain.usable is None else np.flatnonzero(self._plain.usable)
        usable = usable[~np.isin(usable, list(_CODES))]
        labels, first = np.unique(self._plain.lexer.byte_classes[usable], return_index=True)
        return sorted(zip(usable[first].tolist(), labels.tolist(), strict=True))

    def _written(self, configuration: LayoutConfiguration) -> bytes:
        plain = LalrConfiguration(configuration.lexer_state, configuration.node)
        coded = self._coded.text((plain,))
        position: LayoutPosition = (configuration,)
        text, begin = bytearray(), 0
        while True:
            codes = begin
            while codes < len(coded) and coded[codes] in _CODES:
                codes += 1
            blanks = self._blanks_before(position, coded[begin:codes], coded[codes : codes + 1])
            content = blanks + coded[codes : codes + 1]
            position = self._read(position, content)
            text += content
            if codes == len(coded):
                return bytes(text)
            begin = codes + 1

    def _blanks_before(self, position: LayoutPosition, codes: bytes, content: bytes) -> bytes:
        """Return the blanks of an open newline before the next byte, or before the end of the text."""
        here = self._open_line(position)
        if here is None or (content and not codes and self._continues_newline(here, content[0])):
            after = self._layout.read(position, content) if content else None
            if (after is not None and not codes) or (not content and self._layout.accepts(position)):
                return b""
        else:
            blanks = self._blanks(here, here.layout.column or 0, codes, is_end=not content)
            if blanks is not None and self._ends_newline(position, blanks, content):
                return blanks
        # The newline so far is a comment, or the column is too high: begin another line.
        here = self._open_line(self._read(position, b"\n"))
        assert here is not None, "a newline reads further lines"
        return b"\n" + (self._blanks(here, 0, codes, is_end=not content) or b"")

    def _ends_newline(self, position: LayoutPosition, blanks: bytes, content: bytes) -> bool:
        """Return whether an open newline ends after some blanks."""
        after = self._layout.read(position, blanks)
        if after is None or not content:
            return after is not None and self._layout.accepts(after)
        here = self._open_line(after)
        return here is not None and not self._continues_newline(here, content[0])

    def _read(self, position: LayoutPosition, data: bytes) -> LayoutPosition:
        after = self._layout.read(position, data)
        assert after is not None, "a completion can be read"
        return after

    def _open_line(self, position: LayoutPosition) -> LayoutConfiguration | None:
        """Return the configuration with a newline that is open outside of brackets; ``None`` if there is none."""
        lines = (each for each in position if each.layout.column is not None and not each.layout.brackets)
        return next(lines, None)

    def _continues_newline(self, here: LayoutConfiguration, byte: int) -> bool:
        """Return whether a byte continues the open newline."""
        lexer = self._plain.lexer
        return bool(lexer.step[here.lexer_state, lexer.byte_classes[byte]] != NO_STATE)

    def _blanks(self, here: LayoutConfiguration, column: int, codes: bytes, *, is_end: bool) -> bytes | None:
        """Return the blanks from a column to the one that some codes need; ``None`` if the column is beyond it."""
        levels = here.layout.levels
        if is_end:  # all levels are closed at the end, so the column of any of them is right
            target = next((level for level in levels if level >= column), -1)
        elif codes[:1] == INDENT_CODE:
            target = max(levels[-1] + 1, column)
        else:
            target = levels[len(levels) - 1 - len(codes)]
        return b" " * (target - column) if column <= target else None
