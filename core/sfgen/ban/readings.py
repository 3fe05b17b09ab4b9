"""The words of a list in one text, in every way to read it.

Nearly every character is read in one way, and then there is one *branch*. Where confusables are folded, a bar is a bar
and a letter, and the text is read in both ways from there, by :class:`~sfgen.ban.word_matcher.WordThreads` for each
branch. Branches that know the same have the same future and become one, which takes but a few characters.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

from sfgen.ban.characters import MARK, NON_WORD, Unit
from sfgen.ban.word_matcher import Found, WordAutomata, WordMark, WordThreads


class _Branch:
    """One way to read the text so far: the kind of its last folded character, and its partial matches."""

    __slots__ = ("kind", "threads")

    def __init__(self, threads: WordThreads, kind: int) -> None:
        self.threads = threads
        self.kind = kind

    def step(self, units: Sequence[Unit], start: int, before: int, end: int) -> list[Found]:
        found: list[Found] = []
        for unit in units:
            kind = self.kind if unit.kind == MARK else unit.kind
            found += self.threads.step(unit, kind, self.kind, start, before, end)
            self.kind = kind
            before = end
        return found


class BranchMark(NamedTuple):
    """The state of one branch.

    Attributes:
        kind: The kind of the last folded character.
        threads: The mark of its words.
    """

    kind: int
    threads: WordMark


class Readings:
    """The partial matches of words in one text, in all readings.

    Args:
        automata: The words.
        position: Where the text begins, in bytes.
    """

    def __init__(self, automata: WordAutomata, position: int) -> None:
        self._branches = [_Branch(automata.threads(position), NON_WORD)]

    def step(
        self, units: Sequence[Unit], others: Sequence[Sequence[Unit]], start: int, before: int, end: int
    ) -> Sequence[Found]:
        """Read one character.

        Args:
            units: Its folded characters; not empty.
            others: Further ways to read it.
            start: Where it begins, in bytes.
            before: Where the character before ends.
            end: Where it ends.

        Returns:
            The words that it completes in some reading, in no order.
        """
        if not others and len(self._branches) == 1:
            branch = self._branches[0]
            if len(units) > 1:
                return branch.step(units, start, before, end)
            # The same in place: nearly every character comes here.
            unit, previous = units[0], branch.kind
            branch.kind = kind = previous if unit.kind == MARK else unit.kind
            return branch.threads.step(unit, kind, previous, start, before, end)
        found: list[Found] = []
        branches = []
        for branch in self._branches:
            for reading in (units, *others):
                copy = _Branch(branch.threads.copy(), branch.kind)
                found += copy.step(reading, start, before, end)
                branches.append(copy)
        self._branches = _distinct(branches)
        return found

    def at_end(self, before: int) -> list[Found]:
        """Return the words that the end of the text would complete.

        Another boundary would complete them, too. Nothing changes.

        Args:
            before: The end of the last character.
        """
        return [match for branch in self._branches for match in branch.threads.at_end(branch.kind, before)]

    def open_from(self) -> int | None:
        """Return where the earliest partial match begins, or ``None``."""
        starts = [branch.threads.open_from() for branch in self._branches]
        return min((start for start in starts if start is not None), default=None)

    def starts(self) -> list[int]:
        """Return where each partial match begins, ordered by ``state``."""
        return [start for branch in self._branches for start in branch.threads.starts()]

    def under_way(self, most: int) -> list[int]:
        """Return the numbers of some partially matched words.

        Of these more than a boundary was read; the one that began first comes first.

        Args:
            most: The most numbers to return.
        """
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
        """Forget the words that begin at a position or later.

        It forgets them as far as they can be told from the others.

        Args:
            position: In bytes.
        """
        for branch in self._branches:
            branch.threads.forget_from(position)
        if len(self._branches) > 1:
            self._branches = _distinct(self._branches)


def _distinct(branches: list[_Branch]) -> list[_Branch]:
    """The branches that know what no other does, in an order that their states tell.

    Of two that know the same the one whose words began first is kept. What is left out leaves the starts of its words
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
