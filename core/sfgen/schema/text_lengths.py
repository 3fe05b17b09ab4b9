"""The JSON strings of an automaton whose texts have some number of characters.

An automaton is read side by side with one that counts. For small numbers that is one automaton of everything: a copy
of all strings' automaton for each number of characters, where each character leads into the next copy. For large ones
a register counts, and the automaton is only taken apart into states that a character ends in and others.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from sfgen.automata import Dfa
from sfgen.automata.algebra import Keep, product
from sfgen.automata.determinize import MAX_DFA_STATES, Deterministic
from sfgen.automata.minimize import minimize
from sfgen.errors import PatternTooLarge, SchemaTooLarge
from sfgen.grammar.rules import CountedText, Leaf
from sfgen.schema.written_text import counted_text, no_text

MAX_CELLS = 4_000_000
"""States times classes of bytes, before equal states are joined."""

_MAX_COPIED = 2_000  # states, up to which an automaton of everything is better than a register
_MAX_WORK = 50_000_000  # cells of tables that are looked at
_KEPT = 256
_FAR = 1 << 31  # more than any number of bytes


def of_length(strings: Dfa, minimum: int, maximum: int | None) -> Leaf | CountedText:
    """Restrict strings to texts of ``minimum`` to ``maximum`` characters.

    Args:
        strings: A minimal automaton of written texts.
        minimum: The fewest characters.
        maximum: The most, not below the fewest; ``None``: no limit.

    Returns:
        A leaf, whose automaton may accept nothing; or a counted text that has a text and that needs no minimum: its
        automaton sees to that.

    Raises:
        SchemaTooLarge: It passes :data:`MAX_CELLS` or 200 000 states.

    >>> from sfgen.schema.written_text import written
    >>> short = of_length(written(Dfa.from_regex("(é|ab)*")), 2, 3)
    >>> [short.dfa.accepts(text) for text in ('"é"', '"ab"', '"éab"', '"abab"')]
    [False, True, True, False]
    >>> of_length(written(Dfa.from_regex("(é|ab)*")), 2, 3000).maximum
    3000
    """
    if maximum is not None and (longest := _longest(strings)) is not None and longest <= maximum:
        maximum = None
    if maximum is not None and len(strings) * (maximum + 1) <= _MAX_COPIED:
        return Leaf(_read_beside(strings, _copies(minimum, maximum)))
    enough = strings if minimum == 0 else _read_beside(strings, _copies(minimum, None))
    if maximum is None or enough.is_empty:
        return Leaf(enough)
    counted, fewest = _counted(enough)
    if counted is None:
        return Leaf(_read_beside(strings, _copies(minimum, maximum)))
    if fewest > maximum:
        return Leaf(no_text())
    return CountedText(counted.dfa, counted.counts, counted.needs_minimum, 0, maximum)


def _longest(dfa: Dfa) -> int | None:
    """The bytes of the longest text; ``None``: there is none, or it takes too long to know."""
    states = np.arange(len(dfa))
    if (dfa.transitions == states[:, None]).any():
        return None
    reached = np.zeros(1, dtype=np.intp)
    work = 0
    for length in range(len(dfa)):
        work += len(dfa) + len(reached) * dfa.transitions.shape[1]
        if work > _MAX_WORK // 4:
            return None
        is_next = np.zeros(len(dfa) + 1, dtype=np.bool_)  # the last is for no transition
        is_next[dfa.transitions[reached]] = True
        reached = np.flatnonzero(is_next[:-1])
        if not len(reached):
            return length
    return None  # a text that comes to more states than there are goes round


def _copies(minimum: int, maximum: int | None) -> Deterministic:
    """The automaton of all strings with texts of some lengths.

    Raises:
        SchemaTooLarge: It has too many states.
    """
    one = counted_text(minimum, maximum)
    last = minimum if maximum is None else maximum
    states, classes = one.dfa.transitions.shape
    if states * (last + 1) > MAX_DFA_STATES:
        raise _too_large()
    copies = np.arange(last + 1, dtype=np.int32)[:, None, None]
    following = copies + one.counts[one.dfa.transitions]  # whatever that is where there is no transition
    if maximum is None:
        following = np.minimum(following, last)  # more is as good
    table = np.where((one.dfa.transitions >= 0) & (following <= last), one.dfa.transitions + following * states, -1)
    accepting = (copies[:, 0] >= minimum) & one.dfa.accepting
    return Deterministic(table.reshape(-1, classes).astype(np.int32), one.dfa.byte_classes, accepting.reshape(-1))


def _read_beside(strings: Dfa, others: Deterministic) -> Dfa:
    """The minimal automaton of the strings that both accept."""
    try:
        both = product(_arrays(strings), others, Keep.BOTH, "")
    except PatternTooLarge:
        raise _too_large() from None
    if both.transitions.size > MAX_CELLS:
        raise _too_large()
    return Dfa(*minimize(both))


@lru_cache(maxsize=_KEPT)
def _counted(strings: Dfa) -> tuple[CountedText | None, int]:
    """The strings of an automaton with their characters counted, and the fewest that one has.

    In a minimal automaton a state can be entered by the last byte of a character and inside of an escape. So it is read
    beside the counting automaton of all strings, and a state is a pair of states.

    Returns:
        ``None`` for the strings where a register cannot tell how far the end is: from some state the way to the end
        that is shortest in bytes is not shortest in characters, and near the maximum there is the other one only; or
        where it takes too long to know.
    """
    every = counted_text(0, None)
    both = product(_arrays(strings), _arrays(every.dfa), Keep.BOTH, "")
    dfa = Dfa(*both)
    other = np.full(len(dfa) + 1, -1, dtype=np.intp)  # of the pair; the last is for no transition
    other[0] = 0
    front = np.zeros(1, dtype=np.intp)
    _, bytes_of_class = np.unique(dfa.byte_classes, return_index=True)
    while len(front):
        targets = dfa.transitions[front]
        others = every.dfa.transitions[other[front]][:, every.dfa.byte_classes[bytes_of_class]]
        is_new = (targets >= 0) & (other[targets] < 0)
        other[targets[is_new]] = others[is_new]
        front = np.unique(targets[is_new])
    counts, closed = every.counts[other[:-1]], every.needs_minimum[other[:-1]]
    by_characters = _least(dfa, counts * _FAR + 1)
    by_bytes = _least(dfa, counts + _FAR)
    if by_characters is None or by_bytes is None or (by_characters % _FAR != by_bytes // _FAR).any():
        return None, 0
    for flags in (counts, closed):
        flags.setflags(write=False)
    return CountedText(dfa, counts, closed, 0, None), int(by_characters[0] // _FAR)


def _least(dfa: Dfa, costs: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """The least cost of the way from each state to the end, int64 [states]; ``None``: it takes too long to know.

    Bellman and Ford's way (1958), for all states at once.

    Args:
        dfa: The automaton.
        costs: What each state costs to enter, int64 [states].
    """
    unknown = np.int64(_FAR * _FAR)
    least = np.where(dfa.accepting, np.int64(0), unknown)
    for _ in range(_MAX_WORK // dfa.transitions.size):
        further = np.append(least + costs, unknown)[dfa.transitions].min(axis=1)  # the last is for no transition
        found: NDArray[np.int64] = np.minimum(least, further)
        if np.array_equal(found, least):
            return least
        least = found
    return None


def _arrays(dfa: Dfa) -> Deterministic:
    return Deterministic(dfa.transitions, dfa.byte_classes, dfa.accepting)


def _too_large() -> SchemaTooLarge:
    return SchemaTooLarge(
        "the lengths of a string together with its other keywords pass the limit of "
        f"{MAX_DFA_STATES:,} states or {MAX_CELLS:,} transitions",
        hint="Take a smaller minLength or maxLength, or put the length into the pattern.",
    )
