"""The partial matches of a list of words in one text, character by character, in every way to read it.

:class:`WordAutomata` holds the automata of the list, :class:`WordThreads` the partial matches in one reading of a text,
and :class:`Readings` those in all readings. Nearly every character is read in one way, and then there is one *branch*.
Where confusables are folded, a bar is a bar and a letter, and the text is read in both ways from there. Branches that
know the same have the same future and become one, which takes but a few characters.
"""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Sequence
from itertools import compress, count
from typing import Any, Final, NamedTuple, TypeAlias

from sfgen.ban.automaton import ACCEPTING, ROOT, AhoCorasick, GapTrie, Threads
from sfgen.ban.characters import MARK, NON_WORD, SEPARATOR, SPACED, Unit
from sfgen.ban.entries import Entry

RawMatch: TypeAlias = tuple[int, bool, int, int]
"""A match as (end, whether a boundary completed it, start, number of the word): in the order of being first."""


class WordAutomata:
    """The automata of a list of words; threads may share them.

    They are immutable but for what they remember.

    Attributes:
        plain: The numbers of the entries for :class:`AhoCorasick`.
        literal: The numbers of those for :class:`GapTrie`.
        lengths: Bytes of each keyword of ``plain``, less its outer boundaries.
    """

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._entries = entries
        plain = bytearray(entry.is_plain for entry in entries)
        self.plain: Final[Sequence[int]] = range(len(plain)) if all(plain) else array("i", compress(count(), plain))
        self.literal: Final = tuple(number for number, is_plain in enumerate(plain) if not is_plain)
        keywords = [entries[number].separated() for number in self.plain]
        outer = bytes([SEPARATOR])
        self.lengths: Final[Sequence[int]] = array("i", (len(keyword.strip(outer)) for keyword in keywords))
        self.automaton: Final = AhoCorasick(keywords)
        self.trie: Final = GapTrie(entries[number].symbols() for number in self.literal) if self.literal else None

    def __reduce__(self) -> tuple[Any, ...]:
        return WordAutomata, (self._entries,)  # nodes are made when a text meets them: again is as good

    def threads(self, position: int) -> WordThreads:
        """Return a matcher for one text."""
        return WordThreads(self, position)


class WordMark(NamedTuple):
    """The state of word threads at one position.

    Offsets aside, two with equal nodes and threads have the same future.
    """

    node: int  # of the Aho-Corasick automaton
    window: tuple[int, ...]  # the offsets of the characters whose bytes end the stream
    threads: Threads  # of the ``GapTrie``


_WINDOW = 1024  # a long text is trimmed on the way once it passes this many bytes of the stream


class WordThreads:
    """The partial matches of words in one text.

    The text is given as folded characters. Those of words become a stream of bytes for :class:`AhoCorasick`: their
    UTF-8, two separators for every run of non-word characters, and one separator where a spaced and an unspaced script
    meet. The start of the text is a separator, too. The keyword of ``talk`` is the word between separators, that of a
    phrase has two between its words. So whole words and gaps of any length are only bytes. It belongs to one text.
    """

    def __init__(self, automata: WordAutomata, position: int) -> None:
        self._automata = automata
        self._automaton = automata.automaton
        self._trie = automata.trie
        self._node = self._automaton.step(ROOT, SEPARATOR)
        # Where the source of each of the last bytes of the stream begins; at least as many as the node is deep.
        self._window: list[int] = [position]
        self._threads: Threads = {}

    def step(self, unit: Unit, kind: int, previous: int, start: int, before: int, end: int) -> Sequence[RawMatch]:
        """Read one folded character; return the words that it completes, in no order."""
        # ``previous``: the kind before, ``NON_WORD`` at the start. Offsets in bytes: ``start`` and ``end`` of the
        # original character, ``before`` the end of the folded character before.
        matches: Sequence[RawMatch] = ()
        if self._trie is not None:
            matches = self._step_trie(self._trie, unit, kind, previous, start, before, end)
        if kind == previous:
            if kind == NON_WORD:
                return matches
        elif kind == NON_WORD:
            return [*matches, *self._read(SEPARATOR, start, before, True), *self._read(SEPARATOR, start, before, True)]
        elif previous != NON_WORD:
            matches = [*matches, *self._read(SEPARATOR, start, before, True)]
        # The automaton's step, but for the rare cases, in place: nearly all time is spent here.
        automaton, window, node = self._automaton, self._window, self._node
        get, known = automaton.goto.get, automaton.known
        for byte in unit.utf8:
            child = get(node << 8 | byte, ROOT)
            node = child if known[child] and (child or not node) else automaton.step(node, byte)
            window.append(start)
            if known[node] == ACCEPTING and unit.may_end:
                self._node = node
                matches = [*matches, *self._outputs(end, False)]
        self._node = node
        if len(window) > _WINDOW:
            self._trim()
        return matches

    def at_end(self, previous: int, before: int) -> list[RawMatch]:
        """Return the words that the end of the text, or another boundary, would complete."""
        matches = []
        if self._trie is not None:
            matches = [
                (before, True, start, self._automata.literal[n]) for start, n in self._trie.at_boundary(self._threads)
            ]
        if previous != NON_WORD:
            node, window = self._node, self._window
            matches += self._read(SEPARATOR, before, before, True)
            self._node = node
            del window[-1]
        return matches

    def open_from(self) -> int | None:
        """Return where the earliest partial match begins, or ``None``."""
        starts = list(self._threads.values())
        node = self._automaton.pending(self._node)
        depth = self._depth(node)
        if depth:
            starts.append(self._window[-depth])
        return min(starts, default=None)

    def starts(self) -> list[int]:
        """Return where each partial match begins, ordered by ``state``."""
        starts = [self._threads[node] for node in sorted(self._threads)]
        node = self._automaton.pending(self._node)
        while depth := self._depth(node):
            starts.append(self._window[-depth])
            node = self._automaton.suffix(node)
        return starts

    def under_way(self, most: int) -> list[int]:
        """Return the numbers of some partially matched words, the first begun first.

        More than a boundary was read of each.
        """
        automata = self._automata
        numbers: list[int] = []
        node = self._automaton.pending(self._node)
        while self._depth(node) and len(numbers) < most:
            numbers += [automata.plain[index] for index in self._automaton.below(node, most)]
            node = self._automaton.suffix(node)
        if self._trie is not None:
            for thread in self._threads:
                numbers += [automata.literal[index] for index in self._trie.below(thread, most)]
        return list(dict.fromkeys(numbers))[:most]

    @property
    def state(self) -> Hashable:
        """The state without offsets: it decides the future."""
        return self._automaton.place(self._node), frozenset(self._threads)

    @property
    def key(self) -> tuple[tuple[int, int], tuple[int, ...]]:
        """The state in a form that can be ordered."""
        return self._automaton.place(self._node), tuple(sorted(self._threads))

    def includes(self, other: WordThreads) -> bool:
        """Tell whether all partial matches of others are partial matches here."""
        return self._automaton.ends_with(self._node, other._node) and self._threads.keys() >= other._threads.keys()

    def adopt_starts(self, other: WordThreads) -> None:
        """Take the earlier start of each partial match shared with ``other``, which this one includes."""
        theirs = other._threads
        self._threads = {node: min(start, theirs.get(node, start)) for node, start in self._threads.items()}
        depth = self._automaton.depth(other._node)  # the bytes at the end of both streams that are the same
        if depth:
            self._window[-depth:] = map(min, self._window[-depth:], other._window[-depth:])

    def copy(self) -> WordThreads:
        """Return an independent copy."""
        other = WordThreads.__new__(WordThreads)
        other._automata, other._automaton, other._trie = self._automata, self._automaton, self._trie
        other._node, other._window, other._threads = self._node, self._window.copy(), self._threads
        return other

    def mark(self) -> WordMark:
        """Return the state, for ``reset``."""
        self._trim()
        return WordMark(self._node, tuple(self._window), self._threads)

    def reset(self, mark: WordMark) -> None:
        """Return to a mark, any number of times."""
        self._node, window, self._threads = mark
        self._window = list(window)

    def forget_from(self, position: int) -> None:
        """Forget the words that begin at a position or later, as far as they can be told apart."""
        self._threads = {node: start for node, start in self._threads.items() if start < position}
        depth = self._depth(self._automaton.pending(self._node))
        if not depth or self._window[-depth] >= position:
            self._node = ROOT

    def _depth(self, node: int) -> int:
        """Return the bytes of a node, less the boundary before the word."""
        depth = self._automaton.depth(node)
        return depth - 1 if self._automaton.first_byte(node) == SEPARATOR else depth

    def _read(self, byte: int, start: int, end: int, boundary: bool) -> list[RawMatch]:
        """Read one byte of the stream, of a character that begins at ``start``."""
        self._node = self._automaton.step(self._node, byte)
        self._window.append(start)
        return self._outputs(end, boundary) if self._automaton.accepts(self._node) else []

    def _outputs(self, end: int, boundary: bool) -> list[RawMatch]:
        """Return the words that the last byte has completed."""
        automata, window = self._automata, self._window
        shown = len(window) - boundary  # the boundary after a word is not part of it
        return [
            (end, boundary, window[shown - automata.lengths[index]], automata.plain[index])
            for index in self._automaton.outputs(self._node)
        ]

    def _step_trie(
        self, trie: GapTrie, unit: Unit, kind: int, previous: int, start: int, before: int, end: int
    ) -> list[RawMatch]:
        """Read a character for the entries with literal punctuation."""
        literal = self._automata.literal
        bounded = kind != SPACED or previous != SPACED
        matches = []
        if bounded and self._threads:
            matches = [(before, True, begun, literal[index]) for begun, index in trie.at_boundary(self._threads)]
        self._threads, done = trie.step(self._threads, unit.character, kind == NON_WORD, bounded, start)
        if unit.may_end:
            matches += [(end, False, begun, literal[index]) for begun, index in done]
        return matches

    def _trim(self) -> None:
        """Drop the part of the window that the automaton has forgotten."""
        window = self._window
        del window[: len(window) - self._automaton.depth(self._node)]


class _Branch:
    """One way to read the text so far: the kind of its last folded character, and its partial matches."""

    __slots__ = ("kind", "threads")

    def __init__(self, threads: WordThreads, kind: int) -> None:
        self.threads = threads
        self.kind = kind

    def step(self, units: Sequence[Unit], start: int, before: int, end: int) -> list[RawMatch]:
        """Read the folded characters of one character; return the words that they complete."""
        matches: list[RawMatch] = []
        for unit in units:
            kind = self.kind if unit.kind == MARK else unit.kind
            matches += self.threads.step(unit, kind, self.kind, start, before, end)
            self.kind = kind
            before = end
        return matches


class BranchMark(NamedTuple):
    """The state of one branch."""

    kind: int  # of the last folded character
    threads: WordMark  # of its words


class Readings:
    """The partial matches of words in one text, in all readings."""

    def __init__(self, automata: WordAutomata, position: int) -> None:
        self._branches = [_Branch(automata.threads(position), NON_WORD)]

    def step(
        self, units: Sequence[Unit], others: Sequence[Sequence[Unit]], start: int, before: int, end: int
    ) -> Sequence[RawMatch]:
        """Read one character in each of its readings; return the words that it completes, in no order."""
        if not others and len(self._branches) == 1:
            branch = self._branches[0]
            if len(units) > 1:
                return branch.step(units, start, before, end)
            # The same in place: nearly every character comes here.
            unit, previous = units[0], branch.kind
            branch.kind = kind = previous if unit.kind == MARK else unit.kind
            return branch.threads.step(unit, kind, previous, start, before, end)
        matches: list[RawMatch] = []
        branches = []
        for branch in self._branches:
            for reading in (units, *others):
                copy = _Branch(branch.threads.copy(), branch.kind)
                matches += copy.step(reading, start, before, end)
                branches.append(copy)
        self._branches = _distinct(branches)
        return matches

    def at_end(self, before: int) -> list[RawMatch]:
        """Return the words that the end of the text, or another boundary, would complete."""
        return [match for branch in self._branches for match in branch.threads.at_end(branch.kind, before)]

    def open_from(self) -> int | None:
        """Return where the earliest partial match begins, or ``None``."""
        starts = [branch.threads.open_from() for branch in self._branches]
        return min((start for start in starts if start is not None), default=None)

    def starts(self) -> list[int]:
        """Return where each partial match begins, ordered by ``state``."""
        return [start for branch in self._branches for start in branch.threads.starts()]

    def under_way(self, most: int) -> list[int]:
        """Return the numbers of some partially matched words, the first begun first."""
        numbers = [number for branch in self._branches for number in branch.threads.under_way(most)]
        return list(dict.fromkeys(numbers))[:most]

    @property
    def state(self) -> Hashable:
        """The state without offsets: it decides the future."""
        return tuple([(branch.kind, branch.threads.state) for branch in self._branches])

    def mark(self) -> tuple[BranchMark, ...]:
        """Return the state, for ``reset``."""
        return tuple([BranchMark(branch.kind, branch.threads.mark()) for branch in self._branches])

    def reset(self, mark: tuple[BranchMark, ...]) -> None:
        """Return to a mark, any number of times."""
        first = self._branches[0]
        self._branches = [first, *(_Branch(first.threads.copy(), NON_WORD) for _ in mark[1:])]
        for branch, (kind, threads) in zip(self._branches, mark, strict=True):
            branch.kind = kind
            branch.threads.reset(threads)

    def forget_from(self, position: int) -> None:
        """Forget the words that begin at a position or later, as far as they can be told apart."""
        for branch in self._branches:
            branch.threads.forget_from(position)
        if len(self._branches) > 1:
            self._branches = _distinct(self._branches)


def _distinct(branches: list[_Branch]) -> list[_Branch]:
    """Drop branches that know no more than another; order them by their states.

    Of two that know the same the one whose words began first is kept. A dropped branch leaves the starts of its words
    to the one that knows them as well: a word begins where it does in the reading that saw it first.
    """
    kept: dict[tuple[int, tuple[int, int], tuple[int, ...]], _Branch] = {}
    for branch in branches:
        key = branch.kind, *branch.threads.key
        known = kept.get(key)
        if known is None:
            kept[key] = branch
        elif branch.threads.starts() < known.threads.starts():
            branch.threads.adopt_starts(known.threads)
            kept[key] = branch
        else:
            known.threads.adopt_starts(branch.threads)
    distinct = [kept[key] for key in sorted(kept)]
    left = []
    for one in distinct:
        wider = [
            other
            for other in distinct
            if other is not one and other.kind == one.kind and other.threads.includes(one.threads)
        ]
        for other in wider:
            other.threads.adopt_starts(one.threads)
        if not wider:
            left.append(one)
    return left
