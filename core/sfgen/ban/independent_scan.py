"""Banned words in a finished text, searched in a slow and plain way: the last check before a text is returned.

It shares with the matcher only the meaning of words (:class:`~sfgen.ban.entries.Entry`) and the folding of characters.
The folded text lies in one piece, and every entry is compared at every position where it could begin, with the marks of
the text in canonical order.

Python's ``re`` searches for patterns. Of the matches that begin at a position it prefers one, while all of them are
banned. So if that match does not count, because it ends in the prompt or a longer allowed word excuses it, ``re`` is
asked again for a match that ends later: the pattern is followed by a lookahead that leaves at most N characters. ``re``
backtracks, and may take too long (see :mod:`sfgen.regex.oracle`). Then the automata of the patterns are trusted.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple, TypeAlias, cast

from sfgen import arguments
from sfgen.ban.automaton import RawMatch, Run
from sfgen.ban.characters import CAPITAL, MARK, NON_WORD, SPACED, START, case_after, reading_table
from sfgen.ban.confusables import is_stray
from sfgen.ban.detection import Match
from sfgen.ban.entries import Entry
from sfgen.ban.words import BannedWords, entries_of

_SURROGATE = re.compile("[\ud800-\udfff]")


_SECONDS = 0.25  # for a pattern, and as much again for each million of characters


class _Piece(NamedTuple):
    """A folded character, and the byte offsets of the original one."""

    character: str
    kind: int
    start: int
    end: int
    may_end: bool


_Position: TypeAlias = tuple[int, int, int]
"""A folded character of the text: the number of the original character, of its reading, and within that."""


class _FoldedText:
    """A folded text, with all readings of each character.

    Attributes:
        readings: The readings of each character that is kept; a reading is a sequence of folded characters.
    """

    def __init__(self, text: str, words: BannedWords, origin: int) -> None:
        self.readings: list[list[list[_Piece]]] = []
        table = reading_table(words.ignore_case, words.normalize)
        start, case = -origin, START
        before = ""
        for character in text:
            end = start + (1 if character < "\x80" else len(character.encode("utf-8", "surrogatepass")))
            as_read = table[character]
            if not words.normalize and len(as_read.units) == 1 and as_read.units[0].kind != MARK:  # as nearly all
                unit = as_read.units[0]
                self.readings.append([[_Piece(unit.character, unit.kind, start, end, unit.may_end)]])
                start = end
                continue
            others = () if as_read.is_capital_i and case == CAPITAL else as_read.others
            case = case_after(case, as_read)
            kept: list[_Piece] = []
            for unit in as_read.units:
                if words.normalize and unit.kind == MARK and is_stray(unit.character, before):
                    continue
                before = unit.character
                kept.append(_Piece(before, self._kind(unit.kind, kept), start, end, unit.may_end))
            if kept:
                self.readings.append(
                    [
                        kept,
                        *([_Piece(unit.character, unit.kind, start, end, True) for unit in other] for other in others),
                    ]
                )
            start = end

    def _kind(self, kind: int, kept: list[_Piece]) -> int:
        """Return the kind of the next character; a mark has that of the one before."""
        if kind != MARK:
            return kind
        before = kept or (self.readings[-1][0] if self.readings else [])
        return before[-1].kind if before else NON_WORD

    def at(self, position: _Position) -> _Piece:
        """Return the folded character at a position."""
        character, reading, number = position
        return self.readings[character][reading][number]

    def after(self, position: _Position) -> list[_Position]:
        """Return the positions that may follow."""
        character, reading, number = position
        if number + 1 < len(self.readings[character][reading]):
            return [(character, reading, number + 1)]
        if character + 1 == len(self.readings):
            return []
        return [(character + 1, other, 0) for other in range(len(self.readings[character + 1]))]

    def is_bounded_before(self, position: _Position) -> bool:
        """Return whether there is a boundary before a position, in some reading."""
        character, reading, number = position
        if number:
            before = [self.readings[character][reading][number - 1].kind]
        else:
            before = [pieces[-1].kind for pieces in self.readings[character - 1]] if character else [NON_WORD]
        return self.at(position).kind != SPACED or any(kind != SPACED for kind in before)

    def is_bounded_after(self, position: _Position) -> bool:
        """Return whether there is a boundary after a position, in some reading."""
        after = self.after(position)
        return not after or self.at(position).kind != SPACED or any(self.at(other).kind != SPACED for other in after)

    def spelled(
        self, start: _Position, may_begin: Callable[[str], bool], longest: int
    ) -> Iterator[tuple[str, _Position]]:
        """Yield the texts from a position on, marks in canonical order, and where each ends.

        ``may_begin`` tells whether a text without its marks begins a wanted one, of at most ``longest`` characters.
        """
        waiting = [(start, "", "")]
        while waiting:
            position, text, letters = waiting.pop()
            character = self.at(position).character
            text += character
            if not unicodedata.combining(character):
                letters += character
            if not may_begin(letters):
                continue
            yield text if text.isascii() else unicodedata.normalize("NFD", text), position
            if len(text) < longest:
                waiting += [(other, text, letters) for other in self.after(position)]

    def matches(self, words: BannedWords, *, allowed: bool = False) -> Iterator[tuple[int, bool, int, int]]:
        """Yield every match of an entry: end, whether it needs a boundary there, start, number."""
        if not (words.allow if allowed else words.words):
            return
        heads = _heads(words, allowed)
        for character, readings in enumerate(self.readings):
            for reading, pieces in enumerate(readings):
                for number, piece in enumerate(pieces):
                    if piece.character not in heads.first_letters and not unicodedata.combining(piece.character):
                        continue
                    start = character, reading, number
                    if heads.are_bounded and not self.is_bounded_before(start):
                        continue
                    for head, position in self.spelled(start, heads.may_begin, heads.longest):
                        for index in heads.numbers(head):
                            entry = heads.entry(index)
                            for end in self._ends_of(entry, start, position):
                                yield self.at(end).end, entry.right, self.at(start).start, index

    def _ends_of(self, entry: Entry, start: _Position, position: _Position) -> set[_Position]:
        """Return the ends of an entry's matches whose first word lies between two positions."""
        if entry.left and not self.is_bounded_before(start):
            return set()
        positions = {position}
        for part in entry.parts[1:]:
            letters = _letters(part)
            positions = {
                end
                for begin in self._after_gaps(positions)
                for text, end in self.spelled(begin, letters.startswith, len(part))
                if text == part
            }
        return {end for end in positions if self.at(end).may_end and (not entry.right or self.is_bounded_after(end))}

    def _after_gaps(self, positions: set[_Position]) -> set[_Position]:
        """Return the positions after one or more non-word characters."""
        waiting = [other for position in positions for other in self.after(position) if self.at(other).kind == NON_WORD]
        gaps = set(waiting)
        behind = set()
        while waiting:
            for position in self.after(waiting.pop()):
                behind.add(position)
                if self.at(position).kind == NON_WORD and position not in gaps:
                    gaps.add(position)
                    waiting.append(position)
        return behind


def scan(text: str | bytes, words: BannedWords | Iterable[str], *, prompt: str | bytes = "") -> list[Match]:
    """Find all banned matches that end in a finished text.

    It is read twice: by itself, and after its prompt; see :mod:`sfgen.ban.seam`.

    Args:
        text: The generated text. Bytes that are not UTF-8 count as U+FFFD.
        words: A ``BannedWords``, or a list of words.
        prompt: The text before it. A banned or an allowed word can begin in it, or have its boundary there.

    Returns:
        Every match of a word that no allowed word excuses, once. Of a pattern, matches that do not overlap within one
        reading, at least one if it matches anywhere. They are ordered by their ends, as a
        :class:`~sfgen.ban.seam.SeamMatcher` would report words if nothing was allowed. Offsets are bytes from the end
        of the prompt.

    >>> scan("I talk, you listen", BannedWords(["talk", "listen", "list"]))
    [Match(word='talk', start=2, end=6), Match(word='listen', start=12, end=18)]
    >>> scan("Class, ass", BannedWords(["ass"], match="substring", allow=["class"]))
    [Match(word='ass', start=7, end=10)]
    >>> scan("talk", BannedWords(["talk"]), prompt="small")
    [Match(word='talk', start=0, end=4)]
    """
    words = BannedWords.of(words)
    prompt, text = _as_bytes(prompt, "prompt"), _as_bytes(text, "text")
    matches = _found("", text.decode("utf-8", "replace"), words)
    if prompt:
        matches |= _found(*_after(prompt, text), words)
    return [Match(words.name(number), start, end) for end, _, start, number in sorted(matches)]


def _found(prompt: str, text: str, words: BannedWords) -> set[tuple[int, bool, int, int]]:
    """Return the matches that end in ``text``, read after ``prompt``: end, kind of end, start, number."""
    whole = prompt + text
    origin = len(prompt.encode())
    written = _FoldedText(whole, words, origin)
    excused = _Excused((start, end) for end, _, start, _ in written.matches(words, allowed=True))
    matches = {match for match in written.matches(words) if match[0] > 0 and match[0] > excused.until(match[2])}
    if words.patterns:
        positions = [-origin]
        for character in whole:
            positions.append(positions[-1] + len(character.encode()))
        wanted = [
            _Wanted(bisect_left(positions, start), bisect_right(positions, max(until, 0)))
            for start, until in excused.steps(-origin)
        ]
        for number, (first, after) in _search(words, whole, wanted):
            matches.add((positions[after], False, positions[first], len(words.words) + number))
    return matches


def _as_bytes(text: str | bytes, name: str) -> bytes:
    """Encode to UTF-8; a surrogate becomes U+FFFD, which is as long."""
    return _SURROGATE.sub("\ufffd", text).encode() if isinstance(text, str) else arguments.data(name, text)


def _after(prompt: bytes, data: bytes) -> tuple[str, str]:
    r"""Decode prompt and text; a character belongs to the text if its last byte does.

    >>> _after(b"n\xc3", b"\xa9e"), _after(b"n\xc3", b"e")
    (('n', 'ée'), ('n�', 'e'))
    """
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    before = decoder.decode(prompt)
    half, _ = decoder.getstate()
    try:
        return before, (half + data).decode()
    except UnicodeDecodeError as error:
        if error.start == 0 and error.end <= len(half):  # the text does not complete the character
            return before + "\ufffd", data.decode("utf-8", "replace")
    return before, (half + data).decode("utf-8", "replace")


class _Heads:
    """The first words of a list, with the entries that texts have reached."""

    def __init__(self, words: BannedWords, allowed: bool) -> None:
        # Most first words are those of one entry: no list for each.
        self._one: dict[str, int] = {}
        self._others: dict[str, list[int]] = defaultdict(list)
        self.are_bounded = True
        for number, entry in enumerate(entries_of(words, allowed=allowed)):
            head = entry.parts[0]
            if self._one.setdefault(head, number) != number:
                self._others[head].append(number)
            self.are_bounded = self.are_bounded and entry.left
        self.longest = max(map(len, self._one))
        self._letters = sorted(map(_letters, self._one))
        self.first_letters = {letters[:1] for letters in self._letters}
        self.entry = cache(lambda number: next(entries_of(words, slice(number, number + 1), allowed=allowed)))

    def numbers(self, head: str) -> list[int]:
        """Return the numbers of the entries with this first word."""
        number = self._one.get(head)
        return [] if number is None else [number, *self._others.get(head, ())]

    def may_begin(self, text: str) -> bool:
        """Return whether some of them begin with a text, combining marks aside."""
        position = bisect_left(self._letters, text)
        return position < len(self._letters) and self._letters[position].startswith(text)


@lru_cache(maxsize=8)
def _heads(words: BannedWords, allowed: bool) -> _Heads:
    """Return the first words of a list; the last few are kept, since many texts ask for them."""
    return _Heads(words, allowed)


def _letters(text: str) -> str:
    """Return a text without its combining marks."""
    return text if text.isascii() else "".join(letter for letter in text if not unicodedata.combining(letter))


_NOWHERE = -(1 << 62)


class _Excused:
    """The spans that the allowed matches of a text excuse."""

    def __init__(self, allowed: Iterator[tuple[int, int]]) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        for start, end in sorted(allowed):
            if not self._ends or end > self._ends[-1]:
                self._starts.append(start)
                self._ends.append(end)

    def until(self, start: int) -> int:
        """Return the last end that excuses a match beginning at ``start``; ``_NOWHERE``: none."""
        index = bisect_right(self._starts, start)
        return self._ends[index - 1] if index else _NOWHERE

    def steps(self, origin: int) -> list[tuple[int, int]]:
        """Return the starts at which :meth:`until` changes, with its values."""
        return [(origin, _NOWHERE), *zip(self._starts, self._ends, strict=True)]


_Span: TypeAlias = tuple[int, int]
"""The start and the end of a match, in characters."""


class _Wanted(NamedTuple):
    """The matches that count from one position on."""

    start: int  # the first position at which a match may begin, in characters
    end: int  # the first position at which it may end


def _search(words: BannedWords, text: str, wanted: list[_Wanted]) -> list[tuple[int, _Span]]:
    """Find some matches of the banned patterns, if there are any, that do not overlap."""
    seconds = _SECONDS * (1 + len(text) / 1e6)
    matches: list[tuple[int, _Span]] = []
    trusted: dict[int, list[_Span]] | None = None
    for number in _candidates(words.patterns, text, seconds):
        spans = _by_re(words.patterns[number], text, wanted, seconds)
        if spans is None:
            trusted = _by_automata(words, text, wanted) if trusted is None else trusted
            spans = _apart(trusted.get(number, ()))
        matches += ((number, span) for span in spans)
    return matches


def _candidates(patterns: Sequence[str], text: str, seconds: float) -> Sequence[int]:
    """Return the numbers of the patterns that may match; all, if ``re`` does not answer for them together in time."""
    from sfgen.regex import oracle

    compiled = list(map(_compiled, patterns))

    def look() -> list[int]:
        return [number for number, each in enumerate(compiled) if each is None or each[0].search(text) is not None]

    def steps() -> int:
        return sum(oracle.ways(each[1], len(text)) for each in compiled if each is not None) * (len(text) + 1) ** 2

    candidates = oracle.in_time(look, seconds, steps)
    return range(len(patterns)) if candidates is None else candidates


def _by_re(pattern: str, text: str, wanted: list[_Wanted], seconds: float) -> list[_Span] | None:
    """Find matches by ``re``; ``None``: it cannot read the pattern, or takes too long."""
    from sfgen.regex import oracle  # which takes a quarter of a second, and most bans have no pattern
    from sfgen.regex.parse import re_tree
    from sfgen.regex.python_re import sre_compiler

    compiled = _compiled(pattern)
    if compiled is None:
        return None
    plain, tree = compiled

    @cache
    def ending(end: int) -> re.Pattern[str]:
        """The pattern, with the end of its match at this position at the earliest."""
        tail = re_tree(f"(?!(?s:.){{{len(text) - end + 1}}})")
        longer = tree[:]
        for item in tail:
            longer.append(item)
        return cast("re.Pattern[str]", sre_compiler.compile(longer))

    def look() -> list[_Span]:
        spans: list[_Span] = []
        position = 0
        stops = [*(step.start for step in wanted[1:]), len(text)]
        for step, stop in zip(wanted, stops, strict=True):
            position = max(position, step.start)
            while position < stop and step.end <= len(text):
                match = plain.search(text, position)
                if match is None:
                    return spans
                start = match.start()
                if start >= stop:
                    break
                if match.end() < step.end:
                    match = ending(step.end).match(text, start)
                if match is None or match.end() == start:
                    position = start + 1
                else:
                    position = match.end()
                    spans.append((start, position))
        return spans

    return oracle.in_time(look, seconds, lambda: oracle.ways(tree, len(text)) * (len(text) + 1) ** 2)


@lru_cache(maxsize=2048)
def _compiled(pattern: str) -> tuple[re.Pattern[str], Any] | None:
    """Compile a pattern by ``re``; ``None``: it cannot read it. Those of the last bans are kept for other texts."""
    from sfgen.regex import oracle

    return oracle.read_pattern(pattern, ascii_only=False)


def _by_automata(words: BannedWords, text: str, wanted: list[_Wanted]) -> dict[int, list[_Span]]:
    """Find matches by the automata, by the number of the pattern."""
    shift = wanted[0].end - 1  # they report no match that ends at 0 or before
    run, first = Run(words.automata, -shift), len(words.words)
    starts = [step.start for step in wanted]
    spans: dict[int, list[_Span]] = {}

    def completed() -> Iterator[RawMatch]:
        for position, character in enumerate(text, -shift):
            if position == 0:
                run.begin()
            yield from run.step("\ufffd" if "\ud800" <= character <= "\udfff" else character, position, position + 1)
        yield from run.at_end()

    for end, _, start, number in completed():
        span = start + shift, end + shift
        if first <= number < first + len(words.patterns) and span[1] >= wanted[bisect_right(starts, span[0]) - 1].end:
            spans.setdefault(number - first, []).append(span)
    return spans


def _apart(spans: Iterable[_Span]) -> list[_Span]:
    """Return the first spans that do not overlap, the longest of those that begin together."""
    kept: list[_Span] = []
    for span in sorted(spans, key=lambda span: (span[0], -span[1])):
        if not kept or span[0] >= kept[-1][1]:
            kept.append(span)
    return kept
