"""Banned words in a finished text, found the slow and plain way: the last check before a text is returned.

Nothing here is shared with the matcher but what a word means (:class:`~sfgen.ban.words.Entry`) and what kind a
character is: the folded text lies in one piece, and every entry is compared at every place where it could begin.
"""

from __future__ import annotations

from collections import defaultdict

from sfgen.ban.characters import NON_WORD, SPACED, fold, kinds_of
from sfgen.ban.matcher import Match
from sfgen.ban.words import BannedWords, Entry


class _FoldedText:
    """A text, folded, with where each folded character came from.

    Attributes:
        text: The folded text.
        kinds: The kind of each folded character.
        starts, ends: Byte offsets of the original character behind each folded one, counted from ``origin``.
    """

    def __init__(self, text: str, ignore_case: bool, origin: int) -> None:
        self.starts: list[int] = []
        self.ends: list[int] = []
        folded = []
        start = -origin
        for character in text:
            end = start + len(character.encode("utf-8", "surrogatepass"))
            expansion = fold(character, ignore_case)
            folded.append(expansion)
            self.starts += [start] * len(expansion)
            self.ends += [end] * len(expansion)
            start = end
        self.text = "".join(folded)
        self.kinds = kinds_of(self.text)

    def is_boundary(self, place: int) -> bool:
        """Whether there is a boundary before the folded character at ``place``."""
        if place in (0, len(self.text)):
            return True
        return not (self.kinds[place - 1] == SPACED and self.kinds[place] == SPACED)

    def ends_of(self, entry: Entry, start: int) -> set[int]:
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


def scan(text: str, words: BannedWords, *, prompt: str = "") -> list[Match]:
    """All banned words that end in ``text``, for checking a text that is finished.

    Args:
        text: What was generated.
        words: What is banned.
        prompt: The text before it. It can bound a banned word or begin it.

    Returns:
        Every match, each once, in the order in which a :class:`~sfgen.ban.matcher.Matcher` would report it. Offsets are
        bytes from the end of the prompt.

    >>> scan("I talk, you listen", BannedWords(["talk", "listen", "list"]))
    [Match(word='talk', start=2, end=6), Match(word='listen', start=12, end=18)]
    """
    entries_by_head: dict[str, list[int]] = defaultdict(list)
    for number, entry in enumerate(words.entries):
        entries_by_head[entry.parts[0]].append(number)
    lengths = sorted({len(head) for head in entries_by_head})

    folded = _FoldedText(prompt + text, words.ignore_case, len(prompt.encode("utf-8", "surrogatepass")))
    found = set()
    for start in range(len(folded.text)):
        for length in lengths:
            for number in entries_by_head.get(folded.text[start : start + length], ()):
                entry = words.entries[number]
                for end in folded.ends_of(entry, start):
                    found.add((folded.ends[end - 1], entry.right, folded.starts[start], number))
    return [Match(words.words[number], start, end) for end, _, start, number in sorted(found) if end > 0]
