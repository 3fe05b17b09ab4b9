"""The automaton of host names (RFC 1123): labels of letters, digits and inner hyphens, with dots between.

A name has up to 253 characters and a label up to 63. An automaton that counted both would have a state for each pair of
counts; so the length of a whole name is counted in blocks, of which each label with its dot fills one to four.
"""

from __future__ import annotations

import numpy as np

from sfgen.automata import Dfa
from sfgen.automata.determinize import Deterministic
from sfgen.automata.minimize import minimize

BLOCK = 16
"""Characters of a block."""

_LONGEST_LABEL = 63
_NOTHING, _ALPHANUMERIC, _HYPHEN, _DOT = range(4)  # classes of bytes


def host_names(blocks: int, *, encoded: bool = True) -> Dfa:
    """Build the automaton of host names without a dot at the end.

    They have less than ``16 * blocks`` characters.

    Args:
        blocks: The most blocks that the labels of a name fill, each label with its dot.
        encoded: Whether labels may have hyphens as their third and fourth character (``xn--...``), which stand for
            labels in other scripts.

    >>> names = host_names(2)
    >>> names.accepts("a-1.example"), names.accepts("a-.example"), names.accepts("a.b.example")
    (True, False, False)
    """
    # A state is the blocks that are full, the characters of the label so far, and whether the last one is a hyphen.
    shape = blocks, _LONGEST_LABEL + 1, 2
    number = np.arange(np.prod(shape), dtype=np.int32).reshape(shape)
    table = np.full((number.size, 4), -1, dtype=np.int32)
    accepting = np.zeros(number.size, dtype=np.bool_)
    for full in range(blocks):
        for length in range(_LONGEST_LABEL + 1):
            letter, hyphen = number[full, length]
            if length:
                accepting[letter] = True
                after_dot = full + length // BLOCK + 1
                if after_dot < blocks:
                    table[letter, _DOT] = number[after_dot, 0, 0]
            # One more character, if it and a dot behind it have room.
            if length < _LONGEST_LABEL and full + (length + 1) // BLOCK < blocks:
                table[[letter, hyphen], _ALPHANUMERIC] = number[full, length + 1, 0]
                if length:
                    table[[letter, hyphen], _HYPHEN] = number[full, length + 1, 1]
                if length == 3 and not encoded:
                    table[hyphen, _HYPHEN] = -1
    byte_classes = np.full(256, _NOTHING, dtype=np.uint8)
    byte_classes[list(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")] = _ALPHANUMERIC
    byte_classes[list(b"-.")] = _HYPHEN, _DOT
    return Dfa(*minimize(Deterministic(table, byte_classes, accepting)))
