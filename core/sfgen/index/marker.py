"""A text after which something else begins, found while a text is written byte by byte (Knuth, Morris, Pratt 1977)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from weakref import WeakKeyDictionary

from sfgen import arguments
from sfgen.errors import UsageError
from sfgen.vocabulary import TokenTrie, Vocabulary


@dataclass(frozen=True)
class Marker:
    """A text after which something else begins.

    Args:
        data: Its bytes, at least one.
        token: The special token, without bytes of its own, that writes the marker; ``None``: there is none.
        pieces: Where special tokens are among several that write it: each piece of its bytes, and the special token
            that writes it, or ``None`` for text.

    Raises:
        UsageError: The marker is empty, or an argument has another type.

    >>> marker = Marker(b"aab")
    >>> marker.read(0, b"aa"), marker.read(2, b"a"), marker.read(2, b"abx")
    ((2, 2), (2, 1), (3, 2))
    """

    data: bytes
    token: int | None = None
    pieces: tuple[tuple[bytes, int | None], ...] = ()

    def __post_init__(self) -> None:
        if not arguments.data("data", self.data):
            raise UsageError("a marker is empty: it has at least one byte")
        object.__setattr__(self, "data", bytes(self.data))
        if self.token is not None:
            arguments.whole_number("token", self.token, least=0)
        pieces = tuple(arguments.items("pieces", self.pieces, "pairs of bytes and a token or None"))
        object.__setattr__(self, "pieces", pieces)
        if not all(isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[0], bytes) for pair in pieces):
            raise arguments.refusal("pieces", "pairs of bytes and a token or None", self.pieces)
        for _, token in pieces:
            if token is not None:
                arguments.whole_number("token", token, least=0)
        if self.pieces and (self.token is not None or b"".join(data for data, _ in self.pieces) != self.data):
            raise UsageError("the pieces of a marker are not its bytes")

    @property
    def special(self) -> dict[int, bytes]:
        """The bytes of its special tokens, by token."""
        pieces = self.pieces or ((self.data, self.token),)
        return {token: data for data, token in pieces if token is not None}

    @property
    def longest(self) -> int:
        """The most tokens that write it."""
        pieces = self.pieces or ((self.data, self.token),)
        return sum(len(data) if token is None else 1 for data, token in pieces)

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
        return self._after(state, data)

    def _after(self, state: int, data: bytes) -> tuple[int, int]:
        """Read bytes from an existing state; see :meth:`read`."""
        marker = self.data
        if not state and marker[0] not in data:
            return 0, len(data)
        for position, byte in enumerate(data):
            while state and marker[state] != byte:
                state = self.borders[state]
            state += marker[state] == byte
            if state == len(marker):
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
