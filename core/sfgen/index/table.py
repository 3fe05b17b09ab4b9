"""The automaton as the walk reads it: one flat table of unsigned numbers.

A row of the table is a state, a column a byte class; after the last state comes one more that is dead. An entry is the
place of the target's row in the flat table, so that a step is one addition and one look. The highest bit of an entry is
set where no token may end in the target: in the dead state, and in states that are no *goal*.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

UInt32 = NDArray[np.uint32]

OFFSET = np.uint32(0x7FFFFFFF)
"""The bits of an entry that are the place of the target's row."""

NO_END = np.uint32(0x80000000)
"""The bit of an entry that is set where no token may end."""


def walking_table(transitions: NDArray[np.int32], goal: NDArray[np.bool_] | None) -> UInt32:
    """The table of an automaton, uint32 ``[states + 1, classes]``.

    Args:
        transitions: Next state, int32 ``[states, classes]``; -1 is no transition.
        goal: The states in which a token may end, bool ``[states]``; ``None`` for all.

    >>> table = walking_table(np.array([[1, -1], [-1, 0]], dtype=np.int32), np.array([True, False]))
    >>> (table & OFFSET).tolist(), (table >> 31).tolist()
    ([[2, 4], [4, 0], [4, 4]], [[1, 1], [1, 0], [1, 1]])
    """
    states, classes = transitions.shape
    entries = np.arange(0, (states + 1) * classes, classes, dtype=np.uint32)
    if goal is not None:
        entries[:-1][~goal] |= NO_END
    entries[-1] |= NO_END
    table = np.empty((states + 1, classes), dtype=np.uint32)
    table[:states] = entries[transitions]  # -1 is the last entry: dead
    table[states] = entries[-1]
    return table
