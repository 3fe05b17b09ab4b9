"""A literal before a constraint: tokens may cross from the one into the other.

The end of a prompt that is written again with the text (``sfgen.decoding.healing``) is such a literal. A ``Chain``
reads any parts, of which one may end in several places. A literal ends in one place only, so the guide behind it is the
one that there is without it: its masks, and all that is kept of them, stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, runtime_checkable
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from sfgen import arguments
from sfgen.errors import DeadEnd, LimitTooSmall, UsageError
from sfgen.index.dfa_guide import DfaGuide
from sfgen.index.distance import UNREACHABLE
from sfgen.index.guide import NO_TOKENS, BaseGuide
from sfgen.index.prefixed_guide import PrefixedGuide
from sfgen.index.unconstrained import UnconstrainedGuide
from sfgen.protocols import Guide, GuideSource, Int32
from sfgen.vocabulary import TokenTrie, Vocabulary

_MOST_KEPT = 64
"""How many positions are remembered for a source."""


@dataclass(frozen=True, slots=True)
class LiteralPosition:
    """A position inside a literal.

    Attributes:
        rest: What of the literal is still to come.
        behind: The position of the guide behind it.
    """

    rest: bytes
    behind: Hashable


@runtime_checkable
class ReadsTrie(Protocol):
    """A guide that finds at its start what tokens may follow, faster than byte by byte."""

    def tokens_behind(self, trie: TokenTrie, skipped: int) -> Int32 | None:
        """The tokens of a trie that may follow, ascending; ``None`` where it is not faster.

        Args:
            trie: What tokens have behind some bytes.
            skipped: How many bytes that are.
        """


@runtime_checkable
class CountsLater(Protocol):
    """A source whose guides do not count to the limit what they begin with."""

    def across(self, max_tokens: int) -> Guide:
        """A guide at the start, whose first bytes are of a token that began before."""


class LiteralTokens:
    """Which tokens may follow inside a literal.

    Args:
        literal: What comes first.
        source: What comes behind it.
        max_tokens: As for ``LiteralGuide``.

    Attributes:
        begin: A guide at the start of what comes behind; never moved.
        across: The same with one token less, for what a token that crosses leaves; ``None``: no token may cross.

    Raises:
        LimitTooSmall: As ``GuideSource.guide``.
    """

    def __init__(self, literal: bytes, source: GuideSource, max_tokens: int | None) -> None:
        self.literal = literal
        self.vocabulary = arguments.instance("vocabulary", source.vocabulary, Vocabulary)
        self.begin = source.guide(max_tokens)
        self.across: Guide | None = self.begin
        self._max_tokens = max_tokens
        if max_tokens is not None:
            try:
                if isinstance(source, CountsLater):
                    self.across = source.across(max_tokens)
                else:
                    self.across = source.guide(max_tokens - 1) if max_tokens else None
            except LimitTooSmall:
                self.across = None
        self._kept = _kept_for(source)

    def unlimited(self) -> LiteralTokens:
        """The same without a limit."""
        twin = object.__new__(LiteralTokens)
        twin.__dict__.update(self.__dict__)
        twin.begin = twin.across = self.begin.fork(limited=False)
        twin._max_tokens = None
        return twin

    def allowed(self, offset: int) -> Int32:
        """The tokens that may follow the first ``offset`` bytes of the literal, ascending; read-only and shared."""
        return self._keep(offset, False, lambda: np.union1d(self._within(offset), self.crossing(offset)))

    def crossing(self, offset: int) -> Int32:
        """The tokens that have the rest of the literal and some bytes behind it, ascending; read-only and shared."""
        return self._keep(offset, True, lambda: self._crossing(offset))

    def reads(self, data: bytes) -> bool:
        """Whether a token may go on with some bytes behind the literal; without any, whether it may end with it."""
        if not data:
            return self._fits(self.begin, self._max_tokens)
        if self.across is None:
            return False
        guide = self.across.fork()
        try:
            guide.advance_bytes(data)
        except UsageError:
            return False
        return self._fits(guide, None if self._max_tokens is None else self._max_tokens - 1)

    def _keep(self, offset: int, is_crossing: bool, find: Callable[[], NDArray[np.integer]]) -> Int32:
        """What is remembered of the tokens behind ``offset`` bytes; else what is found."""
        key = self.literal[offset:], self._max_tokens, is_crossing
        found = self._kept.get(key)
        if found is None:
            found = find().astype(np.int32)
            found.setflags(write=False)
            if len(self._kept) >= _MOST_KEPT:
                self._kept.clear()
            self._kept[key] = found
        return found

    def _within(self, offset: int) -> Int32:
        """The tokens that end within the literal, or with it, and leave a rest that can be written."""
        trie, tokens = self.vocabulary.trie, [NO_TOKENS]
        for end, node in enumerate(trie.along(self.literal[offset:]), offset + 1):
            ids = trie.token_ids[trie.token_starts[node] : trie.token_starts[node + 1]]
            if ids.size and self._can_go_on(end):
                tokens.append(ids)
        return np.concatenate(tokens)

    def _can_go_on(self, end: int) -> bool:
        """Whether the first ``end`` bytes of the literal can be completed."""
        if end == len(self.literal):
            return self._fits(self.begin, self._max_tokens)
        return self.allowed(end).size > 0

    def _crossing(self, offset: int) -> Int32:
        rest, trie = self.literal[offset:], self.vocabulary.trie
        nodes = trie.along(rest)
        if self.across is None or len(nodes) < len(rest):
            return NO_TOKENS
        ends = trie.below(nodes[-1])
        room = None if self._max_tokens is None else self._max_tokens - 1
        if isinstance(self.across, UnconstrainedGuide):
            return np.sort(ends.token_ids)
        if isinstance(self.across, DfaGuide):
            return self.across.index.tokens_behind(self.across.state, ends, room)
        if isinstance(self.across, ReadsTrie) and (found := self.across.tokens_behind(ends, len(rest))) is not None:
            return found
        return self._readable(self.across.fork(), ends, room)

    def _readable(self, guide: Guide, trie: TokenTrie, room: int | None) -> Int32:
        """The tokens of a trie that a guide can read: a walk without what refused bytes begin."""
        found: list[int] = []
        depths, subtree_ends, starts = trie.depths.tolist(), trie.subtree_ends.tolist(), trie.token_starts.tolist()
        labels, node, read = trie.bytes.tobytes(), 0, 0
        while node < len(labels):
            guide.rollback(read + 1 - depths[node])
            read = depths[node] - 1
            try:
                guide.advance_bytes(labels[node : node + 1])
            except UsageError:
                node = subtree_ends[node]
                continue
            read += 1
            if starts[node] < starts[node + 1] and self._fits(guide, room):
                found += trie.token_ids[starts[node] : starts[node + 1]].tolist()
            node += 1
        return np.array(sorted(found), dtype=np.int32)

    def _fits(self, guide: Guide, room: int | None) -> bool:
        """Whether the text can be completed from where a guide stands with ``room`` tokens."""
        if room is None and self.vocabulary.trie.single_bytes.all():
            return True
        return bool(guide.tokens_left() <= (UNREACHABLE - 1 if room is None else room))


class LiteralGuide(PrefixedGuide[int]):
    """Walks one sequence through a literal, and then through a constraint. A ``sfgen.protocols.Guide``.

    A token that writes nothing but the literal does not count to the limit; one that crosses into what comes behind
    does. It may cross where what comes behind could be written without it, too, with the tokens that it leaves.

    Args:
        literal: What comes first; at least one byte.
        source: What comes behind it.
        max_tokens: The number of tokens (end tokens not counted) that may write something behind the literal.

    Raises:
        LimitTooSmall: Nothing can be written with ``max_tokens`` tokens behind the literal.

    >>> from sfgen import Dfa, Index
    >>> vocabulary = Vocabulary([b" ", b"1", b" 1", b" 12", b"2", b" a", None], end_token_ids=[6])
    >>> guide = LiteralGuide(b" ", Index(Dfa.from_regex("[12]{2}"), vocabulary), 3)
    >>> guide.allowed_tokens().tolist(), guide.forced_bytes()
    ([0, 2, 3], b' ')
    >>> guide.advance(2)
    >>> guide.allowed_tokens().tolist(), guide.position
    ([1, 4], 1)
    """

    def __init__(self, literal: bytes, source: GuideSource, max_tokens: int | None = None) -> None:
        if not arguments.data("literal", literal):
            raise UsageError("the literal is empty", hint="Take the guide of the source itself.")
        self._tokens = LiteralTokens(literal, source, max_tokens)
        super().__init__(self._tokens.vocabulary, 0)

    @classmethod
    def within(cls, tokens: LiteralTokens, offset: int, *, bytes_count: bool = False) -> LiteralGuide:
        """A guide behind the first ``offset`` bytes of a literal, which others have written.

        Args:
            tokens: Which tokens may follow in the literal.
            offset: The number of bytes.
            bytes_count: Whether bytes are of a token that counts to the limit, if they reach behind the literal.
        """
        guide = object.__new__(cls)
        guide._tokens = tokens
        PrefixedGuide.__init__(guide, tokens.vocabulary, offset)
        guide._bytes_count = bytes_count
        return guide

    @property
    def is_inside(self) -> bool:
        """Whether the literal is not complete."""
        return self._behind is None

    @property
    def temperature(self) -> float | None:
        """That of the guide behind the literal; ``None``: that of the generation."""
        return getattr(self._behind or self._begin, "temperature", None)

    @property
    def crosses(self) -> bool:
        """Whether some token may have the whole literal and more; for the start."""
        return self._tokens.crossing(0).size > 0

    @property
    def _rest(self) -> bytes:
        return self._tokens.literal[self._marks[-1] :]

    @property
    def _begin(self) -> Guide:
        return self._tokens.begin

    def _position_inside(self) -> LiteralPosition:
        return LiteralPosition(self._rest, self._tokens.begin.position)

    def _tokens_inside(self) -> Int32:
        tokens = self._tokens.allowed(self._marks[-1])
        if not tokens.size:
            raise DeadEnd("no token of the vocabulary can follow inside a literal", hint=BaseGuide.dead_end_hint)
        return tokens

    def _forced_inside(self, most: int | None) -> bytes:
        rest = self._rest
        if most is not None and most <= len(rest):
            return rest[:most]
        return rest + self._tokens.begin.forced_bytes(None if most is None else most - len(rest))

    def _after_token(self, token_id: int) -> tuple[int, Guide | None]:
        allowed = self._tokens.allowed(self._marks[-1])
        if not 0 <= token_id < len(self.vocabulary) or not np.isin(token_id, allowed):
            raise UsageError(f"token {token_id} is not allowed here")
        return self._after(self.vocabulary.tokens[token_id] or b"", self._tokens.across)

    def _after_bytes(self, data: bytes) -> tuple[int, Guide | None]:
        rest = self._rest
        if rest[: len(data)] != data[: len(rest)]:
            raise UsageError(f"the text cannot go on with {data!r:.60}")
        return self._after(data, self._tokens.across if self._bytes_count else self._tokens.begin)

    def _after(self, data: bytes, across: Guide | None) -> tuple[int, Guide | None]:
        """Read bytes that the literal begins with, or that begin with its rest: ``across`` goes on with the others."""
        rest, behind = self._rest, None
        if len(data) > len(rest):
            if across is None:
                raise UsageError(f"the text cannot go on with {data!r:.60}")
            behind = across.fork()
            behind.advance_bytes(data[len(rest) :])
        elif len(data) == len(rest):
            behind = self._tokens.begin.fork()
        return min(self._marks[-1] + len(data), len(self._tokens.literal)), behind

    def _drop_limit(self) -> None:
        self._tokens = self._tokens.unlimited()


_Key: TypeAlias = tuple[bytes, int | None, bool]
"""The rest of a literal, the limit, and whether the tokens are those that cross alone."""

_all_kept: WeakKeyDictionary[Any, dict[_Key, Int32]] = WeakKeyDictionary()


def _kept_for(source: GuideSource) -> dict[_Key, Int32]:
    """What is remembered for a source; nothing if it cannot be referred to weakly."""
    try:
        return _all_kept.setdefault(source, {})
    except TypeError:
        return {}
