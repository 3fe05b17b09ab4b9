"""What rules begin with: the calls of a state as ways to read a byte.

A call is not a step of its own. Where a state calls a rule, what the rule can read first is read from the state at
once, and the state to return to is pushed. A rule that begins with a call of another one pushes several.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfgen.errors import UsageError
from sfgen.grammar.rules import GrammarTooLarge

MAX_FRAMES = 300_000
"""The frames that the ways of all rules push; they grow with the cube of a chain in which each begins with the next."""


class LeftRecursion(UsageError):
    """A rule calls itself before it has read anything.

    Args:
        message: What is said.
        rules: The rules that call each other, in order; the last is the first again.
        hint: What to write instead.
    """

    def __init__(self, message: str, rules: Sequence[str], *, hint: str = "") -> None:
        self.rules = tuple(rules)
        super().__init__(message, hint=hint)


class Push(NamedTuple):
    """A frame to be pushed.

    Attributes:
        state: The state to return to.
        keeps: Whether the frame keeps the register.
        is_distinct: Whether texts read by such calls are distinct.
    """

    state: int
    keeps: bool
    is_distinct: bool


class Way(NamedTuple):
    """One way to read a byte.

    Attributes:
        state: The next state.
        pushes: What is pushed before, the outermost frame first.
        is_fresh: Whether the register begins anew, also where nothing is pushed (a call at the end of a rule needs no
            frame).
    """

    state: int
    pushes: tuple[Push, ...]
    is_fresh: bool


class CallSite(NamedTuple):
    """A call of a state.

    Attributes:
        entry: The first state of the rule.
        target: The state to return to.
        is_distinct: Whether the texts of such calls are distinct.
    """

    entry: int
    target: int
    is_distinct: bool


Ways = dict[int, tuple[Way, ...]]
"""For each byte class that can be read, the ways to read it."""


class Openings:
    """Finds the ways to read a byte in states that call rules.

    Args:
        table: Own steps of each state, int32 ``[states, classes]``; -1 is none.
        calls: The calls of each state that has some.
        is_end: The states to return to which needs no frame, since a rule must end in them, bool ``[states]``.
        name_of: The rule of a state, for messages.
    """

    def __init__(
        self,
        table: NDArray[np.int32],
        calls: Mapping[int, Sequence[CallSite]],
        is_end: NDArray[np.bool_],
        name_of: Callable[[int], str],
    ) -> None:
        self._table = table
        self._calls = calls
        self._is_end = is_end
        self._name_of = name_of
        self._of_entry: dict[int, Ways] = {}
        self._frames = 0  # of the ways of all entries

    def of(self, state: int) -> Ways:
        """Return a state's ways to read a byte, by byte class.

        They are its own steps, and those of the rules that it calls.

        Raises:
            GrammarTooLarge: Too many rules begin with each other.
            LeftRecursion: A rule calls itself before it has read anything.
        """
        found: dict[int, list[Way]] = {}
        row = self._table[state]
        for label in np.flatnonzero(row >= 0).tolist():
            found[label] = [Way(int(row[label]), (), False)]
        for site in self._calls.get(state, ()):
            outer: tuple[Push, ...] = ()
            if site.is_distinct or not self._is_end[site.target]:
                outer = (Push(site.target, True, site.is_distinct),)
            for label, ways in self._entry(site.entry).items():
                found.setdefault(label, []).extend(Way(way.state, outer + way.pushes, True) for way in ways)
        return {label: tuple(dict.fromkeys(ways)) for label, ways in found.items()}

    def _entry(self, entry: int) -> Ways:
        """The ways of the first state of a rule, whose register is a new one."""
        if entry not in self._of_entry:
            self._find([entry])
        return self._of_entry[entry]

    def _find(self, opened: list[int]) -> None:
        """Find the ways of an entry, before it those of all that it begins with; the first of those come last."""
        while opened:
            entry = opened[-1]
            called = (site.entry for site in self._calls.get(entry, ()))
            missing = next((each for each in called if each not in self._of_entry), None)
            if missing is None:
                self._of_entry[opened.pop()] = self._fresh(entry)
            elif missing in opened:
                names = [self._name_of(state) for state in [*opened[opened.index(missing) :], missing]]
                raise LeftRecursion(
                    f"the rule {names[0]!r} calls itself before it has read anything: {' → '.join(names)}",
                    names,
                    hint="Write such a list as a repetition.",
                )
            else:
                opened.append(missing)

    def _fresh(self, entry: int) -> Ways:
        """The ways of an entry; those of all that it begins with are found."""
        ways = {
            label: tuple(Way(way.state, _without_register(way.pushes), way.is_fresh) for way in ways)
            for label, ways in self.of(entry).items()
        }
        self._frames += sum(1 + len(way.pushes) for label in ways for way in ways[label])
        if self._frames > MAX_FRAMES:
            limit = f"{MAX_FRAMES:,} frames of rules that begin with each other"
            raise GrammarTooLarge(self._name_of(entry), limit)
        return ways


def _without_register(pushes: tuple[Push, ...]) -> tuple[Push, ...]:
    return tuple(push._replace(keeps=False) for push in pushes)
