"""The states of a matcher, as numbers.

A matcher has finitely many states, and characters that it cannot tell apart form one class
(:mod:`sfgen.ban.classes`). So it is asked once what a class does in a state, and all else is looking up, for many
tokens at once: a lazy deterministic automaton (Thompson 1968).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Final

import numpy as np

from sfgen.ban.ban_automata import BanAutomata
from sfgen.ban.seam import SeamMark, SeamMatcher
from sfgen.protocols import Int32

COMPLETE: Final = 0
"""The state behind a banned match."""

GONE: Final = 1
"""The state where no partial match from before the token is left."""

_UNKNOWN: Final = -1


class MatcherStates:
    """The states of a matcher as numbers, with their known transitions.

    It belongs to one thread. Numbers are valid until :meth:`forget`.

    Args:
        automata: The ban.
        members: The bytes of one character, or a few, of each class.
        only_open: Whether to follow only the matches that began before the token, as far as they can be told from the
            others. Where none is left, the state is ``GONE``. It is never met otherwise.
    """

    def __init__(self, automata: BanAutomata, members: Sequence[bytes], *, only_open: bool = False) -> None:
        self._matcher = SeamMatcher(automata)
        self._members = members
        self._only_open = only_open
        self.forget()

    def forget(self) -> None:
        """Forget all states."""
        self._numbers: dict[Hashable, int] = {}
        # By number: the state, and where the token began that was read when it was first met.
        self._marks: list[tuple[SeamMark, int] | None] = [None, None]
        self._steps = np.full((64, len(self._members)), _UNKNOWN, dtype=np.int32)
        self._steps[COMPLETE], self._steps[GONE] = COMPLETE, GONE
        self._ends = {COMPLETE: True}

    @property
    def cells(self) -> int:
        """The size of the table of steps."""
        return self._steps.size

    @property
    def classes(self) -> int:
        """The number of classes of characters."""
        return len(self._members)

    def begin(self, mark: SeamMark) -> int:
        """Return the state of a mark; a token begins there.

        Args:
            mark: Of a matcher of the same ban.
        """
        self._matcher.reset(mark)
        return self._number(self._matcher.length)

    def after(self, states: Int32, classes: Int32) -> Int32:
        """Return the states after characters of some classes.

        Args:
            states: Int32 ``[n]``.
            classes: Int32 ``[n]``, the class of the character that follows each.

        Returns:
            Int32 ``[n]``.
        """
        after: Int32 = self._steps[states, classes]
        unknown = after == _UNKNOWN
        if unknown.any():
            pairs = np.unique(states[unknown].astype(np.int64) * self.classes + classes[unknown])
            for pair in pairs.tolist():
                state, label = divmod(pair, self.classes)
                answer = self.read(state, self._members[label])  # may make room
                self._steps[state, label] = answer
            after = self._steps[states, classes]
        return after

    def read(self, state: int, data: bytes) -> int:
        """Return the state after some bytes.

        Args:
            state: The state before them.
            data: The bytes.
        """
        if state in (COMPLETE, GONE):
            return state
        matcher, position = self._at(state)
        return COMPLETE if matcher.advance(data) is not None else self._number(position)

    def completes(self, state: int, data: bytes) -> bool:
        """Tell whether some bytes complete a match.

        Args:
            state: The state before them.
            data: The bytes.
        """
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
        return known is not None and bool(known[0].pending)

    def at(self, state: int) -> SeamMatcher:
        """Return a matcher in a state.

        It stays there until another method is called.
        """
        return self._at(state)[0]

    def _at(self, state: int) -> tuple[SeamMatcher, int]:
        known = self._marks[state]
        assert known is not None
        mark, position = known
        self._matcher.reset(mark)
        return self._matcher, position

    def _number(self, position: int) -> int:
        """The number of the matcher's state, where a token is read that began at ``position``."""
        matcher = self._matcher
        key: Hashable
        if self._only_open:
            open_from = matcher.open_from()
            if open_from is None or open_from >= position:
                return GONE
            matcher.forget_from(position)
            key = matcher.state, matcher.origins(position)
        else:
            key = matcher.state
        number = self._numbers.setdefault(key, len(self._marks))
        if number == len(self._marks):
            self._marks.append((matcher.mark(), position))
            if number == len(self._steps):
                self._steps = np.concatenate([self._steps, np.full_like(self._steps, _UNKNOWN)])
        return number
