"""Find banned words in a text that is still being written, byte by byte, with exact rollback.

The bytes are decoded to characters, however they are cut, and the automaton of the ban (:mod:`sfgen.ban.automaton`)
reads the characters.
"""

from __future__ import annotations

import codecs
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from sfgen import arguments
from sfgen.ban.automaton import NEVER, ONCE, Automaton, RawMatch, Run, RunMark, State

_NAMED = 5  # words that may become complete, for views


@dataclass(frozen=True, slots=True)
class Match:
    """A banned word in a text.

    Attributes:
        word: The word or the pattern, as the user gave it.
        start: Byte offset of its first character, counted from the end of the prompt; negative within the prompt.
        end: Byte offset after its last character. A boundary that it needed is not part of it.
    """

    word: str
    start: int
    end: int


class Certain(NamedTuple):
    """A match, and the position after which it is certain, whatever follows."""

    position: int  # the end of the character that made it certain, in bytes
    match: RawMatch


@dataclass(frozen=True, slots=True)
class Mark:
    """The state of a matcher at one moment.

    It is valid for all matchers of the same ban, at any time.

    Attributes:
        pending: The bytes of the unfinished character at the end.
    """

    _position: int
    pending: bytes
    _run: RunMark = field(repr=False)


def mark_of(state: State) -> Mark:
    """Return a mark of a state of the automaton, with offsets that mean nothing."""
    return Mark(1, b"", RunMark.of(state))


def state_of(mark: Mark) -> State:
    """Return the state of the automaton, which is complete between characters."""
    return mark._run.state


class Matcher:
    """A matcher of banned words in one text after its prompt.

    It belongs to one text. It reads the text only after its prompt; :class:`~sfgen.ban.seam.SeamMatcher` also reads the
    text by itself.

    The bytes may be cut anywhere, within characters too. Bytes that are not UTF-8 count as U+FFFD, as in
    ``bytes.decode("utf-8", "replace")``.

    Args:
        automata: The compiled ban: ``BannedWords(...).automata``.
        prompt: The bytes before the generated text. A word in the prompt alone is not reported; one that the prompt
            begins and the generated text ends is.
        start: The offset of the first byte that is read, counted from the start of the generated text; by default minus
            the length of the prompt.

    >>> from sfgen.ban import BannedWords
    >>> matcher = Matcher(BannedWords(["talk"]).automata, b"we t")
    >>> matcher.advance(b"al"), matcher.open_from()
    (None, -1)
    >>> mark = matcher.mark()
    >>> matcher.advance(b"k?")
    Match(word='talk', start=-1, end=3)
    >>> matcher.reset(mark)
    >>> matcher.advance(b"king?") is None
    True
    """

    def __init__(self, automata: Automaton, prompt: bytes = b"", *, start: int | None = None) -> None:
        arguments.instance("automata", automata, Automaton, hint="Give BannedWords(...).automata.")
        prompt = arguments.data("prompt", prompt)
        start = -len(prompt) if start is None else arguments.whole_number("start", start)
        self.automata = automata
        self._run = Run(automata, start)
        self._position = start  # where the pending bytes begin
        self._pending = b""  # the beginning of a character
        self._read_all(prompt)
        if self._position >= 0:
            self._run.begin()

    def advance(self, data: bytes) -> Match | None:
        """Read the bytes of one token.

        All of them are read, also after a match.

        Returns:
            The banned match that was certain first, among those that end in the generated text. If the same character
            makes several certain: the one that ends first, then the one that begins first, then the first in the list;
            patterns come after words. With ``allow`` only the earliest of several pending matches is reported.
        """
        first = self.first_certain(data)
        return None if first is None else self.named(first.match)

    def finish(self) -> Match | None:
        """Return the banned match that the end of the text would complete.

        The matcher is unchanged afterwards.
        """
        match = self.first_at_end()
        return None if match is None else self.named(match)

    def first_certain(self, data: bytes) -> Certain | None:
        """Read as :meth:`advance`; return also when the match was certain."""
        matches = self._read_all(data if data.__class__ is bytes else arguments.data("data", data))
        return Certain(matches[0][0], min(matches[0][1])) if matches else None

    def all_certain(self, data: bytes) -> list[RawMatch]:
        """Read as :meth:`advance`; return all raw matches that became certain."""
        return [match for _, matches in self._read_all(arguments.data("data", data)) for match in matches]

    def _read_all(self, data: bytes) -> Sequence[tuple[int, Sequence[RawMatch]]]:
        """Read bytes; return the matches that became certain, with the end of the character that made them so."""
        run = self._run
        if not (self._pending or run.state.is_in_prompt):  # as nearly always
            try:
                text = data.decode()
            except UnicodeDecodeError:
                pass
            else:
                start = self._position
                self._position += len(data)
                return run.read(text, start)
        certain: list[tuple[int, Sequence[RawMatch]]] = []
        ends_in_prompt = run.state.is_in_prompt and self.length + len(data) > 0
        for text, replaced in self._decode(data):
            if replaced or ends_in_prompt:
                for character in text:
                    matches = self._read(character, replaced or len(character.encode()))
                    if matches:
                        certain.append((self._position, matches))
            elif text:
                certain += run.read(text, self._position)
                self._position += len(text) if text.isascii() else len(text.encode())
        if ends_in_prompt and self._position >= 0 and run.state.is_in_prompt:
            run.begin()
        return certain

    def all_at_end(self) -> list[RawMatch]:
        """Return the raw matches that the end of the text would complete.

        The matcher is unchanged afterwards.
        """
        mark = self.mark()
        matches = [*(self._read("\ufffd", len(self._pending)) if self._pending else ()), *self._run.at_end()]
        self.reset(mark)
        return matches

    def first_at_end(self) -> RawMatch | None:
        """Return the match of :meth:`finish` in its raw form."""
        mark = self.mark()
        matches = self._read("\ufffd", len(self._pending)) if self._pending else ()
        matches = matches or self._run.at_end()
        self.reset(mark)
        return min(matches, default=None)

    def named(self, found: RawMatch) -> Match:
        """Convert a raw match into a ``Match``.

        Returns:
            The same match, with its word or pattern by name.

        Raises:
            UsageError: It is not a raw match.
        """
        if not (isinstance(found, tuple) and len(found) == 4):
            raise arguments.refusal("found", "what first_at_end() returned", found)
        end, _, start, number = found
        return Match(self.automata.name(number), start, end)

    def mark(self) -> Mark:
        """Return the state, for ``reset``."""
        return Mark(self._position, self._pending, self._run.mark())

    def reset(self, mark: Mark) -> None:
        """Return to a mark, any number of times.

        Args:
            mark: A mark of this matcher, or of another one of the same ban.

        Raises:
            UsageError: It is not a mark.
        """
        if mark.__class__ is not Mark:
            raise arguments.refusal("mark", "what mark() returned", mark)
        self._position, self._pending = mark._position, mark.pending
        self._run.reset(mark._run)

    def open_from(self) -> int | None:
        """Return where the earliest partial match begins, or ``None``.

        Text before this byte offset can never become part of a match; with ``None``, none of the text can.
        The offset may be negative. A half-read character always counts as a partial match, and so does a complete match
        that a longer allowed word may still excuse.
        """
        starts = self._run.begins()
        if self._pending:
            starts.append(self._position)
        return min(starts, default=None)

    def under_way(self) -> tuple[str, ...]:
        """List some of the partially matched words and patterns.

        They are for views: at most a few, and none while a word is complete that a longer one may still excuse.

        >>> from sfgen.ban import BannedWords
        >>> Matcher(BannedWords(["talk", "tall tales", "all"]).automata, b"so tal").under_way()
        ('talk', 'tall tales')
        """
        return tuple(map(self.automata.name, self._run.under_way(_NAMED)))

    @property
    def length(self) -> int:
        """The number of bytes read after the prompt."""
        return self._position + len(self._pending)

    @property
    def state(self) -> Hashable:
        """The state of the matcher without offsets.

        If two matchers of the same ban are in equal states and read the same, both report a match or neither does.
        There are finitely many states.
        """
        return self._pending, self._run.state

    def close(self) -> None:
        """Begin no more matches.

        A half-read character may still begin one.
        """
        self._run.state = self.automata.closed(self._run.state, ONCE if self._pending else NEVER)

    def starts(self) -> list[int]:
        """Return the offsets at which matches begin that may still be reported.

        Returns:
            The offsets, in an order that ``state`` fixes.
        """
        return self._run.begins()

    def _decode(self, data: bytes) -> Iterator[tuple[str, int]]:
        """Yield the text that the bytes complete; U+FFFD with the number of bytes that it stands for, else 0."""
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
            yield text, 0
            if not replaced and not _is_surrogate(data[used:]):
                self._pending = data[used:]
                return
            replaced = replaced or 1
            yield "\ufffd", replaced
            data = data[used + replaced :]

    def _read(self, character: str, width: int) -> Sequence[RawMatch]:
        """Read one character of ``width`` bytes; return the matches that have become certain."""
        run, start = self._run, self._position
        self._position = end = start + width
        if end > 0 and run.state.is_in_prompt:
            run.begin()
        return run.step(character, start, end)


def _is_surrogate(half: bytes) -> bool:
    """Return whether bytes begin a surrogate: the decoder would wait for its end in vain."""
    return len(half) == 2 and half[0] == 0xED and half[1] >= 0xA0
