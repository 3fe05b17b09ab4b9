"""Banned words as a user writes them, sorted lists of them, and the comparison of a text with such a list.

An entry is split at its white space into parts, folded. It matches a text where its parts follow each other, with at
least one non-word character between two parts and nothing else inside a part, and where the match does not cut a word:
:mod:`sfgen.ban.characters` defines boundaries, and :class:`Entry` says where one is needed.

For a matcher an entry is a *key*: its folded characters in UTF-8, :data:`GAP` between two words of a phrase, and
:data:`BOUNDARY` where a match must begin or end at one. Keys that begin alike lie side by side, so that a node of their
trie is a range of keys: the first, the end (exclusive), and the number of bytes that they have in common. Bisection
finds it when a text reaches it; no trie is ever made.

Combining marks of different classes mean the same in any order (Unicode's annex 15). A key has them in canonical order,
a text need not. So marks are not compared one by one: a thread keeps the marks since the last other character, in
canonical order, as long as some key has them all.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from heapq import nsmallest
from itertools import groupby
from math import prod
from typing import Final, Literal, NamedTuple, TypeAlias
from unicodedata import combining

from sfgen.ban.characters import MARK, NON_WORD, SPACED, Unit, fold, kinds_of
from sfgen.errors import BannedWordsError

MatchMode = Literal["word", "prefix", "substring"]

_MOST_ORDERS: Final = 5_000  # in which the marks of a letter may be read, as nodes of a trie

BOUNDARY: Final = b"\xfe"
GAP: Final = b"\xfd"
"""Symbols besides characters: they are not bytes of UTF-8, and sort after all of these."""

_WORD_ENDS: Final = (BOUNDARY, GAP)
_FIRST_MARK: Final = "\u0300".encode()
_MOST_LISTED: Final = 1_000

Node: TypeAlias = tuple[int, int, int]
"""A range of keys that begin alike: the first, the end (exclusive), and the number of bytes that they share."""

Guards: TypeAlias = "tuple[Thread, ...]"
"""The partial matches of allowed words that began no later than a banned one, and may excuse it; in ascending order."""

Thread: TypeAlias = "tuple[int, Node, str, Guards | None]"
"""A partial match: the kind of the last folded character, the node, the marks after it, and its guards.

Allowed words have no guards. One that begins has ``None`` until its character is read.
"""


class Entry(NamedTuple):
    """One banned word or phrase, ready to be compared.

    Attributes:
        word: As the user gave it.
        parts: The words of the phrase, folded; none is empty.
        left: Whether a match must begin at a boundary.
        right: Whether a match must end at a boundary.
    """

    word: str
    parts: tuple[str, ...]
    left: bool
    right: bool

    @classmethod
    def parse(cls, word: str, match: MatchMode, ignore_case: bool, normalize: bool = False) -> Entry:
        """Read a word that has passed :func:`check_word`; ``parts`` is empty if folding drops all of it.

        >>> Entry.parse("Small  talk*", "word", True)
        Entry(word='Small  talk*', parts=('small', 'talk'), left=True, right=False)
        """
        text, starred = unstar(word)
        if starred:
            match = "prefix"
        parts = tuple(fold(text, ignore_case, normalize).split())
        if not parts:
            return cls(word, parts, False, False)
        # An outermost character that is not a letter, or a letter of a script without spaces, always has a boundary.
        left = match != "substring" and (_is_ascii_word(parts[0]) or kinds_of(parts[0])[0] == SPACED)
        right = match == "word" and (_is_ascii_word(parts[-1]) or kinds_of(parts[-1])[-1] == SPACED)
        return cls(word, parts, left, right)

    def key(self) -> bytes:
        r"""Return its key for :class:`Keywords`.

        >>> Entry.parse("c++ fan", "word", True).key()
        b'\xfec++\xfdfan\xfe'
        """
        parts = self.parts
        text = parts[0].encode() if len(parts) == 1 else GAP.join([part.encode() for part in parts])
        return BOUNDARY[: self.left] + text + BOUNDARY[: self.right]


def _is_ascii_word(part: str) -> bool:
    """Return whether a text has only ASCII letters and digits: a quick check that most words pass."""
    return part.isascii() and part.isalnum()


def unstar(word: str) -> tuple[str, bool]:
    r"""Split a word into its text, with escapes undone, and whether it had a star.

    >>> unstar("talk*"), unstar(r"f\*\*"), unstar("f**k")
    (('talk', True), ('f**', False), ('f**k', False))
    """
    word = word.strip()
    starred = word.endswith("*") and not word.endswith(r"\*")
    return (word[:-1] if starred else word).replace(r"\*", "*"), starred


def blank_pattern(blanks: str) -> str:
    r"""Return a pattern for some white space, which a word cannot contain.

    >>> print(blank_pattern("\n\n"), repr(blank_pattern("  ")))
    \n\n '  '
    """
    return blanks.encode("unicode_escape").decode()


def check_word(word: str, where: str, *, is_banned: bool = True) -> None:
    """Refuse a word that bans nothing."""
    if not word:
        raise BannedWordsError(f"{where} is empty", hint="Leave it out.")
    if not word.strip():
        hint = (
            f"White space is banned as a pattern: patterns=[{blank_pattern(word)!r}]." if is_banned else "Leave it out."
        )
        raise BannedWordsError(f"{where} is white space only, which is no word", hint=hint)
    if not unstar(word)[0].strip():
        raise BannedWordsError(
            f"{where} is a star alone: it would ban every word", hint=r"Write \* to ban the star itself."
        )
    try:
        word.encode()
    except UnicodeEncodeError:
        raise BannedWordsError(f"{where} is not valid text: {word!r}", hint="Give it in UTF-8.") from None


def read_entries(
    words: Sequence[str], sort: str, match: MatchMode, ignore_case: bool, normalize: bool
) -> Iterator[Entry]:
    """Read a list of words, one after the other."""
    left, right = match != "substring", match == "word"
    for number, word in enumerate(words, 1):
        if word.isascii() and not normalize:  # as nearly all words of a long list
            parts = (word.lower() if ignore_case else word).split()
            if "".join(parts).isalnum():
                yield Entry(word, (word,) if parts == [word] else tuple(parts), left, right)
                continue
        where = f"{sort} word {number} of {len(words)}"
        check_word(word, where, is_banned=sort == "banned")
        entry = Entry.parse(word, match, ignore_case, normalize)
        if not entry.parts:
            raise BannedWordsError(
                f"{where} is {word!r}, of which nothing is left when it is normalized", hint="Leave it out."
            )
        if max(map(orders, entry.parts)) > _MOST_ORDERS:
            raise BannedWordsError(
                f"{where} has too many combining marks on one letter: {word!r}", hint="Ban it with normalize."
            )
        yield entry


def orders(text: str) -> int:
    """Bound the number of ways to read a part of a run of combining marks in a text.

    >>> orders("cafe\\u0301"), orders("a\\u0323\\u0302")
    (2, 4)
    """
    if text.isascii():
        return 1
    runs = (list(run) for is_mark, run in groupby(text, lambda letter: combining(letter) > 0) if is_mark)
    return max((prod(len(list(same)) + 1 for _, same in groupby(run, combining)) for run in runs), default=1)


# ---- a list in order -----------------------------------------------------------------------------------------------


class Keywords:
    r"""Keys in order.

    Attributes:
        free: The node of the keys that may begin anywhere; ``None``: there are none.
        bound: The node, after the boundary, of the keys that begin at one; ``None``: there are none.

    >>> words = Keywords([b"\xfetalk\xfe", b"all", b"\xfetall\xfdtales"])
    >>> node = words.bound
    >>> for letter in (b"t", b"a", b"l"):
    ...     node = words.child(node, letter)
    >>> node, words.child(node, b"k"), words.child(node, b"e")
    ((1, 3, 4), (1, 2, 5), None)
    """

    def __init__(self, keys: Sequence[bytes]) -> None:
        self._order = array("i", sorted(range(len(keys)), key=keys.__getitem__))
        self._keys = [keys[number] for number in self._order]
        first_bound = bisect_left(self._keys, BOUNDARY)
        self.free: Final[Node | None] = (0, first_bound, 0) if first_bound else None
        self.bound: Final[Node | None] = (first_bound, len(keys), 1) if first_bound < len(keys) else None

    def child(self, node: Node, symbol: bytes) -> Node | None:
        """Return the node after one more symbol."""
        low, high, depth = node
        keys = self._keys
        if high - low > 1:
            wanted = keys[low][:depth] + symbol
            low = bisect_left(keys, wanted, low, high)
            if low == high:
                return None
            if high - low > 1:
                high = bisect_left(keys, wanted[:-1] + bytes([wanted[-1] + 1]), low, high)
        return (low, high, depth + len(symbol)) if high > low and keys[low].startswith(symbol, depth) else None

    def ends(self, node: Node) -> Sequence[int]:
        """Return the numbers of the keys that are complete at a node."""
        low, high, depth = node
        if len(self._keys[low]) > depth:  # as nearly always
            return ()
        behind = low
        while behind < high and len(self._keys[behind]) == depth:
            behind += 1
        return self._order[low:behind]

    def goes_on(self, node: Node) -> bool:
        """Return whether a node begins a longer key."""
        return len(self._keys[node[1] - 1]) > node[2]

    def is_at_word_end(self, node: Node) -> bool:
        """Return whether a boundary or a gap follows a node in some key: their symbols come after all others."""
        return self._keys[node[1] - 1].startswith(_WORD_ENDS, node[2])

    def completed_by_boundary(self, node: Node | None) -> Sequence[int]:
        """Return the numbers of the keys that a boundary after a node completes."""
        closed = None if node is None else self.child(node, BOUNDARY)
        return () if closed is None else self.ends(closed)

    def is_in_gap(self, node: Node) -> bool:
        """Return whether the last symbol of a node is a gap."""
        low, _, depth = node
        return self._keys[low].startswith(GAP, depth - 1)

    def longer(self, node: Node, most: int) -> list[int]:
        """List the numbers of some keys that begin with a node, short ones first."""
        low, high, depth = node
        longer = (at for at in range(low, min(high, low + _MOST_LISTED)) if len(self._keys[at]) > depth)
        return [self._order[at] for at in nsmallest(most, longer, key=lambda at: len(self._keys[at]))]

    # ---- combining marks -----------------------------------------------------------------------------------------

    def behind_marks(self, node: Node, marks: str) -> Node | None:
        """Return the node after marks in canonical order."""
        behind: Node | None = node
        for mark in marks:
            behind = behind and self.child(behind, mark.encode())
        return behind

    def goes_on_with(self, node: Node, marks: str) -> bool:
        """Return whether a longer key begins with a node and marks after it, in any equivalent order."""
        behind = self.behind_marks(node, marks)
        if behind is not None and self.goes_on(behind):
            return True
        return any(_begins(marks, run) for run in self._runs_of_marks(node, ""))

    def _runs_of_marks(self, node: Node, before: str) -> Iterator[str]:
        """Yield the marks that follow a node and the marks ``before`` in some key."""
        low, high, depth = node
        at = bisect_left(self._keys, self._keys[low][:depth] + _FIRST_MARK, low, high)
        while at < high:
            symbol = _first_symbol(self._keys[at], depth)
            child = self.child((at, high, depth), symbol)
            assert child is not None
            at = child[1]
            if symbol < GAP and combining(symbol.decode()):
                run = before + symbol.decode()
                yield run
                yield from self._runs_of_marks(child, run)


def _first_symbol(key: bytes, at: int) -> bytes:
    """Return the symbol at a position of a key."""
    lead = key[at]
    return key[at : at + (1 if lead < 0xC0 or lead >= GAP[0] else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4)]


def with_mark(marks: str, mark: str) -> str:
    r"""Add a mark after others in canonical order.

    >>> with_mark("\u0302", "\u0323") == "\u0323\u0302"
    True
    """
    at = len(marks)
    while at and combining(marks[at - 1]) > combining(mark):
        at -= 1
    return marks[:at] + mark + marks[at:]


def _begins(marks: str, run: str) -> bool:
    """Return whether more marks can extend these to a run, in some equivalent order."""
    return len(run) > len(marks) and all(
        _of_class(run, each).startswith(_of_class(marks, each)) for each in set(map(combining, marks))
    )


def _of_class(marks: str, each: int) -> str:
    return "".join(mark for mark in marks if combining(mark) == each)


# ---- a text's way through it ---------------------------------------------------------------------------------------


class FoundWord(NamedTuple):
    """A word that a character completes, of one thread."""

    number: int
    by_boundary: bool
    is_here: bool  # whether it ends with the character; else with the last one that was kept
    guards: Guards | None
    sources: tuple[int, ...]  # the threads that it comes from


Sources: TypeAlias = dict[Thread, tuple[int, ...]]
"""The threads after a character, each with the threads that it comes from, in ascending order."""

Begun: TypeAlias = "tuple[int, Guards | None]"
"""The source and the guards of threads that begin with a character."""


def add_sources(threads: Sources, thread: Thread, sources: tuple[int, ...]) -> None:
    """Note more threads that a thread comes from."""
    known = threads.setdefault(thread, sources)
    if known != sources:
        threads[thread] = tuple(sorted({*known, *sources}))


def read_character(
    words: Keywords,
    threads: Sequence[Thread],
    kinds: Iterable[int],
    readings: Sequence[Sequence[Unit]],
    begun: Begun | None,
) -> tuple[Sources, set[FoundWord]]:
    """Read one character in each of its readings.

    Return the threads after it with their sources, and the words that are complete. ``kinds`` are those of the last
    folded character, one for each way to read the text; ``begun`` is ``None`` where nothing may begin.
    """
    found: set[FoundWord] = set()
    everything: Sources = {}
    for units in readings:
        before: Iterable[int] = kinds
        after: Sources = {thread: (index,) for index, thread in enumerate(threads)}
        for position, unit in enumerate(units):
            if position:
                before = _kinds_behind(before, units[position - 1])
            after = _read_unit(words, after, before, unit, position > 0, begun, found)
        if not everything:  # nearly always: the first reading is the only one
            everything = after
            continue
        for thread, sources in after.items():
            add_sources(everything, thread, sources)
    return everything, found


def kinds_behind(kinds: Iterable[int], readings: Sequence[Sequence[Unit]]) -> tuple[int, ...]:
    """Return the kinds of the last folded character after another character, in ascending order."""
    if len(readings) == 1 and len(readings[0]) == 1 and readings[0][0].kind != MARK:  # as nearly always
        return (readings[0][0].kind,)
    everything: set[int] = set()
    for units in readings:
        here = set(kinds)
        for unit in units:
            here = _kinds_behind(here, unit)
        everything |= here
    return tuple(sorted(everything))


def _kinds_behind(kinds: Iterable[int], unit: Unit) -> set[int]:
    return {kind if unit.kind == MARK else unit.kind for kind in kinds}


def _read_unit(
    words: Keywords,
    threads: Sources,
    kinds: Iterable[int],
    unit: Unit,
    is_inside: bool,
    begun: Begun | None,
    found: set[FoundWord],
) -> Sources:
    """Read one folded character; ``is_inside``: another one of the same original character stands before it."""
    after: Sources = {}

    def reach(kind: int, node: Node, marks: str, guards: Guards | None, sources: tuple[int, ...]) -> None:
        """Reach a node: note the words that are complete there, and the thread, if it can go on."""
        if unit.may_end and (behind := words.behind_marks(node, marks) if marks else node) is not None:
            for number in words.ends(behind):
                found.add(FoundWord(number, False, True, guards, sources))
        if words.goes_on_with(node, marks) if marks else words.goes_on(node):
            add_sources(after, (kind, node, marks, guards), sources)

    character, utf8, is_mark = unit.character, unit.utf8, combining(unit.character) > 0
    for (before, node, marks, guards), sources in threads.items():
        kind = before if unit.kind == MARK else unit.kind
        behind = words.behind_marks(node, marks) if marks else node
        if is_mark:
            reach(kind, node, with_mark(marks, character), guards, sources)
        if behind is None:  # marks that no key has in this order
            continue
        if not is_mark and (child := words.child(behind, utf8)) is not None:
            reach(kind, child, "", guards, sources)
        if kind == NON_WORD and words.is_in_gap(behind):
            reach(kind, behind, "", guards, sources)
        if words.is_at_word_end(behind):
            if kind != SPACED or before != SPACED:
                for number in words.completed_by_boundary(behind):
                    found.add(FoundWord(number, True, is_inside, guards, sources))
            if kind == NON_WORD and (gap := words.child(behind, GAP)) is not None:
                reach(kind, gap, "", guards, sources)
    if begun is None:
        return after
    new, guards = begun
    for before in kinds:
        kind = before if unit.kind == MARK else unit.kind
        for root in (words.free, words.bound if kind != SPACED or before != SPACED else None):
            if root is None:
                continue
            if is_mark:
                reach(kind, root, character, guards, (new,))
            elif (child := words.child(root, utf8)) is not None:
                reach(kind, child, "", guards, (new,))
    return after


# ---- what allowed words excuse -------------------------------------------------------------------------------------

ENDED: Final[Thread] = (-1, (0, 0, 0), "", ())
"""A marker among guards: an allowed match has ended with the last character that was kept."""


class Fate(NamedTuple):
    """The effect of a character on guards."""

    after: Guards
    alive: Guards  # those that may still become complete
    ended: bool  # whether an allowed match of theirs ends with the last character that was kept before
    ends: bool  # whether one ends with this character

    def excuses(self, is_late: bool) -> bool:
        """Return whether a match is excused that ended with the last kept character, or after it (late)."""
        return self.ends or (self.ended and not is_late)


Fates: TypeAlias = "Callable[[Guards | None], Fate]"

_UNGUARDED: Final = Fate((), (), False, False)


def unguarded(_: Guards | None) -> Fate:
    """Return the fate of guards where no word is allowed."""
    return _UNGUARDED


def read_allowed(
    words: Keywords, threads: Guards, kinds: Iterable[int], readings: Sequence[Sequence[Unit]], begins: bool
) -> tuple[Guards, Fates]:
    """Read one character for allowed words; return their threads after it, and the fates of guards.

    Without a reading the character is dropped.
    """
    new = len(threads)
    after: Sources = {thread: (index,) for index, thread in enumerate(threads)}
    found: set[FoundWord] = set()
    if readings:
        after, found = read_character(words, threads, kinds, readings, (new, ()) if begins else None)

    @cache
    def fate(guards: Guards | None) -> Fate:
        # All of them guard the threads that begin with this character.
        indices = {*range(new + 1)} if guards is None else {threads.index(each) for each in guards if each != ENDED}
        had_ended = guards is not None and ENDED in guards
        ends = [word.is_here for word in found if not indices.isdisjoint(word.sources)]
        alive = tuple(sorted([thread for thread, sources in after.items() if not indices.isdisjoint(sources)]))
        stays = True in ends or (had_ended and not readings)
        return Fate((ENDED, *alive) if stays else alive, alive, had_ended or False in ends, True in ends)

    return tuple(sorted(after)), fate
