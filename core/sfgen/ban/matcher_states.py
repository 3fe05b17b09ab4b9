"""The states of a matcher as numbers, and the texts that end inside a character.

A matcher has finitely many states, and characters that it cannot tell apart form one class
(:mod:`sfgen.ban.classes`). So it is asked once what a class does in a state, and all else is looking up, for many
tokens at once: a lazy deterministic automaton (Thompson 1968).

The classes also tell whether any way to finish a half character is left. After ``talk`` the first half of an emoji
leads nowhere where ``talk`` is banned: whichever emoji it becomes, it ends the word. A token that ends so completes no
match yet, and still nothing clean can follow. A search that does not know it tries all the halves that there are, with
a forward pass after each.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfgen.automata.by_character import BLOCK
from sfgen.ban.classes import character_classes
from sfgen.ban.matcher import BanAutomata
from sfgen.ban.seam import SeamMark, SeamMatcher
from sfgen.protocols import Int32

if TYPE_CHECKING:
    from sfgen.ban.matcher import BanAutomata
    from sfgen.ban.seam import SeamMatcher

COMPLETE: Final = 0
"""The state behind a banned match."""

GONE: Final = 1
"""The state where no partial match from before the token is left."""

UNKNOWN: Final = -1
"""A step that was not computed yet."""


class MatcherStates:
    """The states of a matcher as numbers, with their known transitions.

    It belongs to one thread. Numbers are valid until :meth:`forget`.
    """

    def __init__(self, automata: BanAutomata, members: Sequence[bytes], *, only_open: bool = False) -> None:
        self._matcher = SeamMatcher(automata)
        self._members = members
        self._only_open = only_open
        self.forget()

    def forget(self) -> None:
        """Forget all states."""
        self._numbers: dict[Hashable, int] = {}
        self._marks: list[SeamMark | None] = [None, None]
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
            answer = self.read(state, self._members[label])  # may make room
            self.steps[state, label] = answer

    def read(self, state: int, data: bytes) -> int:
        """Return the state after some bytes."""
        if state in (COMPLETE, GONE):
            return state
        return COMPLETE if self.at(state).advance(data) is not None else self._number()

    def completes(self, state: int, data: bytes) -> bool:
        """Tell whether some bytes complete a match."""
        return state == COMPLETE or (state != GONE and self.at(state).advance(data) is not None)

    def ends_in_match(self, state: int) -> bool:
        """Tell whether the end of the text completes a match."""
        answer = self._ends.get(state)
        if answer is None:
            answer = self._ends[state] = state != GONE and self.at(state).finish() is not None
        return answer

    def is_inside(self, state: int) -> bool:
        """Tell whether a character is half read."""
        known = self._marks[state]
        return known is not None and bool(known.pending)

    def at(self, state: int) -> SeamMatcher:
        """Return a matcher in a state, valid until another method is called."""
        mark = self._marks[state]
        assert mark is not None
        self._matcher.reset(mark)
        return self._matcher

    def _number(self) -> int:
        """Return the number of the matcher's state."""
        matcher = self._matcher
        if self._only_open and not matcher.goes_on():
            return GONE
        number = self._numbers.setdefault(matcher.state, len(self._marks))
        if number == len(self._marks):
            self._marks.append(matcher.mark())
            if number == len(self.steps):
                self.steps = np.concatenate([self.steps, np.full_like(self.steps, UNKNOWN)])
        return number


CUT: Final = b"\xc3"
"""Begins a character, so that it cuts one short that is half read."""

# By the length of a character: the bits of its first byte, and the first and the last code point.
_LENGTHS: Final = {2: (0x1F, 0x80, 0x7FF), 3: (0x0F, 0x800, 0xFFFF), 4: (0x07, 0x10000, 0x10FFFF)}


def is_dead(matcher: SeamMatcher) -> bool:
    r"""Tell whether every continuation of the text completes a match; the matcher is unchanged.

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
        for ending in (CUT, *_endings(matcher.automata, mark.pending)):
            matcher.reset(mark)
            if matcher.advance(ending) is None:
                return False
    finally:
        matcher.reset(mark)
    return True


class Endings(NamedTuple):
    """The characters that some beginnings may become, by class."""

    classes: NDArray[np.int32]  # int32, the classes of what each beginning may become, one beginning after the other
    starts: NDArray[np.int64]  # int64 ``[beginnings]``, where those of each beginning start
    used: tuple[int, ...]
    members: tuple[bytes, ...]


@lru_cache(maxsize=8)
def endings_of(automata: BanAutomata, beginnings: tuple[bytes, ...]) -> Endings:
    """Find the characters that some beginnings may become; the last few results are kept."""
    by_beginning = [_codes(automata, pending)[0] for pending in beginnings]
    classes = np.concatenate([np.empty(0, np.int32), *by_beginning])
    starts = np.cumsum([0, *map(len, by_beginning)])[:-1]
    members = tuple(member.encode() for member in character_classes(automata, False).members)
    return Endings(classes, starts, tuple(np.unique(classes).tolist()), members)


@lru_cache(maxsize=4096)
def _endings(automata: BanAutomata, pending: bytes) -> tuple[bytes, ...]:
    """Return the bytes that complete a character, one for each class that ``pending`` may become."""
    return tuple(chr(code).encode()[len(pending) :] for code in _codes(automata, pending)[1].tolist())


def _codes(automata: BanAutomata, pending: bytes) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the classes of characters that begin with ``pending``, and one code point of each."""
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
    return numbers[is_text], (first + blocks[row]) * BLOCK + column
