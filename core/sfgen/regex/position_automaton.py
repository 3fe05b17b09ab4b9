r"""Where in the pattern's own text the reading of a text stands, for views that move a marker through it.

This is the position automaton (Glushkov 1961, McNaughton and Yamada 1960): its states are the pieces of the pattern's
text that read a character, and a step goes from a piece to one that can stand behind it. A minimal automaton is no use
here, for it has merged what was written in several places: after ``hot``, two pieces of ``hot|hotel`` may have read the
last character.

Repeats are counted, not written out: a piece goes with the number of times that each repeat around it has come round.
So ``{3}`` and ``{0,2000}`` cost the same and both are exact. Where counts make for too many possibilities at once
(``(\w{1,100} ?){1,100}`` after some dozens of letters), the repeats that have begun by then are no longer counted: more
pieces are shown than are possible, never fewer. The same holds for what is no concern of single pieces: anchors and
lookarounds are passed over, and atomic groups are plain groups. The automaton itself has the last word on what a
pattern accepts (:class:`sfgen.automata.Dfa`); this only says where it is written.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from sfgen.regex.pieces import Alternation, Part, Piece, Repeat, Sequence, read_pieces

Counts: TypeAlias = tuple[int | None, ...]
"""How often each repeat around a part has come round, this time included, outermost first; ``None`` is not counted."""

Configuration: TypeAlias = tuple[Piece, Counts]

Span: TypeAlias = tuple[int, int]
"""First and past-the-end code-point offset in the pattern."""

MAX_CONFIGURATIONS = 2_000
"""Parts with different counts that one step may come by, in addition to what a pattern without counts needs."""


@dataclass(frozen=True, slots=True)
class Place:
    """The pieces that may have read the last character, with their counts."""

    read: frozenset[Configuration]
    at_start: bool = False


class _Following(NamedTuple):
    """What a text may go on with at a place."""

    read: frozenset[Configuration]
    may_end: bool


class PatternPlaces:
    r"""Which pieces of a pattern's text read what.

    Places are hashable and equal if they are the same place of the same object. What is computed for one is kept for a
    while, so that a view may ask again and again.

    Args:
        pattern: The pattern.

    Raises:
        PatternError: :func:`sfgen.regex.parse` refuses it.

    >>> places = PatternPlaces("[a-z]{3}[0-9]")
    >>> place = places.start
    >>> for character in "abc":
    ...     place = places.step(place, character)
    >>> places.last_read(place), places.next(place), places.may_end(place)
    (((0, 5),), ((8, 13),), False)
    """

    def __init__(self, pattern: str) -> None:
        self._tree = read_pieces(pattern)
        # Every part of the tree has a character of the pattern that it stands for, and is met before and behind it.
        self._most_steps = MAX_CONFIGURATIONS + 2 * len(pattern)
        self._following = lru_cache(maxsize=64)(self._follow)
        self._after = lru_cache(maxsize=256)(self._step)
        self.start = Place(frozenset(), at_start=True)

    def step(self, position: Place, character: str) -> Place:
        """Read one more character.

        Args:
            position: Where the text stands.
            character: What comes next.

        Returns:
            The place behind it; one without spans if no piece can read the character.
        """
        return self._after(position, ord(character))

    def last_read(self, position: Place) -> tuple[Span, ...]:
        """List the pieces that may have read the last character, in order."""
        return _spans(position.read)

    def next(self, position: Place) -> tuple[Span, ...]:
        """List the pieces that may read the next character, in order."""
        return _spans(self._following(position).read)

    def may_end(self, position: Place) -> bool:
        """Tell whether the text that was read can be complete."""
        return self._following(position).may_end

    def _step(self, position: Place, code: int) -> Place:
        following = self._following(position).read
        return Place(frozenset(reader for reader in following if _reads(reader[0], code)))

    def _follow(self, position: Place) -> _Following:
        walk = _Walk(self._most_steps)
        if position.at_start:
            walk.begin(self._tree)
        elif not walk.go_on(position.read):
            walk = _Walk(None)
            walk.go_on({(piece, (None,) * len(counts)) for piece, counts in position.read})
        return _Following(frozenset(walk.read), walk.may_end)


def _spans(configurations: Iterable[Configuration]) -> tuple[Span, ...]:
    return tuple(sorted({(piece.start, piece.end) for piece, _ in configurations}))


def _reads(piece: Piece, code: int) -> bool:
    """Whether the character is in the piece's set: in the last range that does not begin behind it."""
    position = bisect_right(piece.characters, (code, 0x110000))
    return position > 0 and code <= piece.characters[position - 1][1]


class _Walk:
    """A walk through the tree, from where a text stands to all that can be read next.

    A part of the tree that is met again with the same counts is not walked again, so each step takes time in proportion
    to the pattern, times the different counts.

    Args:
        most_steps: How many parts may be met; ``None`` is no limit.
    """

    def __init__(self, most_steps: int | None) -> None:
        self.read: set[Configuration] = set()
        self.may_end = False
        self._most_steps = most_steps
        self._entered: set[tuple[Part, Counts]] = set()
        self._left: set[tuple[Part, Counts]] = set()

    def begin(self, tree: Part) -> None:
        self.may_end = tree.nullable
        self._enter(tree, ())

    def go_on(self, read: Iterable[Configuration]) -> bool:
        """Go on behind some pieces; false if that took too many steps and was given up."""
        for piece, counts in read:
            self._leave(piece, counts)
            if self._most_steps is not None and len(self._entered) + len(self._left) > self._most_steps:
                return False
        return True

    def _enter(self, part: Part, counts: Counts) -> None:
        """What can be read first in a part."""
        waiting = [(part, counts)]
        while waiting:
            entered = waiting.pop()
            if entered in self._entered:
                continue
            self._entered.add(entered)
            part, counts = entered
            match part:
                case Piece():
                    self.read.add((part, counts))
                case Sequence(parts):
                    for inner in parts:
                        waiting.append((inner, counts))
                        if not inner.nullable:
                            break
                case Alternation(branches):
                    waiting.extend((branch, counts) for branch in branches)
                case Repeat(child):
                    waiting.append((child, (*counts, 1)))

    def _leave(self, part: Part, counts: Counts) -> None:
        """What can be read behind a part of which something was read."""
        while (part, counts) not in self._left:
            self._left.add((part, counts))
            around = part.parent
            if around is None:
                self.may_end = True
                return
            if isinstance(around, Sequence) and part.index + 1 < len(around.parts):
                part = around.parts[part.index + 1]
                self._enter(part, counts)
                if not part.nullable:
                    return
                continue
            if isinstance(around, Repeat):
                *outer, count = counts
                self._come_round(around, (*outer,), count)
                if count is not None and count < around.minimum:
                    return
                counts = (*outer,)
            part = around

    def _come_round(self, repeat: Repeat, outer: Counts, count: int | None) -> None:
        """What can be read first when a repeat has come round so often."""
        if repeat.maximum == 1:
            return
        if count is None:
            self._enter(repeat.child, (*outer, None))
        elif repeat.maximum is None:
            # What is more than the minimum makes no difference any more.
            self._enter(repeat.child, (*outer, min(count + 1, max(repeat.minimum, 1))))
        elif count < repeat.maximum:
            self._enter(repeat.child, (*outer, count + 1))
