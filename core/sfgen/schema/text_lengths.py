"""The JSON strings of an automaton whose texts have some number of characters.

The automaton is read side by side with one that counts: a copy of all strings' automaton for each number of characters,
where each character leads into the next copy.
"""

from __future__ import annotations

import numpy as np

from sfgen.automata import Dfa
from sfgen.automata.algebra import Keep, product
from sfgen.automata.determinize import MAX_DFA_STATES, Deterministic
from sfgen.automata.minimize import minimize
from sfgen.errors import PatternTooLarge, SchemaTooLarge
from sfgen.schema.written_text import counted_text

MAX_CELLS = 8_000_000
"""States times classes of bytes, before equal states are joined."""


def of_length(strings: Dfa, minimum: int, maximum: int | None, max_cells: int = MAX_CELLS) -> Dfa:
    """The strings whose texts have ``minimum`` to ``maximum`` characters; it may be ``strings`` itself.

    Args:
        strings: A minimal automaton of written texts.
        minimum: The fewest characters.
        maximum: The most, not below the fewest; ``None``: no limit.
        max_cells: The largest table, states times classes of bytes, before equal states are joined.

    Raises:
        SchemaTooLarge: It passes ``max_cells``, or 200 000 states.

    >>> from sfgen.schema.written_text import written
    >>> short = of_length(written(Dfa.from_regex("(é|ab)*")), 2, 3)
    >>> [short.accepts(text) for text in ('"é"', '"ab"', '"éab"', '"abab"')]
    [False, True, True, False]
    """
    longest = None if maximum is None else _longest(strings)
    if longest is not None and maximum is not None and longest <= maximum:
        maximum = None
    if minimum == 0 and maximum is None:
        return strings
    try:
        both = product(_arrays(strings), _counter(minimum, maximum), Keep.BOTH, "")
    except PatternTooLarge:
        raise _too_large(max_cells) from None
    if both.transitions.size > max_cells:
        raise _too_large(max_cells)
    return Dfa(*minimize(both))


def _longest(dfa: Dfa) -> int | None:
    """The bytes of the longest text; ``None``: there is no longest."""
    states = np.arange(len(dfa))
    if (dfa.transitions == states[:, None]).any():
        return None
    reached = np.zeros(1, dtype=np.intp)
    for length in range(len(dfa)):
        is_next = np.zeros(len(dfa) + 1, dtype=np.bool_)  # the last is for no transition
        is_next[dfa.transitions[reached]] = True
        reached = np.flatnonzero(is_next[:-1])
        if not len(reached):
            return length
    return None  # a text that comes to more states than there are goes round


def _counter(minimum: int, maximum: int | None) -> Deterministic:
    """The automaton of all strings with texts of some lengths.

    Raises:
        SchemaTooLarge: It has too many states.
    """
    one = counted_text(minimum, maximum)
    last = minimum if maximum is None else maximum
    states, classes = one.dfa.transitions.shape
    if states * (last + 1) > MAX_DFA_STATES:
        raise _too_large(MAX_CELLS)
    copies = np.arange(last + 1, dtype=np.int32)[:, None, None]
    following = copies + one.counts[one.dfa.transitions]  # also for no transition, which stays none
    if maximum is None:
        following = np.minimum(following, last)  # more is as good
    table = np.where((one.dfa.transitions >= 0) & (following <= last), one.dfa.transitions + following * states, -1)
    accepting = np.where(copies[:, 0] >= minimum, one.dfa.accepting, False)
    return Deterministic(
        np.ascontiguousarray(table.reshape(-1, classes), dtype=np.int32), one.dfa.byte_classes, accepting.reshape(-1)
    )


def _arrays(dfa: Dfa) -> Deterministic:
    return Deterministic(dfa.transitions, dfa.byte_classes, dfa.accepting)


def _too_large(max_cells: int) -> SchemaTooLarge:
    return SchemaTooLarge(
        "the lengths of a string together with its other keywords pass the limit of "
        f"{MAX_DFA_STATES:,} states or {max_cells:,} transitions",
        hint="Take a smaller maxLength or minLength, or put the length into the pattern.",
    )
