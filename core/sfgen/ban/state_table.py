"""The automaton of a ban as a table of numbers, to read many tokens at once: its states, and classes of characters.

It tells few classes of characters apart. Words compare folded characters: of a folded character that is in no banned
and no allowed word only the kind counts. Patterns read a character by the byte classes of their automata. Characters
that are alike for both make one class. A text classifies characters one by one (:class:`~sfgen.ban.automaton.Classes`);
here those of a vocabulary, or all 1.1 million, are classified together, and the part of the work that depends on no
word is done once a process.

States are numbered as they are met (Thompson 1968), so that the characters of one depth are one look-up in a table of
steps. The table is a view: the states belong to the automaton, which computes each step that is not known.

The classes also tell whether any way to finish a half character is left. After ``talk`` the first half of an emoji
leads nowhere where ``talk`` is banned: whichever emoji it becomes, it ends the word. A token that ends there completes
no match yet, but no clean text can follow. A search that does not know this would try all such halves, with a forward
pass after each.
"""

from __future__ import annotations

import itertools
import unicodedata
from collections import defaultdict
from collections.abc import Hashable, Sequence
from functools import cache, lru_cache
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfgen.automata.by_character import BLOCK, CharacterMap, distinct, paired
from sfgen.ban.automaton import Automaton, State
from sfgen.ban.characters import (
    CASES,
    KINDS,
    NON_WORD,
    UNSPACED_BLOCKS,
    Seen,
    extended_kind,
    reading_table,
)
from sfgen.ban.confusables import (
    INVISIBLE,
    SPELLING_BLOCKS,
    bars,
    confusable_letters,
    letter_symbols,
    symbols,
)
from sfgen.ban.detection import mark_of, state_of
from sfgen.ban.seam import SeamMark, SeamMatcher
from sfgen.protocols import Int32

# ---- states ----------------------------------------------------------------------------------------------------------

COMPLETE: Final = 0
"""The state after a banned match."""

GONE: Final = 1
"""The state in which no partial match from before the token is left."""

UNKNOWN: Final = -1
"""A step that was not computed yet."""


class StateTable:
    """The states of a ban as numbers, with their known steps.

    It belongs to one thread. Numbers are valid until :meth:`forget`.
    """

    def __init__(self, automata: Automaton, members: Sequence[bytes], *, only_open: bool = False) -> None:
        self._matcher = SeamMatcher(automata)
        self._automaton = automata
        self._members = members
        self._characters: list[tuple[int, ...] | None] = [None] * len(members)  # their classes in the automaton
        self._only_open = only_open
        self.forget()

    def forget(self) -> None:
        """Forget all states."""
        self._numbers: dict[Hashable, int] = {}
        # By number: the states of the automaton in both readings, once if they are equal; within a character a mark.
        self._states: list[tuple[State, ...] | SeamMark | None] = [None, None]
        self.steps: Int32 = np.full((64, len(self._members)), UNKNOWN, dtype=np.int32)
        self.steps[COMPLETE], self.steps[GONE] = COMPLETE, GONE
        self._ends = {COMPLETE: True}

    @property
    def cells(self) -> int:
        """The size of the table of steps."""
        return self.steps.size

    @property
    def classes(self) -> int:
        """The number of classes of characters."""
        return len(self._members)

    def begin(self, mark: SeamMark) -> int:
        """Return the state of a mark of the same ban; a token begins there."""
        self._matcher.reset(mark)
        return self._number()

    def after(self, states: Int32, classes: Int32) -> Int32:
        """Return the states after characters of some classes, all int32 ``[n]``."""
        after: Int32 = self.steps[states, classes]
        unknown = after == UNKNOWN
        if unknown.any():
            pairs = np.unique(states[unknown].astype(np.int64) * self.classes + classes[unknown])
            self.fill(np.stack(np.divmod(pairs, self.classes), axis=1))
            after = self.steps[states, classes]
        return after

    def fill(self, pairs: NDArray[np.integer]) -> None:
        """Compute the steps of states (first column) with classes (second column)."""
        for state, label in pairs.tolist():
            known = self._states[state]
            if known is None or isinstance(known, SeamMark):
                answer = self.read(state, self._members[label])
            else:
                answer = self._step(known, label)
            self.steps[state, label] = answer  # there may be more room than before

    def _step(self, states: tuple[State, ...], label: int) -> int:
        """Return the number of the state after a member of a class."""
        automaton, characters = self._automaton, self._characters[label]
        if characters is None:
            text = self._members[label].decode()
            characters = self._characters[label] = tuple([automaton.classes[character][0] for character in text])
        for number in characters:
            steps = [automaton.step(state, number) for state in states]
            if any(step.certain for step in steps):
                return COMPLETE
            states = tuple(dict.fromkeys([step.target for step in steps]))
        return self._numbered(states, states)

    def read(self, state: int, data: bytes) -> int:
        """Return the state after some bytes."""
        if state in (COMPLETE, GONE):
            return state
        matcher = self.at(state)
        if matcher.advance(data) is not None:
            return COMPLETE
        if self._only_open and self.is_inside(state) and not matcher.mark().pending:
            # A match that begins after the half-read character is not open.
            matcher = self.at(state)
            matcher.close()
            matcher.advance(data)
        return self._number()

    def completes(self, state: int, data: bytes) -> bool:
        """Return whether some bytes complete a match."""
        return state == COMPLETE or (state != GONE and self.at(state).advance(data) is not None)

    def ends_in_match(self, state: int) -> bool:
        """Return whether the end of the text completes a match."""
        answer = self._ends.get(state)
        if answer is None:
            answer = self._ends[state] = state != GONE and self.at(state).finish() is not None
        return answer

    def is_inside(self, state: int) -> bool:
        """Return whether a character is half read."""
        known = self._states[state]
        return isinstance(known, SeamMark) and bool(known.pending)

    def at(self, state: int) -> SeamMatcher:
        """Return a matcher in a state, valid until another method is called."""
        known = self._states[state]
        assert known is not None
        if not isinstance(known, SeamMark):
            known = SeamMark(mark_of(known[0]), mark_of(known[1]) if len(known) == 2 else None)
        self._matcher.reset(known)
        return self._matcher

    def _number(self) -> int:
        """Return the number of the matcher's state."""
        matcher = self._matcher
        if matcher.mark().pending:
            return self._numbered(matcher.state, matcher.mark())
        if self._only_open:
            matcher.close()
        mark = matcher.mark()
        states = tuple(dict.fromkeys([state_of(each) for each in (mark.after, mark.alone) if each is not None]))
        return self._numbered(states, states)

    def _numbered(self, key: Hashable, state: tuple[State, ...] | SeamMark) -> int:
        """Return the number of a state, a new one if need be."""
        if self._only_open and not isinstance(state, SeamMark) and not any(each.is_open for each in state):
            return GONE
        number = self._numbers.setdefault(key, len(self._states))
        if number == len(self._states):
            self._states.append(state)
            if number == len(self.steps):
                self.steps = np.concatenate([self.steps, np.full_like(self.steps, UNKNOWN)])
        return number


CUT: Final = b"\xc3"
"""The first byte of a character, which cuts a half-read character short."""

# By the length of a character: the bits of its first byte, and the first and the last code point.
_LENGTHS: Final = {2: (0x1F, 0x80, 0x7FF), 3: (0x0F, 0x800, 0xFFFF), 4: (0x07, 0x10000, 0x10FFFF)}


def is_dead(matcher: SeamMatcher) -> bool:
    r"""Return whether every continuation of the text completes a match; the matcher is unchanged.

    Such a text ends inside a character; its end would complete a match, too.

    >>> from sfgen.ban import BannedWords
    >>> matcher = BannedWords(["talk"]).matcher()
    >>> [matcher.advance(data) or is_dead(matcher) for data in (b"talk", b"\xf0\x9f\x98")]
    [False, True]
    >>> matcher = BannedWords(["talk"]).matcher()
    >>> [matcher.advance(data) or is_dead(matcher) for data in (b"talk", b"\xc3")]  # of an "é", for example
    [False, False]
    """
    mark = matcher.mark()
    if not mark.pending or matcher.finish() is None:
        return False
    try:
        endings = [whole[len(mark.pending) :] for _, whole in characters_from(matcher.automata, mark.pending)]
        for ending in (CUT, *endings):
            matcher.reset(mark)
            if matcher.advance(ending) is None:
                return False
    finally:
        matcher.reset(mark)
    return True


@lru_cache(maxsize=4096)
def characters_from(automata: Automaton, pending: bytes) -> tuple[tuple[int, bytes], ...]:
    """Return the classes of the characters that ``pending`` may become, each with one of its characters."""
    length = 2 if pending[0] < 0xE0 else 3 if pending[0] < 0xF0 else 4
    bits, lowest, highest = _LENGTHS[length]
    code = pending[0] & bits
    for byte in pending[1:]:
        code = code << 6 | byte & 0x3F
    missing = 6 * (length - len(pending))
    first, after = max(code << missing, lowest) // BLOCK, (min((code + 1) << missing, highest + 1)) // BLOCK
    labels = character_classes(automata, False).labels
    rows, blocks = np.unique(labels.row_of_block[first:after], return_index=True)
    numbers, positions = np.unique(labels.rows[rows], return_index=True)
    is_text = numbers >= 0  # surrogates have no number
    row, column = np.divmod(positions[is_text], BLOCK)
    codes = (first + blocks[row]) * BLOCK + column
    return tuple(
        (number, chr(code).encode()) for number, code in zip(numbers[is_text].tolist(), codes.tolist(), strict=True)
    )


# ---- classes of characters -------------------------------------------------------------------------------------------

_EVERY = 0x110000
_ASCII = 0x80

# The planes that have characters, except those for private use.
_ASSIGNED = ((0, 0x40000), (0xE0000, 0xF0000))
_SURROGATES = slice(0xD800, 0xE000)

_PART = 256
_OFTEN_DROPPED = frozenset(["Cc", "Cf", "Mc", "Me", "Mn"])
"""Categories of characters that are dropped when normalized, or most of them."""


class CharacterClasses(NamedTuple):
    """A partition of the characters by their effect on a matcher."""

    # the class of each character; -1 for surrogates, and for characters beyond ASCII if only these were wanted
    labels: CharacterMap
    members: tuple[str, ...]


@lru_cache(maxsize=16)
def character_classes(automata: Automaton, ascii_only: bool) -> CharacterClasses:
    r"""Partition the characters into classes that the ban tells apart.

    >>> from sfgen.ban import BannedWords
    >>> labels, members = character_classes(BannedWords(["talk"]).automata, True)
    >>> [members[labels.number(ord(letter))] for letter in "tTxY?"]
    ['T', 'T', '0', '0', '\x00']
    """
    last = _ASCII if ascii_only else _EVERY
    unseen = folding(automata.ignore_case, automata.normalize, last)
    seen = automata.seen()
    classes, numbers = unseen.classes.copy(), dict(unseen.numbers)
    for code in {*map(ord, seen.alphabet), *_made_of(seen, unseen)}:
        if code < last:
            classes[code] = _number(seen[chr(code)], numbers)
    labels = CharacterMap.of_numbers(classes)
    for automaton in automata.of_patterns.automata if automata.of_patterns is not None else ():
        labels, _ = paired(labels, automaton.labels.classes())
    return _with_members(labels)


def text_classes(automata: Automaton, texts: Sequence[str]) -> NDArray[np.int32]:
    """Partition texts, mostly single characters, into classes, int32 ``[texts]``.

    Texts of a class have the same effect on every match. The numbers are not those of :func:`character_classes`.
    """
    codes, by_length = _characters_of(tuple(texts))
    unseen = _unseen(codes.tobytes(), automata.ignore_case, automata.normalize)
    seen = automata.seen()
    classes, numbers = unseen.classes.copy(), dict(unseen.numbers)
    for position in _made_of(seen, unseen):
        classes[position] = _number(seen[chr(codes[position])], numbers)
    for automaton in automata.of_patterns.automata if automata.of_patterns is not None else ():
        by_pattern = automaton.labels.of(codes)
        pairs = classes.astype(np.int64) * (int(by_pattern.max(initial=0)) + 2) + by_pattern
        classes = np.unique(pairs, return_inverse=True)[1].reshape(-1).astype(np.int32)
    labels, count = np.empty(len(texts), dtype=np.int32), 0
    for those, characters in by_length:
        chosen, number = distinct(classes[characters])
        labels[those] = count + number
        count += len(chosen)
    return labels


@lru_cache(maxsize=4)
def _characters_of(
    texts: tuple[str, ...],
) -> tuple[NDArray[np.uint32], Sequence[tuple[NDArray[np.int64], NDArray[np.int64]]]]:
    """Return the code points of texts, each once; and for each length the texts and the positions of their characters.

    The last few results are kept for the next bans.
    """
    data = "".join(texts).encode("utf-32-le", "surrogatepass")
    codes, positions = np.unique(np.frombuffer(data, np.uint32), return_inverse=True)
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    starts = np.cumsum(lengths) - lengths
    by_length = [
        (those, positions.reshape(-1)[starts[those, None] + np.arange(length)])
        for length in np.unique(lengths)
        for those in [np.flatnonzero(lengths == length)]
    ]
    return codes, by_length


class _Unseen(NamedTuple):
    """Some characters as an empty list of words would read them."""

    classes: NDArray[np.int32]  # the class of each, int32; -1 for surrogates
    numbers: dict[Hashable, int]  # these classes, without the extended kinds
    made_of: dict[str, list[int]]  # by folded character, the positions of those that are read as it, also beside others


def _made_of(seen: Seen, unseen: _Unseen) -> set[int]:
    """Return the positions of the characters that these words may read otherwise than an empty list does."""
    return {position for piece in seen.alphabet for position in unseen.made_of.get(piece, ())}


def _number(key: Hashable, numbers: dict[Hashable, int]) -> int:
    """Return the class of a key of :class:`Seen`, a new one if need be."""
    return key if isinstance(key, int) else numbers.setdefault(key, KINDS + len(numbers))


@lru_cache(maxsize=4)
def _unseen(codes: bytes, ignore_case: bool, normalize: bool) -> _Unseen:
    """Classify code points, uint32; the last few results are kept for the next bans."""
    seen, table = Seen((), ignore_case, normalize), reading_table(ignore_case, normalize)
    numbers: dict[Hashable, int] = {}
    made_of: defaultdict[str, list[int]] = defaultdict(list)
    classes = []
    for position, letter in enumerate(map(chr, np.frombuffer(codes, np.uint32).tolist())):
        classes.append(_number(seen[letter], numbers))
        for unit in table[letter].every_unit:
            made_of[unit.character].append(position)
    return _Unseen(np.array(classes, dtype=np.int32), numbers, dict(made_of))


def _with_members(labels: CharacterMap) -> CharacterClasses:
    """Number the classes that have members from 0, and choose a member of each."""
    numbers, positions = np.unique(labels.rows, return_index=True)
    _, first_block = np.unique(labels.row_of_block, return_index=True)
    row, column = np.divmod(positions, BLOCK)
    codes = first_block[row] * BLOCK + column
    alive = numbers >= 0
    renumber = np.full(int(numbers[-1]) + 1, -1, dtype=np.int32)
    renumber[numbers[alive]] = np.arange(int(alive.sum()))
    return CharacterClasses(labels.renumbered(renumber), tuple(map(chr, codes[alive].tolist())))


@cache
def folding(ignore_case: bool, normalize: bool, last: int) -> _Unseen:
    """Compute the classes of characters that depend on no word, for code points below ``last``."""
    kinds = np.full(last, NON_WORD, dtype=np.int32)
    may_change = np.zeros(last, dtype=np.bool_)
    blocks = (*UNSPACED_BLOCKS, *(SPELLING_BLOCKS if normalize else ()))
    for first, end in _ASSIGNED:
        codes = range(first, min(end, last))
        if not codes:
            continue
        # The kind is told from the category and, for some, from the block.
        categories = "".join(map(unicodedata.category, map(chr, codes)))
        runs = np.frombuffer(categories.encode(), dtype=np.uint16)
        edges = {first, *(np.flatnonzero(runs[1:] != runs[:-1]) + first + 1).tolist()}
        edges.update(edge for low, high, *_ in blocks for edge in (low, high + 1) if edge in codes)
        for start, after in itertools.pairwise([*sorted(edges), codes.stop]):
            # Those that are decomposed are checked one by one; they may be raised letters.
            member = next((chr(code) for code in range(start, after) if not unicodedata.decomposition(chr(code))), "a")
            kinds[start:after] = extended_kind(member, normalize)
            may_change[start:after] = normalize and unicodedata.category(chr(start)) in _OFTEN_DROPPED
            if normalize:
                kinds[start:after] += CASES * reading_table(ignore_case, normalize)[member].case
        for start in range(codes.start, codes.stop, _PART):
            part = "".join(map(chr, range(start, min(start + _PART, codes.stop))))
            if _may_change(part, ignore_case, normalize):
                may_change[start : start + len(part)] |= [
                    _may_change(letter, ignore_case, normalize) for letter in part
                ]
    if normalize:
        for low, high in INVISIBLE:
            may_change[low : high + 1] = True
    kinds[_SURROGATES] = -1
    may_change[_SURROGATES] = False
    seen = Seen((), ignore_case, normalize)
    numbers: dict[Hashable, int] = {}
    made_of: defaultdict[str, list[int]] = defaultdict(list)
    table = reading_table(ignore_case, normalize)
    for letter in map(chr, np.flatnonzero(may_change).tolist()):
        kinds[ord(letter)] = _number(seen[letter], numbers)
        for unit in table[letter].every_unit:
            made_of[unit.character].append(ord(letter))
    return _Unseen(kinds, numbers, dict(made_of))


def _may_change(text: str, ignore_case: bool, normalize: bool) -> bool:
    """Return whether a character of the text may be read as another, or whether its category does not decide its kind.

    Characters that are dropped when normalized are not looked for.
    """
    if ignore_case and text.casefold() != text:
        return True
    return unicodedata.normalize("NFKD", text) != text or (
        normalize and not (_all_confusables().isdisjoint(text) and _all_confusables().isdisjoint(text.upper()))
    )


@cache
def _all_confusables() -> frozenset[str]:
    return frozenset(["I", *confusable_letters(), *letter_symbols(), *bars(), *symbols()])
