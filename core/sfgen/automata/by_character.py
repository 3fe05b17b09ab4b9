"""Automata over whole characters: a number for each character, and the way from bytes to characters and back.

A ``CharacterMap`` has its numbers in blocks of 64 characters, which share all bytes of their UTF-8 but the last. Few of
the 17 408 blocks differ, and a question about all characters is answered for those few.

An automaton that accepts only UTF-8 is never in the same state between two characters and inside of one. Its states
between characters alone are an automaton whose alphabet is all characters. It tells few classes of characters apart,
and such a class is a *label* here. The way back inserts states that read a character of a label byte by byte, and makes
no state twice: if the automaton over labels is minimal, so is the one over bytes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfgen.automata.determinize import Deterministic
from sfgen.automata.minimize import equal_states, numbered
from sfgen.errors import PatternTooLarge
from sfgen.kernels import Int, Int32Table, Int64sOut, kernel

BLOCK = 64
_BLOCKS = 0x110000 // BLOCK


class CharacterMap(NamedTuple):
    """A number for each code point; -1 for none.

    Surrogates must have none.
    """

    rows: NDArray[np.int32]  # the different blocks, int32, shape [rows, 64]
    row_of_block: NDArray[np.intp]  # which of them each block is, shape [17408]

    @classmethod
    def of_numbers(cls, numbers: NDArray[np.int32]) -> CharacterMap:
        """Build the map of a table of numbers by code point.

        The table, int32, may end after any block.
        """
        rows = numbers.reshape(-1, BLOCK)
        chosen, row_of_block = distinct(rows)
        if len(rows) == _BLOCKS:
            return cls(rows[chosen], row_of_block)
        others = np.full(_BLOCKS - len(rows), len(chosen))
        return cls(np.append(rows[chosen], np.full((1, BLOCK), -1), axis=0), np.append(row_of_block, others))

    @classmethod
    def of_runs(cls, firsts: NDArray[np.int32], numbers: NDArray[np.int32]) -> CharacterMap:
        """Build the map of runs of characters that have a number in common.

        ``firsts`` has the first character of each run, ascending; the characters before the first run have no number.

        >>> letters = CharacterMap.of_runs(np.array([65, 91, 97], dtype=np.int32), np.array([0, -1, 1], dtype=np.int32))
        >>> [letters.number(ord(letter)) for letter in " AZ[az"]
        [-1, 0, 0, -1, 1, 1]
        """
        firsts, numbers = np.append(0, firsts), np.append(np.int32(-1), numbers)
        starts = np.arange(_BLOCKS) * BLOCK
        run = np.searchsorted(firsts, starts, side="right") - 1
        is_mixed = np.append(firsts, 0x110000)[run + 1] < starts + BLOCK
        # Blocks within one run are known by its number, which stands for their row; the rest is looked at.
        mixed = numbers[np.searchsorted(firsts, starts[is_mixed, None] + np.arange(BLOCK), side="right") - 1]
        chosen, row_of_mixed = distinct(mixed)
        plain, row_of_plain = np.unique(numbers[run[~is_mixed]], return_inverse=True)
        row_of_block = np.empty(_BLOCKS, dtype=np.intp)
        row_of_block[~is_mixed] = row_of_plain
        row_of_block[is_mixed] = len(plain) + row_of_mixed
        return cls(np.concatenate([np.repeat(plain[:, None], BLOCK, axis=1), mixed[chosen]]), row_of_block)

    def number(self, code: int) -> int:
        """Return the number of a code point.

        >>> letters = CharacterMap.of_numbers(np.arange(0x110000, dtype=np.int32) // 100)
        >>> letters.number(5), letters.number(1234)
        (0, 12)
        """
        return int(self.rows[self.row_of_block[code // BLOCK], code % BLOCK])

    def numbers(self, codes: NDArray[np.uint32]) -> NDArray[np.int32]:
        """Return the number of each of some code points, int32.

        >>> letters = CharacterMap.of_numbers(np.arange(0x110000, dtype=np.int32) // 100)
        >>> letters.numbers(np.array([5, 1234], dtype=np.uint32)).tolist()
        [0, 12]
        """
        numbers: NDArray[np.int32] = self.rows[self.row_of_block[codes // BLOCK], codes % BLOCK]
        return numbers

    def renumbered(self, numbers: NDArray[np.int32]) -> CharacterMap:
        """Replace each number by ``numbers[number]``; none stays none."""
        rows = np.append(numbers, np.int32(-1)).astype(np.int32)[self.rows]
        chosen, row_of_row = distinct(rows)
        return CharacterMap(rows[chosen], row_of_row[self.row_of_block])

    def used(self) -> CharacterMap:
        """Drop the rows that no block refers to."""
        used, row_of_block = np.unique(self.row_of_block, return_inverse=True)
        return CharacterMap(self.rows[used], row_of_block.reshape(-1))


def paired(left: CharacterMap, right: CharacterMap) -> tuple[CharacterMap, NDArray[np.int32]]:
    """Refine two maps into one that distinguishes all characters that either of them distinguishes.

    Beside it: for each of its numbers the left and the right one, int32 ``[numbers, 2]``. A character without a number
    in one of the maps has none.
    """
    codes = left.row_of_block * len(right.rows) + right.row_of_block
    codes, row_of_block = np.unique(codes, return_inverse=True)
    left_rows, right_rows = left.rows[codes // len(right.rows)], right.rows[codes % len(right.rows)]
    width = int(right.rows.max(initial=0)) + 1
    both = np.where((left_rows < 0) | (right_rows < 0), np.int64(-1), left_rows.astype(np.int64) * width + right_rows)
    numbers, rows = np.unique(both, return_inverse=True)
    none = int(np.count_nonzero(numbers < 0))  # at most the first
    pairs = np.stack(np.divmod(numbers[none:], width), axis=1).astype(np.int32)
    return CharacterMap((rows.reshape(both.shape) - none).astype(np.int32), row_of_block.reshape(-1)), pairs


def distinct(rows: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Find the distinct rows of a table.

    >>> chosen, which = distinct(np.array([[1, 2], [3, 4], [1, 2]], dtype=np.int32))
    >>> chosen.tolist(), which.tolist()
    ([0, 1], [0, 1, 0])
    """
    rows = np.ascontiguousarray(rows)
    bits = (2 * max(1, len(rows))).bit_length()
    chosen = np.empty(len(rows), dtype=np.int64)
    which = np.empty(len(rows), dtype=np.int64)
    count = _distinct(rows, np.full(1 << bits, -1, dtype=np.int64), 64 - bits, chosen, which)
    return chosen[:count], which


@kernel
def _distinct(rows: Int32Table, slots: Int64sOut, shift: Int, chosen: Int64sOut, which: Int64sOut) -> Int:
    """Fill ``chosen`` and ``which``; return the number of different rows.

    ``slots`` is a hash table of the rows that were chosen, with linear probing, at most half full.
    """
    count = 0
    for number in range(len(rows)):
        mixed = np.uint64(0)
        for column in range(rows.shape[1]):
            mixed = (mixed ^ np.uint64(rows[number, column] + 1)) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= mixed >> np.uint64(29)
        slot = np.int64((mixed * np.uint64(0xBF58476D1CE4E5B9)) >> np.uint64(shift))
        found = slots[slot]
        while found >= 0:
            other = chosen[found]
            column = 0
            while column < rows.shape[1] and rows[number, column] == rows[other, column]:
                column += 1
            if column == rows.shape[1]:
                break
            slot = (slot + 1) & (len(slots) - 1)
            found = slots[slot]
        if found < 0:
            found = slots[slot] = count
            chosen[count] = number
            count += 1
        which[number] = found
    return count


MAX_CELLS = 20_000_000
"""Cells of the largest table that is filled."""

MAX_STATES = 160_000
"""States of the automaton over bytes, before equal ones inside of characters are joined."""

_NO_BYTE = 256
_HINT = "Use smaller counts, or fewer choices."


def _bytes_before_the_last() -> NDArray[np.intp]:
    """The bytes that the characters of each block have in common, shape [17408, 3], filled up with ``_NO_BYTE``."""
    block = np.arange(_BLOCKS)
    sequences = np.full((_BLOCKS, 3), _NO_BYTE, dtype=np.intp)
    sequences[2:32, 0] = 0xC0 | block[2:32]
    sequences[32:1024, 0] = 0xE0 | block[32:1024] >> 6
    sequences[32:1024, 1] = 0x80 | block[32:1024] & 63
    sequences[1024:, 0] = 0xF0 | block[1024:] >> 12
    sequences[1024:, 1] = 0x80 | block[1024:] >> 6 & 63
    sequences[1024:, 2] = 0x80 | block[1024:] & 63
    return sequences


_BYTES_BEFORE_THE_LAST = _bytes_before_the_last()
_BEYOND_ASCII = np.arange(2, _BLOCKS)


class ByCharacter(NamedTuple):
    """A deterministic automaton over labels of characters.

    State 0 is the start, -1 is no transition.
    """

    transitions: NDArray[np.int32]  # int32, shape [states, labels]
    accepting: NDArray[np.bool_]  # bool, shape [states]
    labels: CharacterMap  # the label of each character; -1 for one that is never read


def by_character(automaton: Deterministic, pattern: str) -> ByCharacter:
    """Convert a trimmed automaton of UTF-8 to one over whole characters."""
    classes = automaton.byte_classes.astype(np.intp)
    # The last state stands for no transition, the last class for no byte.
    states, stay = automaton.transitions.shape
    table = np.full((states + 1, stay + 1), -1, dtype=np.int32)
    table[:-1, :-1] = automaton.transitions
    table[:-1, -1] = np.arange(states)
    is_read = np.any(table >= 0, axis=0)

    # Inside of a character only continuation bytes are read, and the text cannot end.
    first_bytes = np.unique(np.delete(classes, range(0x80, 0xC0)))
    between = np.flatnonzero(automaton.accepting | (automaton.transitions[:, first_bytes] >= 0).any(axis=1))

    # The classes of what stands before the last byte of the characters of a block.
    before = np.append(classes, stay)[_BYTES_BEFORE_THE_LAST].astype(np.int32)
    blocks = _BEYOND_ASCII[is_read[before[_BEYOND_ASCII]].all(axis=1)]
    sequences, which = distinct(before[blocks])
    _limit(len(between) * len(sequences), MAX_CELLS // 2, pattern)
    inside = between[:, None].astype(np.int32)
    for column in before[blocks[sequences]].T:
        inside = table[inside, column]
    columns, which_column = distinct(inside.T)
    inside = inside[:, columns]

    # ASCII stands in two blocks of its own; a first byte of the others cannot be the last.
    last = np.unique(classes[0x80:0xC0])
    ascii_classes = np.unique(classes[:0x80])
    _limit(len(between) * (len(columns) * len(last) + len(ascii_classes)), MAX_CELLS // 2, pattern)
    ends = np.concatenate(
        [table[between][:, ascii_classes], table[inside[:, :, None], last].reshape(len(between), -1)], axis=1
    )
    chosen, label = distinct(ends.T)
    alive = (ends[:, chosen] >= 0).any(axis=0)
    numbers = np.where(alive, np.cumsum(alive) - 1, -1).astype(np.int32)
    label_of_end = numbers[label]

    first_end = len(ascii_classes)
    rows = np.full((len(columns) + 3, BLOCK), -1, dtype=np.int32)
    rows[0] = label_of_end[np.searchsorted(ascii_classes, classes[:BLOCK])]
    rows[1] = label_of_end[np.searchsorted(ascii_classes, classes[BLOCK:0x80])]
    ends_of_column = label_of_end[first_end:].reshape(len(columns), len(last))
    rows[3:] = ends_of_column[:, np.searchsorted(last, classes[0x80:0xC0])]
    row_of_block = np.full(_BLOCKS, 2, dtype=np.intp)
    row_of_block[:2] = 0, 1
    row_of_block[blocks] = 3 + which_column[which]

    position = np.full(states + 1, -1, dtype=np.int32)
    position[between] = np.arange(len(between))
    return ByCharacter(
        np.ascontiguousarray(position[ends[:, chosen[alive]]]),
        automaton.accepting[between],
        CharacterMap(rows, row_of_block).used(),
    )


def smallest(automaton: ByCharacter) -> ByCharacter | None:
    """Minimize an automaton over labels, and drop labels that are not needed."""
    blocks, block_of = equal_states(automaton.transitions, automaton.accepting)
    if blocks == 0:
        return None
    transitions, numbers, accepting = numbered(automaton.transitions, automaton.accepting, blocks, block_of)
    return ByCharacter(transitions, accepting, automaton.labels.renumbered(numbers))


def by_bytes(automaton: ByCharacter, pattern: str) -> Deterministic:
    """Convert an automaton of :func:`smallest` to the minimal one over bytes.

    It is in its canonical form.
    """
    table, source_of_byte = byte_table(automaton.transitions, automaton.labels, pattern)
    size = len(table)
    accepting = np.zeros(size, dtype=np.bool_)
    accepting[: len(automaton.accepting)] = automaton.accepting
    transitions, joined, accepting = numbered(table, accepting, size, np.arange(size, dtype=np.int32))
    return Deterministic(transitions, joined[source_of_byte].astype(np.uint8), accepting)


def byte_table(
    transitions: NDArray[np.int32], labels: CharacterMap, pattern: str
) -> tuple[NDArray[np.int32], NDArray[np.intp]]:
    """Convert transitions over labels of characters to transitions over bytes.

    ``transitions`` is int32 ``[states, labels]``, -1 for none. Returned are a table, int32 ``[states and those inside
    of characters, byte classes]``, and the class of each byte, ``[256]``. The states keep their numbers; those inside
    of characters come after them.
    """
    rows, row_of_block = labels
    targets = np.ascontiguousarray(transitions.T)
    inside = _Inside(targets.shape[1], pattern)
    # The last byte of a character, then the one before it, and so on to the first. Each row says where 64 bytes lead.
    used, last_of_block = np.unique(row_of_block[2:], return_inverse=True)
    last = inside.add(rows[used], targets)
    pages = np.append([-1, -1], last_of_block).astype(np.int32).reshape(-1, BLOCK)
    two_byte_leads = last[pages[0, 2:32]]
    pages[0, :32] = -1  # read with two bytes, never with three
    used, middle_of_page = distinct(pages)
    middle = inside.add(pages[used], last)
    planes = np.full(5 * BLOCK, -1, dtype=np.int32)
    planes[16 : len(pages)] = middle_of_page[16:]
    four_byte_leads = inside.add(planes.reshape(5, BLOCK), middle)

    columns = np.concatenate([targets, two_byte_leads, middle[middle_of_page[:16]], four_byte_leads])
    column_of_byte = np.full(256, -1)
    column_of_byte[:BLOCK], column_of_byte[BLOCK:0x80] = rows[row_of_block[:2]]
    column_of_byte[0xC2:0xF5] = len(targets) + np.arange(0xF5 - 0xC2)
    inner = inside.rows()
    column_of_byte[0x80:0xC0] = len(columns) + np.arange(BLOCK) if len(inner) else -1

    sources = list(dict.fromkeys(column_of_byte.tolist()))  # by their smallest byte, as the canonical form has them
    size = len(transitions) + len(inner)
    _limit(size * len(sources), MAX_CELLS, pattern)
    table = np.full((size, len(sources)), -1, dtype=np.int32)
    for label, source in enumerate(sources):
        if source >= len(columns):
            table[len(transitions) :, label] = inner[:, source - len(columns)]
        elif source >= 0:
            table[: len(transitions), label] = columns[source]
    return table, np.array([sources.index(source) for source in column_of_byte.tolist()])


class _Inside:
    """The states inside of characters; their numbers follow those of the states between characters.

    A *node* is a place in the UTF-8 of a character. Two states between characters share the state inside at a node if
    they treat alike all labels whose characters pass through the node.
    """

    def __init__(self, states: int, pattern: str) -> None:
        self._states = states
        self._count = states
        self._pattern = pattern
        self._rows: list[NDArray[np.int32]] = []

    def add(self, nodes: NDArray[np.int32], targets: NDArray[np.int32]) -> NDArray[np.int32]:
        """Make the states of nodes that lie one byte before others."""
        _limit(len(nodes) * self._states, MAX_CELLS, self._pattern)
        alike: dict[tuple[int, ...], list[int]] = {}
        for node, row in enumerate(nodes.tolist()):
            alike.setdefault(tuple(sorted({target for target in row if target >= 0})), []).append(node)
        targets = np.concatenate([targets, np.full((1, self._states), -1, dtype=np.int32)])
        groups = [
            (members, *distinct(np.ascontiguousarray(targets[list(leads_to)].T))) for leads_to, members in alike.items()
        ]
        size = sum(len(members) * len(sources) for members, sources, _ in groups)
        if self._count + size > MAX_STATES:
            raise PatternTooLarge(
                f"the automaton may pass the limit of {MAX_STATES:,} states", self._pattern, hint=_HINT
            )
        rows = np.concatenate(
            [
                targets[:, sources][nodes[members]].transpose(0, 2, 1).reshape(-1, BLOCK)
                for members, sources, _ in groups
            ]
        )
        chosen, which_row = distinct(rows)
        alive = (rows[chosen] >= 0).any(axis=1)
        numbers = np.where(alive, self._count + np.cumsum(alive) - 1, -1).astype(np.int32)[which_row]
        self._rows.append(rows[chosen[alive]])
        self._count += int(alive.sum())
        inside = np.empty((len(nodes), self._states), dtype=np.int32)
        first = 0
        for members, sources, which in groups:
            inside[members] = numbers[first + np.arange(len(members))[:, None] * len(sources) + which]
            first += len(members) * len(sources)
        return inside

    def rows(self) -> NDArray[np.int32]:
        """Return the targets of the 64 continuation bytes from each of the states."""
        return np.concatenate(self._rows)


def _limit(cells: int, limit: int, pattern: str) -> None:
    if cells > limit:
        raise PatternTooLarge(
            f"the automaton needs a table of {cells:,} cells; the limit is {limit:,}", pattern, hint=_HINT
        )
