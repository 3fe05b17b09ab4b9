"""Minimal acyclic automata: of a sorted list of sequences, and of the UTF-8 of a set of characters.

Incremental construction (Daciuk, Mihov, Watson and Watson, 2000): sequences are added in order, so that only the path
of the last one can still change. A state that cannot change any more is replaced by an equal one if there is one.

``byte_automaton`` reads exactly one character of a set. A range of code points is cut where the length of the encoding
changes and then, from the last byte to the first, so that each piece is a plain product of byte ranges (the method of
Ken Thompson's grep, told by Russ Cox in "Regular Expression Matching in the Wild", 2010). The pieces are joined to the
smallest automaton, since large sets share most endings.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Generic, NamedTuple, TypeAlias, TypeVar

from sfgen.regex.characters import Ranges

Label = TypeVar("Label")


class State(NamedTuple, Generic[Label]):
    """A state: whether a sequence ends here, and its edges.

    Attributes:
        accepting: Whether a sequence ends here.
        edges: Label and number of the next state, in the order of the labels.
    """

    accepting: bool
    edges: tuple[tuple[Label, int], ...]


def minimal_acyclic(sequences: Iterable[Sequence[Label]]) -> list[State[Label]]:
    """Build the minimal acyclic automaton of the sequences (Daciuk et al. 2000).

    >>> minimal_acyclic(["ab", "cb"])[-1]
    State(accepting=False, edges=(('a', 1), ('c', 1)))
    """
    states: list[State[Label]] = []
    numbers: dict[State[Label], int] = {}
    edges: list[list[tuple[Label, int]]] = [[]]  # of the states on the path of the last sequence
    accepting = [False]
    last: Sequence[Label] = ()

    def close(length: int) -> None:
        while len(edges) > length:
            state = State(accepting.pop(), tuple(edges.pop()))
            number = numbers.setdefault(state, len(states))
            if number == len(states):
                states.append(state)
            if edges:
                edges[-1].append((last[len(edges) - 1], number))

    for sequence in sequences:
        common = 0
        while common < min(len(last), len(sequence)) and last[common] == sequence[common]:
            common += 1
        close(common + 1)
        for _ in sequence[common:]:
            edges.append([])
            accepting.append(False)
        accepting[-1] = True
        last = sequence
    close(0)
    return states


ByteRange: TypeAlias = tuple[int, int]

# The last code point whose encoding has 1, 2, 3 and 4 bytes.
_LAST_OF_LENGTH = (0x7F, 0x7FF, 0xFFFF, 0x10FFFF)


class ByteAutomaton(NamedTuple):
    """An automaton that reads one character."""

    inner: int  # number of states besides the start (0) and the end (1); they are numbered from 2
    edges: tuple[tuple[int, int, int, int], ...]  # (source, lowest byte, highest byte, target)


def byte_sequences(ranges: Ranges) -> Iterator[tuple[ByteRange, ...]]:
    """Encode a set as products of byte ranges, ascending and disjoint.

    >>> list(byte_sequences(((0x61, 0x7A), (0xE9, 0xE9))))
    [((97, 122),), ((195, 195), (169, 169))]
    """
    for first, last in ranges:
        start = first
        for length, limit in enumerate(_LAST_OF_LENGTH, 1):
            if start <= min(last, limit):
                yield from _split(start, min(last, limit), length)
                start = limit + 1


def _split(first: int, last: int, length: int) -> Iterator[tuple[ByteRange, ...]]:
    """Cut a range of code points with encodings of one length into products of byte ranges."""
    for position in range(1, length):
        mask = (1 << (6 * position)) - 1  # the bits in the last `position` bytes
        if first | mask < last | mask:  # the bytes before those differ
            if first & mask:
                yield from _split(first, first | mask, length)
                yield from _split((first | mask) + 1, last, length)
                return
            if last & mask != mask:
                yield from _split(first, (last & ~mask) - 1, length)
                yield from _split(last & ~mask, last, length)
                return
    yield tuple(zip(chr(first).encode(), chr(last).encode(), strict=True))


@lru_cache(maxsize=4096)
def byte_automaton(ranges: Ranges) -> ByteAutomaton:
    """Build the smallest automaton over bytes that reads one character.

    The character is of the set; for an empty set there are no edges.
    """
    if ranges and ranges[-1][1] <= 0x7F:
        return ByteAutomaton(0, tuple((0, low, high, 1) for low, high in ranges))
    states = minimal_acyclic(byte_sequences(ranges))
    # The start was closed last; the end, if there is one, first. The others keep their order.
    number = {len(states) - 1: 0}
    if len(states) > 1:
        number[0] = 1
    for state in range(1, len(states) - 1):
        number[state] = state + 1
    edges = tuple(
        (number[source], low, high, number[target])
        for source, state in enumerate(states)
        for (low, high), target in state.edges
    )
    return ByteAutomaton(max(0, len(states) - 2), edges)
