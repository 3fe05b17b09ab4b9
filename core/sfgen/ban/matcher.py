"""Find banned words in a text that is still being written, byte by byte, with exact rollback.

The bytes are decoded to characters, however they are cut, and the characters are read by the automaton of the ban
(:mod:`sfgen.ban.automaton`). What it finds is a match, unless a longer word that is allowed excuses it
(:class:`AllowedSpans`): a banned match is excused if an allowed match begins no later and ends no earlier. ``class``
excuses ``ass``, ``small talk`` excuses ``talk``. While an allowed match that covers a complete banned one may itself
still become complete, the banned one is *pending*: it is neither reported nor forgotten. It is certain, and reported,
as soon as no partial match of an allowed word begins early enough.

An allowed match that becomes complete ends at the last character at the earliest, so it covers every match that ended
before, if it begins early enough. Of many pending matches the one that begins first is therefore the hardest to excuse,
and the only one that must be remembered; likewise of all allowed matches with the same end. (Characters that are
dropped make an exception: a pattern's match may end with one, and then nothing that ended before it covers it.)
"""

from __future__ import annotations

import codecs
import itertools
from bisect import bisect_right
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from sfgen import arguments
from sfgen.ban.automaton import Automaton, RawMatch, Run, RunMark, State
from sfgen.ban.characters import Seen
from sfgen.ban.entries import Entry, Keywords

_NAMED = 5  # words that may become complete, for views


@dataclass(frozen=True, eq=False)
class BanAutomata:
    """A compiled ban; threads may share it.

    It is immutable but for what its automaton remembers.

    Attributes:
        words: The banned words, as the user gave them.
        patterns: The banned patterns.
        allow: The words that excuse a match.
        ignore_case: Whether words are compared by full case folding.
        normalize: Whether words are compared by the shape of their letters.
        automaton: Finds words, patterns and the words that excuse a match.
    """

    words: tuple[str, ...]
    patterns: tuple[str, ...]
    allow: tuple[str, ...]
    ignore_case: bool
    normalize: bool
    automaton: Automaton

    @classmethod
    def of(
        cls,
        entries: Sequence[Entry],
        patterns: tuple[str, ...],
        allowed: Sequence[Entry],
        *,
        ignore_case: bool,
        normalize: bool,
    ) -> BanAutomata:
        """Build the automaton."""
        pattern_automata = None
        if patterns:
            from sfgen.ban.patterns import PatternAutomata  # which loads numpy

            pattern_automata = PatternAutomata(patterns)
        words, allow = tuple(entry.word for entry in entries), tuple(entry.word for entry in allowed)
        automaton = Automaton(
            Keywords([entry.key() for entry in entries]) if entries else None,
            Keywords([entry.key() for entry in allowed]) if allowed else None,
            pattern_automata,
            Seen(itertools.chain(words, allow), ignore_case, normalize),
            len(words),
        )
        return cls(words, patterns, allow, ignore_case, normalize, automaton)

    def name(self, number: int) -> str:
        """Return the banned word or pattern of a number; patterns are counted after the words."""
        return self.words[number] if number < len(self.words) else self.patterns[number - len(self.words)]


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
    """A match, and the position from which on it is certain, whatever follows."""

    position: int  # the end of the character that made it certain, in bytes
    match: RawMatch


@dataclass(frozen=True, slots=True)
class Mark:
    """The state of a matcher at one moment.

    It is valid for all matchers of the same ban, whatever they read or return to.

    Attributes:
        pending: The bytes of the unfinished character at the end.
    """

    _position: int
    pending: bytes
    _run: RunMark = field(repr=False)
    _allowed: AllowedMark | None = field(repr=False)


def mark_of(state: State) -> Mark:
    """Return a mark of a state of the automaton, with offsets that mean nothing."""
    return Mark(1, b"", RunMark.of(state), None)


def state_of(mark: Mark) -> State | None:
    """Return the state of the automaton, where it tells all: between characters, and nothing is allowed."""
    return None if mark.pending or mark._allowed is not None else mark._run.state


class Matcher:
    """A matcher of banned words in one text after its prompt.

    It belongs to one text. A reader of the text alone reads it in another way: see
    :class:`~sfgen.ban.seam.SeamMatcher`.

    The bytes may be cut anywhere, within characters too. What is not UTF-8 counts as U+FFFD, just as
    ``bytes.decode("utf-8", "replace")`` would have it.

    Args:
        automata: What is banned: ``BannedWords(...).automata``.
        prompt: The bytes before the generated text. A word in the prompt alone is not reported; one that the prompt
            begins and the generated text ends is.
        start: Where the first byte that is read lies, counted from the start of the generated text; without, as far
            before it as the prompt is long.

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

    def __init__(self, automata: BanAutomata, prompt: bytes = b"", *, start: int | None = None) -> None:
        arguments.instance("automata", automata, BanAutomata, hint="Give BannedWords(...).automata.")
        prompt = arguments.data("prompt", prompt)
        start = -len(prompt) if start is None else arguments.whole_number("start", start)
        self.automata = automata
        self._run = Run(automata.automaton, start)
        self._allowed = AllowedSpans() if automata.allow else None
        self._position = start  # where the pending bytes begin
        self._pending = b""  # the beginning of a character
        self._read_all(prompt)
        if self._position >= 0:
            self._run.begin()

    def advance(self, data: bytes) -> Match | None:
        """Read the bytes of one token.

        All of them are read, also after a match.

        Returns:
            The banned match that was certain first, among those that end in the generated text. Of several that the
            same character makes certain the one that ends first, then the one that begins first, then the first in the
            list; patterns come after words. With ``allow`` only the earliest of several pending matches is reported.
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
        """Read as :meth:`advance`; return also where the match was certain."""
        matches = self._read_all(data if data.__class__ is bytes else arguments.data("data", data))
        return Certain(matches[0][0], min(matches[0][1])) if matches else None

    def all_certain(self, data: bytes) -> list[RawMatch]:
        """Read as :meth:`advance`; return all raw matches that became certain."""
        return [match for _, matches in self._read_all(arguments.data("data", data)) for match in matches]

    def _read_all(self, data: bytes) -> Sequence[tuple[int, Sequence[RawMatch]]]:
        """Read bytes; return the matches that became certain, with the end of the character that made them so."""
        run = self._run
        if not (self._pending or self._allowed or run.state.is_in_prompt):  # as nearly always
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
            if replaced or ends_in_prompt or self._allowed is not None:
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
        matches = [*(self._read("\ufffd", len(self._pending)) if self._pending else ()), *self._at_end()]
        self.reset(mark)
        return matches

    def first_at_end(self) -> RawMatch | None:
        """Return the match of :meth:`finish` in its raw form."""
        mark = self.mark()
        matches = self._read("\ufffd", len(self._pending)) if self._pending else ()
        matches = matches or self._at_end()
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
        return Mark(
            self._position, self._pending, self._run.mark(), None if self._allowed is None else self._allowed.mark()
        )

    def reset(self, mark: Mark) -> None:
        """Return to a mark, any number of times.

        Args:
            mark: Of this matcher, or of another of the same ban.

        Raises:
            UsageError: It is not a mark.
        """
        if mark.__class__ is not Mark:
            raise arguments.refusal("mark", "what mark() returned", mark)
        self._position, self._pending = mark._position, mark.pending
        self._run.reset(mark._run)
        if self._allowed is not None and mark._allowed is not None:
            self._allowed.reset(mark._allowed)

    def open_from(self) -> int | None:
        """Return where the earliest partial match begins, or ``None``.

        What lies before this byte offset can never become part of a match; with ``None``, nothing that was read can.
        The offset may be negative. A half-read character always counts as a partial match, and so does a complete match
        that a longer allowed word may still excuse.
        """
        run = self._run
        if not (run.starts or run.waiting or self._pending or self._allowed):
            return None
        starts = [*run.banned_starts, *(start for spans in run.waiting for _, start in spans)]
        if self._allowed:
            starts += self._allowed.pending_starts()
        if self._pending:
            starts.append(self._position)
        return min(starts, default=None)

    def under_way(self) -> tuple[str, ...]:
        """List some of the partially matched words and patterns.

        They are for views: of many, some; and none while a word is complete that a longer one may still excuse.

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

        Of two matchers of the same ban in equal states, whatever both read next, both report a match or neither does.
        There are finitely many.
        """
        run, allowed = self._run, self._allowed
        return self._pending, run.state, None if allowed is None else allowed.state(run)

    def goes_on(self) -> bool:
        """Watch the partial matches from here on; see :meth:`~sfgen.ban.automaton.Automaton.watched`.

        Returns:
            Whether one is left of those that had begun when this was first called; a character that was half read then
            may begin one.
        """
        run = self._run
        run.state = self.automata.automaton.watched(run.state, bool(self._pending))
        return run.state.has_old or bool(self._allowed and self._allowed.pending_starts())

    def starts(self) -> list[int]:
        """Return where each partial match began, ordered by ``state``."""
        run = self._run
        starts = [*run.banned_starts, *(start for spans in run.waiting for _, start in spans)]
        if self._allowed:
            starts += [*run.allowed_starts, *self._allowed.pending_starts()]
        return starts

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
        """Read one character of ``width`` bytes; return the matches that are certain then."""
        run, start = self._run, self._position
        self._position = end = start + width
        if end > 0 and run.state.is_in_prompt:
            run.begin()
        matches = run.step(character, start, end)
        return matches if self._allowed is None else self._allowed.settle(matches, run)

    def _at_end(self) -> Sequence[RawMatch]:
        """Return the matches that are certain if the text ends here."""
        matches = self._run.at_end()
        return matches if self._allowed is None else self._allowed.at_end(matches, self._run)


def _is_surrogate(half: bytes) -> bool:
    """Tell whether bytes begin a surrogate, for whose end the decoder waits in vain."""
    return len(half) == 2 and half[0] == 0xED and half[1] >= 0xA0


Span: TypeAlias = tuple[int, int]
"""Start and end."""


class AllowedMark(NamedTuple):
    """The state of allowed spans at one position."""

    spans: tuple[Span, ...]  # the complete allowed matches that may cover one to come, as start and end in bytes
    pending: tuple[RawMatch, ...]  # the complete banned matches that may still be excused


class AllowedSpans:
    """The allowed matches in one text, and the matches they may excuse."""

    def __init__(self) -> None:
        self._spans: tuple[Span, ...] = ()  # complete, and may cover what is not complete
        self._pending: tuple[RawMatch, ...] = ()

    def settle(self, matches: Sequence[RawMatch], run: Run) -> Sequence[RawMatch]:
        """Judge the matches that one character has completed; return those that are certain now."""
        if not (matches or self._pending or self._spans):
            return []
        banned, allowed = _parted(matches, run)
        spans = _largest([*self._spans, *((start, end) for end, _, start, _ in allowed)])
        candidates = [match for match in (*self._pending, *banned) if not _is_covered((match[2], match[0]), spans)]
        begun = min(run.allowed_starts, default=None)
        certain = [match for match in candidates if begun is None or match[2] < begun]
        pending = [match for match in candidates if begun is not None and match[2] >= begun]
        self._pending = _hardest(pending, run.last)
        waiting = [(start, end) for ended in run.waiting for end, start in ended]
        self._spans = tuple(
            span for span in spans if span[1] >= run.last or any(_is_covered(waits, [span]) for waits in waiting)
        )
        return certain

    def at_end(self, matches: Sequence[RawMatch], run: Run) -> list[RawMatch]:
        """Return the matches that are certain if the text ends here."""
        banned, allowed = _parted(matches, run)
        spans = [*self._spans, *((start, end) for end, _, start, _ in allowed)]
        return [match for match in (*self._pending, *banned) if not _is_covered((match[2], match[0]), spans)]

    def pending_starts(self) -> list[int]:
        """Return where each pending match begins, ordered by ``state``."""
        return [start for _, _, start, _ in self._pending]

    def state(self, run: Run) -> Hashable:
        """Return a key of which partial matches will be excused: the order in which they began."""
        begun, last = run.allowed_starts, run.last
        ended = min((start for start, end in self._spans if end >= last), default=None)
        order = sorted({*begun, *([] if ended is None else [ended])})

        def rank(start: int) -> int:
            return bisect_right(order, start)

        waiting = []
        for group in run.waiting:
            open_spans = [(start, end) for end, start in group if not _is_covered((start, end), self._spans)]
            waiting.append(
                tuple(
                    min((rank(start) for start, end in open_spans if (end > last) == late), default=-1)
                    for late in (False, True)
                )
            )
        return (
            tuple(map(rank, begun)),
            -1 if ended is None else rank(ended),
            tuple(map(rank, run.banned_starts)),
            tuple(waiting),
            tuple((rank(start), end > last) for end, _, start, _ in self._pending),
        )

    def mark(self) -> AllowedMark:
        """Return the state, for ``reset``."""
        return AllowedMark(self._spans, self._pending)

    def reset(self, mark: AllowedMark) -> None:
        """Return to a mark."""
        self._spans, self._pending = mark


def _parted(matches: Sequence[RawMatch], run: Run) -> tuple[list[RawMatch], list[RawMatch]]:
    """Part the banned matches from the allowed ones."""
    first = run.automaton.first_allowed
    return [match for match in matches if match[3] < first], [match for match in matches if match[3] >= first]


def _is_covered(match: Span, spans: Iterable[Span]) -> bool:
    """Tell whether one of the spans covers a match."""
    start, end = match
    return any(allowed_start <= start and end <= allowed_end for allowed_start, allowed_end in spans)


def _largest(spans: list[Span]) -> list[Span]:
    """Return the spans that lie in no other."""
    kept: list[Span] = []
    for span in sorted(set(spans), key=lambda span: (span[0], -span[1])):
        if not _is_covered(span, kept):
            kept.append(span)
    return kept


def _hardest(pending: list[RawMatch], last: int) -> tuple[RawMatch, ...]:
    """Return a match that is excused only if all are; two where some end behind the last folded character."""
    groups = ([match for match in pending if (match[0] > last) == late] for late in (False, True))
    return tuple(min(group, key=lambda match: (match[2], match)) for group in groups if group)
