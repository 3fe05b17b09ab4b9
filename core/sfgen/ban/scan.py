"""Banned words in a finished text, found the slow and plain way: the last check before a text is returned.

Nothing here is shared with the matcher but what a word means (:class:`~sfgen.ban.words.Entry`) and what kind a
character is: the folded text lies in one piece, and every entry is compared at every place where it could begin.
Patterns are looked for by Python's ``re`` (:mod:`sfgen.ban.search`).
"""

from __future__ import annotations

import codecs
import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

from sfgen import arguments
from sfgen.ban.characters import MARK, NON_WORD, SPACED, folded, kind_of, kinds_of
from sfgen.ban.matcher import Match
from sfgen.ban.normalize import is_stray
from sfgen.ban.words import BannedWords, Entry

_SURROGATE = re.compile("[\ud800-\udfff]")


class _FoldedText:
    """A text, folded, with where each folded character came from.

    Attributes:
        text: The folded text.
        kinds: The kind of each folded character.
        starts, ends: Byte offsets of the original character behind each folded one, counted from ``origin``.
    """

    def __init__(self, text: str, words: BannedWords, origin: int) -> None:
        self.starts: list[int] = []
        self.ends: list[int] = []
        pieces: list[str] = []
        start = -origin
        for character in text:
            end = start + len(character.encode("utf-8", "surrogatepass"))
            for piece in folded(character, words.ignore_case, words.normalize):
                if words.normalize and kind_of(piece) == MARK and is_stray(piece, pieces[-1] if pieces else ""):
                    continue
                pieces.append(piece)
                self.starts.append(start)
                self.ends.append(end)
            start = end
        self.text = "".join(pieces)
        self.kinds = kinds_of(self.text)

    def is_boundary(self, place: int) -> bool:
        """Whether there is a boundary before the folded character at ``place``."""
        if place in (0, len(self.text)):
            return True
        return not (self.kinds[place - 1] == SPACED and self.kinds[place] == SPACED)

    def matches(self, words: BannedWords, *, allowed: bool = False) -> Iterator[tuple[int, bool, int, int]]:
        """Every match of a banned (or allowed) entry: its end, whether it needs a boundary there, start, number."""
        entries = words.allowed_entries if allowed else words.entries
        entries_by_head, lengths = _by_head(words, allowed)
        for start in range(len(self.text)):
            for length in lengths:
                for number in entries_by_head.get(self.text[start : start + length], ()):
                    for end in self._ends_of(entries[number], start):
                        yield self.ends[end - 1], entries[number].right, self.starts[start], number

    def _ends_of(self, entry: Entry, start: int) -> set[int]:
        """Every place at which a match of the entry that begins at ``start`` may end."""
        if entry.left and not self.is_boundary(start):
            return set()
        places = {start}
        for number, part in enumerate(entry.parts):
            if number:
                places = self._after_gaps(places)
            places = {place + len(part) for place in places if self.text.startswith(part, place)}
        return {place for place in places if not entry.right or self.is_boundary(place)}

    def _after_gaps(self, places: set[int]) -> set[int]:
        """The places that one or more non-word characters lead to."""
        after = set()
        for place in places:
            while place < len(self.text) and self.kinds[place] == NON_WORD:
                place += 1
                after.add(place)
        return after


def scan(text: str | bytes, words: BannedWords | Iterable[str], *, prompt: str | bytes = "") -> list[Match]:
    """All banned matches that end in ``text``, for checking a text that is finished.

    It is read twice: by itself, and after its prompt; see :mod:`sfgen.ban.seam`.

    Args:
        text: What was generated. Bytes that are no UTF-8 count as U+FFFD.
        words: What is banned: a ``BannedWords``, or a list of words.
        prompt: The text before it. It can bound a banned word or begin it, and an allowed one.

    Returns:
        Every match of a word, each once, but for those that an allowed word excuses; of a pattern matches that do not
        overlap within one reading, one at least if it matches anywhere. They come in the order of their ends, which is
        that in which a :class:`~sfgen.ban.seam.SeamMatcher` would report words if nothing was allowed. Offsets are
        bytes from the end of the prompt.

    >>> scan("I talk, you listen", BannedWords(["talk", "listen", "list"]))
    [Match(word='talk', start=2, end=6), Match(word='listen', start=12, end=18)]
    >>> scan("Class, ass", BannedWords(["ass"], match="substring", allow=["class"]))
    [Match(word='ass', start=7, end=10)]
    >>> scan("talk", BannedWords(["talk"]), prompt="small")
    [Match(word='talk', start=0, end=4)]
    """
    words = BannedWords.of(words)
    prompt, text = _as_bytes(prompt, "prompt"), _as_bytes(text, "text")
    found = _found("", text.decode("utf-8", "replace"), words)
    if prompt:
        found |= _found(*_after(prompt, text), words)
    return [Match(words.name(number), start, end) for end, _, start, number in sorted(found)]


def _found(prompt: str, text: str, words: BannedWords) -> set[tuple[int, bool, int, int]]:
    """The matches that end in ``text`` when it is read after ``prompt``: end, kind of end, start, number."""
    whole = prompt + text
    origin = len(prompt.encode())
    written = _FoldedText(whole, words, origin)
    excused = _Excused((start, end) for end, _, start, _ in written.matches(words, allowed=True))
    found = {match for match in written.matches(words) if match[0] > 0 and match[0] > excused.until(match[2])}
    if words.patterns:
        from sfgen.ban.search import Wanted, search  # reading patterns takes heavy modules

        places = [-origin]
        for character in whole:
            places.append(places[-1] + len(character.encode()))
        wanted = [
            Wanted(bisect_left(places, start), bisect_right(places, max(until, 0)))
            for start, until in excused.steps(-origin)
        ]
        for number, (first, after) in search(words, whole, wanted):
            found.add((places[after], False, places[first], len(words.words) + number))
    return found


def _as_bytes(text: str | bytes, name: str) -> bytes:
    """UTF-8; what cannot be written in it becomes U+FFFD, which has as many bytes as a surrogate would."""
    return _SURROGATE.sub("\ufffd", text).encode() if isinstance(text, str) else arguments.data(name, text)


def _after(prompt: bytes, data: bytes) -> tuple[str, str]:
    r"""Prompt and text as one text; a character belongs to the text if its last byte does.

    >>> _after(b"n\xc3", b"\xa9e"), _after(b"n\xc3", b"e")
    (('n', 'ée'), ('n�', 'e'))
    """
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    before = decoder.decode(prompt)
    half, _ = decoder.getstate()
    try:
        return before, (half + data).decode()
    except UnicodeDecodeError as error:
        if error.start == 0 and error.end <= len(half):  # the text does not go on with the character
            return before + "\ufffd", data.decode("utf-8", "replace")
    return before, (half + data).decode("utf-8", "replace")


@lru_cache(maxsize=8)
def _by_head(words: BannedWords, allowed: bool) -> tuple[Mapping[str, list[int]], list[int]]:
    """The numbers of the entries by their first word, and the lengths of those; many texts ask for the same list."""
    by_head: dict[str, list[int]] = defaultdict(list)
    for number, entry in enumerate(words.allowed_entries if allowed else words.entries):
        by_head[entry.parts[0]].append(number)
    return dict(by_head), sorted({len(head) for head in by_head})


class _Excused:
    """What the allowed matches of a text excuse."""

    def __init__(self, allowed: Iterator[tuple[int, int]]) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        for start, end in sorted(allowed):
            if not self._ends or end > self._ends[-1]:
                self._starts.append(start)
                self._ends.append(end)

    def until(self, start: int) -> int:
        """The last end with which a match that begins at ``start`` is excused; before all offsets if there is none."""
        index = bisect_right(self._starts, start)
        return self._ends[index - 1] if index else _NOWHERE

    def steps(self, origin: int) -> list[tuple[int, int]]:
        """The starts from which :meth:`until` is something else, with what it is."""
        return [(origin, _NOWHERE), *zip(self._starts, self._ends, strict=True)]


_NOWHERE = -(1 << 62)
