"""The automaton as the walk reads it: one flat table of unsigned numbers.

A row of the table is a state, a column a byte class; after the last state comes one more that is dead. An entry is the
offset of the target's row in the flat table, so that a step is one addition and one look. The highest bit of an entry
is set where no token may end in the target: in the dead state, and in states that are no *goal*.

After the columns of the byte classes come those of the kinds of characters (see ``sfgen.vocabulary.shapes``): where a
character of that kind leads, if all lead to the same state, and for some of the kinds where most of them lead, if not.
They are filled when they are first looked at.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

UInt32 = NDArray[np.uint32]

OFFSET = np.uint32(0x7FFFFFFF)
"""The bits of an entry that are the offset of the target's row."""

NO_END = np.uint32(0x80000000)
"""The bit of an entry that is set where no token may end."""

UNKNOWN = np.uint32(0xFFFFFFFF)
"""The entry of a kind that was not looked at yet."""

MIXED = np.uint32(0xFFFFFFFE)
"""The entry of a kind whose characters lead to different states."""

JOINED = np.uint32(0xFFFFFFFD)
"""The entry of a kind whose characters lead to states that are walked as one; see ``sfgen.index.masks.state_sets``."""


def walking_table(transitions: NDArray[np.int32], goal: NDArray[np.bool_] | None, more: int = 0) -> UInt32:
    """Build the table of an automaton.

    Args:
        transitions: Next state, int32 ``[states, classes]``; -1 is no transition.
        goal: The states in which a token may end, bool ``[states]``; ``None`` for all.
        more: The number of columns for kinds of characters.

    Returns:
        Uint32 ``[states + 1, classes + more]``.

    >>> table = walking_table(np.array([[1, -1], [-1, 0]], dtype=np.int32), np.array([True, False]))
    >>> (table & OFFSET).tolist(), (table >> 31).tolist()
    ([[2, 4], [4, 0], [4, 4]], [[1, 1], [1, 0], [1, 1]])
    """
    states, classes = transitions.shape
    width = classes + more
    entries = np.arange(0, (states + 1) * width, width, dtype=np.uint32)
    if goal is not None:
        entries[:-1][~goal] |= NO_END
    entries[-1] |= NO_END
    table = np.full((states + 1, width), UNKNOWN, dtype=np.uint32)
    table[:states, :classes] = entries[transitions]  # -1 is the last entry: dead
    table[states] = entries[-1]
    return table
