"""A thought before a constraint: free text up to a marker, and then what the constraint allows.

Both are one guide, so a token may hold the end of the marker and the beginning of the constraint's text. A thought is
bounded: after N tokens the rest of the marker must follow.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from sfgen import arguments
from sfgen.errors import DeadEnd, UsageError
from sfgen.index.literal_guide import LiteralGuide, LiteralTokens
from sfgen.index.prefixed_guide import KeptTokens, PrefixedGuide
from sfgen.protocols import Guide, GuideSource, Int32
from sfgen.vocabulary import TokenTrie, Vocabulary


@dataclass(frozen=True)
class Marker:
    """A text after which something else begins.

    Args:
        data: Its bytes, at least one.
        token: A special token that writes it, which has no bytes of its own; ``None``: there is none.

    Raises:
        UsageError: It is empty, or an argument of another kind.

    >>> marker = Marker(b"aab")
    >>> marker.read(0, b"aa"), marker.read(2, b"a"), marker.read(2, b"abx")
    ((2, 2), (2, 1), (3, 2))
    """

    data: bytes
    token: int | None = None

    def __post_init__(self) -> None:
        if not arguments.data("data", self.data):
            raise UsageError("a marker is empty: it has at least one byte")
        object.__setattr__(self, "data", bytes(self.data))
        if self.token is not None:
            arguments.whole_number("token", self.token, least=0)

    @cached_property
    def borders(self) -> list[int]:
        """The failure function: the next shorter state of each state.

        It is the longest proper suffix of the text read that the marker begins with.
        """
        borders, border = [0, 0], 0
        for byte in self.data[1:]:
            while border and self.data[border] != byte:
                border = borders[border]
            border += self.data[border] == byte
            borders.append(border)
        return borders

    def read(self, state: int, data: bytes) -> tuple[int, int]:
        """Read bytes, up to the end of the marker.

        Args:
            state: How many bytes of the marker were matched before.
            data: The bytes.

        Returns:
            The state after them, and how many of them were read: all, unless the marker is complete.

        Raises:
            UsageError: There is no such state, or an argument of another kind.
        """
        data = arguments.data("data", data)
        self._check_state(state)
        for position, byte in enumerate(data):
            while state and self.data[state] != byte:
                state = self.borders[state]
            state += self.data[state] == byte
            if state == len(self.data):
                return state, position + 1
        return state, len(data)

    def open_from(self, data: bytes | bytearray) -> int:
        """Return where a partial match of the marker begins.

        Args:
            data: A text without the marker.

        Returns:
            An offset in bytes; the length of the text if there is no partial match.
        """
        data = arguments.data("data", data)
        state, _ = self.read(0, bytes(data[max(0, len(data) - len(self.data) + 1) :]))
        return len(data) - state

    def completing(self, state: int, trie: TokenTrie, vocabulary: Vocabulary) -> Iterator[int]:
        """Find candidates for tokens that complete the marker.

        Some of them do not complete it.

        Args:
            state: How many bytes of the marker were matched before.
            trie: The tokens, or their ends.
            vocabulary: All tokens.

        Raises:
            UsageError: There is no such state, or an argument of another kind.
        """
        self._check_state(state)
        arguments.instance("trie", trie, TokenTrie)
        arguments.instance("vocabulary", vocabulary, Vocabulary)
        while True:
            rest = self.data[state:]
            nodes = trie.along(rest)
            if len(nodes) == len(rest):
                first, last = trie.token_starts[nodes[-1]], trie.token_starts[trie.subtree_ends[nodes[-1]]]
                yield from trie.token_ids[first:last].tolist()
            if not state:
                break
            state = self.borders[state]
        yield from self._tokens_with(vocabulary)

    def _check_state(self, state: int) -> None:
        if not 0 <= arguments.whole_number("state", state) < len(self.data):
            raise UsageError(f"there is no state {state}: the marker has {len(self.data)} bytes")

    def _tokens_with(self, vocabulary: Vocabulary) -> list[int]:
        """The tokens that have the marker inside."""
        kept = _tokens_with_marker.setdefault(vocabulary, {})
        if self.data not in kept:
            tokens = vocabulary.tokens
            kept[self.data] = [
                token for token in vocabulary.text_token_ids.tolist() if self.data in (tokens[token] or b"")
            ]
        return kept[self.data]


_tokens_with_marker: WeakKeyDictionary[Vocabulary, dict[bytes, list[int]]] = WeakKeyDictionary()


class Thought:
    """A source of guides through free text, a marker, and a constraint.

    Args:
        marker: The text that ends the free text.
        source: The constraint.
        max_thought: The most tokens of the free text; what after them writes only the marker is not counted.

    >>> from sfgen import Dfa, Index
    >>> vocabulary = Vocabulary([b"a", b".", b".1", b"1", b"2", None], end_token_ids=[5])
    >>> guide = Thought(Marker(b"."), Index(Dfa.from_regex("1"), vocabulary), 2).guide()
    >>> guide.allowed_tokens().tolist()
    [0, 1, 2, 3, 4]
    >>> guide.advance(0)
    >>> guide.advance(0)
    >>> guide.allowed_tokens().tolist(), guide.forced_bytes()
    ([1, 2], b'.1')
    """

    def __init__(self, marker: Marker, source: GuideSource, max_thought: int) -> None:
        self.marker = arguments.instance("marker", marker, Marker)
        arguments.given("source", source, "an index", "vocabulary", "guide", "refusal")
        self.source = source
        self.vocabulary: Vocabulary = arguments.instance("vocabulary", source.vocabulary, Vocabulary)
        self.max_thought = arguments.whole_number("max_thought", max_thought, least=0)

    def guide(self, max_tokens: int | None = None) -> ThoughtGuide:
        """Return a new guide at the start of the thought.

        Args:
            max_tokens: The most tokens that may write something after the marker.

        Raises:
            LimitTooSmall: No text of the constraint can be written with ``max_tokens`` tokens.
            DeadEnd: The vocabulary cannot write the marker.
        """
        return ThoughtGuide(self, max_tokens)

    def across(self, max_tokens: int) -> ThoughtGuide:
        """Return a guide whose first bytes end a token begun before.

        That token counts as one after the marker, if its bytes reach there.

        Args:
            max_tokens: As for :meth:`guide`.

        Raises:
            LimitTooSmall: As for :meth:`guide`.
            DeadEnd: As for :meth:`guide`.
        """
        most = arguments.whole_number("max_tokens", max_tokens, least=0)
        return ThoughtGuide(self, most, bytes_count=True)

    def refusal(self, data: bytes) -> dict[str, str] | None:
        """Check what is after the first marker with the constraint's judges.

        Returns:
            ``None`` if no judge refuses; else the constraint and the judge, for a report.
        """
        _, marker, text = arguments.data("data", data).partition(self.marker.data)
        if not marker:
            return {"constraint": repr(self.marker.data), "refused by": "the search for the marker"}
        return self.source.refusal(text)


class ThoughtTokens:
    """The tokens that may follow in a thought.

    Attributes:
        literal: What writes the marker alone.
    """

    def __init__(self, thought: Thought, max_tokens: int | None) -> None:
        self.marker = thought.marker
        self.vocabulary = thought.vocabulary
        self.literal = LiteralTokens(thought.marker.data, thought.source, max_tokens)
        self._kept = KeptTokens.of(thought.source)
        self._max_tokens = max_tokens

    def unlimited(self) -> ThoughtTokens:
        """Return a copy without a token limit."""
        twin = object.__new__(ThoughtTokens)
        twin.__dict__.update(self.__dict__)
        twin.literal, twin._max_tokens = self.literal.unlimited(), None
        return twin

    def can_end(self, state: int) -> bool:
        """Tell whether the rest of the marker can be written."""
        if self.marker.token is not None:
            return self.literal.reads(b"")
        return self.literal.allowed(state).size > 0

    def allowed(self, state: int) -> Int32:
        """Return the allowed tokens, ascending, int32; read-only and shared.

        After those that do not complete the marker it can still be written.
        """
        return self._kept.find((self.marker, state, self._max_tokens), lambda: self._found(state))

    def behind(self, state: int, trie: TokenTrie, skipped: int) -> Int32:
        """Return the tokens of a trie that may follow, ascending."""
        marker, tokens = self.marker, self.vocabulary.tokens
        candidates = np.sort(trie.token_ids)
        refused: set[int] = set()
        for token in set(marker.completing(state, trie, self.vocabulary)) & set(candidates.tolist()):
            data = (tokens[token] or b"")[skipped:]
            after, used = marker.read(state, data)
            if after == len(marker.data) and not self._reads(data[used:]):
                refused.add(token)
        dead = [state for state in range(len(marker.data)) if not self.can_end(state)]
        if dead:
            for token in candidates.tolist():
                if marker.read(state, (tokens[token] or b"")[skipped:])[0] in dead:
                    refused.add(token)
        return np.setdiff1d(candidates, sorted(refused), assume_unique=True).astype(np.int32)

    def _found(self, state: int) -> Int32:
        found = self.behind(state, self.vocabulary.trie, 0)
        if self.marker.token is not None and self.can_end(state):
            found = np.union1d(found, [self.marker.token]).astype(np.int32)
        return found

    def _reads(self, rest: bytes) -> bool:
        """Whether a token may have these bytes behind the marker."""
        return self.literal.reads(rest)


@dataclass(frozen=True, slots=True)
class ThoughtPosition:
    """A position in a thought.

    Attributes:
        marker: What ends it.
        state: The state of the marker.
        must_end: Whether the marker must follow at once.
        behind: The position of the guide behind the marker.
    """

    marker: Marker
    state: int
    must_end: bool
    behind: Hashable


class ThoughtMark(NamedTuple):
    """The position of a guide in a thought."""

    state: int
    tokens: int


class ThoughtGuide(PrefixedGuide[ThoughtMark]):
    """A guide of one sequence through a thought and a constraint."""

    def __init__(self, thought: Thought, max_tokens: int | None = None, *, bytes_count: bool = False) -> None:
        self._max_thought = arguments.instance("thought", thought, Thought).max_thought
        self._tokens = ThoughtTokens(thought, max_tokens)
        super().__init__(thought.vocabulary, ThoughtMark(0, 0))
        self._bytes_count = bytes_count
        if not self._tokens.can_end(0):
            raise DeadEnd(
                f"the tokens of the vocabulary cannot write {thought.marker.data.decode('utf-8', 'replace')!r}, "
                "behind which the constraint begins",
                hint="Choose another text, or a model whose tokenizer can write it.",
            )
        self._behind = self._at(self._marks[-1])

    @property
    def in_thought(self) -> bool:
        """Whether the marker is incomplete."""
        return self._behind is None or (isinstance(self._behind, LiteralGuide) and self._behind.is_inside)

    def tokens_behind(self, trie: TokenTrie, skipped: int) -> Int32 | None:
        """Return the tokens of a trie that may follow, ascending."""
        if self._behind is not None or self._must_end:
            return None
        return self._tokens.behind(self._marks[-1].state, trie, skipped)

    def describe(self) -> str:
        """Describe the position after the marker; else return ``"thought"``."""
        return "thought" if self.in_thought else super().describe()

    @property
    def _begin(self) -> Guide:
        return self._tokens.literal.begin

    @property
    def _must_end(self) -> bool:
        return self._marks[-1].tokens >= self._max_thought

    def _position_inside(self) -> ThoughtPosition:
        marker = self._tokens.marker
        return ThoughtPosition(marker, self._marks[-1].state, self._must_end, self._begin.position)

    def _tokens_inside(self) -> Int32:
        if self._must_end:
            return np.array([self._tokens.marker.token], dtype=np.int32)
        return self._tokens.allowed(self._marks[-1].state)

    def _forced_inside(self, most: int | None) -> bytes:
        return b""

    def _after_token(self, token_id: int) -> tuple[ThoughtMark, Guide | None]:
        marker, mark, tokens = self._tokens.marker, self._marks[-1], self._tokens_inside()
        at = int(np.searchsorted(tokens, token_id))
        if at == tokens.size or tokens[at] != token_id:
            raise UsageError(f"token {token_id} is not allowed here")
        if token_id == marker.token:
            return ThoughtMark(len(marker.data), mark.tokens + 1), self._begin.fork()
        data = self.vocabulary.tokens[token_id] or b""
        return self._after(data, 1, self._tokens.literal.across)

    def _after_bytes(self, data: bytes) -> tuple[ThoughtMark, Guide | None]:
        return self._after(data, 0, self._tokens.literal.across if self._bytes_count else self._begin)

    def _after(self, data: bytes, tokens: int, across: Guide | None) -> tuple[ThoughtMark, Guide | None]:
        """Read bytes; ``across`` goes on with those behind the marker."""
        marker, mark = self._tokens.marker, self._marks[-1]
        state, used = marker.read(mark.state, data)
        mark = ThoughtMark(state, mark.tokens + tokens)
        if state < len(marker.data):
            return mark, self._at(mark)
        behind = self._begin.fork()
        if used < len(data):
            if across is None:
                raise UsageError(f"the text cannot go on with {data!r:.60}")
            behind = across.fork()
            behind.advance_bytes(data[used:])
        return mark, behind

    def _at(self, mark: ThoughtMark) -> Guide | None:
        """The guide that writes the marker where it must follow; ``None`` where it need not, or is one token."""
        if self._tokens.marker.token is not None or mark.tokens < self._max_thought:
            return None
        return LiteralGuide.within(self._tokens.literal, mark.state, bytes_count=self._bytes_count)

    def _drop_limit(self) -> None:
        self._tokens = self._tokens.unlimited()
