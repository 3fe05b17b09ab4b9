"""The tokens of a grammar with indentation over one vocabulary.

The kernels of ``sfgen.lalr.walk`` know no layout, and need none for most tokens. What a newline decides is added:

* A token without a byte by which a newline terminal begins ends no newline inside, unless one is open before it. The
  kernels read it by a lexer that never ends a newline.
* A token with such a byte is read by itself, byte by byte. Some thousands of a vocabulary have one.
* Where a newline is open, a token may be blanks and what follows them: `` return``. The column behind each run of
  blanks decides what the parser takes; then the kernels go on below that node of the trie, once for each way.
* Where a terminal may end before the token, the tokens of the gap behind it are allowed, as without a layout.

Within a limit, tokens are read one by one, and each position behind them is completed.
"""

from __future__ import annotations

import threading
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfgen import arguments
from sfgen.automata.compile import compile_tree
from sfgen.errors import TextTooLong
from sfgen.grammar.positions import cannot_be_written
from sfgen.grammar.read import REFUSED, ReadByBytes
from sfgen.index.distance import UNREACHABLE, fewest_tokens
from sfgen.index.mask_ids import TOKEN_IDS, packed, repeat_tokens
from sfgen.lalr.completion import Completion
from sfgen.lalr.distances import FAR
from sfgen.lalr.indentation import (
    DEDENT_CODE,
    INDENT_CODE,
    LayoutConfiguration,
    LayoutPosition,
    LayoutReader,
)
from sfgen.lalr.masks import LexemeTokens, Masks, TooManyWays, _open_bytes
from sfgen.lalr.read import Configuration, Reader
from sfgen.lalr.stack import BOTTOM
from sfgen.lalr.tables import NO_STATE, Lexer
from sfgen.protocols import Int32, Mask, Tokens
from sfgen.regex.ast import settle
from sfgen.regex.parse import parse
from sfgen.vocabulary import Vocabulary

_BLANKS = b" \t"
_CODES = frozenset(INDENT_CODE + DEDENT_CODE)
_KEPT = 1024


class _Run(NamedTuple):
    """A node of the token trie that is reached by blanks.

    Attributes:
        node: The node.
        data: The blanks.
        behind: The nodes right behind it, int32.
    """

    node: int
    data: bytes
    behind: Int32


class _Inside(Masks):
    """The tokens in which no newline ends."""

    def __init__(self, reader: Reader, newline: int, vocabulary: Vocabulary) -> None:
        lexer = _without(reader.lexer, newline)
        super().__init__(Reader(reader.tables, lexer, reader.stacks, reader.distances), vocabulary)
        obligations = sorted({obligation for terminal, obligation in reader.distances.labels if terminal == newline})
        terminals = range(len(reader.tables.terminals) - 1)
        labels = [(terminal, obligation) for terminal in terminals for obligation in obligations]
        first = len(self._labels) // 2
        self._number_of = {label: first + number for number, label in enumerate(labels)}
        self._labels = np.append(self._labels, np.array(labels, dtype=np.int32).reshape(-1)).astype(np.int32)
        self._is_open = _open_bytes(reader, self._labels[1::2]).reshape(-1)
        actions = reader.tables.actions
        states, by = (actions > 0).nonzero()
        self._entered_by = np.full(len(actions), NO_STATE, dtype=np.int32)
        self._entered_by[actions[states, by] - 1] = by

    def inside(self, lexer_state: int, node: int, is_alive: NDArray[np.bool_]) -> Mask:
        """Return the tokens from a configuration in which no newline ends.

        ``is_alive`` tells it of each class in ``lexeme_tokens(lexer_state).lexer_states``, bool ``[classes]``.
        """
        tokens = self.lexeme_tokens(lexer_state)
        mask: Mask = np.bitwise_or.reduce(tokens.masks[is_alive], axis=0, initial=0).astype(np.uint32)
        if len(tokens.children):
            self._add_behind(node, tokens, mask)
        repeat_tokens(mask, self._vocabulary.trie.repeated_tokens)
        return mask

    def behind(self, node: int, obligation: int, children: Int32) -> Mask:
        """Return the tokens below some trie nodes that are read from the gap behind a newline.

        ``node`` is the stack node of the gap: its last terminal is taken off and handed to the parser again.
        """
        mask = np.zeros(self.words, dtype=np.uint32)
        terminal = int(self._entered_by[self._reader.stacks.states[node]])
        label = np.array([self._number_of[terminal, obligation]], dtype=np.int32)
        starts = np.array([0, len(children)], dtype=np.int32)
        children = children[np.argsort(self._vocabulary.trie.bytes[children], kind="stable")]
        nothing = np.empty(0, dtype=np.int32)
        self._add_behind(
            self._reader.stacks.below[node],
            LexemeTokens(nothing, np.empty((0, self.words), dtype=np.uint32), label, starts, children, nothing),
            mask,
        )
        repeat_tokens(mask, self._vocabulary.trie.repeated_tokens)
        return mask

    def _add_behind(self, node: int, tokens: LexemeTokens, mask: Mask) -> None:
        counts = np.array([self._reader.stacks.depths[node], 0], dtype=np.int64)
        ends = self._read_behind(node, tokens, mask, counts, self._safe, self._room())
        if len(ends.nodes):
            alive = np.array(list(map(self._reader.is_alive, ends.lexer_states.tolist(), ends.nodes.tolist())))
            mask |= packed(ends.tokens[alive[ends.place_of]], len(self._vocabulary))


def _without(lexer: Lexer, newline: int) -> Lexer:
    """Return a lexer that never ends a newline."""
    kept = lexer.commit_terminals != newline
    before = np.append(0, np.cumsum(kept))
    return lexer._replace(
        commit_starts=before[lexer.commit_starts].astype(np.int32),
        commit_terminals=np.ascontiguousarray(lexer.commit_terminals[kept]),
        commit_obligations=np.ascontiguousarray(lexer.commit_obligations[kept]),
    )


class LayoutPositions:
    """The tokens that each position of a grammar with indentation allows; see ``PositionMasks``.

    A token is allowed if the grammar can read its bytes and the text can still be completed. In a vocabulary without
    some single bytes, a text counts as completable if its shortest end can be written.
    """

    def __init__(self, reader: LayoutReader, vocabulary: Tokens) -> None:
        self.reader = reader
        self.vocabulary = arguments.instance("vocabulary", vocabulary, Vocabulary)
        self._completion = LayoutCompletion(reader, self.vocabulary)
        self._is_exact = bool(self.vocabulary.trie.single_bytes.all())
        self._inside = _Inside(reader.reader, reader.terminals.newline, self.vocabulary)
        pattern = reader.reader.tables.terminals[reader.terminals.newline].pattern
        begins = compile_tree(settle(parse(pattern, ascii_only=False), within_text=True), pattern)
        first = bytes(np.flatnonzero(begins.transitions[0, begins.byte_classes] >= 0).tolist()) + bytes(_CODES)
        tokens = self.vocabulary.tokens
        self._by_themselves = [
            token
            for token in self.vocabulary.text_token_ids.tolist()
            if len((tokens[token] or b"").translate(None, first)) < len(tokens[token] or b"")
        ]
        self._others = ~packed(np.array(self._by_themselves, dtype=np.int32), len(self.vocabulary))
        self._runs = self._find_runs()
        self._base: dict[tuple[int, int, bool], Mask] = {}
        self._kept: dict[LayoutConfiguration, Mask] = {}
        self._joined: dict[LayoutPosition, Mask] = {}
        self._behind: dict[LayoutPosition, tuple[Int32, NDArray[np.int64]]] = {}
        self._lock = threading.Lock()
        if self.tokens_left(reader.start) >= UNREACHABLE:
            raise cannot_be_written()

    def _find_runs(self) -> list[_Run]:
        """List the trie nodes that are reached by blanks, each behind the ones before it."""
        trie, runs = self.vocabulary.trie, list[_Run]()
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
                    runs.append(_Run(node, inner[2], np.array(children, dtype=np.int32)))
                    waiting.append(inner)
                node = int(trie.subtree_ends[node])
        return runs

    # ---- what may follow -------------------------------------------------------------------------------------------

    def mask(self, position: LayoutPosition) -> Mask:
        """Return the token mask of a position without a limit, end tokens included; read-only."""
        mask = self._joined.get(position)
        if mask is None:
            mask = self._of(position[0])
            for configuration in position[1:]:
                mask = mask | self._of(configuration)
            if not self._is_exact:
                mask = self._fitting(position, mask, int(UNREACHABLE) - 1)
            mask.setflags(write=False)
            with self._lock:
                if len(self._joined) > _KEPT:
                    self._joined.clear()
                mask = self._joined.setdefault(position, mask)
        return mask

    def _of(self, configuration: LayoutConfiguration) -> Mask:
        """Return the tokens that a configuration can read, end tokens included."""
        mask = self._kept.get(configuration)
        if mask is None:
            mask = self._make(configuration)
            mask.setflags(write=False)
            with self._lock:
                if len(self._kept) > _KEPT:
                    self._kept.clear()
                self._kept[configuration] = mask
        return mask

    def _make(self, configuration: LayoutConfiguration) -> Mask:
        lexer_state, node, layout = configuration
        try:
            mask = self._inside_of(lexer_state, node, bool(layout.brackets)) | self._behind_blanks(configuration)
        except TooManyWays:
            return self._read_each((configuration,), self.vocabulary.text_token_ids.tolist())
        mask &= self._others
        mask |= self._read_each((configuration,), self._by_themselves)
        for gap in self.reader.commits(configuration):
            mask |= self._of(gap)
        return mask

    def _read_each(self, position: LayoutPosition, tokens: list[int]) -> Mask:
        """Return those of some tokens that can be read, and the end tokens where the text may end."""
        read, texts = ReadByBytes(self.reader, position), self.vocabulary.tokens
        found = [token for token in tokens if read.after(texts[token] or b"") != REFUSED]
        return packed(np.array([*found, *self._ends(position)], dtype=np.int32), len(self.vocabulary)).copy()

    def _inside_of(self, lexer_state: int, node: int, in_brackets: bool) -> Mask:
        key = lexer_state, node, in_brackets
        mask = self._base.get(key)
        if mask is None:
            layout = self.reader.start[0].layout._replace(brackets=int(in_brackets))
            states = self._inside.lexeme_tokens(lexer_state).lexer_states.tolist()
            alive = np.array([self.reader.is_alive(each, node, layout) for each in states], dtype=np.bool_)
            mask = self._inside.inside(lexer_state, node, alive)
            with self._lock:
                if len(self._base) > _KEPT:
                    self._base.clear()
                self._base[key] = mask
        return mask

    def _behind_blanks(self, configuration: LayoutConfiguration) -> Mask:
        """Return the tokens of blanks behind which an open newline ends, and of what follows it."""
        mask = np.zeros(self._inside.words, dtype=np.uint32)
        if configuration.layout.column is None and not configuration.layout.brackets:
            return mask
        children: dict[tuple[int, int], list[Int32]] = {}
        read = ReadByBytes(self.reader, (configuration,))
        for run in self._runs:
            after = read.after(run.data)
            if after == REFUSED or not run.behind.size:
                continue
            for behind in read.positions[after]:
                for obligation, node, _ in self.reader.behind_newline(behind):
                    children.setdefault((node, obligation), []).append(run.behind)
        for (node, obligation), nodes in children.items():
            if node != BOTTOM:
                mask |= self._inside.behind(node, obligation, np.concatenate(nodes))
        return mask

    def bounded_mask(self, position: LayoutPosition, room: int) -> Mask:
        """Return the token mask of a position with ``room`` tokens left."""
        if room == 0:
            return packed(np.array(self._ends(position), dtype=np.int32), len(self.vocabulary))
        mask = self._fitting(position, self.mask(position), room - 1)
        mask.setflags(write=False)
        return mask

    def _fitting(self, position: LayoutPosition, mask: Mask, room: int) -> Mask:
        """Return the tokens of a mask after which ``room`` tokens complete the text, and its end tokens."""
        known = self._behind.get(position)
        if known is None:
            tokens = np.setdiff1d(TOKEN_IDS.of(mask), self.vocabulary.end_token_ids).astype(np.int32)
            read, texts = ReadByBytes(self.reader, position), self.vocabulary.tokens
            numbers = np.array([read.after(texts[token] or b"") for token in tokens.tolist()], dtype=np.intp)
            left = np.full(len(read.positions), int(UNREACHABLE), dtype=np.int64)
            for number in np.unique(numbers).tolist():
                left[number] = self.tokens_left(read.positions[number])
            known = tokens, left[numbers]
            with self._lock:
                if len(self._behind) > _KEPT // 8:
                    self._behind.clear()
                self._behind[position] = known
        fits = known[0][known[1] <= room]
        return packed(np.append(fits, self._ends(position)).astype(np.int32), len(self.vocabulary)).copy()

    def allowed_tokens(self, mask: Mask) -> Int32:
        """Return the token ids of a mask, ascending; read-only."""
        return TOKEN_IDS.of(mask)

    def is_made(self, position: LayoutPosition) -> bool:
        """Tell whether the mask of a position is cached."""
        return position in self._joined

    def _ends(self, position: LayoutPosition) -> tuple[int, ...]:
        """Return the end tokens if the text may end."""
        return tuple(self.vocabulary.end_token_ids) if self.reader.accepts(position) else ()

    # ---- the way to the end ----------------------------------------------------------------------------------------

    def fits(self, position: LayoutPosition, room: int | None) -> bool:
        """Tell whether ``room`` tokens are enough to complete the text; ``None``: any number."""
        if room is None and self._is_exact:
            return True
        return self.tokens_left(position) <= (int(UNREACHABLE) - 1 if room is None else room)

    def tokens_left(self, position: LayoutPosition) -> int:
        """Return the fewest tokens of the shortest text to an end; ``UNREACHABLE`` where there is none."""
        return min(map(self._completion.tokens_left, position))

    def shortest(self, position: LayoutPosition) -> bytes:
        """Return the shortest text from a position to an end."""
        return min(map(self._completion.text, position), key=lambda text: (len(text), text))


class LayoutCompletion:
    """Finds short completions: the shortest with codes in place of columns, written with the least columns.

    ``vocabulary`` is ``None`` for texts only.
    """

    def __init__(self, reader: LayoutReader, vocabulary: Vocabulary | None) -> None:
        self._layout, self._vocabulary = reader, vocabulary
        plain = reader.reader
        if vocabulary is not None and not vocabulary.trie.single_bytes.all():
            plain = plain.with_bytes(vocabulary.trie.single_bytes | np.isin(np.arange(256), list(_CODES)))
        self._plain = plain
        self._completion = Completion(plain, None)
        self._tokens: dict[LayoutConfiguration, int] = {}

    def tokens_left(self, configuration: LayoutConfiguration) -> int:
        """Return the fewest tokens that write the completion of a configuration."""
        known = self._tokens.get(configuration)
        if known is None:
            try:
                known = self._fewest(self.text(configuration))
            except TextTooLong:
                known = int(UNREACHABLE)
            if len(self._tokens) > 16 * _KEPT:
                self._tokens.clear()
            self._tokens[configuration] = known
        return known

    def _fewest(self, text: bytes) -> int:
        assert self._vocabulary is not None, "only texts are needed"
        trie, tokens = self._vocabulary.trie, np.full(len(text) + 1, UNREACHABLE, dtype=np.int32)
        tokens[-1] = 0
        data = np.frombuffer(text, dtype=np.uint8)
        fewest_tokens(data, len(text), tokens, trie.bytes, trie.subtree_ends, trie.token_starts, trie.roots)
        return int(tokens[0])

    def text(self, configuration: LayoutConfiguration) -> bytes:
        """Return the completion of a configuration."""
        lexer_state, node, layout = configuration
        if self._plain.to_end.of(lexer_state, node) >= FAR and layout.brackets:  # a newline in brackets is open
            for begun in (b"", b"\n", b"\r\n"):
                for each in self._layout.read((configuration,), begun) or ():
                    for gap in self._layout.commits(each):
                        if gap.node == node and self._plain.to_end.of(gap.lexer_state, node) < FAR:
                            return begun + self._written(gap)
        return self._written(configuration)

    def _written(self, configuration: LayoutConfiguration) -> bytes:
        plain = Configuration(configuration.lexer_state, configuration.node)
        coded = self._completion.text((plain,))
        position: LayoutPosition = (configuration,)
        text, place = bytearray(), 0
        while True:
            codes = place
            while codes < len(coded) and coded[codes] in _CODES:
                codes += 1
            blanks = self._before(position, coded[place:codes], coded[codes : codes + 1])
            content = blanks + coded[codes : codes + 1]
            position = self._read(position, content)
            text += content
            if codes == len(coded):
                return bytes(text)
            place = codes + 1

    def _before(self, position: LayoutPosition, codes: bytes, content: bytes) -> bytes:
        """Return the blanks of an open newline before the next byte, or before the end of the text."""
        if not content and self._layout.accepts(position):
            return b""
        begun, here = b"", self._open_line(position)
        if here is None:
            after = self._layout.read(position, content) if content else None
            if codes or after is None:  # a comment is the newline so far, and no column can be told
                begun = b"\n"
                here = self._open_line(self._read(position, begun))
        elif content and not codes and self._goes_on(here, content[0]):
            return b""
        return begun if here is None else begun + self._blanks(here, codes, is_end=not content)

    def _read(self, position: LayoutPosition, data: bytes) -> LayoutPosition:
        after = self._layout.read(position, data)
        assert after is not None, "a completion can be read"
        return after

    def _open_line(self, position: LayoutPosition) -> LayoutConfiguration | None:
        """Return the configuration whose newline has a column that counts."""
        lines = (each for each in position if each.layout.column is not None and not each.layout.brackets)
        return next(lines, None)

    def _goes_on(self, here: LayoutConfiguration, byte: int) -> bool:
        """Tell whether a byte belongs to the newline that is open."""
        lexer = self._plain.lexer
        return bool(lexer.step[here.lexer_state, lexer.byte_classes[byte]] != NO_STATE)

    def _blanks(self, here: LayoutConfiguration, codes: bytes, *, is_end: bool) -> bytes:
        """Return what brings an open newline to the column that some codes ask for."""
        levels, column = here.layout.levels, here.layout.column or 0
        if is_end:  # all levels are closed at the end, so any of them will do
            target = next((level for level in levels if level >= column), 0)
        elif codes[:1] == INDENT_CODE:
            target = levels[-1] + 1
        else:
            target = levels[len(levels) - 1 - len(codes)]
        return b" " * (target - column) if column <= target else b"\n" + b" " * target


def shortest_layout_text(reader: LayoutReader) -> bytes:
    """Return a shortest text of a grammar with indentation."""
    return LayoutCompletion(reader, None).text(reader.start[0])
