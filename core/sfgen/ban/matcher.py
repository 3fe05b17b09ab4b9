"""Find banned words in a text that is still being written, byte by byte, with exact rollback.

The bytes are decoded to characters, however they are cut. Each is folded for the words
(:class:`~sfgen.ban.word_matcher.Readings`) and given as it is to the patterns
(:class:`~sfgen.ban.patterns.PatternThreads`). What they find is a match, unless a longer word that is allowed excuses
it (:class:`AllowedSpans`): a banned match is excused if an allowed match begins no later and ends no earlier. ``class``
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
from bisect import bisect_right
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from sfgen import arguments
from sfgen.ban.characters import CAPITAL, MARK, START, Reading, Unit, case_after, reading_table
from sfgen.ban.entries import Entry
from sfgen.ban.word_matcher import BranchMark, RawMatch, Readings, WordAutomata

if TYPE_CHECKING:
    from sfgen.ban.patterns import PatternAutomata, PatternThreads


_NAMED = 5  # words that may become complete, for views


@dataclass(frozen=True, eq=False)
class BanAutomata:
    """A compiled ban; threads may share it.

    It is immutable but for what its automata remember.

    Attributes:
        words: The banned words, as the user gave them.
        patterns: The banned patterns.
        allow: The words that excuse a match.
        ignore_case: Whether words are compared by full case folding.
        normalize: Whether words are compared by the shape of their letters.
        word_automata: Finds the words; ``None`` if there are none, and so are the next two.
        allow_automata: Finds the words that excuse a match.
        pattern_automata: Finds the patterns.
    """

    words: tuple[str, ...]
    patterns: tuple[str, ...]
    allow: tuple[str, ...]
    ignore_case: bool
    normalize: bool
    word_automata: WordAutomata | None
    allow_automata: WordAutomata | None
    pattern_automata: PatternAutomata | None

    @classmethod
    def of(
        cls,
        entries: tuple[Entry, ...],
        patterns: tuple[str, ...],
        allowed: tuple[Entry, ...],
        *,
        ignore_case: bool,
        normalize: bool,
    ) -> BanAutomata:
        """Build the automata."""
        pattern_automata = None
        if patterns:
            from sfgen.ban.patterns import PatternAutomata  # which loads numpy

            pattern_automata = PatternAutomata(patterns)
        return cls(
            tuple(entry.word for entry in entries),
            patterns,
            tuple(entry.word for entry in allowed),
            ignore_case,
            normalize,
            WordAutomata(entries) if entries else None,
            WordAutomata(allowed) if allowed else None,
            pattern_automata,
        )

    def name(self, number: int) -> str:
        """Return the banned word or pattern of a number; patterns are counted after the words."""
        return self.words[number] if number < len(self.words) else self.patterns[number - len(self.words)]

    def pattern_threads(self, position: int) -> PatternThreads | None:
        """Return a matcher of the patterns from an offset on; ``None``: there are none."""
        if self.pattern_automata is None:
            return None
        from sfgen.ban.patterns import PatternThreads

        return PatternThreads(self.pattern_automata, arguments.whole_number("position", position))


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

    _case: int
    _spelling: int
    _last: int
    _position: int
    pending: bytes
    _words: tuple[BranchMark, ...] | None = field(repr=False)
    _patterns: object = field(repr=False)
    _allowed: AllowedMark | None = field(repr=False)


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
        self._table = reading_table(automata.ignore_case, automata.normalize)
        self._words = Readings(automata.word_automata, start) if automata.word_automata else None
        self._patterns = automata.pattern_threads(start)
        self._allowed = AllowedSpans(automata.allow_automata, start) if automata.allow_automata else None
        self._case = START  # of the last letter, where that says how the next character is read
        self._spelling = 0  # the family of scripts of the last folded character, where that matters
        self._last = start  # where its original character ended
        self._position = start  # where the pending bytes begin
        self._pending = b""  # the beginning of a character
        self.advance(prompt)

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
        if data.__class__ is not bytes:
            data = arguments.data("data", data)
        first: Certain | None = None
        for character, width in self._decode(data):
            matches = self._read(character, width)
            if matches and first is None:
                first = Certain(self._position, min(matches))
        return first

    def all_certain(self, data: bytes) -> list[RawMatch]:
        """Read as :meth:`advance`; return all raw matches that became certain."""
        matches: list[RawMatch] = []
        for character, width in self._decode(arguments.data("data", data)):
            matches += self._read(character, width)
        return matches

    def all_at_end(self) -> list[RawMatch]:
        """Return the raw matches that the end of the text would complete.

        The matcher is unchanged afterwards.
        """
        mark = self.mark()
        matches = self._read("\ufffd", len(self._pending)) if self._pending else []
        matches += self._at_end()
        self.reset(mark)
        return matches

    def first_at_end(self) -> RawMatch | None:
        """Return the match of :meth:`finish` in its raw form."""
        mark = self.mark()
        matches = self._read("\ufffd", len(self._pending)) if self._pending else []
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
            self._case,
            self._spelling,
            self._last,
            self._position,
            self._pending,
            self._words.mark() if self._words else None,
            self._patterns.mark() if self._patterns else None,
            self._allowed.mark() if self._allowed else None,
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
        self._case = mark._case
        self._spelling = mark._spelling
        self._last = mark._last
        self._position = mark._position
        self._pending = mark.pending
        if self._words and mark._words:
            self._words.reset(mark._words)
        if self._patterns:
            self._patterns.reset(mark._patterns)
        if self._allowed and mark._allowed:
            self._allowed.reset(mark._allowed)

    def open_from(self) -> int | None:
        """Return where the earliest partial match begins, or ``None``.

        What lies before this byte offset can never become part of a match; with ``None``, nothing that was read can.
        The offset may be negative. A half-read character always counts as a partial match, and so does a complete match
        that a longer allowed word may still excuse.
        """
        starts = [part.open_from() for part in (self._words, self._patterns, self._allowed) if part]
        if self._pending:
            starts.append(self._position)
        return min((start for start in starts if start is not None), default=None)

    def under_way(self) -> tuple[str, ...]:
        """List some of the partially matched words and patterns.

        They are for views: of many, some; and none while a word is complete that a longer one may still excuse.

        >>> from sfgen.ban import BannedWords
        >>> Matcher(BannedWords(["talk", "tall tales", "all"]).automata, b"so tal").under_way()
        ('talk', 'tall tales')
        """
        numbers = self._words.under_way(_NAMED) if self._words else []
        words = len(self.automata.words)
        numbers += [words + number for number in self._patterns.under_way()] if self._patterns else []
        return tuple(map(self.automata.name, numbers[:_NAMED]))

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
        # A match that ends with the prompt is not reported: a word that a boundary completes, a cut character.
        seam = (self._last > 0) + (self.length > 0)
        return (
            self._case,
            self._spelling,
            self._pending,
            seam,
            self._words.state if self._words else None,
            self._patterns.state if self._patterns else None,
            self._allowed.state(self._partial_matches(), self._last) if self._allowed else None,
        )

    def forget_from(self, position: int) -> None:
        """Forget the partial matches that begin at a position or later.

        It forgets them as far as they can be told from the others.

        Args:
            position: In bytes.
        """
        position = arguments.whole_number("position", position)
        if self._words:
            self._words.forget_from(position)

    def starts(self) -> list[int]:
        """Return where each partial match began, ordered by ``state``."""
        starts, waiting = self._partial_matches()
        starts = [*starts, *(start for group in waiting for start, _ in group)]
        if self._allowed:
            starts += [*self._allowed.threads.starts(), *self._allowed.pending_starts()]
        return starts

    def origins(self, position: int) -> Hashable:
        """Tell which partial matches began before a position.

        They are in an order fixed by ``state``.

        Args:
            position: In bytes.
        """
        position = arguments.whole_number("position", position)
        starts, waiting = self._partial_matches()
        allowed = self._allowed.threads.starts() if self._allowed else []
        pending = self._allowed.pending_starts() if self._allowed else []
        return tuple(start < position for group in (starts, allowed, pending) for start in group), tuple(
            any(start < position for start, _ in group) for group in waiting
        )

    def _decode(self, data: bytes) -> Iterator[tuple[str, int]]:
        """Yield the characters that the bytes complete, each with its number of bytes."""
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
            if not replaced and not _is_surrogate(data[used:]):
                self._pending = data[used:]
                return
            replaced = replaced or 1
            yield "\ufffd", replaced
            data = data[used + replaced :]

    def _read(self, character: str, width: int) -> list[RawMatch]:
        """Read one character of ``width`` bytes; return the matches that are certain then."""
        start = self._position
        self._position = end = start + width
        words, allowed = self._words, self._allowed
        matches: list[RawMatch] = []
        excuses: list[RawMatch] = []
        reading = self._table[character]
        units, others = self._read_as(reading) if self.automata.normalize else (reading.units, ())
        if units:
            if words:
                matches += words.step(units, others, start, self._last, end)
            if allowed:
                excuses += allowed.threads.step(units, others, start, self._last, end)
            self._last = end
        if self._patterns:
            matches += self._numbered(self._patterns.step(character, start, end))
        if matches:
            matches = [match for match in matches if match[0] > 0]
        if allowed is None:
            return matches
        return allowed.settle(matches, excuses, self._last, [span for group in self._waiting() for span in group])

    def _read_as(self, reading: Reading) -> tuple[Sequence[Unit], Sequence[Sequence[Unit]]]:
        """Return the foldings of the next character, and its other readings, where text is normalized."""
        others = () if reading.is_capital_i and self._case == CAPITAL else reading.others
        self._case = case_after(self._case, reading)
        kept = []
        for unit in reading.units:
            if unit.kind != MARK or unit.spelling == self._spelling:  # else a stray mark
                kept.append(unit)
                self._spelling = unit.spelling
        return kept, others

    def _at_end(self) -> list[RawMatch]:
        """Return the matches that are certain if the text ends here."""
        matches = self._words.at_end(self._last) if self._words else []
        if self._patterns:
            matches += self._numbered(self._patterns.at_end())
        matches = [match for match in matches if match[0] > 0]
        allowed = self._allowed
        return matches if allowed is None else allowed.at_end(matches, allowed.threads.at_end(self._last))

    def _partial_matches(self) -> PartialMatches:
        """Return the partial matches."""
        starts = self._words.starts() if self._words else []
        starts += self._patterns.starts() if self._patterns else []
        return PartialMatches(starts, self._waiting())

    def _waiting(self) -> list[list[Span]]:
        """Return the matches of patterns that have ended and are not complete, by groups that share a fate."""
        groups = self._patterns.waiting() if self._patterns else []
        return [[(start, end) for end, start in spans] for spans in groups]

    def _numbered(self, matches: list[RawMatch]) -> Iterator[RawMatch]:
        """Number the matches of patterns behind those of the words."""
        words = len(self.automata.words)
        return ((end, by_boundary, start, words + number) for end, by_boundary, start, number in matches)


def _is_surrogate(half: bytes) -> bool:
    """Tell whether bytes begin a surrogate, for whose end the decoder waits in vain."""
    return len(half) == 2 and half[0] == 0xED and half[1] >= 0xA0


Span: TypeAlias = tuple[int, int]
"""Start and end."""


class PartialMatches(NamedTuple):
    """The partial matches of banned words, ordered by the state."""

    starts: list[int]  # of the matches that are not complete
    # matches that have ended, in groups; the next characters decide which groups become complete
    waiting: list[list[Span]]


class AllowedMark(NamedTuple):
    """The state of allowed spans at one position."""

    threads: tuple[BranchMark, ...]  # of the allowed words
    spans: tuple[Span, ...]  # the complete allowed matches that may cover one to come, as start and end in bytes
    pending: tuple[RawMatch, ...]  # the complete banned matches that may still be excused


class AllowedSpans:
    """The allowed matches in one text, and the matches they may excuse."""

    def __init__(self, automata: WordAutomata, position: int) -> None:
        self.threads = Readings(automata, position)
        self._spans: tuple[Span, ...] = ()  # complete, and may cover what is not complete
        self._pending: tuple[RawMatch, ...] = ()

    def settle(
        self, matches: list[RawMatch], allowed: list[RawMatch], last: int, waiting: list[Span]
    ) -> list[RawMatch]:
        """Judge the matches that one character has completed; return those that are certain now.

        ``last`` is the end of the last folded character; ``waiting`` are banned matches that have ended and are not
        complete.
        """
        if not (matches or allowed or self._pending or self._spans):
            return []
        spans = _largest([*self._spans, *((start, end) for end, _, start, _ in allowed)])
        candidates = [match for match in (*self._pending, *matches) if not _is_covered((match[2], match[0]), spans)]
        begun = self.threads.open_from()
        certain = [match for match in candidates if begun is None or match[2] < begun]
        pending = [match for match in candidates if begun is not None and match[2] >= begun]
        self._pending = _hardest(pending, last)
        self._spans = tuple(
            span for span in spans if span[1] >= last or any(_is_covered(waits, [span]) for waits in waiting)
        )
        return certain

    def at_end(self, matches: Iterable[RawMatch], allowed: Iterable[RawMatch]) -> list[RawMatch]:
        """Return the matches that are certain if the text ends here."""
        spans = [*self._spans, *((start, end) for end, _, start, _ in allowed)]
        return [match for match in (*self._pending, *matches) if not _is_covered((match[2], match[0]), spans)]

    def open_from(self) -> int | None:
        """Return where the earliest pending match begins, or ``None``."""
        return min(self.pending_starts(), default=None)

    def pending_starts(self) -> list[int]:
        """Return where each pending match begins, ordered by ``state``."""
        return [start for _, _, start, _ in self._pending]

    def state(self, partial: PartialMatches, last: int) -> Hashable:
        """Return a key of which partial matches will be excused: the order in which they began."""
        begun = self.threads.starts()
        ended = min((start for start, end in self._spans if end >= last), default=None)
        order = sorted({*begun, *([] if ended is None else [ended])})

        def rank(start: int) -> int:
            return bisect_right(order, start)

        waiting = []
        for group in partial.waiting:
            open_spans = [span for span in group if not _is_covered(span, self._spans)]
            waiting.append(
                tuple(
                    min((rank(start) for start, end in open_spans if (end > last) == late), default=-1)
                    for late in (False, True)
                )
            )
        return (
            self.threads.state,
            tuple(map(rank, begun)),
            -1 if ended is None else rank(ended),
            tuple(map(rank, partial.starts)),
            tuple(waiting),
            tuple((rank(start), end > last) for end, _, start, _ in self._pending),
        )

    def mark(self) -> AllowedMark:
        """Return the state, for ``reset``."""
        return AllowedMark(self.threads.mark(), self._spans, self._pending)

    def reset(self, mark: AllowedMark) -> None:
        """Return to a mark."""
        threads, self._spans, self._pending = mark
        self.threads.reset(threads)


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
