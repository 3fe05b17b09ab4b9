"""The guide of a template that is neither one automaton nor one grammar: it follows all ways to divide the text.

Such are templates with a copy of a hole that has many texts, and those with a grammar for Lark. A position is that of
the template's reader, with the states of the segments' automata, which tell most of the tokens. ``HoleTokens`` tells
the tokens of one hole, and ``Spelling`` the fewest tokens of a text by itself.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np

from sfgen import arguments
from sfgen.automata import Dfa
from sfgen.grammar.shell.guide import GrammarGuide, PositionMasks, PositionReader
from sfgen.index import DfaIndex
from sfgen.index.distance import UNREACHABLE, fewest_tokens
from sfgen.index.guide import NO_TOKENS, BaseGuide
from sfgen.index.mask_ids import tokens_of_row
from sfgen.protocols import Int32
from sfgen.template.composition import Segment
from sfgen.template.guide import described
from sfgen.template.parts import Constraint, Copied, Filled, Literal, Part
from sfgen.template.reader import DfaReader, Position, TemplateReader, Thread
from sfgen.vocabulary import Vocabulary

_FEW = 64
"""Up to so many tokens inside the segments, those that cross are found by a plain walk over the trie."""


class Threads(NamedTuple):
    """A position: the ways to divide the text, and the states of segments.

    Attributes:
        threads: The ways to divide it.
        states: The numbers of segments, and the states of their automata.
    """

    threads: Position
    states: frozenset[tuple[int, int]]


class TemplateTokens:
    """The tokens of a template. Safe to share between threads."""

    def __init__(self, parts: tuple[Part, ...], segments: tuple[Segment, ...], vocabulary: Vocabulary) -> None:
        self.parts, self.segments = parts, segments
        self.vocabulary = arguments.instance("vocabulary", vocabulary, Vocabulary)
        self.spelling = Spelling(vocabulary)
        self._of_constraints: dict[int, HoleTokens] = {}
        self.reader = TemplateReader(parts, self._reader_of)
        self.holes = {
            number: self._of_constraints[id(part.constraint)]
            for number, part in enumerate(parts)
            if isinstance(part, Filled)
        }
        self.indexes = {
            number: DfaIndex(segment.dfa, vocabulary)
            for number, segment in enumerate(segments)
            if segment.dfa is not None
        }
        self._segment_at = {segments[number].begin: number for number in self.indexes}
        self._shortest = {
            number: self.holes[number].rest(self.reader.hole_reader(number).start) for number in self.reader.last_copy
        }
        costs = [self._cost(number) for number in range(len(parts))]
        # Of each part: the fewest tokens of all parts from it on, copies left out.
        self._behind = [min(sum(costs[number:]), int(UNREACHABLE)) for number in range(len(parts) + 1)]
        self._copies = [(number, part.source) for number, part in enumerate(parts) if isinstance(part, Copied)]
        last = max((number for number, _ in self._copies), default=-1)
        # Segments behind which nothing is copied: what stands behind them always takes the same.
        self._plain = frozenset(number for number in self.indexes if segments[number].end > last)
        self._is_plain = [
            any(segments[number].begin <= part < segments[number].end for number in self._plain)
            for part in range(len(parts) + 1)
        ]
        self._lengths = np.array([len(data or b"") for data in vocabulary.tokens], dtype=np.int32)
        self._lengths_of_tokens: list[int] = np.unique(self._lengths).tolist()
        self._first: dict[int, frozenset[int]] = {}
        self._ways: dict[frozenset[int], bytearray] = {}

    def _reader_of(self, constraint: Constraint) -> PositionReader[Any]:
        if id(constraint) not in self._of_constraints:
            self._of_constraints[id(constraint)] = _tokens_of_hole(constraint, self.vocabulary)
        return self._of_constraints[id(constraint)].reader

    def _cost(self, number: int) -> int:
        """The fewest tokens of a part by itself; of one that is copied, those of its shortest text."""
        part = self.parts[number]
        if isinstance(part, Literal):
            return self.spelling.fewest(part.data)
        if isinstance(part, Copied):
            return 0
        if number in self._shortest:
            return self.spelling.fewest(self._shortest[number])
        return self.holes[number].least(self.reader.hole_reader(number).start)

    # ---- positions -------------------------------------------------------------------------------------------------

    @property
    def start(self) -> Threads:
        """The position of the empty text."""
        return Threads(self.reader.start, self._begun(self.reader.start))

    def _begun(self, threads: Iterable[Thread]) -> frozenset[tuple[int, int]]:
        """Return the starts of segments that begin at the positions of threads."""
        return frozenset(
            (self._segment_at[thread.part], 0)
            for thread in threads
            if thread.part in self._segment_at and thread.inside == 0
        )

    def read(self, position: Threads, data: bytes) -> Threads | None:
        """Return the position after some bytes; ``None`` where they are refused."""
        for byte in data:
            threads = self.reader.read(position.threads, bytes([byte]))
            if threads is None:
                return None
            after = ((number, self.indexes[number].dfa.step(state, byte)) for number, state in position.states)
            states = frozenset((number, state) for number, state in after if state >= 0)
            position = Threads(threads, states | self._begun(threads))
        return position

    # ---- the fewest tokens -----------------------------------------------------------------------------------------

    def tokens_left(self, position: Threads) -> int:
        """Bound the tokens to an end from above.

        It is the fewest if each part is written by itself.
        """
        least = [
            int(self.indexes[number].distance[state]) + self._behind[self.segments[number].end]
            for number, state in position.states
            if number in self._plain
        ]
        for thread in position.threads:
            if not self._is_plain[thread.part]:
                least.append(self._least(thread) + self._least_behind(thread))
        return min(*least, int(UNREACHABLE))

    def _least(self, thread: Thread) -> int:
        """The fewest tokens to the end of the part that a thread is in."""
        if thread.part == len(self.parts):
            return 0
        literal = self.reader.literal(thread)
        if literal is not None:
            return self.spelling.fewest(literal[_offset(thread) :])
        hole = self.holes[thread.part]
        if thread.part in self.reader.last_copy:
            return self.spelling.fewest(hole.rest(thread.inside))
        return hole.least(thread.inside)

    def _least_behind(self, thread: Thread) -> int:
        """The fewest tokens of all parts behind that which a thread is in."""
        if thread.part == len(self.parts):
            return 0
        known = dict(thread.copies)
        if thread.part in self.reader.last_copy:
            known[thread.part] = thread.written + self.holes[thread.part].rest(thread.inside)
        least = self._behind[thread.part + 1]
        for number, source in self._copies:
            if number > thread.part:
                least += self.spelling.fewest(known.get(source, self._shortest[source]))
        return min(least, int(UNREACHABLE))

    # ---- the tokens that may follow --------------------------------------------------------------------------------

    def within(self, position: Threads) -> Int32:
        """Return the text tokens that stay in a segment, ascending."""
        ends = self.vocabulary.end_token_ids
        rows = [self._inside(state) for state in position.states]
        for thread in position.threads:
            part = self.parts[thread.part] if thread.part < len(self.parts) else None
            if isinstance(part, Copied):
                rest = (self.reader.literal(thread) or b"")[_offset(thread) :]
                rows += [ids for _, ids in self.spelling.along(rest)]
            elif isinstance(part, Filled) and not isinstance(self.holes[thread.part], DfaTokens):
                rows.append(self.holes[thread.part].within(thread.inside))
        tokens = np.unique(np.concatenate(rows)) if rows else NO_TOKENS
        return tokens[~np.isin(tokens, ends)].astype(np.int32)

    def _inside(self, state: tuple[int, int]) -> Int32:
        return self.indexes[state[0]].allowed_tokens(state[1])

    def crossing(self, position: Threads) -> list[int]:
        """Find the tokens that may reach from one segment into the next.

        These are all that have a byte for that, and so some others, too. They are found by a walk over the trie,
        through those nodes that are on the way to such a token.
        """
        firsts = frozenset[int]()
        for thread in position.threads:
            if thread.part < len(self.parts):
                end = next((each.end for each in self.segments if each.end > thread.part), len(self.parts))
                firsts |= self._first_bytes(end, dict(thread.copies))
        trie, crossing, path = self.vocabulary.trie, list[int](), [position]
        on_the_way, node = self._ways_to(firsts), 0
        while node < len(trie):
            depth = int(trie.depths[node])
            after = self.read(path[depth - 1], bytes([trie.bytes[node]])) if on_the_way[node] else None
            if after is None:
                node = int(trie.subtree_ends[node])
                continue
            path[depth:] = [after]
            crossing += trie.token_ids[trie.token_starts[node] : trie.token_starts[node + 1]].tolist()
            node += 1
        return crossing

    def _ways_to(self, firsts: frozenset[int]) -> bytearray:
        """The nodes of the trie on the way to a token that has one of these bytes behind its first one."""
        if firsts not in self._ways:
            trie = self.vocabulary.trie
            on_the_way, has_one = bytearray(len(trie)), bytearray(len(trie))
            path, parents = [-1] * (trie.max_depth + 1), list[int]()
            is_one = [byte in firsts for byte in trie.bytes.tolist()]
            for node, depth in enumerate(trie.depths.tolist()):
                path[depth] = node
                parents.append(path[depth - 1])
                has_one[node] = depth > 1 and (is_one[node] or has_one[parents[node]])
            ends = (np.diff(trie.token_starts) > 0).tolist()
            for node in range(len(trie) - 1, -1, -1):
                on_the_way[node] = on_the_way[node] or (ends[node] and has_one[node])
                if on_the_way[node] and parents[node] >= 0:
                    on_the_way[parents[node]] = 1
            self._ways[firsts] = on_the_way
        return self._ways[firsts]

    def _first_bytes(self, part: int, copies: dict[int, bytes]) -> frozenset[int]:
        """The bytes that a text can begin with which is one of a part, and of those behind it."""
        firsts = frozenset[int]()
        for number in range(part, len(self.parts)):
            each = self.parts[number]
            if isinstance(each, Copied) and each.source not in copies:
                number = each.source  # as the hole itself
                each = self.parts[number]
            if isinstance(each, Filled):
                firsts |= self._first_of_hole(number)
                if not self.reader.hole_reader(number).accepts(self.reader.hole_reader(number).start):
                    break
                continue
            text = each.data if isinstance(each, Literal) else copies[each.source]
            if text:
                return firsts | {text[0]}
        return firsts

    def _first_of_hole(self, number: int) -> frozenset[int]:
        if number not in self._first:
            reader = self.reader.hole_reader(number)
            can = (byte for byte in range(256) if reader.read(reader.start, bytes([byte])) is not None)
            self._first[number] = frozenset(can)
        return self._first[number]

    def certain(self, position: Threads, room: int) -> Int32:
        """Find tokens that certainly fit, without trying each.

        Others may fit as well.
        """
        rows = list[Int32]()
        for number, state in position.states:
            if self._farthest(number, position, self.vocabulary.trie.max_depth) < room:
                rows.append(self._inside((number, state)))
            elif number in self._plain and room > self._behind[self.segments[number].end]:
                row = self.indexes[number].bounded_row(state, room - self._behind[self.segments[number].end])
                rows.append(tokens_of_row(row))
            else:
                tokens = self._inside((number, state))
                # Longer tokens lead no less far, so the longest that fit are found by halves.
                far = partial(self._farthest, number, position)
                most = bisect_left(self._lengths_of_tokens, room, key=far)
                longest = self._lengths_of_tokens[most - 1] if most else 0
                rows.append(tokens[self._lengths[tokens] <= longest])
        for thread in position.threads:
            if thread.part in self.holes and thread.part not in self.reader.last_copy:
                hole = self.holes[thread.part]
                if not isinstance(hole, DfaTokens):
                    rows.append(hole.fitting(thread.inside, room - self._least_behind(thread)))
        return np.unique(np.concatenate(rows)) if rows else NO_TOKENS

    def _farthest(self, number: int, position: Threads, longest: int) -> int:
        """A bound on the fewest tokens to an end after any token of ``longest`` bytes that stays in a segment."""
        segment = self.segments[number]
        if not self.vocabulary.trie.single_bytes.all():
            return int(UNREACHABLE)
        most = self._behind[segment.end]
        for part in range(segment.begin, segment.end):
            each = self.parts[part]
            if isinstance(each, Literal):
                most += len(each.data)
            else:
                most += self.holes[part].longest_rest or 0
        for part, source in self._copies:
            if part >= segment.end:
                most += max(self._longest_copy(source, thread, longest) for thread in position.threads)
        return min(most, int(UNREACHABLE))

    def _longest_copy(self, source: int, thread: Thread, longest: int) -> int:
        """The most bytes that a copy can have which is completed in the shortest way after the next token."""
        for number, text in thread.copies:
            if number == source:
                return len(text)
        rest = self.holes[source].longest_rest
        if rest is None:
            return int(UNREACHABLE)
        return len(thread.written) * (thread.part == source) + longest + rest


class TemplateThreadsGuide(BaseGuide[Threads]):
    """Walks one sequence through a template, along all ways to divide it.

    The fewest tokens to an end are counted as if each part were written by itself: a bound above. Near the limit, and
    where the vocabulary cannot write every byte, what only other tokens could complete is left out.
    """

    def __init__(self, tokens: TemplateTokens, max_tokens: int | None = None) -> None:
        self._tokens = tokens
        super().__init__(tokens.vocabulary, tokens.start, max_tokens)

    def _read(self, position: Threads, data: bytes) -> Threads | None:
        return self._tokens.read(position, data)

    def _accepts(self, position: Threads) -> bool:
        return self._tokens.reader.accepts(position.threads)

    def _tokens_left(self, position: Threads) -> int:
        return self._tokens.tokens_left(position)

    def _is_final(self, position: Threads) -> bool:
        return all(thread.part == len(self._tokens.parts) for thread in position.threads) or super()._is_final(position)

    def _only_step(self, position: Threads) -> tuple[bytes, Threads] | None:
        if len(position.threads) > 1:
            return super()._only_step(position)
        thread = position.threads[0]
        literal = self._tokens.reader.literal(thread)
        if literal is None:
            return super()._only_step(position)
        byte = literal[_offset(thread) :][:1]
        after = self._tokens.read(position, byte)
        return None if after is None else (byte, after)

    def _text_tokens(self, position: Threads) -> Int32:
        within = self._tokens.within(position)
        if within.size <= _FEW:
            return super()._text_tokens(position)
        return np.union1d(within, np.array(self._tokens.crossing(position), dtype=np.int32)).astype(np.int32)

    def _tokens_within_limit(self) -> Int32:
        """The text tokens after which an end is still within the limit and can be written at all."""
        position, room = self._positions[-1], self.room
        if room == 0:
            return NO_TOKENS
        if self._readable is None or self._readable[0] != position:
            self._readable = position, self._text_tokens(position)
            self._readable[1].setflags(write=False)  # it is handed out
        tokens = self._readable[1]
        if room is None and self.vocabulary.trie.single_bytes.all():
            return tokens
        certain = NO_TOKENS if room is None else self._tokens.certain(position, room)
        fits = np.isin(tokens, certain)
        for place in np.flatnonzero(~fits).tolist():
            fits[place] = self._after(int(tokens[place])) is not None
        return tokens[fits]

    def describe(self) -> str:
        """Name the hole that is open; of several, the first."""
        return described(self._tokens.reader, self._positions[-1].threads)

    @property
    def temperature(self) -> float | None:
        """The temperature of the open hole; ``None``: that of the generation."""
        hole = self._tokens.reader.hole(self._positions[-1].threads)
        return None if hole is None else hole.hole.temperature


def _offset(thread: Thread) -> int:
    """Return the number of bytes of a literal that were read."""
    assert isinstance(thread.inside, int), "inside of a literal it counts bytes"
    return thread.inside


class HoleTokens(Protocol):
    """The tokens that may follow in a hole, whatever comes behind it."""

    @property
    def reader(self) -> PositionReader[Any]:
        """Reads the text of the hole."""

    def within(self, position: Any) -> Int32:
        """Return the text tokens that stay in the hole, ascending."""

    def fitting(self, position: Any, room: int) -> Int32:
        """Return those tokens after which the hole can still be completed."""

    def least(self, position: Any) -> int:
        """Return the fewest tokens to the end of the hole.

        It may be a bound above that falls by one with some token.
        """

    def rest(self, position: Any) -> bytes:
        """Return a shortest text to the end of the hole.

        After a byte of it, the answer is the rest of it.
        """

    @property
    def longest_rest(self) -> int | None:
        """The most bytes that ``rest`` can have; ``None``: any number."""


class DfaTokens:
    """Those of an automaton: a ``HoleTokens``."""

    def __init__(self, index: DfaIndex) -> None:
        self.index = index
        self.reader = DfaReader(index.dfa)
        self._to_end, self._next = _shortest_ways(index.dfa)
        self.longest_rest: int | None = int(self._to_end.max())

    def within(self, position: int) -> Int32:
        """Return the text tokens that stay in the automaton."""
        return _text_tokens(self.index.allowed_tokens(position), self.index.vocabulary)

    def fitting(self, position: int, room: int) -> Int32:
        """Return those tokens after which ``room`` tokens are enough."""
        tokens = self.within(position)
        if room - 1 >= self.index.longest_way:
            return tokens
        fits = [self.index.distance[self.index.next_state(position, token)] < room for token in tokens.tolist()]
        return tokens[np.array(fits, dtype=np.bool_)]

    def least(self, position: int) -> int:
        """Return the fewest tokens to an accepting state."""
        return int(self.index.distance[position])

    def rest(self, position: int) -> bytes:
        """Return a shortest text to an accepting state."""
        text = bytearray()
        while self._to_end[position]:
            text.append(self._next[position])
            position = self.index.dfa.step(position, text[-1])
        return bytes(text)


class EngineTokens:
    """Those of a schema or a grammar: a ``HoleTokens``."""

    longest_rest: int | None = None

    def __init__(self, masks: PositionMasks[Any]) -> None:
        self._masks = masks
        self.reader = masks.reader

    def within(self, position: Any) -> Int32:
        """Return the text tokens that stay in the rules."""
        masks = self._masks
        if self.reader.is_final(position):
            return NO_TOKENS
        return _text_tokens(masks.allowed_tokens(masks.mask(position)), masks.vocabulary)

    def fitting(self, position: Any, room: int) -> Int32:
        """Return those tokens after which ``room`` tokens are enough."""
        masks = self._masks
        if room <= 0 or self.reader.is_final(position):
            return NO_TOKENS
        return _text_tokens(masks.allowed_tokens(masks.bounded_mask(position, room)), masks.vocabulary)

    def least(self, position: Any) -> int:
        """Return the fewest tokens to the end of the rules."""
        return self._masks.tokens_left(position)

    def rest(self, position: Any) -> bytes:
        """Return a shortest text to the end of the rules."""
        return self._masks.shortest(position)


def _tokens_of_hole(constraint: Constraint, vocabulary: Vocabulary) -> HoleTokens:
    """Make the tokens of the constraint that fills a hole."""
    if isinstance(constraint, Dfa):
        return DfaTokens(DfaIndex(constraint, vocabulary))
    guide = constraint.guide(vocabulary)
    assert isinstance(guide, GrammarGuide), "schemas and grammars have no other"
    return EngineTokens(guide.tokens)


_MOST_KEPT = 20_000


class Spelling:
    """The fewest tokens that write texts, each text by itself."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._trie = vocabulary.trie
        self._known: dict[bytes, int] = {}

    def fewest(self, text: bytes) -> int:
        """Count the fewest tokens that write a text."""
        if text not in self._known:
            if len(self._known) > _MOST_KEPT:
                self._known.clear()
            self._known[text] = self._find(text)
        return self._known[text]

    def along(self, text: bytes) -> list[tuple[int, Int32]]:
        """List the tokens that a text begins with: byte length, and ids."""
        trie, tokens = self._trie, list[tuple[int, Int32]]()
        for length, node in enumerate(trie.along(text), 1):
            ids = trie.token_ids[trie.token_starts[node] : trie.token_starts[node + 1]]
            if ids.size:
                tokens.append((length, ids))
        return tokens

    def _find(self, text: bytes) -> int:
        trie = self._trie
        tokens = np.full(len(text) + 1, UNREACHABLE, dtype=np.int32)
        tokens[-1] = 0
        data = np.frombuffer(text, dtype=np.uint8)
        fewest_tokens(data, len(text), tokens, trie.bytes, trie.subtree_ends, trie.token_starts, trie.roots)
        return min(int(tokens[0]), int(UNREACHABLE))


def _text_tokens(tokens: Int32, vocabulary: Vocabulary) -> Int32:
    """Tokens without those that end a text."""
    return tokens[~np.isin(tokens, vocabulary.end_token_ids)]


def _shortest_ways(dfa: Dfa) -> tuple[Any, list[int]]:
    """Of each state the bytes of a shortest text to the end, int64 ``[states]``, and the first byte of it."""
    targets = dfa.transitions[:, dfa.byte_classes]  # [states, 256]
    to_end = np.where(dfa.accepting, 0, len(dfa)).astype(np.int64)
    while True:
        behind = np.where(targets >= 0, to_end[targets], len(dfa)).min(axis=1)
        nearer = np.minimum(to_end, behind + 1)
        if (nearer == to_end).all():
            break
        to_end = nearer
    first = np.where(targets >= 0, to_end[targets], len(dfa)).argmin(axis=1)
    return to_end, first.tolist()
