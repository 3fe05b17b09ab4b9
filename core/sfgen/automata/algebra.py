"""Automata from automata: intersection, union and difference (a product of two), complement, concatenation.

A product walks two automata side by side (Rabin and Scott, 1959): its states are the pairs of states that one text can
lead to. A side that has refused the text is dead, and stays in the pair for as long as the other side alone can decide.
The complement is taken among texts: it accepts UTF-8 only, as every automaton of a pattern does.

The results are not minimal; the empty language is a result like any other.
"""

from __future__ import annotations

from enum import IntEnum
from functools import cache

import numpy as np
from numpy.typing import NDArray

from sfgen.automata.determinize import MAX_DFA_STATES, MAX_WORK, Deterministic, determinize
from sfgen.automata.minimize import minimize
from sfgen.automata.nfa import MAX_NFA_SIZE, Nfa, build
from sfgen.errors import PatternTooLarge
from sfgen.kernels import Flags, FlagsOut, Int, Int32s, Int32sOut, Int32Table, Int32TableOut, kernel
from sfgen.regex.ast import Characters, Repeat
from sfgen.regex.characters import TEXT

_TOO_MANY_STATES, _TOO_MUCH_WORK = -1, -2

_HINT = "Combine smaller automata: use smaller counts in the patterns, or fewer choices."


class Keep(IntEnum):
    """The truth table of a product: which texts it accepts.

    Bit ``2 * left + right`` says whether a text is accepted, where 1 is a side that accepts it.
    """

    BOTH = 0b1000
    EITHER = 0b1110
    LEFT_ONLY = 0b0100


def product(left: Deterministic, right: Deterministic, keep: Keep, pattern: str) -> Deterministic:
    """Build the product automaton: the pairs of states that the start reaches."""
    # Bytes that neither side tells apart are one class.
    codes, byte_classes = np.unique(left.byte_classes.astype(np.int32) * 256 + right.byte_classes, return_inverse=True)
    left_classes, right_classes = np.divmod(codes.astype(np.int32), np.int32(256))
    # There cannot be more pairs than this, one dead state on each side included.
    all_pairs = (len(left.accepting) + 1) * (len(right.accepting) + 1)
    # Room for as many as are allowed: what is never written costs no memory.
    room = min(all_pairs, MAX_DFA_STATES)
    transitions = np.empty((room, len(codes)), dtype=np.int32)
    accepting = np.empty(room, dtype=np.bool_)
    bits = (2 * room).bit_length()
    count = _pairs(
        np.ascontiguousarray(left.transitions),
        np.ascontiguousarray(left.accepting),
        left_classes,
        np.ascontiguousarray(right.transitions),
        np.ascontiguousarray(right.accepting),
        right_classes,
        int(keep),
        np.empty((room, 2), dtype=np.int32),
        np.full(1 << bits, -1, dtype=np.int32),
        64 - bits,
        transitions,
        accepting,
        MAX_WORK,
    )
    if count < 0:
        limit = f"{MAX_DFA_STATES:,} states" if count == _TOO_MANY_STATES else f"{MAX_WORK:,} steps of construction"
        raise PatternTooLarge(f"the combined automaton passes the limit of {limit}", pattern, hint=_HINT)
    return Deterministic(transitions[:count], byte_classes.reshape(-1).astype(np.uint8), accepting[:count])


def complement(automaton: Deterministic, pattern: str) -> Deterministic:
    """Build the automaton of all texts that ``automaton`` does not accept."""
    return product(all_texts(), automaton, Keep.LEFT_ONLY, pattern)


@cache
def all_texts() -> Deterministic:
    """Build the minimal automaton of all texts.

    They are UTF-8, without surrogates and overlong forms.

    >>> len(all_texts().accepting)
    8
    """
    return minimize(determinize(build(Repeat(Characters(TEXT), 0, None), ""), ""))


def concatenation(left: Deterministic, right: Deterministic, pattern: str) -> Deterministic:
    """Build the automaton of a text of ``left``, then one of ``right``."""
    first_left, first_right = 2, 2 + len(left.accepting)
    states = first_right + len(right.accepting)
    edges = np.concatenate([_edges(left, first_left, pattern), _edges(right, first_right, pattern)])
    epsilons = np.concatenate(
        [
            _epsilons(np.zeros(1, dtype=np.int32), first_left),
            _epsilons(np.flatnonzero(left.accepting) + first_left, first_right),
            _epsilons(np.flatnonzero(right.accepting) + first_right, 1),
        ]
    )
    return determinize(Nfa(states, edges, epsilons), pattern)


def _edges(automaton: Deterministic, first: int, pattern: str) -> NDArray[np.int32]:
    """The transitions as edges of an :class:`Nfa` whose states begin with number ``first``."""
    # Bytes side by side in the same class are one run; runs side by side with the same target are one edge.
    starts = np.flatnonzero(np.diff(automaton.byte_classes.astype(np.int32), prepend=-1))
    ends = np.append(starts[1:], 256) - 1
    targets = automaton.transitions[:, automaton.byte_classes[starts]]
    differs = np.ones((len(targets), len(starts) + 1), dtype=np.bool_)
    differs[:, 1:-1] = targets[:, 1:] != targets[:, :-1]
    is_first = differs[:, :-1] & (targets >= 0)
    size = len(targets) + int(np.count_nonzero(is_first))
    if size > MAX_NFA_SIZE:
        raise PatternTooLarge(
            f"an automaton of {size:,} states and transitions cannot be part of a concatenation; "
            f"the limit is {MAX_NFA_SIZE:,}",
            pattern,
            hint=_HINT,
        )
    sources, first_runs = np.nonzero(is_first)
    last_runs = np.nonzero(differs[:, 1:] & (targets >= 0))[1]
    edges = (sources + first, starts[first_runs], ends[last_runs], targets[sources, first_runs] + first)
    return np.stack(edges, axis=1).astype(np.int32)


def _epsilons(sources: NDArray[np.signedinteger], target: int) -> NDArray[np.int32]:
    """A transition that reads nothing, without a guard, from each source to the target."""
    rows = np.zeros((len(sources), 3), dtype=np.int32)
    rows[:, 0] = sources
    rows[:, 1] = target
    return rows


@kernel
def _pairs(
    left_table: Int32Table,
    left_accepting: Flags,
    left_classes: Int32s,
    right_table: Int32Table,
    right_accepting: Flags,
    right_classes: Int32s,
    keep: Int,
    pairs: Int32TableOut,
    slots: Int32sOut,
    shift: Int,
    transitions: Int32TableOut,
    accepting: FlagsOut,
    max_work: Int,
) -> Int:
    """Fill ``transitions`` and ``accepting``; return the number of pairs, or the limit that was passed.

    Pair number i is ``pairs[i]``, in which -1 is a dead side. ``slots`` is a hash table of pair numbers with linear
    probing, at most half full; the slot of a key is its product with a large odd number without the ``shift`` low bits.
    """
    left_must_live = (keep >> 1) & 1 == 0  # a text that only the right side accepts is not kept
    right_must_live = (keep >> 2) & 1 == 0
    count = 0
    work = 0
    current = -1  # -1: the pair of the starts is made as if a transition led there
    while current < count:
        left, right, classes = -1, -1, 1
        if current >= 0:
            left, right, classes = pairs[current, 0], pairs[current, 1], len(left_classes)
            accepts = 0
            if left >= 0 and left_accepting[left]:
                accepts += 2
            if right >= 0 and right_accepting[right]:
                accepts += 1
            accepting[current] = (keep >> accepts) & 1 == 1
        known_left, known_right, known = -1, -1, -1
        for label in range(classes):
            next_left, next_right = -1, -1
            if left >= 0:
                next_left = left_table[left, left_classes[label]]
            if right >= 0:
                next_right = right_table[right, right_classes[label]]
            if current < 0:
                next_left, next_right = 0, 0
            # Classes side by side often lead to the same pair.
            if next_left != known_left or next_right != known_right:
                known_left, known_right, known = next_left, next_right, -1
                dead = next_left < 0 and next_right < 0
                if not (dead or (left_must_live and next_left < 0) or (right_must_live and next_right < 0)):
                    key = np.uint64(next_left + 1) * np.uint64(len(right_table) + 1) + np.uint64(next_right + 1)
                    work += 4  # a look-up waits for memory
                    slot = np.int64((key * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(shift))
                    while True:
                        known = slots[slot]
                        if known < 0 or (pairs[known, 0] == next_left and pairs[known, 1] == next_right):
                            break
                        slot = (slot + 1) & (len(slots) - 1)
                    if known < 0:
                        if count == len(pairs):
                            return _TOO_MANY_STATES
                        known = count
                        slots[slot] = known
                        pairs[known, 0] = next_left
                        pairs[known, 1] = next_right
                        count += 1
            if current >= 0:
                transitions[current, label] = known
        work += classes
        if work > max_work:
            return _TOO_MUCH_WORK
        current += 1
    return count
