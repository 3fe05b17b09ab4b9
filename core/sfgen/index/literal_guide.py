"""A literal before a constraint: tokens may cross from the one into the other.

The end of a prompt that is written again with the text (``sfgen.decoding.healing``) is such a literal. A ``Chain``
reads any parts, of which one may end in several places. A literal ends in one place only, so the guide behind it is the
one that there is without it: its masks, and all that is kept of them, stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sfgen import arguments
from sfgen.errors import DeadEnd, LimitTooSmall, UsageError
from sfgen.index.dfa_guide import DfaGuide
from sfgen.index.distance import UNREACHABLE
from sfgen.index.guide import NO_TOKENS, BaseGuide
from sfgen.index.prefixed_guide import KeptTokens, PrefixedGuide
from sfgen.index.unconstrained import UnconstrainedGuide
from sfgen.protocols import Guide, GuideSource, Int32
from sfgen.vocabulary import TokenTrie, Vocabulary


@dataclass(frozen=True, slots=True)
class LiteralPosition:
    """A position inside a literal.

    Attributes:
        rest: The bytes of the literal that are still to come.
        behind: The position of the guide after it.
    """

    rest: bytes
    behind: Hashable


@runtime_checkable
class ReadsTrie(Protocol):
    """A guide that can find the allowed tokens of a trie quickly."""

    def tokens_behind(self, trie: TokenTrie, skipped: int) -> Int32 | None:
        """Return the tokens of a trie that may follow, ascending."""


@runtime_checkable
class CountsLater(Protocol):
    """A source whose guides count only tokens after some beginning."""

    def across(self, max_tokens: int) -> Guide:
        """Return a guide whose first bytes end a token begun before."""


class LiteralTokens:
    """The tokens that may follow inside a literal.

    Attributes:
        begin: A guide at the start of what comes behind; never moved.
        across: The same with one token less, for what a token that crosses leaves; ``None``: no token may cross.
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
        self._kept = KeptTokens.of(source)
        self._completable: list[bool] | None = None

    def unlimited(self) -> LiteralTokens:
        """Return a copy without a token limit."""
        twin = object.__new__(LiteralTokens)
        twin.__dict__.update(self.__dict__)
        twin.begin = twin.across = self.begin.fork(limited=False)
        twin._max_tokens = twin._completable = None
        return twin

    def allowed(self, offset: int) -> Int32:
        """Return the tokens allowed at an offset in the literal."""
        return self._keep(offset, False, lambda: np.union1d(self._within(offset), self.crossing(offset)))

    def crossing(self, offset: int) -> Int32:
        """Return the allowed tokens that continue after the literal."""
        return self._keep(offset, True, lambda: self._crossing(offset))

    def reads(self, data: bytes) -> bool:
        """Tell whether a token may continue with bytes after the literal."""
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

    def _keep(self, offset: int, is_crossing: bool, make: Callable[[], NDArray[np.integer]]) -> Int32:
        """The tokens behind ``offset`` bytes, all or those that cross alone."""
        return self._kept.find((self.literal[offset:], self._max_tokens, is_crossing), make)

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
        if self._completable is None:
            self._completable = self._find_completable()
        return self._completable[end]

    def _find_completable(self) -> list[bool]:
        """Of each number of bytes whether the literal can be completed after them; from its end back."""
        trie, size = self.vocabulary.trie, len(self.literal)
        found = [False] * size + [self._fits(self.begin, self._max_tokens)]
        for offset in reversed(range(size)):
            ends = enumerate(trie.along(self.literal[offset:]), offset + 1)
            found[offset] = any(
                found[end] and trie.token_starts[node] < trie.token_starts[node + 1] for end, node in ends
            ) or bool(self._crossing(offset).size)
        return found

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
    """A guide of one sequence through a literal and a constraint.

    A token inside the literal does not count towards the limit; one that crosses into what follows does. It may cross
    where what follows could be written without it, too, with the tokens that it leaves.

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
        """Return a guide at an offset in a literal.

        The bytes before are already in the text.
        """
        guide = object.__new__(cls)
        guide._tokens = tokens
        PrefixedGuide.__init__(guide, tokens.vocabulary, offset)
        guide._bytes_count = bytes_count
        return guide

    @property
    def is_inside(self) -> bool:
        """Whether the literal is incomplete."""
        return self._behind is None

    @property
    def temperature(self) -> float | None:
        """The temperature of the guide after the literal; ``None``: the generation's."""
        return getattr(self._behind or self._begin, "temperature", None)

    @property
    def crosses(self) -> bool:
        """Whether at the start some token may contain the literal and more."""
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
