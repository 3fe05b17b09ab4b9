"""Finding banned words in a text that is still being written, byte by byte, with exact rollback.

The text is decoded, folded, and turned into a stream of bytes for :class:`~sfgen.ban.automaton.AhoCorasick`: the UTF-8
of its word characters, two separators for every run of non-word characters, and one separator where a spaced and an
unspaced script meet. The start of the text is a separator, too. The keyword of the banned word ``talk`` is the word
between separators, that of a phrase has two between its words. So whole words and gaps of any length are nothing but
bytes, and the automaton's state says exactly which words are under way.

Entries with literal punctuation are followed beside it by a :class:`~sfgen.ban.automaton.GapTrie`.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sfgen.ban.automaton import ROOT, GapTrie, Threads
from sfgen.ban.characters import MARK, NON_WORD, SEPARATOR, SPACED, unit_table

if TYPE_CHECKING:
    from sfgen.ban.words import BannedWords

_WINDOW = 1024  # a long text is trimmed on the way once it passes this many bytes of the stream

_Found = tuple[int, bool, int, int]
"""A match as (end, whether a boundary completed it, start, number of the entry): in the order of being first."""


@dataclass(frozen=True, slots=True)
class Match:
    """A banned word in a text.

    Attributes:
        word: As the user gave it.
        start: Byte offset of its first character, counted from the end of the prompt; negative within the prompt.
        end: Byte offset after its last character. A boundary that it needed is not part of it.
    """

    word: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Mark:
    """All that a matcher knows at one moment. Valid for as long as its matcher lives, whatever is fed or reset."""

    _node: int
    _window: tuple[int, ...] = field(repr=False)
    _threads: Threads = field(repr=False)
    _kind: int
    _position: int
    _pending: bytes


class Matcher:
    """Banned words in one text: the prompt, and the bytes that are generated after it. Not for sharing.

    The bytes may be cut anywhere, within characters too. What is not UTF-8 counts as U+FFFD, just as
    ``bytes.decode("utf-8", "replace")`` would have it.

    Args:
        words: What is banned.
        prompt: The bytes before the generated text. A word in the prompt alone is not reported; one that the prompt
            begins and the generated text ends is.

    >>> from sfgen.ban import BannedWords
    >>> matcher = BannedWords(["talk"]).matcher(b"we t")
    >>> matcher.advance(b"al"), matcher.open_from()
    (None, -1)
    >>> mark = matcher.mark()
    >>> matcher.advance(b"k?")
    Match(word='talk', start=-1, end=3)
    >>> matcher.reset(mark)
    >>> matcher.advance(b"king?") is None
    True
    """

    def __init__(self, words: BannedWords, prompt: bytes = b"") -> None:
        self._words = words
        self._automaton = words.plain_automaton
        self._trie = words.literal_automaton if words.literal else None
        self._units = unit_table(words.ignore_case)
        self._node = self._automaton.step(ROOT, SEPARATOR)
        # Where the source of each of the last bytes of the stream begins; at least as many as the node is deep.
        self._window: list[int] = [-len(prompt)]
        self._threads: Threads = {}
        self._kind = NON_WORD  # of the last folded character
        self._position = -len(prompt)  # where the pending bytes begin
        self._pending = b""  # the beginning of a character
        self.advance(prompt)

    def advance(self, data: bytes) -> Match | None:
        """Read the bytes of one token.

        All of them are read, also after a match.

        Returns:
            The banned word that was complete first, among those that end in the generated text. Of several complete at
            the same character the one that ends first, then the one that begins first, then the first in the list.
        """
        first: Match | None = None
        for character, width in self._decode(data):
            match = self._read(character, width)
            if first is None:
                first = match
            if len(self._window) > _WINDOW:
                self._trim()
        self._trim()
        return first

    def finish(self) -> Match | None:
        """The banned word that the end of the text at this place would complete, if any. Changes nothing."""
        mark = self.mark()
        match = self._read("\ufffd", len(self._pending)) if self._pending else None
        if match is None:
            match = self._first(self._close())
        self.reset(mark)
        return match

    def mark(self) -> Mark:
        """The state, to come back to."""
        return Mark(self._node, tuple(self._window), self._threads, self._kind, self._position, self._pending)

    def reset(self, mark: Mark) -> None:
        """Go back to a mark of this matcher, as if nothing had been read since. Any mark, any number of times."""
        self._node = mark._node
        self._window = list(mark._window)
        self._threads = mark._threads
        self._kind = mark._kind
        self._position = mark._position
        self._pending = mark._pending

    def open_from(self) -> int | None:
        """Where the earliest banned word that may still become complete begins; ``None`` if none is under way.

        What lies before this byte offset can never become part of a match; with ``None``, nothing that was read can.
        The offset may be negative. A half-read character is always under way.
        """
        starts = list(self._threads.values())
        node = self._automaton.pending(self._node)
        depth = self._automaton.depth(node)
        if self._automaton.first_byte(node) == SEPARATOR:
            depth -= 1  # the boundary before the word is not part of it
        if depth:
            starts.append(self._window[-depth])
        if self._pending:
            starts.append(self._position)
        return min(starts, default=None)

    def _decode(self, data: bytes) -> Iterator[tuple[str, int]]:
        """The characters that the bytes complete, each with its number of bytes."""
        data = self._pending + data
        while True:
            try:
                text, used = codecs.utf_8_decode(data, "strict", False)
            except UnicodeDecodeError as error:
                text, used = data[: error.start].decode(), error.start
                replaced = error.end - error.start
            else:
                replaced = 0
            self._pending = b""
            for character in text:
                code = ord(character)
                yield character, 1 if code < 0x80 else 2 if code < 0x800 else 3 if code < 0x10000 else 4
            if not replaced:
                self._pending = data[used:]
                return
            yield "\ufffd", replaced
            data = data[used + replaced :]

    def _read(self, character: str, width: int) -> Match | None:
        """Read one character of ``width`` bytes."""
        start = self._position
        self._position = end = start + width
        found: list[_Found] = []
        before = start  # where the last folded character ended
        for unit in self._units[character]:
            kind = self._kind if unit.kind == MARK else unit.kind
            if self._trie is not None:
                found += self._step_trie(self._trie, unit.character, kind, start, before, end)
            if kind == NON_WORD:
                if self._kind != NON_WORD:
                    found += self._step(SEPARATOR, start, before, True)
                    found += self._step(SEPARATOR, start, before, True)
            else:
                if kind != self._kind and self._kind != NON_WORD:
                    found += self._step(SEPARATOR, start, before, True)
                for byte in unit.utf8:
                    found += self._step(byte, start, end, False)
            self._kind = kind
            before = end
        return self._first(found) if found else None

    def _close(self) -> list[_Found]:
        """What a boundary at this place would complete."""
        found = self._at_boundary(self._trie, self._position) if self._trie is not None else []
        if self._kind != NON_WORD:
            found += self._step(SEPARATOR, self._position, self._position, True)
        return found

    def _step(self, byte: int, start: int, end: int, boundary: bool) -> Sequence[_Found]:
        """One byte of the stream, from a character that begins at ``start``: the plain entries that it completes."""
        automaton = self._automaton
        self._node = node = automaton.step(self._node, byte)
        self._window.append(start)
        if not automaton.accepts(node):
            return ()
        words, window = self._words, self._window
        shown = len(window) - boundary  # the boundary after a word is not part of it
        return [
            (end, boundary, window[shown - words.plain_lengths[index]], words.plain[index])
            for index in automaton.outputs(node)
        ]

    def _step_trie(
        self, trie: GapTrie, character: str, kind: int, start: int, before: int, end: int
    ) -> Sequence[_Found]:
        """One folded character: the entries with literal punctuation that it completes."""
        bounded = kind != SPACED or self._kind != SPACED
        found = self._at_boundary(trie, before) if bounded and self._threads else []
        self._threads, done = trie.step(self._threads, character, kind == NON_WORD, bounded, start)
        for place, index in done:
            found.append((end, False, place, self._words.literal[index]))
        return found

    def _at_boundary(self, trie: GapTrie, end: int) -> list[_Found]:
        """The entries with literal punctuation that a boundary completes."""
        return [(end, True, place, self._words.literal[index]) for place, index in trie.at_boundary(self._threads)]

    def _first(self, found: list[_Found]) -> Match | None:
        """The first of the entries found that ends in the generated text."""
        first = min((entry for entry in found if entry[0] > 0), default=None)
        if first is None:
            return None
        end, _, start, number = first
        return Match(self._words.words[number], start, end)

    def _trim(self) -> None:
        """Forget what the automaton has forgotten."""
        window = self._window
        del window[: len(window) - self._automaton.depth(self._node)]
