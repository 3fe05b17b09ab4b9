"""Texts that must differ: the texts that distinct calls read within one text of the calling rule.

The register of an open distinct call is its text so far. When the call ends, the text is added to the register of the
caller; if it is already there, the end is refused. Masks are cached without texts, so tokens that may repeat a text are
*doubtful* and read one by one (see ``repeated``).

If an automaton has finitely many texts, these may run out: a beginning of a text is dead when all texts with this
beginning were read.
"""

from __future__ import annotations

import heapq
import threading
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sfgen.automata.completions import completions
from sfgen.grammar.network.registers.register import (
    FAR,
    IS_NARROW,
    Below,
    Register,
    Seen,
    is_text,
    texts_read,
    with_text,
)
from sfgen.grammar.network.rules import CountedText, Leaf
from sfgen.grammar.network.table import DEAD, CallSite, Push, Table, Way


class NoTextLeft(Exception):
    """Every distinct text was read."""


@dataclass(frozen=True, eq=False)
class DistinctCalls:
    """The distinct calls of a network. Immutable.

    Attributes:
        leaves: The leaves that such calls read, by their first states.
        completions: The number of completions of a text from each state where it is finite.
        usable: The bytes that these completions may contain, bool ``[256]``.
    """

    leaves: Mapping[int, Leaf | CountedText | None]
    completions: Mapping[int, int]
    usable: NDArray[np.bool_]

    def over(self, usable: NDArray[np.bool_]) -> DistinctCalls:
        """Restrict the texts to some bytes, bool ``[256]``."""
        return replace(self, completions=_completions(self.leaves, usable), usable=usable)

    def new_texts(self, table: Table, state: int, begun: bytes, texts: Collection[bytes]) -> int | None:
        """Count the texts of a leaf that begin with ``begun`` and are not in ``texts``; ``None`` if infinitely many."""
        count = self.completions.get(state)
        if count is None:
            return None
        return count - sum(text.startswith(begun) and self._ends(table, state, text[len(begun) :]) for text in texts)

    def _ends(self, table: Table, state: int, rest: bytes) -> bool:
        """Return whether a leaf accepts after some bytes, all of them usable."""
        for byte in rest:
            state = int(table.table[state, table.byte_classes[byte]])
            if state < 0 or not self.usable[byte]:
                return False
        return bool(table.accepting[state])


def distinct_calls(
    calls: Mapping[int, tuple[CallSite, ...]], leaves: Mapping[int, Leaf | CountedText]
) -> DistinctCalls:
    """Find the distinct calls among all."""
    entries = sorted({site.entry for sites in calls.values() for site in sites if site.is_distinct})
    called = {entry: leaves.get(entry) for entry in entries}
    return DistinctCalls(called, _completions(called, None), np.ones(256, dtype=np.bool_))


def _completions(leaves: Mapping[int, Leaf | CountedText | None], usable: NDArray[np.bool_] | None) -> dict[int, int]:
    """Count the completions of a text from each state of each leaf, where there are finitely many."""
    counts: dict[int, int] = {}
    for entry, leaf in leaves.items():
        if isinstance(leaf, Leaf):
            counts |= {entry + state: number for state, number in completions(leaf.dfa, usable).items()}
    return counts


# ---- registers -----------------------------------------------------------------------------------------------------


class TextRegisters:
    """The registers of open distinct calls; see ``Kind``. Distances ignore their texts, and they have no number."""

    def __init__(self, table: Table, distinct: DistinctCalls, base: NDArray[np.int64]) -> None:
        self._table = table
        self._distinct = distinct
        self._base = base
        self._is_narrow = self.facts()[IS_NARROW].astype(np.uint8).tobytes()

    def keeps(self) -> NDArray[np.bool_]:
        """Return the states into which a step need not check whether an unread text is left."""
        return ~self.facts()[IS_NARROW].astype(np.bool_)

    def after_step(self, state: int, register: Register, byte: int, below: Below) -> Register | None:
        """Append the byte to the open text; refuse it if all texts that begin so were read."""
        assert is_text(register)
        text = register + bytes((byte,))
        if self._is_narrow[state] and not any(
            self._distinct.new_texts(self._table, state, text, texts_read(frame.register)) != 0
            for frame in below.frames
        ):
            return None
        return text

    def canonical(self, state: int, number: int, longest: int) -> int:
        """Drop the text: masks do not depend on it, except for doubtful tokens."""
        return 0

    def bytes_left(self, state: int, number: int) -> int:
        """Return the fewest bytes from a state to the end of its rule, texts not compared."""
        return int(self._base.item(state))

    def facts(self) -> dict[int, NDArray[np.int32]]:
        """Return the column that marks the states with finitely many completions."""
        is_narrow = np.zeros(len(self._table), dtype=np.int32)
        is_narrow[list(self._distinct.completions)] = 1
        return {IS_NARROW: is_narrow}


def returned(register: Register, below: Register) -> Seen | None:
    """Return the caller's register after a distinct call; ``None`` if the text was read before."""
    assert is_text(register)
    return None if register in texts_read(below) else with_text(below, register)


# ---- the shortest new text -----------------------------------------------------------------------------------------

_KEPT_SEARCHES = 256
"""The most searches for new texts that are cached, to be continued."""


class NewTexts:
    """Finds the shortest texts that were not read yet. Safe to share between threads.

    ``base`` has the fewest bytes from each state to the end of its rule, int64 ``[states]``; ``by_byte`` lists the
    usable bytes with their classes: different bytes of one class make different texts.
    """

    def __init__(
        self, table: Table, distinct: DistinctCalls, base: NDArray[np.int64], by_byte: Sequence[tuple[int, int]]
    ) -> None:
        self._table = table
        self._distinct = distinct
        self._base = base
        self._by_byte = by_byte
        self._in_order: dict[tuple[tuple[bytes, int], ...], _TextsInOrder] = {}

    def is_used_up(self, byte: int, way: Way, register: Register) -> bool:
        """Return whether all texts of a distinct call that begin with a byte of this byte's class were read."""
        if len(way.pushes) != 1 or not way.pushes[0].is_distinct or way.state not in self._distinct.completions:
            return False
        own, texts = int(self._table.byte_classes[byte]), texts_read(register)
        alike = [bytes([other]) for other, byte_class in self._by_byte if byte_class == own]
        return all(self._distinct.new_texts(self._table, way.state, begun, texts) == 0 for begun in alike)

    def of_call(self, state: int, pushes: tuple[Push, ...], texts: frozenset[bytes]) -> bytes:
        """Return the first text, by length, then bytes, of a distinct call from a state that is not in ``texts``."""
        row = self._table.table[state].tolist()
        begun = [
            (bytes([byte]), way.state)
            for byte, byte_class in self._by_byte
            if row[byte_class] < DEAD
            for way in self._table.actions[-2 - row[byte_class]]
            if way.pushes == pushes
        ]
        return self._first(tuple(begun), texts)

    def rest(self, state: int, text: bytes, shortest: bytes, texts: frozenset[bytes]) -> bytes:
        """Return the shortest rest of a leaf with which its text is not in ``texts``, given the shortest rest."""
        if text + shortest not in texts:
            return shortest
        begun = frozenset(other[len(text) :] for other in texts if other.startswith(text))
        return self._first(((b"", state),), begun)

    def _first(self, begun: tuple[tuple[bytes, int], ...], texts: frozenset[bytes]) -> bytes:
        """Return the first text that is not in ``texts``; ``begun`` lists beginnings and the states after them."""
        search = self._in_order.get(begun)
        if search is None:
            if len(self._in_order) >= _KEPT_SEARCHES:
                self._in_order.clear()
            search = self._in_order[begun] = _TextsInOrder(self._table, self._base, self._by_byte, begun)
        return search.first_beside(texts)


class _TextsInOrder:
    """Lists the texts of a leaf with some beginnings, by length, then bytes. Safe to share between threads."""

    def __init__(
        self,
        table: Table,
        base: NDArray[np.int64],
        by_byte: Sequence[tuple[int, int]],
        begun: Sequence[tuple[bytes, int]],
    ) -> None:
        self._table = table
        self._base = base
        self._by_byte = by_byte
        self._found: list[bytes] = []
        self._waiting = [(len(text) + int(base[state]), text, state) for text, state in begun]
        heapq.heapify(self._waiting)
        self._lock = threading.Lock()

    def first_beside(self, texts: Collection[bytes]) -> bytes:
        """Return the first text that is not in ``texts``."""
        number = 0
        while True:
            with self._lock:
                while number >= len(self._found):
                    self._find()
            if self._found[number] not in texts:
                return self._found[number]
            number += 1

    def _find(self) -> None:
        """Take one step of the best-first search."""
        if not self._waiting:
            raise NoTextLeft
        _, text, state = heapq.heappop(self._waiting)
        if self._table.accepting[state]:
            self._found.append(text)
        row = self._table.table[state].tolist()
        for byte, byte_class in self._by_byte:  # every byte, as the bytes of one class make different texts
            if row[byte_class] >= 0 and (left := self._base.item(row[byte_class])) < FAR:
                heapq.heappush(self._waiting, (len(text) + 1 + left, text + bytes([byte]), row[byte_class]))
